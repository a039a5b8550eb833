"""Public checks of `predict_trajectory`: worked examples, and what moving or stretching a run does.

The invariants are asked for features between 1 and 4 in size and rates up to 1/16. There no run
moves away from its true weight, and a step moves the weight by at most twice the error. With A the
largest of the weights, the true one and the first among them, a step on n examples then adds at
most (8n + 44)*u*A to a weight's error, in a program that makes every step; one with a power in it
is off by (24n + 60)*u*A for each factor, and by 24*u*A once, for a multiplier that is known as well
as `error_multiplier` is asked to be. Two answers may be apart by twice that.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import (
    by_case,
    eighths,
    rates,
    vectors,
)
from grader.judge import Number, expect, finite_number, finite_numbers, gamma, number, numbers

STEPS_AND_LENGTHS = ((1, 1), (2, 3), (3, 2))
Run = tuple[float, int, list[float]]


def runs() -> st.SearchStrategy[Run]:
    """Rate, steps and features, such that the run doesn't diverge."""

    def of_length(steps: int, length: int) -> st.SearchStrategy[Run]:
        sizes = st.integers(4, 16).map(lambda k: k / 4)
        feature = st.builds(lambda size, sign: sign * size, sizes, st.sampled_from((1.0, -1.0)))
        small = st.integers(1, 64).map(lambda k: k / 1024)
        return st.tuples(small, st.just(steps), st.lists(feature, min_size=length, max_size=length))

    return by_case(STEPS_AND_LENGTHS, lambda case: of_length(*case))


def apart(run: Run, largest: Fraction) -> Fraction:
    """How far two weights of such runs may be apart."""
    _, steps, features = run
    return gamma(2 * (steps * (30 * len(features) + 80) + 40)) * largest


@pytest.mark.points(0.5, about="error_multiplier")
def test_multiplier_examples(student, examples):
    """error_multiplier gives the worked examples"""
    for arguments, due in examples("error_multiplier"):
        expect(student.error_multiplier(*arguments), due)


@pytest.mark.points(0.25, about="error_multiplier", draws=10)
@given(rate=rates(1, 32), features=vectors(zeros=False))
def test_multiplier_depends_on_rate_times_square(student, rate, features):
    """four times the rate does what features twice as large do, in any order"""
    value = finite_number(student.error_multiplier(4 * rate, features))
    # What is taken from 1, and in some programs more: the difference of two gradients, each as
    # large as 2 or 4 times the result where no feature is below 1, and larger where one is.
    smallest = min(abs(Fraction(x)) for x in features if x)
    size = 1 + (abs(value) + 1) * (1 + 2 * max(Fraction(1), 1 / smallest))
    bound = 2 * gamma(2 * (len(features) + 4)) * size
    answer = student.error_multiplier(rate, [2 * x for x in reversed(features)])
    expect(answer, number(value, bound))


@pytest.mark.points(0.75, about="predicted_weights")
def test_weights_examples(student, examples):
    """predicted_weights gives the worked examples"""
    for arguments, due in examples("predicted_weights"):
        expect(student.predicted_weights(*arguments), due)


@pytest.mark.points(0.5, about="predicted_weights", draws=10)
@given(run=runs(), true_weight=eighths(), initial_weight=eighths(), shift=eighths())
def test_weights_shift_together(student, run, true_weight, initial_weight, shift):
    """the true weight and the first one moved by a number: every weight moved by it"""
    answer = student.predicted_weights(*run, true_weight, initial_weight)
    found = finite_numbers(answer, (run[1],))
    moved = Fraction(shift)
    largest = abs(moved) + max(map(abs, (Fraction(true_weight), Fraction(initial_weight), *found)))
    bound = apart(run, largest)
    again = student.predicted_weights(*run, true_weight + shift, initial_weight + shift)
    expect(again, numbers([Number(weight + moved, bound) for weight in found]))


@pytest.mark.points(0.75, about="predicted_losses")
def test_losses_examples(student, examples):
    """predicted_losses gives the worked examples"""
    for arguments, due in examples("predicted_losses"):
        expect(student.predicted_losses(*arguments), due)


@pytest.mark.points(0.5, about="predicted_losses", draws=10)
@given(run=runs(), true_weight=eighths(), initial_weight=eighths(), shift=eighths())
def test_losses_depend_on_the_distance(student, run, true_weight, initial_weight, shift):
    """the true weight and the first one moved by a number, or mirrored: the same losses"""
    answer = student.predicted_losses(*run, true_weight, initial_weight)
    found = finite_numbers(answer, (run[1],))
    # No distance is larger than the first, and no squared feature than 16. A loss changes by at
    # most 2*16*distance for each unit that the weight is off, beside its own roundings.
    largest = abs(Fraction(true_weight)) + abs(Fraction(initial_weight)) + abs(Fraction(shift))
    off = apart(run, largest)
    bound = 32 * (largest + off) * off + gamma(400) * 64 * largest**2
    again = student.predicted_losses(*run, shift - true_weight, shift - initial_weight)
    expect(again, numbers([Number(loss, 2 * bound) for loss in found]))


@pytest.mark.points(0.75, about="regime")
def test_regime_examples(student, examples):
    """regime gives the worked examples"""
    for arguments, due in examples("regime"):
        expect(student.regime(*arguments), due)
