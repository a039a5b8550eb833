"""The key of `feature_scale`: exact answers, hidden checks, misconceptions with witnesses."""

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
)
from grader.exact import descent, scaled
from grader.exact.rounding import Rounded, gamma, rounded
from grader.judge import Due, Number, Raises, Several, expect, number, numbers
from grader.model import Misconception

TITLE = "Preprocessing moves the bound"

Floats = list[float]
Data = tuple[Floats, Floats]
Comparison = tuple[Any, ...]
"""Arguments of `scaled_comparison`."""

REFUSED = Raises("ValueError")

# --- what is due ---------------------------------------------------------------------------------


def scaled_ceiling(ceiling: float, scale: float) -> Number | Raises:
    """ceiling/scale**2; refused for a scale of 0."""
    return number(scaled.compensated(ceiling, scale)) if scale else REFUSED


def compensating_rate(rate: float, scale: float) -> Number | Raises:
    """rate/scale**2; refused for a scale of 0."""
    return number(scaled.compensated(rate, scale)) if scale else REFUSED


def standardize(features: Floats, targets: Floats) -> Several | Raises:
    """Both over the root mean square of the features, and that; refused where it is 0."""
    if not any(features):
        return REFUSED
    return over(scaled.root_mean_square(features), features, targets)


def over(scale: Rounded, features: Floats, targets: Floats) -> Several:
    """Both over a scale, and the scale."""
    parts = scaled.divided(features, scale), scaled.divided(targets, scale)
    return Several((numbers(parts[0]), numbers(parts[1]), number(scale)))


def scaled_comparison(
    rate: float, scale: float, steps: int, features: Floats, targets: Floats
) -> Several:
    """Weights of both runs, and the ratio of their losses."""
    return Several(tuple(map(numbers, made(rate, scale, steps, features, targets))))


def made(
    rate: float, scale: float, steps: int, features: Floats, targets: Floats
) -> tuple[list[Rounded], list[Rounded], list[Rounded]]:
    """Both runs; exact runs are long, and every submission is asked the same ones."""
    return _made(rate, scale, steps, tuple(features), tuple(targets))


@functools.lru_cache(2_000)
def _made(
    rate: float, scale: float, steps: int, features: tuple[float, ...], targets: tuple[float, ...]
) -> tuple[list[Rounded], list[Rounded], list[Rounded]]:
    return scaled.comparison(rate, scale, steps, features, targets)


TRUTH = {
    "scaled_ceiling": scaled_ceiling,
    "compensating_rate": compensating_rate,
    "standardize": standardize,
    "scaled_comparison": scaled_comparison,
}

# Worked examples that ship to students: the page's own case, the lesson's times ten, and data that
# no line through 0 fits. Negative scales and a scale of 0 are left for them to think of.
BY_HAND = ([1.0, 7.0], [2.0, 14.0])
WORKED = ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])

EXAMPLES: list[tuple[str, tuple[Any, ...]]] = [
    ("scaled_ceiling", (0.04, 0.2)),
    ("scaled_ceiling", (0.25, 2.0)),
    ("compensating_rate", (0.1, 10.0)),
    ("compensating_rate", (0.75, 0.25)),
    ("standardize", ([3.0, -4.0], [5.0, 10.0])),
    ("standardize", ([0.5], [1.0])),
    ("standardize", BY_HAND),
    ("scaled_comparison", (0.1, 10.0, 3, *WORKED)),
    ("scaled_comparison", (0.3, 0.5, 3, *WORKED)),
    ("scaled_comparison", (0.25, 2.0, 2, [1.0, 0.0], [3.0, 2.0])),
]

# --- hidden checks -------------------------------------------------------------------------------

# Few pairs: a jitted loop is compiled for each length, a scan for each number of steps, too.
STEPS_AND_LENGTHS = ((1, 1), (2, 3), (3, 2), (6, 3))
SETTLING = (0.9, 0.75, 0.5, 0.25, 0.0, -0.25, -0.5, -0.75, -0.9)
DIVERGING = (-1.1, -1.5, -2.0, -4.0)
SCALES = st.builds(lambda size, sign: sign * size, factors(), st.sampled_from((1.0, 1.0, -1.0)))


