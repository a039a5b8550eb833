"""Is this answer the one due? Each rule of "Judging an answer", on answers as students give them.

Answers go the way that a worker's answers go: made plain, encoded, decoded, judged.
"""

import array
import asyncio
import collections
import enum
import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import judge, wire
from grader.answers import answer_from
from grader.inprocess import ask_namespace
from grader.judge import (
    Number,
    Numbers,
    Raises,
    Several,
    Truth,
    Truths,
    Written,
    bake,
    baked,
    judged,
    number,
    numbers,
)
from grader.model import Array, Crashed, Missing, Question, Raised, Returned, TimedOut

tries = settings(deadline=None, derandomize=True, max_examples=200)

HALF = number(0.5)
THREE = numbers([1, 2, 3])
TABLE = numbers([[1, 2, 3], [4, 5, 6]])
INFINITE, NAN = number(math.inf), number(math.nan)
PAIR = Several((number(1), numbers([[1, 2], [3, 4]])))


def returned(value):
    """The answer of a function that returns this value."""
    return ask_namespace({"f": lambda: value})(Question("f", ()))


def calling(function, *arguments):
    return ask_namespace({"f": function})(Question("f", arguments))


def raising(error):
    def function():
        raise error

    return calling(function)


def wrong(answer, due):
    verdict = judged(answer, due)
    assert verdict.wrong is not None, "judged right"
    return verdict.wrong


def assert_right(answer, due, *notes):
    verdict = judged(answer, due)
    assert verdict.wrong is None, verdict.wrong
    assert verdict.notes == notes


def assert_wrong(answer, due, kind, message):
    found = wrong(answer, due)
    assert type(found) is kind
    assert re.search(message, found.message), found.message


# --- numbers -------------------------------------------------------------------------------------


class Level(enum.IntEnum):
    THREE = 3


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        Fraction(1, 2),
        Decimal("0.5"),
        np.float16(0.5),
        np.float32(0.5),
        np.float64(0.5),
        np.longdouble(0.5),
        np.array(0.5),
        np.array(0.5, dtype=">f8"),
        jnp.float32(0.5),
        jnp.asarray(0.5),
        jnp.asarray(0.5, dtype=jnp.bfloat16),
        jnp.asarray(0.5, dtype=jnp.float16),
        jnp.asarray(0.5, dtype=jnp.float8_e4m3fn),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_half_is_a_half_in_every_type(value):
    assert_right(returned(value), HALF)
    assert_wrong(returned(value), number(0.25), judge.WrongValue, "a wrong number: 0.5")


@pytest.mark.parametrize(
    "value",
    [
        *(3, 3.0, Level.THREE, Decimal(3), Fraction(3)),
        *(np.int8(3), np.uint64(3), np.array(3), jnp.int32(3), jnp.asarray(3, dtype=jnp.int4)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_whole_number_is_right_in_every_type(value):
    assert_right(returned(value), number(3))


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), 10**300])
def test_large_integers_are_compared_exactly(value):
    assert_right(returned(value), number(value))
    assert_wrong(returned(value), number(value + 1), judge.WrongValue, "wrong number")


@tries
@given(
    st.fractions(-1000, 1000, max_denominator=1000),
    st.fractions(0, 10, max_denominator=1000),
    st.fractions(-20, 20, max_denominator=1000),
)
def test_a_number_is_right_exactly_within_its_bound(value, bound, off):
    due = number(value, bound)
    if abs(off) <= bound:
        assert_right(returned(value + off), due)
    else:
        assert_wrong(returned(value + off), due, judge.WrongValue, "wrong number")


def test_the_bound_itself_is_within_the_bound_and_a_hair_beyond_is_not():
    due = number(1, Fraction(1, 2**24))
    assert_right(returned(1 + 2.0**-24), due)
    assert_right(returned(1 - 2.0**-24), due)
    assert_wrong(returned(math.nextafter(1 + 2.0**-24, 2)), due, judge.WrongValue, "1.0000000596")


def test_a_long_exact_computation_is_as_good_as_a_short_one():
    third = Fraction(1, 3) + Fraction(1, 7**3000)
    due = number(Fraction(1, 3), Fraction(1, 2**24))
    assert_right(returned(third), due)
    assert_right(returned([third, -third]), Numbers((2,), (due, number(-due.value, due.bound))))
    assert_right(returned(Decimal("0.5" + "0" * 1500)), number(0.5))
    assert_right(returned(Decimal("1e300")), number(10**300))
    assert_right(returned(Decimal("0e9999")), number(0))


