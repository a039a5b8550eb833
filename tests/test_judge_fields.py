"""Answers that are texts, dicts, None, yes or no: what is right, and what is said of the rest."""

import contextlib
import json
import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from grader.inprocess import ask_namespace
from grader.judge import (
    Fields,
    NotAttempted,
    NotFinite,
    Nothing,
    Text,
    Texts,
    Truth,
    Wrong,
    WrongKind,
    WrongShape,
    WrongValue,
    YesOrNo,
    bake,
    baked,
    finite_at,
    json_ready,
    judged,
    number,
    numbers,
)
from grader.model import Question


class Heard:
    """An answer in a check's hands."""

    def __init__(self, value):
        self.answer = ask_namespace({"f": lambda: value})(Question("f", ()))

    def heard(self, verdict, due):
        self.verdict = verdict


def wrong(value, due):
    return judged(Heard(value).answer, due).wrong


RECORD = Fields({"weight": numbers([0.0, 1.0]), "name": Text("loss"), "free": None})
GOOD = {"name": "loss", "weight": np.array([0.0, 1.0]), "free": object, "more": 7}


@pytest.mark.parametrize("value", ["loss", np.str_("loss")])
def test_a_text_is_right_when_it_is_the_one(value):
    assert wrong(value, Text("loss")) is None


@pytest.mark.parametrize(
    ("value", "kind"),
    [("Loss", WrongValue), ("loss ", WrongValue), (None, WrongKind), (["loss"], WrongKind)],
)
def test_another_text_is_wrong(value, kind):
    assert type(wrong(value, Text("loss"))) is kind


@pytest.mark.parametrize("value", ["loss", "Loss", " LOSS "])
def test_a_word_is_right_in_any_letter_case(value):
    assert wrong(value, Text("loss", word=True)) is None
    assert type(wrong(value, Text("gradient", word=True))) is WrongValue


@pytest.mark.parametrize(
    "value", [True, 1, 1.0, np.True_, jnp.asarray(True), "yes", "YES", " Yes "]
)
def test_yes_is_said_in_many_ways(value):
    assert wrong(value, YesOrNo(True)) is None
    assert type(wrong(value, YesOrNo(False))) is WrongValue


@pytest.mark.parametrize("value", ["true", "y", 2, None, []])
def test_what_is_neither_yes_nor_no_is_wrong(value):
    assert isinstance(wrong(value, YesOrNo(True)), Wrong)


def test_none_is_due_where_it_is():
    assert wrong(None, Nothing()) is None
    assert type(wrong((0, "weight"), Nothing())) is WrongKind
    assert type(wrong(None, number(1))) is WrongKind


def test_a_dict_is_right_by_its_due_entries_in_any_order_whatever_else_it_holds():
    assert wrong(GOOD, RECORD) is None
    assert wrong(dict(reversed(GOOD.items())), RECORD) is None


def test_a_wrong_entry_is_named():
    found = wrong({**GOOD, "weight": [0.0, 2.0]}, RECORD)
    assert type(found) is WrongValue
    assert found.message.startswith("weight: a wrong number at index 1")


@pytest.mark.parametrize("name", ["weight", "free"])
def test_a_missing_entry_is_named_with_what_is_there(name):
    found = wrong({key: GOOD[key] for key in GOOD if key != name}, RECORD)
    assert type(found) is WrongShape
    assert f"no entry '{name}'" in found.message
    assert "'more'" in found.message


@pytest.mark.parametrize("value", [None, [("name", "loss")], "weight", 3])
def test_what_is_no_dict_is_wrong(value):
    assert type(wrong(value, RECORD)) is WrongKind


@pytest.mark.parametrize("answers", [{}, {"a": None}])
def test_an_entry_that_is_open_is_not_attempted_where_that_is_so(answers):
    due = Fields({"a": number(1)}, unanswered=True)
    assert type(wrong(answers, due)) is NotAttempted
    assert wrong({"a": 1}, due) is None
    assert type(wrong({"a": 2}, due)) is WrongValue


@pytest.mark.parametrize(
    ("value", "kind"),
    [({"a": "x", "b": " "}, WrongValue), ({}, WrongShape), ({"a": 1}, WrongKind), ("x", WrongKind)],
)
def test_texts_by_name_are_there_and_not_blank(value, kind):
    assert wrong({"a": "x"}, Texts()) is None
    assert type(wrong(value, Texts())) is kind


def test_numbers_deep_inside_are_taken_out():
    value = {"held_out": {"features": [4, 5.5], "targets": np.ones(2)}}
    assert finite_at(Heard(value), "held_out", "features") == [4, 5.5]
    assert finite_at(Heard(value), "held_out", "targets") == [1, 1]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": 1},
        {"a": {"c": [1.0]}},
        {"a": {"b": [math.nan]}},
        {"a": {"b": "x"}},
        {"a": {"b": [[1.0]]}},
    ],
)
def test_numbers_that_are_not_there_are_missed(value):
    with pytest.raises(Wrong):
        finite_at(Heard(value), "a", "b")


JSON_READY = {"a": [1, 2.5, None, True], "b": {"c": "x", "d": [[0.0]]}, "e": np.float64(2)}


def test_what_json_can_hold_is_ready():
    json.dumps(JSON_READY, allow_nan=False)
    json_ready(Heard(JSON_READY))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (np.ones(2), WrongKind),
        (jnp.float32(1), WrongKind),
        (np.float32(1), WrongKind),
        (math.nan, NotFinite),
        ([math.inf], NotFinite),
        ({1, 2}, WrongKind),
        (np.float64("nan"), WrongKind),
    ],
)
def test_what_json_cannot_hold_is_named(value, kind):
    with pytest.raises(kind, match=r"^b\.c: "):
        json_ready(Heard({"a": 1, "b": {"c": value}}))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([Fraction(1, 3)] * 100, None),
        ([2.0**-1074] * 100, None),
        ([Fraction(1, 3**n) for n in range(30, 130)], None),
        ([Fraction(1, 3**n) for n in range(2500, 2548)], None),
        ([Fraction(1, 3**n) for n in range(2000, 2100)], WrongKind),
        ([10**400], NotFinite),
    ],
)
def test_checks_compute_with_numbers_of_bounded_size(values, kind):
    with pytest.raises(kind) if kind else contextlib.nullcontext():
        assert finite_at(Heard({"a": values}), "a") == values


def test_only_a_dict_is_evidence():
    with pytest.raises(WrongKind):
        json_ready(Heard([1]))


@pytest.mark.parametrize(
    "due",
    [
        *(RECORD, Text("a"), Text("a", word=True), YesOrNo(False), Nothing(), Texts()),
        Fields({"a": Truth(True)}, True),
    ],
)
def test_what_is_due_survives_being_baked(due):
    assert baked(json.loads(json.dumps(bake(due)))) == due
