"""The key of `predict_trajectory`: exact answers, hidden checks, misconceptions with witnesses."""

import functools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import (
    any_rates,
    by_case,
    vectors,
    weights,
)
from grader.exact import descent, predicted
from grader.exact.rounding import Rounded, mean, rounded, total, vector
from grader.judge import Number, Numbers, Text, expect, number, numbers
from grader.model import Misconception

TITLE = "The recurrence, before any run"

Floats = list[float]

# --- what is due ---------------------------------------------------------------------------------


def error_multiplier(rate: float, features: Floats) -> Number:
    """1 - rate*curvature."""
    return number(descent.error_multiplier(rate, features))


def predicted_weights(
    rate: float, steps: int, features: Floats, true_weight: float, initial_weight: float
) -> Numbers:
    """t + (w0 - t)*m**k, for k below `steps`."""
    return numbers(prediction(rate, steps, features, true_weight, initial_weight)[0])


def predicted_losses(
    rate: float, steps: int, features: Floats, true_weight: float, initial_weight: float
) -> Numbers:
    """mean(x**2)*((w0 - t)*m**k)**2, for k below `steps`."""
    return numbers(prediction(rate, steps, features, true_weight, initial_weight)[1])


def regime(rate: float, features: Floats) -> Text:
    """By where the multiplier lies among -1, 0 and 1."""
    return Text(named(descent.error_multiplier(rate, features).value))


def prediction(
    rate: float | Fraction,
    steps: int,
    features: Floats,
    true_weight: float | Fraction,
    initial_weight: float,
) -> tuple[list[Rounded], list[Rounded]]:
    """Weights and losses; exact runs are long, and every submission is asked the same ones."""
    return _prediction(rate, steps, tuple(features), true_weight, initial_weight)


@functools.lru_cache(2_000)
def _prediction(
    rate: float | Fraction, steps: int, features: tuple[float, ...], true: Any, start: float
) -> tuple[list[Rounded], list[Rounded]]:
    return predicted.run(rate, steps, features, true, start)


def named(multiplier: Fraction) -> str:
    """The regime's name."""
    if multiplier < -1:
        return "diverging"
    return "alternating" if multiplier < 0 else "monotone"


TRUTH = {
    "error_multiplier": error_multiplier,
    "predicted_weights": predicted_weights,
    "predicted_losses": predicted_losses,
    "regime": regime,
}

# Worked examples that ship to students: the page's own case, the lesson's, and a bias. A start at
# the true weight and features that are all zero are left for them to think of.
BY_HAND = [2.0, 1.0, 1.0]
WORKED = [1.0, 2.0, 3.0]

EXAMPLES: list[tuple[str, tuple[Any, ...]]] = [
    ("error_multiplier", (0.4, BY_HAND)),
    ("error_multiplier", (0.1, WORKED)),
    ("error_multiplier", (1.25, [-1.0])),
    ("predicted_weights", (0.4, 3, BY_HAND, -1.0, 3.0)),
    ("predicted_weights", (0.3, 6, WORKED, 2.0, 0.0)),
    ("predicted_weights", (0.125, 2, [-1.0], 5.0, 1.0)),
    ("predicted_losses", (0.4, 3, BY_HAND, -1.0, 3.0)),
    ("predicted_losses", (0.3, 6, WORKED, 2.0, 0.0)),
    ("predicted_losses", (0.125, 2, [-1.0], 5.0, 1.0)),
    ("regime", (0.3, WORKED)),
    ("regime", (0.4, BY_HAND)),
    ("regime", (0.125, [-1.0])),
]

# --- hidden checks -------------------------------------------------------------------------------

Case = tuple[Any, ...]
"""A rate, a number of steps, and features; or a rate and features."""

# Few pairs: a scan or a jitted loop is compiled for each number of steps and each length.
STEPS_AND_LENGTHS = ((1, 1), (2, 3), (3, 2), (6, 3))
SETTLING = (0.95, 0.75, 0.5, 0.25, 0.1, 0.0, -0.1, -0.25, -0.5, -0.75, -0.95)
DIVERGING = (-1.05, -1.25, -1.5, -2.0, -3.0, -5.0)


def rate_near(multiplier: float, features: Floats) -> float:
    """A rate in three digits, of ordinary size, that makes the multiplier about this."""
    rate = (1 - multiplier) / float(descent.curvature(features).value)
    return min(max(float(f"{rate:.3g}"), 1 / 1024), 1024.0)


