"""Which notebooks are ours: those with a locked test cell that is nothing but `check("NAME")`."""

import ast
from collections.abc import Iterable
from typing import Any

from nbformat import NotebookNode, from_dict
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import is_grade, is_solution


def checked_exercise(source: str) -> str | None:
    """Return NAME when a cell's source is `check("NAME")` and its import; None when it is not."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return None
    match statements:
        case [
            ast.ImportFrom("grader", [ast.alias("check", None)], 0),
            ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str(name))], [])),
        ]:
            return name
    return None


def test_cells(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the cells whose outputs nbgrader turns into points."""
    return [
        cell
        for cell in cells
        if cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)
    ]


def has_check(cells: Iterable[NotebookNode]) -> bool:
    """Whether a check cell is among these."""
    return any(checked_exercise(cell.source) for cell in test_cells(cells))


def is_ours(notebook: NotebookNode, resources: dict[str, Any]) -> bool:
    """Whether a notebook has a check cell, or had one when it was handed out.

    The grade book is asked, too: deleting a cell is no way out of the sandbox.
    """
    return has_check(notebook.cells) or has_check(released_cells(resources).values())


def released_cells(resources: dict[str, Any]) -> dict[str, NotebookNode]:
    """Return the cells with nbgrader's marks, by grade_id, of the notebook that `resources` name.

    They are as the grade book keeps them. Empty when it doesn't know the notebook.
    """
    place = resources.get("nbgrader", {})
    if not place.get("db_url"):
        return {}
    with Gradebook(place["db_url"]) as gradebook:
        try:
            notebook = gradebook.find_notebook(place["notebook"], place["assignment"])
        except MissingEntry:
            return {}
        grades = {cell.name: cell.max_score for cell in notebook.grade_cells}
        tasks = {cell.name: cell.max_score for cell in notebook.task_cells}
        solutions = {cell.name for cell in notebook.solution_cells}
        return {
            name: _released(
                source,
                grade=name in grades,
                solution=name in solutions,
                task=name in tasks,
                points=(grades | tasks).get(name),
            )
            for name, source in ((source.name, source) for source in notebook.source_cells)
        }


def node(data: dict[str, Any]) -> NotebookNode:
    """Return plain data as a part of a notebook."""
    made: NotebookNode = from_dict(data)  # type: ignore[no-untyped-call]  # half typed
    return made


def _released(source: Any, points: float | None, **kinds: bool) -> NotebookNode:
    """Return one of the grade book's cells as a notebook's cell."""
    marks = {
        "cell_type": source.cell_type,
        "checksum": source.checksum,
        "grade_id": source.name,
        "locked": source.locked,
        "schema_version": 3,
        **({} if points is None else {"points": points}),
        **kinds,
    }
    return node(
        {
            "cell_type": source.cell_type,
            "metadata": {"nbgrader": marks},
            "source": source.source,
        }
    )
