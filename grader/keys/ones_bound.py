"""The key of `ones_bound`: exact answers, hidden checks, misconceptions with their witnesses."""

import functools
import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import any_rates, rates, vectors
from grader.exact import descent
from grader.exact.rounding import Rounded, mean, rounded, total, vector
from grader.judge import Due, Number, Numbers, Raises, Several, expect, number, numbers
from grader.model import Misconception

TITLE = "The bound for features that are all one"

# --- what is due ---------------------------------------------------------------------------------


def predicted_ceiling() -> Number:
    """1/mean([1, 1, 1]) = 1; written as a number, so only float32's rounding is allowed."""
    return number(Fraction(1), Fraction(1, 2**23))


def curvature(features: list[float]) -> Number:
    """2*mean(x**2)."""
    return number(descent.curvature(features))


def rate_ceiling(features: list[float]) -> Number:
    """1/mean(x**2), infinite for features that are all zero."""
    return number(descent.rate_ceiling(features))


def growth_factor(rate: float, features: list[float]) -> Number:
    """(1 - rate*curvature)**2."""
    return number(descent.growth_factor(rate, features))


@functools.lru_cache(1_000)  # exact runs are long, and every submission is asked the same ones
def compare_rates(stable_rate: float, unstable_rate: float, steps: int, n: int) -> Several:
    """The final weight at the stable rate, the history at the unstable one."""
    return comparison(stable_rate, unstable_rate, steps, n)


def comparison(
    stable_rate: float,
    unstable_rate: float,
    steps: int,
    n: int,
    *,
    target: float = 2.0,
    start: float = 0.0,
    gain: int = 1,
    shift: int = 0,
) -> Several:
    """`compare_rates`, or a relative of it: another target, start weight, factor on the objective,
    or a history recorded `shift` updates later."""
    ones, targets = [1.0] * n, [target] * n
    scale = Fraction(gain)
    final, _ = descent.run(Fraction(stable_rate) * scale, steps, ones, targets, start)
    _, rows = descent.run(Fraction(unstable_rate) * scale, steps + shift, ones, targets, start)
    return Several((number(final), history(rows[shift:], scale)))


def history(rows: list[descent.Row], scale: Fraction = Fraction(1)) -> Numbers:
    """A run's rows as the array that is due, loss and gradient of an objective `scale` times."""
    return numbers([[w, loss * scale, slope * scale] for w, loss, slope in rows])


TRUTH = {
    "PREDICTED_CEILING": predicted_ceiling,
    "curvature": curvature,
    "rate_ceiling": rate_ceiling,
    "growth_factor": growth_factor,
    "compare_rates": compare_rates,
}

# Worked examples that ship to students. None has features [1, 1, 1]: that answer is asked for.
EXAMPLES = [
    ("curvature", ([1.0, 2.0, 3.0],)),
    ("curvature", ([0.5],)),
    ("curvature", ([3.0, -4.0],)),
    ("rate_ceiling", ([1.0, 2.0, 3.0],)),
    ("rate_ceiling", ([0.5],)),
    ("rate_ceiling", ([3.0, -4.0],)),
    ("growth_factor", (0.3, [1.0, 2.0, 3.0])),
    ("growth_factor", (0.1, [1.0, 2.0, 3.0])),
    ("growth_factor", (0.5, [2.0])),
    ("compare_rates", (0.5, 1.1, 1, 1)),
    ("compare_rates", (0.25, 1.1, 3, 3)),
]

# The run whose history stands in the report, for its picture: function, arguments, which of the
# returned values, and its shape.
SERIES = ("compare_rates", (0.5, 1.1, 6, 3), 1, (6, 3))

# --- hidden checks -------------------------------------------------------------------------------

# Few pairs: a scan or a jitted loop is compiled for each number of steps and each length.
STEPS_AND_LENGTHS = st.sampled_from(((1, 1), (2, 3), (3, 2), (6, 3), (4, 5), (8, 2)))
STABLE = st.one_of(rates(4, 63), st.sampled_from((1 / 1024, 1 / 300, 1 / 50)))
UNSTABLE = st.one_of(rates(65, 96), st.sampled_from((2.0, 2.9)))


