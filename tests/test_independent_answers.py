"""Answers written from the contract alone, by people who had not seen the grader.

`fixtures/right/NAME/` must all get full marks; each of `fixtures/wrong/NAME/` is wrong in one idea
about one function, must lose marks for it, and for no other function. `manifest.json` beside them
says which, with a witness. A sample is graded here; all by `make corpora` (CORPORA=all).
"""

import functools
import json
import os
import shutil
from collections.abc import Callable
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


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> Callable[[str, str], dict[str, dict]]:
    """`reports(kind, name)`: the exercise's report of every answer that is asked for, by its name.

    All answers of one kind are one class, graded once.
    """

    @functools.cache
    def graded(kind: str) -> dict[str, dict]:
        folder = tmp_path_factory.mktemp(kind)
        for name in catalogue.names():
            answers = sorted((ROOT / "fixtures" / kind / name).iterdir())
            for path in [path for path in answers if path.name != "manifest.json"][::EVERY]:
                place = folder / "class" / f"{name}--{path.stem}"
                place.mkdir(parents=True)
                shutil.copy(path, place / f"{name}{path.suffix}")
        arguments = ("--out", folder / "out", "--workers", WORKERS)
        finished = run_grader("grade", folder / "class", *arguments)
        assert finished.returncode == 0, finished.stderr
        return reports_in(folder / "out")

    def of(kind: str, name: str) -> dict[str, dict]:
        place = catalogue.names().index(name)
        mine = {s: r for s, r in graded(kind).items() if s.startswith(f"{name}--")}
        return {s.removeprefix(f"{name}--"): r["exercises"][place] for s, r in mine.items()}

    return of


def wrong_functions(report: dict) -> set[str]:
    return {check["function"] for check in report["checks"] if check["outcome"] not in GOOD}


@pytest.mark.parametrize("name", catalogue.names())
def test_right_answers_lose_no_points(name, reports):
    losing = {slug: wrong_functions(report) for slug, report in reports("right", name).items()}
    assert losing
    assert {slug: lost for slug, lost in losing.items() if lost} == {}


@pytest.mark.parametrize("name", catalogue.names())
def test_wrong_answers_lose_points_for_the_wrong_function_alone(name, reports):
    known = manifest("wrong", name)
    found = {slug: wrong_functions(report) for slug, report in reports("wrong", name).items()}
    assert found
    assert found == {slug: {known[slug]["function"]} for slug in found}


@pytest.mark.parametrize("name", catalogue.names())
def test_every_answer_is_in_its_manifest(name):
    for kind in ("right", "wrong"):
        files = {path.name for path in (ROOT / "fixtures" / kind / name).iterdir()}
        listed = [entry["file"] for entry in manifest(kind, name).values()]
        assert files - {"manifest.json"} == set(listed)
        assert len(listed) >= {"right": 12, "wrong": 20}[kind]
