"""Public checks of `clipped_updates`: worked examples, mirrored and rescaled questions, and rows
that have to belong together."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import (
    by_case,
    eighths,
    factors,
    rates,
)
from grader.judge import (
    Number,
    Several,
    expect,
    finite_number,
    finite_part,
    gamma,
    number,
    numbers,
)

STEPS_AND_LENGTHS = ((1, 1), (2, 3), (3, 2))
Run = tuple[Any, ...]

HISTORIES = (
    ([[0.0, 4.0, 4.0, 1.0], [0.5, 2.25, 3.0, 1.0], [1.0, 1.0, 2.0, 1.0]], 1.0),
    ([[0.0, 4.0, 4.0, 3.0], [1.5, 0.25, 1.0, 1.0], [2.0, 0.0, 0.0, 0.0]], 3.0),
    ([[0.0, 4.0, 4.0, 4.0], [1.0, 1.0, 2.0, 2.0], [1.5, 0.25, 1.0, 1.0]], 5.0),
)
"""Runs of one model with their clips: always clipped, once, and never."""


def runs() -> st.SearchStrategy[Run]:
    """Arguments of `clipped_run`: features between 1 and 4 in size and rates up to 1/16, so that no
    step leads farther away."""

    def of_length(steps: int, length: int) -> st.SearchStrategy[Run]:
        feature = st.integers(4, 16).map(lambda k: k / 4)
        return st.tuples(
            st.integers(1, 64).map(lambda k: k / 1024),
            st.just(steps),
            factors(),
            st.lists(feature, min_size=length, max_size=length),
            st.lists(eighths(), min_size=length, max_size=length),
            eighths(),
        )

    return by_case(STEPS_AND_LENGTHS, lambda case: of_length(*case))


@pytest.mark.points(0.5, about="clip_gradient")
def test_clip_examples(student, examples):
    """clip_gradient gives the worked examples"""
    for arguments, due in examples("clip_gradient"):
        expect(student.clip_gradient(*arguments), due)


@pytest.mark.points(0.25, about="clip_gradient", draws=10)
@given(gradient=eighths(), clip=factors())
def test_clip_treats_both_signs_alike(student, gradient, clip):
    """the opposite gradient, clipped, is the opposite of the gradient, clipped"""
    value = finite_number(student.clip_gradient(gradient, clip))
    bound = 2 * gamma(9) * abs(value)
    expect(student.clip_gradient(-gradient, clip), number(-value, bound))


@pytest.mark.points(0.5, about="move_bound")
def test_move_examples(student, examples):
    """move_bound gives the worked examples"""
    for arguments, due in examples("move_bound"):
        expect(student.move_bound(*arguments), due)


@pytest.mark.points(0.25, about="move_bound", draws=10)
@given(rate=rates(), clip=factors())
def test_move_scales(student, rate, clip):
    """twice the rate and four times the clip: eight times the bound"""
    value = finite_number(student.move_bound(rate, clip))
    bound = 8 * 2 * gamma(13) * abs(value)
    expect(student.move_bound(2 * rate, 4 * clip), number(8 * value, bound))


@pytest.mark.points(0.75, about="clipped_run")
def test_run_examples(student, examples):
    """clipped_run gives the worked examples"""
    for arguments, due in examples("clipped_run"):
        expect(student.clipped_run(*arguments), due)


@pytest.mark.points(0.75, about="clipped_run", draws=10)
@given(run=runs())
def test_run_rows_belong_together(student, run):
    """each row holds the loss and the gradients of the weight that is in it"""
    answer = student.clipped_run(*run)
    weights = finite_part(answer, 1, of=2, shape=(run[1], 4))[0::4]
    largest = max(map(abs, weights))
    rows = [row_at(weight, largest, run) for weight in weights]
    expect(answer, Several((None, numbers(rows))))


def row_at(weight: Fraction, largest: Fraction, run: Run) -> list[Number]:
    """The row that belongs to a weight, the largest weight of its run being this one.

    With A for that weight and Y for the largest target, no residual's terms exceed 4*(A + Y), and
    no gradient's 32*(A + Y). In these runs a weight's error grows by (24n + 80)*u*(A + Y + rate*
    clip) a step at most, and not on its own. Loss and gradients may have been computed from another
    weight than the one that is recorded beside them, twice that far away.
    """
    rate, steps, clip, features, targets, _ = run
    n = len(features)
    pairs = [(Fraction(x), Fraction(y)) for x, y in zip(features, targets, strict=True)]
    scale = largest + max(abs(y) for _, y in pairs)
    off = 2 * gamma((steps + 1) * (24 * n + 80)) * (scale + Fraction(rate) * Fraction(clip))
    loss = sum(((weight * x - y) ** 2 for x, y in pairs), Fraction(0)) / n
    slope = abs(2 * sum((x * (weight * x - y) for x, y in pairs), Fraction(0)) / n)
    slope_bound = gamma(4 * n + 14) * 32 * scale + 32 * off
    used = min(slope, Fraction(clip))
    return [
        number(weight),
        number(loss, gamma(6 * n + 24) * 32 * scale**2 + slope * off + 16 * off**2),
        number(slope, slope_bound),
        number(used, slope_bound + gamma(10) * (used + slope_bound)),
    ]


@pytest.mark.points(0.75, about="clipped_fraction")
def test_fraction_examples(student, examples):
    """clipped_fraction gives the worked examples"""
    for arguments, due in examples("clipped_fraction"):
        expect(student.clipped_fraction(*arguments), due)


@pytest.mark.points(0.25, about="clipped_fraction", draws=12)
@given(case=st.sampled_from(HISTORIES), factor=st.sampled_from((0.125, 0.5, 4.0, 16.0)))
def test_fraction_ignores_units(student, case, factor):
    """features in other units, and the clip with them: the same share"""
    history, clip = case
    value = finite_number(student.clipped_fraction(history, clip))
    # Features so many times as large make the weight smaller and its gradient larger.
    again = [[w / factor, loss, factor * g, factor * used] for w, loss, g, used in history]
    expect(student.clipped_fraction(again, factor * clip), number(value, 4 * gamma(8)))
