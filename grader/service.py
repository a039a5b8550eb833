"""`python -m grader.service`: one grading process of a batch.

Reads jobs as JSON lines from standard input, writes a Report as a JSON line for each, in order. One
pytest session and one warm sandbox serve them all.
"""

import os
import sys
from pathlib import Path
from typing import BinaryIO, Self
from urllib.parse import quote, unquote_to_bytes

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from grader import submissions
from grader.confinement import Confinement
from grader.grading import grade_one
from grader.layouts import Entry
from grader.sandbox import Limits, Sandbox
from grader.suite import Suite, with_suite


class Setup(Struct, frozen=True):
    """The first line: what holds for the whole batch."""

    exercises: list[str]
    limits: Limits
    confinement: Confinement
    sole: str | None = None
    pictures: bool = False


class Job(Struct, frozen=True):
    """One submission to grade: who, and paths with the names they go by.

    Paths are percent-encoded, so that one of any bytes can travel as JSON.
    """

    student: str
    roots: list[tuple[str, str]]
    exercises: list[str] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Entry, exercises: list[str] | None = None) -> Self:
        """The job that an entry of a class makes; `exercises` limits those of the batch."""
        roots = [(quote(os.fsencode(path)), name) for path, name in entry.roots]
        return cls(entry.student, roots, exercises, entry.notes)

    def paths(self) -> list[tuple[Path, str]]:
        """The paths, with the names they go by."""
        return [(Path(os.fsdecode(unquote_to_bytes(p))), name) for p, name in self.roots]


def main() -> None:
    """Serve until standard input ends."""
    # Reports go out on a descriptor of their own: nothing else that is printed can get among them.
    with os.fdopen(os.dup(1), "wb") as reports:
        os.dup2(2, 1)
        setup = msgspec.json.decode(sys.stdin.buffer.readline(), type=Setup)
        with Sandbox(setup.limits, confinement=setup.confinement) as sandbox:
            with_suite(setup.exercises, lambda suite: _serve(suite, sandbox, setup, reports))


def _serve(suite: Suite, sandbox: Sandbox, setup: Setup, reports: BinaryIO) -> None:
    for line in sys.stdin.buffer:
        job = msgspec.json.decode(line, type=Job)
        names = job.exercises or setup.exercises
        submission = submissions.read(job.paths(), names, setup.sole, job.student)
        submission = replace(submission, notes=(*job.notes, *submission.notes))
        report = grade_one(submission, names, suite, sandbox, setup.pictures)
        reports.write(msgspec.json.encode(report) + b"\n")
        reports.flush()


if __name__ == "__main__":
    main()
