"""Frames between the grader and the process that runs a student's code.

A frame is a length and a value. A value is one tag byte and its content: plain numbers and text, a
list, a tuple or a dict of values, an array (dtype, shape, bytes), something opaque (described), or
(to a worker alone) a function of one number, by its terms.
There is no pickle and no code in it. The reader treats every frame as forged: the length, the
depth, the number of items, each dtype and each size are checked before anything is built from them.

This module imports nothing of the grader, since it is loaded beside the student's code too.
"""

import math
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

MAX_ANSWER = 1 << 20  # bytes of one frame from a worker
MAX_REQUEST = 64 << 20  # bytes of one frame to a worker: a whole submission's source fits
MAX_DEPTH = 12  # values inside values
MAX_ITEMS = 20_000  # values, and numbers in arrays, of one frame from a worker
MAX_TEXT = 1 << 16  # characters of one text in a frame from a worker
MAX_INTEGER = 512  # bytes of one integer
MAX_DIMENSIONS = 8

ITEM_SIZES = {"bool": 1, "int64": 8, "uint64": 8, "float32": 4, "float64": 8}

_LENGTH = struct.Struct("<I")
_DOUBLE = struct.Struct("<d")


class WireError(Exception):
    """A frame that no honest peer sends."""


class WireArray(NamedTuple):
    """An array as it travels: little-endian bytes in C order, dtype one of `ITEM_SIZES`."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def extent(shape: Sequence[int]) -> int:
    """How much work an array of this shape is: an empty one may have a million empty rows."""
    return math.prod(max(length, 1) for length in shape)


class WireOpaque(NamedTuple):
    """Something that can't travel, described for a person."""

    description: str


class WireFunction(NamedTuple):
    """A function of one number: the terms (kind, factor, parameter) that add up to it."""

    terms: list[tuple[str, float, float]]


def encode(value: Any) -> bytes:
    """The value as bytes; TypeError for what has no tag (callers make values plain first)."""
    out = bytearray()
    _write(out, value)
    return bytes(out)


def _write(out: bytearray, value: Any) -> None:
    if value is None:
        out += b"N"
    elif value is True:
        out += b"T"
    elif value is False:
        out += b"F"
    elif isinstance(value, WireArray):
        out += b"A"
        _write_bytes(out, value.dtype.encode())
        out.append(len(value.shape))
        for length in value.shape:
            out += struct.pack("<Q", length)
        _write_bytes(out, value.data)
    elif isinstance(value, WireOpaque):
        out += b"O"
        _write_bytes(out, _utf8(value.description))
    elif isinstance(value, WireFunction):
        out += b"X"
        _write(out, value.terms)
    elif isinstance(value, int):
        out += b"I"
        _write_integer(out, value)
    elif isinstance(value, float):
        out += b"D"
        out += _DOUBLE.pack(value)
    elif isinstance(value, Fraction):
        out += b"R"
        _write_integer(out, value.numerator)
        _write_integer(out, value.denominator)
    elif isinstance(value, str):
        out += b"S"
        _write_bytes(out, _utf8(value))
    elif isinstance(value, list | tuple):
        out += b"L" if isinstance(value, list) else b"U"
        out += _LENGTH.pack(len(value))
        for item in value:
            _write(out, item)
    elif isinstance(value, dict):
        out += b"M"
        out += _LENGTH.pack(len(value))
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"no tag for a key of type {type(key).__name__}")
            _write_bytes(out, _utf8(key))
            _write(out, item)
    else:
        raise TypeError(f"no tag for a value of type {type(value).__name__}")


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _write_bytes(out: bytearray, data: bytes) -> None:
    out += _LENGTH.pack(len(data))
    out += data


def _write_integer(out: bytearray, value: int) -> None:
    _write_bytes(out, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))


def encode_pair(first: Any, second: bytes) -> bytes:
    """A tuple of a value and of one that is encoded already."""
    return b"U" + _LENGTH.pack(2) + encode(first) + second


