"""The engine, on a toy exercise whose checks each test writes itself."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from grader import suite
from grader.errors import GraderFault
from grader.model import (
    Answer,
    Array,
    Counterexample,
    Crashed,
    Exercise,
    Missing,
    Question,
    Raised,
    Returned,
    TimedOut,
)

HEAD = """
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from grader.judge import Number, Truth, expect, number
"""
DOUBLE = """
@pytest.mark.points(1, about="double")
@given(x=st.integers(-50, 50))
def test_double(student, x):
    '''double gives twice its argument'''
    expect(student.double(float(x)), number(2 * x))
"""
TOY = Exercise("toy", "Toy", {"double": ["x"], "LIMIT": None}, [], "", [], [])


@pytest.fixture
def checks(tmp_path, monkeypatch):
    """Write the toy's checks: `checks(public, hidden)`; the engine then finds them."""

    def write(public: str, hidden: str = "") -> None:
        for room, text in (("public", public), ("keys", hidden)):
            (tmp_path / room).mkdir()
            if text:
                (tmp_path / room / "toy.py").write_text(HEAD + textwrap.dedent(text))
        monkeypatch.setattr(suite, "PACKAGE", tmp_path)
        (tmp_path / "suite.ini").write_text("[pytest]\n")

    return write


def run(*answers, times: int = 1, hidden: bool = True) -> list[suite.Findings]:
    """Findings of the toy's checks for each `ask`, all in one session."""
    return suite.with_suite(
        ["toy"],
        lambda ready: [ready.run(TOY, ask) for ask in answers for _ in range(times)],
        hidden=hidden,
    )


def right(question: Question) -> Answer:
    return Returned(2 * question.arguments[0]) if question.arguments else Returned(1.0)


def wrong_above(limit: float):
    def ask(question: Question) -> Answer:
        (x,) = question.arguments or (0,)
        return Returned(2 * x if x <= limit else 2 * x + 1)

    return ask


def test_one_session_serves_many_submissions_each_on_its_own(checks):
    checks(DOUBLE)
    first, second, third = run(right, wrong_above(10), right)
    assert [f.checks[0].outcome for f in (first, second, third)] == ["passed", "failed", "passed"]
    assert first == third


@pytest.mark.parametrize("limit", [-50, -3, 0, 10, 49])
def test_what_others_were_asked_before_changes_nothing(checks, limit):
    checks(DOUBLE)
    (alone,) = run(wrong_above(limit))
    _, after, again = run(right, wrong_above(limit), wrong_above(limit))
    assert after == again == alone


def test_draws_are_made_once_for_all_who_pass(checks, monkeypatch):
    checks(DOUBLE)
    drawn: list = []
    monkeypatch.setattr(suite._Engine, "prepare", keeping(suite._Engine.prepare, drawn))
    first, second = run(right, times=2)
    assert first == second
    assert len(first.transcript) > 20
    assert drawn == ["first run"]


def keeping(prepare, drawn):
    """`prepare`, which also writes down each time that Hypothesis starts to draw."""

    def prepared(self, item):
        prepare(self, item)
        inner = item.obj

        def watched(*arguments, **named):
            drawn.append("first run" if not drawn else "another")
            return inner(*arguments, **named)

        vars(watched).update(vars(inner))
        item.obj = watched

    return prepared


def test_who_lacks_an_exercise_is_told_why_and_the_checks_run_once_for_a_reason(checks):
    checks(DOUBLE)

    def body(ready: suite.Suite) -> list[suite.Findings]:
        reasons = ("nothing", "nothing", "two files", "nothing")
        found = [ready.run_without(TOY, reason) for reason in reasons]
        return [*found, ready.run(TOY, right), ready.run(TOY, lambda _: Missing("nothing"))]

    first, again, other, third, passing, run_anew = suite.with_suite(["toy"], body)
    assert first is again
    assert first == third == run_anew
    assert [each.checks[0].message for each in (first, other)] == ["nothing", "two files"]
    assert {each.checks[0].outcome for each in (first, other)} == {"not_attempted"}
    assert passing.checks[0].outcome == "passed"


