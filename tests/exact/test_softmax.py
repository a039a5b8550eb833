"""Logsumexp, softmax, cross-entropy and their gradients: right programs against their bounds.

STABLE_SOFTMAX_DRAWS=2000 takes a minute or two, and `pytest -s` prints the largest errors. Seen in
2000 draws, in bounds: 0.13 for logsumexp (in base 2; by the library 0.10), 0.15 for softmax (its
last one as 1 less the rest; by the library 0.04) and 0.11 as a gradient, 0.16 for cross-entropy (of
differences, in base 2) and 0.18 for its gradient.
"""

import math
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp as library_logsumexp

from grader.exact import softmax as exact
from grader.exact.rounding import Rounded

DRAWS = int(os.environ.get("STABLE_SOFTMAX_DRAWS", "300"))
NEAREST = 0.03  # some right program comes at least so near to its bound, in shares of it
LENGTHS = (2, 5)  # all programs are compiled for each of them
f32 = np.float32

Floats = list[float]
Program = Callable[..., Any]


def cases(count: int, seed: int) -> Iterator[tuple[Floats, int]]:
    """Logits and a label: of one size, up to 10**4, or close to each other and far from 0."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.choice(LENGTHS))
        largest = 10.0 ** rng.uniform(-1, 4)
        spread = largest if rng.random() < 1 / 2 else rng.choice([0.1, 1.0, 10.0])
        centre = 0.0 if spread == largest else rng.choice([-1, 1]) * largest
        z = centre + rng.uniform(-spread, spread, n)
        if rng.random() < 1 / 3:
            z = np.round(z * 8) / 8
        yield [float(v) for v in np.clip(z, -1e4, 1e4).astype(f32)], int(rng.integers(n))


def worst(due: list[Rounded], got: Any) -> float:
    """The largest error in bounds; infinite for what is not finite."""
    found = np.atleast_1d(np.asarray(got, dtype=np.float64)).tolist()
    assert len(found) == len(due)
    if not all(map(math.isfinite, found)):
        return math.inf
    return max(float(abs(Fraction(g) - d.value) / d.bound) for g, d in zip(found, due, strict=True))


# --- right programs ---


def shifted(z: Any) -> Any:
    largest = jnp.max(z)
    return largest + jnp.log(jnp.sum(jnp.exp(z - largest)))


def held(z: Any) -> Any:
    largest = jax.lax.stop_gradient(jnp.max(z))
    return jnp.log(jnp.sum(jnp.exp(z - largest))) + largest


def by_pairs(z: Any) -> Any:
    total = z[0]
    for other in z[1:]:
        total = jnp.logaddexp(total, other)
    return total


def by_softplus(z: Any) -> Any:
    total = z[0]
    for other in z[1:]:
        total = jnp.maximum(total, other) + jnp.log1p(jnp.exp(-jnp.abs(total - other)))
    return total


def in_base_two(z: Any) -> Any:
    two = z * jnp.float32(1.44269504)
    largest = jnp.max(two)
    return (largest + jnp.log2(jnp.sum(jnp.exp2(two - largest)))) * jnp.float32(0.69314718)


# Its gradient is wrong where two logits are equal: there JAX has 1 as the derivative of abs.
ONLY_VALUES: dict[str, Program] = {"by softplus": by_softplus}

SUMS: dict[str, Program] = {
    "shifted": shifted,
    "shift held": held,
    "jax.nn": jax.nn.logsumexp,
    "jax.scipy": library_logsumexp,
    "by pairs": by_pairs,
    "in base 2": in_base_two,
    "by log_softmax": lambda z: z[-1] - jax.nn.log_softmax(z)[-1],
    "scanned": lambda z: jax.lax.associative_scan(jnp.logaddexp, z)[-1],
}


def one_less_the_rest(z: Any) -> Any:
    p = jax.nn.softmax(z)
    return p.at[-1].set(1 - jnp.sum(p[:-1]))


def by_ratios(z: Any) -> Any:
    """1 over the sum of exponentials of differences, infinite ones among them."""
    return 1 / jnp.sum(jnp.exp(z[None, :] - z[:, None]), axis=1)


SOFTMAXES: dict[str, Program] = {
    "jax.nn": jax.nn.softmax,
    "quotient": lambda z: jnp.exp(z - jnp.max(z)) / jnp.sum(jnp.exp(z - jnp.max(z))),
    "exp of log_softmax": lambda z: jnp.exp(jax.nn.log_softmax(z)),
    "1 less the rest": one_less_the_rest,
    "ratios": by_ratios,
    **{f"exp of logit less {name}": lambda z, f=f: jnp.exp(z - f(z)) for name, f in SUMS.items()},
    **{f"gradient, {name}": jax.grad(f) for name, f in SUMS.items()},
}

LOSSES: dict[str, Program] = {
    "log_softmax": lambda z, label: -jax.nn.log_softmax(z)[label],
    "one-hot": lambda z, label: (
        -jnp.dot(jax.nn.one_hot(label, z.size), jax.nn.log_softmax(z), precision="highest")
    ),
    **{name: lambda z, label, f=f: f(z) - z[label] for name, f in SUMS.items()},
    **{
        f"of differences, {name}": lambda z, i, f=f: f(z - z[i])
        for name, f in SUMS.items()
        if name in ("shifted", "by pairs", "in base 2")
    },
}


def report(quantity: str, seen: dict[str, float]) -> None:
    print(quantity, {name: round(error, 3) for name, error in seen.items()})
    assert max(seen.values()) <= 1, seen
    assert max(seen.values()) >= NEAREST, seen


def measured(
    programs: dict[str, Program], due: Callable[[Floats, int], list[Rounded]], seed: int
) -> dict[str, float]:
    """The largest error of each program in bounds; all of them compiled as one."""
    drawn = list(cases(DRAWS, seed))
    seen = dict.fromkeys(programs, 0.0)
    together = jax.jit(jax.vmap(lambda z, label: {n: p(z, label) for n, p in programs.items()}))
    for n in LENGTHS:
        group = [case for case in drawn if len(case[0]) == n]
        found = together(f32([z for z, _ in group]), np.array([label for _, label in group]))
        dues = [due(*case) for case in group]
        for name, rows in jax.device_get(found).items():
            errors = [worst(row_due, row) for row_due, row in zip(dues, rows, strict=True)]
            seen[name] = max([seen[name], *errors])
    return seen


def of_logits(programs: dict[str, Program]) -> dict[str, Program]:
    """Programs of logits alone, that take a label as well."""
    return {name: lambda z, label, p=p: p(z) for name, p in programs.items()}


def test_right_sums_are_within_their_bounds():
    report(
        "logsumexp",
        measured(of_logits({**SUMS, **ONLY_VALUES}), lambda z, label: [exact.logsumexp(z)], seed=1),
    )


def test_right_probabilities_are_within_their_bounds():
    report("softmax", measured(of_logits(SOFTMAXES), lambda z, label: exact.softmax(z), seed=2))


def test_right_losses_are_within_their_bounds():
    report(
        "cross-entropy", measured(LOSSES, lambda z, label: [exact.cross_entropy(z, label)], seed=3)
    )


def test_right_slopes_of_losses_are_within_their_bounds():
    slopes = {name: jax.grad(program) for name, program in LOSSES.items()}
    report("slope of cross-entropy", measured(slopes, exact.cross_entropy_slope, seed=4))


def in_numpy(z: Floats, label: int, kind: Any) -> tuple[Any, Any, Any]:
    """Logsumexp, softmax and cross-entropy in NumPy, backwards."""
    values = np.array(z[::-1], kind)
    powers = np.exp(values - values.max())
    total = np.log(powers.sum()) + values.max()
    return total, (powers / powers.sum())[::-1], total - kind(z[label])


def test_numpy_is_within_the_bounds():
    for z, label in cases(DRAWS, seed=5):
        for kind in (np.float32, np.float64):
            total, p, loss = in_numpy(z, label, kind)
            assert worst([exact.logsumexp(z)], total) <= 1
            assert worst(exact.softmax(z), p) <= 1
            assert worst([exact.cross_entropy(z, label)], loss) <= 1


def test_known_values():
    half = math.log1p(math.exp(-1))
    total = exact.logsumexp([1000.0, 999.0])
    assert abs(float(total.value) - (1000 + half)) < 1e-12
    assert abs(float(exact.cross_entropy([1000.0, 999.0], 1).value) - (1 + half)) < 1e-15
    probabilities = [float(p.value) for p in exact.softmax([0.0, 0.0, -10000.0])]
    assert probabilities == [0.5, 0.5, 0.0]
    slopes = [p.value for p in exact.cross_entropy_slope([3.0, 1.0, -7.5], 1)]
    assert abs(sum(slopes, Fraction(0))) < Fraction(1, 10**70)


def test_probabilities_add_up_to_one():
    for z, _ in cases(100, seed=6):
        assert abs(sum((p.value for p in exact.softmax(z)), Fraction(-1))) < Fraction(1, 10**70)


def test_confidence_is_not_asked_for_near_its_bar():
    assert not exact.confidence_is_asked([4.595, 0.0], 1)
    assert exact.confidence_is_asked([4.25, 0.0], 1)
    assert not exact.confidently_wrong([4.25, 0.0], 1)
    assert exact.confidence_is_asked([5.0, 0.0], 1)
    assert exact.confidently_wrong([5.0, 0.0], 1)
    assert not exact.confidently_wrong([5.0, 0.0], 0)
    assert exact.confidence_is_asked([1000.0], 0)
    assert not exact.confidently_wrong([1000.0], 0)


def test_a_constant_off_by_a_thousandth_is_outside_the_bound():
    off = Fraction(1001, 1000)
    for z, label in cases(300, seed=7):
        largest = max(map(abs, z))
        if largest <= 100:
            total, loss = exact.logsumexp(z), exact.cross_entropy(z, label)
            for due in (total, loss):
                if abs(due.value) * 8 >= largest + 1:
                    assert abs(due.value * (off - 1)) > 2 * due.bound
            assert any(p.value * (off - 1) > 2 * p.bound for p in exact.softmax(z))
