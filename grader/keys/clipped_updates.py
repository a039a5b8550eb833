"""The key of `clipped_updates`: exact answers, hidden checks, misconceptions with witnesses."""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import (
    any_rates,
    by_case,
    datasets,
    factors,
    weights,
)
from grader.exact import clipped, descent
from grader.exact.rounding import Rounded, gamma, rounded
from grader.judge import Number, Several, expect, number, numbers
from grader.model import Misconception

TITLE = "A bounded symptom, not a diagnosis"

Floats = list[float]
Table = list[Floats]
Run = tuple[Any, ...]
"""Arguments of `clipped_run`."""

# --- what is due ---------------------------------------------------------------------------------


def clip_gradient(gradient: float, clip: float) -> Number:
    """The gradient, limited to [-clip, clip]."""
    return number(clipped.clip_gradient(gradient, clip))


def move_bound(rate: float, clip: float) -> Number:
    """rate*clip."""
    return number(clipped.move_bound(rate, clip))


def clipped_run(
    rate: float,
    steps: int,
    clip: float,
    features: Floats,
    targets: Floats,
    initial_weight: float,
) -> Several:
    """The final weight, and rows of weight, loss, abs(gradient) and abs(clipped gradient)."""
    final, rows = made(rate, steps, clip, features, targets, initial_weight)
    return Several((number(final), numbers(rows)))


def clipped_fraction(history: Table, clip: float) -> Number:
    """The share of rows whose third entry is larger than the clip."""
    return number(clipped.share(sum(row[2] > clip for row in history), len(history)))


def made(
    rate: float, steps: int, clip: float, features: Floats, targets: Floats, initial_weight: float
) -> tuple[Rounded, list[clipped.Row]]:
    """The run; exact runs are long, and every submission is asked the same ones."""
    return _made(rate, steps, clip, tuple(features), tuple(targets), initial_weight)


@functools.lru_cache(2_000)
def _made(
    rate: float, steps: int, clip: float, x: tuple[float, ...], y: tuple[float, ...], start: float
) -> tuple[Rounded, list[clipped.Row]]:
    return clipped.run(rate, steps, clip, x, y, start)


TRUTH = {
    "clip_gradient": clip_gradient,
    "move_bound": move_bound,
    "clipped_run": clipped_run,
    "clipped_fraction": clipped_fraction,
}

# Worked examples that ship to students: the page's own case, which ends in a cycle; the lesson's;
# and one that no clip touches. Negative gradients beyond the clip are left for them to think of.
BY_HAND = ([2.0], [4.0])
WORKED = ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
TABLE = [
    [-0.75, 30.25, 22.0, 3.0],
    [0.75, 6.25, 10.0, 3.0],
    [2.25, 0.25, 2.0, 2.0],
    [1.25, 2.25, 6.0, 3.0],
    [2.75, 2.25, 6.0, 3.0],
    [1.25, 2.25, 6.0, 3.0],
]

EXAMPLES: list[tuple[str, tuple[Any, ...]]] = [
    ("clip_gradient", (22.0, 3.0)),
    ("clip_gradient", (2.0, 3.0)),
    ("clip_gradient", (-0.5, 1.0)),
    ("move_bound", (0.5, 3.0)),
    ("move_bound", (0.1, 20.0)),
    ("clipped_run", (0.5, 6, 3.0, *BY_HAND, -0.75)),
    ("clipped_run", (0.1, 2, 100.0, *WORKED, 0.25)),
    ("clipped_run", (0.3, 3, 1.0, *WORKED, 0.0)),
    ("clipped_fraction", (TABLE, 3.0)),
    ("clipped_fraction", (TABLE[2:3], 3.0)),
]

# The run whose history stands in the report, for its picture.
SERIES = ("clipped_run", (0.5, 6, 3.0, *BY_HAND, -0.75), 1, (6, 4))

# --- hidden checks -------------------------------------------------------------------------------

