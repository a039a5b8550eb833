"""nbgrader's pipeline on a class with all that students hand in, beside `grader grade`."""

import copy
import json
import shutil
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook

from tests.nbgrader_course import NAME, Course, marked, solved
from tests.sample_class import reports_in, run_grader

pytestmark = pytest.mark.system

PLOT = """
import matplotlib.pyplot as plt
plt.plot([3, 2, 1])
plt.figure()
plt.plot([1, 2, 3])
plt.show()
"""
# Right only for whoever finds the grade book, the solutions or another student's notebook.
SPY = """
import glob, os
SECRETS = ["gradebook.db", "source", "submitted/right", "nbgrader_config.py"]
FOUND = [s for up in range(9) for s in SECRETS if os.path.exists("../" * up + s)]
FOUND += glob.glob("{folder}/*")
if not FOUND:
    del curvature, rate_ceiling, growth_factor, compare_rates
"""
FORGED = """
import sys
from IPython.display import display
print("10.0")
sys.stderr.write("10.0")
check = lambda name: 10.0
"""


def edited(notebook: Any, grade_id: str, *pairs: tuple[str, str]) -> Any:
    """A copy with text replaced in one cell."""
    notebook = copy.deepcopy(notebook)
    cell = marked(notebook, grade_id)
    for old, new in pairs:
        assert old in cell.source
        cell.source = cell.source.replace(old, new)
    return notebook


def with_cell(notebook: Any, source: str, place: int) -> Any:
    """A copy with one more code cell."""
    notebook = copy.deepcopy(notebook)
    notebook.cells.insert(place, nbformat.v4.new_code_cell(source))
    return notebook


def changed(notebook: Any, change: Any) -> Any:
    """A copy, changed in place by a function."""
    notebook = copy.deepcopy(notebook)
    change(notebook)
    return notebook


def leave_two_undone(notebook: Any) -> None:
    for name in ("growth_factor", "compare_rates"):
        cell = marked(notebook, name)
        head = next(line for line in cell.source.splitlines() if line.startswith("def "))
        cell.source = f"{head}\n    raise NotImplementedError"


def tag_all(notebook: Any) -> None:
    for cell in notebook.cells:
        cell.metadata.tags = ["skip-execution"]


def drop_check(notebook: Any) -> None:
    notebook.cells.remove(marked(notebook, f"check_{NAME}"))


def double_check(notebook: Any) -> None:
    again = copy.deepcopy(marked(notebook, f"check_{NAME}"))
    again.id = "again"
    notebook.cells.insert(0, again)


def double_answer(notebook: Any) -> None:
    again = copy.deepcopy(marked(notebook, "curvature"))
    again.id = "again"
    notebook.cells.insert(1, again)


def turn_answer_into_text(notebook: Any) -> None:
    place = notebook.cells.index(marked(notebook, "curvature"))
    cell = notebook.cells[place]
    notebook.cells[place] = nbformat.v4.new_markdown_cell(cell.source, metadata=cell.metadata)


def turn_check_into_text(notebook: Any) -> None:
    place = notebook.cells.index(marked(notebook, f"check_{NAME}"))
    cell = notebook.cells[place]
    notebook.cells[place] = nbformat.v4.new_raw_cell(cell.source, metadata=cell.metadata)


def name_another_kernel(notebook: Any) -> None:
    notebook.metadata.kernelspec = {"name": "conda-env-ml", "display_name": "ML", "language": "R"}


def swap_marks(notebook: Any) -> None:
    marked(notebook, "curvature").metadata.nbgrader.grade_id = f"check_{NAME}"


def odd_marks(notebook: Any) -> None:
    for cell in notebook.cells:
        cell.metadata.nbgrader = {"schema_version": 1, "grade": True, "points": "many"}


def without_ids(notebook: Any) -> bytes:
    data = json.loads(nbformat.writes(notebook))
    for cell in data["cells"]:
        del cell["id"]
    return json.dumps(data).encode()


