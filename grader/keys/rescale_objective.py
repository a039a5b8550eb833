"""The key of `rescale_objective`: exact answers, hidden checks, misconceptions with witnesses."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import any_rates, datasets, factors, rates, weights
from grader.exact import rescaled
from grader.exact.rounding import Rounded, mean, rounded, vector
from grader.judge import Number, Written, expect, number
from grader.model import Misconception

TITLE = "Multiply the objective, compensate the rate"

Floats = list[float]

# --- what is due ---------------------------------------------------------------------------------


def scaled_gradient(scale: float, weight: float, features: Floats, targets: Floats) -> Number:
    """scale*2*mean(x*(w*x - y))."""
    return number(rescaled.gradient(scale, weight, features, targets))


def compensating_rate(rate: float, scale: float) -> Number:
    """rate/scale."""
    return number(rescaled.compensating_rate(rate, scale))


def update(rate: float, scale: float, weight: float, features: Floats, targets: Floats) -> Number:
    """weight - rate*gradient."""
    return number(rescaled.step(rate, scale, weight, features, targets))


def clipped_update(
    rate: float, scale: float, clip: float, weight: float, features: Floats, targets: Floats
) -> Number:
    """weight - rate*(gradient, limited to [-clip, clip])."""
    return number(rescaled.clipped_step(rate, scale, clip, weight, features, targets))


def adam_first_update(
    rate: float,
    scale: float,
    weight: float,
    features: Floats,
    targets: Floats,
    eps: float = 1e-8,
) -> Number:
    """weight - rate*gradient/(abs(gradient) + eps)."""
    return number(rescaled.adam_step(rate, scale, weight, features, targets, eps))


TRUTH = {
    "scaled_gradient": scaled_gradient,
    "compensating_rate": compensating_rate,
    "update": update,
    "clipped_update": clipped_update,
    "adam_first_update": adam_first_update,
    "EXPLANATION": Written,
}

# Worked examples that ship to students: the page's own numbers (weight 0.25, rate 0.1, factor 5),
# and one whose gradient is 2: 1 - 0.25*2 = 0.5 after a plain step.
WORKED = ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
UPHILL = ([1.0, -2.0], [3.0, 1.0])

EXAMPLES: list[tuple[str, tuple[Any, ...]]] = [
    ("scaled_gradient", (5.0, 0.25, *WORKED)),
    ("scaled_gradient", (0.5, 1.0, *UPHILL)),
    ("scaled_gradient", (3.0, 2.0, *WORKED)),
    ("compensating_rate", (0.1, 5.0)),
    ("compensating_rate", (0.3, 0.25)),
    ("update", (0.1, 5.0, 0.25, *WORKED)),
    ("update", (0.02, 5.0, 0.25, *WORKED)),
    ("update", (0.25, 0.5, 1.0, *UPHILL)),
    ("clipped_update", (0.1, 5.0, 1.0, 0.25, *WORKED)),
    ("clipped_update", (0.1, 5.0, 100.0, 0.25, *WORKED)),
    ("clipped_update", (0.25, 0.5, 1.5, 1.0, *UPHILL)),
    ("adam_first_update", (0.1, 5.0, 0.25, *WORKED)),
    ("adam_first_update", (0.25, 0.5, 1.0, *UPHILL)),
    ("adam_first_update", (0.25, 0.5, 1.0, *UPHILL, 2.0)),
]

# --- hidden checks -------------------------------------------------------------------------------

# Steps are drawn whole, so that those which are not asked for can be left out.
Step = tuple[Any, ...]


def about(slope: Fraction, share: float) -> float:
    """About `share` of a gradient's magnitude, in two digits, and of ordinary size."""
    return min(max(float(f"{abs(float(slope)) * share:.2g}"), 1 / 1024), 1024.0)


