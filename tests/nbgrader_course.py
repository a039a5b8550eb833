"""A course that nbgrader's own commands work on, for the tests that run them."""

import csv
import io
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import nbformat

from tests.sample_class import run_grader

NAME = "ones_bound"

# Stands in for every kernel: it leaves a line behind, and is then the usual one.
KERNEL = """\
import os, runpy
with open({log!r}, "a") as log:
    log.write("started\\n")
runpy.run_module("ipykernel_launcher", run_name="__main__")
"""


class Course:
    """A course in a folder of its own, with nbgrader's commands as in a shell that knows nothing
    of the environment that they are installed in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "course"
        self.log = ""  # of the autograding that a test looks at
        self.kernels = folder / "kernels.log"
        specification = folder / "jupyter" / "kernels" / "python3" / "kernel.json"
        specification.parent.mkdir(parents=True)
        code = KERNEL.format(log=str(self.kernels))
        argv = [sys.executable, "-c", code, "-f", "{connection_file}"]
        specification.write_text(json.dumps({"argv": argv, "display_name": "", "language": ""}))
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
            "PATH": os.defpath,
            "HOME": str(folder),
            "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
            "JUPYTER_PATH": str(folder / "jupyter"),
        }
        self.init = run_grader("course", "init", self.folder)

    def nbgrader(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess:
        command = [str(Path(sysconfig.get_path("scripts"), "nbgrader")), *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done

    def submit(self, student: str, notebook: Any, assignment: str = NAME) -> None:
        """Hand in a notebook, or the bytes of a file that may be none."""
        path = self.place(student, assignment) / f"{assignment}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = notebook if isinstance(notebook, bytes) else nbformat.writes(notebook).encode()
        path.write_bytes(content)

    def place(self, student: str, assignment: str = NAME) -> Path:
        """The folder of what a student handed in."""
        return self.folder / "submitted" / student / assignment

    def scores(self) -> dict[str, float]:
        rows = csv.DictReader(io.StringIO((self.folder / "grades.csv").read_text()))
        return {row["student_id"]: float(row["score"]) for row in rows}

    def checked(self, student: str, assignment: str = NAME) -> Any:
        path = self.folder / "autograded" / student / assignment / f"{assignment}.ipynb"
        return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)

    def feedback(self, student: str) -> str:
        path = self.folder / "feedback" / student / NAME / f"{NAME}.html"
        return path.read_text(encoding="utf-8")


def marked(notebook, grade_id):
    """The cell that nbgrader knows by this name."""
    cells = (cell for cell in notebook.cells if "nbgrader" in cell.metadata)
    return next(cell for cell in cells if cell.metadata.nbgrader.grade_id == grade_id)


def solved(course: Course) -> Any:
    """The release with the instructor's answers in it."""
    source = nbformat.read(course.folder / "source" / NAME / f"{NAME}.ipynb", as_version=4)
    notebook = nbformat.read(course.folder / "release" / NAME / f"{NAME}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            lines = marked(source, cell.metadata.nbgrader.grade_id).source.splitlines()
            cell.source = "\n".join(line for line in lines if "###" not in line)
    return notebook
