"""The key of `instrumented_run`: exact answers, hidden checks, misconceptions with witnesses."""

import functools
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import (
    by_case,
    eighths,
    full_float32,
    marks,
    spoiled,
    weights,
)
from grader.exact import descent, instrumented
from grader.exact.rounding import Rounded, rounded
from grader.judge import (
    Due,
    Fields,
    Nothing,
    Number,
    Numbers,
    OneOf,
    Raises,
    Several,
    Text,
    expect,
    number,
    numbers,
)
from grader.model import Misconception

TITLE = "Record evidence, before and after the update"

NAN, INF = math.nan, math.inf
NAMES = ("weight", "loss", "gradient", "update", "next_weight")

Floats: TypeAlias = list[float]
Run: TypeAlias = tuple[float, int, Floats, Floats, float, float | None]
"""Rate, steps, features, targets, initial weight, clip: the arguments of `instrumented_run`."""
Table: TypeAlias = dict[str, Floats]

# --- what is due ---------------------------------------------------------------------------------

NOT_FINITE = OneOf(tuple(Numbers((1,), (Number(kind),)) for kind in (NAN, INF, -INF)))
"""One number that is not finite."""

LARGEST = Fraction(sys.float_info.max)
ANYTHING = OneOf((*NOT_FINITE.options, Numbers((1,), (Number(Fraction(0), LARGEST),))))
"""One number, whatever it is."""


def instrumented_run(
    rate: float,
    steps: int,
    features: Floats,
    targets: Floats,
    initial_weight: float,
    clip: float | None,
) -> Fields:
    """A row for each step; data that is not finite leaves nothing but the first row."""
    if not finite(features, targets):
        return bad_row(initial_weight)
    return fields(table(rate, steps, features, targets, initial_weight, clip))


def finite(*vectors: Sequence[float]) -> bool:
    """Whether all numbers in these are finite."""
    return all(math.isfinite(number) for vector in vectors for number in vector)


def bad_row(initial_weight: float) -> Fields:
    """The record of a run that is broken from the first: one NaN or infinity among the data makes
    loss and gradient not finite at every weight (the key of `nan_input` has the proof)."""
    return Fields(
        {
            "weight": numbers([rounded(initial_weight)]),
            "loss": NOT_FINITE,
            "gradient": NOT_FINITE,
            "update": ANYTHING,
            "next_weight": ANYTHING,
        }
    )


def table(
    rate: float | Fraction,
    steps: int,
    features: Floats,
    targets: Floats,
    initial_weight: float,
    clip: float | Fraction | None,
) -> instrumented.Record:
    """The exact record; it is long to compute, and every submission is asked the same ones."""
    return _table(rate, steps, tuple(features), tuple(targets), initial_weight, clip)


_table = functools.lru_cache(2_000)(instrumented.record)


def fields(record: instrumented.Record) -> Fields:
    """A record as the dict that is due."""
    return Fields({name: numbers(column) for name, column in record.items()})


def update_ratio(update: float, weight: float) -> Number:
    """abs(update)/abs(weight)."""
    return number(instrumented.ratio(update, weight))


def first_jump(norms: Floats, factor: float) -> Number:
    """The first k >= 1 with norms[k] >= factor*norms[k-1]; -1 where there is none."""
    return first_where(norms, lambda before, after: after >= factor * before)


def first_where(
    norms: Floats, jumps: Callable[[Fraction, Fraction], bool], shift: int = 0
) -> Number:
    """The first k >= 1 at which a norm and the one before it do that, plus `shift`; else -1."""
    exact = [Fraction(norm) for norm in norms]
    found = [k for k in range(1, len(norms)) if jumps(exact[k - 1], exact[k])]
    return number(found[0] + shift if found else -1)


def first_nonfinite(record: Table) -> Due:
    """The earliest step with a number that is not finite, and the first of the names there."""
    return found_by_step(record, NAMES, lambda number: not math.isfinite(number))


def found_by_step(
    record: Table, names: Sequence[str], bad: Callable[[float], bool], shift: int = 0
) -> Due:
    """The earliest step, and in it the earliest name, with a number that is `bad`; or None."""
    for step in range(len(record["weight"])):
        for name in names:
            if bad(record[name][step]):
                return place(step + shift, name)
    return Nothing()


