"""`grader course export`: the scores of `grader grade` in a grade book, by nbgrader's own API."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from msgspec import Struct
from nbgrader.api import Gradebook, GradeCell, MissingEntry, Notebook, SubmittedNotebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc

from grader.course.cells import checked_exercise
from grader.course.opened import opened
from grader.errors import UsageError
from grader.escapes import named
from grader.model import ExerciseReport, Report

Times = Mapping[tuple[str, str | None], datetime]
"""When students handed in, by student and exercise; None for all their exercises."""


class Exported(Struct, frozen=True):
    """How many scores were written, and what was left out: those that could not be determined, and
    exercises that these results say nothing about, a line each; and the students of `times` that
    these results don't have."""

    scores: int
    undetermined: list[str]
    withdrawn: list[str]
    unknown: list[str]


def export(
    folder: Path, reports: Sequence[Report], db_url: str | None = None, times: Times | None = None
) -> Exported:
    """Write the scores of these reports to the grade book of the course in `folder`.

    An exercise is the assignment of its name. What people have graded stays, and late penalties are
    worked out as `nbgrader autograde` does. The same reports once more change nothing. UsageError
    when an exercise can't be entered, or is worth something else in the grade book.
    """
    course = opened(folder)
    if db_url:
        course.coursedir.db_url = db_url
    handed_in = [
        (report.student, exercise)
        for report in reports
        for exercise in report.exercises
        if exercise.status != "missing"
    ]
    # All that can be wrong is found before anything is written.
    for name, points in {each.name: each.max_score for _, each in handed_in}.items():
        _require_assignment(course, folder, name)
        _require_points(course, name, points)
    determined = [
        (student, exercise, _time(course, student, exercise.name, times or {}))
        for student, exercise in handed_in
        if exercise.score is not None
    ]
    with course.gradebook as book:
        for student, exercise, time in determined:
            _write(book, student, exercise, time)
            _assign_late_penalty(course, student, exercise.name)
        withdrawn = list(_withdrawn(book, reports))
    undetermined = [
        f"{named(student)}: {exercise.name} has no score: {'; '.join(exercise.notes)}"
        for student, exercise in handed_in
        if exercise.score is None
    ]
    unknown = {student for student, _ in times or {}} - {report.student for report in reports}
    return Exported(len(determined), undetermined, withdrawn, sorted(unknown))


def read_times(path: Path) -> Times:
    """Read a CSV with the columns `student`, `timestamp` (ISO 8601, in UTC where it names no zone)
    and, if it likes, `exercise`.

    UsageError for a missing column, and for what is no time.
    """
    times: dict[tuple[str, str | None], datetime] = {}
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.DictReader(stream)
        missing = {"student", "timestamp"} - set(rows.fieldnames or [])
        if missing:
            raise UsageError(f"{path} has no column {' and no column '.join(sorted(missing))}")
        for row in rows:
            text = (row["timestamp"] or "").strip().removesuffix(" UTC")
            try:
                time = datetime.fromisoformat(text)
            except ValueError as error:
                raise UsageError(
                    f"{path}, line {rows.line_num}: {text!r} is no time; one looks like "
                    "2031-05-01 14:30 (in UTC) or 2031-05-01 14:30+02:00"
                ) from error
            if time.tzinfo:  # the grade book keeps UTC, and says nothing of zones
                time = time.astimezone(UTC).replace(tzinfo=None)
            times[row["student"], row.get("exercise") or None] = time
    return times


def _require_assignment(course: NbGraderAPI, folder: Path, name: str) -> None:
    """Have an exercise in the grade book as `nbgrader generate_assignment` enters it."""
    with course.gradebook as book:
        try:
            book.find_notebook(name, name)
            return
        except MissingEntry:
            pass
    source = Path(course.coursedir.format_path(course.coursedir.source_directory, ".", name))
    if not (source / f"{name}.ipynb").is_file():
        raise UsageError(
            f"{name} is not in the grade book, and {source / name}.ipynb, to enter it from, is not "
            f"there; `grader course init` makes a course with it. Nothing was written"
        )
    result = course.generate_assignment(name)
    if not result["success"]:
        raise UsageError(
            f"{name} can't be entered in the grade book; see what "
            f"`nbgrader generate_assignment {name}` says in {folder}"
        )