@pytest.mark.parametrize(
    "value", [np.array([0.5]), jnp.asarray([0.5]), [0.5], (0.5,), [jnp.asarray(0.5)]]
)
def test_one_item_where_a_scalar_is_due_is_right_with_a_note(value):
    assert_right(returned(value), HALF, "has shape (1,) where a scalar is due")


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (np.array([[0.5]]), r"\(1, 1\)"),
        ([[0.5]], r"\(1, 1\)"),
        ([np.array([0.5])], r"\(1, 1\)"),
        ([0.5, 0.5], r"\(2,\)"),
        (np.full((2, 3), 0.5), r"\(2, 3\)"),
        ([], r"\(0,\)"),
        (np.array([]), r"\(0,\)"),
        (np.zeros((0, 1)), r"\(0, 1\)"),
    ],
)
def test_another_shape_where_a_scalar_is_due_is_wrong_and_named(value, shape):
    assert_wrong(returned(value), HALF, judge.WrongShape, f"shape {shape} where a single number")


@pytest.mark.parametrize("value", [True, False, np.True_, np.array(True), jnp.asarray(True)])
@pytest.mark.parametrize("due", [number(1), number(0)])
def test_a_truth_value_is_no_number(value, due):
    assert_wrong(returned(value), due, judge.WrongKind, "a truth value where a number is due")


def test_truth_values_are_no_numbers_in_an_array_either():
    due = numbers([1, 0])
    for value in ([True, False], [1, False], np.array([True, False])):
        assert_wrong(returned(value), due, judge.WrongKind, "truth value")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_a_number_that_is_not_finite_is_wrong_where_a_finite_one_is_due(value):
    assert_wrong(returned(value), HALF, judge.NotFinite, "^not finite: (nan|inf|-inf)$")
    assert_wrong(returned(jnp.asarray([value])), HALF, judge.NotFinite, "^not finite")
    assert_wrong(returned([1, 2, value]), THREE, judge.NotFinite, "^not finite at index 2: ")


def test_decimals_that_are_no_numbers_are_not_finite():
    for value in (Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")):
        assert_wrong(returned(value), HALF, judge.NotFinite, "^not finite: (nan|-inf)$")


def test_a_bound_however_wide_lets_nothing_in_that_is_not_finite():
    for value in (math.nan, math.inf):
        assert_wrong(returned(value), number(0, Fraction(10) ** 400), judge.NotFinite, "not finite")


@pytest.mark.parametrize(
    "value",
    [math.inf, np.float32(math.inf), jnp.asarray(math.inf), Decimal("Infinity"), [math.inf]],
)
def test_only_the_infinity_of_the_due_sign_is_that_infinity(value):
    assert judged(returned(value), INFINITE).wrong is None
    assert_wrong(returned(value), number(-math.inf), judge.WrongValue, "wrong number: inf")


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, 3.4e38, 1.7e308, 10**400, Fraction(10**400)]
)
def test_nothing_finite_and_no_nan_is_infinite(value):
    assert_wrong(returned(value), INFINITE, judge.WrongValue, "wrong number")


def test_nan_is_due_where_it_is_and_nothing_else_is_nan():
    assert_right(returned(math.nan), NAN)
    assert_right(returned(jnp.asarray([1.0, math.nan, 3.0])), numbers([1, math.nan, 3]))
    for value in (0.0, math.inf):
        assert_wrong(returned(value), NAN, judge.WrongValue, "wrong number")


# --- arrays --------------------------------------------------------------------------------------

Row = collections.namedtuple("Row", "first second third")  # as a student writes it


@pytest.mark.parametrize(
    "value",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        Row(1, 2, 3),
        np.array([1, 2, 3]),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([3, 2, 1])[::-1],
        jnp.asarray([1.0, 2.0, 3.0]),
        [jnp.float32(1), np.int64(2), Fraction(3)],
        range(1, 4),
        array.array("d", [1, 2, 3]),
        memoryview(array.array("f", [1, 2, 3])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_array_is_right_in_every_type(value):
    assert_right(returned(value), THREE)


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2, 3], [4, 5, 6]],
        ((1, 2, 3), (4, 5, 6)),
        [np.array([1, 2, 3]), jnp.asarray([4, 5, 6])],
        np.array([[1, 2, 3], [4, 5, 6]], order="F"),
        np.array([[1, 4], [2, 5], [3, 6]]).T,
    ],
)
def test_rows_are_rows_in_every_type(value):
    assert_right(returned(value), TABLE)


