"""What `clipped_updates` rests on: how far right clipped runs may be off, and wrong ones are.

CLIPPED_DRAWS=1500 takes a minute or two, and `pytest -s` prints the largest errors. Seen in 1500
draws, in bounds: 0.31, where a gradient is limited by way of a factor.
"""

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

from grader.exact import clipped
from grader.public import lesson
from tests.exact.faithful import (
    backwards_loss,
    backwards_slope,
    distributed_loss,
    dot_slope,
    expanded_loss,
    expanded_slope,
    numpy_slope,
    python_loss,
    python_slope,
)
from tests.exact.inputs import Floats
from tests.exact.measuring import error_in_bounds

DRAWS = int(os.environ.get("CLIPPED_DRAWS", "150"))
single = np.float32


@dataclass(frozen=True)
class Case:
    """One input, in the order of `clipped_run`."""

    rate: float
    steps: int
    clip: float
    features: Floats
    targets: Floats
    start: float

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.rate, self.steps, self.clip, self.features, self.targets, self.start


def drawn(count: int, seed: int = 21) -> Iterator[Case]:
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

        features, targets, start = some(n), some(n), float(rng.choice([0.0, some(1)[0]]))
        square = sum(x * x for x in features) / n
        multiplier = rng.uniform(-5, 1)
        rate = float(f"{(1 - multiplier) / 2 / square:.3g}") if square else 0.25
        rate = float(np.clip(rate, 1 / 1024, 1024))
        pairs = zip(features, targets, strict=True)
        slope = abs(sum(2 * x * (start * x - y) for x, y in pairs)) / n
        share = rng.choice([0.05, 0.5, 0.9, 0.9999999, 1.0, 1.0000001, 1.1, 3])
        clip = float(np.clip(slope * share, 1 / 1024, 1024))
        if abs(1 - 2 * rate * square) < 8:
            steps = int(rng.choice((1, 3, 6)))
            yield Case(rate, steps, clip, tuple(features), tuple(targets), start)


Program = Callable[[Case], "tuple[Any, Any]"]


def by_lesson(case: Case) -> tuple[Any, Any]:
    """The lesson's run, with a fourth column."""
    x, y = (jnp.asarray(single(v)) for v in (case.features, case.targets))
    final, rows = lesson.run(case.rate, case.steps, x, y, case.clip, case.start)
    return final, [[*row, jnp.clip(row[2], -case.clip, case.clip)] for row in rows]


def limited(slope: Any, clip: Any) -> Any:
    """By two comparisons."""
    return max(-clip, min(clip, slope))


def limited_by_norm(slope: Any, clip: Any) -> Any:
    """The direction times a size."""
    return slope / abs(slope) * min(abs(slope), clip) if slope else slope


def limited_by_factor(slope: Any, clip: Any) -> Any:
    """Times what is allowed of it."""
    return slope * (clip / max(abs(slope), clip))


def in_a_loop(loss: Any, slope: Any, limit: Any, dtype: Any = single) -> Program:
    """Descent in NumPy."""

    def program(case: Case) -> tuple[Any, Any]:
        x, y = np.array(case.features, dtype), np.array(case.targets, dtype)
        weight, rate, clip, rows = dtype(case.start), dtype(case.rate), dtype(case.clip), []
        for _ in range(case.steps):
            gradient = slope(weight, x, y)
            used = limit(gradient, clip)
            rows.append([weight, loss(weight, x, y), abs(gradient), abs(used)])
            weight = weight - rate * used
        return weight, rows

    return program


def from_fit_slope(weight: Any, x: Any, y: Any) -> Any:
    """2*q*(w - t), with t a quotient of two means."""
    q = np.mean(x * x)
    return 2 * q * (weight - np.mean(x * y) / q) if q else q


def from_fit_loss(weight: Any, x: Any, y: Any) -> Any:
    """q*(w - t)**2 and the least loss."""
    q = np.mean(x * x)
    if not q:
        return np.mean(y * y)
    best = np.mean(x * y) / q
    return q * (weight - best) ** 2 + (np.mean(y * y) - q * best * best)


def in_python(case: Case) -> tuple[Any, Any]:
    """In Python's floats."""
    weight, rows = case.start, []
    for _ in range(case.steps):
        slope = python_slope(weight, case.features, case.targets)
        used = limited(slope, case.clip)
        loss = python_loss(weight, case.features, case.targets)
        rows.append([weight, loss, abs(slope), abs(used)])
        weight -= case.rate * used
    return weight, rows


