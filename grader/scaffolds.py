"""Make `exercises/` from `solutions/`: one source a page, in percent cells, with its solution.

From `solutions/NAME.py` come, in this order, the instructor's notebook (with the solution), the
released notebook (nbgrader's own preprocessors take the solution out of it, so that it equals what
`nbgrader generate_assignment` writes) and the student's script (the same cells as percent cells).

What a page's author writes on a cell's marker, and what it is completed to:

    # %% curvature nbgrader={"solution": true}                   due: the cell defines `curvature`
    # %% EXPLANATION nbgrader={"solution": true, "grade": true, "points": 2}     read by a person
    # %% check_NAME nbgrader={"grade": true, "points": 10}      last cell: the locked test cell

The solution stands between `### BEGIN SOLUTION` and `### END SOLUTION`. Inside a function nbgrader
puts `STUB` in its place. At the left margin, below a line such as `ANSWER = None  # TODO 1`, it
leaves nothing behind, so that an untouched page runs through to its check.
"""

import ast
import copy
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import jupytext
import nbformat
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator, ValidationError
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)
from traitlets.config import Config

from grader import baking

LESSON_PAGE = "lesson_page"  # solutions/lesson_page.py is the worked page: no exercise, no solution
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "raise NotImplementedError"

# What nbgrader must be told to make the same notebooks: class, option, value.
NBGRADER_SETTINGS: dict[str, dict[str, object]] = {
    "ClearSolutions": {"code_stub": {"python": STUB}},
    # A constant's solution is hidden together with its stub; see `_hide_constant`.
    "ClearHiddenTests": {"enforce_metadata": False},
}

# As in nbgrader's GenerateAssignment, without its header and footer, its tests made by running
# the notebook, and its grade book, none of which changes these pages.
_RELEASE_STEPS = (
    LockCells,
    ClearSolutions,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
)

_NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

_REGION = re.compile(
    rf"^(?P<indent>[ \t]*){BEGIN}[ \t]*\n.*?^[ \t]*{END}[ \t]*$", re.MULTILINE | re.DOTALL
)


class PageError(ValueError):
    """A page under `solutions/` breaks a rule of the pipeline. Names the file and the line."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}")
        self.path, self.line = path, line


def exercise_names(root: Path) -> list[str]:
    """Return the names of all exercises in the clone at `root`, sorted."""
    return sorted(p.stem for p in (root / "solutions").glob("*.py") if p.stem != LESSON_PAGE)


def source_notebook(path: Path, due: Iterable[str] = ()) -> NotebookNode:
    """Return the instructor's notebook of the exercise page at `path`, solution included.

    `due` are names that the page must have a solution cell for. Raises PageError.
    """
    notebook, lines = _read_page(path)
    _require_closed_regions(path)
    first_line: dict[str, int] = {}
    for cell, line in zip(notebook.cells, lines, strict=True):
        _require_sound_cell(cell, path, line)
        name = _mark(cell, "grade_id", "")
        if name in first_line:
            raise PageError(path, line, f"line {first_line[name]} has a cell {name}, too")
        if name:
            first_line[name] = line
        _hide_constant(cell)

    tests = [index for index, cell in enumerate(notebook.cells) if _is_test(cell)]
    if not tests:
        raise PageError(path, lines[-1], 'no test cell: end with one marked {"grade": true}')
    if tests[0] != len(lines) - 1:
        raise PageError(path, lines[tests[0]], "a page has one test cell, and it is the last cell")
    for name in due:
        if name not in first_line:
            raise PageError(path, lines[-1], f"no cell for {name}, which the exercise asks for")
    return notebook


def release_notebook(source: NotebookNode) -> NotebookNode:
    """Return the student's notebook: an instructor's notebook after nbgrader's preprocessors."""
    notebook = copy.deepcopy(source)
    resources: dict[str, object] = {}
    config = Config(NBGRADER_SETTINGS)
    for step in _RELEASE_STEPS:
        notebook, resources = step(config=config).preprocess(notebook, resources)
    return notebook


def student_script(release: NotebookNode) -> str:
    """Return the cells of a released notebook as a percent script, with titles as only marks."""
    notebook = copy.deepcopy(release)
    notebook.metadata["jupytext"] = {
        "cell_metadata_filter": "title,-all",
        "notebook_metadata_filter": "-all",
    }
    return cast(str, jupytext.writes(notebook, fmt="py:percent"))


def worked_page(path: Path) -> NotebookNode:
    """Return the notebook of a page that asks for nothing, as `lesson_page.py` is."""
    notebook, lines = _read_page(path)
    for cell, line in zip(notebook.cells, lines, strict=True):
        if "nbgrader" in cell.metadata or "BEGIN SOLUTION" in cell.source:
            raise PageError(path, line, "a worked page has no cells for nbgrader, no solutions")
    return notebook


def notebook_bytes(notebook: NotebookNode) -> bytes:
    """Return the file that holds a notebook, as nbgrader writes it."""
    nbformat.validate(notebook)
    text = nbformat.writes(notebook, version=4)  # type: ignore[no-untyped-call]  # half typed
    return f"{text}\n".encode()


def render_pages(root: Path) -> dict[Path, bytes]:
    """Return every generated page of the clone at `root`: path below `root`, and content."""
    folder, exercises = root / "solutions", Path("exercises")
    pages = {exercises / "lesson.ipynb": notebook_bytes(worked_page(folder / f"{LESSON_PAGE}.py"))}
    for name in exercise_names(root):
        release = release_notebook(source_notebook(folder / f"{name}.py"))
        pages[exercises / f"{name}.ipynb"] = notebook_bytes(release)
        pages[exercises / f"{name}.py"] = student_script(release).encode()
    return pages