# Few pairs: a jitted loop is compiled for each number of steps and each length.
STEPS_AND_LENGTHS = ((1, 1), (2, 3), (3, 2), (6, 3))
MULTIPLIERS = (0.75, 0.25, -0.25, -0.75, -1.25, -2.0, -4.0)


def about(size: float, digits: int = 2) -> float:
    """In so many digits, and of ordinary size."""
    return min(max(float(f"{size:.{digits}g}"), 1 / 1024), 1024.0)


def rate_near(multiplier: float, features: Floats) -> float:
    """A rate that makes the plain step's multiplier about this."""
    curvature = float(descent.curvature(features).value)
    return about((1 - multiplier) / curvature) if curvature else 0.25


def first_gradient(data: tuple[Floats, Floats], weight: float) -> float:
    """The size of the gradient that a run begins with."""
    return float(abs(descent.gradient(rounded(weight), *data).value))


def runs(shares: tuple[float, ...], multipliers: tuple[float, ...]) -> st.SearchStrategy[Run]:
    """Arguments of `clipped_run`, the clip being one of `shares` of the first gradient."""

    def arguments(steps: int, drawn: Any) -> Run:
        share, multiplier, data, weight = drawn
        clip = about(first_gradient(data, weight) * share)
        return rate_near(multiplier, data[0]), steps, clip, *data, weight

    def of_length(steps: int, length: int) -> st.SearchStrategy[Run]:
        parts = (
            st.sampled_from(shares),
            st.sampled_from(multipliers),
            datasets((length,)),
            weights(),
        )
        return st.tuples(*parts).map(lambda drawn: arguments(steps, drawn))

    drawn = by_case(STEPS_AND_LENGTHS, lambda case: of_length(*case))

    def is_asked(run: Run) -> bool:
        return abs(descent.error_multiplier(run[0], run[3]).value) < 8

    return drawn.filter(is_asked)


def tables(shares: tuple[float, ...]) -> st.SearchStrategy[tuple[Table, float]]:
    """A history and its clip, as a run of `runs` records them; no gradient is near the clip, and
    float32 holds the clip."""

    def recorded(run: Run) -> tuple[Table, float]:
        rate, steps, clip, features, targets, weight = run
        mantissa, exponent = math.frexp(clip)
        clip = math.ldexp(round(mantissa * 1024), exponent - 10)
        _, rows = made(rate, steps, clip, features, targets, weight)
        return [[float(item.value) for item in row] for row in rows], clip

    def is_asked(drawn: tuple[Table, float]) -> bool:
        table, clip = drawn
        return all(abs(row[2] - clip) >= clip / 64 for row in table)

    return runs(shares, MULTIPLIERS).map(recorded).filter(is_asked)


def gradients(shares: tuple[float, ...]) -> st.SearchStrategy[tuple[float, float]]:
    """A gradient of either sign, one of `shares` of the clip in size and clear of it; the clip."""

    def pair(clip: float, share: float, sign: float) -> tuple[float, float]:
        return sign * about(clip * share, 3), clip

    drawn = st.builds(pair, factors(), st.sampled_from(shares), st.sampled_from((1.0, -1.0)))
    return drawn.filter(lambda pair: (abs(pair[0]) > pair[1] * 65 / 64) is (shares[0] > 1))


@pytest.mark.points(0.75, about="clip_gradient", draws=20)
@given(pair=gradients((1.1, 1.5, 4.0, 20.0)))
@example(pair=(-5.0, 2.0))
@example(pair=(5.0, 2.0))
@example(pair=(-2.0, 0.5))
def test_large_gradient_is_limited(student, pair):
    """clip_gradient, where the gradient is larger than the clip, upwards or downwards"""
    expect(student.clip_gradient(*pair), clip_gradient(*pair))


@pytest.mark.points(0.75, about="clip_gradient", draws=15)
@given(pair=gradients((0.9, 0.5, 0.1, 0.01)).filter(lambda pair: abs(pair[0]) < pair[1] * 63 / 64))
@example(pair=(1.0, 2.0))
@example(pair=(-1.0, 2.0))
@example(pair=(0.0, 4.0))
def test_small_gradient_passes(student, pair):
    """clip_gradient, where the gradient is smaller than the clip, or 0"""
    expect(student.clip_gradient(*pair), clip_gradient(*pair))


