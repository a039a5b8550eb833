"""A stranger's text, made safe to be shown: what can't be seen is spelled out."""

import unicodedata

_UNSHOWN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def plain(text: str) -> str:
    """A stranger's text, safe on a terminal: control and direction characters spelled out."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in _UNSHOWN
        else character.encode("unicode_escape", "backslashreplace").decode("ascii")
        for character in text
    )


def one_line(text: str) -> str:
    """The same on one line, for a table's cell."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")
