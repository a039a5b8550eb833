"""Public checks of `instrumented_run`: worked examples, and what holds of every record.

How far two numbers of one record may disagree: let c be twice the mean of the squared features, and
T the largest size of a target over its feature, which no best weight exceeds. At rates of at most
2/c an error of a weight doesn't grow, and a step adds roundings of the weight before it and of the
step, which is at most 2*(abs(w) + T) long. With 8n + 80 of them a step, also for programs with a
closed form, a weight is off by no more than `off` says. A difference of two is off by twice that.
"""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import (
    by_case,
    eighths,
    factors,
    weights,
)
from grader.judge import (
    Due,
    Fields,
    Nothing,
    Number,
    Numbers,
    OneOf,
    Several,
    Text,
    expect,
    finite_at,
    finite_number,
    gamma,
    number,
    numbers,
)

NAMES = ("weight", "loss", "gradient", "update", "next_weight")
NAN, INF = math.nan, math.inf
NOT_FINITE = OneOf(tuple(Numbers((1,), (Number(kind),)) for kind in (NAN, INF, -INF)))
CASES = ((1, 3), (2, 6), (3, 3))  # lengths, and numbers of steps

positive = st.integers(1, 99).map(lambda k: k / 8)
data = by_case(
    CASES,
    lambda case: st.tuples(
        st.just(case[1]),
        st.lists(positive, min_size=case[0], max_size=case[0]),
        st.lists(eighths(), min_size=case[0], max_size=case[0]),
    ),
)


@pytest.mark.points(1, about="instrumented_run")
def test_record_examples(student, examples):
    """instrumented_run gives the worked examples"""
    for arguments, due in examples("instrumented_run"):
        expect(student.instrumented_run(*arguments), due)


@pytest.mark.points(1, about="instrumented_run", draws=10)
@given(case=data, part=st.integers(1, 15), start=eighths(), clip=factors())
def test_rows_hang_together(student, case, part, start, clip):
    """update leads from weight to next_weight, the weight of the next row, as far as it may"""
    steps, features, targets = case
    square = sum(Fraction(x) ** 2 for x in features) / len(features)
    rate = float(f"{part / 16 / float(square):.2g}")
    answer = student.instrumented_run(rate, steps, features, targets, start, clip)
    shape = Fields(dict.fromkeys(NAMES))
    expect(answer, shape)
    before, after = finite_at(answer, "weight"), finite_at(answer, "next_weight")
    fit = max(abs(Fraction(y) / Fraction(x)) for x, y in zip(features, targets, strict=True))
    largest = max([abs(Fraction(start)), *map(abs, before), *map(abs, after)])
    off = gamma((8 * len(features) + 80) * (steps + 1)) * (largest + 2 * fit)
    moves = zip(before, after[: len(before)], strict=False)
    chained: dict[str, Due | None] = {
        "weight": numbers([number(w, 2 * off) for w in [Fraction(start), *after[:-1]]]),
        "update": numbers([number(new - old, 4 * off) for old, new in moves]),
        "next_weight": Numbers((steps,), tuple(number(w, off) for w in after)),
    }
    expect(answer, Fields(chained))
    farthest = number(0, Fraction(rate) * Fraction(clip) + 2 * off)
    expect(answer, Fields({"update": Numbers((steps,), (farthest,) * steps)}))


@pytest.mark.points(0.5, about="instrumented_run")
def test_bad_data_leaves_one_row(student):
    """NaN among the data: one row, with the initial weight, and a loss that is not finite"""
    for features, targets in (([NAN], [2.0]), ([1.0, 2.0], [NAN, 3.0])):
        due: dict[str, Due | None] = {
            "weight": numbers([number(1.5)]),
            "loss": NOT_FINITE,
            "gradient": NOT_FINITE,
        }
        expect(student.instrumented_run(0.25, 3, features, targets, 1.5, None), Fields(due))


@pytest.mark.points(0.5, about="update_ratio")
def test_ratio_examples(student, examples):
    """update_ratio gives the worked examples"""
    for arguments, due in examples("update_ratio"):
        expect(student.update_ratio(*arguments), due)


@pytest.mark.points(0.5, about="update_ratio", draws=12)
@given(update=weights().filter(bool), weight=weights().filter(bool))
def test_ratio_follows_scale(student, update, weight):
    """twice the update, four times the weight, both signs turned: half the ratio"""
    value = finite_number(student.update_ratio(update, weight))
    answer = student.update_ratio(-2 * update, -4 * weight)
    expect(answer, number(value / 2, 2 * gamma(50) * abs(value) / 2))


@pytest.mark.points(0.5, about="first_jump")
def test_jump_examples(student, examples):
    """first_jump gives the worked examples"""
    for arguments, due in examples("first_jump"):
        expect(student.first_jump(*arguments), due)


@pytest.mark.points(0.5, about="first_jump", draws=12)
@given(flat=positive, before=st.integers(1, 2), after=st.integers(0, 2))
def test_a_single_jump_is_found(student, flat, before, after):
    """norms that change once: the place of the change, and -1 read backwards"""
    norms = [flat] * before + [8 * flat] * (3 - before)
    due = number(before)
    expect(student.first_jump(norms, 3.0 + after), due)
    expect(student.first_jump(norms[::-1], 3.0 + after), number(-1))


@pytest.mark.points(0.5, about="first_nonfinite")
def test_nonfinite_examples(student, examples):
    """first_nonfinite gives the worked examples"""
    for arguments, due in examples("first_nonfinite"):
        expect(student.first_nonfinite(*arguments), due)


@pytest.mark.points(1, about="first_nonfinite", draws=15)
@given(
    name=st.sampled_from(NAMES),
    step=st.integers(0, 2),
    kind=st.sampled_from((NAN, INF, -INF)),
    turn=st.integers(0, 4),
    item=eighths(),
)
def test_a_single_bad_number_is_found(student, name, step, kind, turn, item):
    """one bad number in a record: its step and its name; without it, None"""
    record = {each: [item, 1.0, -2.0] for each in NAMES[turn:] + NAMES[:turn]}
    expect(student.first_nonfinite(record), Nothing())
    spoiled = [*record[name][:step], kind, *record[name][step + 1 :]]
    due = Several((number(step), Text(name)))
    expect(student.first_nonfinite({**record, name: spoiled}), due)
