"""What `rescale_objective` alone rests on: how far right steps may be off, and wrong ones are.

RESCALE_OBJECTIVE_DRAWS=6000 takes a minute or two, and `pytest -s` prints the largest errors. Seen
in 6000 draws, in bounds: 0.28 for the gradient, 0.45 for the rate (by logarithms; else 0.13), 0.23
for the update, 0.24 for the clipped one. Adam's is 0.43, by programs of every kind where the weight
is large beside the step, and 0.76 where both powers of its decays miss by a float32 number.
"""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grader.exact import rescaled
from grader.exact.rounding import Rounded
from grader.public import lesson

DRAWS = int(os.environ.get("RESCALE_OBJECTIVE_DRAWS", "300"))
f32 = np.float32


@dataclass(frozen=True)
class Case:
    """One input for every function. `checked`: of the kind that the checks draw."""

    rate: float
    scale: float
    clip: float
    weight: float
    features: list[float]
    targets: list[float]
    eps: float
    checked: bool

    @property
    def at(self) -> tuple[float, list[float], list[float]]:
        """Where the gradient is taken."""
        return self.weight, self.features, self.targets

    @property
    def arrays(self) -> tuple[Any, Any]:
        """Features and targets as float32 arrays."""
        return f32(self.features), f32(self.targets)


def drawn(count: int, seed: int = 20240611) -> Iterator[Case]:
    """Two thirds as the checks draw them; the rest of any ordinary size, with more examples."""
    rng = np.random.default_rng(seed)

    def vector(n: int, checked: bool) -> list[float]:
        if not checked:
            return [float(f32(v)) for v in rng.choice([-1, 1], n) * 2.0 ** rng.uniform(-10, 10, n)]
        if rng.random() < 1 / 3:
            signs = rng.choice([-1, 1], n)
            return [float(f32(v)) for v in signs * 2.0 ** rng.uniform(-3, 4, n)]
        return [float(v) for v in rng.integers(-99, 100, n) / 8]

    def positive(checked: bool, largest: float) -> float:
        if checked:
            return int(rng.integers(1, 100)) / float(rng.choice([99 / largest, 10, 50]))
        return float(2.0 ** rng.uniform(-10, 10))

    for _ in range(count):
        checked = rng.random() < 2 / 3
        n = int(rng.choice((1, 2, 3, 5) if checked else (1, 2, 4, 7, 20)))
        features, targets, weight = vector(n, checked), vector(n, checked), vector(1, checked)[0]
        if rng.random() < 1 / 4:  # near the best weight, where all digits cancel
            targets = [float(f32(weight * x)) for x in features]
        rate, scale = positive(checked, 1.5), positive(checked, 12.5)
        slope = abs(float(rescaled.gradient(scale, weight, features, targets).value))
        clip = min(max(slope * float(rng.choice([0.1, 0.9, 0.99, 1.01, 1.1, 5])), 2**-10), 2.0**10)
        eps = float(rng.choice([1e-8, 1e-3, 1.0, 8.0, 300.0, max(slope, 1e-3)]))
        yield Case(rate, scale, clip, weight, features, targets, eps, checked)


def is_asked(function: str, case: Case) -> bool:
    if function == "clipped_update":
        return rescaled.clip_is_asked(case.scale, case.clip, *case.at)
    return function != "adam_first_update" or rescaled.adam_is_asked(case.scale, *case.at)


DUE: dict[str, Callable[[Case], Rounded]] = {
    "scaled_gradient": lambda c: rescaled.gradient(c.scale, *c.at),
    "compensating_rate": lambda c: rescaled.compensating_rate(c.rate, c.scale),
    "update": lambda c: rescaled.step(c.rate, c.scale, *c.at),
    "clipped_update": lambda c: rescaled.clipped_step(c.rate, c.scale, c.clip, *c.at),
    "adam_first_update": lambda c: rescaled.adam_step(c.rate, c.scale, *c.at, c.eps),
}


# --- right programs ---


def numpy_slope(c: Case) -> Any:
    x, y = c.arrays
    return f32(c.scale) * 2 * np.mean(x * (f32(c.weight) * x - y))


def expanded_slope(c: Case) -> Any:
    x, y = c.arrays
    return f32(2) * f32(c.scale) * f32(c.weight) * np.mean(x * x) - 2 * f32(c.scale) * np.mean(
        x * y
    )


