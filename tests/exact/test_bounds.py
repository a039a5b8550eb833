"""The oracle from both sides: no right program is outside its bound, and wrong ones are.

A few hundred inputs for each quantity; `python -m tests.exact.soak` asks for many thousands.
"""

import functools
import math
import warnings
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from grader import judge
from grader.exact import descent
from grader.exact.rounding import UNIT_ROUNDOFF, Rounded, mean, rounded, vector
from grader.model import Returned
from tests.exact.inputs import Case, cases
from tests.exact.measuring import (
    DUE,
    WRONG_CONSTANTS,
    Table,
    WrongConstant,
    measure,
    wrong_in_bounds,
)

DRAWS = 200
NEAREST = 0.03  # some right program comes at least so near to its bound, in shares of it


def few_shapes(count: int, seed: int) -> Iterator[Case]:
    """Cases of few lengths and few numbers of steps: JAX compiles anew for each."""
    drawn = cases(100 * count, seed)
    few = (case for case in drawn if len(case.features) in (1, 3) and case.steps in (2, 6))
    return islice(few, count)


@functools.cache
def measured(quantity: str) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 1/0 in NumPy and the like, in programs that are right
        drawn = few_shapes(DRAWS, seed=7)
        return measure(drawn, [quantity], slow_every=50, compiled_every=100)


@pytest.mark.parametrize("quantity", DUE)
def test_no_right_program_is_outside_its_bound(quantity):
    outside = {name: line for (_, name), line in measured(quantity).items() if line.largest > 1}

    assert outside == {}


@pytest.mark.parametrize("quantity", DUE)
def test_some_right_program_comes_near_its_bound(quantity):
    assert max(line.largest for line in measured(quantity).values()) >= NEAREST


@pytest.mark.parametrize("quantity", DUE)
def test_four_bounds_away_and_what_is_not_finite_is_wrong(quantity):
    for case in cases(50, seed=8):
        for due in map(judge.number, DUE[quantity](case)):
            assert is_right(due, float(due.value))
            for wrong in (math.nan, math.inf, -math.inf):
                assert not is_right(due, wrong)
            for bounds in (-4, 4):
                away = float(due.value + bounds * due.bound)
                assert is_right(due, away) is (due.bound == 0)


def is_right(due: judge.Number, answer: float) -> bool:
    return judge.judged(Returned(answer), due).wrong is None


@pytest.mark.parametrize(
    "wrong", WRONG_CONSTANTS, ids=lambda wrong: f"{wrong.quantity} {wrong.name}"
)
def test_a_constant_off_by_a_thousandth_is_outside_the_bound(wrong: WrongConstant):
    found = list(wrong_in_bounds(wrong, (case for case in cases(300, seed=9) if case.checked)))

    typical = [error for error, is_typical in found if is_typical]
    assert len(typical) >= 50
    assert min(typical) > 2
    assert sum(error > 1 for error, _ in found) / len(found) > 0.95


# Float32 on a CPU with JAX 0.9.2, eager: weight, loss and abs(gradient) before each step.
RECORDED_AT_0_3 = [
    (0.0, 18.6666679, 18.6666679),
    (5.60000038, 60.4800110, 33.6000061),
    (-4.48000145, 195.955292, 60.4800148),
    (13.6640034, 634.895264, 108.864037),
    (-18.9952106, 2057.06152, 195.955322),
    (39.7913895, 6664.88281, 352.719635),
]
RECORDED_FINAL_AT_0_1 = 1.999999761581421


def test_the_recorded_run_is_within_its_bounds():
    _, rows = descent.run(0.3, 6, [1, 2, 3], [2, 4, 6])
    final, _ = descent.run(0.1, 6, [1, 2, 3], [2, 4, 6])

    recorded = [number for row in RECORDED_AT_0_3 for number in row] + [RECORDED_FINAL_AT_0_1]
    due = [number for row in rows for number in row] + [final]
    for number, exact in zip(recorded, due, strict=True):
        assert abs(Fraction(number) - exact.value) <= exact.bound
        assert exact.bound <= abs(exact.value) / 10_000


