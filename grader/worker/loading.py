"""Run a submission's cells, one unit at a time, as the module `submission`.

A unit is a top-level statement. A unit that fails costs what it would have defined, and nothing
else; what is no Python costs its cell.
"""

import __future__

import ast
import asyncio
import contextlib
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

from grader.worker.calling import Reply, keep_platform, raised, reset_switches, switches_kept
from grader.worker.hints import hint, written
from grader.worker.magics import parsed
from grader.worker.names import Names, Place
from grader.worker.values import cut

MODULE = "submission"
MAX_UNITS = 1_200  # of a page, and one more a cell; longer ones have several statements in one
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
MAX_ERRORS = 100  # cells whose syntax errors are told; of the others only where they are
MAX_LEFT_OUT = 300  # lines of a page that are told; the reply has to fit into a frame


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
    """Statements to run, each whatever became of those before; the name that their lines go by, and
    whether their cell awaits something."""

    codes: list[types.CodeType]
    filename: str
    in_loop: bool


class Submission:
    """The module under way, and the units that are left to run."""

    def __init__(
        self,
        filename: str,
        modules: dict[str, str],
        helpers: dict[str, str],
        due: Sequence[str] = (),
    ) -> None:
        self.filename = filename
        self.due = due
        self.module = types.ModuleType(MODULE)
        self.module.__file__ = filename
        self.namespace = self.module.__dict__
        shell = Shell()
        self.namespace["display"] = lambda *things, **_: print(*map(repr, things))
        self.namespace["get_ipython"] = lambda: shell
        self.units: list[Unit | None] = []
        self.filenames = {filename}  # that lines of the student's own file go by
        self._flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._loop = asyncio.Runner()  # of the cells that await
        sys.modules[MODULE] = self.module
        sys.modules["grader"] = stand_in()
        sys.meta_path[:0] = [SourceFinder(modules), SourceFinder(helpers)]
        name = filename.rpartition(".")[0]
        is_free = name.isidentifier() and name not in sys.modules
        if is_free and importlib.util.find_spec(name) is None:
            sys.modules[name] = self.module  # for helpers that import the page

    def prepare(self, cells: list[tuple[str, int]]) -> tuple[list[Reply], list[Place]]:
        """Compile every cell, each top-level statement as a unit of its own.

        `cells` are (source, first line). One reply a unit: ("unit", cell, line),
        ("syntax", cell, line, column, message) or ("too_large", cell, line, message); before those
        of a cell, ("left_out", cell, line, text) for each line of it that is no Python and is not
        run. Beside them, the places that bind the due names. All together they fit into a frame.
        """
        replies: list[Reply] = []
        names = Names(self.due)
        told = errors = 0
        filenames = self._filenames(cells)
        self.filenames = set(filenames)
        for number, ((source, first_line), filename) in enumerate(
            zip(cells, filenames, strict=True)
        ):
            try:  # with the lines above it, so that Python's messages are of the file's lines
                text = "\n" * (first_line - 1) + source
                tree, left_out = parsed(text, filename)
                left_out = left_out[: MAX_LEFT_OUT - told]
                told += len(left_out)
                for item in left_out:
                    replies.append(("left_out", number, item.line, item.told))
                    self.units.append(None)
                lines = source.split("\n")
                units = self._compiled(tree, filename, lines, first_line)
                names.look_at(tree, number, lines, first_line)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                if whole := self._uncut(cells):
                    self.units = []
                    return self.prepare(whole)
                if (code := self._as_it_is(error, text, filename)) is not None:
                    units = [(first_line, Unit([code], filename, _awaits(code)))]
                else:
                    errors += 1
                    reply = _syntax_reply(error, source, number, first_line)
                    replies.append(reply if errors <= MAX_ERRORS else (*reply[:-1], ""))
                    self.units.append(None)
                    continue
            for line, unit in units:
                replies.append(("unit", number, line))
                self.units.append(unit)
        return replies, names.places()

    def _compiled(
        self, tree: ast.Module, filename: str, lines: list[str], first_line: int
    ) -> list[tuple[int, Unit]]:
        """A cell's units with their first lines. What is imported from the future holds from there
        on."""
        in_loop = False
        with warnings.catch_warnings(), contextlib.suppress(RecursionError):
            warnings.simplefilter("ignore")  # each comes again with its statement
            in_loop = _awaits(self._code(tree, filename))  # and what is wrong only as a whole
        self._flags |= _future_flags(tree)
        return [
            (
                group[0].lineno,
                Unit(
                    [self._statement(node, filename, lines, first_line) for node in group],
                    filename,
                    in_loop,
                ),
            )
            for group in _grouped(tree.body, max(MAX_UNITS - len(self.units), 1))
        ]

    def _statement(
        self, node: ast.stmt, filename: str, lines: list[str], first_line: int
    ) -> types.CodeType:
        """The code of one statement: of its text, where it is nested too deeply for a tree of it.

        Python compiles a text of three times the depth.
        """
        try:
            return self._code(ast.Module([node], type_ignores=[]), filename)
        except RecursionError:
            return self._code(_text_of(node, lines, first_line), filename)

    def _as_it_is(self, error: BaseException, text: str, filename: str) -> types.CodeType | None:
        """The code of a cell of which only the analysis failed: Python compiles it as it is."""
        if isinstance(error, SyntaxError):
            return None
        try:
            return self._code(text, filename)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

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

    def _code(self, source: ast.Module | str, filename: str) -> types.CodeType:
        code: types.CodeType = compile(source, filename, "exec", self._flags, dont_inherit=True)
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

    def run(self, number: int) -> Reply:
        """Run one unit: ("ran",) or ("raised", type, kinds, message, line)."""
        unit = self.units[number]
        if unit is None:
            return ("ran",)
        failed: Reply | None = None
        for code in unit.codes:
            try:
                if unit.in_loop:
                    self._loop.run(self._run_in_loop(code))
                else:
                    exec(code, self.namespace)
            except BaseException as error:
                failed = failed or raised(error, (unit.filename,))
            with contextlib.suppress(BaseException):  # a page may have broken JAX
                keep_platform()
        return failed or ("ran",)

    async def _run_in_loop(self, code: types.CodeType) -> None:
        """Run what awaits, or what stands beside it and may start a task in the loop."""
        if _awaits(code):
            await types.FunctionType(code, self.namespace)()
        else:
            exec(code, self.namespace)


