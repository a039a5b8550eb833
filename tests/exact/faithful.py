"""Right programs of every kind that the bounds must let pass, as students might write them.

`PROGRAMS` maps each quantity to its programs by name. A program takes a `Case` and returns the
quantity's numbers, each as the library computed it: a Python float, or a scalar of NumPy or JAX.
A program may return None for a case that it has no formula for.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from grader.public import lesson
from tests.exact.inputs import Case, Floats

Scalar: TypeAlias = Any
Program: TypeAlias = Callable[[Case], "list[Scalar] | None"]

PROGRAMS: dict[str, dict[str, Program]] = {}
SLOW = {"jax.hessian", "gradient difference, autodiff", "jax.grad", "JAX, autodiff"}
"""Names of programs that take many milliseconds a call."""
COMPILED = "rate constant, jax.jit"
"""Name of the programs that are compiled anew for each rate."""


@functools.lru_cache(16)
def j(values: Floats) -> jax.Array:
    """As a student gets them."""
    return jnp.asarray(np.array(values, np.float32))


@functools.lru_cache(16)
def f32(values: Floats) -> np.ndarray:
    """For students who work in NumPy."""
    return np.array(values, np.float32)


def backwards(terms: Iterable[Scalar]) -> Scalar:
    """A sum one by one, from the last term to the first."""
    return functools.reduce(lambda a, b: a + b, list(terms)[::-1])


def scanned(terms: jax.Array) -> jax.Array:
    """A sum by lax.scan."""
    return jax.lax.scan(lambda carry, term: (carry + term, None), jnp.float32(0), terms)[0]


# --- curvature, and what rests on it ---

hessian = jax.jit(jax.hessian(lesson.loss))
slope_difference = jax.jit(
    lambda x: lesson.analytic_gradient(1.0, x, 2 * x) - lesson.analytic_gradient(0.0, x, 2 * x)
)
second_derivative = jax.jit(jax.grad(jax.grad(lesson.loss)))
jitted_curvature = jax.jit(lambda x: 2 * jnp.mean(x**2))
scanned_curvature = jax.jit(lambda x: 2 * scanned(x * x) / len(x))


def numpy_slope(weight: Scalar, x: np.ndarray, y: np.ndarray) -> Scalar:
    """The gradient in NumPy's float32."""
    return 2 * np.mean(x * (weight * x - y))


def autodiff_difference(features: Floats) -> jax.Array:
    """The gradient at two weights, by autodiff without jit."""
    slope, x = jax.grad(lesson.loss), j(features)
    return slope(1.0, x, 2 * x) - slope(0.0, x, 2 * x)


CURVATURES: dict[str, Callable[[Floats], Scalar]] = {
    "JAX": lambda features: 2 * jnp.mean(j(features) ** 2),
    "jax.jit": lambda features: jitted_curvature(j(features)),
    "jax.hessian, jitted": lambda features: hessian(0.0, j(features), 2 * j(features)),
    "jax.hessian": lambda features: jax.hessian(lesson.loss)(0.5, j(features), 3 * j(features)),
    "grad of grad, jitted": lambda features: second_derivative(0.7, j(features), j(features)),
    "gradient difference, jitted": lambda features: slope_difference(j(features)),
    "gradient difference, autodiff": autodiff_difference,
    "gradient difference, NumPy": lambda features: (
        numpy_slope(np.float32(1), f32(features), 2 * f32(features))
        - numpy_slope(np.float32(0), f32(features), 2 * f32(features))
    ),
    "gradient difference, targets 1": lambda features: (
        numpy_slope(np.float32(1), f32(features), np.float32(1))
        - numpy_slope(np.float32(0), f32(features), np.float32(1))
    ),
    "gradient difference, down to -1": lambda features: (
        numpy_slope(np.float32(0), f32(features), -f32(features))
        - numpy_slope(np.float32(-1), f32(features), -f32(features))
    ),
    "lax.scan": lambda features: scanned_curvature(j(features)),
    "NumPy float32": lambda features: 2 * np.mean(f32(features) ** 2),
    "NumPy float32, backwards": lambda features: (
        2 * backwards(f32(features) ** 2) / np.float32(len(features))
    ),
    "NumPy float32, dot over n": lambda features: (
        2 * np.dot(f32(features), f32(features)) / np.float32(len(features))
    ),
    "NumPy float32, rms squared": lambda features: 2 * np.sqrt(np.mean(f32(features) ** 2)) ** 2,
    "NumPy float32, norm squared": lambda features: (
        2 * np.linalg.norm(f32(features)) ** 2 / np.float32(len(features))
    ),
    "NumPy float32, distributed": lambda features: backwards(
        2 * f32(features) * f32(features) * (np.float32(1) / np.float32(len(features)))
    ),
    "NumPy float64": lambda features: 2 * np.mean(np.array(features) ** 2),
    "Python": lambda features: 2 * sum(x * x for x in features) / len(features),
}


