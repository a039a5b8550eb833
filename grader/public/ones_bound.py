"""Public checks of `ones_bound`: worked examples, and what scaling and reordering must do.

The bounds below are of the same kind as the oracle's (`gamma` counts float32 roundings), stated for
two answers of one function: each may be off by its own roundings, so their difference by both.
"""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import rates, vectors
from grader.judge import (
    Numbers,
    Several,
    expect,
    finite_number,
    finite_part,
    gamma,
    number,
    numbers,
)

STEPS_AND_LENGTHS = ((1, 1), (2, 3), (3, 2), (6, 3))


def twice_each(length: int) -> Fraction:
    """Relative difference allowed between two sums of squares: 4 roundings for each of the
    `length` + 4 operations of either."""
    return 2 * gamma(4 * (length + 4))


@pytest.mark.points(0, about="PREDICTED_CEILING")
def test_prediction_is_a_number(student):
    """PREDICTED_CEILING is a finite number"""
    finite_number(student.PREDICTED_CEILING)


@pytest.mark.points(0.5, about="curvature")
def test_curvature_examples(student, examples):
    """curvature gives the worked examples"""
    for arguments, due in examples("curvature"):
        expect(student.curvature(*arguments), due)


@pytest.mark.points(0.5, about="curvature", draws=15)
@given(features=vectors())
def test_curvature_follows_scale(student, features):
    """features twice as large, reordered, one sign turned: four times the curvature"""
    value = finite_number(student.curvature(features))
    scaled = [2 * x for x in reversed(features)]
    scaled[0] = -scaled[0]
    bound = twice_each(len(features)) * 4 * abs(value)
    expect(student.curvature(scaled), number(4 * value, bound))


@pytest.mark.points(0.5, about="rate_ceiling")
def test_ceiling_examples(student, examples):
    """rate_ceiling gives the worked examples"""
    for arguments, due in examples("rate_ceiling"):
        expect(student.rate_ceiling(*arguments), due)


@pytest.mark.points(0.5, about="rate_ceiling", draws=15)
@given(features=vectors(zeros=False))
def test_ceiling_follows_scale(student, features):
    """features twice as large, reordered: a quarter of the ceiling"""
    value = finite_number(student.rate_ceiling(features))
    scaled = [2 * x for x in reversed(features)]
    bound = twice_each(len(features)) * abs(value) / 4
    expect(student.rate_ceiling(scaled), number(value / 4, bound))


@pytest.mark.points(0.5, about="growth_factor")
def test_growth_examples(student, examples):
    """growth_factor gives the worked examples"""
    for arguments, due in examples("growth_factor"):
        expect(student.growth_factor(*arguments), due)


@pytest.mark.points(0.5, about="growth_factor", draws=15)
@given(rate=rates(1, 32), features=vectors(zeros=False))
def test_growth_depends_on_rate_times_square(student, rate, features):
    """four times the rate does what features twice as large do"""
    value = finite_number(student.growth_factor(4 * rate, features))
    # The factor is m*m, and m = 1 - rate*curvature has an error of gamma*(1 + |1 - m|).
    multiplier = Fraction(math.sqrt(max(value, Fraction(0))))
    error = twice_each(2 * len(features)) * (2 + multiplier)
    bound = 4 * error * (multiplier + error)
    expect(student.growth_factor(rate, [2 * x for x in features]), number(value, bound))


@pytest.mark.points(0.5, about="compare_rates")
def test_comparison_examples(student, examples):
    """compare_rates gives the worked examples"""
    for arguments, due in examples("compare_rates"):
        expect(student.compare_rates(*arguments), due)


@pytest.mark.points(0.5, about="compare_rates", draws=10)
@given(stable=rates(8, 60), unstable=rates(70, 96), case=st.sampled_from(STEPS_AND_LENGTHS))
def test_comparison_rows_belong_together(student, stable, unstable, case):
    """each row of the history is [weight, loss, abs(gradient)], recorded before the update"""
    steps, length = case
    answer = student.compare_rates(stable, unstable, steps, length)
    weights = finite_part(answer, 1, of=2, shape=(steps, 3))[0::3]
    expect(answer, Several((None, rows_of([Fraction(0), *weights[1:]]))))


def rows_of(weights: list[Fraction]) -> Numbers:
    """The history that belongs to these weights, on features of one and targets of two.

    A step adds at most 16 roundings to the weight, each worth 1 + 2*rate < 4 of what it acts on,
    and earlier ones grow no faster than the weight itself, by less than a factor 3: so a program
    that takes weight, loss and gradient from three closed forms is within the bounds, too.
    """
    rows = []
    for step, weight in enumerate(weights):
        size = abs(weight) + 2
        error = gamma(3 * 4 * 16 * (step + 1)) * size
        residual = abs(weight - 2)
        rows.append(
            [
                number(weight),
                number(residual**2, error * (2 * size + error)),
                number(2 * residual, 2 * error),
            ]
        )
    return numbers(rows)
