"""Where a page binds the names that are due, told from its syntax trees. Nothing is run for it."""

import ast
import difflib
import unicodedata
from collections.abc import Collection, Iterator
from typing import NamedTuple

from grader.worker.values import cut

MAX_PLACES = 20  # told of each name; of more, the last one in the place of those before it
MAX_COMPARED = 1_000  # names of a page that a due one may be a slip of the pen for
MAX_LETTERS = 60  # of such a name
ALIKE = 0.85  # of 1; by difflib's measure, upper case and underscores apart
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PARTS = (ast.stmt, ast.ExceptHandler, ast.match_case)  # what statements are in


class Place(NamedTuple):
    """A line that binds a due name. `kind` is `set`, `imported`, `deleted`, `local` (in a function
    or class, where it doesn't count), `stopped` (the scaffold's `raise`, above what a function is
    to do), or `like`: a similar name is set there, which is `text` then. Else `text` is the line;
    `inside` is the line that the block around it starts with."""

    cell: int
    line: int
    name: str
    kind: str
    text: str
    inside: str = ""


class Names:
    """Collects the places of a page's due names, cell by cell."""

    def __init__(self, due: Collection[str]) -> None:
        self._places: dict[str, list[Place]] = {name: [] for name in due}
        self._others: dict[str, Place] = {}

    def look_at(self, tree: ast.Module, cell: int, lines: list[str], first_line: int) -> None:
        """Take note of a cell, which `tree` and (from the file's `first_line` on) `lines` are."""

        def text_of(line: int) -> str:
            return cut("".join(lines[line - first_line : line - first_line + 1]).strip(), 100)

        for statement in tree.body:
            for name, kind, node in _bindings(statement):
                due = self._places.get(name)
                line = node.lineno
                inside = "" if node is statement else text_of(statement.lineno)
                if due is not None:
                    _keep(due, Place(cell, line, name, kind, text_of(line), inside))
                elif not inside and kind == "set" and len(self._others) < MAX_COMPARED:
                    self._others.setdefault(name, Place(cell, line, name, "like", name))
            for name, node in _stopped(statement):
                if name in self._places:
                    place = Place(cell, node.lineno, name, "stopped", text_of(node.lineno))
                    _keep(self._places[name], place)

    def places(self) -> list[Place]:
        """All places in the order of the page, and last what similar names are set at."""
        found = [place for places in self._places.values() for place in places]
        return [*sorted(found, key=lambda place: place[:2]), *self._similar()]

    def _similar(self) -> Iterator[Place]:
        plain = {_plain(name): name for name in self._others if len(name) <= MAX_LETTERS}
        for due in self._places:
            for like in difflib.get_close_matches(_plain(due), plain, 1, ALIKE):
                yield self._others[plain[like]]._replace(name=due)


def _keep(places: list[Place], place: Place) -> None:
    """Add a place; where there are too many, the last one stands for those before it."""
    del places[MAX_PLACES - 1 :]
    places.append(place)


def _stopped(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """A function's name and the `raise NotImplementedError` in it that other statements follow."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        for node in statement.body[:-1]:
            match node:
                case ast.Raise(ast.Name("NotImplementedError")) | ast.Raise(
                    ast.Call(ast.Name("NotImplementedError"))
                ):
                    yield statement.name, node
                    return


def _plain(name: str) -> str:
    """A name by its letters alone: without underscores, capitals, accents and Turkish's i."""
    letters = unicodedata.normalize("NFKD", name.replace("\u0131", "i").lower())
    return "".join(letter for letter in letters if letter.isalnum())


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, str, ast.stmt]]:
    """The names that a statement and those in it bind: each with its kind, and by which. What is
    local to a function is told where it is a function, a class or in capital letters."""
    todo: list[tuple[ast.AST, bool]] = [(statement, False)]
    while todo:
        node, local = todo.pop()
        if isinstance(node, ast.stmt):
            for name, kind in _bound_by(node):
                if not local:
                    yield name, kind, node
                elif isinstance(node, _SCOPES) or name.isupper():
                    yield name, "local", node
        inner = local or isinstance(node, _SCOPES)
        todo += [(n, inner) for n in ast.iter_child_nodes(node) if isinstance(n, _PARTS)]


def _bound_by(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """The names that a statement binds itself, and how."""
    targets: list[ast.expr] = []
    match node:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            yield name, "set"
        case ast.Import(names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name, "imported") for alias in names)
        case ast.Assign(targets) | ast.Delete(targets):
            pass
        case ast.AugAssign(target) | ast.For(target) | ast.AsyncFor(target):
            targets = [target]
        case ast.AnnAssign(target, value=ast.expr()):
            targets = [target]
        case ast.With(items) | ast.AsyncWith(items):
            targets = [item.optional_vars for item in items if item.optional_vars]
    kind = "deleted" if isinstance(node, ast.Delete) else "set"
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                yield part.id, kind
