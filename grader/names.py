"""Why a due name doesn't count as its author means it: what the text of a page tells about that."""

import builtins
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from grader.model import CheckReport, Raised
from grader.sandbox import LoadEvent, Place
from grader.storage import shown
from grader.submissions import FEW, Found, defined

_COMMENT_MARK = re.compile("^# ?", re.MULTILINE)
_EMPTY = re.compile(r"= *None\b")
_NOT_DEFINED = re.compile(r"name '(\w+)' is not defined")
_NOT_CALLABLE = re.compile(r"'\w+' object is not callable")
_CALLED = re.compile(r"\b(\w+)\(")
# At any depth: a function's own name hides Python's there, too.
_TAKEN = re.compile(r"\s*(?:for +)?(\w+)(?: *=(?!=)| +in\b)")
_DECIMAL_COMMA = re.compile(r"=\s*\(?\s*[+-]?\d+\s*,\s*\d+\s*\)?\s*(?:#.*)?")


class Names(Struct, frozen=True):
    """The due names of a page that was found: where they are bound, and what went wrong in loading
    it."""

    found: Found
    places: Sequence[Place]
    events: Sequence[LoadEvent]

    def why(self, name: str) -> str:
        """Why `name` is not there, or still the scaffold's, where something of its author's stands
        elsewhere; else nothing."""
        cells = self.found.source.cells if self.found.source else ()
        is_whole = len(cells) == 1 and not self.found.notebook
        for event in self.events:
            for source, _ in cells[event.cell : event.cell + 1]:
                lost = event.kind in ("syntax", "too_large")
                if lost and (is_whole or name in defined(source)):
                    return self.found.told(event)
        bound = self._bound(name)
        if bound and bound[-1].kind == "deleted":
            return self._bound_again(name)
        for place in self._of(name):
            if place.kind == "stopped":
                what = f"`{place.text}` is still there, and what stands below it never runs"
                return f"{self._where(place)}: {what}: delete that line"
            if place.inside and (place.kind == "local" or place in bound):
                where = self._where(place)
                is_method = place.inside.startswith("class ") and "self" in place.text
                move = "move it out of there" + (", without self" if is_method else "")
                return f"{name} is defined only under `{place.inside}` ({where}); {move}"
        code = "\n".join(source for source, _ in cells)
        if name in defined(_COMMENT_MARK.sub("", code)) - defined(code):
            return f"{name} stands in comments only, which are not run: take the # away"
        return self._in_no_code(name) or self._in_a_line(name) or self._alike(name)

    def not_run(self, name: str) -> str:
        """Which line would have defined a name that is not there."""
        bound = self._bound(name)
        where = self._where(bound[-1]) if bound else ""
        return f"{where}, which defines {name}, did not run to its end" if bound else ""

    def notes(self, checks: Sequence[CheckReport], raised: Collection[Raised] = ()) -> list[str]:
        """What is to be said about the names that a check was not content with, and about those
        that the exceptions in the answers are of."""
        lost = [check for check in checks if check.outcome not in ("passed", "needs_person")]
        todo = [check for check in lost if check.outcome == "not_attempted"]
        notes: list[str] = []
        for name in dict.fromkeys(check.function for check in lost):
            notes += [self._bound_again(name), self._decimal_comma(name), self._module(name)]
        if lost:
            notes += self._of_exceptions([answer.message for answer in raised])
        notes += [self.why(name) for name in dict.fromkeys(check.function for check in todo)]
        if len(todo) < len(lost):
            notes.append(self._lesson())
        if len(todo) < len(checks):
            notes += [_unwritten(check.function) for check in todo if check.manual_points]
        return [note for note in notes if note]

    def _of(self, name: str) -> list[Place]:
        return [place for place in self.places if place.name == name]

    def _bound(self, name: str) -> list[Place]:
        """The places at which a name is bound in the page itself, or deleted."""
        return [p for p in self._of(name) if p.kind in ("set", "imported", "deleted")]

    def _where(self, place: Place) -> str:
        return self.found.where(place.cell, place.line)

    def _bound_again(self, name: str) -> str:
        """That a name is bound more than once, or deleted, and where."""
        bound = self._bound(name)
        # A scaffold's `= None` above the answer was meant to be replaced, and does no harm.
        bound = [place for place in bound[:-1] if not _EMPTY.search(place.text)] + bound[-1:]
        if len(bound) < 2:
            return ""
        told = [f"{self._where(place)} (`{place.text}`)" for place in bound]
        told[FEW - 1 : -1] = ["..."] if len(told) > FEW else []
        listed = ", ".join(told)
        if bound[-1].kind == "deleted":
            return f"{name} is defined and deleted again: {listed}; leave it there"
        counts = "the last one that runs counts: keep one, and give others other names"
        return f"{name} is defined more than once: {listed}; {counts}"

    def _decimal_comma(self, name: str) -> str:
        for place in self._bound(name)[-1:]:
            if name.isupper() and _DECIMAL_COMMA.search(place.text):
                text = f"{self._where(place)}: `{place.text}` makes two numbers"
                return f"{text}; Python writes decimals with a point, as in 1.5"
        return ""

    def _module(self, name: str) -> str:
        for place in self._bound(name)[-1:]:
            if place.kind == "imported" and place.text.startswith("import "):
                text = f"{self._where(place)}: `{place.text}` makes {name} a module, not a function"
                return f"{text}; write `from {name} import {name}`, if the function is in there"
        return ""

    def _of_exceptions(self, said: Collection[str]) -> Iterator[str]:
        """Where the page has the names that exceptions are about, and why they are of no use."""
        if any(map(_NOT_CALLABLE.search, said)):
            yield self._taken_from_python()
        missing = dict.fromkeys(found[1] for found in map(_NOT_DEFINED.search, said) if found)
        yield from map(self._set_inside, list(missing)[:FEW])

    def _set_inside(self, name: str) -> str:
        """In which block a name is set, where that is all that sets it."""
        sets = re.compile(
            rf"(?:(?:async +)?def|class|for) +{name}\b|{name} *(?::[^=]+)?=(?!=)"
            rf"|(?:import|from)\b.*\b{name}\b"
        )
        inside = told = ""
        guard = ", which is not run here; move it out"
        for cell, line, text in self.found.lines():
            if text[:1].strip() and not text.startswith(("#", ")", "]", "}")):
                inside = shown(text.strip())
            if not sets.match(text.lstrip()):
                continue
            if text[:1].strip():
                return ""
            where = f"{self.found.where(cell, line)}: {name} is set only under `{inside}`"
            told = told or where + (guard if "__name__" in inside else "")
        return told

    def _taken_from_python(self) -> str:
        """The line that gives one of Python's own names, which the page calls, to a value."""
        called = {name for _, _, text in self.found.lines() for name in _CALLED.findall(text)}
        for cell, line, text in self.found.lines():
            taken = _TAKEN.match(text)
            if taken and taken[1] in called and callable(getattr(builtins, taken[1], None)):
                told = f"{self.found.where(cell, line)}: `{shown(text.strip())}` takes"
                return f"{told} Python's own {taken[1]} away, which is called: choose another name"
        return ""

    def _lesson(self) -> str:
        """That the name of the course's module was given to something else."""
        for place in self._of("lesson"):
            if place.kind in ("set", "deleted"):
                text = f"{self._where(place)}: `{place.text}` takes the name of the module lesson"
                return f"{text}, which is not there any more then; choose another name"
        return ""

    def _in_no_code(self, name: str) -> str:
        """That a definition stands at the left margin and yet is none of the page's code."""
        if any(event.kind in ("timed_out", "crashed") for event in self.events):
            return ""  # the page's places may not be known
        places = {self._where(place) for place in self._of(name)}
        if len(places) > FEW:
            return ""  # nor all of them; and there is enough to say of these
        text = re.compile(rf"(?:async +)?def +{name}\b|{name} *=(?!=)")
        cells = self.found.source.cells if self.found.source else ()
        for cell, (source, first_line) in enumerate(cells):
            for line, written in enumerate(source.split("\n"), first_line):
                where = self.found.where(cell, line)
                if text.match(written) and where not in places:
                    return (
                        f"{where}: {name} stands in a text or a cell that is not run; move it out"
                    )
        return ""

    def _in_a_line(self, name: str) -> str:
        """That a definition stands in a line, and is none to Python."""
        if self._of(name):
            return ""
        set_here = rf"(?:def +{name}\b|{name} *=(?!=))"
        kinds = {
            rf"\s*#.*{set_here}.*": "stands in a comment, which goes on to the end of its line: "
            "give it a line of its own",
            rf"\s*\"{set_here}.*\\n\",?\s*": "stands in a text in quotes, as in the inside of a "
            "notebook file: hand in the notebook itself, or copy from its cells",
            rf"{name} *:[^=]*": f"is given nothing here: write `{name} =`, not `{name}:`",
        }
        for cell, line, text in self.found.lines():
            for pattern, what in kinds.items():
                if re.fullmatch(pattern, text):
                    return f"{self.found.where(cell, line)}: {name} {what}"
        return ""

    def _alike(self, name: str) -> str:
        for place in self._of(name):
            if place.kind == "like":
                where = self._where(place)
                told = f"{where} defines `{place.text}`; the checks look for `{name}`"
                return told + _foreign(place.text)
        return ""


def _unwritten(name: str) -> str:
    text = "an answer counts in its code cell, as a text in quotes, not in a text cell"
    return f"{name} is empty: {text}"


def _foreign(name: str) -> str:
    """Which letter of a name, the first one, is not of the plain alphabet, however it looks."""
    for letter in name:
        if not letter.isascii():
            known = unicodedata.name(letter, "a letter of another alphabet")
            return f" (its {letter} is {known}: type the name anew)"
    return ""
