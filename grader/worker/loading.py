"""Run a submission's cells, one unit at a time, as the module `submission`.

A unit is a cell of a notebook or percent script, or a top-level statement of a plain script. A unit
that fails costs what it would have defined, and nothing else.
"""

import ast
import asyncio
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import linecache
import sys
import types
from collections.abc import Sequence
from typing import Any

from grader.worker.calling import Reply, raised
from grader.worker.values import cut

MODULE = "submission"


class SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from texts instead of files: the course's `lesson`, a student's helpers."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that is held here, else None."""
        if fullname not in self.sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=f"{fullname}.py")

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module's text in it."""
        source = self.sources[module.__name__]
        filename = f"{module.__name__}.py"
        remember_lines(filename, source)
        exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)


def remember_lines(filename: str, source: str) -> None:
    """Let tracebacks and `inspect` find a text that is no file."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)


def stand_in() -> types.ModuleType:
    """A module `grader` whose `check` does nothing, so that a page's last line runs."""
    module = types.ModuleType("grader")
    module.check = lambda *_, **__: None  # type: ignore[attr-defined]
    return module


class Submission:
    """The module under way, and the units that are left to run."""

    def __init__(self, filename: str, modules: dict[str, str], helpers: dict[str, str]) -> None:
        self.filename = filename
        module = types.ModuleType(MODULE)
        module.__file__ = filename
        self.namespace = module.__dict__
        self.namespace["display"] = lambda *things: print(*map(repr, things))
        self.namespace["get_ipython"] = lambda: None
        self.units: list[types.CodeType | None] = []
        sys.modules[MODULE] = module
        sys.modules["grader"] = stand_in()
        sys.meta_path.insert(0, SourceFinder(modules))
        sys.meta_path.append(SourceFinder(helpers))

    def prepare(self, cells: list[tuple[str, int]], split: bool) -> list[Reply]:
        """Compile every cell; `split` makes each top-level statement a unit of its own.

        `cells` are (source, first line). One reply a unit: ("unit", cell, line) or
        ("syntax", cell, line, column, message).
        """
        replies: list[Reply] = []
        for number, (source, first_line) in enumerate(cells):
            try:
                tree = ast.parse(source, self.filename)
                ast.increment_lineno(tree, first_line - 1)
                groups = [[node] for node in tree.body] if split else [tree.body]
                codes = [self._compiled(group) for group in groups]
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                replies.append(_syntax_reply(error, number, first_line))
                self.units.append(None)
                continue
            for group, code in zip(groups, codes, strict=True):
                replies.append(("unit", number, group[0].lineno if group else first_line))
                self.units.append(code)
        self._remember(cells)
        return replies

    def _compiled(self, statements: list[ast.stmt]) -> types.CodeType:
        tree = ast.Module(body=statements, type_ignores=[])
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: types.CodeType = compile(tree, self.filename, "exec", flags, dont_inherit=True)
        return code

    def _remember(self, cells: list[tuple[str, int]]) -> None:
        lines: list[str] = []
        for source, first_line in cells:
            lines += ["\n"] * (first_line - 1 - len(lines))
            lines += [line + "\n" for line in source.split("\n")]
        remember_lines(self.filename, "".join(lines))

    def run(self, number: int) -> Reply:
        """Run one unit: ("ran",) or ("raised", type, kinds, message, line)."""
        code = self.units[number]
        if code is None:
            return ("ran",)
        try:
            if code.co_flags & inspect.CO_COROUTINE:
                function = types.FunctionType(code, self.namespace)
                asyncio.run(function())
            else:
                exec(code, self.namespace)
        except BaseException as error:
            return raised(error, self.filename)
        return ("ran",)


def _syntax_reply(error: BaseException, cell: int, first_line: int) -> Reply:
    if isinstance(error, SyntaxError):
        line = (error.lineno or 1) + first_line - 1
        return ("syntax", cell, line, error.offset or 0, cut(str(error.msg), 300))
    return ("syntax", cell, first_line, 0, cut(f"{type(error).__name__}: {error}", 300))
