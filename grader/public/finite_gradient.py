"""Public checks of `finite_gradient`: worked examples, and what holds whatever the numbers are.

Factors that are powers of two (of four, under a root) change no significand, so that a program
computes the same digits, if it doesn't go by logarithms. Each bound allows twice what one answer
may be off by all the same: a root or its slope 64 roundings, and 4 more for each entry of a norm.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import vectors
from grader.judge import expect, finite_number, finite_numbers, gamma, number

ROOT = 64
LENGTHS = (1, 2, 3)

positive = st.integers(1, 99).map(lambda k: k / 8)
residuals = vectors((3,))
masks = st.lists(st.booleans(), min_size=3, max_size=3).filter(lambda mask: not all(mask))


@pytest.mark.points(0.5, about="safe_sqrt")
def test_root_examples(student, examples):
    """safe_sqrt gives the worked examples"""
    for arguments, due in examples("safe_sqrt"):
        expect(student.safe_sqrt(*arguments), due)


@pytest.mark.points(0.5, about="safe_sqrt")
def test_root_slope_examples(student, examples):
    """the gradient of safe_sqrt gives the worked examples"""
    for arguments, due in examples("safe_sqrt", gradient=True):
        expect(student.safe_sqrt.gradient(*arguments), due)


@pytest.mark.points(0.25, about="safe_sqrt", draws=8)
@given(x=positive)
def test_root_follows_scale(student, x):
    """four times the number: twice the root"""
    value = finite_number(student.safe_sqrt(x))
    expect(student.safe_sqrt(4 * x), number(2 * value, 2 * gamma(2 * ROOT) * abs(value)))


@pytest.mark.points(0.5, about="safe_norm")
def test_norm_examples(student, examples):
    """safe_norm gives the worked examples"""
    for arguments, due in examples("safe_norm"):
        expect(student.safe_norm(*arguments), due)


@pytest.mark.points(0.5, about="safe_norm")
def test_norm_slope_examples(student, examples):
    """the gradient of safe_norm gives the worked examples"""
    for arguments, due in examples("safe_norm", gradient=True):
        expect(student.safe_norm.gradient(*arguments), due)


@pytest.mark.points(0.25, about="safe_norm", draws=8)
@given(v=vectors(LENGTHS))
def test_norm_follows_scale(student, v):
    """twice the vector, reversed and one sign turned: twice the norm"""
    value = finite_number(student.safe_norm(v))
    scaled = [2 * x for x in reversed(v)]
    scaled[0] = 0.0 - scaled[0]
    bound = 2 * gamma(2 * (ROOT + 4 * len(v))) * abs(value)
    expect(student.safe_norm(scaled), number(2 * value, bound))


@pytest.mark.points(0.5, about="masked_mean_square")
def test_masked_examples(student, examples):
    """masked_mean_square gives the worked examples"""
    for arguments, due in examples("masked_mean_square"):
        expect(student.masked_mean_square(*arguments), due)


@pytest.mark.points(0.5, about="masked_mean_square")
def test_masked_slope_examples(student, examples):
    """the gradient of masked_mean_square gives the worked examples"""
    for arguments, due in examples("masked_mean_square", gradient=True):
        expect(student.masked_mean_square.gradient(*arguments), due)


@pytest.mark.points(0.5, about="masked_mean_square", draws=4)
@given(values=residuals, mask=masks)
def test_masked_out_entries_do_not_matter(student, values, mask):
    """NaN in place of what is masked out: the same value, and a gradient that is finite"""
    value = finite_number(student.masked_mean_square(values, mask))
    behind = [r if keep else math.nan for r, keep in zip(values, mask, strict=True)]
    bound = 2 * gamma(2 * (ROOT + 4 * len(mask)) + 3) * abs(value)
    expect(student.masked_mean_square(behind, mask), number(value, bound))
    finite_numbers(student.masked_mean_square.gradient(behind, mask), (len(mask),))
