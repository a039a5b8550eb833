"""Whatever a student's functions answer, the checks judge it: nothing is the grader's own fault."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from grader import catalogue
from grader.model import (
    Answer,
    Array,
    Crashed,
    Missing,
    Opaque,
    Question,
    Raised,
    Returned,
    TimedOut,
)
from grader.suite import Suite, with_suite
from tests.test_key_evidence import RIGHT as EVIDENCE

LARGE = 1.7e308
ODD: list[Any] = [
    *(None, True, "0.5", -1, 0.0, 5e-324, LARGE, -LARGE, math.nan, -math.inf),
    *(10**1200, -(10**1200), Fraction(1, 3**2500), Fraction(3, 7)),
    *((), ((),), (0.5,), (1, 2, 3), ((1, 2, 3),) * 6, (10**1200,) * 3),
    *({}, {"weight": 0}, Opaque("a generator"), Array("float32", (0, 3), ())),
    *(Array("float64", (2, 3), (LARGE,) * 6), Array("bool", (3,), (True,) * 3)),
]
PATHS = [
    *(("held_out", name) for name in ("features", "targets", "loss")),
    *(("changed_rate", name) for name in ("rate", "stable", "last_loss")),
    *(("repaired_case", name) for name in ("bad_features", "finite_before", "gradient_after")),
    *(("repaired_case", "changed_input", name) for name in ("features", "gradient")),
]


def answering(answer: Answer) -> Callable[[Question], Answer]:
    """The same answer, whatever is asked."""
    return lambda _: answer


def faults(name: str, answers: list[Any]) -> Iterator[tuple[Any, list[str]]]:
    """Each answer to every question of an exercise's checks, with the faults that it makes."""
    exercise = catalogue.exercise(name)

    def body(suite: Suite) -> list[tuple[Any, list[str]]]:
        return [(answer, suite.run(exercise, answering(answer)).faults) for answer in answers]

    yield from with_suite([name], body)


@pytest.mark.parametrize("name", catalogue.names())
def test_no_answer_is_too_odd_to_be_judged(name):
    answers = [*map(Returned, ODD), Returned(0.5, changed_argument=True), Missing(), TimedOut()]
    answers += [Crashed("x"), Raised("ValueError", ("ValueError", "Exception"), "", 1)]
    assert [found for found in faults(name, answers) if found[1]] == []


def with_odd(evidence: dict[str, Any], path: tuple[str, ...], odd: Any) -> dict[str, Any]:
    """The evidence with one entry in place of another."""
    name, *rest = path
    return {**evidence, name: with_odd(evidence[name], tuple(rest), odd) if rest else odd}


def test_no_entry_of_the_evidence_is_too_odd_to_be_judged():
    papers = [with_odd(EVIDENCE, path, odd) for path in PATHS for odd in ODD]
    found = faults("evidence", [Returned(paper) for paper in papers])
    assert [each for each in found if each[1]] == []
