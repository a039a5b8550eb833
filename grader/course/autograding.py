"""`grader course autograde`: nbgrader's own autograde, several submissions at a time."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from nbgrader.api import MissingEntry

from grader.course.opened import CONFIG, opened
from grader.course.settings import LINES
from grader.course.share import Autograded, Job, Setup
from grader.errors import UsageError
from grader.pool import Process, spread


def handed_in(folder: Path, assignment: str) -> list[Job]:
    """Return what was handed in for an assignment of the course in `folder`, sorted by student.

    UsageError when there is no such course, assignment or submission.
    """
    course = opened(folder)
    steps = course.config.Autograde.get("autograde_preprocessors", [])
    if not any("GraderExecute" in str(step) for step in steps):
        raise UsageError(
            f"{folder / CONFIG} does not hand pages to the grader; put these lines at its end:"
            f"\n\n{LINES}"
        )
    with course.gradebook as book:
        try:
            book.find_assignment(assignment)
        except MissingEntry:
            known = ", ".join(sorted(each.name for each in book.assignments)) or "none yet"
            raise UsageError(
                f"the grade book has no assignment {assignment!r}; it has: {known}. In {folder}, "
                f"`nbgrader generate_assignment {assignment}` enters it"
            ) from None
    students = sorted(course.get_submitted_students(assignment))
    if not students:
        raise UsageError(f"nobody has handed in {assignment!r}: there is nothing in submitted/")
    return [Job(assignment, student) for student in students]


def autograde(
    folder: Path, jobs: list[Job], workers: int, force: bool, done: Callable[[], None]
) -> dict[str, Autograded]:
    """Autograde submissions of the course in `folder`; what became of each, by student.

    The grade book has one process at a time at it, whatever the number of workers. `done` is called
    after each submission.
    """
    found: dict[str, Autograded] = {}

    def keep(job: Job, answer: Autograded | None, said: str) -> None:
        found[job.student] = answer or Autograded(None, said)
        done()

    with tempfile.TemporaryDirectory(prefix="grader-") as temporary:
        setup = Setup(str(folder.absolute()), str(Path(temporary, "turn")), force)

        def start() -> Process[Setup, Job, Autograded]:
            return Process("grader.course.share", setup, Autograded)

        spread(jobs, min(workers, len(jobs)), start, keep)
    return found
