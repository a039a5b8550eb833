"""Seeded inputs for the oracle's tests: like the checks' own draws, and wider.

Two thirds are drawn as `grader.draws` draws: the same ranges, lengths and rates. The rest have
magnitudes from 1/1024 to 1024, zeros among them, and more examples.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from grader.draws import LENGTHS

Floats = tuple[float, ...]
Comparison = tuple[float, float, int, int]

WIDE_LENGTHS = (1, 2, 3, 4, 7, 20)
STEPS = (1, 2, 3, 4, 6)
STEPS_AND_LENGTHS = ((1, 1), (2, 3), (3, 2), (6, 3), (4, 5))  # those of the checks of ones_bound
LARGEST = 1e30  # of a loss in a run: "runs are chosen so that nothing overflows"


@dataclass(frozen=True)
class Case:
    """One input for every quantity. `true_weight` is t where the targets are exactly t*x.

    `compared` are the arguments of `compare_rates`. `checked` says that rates and lengths are among
    the few that checks draw, so that a rate may be a constant of a compiled program.
    """

    features: Floats
    targets: Floats
    weight: float
    rate: float
    steps: int
    true_weight: float | None
    compared: Comparison
    checked: bool


def grid(low: int, high: int) -> list[float]:
    """All the rates that `grader.draws.rates(low, high)` draws from."""
    exact = {k / 64 for k in range(low, high + 1)}
    return sorted(exact | {k / 50 for k in range(-(-low * 50 // 64), high * 50 // 64 + 1)})


def comparisons() -> list[Comparison]:
    """Arguments with which `compare_rates` meets every run that its checks can ask for."""
    stable, unstable = grid(4, 63), grid(65, 96)
    pairs = list(zip(stable, cycle(unstable), strict=False))
    return [(low, high, *case) for case in STEPS_AND_LENGTHS for low, high in pairs]


def cases(count: int, seed: int) -> Iterator[Case]:
    """`count` cases, the same ones for the same seed."""
    rng = np.random.default_rng(seed)
    every_comparison = comparisons()
    for _ in range(count):
        compared = every_comparison[rng.integers(len(every_comparison))]
        yield (_like_checks if rng.random() < 2 / 3 else _wide)(rng, compared)


def _like_checks(rng: np.random.Generator, compared: Comparison) -> Case:
    n = int(rng.choice(LENGTHS))
    features = checked_vector(rng, n)
    weight = 0.0 if rng.random() < 1 / 3 else checked_vector(rng, 1)[0]
    rates = grid(1, 99)
    true_weight, targets = None, checked_vector(rng, n)
    if rng.random() < 2 / 3:
        true_weight = float(rng.integers(-24, 25) / 8)
        targets = tuple(true_weight * x for x in features)
        if any(np.float32(y) != y for y in targets):
            true_weight, targets = 2.0, tuple(2.0 * x for x in features)
    rate = rates[rng.integers(len(rates))]
    steps = _steps(rng, features, targets, weight, rate)
    return Case(features, targets, weight, rate, steps, true_weight, compared, checked=True)


def _wide(rng: np.random.Generator, compared: Comparison) -> Case:
    n = int(rng.choice(WIDE_LENGTHS))
    features, targets = _wide_vector(rng, n), _wide_vector(rng, n)
    weight = 0.0 if rng.random() < 1 / 5 else _magnitude(rng)
    true_weight = None
    if rng.random() < 2 / 3:  # of 11 bits each, so that float32 holds the products
        true_weight = float(np.float16(_magnitude(rng)))
        features = tuple(float(np.float16(x)) for x in features)
        targets = tuple(true_weight * x for x in features)
    # r*q is near the border, near the jump to the optimum, or anywhere below 2.
    part = rng.choice([rng.uniform(0.95, 1.05), rng.uniform(0.45, 0.55), rng.uniform(1 / 64, 2)])
    rate = float(np.clip(part / _mean(features, features), 1 / 1024, 1024))
    compared = (rng.uniform(0.01, 0.99), rng.uniform(1.01, 2.5), *compared[2:])
    steps = _steps(rng, features, targets, weight, rate)
    return Case(features, targets, weight, rate, steps, true_weight, compared, checked=False)


def _steps(rng: np.random.Generator, x: Floats, y: Floats, weight: float, rate: float) -> int:
    """A number of steps, small enough that nothing overflows."""
    square = _mean(x, x)
    growth = max(1.0, abs(1 - 2 * rate * square))
    distance = abs(weight - _mean(x, y) / square) + 1
    fitting = [k for k in STEPS if square * (distance * growth**k) ** 2 < LARGEST]
    return int(rng.choice(fitting)) if fitting else 1


def _mean(x: Floats, y: Floats) -> float:
    return sum(a * b for a, b in zip(x, y, strict=True)) / len(x)


def checked_vector(rng: np.random.Generator, n: int) -> Floats:
    """As `grader.draws.vectors` without zeros: eighths, or one time in three full significands."""
    if rng.random() < 1 / 3:
        bits, exponents = rng.integers(0, 2**23, n), rng.integers(-3, 4, n)
        signs = rng.choice([-1.0, 1.0], n)
        return tuple(float(v) for v in signs * (1 + bits / 2**23) * 2.0**exponents)
    vector = tuple(float(v) for v in rng.integers(-99, 100, n) / 8)
    return vector if any(vector) else (1.0,) * n


def _wide_vector(rng: np.random.Generator, n: int) -> Floats:
    """float32 values of any ordinary size, of one size or of many; one in ten is 0."""
    signs = rng.choice([-1.0, 1.0], n) if rng.random() < 1 / 2 else np.ones(n)
    exponents = rng.uniform(-10, 10, n)
    if rng.random() < 1 / 2:
        exponents = np.clip(rng.uniform(-10, 10) + rng.uniform(-2, 2, n), -10, 10)
    values = (signs * 2.0**exponents * (rng.random(n) > 0.1)).astype(np.float32)
    return tuple(float(v) for v in values) if values.any() else (1.0,) * n


def _magnitude(rng: np.random.Generator) -> float:
    """A double of any ordinary size and either sign."""
    return float(rng.choice([-1.0, 1.0]) * 2.0 ** rng.uniform(-10, 10))
