"""Run a submission's cells, one unit at a time, as the module `submission`.

A unit is a top-level statement. A unit that fails costs what it would have defined, and nothing
else; what is no Python costs its cell.
"""

import __future__

import ast
import asyncio
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import linecache
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from grader.worker.calling import Reply, raised, reset_switches, switches_kept
from grader.worker.magics import parsed
from grader.worker.values import cut

MODULE = "submission"
MAX_UNITS = 1_200  # of a page, and one more a cell; longer ones have several statements in one
MAX_LEFT_OUT = 500  # lines of a page that are told; the reply has to fit into a frame


class SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from texts instead of files: the course's `lesson`, a student's helpers."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that is held here, or of a package that such modules lie in."""
        package = any(name.startswith(f"{fullname}.") for name in self.sources)
        if fullname not in self.sources and not package:
            return None
        origin = f"{fullname}.py"
        return importlib.util.spec_from_loader(fullname, self, origin=origin, is_package=package)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module's text in it, whatever the page that imports it has switched before."""
        source = self.sources.get(module.__name__, "")
        filename = f"{module.__name__}.py"
        remember_lines(filename, source)
        with switches_kept():
            reset_switches()
            exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)


def remember_lines(filename: str, source: str) -> None:
    """Let tracebacks and `inspect` find a text that is no file."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)


def stand_in() -> types.ModuleType:
    """A module `grader` whose `check` does nothing, so that a page's last line runs."""
    module = types.ModuleType("grader")
    module.check = lambda *_, **__: None  # type: ignore[attr-defined]
    return module


