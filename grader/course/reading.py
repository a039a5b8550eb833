"""Reads notebooks for `nbgrader autograde`, also those that nbgrader itself can't read."""

from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode

from grader.course.cells import has_check, released_cells

UNREAD = "unread_file"  # in `resources["nbgrader"]`: the bytes of a page that nbgrader can't read
NOTICE = (
    "nbgrader can't read this file, so its cells are not shown here. "
    "It was graded as it was handed in; the table below tells what was found in it."
)


class PageExporter(NotebookExporter):
    """Nbconvert's own, where a page of ours that it can't read is no reason to give up.

    Such a page becomes a notebook that says so; `MendCells` keeps the file in it for the grader,
    which reads it in its own way.
    """

    def from_file(
        self, file_stream: Any, resources: dict[str, Any] | None = None, **named: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Convert the notebook in an open file. Raises what nbformat raises on one not ours."""
        resources = resources or {}
        try:
            notebook = nbformat.read(file_stream, as_version=4)  # type: ignore[no-untyped-call]  # half typed
            nbformat.validate(notebook)
        except Exception:  # of a dozen kinds
            if not has_check(released_cells(resources).values()):
                raise
            file_stream.buffer.seek(0)
            resources["nbgrader"][UNREAD] = file_stream.buffer.read()
            notebook = _notice()
        convert: Any = self.from_notebook_node  # half typed, as nbformat is
        converted: tuple[Any, dict[str, Any]] = convert(notebook, resources, **named)
        return converted


def _notice() -> NotebookNode:
    cell = nbformat.v4.new_markdown_cell(NOTICE, id="unread")  # type: ignore[no-untyped-call]  # half typed
    made: NotebookNode = nbformat.v4.new_notebook(cells=[cell])  # type: ignore[no-untyped-call]  # half typed
    return made