def cases(multipliers: tuple[float, ...]) -> st.SearchStrategy[Case]:
    """Rate, steps and features, on the side of -1 that these multipliers are on."""

    def of_length(steps: int, length: int) -> st.SearchStrategy[Case]:
        features = vectors((length,), zeros=False)
        made = st.tuples(st.sampled_from(multipliers), features)
        return made.map(lambda drawn: (rate_near(*drawn), steps, drawn[1]))

    drawn = by_case(STEPS_AND_LENGTHS, lambda case: of_length(*case))
    settles = multipliers[0] > -1

    def is_asked(case: Case) -> bool:
        size = abs(descent.error_multiplier(case[0], case[2]).value)
        return size < 1 if settles else 1 < size < 8

    return drawn.filter(is_asked)


def clear_cases() -> st.SearchStrategy[Case]:
    """Rate and features, the multiplier clear of the borders between regimes."""
    multipliers = st.sampled_from(SETTLING + DIVERGING)
    drawn = st.tuples(multipliers, vectors(zeros=False))
    made = drawn.map(lambda drawn: (rate_near(*drawn), drawn[1]))
    return made.filter(lambda case: predicted.is_clear(*case))


TENTHS = st.integers(-99, 99).map(lambda k: k / 10)
TRUE_WEIGHTS = st.one_of(weights(), TENTHS)


@pytest.mark.points(1, about="error_multiplier", draws=25)
@given(rate=any_rates(), features=vectors())
@example(rate=0.25, features=[1.0])
@example(rate=1.25, features=[1.0])
@example(rate=0.25, features=[1.0, 2.0])
@example(rate=0.25, features=[3.0, -1.0])
@example(rate=0.5, features=[0.0, 0.0])
@example(rate=1024.0, features=[1024.0])
@example(rate=1 / 1024, features=[1 / 1024, 1.0])
def test_multiplier_is_exact(student, rate, features):
    """error_multiplier is what a step multiplies the error by, for any rate and features"""
    expect(student.error_multiplier(rate, features), error_multiplier(rate, features))


@pytest.mark.points(1.25, about="predicted_weights", draws=20)
@given(case=cases(SETTLING), true_weight=TRUE_WEIGHTS, initial_weight=weights())
@example(case=(0.25, 3, [1.0, 2.0]), true_weight=3.0, initial_weight=1.0)
@example(case=(0.25, 1, [1.0]), true_weight=3.0, initial_weight=1.0)
@example(case=(0.25, 3, [1.0, -1.0]), true_weight=0.0, initial_weight=4.0)
@example(case=(0.25, 2, [1.0, 0.0, 1.0]), true_weight=-2.0, initial_weight=-2.0)
@example(case=(0.5, 3, [1.0, 1.0]), true_weight=5.0, initial_weight=-1.0)
@example(case=(0.25, 3, [0.0, 0.0]), true_weight=3.0, initial_weight=1.0)
def test_weights_of_a_run_that_settles(student, case, true_weight, initial_weight):
    """predicted_weights, where the error shrinks, from any start to any true weight"""
    run = (*case, true_weight, initial_weight)
    expect(student.predicted_weights(*run), predicted_weights(*run))


@pytest.mark.points(0.75, about="predicted_weights", draws=15)
@given(case=cases(DIVERGING), true_weight=TRUE_WEIGHTS, initial_weight=weights())
@example(case=(1.25, 3, [1.0, 1.0]), true_weight=3.0, initial_weight=1.0)
@example(case=(1.5, 6, [1.0, -1.0, 1.0]), true_weight=-2.0, initial_weight=0.5)
def test_weights_of_a_run_that_diverges(student, case, true_weight, initial_weight):
    """predicted_weights, where the error grows"""
    run = (*case, true_weight, initial_weight)
    expect(student.predicted_weights(*run), predicted_weights(*run))


@pytest.mark.points(1.25, about="predicted_losses", draws=20)
@given(case=cases(SETTLING), true_weight=TRUE_WEIGHTS, initial_weight=weights())
@example(case=(0.25, 3, [1.0, 2.0]), true_weight=3.0, initial_weight=1.0)
@example(case=(0.25, 1, [2.0]), true_weight=3.0, initial_weight=1.0)
@example(case=(0.25, 3, [1.0, -1.0]), true_weight=0.0, initial_weight=4.0)
@example(case=(0.25, 2, [1.0, 0.0, 1.0]), true_weight=-2.0, initial_weight=-2.0)
@example(case=(0.5, 3, [1.0, 1.0]), true_weight=5.0, initial_weight=-1.0)
@example(case=(0.25, 3, [0.0, 0.0]), true_weight=3.0, initial_weight=1.0)
def test_losses_of_a_run_that_settles(student, case, true_weight, initial_weight):
    """predicted_losses, where the error shrinks, from any start to any true weight"""
    run = (*case, true_weight, initial_weight)
    expect(student.predicted_losses(*run), predicted_losses(*run))


