"""The hostile suite: every case is whole, and some of each family hold. All: make hostile."""

import sys

import pytest

from tests import hostile

FAMILIES = ("breakage", "escape", "exhaustion", "forgery", "survivor")
SAMPLE = [
    "breakage-ends_by_exit",
    "breakage-recursion_without_end",
    "escape-keys_by_path",
    "escape-first_process",
    "exhaustion-nested_answers",
    "exhaustion-process_storm",
    "forgery-reply_with_the_token",
    "forgery-equal_to_everything",
    "survivor-file_in_scratch",
    "survivor-daemon_by_fork",
]


def test_every_case_states_what_it_tries_and_gets():
    cases = hostile.cases([])
    assert len(cases) >= 60
    assert {case.name.split("-")[0] for case in cases} == set(FAMILIES)
    for case in cases:
        assert case.tries, case.name
        assert case.gets, case.name
        compile(case.submission, case.name, "exec")


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap works on Linux only")
def test_attacks_get_what_they_state_and_leave_their_neighbours_alone():
    chosen = hostile.cases(SAMPLE)
    assert sorted(case.name for case in chosen) == sorted(SAMPLE)
    alone = hostile.honest_alone("bubblewrap")
    assert hostile.problems(chosen, 2, "bubblewrap", alone) == []


def test_the_runner_sees_a_case_that_gets_what_it_should_not(monkeypatch):
    (case,) = hostile.cases(["forgery-equal_to_everything"])
    report = {
        "status": "graded",
        "checks": [{"function": "curvature", "name": "c", "outcome": "passed", "message": ""}],
    }
    assert case.allowed("curvature") == ["failed"]
    assert len(hostile.problems_with(case, report)) == 1