@functools.lru_cache(64)
def curvature_by(name: str, features: Floats) -> Scalar:
    """The curvature by one of these programs; what rests on it doesn't compute it again."""
    return CURVATURES[name](features)


def resting_on_curvature(formula: Callable[[Scalar, float], Scalar]) -> dict[str, Program]:
    """A formula of curvature and rate, for each of the curvatures."""
    return {
        name: lambda case, name=name: [formula(curvature_by(name, case.features), case.rate)]
        for name in CURVATURES
    }


PROGRAMS["curvature"] = resting_on_curvature(lambda curvature, _: curvature)

jitted_ceiling = jax.jit(lambda x: 1 / jnp.mean(x**2))

PROGRAMS["rate_ceiling"] = resting_on_curvature(lambda curvature, _: 2 / curvature) | {
    "1/q, jax.jit": lambda case: [jitted_ceiling(j(case.features))],
    "n over the sum, NumPy": lambda case: [
        np.float32(len(case.features)) / np.sum(f32(case.features) ** 2)
    ],
}

jitted_multiplier = jax.jit(lambda rate, x: 1 - rate * 2 * jnp.mean(x**2))

PROGRAMS["error_multiplier"] = resting_on_curvature(
    lambda curvature, rate: 1 - rate * curvature
) | {
    "rate traced, jax.jit": lambda case: [jitted_multiplier(case.rate, j(case.features))],
    "quotient of residuals, NumPy": lambda case: [
        (
            np.float32(-case.rate)
            * numpy_slope(np.float32(0), f32(case.features), 2 * f32(case.features))
            - 2
        )
        / np.float32(-2)
    ],
}


def growth(rate: Scalar, x: jax.Array) -> jax.Array:
    """The square of the multiplier."""
    return (1 - rate * 2 * jnp.mean(x**2)) ** 2


traced_growth = jax.jit(growth)
constant_growth = jax.jit(growth, static_argnums=0)


@functools.partial(jax.jit, static_argnames=("true_weight", "start"))
def measured_growth(rate: Scalar, x: jax.Array, true_weight: float, start: float) -> jax.Array:
    """Two losses of a run, divided."""
    y = true_weight * x
    after = start - rate * jax.grad(lesson.loss)(start, x, y)
    return lesson.loss(after, x, y) / lesson.loss(start, x, y)


def growth_from_lesson(case: Case) -> list[Scalar]:
    """Two losses of the lesson's own run, divided."""
    x = j(case.features)
    _, history = lesson.run(case.rate, 2, x, 2 * x)
    return [history[1, 1] / history[0, 1]]


def growth_from_numpy_run(case: Case, expanded: bool) -> list[Scalar]:
    """Two losses of a run from 0 in NumPy's float32, on targets three times the features."""
    x, rate = f32(case.features), np.float32(case.rate)
    y = 3 * x
    after = np.float32(0) - rate * numpy_slope(np.float32(0), x, y)
    if expanded:
        later = after * after * np.mean(x * x) - 2 * after * np.mean(x * y) + np.mean(y * y)
    else:
        later = np.mean((after * x - y) ** 2)
    return [later / np.mean(y * y)]