def clipped_steps(shares: Sequence[float]) -> st.SearchStrategy[Step]:
    """Arguments of `clipped_update`, the clip being one of `shares` of the gradient, on one side
    of it all."""

    def arguments(share: float, rate: float, scale: float, weight: float, data: Any) -> Step:
        slope = rescaled.gradient(scale, weight, *data).value
        return rate, scale, about(slope, share), weight, *data

    def is_asked(step: Step) -> bool:
        _, scale, clip, weight, features, targets = step
        slope = rescaled.gradient(scale, weight, features, targets).value
        asked = rescaled.clip_is_asked(scale, clip, weight, features, targets)
        return asked and (abs(slope) > clip) is (shares[0] < 1)

    drawn = st.builds(arguments, st.sampled_from(shares), rates(), factors(), weights(), datasets())
    return drawn.filter(is_asked)


def adam_steps(shares: Sequence[float | None]) -> st.SearchStrategy[Step]:
    """Arguments of `adam_first_update`: eps is one of `shares` of the gradient. It is the default's
    1e-8 for 0, and left out for None."""

    def arguments(share: Any, rate: float, scale: float, weight: float, data: Any) -> Step:
        if share is None:
            return rate, scale, weight, *data
        slope = rescaled.gradient(scale, weight, *data).value
        return rate, scale, weight, *data, about(slope, share) if share else 1e-8

    drawn = st.builds(arguments, st.sampled_from(shares), rates(), factors(), weights(), datasets())
    return drawn.filter(lambda step: rescaled.adam_is_asked(*step[1:5]))


@pytest.mark.points(1, about="scaled_gradient", draws=30)
@given(scale=factors(), weight=weights(), data=datasets())
@example(scale=4.0, weight=1.0, data=([3.0, 3.0], [1.0, 1.0]))
@example(scale=2.0, weight=1.0, data=([2.0, -1.0], [1.0, 3.0]))
@example(scale=1.0, weight=0.0, data=([2.0], [3.0]))
@example(scale=0.5, weight=2.0, data=([1.0, -1.0], [2.0, -2.0]))
@example(scale=0.5, weight=-1.0, data=([0.0], [3.0]))
@example(scale=2.0, weight=2.0, data=([0.0, 2.0], [3.0, 5.0]))
@example(scale=1024.0, weight=0.0, data=([2.0, 2.0, 0.0], [1.0, 3.0, 1.0]))
@example(scale=1 / 1024, weight=1024.0, data=([1024.0, -1.0], [-1024.0, 1.0]))
def test_gradient_is_exact(student, scale, weight, data):
    """scaled_gradient is the slope of the multiplied objective, at any weight, on any data"""
    expect(student.scaled_gradient(scale, weight, *data), scaled_gradient(scale, weight, *data))


@pytest.mark.points(0.5, about="compensating_rate", draws=15)
@given(rate=any_rates(), scale=factors())
@example(rate=0.5, scale=4.0)
@example(rate=0.5, scale=0.25)
@example(rate=0.25, scale=1.0)
@example(rate=1.0, scale=1024.0)
@example(rate=1.0, scale=1 / 1024)
def test_rate_is_exact(student, rate, scale):
    """compensating_rate is the rate that takes the unscaled step, for large and small factors"""
    expect(student.compensating_rate(rate, scale), compensating_rate(rate, scale))


@pytest.mark.points(1, about="update", draws=30)
@given(rate=any_rates(), scale=factors(), weight=weights(), data=datasets())
@example(rate=0.125, scale=4.0, weight=1.0, data=([3.0, 3.0], [1.0, 1.0]))
@example(rate=0.25, scale=2.0, weight=1.0, data=([2.0, -1.0], [1.0, 3.0]))
@example(rate=0.5, scale=1.0, weight=2.0, data=([1.0, -1.0], [2.0, -2.0]))
@example(rate=0.25, scale=0.5, weight=-1.0, data=([0.0], [3.0]))
@example(rate=0.25, scale=2.0, weight=2.0, data=([0.0, 2.0], [3.0, 5.0]))
@example(rate=1024.0, scale=1024.0, weight=0.0, data=([2.0, 2.0, 0.0], [1.0, 3.0, 1.0]))
@example(rate=1 / 1024, scale=1 / 1024, weight=1024.0, data=([1024.0, -1.0], [-1024.0, 1.0]))
def test_update_is_exact(student, rate, scale, weight, data):
    """update is the weight after a plain step at the rate as it is given"""
    due = update(rate, scale, weight, *data)
    expect(student.update(rate, scale, weight, *data), due)


