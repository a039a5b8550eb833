"""The key of `first_broken_boundary`: what is due, hidden checks, misconceptions with witnesses.

Nothing here is computed but one comparison, of a rate with the largest stable one; the rates that
are asked for stay clear of it by 1 % or more, so every right program is on the same side.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import (
    NOT_FINITE,
    by_case,
    eighths,
    full_float32,
    marks,
    spoiled,
)
from grader.exact import descent
from grader.judge import Due, Nothing, Text, expect
from grader.model import Misconception

TITLE = "Locate the first broken boundary, then explain"

NAN, INF = math.nan, math.inf
BOUNDARIES = ("inputs", "forward", "loss", "gradient", "optimizer_state", "update")

Floats: TypeAlias = list[float]
Trace: TypeAlias = dict[str, Any]
"""A float, or a list of floats or of such lists, at each boundary."""
History: TypeAlias = list[Floats]
Case: TypeAlias = tuple[Floats, Floats, float, History]
"""Features, targets, rate and history: the arguments of `diagnose`."""

# --- what is due ---------------------------------------------------------------------------------


def first_broken(trace: Trace) -> Text:
    """The first boundary whose array holds a number that is not finite."""
    return first_with(trace, BOUNDARIES, any_of(not_finite))


def first_with(trace: Trace, names: Iterable[str], broken: Callable[[Floats], bool]) -> Text:
    """The first of the names whose array is `broken`, or "none"."""
    return Text(next((name for name in names if broken(flat(trace[name]))), "none"))


def flat(array: Any) -> Floats:
    """All numbers of an array, of whatever shape."""
    if not isinstance(array, list):
        return [array]
    return [item for part in array for item in flat(part)]


def not_finite(item: float) -> bool:
    """NaN or an infinity."""
    return not math.isfinite(item)


def any_of(bad: Callable[[float], bool]) -> Callable[[Floats], bool]:
    """Whether some number is bad."""
    return lambda items: any(map(bad, items))


def diagnose(features: Floats, targets: Floats, rate: float, history: History) -> Text:
    """Inputs, then the rate, then the history."""
    return diagnosed(features, targets, rate, history)


def diagnosed(
    features: Floats,
    targets: Floats,
    rate: float,
    history: History,
    *,
    ceiling: Callable[[Floats], Fraction] = lambda features: limit(features),
    bad_input: Callable[[Floats, Floats], bool] = lambda x, y: any(map(not_finite, [*x, *y])),
    bad_history: Callable[[History], bool] = lambda history: any(map(not_finite, flat(history))),
) -> Text:
    """`diagnose`, or a relative of it: with another ceiling, or looking at less."""
    if bad_input(features, targets):
        return Text("nonfinite_input")
    if above(rate, features, ceiling):
        return Text("rate_above_ceiling")
    return Text("unsafe_operation" if bad_history(history) else "healthy")


def above(
    rate: float,
    features: Floats,
    ceiling: Callable[[Floats], Fraction] = lambda features: limit(features),
) -> bool:
    """Whether the rate is above the ceiling; with NaN among the features it never is, with an
    infinity and no NaN always."""
    if any(map(math.isnan, features)):
        return False
    return any(map(math.isinf, features)) or Fraction(rate) > ceiling(features)


def limit(features: Floats) -> Fraction:
    """1/mean(x**2), of features that are not all zero."""
    return 1 / descent.mean_square(features).value


TRUTH = {"first_broken": first_broken, "diagnose": diagnose}

HEALTHY: Trace = {
    "inputs": [[1.0, 2.0], [3.0, -0.5], [0.0, 4.0]],
    "forward": [0.5, -1.5, 2.0],
    "loss": 6.5,
    "gradient": [-3.0, 1.25],
    "optimizer_state": [[0.5, 0.25], [9.0, 1.5]],
    "update": [0.125, -0.5],
}


def but(turn: int = 0, **changes: Any) -> Trace:
    """A trace with some arrays replaced, its names reversed and turned by so many places."""
    names = list(reversed(BOUNDARIES))
    return {name: changes.get(name, HEALTHY[name]) for name in names[turn:] + names[:turn]}


STABLE = [[0.0, 18.5, 18.5], [1.75, 0.25, 2.25]]
DIVERGED = [[0.0, 18.5, 18.5], [-1e19, INF, 4e20], [INF, NAN, NAN]]
X, Y = [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]

# Worked examples that ship to students. Negative infinities, several broken boundaries, targets
# that are not finite and a rate that is too large in a history without a mark are left to think of.
EXAMPLES = [
    ("first_broken", (HEALTHY,)),
    ("first_broken", (but(2, forward=[0.5, NAN, 2.0]),)),
    ("first_broken", (but(4, loss=INF, gradient=[NAN, NAN], update=[NAN, NAN]),)),
    ("first_broken", (but(optimizer_state=[[0.5, 0.25], [INF, 1.5]]),)),
    ("diagnose", ([1.0, NAN, 3.0], Y, 0.1, [[0.0, NAN, NAN]])),
    ("diagnose", (X, Y, 0.3, DIVERGED)),
    ("diagnose", (X, Y, 0.1, [[0.0, 18.5, 18.5], [1.75, 0.25, NAN]])),
    ("diagnose", (X, Y, 0.1, STABLE)),
]

# --- what is drawn -------------------------------------------------------------------------------

SHAPES = (  # of the six arrays, in order; few shapes, since JAX compiles for each
    ((3, 2), (3,), (), (2,), (2, 2), (2,)),
    ((), (), (), (), (), ()),
    ((2,), (2, 2), (3,), (), (), ()),
    ((3,), (3,), (3, 2), (3, 2), (2,), (3, 2)),
)
ORDERS = st.sampled_from(
    (
        (0, 1, 2, 3, 4, 5),
        (5, 4, 3, 2, 1, 0),
        (3, 0, 5, 1, 4, 2),
        (2, 5, 1, 3, 0, 4),
        (4, 2, 0, 5, 3, 1),
    )
)


def shaped(items: Sequence[float], shape: tuple[int, ...]) -> Any:
    """So many of the numbers as an array of this shape."""
    if not shape:
        return items[0]
    if len(shape) == 1:
        return list(items[: shape[0]])
    return [list(items[shape[1] * row : shape[1] * (row + 1)]) for row in range(shape[0])]


def _trace(
    shapes: tuple[tuple[int, ...], ...],
    order: tuple[int, ...],
    items: Floats,
    broken: list[float | None],
    places: list[int],
) -> Trace:
    arrays = []
    for boundary, shape in enumerate(shapes):
        numbers = items[boundary : boundary + 6]
        size = math.prod(shape)
        kind = broken[boundary]
        if kind is not None:
            numbers[places[boundary] % size] = kind
        arrays.append(shaped(numbers, shape))
    return {BOUNDARIES[place]: arrays[place] for place in order}


def traces(broken: st.SearchStrategy[list[float | None]]) -> st.SearchStrategy[Trace]:
    """Traces of several shapes and orders, broken at the marked boundaries in one place each."""
    return st.builds(
        _trace,
        st.sampled_from(SHAPES),
        ORDERS,
        st.lists(eighths(), min_size=11, max_size=11),
        broken,
        st.lists(st.integers(0, 59), min_size=6, max_size=6),
    )


LENGTHS = (1, 2, 3)
BELOW = (0.05, 0.25, 0.5, 0.6, 0.9, 0.98)
ABOVE = (1.02, 1.1, 1.5, 1.9, 2.2, 5.0, 40.0)


def of_length(length: int) -> st.SearchStrategy[tuple[Floats, Floats]]:
    """Finite features, not all zero, and targets."""
    coarse = st.lists(eighths(), min_size=length, max_size=length)
    full = st.lists(full_float32(), min_size=length, max_size=length)
    pair = st.one_of(st.tuples(coarse, coarse), st.tuples(full, full))
    return pair.filter(lambda pair: any(pair[0]))


data = by_case(LENGTHS, of_length)


def _rate(features: Floats, part: float) -> float:
    """A rate of three digits, this share of the ceiling."""
    return float(f"{part * float(limit(features)):.3g}")


def clear(case: Case) -> bool:
    """Whether the rate is of ordinary size, and clear of the ceiling by 1 %."""
    features, _, rate, _ = case
    share = Fraction(rate) / limit(features)
    return 1 / 1024 <= rate <= 1024 and abs(share - 1) >= Fraction(1, 100)


def _row(row: tuple[float, float, float]) -> Floats:
    return [row[0], abs(row[1]), abs(row[2])]


rows = st.tuples(eighths(), eighths(), eighths()).map(_row)
histories = by_case((1, 3), lambda k: st.lists(rows, min_size=k, max_size=k))


def _broken(
    history: History, one: list[float | None], other: list[float | None], place: int
) -> History:
    """With one row marked, and where there are more, the next one."""
    broken = [*history]
    for marked, row in ((one, place), (other, place + 1))[: len(history)]:
        broken[row % len(history)] = spoiled(history[row % len(history)], marked)
    return broken


broken_histories = st.builds(_broken, histories, marks(3), marks(3, some=False), st.integers(0, 2))

any_histories = st.one_of(histories, broken_histories)


def _case(pair: tuple[Floats, Floats], part: float, history: History) -> Case:
    return pair[0], pair[1], _rate(pair[0], part), history


def cases(parts: Sequence[float], history: st.SearchStrategy[History]) -> st.SearchStrategy[Case]:
    """Finite data with a rate that is one of these shares of its ceiling."""
    return st.builds(_case, data, st.sampled_from(tuple(parts)), history).filter(clear)


def _with_bad_data(
    case: Case, marked: tuple[list[float | None], list[float | None]], which: int
) -> Case:
    features, targets, rate, history = case
    count = len(features)
    if which != 1:
        features = spoiled(features, marked[0][:count])
    if which != 0:
        targets = spoiled(targets, marked[1][:count])
    return features, targets, rate, history


first_marked = marks(3).filter(lambda marked: marked[0] is not None)

bad_data = st.builds(
    _with_bad_data,
    cases((*BELOW, *ABOVE), any_histories),
    st.tuples(first_marked, first_marked),
    st.integers(0, 2),
)

# --- hidden checks -------------------------------------------------------------------------------

several = st.lists(st.sampled_from((None, None, None, *NOT_FINITE)), min_size=6, max_size=6)


@pytest.mark.points(2.5, about="first_broken", draws=30)
@given(trace=traces(several))
@example(trace=but(2, update=[NAN, 0.5], loss=NAN, gradient=[0.5, INF]))
@example(trace=but(3, inputs=[[1.0, 2.0], [INF, NAN], [0.0, 4.0]], forward=[1.0, NAN, 1.0]))
@example(trace=but(1, gradient=[-3.0, NAN], optimizer_state=[[NAN, NAN], [NAN, NAN]]))
@example(trace=but(5, update=[-INF, -0.5]))
@example(trace=but(update=[NAN, -0.5], optimizer_state=[[0.5, 0.25], [INF, 1.5]]))
@example(trace=but(4, loss=NAN, forward=[0.5, -1.5, NAN]))
@example(trace=but(2, gradient=[1e20, -3e20], optimizer_state=[[INF, INF], [9.0, 1.5]]))
@example(trace=but(4, forward=[-INF, NAN, NAN], gradient=[NAN, NAN]))
def test_first_boundary_is_found(student, trace):
    """first_broken is the first boundary in the order of computation with NaN or an infinity"""
    expect(student.first_broken(trace), first_broken(trace))


@pytest.mark.points(1, about="first_broken", draws=10)
@given(trace=traces(st.just([None] * 6)))
@example(trace=but(2, loss=0.0, update=[0.0, 0.0]))
@example(trace=but(3, forward=[1024.0] * 100, gradient=[-1024.0, 1000.5]))
@example(trace=but(1, loss=1e38, gradient=[1e20, -3e20]))
def test_finite_trace_has_none(student, trace):
    """first_broken is "none" for a trace that is finite throughout"""
    expect(student.first_broken(trace), Text("none"))


@pytest.mark.points(1.25, about="diagnose", draws=25)
@given(case=bad_data)
@example(case=([1.0], [NAN], 2.0, [[0.0, 1.0, 1.0]]))
@example(case=([1.0], [INF], 2.0, [[INF, NAN, NAN]]))
@example(case=([INF, 1.0], [1.0, 2.0], 0.5, [[0.0, 1.0, 1.0]]))
@example(case=([1.0, NAN], [1.0, 2.0], 5.0, [[0.0, 1.0, 1.0]]))
@example(case=([1.0, 2.0], [-INF, 2.0], 0.25, [[0.0, INF, NAN]]))
def test_bad_data_comes_first(student, case):
    """features or targets that are not finite are the diagnosis, whatever rate and history say"""
    expect(student.diagnose(*case), diagnose(*case))


@pytest.mark.points(1.75, about="diagnose", draws=30)
@given(case=cases(ABOVE, any_histories))
@example(case=([1.0], [2.0], 2.5, [[0.0, 4.0, 4.0]]))
@example(case=([1.0, 1.0], [2.0, 2.0], 1.5, [[0.0, 4.0, 4.0]]))
@example(case=([2.0], [4.0], 0.375, [[0.0, 16.0, 16.0], [1e19, INF, 4e20], [INF, NAN, NAN]]))
@example(case=([1.0, 3.0], [2.0, 6.0], 0.21, [[2.0, 0.0, 0.0]]))
@example(case=([1.0, -1.0], [2.0, -2.0], 1.25, [[0.0, NAN, 4.0]]))
@example(case=([0.0, 4.0], [8.0, 0.0], 0.13, STABLE))
def test_rate_above_the_ceiling_is_found(student, case):
    """a rate above the ceiling is the diagnosis, whether or not the history overflowed yet"""
    expect(student.diagnose(*case), diagnose(*case))


@pytest.mark.points(1.5, about="diagnose", draws=30)
@given(case=cases(BELOW, broken_histories))
@example(case=([1.0], [2.0], 0.5, [[0.0, INF, 4.0]]))
@example(case=([2.0], [4.0], 0.24, [[0.0, 16.0, 16.0], [1.5, 1.0, NAN], [1.75, 0.25, 2.0]]))
@example(case=([0.5, 0.5], [1.0, 1.0], 3.5, [[0.0, 1.0, 1.0], [NAN, 0.5, 0.5]]))
@example(case=([1.0, 3.0], [2.0, 6.0], 0.19, [[0.0, 20.0, INF], [2.0, 0.0, 0.0]]))
def test_unsafe_operation_is_found(student, case):
    """what is left when inputs and rate are sound, and some row is not finite"""
    expect(student.diagnose(*case), diagnose(*case))


@pytest.mark.points(1, about="diagnose", draws=15)
@given(case=cases(BELOW, histories))
@example(case=([0.5, 0.5], [1.0, 1.0], 3.5, [[0.0, 1.0, 1.0], [1.5, 2.0, 3.0]]))
@example(case=([3.0, -4.0], [0.0, 1.0], 0.075, [[0.0, 0.5, 4.0]]))
@example(case=([2.0], [4.0], 0.24, [[0.0, 16.0, 16.0]]))
@example(case=([26.0, 27.0], [52.0, 54.0], 0.0012, [[0.0, 2810.0, 2810.0]]))
@example(case=([300.0] + [0.0] * 99, [1.0] * 100, 0.001, [[0.0, 1.0, 6.0]]))
def test_healthy_run_is_left_alone(student, case):
    """sound inputs, a stable rate and finite rows are healthy, also where a loss has grown"""
    expect(student.diagnose(*case), diagnose(*case))


# --- misconceptions ------------------------------------------------------------------------------


def overflowing_norm(items: Floats) -> bool:
    """Whether the sum of the squares is not finite in float32."""
    return not sum(item * item for item in items) < 2.0**128


def last_broken(trace: Trace) -> Text:
    """The last boundary that is broken."""
    return first_with(trace, reversed(BOUNDARIES), any_of(not_finite))


def nothing_for_none(trace: Trace) -> Due:
    """None where nothing is broken."""
    right = first_broken(trace)
    return Nothing() if right.value == "none" else right


def history_first(features: Floats, targets: Floats, rate: float, history: History) -> Text:
    """What the history shows decides before the rate is looked at."""
    if any(map(not_finite, [*features, *targets])):
        return Text("nonfinite_input")
    if any(map(not_finite, flat(history))):
        return Text("unsafe_operation")
    return Text("rate_above_ceiling" if above(rate, features) else "healthy")


def history_only(features: Floats, targets: Floats, rate: float, history: History) -> Text:
    """A run whose history is finite is healthy at any rate."""
    if any(map(not_finite, [*features, *targets])):
        return Text("nonfinite_input")
    if not any(map(not_finite, flat(history))):
        return Text("healthy")
    return Text("rate_above_ceiling" if above(rate, features) else "unsafe_operation")


def rate_first(features: Floats, targets: Floats, rate: float, history: History) -> Text:
    """The rate is compared before the inputs are looked at; NaN compares as false."""
    if above(rate, features):
        return Text("rate_above_ceiling")
    return diagnosed(features, targets, rate, history)


def grown_loss(features: Floats, targets: Floats, rate: float, history: History) -> Text:
    """A finite loss that is larger at the end than at the start is blamed on an operation."""
    right = diagnosed(features, targets, rate, history)
    grown = right.value == "healthy" and history[-1][1] > history[0][1]
    return Text("unsafe_operation") if grown else right


def with_ceiling(ceiling: Callable[[Floats], Fraction]) -> Callable[..., Text]:
    """The right order, with another ceiling."""
    return functools.partial(diagnosed, ceiling=ceiling)


def squared_mean_ceiling(features: Floats) -> Fraction:
    """1/mean(x)**2, without end where the features cancel."""
    square = (sum(map(Fraction, features), Fraction(0)) / len(features)) ** 2
    return 1 / square if square else Fraction(10**9)


MISCONCEPTIONS = [
    Misconception(
        "in_the_order_of_the_dict",
        "first_broken",
        lambda trace: first_with(trace, tuple(trace), any_of(not_finite)),
        (but(2, update=[NAN, 0.5], loss=NAN, gradient=[0.5, INF]),),
        """You go through the boundaries in the order in which the trace happens to hold them.
        "First" means first in the order of computation: what is broken there spoils all that is
        computed from it. Write that order down once, and look each name up in the trace.
        """,
    ),
    Misconception(
        "nan_alone",
        "first_broken",
        lambda trace: first_with(trace, BOUNDARIES, any_of(math.isnan)),
        (but(optimizer_state=[[0.5, 0.25], [INF, 1.5]]),),
        """You look for NaN alone. An overflow makes an infinity first; NaN follows where infinities
        are subtracted or multiplied by 0, perhaps at the next boundary, perhaps never. So you
        report a later boundary than the first, or none. Ask what isn't finite.
        """,
    ),
    Misconception(
        "infinity_alone",
        "first_broken",
        lambda trace: first_with(trace, BOUNDARIES, any_of(math.isinf)),
        (but(5, loss=NAN),),
        """You look for infinities alone. Many faults never make one: a missing value is NaN from
        the start, and so is 0 divided by 0. Ask what isn't finite, which covers both.
        """,
    ),
    Misconception(
        "norm_alone",
        "first_broken",
        lambda trace: first_with(trace, BOUNDARIES, overflowing_norm),
        (but(1, loss=1e38, gradient=[1e20, -3e20]),),
        """You test a number that is made of the whole array, such as its norm, and that can
        overflow while every entry is still finite: the square of 1e20 is beyond float32. An
        instrument must not break before what it measures does. Ask the entries themselves.
        """,
    ),
    Misconception(
        "last_broken_boundary",
        "first_broken",
        last_broken,
        (but(2, update=[NAN, 0.5], loss=NAN, gradient=[0.5, INF]),),
        """You return the last broken boundary. Everything after the first break may be broken only
        because of it. Leave your loop at the first one that you find, and don't let later ones
        replace it.
        """,
    ),
    Misconception(
        "every_number_broken",
        "first_broken",
        lambda trace: first_with(trace, BOUNDARIES, lambda items: all(map(not_finite, items))),
        (but(1, gradient=[NAN, 1.25]),),
        """You pass over an array as long as some of its numbers are finite. One bad example in a
        batch is enough to spoil the mean that the loss takes. Is it any or all that the question
        asks for?
        """,
    ),
    Misconception(
        "first_number_alone",
        "first_broken",
        lambda trace: first_with(trace, BOUNDARIES, lambda items: not_finite(items[0])),
        (but(2, forward=[0.5, NAN, 2.0]),),
        """You look at one number of each array. The arrays have any shape, and the bad number may
        stand anywhere in them. Ask the whole array, and make one answer of all of its answers.
        """,
    ),
    Misconception(
        "inputs_taken_for_granted",
        "first_broken",
        lambda trace: first_with(trace, BOUNDARIES[1:], any_of(not_finite)),
        (but(3, inputs=[[1.0, 2.0], [INF, NAN], [0.0, 4.0]], forward=[1.0, NAN, 1.0]),),
        """You never report the inputs. They are the first boundary, and the one at which most
        people look last. What goes in broken comes out broken; the forward pass isn't to blame.
        """,
    ),
    Misconception(
        "nothing_where_nothing_is_broken",
        "first_broken",
        nothing_for_none,
        (HEALTHY,),
        """For a trace that is finite throughout you return Python's None, or nothing. The contract
        asks for a text in every case, so that answers can be compared and counted: "none".
        """,
    ),
    Misconception(
        "history_before_rate",
        "diagnose",
        history_first,
        ([1.0], [2.0], 1.5, [[0.0, INF, 4.0]]),
        """A row that isn't finite makes you say "unsafe_operation" before you have looked at the
        rate. Where an overflow shows and what caused it are two questions: a run above the ceiling
        grows until something overflows, however safe its operations are. What can be known from
        data and rate alone should be settled first.
        """,
    ),
    Misconception(
        "healthy_until_it_overflows",
        "diagnose",
        history_only,
        ([1.0], [2.0], 2.5, [[0.0, 4.0, 4.0]]),
        """With a finite history you say "healthy" whatever the rate is. A run above the ceiling
        needs many steps until it overflows, and one that starts at the best weight may never show
        anything. Data and rate tell beforehand. Which of the questions needs the history at all?
        """,
    ),
    Misconception(
        "rate_before_inputs",
        "diagnose",
        rate_first,
        ([1.0], [NAN], 2.0, [[0.0, 1.0, 1.0]]),
        """You compare the rate with the ceiling before you know that the inputs are sound. With an
        infinite feature there is no ceiling to speak of, and no rate repairs a broken target. What
        comes first in the computation comes first in the diagnosis.
        """,
    ),
    Misconception(
        "targets_not_looked_at",
        "diagnose",
        functools.partial(diagnosed, bad_input=lambda x, y: any(map(not_finite, x))),
        ([1.0], [NAN], 0.5, [[0.0, NAN, NAN]]),
        """You look at the features and not at the targets. Both go into the loss, and a target that
        is NaN spoils it just as a feature does. What else is handed to the model?
        """,
    ),
    Misconception(
        "features_not_looked_at",
        "diagnose",
        functools.partial(diagnosed, bad_input=lambda x, y: any(map(not_finite, y))),
        ([1.0, NAN], [1.0, 2.0], 5.0, [[0.0, 1.0, 1.0]]),
        """You look at the targets and not at the features. Both go into the loss. And a comparison
        with NaN is false whichever way round, so a ceiling that is computed from broken features
        lets every rate pass.
        """,
    ),
    Misconception(
        "infinite_inputs_pass",
        "diagnose",
        functools.partial(diagnosed, bad_input=lambda x, y: any(map(math.isnan, [*x, *y]))),
        ([1.0], [INF], 0.5, [[0.0, 1.0, 1.0]]),
        """You take infinite features or targets for sound. An infinity among the data is no number
        either: products with 0 and differences of two of them are NaN. Ask what isn't finite.
        """,
    ),
    Misconception(
        "infinite_rows_pass",
        "diagnose",
        functools.partial(
            diagnosed, bad_history=lambda history: any(map(math.isnan, flat(history)))
        ),
        ([1.0], [2.0], 0.5, [[0.0, INF, 4.0]]),
        """You look for NaN in the history, and let an infinity pass. A loss that is infinite is as
        useless as one that is NaN, and often comes earlier. Ask what isn't finite.
        """,
    ),
    Misconception(
        "last_row_alone",
        "diagnose",
        functools.partial(diagnosed, bad_history=lambda history: any(map(not_finite, history[-1]))),
        ([1.0, 3.0], [2.0, 6.0], 0.19, [[0.0, 20.0, INF], [2.0, 0.0, 0.0]]),
        """You look at the last row alone. A bad number doesn't always stay: a clip can make a
        finite step out of an infinite gradient, and the rows after it look sound. Ask all rows.
        """,
    ),
    Misconception(
        "loss_alone",
        "diagnose",
        functools.partial(
            diagnosed, bad_history=lambda history: any(not_finite(row[1]) for row in history)
        ),
        ([0.5, 0.5], [1.0, 1.0], 3.5, [[0.0, 1.0, 1.0], [NAN, 0.5, 0.5]]),
        """You look at the losses alone. A finite loss can have a gradient that is NaN, which is
        what makes unsafe operations hard to find. A row has three numbers, and each of them may be
        the one that breaks.
        """,
    ),
    Misconception(
        "ceiling_twice_too_high",
        "diagnose",
        with_ceiling(lambda features: 2 * limit(features)),
        ([1.0, 1.0], [2.0, 2.0], 1.5, [[0.0, 4.0, 4.0]]),
        """Your ceiling is twice as high as it should be. Two over the curvature is right, and the
        curvature isn't the mean of the squares alone: the derivative of a square has a factor of
        its own. On features of one, at which rate does the error only change its sign?
        """,
    ),
    Misconception(
        "ceiling_half_as_high",
        "diagnose",
        with_ceiling(lambda features: limit(features) / 2),
        ([2.0], [4.0], 0.24, [[0.0, 16.0, 16.0]]),
        """Your ceiling is half of what it should be: it is the rate that lands on the best weight
        in one step. Above that a run overshoots, and still comes closer with every step. It is
        unstable only when the overshoot is as large as the error it came from.
        """,
    ),
    Misconception(
        "ceiling_of_the_sum",
        "diagnose",
        with_ceiling(lambda features: limit(features) / len(features)),
        ([0.5, 0.5], [1.0, 1.0], 3.0, [[0.0, 1.0, 1.0]]),
        """Your ceiling falls when the same examples are repeated. The objective is a mean, and so
        is what its curvature is made of. Look for a sum where an average is due.
        """,
    ),
    Misconception(
        "ceiling_of_the_squared_mean",
        "diagnose",
        with_ceiling(squared_mean_ceiling),
        ([1.0, -1.0], [2.0, -2.0], 1.25, [[0.0, NAN, 4.0]]),
        """You average the features before you square. With features 1 and -1 nothing is left of
        them, though every example bends the loss. Each example contributes its own square; only
        then is averaged.
        """,
    ),
    Misconception(
        "growth_is_unsafe",
        "diagnose",
        grown_loss,
        ([0.5, 0.5], [1.0, 1.0], 3.5, [[0.0, 1.0, 1.0], [1.5, 2.0, 3.0]]),
        """A loss that has grown isn't an unsafe operation. The four answers ask for inputs, rate
        and rows that aren't finite, and none of those is wrong here. What a growing loss at a
        stable rate means is a good question, but another one.
        """,
    ),
]