@pytest.mark.parametrize(
    ("value", "due"),
    [
        (1.0, numbers([1, 1, 1])),
        (np.ones(1), numbers([1, 1, 1])),
        (np.ones((1, 3)), numbers([1, 1, 1])),
        (np.ones((3, 1)), numbers([1, 1, 1])),
        (np.ones(3), numbers([[1, 1, 1], [1, 1, 1]])),
        (np.ones((3, 2)), numbers([[1, 1, 1], [1, 1, 1]])),
        (np.ones(6), numbers([[1, 1, 1], [1, 1, 1]])),
        (np.ones(2), numbers([1, 1, 1])),
        (np.ones(4), numbers([1, 1, 1])),
        (1.0, numbers([1])),
        ([], numbers([1, 1, 1])),
        (np.zeros((0, 3)), numbers([1, 1, 1])),
    ],
)
def test_no_other_shape_is_broadcast_or_reshaped_and_both_are_named(value, due):
    found = re.escape(str(np.shape(value)))
    message = f"shape {found} where shape {re.escape(str(due.shape))} is due"
    assert_wrong(returned(value), due, judge.WrongShape, message)


@pytest.mark.parametrize(
    "value",
    [[], (), np.array([]), np.array([], dtype=bool), np.array([], dtype=object), jnp.zeros(0)],
)
def test_empty_is_right_where_nothing_is_due(value):
    assert_right(returned(value), numbers([]))


def test_where_nothing_is_due_something_is_wrong():
    values: list = [0, [0], [[]], np.zeros((0, 2)), None]
    for value in values:
        assert wrong(returned(value), numbers([]))


@pytest.mark.parametrize(
    "value", [[[1, 2, 3], [4, 5]], [[1, 2, 3], 4], [[], [1]], [np.ones(3), np.ones((3, 1))]]
)
def test_ragged_rows_are_wrong(value):
    assert_wrong(returned(value), TABLE, judge.WrongShape, "rows of different shapes")


def test_many_different_rows_are_told_in_few_words():
    rows = [np.zeros((0, length)) for length in range(100)]
    assert len(wrong(returned(rows), TABLE).message) < 200


def test_the_place_of_a_wrong_item_is_named():
    assert_wrong(returned([1, 2, 4]), THREE, judge.WrongValue, "wrong number at index 2: 4.0")
    table = [[1, 2, 3], [4, 7, 6]]
    assert_wrong(returned(table), TABLE, judge.WrongValue, "number at row 1, column 1: 7.0")
    cube = numbers([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    values: np.ndarray = np.arange(1, 9).reshape(2, 2, 2)
    assert_right(returned(values), cube)
    values[1, 0, 1] = 0
    assert_wrong(returned(values), cube, judge.WrongValue, r"at index \(1, 0, 1\): 0.0")
    assert_wrong(returned(2.0), Numbers((), (number(1),)), judge.WrongValue, "number: 2.0")


# --- truth values --------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, np.True_, np.array(True), jnp.asarray(True)])
def test_a_truth_value_is_right_in_every_type(value):
    assert_right(returned(value), Truth(True))
    assert_wrong(returned(value), Truth(False), judge.WrongValue, "a wrong truth value: True")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1, "1"),
        (1.0, "1.0"),
        (np.float32(1), "1.0"),
        (jnp.int32(1), "1"),
        (Fraction(1), "1.0"),
        (Decimal(1), "1.0"),
    ],
)
def test_one_and_zero_pass_for_truth_values_with_a_note(value, told):
    assert_right(returned(value), Truth(True), f"returned {told} where a truth value is due")
    assert judged(returned(value - 1), Truth(False)).wrong is None
    assert_wrong(returned(value - 1), Truth(True), judge.WrongValue, "wrong truth value: False")


def test_one_truth_value_in_an_array_is_right_with_a_note():
    note = "has shape (1,) where a scalar is due"
    assert_right(returned([True]), Truth(True), note)
    assert_right(returned(jnp.asarray([True])), Truth(True), note)


@pytest.mark.parametrize("value", [2, -1, 0.5, math.nan, math.inf, 1e-300])
def test_other_numbers_are_no_truth_values(value):
    assert_wrong(returned(value), Truth(True), judge.WrongKind, "neither true nor false")


@pytest.mark.parametrize("value", ["True", "yes", None, {}])
def test_other_things_are_no_truth_values_however_true(value):
    assert_wrong(returned(value), Truth(True), judge.WrongKind, "where a truth value is due")