@pytest.mark.points(0.75, about="predicted_losses", draws=15)
@given(case=cases(DIVERGING), true_weight=TRUE_WEIGHTS, initial_weight=weights())
@example(case=(1.25, 3, [1.0, 1.0]), true_weight=3.0, initial_weight=1.0)
@example(case=(1.5, 6, [1.0, -1.0, 1.0]), true_weight=-2.0, initial_weight=0.5)
def test_losses_of_a_run_that_diverges(student, case, true_weight, initial_weight):
    """predicted_losses, where the error grows"""
    run = (*case, true_weight, initial_weight)
    expect(student.predicted_losses(*run), predicted_losses(*run))


@pytest.mark.points(1, about="regime", draws=30)
@given(case=clear_cases())
@example(case=(2.5, [1.0]))
@example(case=(1.5, [1.0]))
@example(case=(0.75, [1.0]))
@example(case=(0.4, [1.0, 1.0]))
@example(case=(0.25, [1.0]))
@example(case=(0.25, [2.0, -1.0]))
def test_regime_is_right(student, case):
    """regime tells how the run will go, before it does"""
    expect(student.regime(*case), regime(*case))


# --- misconceptions ------------------------------------------------------------------------------


def multiplier_from(curvature: Rounded, rate: float) -> Rounded:
    """1 - rate*curvature, for a curvature of one's own."""
    return 1 - rounded(rate) * curvature


def half_curvature(features: Floats) -> Rounded:
    """mean(x**2)."""
    return descent.mean_square(features)


def summed_curvature(features: Floats) -> Rounded:
    """2*sum(x**2)."""
    return 2 * total(x * x for x in vector(features))


def curvature_of_sizes(features: Floats) -> Rounded:
    """2*mean(abs(x))."""
    return 2 * mean(abs(x) for x in vector(features))


def later_weights(
    rate: float, steps: int, features: Floats, true_weight: float, initial_weight: float
) -> Numbers:
    """The weights after each update."""
    found, _ = prediction(rate, steps + 1, features, true_weight, initial_weight)
    return numbers(found[1:])


def later_losses(
    rate: float, steps: int, features: Floats, true_weight: float, initial_weight: float
) -> Numbers:
    """The losses after each update."""
    _, found = prediction(rate, steps + 1, features, true_weight, initial_weight)
    return numbers(found[1:])


def errors_alone(
    rate: float, steps: int, features: Floats, true_weight: float, initial_weight: float
) -> Numbers:
    """(w0 - t)*m**k."""
    found, _ = prediction(rate, steps, features, true_weight, initial_weight)
    return numbers([weight - true_weight for weight in found])


def weights_multiplied(
    rate: float, steps: int, features: Floats, true_weight: float, initial_weight: float
) -> Numbers:
    """w0*m**k: the weight itself is multiplied."""
    return numbers(prediction(rate, steps, features, 0.0, initial_weight)[0])


def halved(rate: float) -> Fraction:
    """The rate at which half of the curvature does the same."""
    return Fraction(rate) / 2


def distances_squared(
    rate: float, steps: int, features: Floats, true_weight: float, initial_weight: float
) -> Numbers:
    """(w - t)**2."""
    found, _ = prediction(rate, steps, features, true_weight, initial_weight)
    return numbers([(weight - true_weight) ** 2 for weight in found])


def losses_multiplied_once(
    rate: float, steps: int, features: Floats, true_weight: float, initial_weight: float
) -> Numbers:
    """The first loss times abs(m)**k."""
    _, found = prediction(rate, steps, features, true_weight, initial_weight)
    multiplier, loss, answer = abs(descent.error_multiplier(rate, features)), found[0], []
    for _ in range(steps):
        answer.append(loss)
        loss = loss * multiplier
    return numbers(answer)


def regime_by(multiplier: Fraction, names: dict[str, str]) -> Text:
    """The regime, some names of which are taken for others."""
    name = named(multiplier)
    return Text(names.get(name, name))


def exact_multiplier(rate: float, features: Floats) -> Fraction:
    """The multiplier, without its bound."""
    return descent.error_multiplier(rate, features).value


# One run sets most of its misconceptions apart from each other.
AT = (0.25, 3, [1.0, 2.0], 3.0, 1.0)  # m is -0.25

