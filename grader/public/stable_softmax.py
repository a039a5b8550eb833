"""Public checks of `stable_softmax`: worked examples, and what a shift of all logits must do.

Logits are multiples of 1/8 and so are shifts: their sums are exact. Each bound allows twice what
one answer may be off by. For logits up to Z in magnitude that is, for n of them, 2*(n + 6)
roundings of 1 + Z (2*(n + 8) for a loss); a probability is off by the factor e**E or its inverse, E
being 2*(n + 8) roundings of 1 + Z, and by 2*(n + 4) roundings of 1.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import by_case, eighths
from grader.judge import expect, finite_number, finite_numbers, gamma, number, numbers

LENGTHS = (1, 2, 3)
SHIFTS = (-900.0, -12.5, 7.0, 90.5, 900.0)

logits_of_few = by_case(LENGTHS, lambda n: st.lists(eighths(), min_size=n, max_size=n))
shifts = st.sampled_from(SHIFTS)


def off(logits: list[float], shift: float, more: int) -> Fraction:
    """2*(n + more) roundings of 1 + Z, the shifted logits among them."""
    largest = max(abs(Fraction(z)) for z in logits) + abs(Fraction(shift))
    return gamma(2 * (len(logits) + more)) * (1 + largest)


def moved(logits: list[float], shift: float) -> list[float]:
    """All logits more by a shift."""
    return [z + shift for z in logits]


@pytest.mark.points(0.5, about="logsumexp")
def test_sum_examples(student, examples):
    """logsumexp and its gradient give the worked examples"""
    for arguments, due in examples("logsumexp"):
        expect(student.logsumexp(*arguments), due)
    for arguments, due in examples("logsumexp", gradient=True):
        expect(student.logsumexp.gradient(*arguments), due)


@pytest.mark.points(0.5, about="logsumexp", draws=12)
@given(logits=logits_of_few, shift=shifts)
def test_sum_follows_a_shift(student, logits, shift):
    """all logits more by a number: logsumexp more by that number"""
    value = finite_number(student.logsumexp(logits))
    due = number(value + Fraction(shift), 2 * off(logits, shift, 6))
    expect(student.logsumexp(moved(logits, shift)), due)


@pytest.mark.points(0.5, about="softmax")
def test_softmax_examples(student, examples):
    """softmax gives the worked examples"""
    for arguments, due in examples("softmax"):
        expect(student.softmax(*arguments), due)


@pytest.mark.points(0.5, about="softmax", draws=12)
@given(logits=logits_of_few, shift=shifts)
def test_probabilities_do_not_mind_a_shift(student, logits, shift):
    """all logits more by a number: the same probabilities, which add up to 1"""
    n = len(logits)
    answer = student.softmax(logits)
    values = finite_numbers(answer, (n,))
    factor = off(logits, shift, 8)
    each = gamma(2 * (n + 4))
    # The last one is 1 less the others, which may all be off.
    last = number(1 - sum(values[:-1]), 2 * factor + n * each)
    expect(answer, numbers([*values[:-1], last]))
    dues = [number(p, 3 * factor * abs(p) + 3 * each) for p in values]
    expect(student.softmax(moved(logits, shift)), numbers(dues))


@pytest.mark.points(0.5, about="cross_entropy")
def test_loss_examples(student, examples):
    """cross_entropy gives the worked examples"""
    for arguments, due in examples("cross_entropy"):
        expect(student.cross_entropy(*arguments), due)


@pytest.mark.points(0.5, about="cross_entropy")
def test_loss_slope_examples(student, examples):
    """the gradient of cross_entropy gives the worked examples"""
    for arguments, due in examples("cross_entropy", gradient=True):
        expect(student.cross_entropy.gradient(*arguments), due)


@pytest.mark.points(0.5, about="cross_entropy", draws=12)
@given(logits=logits_of_few, shift=shifts, place=st.integers(0, 5))
def test_loss_does_not_mind_a_shift(student, logits, shift, place):
    """all logits more by a number: the same loss"""
    label = place % len(logits)
    value = finite_number(student.cross_entropy(logits, label))
    due = number(value, 2 * off(logits, shift, 8))
    expect(student.cross_entropy(moved(logits, shift), label), due)


@pytest.mark.points(0.5, about="confidently_wrong")
def test_confidence_examples(student, examples):
    """confidently_wrong gives the worked examples"""
    for arguments, due in examples("confidently_wrong"):
        expect(student.confidently_wrong(*arguments), due)