def test_a_failure_shows_the_smallest_input(checks):
    checks(DOUBLE)
    (findings,) = run(wrong_above(10))
    assert findings.checks[0].counterexample == Counterexample({"x": 11.0}, "23.0", "22.0", "0")


def test_a_failing_check_spells_out_no_traceback(checks, monkeypatch):
    def spelled_out(*_, **__):
        raise AssertionError("pytest's own report costs more than all the questions")

    monkeypatch.setattr(pytest.Item, "_repr_failure_py", spelled_out)
    monkeypatch.setattr(pytest.Function, "repr_failure", spelled_out)
    checks("", DOUBLE)
    (findings,) = run(wrong_above(3))
    assert findings.checks[0].outcome == "failed"
    assert findings.faults == []


def test_checks_report_title_points_and_visibility(checks):
    checks(DOUBLE, DOUBLE.replace("points(1", "points(2.5").replace("test_double", "test_again"))
    (findings,) = run(right)
    public, hidden = findings.checks
    assert (public.name, public.title) == ("double", "double gives twice its argument")
    assert (public.visibility, public.points, public.score) == ("public", 1, 1)
    assert (hidden.name, hidden.visibility, hidden.points) == ("again", "hidden", 2.5)


def test_hidden_checks_can_be_left_out(checks):
    checks(DOUBLE, DOUBLE.replace("test_double", "test_again"))
    (findings,) = run(right, hidden=False)
    assert [check.visibility for check in findings.checks] == ["public"]


def asked_inputs(ask=right):
    questions: list = []

    def recording(question):
        questions.append(question)
        return ask(question)

    run(recording)
    return questions


def test_the_same_questions_are_asked_every_time(checks):
    checks(DOUBLE)
    first = asked_inputs()
    assert len(first) > 20
    assert asked_inputs() == first


def test_importing_another_module_changes_no_draw(checks, tmp_path, monkeypatch):
    checks(DOUBLE)
    before = asked_inputs()
    (tmp_path / "full_of_constants.py").write_text("A = [7, 13, 29, 41]\nB = 'text'\nC = 31.5\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("full_of_constants")
    assert asked_inputs() == before


@pytest.mark.parametrize("seed", ["0", "1", "4321"])
def test_hash_seeds_change_no_draw(seed):
    code = (
        "from grader import catalogue, suite\n"
        "from grader.model import Missing\n"
        "seen = []\n"
        "def ask(q): seen.append(q); return Missing()\n"
        "suite.with_suite(['ones_bound'], lambda s: s.run(catalogue.exercise('ones_bound'), ask))\n"
        "print(seen)\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": value},
            capture_output=True,
            check=True,
        ).stdout
        for value in ("5", seed)
    ]
    assert outputs[0] == outputs[1]
    assert b"growth_factor" in outputs[0]


def test_an_instructors_own_pytest_setup_does_not_matter(checks, tmp_path, monkeypatch):
    checks(DOUBLE, DOUBLE.replace("test_double", "test_again"))
    expected = run(wrong_above(10))
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "pytest.ini").write_text("[pytest]\naddopts = -x --no-such-option\n")
    (place / "conftest.py").write_text("raise RuntimeError('not yours')\n")
    for conftest in (tmp_path / "conftest.py", tmp_path / "public" / "conftest.py"):
        conftest.write_text("raise RuntimeError('not yours')\n")
    monkeypatch.chdir(place)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-x --maxfail=1 -k nothing")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    assert run(wrong_above(10)) == expected
    assert os.environ["PYTEST_ADDOPTS"] == "-x --maxfail=1 -k nothing"


def test_nothing_is_written_where_it_runs(checks, tmp_path, monkeypatch):
    checks(DOUBLE)
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)
    run(right, wrong_above(3))
    assert list(place.iterdir()) == []


def test_an_unsteady_answer_is_two_answers_to_one_question_and_never_flaky(checks):
    checks(DOUBLE)
    counts: dict = {}

    def ask(question: Question) -> Answer:
        counts[repr(question)] = counts.get(repr(question), 0) + 1
        (x,) = question.arguments or (0,)
        return Returned(2 * x + (counts[repr(question)] - 1))

    (findings,) = run(ask)
    assert findings.faults == []
    assert findings.checks[0].outcome == "failed"
    assert findings.checks[0].message.startswith("two answers to one question")


