"""Notebook syntax in a cell: magics, shell lines and help marks are left out, the rest is Python.

Whether a line is notebook syntax is asked of Python itself: a line is touched only where the parser
stops at it, so that a `%` or a `?` inside of an expression or a text is never mistaken.
"""

import ast
import re
from typing import NamedTuple

RUN_BELOW = {"time", "timeit", "capture", "prun", "memit"}  # cell magics whose cell is Python
MAX_LEFT_OUT = 200

_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_TIMED = re.compile(r"(?P<indent>\s*)%time\s+(?P<statement>\S.*)")
# Also the words that a notebook runs as magics without their mark.
_WORDS = "pip|pip3|conda|mamba|cd|ls|cat|cp|mv|mkdir|rm|rmdir"
_LINE = re.compile(
    rf"(?P<indent>\s*)(?:[%!?]|[\w., ]+=\s*[%!]|[\w.*]+\?\??\s*(?:#.*)?$|(?:{_WORDS})\s+[^\s=])"
)


class LeftOut(NamedTuple):
    """A line that is no Python and was left out; it counts from 1 in its cell."""

    line: int
    text: str


def parsed(source: str, filename: str) -> tuple[ast.Module, list[LeftOut]]:
    """The cell's syntax tree, and the lines that were left out of it.

    Raises what `ast.parse` raises for what is neither Python nor notebook syntax.
    """
    lines = source.split("\n")
    left_out: list[LeftOut] = []
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    magic = _CELL_MAGIC.match(lines[first])
    if magic:
        left_out.append(LeftOut(first + 1, lines[first].strip()))
        if magic[1] not in RUN_BELOW:
            return ast.Module(body=[], type_ignores=[]), left_out
        lines[first] = ""
    while True:
        try:
            return ast.parse("\n".join(lines), filename), left_out
        except SyntaxError as error:
            place = (error.lineno or 0) - 1
            found = _LINE.match(lines[place]) if 0 <= place < len(lines) else None
            if found is None or len(left_out) >= MAX_LEFT_OUT:
                raise
            timed = _TIMED.match(lines[place])
            left_out.append(LeftOut(place + 1, "%time" if timed else lines[place].strip()))
            kept = timed["statement"] if timed else "pass"
            end = place
            while not timed and lines[end].rstrip().endswith("\\") and end + 1 < len(lines):
                end += 1  # a shell line goes on below
            lines[place] = f"{(timed or found)['indent']}{kept}"
            lines[place + 1 : end + 1] = [""] * (end - place)
