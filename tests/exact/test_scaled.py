"""What `feature_scale` rests on: how far right comparisons may be off, and wrong ones are.

SCALED_DRAWS=1500 takes a few minutes, and `pytest -s` prints the largest errors. Seen in 1500
draws, in bounds: 0.10 for a comparison, 0.17 for a rate, 0.20 for standardized data (by way of a
logarithm; else 0.12).
"""

import math
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from grader.exact import scaled
from tests.exact.faithful import CLOSED, RUNNERS, f32
from tests.exact.inputs import Floats
from tests.exact.measuring import error_in_bounds

DRAWS = int(os.environ.get("SCALED_DRAWS", "150"))
SLOW = {"JAX", "JAX, autodiff"}
single = np.float32


@dataclass(frozen=True)
class Case:
    """One input, in the order of `scaled_comparison`."""

    rate: float
    scale: float
    steps: int
    features: Floats
    targets: Floats

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.rate, self.scale, self.steps, self.features, self.targets


def drawn(count: int, seed: int = 31) -> Iterator[Case]:
    """Two thirds as the checks draw them; the rest of any ordinary size."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        checked = rng.random() < 2 / 3
        n = int(rng.choice((1, 3) if DRAWS < 1000 else (1, 2, 3, 7)))

        def some(n: int, checked: bool = checked) -> list[float]:
            if checked and rng.random() < 2 / 3:
                return [float(v) for v in rng.integers(-99, 100, n) / 8]
            size = 2 ** rng.uniform(*((-3, 3) if checked else (-10, 10)), n)
            return [float(single(v)) for v in rng.choice([-1, 1], n) * size]

        features, targets = some(n), some(n)
        if not any(features):
            features = [1.0] * n
        scale = float(rng.choice([-1, 1]) * 2 ** rng.uniform(-10, 10))
        if checked:
            scale = float(rng.choice([-1, 1]) * rng.integers(1, 100) / rng.choice([8, 10]))
        square = sum(x * x for x in features) / n
        rate = float(f"{(1 - rng.uniform(-4, 1)) / 2 / square:.2g}")
        rate = float(np.clip(rate, 1 / 1024, 1024))
        steps = int(rng.choice((1, 3, 6)))
        if abs(1 - 2 * rate * square) < 8 and scaled.is_asked(rate, steps, features, targets):
            yield Case(rate, scale, steps, tuple(features), tuple(targets))


RATES: dict[str, Callable[[Any, Any], Any]] = {
    "over the square": lambda rate, scale: rate / scale**2,
    "divided twice": lambda rate, scale: rate / scale / scale,
    "times the inverse, squared": lambda rate, scale: rate * (1 / scale) ** 2,
    "times the square's inverse": lambda rate, scale: rate * (single(1) / (scale * scale)),
    "over two curvatures": lambda rate, scale: (
        rate / (np.mean((scale * f32((1.0, 2.0, 3.0))) ** 2) / np.mean(f32((1.0, 2.0, 3.0)) ** 2))
    ),
}

Comparison = tuple[Any, Any, Any]
Program = Callable[[Case], Comparison]


def floats(values: Any) -> Floats:
    return tuple(float(value) for value in values)


def by_runs(runner: Any, rate_by: Any) -> Program:
    """Two runs on float32 data."""

    def program(case: Case) -> Comparison:
        s = single(case.scale)
        x, y = floats(s * f32(case.features)), floats(s * f32(case.targets))
        rate = float(rate_by(single(case.rate), s))
        _, first = runner(case.rate, case.steps, case.features, case.targets, 0.0)
        _, second = runner(rate, case.steps, x, y, 0.0)
        ratio = [single(b[1]) / single(a[1]) for a, b in zip(first, second, strict=True)]
        return [row[0] for row in first], [row[0] for row in second], ratio

    return program


def by_closed_form(closed: Any, rate_by: Any) -> Program:
    """Closed forms with t as a quotient of two means, on float32 data; losses from the data."""

    def program(case: Case) -> Comparison:
        s, columns, losses = single(case.scale), [], []
        for factor, rate in ((single(1), single(case.rate)), (s, rate_by(single(case.rate), s))):
            x, y = factor * f32(case.features), factor * f32(case.targets)
            best = float(np.mean(x * y) / np.mean(x * x))
            _, rows = closed(float(rate), case.steps, floats(x), best, 0.0)
            weights = [single(row[0]) for row in rows]
            columns.append(weights)
            losses.append([np.mean((w * x - y) ** 2) for w in weights])
        ratio = [b / a for a, b in zip(*losses, strict=True)]
        return columns[0], columns[1], ratio

    return program


def by_what_is_known(case: Case) -> Comparison:
    """One run in float64 for both, and the square of the scale."""
    _, rows = RUNNERS["NumPy float64"](case.rate, case.steps, case.features, case.targets, 0.0)
    weights = [row[0] for row in rows]
    return weights, weights, [single(case.scale) ** 2] * case.steps


RUN_BY = [name for name in RUNNERS if name not in SLOW]
PROGRAMS: dict[str, Program] = {
    **{
        f"{name}, {way}": by_runs(RUNNERS[name], RATES[way])
        for name, way in zip(RUN_BY, [*RATES, *RATES, *RATES], strict=False)
    },
    **{
        f"{name}, {way}": by_closed_form(CLOSED[name], RATES[way])
        for name, way in zip(CLOSED, [*RATES, *RATES], strict=False)
    },
    "known": by_what_is_known,
}


def test_no_right_comparison_is_outside_its_bound():
    largest: dict[str, float] = defaultdict(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in drawn(DRAWS):
            due = scaled.comparison(*case.arguments)
            for name, program in PROGRAMS.items():
                found = [error_in_bounds(*pair) for pair in zip(program(case), due, strict=True)]
                assert max(found) <= 1, (name, found, case)
                largest[name] = max(largest[name], *found)
    print(*(f"{error:.3f} {name}" for name, error in sorted(largest.items())), sep="\n")
    assert max(largest.values()) > 0.03


def test_a_ratio_or_a_rate_that_is_off_by_a_thousandth_is_outside_the_bound():
    off, ratios, rates, asked = Fraction(1001, 1000), 0, 0, 0
    for case in drawn(300, seed=32):
        first, second, ratio = scaled.comparison(*case.arguments)
        asked += 1
        ratios += error_in_bounds([off * item.value for item in ratio], ratio) > 1
        wrong, _, _ = scaled.comparison(Fraction(case.rate) * off, *case.arguments[1:])
        if case.steps > 1 and any(w.value for w in first):
            moved = [item.value for item in wrong]
            rates += min(error_in_bounds(moved, first), error_in_bounds(moved, second)) > 1
        else:
            rates += 1
    assert asked > 100
    assert ratios == asked
    assert rates > 0.95 * asked


jit_size = jax.jit(lambda x: jnp.sqrt(jnp.mean(x**2)))

SIZES: dict[str, Callable[[Any], Any]] = {
    "JAX": lambda x: jnp.sqrt(jnp.mean(jnp.asarray(x) ** 2)),
    "jax.jit": jit_size,
    "norm": lambda x: np.linalg.norm(x) / np.sqrt(single(len(x))),
    "power": lambda x: np.mean(x * x) ** single(0.5),
    "largest taken out": lambda x: abs(x).max() * np.sqrt(np.mean((x / abs(x).max()) ** 2)),
    "logarithm": lambda x: np.exp(single(0.5) * np.log(np.mean(x * x))),
    "backwards": lambda x: np.sqrt(np.cumsum((x * x)[::-1])[-1] * (single(1) / single(len(x)))),
    "Python": lambda x: math.sqrt(sum(float(v) ** 2 for v in x) / len(x)),
}


def test_standardized_data_is_within_its_bounds():
    largest: dict[str, float] = defaultdict(float)
    for case in drawn(DRAWS, seed=33):
        x = f32(case.features)
        size = scaled.root_mean_square(case.features)
        due = [size, *scaled.divided(case.features, size), *scaled.divided(case.targets, size)]
        for name, by in SIZES.items():
            found = single(by(x))
            inverse = single(1) / found
            for parts in (
                (x / found, f32(case.targets) / found),
                (x * inverse, f32(case.targets) * inverse),
            ):
                error = error_in_bounds([found, *parts[0], *parts[1]], due)
                assert error <= 1, (name, case)
                largest[name] = max(largest[name], error)
        assert error_in_bounds([item.value * Fraction(1001, 1000) for item in due], due) > 100
    print(*(f"{error:.3f} {name}" for name, error in sorted(largest.items())), sep="\n")


def test_compensated_rates_are_within_their_bounds():
    rng = np.random.default_rng(34)
    largest = 0.0
    for _ in range(2_000):
        rate, scale = (float(v) for v in 2 ** rng.uniform(-10, 10, 2))
        scale *= float(rng.choice([-1, 1]))
        due = scaled.compensated(rate, scale)
        for way in RATES.values():
            largest = max(largest, error_in_bounds([way(single(rate), single(scale))], [due]))
        assert error_in_bounds([due.value * Fraction(1001, 1000)], [due]) > 100
    print(f"{largest:.3f}")
    assert largest <= 1


def test_roots_are_found_to_many_digits():
    for square in (Fraction(25), Fraction(14, 3), Fraction(1, 2**20), Fraction(2**20)):
        root = scaled._root(square)
        assert abs(root**2 / square - 1) < Fraction(1, 2**95)
    assert scaled.root_mean_square([1.0, 7.0]).value == 5


def test_the_worked_case_times_ten_is_exact():
    first, second, ratio = scaled.comparison(Fraction(1, 10), 10, 3, [1, 2, 3], [2, 4, 6])

    assert [w.value for w in first] == [0, 2 - Fraction(2, 15), 2 - Fraction(2, 225)]
    assert [w.value for w in second] == [w.value for w in first]
    assert [r.value for r in ratio] == [100, 100, 100]