def render(root: Path) -> dict[Path, bytes]:
    """Return every generated file of the clone at `root`: path below `root`, and content."""
    pages = render_pages(root)
    return pages | baking.render(root, pages)


def write(root: Path) -> list[Path]:
    """Bring every generated file in the clone at `root` up to date; return those that changed.

    Each file appears whole or not at all; one that is current is left alone.
    """
    changed = _differing(root, render(root))
    for path, content in changed.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        partial.write_bytes(content)
        partial.replace(target)
    return list(changed)


def stale(root: Path) -> list[Path]:
    """Return the generated files, below `root`, that are missing or differ from their source."""
    return list(_differing(root, render(root)))


def _differing(root: Path, files: dict[Path, bytes]) -> dict[Path, bytes]:
    """Return those of `files` that the clone at `root` doesn't hold with this content."""
    return {
        path: content
        for path, content in files.items()
        if not (root / path).is_file() or (root / path).read_bytes() != content
    }


def _read_page(path: Path) -> tuple[NotebookNode, list[int]]:
    """Return a percent script as a notebook, and the line of each cell's marker.

    The notebook depends on the script alone: jupytext's random ids and its version are replaced.
    """
    text = path.read_text(encoding="utf-8")
    lines = [n for n, line in enumerate(text.splitlines(), start=1) if line.startswith("# %%")]
    notebook: NotebookNode = jupytext.reads(text, fmt="py:percent")
    if not lines or len(lines) != len(notebook.cells):
        raise PageError(path, 1, "a page begins with a cell marker, '# %%' or '# %% [markdown]'")
    notebook.metadata = _NOTEBOOK_METADATA
    for number, cell in enumerate(notebook.cells):
        cell.metadata.pop("lines_to_next_cell", None)
        if "nbgrader" in cell.metadata:
            cell.metadata["nbgrader"] = _complete(cell.metadata["nbgrader"], cell.metadata)
        cell.id = _mark(cell, "grade_id", "") or f"page-{number:02}"
    return notebook, lines


def _complete(marks: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """Complete nbgrader's marks of a cell to its schema 3; the cell's id is its title."""
    return {
        "grade": False,
        "grade_id": metadata.get("title", ""),
        "locked": not marks.get("solution", False),
        "schema_version": 3,
        "solution": False,
        "task": False,
        **marks,
    }


def _mark(cell: NotebookNode, key: str, default: Any = False) -> Any:
    """Return one of nbgrader's marks of a cell."""
    return cell.metadata.get("nbgrader", {}).get(key, default)


def _is_test(cell: NotebookNode) -> bool:
    """Is this a cell that nbgrader grades by running it?"""
    return bool(_mark(cell, "grade")) and not _mark(cell, "solution")


def _require_closed_regions(path: Path) -> None:
    """Raise PageError unless every solution region is closed in the cell that opens it."""
    opened = 0  # line of the region that is open; 0: none is
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, text in enumerate([*lines, "# %%"], start=1):
        if text.startswith("# %%"):
            if opened:
                raise PageError(path, opened, f"this region is not closed: no '{END}' in its cell")
        elif "BEGIN SOLUTION" in text:
            if text.strip() != BEGIN:
                raise PageError(path, number, f"write '{BEGIN}', alone on its line")
            if opened:
                raise PageError(path, number, f"the region of line {opened} is still open")
            opened = number
        elif "END SOLUTION" in text:
            if text.strip() != END:
                raise PageError(path, number, f"write '{END}', alone on its line")
            if not opened:
                raise PageError(path, number, f"no '{BEGIN}' above this '{END}' in its cell")
            opened = 0


def _require_sound_cell(cell: NotebookNode, path: Path, line: int) -> None:
    """Raise PageError for marks that nbgrader refuses, and for solutions that don't fit theirs."""
    name = _mark(cell, "grade_id", "")
    if "nbgrader" in cell.metadata and name != cell.metadata.get("title"):
        raise PageError(path, line, "a cell marked for nbgrader has a title, which is its grade_id")
    try:
        MetadataValidator().validate_cell(cell)
    except ValidationError as error:
        raise PageError(path, line, f"nbgrader refuses this cell: {error.message}") from None
    if not _mark(cell, "solution"):
        if _REGION.search(cell.source):
            raise PageError(path, line, 'a solution region needs the mark {"solution": true}')
        return
    if not _REGION.search(cell.source):
        raise PageError(path, line, f"cell {name} has no solution region: all of it would be lost")
    for source, who in ((cell.source, "the solution"), (_scaffold(cell.source), "the scaffold")):
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            at = line + (error.lineno or 0)
            raise PageError(path, at, f"{who} of cell {name}: {error.msg}") from None
        if name not in _defined_names(tree):
            raise PageError(path, line, f"{who} of cell {name} does not define {name}")


def _scaffold(source: str) -> str:
    """Return a cell's source as students get it: a stub in functions, nothing at the margin."""
    return _REGION.sub(lambda m: m["indent"] + STUB if m["indent"] else "", source)


def _hide_constant(cell: NotebookNode) -> None:
    """Put regions at the left margin between nbgrader's marks for what it removes altogether.

    `ClearSolutions` has one stub for all, and at a cell's top level it would stop the page. What
    stands between these marks goes after that, the stub with it.
    """
    cell.source = _REGION.sub(
        lambda m: m[0] if m["indent"] else f"### BEGIN HIDDEN TESTS\n{m[0]}\n### END HIDDEN TESTS",
        cell.source,
    )


def _defined_names(tree: ast.Module) -> set[str]:
    """Return the names that a module's own statements define or assign."""
    names: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names
