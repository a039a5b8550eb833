"""Seeded inputs for the oracle's tests: like the checks' own draws, and wider.

Two thirds are drawn as `grader.draws` draws: the same ranges, lengths and rates. The rest have
magnitudes from 1/1024 to 1024, zeros among them, and more examples.
"""

from dataclasses import dataclass

import numpy as np

from grader.draws import LENGTHS

Floats = list[float]

WIDE_LENGTHS = (1, 2, 3, 4, 7, 20)
STEPS = (1, 2, 3, 4, 6)
LARGEST = 1e30  # of a loss in a run: "runs are chosen so that nothing overflows"


@dataclass(frozen=True)
class Case:
    """One input for every quantity. `true_weight` is t where the targets are exactly t*x.

    `on_grid` says whether the rate is one of the few that checks draw, so that it may be a
    constant of a compiled program. `compared` are the arguments of `compare_rates`.
    """

    features: Floats
    targets: Floats
    weight: float
    rate: float
    steps: int
    true_weight: float | None
    on_grid: bool
    compared: tuple[float, float, int, int]


def cases(count: int, seed: int) -> list[Case]:
    """`count` cases, the same ones for the same seed."""
    rng = np.random.default_rng(seed)
    return [_like_checks(rng) if rng.random() < 2 / 3 else _wide(rng) for _ in range(count)]


def _like_checks(rng: np.random.Generator) -> Case:
    n = int(rng.choice(LENGTHS))
    features = _checked_vector(rng, n)
    weight = 0.0 if rng.random() < 1 / 3 else _checked_vector(rng, 1, zeros=True)[0]
    true_weight = None
    if rng.random() < 1 / 2:
        true_weight = float(rng.integers(-24, 25) / 8)
        targets = [true_weight * x for x in features]
        if any(np.float32(y) != y for y in targets):
            true_weight, targets = 2.0, [2.0 * x for x in features]
    else:
        targets = _checked_vector(rng, n, zeros=True)
    return _with_run(rng, features, targets, weight, _grid_rate(rng, 1, 99), true_weight, True)


def _wide(rng: np.random.Generator) -> Case:
    n = int(rng.choice(WIDE_LENGTHS))
    features, targets = _wide_vector(rng, n), _wide_vector(rng, n)
    if not any(features):
        features[0] = 1.0
    weight = 0.0 if rng.random() < 1 / 5 else _magnitude(rng)
    square = sum(x * x for x in features) / n
    # Near the border, near the jump to the optimum, or anywhere; as 1/64 < r*q < 2.
    part = rng.choice([rng.uniform(0.95, 1.05), rng.uniform(0.45, 0.55), rng.uniform(1 / 64, 2)])
    rate = float(np.clip(part / square, 1 / 1024, 1024))
    true_weight = None
    if rng.random() < 1 / 2:
        true_weight = float(np.float32(_magnitude(rng)).astype(np.float16))
        features = [float(np.float16(x)) for x in features]
        targets = [true_weight * x for x in features]
    return _with_run(rng, features, targets, weight, rate, true_weight, False)


def _with_run(
    rng: np.random.Generator,
    features: Floats,
    targets: Floats,
    weight: float,
    rate: float,
    true_weight: float | None,
    on_grid: bool,
) -> Case:
    """A case, with as many steps as don't overflow."""
    steps = int(rng.choice(STEPS))
    square = sum(x * x for x in features) / len(features)
    cross = sum(x * y for x, y in zip(features, targets, strict=True)) / len(features)
    largest = abs(weight - cross / square) * max(1.0, abs(1 - 2 * rate * square)) ** np.arange(7)
    while steps > 1 and square * largest[steps] ** 2 > LARGEST:
        steps -= 1
    compared = _grid_rate(rng, 4, 63), _grid_rate(rng, 65, 96), int(rng.choice(STEPS)), 0
    compared = (*compared[:3], int(rng.choice((1, 2, 3, 5))))
    return Case(features, targets, weight, rate, steps, true_weight, on_grid, compared)


def _grid_rate(rng: np.random.Generator, low: int, high: int) -> float:
    """As `grader.draws.rates`."""
    if rng.random() < 1 / 2:
        return int(rng.integers(low, high + 1)) / 64
    return int(rng.integers(-(-low * 50 // 64), high * 50 // 64 + 1)) / 50


def _checked_vector(rng: np.random.Generator, n: int, zeros: bool = False) -> Floats:
    """As `grader.draws.vectors`: eighths, or in one case of three full significands."""
    if rng.random() < 1 / 3:
        bits, exponents = rng.integers(0, 2**23, n), rng.integers(-3, 4, n)
        signs = rng.choice([-1.0, 1.0], n)
        return [float(v) for v in signs * (1 + bits / 2**23) * 2.0**exponents]
    vector = [float(v) for v in rng.integers(-99, 100, n) / 8]
    return vector if zeros or any(vector) else [1.0] * n


def _wide_vector(rng: np.random.Generator, n: int) -> Floats:
    """float32 values of any ordinary size; one in ten is 0, and signs are often all the same."""
    sign = rng.choice([-1.0, 1.0], n) if rng.random() < 1 / 2 else np.ones(n)
    around = rng.uniform(-10, 10) if rng.random() < 1 / 2 else 0.0
    exponents = np.clip(around + rng.uniform(-2, 2, n), -10, 10) if around else rng.uniform(-10, 10, n)
    values = sign * 2.0**exponents * (rng.random(n) > 0.1)
    return [float(v) for v in values.astype(np.float32)]


def _magnitude(rng: np.random.Generator) -> float:
    """A double of any ordinary size and either sign."""
    return float(rng.choice([-1.0, 1.0]) * 2.0 ** rng.uniform(-10, 10))
