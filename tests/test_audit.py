"""The audit of the grader: what it changes, what it counts as a hole, and that it finds one."""

import ast
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from grader import catalogue
from grader.audit import mutants, summary, variants
from grader.audit.answers import error_in_bounds
from grader.audit.examine import Graded
from grader.audit.settings import Changed, comparable
from grader.judge import Number, Numbers, Several, Truth
from grader.model import Array, Exchange, ExerciseReport, Question, Report, Returned
from grader.suite import with_suite
from tests.planted import PLANTS, found
from tests.sample_class import run_grader

PART = """
def average(values, scale):
    if len(values) > 2:
        return scale * jnp.mean(values ** 2)
    raise ValueError('too few')
""".strip()


def audit(out: Path, *options: object) -> subprocess.CompletedProcess:
    return run_grader("audit", "--out", out, *options)


# --- what is changed ---


@pytest.mark.parametrize(
    "line",
    [
        "return scale * jnp.sum(values ** 2)",
        "return scale * values ** 2",
        "return jnp.mean(values ** 2)",
        "return -(scale * jnp.mean(values ** 2))",
        "return scale * jnp.mean(values)",
        "return scale * jnp.mean(values ** 2) * 1.001",
        "return scale * jnp.mean(scale ** 2)",
        "return scale + jnp.mean(values ** 2)",
        "if len(values) >= 2:",
        "if True:",
        "if False:",
        "raise KeyError('too few')",
    ],
)
def test_mutants_are_what_numerical_programs_get_wrong(line):
    texts = [text for _, text in mutants.changed(PART, ["average"])]
    assert any(line in text for text in texts)


def test_constants_are_moved_by_a_hundredth_and_a_thousandth():
    texts = {text for _, text in mutants.changed("LIMIT = 1.0", ["LIMIT"])}
    assert {"LIMIT = 1.01", "LIMIT = 0.99", "LIMIT = 1.001", "LIMIT = 0.999"} <= texts


def test_a_text_becomes_another_one_of_its_part_but_not_what_an_exception_says():
    part = "def f(x):\n    if x:\n        return 'up'\n    raise ValueError('down' + 'up')"
    assert {name for name, _ in mutants.changed(part, ["f"])}.isdisjoint({"wrong text"})
    texts = [
        text
        for name, text in mutants.changed("A = {'one': 'up', 'two': 'down'}", ["A"])
        if name == "wrong text"
    ]
    assert texts == [
        "A = {'two': 'up', 'two': 'down'}",
        "A = {'one': 'up', 'up': 'down'}",
        "A = {'one': 'down', 'two': 'down'}",
        "A = {'one': 'up', 'two': 'one'}",
    ]


@pytest.mark.parametrize("name", catalogue.names())
def test_no_mutant_is_the_reference_or_another_one(name):
    found = mutants.mutants(name)
    programs = {mutant.program for mutant in found}
    assert len(programs) == len(found) > 50
    assert mutants.joined(mutants.program_of(name)) not in programs
    for program in programs:
        ast.parse(program)


def test_the_core_has_as_many_mutants_and_right_variants_as_were_promised():
    core = ("ones_bound", "rescale_objective", "nan_input")
    assert sum(len(mutants.mutants(name)) for name in core) >= 400
    right = with_suite(core, lambda _: [len(list(variants.variants(name))) for name in core])
    assert sum(right) >= 100  # in a session: the keys are tests


# --- how far an answer is off ---


@pytest.mark.parametrize(
    ("due", "value", "error"),
    [
        (Number(Fraction(2), Fraction(1, 4)), 2.5, 2.0),
        (Number(Fraction(2), Fraction(1, 4)), math.nan, math.inf),
        (Number(Fraction(2)), 2.5, math.inf),
        (Number(math.inf), math.inf, 0.0),
        (
            Numbers((2,), (Number(Fraction(1), Fraction(1)),) * 2),
            Array("float32", (2,), (1.5, 0.0)),
            1.0,
        ),
        (Numbers((2,), (Number(Fraction(1), Fraction(1)),) * 2), (1.5,), math.inf),
        (Several((None, Number(Fraction(0), Fraction(2)))), (7.0, 1.0), 0.5),
        (Truth(True), True, -1.0),
    ],
)
def test_errors_are_counted_in_bounds(due, value, error):
    transcript = [Exchange(Question("f", ()), Returned(value))]
    assert error_in_bounds(transcript, lambda _: due) == error


# --- what is a hole ---


