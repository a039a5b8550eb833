"""A stranger's text, made safe to be shown: what can't be seen is spelled out."""

import re
import unicodedata

MOST_MARKS = 4  # on one character, as in the scripts that have most; more run over other lines

_UNSHOWN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_MARKS = ("Mn", "Me")
# Letters, marks and a sign that leave their place blank: fillers, joiners, variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def plain(text: str) -> str:
    """A stranger's text, safe on a terminal: what has no shape of its own is spelled out. That are
    control and direction characters, blank letters, and marks heaped on one character."""
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = MOST_MARKS  # there is nothing yet that a mark could stand on
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in _MARKS else 0
        hidden = category in _UNSHOWN or marks > MOST_MARKS or _BLANK.match(character)
        if hidden:
            marks = max(marks, MOST_MARKS)
        if hidden and character not in "\n\t":
            character = character.encode("unicode_escape", "backslashreplace").decode("ascii")
        shown.append(character)
    return "".join(shown)


def one_line(text: str) -> str:
    """The same on one line, for a table's cell."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def named(student: str) -> str:
    """A student's name on one line; one that would show as blank stands in quotation marks."""
    text = one_line(student)
    return text if text.strip() else f'"{text}"'
