"""Answers written from the contract alone, by people who had not seen the grader.

`fixtures/right/NAME/` must all get full marks; each of `fixtures/wrong/NAME/` is wrong in one idea
about one function, must lose marks for it, and for no other function. `manifest.json` beside them
says which, with a witness. A sample is graded here; all by `make corpora` (CORPORA=all).
"""

import json
import os
import shutil
from pathlib import Path

import pytest

from grader import catalogue
from tests.sample_class import ROOT, reports_in, run_grader

EVERY = 1 if os.environ.get("CORPORA") == "all" else 9
WORKERS = os.environ.get("CORPORA_WORKERS", "1")
GOOD = ("passed", "needs_person")


def manifest(kind: str, name: str) -> dict[str, dict]:
    """What is known of each answer, by the student's name that it is graded under."""
    content = json.loads((ROOT / "fixtures" / kind / name / "manifest.json").read_text())
    return {Path(entry["file"]).stem: entry for entry in content}


def graded(kind: str, name: str, tmp_path: Path) -> dict[str, dict]:
    """The exercise's report of every answer that is asked for, by student."""
    folder = tmp_path / "answers"
    folder.mkdir()
    answers = sorted(path for path in (ROOT / "fixtures" / kind / name).iterdir())
    for path in [path for path in answers if path.name != "manifest.json"][::EVERY]:
        shutil.copy(path, folder)
    arguments = ("--out", tmp_path / "out", "--exercise", name, "--workers", WORKERS)
    finished = run_grader("grade", folder, *arguments)
    assert finished.returncode == 0, finished.stderr
    reports = reports_in(tmp_path / "out")
    return {student: report["exercises"][0] for student, report in reports.items()}


def wrong_functions(report: dict) -> set[str]:
    return {check["function"] for check in report["checks"] if check["outcome"] not in GOOD}


@pytest.mark.parametrize("name", catalogue.names())
def test_right_answers_lose_no_points(name, tmp_path):
    reports = graded("right", name, tmp_path)
    losing = {student: wrong_functions(report) for student, report in reports.items()}
    assert {student: lost for student, lost in losing.items() if lost} == {}


@pytest.mark.parametrize("name", catalogue.names())
def test_wrong_answers_lose_points_for_the_wrong_function_alone(name, tmp_path):
    known = manifest("wrong", name)
    reports = graded("wrong", name, tmp_path)
    found = {student: wrong_functions(report) for student, report in reports.items()}
    assert found == {student: {known[student]["function"]} for student in reports}


@pytest.mark.parametrize("name", catalogue.names())
def test_every_answer_is_in_its_manifest(name):
    for kind in ("right", "wrong"):
        files = {path.name for path in (ROOT / "fixtures" / kind / name).iterdir()}
        listed = [entry["file"] for entry in manifest(kind, name).values()]
        assert files - {"manifest.json"} == set(listed)
        assert len(listed) >= {"right": 30, "wrong": 40}[kind]