class Shell:
    """What `get_ipython()` gives: whatever is asked of it (a magic, a shell line) does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class Unit(NamedTuple):
    """Code to run as one, the name that its lines go by, and whether its cell awaits something."""

    code: types.CodeType
    filename: str
    in_loop: bool


class Submission:
    """The module under way, and the units that are left to run."""

    def __init__(self, filename: str, modules: dict[str, str], helpers: dict[str, str]) -> None:
        self.filename = filename
        self.module = types.ModuleType(MODULE)
        self.module.__file__ = filename
        self.namespace = self.module.__dict__
        shell = Shell()
        self.namespace["display"] = lambda *things, **_: print(*map(repr, things))
        self.namespace["get_ipython"] = lambda: shell
        self.units: list[Unit | None] = []
        self.guarded: set[str] = set()  # names that only a main program would define
        self.filenames = {filename}  # that lines of the student's own file go by
        self._flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._loop = asyncio.Runner()  # of the cells that await
        sys.modules[MODULE] = self.module
        sys.modules["grader"] = stand_in()
        sys.meta_path.insert(0, SourceFinder(modules))
        sys.meta_path.append(SourceFinder(helpers))
        name = filename.rpartition(".")[0]
        is_free = name.isidentifier() and name not in sys.modules
        if is_free and importlib.util.find_spec(name) is None:
            sys.modules[name] = self.module  # for helpers that import the page

    def prepare(self, cells: list[tuple[str, int]]) -> list[Reply]:
        """Compile every cell, each top-level statement as a unit of its own.

        `cells` are (source, first line). One reply a unit: ("unit", cell, line) or
        ("syntax", cell, line, column, message); before those of a cell, ("left_out", cell, line,
        text) for each line of it that is no Python and is not run.
        """
        replies: list[Reply] = []
        told = 0
        filenames = self._filenames(cells)
        self.filenames = set(filenames)
        for number, ((source, first_line), filename) in enumerate(
            zip(cells, filenames, strict=True)
        ):
            try:  # with the lines above it, so that Python's messages are of the file's lines
                tree, left_out = parsed("\n" * (first_line - 1) + source, filename)
                self.guarded |= _guarded_names(tree)
                left_out = left_out[: MAX_LEFT_OUT - told]
                told += len(left_out)
                for item in left_out:
                    replies.append(("left_out", number, item.line, item.told))
                    self.units.append(None)
                units = self._compiled(tree, filename)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                if whole := self._uncut(cells):
                    self.units = []
                    return self.prepare(whole)
                replies.append(_syntax_reply(error, number, first_line))
                self.units.append(None)
                continue
            for line, unit in units:
                replies.append(("unit", number, line))
                self.units.append(unit)
        return replies

    def _compiled(self, tree: ast.Module, filename: str) -> list[tuple[int, Unit]]:
        """A cell's units with their first lines. What is imported from the future holds from there
        on."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each comes again with its statement
            whole = self._code(tree, filename)  # shows what is wrong only as a whole
        self._flags |= _future_flags(tree)
        size = -(-len(tree.body) // max(MAX_UNITS - len(self.units), 1)) or 1
        units = []
        for start in range(0, len(tree.body), size):
            group = tree.body[start : start + size]
            code = self._code(ast.Module(group, type_ignores=[]), filename)
            units.append((group[0].lineno, Unit(code, filename, _awaits(whole))))
        return units

    def _uncut(self, cells: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """A script as one cell, where it is Python as a whole: a mark of a cell within a text or a
        function cuts nothing then."""
        if len(cells) < 2 or len({line for _, line in cells}) < len(cells):
            return []  # whole already, or a notebook
        text = _as_one(cells)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._code(parsed(text, MODULE)[0], MODULE)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        return [(text, 1)]

    def _code(self, tree: ast.Module, filename: str) -> types.CodeType:
        code: types.CodeType = compile(tree, filename, "exec", self._flags, dont_inherit=True)
        return code

    def _filenames(self, cells: list[tuple[str, int]]) -> list[str]:
        """A name for each cell's lines: the file's, or where lines begin anew in each cell (in a
        notebook), one of its own."""
        first_lines = [line for _, line in cells]
        if len(set(first_lines)) == len(cells):
            remember_lines(self.filename, _as_one(cells))
            return [self.filename] * len(cells)
        remember_lines(self.filename, "\n".join(source for source, _ in cells))  # for classes
        filenames = [f"{self.filename}, cell {number + 1}" for number in range(len(cells))]
        for filename, (source, _) in zip(filenames, cells, strict=True):
            remember_lines(filename, source)
        return filenames

    def why_missing(self, name: str) -> str:
        """What is known about a name that the submission does not define."""
        if name in self.guarded:
            return (
                f'{name} is defined only under `if __name__ == "__main__":`; move it out of there'
            )
        return ""

    def run(self, number: int) -> Reply:
        """Run one unit: ("ran",) or ("raised", type, kinds, message, line)."""
        unit = self.units[number]
        if unit is None:
            return ("ran",)
        try:
            if unit.in_loop:
                self._loop.run(self._run_in_loop(unit.code))
            else:
                exec(unit.code, self.namespace)
        except BaseException as error:
            return raised(error, (unit.filename,))
        return ("ran",)

    async def _run_in_loop(self, code: types.CodeType) -> None:
        """Run what awaits, or what stands beside it and may start a task in the loop."""
        if _awaits(code):
            await types.FunctionType(code, self.namespace)()
        else:
            exec(code, self.namespace)


def _awaits(code: types.CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_COROUTINE)


def _future_flags(tree: ast.Module) -> int:
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
    return flags


def _as_one(cells: list[tuple[str, int]]) -> str:
    lines: list[str] = []
    for source, first_line in cells:
        lines += [""] * (first_line - 1 - len(lines))
        lines += source.split("\n")
    return "\n".join(lines)


def _guarded_names(tree: ast.Module) -> set[str]:
    """Names defined under a test of `__name__`, which is never "__main__" here."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    names.add(inner.name)
                elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    names.add(inner.id)
    return names


def _hint(error: SyntaxError) -> str:
    text = (error.text or "").lstrip()
    if text.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return "; a mark of a merge that was not finished stands here"
    if text.startswith(("%", "!")):
        return "; this is notebook syntax, which a script can't hold"
    if "expected ':'" in str(error.msg):
        return "; is a colon missing at the end of this line?"
    return ""


def _syntax_reply(error: BaseException, cell: int, first_line: int) -> Reply:
    if isinstance(error, SyntaxError):
        line = error.lineno or first_line
        return (
            "syntax",
            cell,
            line,
            max(error.offset or 0, 0),
            cut(str(error.msg) + _hint(error), 300),
        )
    return ("syntax", cell, first_line, 0, cut(f"{type(error).__name__}: {error}", 300))