def place(step: int, name: str) -> Several:
    """A step and a name."""
    return Several((number(step), Text(name)))


TRUTH = {
    "instrumented_run": instrumented_run,
    "update_ratio": update_ratio,
    "first_jump": first_jump,
    "first_nonfinite": first_nonfinite,
}

HEALTHY: Table = {
    "weight": [0.0, 2.5, 1.75],
    "loss": [4.0, 9.0, 2.25],
    "gradient": [-4.0, 6.0, -3.0],
    "update": [2.5, -0.75, 0.5],
    "next_weight": [2.5, 1.75, 2.25],
}
"""Numbers for `first_nonfinite` to look through; no run's."""


def but(steps: int = 3, **changes: Floats) -> Table:
    """The first rows of it, with some columns replaced."""
    return {name: changes.get(name, HEALTHY[name][:steps]) for name in NAMES}


def turned(record: Table, by: int = 0) -> Table:
    """The same record with its names in the opposite order, turned by so many places."""
    names = list(reversed(NAMES))
    return {name: record[name] for name in names[by:] + names[:by]}


# Worked examples that ship to students. A negative infinity, data that is not finite together with
# a clip, zeros among the norms and several bad numbers in one record are left to think of.
EXAMPLES = [
    ("instrumented_run", (0.1, 2, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0], 0.0, None)),
    ("instrumented_run", (0.25, 3, [2.0], [4.0], 0.5, None)),
    ("instrumented_run", (0.3, 3, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0], 0.0, 1.0)),
    ("instrumented_run", (0.1, 3, [1.0, NAN, 3.0], [2.0, 4.0, 6.0], 0.5, None)),
    ("update_ratio", (0.5, 2.0)),
    ("update_ratio", (-3.0, 1.5)),
    ("update_ratio", (0.25, 0.0)),
    ("first_jump", ([1.0, 1.5, 2.0, 30.0, 900.0], 10.0)),
    ("first_jump", ([3.0, 2.0, 2.5], 2.0)),
    ("first_nonfinite", (but(),)),
    ("first_nonfinite", (but(loss=[4.0, INF, 2.25]),)),
    ("first_nonfinite", (turned(but(2, next_weight=[2.5, NAN])),)),
]

# --- what is drawn -------------------------------------------------------------------------------

LENGTHS = (1, 2, 3)
STEPS = (1, 3, 6)


def of_length(length: int) -> st.SearchStrategy[tuple[Floats, Floats]]:
    """Features and targets below 16 in size, so that every rate that is drawn is ordinary."""
    coarse = st.lists(eighths(), min_size=length, max_size=length)
    full = st.lists(full_float32(), min_size=length, max_size=length)
    return st.one_of(st.tuples(coarse, coarse), st.tuples(full, full))


data = by_case(LENGTHS, of_length)

parts = st.integers(1, 23)
"""How far a step goes, in sixteenths of the largest stable rate: multipliers from 7/8 to -15/8."""

clips = st.one_of(
    st.integers(1, 99).map(lambda k: k / 8),
    st.integers(1, 99).map(lambda k: k / 10),
    st.sampled_from((30.0, 100.0, 300.0, 1000.0)),
)


def _run(
    pair: tuple[Floats, Floats], part: int, steps: int, weight: float, clip: float | None
) -> Run:
    features, targets = pair
    square = sum(x * x for x in features) / len(features)
    rate = float(f"{part / 16 / square:.2g}") if square else part / 16
    return rate, steps, features, targets, weight, clip


def runs(clip: st.SearchStrategy[float | None]) -> st.SearchStrategy[Run]:
    """Runs on both sides of the largest stable rate, a few steps long."""
    start = st.one_of(st.just(0.0), eighths(), full_float32())
    drawn = st.builds(_run, data, parts, st.sampled_from(STEPS), start, clip)
    return drawn.filter(lambda run: 1 / 1024 <= run[0] <= 1024)


