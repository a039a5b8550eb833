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


def twice_each(features: list[float], roundings: int) -> Fraction:
    """How far two answers may be apart, as a share of what their terms add up to.

    The terms are 3 times the result for a program that takes the difference of two gradients, at
    weights 0 and 1 on targets of the features' size; on targets of 1, they are larger by as much as
    the features are smaller.
    """
    smallest = min((abs(Fraction(x)) for x in features if x), default=Fraction(1))
    return 2 * gamma(roundings) * (1 + 2 * max(Fraction(1), 1 / smallest))


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
    bound = twice_each(features, 2 * (len(features) + 2)) * 4 * abs(value)
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
    bound = twice_each(features, 2 * (len(features) + 3)) * abs(value) / 4
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
    # Multiplied out, the terms of (1 - z)**2 add up to (1 + z)**2. From the answer, z is at most
    # 1 + its root; 1 more for what the answer itself may be off.
    size = (3 + Fraction(math.sqrt(max(value, Fraction(0))))) ** 2
    bound = twice_each(features, 4 * (len(features) + 8)) * size
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
    expect(answer, Several((None, rows_of([Fraction(0), *weights[1:]], length))))


def rows_of(weights: list[Fraction], length: int) -> Numbers:
    """The history that belongs to these weights, on features of one and targets of two.

    A step adds at most 2*(length + 5) roundings of 4*(abs(weight) + 2), at rates up to 1.5. In a
    run that moves away from 2 that is at most 12 times the distance; and earlier errors grow no
    faster than the distance does. So a weight of this history is off by `error` at most, and loss
    and gradient, when they are computed from another weight than the one that is recorded beside
    them, by what twice that makes of them, beside their own roundings.
    """
    rows = []
    for step, weight in enumerate(weights):
        distance = abs(weight - 2)
        error = gamma(26 * step * (length + 5)) * distance
        size = abs(weight) + 2 + 2 * error
        carried = 2 * (2 * (distance + error) * error + error**2)
        rows.append(
            [
                number(weight),
                number(distance**2, gamma(2 * (length + 6)) * size**2 + carried),
                number(2 * distance, gamma(2 * (length + 4)) * 2 * size + 4 * error),
            ]
        )
    return numbers(rows)