def rate_near(multiplier: float, features: Floats) -> float:
    """A rate in two digits, of ordinary size, that makes the multiplier about this."""
    curvature = float(descent.curvature(features).value)
    rate = (1 - multiplier) / curvature if curvature else 0.25
    return min(max(float(f"{rate:.2g}"), 1 / 1024), 1024.0)


def comparisons(multipliers: tuple[float, ...]) -> st.SearchStrategy[Comparison]:
    """Arguments of `scaled_comparison`, every loss being large enough to divide by."""

    def arguments(steps: int, multiplier: float, scale: float, data: Data) -> Comparison:
        return rate_near(multiplier, data[0]), scale, steps, *data

    def of_length(steps: int, length: int) -> st.SearchStrategy[Comparison]:
        parts = st.sampled_from(multipliers), SCALES, datasets((length,))
        return st.tuples(*parts).map(lambda drawn: arguments(steps, *drawn))

    drawn = by_case(STEPS_AND_LENGTHS, lambda case: of_length(*case))

    def is_asked(case: Comparison) -> bool:
        rate, _, steps, features, targets = case
        moderate = abs(descent.error_multiplier(rate, features).value) < 8
        return moderate and scaled.is_asked(rate, steps, features, targets)

    return drawn.filter(is_asked)


@pytest.mark.points(0.75, about="scaled_ceiling", draws=20)
@given(ceiling=any_rates(), scale=SCALES)
@example(ceiling=2.0, scale=4.0)
@example(ceiling=2.0, scale=-4.0)
@example(ceiling=1.0, scale=1024.0)
@example(ceiling=1.0, scale=-1 / 1024)
@example(ceiling=0.5, scale=-1.0)
def test_ceiling_is_exact(student, ceiling, scale):
    """scaled_ceiling is the ceiling of the multiplied data, for scales of either sign"""
    expect(student.scaled_ceiling(ceiling, scale), scaled_ceiling(ceiling, scale))


@pytest.mark.points(0.25, about="scaled_ceiling")
def test_ceiling_of_nothing_is_refused(student):
    """scaled_ceiling raises ValueError for data multiplied by 0"""
    for ceiling in (1.0, 0.25):
        expect(student.scaled_ceiling(ceiling, 0.0), REFUSED)


@pytest.mark.points(0.75, about="compensating_rate", draws=20)
@given(rate=any_rates(), scale=SCALES)
@example(rate=0.5, scale=4.0)
@example(rate=0.5, scale=-4.0)
@example(rate=1.0, scale=1024.0)
@example(rate=1.0, scale=-1 / 1024)
@example(rate=0.25, scale=-1.0)
def test_rate_is_exact(student, rate, scale):
    """compensating_rate is the rate that gives the same weights, for scales of either sign"""
    expect(student.compensating_rate(rate, scale), compensating_rate(rate, scale))


@pytest.mark.points(0.25, about="compensating_rate")
def test_rate_for_nothing_is_refused(student):
    """compensating_rate raises ValueError for data multiplied by 0"""
    for rate in (1.0, 0.25):
        expect(student.compensating_rate(rate, 0.0), REFUSED)


@pytest.mark.points(1.25, about="standardize", draws=25)
@given(data=datasets().filter(lambda data: any(data[0])))
@example(data=([1.0, 3.0], [2.0, -5.0]))
@example(data=([-2.0], [3.0]))
@example(data=([0.0, 0.0, 4.0], [1.0, 0.0, 2.0]))
@example(data=([1.0, -1.0], [0.0, 0.0]))
@example(data=([1024.0, 1 / 1024], [1.0, 1024.0]))
def test_standardized_data_is_exact(student, data):
    """standardize divides both by the root mean square of the features, and tells it"""
    expect(student.standardize(*data), standardize(*data))


@pytest.mark.points(0.5, about="standardize")
def test_features_without_size_are_refused(student):
    """standardize raises ValueError for features that are all zero"""
    for targets in ([1.0], [1.0, -2.0, 0.0]):
        expect(student.standardize([0.0] * len(targets), targets), REFUSED)