def test_several_truth_values_are_not_one():
    for value in ([True, True], np.array([[True]]), []):
        assert_wrong(returned(value), Truth(True), judge.WrongShape, "single truth value")


@pytest.mark.parametrize(
    "value", [[True, False], (1, 0.0), np.array([True, False]), [jnp.asarray(True), np.False_]]
)
def test_a_row_of_truth_values_is_right_in_every_type(value):
    assert judged(returned(value), Truths((True, False))).wrong is None
    for other in ((True, True), (False, False)):
        assert_wrong(returned(value), Truths(other), judge.WrongValue, "a wrong truth value")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([True], judge.WrongShape),
        ([True, False, False], judge.WrongShape),
        ([[True, False]], judge.WrongShape),
        (True, judge.WrongShape),
        ([], judge.WrongShape),
        ([1, 2], judge.WrongKind),
        ([True, None], judge.WrongKind),
        (["True", "False"], judge.WrongKind),
        (None, judge.WrongKind),
    ],
)
def test_other_rows_are_no_rows_of_truth_values(value, kind):
    assert type(wrong(returned(value), Truths((True, False)))) is kind


# --- several values ------------------------------------------------------------------------------

Run = collections.namedtuple("Run", "weight history")
HISTORY = [[1, 2], [3, 4]]


@pytest.mark.parametrize("kind", [tuple, list, lambda pair: Run(*pair)])
def test_tuple_list_and_named_tuple_are_the_same_where_several_are_due(kind):
    assert_right(returned(kind((1, np.array(HISTORY)))), PAIR)
    assert_wrong(returned(kind((2, HISTORY))), PAIR, judge.WrongValue, "a wrong number: 2.0")
    assert_wrong(returned(kind((1, [[1, 2], [3, 5]]))), PAIR, judge.WrongValue, "row 1, column 1")


@pytest.mark.parametrize("value", [(), (1,), (1, HISTORY, 0), [1, HISTORY, None]])
def test_another_number_of_parts_is_wrong_and_named(value):
    message = f"{len(value)} values where 2 are due"
    assert_wrong(returned(value), PAIR, judge.WrongShape, message)


@pytest.mark.parametrize("value", [1, None, np.ones(2), "ab", {"weight": 1, "history": HISTORY}])
def test_what_is_no_sequence_of_parts_is_wrong(value):
    assert_wrong(returned(value), PAIR, judge.WrongKind, "2 values are due, as a tuple; found")


def test_a_part_that_is_judged_elsewhere_may_be_anything():
    due = Several((None, number(1)))
    assert_right(returned(("anything", 1)), due)
    assert_wrong(returned(("anything", 2)), due, judge.WrongValue, "wrong number")


def test_a_note_about_a_part_is_kept():
    assert_right(returned(([1.0], HISTORY)), PAIR, "has shape (1,) where a scalar is due")


# --- things that are no answers ------------------------------------------------------------------


async def coroutine():
    return 0.5


def refused():
    return {
        "nothing": (None, r"nothing \(None; is a return missing\?\)"),
        "text": ("0.5", "text"),
        "generator": ((item for item in [0.5]), "a generator .did you mean return"),
        "coroutine": (coroutine(), "a coroutine .write def without async"),
        "object": (object(), "an object of type object"),
        "iterator": (iter([0.5]), "an object of type list_iterator"),
        "bytes": (b"0.5", "an object of type bytes"),
        "set": ({0.5}, "an object of type set"),
        "function": (math.sqrt, "a function or class"),
        "class": (Fraction, "a function or class"),
        "module": (math, "an object of type module"),
        "dict": ({"a": 0.5}, "a dict"),
        "complex": (0.5 + 0j, "a complex number"),
        "complex array": (np.array(0.5 + 0j), "an array of dtype complex128"),
        "objects": (np.array([0.5], dtype=object), "an array of dtype object"),
        "texts": (np.array(["0.5"]), "an array of dtype <U3"),
        "random key": (jax.random.key(0), "an array of dtype key<fry>"),
        "dates": (np.array(["2020-01-01"], dtype="datetime64[D]"), "an array of dtype datetime64"),
        "masked": (np.ma.masked_array([0.5, 9], mask=[False, True]), "a masked array"),
        "large array": (np.zeros(wire.MAX_ITEMS + 1), "an array of shape .20001,."),
        "endless rows": (np.zeros((10**12, 0)), "an array of shape .1000000000000, 0."),
        "large list": ([0.5] * (wire.MAX_ITEMS + 1), "an answer of more than 20000 items"),
        "large range": (range(2**80), "an answer of more than 20000 items"),
        "large integer": (10**5000, "an integer of 16610 bits"),
        "large fraction": (Fraction(10**5000, 3), "a Fraction of extreme size"),
        "large decimal": (Decimal("1e5000"), "a Decimal of extreme size"),
        "long decimal": (Decimal("0." + "5" * 3000), "a Decimal of extreme size"),
    }