@pytest.mark.points(0.75, about="move_bound", draws=15)
@given(rate=any_rates(), clip=factors())
@example(rate=0.25, clip=4.0)
@example(rate=2.0, clip=0.5)
@example(rate=1.0, clip=1024.0)
@example(rate=1 / 1024, clip=1.0)
def test_farthest_move_is_exact(student, rate, clip):
    """move_bound is the farthest that a step can go"""
    expect(student.move_bound(rate, clip), move_bound(rate, clip))


@pytest.mark.points(1.25, about="clipped_run", draws=20)
@given(run=runs((0.5, 0.05, 0.2, 0.8), MULTIPLIERS))
@example(run=(0.25, 2, 1.0, [1.0, 2.0, 0.0], [3.0, 2.0, 1.0], -2.0))
@example(run=(0.25, 2, 1.0, [1.0, 2.0, 0.0], [3.0, 2.0, 1.0], 4.0))
@example(run=(0.75, 3, 2.0, [1.0, 1.0], [3.0, 3.0], 0.0))
@example(run=(0.5, 6, 0.25, [1.0, 3.0, -1.0], [2.0, 6.0, -2.0], 1.0))
def test_run_that_is_clipped(student, run):
    """clipped_run, where the first step is limited, and others may be"""
    expect(student.clipped_run(*run), clipped_run(*run))


@pytest.mark.points(0.75, about="clipped_run", draws=15)
@given(run=runs((1.5, 1.1, 3.0, 20.0), MULTIPLIERS))
@example(run=(0.25, 3, 100.0, [1.0, 2.0], [3.0, 2.0], -2.0))
@example(run=(0.25, 2, 8.0, [0.0, 0.0, 0.0], [3.0, 2.0, 1.0], 1.5))
@example(run=(0.25, 1, 8.0, [2.0], [6.0], 3.0))
@example(run=(1.25, 6, 8.0, [1.0, 1.0, 1.0], [2.0, 2.0, 2.0], 0.0))
def test_run_that_begins_within_the_clip(student, run):
    """clipped_run, where the first step passes as it is"""
    expect(student.clipped_run(*run), clipped_run(*run))


@pytest.mark.points(0.75, about="clipped_fraction", draws=20)
@given(drawn=tables((0.5, 0.05, 0.2, 0.8)))
@example(drawn=([[0.0, 18.0, 12.0, 3.0], [1.5, 4.5, 6.0, 3.0], [3.0, 0.0, 0.0, 0.0]], 3.0))
@example(drawn=([[0.0, 4.0, 2.0, 1.0], [0.5, 3.0625, 1.75, 1.0], [1.0, 2.25, 1.5, 1.0]], 1.0))
def test_share_of_a_run_that_is_clipped(student, drawn):
    """clipped_fraction, where some rows or all of them are beyond the clip"""
    expect(student.clipped_fraction(*drawn), clipped_fraction(*drawn))


@pytest.mark.points(1, about="clipped_fraction", draws=15)
@given(drawn=tables((1.5, 1.1, 3.0, 20.0)))
@example(drawn=([[0.0, 100.0, 2.0, 2.0], [1.0, 98.5, 1.0, 1.0]], 4.0))
@example(drawn=([[1.5, 0.5, 2.0, 2.0], [-0.5, 4.5, 6.0, 4.0], [3.5, 12.5, 10.0, 4.0]], 4.0))
def test_share_of_a_run_that_begins_within(student, drawn):
    """clipped_fraction, where the first row is within the clip"""
    expect(student.clipped_fraction(*drawn), clipped_fraction(*drawn))


# --- misconceptions ------------------------------------------------------------------------------

Limit = Callable[[Fraction, Fraction, Fraction], Fraction]
"""What a step uses: of gradient, clip and rate."""


def plain(value: Fraction) -> Rounded:
    """A number that a wrong program computes well enough."""
    return Rounded(value, gamma(400) * abs(value))