def bad_runs() -> st.SearchStrategy[Run]:
    """Runs on data with NaN or an infinity, among the features or the targets."""
    both = st.integers(0, 2)
    marked = {n: st.tuples(marks(n), marks(n)) for n in LENGTHS}

    def spoil(run: Run) -> st.SearchStrategy[Run]:
        return st.builds(functools.partial(_spoil, run), marked[len(run[2])], both)

    return runs(st.one_of(st.none(), clips)).flatmap(spoil)


def _spoil(run: Run, marked: tuple[list[float | None], list[float | None]], which: int) -> Run:
    rate, steps, features, targets, weight, clip = run
    if which != 1:
        features = spoiled(features, marked[0])
    if which != 0:
        targets = spoiled(targets, marked[1])
    return rate, steps, features, targets, weight, clip


NORMS = (0.0, 1 / 1024, 0.25, 0.75, 1.0, 1.125, 3.0, 5.5, 20.0, 64.0, 300.5, 1000.0)
FACTORS = (1.1, 1.5, 2.0, 3.0, 10.0, 50.0)


def clear(case: tuple[Floats, float]) -> bool:
    """No tie, and no 0 after 0: nothing is asked there."""
    norms, factor = case
    pairs = itertools.pairwise(norms)
    return all(
        (before or after) and abs(after - factor * before) >= (after + factor * before) / 200
        for before, after in pairs
    )


def norms_of(length: int) -> st.SearchStrategy[tuple[Floats, float]]:
    """Norms and a factor."""
    norm = st.one_of(st.sampled_from(NORMS), st.integers(1, 99).map(lambda k: k / 8))
    norms = st.lists(norm, min_size=length, max_size=length)
    return st.tuples(norms, st.sampled_from(FACTORS)).filter(clear)


jumps = by_case((1, 2, 3, 5), norms_of)


def _record(columns: Sequence[Floats], turn: int) -> Table:
    return turned(dict(zip(NAMES, columns, strict=True)), turn)


def records(length: int) -> st.SearchStrategy[Table]:
    """Records of so many rows: finite, or with bad numbers anywhere; their names in any order."""
    finite = st.lists(eighths(), min_size=length, max_size=length)
    mostly = st.one_of(st.just([None] * length), marks(length, some=False))
    column = st.builds(spoiled, finite, mostly)
    return st.builds(
        _record, st.lists(column, min_size=5, max_size=5), st.integers(0, len(NAMES) - 1)
    )


any_record = by_case(LENGTHS, records)

# --- hidden checks -------------------------------------------------------------------------------

X, Y = [1.0, 3.0], [2.0, 5.0]
AT: Run = (0.125, 3, X, Y, 0.5, None)
CLIPPED: Run = (0.125, 3, X, Y, 0.5, 1.0)


def some(run: Run, *names: str) -> Fields:
    """A part of the record that is due."""
    whole = instrumented_run(*run)
    return Fields({name: whole.entries[name] if name in names else None for name in NAMES})


@pytest.mark.points(1, about="instrumented_run", draws=12)
@given(run=runs(st.none()))
@example(run=AT)
@example(run=(0.1, 1, [2.0], [3.0], 0.0, None))
@example(run=(0.5, 3, [0.0, 0.0], [1.0, 2.0], 1.5, None))
def test_state_is_exact(student, run):
    """weight, loss and signed gradient are those before each step's update"""
    expect(student.instrumented_run(*run), some(run, "weight", "loss", "gradient"))


@pytest.mark.points(1, about="instrumented_run", draws=12)
@given(run=runs(st.none()))
@example(run=AT)
@example(run=(0.1, 1, [2.0], [3.0], 0.0, None))
@example(run=(0.25, 2, [1.0], [1.0], 1.0, None))
def test_change_is_exact(student, run):
    """update and next_weight are what each step does to the weight"""
    expect(student.instrumented_run(*run), some(run, "update", "next_weight"))


@pytest.mark.points(1.5, about="instrumented_run", draws=15)
@given(run=runs(clips))
@example(run=CLIPPED)
@example(run=(0.125, 3, X, Y, 0.5, 100.0))
@example(run=(0.5, 2, [1.0], [0.0], -4.0, 3.0))
def test_clip_limits_what_the_update_uses(student, run):
    """the clip limits the update's gradient on both sides, and never the recorded one"""
    expect(student.instrumented_run(*run), instrumented_run(*run))


