"""`grader evidence`: one page from a student's own evidence, whatever that holds."""

import json
import textwrap
from pathlib import Path

import pytest

from grader import portfolio
from grader.reports import evidence
from tests.sample_class import ROOT, run_grader

RIGHT = ROOT / "solutions" / "evidence.py"
RUNS = {"0.1": [[0.0, 1.0, 2.0]] * 6, "0.3": [[0.0, 1.0, 2.0]] * 6}


def made(held, **more) -> str:
    given = {"file": "e.py", "problem": "", "missing": [], "code": [], "output": "", "notes": []}
    return evidence.page(held, **(given | more))


def page_of(tmp_path: Path, body: str) -> tuple[int, str, str]:
    """Exit code, what was said, and the page of a student's file with this function body."""
    text = "def build_evidence():\n" + textwrap.indent(body, "    ")
    (tmp_path / "evidence.py").write_text(text)
    finished = run_grader("evidence", tmp_path / "evidence.py", "--out", tmp_path / "out")
    page = (tmp_path / "out" / "evidence.html").read_text()
    return finished.returncode, finished.stdout, page


def test_a_whole_portfolio_is_one_file_that_needs_no_network(tmp_path):
    for out in ("one", "two"):
        finished = run_grader("evidence", RIGHT, "--out", tmp_path / out)
        assert finished.returncode == 0, finished.stdout + finished.stderr
    page = (tmp_path / "one" / "evidence.html").read_text()
    assert page == (tmp_path / "two" / "evidence.html").read_text()
    for shown in ("39.7913895", "<svg", "def build_evidence", "Why it came out so", "held_out"):
        assert shown in page
    for outside in ("<script", "src=", "<link", "@import", "url(http"):
        assert outside not in page


def test_an_untouched_page_says_what_is_missing(tmp_path):
    page = ROOT / "exercises" / "evidence.ipynb"
    finished = run_grader("evidence", page, "--out", tmp_path)
    assert finished.returncode == 1
    assert "build_evidence is still the scaffold's" in finished.stdout
    assert "still the scaffold" in (tmp_path / "evidence.html").read_text()


def test_what_is_missing_or_off_is_named_and_the_rest_is_shown(tmp_path):
    body = f"print('<b>ran</b>')\nreturn {{'runs': {json.dumps(RUNS)}, 'loss_multiplier': 3.24}}"
    code, said, page = page_of(tmp_path, body)
    assert code == 1
    assert "no entry 'recurrence'" in said
    assert "no entry &#39;recurrence&#39;" in page
    assert "3.24" in page
    assert "&lt;b&gt;ran&lt;/b&gt;" in page


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return 3", "did not return a dict"),
        ("raise ValueError('<i>no</i>')", "raised ValueError: &lt;i&gt;no&lt;/i&gt; (line 2)"),
        ("import os\nos._exit(3)", "ended its process"),
    ],
)
def test_a_function_without_evidence_is_told_of(tmp_path, body, why):
    code, _, page = page_of(tmp_path, body)
    assert code == 1
    assert why in page


def test_where_there_is_no_page_nothing_is_written(tmp_path):
    finished = run_grader("evidence", tmp_path, "--out", tmp_path / "out")
    assert finished.returncode == 2
    assert "no page of evidence was found" in finished.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "held",
    [
        {},
        {"runs": 3, "recurrence": "x", "predictions": [], "reasoning": {"a": 1}},
        {"runs": {"0.1": [1, 2], "0.3": None}, "recurrence": {"0.1": [None]}},
        {"runs": {"0.1": [["nan", -1.0, 1e308]] * 2}, "recurrence": {"0.1": [1e308, True]}},
        {"runs": {"0.1": [[1.0, 0.0, 0.0]], "0.3": [[1.0, -2.0, 0.0]]}},
        {"<script>": {"</pre>": ["<script>alert(1)</script>"]}, "predictions": {"<b>": "<b>"}},
    ],
)
def test_any_evidence_makes_a_page(held):
    page = made(held, code=["</pre><script>"], output="\x00<script>", notes=["<script>"])
    assert "<script" not in page


def test_answers_of_every_kind_fit_the_page(tmp_path):
    body = (
        "import numpy as np, fractions\n"
        "return {'runs': {'0.1': np.ones((6, 3))}, 'recurrence': {'0.1': np.zeros((2, 0))},\n"
        "        'held_out': {'loss': float('nan'), 'f': fractions.Fraction(1, 3), 'o': object()}}"
    )
    (tmp_path / "evidence.py").write_text("def build_evidence():\n" + textwrap.indent(body, "    "))
    found = portfolio.portfolio(tmp_path / "evidence.py")
    assert found.evidence is not None
    assert found.evidence["runs"]["0.1"] == [[1.0] * 3] * 6
    assert found.evidence["recurrence"]["0.1"] == []
    assert found.evidence["held_out"]["loss"] == "nan"
    assert json.dumps(found.evidence, allow_nan=False)


@pytest.mark.parametrize(
    "number", ["10**400", "-10**400", "Fraction(10**400)", "10**400 / Fraction(3)"]
)
def test_numbers_beyond_all_doubles_are_shown(tmp_path, number):
    held = f"{{'runs': {{'0.1': [[{number}, 1, 1]]}}, 'x': {number}}}"
    body = f"from fractions import Fraction\nreturn {held}"
    code, said, _ = page_of(tmp_path, body)
    assert code == 1
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("number", "other"), [(1e290, 1.0), (5e-324, 9e99), (9e99, 1e-99), (-1e290, 0.0), (9e99, -9e99)]
)
def test_runs_of_any_size_make_a_page(number, other):
    rows = [[number, number, number], [other, other, other]]
    held = {"runs": {"0.1": rows}, "recurrence": {"0.3": [number, other]}}
    assert "<h1>Evidence</h1>" in made(held)


def test_what_a_terminal_would_obey_is_spelled_out(tmp_path):
    key = "\\x1b[31m\\u202e"
    _, said, page = page_of(tmp_path, f"return {{'predictions': {{'{key}': 1}}}}")
    assert "x1b[31m" in said + page
    assert not {"\x1b", "\u202e"} & set(said + page)