def in_a_loop(use: Limit) -> Callable[..., Several]:
    """A relative of `clipped_run` whose steps use another gradient, which is recorded, too."""

    def answer(
        rate: float,
        steps: int,
        clip: float,
        features: Floats,
        targets: Floats,
        initial_weight: float,
    ) -> Several:
        weight, rows = Fraction(initial_weight), []
        for _ in range(steps):
            loss = descent.loss(plain(weight), features, targets)
            slope = descent.gradient(plain(weight), features, targets)
            used = use(slope.value, Fraction(clip), Fraction(rate))
            rows.append([plain(weight), loss, abs(slope), plain(abs(used))])
            weight -= Fraction(rate) * used
        return Several((number(plain(weight)), numbers(rows)))

    return answer


def clipped_the_move(slope: Fraction, clip: Fraction, rate: Fraction) -> Fraction:
    """The gradient of a step that is limited after the rate was applied."""
    return clipped.limited(rate * slope, clip) / rate


def of_full_length(slope: Fraction, clip: Fraction, _: Fraction) -> Fraction:
    """The gradient brought to the size of the clip, also where it is smaller."""
    return clip * ((slope > 0) - (slope < 0))


def record(change: Callable[[clipped.Row, float], list[Any]]) -> Callable[..., Several]:
    """The right run with other rows."""

    def answer(rate: float, steps: int, clip: float, *rest: Any) -> Several:
        final, rows = made(rate, steps, clip, *rest)
        return Several((number(final), numbers([change(row, rate) for row in rows])))

    return answer


def recorded_late(rate: float, steps: int, clip: float, *rest: Any) -> Several:
    """Rows after their updates."""
    _, rows = made(rate, steps + 1, clip, *rest)
    return Several((number(rows[-1][0]), numbers(rows[1:])))


def last_recorded(rate: float, steps: int, clip: float, *rest: Any) -> Several:
    """The last row's weight as the final one."""
    _, rows = made(rate, steps, clip, *rest)
    return Several((number(rows[-1][0]), numbers(rows)))


def from_zero(
    rate: float, steps: int, clip: float, features: Floats, targets: Floats, initial_weight: float
) -> Several:
    """A run from the weight 0."""
    return clipped_run(rate, steps, clip, features, targets, 0.0)


def counted(rows: Table, beyond: Callable[[Floats], bool]) -> int:
    """How many rows are taken for clipped."""
    return sum(map(beyond, rows))


AT = (0.25, 2, 1.0, [1.0, 2.0, 0.0], [3.0, 2.0, 1.0], 4.0)  # the gradient is positive
GRAIN = Fraction(1, 2**20)  # of a share, as wrong programs compute it
ROWS = [[0.0, 18.0, 12.0, 3.0], [1.5, 4.5, 6.0, 3.0], [3.0, 0.0, 0.0, 0.0]]

