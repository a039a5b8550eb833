"""One call of a student's function, in this process: arguments, switches, exceptions, changes."""

import ctypes
import json
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grader import wire
from grader.inprocess import ask_namespace
from grader.model import Array, Formula, Missing, Question, Raised, Returned
from grader.worker import calling


def ask(function, *arguments):
    return ask_namespace({"f": function, "__file__": __file__})(Question("f", arguments))


def given(*arguments):
    """The arguments as the function gets them."""
    received = []
    ask(lambda *values: received.extend(values), *arguments)
    return received


# --- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.5, 3, True, None, "monotone", float("nan")])
def test_a_plain_value_arrives_as_it_is(value):
    [got] = given(value)
    assert got is value or type(got) is type(value)


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        ([1.0, 2.0], "float32", (2,)),
        ([1, 2], "float32", (2,)),
        ([0.1], "float32", (1,)),
        ([[1.0, 2.0], [3.0, 4.0]], "float32", (2, 2)),
        ([True, False], "bool", (2,)),
        ([float("nan"), float("inf")], "float32", (2,)),
        ([], "float32", (0,)),
    ],
)
def test_a_list_arrives_as_a_jax_array(value, dtype, shape):
    [got] = given(value)
    assert isinstance(got, jax.Array)
    assert (got.dtype, got.shape) == (dtype, shape)
    np.testing.assert_array_equal(got, np.asarray(value, dtype=dtype))


def test_a_dict_arrives_as_a_dict_of_arguments_in_its_order():
    [got] = given({"weight": [1.0], "loss": [[2.0]], "norm": 0.5, "clip": None})
    assert list(got) == ["weight", "loss", "norm", "clip"]
    assert isinstance(got["norm"], jax.Array)
    assert got["norm"].shape == ()
    assert isinstance(got["weight"], jax.Array)
    assert got["loss"].shape == (1, 1)
    assert got["clip"] is None


def test_each_call_gets_copies_of_its_own():
    kept = []

    def keeps(features, record):
        kept.append((features, record))
        return float(features[0])

    question = Question("f", ([1.0, 2.0], {"a": [3.0]}))
    asking = ask_namespace({"f": keeps})
    assert asking(question) == asking(question) == Returned(1.0)
    (first, record), (second, other_record) = kept
    assert first is not second
    assert record is not other_record
    assert record["a"] is not other_record["a"]


# --- changed arguments ---------------------------------------------------------------------------


def test_an_item_of_an_argument_cannot_be_set_and_the_failure_is_the_students():
    def sets_in_place(features):
        features[0] = 0.0

    def sets_in_place_in_numpy(features):
        np.asarray(features)[0] = 0.0

    assert ask(sets_in_place, [1.0]).type_name == "TypeError"
    assert ask(sets_in_place_in_numpy, [1.0]).type_name == "ValueError"


def test_an_argument_that_is_changed_by_force_is_noticed():
    def overwrites(features):
        address = features.unsafe_buffer_pointer()
        ctypes.memset(address, 0, 4)
        return 0.5

    assert ask(overwrites, [1.0, 2.0]) == Returned(0.5, changed_argument=True)
    assert ask(lambda record: overwrites(record["a"]), {"a": [1.0]}).changed_argument


def test_an_argument_that_is_used_up_is_changed():
    def gives_away(features):
        return float(jax.jit(lambda x: x * 2, donate_argnums=0)(features)[0])

    assert ask(gives_away, [1.0, 2.0]) == Returned(2.0, changed_argument=True)


def test_reading_copying_and_returning_an_argument_changes_nothing():
    def reads(features, record):
        copy = np.array(features)
        copy[0] = 9
        changed = dict(record, more=1)
        return features, changed["more"], np.asarray(features).sum()

    answer = ask(reads, [1.0, float("nan")], {"a": [float("nan")]})
    assert isinstance(answer, Returned)
    assert not answer.changed_argument


# --- switches ------------------------------------------------------------------------------------

SWITCHES = {
    "jax_debug_nans": True,
    "jax_debug_infs": True,
    "jax_transfer_guard": "disallow",
    "jax_transfer_guard_host_to_device": "disallow",
    "jax_transfer_guard_device_to_host": "disallow",
    "jax_transfer_guard_device_to_device": "disallow",
}
DEFAULTS = {name: getattr(jax.config, name) for name in SWITCHES}


@pytest.fixture
def _defaults_afterwards():
    yield
    for name, value in DEFAULTS.items():
        jax.config.update(name, value)


