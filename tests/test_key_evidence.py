"""`evidence`: what is off by little, or of the wrong kind, is told of its own section alone."""

import copy
from typing import Any

import pytest

from grader import catalogue, suite
from grader.inprocess import ask_namespace
from tests.test_every_exercise import namespace

RIGHT: dict[str, Any] = namespace("evidence")["build_evidence"]()
NEAR = 2 - 2 * (1 / 15) ** 6  # the weight after six steps at rate 0.1
Q = (5.0**2 + 1.5**2) / 2  # of the held-out features


def lost(*changes: tuple[tuple[str, ...], Any]) -> set[str]:
    """The checks that the right evidence fails after these changes, each a path and a value."""
    evidence = copy.deepcopy(RIGHT)
    for path, value in changes:
        place = evidence
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
    exercise = catalogue.exercise("evidence")
    asking = ask_namespace({"build_evidence": lambda: evidence})
    findings = suite.with_suite(["evidence"], lambda ready: ready.run(exercise, asking))
    return {check.name for check in findings.checks if check.outcome != "passed"}


def test_evidence_is_right_as_the_solution_builds_it():
    assert lost() == set()


@pytest.mark.parametrize(
    "loss",
    [
        -RIGHT["held_out"]["loss"],
        RIGHT["held_out"]["loss"] ** 0.5,  # the root of it
        Q * (1.001 * NEAR - 2) ** 2,  # a weight 0.1 % off
        Q * (2 * (1 / 15) ** 5) ** 2,  # the weight after five steps, the last one of the record
    ],
)
def test_a_wrong_loss_on_held_out_data_is_seen_however_small(loss):
    assert lost((("held_out", "loss"), loss)) == {"held_out_loss_is_exact"}


def test_the_last_loss_is_that_of_the_last_row_or_of_the_weight_after_it():
    (first, last) = (14 / 3 * 4 * (13 / 15) ** (2 * steps) for steps in (5, 6))
    for loss, failed in ((first, set()), (last, set()), (-first, {"changed_rate_is_exact"})):
        assert lost((("changed_rate", "last_loss"), loss)) == failed


def test_a_negative_loss_is_refused_where_it_is_within_the_bound():
    settled = (("changed_rate", "rate"), 3 / 28), (("changed_rate", "last_loss"), 0.0)
    assert lost(*settled) == set()
    assert lost(*settled, (("changed_rate", "last_loss"), -1e-9)) == {"changed_rate_is_exact"}