def test_an_unsteady_wrong_answer_is_a_plain_failure(checks):
    checks(DOUBLE)
    calls = iter(range(10**6))
    (findings,) = run(lambda question: Returned(1000.5 + next(calls)))
    assert findings.faults == []
    assert findings.checks[0].outcome == "failed"


def test_two_different_right_answers_are_a_note(checks):
    checks(DOUBLE.replace("number(2 * x)", "Number(2 * x, 1)"))
    calls = iter(range(10**6))
    (findings,) = run(lambda q: Returned(2 * q.arguments[0] + next(calls) / 1000))
    assert findings.checks[0].outcome == "passed"
    assert findings.notes == ["double gave two different answers to one question, both right"]


def test_nan_twice_is_one_answer(checks):
    checks(DOUBLE.replace("number(2 * x)", "Number(float('nan'))"))
    (findings,) = run(lambda q: Returned(Array("float32", (), (float("nan"),))))
    assert findings.checks[0].outcome == "passed"
    assert findings.notes == []


def questions_after_first(stop):
    seen: list = []

    def ask(question):
        answer = stop(question)
        if seen or answer != right(question):
            seen.append(question)
        return answer

    run(ask)
    return len(seen) - 1


def test_shrinking_asks_a_bounded_number_of_new_questions(checks):
    text = DOUBLE.replace(
        "x=st.integers(-50, 50)", "xs=st.lists(st.integers(-99, 99), max_size=30)"
    )
    checks(
        text.replace("student, x)", "student, xs)")
        .replace("float(x)", "float(sum(xs))")
        .replace("2 * x", "2 * sum(xs)")
    )
    assert 5 < questions_after_first(wrong_above(40)) <= suite.QUESTIONS_AFTER_FAILURE


@pytest.mark.parametrize("ending", [TimedOut(), Crashed("gone")])
def test_a_function_that_hangs_or_dies_is_not_asked_again(checks, ending):
    checks(DOUBLE, DOUBLE.replace("test_double", "test_again"))
    outcome = "timed_out" if ending == TimedOut() else "crashed"
    stop = lambda q: ending if q.arguments[0] > 20 else right(q)  # noqa: E731
    assert questions_after_first(stop) == 0
    (findings,) = run(stop)
    assert [check.outcome for check in findings.checks] == [outcome, outcome]


def test_a_check_may_turn_inputs_down(checks):
    assuming = DOUBLE.replace("    expect", "    assume(x % 3 == 1)\n    expect")
    checks("from hypothesis import assume\n" + assuming)
    (findings,) = run(right)
    assert (findings.checks[0].outcome, findings.faults) == ("passed", [])


def test_a_failing_witness_ends_its_check_at_once(checks):
    checks(DOUBLE.replace("@given", "@example(x=44)\n@given"))
    assert asked_inputs(wrong_above(40)) == [Question("double", (44.0,))]


def test_two_mistakes_in_one_check_do_not_mix(checks):
    checks(DOUBLE)

    def ask(question: Question) -> Answer:
        (x,) = question.arguments or (0.0,)
        if x >= 30:
            return Returned(Array("float32", (2,), (x, x)))  # a wrong shape for large ones
        return Returned(2 * x if x > -30 else 0.0)  # a wrong value for small ones

    (findings,) = run(ask)
    check = findings.checks[0]
    assert check.counterexample is not None
    found = check.counterexample.arguments["x"]
    assert (found == 30 and "shape (2,)" in check.message) or (
        found == -30 and "wrong number" in check.message
    )


def test_a_fault_in_a_check_is_the_graders_and_costs_nothing(checks):
    checks(DOUBLE + DOUBLE.replace("test_double", "test_broken").replace("2 * x", "1 / 0"))
    (findings,) = run(right)
    good, broken = findings.checks
    assert (good.outcome, good.score) == ("passed", 1)
    assert (broken.outcome, broken.score) == ("not_determined", None)
    assert findings.faults == ["test_broken: ZeroDivisionError: division by zero"]


