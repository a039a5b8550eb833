"""What every exercise has to show. Exercises are found by name; nothing here knows one of them."""

import builtins
import functools
import itertools
import math
import sys
import tempfile
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import nbformat
import pytest
from msgspec import Struct

from grader import catalogue, grading, judge, scaffolds, submissions
from grader.audit.answers import Move, answer_of, holding, numbers_of, remembered
from grader.inprocess import ask_namespace
from grader.model import (
    Answer,
    CheckReport,
    Exercise,
    ExerciseReport,
    Misconception,
    Question,
    Returned,
)
from grader.public import lesson
from grader.sandbox import Sandbox
from grader.suite import Suite, with_suite
from grader.worker import loading

ROOT = Path(__file__).parents[1]
NAMES = catalogue.names()
MOST_WORDS = 160
DETERMINED = ("passed", "needs_person")

Ask = Callable[[Question], Answer]


class Examined(Struct, frozen=True):
    """All that one session over an exercise's checks found out, for the tests to look at.

    `pages` are reports through the worker, by file. What answered in this process gave the other
    checks: the solution, each misconception, answers at the edges of their bounds (by seed), four
    bounds away, and NaN; where there are no misconceptions, also the solution's dict with one entry
    made NaN each time. `bounded` and `numeric` are the functions that a number was due of, with a
    bound or with any.
    """

    entries: catalogue.Catalogue
    pages: dict[str, ExerciseReport]
    solution: list[CheckReport]
    misconceptions: dict[str, list[CheckReport]]
    on_the_edge: dict[int, list[CheckReport]]
    beyond: list[CheckReport]
    not_a_number: list[CheckReport]
    without_an_entry: dict[str, list[CheckReport]]
    bounded: set[str]
    numeric: set[str]

    @property
    def functions(self) -> set[str]:
        """Everything that some check is about."""
        return {check.function for check in self.solution}

    def about(self, function: str) -> list[Misconception]:
        """The misconceptions about one function."""
        return [entry for entry in self.entries.misconceptions if entry.function == function]


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """The exercise's name."""
    exercise: str = request.param
    return exercise


@pytest.fixture(scope="module")
def examined(name: str) -> Examined:
    """The exercise, examined in one session."""
    return with_suite([name], lambda suite: examine(name, suite))


def examine(name: str, suite: Suite) -> Examined:
    exercise, entries = catalogue.exercise(name), catalogue.catalogue(name)
    due = set(catalogue.key(name).TRUTH)
    solution = ask_namespace(namespace(name))
    steady, truth = remembered(solution), remembered(entries.truth)
    bounded, numeric = set(), set()

    def checks(ask: Ask) -> list[CheckReport]:
        findings = suite.run(exercise, ask)
        assert findings.faults == []
        return grading.named_checks(findings, name)

    def moved(question: Question, by: Move) -> Answer:
        if question.function not in due:
            return steady(question)
        for item in numbers_of(truth(question)):
            numeric.add(question.function)
            if item.bound:
                bounded.add(question.function)
        return answer_of(truth(question), steady(question), by)

    solved = ROOT / "solutions" / f"{name}.py"
    with Sandbox() as sandbox, tempfile.TemporaryDirectory() as folder:
        notebook = Path(folder, f"{name}.ipynb")
        notebook.write_bytes(scaffolds.notebook_bytes(scaffolds.source_notebook(solved)))
        files = {f"solutions/{name}.py": solved, f"solutions/{name}.ipynb": notebook}
        files |= {path: ROOT / path for path in (f"exercises/{name}.py", f"exercises/{name}.ipynb")}
        pages = {shown: graded(path, name, suite, sandbox) for shown, path in files.items()}
    return Examined(
        entries=entries,
        pages=pages,
        solution=checks(solution),
        misconceptions={
            entry.name: checks(holding(entry, steady)) for entry in entries.misconceptions
        },
        on_the_edge={
            seed: checks(lambda question, seed=seed: moved(question, on_an_edge(question, seed)))
            for seed in (1, 2)
        },
        beyond=checks(lambda question: moved(question, beyond)),
        not_a_number=checks(lambda question: moved(question, not_a_number)),
        without_an_entry={
            name: checks(lambda question, name=name: spoiled_answer(steady(question), name))
            for name in ([] if entries.misconceptions else entry_names(steady, exercise))
        },
        bounded=bounded,
        numeric=numeric,
    )