def record(kind: str, name: str, *failed: str, named: tuple[str, ...] = ()) -> Graded:
    return Graded(kind, name, "made", name, list(failed), list(named), 2.0)


@pytest.fixture
def proofs(monkeypatch):
    """What the list of equivalents holds, for this test."""
    found: dict[str, str] = {}
    monkeypatch.setattr(summary, "equivalents", lambda _: found)
    return found


def holes(*records: Graded) -> list[str]:
    return summary.summarised("toy", records, ["first", "second"]).holes()


GOOD = [
    record("mutant", "f: a  ->  b", "first"),
    record("misconception", "forgot", "second", named=("forgot",)),
    record("right", "reference"),
]


def test_a_grader_without_a_hole_has_none(proofs):
    assert holes(*GOOD) == []


def test_a_mutant_that_lives_is_a_hole_until_it_is_proven_equivalent(proofs):
    alive = record("mutant", "f: a  ->  c")
    assert "survived: f: a  ->  c" in holes(*GOOD, alive)[0]
    proofs["f: a  ->  c"] = "they are the same number"
    assert holes(*GOOD, alive) == []
    del proofs["f: a  ->  c"]
    proofs["f: everything"] = "it is never called"
    assert holes(*GOOD, alive) == []


def test_a_proof_for_a_mutant_that_is_rejected_is_stale(proofs):
    proofs["f: a  ->  b"] = "they are the same number"
    assert "is none" in holes(*GOOD)[0]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (record("right", "by loops", "first"), "a right program is rejected: by loops (first)"),
        (record("misconception", "summed", "first", named=("forgot",)), "summed (as ['forgot'])"),
        (record("misconception", "summed", "first"), "summed (as [])"),
    ],
)
def test_whatever_else_goes_wrong_is_a_hole(proofs, wrong, told):
    (hole,) = holes(*GOOD, wrong)
    assert told in hole


def test_a_check_that_nothing_fails_is_a_hole(proofs):
    assert holes(*GOOD[1:]) == ["toy: no wrong program fails this check: first"]


def test_a_verdict_that_changed_is_a_hole(proofs):
    exercise = summary.summarised("toy", GOOD, ["first", "second"])
    report = summary.Audit([exercise], ["one worker"], 9, [Changed("one worker", "Ana")])
    assert report.holes() == ["changed by one worker: Ana"]
    assert "9 verdicts under 1 settings, 1 changed" in summary.table(report)


def test_what_a_page_prints_is_no_verdict():
    def report(notes, output):
        exercise = ExerciseReport("ones_bound", None, 9, 10, "graded", notes, output, [])
        return comparable(Report("ann", 9, 10, 1.5, {}, [], [exercise]))

    assert report(["a note"], "it is 12:00:01") == report(["a note"], "it is 12:00:02")
    assert report(["a note"], "") != report(["another note"], "")


def test_names_on_the_page_are_escaped(proofs):
    alive = record("mutant", "f: <script>alert(1)</script>")
    exercise = summary.summarised("toy", [*GOOD, alive], ["first", "second"])
    page = summary.page(summary.Audit([exercise], [], 0, []))
    assert "<script>" not in page
    assert "data:image/png;base64," in page


# --- for real ---


def test_a_sample_of_the_audit_finds_no_hole_and_is_not_done_twice(tmp_path):
    how = ("--every", 60)
    finished = audit(tmp_path, *how)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "no hole was found" in finished.stdout
    content = json.loads((tmp_path / "audit.json").read_text())
    assert {each["name"] for each in content["exercises"]} == set(catalogue.names())
    assert content["compared"] > 0
    assert (tmp_path / "audit.html").read_text().startswith("<!doctype html>")
    before = (tmp_path / "ones_bound.jsonl").read_bytes()
    command = [sys.executable, "-P", "-m", "grader.audit.examine", "ones_bound"]
    subprocess.run([*command, str(tmp_path / "ones_bound.jsonl"), "60"], check=True)
    assert (tmp_path / "ones_bound.jsonl").read_bytes() == before


def test_an_unknown_exercise_is_a_usage_error(tmp_path):
    finished = audit(tmp_path, "--exercise", "two_bounds")
    assert finished.returncode == 2
    assert "there is no exercise 'two_bounds'" in finished.stderr


def test_a_hole_planted_on_purpose_is_found(tmp_path):
    """One of those that `python -m tests.planted` plants."""
    (plant,) = (p for p in PLANTS if (p.exercise, p.kind) == ("nan_input", "weakened check"))
    assert plant.told in found(plant, tmp_path)