@pytest.mark.points(0.75, about="clipped_update", draws=20)
@given(step=clipped_steps((0.5, 0.05, 0.2, 0.8, 0.9)))
@example(step=(0.125, 4.0, 2.0, 1.0, [3.0, 3.0], [1.0, 1.0]))
@example(step=(0.125, 4.0, 2.0, -1.0, [3.0, 3.0], [1.0, 1.0]))
@example(step=(0.125, 4.0, 16.0, 1.0, [3.0, 3.0], [1.0, 1.0]))
@example(step=(0.25, 0.5, 0.75, 1.0, [1.0], [0.0]))
def test_step_beyond_the_clip_is_exact(student, step):
    """clipped_update, where the gradient is larger than the clip, upwards or downwards"""
    expect(student.clipped_update(*step), clipped_update(*step))


@pytest.mark.points(0.75, about="clipped_update", draws=20)
@given(step=clipped_steps((1.5, 1.1, 3.0, 20.0)))
@example(step=(0.125, 4.0, 100.0, 1.0, [3.0, 3.0], [1.0, 1.0]))
@example(step=(0.125, 4.0, 100.0, 1.0, [2.0, -1.0], [1.0, 3.0]))
@example(step=(0.5, 0.5, 1.5, 1.0, [1.0], [0.0]))
@example(step=(2.0, 0.5, 1.5, 1.0, [1.0], [0.0]))
@example(step=(0.5, 4.0, 1.0, 2.0, [1.0, -1.0], [2.0, -2.0]))
@example(step=(0.25, 2.0, 100.0, 2.0, [0.0, 2.0], [3.0, 5.0]))
@example(step=(0.25, 1024.0, 1024.0, 0.125, [1.0, 0.0], [0.0, 2.0]))
def test_step_within_the_clip_is_exact(student, step):
    """clipped_update, where the gradient is smaller than the clip"""
    expect(student.clipped_update(*step), clipped_update(*step))


@pytest.mark.points(1, about="adam_first_update", draws=25)
@given(step=adam_steps((None, 0.0)))
@example(step=(0.5, 4.0, 1.0, [1.0, 1.0], [0.0, 0.0]))
@example(step=(0.5, 4.0, -1.0, [1.0], [0.0], 1e-8))
@example(step=(0.25, 2.0, 1.0, [2.0, -1.0], [1.0, 3.0]))
@example(step=(0.5, 0.25, 1.0, [1.0], [0.0]))
def test_adam_is_exact(student, step):
    """adam_first_update, with eps left out or as small as it mostly is"""
    expect(student.adam_first_update(*step), adam_first_update(*step))


@pytest.mark.points(1, about="adam_first_update", draws=25)
@given(step=adam_steps((1.0, 0.1, 0.3, 3.0, 10.0)))
@example(step=(0.5, 4.0, 1.0, [1.0, 1.0], [0.0, 0.0], 8.0))
@example(step=(0.5, 4.0, -1.0, [1.0, 1.0], [0.0, 0.0], 8.0))
@example(step=(0.25, 2.0, 1.0, [2.0, -1.0], [1.0, 3.0], 1.0))
@example(step=(0.5, 0.25, 1.0, [1.0], [0.0], 1.0))
@example(step=(0.5, 2.0, 2.0, [0.0, 2.0], [3.0, 5.0], 4.0))
@example(step=(0.5, 1024.0, 1.0, [1.0], [0.0], 1024.0))
def test_adam_with_large_eps_is_exact(student, step):
    """adam_first_update, with an eps that weighs as much as the gradient does"""
    expect(student.adam_first_update(*step), adam_first_update(*step))


# --- misconceptions ------------------------------------------------------------------------------

slope_of = rescaled.gradient


def moved(weight: float, rate: float, slope: Rounded) -> Number:
    """weight - rate*slope."""
    return number(rounded(weight) - rounded(rate) * slope)


def limited(slope: Rounded, clip: float) -> Rounded:
    """The slope within [-clip, clip]; limiting enlarges no error."""
    limit = Fraction(clip)
    return Rounded(max(-limit, min(limit, slope.value)), slope.bound)