def entry_names(solution: Ask, exercise: Exercise) -> list[str]:
    """The entries of the one dict that an exercise without misconceptions asks for."""
    ((name, arguments),) = exercise.signatures.items()
    answer = solution(Question(name, None if arguments is None else ()))
    assert isinstance(answer, Returned)
    assert isinstance(answer.value, dict)
    return list(answer.value)


def spoiled_answer(answer: Answer, name: str) -> Answer:
    assert isinstance(answer, Returned)
    assert isinstance(answer.value, dict)
    return Returned({**answer.value, name: math.nan})


def namespace(name: str) -> dict[str, Any]:
    """What the solution's page defines, run in this process."""
    path = ROOT / "solutions" / f"{name}.py"
    defined: dict[str, Any] = {"__name__": "submission", "__file__": str(path)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "lesson", lesson)
        patch.setitem(sys.modules, "grader", loading.stand_in())
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), defined)
    return defined


def graded(path: Path, name: str, suite: Suite, sandbox: Sandbox) -> ExerciseReport:
    """The report on a page that was handed in, through the worker."""
    found = submissions.read(path, [name], sole=name).found[name]
    return grading.grade_exercise(found, name, suite, sandbox)


def page_points(name: str) -> int:
    """What the page's check cell says the exercise is worth."""
    page = nbformat.read(ROOT / "exercises" / f"{name}.ipynb", as_version=4)
    points: int = page.cells[-1].metadata["nbgrader"]["points"]
    return points


# --- answers made from what is due ---


def on_an_edge(question: Question, seed: int) -> Move:
    """Just within the bound, above or below; which of the two depends on everything."""

    def move(due: judge.Number, place: int) -> float:
        above = zlib.crc32(f"{question} {place} {seed}".encode()) % 2
        return by_bounds(due, Fraction(99, 100) * (1 if above else -1))

    return move


def beyond(due: judge.Number, place: int) -> float:
    return by_bounds(due, Fraction(4))


def not_a_number(due: judge.Number, place: int) -> float:
    return math.nan if due.value == due.value else math.inf


def by_bounds(due: judge.Number, bounds: Fraction) -> float:
    if isinstance(due.value, float):
        return due.value
    return float(due.value + bounds * due.bound)


def exclude_each_other(one: judge.Due | None, other: judge.Due | None) -> bool:
    """Whether no answer can be what is due by both; None is anything."""
    match one, other:
        case (None, _) | (_, None):
            return False
        case judge.Number(), judge.Number():
            return not _may_meet(one, other)
        case judge.Numbers(), judge.Numbers():
            return one.shape != other.shape or any(
                itertools.starmap(exclude_each_other, zip(one.items, other.items, strict=True))
            )
        case judge.Several(), judge.Several():
            return len(one.parts) != len(other.parts) or any(
                itertools.starmap(exclude_each_other, zip(one.parts, other.parts, strict=True))
            )
        case judge.Fields(), judge.Fields():
            return any(
                exclude_each_other(due, other.entries.get(name))
                for name, due in one.entries.items()
            )
        case judge.Raises(), judge.Raises():
            first, second = getattr(builtins, one.kind), getattr(builtins, other.kind)
            return not (issubclass(first, second) or issubclass(second, first))
    return type(one) is not type(other) or one != other


def _may_meet(one: judge.Number, other: judge.Number) -> bool:
    if isinstance(one.value, float) or isinstance(other.value, float):
        return one.value == other.value or (one.value != one.value and other.value != other.value)
    return abs(one.value - other.value) <= one.bound + other.bound


# --- what is to be seen ---


def failed(checks: list[CheckReport]) -> list[CheckReport]:
    return [check for check in checks if check.outcome not in DETERMINED]


def brief(checks: list[CheckReport]) -> list[tuple[str, str, str | None, str]]:
    """Checks as an assertion shows them."""
    return [(c.name, c.outcome, c.misconception, c.message[:200]) for c in checks]


def test_the_solution_gets_full_marks(name, examined):
    assert brief(failed(examined.solution)) == []
    assert sum(check.score for check in examined.solution) == page_points(name)


