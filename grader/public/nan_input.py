"""Public checks of `nan_input`: worked examples, and what holds whatever the answer is.

What is copied must come back to the bit. Two gradients of one program at the same repaired data may
each be off by the roundings that `gamma` counts, so their difference by both.
"""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import by_case, marks, spoiled, spoiled_vectors, vectors, weights
from grader.judge import expect, finite_number, finite_numbers, gamma, number, numbers

LENGTHS = (1, 2, 3)

cases = by_case(
    LENGTHS,
    lambda n: st.tuples(vectors((n,)), vectors((n,)), vectors((n,)), st.integers(0, n - 1)),
)


@pytest.mark.points(0.5, about="corrupt")
def test_corruption_examples(student, examples):
    """corrupt gives the worked examples"""
    for arguments, due in examples("corrupt"):
        expect(student.corrupt(*arguments), due)


@pytest.mark.points(0.5, about="step_is_finite")
def test_step_examples(student, examples):
    """step_is_finite gives the worked examples"""
    for arguments, due in examples("step_is_finite"):
        expect(student.step_is_finite(*arguments), due)


@pytest.mark.points(0.5, about="bad_positions")
def test_position_examples(student, examples):
    """bad_positions gives the worked examples"""
    for arguments, due in examples("bad_positions"):
        expect(student.bad_positions(*arguments), due)


@pytest.mark.points(0.5, about="bad_positions", draws=12)
@given(features=spoiled_vectors(LENGTHS, some=False))
def test_positions_are_mirrored(student, features):
    """features read backwards, all signs turned: the same positions, counted from the other end"""
    count = sum(not math.isfinite(x) for x in features)
    found = finite_numbers(student.bad_positions(features), (count,))
    mirrored = [len(features) - 1 - place for place in reversed(found)]
    turned = [0.0 - x for x in reversed(features)]
    expect(student.bad_positions(turned), numbers(mirrored))


@pytest.mark.points(0.5, about="repair")
def test_repair_examples(student, examples):
    """repair gives the worked examples"""
    for arguments, due in examples("repair"):
        expect(student.repair(*arguments), due)


@pytest.mark.points(0.5, about="repair", draws=12)
@given(features=vectors((3,)), source=vectors((3,)), marked=marks(3, some=False))
def test_good_features_are_left_alone(student, features, source, marked):
    """finite features come back as they are, whatever the source holds"""
    expect(student.repair(features, spoiled(source, marked)), numbers(features))


@pytest.mark.points(0.5, about="checked_gradient")
def test_gradient_examples(student, examples):
    """checked_gradient gives the worked examples"""
    for arguments, due in examples("checked_gradient"):
        expect(student.checked_gradient(*arguments), due)


@pytest.mark.points(0.5, about="checked_gradient", draws=8)
@given(weight=weights(), case=cases)
def test_kind_does_not_matter(student, weight, case):
    """NaN, infinity and minus infinity in one place lead to the same gradient"""
    features, targets, source, place = case
    answers = []
    for kind in (math.nan, math.inf, -math.inf):
        bad = [*features[:place], kind, *features[place + 1 :]]
        answers.append(student.checked_gradient(weight, bad, targets, source))
    first = finite_number(answers[0])
    bound = twice_each(weight, [*features[:place], source[place], *features[place + 1 :]], targets)
    for answer in answers[1:]:
        expect(answer, number(first, bound))


def twice_each(weight: float, features: list[float], targets: list[float]) -> Fraction:
    """How far two right gradients may be apart: n + 4 operations each, of two roundings at most, on
    terms that add up to 2*mean(abs(x)*(abs(w*x) + abs(y))) in magnitude."""
    w, n = abs(Fraction(weight)), len(features)
    pairs = [(abs(Fraction(x)), abs(Fraction(y))) for x, y in zip(features, targets, strict=True)]
    size = sum((2 * x * (w * x + y) / n for x, y in pairs), Fraction(0))
    return 2 * gamma(2 * (n + 4)) * size
