"""`grader course export`: scores of `grader grade` in a course's grade book."""

import copy
import csv
import io
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import pytest
from nbgrader.api import Gradebook

from grader import results
from grader.course.export import export, read_times
from grader.errors import UsageError
from tests.nbgrader_course import Course, marked
from tests.sample_class import ROOT, run_grader

NAMES = ("ones_bound", "rescale_objective")
STUDENTS = ("right_script", "misconception_ones_bound", "syntax_error", "untouched")
LATE = """
from nbgrader.plugins import LateSubmissionPlugin

class HalfAPointAnHour(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 0.5 * total_seconds_late / 3600
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course with two assignments, and a few scripts of the sample class, graded."""
    folder = tmp_path_factory.mktemp("export")
    course = Course(folder)
    for student in STUDENTS:
        shutil.copytree(ROOT / "fixtures" / "class" / student, folder / "class" / student)
    only = [option for name in NAMES for option in ("--exercise", name)]
    done = run_grader("grade", folder / "class", "--out", folder / "graded", *only)
    assert done.returncode == 0, done.stderr
    course.nbgrader("generate_assignment", NAMES[0])  # the other is entered by the first export
    return course, folder / "graded"


@pytest.fixture
def course(graded, tmp_path):
    """The course in a folder of its own, and the results."""
    copied = copy.copy(graded[0])
    copied.folder = tmp_path / "course"
    shutil.copytree(graded[0].folder, copied.folder)
    return copied, graded[1]


def exported(course) -> dict[tuple[str, str], float]:
    """The scores of nbgrader's own export, by student and assignment."""
    course.nbgrader("export")
    rows = csv.DictReader(io.StringIO((course.folder / "grades.csv").read_text()))
    return {(row["student_id"], row["assignment"]): float(row["score"]) for row in rows}


def due(folder) -> dict[tuple[str, str], float]:
    """The scores that `grader grade` found."""
    return {
        (report.student, exercise.name): exercise.score
        for report in results.read_results(folder)
        for exercise in report.exercises
    }


def in_book(course, student, name, cell):
    """One grade, as the grade book has it: automatic, manual, and whether a person must look."""
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}") as book:
        grade = book.find_grade(cell, name, name, student)
        return grade.auto_score, grade.manual_score, grade.needs_manual_grade


def test_the_grade_book_has_the_scores_of_grade_and_twice_is_as_once(course, monkeypatch):
    course, folder = course
    monkeypatch.chdir(course.folder.parent)
    for place in (course.folder, course.folder.name):
        done = run_grader("course", "export", place, "--results", folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert "wrote 6 scores to the grade book" in done.stdout
    assert exported(course) == due(folder)


def test_the_grade_book_knows_an_answer_that_was_not_written(course):
    course, folder = course
    export(course.folder, results.read_results(folder))
    released = nbformat.read(course.folder / "release" / NAMES[1] / f"{NAMES[1]}.ipynb", 4)
    cell = marked(released, "EXPLANATION")
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}") as book:
        kept = book.find_source_cell("EXPLANATION", NAMES[1], NAMES[1])
        assert (kept.source, kept.checksum) == (cell.source, cell.metadata.nbgrader.checksum)


def test_what_a_person_has_graded_stays(course):
    course, folder = course
    reports = results.read_results(folder)
    export(course.folder, reports)
    cell = ("right_script", "rescale_objective", "EXPLANATION")
    assert in_book(course, *cell) == (None, None, True)
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}") as book:
        grade = book.find_grade("EXPLANATION", NAMES[1], NAMES[1], "right_script")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        check = book.find_grade("check_ones_bound", NAMES[0], NAMES[0], "syntax_error")
        check.manual_score = 9.0
        book.db.commit()
    export(course.folder, reports)
    assert in_book(course, *cell) == (None, 1.5, False)
    scores = exported(course)
    assert scores["right_script", "rescale_objective"] == 11.5
    assert scores["syntax_error", "ones_bound"] == 9.0


def test_a_new_score_beside_a_manual_one_is_for_a_person_to_look_at(course):
    course, folder = course
    reports = results.read_results(folder)
    export(course.folder, reports)
    cell = ("right_script", "ones_bound", "check_ones_bound")
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}") as book:
        book.find_grade(cell[2], cell[1], cell[1], cell[0]).manual_score = 3.0
        book.db.commit()
    export(course.folder, [with_score(report, 7.0) for report in reports])
    assert in_book(course, *cell) == (7.0, 3.0, True)


def with_score(report, score, **changes):
    """The report with another score of ones_bound."""
    exercises = [
        msgspec.structs.replace(each, score=score, **changes) if each.name == NAMES[0] else each
        for each in report.exercises
    ]
    return msgspec.structs.replace(report, exercises=exercises)


def test_a_score_that_is_not_determined_is_no_zero(course):
    course, folder = course
    reports = results.read_results(folder)
    export(course.folder, reports)
    unknown = [with_score(report, None, notes=["a bug"]) for report in reports]
    done = export(course.folder, unknown)
    assert "right_script: ones_bound has no score: a bug" in done.undetermined
    assert exported(course) == due(folder)