def expanded_growth(case: Case) -> list[Scalar]:
    """1 - 2*r*c + (r*c)**2 in NumPy's float32."""
    part = np.float32(case.rate) * (2 * np.mean(f32(case.features) ** 2))
    return [1 - 2 * part + part * part]


PROGRAMS["growth_factor"] = resting_on_curvature(
    lambda curvature, rate: (1 - rate * curvature) ** 2
) | {
    "rate traced, jax.jit": lambda case: [traced_growth(case.rate, j(case.features))],
    COMPILED: lambda case: [constant_growth(case.rate, j(case.features))] if case.checked else None,
    "expanded, NumPy": expanded_growth,
    "from the ceiling, NumPy": lambda case: [
        (1 - 2 * np.float32(case.rate) * np.mean(f32(case.features) ** 2)) ** 2
    ],
    "measured, from 0 to 2": lambda case: [measured_growth(case.rate, j(case.features), 2.0, 0.0)],
    "measured, from 0 to 0.3": lambda case: [
        measured_growth(case.rate, j(case.features), 0.3, 0.0)
    ],
    "measured, from 1 to 0": lambda case: [measured_growth(case.rate, j(case.features), 0.0, 1.0)],
    "measured, from -0.7 to 2": lambda case: [
        measured_growth(case.rate, j(case.features), 2.0, -0.7)
    ],
    "measured, from 1 to 2": lambda case: [measured_growth(case.rate, j(case.features), 2.0, 1.0)],
    "measured by lesson.run": growth_from_lesson,
    "measured, NumPy": lambda case: growth_from_numpy_run(case, expanded=False),
    "measured, NumPy, expanded": lambda case: growth_from_numpy_run(case, expanded=True),
}


# --- loss and gradient ---

Formula: TypeAlias = Callable[[Scalar, Any, Any], Scalar]


def expanded_loss(weight: Scalar, x: Any, y: Any) -> Scalar:
    """Brackets multiplied."""
    return weight * weight * (x * x).mean() - 2 * weight * (x * y).mean() + (y * y).mean()


def expanded_slope(weight: Scalar, x: Any, y: Any) -> Scalar:
    """Brackets multiplied."""
    return 2 * weight * (x * x).mean() - 2 * (x * y).mean()


def backwards_loss(weight: Scalar, x: Any, y: Any) -> Scalar:
    """A sum from the last example to the first."""
    return backwards((weight * x - y) ** 2) / np.float32(len(x))


def backwards_slope(weight: Scalar, x: Any, y: Any) -> Scalar:
    """A sum from the last example to the first."""
    return backwards(2 * (weight * x - y) * x) / np.float32(len(x))


def distributed_loss(weight: Scalar, x: Any, y: Any) -> Scalar:
    """Each term expanded and divided before they are added."""
    return backwards((weight * x * (weight * x) - 2 * weight * x * y + y * y) / np.float32(len(x)))


def dot_slope(weight: Scalar, x: Any, y: Any) -> Scalar:
    """By inner products."""
    return 2 * (weight * np.dot(x, x) - np.dot(x, y)) / np.float32(len(x))


def python_loss(weight: float, x: Sequence[float], y: Sequence[float]) -> float:
    """In Python's floats."""
    return sum((weight * a - b) ** 2 for a, b in zip(x, y, strict=True)) / len(x)


def python_slope(weight: float, x: Sequence[float], y: Sequence[float]) -> float:
    """In Python's floats."""
    return 2 * math.fsum(a * (weight * a - b) for a, b in zip(x, y, strict=True)) / len(x)


jit_loss, jit_slope = jax.jit(lesson.loss), jax.jit(jax.grad(lesson.loss))
jit_expanded_loss, jit_expanded_slope = jax.jit(expanded_loss), jax.jit(expanded_slope)
jit_analytic = jax.jit(lesson.analytic_gradient)
scan_loss = jax.jit(lambda w, x, y: scanned((w * x - y) ** 2) / len(x))
scan_slope = jax.jit(lambda w, x, y: scanned(2 * x * (w * x - y)) / len(x))