@pytest.mark.points(1.5, about="instrumented_run", draws=12)
@given(run=bad_runs())
@example(run=(0.125, 3, [1.0, NAN], Y, 0.5, None))
@example(run=(0.125, 3, [1.0], [-INF], 0.5, 2.0))
@example(run=(0.125, 1, [INF, 1.0], Y, 0.0, None))
def test_first_bad_row_is_the_last(student, run):
    """the first row with NaN or an infinity is recorded, and ends the record"""
    expect(student.instrumented_run(*run), instrumented_run(*run))


@pytest.mark.points(1, about="update_ratio", draws=20)
@given(update=weights(), weight=weights())
@example(update=1.0, weight=-4.0)
@example(update=-2.0, weight=0.0)
@example(update=0.0, weight=0.0)
@example(update=0.0, weight=-2.0)
@example(update=1 / 1024, weight=0.0)
def test_ratio_is_exact(student, update, weight):
    """update_ratio compares the sizes of update and weight, zeros among them"""
    expect(student.update_ratio(update, weight), update_ratio(update, weight))


@pytest.mark.points(1, about="first_jump", draws=30)
@given(case=jumps)
@example(case=([1.0, 20.0], 10.0))
@example(case=([8.0, 1.0, 1.125], 2.0))
@example(case=([1.0, 2.0, 5.0, 40.0, 41.0], 4.0))
@example(case=([1.0, 30.0, 1.0, 3.0, 2.0], 2.0))
@example(case=([8.0, 1.0, 1.5, 2.5, 3.0], 2.0))
@example(case=([1.0, 3.0, 30.0], 2.0))
def test_first_jump_is_found(student, case):
    """first_jump is the first place at which a norm is factor times the one before it, or -1"""
    expect(student.first_jump(*case), first_jump(*case))


@pytest.mark.points(0.5, about="first_jump")
def test_jumps_at_zero_and_single_norms(student):
    """first_jump copes with a norm of 0 before or after others, and with one norm alone"""
    for case in (([0.0, 0.25], 10.0), ([2.0, 0.0, 3.0], 1.5), ([3.0, 0.0], 2.0), ([5.0], 2.0)):
        expect(student.first_jump(*case), first_jump(*case))


@pytest.mark.points(1, about="first_nonfinite", draws=30)
@given(record=any_record)
@example(record=but(weight=[0.0, INF, 1.75], loss=[INF, NAN, INF]))
@example(record=turned(but(2, gradient=[-4.0, NAN], loss=[4.0, -INF])))
@example(record=turned(but(1, update=[NAN], next_weight=[INF], gradient=[INF]), 2))
@example(record=but(2, update=[2.5, INF], next_weight=[2.5, INF]))
@example(record=but(1, next_weight=[NAN]))
def test_first_bad_number_is_found(student, record):
    """first_nonfinite is the earliest step, and the earliest name within it"""
    expect(student.first_nonfinite(record), first_nonfinite(record))


@pytest.mark.points(0.5, about="first_nonfinite", draws=10)
@given(case=by_case(LENGTHS, of_length))
@example(case=([0.0], [0.0]))
def test_finite_record_has_none(student, case):
    """first_nonfinite is None for a record that is finite throughout"""
    columns = [case[place % 2] for place in range(len(NAMES))]
    expect(student.first_nonfinite(dict(zip(NAMES, columns, strict=True))), Nothing())


# --- misconceptions ------------------------------------------------------------------------------


def on_finite(answer: Callable[..., Due]) -> Callable[..., Due]:
    """For people who have the end of a broken run right."""

    def wrong(rate, steps, features, targets, initial_weight, clip):
        if not finite(features, targets):
            return bad_row(initial_weight)
        return answer(rate, steps, features, targets, initial_weight, clip)

    return wrong


def with_column(change: Callable[..., dict[str, list[Rounded]]]) -> Callable[..., Due]:
    """The right record with some columns exchanged: `change` gets it, the rate and the clip."""

    def wrong(rate, steps, features, targets, initial_weight, clip):
        right = table(rate, steps, features, targets, initial_weight, clip)
        limit = None if clip is None else Fraction(clip)
        return fields({**right, **change(right, Fraction(rate), limit)})

    return on_finite(wrong)


