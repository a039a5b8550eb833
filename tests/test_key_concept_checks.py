"""`concept_checks`: every form of a right answer, and what a wrong or missing one is told."""

import pytest

from grader import catalogue, suite
from grader.inprocess import ask_namespace
from tests.test_every_exercise import namespace

RIGHT = namespace("concept_checks")["ANSWERS"]
YES_OR_NO = [key for key, answer in RIGHT.items() if isinstance(answer, bool)]


def outcomes(*papers):
    """For each dict of answers: outcome and message by question."""
    exercise = catalogue.exercise("concept_checks")

    def body(ready):
        found = [ready.run(exercise, ask_namespace({"ANSWERS": paper})) for paper in papers]
        return [
            {c.name: (c.outcome, c.message) for c in findings.checks if c.visibility == "hidden"}
            for findings in found
        ]

    return suite.with_suite(["concept_checks"], body)


def test_yes_and_no_are_said_in_many_ways():
    ways = [
        {key: say(answer) if key in YES_OR_NO else answer for key, answer in RIGHT.items()}
        for say in (
            bool,
            int,
            float,
            lambda yes: "yes" if yes else "no",
            lambda yes: "YES" if yes else "No",
        )
    ]
    for found in outcomes(*ways):
        assert {outcome for outcome, _ in found.values()} == {"passed"}
        assert all(message for _, message in found.values())


def test_the_word_may_be_written_in_any_case():
    ways = [{**RIGHT, "scaling_reason": word} for word in ("Curvature", " CURVATURE ")]
    for found in outcomes(*ways):
        assert {outcome for outcome, _ in found.values()} == {"passed"}


@pytest.mark.parametrize("text", ["3/14", "0.2142857142857", "0,2142857142857"])
def test_a_number_in_quotes_is_told_as_what_it_is(text):
    (found,) = outcomes({**RIGHT, "worked_ceiling": text})
    outcome, message = found["worked_ceiling"]
    assert outcome == "failed"
    assert message.startswith("worked_ceiling: text where a number is due: write it without")


def test_each_wrong_answer_costs_its_own_point_and_is_given_its_hint():
    papers = [
        {**RIGHT, key: wrong}
        for key, right in RIGHT.items()
        for wrong in ([not right] if key in YES_OR_NO else ["autodiff", 0.21, 2.0])
        if key != "scaling_reason" or wrong in ("autodiff", "observations")
    ]
    for paper, found in zip(papers, outcomes(*papers), strict=True):
        (key,) = (key for key in RIGHT if paper[key] != RIGHT[key])
        lost = {name: message for name, (outcome, message) in found.items() if outcome != "passed"}
        assert list(lost) == [key]
        assert lost[key].startswith(f"{key}: ")


@pytest.mark.parametrize("off", [1.01e-6, -1.01e-6])
def test_numbers_are_right_within_a_millionth(off):
    numbers = ("worked_ceiling", "crossing_rate", "largest_clipped_move")
    near = {**RIGHT, **{key: RIGHT[key] + off * 0.98 for key in numbers}}
    beyond = {**RIGHT, **{key: RIGHT[key] + off for key in numbers}}
    right, wrong = outcomes(near, beyond)
    assert {outcome for outcome, _ in right.values()} == {"passed"}
    assert {name for name, (outcome, _) in wrong.items() if outcome != "passed"} == set(numbers)


def test_what_is_open_is_not_attempted():
    missing = {key: answer for key, answer in RIGHT.items() if key != "worked_ceiling"}
    for found in outcomes(missing, {**RIGHT, "worked_ceiling": None}):
        lost = {name: outcome for name, (outcome, _) in found.items() if outcome != "passed"}
        assert lost == {"worked_ceiling": "not_attempted"}
