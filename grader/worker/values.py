"""What a student's function returned, as something that the wire can carry.

Nothing here decides whether an answer is right. Sizes are looked at before anything is copied.
"""

import array
import collections.abc
import decimal
from fractions import Fraction
from typing import Any

import numpy as np

from grader import wire

MAX_CUT = 2_000  # characters kept of a text or a message
MAX_ANSWER_TEXT = 20_000  # characters kept of a text that is an answer, for the person who reads it
MAX_NESTING = 6  # lists in lists; an answer that is due has two


def cut(text: str, limit: int = MAX_CUT) -> str:
    """The text, shortened in the middle when it is longer than `limit`."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]} ... {text[-limit // 2 :]}"


def portable(value: Any, depth: int = 0) -> Any:
    """The value made of numbers, text, tuples, dicts and `WireArray`s; `WireOpaque` for the rest.

    Lists and tuples both become tuples. Whatever a student's object raises here is the student's.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, np.ndarray | np.generic) or _is_arraylike(value):
        return _portable_array(value)
    if isinstance(value, int):
        bits = int.bit_length(value)
        if bits > 8 * (wire.MAX_INTEGER - 1):
            return wire.WireOpaque(f"an integer of {bits} bits")
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return cut(str(value), MAX_ANSWER_TEXT)
    if isinstance(value, Fraction | decimal.Decimal):
        return _portable_ratio(value)
    if isinstance(value, list | tuple):
        return _portable_sequence(value, depth)
    if isinstance(value, collections.abc.Mapping):
        return _portable_mapping(value, depth)
    return wire.WireOpaque(_described(value))


def _described(value: Any) -> str:
    name = type(value).__name__
    if isinstance(value, complex):
        return "a complex number"
    if isinstance(value, collections.abc.Generator):
        return "a generator (did you mean return instead of yield?)"
    if isinstance(value, collections.abc.Coroutine):
        return "a coroutine (the function is async and was not awaited)"
    if callable(value):
        return cut(f"a function or class ({name})", 200)
    return cut(f"an object of type {name}", 200)


def _is_arraylike(value: Any) -> bool:
    if isinstance(value, memoryview | array.array | range):
        return True
    return hasattr(type(value), "__array__") and hasattr(value, "shape")


def _portable_array(value: Any) -> Any:
    if hasattr(value, "shape"):
        shape, kind = tuple(int(length) for length in value.shape), str(value.dtype)
        size = 1
        for length in shape:
            size *= length
        if size > wire.MAX_ITEMS or len(shape) > wire.MAX_DIMENSIONS:
            return wire.WireOpaque(f"an array of shape {shape}")
        if kind.startswith(("key<", "object", "complex")):
            return wire.WireOpaque(f"an array of dtype {cut(kind, 100)}")
    elif len(value) > wire.MAX_ITEMS:
        return wire.WireOpaque(f"a {type(value).__name__} of {len(value)} items")
    plain = np.asarray(value)
    dtype = plain.dtype
    if dtype == np.bool_:
        name = "bool"
    elif dtype.kind == "i":
        name = "int64"
    elif dtype.kind == "u":
        name = "uint64"
    elif dtype == np.float64 or dtype == np.longdouble:
        name = "float64"
    elif dtype.kind == "f" or dtype.name == "bfloat16":
        name = "float32"  # float16 and bfloat16 fit in it exactly
    else:
        return wire.WireOpaque(f"an array of dtype {dtype}")
    little_endian = np.dtype(name).newbyteorder("<")
    return wire.WireArray(name, plain.shape, plain.astype(little_endian).tobytes("C"))


def _portable_ratio(value: Fraction | decimal.Decimal) -> Any:
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            return float(value)
        if abs(value.adjusted()) > 600 or len(value.as_tuple().digits) > 600:
            return wire.WireOpaque("a Decimal of extreme size")
    ratio = Fraction(value)
    if max(ratio.numerator.bit_length(), ratio.denominator.bit_length()) > 8 * wire.MAX_INTEGER - 8:
        return wire.WireOpaque("a Fraction of extreme size")
    return ratio


def _portable_sequence(value: list[Any] | tuple[Any, ...], depth: int) -> Any:
    if len(value) > wire.MAX_ITEMS or depth >= MAX_NESTING:
        return wire.WireOpaque(f"a {type(value).__name__} too long or too deeply nested")
    return tuple(portable(item, depth + 1) for item in value)


def _portable_mapping(value: collections.abc.Mapping[Any, Any], depth: int) -> Any:
    if len(value) > 1_000 or depth >= MAX_NESTING:
        return wire.WireOpaque(f"a {type(value).__name__} too long or too deeply nested")
    return {cut(str(key), 200): portable(item, depth + 1) for key, item in value.items()}