REFUSED = refused()


@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_answer_is_of_the_wrong_kind_and_named(name):
    value, words = REFUSED[name]
    assert_wrong(
        returned(value),
        HALF,
        judge.WrongKind,
        f"^{words}.*where a number is due(: write it without quotes, and decimals with a point)?$",
    )
    assert_wrong(returned(value), THREE, judge.WrongKind, f"^{words}.*where an array is due$")


def test_an_async_function_and_a_generator_function_are_told_what_they_are():
    async def waits():
        await asyncio.sleep(0)

    def yields():
        yield 0.5

    assert_wrong(calling(yields), HALF, judge.WrongKind, "did you mean return instead of yield?")
    assert_wrong(calling(waits), HALF, judge.WrongKind, "write def without async")


@pytest.mark.parametrize("value", [None, "text", object()])
def test_what_is_no_number_makes_an_array_wrong_too(value):
    assert_wrong(returned([1, 2, value]), THREE, judge.WrongKind, "where an array is due")


class Word(str):
    pass


def test_text_is_text_whatever_holds_it():
    for value in (
        Word("why"),
        "why",
        np.str_("why"),
        np.array("why"),
        np.where(True, "why", "not"),
    ):
        assert wrong(returned(value), Written()).message == "why"


# --- texts for a person --------------------------------------------------------------------------


def test_a_text_is_for_a_person_and_an_empty_one_is_no_attempt():
    assert_wrong(returned("since m is"), Written(), judge.NeedsPerson, "since m is")
    assert_wrong(returned(" \n"), Written(), judge.NotAttempted, "empty")
    parts = returned(["since m", "is"])
    assert_wrong(parts, Written(), judge.WrongKind, "leave out the commas between its parts")
    for value in (None, 3, ["text", 1], True):
        assert_wrong(returned(value), Written(), judge.WrongKind, "where a text is due")


# --- exceptions ----------------------------------------------------------------------------------


class OwnValueError(ValueError):
    pass


class Pretender(Exception):
    pass


Pretender.__name__ = Pretender.__qualname__ = "ValueError"


def test_the_exception_due_and_its_subclasses_are_right_whatever_they_say():
    for error in (
        ValueError("any"),
        ValueError(),
        OwnValueError("any"),
        json.JSONDecodeError("", "", 0),
    ):
        assert_right(raising(error), Raises("ValueError"))
    assert_right(raising(FileNotFoundError()), Raises("OSError"))


@pytest.mark.parametrize("error", [TypeError("t"), Exception("e"), KeyError("k"), SystemExit(1)])
def test_another_exception_is_wrong_and_both_are_named(error):
    message = f"raised {type(error).__name__} where ValueError is due"
    assert_wrong(raising(error), Raises("ValueError"), judge.NoException, message)


def test_a_class_that_is_merely_named_like_the_one_due_is_not_it():
    answer = raising(Pretender("no"))
    assert answer.type_name == "ValueError"
    assert_wrong(answer, Raises("ValueError"), judge.NoException, "where ValueError is due")


def test_a_returned_exception_was_not_raised():
    for value in (ValueError("no"), ValueError, None, 0.5):
        assert_wrong(returned(value), Raises("ValueError"), judge.NoException, "returned a value")


def test_an_exception_where_a_value_is_due_is_told_with_its_message_and_line():
    answer = Raised("TypeError", ("TypeError", "Exception"), "no len()", 12)
    for due in (HALF, THREE, Truth(True), PAIR, Written()):
        assert_wrong(
            answer, due, judge.UnexpectedException, r"^raised TypeError: no len\(\) \(line 12\)$"
        )


def test_an_exception_whose_own_message_fails_is_told_all_the_same():
    class Speechless(Exception):
        def __str__(self):
            raise RuntimeError

    assert_wrong(raising(Speechless()), HALF, judge.UnexpectedException, "could not be read")


