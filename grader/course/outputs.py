"""A graded exercise as the outputs of its check cell: a table to read, plots, then the points."""

import base64
import html
from typing import Any

from nbformat import NotebookNode

from grader.course.cells import node
from grader.model import ExerciseReport
from grader.reports.text import exercise_text


def check_outputs(report: ExerciseReport, score: float) -> list[NotebookNode]:
    """Return the outputs; nbgrader takes the one `execute_result` as the cell's points.

    The feedback page and formgrader show HTML as it is, so what students wrote is escaped.
    """
    text = exercise_text(report, for_student=True)
    table: dict[str, Any] = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"},
    }
    plots: list[dict[str, Any]] = [
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"image/png": base64.b64encode(picture).decode("ascii")},
        }
        for picture in report.pictures
    ]
    points: dict[str, Any] = {
        "output_type": "execute_result",
        "metadata": {},
        "execution_count": None,
        "data": {"text/plain": repr(float(score))},
    }
    return [node(output) for output in (table, *plots, points)]
