"""What `predict_trajectory` rests on: how far right predictions may be off, and wrong ones are.

PREDICTED_DRAWS=1500 takes a minute or two, and `pytest -s` prints the largest errors. Seen in 1500
draws, in bounds: 0.24 for the weights (closed forms), 0.18 for the losses.
"""

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from grader.exact import predicted
from grader.exact.rounding import Rounded
from tests.exact.faithful import CLOSED, CURVATURES, RUNNERS, f32
from tests.exact.inputs import Floats
from tests.exact.measuring import error_in_bounds

DRAWS = int(os.environ.get("PREDICTED_DRAWS", "150"))
STEPS = (1, 3, 6)
SLOW = {"JAX", "JAX, autodiff"}
single = np.float32


@dataclass(frozen=True)
class Case:
    """One input."""

    rate: float
    steps: int
    features: Floats
    true_weight: float
    start: float


def drawn(count: int, seed: int = 11) -> Iterator[Case]:
    """Two thirds as the checks draw them; the rest of any ordinary size."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        checked = rng.random() < 2 / 3
        n = int(rng.choice((1, 3) if DRAWS < 1000 else (1, 2, 3, 7)))

        def some(n: int, checked: bool = checked) -> list[float]:
            if checked and rng.random() < 2 / 3:
                return [float(v) for v in rng.integers(-99, 100, n) / 8]
            spread = 3 if checked else 10
            return [
                float(single(v))
                for v in rng.choice([-1, 1], n) * 2 ** rng.uniform(-spread, spread, n)
            ]

        features = some(n)
        if not any(features):
            features = [1.0] * n
        true_weight = float(rng.integers(-99, 100) / 10) if rng.random() < 1 / 2 else some(1)[0]
        start = rng.choice([0.0, true_weight, some(1)[0], some(1)[0]])
        square = sum(x * x for x in features) / n
        multiplier = rng.choice(
            [rng.uniform(-5, 1), rng.uniform(-0.01, 0.01), rng.uniform(-1.1, -0.9)]
        )
        rate = float(np.clip(float(f"{(1 - multiplier) / 2 / square:.3g}"), 1 / 1024, 1024))
        if abs(1 - 2 * rate * square) < 8:
            yield Case(rate, int(rng.choice(STEPS)), tuple(features), true_weight, float(start))


Prediction = tuple[Any, Any]
Program = Callable[[Case], Prediction]


def by_run(runner: Any) -> Program:
    """The run itself, on targets in float32."""

    def program(case: Case) -> Prediction:
        targets = tuple(float(y) for y in single(case.true_weight) * f32(case.features))
        _, rows = runner(case.rate, case.steps, case.features, targets, case.start)
        return [row[0] for row in rows], [row[1] for row in rows]

    return program


def by_closed_form(closed: Any) -> Program:
    """A closed form for the weights, another one for the losses."""

    def program(case: Case) -> Prediction:
        _, rows = closed(case.rate, case.steps, case.features, case.true_weight, case.start)
        return [row[0] for row in rows], [row[1] for row in rows]

    return program


def by_growth(curvature: str, growth: Callable[[Any, Any], Any]) -> Program:
    """Weights by their two shares, losses by their growth, from one of many curvatures."""

    def program(case: Case) -> Prediction:
        c = single(CURVATURES[curvature](case.features))
        r, t, start = single(case.rate), single(case.true_weight), single(case.start)
        m, factor = 1 - r * c, growth(r, c)
        weights = [start * m**k + t * (1 - m**k) for k in range(case.steps)]
        first = np.mean((start * f32(case.features) - t * f32(case.features)) ** 2)
        return weights, [first * factor**k for k in range(case.steps)]

    return program


def by_logarithms(case: Case) -> Prediction:
    """Powers by a logarithm and an exponential."""
    q = np.mean(f32(case.features) ** 2)
    m = 1 - single(case.rate) * 2 * q
    k = np.arange(case.steps, dtype=single)
    signs = np.where(k % 2, np.sign(m), single(1))
    size = np.log(abs(m)) if m else single(-1e4)
    error = (single(case.start) - single(case.true_weight)) * signs * np.exp(k * size)
    return single(case.true_weight) + error, q * error * error


def by_errors(case: Case) -> Prediction:
    """Errors one by one, in NumPy's float32."""
    q, error = np.mean(f32(case.features) ** 2), single(case.start) - single(case.true_weight)
    errors = []
    for _ in range(case.steps):
        errors.append(error)
        error = error - single(case.rate) * (2 * q * error)
    return [single(case.true_weight) + e for e in errors], [q * e**2 for e in errors]