@pytest.mark.parametrize("due", [HALF, Raises("ValueError"), Raises("RuntimeError"), Truth(True)])
def test_not_implemented_is_not_attempted_whatever_is_due(due):
    class Todo(NotImplementedError):
        pass

    for error in (NotImplementedError(), NotImplementedError("TODO 1"), Todo()):
        assert_wrong(raising(error), due, judge.NotAttempted, "still the scaffold's")


# --- answers that are none -----------------------------------------------------------------------


@pytest.mark.parametrize("due", [HALF, Raises("ValueError"), PAIR])
def test_no_answer_is_never_right(due):
    assert_wrong(Missing(), due, judge.NotAttempted, "no such name")
    assert_wrong(Missing("why so"), due, judge.NotAttempted, "why so")
    assert_wrong(TimedOut(), due, judge.OutOfTime, "time limit")
    assert_wrong(Crashed("by signal 11"), due, judge.ProcessEnded, "by signal 11")


@pytest.mark.parametrize("due", [HALF, THREE, Raises("ValueError")])
def test_a_changed_argument_is_wrong_however_right_the_value(due):
    answer = Returned(0.5, changed_argument=True)
    assert_wrong(answer, due, judge.ChangedArgument, "changes its argument; work on a copy")


def test_a_function_that_changes_a_dict_it_was_given_is_found_out():
    record = {"weight": [1.0, 2.0], "loss": [3.0]}

    def adds(given):
        given["mean"] = 0.5
        return 0.5

    def removes(given):
        del given["loss"]
        return 0.5

    def replaces(given):
        given["loss"] = given["loss"] * 1
        return 0.5

    def copies(given):
        given = dict(given)
        given.clear()
        return 0.5

    for function in (adds, removes, replaces):
        assert wrong(calling(function, record), HALF).message.startswith("the function changes")
    assert_right(calling(copies, record), HALF)
    assert record == {"weight": [1.0, 2.0], "loss": [3.0]}


# --- what is said --------------------------------------------------------------------------------

SECRET = Fraction(12345, 67)  # 184.2537313432836
SECRET_TEXT = "184.25"


@pytest.mark.parametrize(
    "answer",
    [
        returned(1.0),
        returned([1.0]),
        returned([1.0, 2.0]),
        returned(math.nan),
        returned(math.inf),
        returned(None),
        returned("text"),
        returned(True),
        returned(object()),
        returned((1.0, [[1.0, 2.0]])),
        Returned(1.0, changed_argument=True),
        Raised("TypeError", ("TypeError",), "no", 3),
        Missing(),
        TimedOut(),
        Crashed("how"),
    ],
)
@pytest.mark.parametrize(
    "due",
    [
        number(SECRET),
        numbers([SECRET]),
        numbers([SECRET, SECRET]),
        numbers([[SECRET, SECRET]]),
        Several((number(SECRET), numbers([[SECRET, SECRET]]))),
    ],
)
def test_a_message_never_holds_the_value_due(answer, due):
    found = wrong(answer, due)
    assert SECRET_TEXT not in found.message
    assert SECRET_TEXT not in found.got
    assert all(SECRET_TEXT not in note for note in judged(answer, due).notes)


def test_what_is_due_stands_in_its_own_field():
    found = wrong(returned(1.0), number(SECRET, Fraction(1, 1000)))
    assert (found.got, found.due, found.bound) == ("1.0", "184.2537313432836", "0.001")


@tries
@given(st.fractions(0, 1000, max_denominator=10**6))
def test_a_bound_is_told_in_two_digits_and_never_too_small(bound):
    told = Fraction(judge.brief(bound))
    assert bound <= told <= bound * Fraction(111, 100)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (jnp.float32(16777216), "16777216.0"),
        (np.finfo(np.float32).max, "3.4028235e+38"),
        (np.float32(1e-45), "1e-45"),
        (jnp.nan_to_num(jnp.asarray([jnp.inf, -jnp.inf])), "[3.4028235e+38, -3.4028235e+38]"),
        (10**400, "10000000000000000000...0000000000"),
        ([10**400, Fraction(1, 10**400)], "(10000000000000000000...0000000000, 1.00000e-400)"),
        (np.zeros((2, 0)), "[[], []]"),
        ({"a": (1, None)}, "{'a': (1, None)}"),
        ("text\n\x1b[31m", "'text\\n\\x1b[31m'"),
    ],
)
def test_a_value_is_shown_as_a_person_writes_it(value, text):
    assert judge.shown(returned(value).value) == text