@pytest.mark.points(1.25, about="scaled_comparison", draws=20)
@given(case=comparisons(SETTLING))
@example(case=(0.25, 2.0, 2, [1.0, 0.0, 1.0], [3.0, 2.0, 1.0]))
@example(case=(0.25, -4.0, 3, [1.0, 2.0], [3.0, 2.0]))
@example(case=(0.25, 0.5, 1, [2.0], [3.0]))
@example(case=(0.25, 3.0, 2, [0.0, 0.0, 0.0], [1.0, 2.0, -1.0]))
def test_runs_that_settle_are_compared(student, case):
    """scaled_comparison, at rates below the ceiling"""
    expect(student.scaled_comparison(*case), scaled_comparison(*case))


@pytest.mark.points(1, about="scaled_comparison", draws=15)
@given(case=comparisons(DIVERGING))
@example(case=(1.25, 2.0, 3, [1.0, 1.0], [2.0, 2.0]))
@example(case=(1.5, -0.25, 6, [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]))
def test_runs_that_diverge_are_compared(student, case):
    """scaled_comparison, at rates above the ceiling"""
    expect(student.scaled_comparison(*case), scaled_comparison(*case))


# --- misconceptions ------------------------------------------------------------------------------


def unless_zero(answer: Callable[[Rounded, Rounded], Rounded]) -> Callable[[float, float], Due]:
    """A relative of the two quotients, which refuses a scale of 0 as it should."""

    def wrong(quantity: float, scale: float) -> Due:
        return number(answer(rounded(quantity), rounded(scale))) if scale else REFUSED

    return wrong


def for_zero(due: Due) -> Callable[[float, float], Due]:
    """Right but for a scale of 0."""
    return lambda quantity, scale: scaled_ceiling(quantity, scale) if scale else due


def standardized_by(size: Callable[[Floats], Fraction]) -> Callable[[Floats, Floats], Due | None]:
    """Both over another size of the features; open where that is 0."""

    def wrong(features: Floats, targets: Floats) -> Due | None:
        if not any(features):
            return REFUSED
        scale = size(features)
        off = gamma(2 * len(features) + 16) * scale
        return over(Rounded(scale, off), features, targets) if scale else None

    return wrong


def square_of(features: Floats) -> Fraction:
    """mean(x**2)."""
    return descent.mean_square(features).value


def norm_of(features: Floats) -> Fraction:
    """The root of sum(x**2)."""
    return Fraction(math.sqrt(square_of(features) * len(features)))


def width_of(features: Floats) -> Fraction:
    """mean(abs(x))."""
    return sum((abs(Fraction(x)) for x in features), Fraction(0)) / len(features)


def largest_of(features: Floats) -> Fraction:
    """max(abs(x))."""
    return max(abs(Fraction(x)) for x in features)


def deviation_of(features: Floats) -> Fraction:
    """The standard deviation."""
    middle = sum(map(Fraction, features), Fraction(0)) / len(features)
    return Fraction(math.sqrt(square_of(features) - middle**2))


def targets_as_they_were(features: Floats, targets: Floats) -> Due:
    """The features alone divided."""
    if not any(features):
        return REFUSED
    scale = scaled.root_mean_square(features)
    return Several((numbers(scaled.divided(features, scale)), numbers(targets), number(scale)))


def targets_by_their_own(features: Floats, targets: Floats) -> Due | None:
    """The targets over their own root mean square."""
    if not any(features):
        return REFUSED
    if not any(targets):
        return None
    scale, other = scaled.root_mean_square(features), scaled.root_mean_square(targets)
    parts = scaled.divided(features, scale), scaled.divided(targets, other)
    return Several((numbers(parts[0]), numbers(parts[1]), number(scale)))


def multiplied_by_size(features: Floats, targets: Floats) -> Due:
    """Both times the root mean square."""
    if not any(features):
        return REFUSED
    scale = scaled.root_mean_square(features)
    parts = [[rounded(item) * scale for item in items] for items in (features, targets)]
    return Several((numbers(parts[0]), numbers(parts[1]), number(scale)))


def divided_by_zero(features: Floats, targets: Floats) -> Due:
    """Right but for features that are all zero, which become NaN."""
    if any(features):
        return standardize(features, targets)
    quotients = [math.copysign(math.inf, y) if y else math.nan for y in targets]
    return Several((numbers([math.nan] * len(features)), numbers(quotients), number(0.0)))