def decode(frame: bytes, *, trusted: bool = False) -> Any:
    """The value in `frame`. WireError when it is malformed or beyond a bound.

    `trusted` lifts the bounds on items and text, for frames that the grader itself made.
    """
    reader = _Reader(frame, trusted)
    value = reader.value(0)
    if reader.position != len(frame):
        raise WireError("bytes after the end of the value")
    return value


class _Reader:
    """One pass over a frame; each bound is checked before what it bounds is built."""

    def __init__(self, frame: bytes, trusted: bool) -> None:
        self.frame = frame
        self.position = 0
        self.trusted = trusted
        self.items = 0

    def take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self.frame):
            raise WireError("the frame ends inside a value")
        data = self.frame[self.position : end]
        self.position = end
        return data

    def count(self, number: int) -> None:
        self.items += number
        if self.items > MAX_ITEMS and not self.trusted:
            raise WireError(f"more than {MAX_ITEMS} items in one frame")

    def length(self) -> int:
        return int(_LENGTH.unpack(self.take(4))[0])

    def text(self) -> str:
        try:
            text = self.take(self.length()).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise WireError("a text that is not UTF-8") from error
        if len(text) > MAX_TEXT and not self.trusted:
            raise WireError(f"a text of {len(text)} characters")
        return text

    def integer(self) -> int:
        size = self.length()
        if size > MAX_INTEGER:
            raise WireError(f"an integer of {size} bytes")
        return int.from_bytes(self.take(size), "little", signed=True)

    def ratio(self) -> Fraction:
        numerator, denominator = self.integer(), self.integer()
        if denominator <= 0:
            raise WireError("a ratio whose denominator is not positive")
        return Fraction(numerator, denominator)

    def array(self) -> WireArray:
        dtype = self.text()
        if dtype not in ITEM_SIZES:
            raise WireError("an array of unknown dtype")
        dimensions = self.take(1)[0]
        if dimensions > MAX_DIMENSIONS:
            raise WireError(f"an array of {dimensions} dimensions")
        shape = tuple(struct.unpack("<Q", self.take(8))[0] for _ in range(dimensions))
        size = math.prod(shape)
        self.count(extent(shape))
        data_size = self.length()
        if data_size != size * ITEM_SIZES[dtype]:
            raise WireError("an array whose bytes don't fit its shape")
        return WireArray(dtype, shape, self.take(data_size))

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise WireError(f"values nested more than {MAX_DEPTH} deep")
        self.count(1)
        tag = self.take(1)
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag == b"I":
            return self.integer()
        if tag == b"D":
            return _DOUBLE.unpack(self.take(8))[0]
        if tag == b"R":
            return self.ratio()
        if tag == b"S":
            return self.text()
        if tag == b"O":
            return WireOpaque(self.text())
        if tag == b"A":
            return self.array()
        if tag == b"X" and self.trusted:
            return WireFunction(self.value(depth + 1))
        if tag in (b"L", b"U"):
            items = [self.value(depth + 1) for _ in range(self.length())]
            return items if tag == b"L" else tuple(items)
        if tag == b"M":
            return {self.text(): self.value(depth + 1) for _ in range(self.length())}
        raise WireError("an unknown tag")


_CONSTANTS = {b"N": None, b"T": True, b"F": False}


def frame(payload: bytes) -> bytes:
    """The payload with its length before it, ready to be sent."""
    return _LENGTH.pack(len(payload)) + payload


def frame_length(header: bytes, limit: int) -> int:
    """The length that a 4-byte header announces; WireError beyond `limit` bytes."""
    length = int(_LENGTH.unpack(header)[0])
    if length > limit:
        raise WireError(f"a frame of {length} bytes, where {limit} are allowed")
    return length


def read_frame(read: Callable[[int], bytes], limit: int) -> bytes:
    """One frame's payload from a blocking `read(size)`; EOFError at the end of the stream."""

    def exactly(size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = read(min(size - len(parts), 1 << 16))
            if not part:
                raise EOFError("the other side closed the channel")
            parts += part
        return bytes(parts)

    return exactly(frame_length(exactly(4), limit))