def test_a_value_is_shown_in_few_words():
    assert len(judge.shown(returned(np.arange(10_000)).value)) <= 600
    assert len(judge.shown(returned(["x" * 10_000] * 50).value)) <= 600


# --- relations between answers -------------------------------------------------------------------


class Heard:
    """An answer in a check's hands."""

    def __init__(self, answer):
        self.answer = answer
        self.verdicts = []

    def heard(self, verdict, due):
        self.verdicts.append((verdict, due))


def test_a_right_answer_is_heard_with_its_notes():
    asked = Heard(returned([0.5]))
    judge.expect(asked, HALF)
    [(verdict, due)] = asked.verdicts
    assert verdict.notes == ("has shape (1,) where a scalar is due",)
    assert due is HALF


def test_a_wrong_answer_ends_the_check_and_is_heard():
    asked = Heard(returned(0.25))
    with pytest.raises(judge.WrongValue) as caught:
        judge.expect(asked, HALF)
    assert caught.value.asked is asked
    assert asked.verdicts[0][0].wrong is caught.value


def test_numbers_can_be_taken_from_answers():
    assert judge.finite_number(Heard(returned(np.float32(0.5)))) == Fraction(1, 2)
    assert judge.finite_numbers(Heard(returned([[1, 2]])), (1, 2)) == [1, 2]
    pair = returned((0.5, HISTORY))
    assert judge.finite_part(Heard(pair), 0, 2, None) == [Fraction(1, 2)]
    assert judge.finite_part(Heard(pair), 1, 2, (2, 2)) == [1, 2, 3, 4]


@pytest.mark.parametrize("value", [math.nan, None, "text", True, [[1, 2], 3], 1j])
def test_numbers_are_taken_from_nothing_else_and_no_false_value_is_called_due(value):
    for take in (
        judge.finite_number,
        lambda asked: judge.finite_numbers(asked, (3,)),
        lambda asked: judge.finite_part(asked, 0, 2, None),
    ):
        asked = Heard(returned(value))
        with pytest.raises(judge.Wrong) as caught:
            take(asked)
        assert (
            caught.value.due.startswith("finite numbers") or caught.value.due == "a finite number"
        )
        assert caught.value.asked is asked
        assert asked.verdicts[0][0].wrong is caught.value


def test_a_table_is_taken_as_strict_json_or_not_at_all():
    table = [[1, 2.5], [math.inf, math.nan]]
    assert judge.rows(returned((0, table)), 1, (2, 2)) == [[1.0, 2.5], ["inf", "nan"]]
    assert judge.rows(returned((0, [[10**400, -Fraction(10**400)]])), 1, (1, 2)) == [
        ["inf", "-inf"]
    ]
    for answer in (returned((0, [1])), returned(0), returned(None), returned((0,)), TimedOut()):
        assert judge.rows(answer, 1, (2, 2)) is None


# --- forged answers ------------------------------------------------------------------------------

DUES: list[judge.Due] = [
    *(HALF, THREE, TABLE, INFINITE, NAN, numbers([])),
    *(Truth(True), Truths(()), Truths((True, False))),
    *(PAIR, Several(()), Several((None, Truth(False)))),
    *(Written(), Raises("ValueError")),
]

FORGED = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**4000), 2**4000),
        st.floats(),
        st.fractions(),
        st.text(st.characters(), max_size=5),
        st.binary(min_size=4, max_size=4).map(lambda data: wire.WireArray("float32", (), data)),
        st.builds(wire.WireOpaque, st.text(max_size=5)),
        st.sampled_from(
            [
                wire.WireArray("float64", (), b"\xff" * 8),
                wire.WireArray("float32", (1,), b"\0\0\x80\x7f"),
                wire.WireArray("float32", (2,), b"\xff\xff\x7f\x7f\1\0\0\0"),
                wire.WireArray("bool", (2,), b"\2\xff"),
                wire.WireArray("uint64", (1, 1), b"\xff" * 8),
                wire.WireArray("float64", (0, 5), b""),
                wire.WireArray("float64", (5, 0, 2), b""),
            ]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=2),
    ),
    max_leaves=8,
)


@settings(tries, max_examples=400)
@given(FORGED, st.booleans())
def test_judging_never_fails_whatever_was_forged(value, changed):
    reply = wire.decode(wire.encode(("returned", value, changed)))
    answer = answer_from(reply)
    for due in DUES:
        verdict = judged(answer, due)
        if verdict.wrong is not None:
            texts = (verdict.wrong.message, verdict.wrong.got, verdict.wrong.due)
            assert all(len(text.encode("utf-8")) < 30_000 for text in texts)
    judge.rows(answer, 0, (1, 1))


