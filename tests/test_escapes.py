"""A stranger's text on a screen: everything in it can be seen, and it stays on its line."""

import unicodedata

import pytest

from grader.escapes import MOST_MARKS, named, one_line, plain
from grader.model import ExerciseReport, Report
from grader.reports import table, text

ZALGO = "a" + "\u0301" * 20_000


@pytest.mark.parametrize(
    "name",
    [
        *("naïve-姓", unicodedata.normalize("NFD", "Nguyễn Thị Ánh"), "שָׁלוֹם", "สวัสดี", "ज़ाहिद"),
        *("Ana Bee", "x = 1", "\N{SNOWMAN}", "a\u00a0b"),
    ],
)
def test_names_and_texts_of_any_script_are_shown_as_they_are(name):
    assert plain(name) == one_line(name) == named(name) == name


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("a\u3164b", "a\\u3164b"),
        ("a\u2800", "a\\u2800"),
        ("\u115f\u1160\uffa0", "\\u115f\\u1160\\uffa0"),
        ("a\u034f\ufe0f\U000e0100", "a\\u034f\\ufe0f\\U000e0100"),
        ("a\u202e\u200b\U000e0041\ufeff", "a\\u202e\\u200b\\U000e0041\\ufeff"),
        ("\uffff\U0010ffff\u0378", "\\uffff\\U0010ffff\\u0378"),
        ("\x1b[2J\x9b\ud800\ue000", "\\x1b[2J\\x9b\\ud800\\ue000"),
        ("\u0301a\n\u0301", "\\u0301a\n\\u0301"),
        ("a\u200d\u0301", "a\\u200d\\u0301"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * MOST_MARKS + "\\u0301" * 2),
    ],
)
def test_what_has_no_shape_of_its_own_is_spelled_out(hidden, shown):
    assert plain(hidden) == shown


def report(student: str, output: str = "") -> Report:
    exercise = ExerciseReport("ones_bound", None, 0.0, 10.0, "graded", [], output, [])
    return Report(student, 0.0, 10.0, 0.0, {}, [], [exercise])


@pytest.mark.parametrize("student", [" ", "", "\u3000", "\u3164", "\u2800\u200b"])
def test_a_student_without_a_visible_name_can_be_seen(student):
    said = [
        text.student_text(report(student)).split(":")[0],
        text.class_table([report(student)]).splitlines()[1].split("  ")[0],
        text.found_table("plain", ["ones_bound"], [(student, {"ones_bound": "x.py"})]).split("\n")[
            2
        ],
        table.summary_csv([report(student)]).splitlines()[1].split(",")[0],
    ]
    assert all(line[:1] in ('"', "\\") for line in said), said


def test_a_line_that_a_page_printed_is_cut_in_the_report():
    for line in ("x" * 60_000, ZALGO, "\x1b" * 60_000):
        shown = text.exercise_text(report("ada", f"{line}\nend\n").exercises[0], for_student=True)
        *_, first, last = shown.splitlines()
        assert len(first) <= len("    | ") + text.MAX_PRINTED
        assert first.endswith("...")
        assert last == "    | end"


def test_lines_that_a_report_leaves_out_are_counted():
    printed = "".join(f"{number}\n" for number in range(text.SHOWN_PRINTED + 3))
    shown = text.exercise_text(report("ada", printed).exercises[0], for_student=True)
    assert shown.endswith(f"    | {text.SHOWN_PRINTED - 1}\n    ... and 3 more lines")


def test_lines_of_an_exception_can_not_look_like_the_reports_own():
    forged = "ValueError: x\n\nones_bound: 10 of 10 points\ndue:   4"
    lines = text._wrapped(f"got:   {forged}", 4)
    assert lines[0] == "got:   ValueError: x"
    assert all(line.startswith("|") for line in lines[1:])