def mean_residual(scale: float, weight: float, features: Floats, targets: Floats) -> Rounded:
    """scale*2*mean(w*x - y)."""
    pairs = zip(vector(features), vector(targets), strict=True)
    return 2 * rounded(scale) * mean(rounded(weight) * x - y for x, y in pairs)


def change_alone(
    rate: float, scale: float, weight: float, features: Floats, targets: Floats
) -> Number:
    """-rate*slope."""
    return number(-(rounded(rate) * slope_of(scale, weight, features, targets)))


def clipped_first(
    rate: float, scale: float, clip: float, weight: float, features: Floats, targets: Floats
) -> Number:
    """The plain gradient clipped, then multiplied."""
    slope = limited(slope_of(1, weight, features, targets), clip)
    return moved(weight, rate, rounded(scale) * slope)


def clipped_move(
    rate: float, scale: float, clip: float, weight: float, features: Floats, targets: Floats
) -> Number:
    """The change of the weight clipped."""
    slope = rounded(rate) * slope_of(scale, weight, features, targets)
    return moved(weight, 1, limited(slope, clip))


def clipped_above(
    rate: float, scale: float, clip: float, weight: float, features: Floats, targets: Floats
) -> Number:
    """The gradient no larger than the clip, but as negative as it may be."""
    slope = slope_of(scale, weight, features, targets)
    return moved(weight, rate, limited(slope, clip) if slope.value > 0 else slope)


def dropped(
    rate: float, scale: float, clip: float, weight: float, features: Floats, targets: Floats
) -> Number:
    """No step where the gradient is larger than the clip."""
    slope = slope_of(scale, weight, features, targets)
    return moved(weight, rate, slope if abs(slope.value) < Fraction(clip) else rounded(0))


def of_full_length(
    rate: float, scale: float, clip: float, weight: float, features: Floats, targets: Floats
) -> Number:
    """The gradient brought to the size of the clip, also where it is smaller."""
    slope = slope_of(scale, weight, features, targets).value
    sign = (slope > 0) - (slope < 0)
    return moved(weight, rate, sign * rounded(clip))


def adam_like(weight: float, rate: float, slope: Rounded, quotient: Fraction | float) -> Number:
    """weight - rate*quotient, with Adam's own error on a quotient made of `slope`."""
    error = rescaled.adam_quotient(Rounded(abs(slope.value), slope.bound), 0).bound
    size = abs(Fraction(quotient))
    return moved(weight, rate, Rounded(Fraction(quotient), 2 * size * error))


def adam_variant(quotient: Any, *, rate_over_scale: bool = False) -> Any:
    """A relative of `adam_first_update` with `quotient(g, eps)`, floats both, for the fraction."""

    def answer(
        rate: float,
        scale: float,
        weight: float,
        features: Floats,
        targets: Floats,
        eps: float = 1e-8,
    ) -> Number:
        slope = slope_of(scale, weight, features, targets)
        used = rate / scale if rate_over_scale else rate
        return adam_like(weight, used, slope, quotient(float(slope.value), eps))

    return answer


def adam_unscaled(
    rate: float,
    scale: float,
    weight: float,
    features: Floats,
    targets: Floats,
    eps: float = 1e-8,
) -> Number:
    """Adam's first step on the plain objective."""
    return adam_first_update(rate, 1.0, weight, features, targets, eps)


# Adam's 1-b for the first moment, and the root of its 1-c for the second.
FIRST, SECOND = 1 - 0.9, math.sqrt(1 - 0.999)

# Of each function one witness sets most of its misconceptions apart from each other.
AT = (1.0, [3.0, 3.0], [1.0, 1.0])  # the plain gradient is 12
DOWN_AT = (-1.0, [3.0, 3.0], [1.0, 1.0])  # and here it is -24
ADAM_AT = (0.5, 4.0, 1.0, [1.0, 1.0], [0.0, 0.0], 8.0)  # the gradient is 8, as large as eps