def slope_of_rooted_data(c: Case) -> Any:
    x, y = c.arrays
    root = np.sqrt(f32(c.scale))
    return 2 * np.mean(root * x * (f32(c.weight) * (root * x) - root * y))


def fitted(c: Case) -> tuple[Any, Any]:
    """Twice the mean square times the factor, and the best weight."""
    x, y = c.arrays
    square = np.mean(x * x)
    return 2 * f32(c.scale) * square, np.mean(x * y) / square if square else f32(0)


def slope_from_fit(c: Case) -> Any:
    curvature, best = fitted(c)
    return curvature * (f32(c.weight) - best)


def step_from_fit(c: Case) -> Any:
    curvature, best = fitted(c)
    return best + (1 - f32(c.rate) * curvature) * (f32(c.weight) - best)


def affine_step(c: Case) -> Any:
    x, y = c.arrays
    product = f32(c.rate) * f32(c.scale)
    return f32(c.weight) * (1 - product * 2 * np.mean(x * x)) + product * 2 * np.mean(x * y)


def python_slope(c: Case) -> float:
    pairs = zip(c.features, c.targets, strict=True)
    return 2 * c.scale * math.fsum(x * (c.weight * x - y) for x, y in pairs) / len(c.features)


def decimal_slope(c: Case) -> Decimal:
    pairs = [(Decimal(x), Decimal(y)) for x, y in zip(c.features, c.targets, strict=True)]
    total = sum(x * (Decimal(c.weight) * x - y) for x, y in pairs)
    return 2 * Decimal(c.scale) * total / len(pairs)


def scaled_loss(weight: Any, scale: Any, x: Any, y: Any) -> Any:
    return scale * lesson.loss(weight, x, y)


autodiff = jax.grad(scaled_loss)


def jax_slope(c: Case) -> Any:
    x, y = c.arrays
    return c.scale * lesson.analytic_gradient(c.weight, jnp.asarray(x), jnp.asarray(y))


jit_slope = jax.jit(autodiff)
jit_step = jax.jit(lambda r, k, w, x, y: w - r * autodiff(w, k, x, y))
jit_clipped = jax.jit(lambda r, k, c, w, x, y: w - r * jnp.clip(autodiff(w, k, x, y), -c, c))


def general_adam(slope: Any, rate: Any, weight: Any, eps: Any, one: Any, library: Any) -> Any:
    """Adam with its moments, decays in the type of `one`, as optax.adam goes about it."""
    first, second = one * 0.9, one * 0.999
    m = first * 0 + (1 - first) * slope
    v = second * 0 + (1 - second) * slope**2
    m, v = m / (1 - first**one), v / (1 - second**one)
    return weight - rate * (m / (library.sqrt(v) + eps))


def adam_with_neighbouring_powers(c: Case) -> Any:
    """As by a power function that misses by one float32 number, on either side."""
    slope, one = numpy_slope(c), f32(1)
    first, second = np.nextafter(f32(0.9), f32(0)), np.nextafter(f32(0.999), one)
    m, v = f32(0.1) * slope / (one - first), f32(0.001) * slope * slope / (one - second)
    return f32(c.weight) - f32(c.rate) * m / (np.sqrt(v) + f32(c.eps))


def efficient_adam(c: Case) -> Any:
    """In the order that Adam's authors call efficient, eps scaled to mean the same."""
    slope, root = numpy_slope(c), f32(math.sqrt(1 - 0.999))
    m, v = f32(1 - 0.9) * slope, f32(1 - 0.999) * slope**2
    step = f32(c.rate) * root / f32(1 - 0.9)
    return f32(c.weight) - step * m / (np.sqrt(v) + f32(c.eps) * root)


@jax.jit
def jit_adam(
    rate: Any, scale: Any, weight: Any, x: Any, y: Any, eps: Any, count: jax.Array
) -> jax.Array:
    slope = autodiff(weight, scale, x, y)
    m, v = (1 - 0.9) * slope, (1 - 0.999) * slope**2
    m, v = m / (1 - 0.9**count), v / (1 - 0.999**count)
    return weight - rate * m / (jnp.sqrt(v) + eps)


def clipped_by_norm(c: Case) -> Any:
    slope = numpy_slope(c)
    norm = np.sqrt(slope * slope)
    return f32(c.weight) - f32(c.rate) * (
        slope if norm < f32(c.clip) else slope / norm * f32(c.clip)
    )


