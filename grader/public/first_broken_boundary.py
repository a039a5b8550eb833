"""Public checks of `first_broken_boundary`: worked examples, and cases that need no computation.

A trace with one bad number is broken where that number was put. Bad data is bad at every rate. And
features of one have the largest stable rate 1, as `ones_bound` found.
"""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.draws import eighths, vectors
from grader.judge import Text, expect

BOUNDARIES = ("inputs", "forward", "loss", "gradient", "optimizer_state", "update")
KINDS = (math.nan, math.inf, -math.inf)
HISTORIES = ([[0.0, 4.0, 4.0]], [[0.0, 4.0, 4.0], [1.5, math.inf, 2.0], [math.nan] * 3])


def with_bad(kind: float, row: int, shape: str) -> Any:
    """An array that holds one bad number."""
    if shape == "0-d":
        return kind
    numbers = [kind if place == row else 1.0 + place for place in range(3)]
    return numbers if shape == "1-D" else [[number, 0.5] for number in numbers]


@pytest.mark.points(1, about="first_broken")
def test_boundary_examples(student, examples):
    """first_broken gives the worked examples"""
    for arguments, due in examples("first_broken"):
        expect(student.first_broken(*arguments), due)


@pytest.mark.points(1.5, about="first_broken", draws=20)
@given(
    name=st.sampled_from(BOUNDARIES),
    kind=st.sampled_from(KINDS),
    row=st.integers(0, 2),
    shape=st.sampled_from(("0-d", "1-D", "2-D")),
    turn=st.integers(0, 5),
    item=eighths(),
)
def test_a_single_bad_number_is_located(student, name, kind, row, shape, turn, item):
    """first_broken names the boundary that holds the one bad number, or none where there is none"""
    names = BOUNDARIES[turn:] + BOUNDARIES[:turn]
    trace: dict[str, Any] = {each: [item, 2.0, -1.0] for each in names}
    expect(student.first_broken({**trace, name: with_bad(kind, row, shape)}), Text(name))
    expect(student.first_broken(trace), Text("none"))


@pytest.mark.points(1.5, about="diagnose")
def test_diagnosis_examples(student, examples):
    """diagnose gives the worked examples"""
    for arguments, due in examples("diagnose"):
        expect(student.diagnose(*arguments), due)


@pytest.mark.points(1, about="diagnose", draws=12)
@given(
    features=vectors((3,), zeros=False),
    targets=vectors((3,)),
    kind=st.sampled_from(KINDS),
    place=st.integers(0, 5),
    rate=st.sampled_from((1 / 64, 0.5, 3.0, 100.0)),
    history=st.sampled_from(HISTORIES),
)
def test_one_bad_number_among_the_data(student, features, targets, kind, place, rate, history):
    """one bad feature or target: "nonfinite_input", at every rate and with every history"""
    both = [*features, *targets]
    both[place] = kind
    answer = student.diagnose(both[:3], both[3:], rate, history)
    expect(answer, Text("nonfinite_input"))


@pytest.mark.points(1, about="diagnose", draws=12)
@given(
    length=st.sampled_from((1, 2, 3)),
    sign=st.sampled_from((1.0, -1.0)),
    percent=st.integers(1, 97),
    history=st.sampled_from(HISTORIES),
)
def test_features_of_one(student, length, sign, percent, history):
    """features of one or minus one: rates from 1.02 are above the ceiling, up to 0.97 below"""
    features, targets = [1.0, sign, sign][:length], [2.0, 1.0, -1.0][:length]
    answer = student.diagnose(features, targets, 1.01 + percent / 100, history)
    expect(answer, Text("rate_above_ceiling"))
    below = "healthy" if history == HISTORIES[0] else "unsafe_operation"
    expect(student.diagnose(features, targets, percent / 100, history), Text(below))
