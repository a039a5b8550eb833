"""Notebook syntax in a cell: magics, shell lines and help marks are left out, the rest is Python.

Whether a line is notebook syntax is asked of Python itself: a line is touched only where the parser
stops at it, so that a `%` or a `?` inside of an expression or a text is never mistaken. What an
export to a script has made of a cell magic, a call with the cell as a text, is the cell magic.
"""

import ast
import re
from typing import NamedTuple

from grader.worker.values import cut

RUN_BELOW = {"time", "timeit", "capture", "prun", "memit"}  # cell magics whose cell is Python
MAX_LEFT_OUT = 200

_WHOLE_CELL = " with its whole cell"
_NOT_RUN = ": the file was not run, import it instead (from its name import *)"
_NO_NAMES = ": it would have defined np, plt and many more names, import what is used"
_NO_NOTEBOOK = ": the notebook was not run, put what is needed of it into the page itself"
_RUN = re.compile(r"%run\s(?:.*(?P<notebook>\.ipynb\b))?")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_TIMED = re.compile(r"(?P<indent>\s*)%time\s+(?P<statement>\S.*)")
# Also the words that a notebook runs as magics without their mark.
_WORDS = "pip|pip3|conda|mamba|cd|ls|cat|cp|mv|mkdir|rm|rmdir"
_LINE = re.compile(
    rf"(?P<indent>\s*)(?:[%!?]|[\w., ]+=\s*[%!]|[\w.*]+\?\??\s*(?:#.*)?$|(?:{_WORDS})\s+[^\s=])"
)


class LeftOut(NamedTuple):
    """A line that is no Python and was left out; it counts from 1 in its cell. `follows` tells what
    else is left out with it."""

    line: int
    text: str
    follows: str = ""

    @property
    def told(self) -> str:
        """What was left out, in words."""
        text = cut(self.text, 100)
        return f"{text!r} is notebook syntax, and was left out{self.follows}"


def parsed(source: str, filename: str) -> tuple[ast.Module, list[LeftOut]]:
    """The cell's syntax tree, and the lines that were left out of it.

    Raises what `ast.parse` raises for what is neither Python nor notebook syntax.
    """
    lines = source.split("\n")
    left_out: list[LeftOut] = []
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    magic = _CELL_MAGIC.match(lines[first])
    if magic:
        is_run = magic[1] in RUN_BELOW
        left_out.append(LeftOut(first + 1, lines[first].strip(), "" if is_run else _WHOLE_CELL))
        if not is_run:
            return ast.Module(body=[], type_ignores=[]), left_out
        lines[first] = ""
    while True:
        try:
            tree = ast.parse("\n".join(lines), filename)
            return _without_exports(tree, filename, left_out), left_out
        except SyntaxError as error:
            place = (error.lineno or 0) - 1
            found = _LINE.match(lines[place]) if 0 <= place < len(lines) else None
            if found is None or len(left_out) >= MAX_LEFT_OUT:
                raise
            timed = _TIMED.match(lines[place])
            text = "%time" if timed else lines[place].strip()
            left_out.append(LeftOut(place + 1, text, _follows(text)))
            kept = timed["statement"] if timed else "pass"
            end = place
            while not timed and lines[end].rstrip().endswith("\\") and end + 1 < len(lines):
                end += 1  # a shell line goes on below
            lines[place] = f"{(timed or found)['indent']}{kept}"
            lines[place + 1 : end + 1] = [""] * (end - place)


def _follows(text: str) -> str:
    """What is to be done in place of a line that would have defined something."""
    if text.startswith("%pylab"):
        return _NO_NAMES
    run = _RUN.match(text)
    return "" if run is None else _NO_NOTEBOOK if run["notebook"] else _NOT_RUN


def _without_exports(tree: ast.Module, filename: str, left_out: list[LeftOut]) -> ast.Module:
    """The tree, with the code of exported magics in the place of the calls that hold it as a text.

    All of it is in the line of its call. What is left out of it is added to `left_out`.
    """
    body: list[ast.stmt] = []
    for node in tree.body:
        magic = _exported(node)
        if magic is None:
            body.append(node)
            continue
        try:
            inner, inside = parsed(magic, filename)
            below = ast.parse("pass").body  # it is not the first of its file
            alone = ast.Module(below + inner.body, type_ignores=[])
            compile(alone, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            for part in ast.walk(inner):
                ast.copy_location(part, node)
        except (SyntaxError, ValueError) as error:
            inner, inside = ast.Module(body=[], type_ignores=[]), [_damaged(magic, error)]
        body += inner.body
        left_out += [item._replace(line=node.lineno) for item in inside]
    return ast.Module(body, tree.type_ignores)


def _exported(node: ast.stmt) -> str | None:
    """What an export has made a call from, where that is code: a cell magic, `%time` or `%run`."""
    match node:
        case ast.Expr(
            ast.Call(
                ast.Attribute(ast.Call(ast.Name("get_ipython")), method),
                [*arguments],
            )
        ):
            texts = [a.value for a in arguments if isinstance(a, ast.Constant)]
            match method, texts:
                case "run_cell_magic", [str(name), str(line), str(cell)]:
                    return f"%%{name} {line}".rstrip() + f"\n{cell}"
                case "run_line_magic", [("time" | "run") as name, str(line)]:
                    return f"%{name} {line}"
    return None


def _damaged(magic: str, error: SyntaxError | ValueError) -> LeftOut:
    line = getattr(error, "lineno", None)
    place = f" in its line {line}" if line else ""
    why = f", which has a syntax error{place} ({getattr(error, 'msg', error)})"
    return LeftOut(1, magic.split("\n")[0], _WHOLE_CELL + why)
