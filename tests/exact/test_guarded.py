"""Roots, norms and masked means with their gradients: right programs against their bounds.

FINITE_GRADIENT_DRAWS=3000 takes a minute or two, and `pytest -s` prints the largest errors. Seen in
3000 draws, in bounds: 0.10 for the root and its slope (by powers of ten; by the library's root
0.04), 0.16 for the norm and 0.07 for its slope (the same; scaled by a sum of magnitudes 0.07), 0.07
for the masked mean and 0.04 for its slope (by way of a norm).
"""

import math
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grader.exact import guarded
from grader.exact.enclosures import Enclosed, exponential, logarithm, root
from grader.exact.rounding import Rounded

DRAWS = int(os.environ.get("FINITE_GRADIENT_DRAWS", "300"))
NEAREST = 0.03  # some right program comes at least so near to its bound, in shares of it
f32 = np.float32

Floats = list[float]


def size(rng: np.random.Generator) -> float:
    """A number of any ordinary size that float32 holds."""
    return float(f32(2.0 ** rng.uniform(-10, 10)))


def vectors(count: int, seed: int, lengths: tuple[int, ...] = (1, 3, 5)) -> Iterator[Floats]:
    """Vectors of eighths, or of numbers of any size; some of their entries are 0."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.choice(lengths))
        if rng.random() < 1 / 2:
            vector = [float(v) for v in rng.integers(-99, 100, n) / 8]
        else:
            vector = [
                float(rng.choice([-1, 0, 1], p=[0.4, 0.1, 0.5])) * size(rng) for _ in range(n)
            ]
        yield vector if any(vector) else [1.0] * n


def worst(due: list[Rounded], got: Any) -> float:
    """The largest error in bounds; infinite where it must be met exactly, and isn't."""
    found = np.atleast_1d(np.asarray(got, dtype=np.float64)).tolist()
    assert len(found) == len(due)
    errors = [abs(Fraction(g) - d.value) for g, d in zip(found, due, strict=True)]
    pairs = zip(errors, due, strict=True)
    return max(
        float(e / d.bound) if d.bound else math.inf * bool(e) if e else 0.0 for e, d in pairs
    )


# --- right programs ---


def newton(x: Any) -> Any:
    """Newton's iteration, from a start above the root."""
    s = (x + 1) / 2
    for _ in range(20):
        s = (s + x / s) / 2
    return s


ROOTS: dict[str, Callable[[Any], Any]] = {
    "sqrt": jnp.sqrt,
    "jitted": jax.jit(jnp.sqrt),
    "power": lambda x: x**0.5,
    "rsqrt": lambda x: x * jax.lax.rsqrt(x),
    "exp and log": lambda x: jnp.exp(0.5 * jnp.log(x)),
    "powers of two": lambda x: jnp.exp2(0.5 * jnp.log2(x)),
    "powers of ten": lambda x: jnp.power(10.0, 0.5 * jnp.log10(x)),
    "Newton": newton,
    "hypotenuse": lambda x: jnp.hypot(jnp.sqrt(x), 0.0),
}


