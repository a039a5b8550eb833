"""Read a script or notebook into cells of code. Nothing here runs or parses the code itself."""

import ast
import codecs
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Sized
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

# What no exporting of a notebook keeps as it is: magics, shell lines, help marks, words that run as
# magics without their mark, and what they all become.
_NOTEBOOK_ONLY = re.compile(
    r"(?:\w[\w., ]*= *)?(?:%{1,2}[a-z]|!(?!=)|get_ipython\(\))"
    r"|\?\??[\w.*%]|[\w.*%]+\?\??\s*(?:#|$)"
    r"|(?:pip|pip3|conda|mamba|cd|ls|cat|cp|mv|mkdir|rm|rmdir)\s+[^\s=]"
)
_LITERAL = r"""('[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*")"""
_EXPORTED_CELL = re.compile(
    rf"^get_ipython\(\)\.run_cell_magic\({_LITERAL}, {_LITERAL}, {_LITERAL}\)$", re.MULTILINE
)
_MARKER = re.compile(r"^#\s*%%+(?=\s|\[|$)(.*)$")  # no "# %%time", a magic in a comment
_TEXT_KIND = re.compile(r"\[(?:markdown|md|raw)\]|^\s+(?:md|raw)\s*$")  # the last as PyCharm has it
# Left of all text, where a text cell of a script has comments: a marker below it was deleted.
_CODE = re.compile(
    r"^(?:(?:async +)?def +\w+ *\(|class +\w+ *[:(]|[^\W\d]\w* *=(?!=)"
    r"|import +[\w.]+ *(?:as +\w+)?$|from +[\w.]+ +import +|if +__name__|@[^\W\d][\w.]*)",
    re.MULTILINE,
)
_NOTEBOOK_NAME = re.compile(r"\.(?:ipynb|json)[\s.]*\Z", re.IGNORECASE)
_MARIMO = re.compile(r"^app = marimo\.App\(", re.MULTILINE)
SAVE = "save the file as text in UTF-8"
# What editors show as the end of a line, and Python takes for a character like any other.
_LINE_ENDS = re.compile("[\x0b\x85\u2028\u2029]")
# What stands for a file that lies elsewhere, by its beginning.
POINTERS = {
    b"version https://git-lfs.github.com/spec/": "Git LFS's pointer to the file",
    b"book\0\0\0\0mark": "a macOS alias of the file",
    b"L\0\0\0\x01\x14\x02\0": "a Windows shortcut to the file",
}
MAX_NAMED = 10  # cells of one kind in a note
MAX_CELLS = 2_000
MAX_BRACKETS = 1_000_000  # of a notebook: a list or dict takes sixty times the bytes of its bracket
MAX_LINES = 100_000  # of code and text; the trees of more don't fit into a worker's memory
# What every encoding that extends ASCII reads as itself. Others (UTF-7, escapes, Punycode) would
# read code that no editor shows, or take hours for it.
_PLAIN = bytes(range(32, 127)).replace(b"\\", b"") + rb" \u0041 +AEE- a.xn--mnchen-3ya"
LF = b"\n"


class Page(Struct, frozen=True):
    """A page's cells of code, as (source, first line), and the text of its other cells."""

    cells: tuple[tuple[str, int], ...]
    notebook: bool
    text: str = ""
    notes: tuple[str, ...] = ()


class Unreadable(ValueError):
    """The file can't be read as a script or notebook; the text says why and what to do."""


def read_page(data: bytes, name: str) -> Page:
    """A page from a file's bytes; whether it is a notebook is told by its content."""
    whole = data.rstrip(b"\0\x1a")  # what a crash, a broken copy or DOS leaves behind the text
    if whole and whole != data:
        page = read_page(whole, name)
        what = "Ctrl-Z" if b"\x1a" in data[len(whole) :] else "null"
        note = f"{name} ends in {len(data) - len(whole)} bytes that are no text ({what}), left out"
        return replace(page, notes=(note, *page.notes))
    if (inner := _quoted_notebook(data)) is not None:
        note = f"{name} is a notebook as one text in quotes, and was read as a notebook"
        return replace(inner, notes=(note, *inner.notes))
    notebook_expected = _NOTEBOOK_NAME.search(name) is not None
    if data.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"["):
        try:
            page = _notebook(data)
        except Unreadable:
            if notebook_expected:
                raise
        else:
            note = f"{name} holds a notebook, and was read as one"
            return page if notebook_expected else replace(page, notes=(note, *page.notes))
    for mark, what in POINTERS.items():
        if data.startswith(mark):
            raise Unreadable(f"only {what} is here; hand in the file itself")
    text = decoded(data)
    if _MARIMO.search(text):
        raise Unreadable(
            "this is a marimo app: hand in a script (marimo export script) or a notebook"
        )
    page = _script(text)
    empty = f"{name} is empty"
    note = f"{name} holds no notebook but a script, and was read as one" if data.strip() else empty
    return replace(page, notes=(note,)) if notebook_expected else page