def test_a_fault_of_the_asking_side_is_the_graders(checks):
    checks(DOUBLE)

    def ask(question: Question) -> Answer:
        raise GraderFault("the sandbox is gone")

    (findings,) = run(ask)
    assert findings.checks[0].outcome == "not_determined"
    assert "the sandbox is gone" in findings.faults[0]


def test_what_is_not_written_yet_is_not_attempted(checks):
    constant = """
    @pytest.mark.points(1, about="LIMIT")
    def test_limit(student):
        '''LIMIT is one'''
        expect(student.LIMIT, number(1))
    """
    checks(DOUBLE + textwrap.dedent(constant))
    stub = Raised("NotImplementedError", ("NotImplementedError", "RuntimeError"), "")
    (findings,) = run(lambda q: stub if q.arguments else Returned(None))
    assert [check.outcome for check in findings.checks] == ["not_attempted", "not_attempted"]
    assert [check.counterexample for check in findings.checks] == [None, None]


def test_a_check_without_points_marker_is_a_clear_fault(checks):
    checks(DOUBLE.replace('@pytest.mark.points(1, about="double")\n', ""))
    with pytest.raises(GraderFault, match="test_double has no points marker"):
        run(right)


def test_checks_that_cannot_be_collected_are_a_clear_fault(checks):
    checks("import no_such_module\n")
    with pytest.raises(GraderFault, match="could not be collected"):
        run(right)


def test_what_the_caller_raises_comes_out_unchanged(checks):
    checks(DOUBLE)

    def body(_: suite.Suite) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        suite.with_suite(["toy"], body)


def test_the_fixture_has_a_fixed_repr():
    assert repr(suite.Student(None)) == "student"


def test_every_argument_of_every_real_check_is_drawn_safely():
    """Draws that are immune to what else is imported: no floats, no text, short lists."""
    for path in (Path(suite.__file__).parent / "keys").glob("[a-z]*.py"):
        text = path.read_text() + path.with_name("..").joinpath("draws.py").read_text()
        assert "st.floats" not in text
        assert "st.text" not in text
        assert "parametrize" not in text


# --- gradients, and what a check says -------------------------------------------------------------

SLOPE = """
@pytest.mark.points(1, about="double", explanation="a line has one slope")
def test_slope(student, examples):
    '''the slope of double is two'''
    expect(student.double.gradient(1.0), number(2))
    for arguments, due in examples("double", gradient=True):
        expect(student.double.gradient(*arguments), due)


@pytest.mark.points(1, about="LIMIT", hint="look at the limit again")
def test_limit(student):
    '''the limit is one'''
    expect(student.LIMIT, number(1))
"""


def test_a_gradient_is_another_question_than_the_value(checks):
    checks(SLOPE)
    (findings,) = run(right)
    questions = [exchange.question for exchange in findings.transcript]
    assert questions[0] == Question("double", (1.0,), gradient=True)
    assert questions[0] != Question("double", (1.0,))


def test_a_check_says_its_explanation_when_it_passes_and_its_hint_when_it_fails(checks):
    checks(SLOPE)
    (passing,) = run(lambda question: Returned(2.0 if question.gradient else 1.0))
    (failing,) = run(lambda question: Returned(3.0))
    assert [check.message for check in passing.checks] == ["a line has one slope", ""]
    assert failing.checks[1].message == "look at the limit again"
    assert failing.checks[1].counterexample is not None
    assert failing.checks[0].message.startswith("a wrong number: 3.0")


def test_a_formula_in_a_counterexample_is_read_by_people(checks):
    checks(
        """
        @pytest.mark.points(1, about="double")
        def test_double(student):
            '''double takes functions'''
            formula = Formula((("power", 0.5, 2.0), ("exp", -1.0, 3.0)))
            expect(student.double(formula), number(0))
        """.replace("@pytest", "from grader.model import Formula\n\n        @pytest", 1)
    )
    (findings,) = run(lambda question: Returned(1.0))
    shown = findings.checks[0].counterexample.arguments["x"]
    assert shown["formula"] == "0.5*w**2 + -1*exp(3*w)"