def _require_points(course: NbGraderAPI, name: str, points: float) -> None:
    """Have the check cell of an exercise worth what its checks are worth."""
    with course.gradebook as book:
        for cell in _check_cells(book.find_notebook(name, name)):
            if cell.max_score != points:
                raise UsageError(
                    f"{name} is worth {points:g} points here and {cell.max_score:g} in the grade "
                    f"book; `nbgrader generate_assignment {name} --force` enters it anew. Nothing "
                    "was written"
                )


def _check_cells(notebook: Notebook) -> list[GradeCell]:
    """The graded cells of a page that are a check of it."""
    sources = {cell.name: cell.source for cell in notebook.source_cells}
    return [
        cell
        for cell in notebook.grade_cells
        if checked_exercise(sources.get(cell.name, "")) == notebook.name
    ]


def _time(course: NbGraderAPI, student: str, name: str, times: Times) -> datetime | None:
    """When a student handed in; None where nobody says."""
    told = times.get((student, name)) or times.get((student, None))
    if told:
        return told
    places = course.coursedir
    folder = Path(places.format_path(places.submitted_directory, student, name))
    try:
        text = (folder / "timestamp.txt").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    try:
        parsed: datetime = parse_utc(text)
    except ValueError as error:
        raise UsageError(f"{folder / 'timestamp.txt'} holds no time: {error}") from error
    return parsed


def _write(book: Gradebook, student: str, exercise: ExerciseReport, time: datetime | None) -> None:
    """Write one exercise's score, as nbgrader does after autograding."""
    name = exercise.name
    auto_scores = dict(_auto_scores(book.find_notebook(name, name), exercise))
    book.update_or_create_student(student)
    known = {} if time is None else {"timestamp": time}
    book.update_or_create_submission(name, student, **known)
    submitted: SubmittedNotebook = book.find_submission_notebook(name, name, student)
    for grade in submitted.grades:
        if grade.name not in auto_scores:
            continue
        auto_score = auto_scores[grade.name]
        changed = grade.auto_score != auto_score
        grade.auto_score = auto_score
        # What a person has graded is for that person to look at again, once it has changed.
        if changed or grade.manual_score is None:
            grade.needs_manual_grade = auto_score is None or grade.manual_score is not None
    book.db.commit()


def _auto_scores(
    notebook: Notebook, exercise: ExerciseReport
) -> Iterator[tuple[str, float | None]]:
    """What each graded cell of a page is worth; None for what a person has to read."""
    manual = {check.function: check for check in exercise.checks if check.manual_points is not None}
    checks = _check_cells(notebook)
    for cell in notebook.grade_cells:
        if cell in checks:
            yield cell.name, exercise.score
        elif cell.name in manual:
            yield cell.name, None if manual[cell.name].outcome == "needs_person" else 0.0


def _assign_late_penalty(course: NbGraderAPI, student: str, name: str) -> None:
    """Have nbgrader's own step work the penalty out, by the plugin of the course."""
    step = AssignLatePenalties(parent=course)
    place = {
        "student": student,
        "assignment": name,
        "notebook": name,
        "db_url": course.coursedir.db_url,
    }
    no_cells = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]  # half typed
    step.preprocess(no_cells, {"nbgrader": place})


def _withdrawn(book: Gradebook, reports: Sequence[Report]) -> Iterator[str]:
    """Tell of scores that stand for exercises that are not handed in any more."""
    for report in reports:
        for exercise in report.exercises:
            if exercise.status != "missing":
                continue
            try:
                score = book.find_submission(exercise.name, report.student).score
            except MissingEntry:
                continue
            yield (
                f"{named(report.student)}: nothing was handed in for {exercise.name} here; "
                f"the grade book keeps the {score:g} points that it has"
            )