def test_what_is_not_handed_in_any_more_is_told(course):
    course, folder = course
    reports = results.read_results(folder)
    export(course.folder, reports)
    gone = [with_score(report, 0.0, status="missing") for report in reports]
    done = export(course.folder, gone)
    assert len(done.withdrawn) == 4
    assert any("right_script: nothing was handed in for ones_bound" in x for x in done.withdrawn)
    assert exported(course) == due(folder)


def test_late_penalties_are_those_of_the_courses_plugin(course, tmp_path):
    course, folder = course
    (course.folder / "late.py").write_text(LATE)
    config = course.folder / "nbgrader_config.py"
    settings = 'c.AssignLatePenalties.plugin_class = "late.HalfAPointAnHour"\n'
    config.write_text(config.read_text() + settings)
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}") as book:
        book.update_or_create_assignment("ones_bound", duedate="2031-05-01 12:00:00 UTC")
    times = tmp_path / "times.csv"
    times.write_text(
        "student,timestamp,exercise\n"
        "right_script,2031-05-01 15:00:00 UTC,ones_bound\n"
        "misconception_ones_bound,2031-05-01T13:00+02:00,\n"
        "nobody,2031-05-01,\n"
    )
    stamp = course.folder / "submitted" / "syntax_error" / "ones_bound" / "timestamp.txt"
    stamp.parent.mkdir(parents=True)
    stamp.write_text("2031-05-01 14:00:00 UTC")
    options = ("--results", folder, "--times", times)
    done = run_grader("course", "export", course.folder, *options)
    assert done.returncode == 0, done.stderr
    assert f"{times} names who is not in these results: nobody" in done.stdout
    full, late = due(folder), exported(course)
    assert late["right_script", "ones_bound"] == full["right_script", "ones_bound"] - 1.5
    assert late["syntax_error", "ones_bound"] == full["syntax_error", "ones_bound"] - 1
    for unchanged in (("misconception_ones_bound", "ones_bound"), ("right_script", NAMES[1])):
        assert late[unchanged] == full[unchanged]


@pytest.mark.parametrize(
    ("text", "why"),
    [("name\nx\n", "no column student"), ("student,timestamp\nx,01.11.2026 14:30\n", "line 2")],
)
def test_times_that_are_none_are_refused(tmp_path, text, why):
    path = tmp_path / "times.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=why):
        read_times(path)


def test_points_that_differ_from_the_grade_book_are_refused(course):
    course, folder = course
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}") as book:
        book.update_or_create_grade_cell("check_ones_bound", NAMES[0], NAMES[0], max_score=20)
    done = run_grader("course", "export", course.folder, "--results", folder)
    assert done.returncode == 2
    assert "worth 10 points here and 20 in the grade book" in done.stderr


def test_an_assignment_that_can_not_be_entered_and_what_is_no_course_are_named(course, tmp_path):
    course, folder = course
    shutil.rmtree(course.folder / "source" / NAMES[1])
    done = run_grader("course", "export", course.folder, "--results", folder)
    assert done.returncode == 2
    assert "rescale_objective is not in the grade book" in done.stderr
    assert exported(course) == {}
    done = run_grader("course", "export", tmp_path, "--results", folder)
    assert done.returncode == 2
    assert "is no course" in done.stderr


@pytest.fixture
def postgres():
    """The URL of a database in a PostgreSQL server of its own, on a socket alone."""
    programs = Path(
        subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip()
        if shutil.which("pg_config")
        else max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    )
    with tempfile.TemporaryDirectory(prefix="pg") as place:
        user: dict[str, Any] = {"user": "postgres", "group": "postgres", "extra_groups": []}
        as_server = user if os.geteuid() == 0 else {}  # PostgreSQL refuses to run as root
        if as_server:
            shutil.chown(place, "postgres")
        server: dict[str, Any] = {"check": True, "capture_output": True, "cwd": place, **as_server}
        data = f"{place}/data"
        subprocess.run(
            [str(programs / "initdb"), "-D", data, "-U", "grader", "-A", "trust", "-N"], **server
        )
        options = f"-k {place} -c listen_addresses='' -c fsync=off"
        control: list[Any] = [programs / "pg_ctl", "-D", data, "-l", f"{place}/log", "-w"]
        subprocess.run([*control, "-o", options, "start"], **server)
        try:
            yield f"postgresql+psycopg://grader@/postgres?host={place}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **server)


@pytest.mark.system
def test_a_grade_book_in_postgresql(course, postgres):
    course, folder = course
    (course.folder / "gradebook.db").unlink()
    config = course.folder / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}c.CourseDirectory.db_url = {postgres!r}\n")
    for _ in range(2):
        done = run_grader("course", "export", course.folder, "--results", folder)
        assert done.returncode == 0, done.stderr
    assert exported(course) == due(folder)
    done = run_grader("course", "export", course.folder, "--results", folder, "--db", postgres)
    assert done.returncode == 0, done.stderr
    assert not (course.folder / "gradebook.db").exists()
