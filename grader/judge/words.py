"""Values, and what is due, in words for a person."""

import decimal
import math
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from grader.judge.dues import (
    Due,
    Fields,
    Nothing,
    Number,
    Numbers,
    OneOf,
    Raises,
    Several,
    Text,
    Texts,
    Truth,
    Truths,
    Written,
    YesOrNo,
)
from grader.model import Array, Opaque, Value


def kind(value: Value) -> str:
    """What kind of thing a value is."""
    match value:
        case None:
            return "nothing (None; is a return missing?)"
        case str():
            return "text"
        case Opaque(description):
            return description
        case dict():
            return "a dict"
        case Array(_, shape, _):
            return f"an array of shape {shape}"
        case tuple():
            return f"{len(value)} values"
        case bool():
            return "a truth value"
        case _:
            return "a single number"


def wanted(due: Due) -> str:
    """What kind of thing is due."""
    match due:
        case Number():
            return "a number"
        case Numbers() | Truths():
            return "an array"
        case Truth():
            return "a truth value"
    return "a value"


def position(index: int, shape: tuple[int, ...]) -> str:
    """Where an item stands in an array, by its index in C order."""
    place: list[int] = []
    for length in reversed(shape):
        index, position = divmod(index, length)
        place.insert(0, position)
    match place:
        case []:
            return ""
        case [only]:
            return f" at index {only}"
        case [row, column]:
            return f" at row {row}, column {column}"
    return f" at index {tuple(place)}"


def brief(number: Any) -> str:
    """A bound in two digits, rounded up in the last."""
    digits = decimal.Context(prec=2, rounding=decimal.ROUND_CEILING)
    ratio = Fraction(number)
    return f"{float(digits.divide(ratio.numerator, ratio.denominator)):.2g}"


def short(item: Any, single: bool = False) -> str:
    """A number as a person writes it: the shortest decimal that gives it back."""
    if isinstance(item, Fraction):
        if item and not Fraction(1, 10**300) < abs(item) < 10**300:
            ratio = decimal.Context(prec=6, Emax=10**6, Emin=-(10**6))
            return f"{ratio.divide(item.numerator, item.denominator):.5e}"
        item = float(item)
    if isinstance(item, float) and single and math.isfinite(item):
        for digits in range(1, 10):
            text = f"{item:.{digits}g}"
            if _float32(float(text)) == _float32(item):
                return repr(float(text))
    text = repr(item)
    return text if len(text) <= 40 else f"{text[:20]}...{text[-10:]}"


def _float32(number: float) -> bytes | None:
    """The nearest float32; None for what is beyond the largest one."""
    try:
        return struct.pack("<f", number)
    except OverflowError:
        return None


def shown(value: Value, limit: int = 600) -> str:
    """A value as text for a person, at most `limit` characters."""
    text = "".join(_pieces(value, 0))
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _pieces(value: Value, depth: int) -> Iterator[str]:
    match value:
        case Array(dtype, shape, items):
            single = dtype == "float32"
            yield _nested([short(item, single) for item in items], shape)
        case tuple():
            yield "("
            for place, item in enumerate(value):
                yield ", " if place else ""
                yield from _pieces(item, depth + 1)
            yield ",)" if len(value) == 1 else ")"
        case dict():
            yield "{"
            for place, (key, item) in enumerate(value.items()):
                yield (", " if place else "") + f"{key!r}: "
                yield from _pieces(item, depth + 1)
            yield "}"
        case Opaque(description):
            yield description
        case str():
            yield repr(value[:200])
        case _:
            yield short(value)


def _nested(items: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return items[0]
    if len(shape) == 1:
        return "[" + ", ".join(items) + "]"
    step = math.prod(shape[1:])
    rows = [items[start * step : (start + 1) * step] for start in range(shape[0])]
    return "[" + ", ".join(_nested(row, shape[1:]) for row in rows) + "]"


def told(due: Due) -> str:
    """What is due, as text for a person."""
    match due:
        case Number(value):
            return short(value if isinstance(value, float) else Fraction(value))
        case Numbers(shape, items):
            return _nested([told(item) for item in items], shape)[:600]
        case Truth(value):
            return str(value)
        case Text(value):
            return repr(value)
        case YesOrNo(value):
            return "yes" if value else "no"
        case Nothing():
            return "None"
        case Fields(entries):
            pairs = ((name, "..." if e is None else told(e)) for name, e in entries.items())
            return "{" + ", ".join(f"{name!r}: {text}" for name, text in pairs) + "}"
        case Texts():
            return "a dict of texts, none of them blank"
        case OneOf(options):
            return " or ".join(map(told, options))
        case Truths(values):
            return _nested([str(value) for value in values], (len(values),))
        case Several(parts):
            return "(" + ", ".join("..." if part is None else told(part) for part in parts) + ")"
        case Written():
            return "a text"
        case Raises(kind):
            return f"{kind} raised"