def _grouped(body: list[ast.stmt], most: int) -> list[list[ast.stmt]]:
    """Statements as at most so many runs: each alone, or (where that is too many) only the
    definitions, as long as it can be. What ends the process costs the rest of its run."""
    definitions = sum(isinstance(node, _DEFINITIONS) for node in body)
    room = most - 2 * definitions - 1  # each definition may cut a run in two
    alone = _DEFINITIONS if room > 0 else ()
    size = -(-(len(body) - definitions) // room) if room > 0 else -(-len(body) // most)
    if len(body) <= most:
        size = 1
    groups: list[list[ast.stmt]] = []
    for node in body:
        last = groups[-1] if groups else []
        apart = isinstance(node, alone) or isinstance(last[-1] if last else node, alone)
        if not last or apart or len(last) >= size:
            groups.append([])
        groups[-1].append(node)
    return groups


def _text_of(node: ast.stmt, lines: list[str], first_line: int) -> str:
    """The text of a statement, on the lines on which it stands."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    end = node.end_lineno or node.lineno
    text = lines[first - first_line : end - first_line + 1]
    text[-1] = text[-1].encode()[: node.end_col_offset].decode()
    if not decorators:  # another statement may stand before it on its line
        text[0] = text[0].encode()[node.col_offset :].decode()
    return "\n" * (first - 1) + "\n".join(text)


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


def _syntax_reply(error: BaseException, source: str, cell: int, first_line: int) -> Reply:
    if isinstance(error, SyntaxError):
        line = error.lineno or first_line
        # Python's column is one of the text that it read, where notebook syntax may be left out.
        read = written(error, source, first_line) if error.text is None else error.text
        is_as_written = read.rstrip("\n") == written(error, source, first_line)
        column = max(error.offset or 0, 0) if is_as_written else 0
        told = cut(str(error.msg) + hint(error, source, first_line), 300)
        return ("syntax", cell, line, column, told)
    if isinstance(error, MemoryError | RecursionError):
        return ("too_large", cell, first_line, "too large or too deeply nested to be compiled")
    return ("syntax", cell, first_line, 0, cut(f"{type(error).__name__}: {error}", 300))
