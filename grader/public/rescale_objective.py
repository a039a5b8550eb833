"""Public checks of `rescale_objective`: worked examples, and what must not change, or only so much.

The invariants turn a question into another one with the same answer, or its opposite. They are
asked on data without cancellation (`one_sided`), where every right program is off by no more than
its roundings are worth, and the difference of two answers by no more than twice that. The numbers
of roundings are generous: the most wasteful right program that we know needs no more.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import datasets, factors, rates, weights
from grader.judge import Written, expect, finite_number, gamma, number

Data = tuple[list[float], list[float]]


def one_sided() -> st.SearchStrategy[Data]:
    """Features and targets that are all positive; below a negative weight no residual cancels."""
    return datasets().map(
        lambda data: ([abs(x) or 0.125 for x in data[0]], [abs(y) or 0.125 for y in data[1]])
    )


def below(weight: float) -> float:
    """The weight, or its negative, whichever is not positive."""
    return 0.0 - abs(weight)


def mirrored(data: Data) -> Data:
    """The examples in the opposite order, targets with the other sign."""
    features, targets = data
    return features[::-1], [-y for y in reversed(targets)]


def roundings(data: Data) -> Fraction:
    """Relative difference of two answers, each of 4n+20 roundings."""
    return 2 * gamma(4 * len(data[0]) + 20)


@pytest.mark.points(0.5, about="scaled_gradient")
def test_gradient_examples(student, examples):
    """scaled_gradient gives the worked examples"""
    for arguments, due in examples("scaled_gradient"):
        expect(student.scaled_gradient(*arguments), due)


@pytest.mark.points(0.5, about="scaled_gradient", draws=10)
@given(scale=factors(), weight=weights(), data=one_sided())
def test_gradient_follows_scale(student, scale, weight, data):
    """four times the scale, weight and targets negated: minus four times the gradient"""
    value = finite_number(student.scaled_gradient(scale, below(weight), *data))
    bound = roundings(data) * 4 * abs(value)
    answer = student.scaled_gradient(4 * scale, abs(weight), *mirrored(data))
    expect(answer, number(-4 * value, bound))


@pytest.mark.points(0.25, about="compensating_rate")
def test_rate_examples(student, examples):
    """compensating_rate gives the worked examples"""
    for arguments, due in examples("compensating_rate"):
        expect(student.compensating_rate(*arguments), due)


@pytest.mark.points(0.25, about="compensating_rate", draws=10)
@given(rate=rates(), scale=factors())
def test_rate_follows_scale(student, rate, scale):
    """twice the rate and four times the scale: half the compensating rate"""
    value = finite_number(student.compensating_rate(rate, scale))
    answer = student.compensating_rate(2 * rate, 4 * scale)
    expect(answer, number(value / 2, 2 * gamma(32) * abs(value)))


@pytest.mark.points(0.5, about="update")
def test_update_examples(student, examples):
    """update gives the worked examples"""
    for arguments, due in examples("update"):
        expect(student.update(*arguments), due)


@pytest.mark.points(0.25, about="update", draws=10)
@given(rate=rates(), scale=factors(), weight=weights(), data=one_sided())
def test_update_depends_on_rate_times_scale(student, rate, scale, weight, data):
    """a quarter of the rate, four times the scale, weight and targets negated: minus the same"""
    value = finite_number(student.update(4 * rate, scale, below(weight), *data))
    # What is rounded: the weight, the change, and in some programs the weight that fits best.
    fit = max(Fraction(y) / Fraction(x) for x, y in zip(*data, strict=True))
    size = abs(Fraction(weight)) + abs(value + abs(Fraction(weight))) + fit
    answer = student.update(rate, 4 * scale, abs(weight), *mirrored(data))
    expect(answer, number(-value, roundings(data) * size))


@pytest.mark.points(0.5, about="clipped_update")
def test_clipped_examples(student, examples):
    """clipped_update gives the worked examples"""
    for arguments, due in examples("clipped_update"):
        expect(student.clipped_update(*arguments), due)


@pytest.mark.points(0.25, about="clipped_update", draws=10)
@given(rate=rates(), scale=factors(), clip=factors(), weight=weights(), data=datasets())
def test_clip_limits_the_move(student, rate, scale, clip, weight, data):
    """no step moves the weight farther than the rate times the clip"""
    farthest = Fraction(rate) * Fraction(clip)
    bound = farthest + gamma(12) * (abs(Fraction(weight)) + farthest)
    expect(student.clipped_update(rate, scale, clip, weight, *data), number(weight, bound))


@pytest.mark.points(0.5, about="adam_first_update")
def test_adam_examples(student, examples):
    """adam_first_update gives the worked examples"""
    for arguments, due in examples("adam_first_update"):
        expect(student.adam_first_update(*arguments), due)


def adam_roundings(data: Data) -> Fraction:
    """How far Adam's quotient may be off: twice the gradient's 4n+20 roundings and, in an Adam
    whose bias corrections are float32, up to 800 more."""
    return gamma(8 * len(data[0]) + 840)


# At least 1: then the gradient of data from 1/8 upwards is at least 1/64, below which Adam isn't
# asked for.
SCALES = factors().map(lambda scale: max(scale, 1.0))


@pytest.mark.points(0.25, about="adam_first_update", draws=10)
@given(rate=rates(), scale=SCALES, weight=weights(), data=one_sided())
def test_adam_moves_no_farther_than_the_rate(student, rate, scale, weight, data):
    """Adam's first step moves the weight no farther than the rate"""
    weight, farthest = below(weight), Fraction(rate)
    bound = farthest * (1 + adam_roundings(data)) + gamma(12) * abs(Fraction(weight))
    expect(student.adam_first_update(rate, scale, weight, *data), number(weight, bound))


@pytest.mark.points(0.25, about="adam_first_update", draws=10)
@given(
    rate=rates(),
    scale=SCALES,
    weight=weights(),
    data=one_sided(),
    eps=st.sampled_from((0.1, 1.0, 8.0)),
)
def test_adam_with_scaled_eps(student, rate, scale, weight, data, eps):
    """four times the scale and eps, weight and targets negated: minus the same"""
    value = finite_number(student.adam_first_update(rate, scale, below(weight), *data, eps))
    bound = 2 * adam_roundings(data) * Fraction(rate) + 2 * gamma(12) * abs(Fraction(weight))
    answer = student.adam_first_update(rate, 4 * scale, abs(weight), *mirrored(data), 4 * eps)
    expect(answer, number(-value, bound))


@pytest.mark.points(0, about="EXPLANATION", manual=2)
def test_explanation_is_read_by_a_person(student):
    """EXPLANATION is a text, which a person reads and marks"""
    expect(student.EXPLANATION, Written())