MISCONCEPTIONS = [
    Misconception(
        "limited_above_only",
        "clip_gradient",
        lambda gradient, clip: number(min(gradient, clip), gamma(8) * abs(Fraction(gradient))),
        (-5.0, 2.0),
        """A large positive gradient is limited, a large negative one passes. Whether a gradient is
        too large is a question about its size; the sign only says which way to go. A run that
        starts below the best weight has negative gradients, and nothing would limit them.
        """,
    ),
    Misconception(
        "limited_without_sign",
        "clip_gradient",
        lambda gradient, clip: number(
            min(abs(gradient), clip), gamma(8) * min(abs(Fraction(gradient)), Fraction(clip))
        ),
        (-5.0, 2.0),
        """Your result is never negative. The size is limited as it should be, but the direction is
        gone, and a step that uses it would go the same way on both sides of the best weight. The
        size belongs in the record; the update needs the sign as well.
        """,
    ),
    Misconception(
        "limited_from_zero",
        "clip_gradient",
        lambda gradient, clip: number(
            max(0.0, min(gradient, clip)), gamma(8) * abs(Fraction(gradient))
        ),
        (-1.0, 2.0),
        """Negative gradients become 0. The interval that a gradient is brought into has two ends,
        and 0 lies in its middle. If you use a function of the library, look at what it takes for
        its lower end.
        """,
    ),
    Misconception(
        "dropped_when_too_large",
        "clip_gradient",
        lambda gradient, clip: number(gradient if abs(gradient) < clip else 0.0),
        (-5.0, 2.0),
        """A gradient beyond the clip becomes 0, so that no step is made at all. That is skipping a
        step, which some training loops do on purpose. Clipping still takes one, in the same
        direction, with as much of the gradient as is allowed.
        """,
    ),
    Misconception(
        "always_as_large_as_the_clip",
        "clip_gradient",
        lambda gradient, clip: number(math.copysign(clip, gradient) if gradient else 0.0),
        (1.0, 2.0),
        """Every gradient comes out as large as the clip, small ones included. The clip is an upper
        limit, no target: what is within it passes unchanged. Otherwise no run could ever come to
        rest, since its steps wouldn't get shorter near the best weight.
        """,
    ),
    Misconception(
        "clip_without_effect",
        "clip_gradient",
        lambda gradient, clip: number(gradient),
        (5.0, 2.0),
        """You return the gradient as it came. Functions of JAX and NumPy give back something new
        and leave what they were given as it is, so a result that isn't used is lost. Print what
        your function returns for a gradient of 5 and a clip of 2.
        """,
    ),
    Misconception(
        "the_clip_alone",
        "move_bound",
        lambda rate, clip: number(rounded(clip)),
        (0.25, 4.0),
        """That is how large the gradient can be after clipping. The weight moves by something else:
        look at the line of the update, and see what else stands in it. At a tiny rate, does the
        weight still move as far as the clip?
        """,
    ),
    Misconception(
        "move_to_both_sides",
        "move_bound",
        lambda rate, clip: number(2 * rounded(rate) * rounded(clip)),
        (0.25, 4.0),
        """Your bound is twice too large. The gradient lies in an interval that is twice as wide as
        the clip, since it may go either way; but one step goes only one way. How far can it go from
        where the weight is?
        """,
    ),
    Misconception(
        "clip_over_rate",
        "move_bound",
        lambda rate, clip: number(rounded(clip) / rounded(rate)),
        (0.25, 4.0),
        """Your bound falls when the rate grows. Take the update with a gradient that sits exactly
        at the clip, and double the rate: does the weight move farther or less far? Then write down
        how far.
        """,
    ),
    Misconception(
        "rate_over_clip",
        "move_bound",
        lambda rate, clip: number(rounded(rate) / rounded(clip)),
        (0.25, 4.0),
        """Your bound falls when the clip grows. A larger clip lets larger gradients through, so a
        step can only become longer. Write down the update with a gradient that sits exactly at the
        clip, and read off by how much the weight changes.
        """,
    ),
    Misconception(
        "run_without_clip",
        "clipped_run",
        in_a_loop(lambda slope, clip, rate: slope),
        AT,
        """Your run isn't clipped: weights and last column are those of plain descent. Perhaps the
        clip isn't handed on, or the clipped gradient is computed and the update uses the other one.
        Print both in the first step.
        """,
    ),
    Misconception(
        "run_with_clipped_moves",
        "clipped_run",
        in_a_loop(clipped_the_move),
        AT,
        """You limit how far the weight moves, after the rate has been applied. The clip is meant
        for the gradient, before it meets the rate. The order matters: with the same clip, how far
        can the weight move in your version, and how far in the one that is asked for?
        """,
    ),
    Misconception(
        "run_at_full_length",
        "clipped_run",
        in_a_loop(of_full_length),
        (0.25, 2, 100.0, [1.0, 2.0, 0.0], [3.0, 2.0, 1.0], 4.0),
        """Every step of your run is as long as the clip allows, also where the gradient is smaller.
        A gradient within the clip passes unchanged. Test `clip_gradient` on a small gradient first.
        """,
    ),
    Misconception(
        "clipped_gradient_recorded_twice",
        "clipped_run",
        record(lambda row, rate: [row[0], row[1], row[3], row[3]]),
        AT,
        """Your third column never exceeds the clip. It should hold the gradient as the loss has it,
        and the fourth one what the update used. A record that knows only the clipped gradient
        can't tell a run that is limited at every step from one that is fine, and the difference of
        the two columns is what this page is about.
        """,
    ),
    Misconception(
        "move_recorded_for_gradient",
        "clipped_run",
        record(lambda row, rate: [*row[:3], rounded(rate) * row[3]]),
        AT,
        """Your fourth column holds how far the weight moved. Asked is the size of the gradient that
        the update used, before the rate is applied, so that it can be set beside the third column,
        number by number.
        """,
    ),
    Misconception(
        "recorded_after_the_update",
        "clipped_run",
        recorded_late,
        AT,
        """Your rows are written after the step. The first row should show the weight that the run
        starts from, with its loss and its gradients: those are what the first update is made from.
        Look at the order of the two lines in your loop.
        """,
    ),
    Misconception(
        "last_row_for_final_weight",
        "clipped_run",
        last_recorded,
        AT,
        """Your final weight is the one in the last row. That row was written before its update, and
        the update was still made. After one step from weight 4, which weight is in the row, and
        which one has been reached?
        """,
    ),
    Misconception(
        "run_from_zero",
        "clipped_run",
        from_zero,
        AT,
        """Your run starts from weight 0 whatever it is given. `lesson.run` does that where nobody
        tells it otherwise; read its list of arguments to the end. Then look at the first entry of
        the first row.
        """,
    ),
    Misconception(
        "counted_not_shared",
        "clipped_fraction",
        lambda history, clip: number(Fraction(counted(history, lambda row: row[2] > clip)), GRAIN),
        (ROWS, 3.0),
        """You return how many rows are beyond the clip. Asked is what share of all rows that is, a
        number from 0 to 1, so that runs of different lengths can be compared.
        """,
    ),
    Misconception(
        "share_in_percent",
        "clipped_fraction",
        lambda history, clip: number(100 * Fraction(clipped_fraction(history, clip).value), GRAIN),
        (ROWS, 3.0),
        """Your share is a hundred times too large: it is a percentage. A share of all rows is 1, a
        share of none is 0. Leave the percent sign to the sentence in which you report it.
        """,
    ),
    Misconception(
        "share_of_the_rest",
        "clipped_fraction",
        lambda history, clip: number(1 - Fraction(clipped_fraction(history, clip).value), GRAIN),
        (ROWS, 3.0),
        """You return the share of rows that pass unchanged. Asked are the others. Take a history in
        which every gradient is tiny: what should the share be then?
        """,
    ),
    Misconception(
        "share_of_the_clipped_column",
        "clipped_fraction",
        lambda history, clip: number(Fraction(0)),
        (ROWS, 3.0),
        """Your share is always 0. The last column has been limited already, so nothing in it is
        larger than the clip. Which column still knows how large the gradient was before?
        """,
    ),
    Misconception(
        "share_of_the_losses",
        "clipped_fraction",
        lambda history, clip: number(
            Fraction(counted(history, lambda row: row[1] > clip), len(history)), GRAIN
        ),
        ([[0.0, 100.0, 2.0, 2.0], [1.0, 98.5, 1.0, 1.0]], 4.0),
        """You compare the clip with the loss. It is the gradient that is clipped, and a large loss
        may well come with a small gradient. Count the columns: weight, loss, gradient, clipped
        gradient, beginning with 0.
        """,
    ),
    Misconception(
        "whether_any_row_is_clipped",
        "clipped_fraction",
        lambda history, clip: number(
            Fraction(int(counted(history, lambda row: row[2] > clip) > 0)), GRAIN
        ),
        ([[1.5, 0.5, 2.0, 2.0], [-0.5, 4.5, 6.0, 4.0]], 4.0),
        """You say whether any row is beyond the clip, as 0 or 1. One row at the start of a run is
        harmless; every row is a run that the clip drives. Those two have to give different numbers.
        """,
    ),
]