def through(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The root as a page would have it: guarded before and after."""
    return lambda x: jnp.where(x > 0, program(jnp.where(x > 0, x, 1.0)), 0.0)


def scaled(scale: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A norm by way of a scale, whose derivative is 0 but for rounding."""
    return lambda v: scale(v) * jnp.sqrt(jnp.sum((v / scale(v)) ** 2))


def chained(v: Any) -> Any:
    """Hypotenuses, one after the other."""
    norm = jnp.abs(v[0])
    for x in v[1:]:
        norm = jnp.hypot(norm, x)
    return norm


NORMS: dict[str, Callable[[Any], Any]] = {
    **{f"by {name}": lambda v, r=r: r(jnp.sum(v * v)) for name, r in ROOTS.items()},
    "jnp.linalg.norm": jnp.linalg.norm,
    "dot": lambda v: jnp.sqrt(jnp.dot(v, v)),
    "scaled by the largest": scaled(lambda v: jnp.max(jnp.abs(v))),
    "scaled by the sum": scaled(lambda v: jnp.sum(jnp.abs(v))),
    "scaled by the mean": scaled(lambda v: jnp.mean(jnp.abs(v))),
    "mean square": lambda v: jnp.sqrt(v.size * jnp.mean(v**2)),
}


def means_by(mask: Any) -> dict[str, Callable[[Any], Any]]:
    """Masked means, as functions of the residuals."""
    count = jnp.maximum(jnp.sum(mask), 1)

    def kept(r: Any) -> Any:
        return jnp.where(mask, r, 0.0)

    return {
        "sum over count": lambda r: jnp.sum(kept(r) ** 2) / count,
        "mean with where": lambda r: jnp.mean(kept(r) ** 2, where=mask),
        "weights": lambda r: jnp.dot(mask / count, kept(r) ** 2),
        "mean over share": lambda r: jnp.mean(kept(r) ** 2) * (mask.size / count),
        "norm": lambda r: jnp.linalg.norm(kept(r)) ** 2 / count,
        "norm scaled by the sum": lambda r: NORMS["scaled by the sum"](kept(r)) ** 2 / count,
        "norm by powers of two": lambda r: NORMS["by powers of two"](kept(r)) ** 2 / count,
    }


# --- what is to be seen ---


def report(quantity: str, seen: dict[str, float]) -> None:
    print(quantity, {name: round(error, 3) for name, error in seen.items()})
    assert max(seen.values()) <= 1, seen
    assert max(seen.values()) >= NEAREST, seen


def test_right_roots_are_within_their_bounds():
    rng = np.random.default_rng(1)
    xs = [
        size(rng) if rng.random() < 0.8 else int(rng.integers(1, 1000)) / 10 for _ in range(DRAWS)
    ]
    values, gradients = {}, {}
    for name, program in ROOTS.items():
        guarded_root = jax.jit(jax.vmap(through(program)))
        slope = jax.jit(jax.vmap(jax.grad(through(program))))
        got, slopes = guarded_root(f32(xs)), slope(f32(xs))
        values[name] = worst(list(map(guarded.safe_sqrt, xs)), got)
        gradients[name] = worst(list(map(guarded.safe_sqrt_slope, xs)), slopes)
    report("root", values)
    report("slope of the root", gradients)


def test_what_is_not_positive_is_due_exactly():
    for x in (0.0, -1.0, -1 / 1024):
        assert guarded.safe_sqrt(x) == guarded.safe_sqrt_slope(x) == Rounded(Fraction(0))
    assert guarded.safe_norm([0.0, 0.0]) == Rounded(Fraction(0))
    assert guarded.safe_norm_slope([0.0]) == [Rounded(Fraction(0))]
    assert guarded.masked_mean_square([math.nan], [False]) == Rounded(Fraction(0))
    assert guarded.masked_mean_square_slope([math.nan], [False]) == [Rounded(Fraction(0))]


def test_right_norms_are_within_their_bounds():
    values, gradients = dict.fromkeys(NORMS, 0.0), dict.fromkeys(NORMS, 0.0)
    compiled = {
        name: (jax.jit(program), jax.jit(jax.grad(program))) for name, program in NORMS.items()
    }
    for v in vectors(DRAWS, seed=2):
        due, slopes = guarded.safe_norm(v), guarded.safe_norm_slope(v)
        for name, (norm, slope) in compiled.items():
            values[name] = max(values[name], worst([due], norm(f32(v))))
            gradients[name] = max(gradients[name], worst(slopes, slope(f32(v))))
        in_pieces = worst([due], np.sqrt(np.sum(f32(v)[::-1] ** 2)))
        values["NumPy"] = max(values.get("NumPy", 0.0), in_pieces, worst([due], math.hypot(*v)))
        if all(v):
            chain = worst([due], chained(f32(v)))
            values["chained"] = max(values.get("chained", 0.0), chain)
    report("norm", values)
    report("slope of the norm", gradients)


def test_right_masked_means_are_within_their_bounds():
    values: dict[str, float] = {}
    gradients: dict[str, float] = {}
    programs = {
        mask: {n: (jax.jit(p), jax.jit(jax.grad(p))) for n, p in means_by(np.array(mask)).items()}
        for mask in [(True,), (True, False, True), (True, True, True)]
    }
    for v in vectors(DRAWS, seed=3, lengths=(1, 3)):
        for mask, compiled in programs.items():
            if len(mask) != len(v) or not guarded.square_sum(guarded.kept_of(v, mask)):
                continue
            due = guarded.masked_mean_square(v, mask)
            slopes = guarded.masked_mean_square_slope(v, mask)
            for name, (mean, slope) in compiled.items():
                values[name] = max(values.get(name, 0.0), worst([due], mean(f32(v))))
                gradients[name] = max(gradients.get(name, 0.0), worst(slopes, slope(f32(v))))
    report("masked mean", values)
    report("slope of the masked mean", gradients)


OFF = Fraction(1001, 1000)


def test_a_constant_off_by_a_thousandth_is_outside_the_bound():
    for v in vectors(200, seed=4):
        mask = [True] * len(v)
        scalars = [guarded.safe_sqrt(abs(v[0]) or 1), guarded.safe_sqrt_slope(abs(v[0]) or 1)]
        scalars += [guarded.safe_norm(v), guarded.masked_mean_square(v, mask)]
        for due in scalars:
            assert abs(due.value * (OFF - 1)) > 4 * due.bound
        for slopes in (guarded.safe_norm_slope(v), guarded.masked_mean_square_slope(v, mask)):
            assert any(abs(due.value * (OFF - 1)) > 4 * due.bound for due in slopes)


# --- enclosures ---


@pytest.mark.parametrize("number", [2, Fraction(1, 3), 10**7, Fraction(1, 2**20)])
def test_roots_are_enclosed(number):
    exact = root(Fraction(number))

    assert (exact.value - exact.width) ** 2 <= number <= (exact.value + exact.width) ** 2
    assert exact.width <= exact.value / 10**70


@pytest.mark.parametrize("exponent", [0, 1, -3, Fraction(-1, 7), 100])
def test_exponentials_and_logarithms_undo_each_other(exponent):
    power = exponential(Enclosed(Fraction(exponent)))
    assert power.width <= power.value / 10**70
    inverse = exponential(Enclosed(-Fraction(exponent)))
    assert abs(power.value * inverse.value - 1) <= Fraction(1, 10**70)
    if exponent >= 0:
        back = logarithm(power)
        assert abs(back.value - exponent) <= back.width <= Fraction(1, 10**30)


def test_the_exponential_is_that_of_its_series():
    series, term = Fraction(0), Fraction(1)
    for k in range(1, 80):
        series, term = series + term, term * Fraction(-1, 3) / k
    exact = exponential(Enclosed(Fraction(-1, 3)))

    assert abs(exact.value - series) <= exact.width
    assert exponential(Enclosed(Fraction(-300))) == Enclosed(Fraction(0), Fraction(1, 10**100))