@pytest.mark.parametrize(
    "reply",
    [
        None,
        (),
        ("returned",),
        ("returned", 1.0),
        ("returned", 1.0, 1),
        ("returned", 1.0, False, 0),
        ("raised", "E", "kinds", "message", 1),
        ("raised", "E", [], "message", "1"),
        ("raised", 1, [], "message", None),
        ("done", 1),
        "returned",
        {"returned": 1},
        wire.WireArray("bool", (), b"\1"),
    ],
)
def test_a_reply_that_no_worker_sends_is_refused(reply):
    with pytest.raises(ValueError, match="unknown reply"):
        answer_from(reply)


def test_a_forged_exception_is_bounded_and_writable():
    kinds = ["ValueError", 3, None, *["E"] * 1000]
    answer = answer_from(("raised", "n" * 60_000, kinds, "\ud800" + "m" * 60_000, 10**1000))
    assert isinstance(answer, Raised)
    assert len(answer.type_name) + len(answer.message) < 10_000
    assert len(answer.kinds) <= 20
    assert answer.line is None
    answer.message.encode("utf-8")


def test_a_forged_reason_for_a_missing_name_is_bounded_and_writable():
    answer = answer_from(("missing", "\ud800" + "m" * 60_000))
    assert isinstance(answer, Missing)
    assert len(answer.why.encode("utf-8")) < 10_000


def test_arrays_are_unpacked_with_their_kind():
    assert returned(jnp.asarray([1, 2])).value == Array("int", (2,), (1, 2))
    assert returned(np.float32(0.5)).value == Array("float32", (), (0.5,))
    assert returned(np.array([True, False])).value == Array("bool", (2,), (True, False))


# --- dues as data --------------------------------------------------------------------------------

DUE_NUMBERS = st.one_of(
    st.builds(number, st.fractions(), st.fractions(min_value=0, max_value=10)),
    st.sampled_from([number(math.inf), number(-math.inf)]),
)
BAKEABLE = st.one_of(
    DUE_NUMBERS,
    st.lists(DUE_NUMBERS, max_size=4).map(lambda row: Numbers((len(row),), tuple(row))),
    st.builds(Truth, st.booleans()),
    st.builds(Truths, st.lists(st.booleans(), max_size=3).map(tuple)),
    st.sampled_from([Written(), Raises("ValueError"), Raises("FloatingPointError")]),
    st.lists(st.one_of(st.none(), DUE_NUMBERS, st.builds(Truth, st.booleans())), max_size=3).map(
        lambda parts: Several(tuple(parts))
    ),
)


def due_numbers(due):
    match due:
        case Number():
            return [due]
        case Numbers(_, items):
            return list(items)
        case Several(parts):
            return [found for part in parts if part is not None for found in due_numbers(part)]
    return []


def without_numbers(due):
    match due:
        case Number():
            return "number"
        case Numbers(shape, _):
            return shape
        case Several(parts):
            return [part if part is None else without_numbers(part) for part in parts]
    return due


@tries
@given(BAKEABLE)
def test_what_is_baked_is_strict_json_and_accepts_all_that_was_right(due):
    again = baked(json.loads(json.dumps(bake(due), allow_nan=False)))
    assert without_numbers(again) == without_numbers(due)
    for before, after in zip(due_numbers(due), due_numbers(again), strict=True):
        if isinstance(before.value, float):
            assert before == after
        else:
            assert abs(before.value - after.value) + before.bound <= after.bound
            assert after.bound - before.bound <= abs(
                before.value
            ) / 2**51 + after.bound / 2**51 + Fraction(1, 2**1070)


def test_nan_is_baked():
    again = baked(json.loads(json.dumps(bake(numbers([1, math.nan])), allow_nan=False)))
    assert_right(returned([1, math.nan]), again)
    assert wrong(returned([1, 0]), again)


@pytest.mark.parametrize("data", [{}, {"value": 1}, {"shape": [1], "items": [{"truth": True}]}])
def test_data_that_was_never_baked_is_refused(data):
    with pytest.raises(ValueError, match=r"baked|expected"):
        baked(data)


def test_a_due_float_keeps_its_bound_however_it_was_made():
    due = Number(0.5, Fraction(1, 8))
    assert_right(returned(0.6), due)
    assert wrong(returned(0.7), due)
    assert_right(returned(0.6), baked(bake(due)))
