"""Every kind of right program, handed in as a submission, gets full marks for `ones_bound`."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from grader import catalogue
from grader.inprocess import ask_namespace
from grader.suite import Findings, Suite, with_suite
from tests.exact.faithful import COMPARISONS, CURVATURES, f32, growth_from_numpy_run
from tests.exact.inputs import Case

Namespace = dict[str, Any]


def submission(curvature: Callable[..., Any], compare_rates: Callable[..., Any]) -> Namespace:
    """The due names, all resting on this curvature."""

    def of(features: Any) -> Any:
        return curvature(tuple(map(float, features)))

    def rate_ceiling(features: Any) -> Any:
        return 2 / of(features) if of(features) != 0 else math.inf

    return {
        "PREDICTED_CEILING": 1,
        "curvature": of,
        "rate_ceiling": rate_ceiling,
        "growth_factor": lambda rate, features: (1 - rate * of(features)) ** 2,
        "compare_rates": compare_rates,
    }


def multiplied_out(features: Any, rate: float) -> Any:
    """The growth as a polynomial, in NumPy's float32."""
    part = f32((rate,))[0] * 2 * (f32(tuple(map(float, features))) ** 2).mean()
    return 1 - 2 * part + part * part


def measured(features: Any, rate: float) -> Any:
    """The growth from two losses of a run."""
    x = tuple(map(float, features))
    case = Case(x, x, 0.0, rate, 1, None, (0, 0, 0, 0), checked=False)
    return growth_from_numpy_run(case, expanded=True)[0]


WAYS = [
    ("JAX", "lesson.run"),
    ("jax.jit", "rate traced, jax.jit"),
    ("jax.hessian, jitted", "lax.scan"),
    ("gradient difference, jitted", "NumPy float32, expanded"),
    ("gradient difference, targets 1", "m*w + c, NumPy"),
    ("NumPy float32, backwards", "NumPy float32, backwards"),
    ("NumPy float32, norm squared", "closed form, jnp.power"),
    ("NumPy float32, distributed", "closed form, three formulas"),
    ("NumPy float64", "NumPy float64"),
    ("Python", "closed form, Python"),
]
"""Ways to the curvature, and ways to a run."""


def submissions() -> dict[str, Namespace]:
    """A submission for each of these ways, and for each way to the growth."""
    made = {f"{way}; {run}": submission(CURVATURES[way], COMPARISONS[run]) for way, run in WAYS}
    for name, growth in (("multiplied out", multiplied_out), ("measured", measured)):
        page = submission(CURVATURES["NumPy float32"], COMPARISONS["NumPy float32"])
        page["growth_factor"] = lambda rate, features, growth=growth: growth(features, rate)
        made[f"growth {name}"] = page
    return made


SUBMISSIONS = submissions()


@pytest.fixture(scope="module")
def findings() -> dict[str, Findings]:
    """What the checks find in each, all in one session."""
    exercise = catalogue.exercise("ones_bound")

    def body(suite: Suite) -> dict[str, Findings]:
        return {
            name: suite.run(exercise, ask_namespace(page)) for name, page in SUBMISSIONS.items()
        }

    return with_suite(["ones_bound"], body)


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_a_right_program_of_any_kind_gets_full_marks(findings, name):
    found = findings[name]

    assert [(c.name, c.message) for c in found.checks if c.outcome != "passed"] == []
    assert (found.notes, found.faults) == ([], [])