def left_alone(features: Floats, targets: Floats) -> Due:
    """Right but for features that are all zero, which are left as they are, with a scale of 1."""
    if any(features):
        return standardize(features, targets)
    return Several((numbers(features), numbers(targets), number(1.0)))


def second_run(
    at: Callable[[Fraction, Fraction], Fraction], targets_too: bool = True
) -> Callable[..., Several]:
    """A relative of `scaled_comparison` whose second run is at another rate, or on data of which
    only the features are multiplied."""

    def wrong(rate: float, scale: float, steps: int, features: Floats, targets: Floats) -> Several:
        first, _, _ = made(rate, scale, steps, features, targets)
        factor = Fraction(scale)
        x = [factor * Fraction(item) for item in features]
        y = [(factor if targets_too else 1) * Fraction(item) for item in targets]
        _, rows = descent.run(at(Fraction(rate), factor), steps, x, y)
        second = [loose(weight.value, 2**10) for weight, _, _ in rows]
        ratios = [
            loose(loss.value / descent.loss(weight, features, targets).value, 2**10)
            for (_, loss, _), weight in zip(rows, first, strict=True)
        ]
        return Several((numbers(first), numbers(second), numbers(ratios)))

    return wrong


def loose(value: Fraction, roundings: int) -> Rounded:
    """A number as a wrong program computes it."""
    return Rounded(value, gamma(roundings) * abs(value))


def ratio_of(change: Callable[[Fraction], Fraction]) -> Callable[..., Several]:
    """A relative of `scaled_comparison` with another ratio, made from the scale."""

    def wrong(rate: float, scale: float, steps: int, *data: Any) -> Several:
        first, second, right = made(rate, scale, steps, *data)
        value = change(Fraction(scale))
        ratios = [Rounded(value, abs(value) * item.bound / item.value) for item in right]
        return Several((numbers(first), numbers(second), numbers(ratios)))

    return wrong


def recorded_late(
    rate: float, scale: float, steps: int, features: Floats, targets: Floats
) -> Several:
    """Weights after each update; the ratios are the same ones."""
    first, second, _ = made(rate, scale, steps + 1, features, targets)
    _, _, ratios = made(rate, scale, steps, features, targets)
    return Several((numbers(first[1:]), numbers(second[1:]), numbers(ratios)))


AT = (0.25, 2.0, 2, [1.0, 0.0, 1.0], [3.0, 2.0, 1.0])
DATA = ([1.0, 3.0], [2.0, -5.0])