def test_the_worked_case_is_exact():
    x, y = [1, 2, 3], [2, 4, 6]
    rate = Fraction(3, 10)

    assert descent.mean_square(x).value == Fraction(14, 3)
    assert descent.curvature(x).value == Fraction(28, 3)
    ceiling = descent.rate_ceiling(x)
    assert isinstance(ceiling, Rounded)
    assert ceiling.value == Fraction(3, 14)
    assert descent.error_multiplier(rate, x).value == Fraction(-9, 5)
    assert descent.growth_factor(rate, x).value == Fraction(81, 25)
    assert descent.loss(rounded(0), x, y).value == Fraction(56, 3)
    assert descent.gradient(rounded(0), x, y).value == Fraction(-56, 3)
    final, rows = descent.run(rate, 3, x, y)
    losses = [Fraction(56, 3) * Fraction(81, 25) ** k for k in range(3)]
    assert [row[0].value for row in rows] == [0, Fraction(28, 5), Fraction(-112, 25)]
    assert [row[2].value for row in rows] == [
        Fraction(56, 3) * Fraction(9, 5) ** k for k in range(3)
    ]
    assert [row[1].value for row in rows] == losses
    assert final.value == 2 - 2 * Fraction(-9, 5) ** 3


def test_features_that_are_all_zero_allow_any_rate():
    assert descent.rate_ceiling([0.0, 0.0]) == math.inf
    final, rows = descent.run(0.5, 2, [0.0], [3.0], 1.0)
    assert final.value == 1
    assert [[n.value for n in row] for row in rows] == [[1, 9, 0], [1, 9, 0]]


def test_a_start_that_float32_cannot_hold_may_be_recorded_as_rounded():
    _, rows = descent.run(0.25, 2, [1.0], [2.0], 0.3)

    first = rows[0][0]
    assert first.value == Fraction(0.3)
    assert abs(Fraction(float(np.float32(0.3))) - first.value) <= first.bound
    assert descent.run(0.25, 1, [1.0], [2.0])[1][0][0].bound == 0


def test_a_growth_that_is_multiplied_out_is_right_where_the_error_vanishes():
    due = descent.growth_factor(0.1, [2.2360680103302])  # m is 0, but for rounding

    part = np.float32(0.1) * 2 * np.float32(2.2360680103302) ** 2
    expanded = 1 - 2 * part + part * part
    assert due.value < UNIT_ROUNDOFF**2 * 100
    assert abs(Fraction(float(expanded)) - due.value) <= due.bound


@pytest.mark.parametrize("seed", range(5))
def test_formulas_may_be_multiplied_out_where_their_factors_vanish(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        a, c = rng.uniform(1, 8, 2).astype(np.float32)
        b, d = (np.nextafter(v, np.float32(9)) for v in (a, c))
        exact = (rounded(float(a)) - float(b)) * (rounded(float(c)) - float(d)) / 3
        for got in (
            (a * c - a * d - b * c + b * d) / np.float32(3),
            (a * (c - d) - b * (c - d)) * (np.float32(1) / np.float32(3)),
            a * c / np.float32(3) + b * d / np.float32(3) - (a * d + b * c) / np.float32(3),
        ):
            assert abs(Fraction(float(got)) - exact.value) <= exact.bound
        assert exact.bound < exact.size / 10**6


def test_numbers_that_float32_cannot_hold_are_off_by_a_rounding():
    assert rounded(0.1).bound == UNIT_ROUNDOFF * Fraction(0.1)
    assert rounded(Fraction(1, 3)).bound == UNIT_ROUNDOFF / 3
    for held in (0, 0.5, -3, 2**24 - 1, 2.0**60, float(np.float32(0.1))):
        assert rounded(held).bound == 0


def test_a_quotient_by_what_may_be_zero_is_refused():
    with pytest.raises(ZeroDivisionError):
        1 / (rounded(0.1) - 0.1000000001)


@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_means_in_any_order_are_within_their_bound(n):
    rng = np.random.default_rng(n)
    for _ in range(50):
        x = rng.normal(size=n).astype(np.float32)
        due = mean(vector([float(v) for v in x]))
        forwards = np.cumsum(x)[-1] / np.float32(n)
        backwards = np.cumsum(x[::-1])[-1] * (np.float32(1) / np.float32(n))
        for got in (forwards, backwards, np.mean(x)):
            assert abs(Fraction(float(got)) - due.value) <= due.bound