def in_jax(formula: Formula) -> Program:
    """As a function of a case, on JAX arrays."""
    return lambda case: [formula(case.weight, j(case.features), j(case.targets))]


def in_numpy(formula: Formula) -> Program:
    """As a function of a case, on float32 NumPy arrays."""
    return lambda case: [formula(np.float32(case.weight), f32(case.features), f32(case.targets))]


def in_doubles(formula: Formula) -> Program:
    """As a function of a case, on float64 NumPy arrays."""
    return lambda case: [formula(case.weight, np.array(case.features), np.array(case.targets))]


PROGRAMS["loss"] = {
    "JAX": in_jax(lesson.loss),
    "jax.jit": in_jax(jit_loss),
    "expanded, jax.jit": in_jax(jit_expanded_loss),
    "lax.scan": in_jax(scan_loss),
    "NumPy float32": in_numpy(lambda w, x, y: np.mean((w * x - y) ** 2)),
    "NumPy float32, backwards": in_numpy(backwards_loss),
    "NumPy float32, expanded": in_numpy(expanded_loss),
    "NumPy float32, distributed": in_numpy(distributed_loss),
    "NumPy float64": in_doubles(expanded_loss),
    "Python": lambda case: [python_loss(case.weight, case.features, case.targets)],
    "q*(w-t)**2, NumPy": lambda case: (
        None
        if case.true_weight is None
        else [
            np.mean(f32(case.features) ** 2)
            * (np.float32(case.weight) - np.float32(case.true_weight)) ** 2
        ]
    ),
}

PROGRAMS["gradient"] = {
    "JAX": in_jax(lesson.analytic_gradient),
    "jax.grad": in_jax(jax.grad(lesson.loss)),
    "jax.grad, jitted": in_jax(jit_slope),
    "jax.jit": in_jax(jit_analytic),
    "expanded, jax.jit": in_jax(jit_expanded_slope),
    "lax.scan": in_jax(scan_slope),
    "NumPy float32": in_numpy(numpy_slope),
    "NumPy float32, backwards": in_numpy(backwards_slope),
    "NumPy float32, expanded": in_numpy(expanded_slope),
    "NumPy float32, inner products": in_numpy(dot_slope),
    "NumPy float64": in_doubles(expanded_slope),
    "Python": lambda case: [python_slope(case.weight, case.features, case.targets)],
}


# --- runs ---

Run: TypeAlias = "tuple[Scalar, Any]"
"""A final weight, and rows of weight, loss and abs(gradient)."""
Runner: TypeAlias = Callable[[float, int, Floats, Floats, float], Run]


def descend(rate: Scalar, steps: int, weight: Scalar, loss: Any, slope: Any) -> Run:
    """Plain descent in whatever library the arguments belong to."""
    rows = []
    for _ in range(steps):
        gradient = slope(weight)
        rows.append([weight, loss(weight), abs(gradient)])
        weight = weight - rate * gradient
    return weight, rows


def by_lesson(rate: float, steps: int, x: Floats, y: Floats, start: float) -> Run:
    """The lesson's own run."""
    return lesson.run(rate, steps, j(x), j(y), None, start)


def eager(rate: float, steps: int, x: Floats, y: Floats, start: float) -> Run:
    """JAX, one operation at a time, by formula."""
    a, b = j(x), j(y)
    return descend(
        rate,
        steps,
        jnp.float32(start),
        lambda w: lesson.loss(w, a, b),
        lambda w: lesson.analytic_gradient(w, a, b),
    )


def eager_autodiff(rate: float, steps: int, x: Floats, y: Floats, start: float) -> Run:
    """JAX, one operation at a time, by autodiff."""
    a, b = j(x), j(y)
    slope = jax.grad(lesson.loss)
    return descend(rate, steps, start, lambda w: lesson.loss(w, a, b), lambda w: slope(w, a, b))