def _quoted_notebook(data: bytes) -> Page | None:
    """The notebook in a file that is one JSON text, as a program makes it that encodes it twice."""
    if not data.startswith((b'"{', codecs.BOM_UTF8 + b'"{')):
        return None
    try:
        return _notebook(json.loads(data.decode("utf-8-sig")).encode())
    except (ValueError, AttributeError):  # among them what is no notebook
        return None


def decoded(data: bytes) -> str:
    """The text as Python reads it: UTF-8, with or without mark, or what the coding line says.

    Line ends become line feeds. Unreadable with line and byte where that can't be.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise Unreadable(
            "line 1, byte 1: the file is in UTF-16, which Python does not read; " + SAVE
        )
    data = data.replace(b"\r\n", LF).replace(b"\r", LF)
    try:
        encoding = _encoding(data)
        if not _extends_ascii(encoding):
            raise LookupError(f"{encoding} does not extend ASCII")
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        found = f"byte {error.start - data.rfind(LF, 0, error.start)} ({data[error.start]:#04x})"
        line = data[: error.start].count(LF) + 1
        what_to_do = f"not UTF-8; {SAVE}"
        if _is_utf8(data):
            what_to_do = f"not {encoding}, as the coding line says, but UTF-8: delete that line"
        raise Unreadable(f"line {line}, {found}: {what_to_do}") from error
    except (SyntaxError, LookupError, ValueError) as error:
        raise Unreadable(
            f"line 1: the encoding can't be told ({str(error)[:100]}); {SAVE}"
        ) from error
    if "\0" in text:
        before = text[: text.index("\0")]
        line, byte = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise Unreadable(f"line {line}, byte {byte}: a null byte; {SAVE}")
    return text


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _encoding(data: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        if "invalid or missing" in str(error):  # no coding line, and no UTF-8
            return "utf-8"
        raise


def _extends_ascii(encoding: str) -> bool:
    try:
        return _PLAIN.decode(encoding) == _PLAIN.decode("ascii")
    except UnicodeError:
        return False


def _script(text: str) -> Page:
    cells: list[tuple[str, int]] = []
    texts: list[str] = []
    lines: list[str] = []
    text, notes = _lined(text)
    _count_lines(text.count("\n") + 1)
    first, is_code = 1, True
    for number, line in enumerate([*text.split("\n"), "# %%"], start=1):
        marker = _MARKER.match(line)
        if not marker:
            lines.append(line)
            continue
        source = "\n".join(lines)
        if is_code or _CODE.search(source):
            cells.append((source, first))
        else:
            texts += [line.removeprefix("#").removeprefix(" ") for line in lines]
        is_code = not _TEXT_KIND.search(marker[1])
        lines, first = [], number + 1
    kept = [(source, line) for source, line in cells if source.strip()]
    _count(kept)
    return Page(tuple(kept), notebook=False, text="\n".join(texts), notes=notes)


def _lined(text: str) -> tuple[str, tuple[str, ...]]:
    """The text in lines, and a note where most of them end in what Python takes for no line end."""
    ends = _LINE_ENDS.findall(text)
    if len(ends) <= text.count("\n"):
        return text, ()
    note = f"lines end in U+{ord(ends[0]):04X}, which Python does not know, and were read as lines"
    return _LINE_ENDS.sub("\n", text), (note,)


def _notebook(data: bytes) -> Page:
    content: Any = None
    if data.count(b"[") + data.count(b"{") > MAX_BRACKETS:
        raise Unreadable(
            f"more than {MAX_BRACKETS} brackets are in it: clear all outputs, and save it"
        )
    try:
        content = json.loads(data.decode("utf-8-sig"))
        if "cells" in content:
            listed = content["cells"]
        else:  # format 3 and older
            listed = [cell for sheet in content["worksheets"] for cell in sheet["cells"]]
        cells = [(_source(cell), cell.get("cell_type")) for cell in listed]
        run_on = [number for number, cell in enumerate(listed) if _runs_on(cell)]
        turned = [number for number, cell in enumerate(listed) if _is_answer_turned_text(cell)]
    except UnicodeDecodeError as error:
        line = data[: error.start].count(LF) + 1
        raise Unreadable(f"line {line}: the notebook is not in UTF-8; {SAVE}") from error
    except json.JSONDecodeError as error:
        text = f"line {error.lineno}: the notebook is damaged ({error.msg})"
        if b"<<<<<<<" in data or b">>>>>>>" in data:
            text += (
                "; it holds the marks of a merge that was not finished (<<<<<<<, >>>>>>>): open it"
            )
            raise Unreadable(f"{text} as text, and keep one side of each") from error
        instead = "export the notebook once more, or mend that line in a text editor"
        raise Unreadable(f"{text}; Jupyter can't open it either: {instead}") from error
    except Exception as error:  # whatever else the JSON holds
        text = "this is no notebook that Jupyter would open: export the notebook once more"
        if isinstance(content, dict) and isinstance(content.get("content"), dict):
            text = (
                "this is a notebook in an answer of Jupyter's server: download the notebook itself"
            )
        raise Unreadable(text) from error
    lined = [_lined(source) for source, _ in cells]
    cells = [(source, kind) for (source, _), (_, kind) in zip(lined, cells, strict=True)]
    _count(cells)
    _count_lines(sum(source.count("\n") + 1 for source, _ in cells))
    for number in turned:
        cells[number] = (cells[number][0], "code")
    code = [(source if kind == "code" else "", 1) for source, kind in cells]
    texts = [source for source, kind in cells if kind != "code"]
    listed_cells = ", ".join(f"cell {number + 1}" for number in turned[:MAX_NAMED])
    notes = [f"turned into text, and read as code: {listed_cells}"] if turned else []
    if run_on:
        listed_cells = ", ".join(f"cell {number + 1}" for number in run_on[:MAX_NAMED])
        notes.append(f"the lines have no ends in the file, and were read as lines: {listed_cells}")
    notes += dict.fromkeys(note for _, told in lined for note in told)
    return Page(tuple(code), notebook=True, text="\n".join(texts), notes=tuple(notes))


def _is_answer_turned_text(cell: dict[str, Any]) -> bool:
    """Whether a cell of text is marked as one in which code was asked for, as nbgrader marks it."""
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if not isinstance(marks, dict) or cell.get("cell_type") == "code":
        return False
    return marks.get("solution") is True and marks.get("cell_type") == "code"


def _runs_on(cell: dict[str, Any]) -> bool:
    """Whether a cell's lines are listed without their ends, as no program writes them that a person
    has worked in."""
    source = _given(cell)
    lines = source[:-1] if isinstance(source, list) else []
    return bool(lines) and not any(line.endswith(("\n", "\r")) for line in lines)


def _given(cell: dict[str, Any]) -> Any:
    return cell.get("source", cell.get("input", ""))  # "input": format 3


def _source(cell: dict[str, Any]) -> str:
    source = _given(cell)
    if not isinstance(source, str | list):
        raise TypeError(f"a cell's source is a {type(source).__name__}")
    between = "\n" if _runs_on(cell) else ""
    text = source if isinstance(source, str) else between.join(source)
    # JSON can hold half of a character, which no file can: spelled out, a literal means the same.
    whole = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return whole.replace("\r\n", "\n").replace("\r", "\n")


def _count(cells: Sized) -> None:
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"it has {len(cells)} cells; more than {MAX_CELLS} are not read")


def code_of(page: Page) -> str:
    """The code of all cells. A cell that an export has made a text of is a cell again."""
    return "\n".join(_EXPORTED_CELL.sub(_as_cell, source) for source, _ in page.cells)


def _count_lines(lines: int) -> None:
    if lines > MAX_LINES:
        raise Unreadable(f"it has {lines} lines; more than {MAX_LINES} are not read")


def code_fingerprint(page: Page) -> str:
    """A fingerprint of the code alone, the same for a notebook and for a script made of it.

    Comments, blank lines, line ends and notebook syntax don't count.
    """
    whole = code_of(page).replace("\\\n", " ")  # lines that go on below
    lines = [line.rstrip() for line in whole.split("\n")]
    code = [line for line in lines if line and not line.lstrip().startswith("#")]
    code = [line for line in code if not _NOTEBOOK_ONLY.match(line.lstrip())]
    return hashlib.sha256("\n".join(code).encode("utf-8", "surrogatepass")).hexdigest()


def _as_cell(call: re.Match[str]) -> str:
    """The cell with a magic that an export has made this call from."""
    try:
        name, line, cell = map(ast.literal_eval, call.groups())
    except (ValueError, SyntaxError):  # an escape that means nothing
        return call[0]
    return f"%%{name} {line}\n{cell}"