def clipped_before_scaling(c: Case) -> Any:
    x, y = c.arrays
    limit = f32(c.clip) / f32(c.scale)
    plain = np.clip(2 * np.mean(x * (f32(c.weight) * x - y)), -limit, limit)
    return f32(c.weight) - f32(c.rate) * f32(c.scale) * plain


def clipped_move(c: Case) -> Any:
    limit = f32(c.rate) * f32(c.clip)
    return f32(c.weight) + np.clip(affine_step(c) - f32(c.weight), -limit, limit)


SLOPES: dict[str, Callable[[Case], Any]] = {
    "NumPy": numpy_slope,
    "NumPy, expanded": expanded_slope,
    "NumPy, root of the scale": slope_of_rooted_data,
    "NumPy, from the best weight": slope_from_fit,
    "Python": python_slope,
    "JAX": jax_slope,
    "jax.grad, jitted": lambda c: jit_slope(c.weight, c.scale, *c.arrays),
}
PROGRAMS: dict[str, dict[str, Callable[[Case], Any]]] = {
    "scaled_gradient": {**SLOPES, "Decimal": decimal_slope},
    "compensating_rate": {
        "Python": lambda c: c.rate / c.scale,
        "NumPy": lambda c: f32(c.rate) / f32(c.scale),
        "NumPy, reciprocal": lambda c: f32(c.rate) * (1 / f32(c.scale)),
        "logarithms": lambda c: jnp.exp(jnp.log(c.rate) - jnp.log(c.scale)),
        "measured": lambda c: (
            f32(c.rate)
            * jit_slope(0.25, 1.0, lesson.FEATURES, lesson.TARGETS)
            / jit_slope(0.25, c.scale, lesson.FEATURES, lesson.TARGETS)
        ),
        "Decimal": lambda c: Decimal(c.rate) / Decimal(c.scale),
    },
    "update": {
        name: (lambda c, slope=slope: f32(c.weight) - f32(c.rate) * f32(slope(c)))
        for name, slope in SLOPES.items()
    }
    | {
        "Python": lambda c: c.weight - c.rate * python_slope(c),
        "m*w + c": affine_step,
        "t + m*(w - t)": step_from_fit,
        "jitted": lambda c: jit_step(c.rate, c.scale, c.weight, *c.arrays),
    },
    "clipped_update": {
        name: (
            lambda c, slope=slope: (
                f32(c.weight) - f32(c.rate) * np.clip(f32(slope(c)), -f32(c.clip), f32(c.clip))
            )
        )
        for name, slope in SLOPES.items()
    }
    | {
        "Python": lambda c: c.weight - c.rate * max(-c.clip, min(c.clip, python_slope(c))),
        "by the norm": clipped_by_norm,
        "before scaling": clipped_before_scaling,
        "the move": clipped_move,
        "jitted": lambda c: jit_clipped(c.rate, c.scale, c.clip, c.weight, *c.arrays),
    },
    "adam_first_update": {
        name: (
            lambda c, slope=slope: (
                f32(c.weight) - f32(c.rate) * f32(slope(c)) / (abs(f32(slope(c))) + f32(c.eps))
            )
        )
        for name, slope in SLOPES.items()
    }
    | {
        "two gradients": lambda c: (
            f32(c.weight) - f32(c.rate) * expanded_slope(c) / (abs(numpy_slope(c)) + f32(c.eps))
        ),
        "sign": lambda c: (
            f32(c.weight)
            - f32(c.rate) * np.sign(numpy_slope(c)) / (1 + f32(c.eps) / abs(numpy_slope(c)))
        ),
        "general, float32": lambda c: general_adam(
            numpy_slope(c), f32(c.rate), f32(c.weight), f32(c.eps), f32(1), np
        ),
        "general, JAX": lambda c: general_adam(
            jax_slope(c), c.rate, c.weight, c.eps, jnp.float32(1), jnp
        ),
        "general, doubles": lambda c: general_adam(
            python_slope(c), c.rate, c.weight, c.eps, 1.0, np
        ),
        "general, neighbouring powers": adam_with_neighbouring_powers,
        "efficient": efficient_adam,
        "general, jitted": lambda c: jit_adam(
            c.rate, c.scale, c.weight, *c.arrays, c.eps, jnp.array(1)
        ),
    },
}


def in_bounds(got: Any, due: Rounded) -> float:
    """An error over its bound."""
    exact = Fraction(got if isinstance(got, Decimal | Fraction) else float(got))
    error = abs(exact - due.value)
    return float(error / due.bound) if error else 0.0