def unrolled(rate: Scalar, steps: int, x: jax.Array, y: jax.Array, start: Scalar) -> Run:
    """The whole run as one program."""
    final, rows = descend(
        rate,
        steps,
        jnp.asarray(start, jnp.float32),
        lambda w: lesson.loss(w, x, y),
        lambda w: jax.grad(lesson.loss)(w, x, y),
    )
    return final, jnp.array(rows)


traced_run = jax.jit(unrolled, static_argnums=1)
constant_run = jax.jit(unrolled, static_argnums=(0, 1))
constant_runs = jax.jit(jax.vmap(unrolled, (None, None, 0, 0, 0)), static_argnums=(0, 1))


@functools.partial(jax.jit, static_argnums=1)
def scanned_run(rate: Scalar, steps: int, x: jax.Array, y: jax.Array, start: Scalar) -> Run:
    """The run by lax.scan."""

    def step(weight: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        value, slope = jax.value_and_grad(lesson.loss)(weight, x, y)
        return weight - rate * slope, jnp.stack([weight, value, jnp.abs(slope)])

    return jax.lax.scan(step, jnp.asarray(start, jnp.float32), length=steps)


def jaxed(run: Callable[..., Run]) -> Runner:
    """A run on JAX arrays, from plain numbers."""
    return lambda rate, steps, x, y, start: run(rate, steps, j(x), j(y), start)


def numpy_run(loss: Formula, slope: Formula, dtype: Any = np.float32) -> Runner:
    """Descent in NumPy, with these formulas."""

    def run(rate: float, steps: int, x: Floats, y: Floats, start: float) -> Run:
        a, b = np.array(x, dtype), np.array(y, dtype)
        at = lambda formula: lambda w: formula(w, a, b)  # noqa: E731
        return descend(dtype(rate), steps, dtype(start), at(loss), at(slope))

    return run


def python_run(rate: float, steps: int, x: Floats, y: Floats, start: float) -> Run:
    """Descent in Python's floats."""
    return descend(
        rate, steps, start, lambda w: python_loss(w, x, y), lambda w: python_slope(w, x, y)
    )


def affine_run(rate: float, steps: int, x: Floats, y: Floats, start: float) -> Run:
    """w' = m*w + c in NumPy's float32."""
    a, b, r = f32(x), f32(y), np.float32(rate)
    m, c = 1 - r * 2 * np.mean(a * a), r * 2 * np.mean(a * b)
    weights = [np.float32(start)]
    for _ in range(steps):
        weights.append(m * weights[-1] + c)
    rows = [[w, expanded_loss(w, a, b), abs(expanded_slope(w, a, b))] for w in weights]
    return weights[-1], rows[:-1]


def closed_run(power: Callable[[Any, int], Any], library: Any) -> Callable[..., Run]:
    """w = t + (w0 - t)*m**k in float32, where `power` gives m**0 .. m**(steps)."""

    def run(rate: float, steps: int, x: Floats, t: float, start: float) -> Run:
        q = library.mean(library.asarray(f32(x)) ** 2)
        m = 1 - np.float32(rate) * 2 * q
        error = np.float32(start) - np.float32(t)
        weights = np.float32(t) + error * power(m, steps)
        losses = q * (weights - np.float32(t)) ** 2
        slopes = abs(2 * q * (weights - np.float32(t)))
        return weights[-1], np.stack([weights, losses, slopes], axis=1)[:-1]

    return run


def one_by_one(m: Any, steps: int) -> np.ndarray:
    """Powers as a product, one factor after the other."""
    powers = [np.float32(1)]
    for _ in range(steps):
        powers.append(powers[-1] * m)
    return np.array(powers)


def closed_by_losses(rate: float, steps: int, x: Floats, t: float, start: float) -> Run:
    """Weights, losses and gradients from three formulas that don't share a rounding."""
    q = np.mean(f32(x) ** 2)
    m, c = 1 - np.float32(rate) * (2 * q), 2 * q
    error, k = np.float32(start) - np.float32(t), range(steps + 1)
    weights = [np.float32(t) - (np.float32(t) - np.float32(start)) * m**i for i in k]
    losses = [q * error**2 * (m * m) ** i for i in k]
    slopes = [abs(c * error * m**i) for i in k]
    return weights[-1], list(zip(weights, losses, slopes, strict=True))[:-1]


def closed_in_doubles(rate: float, steps: int, x: Floats, t: float, start: float) -> Run:
    """The closed form in Python's floats."""
    q = sum(a * a for a in x) / len(x)
    weights = [t + (start - t) * (1 - 2 * rate * q) ** k for k in range(steps + 1)]
    rows = [(w, q * (w - t) ** 2, abs(2 * q * (w - t))) for w in weights]
    return weights[-1], rows[:-1]


RUNNERS: dict[str, Runner] = {
    "lesson.run": by_lesson,
    "JAX": eager,
    "JAX, autodiff": eager_autodiff,
    "rate traced, jax.jit": jaxed(traced_run),
    "lax.scan": jaxed(scanned_run),
    "NumPy float32": numpy_run(lambda w, x, y: np.mean((w * x - y) ** 2), numpy_slope),
    "NumPy float32, backwards": numpy_run(backwards_loss, backwards_slope),
    "NumPy float32, expanded": numpy_run(expanded_loss, expanded_slope),
    "NumPy float32, inner products": numpy_run(distributed_loss, dot_slope),
    "NumPy float64": numpy_run(lambda w, x, y: np.mean((w * x - y) ** 2), numpy_slope, np.float64),
    "Python": python_run,
    "m*w + c, NumPy": affine_run,
}

CLOSED: dict[str, Callable[[float, int, Floats, float, float], Run]] = {
    "closed form, NumPy": closed_run(lambda m, k: m ** np.arange(k + 1, dtype=np.float32), np),
    "closed form, one by one": closed_run(one_by_one, np),
    "closed form, jnp.power": closed_run(lambda m, k: jnp.power(m, jnp.arange(k + 1)), jnp),
    "closed form, jnp.power, float": closed_run(
        lambda m, k: jnp.power(m, jnp.arange(k + 1, dtype=jnp.float32)), jnp
    ),
    "closed form, three formulas": closed_by_losses,
    "closed form, Python": closed_in_doubles,
}


def flat(run: Run) -> list[Scalar]:
    """All numbers of a run: the final weight, then row by row."""
    final, rows = run
    return [final, *(number for row in rows for number in row)]


def of_case(runner: Runner) -> Program:
    """A run on a case's data."""
    return lambda case: flat(
        runner(case.rate, case.steps, case.features, case.targets, case.weight)
    )


def of_true_weight(closed: Callable[[float, int, Floats, float, float], Run]) -> Program:
    """A closed form, for the cases that have a true weight."""
    return lambda case: (
        None
        if case.true_weight is None
        else flat(closed(case.rate, case.steps, case.features, case.true_weight, case.weight))
    )


PROGRAMS["run"] = {name: of_case(runner) for name, runner in RUNNERS.items()} | {
    name: of_true_weight(closed) for name, closed in CLOSED.items()
}


def compared(runner: Runner) -> Callable[[float, float, int, int], Run]:
    """`compare_rates` by this runner."""

    def compare(stable: float, unstable: float, steps: int, n: int) -> Run:
        ones, twos = (1.0,) * n, (2.0,) * n
        return runner(stable, steps, ones, twos, 0.0)[0], runner(unstable, steps, ones, twos, 0.0)[
            1
        ]

    return compare


COMPARISONS = {
    name: compared(runner) for name, runner in {**RUNNERS, COMPILED: jaxed(constant_run)}.items()
} | {
    name: compared(lambda rate, steps, x, y, start, f=closed: f(rate, steps, x, 2.0, start))
    for name, closed in CLOSED.items()
}

PROGRAMS["compare_rates"] = {
    name: (lambda case, f=compare: flat(f(*case.compared))) for name, compare in COMPARISONS.items()
}
PROGRAMS["compare_rates"][COMPILED] = lambda case: (
    flat(COMPARISONS[COMPILED](*case.compared)) if case.checked else None
)
