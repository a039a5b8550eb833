"""Between the model and the wire: a question's arguments, and a worker's reply as an `Answer`."""

import base64
import struct
from typing import Any

from grader import wire
from grader.model import (
    Answer,
    Array,
    Formula,
    Missing,
    Opaque,
    Question,
    Raised,
    Returned,
    Value,
)

_FORMATS = {"bool": "?", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d"}
MAX_KINDS = 20
MAX_MESSAGE = 4_000  # characters kept of an exception's name and of its message
MAX_LINE = 10**7
MAX_PIXELS = 4_000  # of a picture's side
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def call_of(question: Question) -> tuple[str, list[Any] | None, bool]:
    """What a worker is to call: name, arguments as they travel, and whether it is its gradient."""
    arguments = question.arguments
    travelling = None if arguments is None else [_travelling(item) for item in arguments]
    return question.function, travelling, question.gradient


def _travelling(argument: Any) -> Any:
    return wire.WireFunction(list(argument.terms)) if isinstance(argument, Formula) else argument


def answer_from(reply: Any) -> Answer:
    """A worker's reply to "run" or "call". ValueError for one that no honest worker sends."""
    match reply:
        case ("returned", value, bool(changed)):
            return Returned(_value(value), changed)
        case ("ran",):
            return Returned(None)
        case ("missing", str(why)):
            return Missing(_text(why[:MAX_MESSAGE]))
        case ("raised", str(name), list(kinds), str(message), int() | None as line):
            names = tuple(_text(kind) for kind in kinds[:MAX_KINDS] if isinstance(kind, str))
            known_line = line if line is not None and 0 < line < MAX_LINE else None
            said = _text(message[:MAX_MESSAGE])
            return Raised(_text(name[:MAX_MESSAGE]), names, said, known_line)
    raise ValueError("an unknown reply")


def picture_from(reply: Any) -> bytes | None:
    """A worker's reply to "draw": a PNG file, None where there is no further one.

    Empty for one that was not drawn. ValueError for what no honest worker sends: other bytes, or a
    picture that would take a viewer's memory.
    """
    if reply is None:
        return None
    if not (isinstance(reply, list) and all(isinstance(part, str) for part in reply)):
        raise ValueError("an unknown reply")
    picture = base64.b64decode("".join(reply), validate=True)
    if picture:
        sides = picture[len(_PNG_HEAD) :][:8]
        known = picture.startswith(_PNG_HEAD) and len(sides) == 8
        if not known or not all(0 < side <= MAX_PIXELS for side in struct.unpack(">II", sides)):
            raise ValueError("no picture, or too large a one")
    return picture


def _text(text: str) -> str:
    """A text that can be written to any file: without halves of characters."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _value(value: Any) -> Value:
    if isinstance(value, wire.WireArray):
        size = len(value.data) // wire.ITEM_SIZES[value.dtype]
        items = struct.unpack(f"<{size}{_FORMATS[value.dtype]}", value.data)
        kind = "int" if value.dtype.endswith("int64") else value.dtype
        return Array(kind, value.shape, items)
    if isinstance(value, wire.WireOpaque):
        return Opaque(_text(value.description))
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple | list):
        return tuple(_value(item) for item in value)
    if isinstance(value, dict):
        return {_text(name): _value(item) for name, item in value.items()}
    plain: Value = value
    return plain