def limited(slope: Rounded, clip: Fraction | None) -> Rounded:
    """A gradient within the clip."""
    if clip is None:
        return slope
    return Rounded(max(-clip, min(clip, slope.value)), slope.bound)


@on_finite
def recorded_afterwards(rate, steps, features, targets, initial_weight, clip):
    """Each row holds the weight that its update led to, with the loss and the gradient there."""
    right = table(rate, steps, features, targets, initial_weight, clip)
    after = right["next_weight"]
    return fields(
        {
            **right,
            "weight": after,
            "loss": [descent.loss(weight, features, targets) for weight in after],
            "gradient": [descent.gradient(weight, features, targets) for weight in after],
        }
    )


def of_multiple(gain: Callable[[int], Fraction]) -> Callable[..., Due]:
    """A run on a multiple of the objective: its clip is worth as much less to the plain one."""

    def wrong(rate, steps, features, targets, initial_weight, clip):
        factor = gain(len(features))
        limit = None if clip is None else Fraction(clip) / factor
        run = table(Fraction(rate) * factor, steps, features, targets, initial_weight, limit)
        scaled = {name: [x * factor for x in run[name]] for name in ("loss", "gradient")}
        return fields({**run, **scaled})

    return on_finite(wrong)


@on_finite
def clipped_moves(rate, steps, features, targets, initial_weight, clip):
    """The clip is applied to the rate times the gradient."""
    limit = None if clip is None else Fraction(clip) / Fraction(rate)
    return fields(table(rate, steps, features, targets, initial_weight, limit))


def ending(length: Callable[[int], int]) -> Callable[..., Due]:
    """A broken run's record of another length."""

    def wrong(rate, steps, features, targets, initial_weight, clip):
        if finite(features, targets):
            return instrumented_run(rate, steps, features, targets, initial_weight, clip)
        rows = length(steps)
        if rows == 1:
            return bad_row(initial_weight)
        return Fields({name: numbers([NAN] * rows) for name in NAMES})

    return wrong


def raising(rate, steps, features, targets, initial_weight, clip):
    """A broken run ends in an exception."""
    if finite(features, targets):
        return instrumented_run(rate, steps, features, targets, initial_weight, clip)
    return Raises("FloatingPointError")


def signed_ratio(update: float, weight: float) -> Number | None:
    """Without magnitudes; what becomes of a zero weight is open."""
    if not weight:
        return None
    right = instrumented.ratio(update, weight)
    assert isinstance(right, Rounded)
    return number(-right if update * weight < 0 else right)


def ratio_of(value: Callable[[float, float], Rounded | float]) -> Callable[[float, float], Number]:
    """A ratio that is something else at a zero weight, or everywhere."""
    return lambda update, weight: number(value(update, weight))


def first_change(norms: Floats, factor: float) -> Number:
    """Falls are taken for jumps, too."""
    return first_where(norms, lambda a, b: b >= factor * a or factor * b <= a)


def against_first(norms: Floats, factor: float) -> Number:
    """Each norm against the first one."""
    first = Fraction(norms[0])
    return first_where(norms, lambda before, after: after >= factor * first)


def last_jump(norms: Floats, factor: float) -> Number:
    """The last jump."""
    exact = [Fraction(norm) for norm in norms]
    found = [k for k in range(1, len(norms)) if exact[k] >= factor * exact[k - 1]]
    return number(found[-1] if found else -1)


def largest_jump(norms: Floats, factor: float) -> Number:
    """The largest jump."""
    exact = [Fraction(norm) for norm in norms]
    found = [k for k in range(1, len(norms)) if exact[k] >= factor * exact[k - 1]]
    return number(max(found, key=lambda k: exact[k] - exact[k - 1]) if found else -1)


def zero_without_jump(norms: Floats, factor: float) -> Number:
    """0 where there is no jump."""
    right = first_jump(norms, factor)
    return number(0) if right.value < 0 else right


def by_name(record: Table) -> Due:
    """The earliest name with anything bad, at whatever step."""
    for name in NAMES:
        for step, item in enumerate(record[name]):
            if not math.isfinite(item):
                return place(step, name)
    return Nothing()