MISCONCEPTIONS = [
    Misconception(
        "scale_forgotten",
        "scaled_gradient",
        lambda scale, *rest: number(slope_of(1, *rest)),
        (4.0, *AT),
        """Your gradient is that of the plain objective: the factor has no effect on it. Picture
        the loss as a curve over the weight, and stretch the picture upwards. The lowest point
        stays where it was. Does the slope at every other point stay the same, too?
        """,
    ),
    Misconception(
        "scale_squared",
        "scaled_gradient",
        lambda scale, *rest: number(slope_of(Fraction(scale) ** 2, *rest)),
        (4.0, *AT),
        """The factor reaches your gradient twice. That is what happens when features and targets
        are multiplied, or when an objective that is multiplied already is multiplied again. Here
        the data stays as it is, and only the finished loss is multiplied, once. Differentiate
        that product with respect to the weight.
        """,
    ),
    Misconception(
        "gradient_of_a_sum",
        "scaled_gradient",
        lambda scale, weight, features, targets: number(
            len(features) * slope_of(scale, weight, features, targets)
        ),
        (4.0, *AT),
        """Your gradient grows when the same data is written down twice. The objective is a mean,
        and a mean doesn't notice that; so its slope can't either. Look for a sum where an average
        is due. Note that a sum is a mean times the number of examples: a change of scale that
        nobody asked for, of the very kind that this page is about.
        """,
    ),
    Misconception(
        "gradient_of_half_the_objective",
        "scaled_gradient",
        lambda scale, *rest: number(slope_of(Fraction(scale) / 2, *rest)),
        (4.0, *AT),
        """Your gradient is the right one times one half, whatever the factor. Many books put a
        one-half before the mean of the squares, so that a constant cancels when they differentiate.
        This course doesn't. Take one example with feature 1 and target 0, and differentiate its
        squared difference by hand.
        """,
    ),
    Misconception(
        "gradient_turned_round",
        "scaled_gradient",
        lambda scale, *rest: number(-slope_of(scale, *rest)),
        (4.0, *AT),
        """Size right, sign wrong. Take one example with feature 1 and target 0, at weight 1. When
        the weight grows a little, does the loss grow or shrink? The gradient has the sign of that
        answer. The minus that you may have in mind belongs to the update, which goes downhill.
        """,
    ),
    Misconception(
        "inner_derivative_lost",
        "scaled_gradient",
        lambda *arguments: number(mean_residual(*arguments)),
        (4.0, *AT),
        """You differentiated the square and stopped there. What stands inside the square depends on
        the weight, too: by how much does a prediction change when the weight grows by one? That
        differs from example to example, so it has to be there before the mean is taken.
        """,
    ),
    Misconception(
        "rate_times_scale",
        "compensating_rate",
        lambda rate, scale: number(rounded(rate) * rounded(scale)),
        (0.5, 4.0),
        """Your rate moves the same way as the objective. A larger objective has a larger gradient,
        and the step is rate times gradient. For the step to stay what it was, which way does the
        rate have to go when the gradient grows?
        """,
    ),
    Misconception(
        "rate_over_scale_squared",
        "compensating_rate",
        lambda rate, scale: number(rounded(rate) / (rounded(scale) * rounded(scale))),
        (0.5, 4.0),
        """Your rate compensates twice. Two factors are due when features and targets are
        multiplied, because the loss is quadratic in the data: that is another exercise. Here it is
        the loss itself that is multiplied. How many times does its factor appear in the gradient?
        """,
    ),
    Misconception(
        "rate_unchanged",
        "compensating_rate",
        lambda rate, scale: number(rounded(rate)),
        (0.5, 4.0),
        """You keep the rate. The best weight is indeed the same for the objective and for its
        multiple, but the way there is not. Take the numbers worked by hand on the page: at the
        unchanged rate, where does the first step land?
        """,
    ),
    Misconception(
        "step_of_the_plain_objective",
        "update",
        lambda rate, scale, *rest: number(rescaled.step(rate, 1, *rest)),
        (0.125, 4.0, *AT),
        """Your step doesn't depend on the factor. Either it is missing in the gradient, or
        something has compensated for it. This function is asked to show what happens without any
        help: the gradient of the multiplied objective, at the rate exactly as it is given. Whoever
        calls it decides whether to pass a compensated rate.
        """,
    ),
    Misconception(
        "climbed",
        "update",
        lambda rate, scale, weight, *data: moved(weight, rate, -slope_of(scale, weight, *data)),
        (0.125, 4.0, *AT),
        """Your step goes uphill. The gradient points to where the objective grows, and descent goes
        the other way. Compute the loss at your new weight and compare it with the loss at the old
        one, at a small rate: it should have become smaller.
        """,
    ),
    Misconception(
        "change_instead_of_weight",
        "update",
        change_alone,
        (0.125, 4.0, *AT),
        """What you return is how far the weight moves. Asked is where it arrives. Try a rate so
        small that hardly anything moves: what should the function return then?
        """,
    ),
    Misconception(
        "scale_applied_twice",
        "update",
        lambda rate, scale, *rest: number(rescaled.step(rate, Fraction(scale) ** 2, *rest)),
        (0.125, 4.0, *AT),
        """The factor enters your step twice. If `update` calls `scaled_gradient`, the factor is in
        what comes back already. Write the step out for a factor of 10 and follow where the 10 goes.
        """,
    ),
    Misconception(
        "step_on_a_sum",
        "update",
        lambda rate, scale, weight, features, targets: number(
            rescaled.step(rate, len(features) * Fraction(scale), weight, features, targets)
        ),
        (0.125, 4.0, *AT),
        """Your step grows with the number of examples. The objective is a mean, so writing the same
        data down twice must not change the step. Look for a sum where an average is due.
        """,
    ),
    Misconception(
        "step_on_half_the_objective",
        "update",
        lambda rate, scale, *rest: number(rescaled.step(rate, Fraction(scale) / 2, *rest)),
        (0.125, 4.0, *AT),
        """Your step is half as long as it should be, for every factor. The objective of this course
        is the mean of the squares without a one-half in front. Differentiate the square of one
        difference by hand, and keep every factor that comes out.
        """,
    ),
    Misconception(
        "clipped_before_scaling",
        "clipped_update",
        clipped_first,
        (0.125, 4.0, 2.0, *AT),
        """You clip first and multiply afterwards, so that the factor can push the gradient beyond
        the clip again. The optimizer never sees the plain gradient. It is handed the gradient of
        the multiplied objective, and clips that. How far can a step then move the weight at most?
        """,
    ),
    Misconception(
        "clipped_the_move",
        "clipped_update",
        clipped_move,
        (0.125, 4.0, 2.0, *AT),
        """You limit how far the weight moves. The clip is meant for the gradient, before it meets
        the rate. Read off from the page what the clip is compared with, and ask by how much the
        weight may move at most, once the rate has been applied.
        """,
    ),
    Misconception(
        "clipped_above_only",
        "clipped_update",
        clipped_above,
        (0.125, 4.0, 2.0, *DOWN_AT),
        """A large positive gradient is clipped, a large negative one passes. Whether a gradient is
        too large is a question about its size; the sign says which way to go. Try a weight on the
        other side of the best one.
        """,
    ),
    Misconception(
        "clip_without_effect",
        "clipped_update",
        lambda rate, scale, clip, *rest: number(rescaled.step(rate, scale, *rest)),
        (0.125, 4.0, 2.0, *AT),
        """Your clip has no effect, however small it is. Print the gradient before and after it is
        clipped, in a case where it is larger than the clip, and see which of the two your step
        uses. JAX's functions return a new array; they never change the one they are given.
        """,
    ),
    Misconception(
        "dropped_when_too_large",
        "clipped_update",
        dropped,
        (0.125, 4.0, 2.0, *AT),
        """Where the gradient is larger than the clip, your weight stays where it is. That is
        skipping a step, which some training loops do on purpose. Clipping still takes a step, in
        the same direction, with as much of the gradient as is allowed.
        """,
    ),
    Misconception(
        "always_as_large_as_the_clip",
        "clipped_update",
        of_full_length,
        (0.125, 4.0, 100.0, *AT),
        """Your step has the same length for every gradient, small ones included. The clip is an
        upper limit, no target: what is within it should pass unchanged. Otherwise a run could never
        come to rest, since steps wouldn't get shorter near the best weight.
        """,
    ),
    Misconception(
        "clipped_the_plain_gradient",
        "clipped_update",
        lambda rate, scale, clip, *rest: number(rescaled.clipped_step(rate, 1, clip, *rest)),
        (0.125, 4.0, 100.0, *AT),
        """The factor plays no part in your step. It is the gradient of the multiplied objective
        that is asked for, first clipped, then taken times the rate as given. Compare a factor of 1
        with a factor of 4 in a case where neither gradient reaches the clip.
        """,
    ),
    Misconception(
        "adam_without_normalizing",
        "adam_first_update",
        lambda *arguments: number(rescaled.step(*arguments[:5])),
        ADAM_AT,
        """This is a plain descent step. Adam divides its average of the gradients by a measure of
        how large they have been. Work out what both averages are after one gradient, once the
        bias is corrected, and what their quotient is.
        """,
    ),
    Misconception(
        "adam_divides_by_the_square",
        "adam_first_update",
        adam_variant(lambda g, eps: g / (g * g + eps)),
        ADAM_AT,
        """You divide by the second moment as it is. That is a mean of squares, so it has the unit
        of a squared gradient, and the step would shrink when the gradient grows. Which operation
        does Adam apply to it before dividing, so that a factor on the gradient cancels?
        """,
    ),
    Misconception(
        "adam_eps_under_the_root",
        "adam_first_update",
        adam_variant(lambda g, eps: g / math.sqrt(g * g + eps)),
        ADAM_AT,
        """Your eps stands under the root, where it is compared with the square of the gradient. In
        Adam it is added after the root has been taken, and so is compared with the gradient
        itself. With the default it hardly matters; give both forms an eps of 8 and a gradient of 8.
        """,
    ),
    Misconception(
        "adam_without_eps",
        "adam_first_update",
        adam_variant(lambda g, eps: math.copysign(1.0, g)),
        ADAM_AT,
        """Your step takes no notice of eps. With the default that is nearly true, since 1e-8 is
        small beside any gradient you will meet here. But eps is an argument: when it is as large as
        the gradient, the step becomes half as long. Look where the sixth argument ends up.
        """,
    ),
    Misconception(
        "adam_of_the_plain_objective",
        "adam_first_update",
        adam_unscaled,
        ADAM_AT,
        """Your step is that of the plain objective. Adam very nearly doesn't notice a factor, so
        with a small eps you can't see the difference. With an eps as large as the gradient you can:
        eps doesn't grow with the objective. Make sure that the gradient is multiplied and that eps
        is not.
        """,
    ),
    Misconception(
        "adam_lost_the_sign",
        "adam_first_update",
        adam_variant(lambda g, eps: abs(g) / (abs(g) + eps)),
        (0.5, 4.0, -1.0, [1.0, 1.0], [0.0, 0.0], 8.0),
        """Your step goes the same way for every gradient. A square and its root leave only the
        size behind, and that is what belongs below the fraction bar. What stands above it has to
        remember the direction. Try a weight on the other side of the best one.
        """,
    ),
    Misconception(
        "adam_bias_not_corrected",
        "adam_first_update",
        adam_variant(lambda g, eps: FIRST * g / (SECOND * abs(g) + eps)),
        ADAM_AT,
        """Your first step is about three times as long as the rate. Both averages start at zero, so
        after one gradient they hold only a small share of it, and not the same share: one tenth of
        the gradient, one thousandth of its square. Adam divides each by the share that it holds
        before it uses them.
        """,
    ),
    Misconception(
        "adam_eps_before_the_correction",
        "adam_first_update",
        adam_variant(lambda g, eps: g / (abs(g) + eps / SECOND)),
        ADAM_AT,
        """With a small eps your step is right, with a large one it is much too short. Your eps is
        added to the root of the second average while that still starts from zero, and the
        correction that follows enlarges eps as well. Correct the average first, take the root, and
        then add eps.
        """,
    ),
    Misconception(
        "adam_at_the_compensated_rate",
        "adam_first_update",
        adam_variant(lambda g, eps: g / (abs(g) + eps), rate_over_scale=True),
        ADAM_AT,
        """Your step gets shorter when the objective gets larger. Something compensates for a factor
        that Adam has divided out already. The function should use the rate as it is given; what
        happens when someone passes a compensated one is for you to find out, and to explain below.
        """,
    ),
]