@pytest.mark.points(1, about="PREDICTED_CEILING")
def test_prediction_is_right(student):
    """PREDICTED_CEILING is the largest stable rate for features [1, 1, 1]"""
    expect(student.PREDICTED_CEILING, predicted_ceiling())


@pytest.mark.points(1, about="curvature", draws=25)
@given(features=vectors())
@example(features=[1.0])
@example(features=[0.0, 0.0])
@example(features=[1.0, -1.0])
@example(features=[1.0, 2.0])
@example(features=[0.0, 2.0])
@example(features=[1.0, 2.0, 3.0, 4.0])  # of a length that is drawn nowhere
def test_curvature_is_exact(student, features):
    """curvature is the second derivative of the loss, for any features"""
    expect(student.curvature(features), curvature(features))


@pytest.mark.points(1, about="rate_ceiling", draws=25)
@given(features=vectors(zeros=False))
@example(features=[1.0])
@example(features=[0.0, 1.0])
@example(features=[1.0, -1.0])
@example(features=[1.0, 2.0])
@example(features=[1 / 1024])
@example(features=[0.0, 0.0, 0.0, 1 / 1024, 0.0])  # small, and not to be taken for zero
@example(features=[1.0, 2.0, 3.0, 4.0])
def test_ceiling_is_exact(student, features):
    """rate_ceiling is the end of the stable rates, for any features"""
    expect(student.rate_ceiling(features), rate_ceiling(features))


@pytest.mark.points(0.5, about="rate_ceiling")
def test_ceiling_without_features(student):
    """features that are all zero leave every rate stable"""
    for length in (1, 3):
        expect(student.rate_ceiling([0.0] * length), number(math.inf))


@pytest.mark.points(1, about="growth_factor", draws=25)
@given(rate=any_rates(), features=vectors(zeros=False))
@example(rate=0.5, features=[1.0])
@example(rate=0.5, features=[2.0])
@example(rate=0.25, features=[1.0, 2.0])
@example(rate=0.25, features=[0.0, 1.0])
@example(rate=0.25, features=[1.0, 2.0, 3.0, 4.0])
def test_growth_is_exact(student, rate, features):
    """growth_factor is the loss after a step over the loss before it"""
    expect(student.growth_factor(rate, features), growth_factor(rate, features))


@pytest.mark.points(0.5, about="compare_rates", draws=25)
@given(stable=STABLE, unstable=UNSTABLE, case=STEPS_AND_LENGTHS)
@example(stable=0.25, unstable=1.25, case=(1, 1))
@example(stable=0.25, unstable=1.25, case=(2, 3))
@example(stable=1 / 512, unstable=1.5, case=(8, 2))
@example(stable=1 / 64, unstable=1.25, case=(11, 1))
def test_final_weight_is_exact(student, stable, unstable, case):
    """the final weight is the one that the stable rate reaches"""
    final, _ = compare_rates(stable, unstable, *case).parts
    expect(student.compare_rates(stable, unstable, *case), Several((final, None)))


@pytest.mark.points(1, about="compare_rates", draws=25)
@given(stable=STABLE, unstable=UNSTABLE, case=STEPS_AND_LENGTHS)
@example(stable=0.25, unstable=1.25, case=(1, 1))
@example(stable=0.25, unstable=1.25, case=(2, 3))
@example(stable=1 / 512, unstable=1.5, case=(8, 2))
@example(stable=1 / 64, unstable=1.25, case=(11, 1))
def test_history_is_exact(student, stable, unstable, case):
    """the history is the run at the unstable rate, row by row"""
    _, rows = compare_rates(stable, unstable, *case).parts
    expect(student.compare_rates(stable, unstable, *case), Several((None, rows)))


# --- misconceptions ------------------------------------------------------------------------------


def squared_mean(features: list[float]) -> Rounded:
    """mean(x)**2."""
    return mean(vector(features)) ** 2