@pytest.mark.parametrize("function", DUE)
def test_no_right_program_exceeds_the_bound(function):
    largest: dict[str, float] = dict.fromkeys(PROGRAMS[function], 0.0)
    for case in drawn(DRAWS):
        if is_asked(function, case):
            due = DUE[function](case)
            for name, program in PROGRAMS[function].items():
                error = in_bounds(program(case), due)
                largest[name] = max(largest[name], error)
                assert error <= 1, f"{name} is off by {error} bounds at {case}"
    print(function, {name: round(error, 3) for name, error in largest.items()})


# --- wrong programs ---

OFF = Fraction(1001, 1000)
"""0.1 % off."""


@dataclass(frozen=True)
class WrongConstant:
    """A function with a constant that is 0.1 % off, and where that has to be seen."""

    function: str
    name: str
    answer: Callable[[Case], Fraction]
    typical: Callable[[Case], bool]


def step_at(rate: Fraction, c: Case) -> Fraction:
    return rescaled.step(rate, c.scale, *c.at).value


def clipped_at(rate: Fraction, clip: Fraction, c: Case) -> Fraction:
    return rescaled.clipped_step(rate, c.scale, clip, *c.at).value


def adam_at(rate: Fraction, eps: Fraction, c: Case) -> Fraction:
    return rescaled.adam_step(rate, c.scale, *c.at, eps).value


def few_digits_cancel(c: Case) -> bool:
    slope = rescaled.gradient(c.scale, *c.at)
    return 50 * abs(slope.value) >= slope.size


def step_counts(c: Case) -> bool:
    """Whether the weight, and the best one, are not too large beside the change."""
    due = rescaled.step(c.rate, c.scale, *c.at)
    return 50 * abs(due.value - Fraction(c.weight)) >= due.size


def clip_counts(c: Case) -> bool:
    slope = abs(rescaled.gradient(c.scale, *c.at).value)
    return slope > Fraction(c.clip) and 50 * c.rate * c.clip >= abs(c.weight)


def adam_counts(c: Case) -> bool:
    return few_digits_cancel(c) and 50 * c.rate >= abs(c.weight)


def eps_counts(c: Case) -> bool:
    """Whether gradient and eps are of one size."""
    slope = abs(float(rescaled.gradient(c.scale, *c.at).value))
    return adam_counts(c) and slope / 4 <= c.eps <= 4 * slope


WRONG_CONSTANTS = [
    WrongConstant(
        "scaled_gradient",
        "2.002*scale",
        lambda c: OFF * DUE["scaled_gradient"](c).value,
        few_digits_cancel,
    ),
    WrongConstant(
        "compensating_rate",
        "1.001*rate",
        lambda c: OFF * DUE["compensating_rate"](c).value,
        lambda c: True,
    ),
    WrongConstant(
        "update", "1.001*rate", lambda c: step_at(OFF * Fraction(c.rate), c), step_counts
    ),
    WrongConstant(
        "update",
        "1.001*weight",
        lambda c: DUE["update"](c).value + (OFF - 1) * Fraction(c.weight),
        lambda c: 50 * abs(Fraction(c.weight)) >= DUE["update"](c).size,
    ),
    WrongConstant(
        "clipped_update",
        "1.001*clip",
        lambda c: clipped_at(Fraction(c.rate), OFF * Fraction(c.clip), c),
        clip_counts,
    ),
    WrongConstant(
        "adam_first_update",
        "1.001*rate",
        lambda c: adam_at(OFF * Fraction(c.rate), Fraction(c.eps), c),
        lambda c: adam_counts(c) and c.eps <= 1,
    ),
    WrongConstant(
        "adam_first_update",
        "1.001*eps",
        lambda c: adam_at(Fraction(c.rate), OFF * Fraction(c.eps), c),
        eps_counts,
    ),
]


@pytest.mark.parametrize(
    "wrong", WRONG_CONSTANTS, ids=lambda wrong: f"{wrong.function}-{wrong.name}"
)
def test_a_constant_that_is_off_by_a_thousandth_exceeds_the_bound(wrong):
    typical = [
        case
        for case in drawn(DRAWS)
        if case.checked and is_asked(wrong.function, case) and wrong.typical(case)
    ]
    assert len(typical) >= DRAWS / 30
    errors = [in_bounds(wrong.answer(case), DUE[wrong.function](case)) for case in typical]
    print(wrong.name, len(typical), min(errors))
    assert min(errors) > 2