def the_class(course: Course) -> dict[str, Any]:
    """What each student hands in: a notebook, or the bytes of a file."""
    right = solved(course)
    text = nbformat.writes(right).encode()
    untouched = nbformat.read(course.folder / "release" / NAME / f"{NAME}.ipynb", as_version=4)
    two = ("return 2 * ", "return ")
    return {
        "right": right,
        "wrong": edited(right, "curvature", two),
        "half_done": changed(right, leave_two_undone),
        "untouched": untouched,
        "syntax_error": edited(right, "growth_factor", ("return", "retrun")),
        "plots": with_cell(right, PLOT, -1),
        "endless": with_cell(right, "while True:\n    pass", 2),
        "ends_the_process": with_cell(right, "import os\nos._exit(0)", 2),
        "prints_without_end": with_cell(right, "for n in range(200_000):\n    print(n)", 2),
        "spy": with_cell(right, SPY.format(folder=course.folder), -1),
        "forger": with_cell(untouched, FORGED, -1),
        "skipped": changed(right, tag_all),
        "no_check_cell": changed(right, drop_check),
        "nothing_and_no_check_cell": changed(untouched, drop_check),
        "check_twice": changed(right, double_check),
        "answer_twice": changed(right, double_answer),
        "answer_as_text": changed(right, turn_answer_into_text),
        "check_as_text": changed(right, turn_check_into_text),
        "other_kernel": changed(right, name_another_kernel),
        "swapped_marks": changed(right, swap_marks),
        "odd_marks": changed(right, odd_marks),
        "without_ids": without_ids(right),
        "old_format": nbformat.writes(nbformat.convert(right, 3), version=3).encode(),
        "byte_order_mark": b"\xef\xbb\xbf" + text,
        "comma_too_many": text.replace(b'"cells": [', b'"cells": [,', 1),
        "cut_off": text[: len(text) // 2],
        "empty": b"",
        "web_page": b"<!DOCTYPE html><html><body>ones_bound</body></html>",
        "list": b"[1, 2, 3]",
        "no_cells": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    }


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course after nbgrader's commands, and the same files graded by `grader grade`."""
    folder = tmp_path_factory.mktemp("nbgrader")
    course = Course(folder)
    course.nbgrader("generate_assignment", NAME)
    for student, handed_in in the_class(course).items():
        course.submit(student, handed_in)
    beside = course.folder / "submitted" / "right" / NAME
    (beside / f"{NAME}.py").write_text("raise RuntimeError('not the notebook')\n")
    # An earlier hand-in of a student who has deleted the check cell since.
    course.submit("nothing_and_no_check_cell", solved(course))
    course.nbgrader("autograde", NAME, "--student", "nothing_and_no_check_cell")
    course.nbgrader("export")
    assert course.scores()["nothing_and_no_check_cell"] == 10
    course.submit("nothing_and_no_check_cell", the_class(course)["nothing_and_no_check_cell"])

    course.log = course.nbgrader("autograde", NAME, "--force").stderr
    course.nbgrader("generate_feedback", NAME)
    course.nbgrader("export")
    (beside / f"{NAME}.py").unlink()  # for `grade`, two answers to one exercise
    place, options = course.folder / "submitted", ("--exercise", NAME, "--workers", 2)
    graded = run_grader("grade", place, "--out", folder / "graded", *options)
    assert graded.returncode == 0, graded.stderr
    return course, reports_in(folder / "graded")


def test_every_score_in_the_export_is_that_of_grade(course):
    course, reports = course
    assert len(reports) == len(the_class(course))
    assert course.scores() == {student: report["score"] for student, report in reports.items()}


def test_what_nbgrader_trips_over_costs_no_points(course):
    scores = course[0].scores()
    full = {student for student, score in scores.items() if score == 10}
    assert full >= {
        *("right", "plots", "skipped", "no_check_cell", "check_twice", "answer_twice"),
        *(
            "answer_as_text",
            "check_as_text",
            "other_kernel",
            "swapped_marks",
            "odd_marks",
            "without_ids",
        ),
        *("old_format", "byte_order_mark"),
    }


def test_nothing_is_earned_by_forging_spying_or_deleting(course):
    scores = course[0].scores()
    for student in ("untouched", "forger", "nothing_and_no_check_cell", "empty", "web_page"):
        assert scores[student] == 0, student
    assert scores["spy"] < 2  # the constant alone
    assert not course[0].kernels.exists()


def test_a_doubled_answer_is_named_with_both_its_cells(course):
    assert "cells 2 and" in course[0].log
    assert "are both marked curvature" in course[0].log


def test_every_feedback_page_tells_what_grade_tells(course):
    course, reports = course
    for student, report in reports.items():
        page = course.feedback(student)
        exercise = report["exercises"][0]
        assert f"{NAME}: {exercise['score']:g} of 10 points" in page, student
    assert "the notebook is damaged" in course.feedback("comma_too_many")


def test_plots_are_shown_in_feedback(course):
    outputs = marked(course[0].checked("plots"), f"check_{NAME}").outputs
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 2
    assert course[0].feedback("plots").count("data:image/png;base64,iVBOR") == 2


def test_several_workers_make_the_same_grade_book(course):
    course, reports = course
    before = course.scores()
    for student in ("right", "wrong", "plots", "spy", "cut_off", "no_check_cell"):
        shutil.rmtree(course.folder / "autograded" / student)  # the others are not graded again
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}") as book:
        book.remove_submission(NAME, "wrong")
    done = run_grader("course", "autograde", course.folder, NAME, "--workers", 2)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    for student, report in reports.items():
        assert said[student].split(" (")[0] == f"{report['score']:g}"
    assert said["half_done"].endswith("(as it was graded before; --force grades it again)")
    course.nbgrader("export")
    assert course.scores() == before
