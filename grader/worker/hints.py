"""What a syntax error comes from, where the text tells: words to be added to Python's own."""

import re
import sys
import unicodedata

_OF_A_WEB_PAGE = re.compile(r"&(?:[lg]t|quot|amp|nbsp|#x?[0-9a-fA-F]+);")
_LINE_NUMBER = re.compile(r"\d+[:.|]?\s+(?:(?:import|from|def|class|return|if|for)\b|[@#]|\w+ *=)")
_IPYTHON = re.compile(r"(?:In|Out) ?\[\d+\]:")
_CAPITAL = re.compile(r"(?:Import|From|Def|Class|Return|If|Elif|Else|For|While|With|Try)\b")
_CHARACTER = re.compile(r"invalid character '(.)'")
_UNSEEN = re.compile(r"U\+(?:FEFF|200[BCDEF]|2060|00AD|202[A-E]|206[6-9])")
_OF_A_NOTEBOOK = re.compile(r'".*\\n",?$')
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_NEWER = re.compile(r"type +\w+|(?:async +)?def +\w+ *\[|class +\w+ *\[")  # Python 3.12
_WITH_NEWER_QUOTES = ("f-string: expecting '}'", "f-string: unmatched", "f-string expression part")


def hint(error: SyntaxError, source: str, first_line: int) -> str:
    """What to do about an error in `source`; nothing where Python's words have to be enough."""
    line, said = written(error, source, first_line).lstrip(), str(error.msg)
    if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return "; a mark of a merge that was not finished stands here"
    if line.startswith((">>>", "...", "Python 3")) or _IPYTHON.match(line):
        return "; take away what the console wrote, its marks (>>>, In [1]: and ...), too"
    if line.startswith(("@@ ", "diff --git ")):
        return "; this is a list of changes (diff): hand in the changed file itself"
    if line.startswith(("%", "!")):
        return "; this is notebook syntax, which can't stand in a statement, nor in hundreds"
    if _OF_A_NOTEBOOK.match(line.rstrip()):
        return "; this is the inside of a notebook file: hand in the notebook itself"
    if _COLOUR.search(line):
        return "; a terminal's marks for colours are in the text: hand in the file itself"
    if line.startswith(">"):
        return "; a mail has put > before its lines: take it away, or save the attachment itself"
    if mark := _OF_A_WEB_PAGE.search(line):
        return f"; {mark[0]} is a web page's way to write a character: hand in the file itself"
    if _LINE_NUMBER.match(line):
        return "; the lines begin with their numbers: copy the code without them"
    if any(text.startswith("```") for text in (line, *_below(error, source, first_line))):
        return "; ``` is a mark of Markdown: hand in only what stands between two of them"
    if _CAPITAL.match(line):
        return "; Python's own words begin with a small letter (import, def, return)"
    if "=3D" in line:
        return "; =3D is a mail's way to write an equals sign: save the attachment itself"
    if _UNSEEN.search(said):
        return "; it can't be seen, and is left where texts were joined or copied: delete it"
    found = _CHARACTER.match(said)
    if found and unicodedata.decomposition(found[1]).startswith("<super>"):
        return f"; a power is written with two stars: **{_ascii(found[1])}"
    if found and (plain := _ascii(found[1])):
        return f"; an input method or a copy has put it there: type a plain {plain} instead"
    if said.startswith(("invalid non-printable character", "invalid character")):
        return "; it came with text that was copied: type a plain space, quote or minus instead"
    is_newer = bool(_NEWER.match(line)) or said.startswith(_WITH_NEWER_QUOTES)
    if is_newer and sys.version_info < (3, 12):
        return "; newer versions of Python know this, the one that reads pages here does not"
    if said == "unexpected indent" and _is_first(error, source, first_line):
        return "; take the spaces away, or merge it with the cell before if it is that one's rest"
    if "expected ':'" in said:
        return "; is a colon missing at the end of this line?"
    return ""


def _ascii(character: str) -> str:
    """The plain character that one stands for, where it is a wide or joined form of such."""
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain.isascii() else ""


def _is_first(error: SyntaxError, source: str, first_line: int) -> bool:
    """Whether nothing but comments stands above the line of an error."""
    above = source.split("\n")[: max((error.lineno or 0) - first_line, 0)]
    return all(line.lstrip()[:1] in ("", "#") for line in above)


def _below(error: SyntaxError, source: str, first_line: int) -> list[str]:
    """The lines below an error that is the first thing in its text, so that all may be none."""
    if not _is_first(error, source, first_line):
        return []
    return [line.lstrip() for line in source.split("\n")]


def written(error: SyntaxError, source: str, first_line: int) -> str:
    """The line of an error as it stands in `source`, whose first line has this number."""
    lines = source.split("\n")
    place = (error.lineno or 0) - first_line
    return lines[place] if 0 <= place < len(lines) else error.text or ""