def mean_size(features: list[float]) -> Rounded:
    """mean(abs(x))."""
    return mean(abs(x) for x in vector(features))


def sum_of_squares(features: list[float]) -> Rounded:
    """sum(x**2)."""
    return total(x * x for x in vector(features))


def reciprocal(quantity: Rounded) -> Number:
    """1/quantity, infinite for zero."""
    return number(1 / quantity if quantity.value else math.inf)


def ceiling_by_plain_division(features: list[float]) -> Due:
    """1/mean(x**2) in Python's floats, which raise at zero."""
    return rate_ceiling(features) if any(features) else Raises("ZeroDivisionError")


def growth_of_error(rate: float, features: list[float]) -> Rounded:
    """1 - rate*curvature."""
    return descent.error_multiplier(rate, features)


def growth_at_half_curvature(rate: float, features: list[float]) -> Number:
    """(1 - rate*mean(x**2))**2."""
    return number((1 - rounded(rate) * descent.mean_square(features)) ** 2)


def swapped(stable_rate: float, unstable_rate: float, steps: int, n: int) -> Several:
    """The two rates in each other's place."""
    return comparison(unstable_rate, stable_rate, steps, n)


def signed_history(stable_rate: float, unstable_rate: float, steps: int, n: int) -> Several:
    """The gradient with its sign."""
    final, _ = compare_rates(stable_rate, unstable_rate, steps, n).parts
    _, rows = descent.run(unstable_rate, steps, [1.0] * n, [2.0] * n)
    return Several(
        (final, numbers([[w, loss, slope if w.value > 2 else -slope] for w, loss, slope in rows]))
    )


def one_step_more(stable_rate: float, unstable_rate: float, steps: int, n: int) -> Several:
    """The final weight one update late."""
    final, _ = descent.run(stable_rate, steps + 1, [1.0] * n, [2.0] * n)
    _, rows = compare_rates(stable_rate, unstable_rate, steps, n).parts
    return Several((number(final), rows))


def halved(stable_rate: float, unstable_rate: float, steps: int, n: int) -> Several:
    """Half the mean of the squares as the objective."""
    half = Fraction(1, 2)
    ones, targets = [1.0] * n, [2.0] * n
    final, _ = descent.run(Fraction(stable_rate) * half, steps, ones, targets)
    _, rows = descent.run(Fraction(unstable_rate) * half, steps, ones, targets)
    return Several((number(final), history(rows, half)))