def in_dict_order(record: Table) -> Due:
    """Within a step, the first name as the dict has them."""
    return found_by_step(record, tuple(record), lambda item: not math.isfinite(item))


def last_bad(record: Table) -> Due:
    """The last step with anything bad."""
    for step in reversed(range(len(record["weight"]))):
        for name in NAMES:
            if not math.isfinite(record[name][step]):
                return place(step, name)
    return Nothing()


def none_is_minus_one(record: Table) -> Due:
    """-1 for a record that is finite throughout."""
    right = first_nonfinite(record)
    return number(-1) if isinstance(right, Nothing) else right


def name_first(record: Table) -> Due:
    """The name, and then the step."""
    right = first_nonfinite(record)
    return Several(right.parts[::-1]) if isinstance(right, Several) else right


BROKEN: Run = (0.125, 3, [1.0, NAN], Y, 0.5, None)

MISCONCEPTIONS = [
    Misconception(
        "gradient_without_sign",
        "instrumented_run",
        with_column(lambda right, rate, clip: {"gradient": [abs(g) for g in right["gradient"]]}),
        AT,
        """Your gradient column holds sizes, as the history of the lesson does. This record asks for
        the sign as well: with it you can see whether a step went downhill, and whether the weight
        jumps from one side of the optimum to the other. Which row of your record tells on which
        side the weight was?
        """,
    ),
    Misconception(
        "recorded_the_clipped_gradient",
        "instrumented_run",
        with_column(
            lambda right, rate, clip: {"gradient": [limited(g, clip) for g in right["gradient"]]}
        ),
        CLIPPED,
        """Your gradient column is never larger than the clip. What is recorded there is the
        gradient as the objective has it; the clip is something that the step does to it, and shows
        in the update. If both columns are clipped, nobody can tell from the record how large the
        gradient really was.
        """,
    ),
    Misconception(
        "update_points_uphill",
        "instrumented_run",
        with_column(lambda right, rate, clip: {"update": [-u for u in right["update"]]}),
        AT,
        """Your update has the wrong sign. It is the change that is applied to the weight, so adding
        it to the weight of its row must give the next weight. Take one row of your record and add
        the two numbers.
        """,
    ),
    Misconception(
        "update_without_the_rate",
        "instrumented_run",
        with_column(
            lambda right, rate, clip: {"update": [-limited(g, clip) for g in right["gradient"]]}
        ),
        AT,
        """Your update is the gradient that the step starts from, before the rate has been applied.
        What belongs there is how far the weight really moves in this step. Compare it with the
        difference between next_weight and weight in the same row.
        """,
    ),
    Misconception(
        "update_ignores_the_clip",
        "instrumented_run",
        with_column(lambda right, rate, clip: {"update": [-(g * rate) for g in right["gradient"]]}),
        CLIPPED,
        """Your weights are clipped and your update column is not: it is computed from the gradient
        as it was before the clip. So the record shows a change that never took place. In every row
        the update must lead from weight to next_weight.
        """,
    ),
    Misconception(
        "recorded_after_the_update",
        "instrumented_run",
        recorded_afterwards,
        AT,
        """Your rows hold the weight after the step, and the loss and the gradient there. The
        evidence for a step is what it was computed from: the weight before it, with its loss and
        gradient. The weight after it has a column of its own. What does the first row of your
        record say about where the run started?
        """,
    ),
    Misconception(
        "clip_without_effect",
        "instrumented_run",
        lambda rate, steps, features, targets, initial_weight, clip: instrumented_run(
            rate, steps, features, targets, initial_weight, None
        ),
        CLIPPED,
        """Your run is the same with and without a clip. Follow the limited gradient through your
        loop: JAX's functions return a new number and never change the one they are given. Is the
        limited one what the rate is applied to?
        """,
    ),
    Misconception(
        "clipped_the_move",
        "instrumented_run",
        clipped_moves,
        CLIPPED,
        """You limit how far the weight moves. The clip is compared with the gradient, before the
        rate is applied. By how much may a single step move the weight then, at rate 0.1 and with a
        clip of 1?
        """,
    ),
    Misconception(
        "summed_objective",
        "instrumented_run",
        of_multiple(Fraction),
        AT,
        """Loss and gradient grow with the number of examples. The objective of this course is a
        mean: data that is written down twice has the same loss and the same gradient. Look for a
        sum where an average is due.
        """,
    ),
    Misconception(
        "halved_objective",
        "instrumented_run",
        of_multiple(lambda n: Fraction(1, 2)),
        AT,
        """Your loss and your gradient are half of what they should be. The objective of this course
        is the mean of the squares with nothing in front of it. Use the lesson's own loss, and let
        JAX differentiate that.
        """,
    ),
    Misconception(
        "bad_row_left_out",
        "instrumented_run",
        ending(lambda steps: 0),
        BROKEN,
        """Your record ends before the row that broke the run. That row is the evidence: it shows
        the weight at which it happened, and which quantity went first. Record it, and stop after
        it. At which point of your loop do you look whether everything is finite?
        """,
    ),
    Misconception(
        "went_on_after_the_bad_row",
        "instrumented_run",
        ending(lambda steps: steps),
        BROKEN,
        """Your run goes on after a row that isn't finite. Everything that is computed from NaN is
        NaN, so the rows that follow tell nothing, and in a real run they cost hours. Look at each
        row when it is recorded, and leave the loop once a number in it is NaN or infinite.
        """,
    ),
    Misconception(
        "raised_at_the_bad_row",
        "instrumented_run",
        raising,
        BROKEN,
        """Where something isn't finite your function raises an exception, and the rows that were
        recorded are lost with it. The lesson's own run does that. Here the record is what is
        wanted, up to and including the row that broke: end the loop and return what there is.
        """,
    ),
    Misconception(
        "ratio_keeps_the_sign",
        "update_ratio",
        signed_ratio,
        (1.0, -4.0),
        """Your ratio is negative where update and weight have different signs. It compares two
        sizes: how far the weight moves, and how large it is. Which way it moves is another
        question.
        """,
    ),
    Misconception(
        "ratio_upside_down",
        "update_ratio",
        ratio_of(lambda update, weight: instrumented.ratio(weight, update)),
        (1.0, -4.0),
        """Your ratio falls when the update grows. It should warn of large updates: an update as
        large as the weight is 1, and one that is tiny beside the weight is nearly 0. Which of the
        two has to stand above the bar?
        """,
    ),
    Misconception(
        "zero_weight_gives_zero",
        "update_ratio",
        ratio_of(
            lambda update, weight: (
                instrumented.ratio(update, weight) if weight else Rounded(Fraction(0))
            )
        ),
        (-2.0, 0.0),
        """At a weight of 0 you always return 0, as if nothing happened. An update that isn't zero
        moves such a weight by more than any multiple of its size. Say so, and keep 0 for the case
        in which neither of them is anything.
        """,
    ),
    Misconception(
        "nothing_over_nothing",
        "update_ratio",
        ratio_of(
            lambda update, weight: instrumented.ratio(update, weight) if update or weight else NAN
        ),
        (0.0, 0.0),
        """Update and weight are both 0 here, and your quotient is NaN. An instrument that returns
        NaN where nothing happens raises a false alarm, or hides a true one. Nothing moved: what
        should the ratio say? Treat this case before you divide.
        """,
    ),
    Misconception(
        "zero_weight_is_infinite",
        "update_ratio",
        ratio_of(lambda update, weight: instrumented.ratio(update, weight) if weight else INF),
        (0.0, 0.0),
        """At a weight of 0 your ratio is infinite even when the update is 0 too. Nothing moved
        there, and an alarm would be false. Two questions have to be asked before you divide: is
        the weight 0, and if it is, is there an update at all?
        """,
    ),
    Misconception(
        "compared_with_the_first_norm",
        "first_jump",
        against_first,
        ([1.0, 2.0, 5.0, 40.0, 41.0], 4.0),
        """You compare every norm with the first one. A jump is what happens from one step to the
        next: a norm that grows slowly for many steps gets large without any jump. Compare each
        norm with its neighbour.
        """,
    ),
    Misconception(
        "falls_are_jumps",
        "first_jump",
        first_change,
        ([8.0, 1.0, 1.125], 2.0),
        """You also report where a norm falls. A norm that becomes much smaller in one step may be
        worth a look, but it isn't what was asked: only growth by the factor, or more, counts.
        """,
    ),
    Misconception(
        "last_jump",
        "first_jump",
        last_jump,
        ([1.0, 30.0, 1.0, 3.0, 2.0], 2.0),
        """You return the last jump. What comes after the first one may be its consequence, so the
        first is the one to look at. Leave the loop as soon as you have found it.
        """,
    ),
    Misconception(
        "largest_jump",
        "first_jump",
        largest_jump,
        ([1.0, 3.0, 30.0], 2.0),
        """You return the largest jump. Size isn't the question here: growth that has started goes
        on, and usually gets larger. Where did it start? Return the first step at which the factor
        was reached.
        """,
    ),
    Misconception(
        "index_of_the_pair",
        "first_jump",
        lambda norms, factor: first_where(norms, lambda a, b: b >= factor * a, shift=-1),
        ([1.0, 20.0], 10.0),
        """Your index is that of the norm before the jump, and where nothing jumps it is right.
        Asked for is the step whose norm is too large. With an array of quotients this happens
        easily, since the first quotient belongs to the second norm.
        """,
    ),
    Misconception(
        "zero_where_nothing_jumps",
        "first_jump",
        zero_without_jump,
        ([8.0, 1.0, 1.125], 2.0),
        """Where there is no jump you return 0. That is the index of a step, so whoever reads it
        goes and looks there. An answer that means "nowhere" must not be one that could mean a
        place. Beware of argmax: over values that are all false it gives 0.
        """,
    ),
    Misconception(
        "by_name_before_step",
        "first_nonfinite",
        by_name,
        (but(weight=[0.0, INF, 1.75], loss=[INF, NAN, INF]),),
        """You look through one quantity after the other, and return the first that is broken
        anywhere. But a quantity that broke in an earlier step comes first, whatever it is called.
        Which of your two loops has to be the outer one?
        """,
    ),
    Misconception(
        "in_the_order_of_the_dict",
        "first_nonfinite",
        in_dict_order,
        (turned(but(2, gradient=[-4.0, NAN], loss=[4.0, -INF])),),
        """Within a step you go through the names in the order in which the record happens to have
        them. The order that counts is the one in which a step computes them: a loss that is
        infinite comes before the gradient that it spoils. Go through the names in that order, and
        look each one up.
        """,
    ),
    Misconception(
        "nan_alone",
        "first_nonfinite",
        lambda record: found_by_step(record, NAMES, math.isnan),
        (but(loss=[4.0, INF, 2.25]),),
        """You look for NaN alone. An overflow shows as an infinity, and often turns into NaN only
        steps later, or never: a clip makes a finite update of it. Ask what is not finite.
        """,
    ),
    Misconception(
        "last_bad_step",
        "first_nonfinite",
        last_bad,
        (but(loss=[4.0, INF, NAN]),),
        """You return the last step that holds something broken. Later breaks follow from the first
        one, so it is the earliest step that tells where to look. Does your search end at what it
        finds first?
        """,
    ),
    Misconception(
        "steps_from_one",
        "first_nonfinite",
        lambda record: found_by_step(record, NAMES, lambda x: not math.isfinite(x), shift=1),
        (but(loss=[4.0, INF, 2.25]),),
        """Your steps are counted from 1. In this course they are counted as Python counts rows: the
        first step of a record is step 0, and the answer can be used as an index into its arrays.
        """,
    ),
    Misconception(
        "name_before_step",
        "first_nonfinite",
        name_first,
        (but(loss=[4.0, INF, 2.25]),),
        """You return the two in the opposite order. First comes the step, which says when it
        happened, and then the name, which says what it was.
        """,
    ),
    Misconception(
        "minus_one_for_none",
        "first_nonfinite",
        none_is_minus_one,
        (but(),),
        """For a record that is finite throughout you return -1. There is no step and no name then,
        and the contract says None. It also is safer: -1 is an index in Python, that of the last
        row.
        """,
    ),
]
