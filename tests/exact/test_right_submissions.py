"""Every kind of right program, handed in as a submission, gets full marks for `ones_bound`."""

import math
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from grader import catalogue
from grader.inprocess import ask_namespace
from grader.suite import Findings, Suite, with_suite
from tests.exact.faithful import COMPARISONS, COMPILED, CURVATURES, SLOW, f32, growth_from_numpy_run
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


def submissions() -> dict[str, Namespace]:
    """One for each way to the curvature, with the ways to a run in turn."""
    runs = cycle((name, run) for name, run in COMPARISONS.items() if name not in {*SLOW, COMPILED})
    made = {}
    for name, curvature in CURVATURES.items():
        run_name, run = next(runs)
        made[f"{name}; {run_name}"] = submission(curvature, run)
    for name, growth in (("multiplied out", multiplied_out), ("measured", measured)):
        _, run = next(runs)
        page = submission(CURVATURES["NumPy float32"], run)
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