def divides(features, weight):
    warnings.warn("a student's", stacklevel=1)
    _ = np.float64(1.0) / np.float64(0.0), np.float32(3e38) * np.float32(10)
    return jnp.log(features) / 0.0, jnp.asarray([1.0, 2.0]) * weight, float(features[0]) * weight


@pytest.mark.usefixtures("_defaults_afterwards")
@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_of_jax_does_not_make_a_right_answer_wrong_and_is_given_back(name):
    jax.config.update(name, SWITCHES[name])
    answer = ask(divides, [0.0, float("nan")], 2.0)
    assert getattr(jax.config, name) == SWITCHES[name]
    assert isinstance(answer, Returned), answer


def test_numpy_errors_and_warnings_do_not_make_a_right_answer_wrong_and_are_given_back():
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = ask(divides, [0.0, float("nan")], 2.0)
        assert set(np.geterr().values()) == {"raise"}
        with pytest.raises(UserWarning, match="still an error"):
            warnings.warn("still an error", stacklevel=1)
    assert isinstance(answer, Returned), answer


@pytest.mark.usefixtures("_defaults_afterwards")
def test_a_switch_that_the_call_itself_sets_does_not_spoil_its_answer():
    def sets(features):
        jax.config.update("jax_debug_nans", True)
        jax.config.update("jax_transfer_guard", "disallow")
        np.seterr(all="raise")
        warnings.simplefilter("error")
        return features, np.longdouble("1e400")

    answer = ask(sets, [float("nan")])
    assert isinstance(answer, Returned), answer


# --- exceptions ----------------------------------------------------------------------------------


def test_an_exception_is_told_with_its_bases_message_and_line():
    class Own(KeyError):
        pass

    def raises():
        raise Own("why")

    answer = ask(raises)
    line = raises.__code__.co_firstlineno + 1
    kinds = ("KeyError", "LookupError", "Exception", "BaseException")
    assert answer == Raised("Own", kinds, "'why'", line)


def test_the_line_is_the_last_one_of_the_students_own_file():
    def calls_another():
        return calls_the_library()

    def calls_the_library():
        return json.loads("no JSON")

    assert ask(calls_another).line == calls_the_library.__code__.co_firstlineno + 1


def test_an_alias_of_an_exception_goes_by_its_proper_name():
    def raises():
        raise IOError  # noqa: UP024  # as students write it

    assert ask(raises).kinds[0] == "OSError"


def test_a_long_message_is_cut():
    def raises():
        raise ValueError("x" * 10**6)

    assert len(ask(raises).message) < 3_000


class Sphinx(type):
    def __getattribute__(cls, name):
        raise RuntimeError


class Riddle(Exception, metaclass=Sphinx):
    @property
    def __traceback__(self):  # type: ignore[override]
        raise RuntimeError

    def __str__(self):
        sys.exit(1)


def test_an_exception_that_fails_whatever_it_is_asked_is_still_only_an_exception():
    def raises():
        raise Riddle

    answer = ask(raises)
    assert isinstance(answer, Raised)
    assert answer.kinds == ()


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), BaseException("b")])
def test_no_exception_of_a_call_goes_further(error):
    def raises():
        raise error

    assert ask(raises).type_name == type(error).__name__


def test_a_student_can_interrupt_a_call_in_a_notebook():
    def runs_too_long():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(runs_too_long)


def test_a_recursion_without_end_is_an_exception():
    def again():
        return again()

    assert ask(again).type_name == "RecursionError"


# --- what is there -------------------------------------------------------------------------------


def test_a_name_that_is_not_there_is_missing_and_no_built_in_stands_for_it():
    asking = ask_namespace({"f": None})
    assert asking(Question("g", ())) == Missing()
    assert asking(Question("len", ([1.0],))) == Missing()
    assert asking(Question("G", None)) == Missing()


def test_a_constant_is_looked_at_and_not_called():
    asking = ask_namespace({"CEILING": 0.5, "NOTHING": None, "FUNCTION": ask})
    assert asking(Question("CEILING", None)) == Returned(0.5)
    assert asking(Question("NOTHING", None)) == Returned(None)
    assert "a function or class" in str(asking(Question("FUNCTION", None)))


def test_a_constant_where_a_function_is_due_is_an_exception():
    assert ask(0.5, 1.0).type_name == "TypeError"


def test_what_is_called_need_be_no_plain_function():
    class Adder:
        def __call__(self, number):
            return number + 1

    for callable_thing in (Adder(), jax.jit(lambda x: x + 1), np.vectorize(lambda x: x + 1)):
        answer = ask(callable_thing, 1.0)
        assert isinstance(answer, Returned)


