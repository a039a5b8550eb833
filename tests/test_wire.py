"""Frames: every value that has a tag comes back equal; nothing else gets further than WireError."""

import io
import math
import random
import struct
import tracemalloc
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import wire
from grader.wire import WireArray, WireError, WireFunction, WireOpaque, decode, encode
from tests import fuzz_wire

tries = settings(deadline=None, derandomize=True, max_examples=150)

INTEGERS = st.integers(-(2 ** (8 * wire.MAX_INTEGER - 2)), 2 ** (8 * wire.MAX_INTEGER - 2))
TEXTS = st.text(st.characters(), max_size=20)  # lone surrogates among them


@st.composite
def arrays(draw):
    dtype = draw(st.sampled_from(sorted(wire.ITEM_SIZES)))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    size = math.prod(shape) * wire.ITEM_SIZES[dtype]
    return WireArray(dtype, shape, draw(st.binary(min_size=size, max_size=size)))


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    INTEGERS,
    st.floats(),
    st.builds(Fraction, INTEGERS, INTEGERS.map(lambda number: abs(number) + 1)),
    TEXTS,
    st.builds(WireOpaque, TEXTS),
    arrays(),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(TEXTS, inner, max_size=4),
    ),
    max_leaves=12,
)


def same(one, other):
    """Equal in value and in type, where NaN equals NaN and 0.0 is not -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return one == other


def nothing_else_than_bounded_values(frame):
    """Decode, and hold what comes out against each of the bounds."""
    try:
        value = wire.decode(frame)
    except WireError:
        return
    items = 0
    level, depth = [value], 0
    while level:
        assert depth <= wire.MAX_DEPTH
        items += len(level)
        following: list = []
        for item in level:
            match item:
                case WireArray(dtype, shape, data):
                    assert len(data) == math.prod(shape) * wire.ITEM_SIZES[dtype]
                    assert math.prod(max(length, 1) for length in shape) <= wire.MAX_ITEMS
                    assert len(shape) <= wire.MAX_DIMENSIONS
                    items += math.prod(shape)
                case WireOpaque(text):
                    assert len(text) <= wire.MAX_TEXT
                case list() | tuple():
                    following += item
                case dict():
                    assert all(len(key) <= wire.MAX_TEXT for key in item)
                    following += item.values()
                case str():
                    assert len(item) <= wire.MAX_TEXT
                case int() | Fraction():
                    numerator = item.numerator
                    assert max(numerator, -numerator - 1).bit_length() < 8 * wire.MAX_INTEGER
                    assert item.denominator.bit_length() < 8 * wire.MAX_INTEGER
                case _:
                    assert item is None or isinstance(item, float)
        level, depth = following, depth + 1
    assert items <= wire.MAX_ITEMS


# --- what an honest peer sends -------------------------------------------------------------------


@tries
@given(VALUES)
def test_every_value_comes_back_equal(value):
    assert same(wire.decode(wire.encode(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        127,
        128,
        -128,
        -129,
        255,
        256,
        2**63,
        -(2**63),
        0.0,
        -0.0,
        5e-324,
        float("nan"),
        float("-inf"),
        (),
        [],
        {},
        "",
        "\ud800",
        WireArray("float32", (), b"\0\0\0\0"),
        WireArray("float64", (0, 3), b""),
    ],
)
def test_border_values_come_back_equal(value):
    assert same(wire.decode(wire.encode(value)), value)


@tries
@given(VALUES, VALUES)
def test_a_pair_holds_its_second_value_as_it_was_encoded(first, second):
    pair = wire.encode_pair(first, wire.encode(second))
    assert pair == wire.encode((first, second))


@pytest.mark.parametrize("value", [1j, object(), b"bytes", {1: 2}, {1, 2}, [object()]])
def test_what_has_no_tag_is_a_type_error(value):
    with pytest.raises(TypeError):
        wire.encode(value)


def test_frames_of_the_grader_itself_may_hold_more_items_and_longer_texts():
    source = "x" * (5 * wire.MAX_TEXT)
    cells = [(source, 1), *(("", line) for line in range(wire.MAX_ITEMS))]
    assert wire.decode(wire.encode(cells), trusted=True) == cells
    with pytest.raises(WireError):
        wire.decode(wire.encode(cells))


# --- what a forger sends -------------------------------------------------------------------------


@tries
@given(VALUES, st.data())
def test_a_frame_that_is_cut_is_refused(value, data):
    frame = wire.encode(value)
    with pytest.raises(WireError):
        wire.decode(frame[: data.draw(st.integers(0, len(frame) - 1))])


@tries
@given(VALUES, st.binary(min_size=1, max_size=8))
def test_bytes_after_the_value_are_refused(value, more):
    with pytest.raises(WireError):
        wire.decode(wire.encode(value) + more)


@tries
@given(st.binary(max_size=200))
def test_random_bytes_decode_to_bounded_values_or_not_at_all(frame):
    nothing_else_than_bounded_values(frame)


@settings(tries, max_examples=400)
@given(st.lists(st.sampled_from(b"NTFIDRSOALUM\0\1\2\5\xff"), max_size=60).map(bytes))
def test_tags_in_any_order_decode_to_bounded_values_or_not_at_all(frame):
    nothing_else_than_bounded_values(frame)


@tries
@given(VALUES, st.data())
def test_a_flipped_bit_decodes_to_bounded_values_or_not_at_all(value, data):
    frame = bytearray(wire.encode(value))
    place = data.draw(st.integers(0, 8 * len(frame) - 1))
    frame[place // 8] ^= 1 << place % 8
    nothing_else_than_bounded_values(bytes(frame))


def length(number):
    return struct.pack("<I", number)


def array_frame(dtype, shape, data, dimensions=None):
    lengths = b"".join(struct.pack("<Q", number) for number in shape)
    count = bytes([len(shape) if dimensions is None else dimensions])
    return b"A" + length(len(dtype)) + dtype + count + lengths + length(len(data)) + data


LIES_ABOUT_SIZE = {
    "a text": b"S" + length(2**32 - 1) + b"abc",
    "a description": b"O" + length(2**31) + b"abc",
    "a text just within its bound": b"S" + length(4 * wire.MAX_TEXT) + b"abc",
    "an integer": b"I" + length(2**32 - 1) + b"\1",
    "an integer just within its bound": b"I" + length(wire.MAX_INTEGER) + b"\1",
    "a numerator": b"R" + length(2**30) + b"\1" + length(1) + b"\1",
    "a list": b"L" + length(2**32 - 1) + b"NNN",
    "a tuple": b"U" + length(2**32 - 1) + b"NNN",
    "a dict": b"M" + length(2**32 - 1) + length(1) + b"aN",
    "an array of one dimension": array_frame(b"float64", [2**60], b"\0" * 8),
    "an array of eight dimensions": array_frame(b"bool", [2**63] * 8, b"\0"),
    "a shape that wraps to nothing in 64 bits": array_frame(b"float64", [2**32, 2**32], b""),
    "an array without its shape": array_frame(b"bool", [], b"", dimensions=8),
}


@pytest.mark.parametrize("frame", LIES_ABOUT_SIZE.values(), ids=LIES_ABOUT_SIZE)
def test_a_length_that_lies_costs_no_memory(frame):
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            wire.decode(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize(
    "dtype", [b"", b"float16", b"complex128", b"object", b"O8", b"<f8", b"float64\0", b"Float64"]
)
def test_an_unknown_dtype_is_refused(dtype):
    with pytest.raises(WireError, match="dtype"):
        wire.decode(array_frame(dtype, [], b"\0" * 8))


@tries
@given(
    st.sampled_from(sorted(wire.ITEM_SIZES)),
    st.lists(st.integers(0, 5), max_size=3),
    st.integers(0, 1100),
)
def test_an_array_is_taken_only_when_its_bytes_fit_its_shape(dtype, shape, size):
    frame = array_frame(dtype.encode(), shape, b"\0" * size)
    if size == math.prod(shape) * wire.ITEM_SIZES[dtype]:
        assert wire.decode(frame) == WireArray(dtype, tuple(shape), b"\0" * size)
    else:
        with pytest.raises(WireError, match="fit"):
            wire.decode(frame)


@pytest.mark.parametrize("shape", [(0, 2**63), (2**63, 0), (200, 200, 0), (wire.MAX_ITEMS + 1, 0)])
def test_an_empty_array_may_not_have_millions_of_empty_rows(shape):
    with pytest.raises(WireError, match="items"):
        wire.decode(array_frame(b"float32", shape, b""))


def test_too_many_dimensions_are_refused():
    shape = [1] * (wire.MAX_DIMENSIONS + 1)
    with pytest.raises(WireError, match="dimensions"):
        wire.decode(array_frame(b"bool", shape, b"\0"))


@pytest.mark.parametrize(
    "opening", [b"L" + length(1), b"U" + length(1), b"M" + length(1) + length(0)]
)
def test_values_nested_without_end_are_refused(opening):
    wire.decode(opening * wire.MAX_DEPTH + b"N")
    for depth in (wire.MAX_DEPTH + 1, 50_000):
        with pytest.raises(WireError, match="nested"):
            wire.decode(opening * depth + b"N")


def nested(item, tag):
    return tag + length(len(item)) + b"".join(item)


@pytest.mark.parametrize(
    "frame",
    [
        nested([b"N"] * wire.MAX_ITEMS, b"L"),
        nested([nested([b"N"] * 200, b"U")] * 100, b"L"),
        array_frame(b"bool", [wire.MAX_ITEMS], b"\0" * wire.MAX_ITEMS),
        nested([array_frame(b"bool", [500], b"\0" * 500)] * 40, b"L"),
        b"M" + length(wire.MAX_ITEMS) + (length(1) + b"aN") * wire.MAX_ITEMS,
    ],
    ids=["list", "lists", "array", "arrays", "dict that repeats its key"],
)
def test_too_many_items_in_all_are_refused(frame):
    with pytest.raises(WireError, match="items"):
        wire.decode(frame)


def test_as_many_items_as_the_bound_says_are_taken():
    assert len(wire.decode(nested([b"N"] * (wire.MAX_ITEMS - 1), b"L"))) == wire.MAX_ITEMS - 1


@pytest.mark.parametrize("tag", [b"S", b"O"])
@pytest.mark.parametrize("character", ["a", "é", "\U0001f600"])
def test_a_text_is_bounded_in_characters(tag, character):
    for count, fits in ((wire.MAX_TEXT, True), (wire.MAX_TEXT + 1, False)):
        data = (character * count).encode()
        frame = tag + length(len(data)) + data
        if fits:
            wire.decode(frame)
        else:
            with pytest.raises(WireError, match="text"):
                wire.decode(frame)


def test_a_text_that_is_not_utf8_is_refused():
    with pytest.raises(WireError, match="UTF-8"):
        wire.decode(b"S" + length(1) + b"\xff")


def test_an_integer_is_bounded():
    largest = 2 ** (8 * wire.MAX_INTEGER - 1) - 1
    assert wire.decode(wire.encode(largest)) == largest
    with pytest.raises(WireError, match="integer"):
        wire.decode(wire.encode(largest + 1))


@pytest.mark.parametrize("denominator", [0, -3])
def test_a_ratio_needs_a_positive_denominator(denominator):
    frame = b"R" + wire.encode(1)[1:] + wire.encode(denominator)[1:]
    with pytest.raises(WireError, match="denominator"):
        wire.decode(frame)


def test_an_unknown_tag_is_refused():
    with pytest.raises(WireError, match="tag"):
        wire.decode(b"P")


# --- frames in a stream --------------------------------------------------------------------------


@tries
@given(st.lists(st.binary(max_size=30), max_size=5))
def test_frames_are_read_one_by_one_whatever_the_pieces(payloads):
    stream = io.BytesIO(b"".join(map(wire.frame, payloads)))

    def in_single_bytes(size):
        return stream.read(min(size, 1))

    assert [wire.read_frame(in_single_bytes, 100) for _ in payloads] == payloads
    with pytest.raises(EOFError):
        wire.read_frame(in_single_bytes, 100)


def test_a_frame_longer_than_allowed_is_refused_before_it_is_read():
    stream = io.BytesIO(length(101) + b"x" * 101)
    with pytest.raises(WireError, match="101 bytes"):
        wire.read_frame(stream.read, 100)
    assert stream.tell() == 4


def test_a_stream_that_ends_inside_a_frame_is_at_its_end():
    with pytest.raises(EOFError):
        wire.read_frame(io.BytesIO(length(3) + b"x").read, 100)


def test_forged_frames_are_bounded_values_answers_or_refused():
    found = fuzz_wire.run(random.Random(1), 2_000)
    assert set(found) == {"refused by the wire", "out of step", "no answer", "an answer"}


def test_only_the_grader_sends_functions():
    value = [WireFunction([("power", 0.5, 3.0)]), 1.0]
    assert decode(encode(value), trusted=True) == value
    with pytest.raises(WireError, match="unknown tag"):
        decode(encode(value))
