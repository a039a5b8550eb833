"""Grade notebooks in one grading process, kept warm from one notebook to the next.

nbgrader makes its preprocessors anew for each notebook, all in one process.
"""

import atexit
import base64
import json
import shutil
import tempfile
from pathlib import Path

from nbformat import NotebookNode

from grader import catalogue
from grader.batch import grading_process
from grader.compiled import prepared
from grader.confinement import chosen
from grader.errors import GraderFault
from grader.grading import checks_fingerprint
from grader.layouts import Entry
from grader.model import ExerciseReport, Report
from grader.pool import Process
from grader.sandbox import Limits
from grader.service import Job, Setup

HANDED_IN = "handed_in"  # metadata of a page: the file itself, base64, where nbgrader can't read it


class WarmProcess:
    """A grading process, started when it is first needed, and anew after it failed.

    formgrader's server may live for weeks: a process with outdated checks is replaced, too.
    """

    def __init__(self) -> None:
        self._process: Process[Setup, Job, Report] | None = None
        self._checks = ""

    def grade(self, job: Job, isolation: str) -> Report:
        """Return the report on one submission. GraderFault when the process ended instead."""
        names, limits = catalogue.names(), Limits()
        checks = checks_fingerprint(names, limits)
        if checks != self._checks:
            self.close()
        if self._process is None:
            confinement = prepared(chosen(isolation))
            setup = Setup(names, limits, confinement, pictures=True)
            self._process, self._checks = grading_process(setup), checks
        report = None
        try:
            report = self._process.do(job)
        finally:
            # After an interrupt, the next answer would be the one to this job.
            said = self.close() if report is None else ""
        if report is None:
            raise GraderFault(f"the grading process ended: {said}")
        return report

    def close(self) -> str:
        """End the process; return the last thing it said."""
        process, self._process = self._process, None
        return "" if process is None else process.close()


_WARM = WarmProcess()
atexit.register(_WARM.close)


def grade_notebook(
    notebook: NotebookNode, exercise: str, student: str, folder: Path, isolation: str
) -> ExerciseReport:
    """Return the report on a notebook as `exercise`, with the modules beside it in `folder`.

    It goes the way of `grader grade`. Raises UsageError when there is no such exercise, and
    GraderFault when the grading process ended.
    """
    catalogue.exercise(exercise)
    with tempfile.TemporaryDirectory(prefix="grader-") as temporary:
        submission = Path(temporary)
        for module in folder.glob("*.py"):
            # A script of the exercise would compete with the notebook, which is what was assigned.
            if module.stem != exercise and module.is_file() and not module.is_symlink():
                shutil.copyfile(module, submission / module.name)
        (submission / f"{exercise}.ipynb").write_bytes(file_of(notebook))
        entry = Entry(student, ((submission, student),))
        report = _WARM.grade(Job.of(entry, [exercise]), isolation)
    return next(item for item in report.exercises if item.name == exercise)


def file_of(notebook: NotebookNode) -> bytes:
    """The notebook as a file; the one that was handed in, where this is the notice in its place."""
    if HANDED_IN in notebook.metadata:
        return base64.b64decode(notebook.metadata[HANDED_IN])
    return json.dumps(notebook).encode()