@pytest.mark.parametrize("ending", ["py", "ipynb"])
def test_the_solution_gets_full_marks_through_the_worker(name, examined, ending):
    report = examined.pages[f"solutions/{name}.{ending}"]

    assert brief(failed(report.checks)) == []
    assert (report.status, report.notes) == ("graded", [])
    assert report.score == report.max_score == page_points(name)


@pytest.mark.parametrize("ending", ["py", "ipynb"])
def test_an_untouched_page_is_not_attempted(name, examined, ending):
    report = examined.pages[f"exercises/{name}.{ending}"]

    assert {check.outcome for check in report.checks} == {"not_attempted"}
    assert (report.status, report.score) == ("graded", 0)
    assert report.max_score == page_points(name)


def test_every_check_has_a_title_of_its_own(examined):
    titles = [check.title for check in examined.solution]

    assert not [title for title in titles if title.startswith("test_")], "a docstring is missing"
    assert len(set(titles)) == len(titles)


def test_every_misconception_is_rejected_and_named_as_itself(examined):
    for entry in examined.entries.misconceptions:
        checks = examined.misconceptions[entry.name]
        lost = failed(checks)

        assert sum(check.points for check in lost) > 0, f"{entry.name} costs nothing"
        found = {(check.function, check.outcome, check.misconception) for check in lost}
        assert found == {(entry.function, "failed", entry.name)}, brief(lost)


def test_every_check_is_failed_by_some_misconception(examined):
    """Or, where there are none, by a spoiled entry of the dict that is asked for."""
    judged = {check.name for check in examined.solution if check.points}
    tried = [*examined.misconceptions.values(), *examined.without_an_entry.values()]

    assert judged - {check.name for checks in tried for check in failed(checks)} == set()


def test_every_witness_shows_a_difference_to_the_truth(examined):
    for entry in examined.entries.misconceptions:
        wrong = answers_to(entry, entry.witness)
        right = [examined.entries.truth(question) for question in asked_at(entry, entry.witness)]

        assert any(wrong), f"{entry.name} says nothing at its own witness"
        assert any(map(exclude_each_other, wrong, right)), f"{entry.name}: {wrong} may be {right}"


def test_any_two_misconceptions_are_told_apart_by_a_witness(examined):
    for function in examined.functions:
        for one, other in itertools.combinations(examined.about(function), 2):
            assert any(
                any(map(exclude_each_other, answers_to(one, witness), answers_to(other, witness)))
                for witness in (one.witness, other.witness)
            ), f"{one.name} and {other.name} agree at the witnesses of both"


def answers_to(entry: Misconception, witness: tuple[Any, ...]) -> list[judge.Due | None]:
    """What someone with this misconception answers, and takes for the gradient where it matters."""
    return [entry.due(question) for question in asked_at(entry, witness)]


def asked_at(entry: Misconception, witness: tuple[Any, ...]) -> list[Question]:
    if entry.function.isupper():
        return [Question(entry.function, None)]
    value = Question(entry.function, witness)
    if entry.gradient is None:
        return [value]
    return [value, Question(entry.function, witness, gradient=True)]


def test_every_misconception_is_explained_in_few_words(examined):
    for entry in examined.entries.misconceptions:
        words = len(entry.explanation.split())
        assert 0 < words <= MOST_WORDS, f"{entry.name} takes {words} words"


def test_any_answer_within_its_bound_is_right(examined):
    """The public checks state bounds of their own: none may be narrower than the oracle's."""
    for seed, checks in examined.on_the_edge.items():
        assert brief(failed(checks)) == [], f"seed {seed}"


def test_no_answer_four_bounds_away_is_right(examined):
    assert examined.bounded - {check.function for check in failed(examined.beyond)} == set()


def test_not_a_number_is_never_right(examined):
    assert examined.numeric - {check.function for check in failed(examined.not_a_number)} == set()


@functools.cache
def stale_files() -> list[str]:
    """Generated files that differ from their source; in a session, as the keys are tests."""
    return with_suite(NAMES, lambda _: [path.as_posix() for path in scaffolds.stale(ROOT)])


def test_generated_files_are_current():
    assert stale_files() == [], "make them anew: grader scaffolds"
