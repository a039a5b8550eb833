"""What stands in the place of nbgrader's `Execute` in `nbgrader autograde`.

A page of ours is graded as `grader grade` would grade it: students' code runs in the sandbox, and
the check cell gets the table and the points as its outputs. No cell runs here or in a kernel.
"""

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import Execute
from traitlets import Unicode

from grader.course.cells import checked_exercise, is_ours, test_cells
from grader.course.outputs import check_outputs
from grader.course.turns import paused
from grader.course.warm import grade_notebook
from grader.errors import GraderFault
from grader.model import ExerciseReport


class GraderExecute(Execute):  # type: ignore[misc]  # nbgrader ships no types
    """Grades our pages; other notebooks are nbgrader's own, and `c.Execute.*` holds for them."""

    isolation = Unicode(
        "auto", help="How students' code is confined, as in `grader grade --isolation`."
    ).tag(config=True)

    def __call__(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Apply the preprocessor. `--no-execute` would take saved outputs for points: refused."""
        if not self.enabled and is_ours(nb, resources):
            raise GraderFault("without execution there is nothing to grade; leave out --no-execute")
        result: tuple[NotebookNode, dict[str, Any]] = super().__call__(nb, resources)
        return result

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any], km: Any = None
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Fill the outputs of a notebook. Raises what nbgrader reports as this submission's error:
        a fault of the grader's own is never a score."""
        if not is_ours(nb, resources):
            with paused():
                result: tuple[NotebookNode, dict[str, Any]] = super().preprocess(nb, resources, km)
            return result
        tests = [(cell, _exercise(cell)) for cell in test_cells(nb.cells)]
        if not tests:
            raise GraderFault(
                "the check cell is missing, and its points with it; in nbgrader_config.py, "
                "let configure(c) be the last line, or c.Autograde.sanitize_preprocessors begin "
                "with grader.course.mend.MendCells"
            )
        student = resources["nbgrader"]["student"]
        folder = Path(resources["metadata"]["path"])
        with paused():
            graded = [
                (cell, _outputs(cell, grade_notebook(nb, name, student, folder, self.isolation)))
                for cell, name in tests
            ]
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        for cell, outputs in graded:
            cell.outputs = outputs
        return nb, resources


def _exercise(cell: NotebookNode) -> str:
    """Return the exercise that a test cell checks; GraderFault when it would have to be run."""
    name = checked_exercise(cell.source)
    if name is None:
        raise GraderFault(
            f"the test cell {cell.metadata.nbgrader.grade_id} is not a lone check(...), and cells "
            "of this notebook are not run; move it to a notebook of its own"
        )
    return name


def _outputs(cell: NotebookNode, report: ExerciseReport) -> list[NotebookNode]:
    """Return what a check cell shows and is worth; GraderFault when that is not known."""
    exercise = report.name
    if report.score is None:
        why = "; ".join(report.notes)
        raise GraderFault(f"{exercise} could not be graded, and gets no score: {why}")
    worth = float(cell.metadata.nbgrader.points)
    if report.max_score != worth:
        raise GraderFault(
            f"the checks of {exercise} are worth {report.max_score:g} points, its check cell "
            f"{worth:g}; are the keys here, and are cell and key of one version?"
        )
    return check_outputs(report, report.score)