MISCONCEPTIONS = [
    Misconception(
        "multiplier_at_half_the_curvature",
        "error_multiplier",
        lambda rate, features: number(multiplier_from(half_curvature(features), rate)),
        (0.25, [3.0, -1.0]),
        """The form is right, and what the rate is multiplied by is too small by a constant. Take
        one example with feature 1 and target 0, at weight 1, and make one step by hand: what is the
        gradient there, and what is left of the error? The square leaves something behind when it is
        differentiated, and this objective has no one-half to cancel it.
        """,
    ),
    Misconception(
        "multiplier_of_a_sum",
        "error_multiplier",
        lambda rate, features: number(multiplier_from(summed_curvature(features), rate)),
        (0.25, [3.0, -1.0]),
        """Your multiplier changes when the same data is written down twice. The objective is a
        mean, so a second copy of every example changes neither the loss nor its gradient, and a run
        on both copies is the run on one. Look for a sum where an average is due.
        """,
    ),
    Misconception(
        "multiplier_of_sizes",
        "error_multiplier",
        lambda rate, features: number(multiplier_from(curvature_of_sizes(features), rate)),
        (0.25, [3.0, -1.0]),
        """The features enter your multiplier once, by their size. Follow one feature through a
        step: the prediction contains it, so the residual grows with it; and the derivative of the
        prediction is the feature again. Each example's share of the gradient holds it how often?
        """,
    ),
    Misconception(
        "multiplier_turned_round",
        "error_multiplier",
        lambda rate, features: number(-descent.error_multiplier(rate, features)),
        (0.125, [1.0]),
        """Your multiplier has the right size and the wrong sign. Ask what a very small rate does:
        the weight hardly moves, so the new error is nearly the old one, on the same side. To which
        number should the multiplier tend as the rate goes to zero?
        """,
    ),
    Misconception(
        "multiplier_of_the_loss",
        "error_multiplier",
        lambda rate, features: number(descent.growth_factor(rate, features)),
        (0.25, [3.0, -1.0]),
        """This is what a step does to the loss. Asked is what it does to the error, the distance
        from the true weight with its sign. The two belong together, but one of them can't tell a
        weight that crept up from a weight that leapt across, and the whole trajectory depends on
        that.
        """,
    ),
    Misconception(
        "multiplier_without_sign",
        "error_multiplier",
        lambda rate, features: number(abs(descent.error_multiplier(rate, features))),
        (0.25, [3.0, -1.0]),
        """You return the multiplier's size. For the question whether a run settles that is enough;
        for the run itself it isn't. When a step goes too far, the next error lies on the other side
        of the true weight, and the multiplier is the only thing that can say so.
        """,
    ),
    Misconception(
        "weights_after_the_update",
        "predicted_weights",
        later_weights,
        AT,
        """Your list is one step ahead. A row of the lesson's record is written before its step's
        update, so the first weight is the one that the run starts from. Count how many times the
        error has been multiplied when the first row is written.
        """,
    ),
    Misconception(
        "errors_for_weights",
        "predicted_weights",
        errors_alone,
        AT,
        """What you return tends to 0 in a run that settles. The weights should tend to the true
        weight. Your numbers are errors, distances from it with their sign, and those do follow the
        simple rule; one thing is still to be done to each of them before it is a weight.
        """,
    ),
    Misconception(
        "weights_multiplied_themselves",
        "predicted_weights",
        weights_multiplied,
        AT,
        """You multiply the weight at every step. What a step multiplies is the error, the distance
        from the true weight. Only where the true weight is 0 are those the same number. Start a run
        at the true weight: the gradient is 0 there, and the weight must stay.
        """,
    ),
    Misconception(
        "every_run_starts_from_zero",
        "predicted_weights",
        lambda rate, steps, features, true_weight, initial_weight: predicted_weights(
            rate, steps, features, true_weight, 0.0
        ),
        AT,
        """Your prediction doesn't depend on where the run starts. The lesson's own runs start from
        0, and there it is right. Here the first weight is an argument: how large is the error at
        the start when the weight isn't 0?
        """,
    ),
    Misconception(
        "weights_at_half_the_rate",
        "predicted_weights",
        lambda rate, *rest: numbers(prediction(halved(rate), *rest)[0]),
        AT,
        """Your weights move as if the rate were half of what it is. Compare `error_multiplier` with
        one step that you make by hand, on one example with feature 1 and target 0: how much of the
        error does the step take away? This objective has no one-half before its square.
        """,
    ),
    Misconception(
        "losses_after_the_update",
        "predicted_losses",
        later_losses,
        AT,
        """Your first loss is the one after a step. The lesson's rows are written before the update,
        so the first of them holds the loss at the weight that the run starts from. How many steps
        have been made by then?
        """,
    ),
    Misconception(
        "losses_shrink_like_errors",
        "predicted_losses",
        losses_multiplied_once,
        AT,
        """From row to row your loss changes by the factor that the error changes by. When the error
        halves, what happens to its square? The loss is proportional to that square, so each step
        multiplies it by something else than it multiplies the error by.
        """,
    ),
    Misconception(
        "losses_of_a_run_from_zero",
        "predicted_losses",
        lambda rate, steps, features, true_weight, initial_weight: predicted_losses(
            rate, steps, features, true_weight, 0.0
        ),
        AT,
        """Your losses don't depend on where the run starts. What the loss measures is how far the
        weight is from the true one. In the lesson's runs, which start from 0, that distance is the
        true weight itself. How large is it in a run that starts from 1?
        """,
    ),
    Misconception(
        "losses_of_the_weight_alone",
        "predicted_losses",
        lambda rate, steps, features, true_weight, initial_weight: predicted_losses(
            rate, steps, features, 0.0, initial_weight
        ),
        AT,
        """Your losses tend to 0 wherever the run goes, and yet they ignore the true weight: they
        are the losses of a run whose targets are all 0. Start a run at the true weight. Nothing is
        wrong there, so the loss has to be 0; what does your function give?
        """,
    ),
    Misconception(
        "squared_distance_for_loss",
        "predicted_losses",
        distances_squared,
        AT,
        """You return the squared distance from the true weight. The loss is that times a number
        which depends on the features: a weight that is off by 1 costs more on large features than
        on small ones. Put targets that are t times the features into the loss, and take out of the
        mean what doesn't change from example to example.
        """,
    ),
    Misconception(
        "half_the_loss",
        "predicted_losses",
        lambda *arguments: numbers([loss / 2 for loss in prediction(*arguments)[1]]),
        AT,
        """Each of your losses is half of what it should be. Many books put a one-half before the
        mean of the squares. The lesson doesn't: compare your first number with `lesson.loss` at the
        weight that the run starts from.
        """,
    ),
    Misconception(
        "losses_at_half_the_rate",
        "predicted_losses",
        lambda rate, *rest: numbers(prediction(halved(rate), *rest)[1]),
        AT,
        """The first loss is right, and the later ones belong to a run at half of the rate. The
        multiplier behind them has lost a factor. Differentiate the square of one difference by
        hand, keep every constant, and see how much of the error one step takes away.
        """,
    ),
    Misconception(
        "alternating_unnoticed",
        "regime",
        lambda rate, features: regime_by(
            exact_multiplier(rate, features), {"alternating": "monotone"}
        ),
        (0.75, [1.0]),
        """You call every run that settles monotone. Some settle while the weight jumps from one
        side of the true weight to the other, a little less far each time. The size of the
        multiplier tells whether a run settles. What tells on which side the next weight lies?
        """,
    ),
    Misconception(
        "overshoot_taken_for_divergence",
        "regime",
        lambda rate, features: regime_by(
            exact_multiplier(rate, features), {"alternating": "diverging"}
        ),
        (0.75, [1.0]),
        """You say diverging as soon as a step goes past the true weight. Going past isn't yet going
        away: what counts is whether the new distance is larger than the old one. Take a multiplier
        of minus one half and write down five errors in a row.
        """,
    ),
    Misconception(
        "divergence_taken_for_alternation",
        "regime",
        lambda rate, features: regime_by(
            exact_multiplier(rate, features), {"diverging": "alternating"}
        ),
        (2.5, [1.0]),
        """You look at the sign of the multiplier and not at its size. A run that diverges changes
        sides as well, and gets farther away while it does. If your function asks about the sign
        first, think again about the order of the questions.
        """,
    ),
    Misconception(
        "regime_at_half_the_curvature",
        "regime",
        lambda rate, features: Text(named(multiplier_from(half_curvature(features), rate).value)),
        (1.5, [1.0]),
        """Your borders lie at twice the rates where they should. The questions that you ask of the
        multiplier may be right; the multiplier has lost a factor. Use your `error_multiplier` once
        its own checks pass, so that there is only one place where this can go wrong.
        """,
    ),
    Misconception(
        "regime_of_a_sum",
        "regime",
        lambda rate, features: Text(named(multiplier_from(summed_curvature(features), rate).value)),
        (0.4, [1.0, 1.0]),
        """Your answer changes when the same data is written down twice. A mean doesn't notice that,
        so neither does the run. Look for a sum where an average is due, or use your
        `error_multiplier` once its own checks pass.
        """,
    ),
]