PROGRAMS: dict[str, Program] = {
    **{name: by_run(runner) for name, runner in RUNNERS.items() if name not in SLOW},
    **{name: by_closed_form(closed) for name, closed in CLOSED.items()},
    "growth, squared": by_growth("NumPy float32", lambda r, c: (1 - r * c) ** 2),
    "growth, multiplied out": by_growth(
        "NumPy float32, distributed", lambda r, c: 1 - 2 * (r * c) + (r * c) * (r * c)
    ),
    "growth, curvature measured": by_growth(
        "gradient difference, targets 1", lambda r, c: (1 - r * c) ** 2
    ),
    "logarithms": by_logarithms,
    "errors": by_errors,
}


def test_no_right_prediction_is_outside_its_bound():
    largest: dict[str, float] = defaultdict(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in drawn(DRAWS):
            weights, losses = due(case)
            for name, program in PROGRAMS.items():
                got = program(case)
                found = error_in_bounds(got[0], weights), error_in_bounds(got[1], losses)
                assert max(found) <= 1, (name, found, case)
                for what, error in zip(("weights", "losses"), found, strict=True):
                    largest[f"{what}, {name}"] = max(largest[f"{what}, {name}"], error)
    print(*(f"{error:.3f} {name}" for name, error in sorted(largest.items())), sep="\n")
    assert max(largest.values()) > 0.1


def due(case: Case) -> tuple[list[Rounded], list[Rounded]]:
    return predicted.run(case.rate, case.steps, case.features, case.true_weight, case.start)


@pytest.mark.parametrize("what", [0, 1])
def test_a_rate_that_is_off_by_a_thousandth_is_outside_the_bound(what):
    outside, asked = 0, 0
    for case in drawn(300, seed=12):
        change = abs(2 * case.rate * float(np.mean(np.square(case.features))))
        error = abs(case.true_weight - case.start)
        far = error > max(abs(case.true_weight), abs(case.start)) / 16
        if case.steps > 1 and far and change > 1 / 16 and abs(1 - change) > 1 / 16:
            wrong = predicted.run(Fraction(case.rate) * 1001 / 1000, case.steps, *vars_of(case))[
                what
            ]
            asked += 1
            outside += error_in_bounds([item.value for item in wrong], due(case)[what]) > 1
    assert asked > 30
    assert outside == asked


def vars_of(case: Case) -> tuple[Floats, float, float]:
    return case.features, case.true_weight, case.start


def test_the_page_s_case_is_exact():
    weights, losses = predicted.run(Fraction(2, 5), 3, [2, 1, 1], -1, 3)

    assert [w.value for w in weights] == [3, Fraction(-17, 5), Fraction(11, 25)]
    assert [loss.value for loss in losses] == [32, Fraction(1152, 100), Fraction(41472, 10_000)]


def test_features_that_are_all_zero_change_nothing():
    weights, losses = predicted.run(0.5, 3, [0.0, 0.0], 3.0, 1.0)

    assert [w.value for w in weights] == [1, 1, 1]
    assert not any(loss.value or loss.bound for loss in losses)


def test_what_is_near_a_border_is_not_asked():
    assert not predicted.is_clear(1.0, [1.0])
    assert not predicted.is_clear(0.501, [1.0])
    assert not predicted.is_clear(1 / 1024, [1.0])
    assert predicted.is_clear(0.25, [1.0])