# --- answers that don't fit ----------------------------------------------------------------------


class Endless(list):
    def __iter__(self):
        while True:
            yield 0.5


def itself():
    row: list = []
    row.append(row)
    return row


def many_times_over():
    row: list = [0.5] * 100
    for _ in range(5):
        row = [row] * 100
    return row


class Liar(np.ndarray):
    @property
    def shape(self):
        return (1,)


@pytest.mark.parametrize(
    "value",
    [
        Endless(),
        many_times_over(),
        ["x" * 10_000] * 1_000,
        {"x" * 100 + str(number): "y" * 1_000 for number in range(2_000)},
        np.zeros(10**6).view(Liar),
    ],
    ids=["endless", "many times over", "long texts", "large dict", "an array that lies"],
)
def test_an_answer_that_is_too_large_is_told_as_such(value):
    answer = ask(lambda: value)
    assert "20000 items" in answer.value.description


def test_an_answer_that_holds_itself_ends_somewhere():
    answer = ask(itself)
    assert "nested" in str(answer)


def test_an_object_that_fails_to_be_read_is_the_students_failure():
    class Broken:
        shape = dtype = property(lambda self: 1 / 0)

        def __array__(self, *_):
            return np.zeros(1)

    assert ask(Broken).type_name == "ZeroDivisionError"


def test_every_reply_fits_its_frame():
    for reply in (
        (
            "returned",
            wire.WireArray("float64", (wire.MAX_ITEMS,), b"\0" * 8 * wire.MAX_ITEMS),
            False,
        ),
        ("returned", ("x" * 60_000,) * 20, False),
        ("raised", "E", ["E"], "x" * 10**7, 1),
    ):
        frame = calling.encoded(reply)
        assert len(frame) <= wire.MAX_ANSWER // 2
        assert "too large" in wire.decode(frame)[1].description


# --- functions as arguments, and gradients of a student's -----------------------------------------

CUBE = Formula((("power", 0.5, 3), ("power", -2.0, 0), ("exp", 0.25, -1.0), ("sin", 1.0, 2.0)))


def cube(w):
    return 0.5 * w**3 - 2 + 0.25 * np.exp(-w) + np.sin(2 * w)


@pytest.mark.parametrize("w", [1.5, -0.25, 2, np.float64(0.5), jnp.float32(0.125), np.ones(())])
def test_a_formula_arrives_as_a_function_of_any_number(w):
    [function] = given(CUBE)
    assert isinstance(function(w), jax.Array)
    assert function(w).shape == ()
    np.testing.assert_allclose(function(w), cube(w), rtol=1e-6)


def test_a_formula_arrives_as_something_that_jax_transforms():
    [function] = given(CUBE)
    np.testing.assert_allclose(jax.jit(function)(0.5), cube(0.5), rtol=1e-6)
    slope = 1.5 * 0.25 - 0.25 * np.exp(-0.5) + 2 * np.cos(1.0)
    np.testing.assert_allclose(jax.grad(function)(0.5), slope, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(function)(jnp.ones(2)), [cube(1.0)] * 2, rtol=1e-6)


def test_a_formula_takes_one_number_at_a_time():
    [function] = given(CUBE)
    with pytest.raises(TypeError, match=r"one number, and got an array of shape \(2,\)"):
        function(jnp.ones(2))


def gradient(function, *arguments):
    return ask_namespace({"f": function, "__file__": __file__})(Question("f", arguments, True))


def test_a_gradient_is_taken_with_respect_to_the_first_argument():
    answer = gradient(lambda v, k: k * jnp.sum(v**2), [1.0, 2.0], 3.0)
    assert answer == Returned(Array("float32", (2,), (6.0, 12.0)))


@pytest.mark.parametrize("result", [lambda x: x * x, lambda x: jnp.reshape(x * x, (1,))])
def test_a_gradient_is_taken_of_a_number_of_any_shape(result):
    assert gradient(result, 3.0) == Returned(Array("float32", (), (6.0,)))


def test_the_gradient_of_a_plain_number_is_zero():
    assert gradient(lambda x: 0, 3.0) == Returned(Array("float32", (), (0.0,)))


def test_what_keeps_jax_from_differentiating_is_the_students():
    answer = gradient(lambda x: np.sqrt(np.asarray(x)), 3.0)
    assert isinstance(answer, Raised)
    assert answer.type_name == "TracerArrayConversionError"
