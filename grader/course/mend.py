"""The first step of `nbgrader autograde`: a page of ours gets back nbgrader's marks on its cells.

Copying a cell copies its marks, some editors drop them all, and they can be edited. nbgrader gives
up on some of that and believes the rest; here none of it changes what a page is worth.
"""

import base64
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from grader.course.cells import has_check, released_cells
from grader.course.reading import UNREAD
from grader.course.warm import HANDED_IN


class MendCells(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader ships no types
    """Gives a page of ours the marks of its release; other notebooks stay as they are."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Renew marks, drop those that are strange or doubled (the last one counts), and add the
        cells that are graded and were deleted. A page that can't be read takes the file with it."""
        missing = released_cells(resources)
        if not has_check(missing.values()):
            return nb, resources
        nb.metadata.pop(HANDED_IN, None)
        if unread := resources["nbgrader"].pop(UNREAD, None):
            self.log.warning("nbgrader can't read this notebook; it is graded as it was handed in")
            nb.metadata[HANDED_IN] = base64.b64encode(unread).decode("ascii")
        places: dict[str, int] = {}
        for number, cell in reversed(list(enumerate(nb.cells, 1))):
            if "nbgrader" not in cell.metadata:
                continue
            grade_id = _grade_id(cell.metadata["nbgrader"])
            if released := missing.pop(grade_id, None):
                cell.metadata["nbgrader"] = released.metadata["nbgrader"]
                places[grade_id] = number
                continue
            del cell.metadata["nbgrader"]
            if grade_id in places:
                self.log.warning(
                    "cells %d and %d are both marked %s; the marks of cell %d are dropped, "
                    "both are run",
                    *(number, places[grade_id], grade_id, number),
                )
            else:
                self.log.warning("cell %d has marks that the page has not; dropped", number)
        for grade_id, cell in missing.items():
            if "points" in cell.metadata["nbgrader"]:
                self.log.warning("the cell %s was missing; added at the end", grade_id)
                nb.cells.append(_completed(cell, f"restored-{grade_id}", nb.nbformat_minor))
        return nb, resources


def _grade_id(marks: Any) -> str:
    """Return the name that a cell's marks give it; nothing when there is no telling."""
    grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
    return grade_id if isinstance(grade_id, str) else ""


def _completed(cell: NotebookNode, cell_id: str, nbformat_minor: int) -> NotebookNode:
    """Return a cell with all that a notebook's format asks for."""
    if nbformat_minor >= 5:
        cell.id = cell_id[:64]
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    return cell