MISCONCEPTIONS = [
    Misconception(
        "prediction_is_one_over_curvature",
        "PREDICTED_CEILING",
        lambda: number(Fraction(1, 2), Fraction(1, 2**24)),
        (),
        """You may have stopped at the rate that lands on the optimum in a single step. That is
        the fastest stable rate, not the last one. Follow the error over one step: it is
        multiplied by a number that starts at 1 for a tiny rate and falls as the rate grows. At
        your rate that number has just reached zero. How far may it fall on the other side before
        the error stops shrinking?
        """,
    ),
    Misconception(
        "prediction_forgets_the_two",
        "PREDICTED_CEILING",
        lambda: number(Fraction(2), Fraction(1, 2**22)),
        (),
        """Your number is what comes out when the curvature of this loss is taken as 1.
        Differentiate the square once more with pencil and paper, for a single example whose
        feature is 1, and look at what the exponent leaves behind. Then ask what that does to the
        end of the stable rates.
        """,
    ),
    Misconception(
        "prediction_without_bound",
        "PREDICTED_CEILING",
        lambda: number(math.inf),
        (),
        """Features of size one feel safe, but no finite data makes every rate stable. Take the
        rate 100 and compute the first two steps by hand from weight 0. Where does the weight go,
        and is it closer to 2 than before? Only features that are all zero, which give no gradient
        at all, leave the rate without a limit.
        """,
    ),
    Misconception(
        "forgot_factor_two",
        "curvature",
        lambda features: number(descent.mean_square(features)),
        ([1.0],),
        """You found the part that depends on the data, and lost a constant on the way. The
        objective here is the mean of the squares with no one-half in front. Differentiate (w*x -
        y)**2 with respect to w once, then again, and keep every factor that the exponent
        produces. Some books put a one-half before the loss exactly to make that factor vanish;
        this course does not.
        """,
    ),
    Misconception(
        "summed_curvature",
        "curvature",
        lambda features: number(2 * sum_of_squares(features)),
        ([1.0, 1.0],),
        """Your value grows when the same data is written down twice. Should the curvature of a
        mean do that? Look at the loss once more: it averages over the examples. Every derivative
        of an average is an average too. Try features [1] and [1, 1] and compare.
        """,
    ),
    Misconception(
        "squared_the_mean",
        "curvature",
        lambda features: number(2 * squared_mean(features)),
        ([1.0, -1.0],),
        """You averaged first and squared afterwards. With features [1, -1] the average is zero, and
        your curvature with it; yet the loss does depend on the weight there. Each example
        contributes its own square before anything is averaged, so no example can cancel another.
        """,
    ),
    Misconception(
        "curvature_of_sizes",
        "curvature",
        lambda features: number(2 * mean_size(features)),
        ([2.0],),
        """Your answer grows in proportion to the features. Double every feature and work out one
        example's loss again: the feature multiplies the weight inside a square. By what does the
        second derivative grow then? The size of the features matters more than in proportion,
        which is why preprocessing moves the stable rates so much.
        """,
    ),
    Misconception(
        "halved_ceiling",
        "rate_ceiling",
        lambda features: reciprocal(descent.curvature(features)),
        ([1.0],),
        """At your rate a single step lands exactly on the optimum. Nothing is unstable yet: a
        slightly larger rate overshoots, but ends closer than it began. The limit is reached when
        the overshoot is as large as the error it came from. Write the error after one step as a
        multiple of the error before, and ask for which rates the size of that multiple stays
        below one, on both sides.
        """,
    ),
    Misconception(
        "doubled_ceiling",
        "rate_ceiling",
        lambda features: reciprocal(descent.mean_square(features) / 2),
        ([1.0],),
        """Your ceiling is too high by a constant, whatever the data. The step from the curvature
        to the ceiling looks right; the curvature behind it has lost a factor. Check `curvature`
        on one feature that is 1, by differentiating the square twice, and remember that this
        objective has no one-half.
        """,
    ),
    Misconception(
        "ceiling_of_the_sum",
        "rate_ceiling",
        lambda features: reciprocal(sum_of_squares(features)),
        ([1.0, 1.0],),
        """Your ceiling falls when the same examples are repeated. The objective is a mean, so a
        data set written down twice has the same loss, the same gradient and the same stable
        rates. Look for a sum where the average is due.
        """,
    ),
    Misconception(
        "ceiling_of_sizes",
        "rate_ceiling",
        lambda features: reciprocal(mean_size(features)),
        ([2.0],),
        """Your ceiling halves when the features double. Run the course's model on features [1]
        and then on [2] with one rate, and watch the weight's error: the feature enters the
        gradient once through the prediction and once more through the derivative. Count both.
        """,
    ),
    Misconception(
        "zero_features_divide_by_zero",
        "rate_ceiling",
        ceiling_by_plain_division,
        ([0.0],),
        """For features that are all zero your function divides by zero and raises an exception.
        That is a case of its own, and the answer is in the contract: the gradient is zero
        whatever the weight, so no rate can make the run diverge. Ask for it before you divide.
        """,
    ),
    Misconception(
        "zero_features_allow_no_rate",
        "rate_ceiling",
        lambda features: rate_ceiling(features) if any(features) else number(Fraction(0)),
        ([0.0],),
        """For features that are all zero you allow no rate at all. Think of what a step does
        there: the prediction is zero whatever the weight, so the loss is flat and its gradient is
        zero. A step of any rate leaves the weight where it is. Is that stable or not? And what is
        then the largest rate that stays stable?
        """,
    ),
    Misconception(
        "growth_of_the_error",
        "growth_factor",
        lambda rate, features: number(abs(growth_of_error(rate, features))),
        (0.25, [1.0]),
        """You return what happens to the distance from the optimum. The question is about the
        loss. How does the loss depend on that distance? If the distance halves, what does the
        loss do?
        """,
    ),
    Misconception(
        "growth_of_the_signed_error",
        "growth_factor",
        lambda rate, features: number(growth_of_error(rate, features)),
        (0.75, [1.0]),
        """You return the multiplier of the error, sign and all. A ratio of two losses can't be
        negative, since a loss is a mean of squares. The sign tells that the weight jumps from one
        side of the optimum to the other; the loss does not see it. How does the loss depend on
        the error?
        """,
    ),
    Misconception(
        "growth_at_half_the_curvature",
        "growth_factor",
        growth_at_half_curvature,
        (0.25, [1.0]),
        """The form is right, and what multiplies the rate is too small by a constant. Write down
        the gradient of the loss for one example whose feature is 1, and step once by hand from an
        error of 1. Compare what is left with what your function uses.
        """,
    ),
    Misconception(
        "growth_ignores_the_features",
        "growth_factor",
        lambda rate, features: number((1 - 2 * rounded(rate)) ** 2),
        (0.25, [2.0]),
        """Your answer is right when every feature is one, and does not look at the features
        otherwise. The function is given them because the curvature depends on them. Which of the
        functions that you wrote above already knows how?
        """,
    ),
    Misconception(
        "rates_swapped",
        "compare_rates",
        swapped,
        (0.25, 1.25, 1, 1),
        """The two runs are there, with their roles exchanged. The first value is where the stable
        rate ends; the second is the history of the run that diverges. Compare the order of the
        arguments with the order of what you return.
        """,
    ),
    Misconception(
        "recorded_after_the_update",
        "compare_rates",
        lambda stable_rate, unstable_rate, steps, n: comparison(
            stable_rate, unstable_rate, steps, n, shift=1
        ),
        (0.25, 1.25, 1, 1),
        """Your rows are recorded after the step. The first row should show where the run started:
        weight 0, with the loss and gradient there. A record taken before the update tells what
        the update was computed from, which is what you need when a step goes wrong.
        """,
    ),
    Misconception(
        "signed_gradient",
        "compare_rates",
        signed_history,
        (0.25, 1.25, 1, 1),
        """The last column holds the gradient with its sign. The contract asks for its size: rows
        are compared on a log axis, where a negative number has no place. The weight column still
        shows on which side of the optimum each step was.
        """,
    ),
    Misconception(
        "summed_objective",
        "compare_rates",
        lambda stable_rate, unstable_rate, steps, n: comparison(
            stable_rate, unstable_rate, steps, n, gain=n
        ),
        (0.25, 1.25, 1, 2),
        """Your runs depend on how many ones there are. The objective is a mean: three equal
        examples have the loss and the gradient of one. Look for a sum in the loss that you
        differentiate. It makes every gradient larger by the number of examples, and the stable
        rates smaller.
        """,
    ),
    Misconception(
        "halved_objective",
        "compare_rates",
        halved,
        (0.25, 1.25, 1, 1),
        """Your run descends on half of the loss. In this course the objective is the mean of the
        squares with nothing in front of it, so its gradient keeps the two that the exponent
        leaves behind. With a one-half the same rate takes half the step, and a rate above the
        ceiling may look stable.
        """,
    ),
    Misconception(
        "one_step_too_many",
        "compare_rates",
        one_step_more,
        (0.25, 1.25, 1, 1),
        """Your final weight is one update ahead. Count for steps = 1: one gradient at weight 0, one
        update, and the weight after it is the final weight. A loop that updates once more before it
        returns reports a run that is longer than the one asked for.
        """,
    ),
    Misconception(
        "targets_of_one",
        "compare_rates",
        lambda stable_rate, unstable_rate, steps, n: comparison(
            stable_rate, unstable_rate, steps, n, target=1.0
        ),
        (0.25, 1.25, 1, 1),
        """Your run converges to 1. Here every feature is one and every target is two, so the true
        weight is two. Check the targets that you hand to the run.
        """,
    ),
]