def scan(rate: Any, steps: int, clip: Any, x: Any, y: Any, start: Any) -> Any:
    """By lax.scan, differentiated by JAX."""

    def step(weight: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        loss, slope = jax.value_and_grad(lesson.loss)(weight, x, y)
        used = jnp.clip(slope, -clip, clip)
        row = jnp.stack([weight, loss, jnp.abs(slope), jnp.abs(used)])
        return weight - rate * used, row

    return jax.lax.scan(step, jnp.asarray(start, jnp.float32), length=steps)


jit_scan = jax.jit(scan, static_argnums=1)


def scanned(case: Case) -> tuple[Any, Any]:
    x, y = single(case.features), single(case.targets)
    return jit_scan(case.rate, case.steps, case.clip, x, y, case.start)


def squares(weight: Any, x: Any, y: Any) -> Any:
    """The mean of the squared residuals."""
    return np.mean((weight * x - y) ** 2)


PROGRAMS: dict[str, Program] = {
    "lesson.run": by_lesson,
    "lax.scan": scanned,
    "NumPy float32": in_a_loop(squares, numpy_slope, limited),
    "NumPy float32, backwards": in_a_loop(backwards_loss, backwards_slope, limited_by_factor),
    "NumPy float32, expanded": in_a_loop(expanded_loss, expanded_slope, limited_by_norm),
    "NumPy float32, inner products": in_a_loop(distributed_loss, dot_slope, limited),
    "NumPy float32, from the fit": in_a_loop(from_fit_loss, from_fit_slope, limited_by_norm),
    "NumPy float64": in_a_loop(squares, numpy_slope, limited, np.float64),
    "Python": in_python,
}


def flat(run: tuple[Any, Any]) -> list[Any]:
    final, rows = run
    return [final, *(item for row in rows for item in row)]


def test_no_right_run_is_outside_its_bound():
    largest: dict[str, float] = defaultdict(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in drawn(DRAWS):
            due = flat(clipped.run(*case.arguments))
            for name, program in PROGRAMS.items():
                found = error_in_bounds(flat(program(case)), due)
                assert found <= 1, (name, found, case)
                largest[name] = max(largest[name], found)
    print(*(f"{error:.3f} {name}" for name, error in sorted(largest.items())), sep="\n")
    assert max(largest.values()) > 0.03


def test_a_rate_or_a_clip_that_is_off_by_a_thousandth_is_outside_the_bound():
    off, asked = Fraction(1001, 1000), 0
    for case in drawn(300, seed=22):
        rate, steps, clip, *rest = case.arguments
        due = flat(clipped.run(*case.arguments))
        moved = abs(due[0].value - Fraction(case.start))
        _, rows = clipped.run(*case.arguments)
        if moved > abs(Fraction(case.start)) / 16 and rows[0][2].value > 2 * Fraction(clip):
            for wrong in ((Fraction(rate) * off, steps, clip), (rate, steps, Fraction(clip) * off)):
                got = [item.value for item in flat(clipped.run(*wrong, *rest))]
                error = max(
                    (abs(g - d.value) / d.bound for g, d in zip(got, due, strict=True) if d.bound)
                )
                assert error > 1, case
            asked += 1
    assert asked > 30


def test_single_quantities_are_within_their_bounds():
    rng = np.random.default_rng(23)
    for _ in range(2_000):
        gradient, clip, rate = (float(v) for v in 2 ** rng.uniform(-10, 10, 3))
        gradient *= float(rng.choice([-1, 1]))
        g, c, r = single(gradient), single(clip), single(rate)
        due = clipped.clip_gradient(gradient, clip)
        for limit in (limited, limited_by_norm, limited_by_factor):
            assert error_in_bounds([limit(g, c), limit(gradient, clip)], [due, due]) <= 1
        far = clipped.move_bound(rate, clip)
        measured = r * limited_by_norm(single(1000.0) * c, c)
        assert error_in_bounds([r * c, rate * clip, measured], [far] * 3) <= 1
        count, total = int(rng.integers(0, 8)), 7
        share = clipped.share(count, total)
        flags = single([1.0] * count + [0.0] * (total - count))
        assert (
            error_in_bounds([flags.mean(), 1 - (1 - flags).mean(), count / total], [share] * 3) <= 1
        )


def test_the_page_s_case_is_exact():
    final, rows = clipped.run(0.5, 6, 3, [2], [4], -0.75)

    assert [row[0].value for row in rows] == [-0.75, 0.75, 2.25, 1.25, 2.75, 1.25]
    assert [row[1].value for row in rows] == [30.25, 6.25, 0.25, 2.25, 2.25, 2.25]
    assert [row[2].value for row in rows] == [22, 10, 2, 6, 6, 6]
    assert [row[3].value for row in rows] == [3, 3, 2, 3, 3, 3]
    assert final.value == 2.75
