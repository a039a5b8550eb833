"""Public checks of `gradient_check`: worked examples, and differences of parabolas."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import small
from grader.judge import expect, finite_number, gamma, number
from grader.model import Formula

STEPS = st.sampled_from((1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256))
eighths = small.map(lambda k: k / 64)


def quadratic(c0: float, c1: float, c2: float) -> Formula:
    """c0 + c1*w + c2*w**2."""
    return Formula((("power", c0, 0.0), ("power", c1, 1.0), ("power", c2, 2.0)))


def off(formula: Formula, weight: float, step: float) -> Fraction:
    """How far a central difference may be from the exact one: each monomial, at the farther one of
    the two weights, is rounded 28 times at most, and the two values are divided by twice the step.
    """
    far = abs(Fraction(weight)) + Fraction(step)
    size = sum(abs(Fraction(c)) * far ** int(power) for _, c, power in formula.terms)
    return gamma(28) * size / Fraction(step)


@pytest.mark.points(1, about="central_difference")
def test_difference_examples(student, examples):
    """central_difference gives the worked examples"""
    for arguments, due in examples("central_difference"):
        expect(student.central_difference(*arguments), due)


@pytest.mark.points(1, about="central_difference", draws=12)
@given(c0=eighths, c1=eighths, c2=eighths, weight=eighths, step=STEPS)
def test_step_is_of_no_account_on_a_parabola(student, c0, c1, c2, weight, step):
    """on a parabola every step gives the same difference quotient"""
    formula = quadratic(c0, c1, c2)
    wide = finite_number(student.central_difference(formula, weight, 1 / 16))
    bound = off(formula, weight, step) + off(formula, weight, 1 / 16)
    expect(student.central_difference(formula, weight, step), number(wide, bound))


@pytest.mark.points(2, about="gradient_check")
def test_verdict_examples(student, examples):
    """gradient_check gives the worked examples"""
    for arguments, due in examples("gradient_check"):
        expect(student.gradient_check(*arguments), due)
