"""Read a script or notebook into cells of code. Nothing here runs or parses the code itself."""

import hashlib
import io
import json
import re
import tokenize
from typing import Any

from msgspec import Struct

_MARKER = re.compile(r"^#\s*%%(.*)$")
_MAGIC = re.compile(r"^\s*(%|!|\?)|\?\s*$")


class Page(Struct, frozen=True):
    """A page's cells of code, as (source, first line). `plain`: a script without cell markers."""

    cells: tuple[tuple[str, int], ...]
    plain: bool
    notebook: bool
    notes: tuple[str, ...] = ()


class Unreadable(ValueError):
    """The file can't be read as a script or notebook; the text says why and what to do."""


def read_page(data: bytes) -> Page:
    """A page from a file's bytes; a notebook is told by its content, not by its name."""
    if data.lstrip()[:1] == b"{":
        return _notebook(data)
    return _script(_decoded(data))


def _decoded(data: bytes) -> str:
    """The text as Python reads it: UTF-8, with or without mark, or what the coding line says."""
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise Unreadable(f"line {line} holds a null byte; save the file as text in UTF-8")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        byte = data[error.start]
        raise Unreadable(
            f"line {line}: byte {byte:#04x} is not UTF-8; save the file in UTF-8"
        ) from error
    except (SyntaxError, LookupError) as error:
        raise Unreadable(f"the coding line can't be read ({error}); save it in UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _script(text: str) -> Page:
    cells: list[tuple[str, int]] = []
    lines: list[str] = []
    first, is_code, marked = 1, True, False
    for number, line in enumerate(text.split("\n"), start=1):
        marker = _MARKER.match(line)
        if marker:
            if is_code:
                cells.append(("\n".join(lines), first))
            lines, first, marked = [], number + 1, True
            is_code = "[markdown]" not in marker[1] and "[raw]" not in marker[1]
        else:
            lines.append(line)
    if is_code:
        cells.append(("\n".join(lines), first))
    kept = [(source, line) for source, line in cells if source.strip()]
    return Page(tuple(kept), plain=not marked, notebook=False)


def _notebook(data: bytes) -> Page:
    try:
        content = json.loads(data)
        if content.get("nbformat") == 3:
            content = _converted(data)
        cells = [
            ("".join(cell.get("source", "")), cell.get("cell_type")) for cell in content["cells"]
        ]
    except json.JSONDecodeError as error:
        text = f"line {error.lineno}: the notebook is damaged ({error.msg}); save it once more"
        raise Unreadable(text) from error
    except (AttributeError, KeyError, TypeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(
            "this is no notebook that Jupyter would open; save it once more"
        ) from error
    notes: list[str] = []
    code = []
    for number, (source, kind) in enumerate(cells):
        lines = source.split("\n") if kind == "code" else []
        if any(_MAGIC.match(line) for line in lines):
            notes.append(f"cell {number + 1}: magics and shell lines are left out")
            lines = ["pass" if _MAGIC.match(line) else line for line in lines]
        code.append(("\n".join(lines), 1))
    return Page(tuple(code), plain=False, notebook=True, notes=tuple(notes))


def _converted(data: bytes) -> dict[str, Any]:
    import nbformat  # takes a second to import, and few notebooks are this old

    text = data.decode("utf-8")
    return dict(nbformat.reads(text, as_version=4))  # type: ignore[no-untyped-call]  # half typed


def code_fingerprint(page: Page) -> str:
    """A fingerprint of the code alone: comments, blank lines and line ends don't count."""
    lines = [line.rstrip() for source, _ in page.cells for line in source.split("\n")]
    code = [line for line in lines if line and not line.lstrip().startswith("#")]
    return hashlib.sha256("\n".join(code).encode("utf-8", "surrogatepass")).hexdigest()
