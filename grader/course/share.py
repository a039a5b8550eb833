"""`python -m grader.course.share`: autogrades submissions of one course, one after the other.

Reads jobs as JSON lines from standard input, writes what became of each, in order.
"""

import glob
import os
import sys
from pathlib import Path

import msgspec
from msgspec import Struct
from nbgrader.apps.api import NbGraderAPI

from grader.course.opened import opened
from grader.course.turns import turn


class Setup(Struct, frozen=True):
    """The first line: the course, what its processes take turns by, and whether to grade again what
    has been graded."""

    folder: str
    lock: str
    force: bool


class Job(Struct, frozen=True):
    """One submission."""

    assignment: str
    student: str


class Autograded(Struct, frozen=True):
    """What became of it: its points in the grade book, or why it has none (or old ones)."""

    score: float | None
    why: str = ""


def main() -> None:
    """Serve until standard input ends."""
    # Answers go out on a descriptor of their own: nothing else that is printed can get among them.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        setup = msgspec.json.decode(sys.stdin.buffer.readline(), type=Setup)
        course = opened(Path(setup.folder))
        for line in sys.stdin.buffer:
            job = msgspec.json.decode(line, type=Job)
            with turn(Path(setup.lock)):
                done = _autograded(course, job, setup.force)
            answers.write(msgspec.json.encode(done) + b"\n")
            answers.flush()


def _autograded(course: NbGraderAPI, job: Job, force: bool) -> Autograded:
    result = course.autograde(job.assignment, glob.escape(job.student), force=force)
    if not result["success"]:
        return Autograded(None, _reason(result.get("log", "")) or _reason(result["error"]))
    is_old = "Skipping existing assignment" in result.get("log", "")
    why = "as it was graded before; --force grades it again" if is_old else ""
    with course.gradebook as book:
        return Autograded(book.find_submission(job.assignment, job.student).score, why)


def _reason(log: str) -> str:
    """Return the line of nbgrader's log, or of a traceback, that tells what went wrong."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    traceback = next((n for n, line in enumerate(lines) if line.startswith("[ERROR] Traceback")), 0)
    if traceback:
        after = [n for n, line in enumerate(lines) if n > traceback and line.startswith("[")]
        return lines[min(after, default=len(lines)) - 1]
    errors = [line.removeprefix("[ERROR] ") for line in lines if line.startswith("[ERROR]")]
    return errors[0] if errors else (lines[-1] if lines else "")


if __name__ == "__main__":
    main()
