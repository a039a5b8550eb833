"""What a student's function returned, as something that the wire can carry.

Nothing here decides whether an answer is right. Sizes are looked at before anything is copied.
"""

import array
import collections.abc
import decimal
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from grader import wire

MAX_CUT = 2_000  # characters kept of a message
MAX_ANSWER_TEXT = 20_000  # characters kept of a text that is an answer, for the person who reads it
TEXT_PER_ITEM = 32  # characters that count as one item
MAX_NESTING = 6  # lists in lists; an answer that is due has two
MAX_BITS = 8 * (wire.MAX_INTEGER - 1)  # of an integer, and of either half of a fraction
MAX_DECIMAL = 2_000  # places of a Decimal before or after the point

_REFUSED_DTYPES = ("key<", "object", "complex")


def cut(text: str, limit: int = MAX_CUT) -> str:
    """The text as a plain `str`, shortened in the middle when it is longer than `limit`."""
    text = str.__str__(text)
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]} ... {text[-limit // 2 :]}"


class _TooLarge(Exception):
    """The answer as a whole is larger than a frame may be."""


def portable(value: Any) -> Any:
    """The value made of numbers, text, tuples, dicts and `WireArray`s; `WireOpaque` for the rest.

    Lists and tuples both become tuples. Whatever a student's object raises here is the student's.
    """
    try:
        return _Carrier().carried(value, 0)
    except _TooLarge:
        return wire.WireOpaque(f"an answer of more than {wire.MAX_ITEMS} items")


class _Carrier:
    """Makes one answer portable, and counts its items: lists may hold one list many times over."""

    def __init__(self) -> None:
        self.items = 0

    def count(self, items: int) -> None:
        self.items += items
        if self.items > wire.MAX_ITEMS:
            raise _TooLarge

    def carried(self, value: Any, depth: int) -> Any:
        self.count(1)
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):  # NumPy's text is one, too
            return self.text(value)
        if isinstance(value, np.ndarray | np.generic) or _is_arraylike(value):
            return self.array(value)
        if isinstance(value, int):
            bits = int.bit_length(value)
            return int(value) if bits <= MAX_BITS else wire.WireOpaque(f"an integer of {bits} bits")
        if isinstance(value, float):
            return float(value)
        if isinstance(value, Fraction | decimal.Decimal):
            return _ratio(value)
        if isinstance(value, list | tuple):
            return self.sequence(value, depth)
        if isinstance(value, collections.abc.Mapping):
            return self.mapping(value, depth)
        return wire.WireOpaque(_described(value))

    def text(self, value: str) -> str:
        text = cut(value, MAX_ANSWER_TEXT)
        self.count(len(text) // TEXT_PER_ITEM)
        return text

    def array(self, value: Any) -> Any:
        if isinstance(value, range | array.array | memoryview):
            self.count(_length(value))
            value = np.asarray(value)
        shape, dtype = tuple(int(length) for length in value.shape), str(value.dtype)
        if wire.extent(shape) > wire.MAX_ITEMS or len(shape) > wire.MAX_DIMENSIONS:
            return wire.WireOpaque(f"an array of shape {shape}")
        if 0 in shape:  # an empty array may be of any dtype
            self.count(wire.extent(shape))
            return wire.WireArray("float64", shape, b"")
        if dtype.startswith(_REFUSED_DTYPES):
            return wire.WireOpaque(f"an array of dtype {cut(dtype, 100)}")
        if isinstance(value, np.ndarray) and np.any(getattr(value, "mask", False)):
            return wire.WireOpaque("a masked array, some of it masked")
        plain = np.asarray(value)
        self.count(wire.extent(plain.shape))
        if plain.dtype.kind == "U" and plain.shape == ():
            return self.text(str(plain))
        name = _wire_dtype(plain.dtype)
        if name is None or plain.ndim > wire.MAX_DIMENSIONS:
            return wire.WireOpaque(f"an array of dtype {cut(str(plain.dtype), 100)}")
        little_endian = np.dtype(name).newbyteorder("<")
        return wire.WireArray(name, plain.shape, plain.astype(little_endian).tobytes("C"))

    def sequence(self, value: list[Any] | tuple[Any, ...], depth: int) -> Any:
        if depth >= MAX_NESTING:
            return wire.WireOpaque(f"a {type(value).__name__} too deeply nested")
        return tuple(self.carried(item, depth + 1) for item in value)

    def mapping(self, value: collections.abc.Mapping[Any, Any], depth: int) -> Any:
        if depth >= MAX_NESTING:
            return wire.WireOpaque(f"a {type(value).__name__} too deeply nested")
        return {cut(str(key), 200): self.carried(item, depth + 1) for key, item in value.items()}


def _described(value: Any) -> str:
    name = type(value).__name__
    if isinstance(value, complex):
        return "a complex number"
    if isinstance(value, collections.abc.Generator):
        return "a generator (did you mean return instead of yield?)"
    if isinstance(value, collections.abc.Coroutine):
        return "a coroutine (write def without async)"
    if callable(value):
        return cut(f"a function or class ({name})", 200)
    return cut(f"an object of type {name}", 200)


def _is_arraylike(value: Any) -> bool:
    if isinstance(value, range | array.array | memoryview):
        return True
    return hasattr(type(value), "__array__") and hasattr(value, "shape") and hasattr(value, "dtype")


def _length(value: "range | array.array[Any] | memoryview") -> int:
    if isinstance(value, memoryview):
        return value.nbytes
    try:
        return len(value)
    except OverflowError:
        return sys.maxsize


def _wire_dtype(dtype: "np.dtype[Any]") -> str | None:
    """The dtype of the wire that holds every value of a numeric `dtype` exactly, if there is one.

    The short floats and integers of `ml_dtypes` are known by their names alone.
    """
    kind, name, size = dtype.kind, dtype.name, dtype.itemsize
    if kind == "b":
        return "bool"
    if kind == "i" or name in ("int2", "int4"):
        return "int64"
    if kind == "u" or name in ("uint2", "uint4"):
        return "uint64"
    if kind == "f" and size >= 8:
        return "float64"  # a long double is rounded; no bound is as narrow as that
    if kind == "f" or (name.startswith(("bfloat", "float")) and size <= 2 and name != "float0"):
        return "float32"
    return None


def _ratio(value: Fraction | decimal.Decimal) -> Any:
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            return float("nan") if value.is_nan() else float(value)
        if max(abs(value.adjusted()), len(value.as_tuple().digits)) > MAX_DECIMAL and value:
            return wire.WireOpaque("a Decimal of extreme size")
        value = Fraction(value) if value else Fraction(0)
    numerator, denominator = int(value.numerator), int(value.denominator)
    excess = max(numerator.bit_length(), denominator.bit_length()) - MAX_BITS
    if excess > 0:
        # A long exact computation. Thousands of bits are nearer than any bound can tell, unless
        # the number itself is beyond all size.
        numerator, denominator = numerator >> excess, denominator >> excess
        if denominator.bit_length() < MAX_BITS // 2:
            return wire.WireOpaque("a Fraction of extreme size")
    return Fraction(numerator, denominator)