MISCONCEPTIONS = [
    Misconception(
        "ceiling_divided_once",
        "scaled_ceiling",
        unless_zero(lambda ceiling, scale: ceiling / scale),
        (2.0, -4.0),
        """Your ceiling is divided by the scale once, and for a negative scale it is negative.
        Follow the scale into the loss of one example: how often does it stand in the residual, and
        what is done with the residual then? The ceiling goes down by as much as the curvature goes
        up.
        """,
    ),
    Misconception(
        "ceiling_divided_by_the_size",
        "scaled_ceiling",
        unless_zero(lambda ceiling, scale: ceiling / abs(scale)),
        (2.0, -4.0),
        """You saw that the sign of the scale can't matter, and took its size. There is another
        reason why the sign drops out. Put s*x and s*y into the squared residual of one example,
        take out what can be taken out, and read off by what the loss, and with it the curvature,
        is multiplied.
        """,
    ),
    Misconception(
        "ceiling_multiplied",
        "scaled_ceiling",
        unless_zero(lambda ceiling, scale: ceiling * scale * scale),
        (2.0, -4.0),
        """Your ceiling goes up with the data. That is what the curvature does. A steeper loss needs
        shorter steps: remember what happened to the lesson's run at rate 0.1 when features and
        targets were multiplied by ten.
        """,
    ),
    Misconception(
        "ceiling_unchanged",
        "scaled_ceiling",
        unless_zero(lambda ceiling, scale: ceiling),
        (2.0, -4.0),
        """You leave the ceiling where it is. The best weight doesn't change when features and
        targets are multiplied by one number, but the loss around it does: compare the losses at
        weight 0 before and after. What does that say about the curvature?
        """,
    ),
    Misconception(
        "ceiling_infinite_for_zero",
        "scaled_ceiling",
        for_zero(number(math.inf)),
        (1.0, 0.0),
        """For a scale of 0 you return infinity. It is true that no rate does harm to data that is
        all zero; but such data can't have come from preprocessing that anybody wanted, and it has
        lost everything. The contract asks for an error here, so that the mistake is found where it
        was made.
        """,
    ),
    Misconception(
        "ceiling_divides_by_zero",
        "scaled_ceiling",
        for_zero(Raises("ZeroDivisionError")),
        (1.0, 0.0),
        """For a scale of 0 the division itself fails, with an exception of its own kind. The
        contract asks for a ValueError, which says that the caller passed a value that makes no
        sense. Test for it before you divide, and say in the message what is wrong.
        """,
    ),
    Misconception(
        "rate_divided_once",
        "compensating_rate",
        unless_zero(lambda rate, scale: rate / scale),
        (0.5, -4.0),
        """You divide by the scale once. That is right where the objective is multiplied, as in
        `rescale_objective`. Here the data is, and the data stands inside a square. By what is the
        gradient multiplied when features and targets are? A negative rate should have made you
        wonder: it climbs.
        """,
    ),
    Misconception(
        "rate_divided_by_the_size",
        "compensating_rate",
        unless_zero(lambda rate, scale: rate / abs(scale)),
        (0.5, -4.0),
        """Your rate goes down in proportion to the size of the scale. The gradient goes up by more
        than that: it holds the feature once in the residual and once beside it. Multiply both by
        ten, for one example, and count the zeros.
        """,
    ),
    Misconception(
        "rate_multiplied",
        "compensating_rate",
        unless_zero(lambda rate, scale: rate * scale * scale),
        (0.5, -4.0),
        """Your rate goes up with the data. The gradient does so as well, and the step is the
        product of the two. For the step to stay what it was, which way does the rate have to go?
        """,
    ),
    Misconception(
        "rate_unchanged",
        "compensating_rate",
        unless_zero(lambda rate, scale: rate),
        (0.5, -4.0),
        """You keep the rate. With the lesson's data times ten, rate 0.1 is far above the ceiling,
        and the second loss is larger than the first. Work out by what the gradient has been
        multiplied, and let the rate make up for it.
        """,
    ),
    Misconception(
        "rate_infinite_for_zero",
        "compensating_rate",
        for_zero(number(math.inf)),
        (1.0, 0.0),
        """For a scale of 0 you return infinity. No rate gives the old steps back on data that is
        all zero, since the gradient is 0 there; an infinite one gives NaN. The contract asks for an
        error, so that the mistake is found where it was made.
        """,
    ),
    Misconception(
        "rate_divides_by_zero",
        "compensating_rate",
        for_zero(Raises("ZeroDivisionError")),
        (1.0, 0.0),
        """For a scale of 0 the division itself fails, with an exception of its own kind. The
        contract asks for a ValueError: the caller passed a value for which the question has no
        answer. Test for it before you divide.
        """,
    ),
    Misconception(
        "divided_by_the_deviation",
        "standardize",
        standardized_by(deviation_of),
        DATA,
        """You divide by the standard deviation, which measures from the mean. The curvature of this
        model knows nothing of the mean: it is made of the squared features as they are. Features
        that are all 3 have no deviation at all, and still a ceiling. Measure their size from 0.
        """,
    ),
    Misconception(
        "divided_by_the_mean_square",
        "standardize",
        standardized_by(square_of),
        DATA,
        """You divide by the mean of the squares. That has the unit of a squared feature, so the
        result still depends on the unit: features ten times as large come out ten times as small.
        One operation is missing before you divide.
        """,
    ),
    Misconception(
        "divided_by_the_norm",
        "standardize",
        standardized_by(norm_of),
        DATA,
        """You take the root of a sum where the root of a mean is due. Write the same data down
        twice: your scale grows, and with it every standardized feature shrinks, though nothing
        about the data has changed. What is the mean of the squares of the features that you return?
        """,
    ),
    Misconception(
        "divided_by_the_largest",
        "standardize",
        standardized_by(largest_of),
        DATA,
        """You divide by the largest feature. That brings all of them into one interval, but one
        outlier then decides for everybody, and the ceiling still depends on the others. What has to
        be 1 afterwards, for the ceiling to be a number that you know beforehand?
        """,
    ),
    Misconception(
        "divided_by_the_mean_size",
        "standardize",
        standardized_by(width_of),
        DATA,
        """You divide by the mean of the features' sizes. It has the right unit, and it isn't what
        the curvature is made of. For features 1 and 3 compute the mean of the squares after your
        division. Which number would you like it to be, and what do you have to divide by for that?
        """,
    ),
    Misconception(
        "targets_left_alone",
        "standardize",
        targets_as_they_were,
        DATA,
        """The features are divided, the targets are what they were. Then the best weight changes:
        smaller features need a larger weight for the same targets. On this page both are divided by
        the same number, so that the weight keeps its meaning.
        """,
    ),
    Misconception(
        "targets_by_their_own_size",
        "standardize",
        targets_by_their_own,
        DATA,
        """You divide the targets by a size of their own. That is often done, and it changes the
        best weight, which has to be translated back afterwards. Here one number is asked for, the
        features' size, and both are divided by it.
        """,
    ),
    Misconception(
        "multiplied_instead_of_divided",
        "standardize",
        multiplied_by_size,
        DATA,
        """You multiply by the size. Large features become larger still. What the function returns
        should look the same whether the features came in metres or in millimetres; try both on
        yours.
        """,
    ),
    Misconception(
        "zero_features_become_nan",
        "standardize",
        divided_by_zero,
        ([0.0], [1.0]),
        """Features that are all zero come back as NaN. Zero over zero isn't an error to JAX or
        NumPy, so nothing stops the run that follows, and somebody will look for the cause far from
        here. The contract asks for a ValueError before the division.
        """,
    ),
    Misconception(
        "zero_features_pass",
        "standardize",
        left_alone,
        ([0.0], [1.0]),
        """Features that are all zero come back as they are, with a scale of 1. Some libraries do
        that for one column among many. Here there is only one, nothing can be learnt from it, and
        the contract asks for a ValueError that says so.
        """,
    ),
    Misconception(
        "second_run_at_the_old_rate",
        "scaled_comparison",
        second_run(lambda rate, scale: rate),
        AT,
        """Your second run uses the rate of the first. On the multiplied data that is another run;
        with a scale of 10 it mostly diverges. The comparison is meant to show that the rate that
        you worked out gives the same weights.
        """,
    ),
    Misconception(
        "second_run_half_compensated",
        "scaled_comparison",
        second_run(lambda rate, scale: rate / abs(scale)),
        AT,
        """The rate of your second run is compensated for one factor of the scale. Two are due, one
        for the residual and one for the feature beside it. If `compensating_rate` passes its own
        checks, see whether the second run really uses it.
        """,
    ),
    Misconception(
        "targets_not_multiplied",
        "scaled_comparison",
        second_run(lambda rate, scale: rate / scale**2, targets_too=False),
        AT,
        """In your second run the features are multiplied and the targets aren't. Then the best
        weight is another one: larger features need a smaller weight. The same weights come out only
        if both are multiplied.
        """,
    ),
    Misconception(
        "ratio_upside_down",
        "scaled_comparison",
        ratio_of(lambda scale: 1 / scale**2),
        AT,
        """Your ratio is upside down. Asked is the loss on the multiplied data over the loss on the
        original data: with a scale of 10 the first one is the larger one.
        """,
    ),
    Misconception(
        "ratio_of_the_scale",
        "scaled_comparison",
        ratio_of(abs),
        AT,
        """Your ratio is the size of the scale. The loss is a mean of squares: multiply a residual
        by ten and look at its square. If you compute the ratio from two runs, check that both
        columns are losses; weights, or their errors, have other ratios.
        """,
    ),
    Misconception(
        "recorded_after_the_update",
        "scaled_comparison",
        recorded_late,
        AT,
        """Your weights are those after each update. The rows of the lesson's record are written
        before it, so both lists begin with the weight 0, from which both runs start.
        """,
    ),
]
