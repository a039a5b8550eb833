"""Public checks of `feature_scale`: worked examples, and what must not depend on units."""

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
Comparison = tuple[Any, ...]


def comparisons() -> st.SearchStrategy[Comparison]:
    """Arguments of `scaled_comparison`: features between 1 and 4 in size and rates up to 1/16, so
    that no step leads farther away; the first target is so far off that no weight fits it."""

    def of_length(steps: int, length: int) -> st.SearchStrategy[Comparison]:
        feature = st.integers(4, 16).map(lambda k: k / 4)
        return st.tuples(
            st.integers(1, 32).map(lambda k: k / 1024),
            st.builds(lambda size, sign: sign * size, factors(), st.sampled_from((1.0, -1.0))),
            st.just(steps),
            st.lists(feature, min_size=length, max_size=length),
            st.lists(eighths(), min_size=length - 1, max_size=length - 1).map(lambda y: [40.0, *y]),
        )

    return by_case(STEPS_AND_LENGTHS, lambda case: of_length(*case))


@pytest.mark.points(0.5, about="scaled_ceiling")
def test_ceiling_examples(student, examples):
    """scaled_ceiling gives the worked examples"""
    for arguments, due in examples("scaled_ceiling"):
        expect(student.scaled_ceiling(*arguments), due)


@pytest.mark.points(0.25, about="scaled_ceiling", draws=10)
@given(ceiling=rates(), scale=factors())
def test_ceiling_scaled_by_the_opposite(student, ceiling, scale):
    """eight times the ceiling, and the scale's opposite: eight times the scaled ceiling"""
    value = finite_number(student.scaled_ceiling(ceiling, scale))
    bound = 8 * 2 * gamma(33) * abs(value)
    expect(student.scaled_ceiling(8 * ceiling, -scale), number(8 * value, bound))


@pytest.mark.points(0.5, about="compensating_rate")
def test_rate_examples(student, examples):
    """compensating_rate gives the worked examples"""
    for arguments, due in examples("compensating_rate"):
        expect(student.compensating_rate(*arguments), due)


@pytest.mark.points(0.25, about="compensating_rate", draws=10)
@given(rate=rates(), scale=factors())
def test_rate_scaled_by_the_opposite(student, rate, scale):
    """eight times the rate, and the scale's opposite: eight times the compensating rate"""
    value = finite_number(student.compensating_rate(rate, scale))
    bound = 8 * 2 * gamma(33) * abs(value)
    expect(student.compensating_rate(8 * rate, -scale), number(8 * value, bound))


@pytest.mark.points(0.75, about="standardize")
def test_standardize_examples(student, examples):
    """standardize gives the worked examples"""
    for arguments, due in examples("standardize"):
        expect(student.standardize(*arguments), due)


def coarse_data() -> st.SearchStrategy[tuple[list[float], list[float]]]:
    """Features and targets that are of ordinary size even when they have been standardized."""

    def of_length(length: int) -> st.SearchStrategy[tuple[list[float], list[float]]]:
        entries = st.lists(eighths(), min_size=length, max_size=length)
        return st.tuples(entries.filter(any), entries)

    return by_case((1, 2, 3), of_length)


@pytest.mark.points(0.5, about="standardize", draws=10)
@given(data=coarse_data())
def test_standardized_data_is_standard(student, data):
    """what has been standardized stays as it is, with a scale of 1"""
    features, targets = data
    length = len(features)
    answer = student.standardize(features, targets)
    parts = [finite_part(answer, part, of=3, shape=(length,)) for part in (0, 1)]
    # An entry is off by 2n+20 roundings, and one more where it is handed over; so is their root
    # mean square, which is found with 2n+16. What is divided by it brings 4 more.
    roundings = 4 * length + 44
    due = [[Number(item, gamma(roundings) * abs(item)) for item in part] for part in parts]
    scale = Number(Fraction(1), gamma(roundings))
    again = student.standardize(*[[float(item) for item in part] for part in parts])
    expect(again, Several((*map(numbers, due), scale)))


@pytest.mark.points(0.75, about="scaled_comparison")
def test_comparison_examples(student, examples):
    """scaled_comparison gives the worked examples"""
    for arguments, due in examples("scaled_comparison"):
        expect(student.scaled_comparison(*arguments), due)


@pytest.mark.points(0.5, about="scaled_comparison", draws=10)
@given(case=comparisons())
def test_both_runs_have_the_same_weights(student, case):
    """the run on the scaled data, at the compensating rate, has the weights of the original one"""
    _, _, steps, features, targets = case
    answer = student.scaled_comparison(*case)
    first = finite_part(answer, 0, of=3, shape=(steps,))
    # In these runs no weight is larger than twice the largest target, Y. A step adds at most
    # (16n + 200)*u*3*Y to a weight's error, and a power in a closed form no more for each factor.
    largest = max(map(abs, map(Fraction, targets)))
    bound = 2 * gamma((steps + 1) * (16 * len(features) + 200)) * 3 * largest
    due = [Number(weight, bound) for weight in first]
    expect(answer, Several((None, numbers(due), None)))
