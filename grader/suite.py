"""The engine: collect the checks once, run them for each submission, keep what they found.

Checks are plain pytest tests in `grader/public/NAME.py` and `grader/keys/NAME.py`, with a
`points` marker and the fixture `student`. They know nothing of what is here. One pytest session
serves a whole batch: `with_suite` hands a `Suite` to its caller from inside the session's test
loop, and `Suite.run` runs fresh items of one exercise against one submission.

The same submission always meets the same questions: draws are derandomised, nothing depends on the
clock, answers are memoised per check by input (a replay can't differ), and second questions are
asked on purpose.
"""

import functools
import inspect
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeVar

import hypothesis
import pytest
from hypothesis.configuration import set_hypothesis_home_dir
from msgspec import Struct

from grader import judge
from grader.errors import GraderFault
from grader.model import (
    Answer,
    CheckReport,
    Counterexample,
    Crashed,
    Exchange,
    Exercise,
    Missing,
    Outcome,
    Question,
    Returned,
    TimedOut,
    from_strict_json,
    strict_json,
)

T = TypeVar("T")

PACKAGE = Path(__file__).parent
DRAWS = 40  # inputs a check draws unless its marker says otherwise
NEXT_STEP = "look at the input above, and work it out by hand"
QUESTIONS_AFTER_FAILURE = 50  # new questions that shrinking may ask

SETTINGS = hypothesis.settings(
    max_examples=DRAWS,
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate, hypothesis.Phase.shrink],
)

# Nothing of the place where it runs may reach the session: no plugins but ours, no configuration
# but ours, no capture (workers capture), no rewriting, no terminal.
PYTEST_ARGUMENTS = [
    *("-c", str(PACKAGE / "suite.ini"), "--rootdir", str(PACKAGE), "--noconftest"),
    *("--capture=no", "--assert=plain", "--import-mode=importlib"),
    *(
        f"-pno:{name}"
        for name in (
            *("terminal", "cacheprovider", "warnings", "faulthandler", "unraisableexception"),
            *("threadexception", "logging", "junitxml", "stepwise", "doctest", "pastebin"),
            *("debugging", "setuponly", "setupplan", "unittest"),
        )
    ),
]

# What says by itself what to look at: no number is to be worked out.
TELL_THEMSELVES = (judge.UnexpectedException, judge.WrongKind, judge.WrongShape)

OUTCOMES: dict[type[judge.Wrong], Outcome] = {
    judge.NotAttempted: "not_attempted",
    judge.OutOfTime: "timed_out",
    judge.ProcessEnded: "crashed",
    judge.NeedsPerson: "needs_person",
}


class Findings(Struct, frozen=True):
    """What one exercise's checks found in one submission. `faults` are the grader's own."""

    checks: list[CheckReport]
    transcript: list[Exchange]
    notes: list[str]
    faults: list[str]


class _Asked:
    """An answer in a check's hands; what the judge says of it goes to the check's notes."""

    def __init__(self, question: Question, answer: Answer, notes: list[str]) -> None:
        self.question = question
        self.answer = answer
        self._notes = notes

    def heard(self, verdict: judge.Verdict, due: judge.Due | None) -> None:
        for note in verdict.notes:
            text = f"{self.question.function} {note}"
            if text not in self._notes:
                self._notes.append(text)


class _Function:
    """One of the student's functions, in a check's hands: call it, or its `gradient` with respect
    to the first argument."""

    def __init__(self, name: str, ask: Callable[[Question], _Asked]) -> None:
        self._name = name
        self._ask = ask

    def __call__(self, *arguments: Any) -> _Asked:
        return self._ask(Question(self._name, arguments))

    def gradient(self, *arguments: Any) -> _Asked:
        return self._ask(Question(self._name, arguments, gradient=True))


class Student:
    """The fixture `student`: each attribute is one of the student's functions, or a constant."""

    def __init__(self, ask: Callable[[Question], _Asked]) -> None:
        self._ask = ask

    def __repr__(self) -> str:
        return "student"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name.isupper():
            return self._ask(Question(name, None))
        return _Function(name, self._ask)


class _Run:
    """One submission under way: the transcript, and which functions harmed their process."""

    def __init__(self, exercise: Exercise, ask: Callable[[Question], Answer]) -> None:
        self.exercise = exercise
        self.transcript: dict[str, Exchange] = {}
        self.notes: list[str] = []
        self.unknown: dict[str, None] = {}  # names that are missing, and nothing tells why
        self.check = _Check()
        self._ask = ask
        self._harmed: dict[str, Answer] = {}
        self._settled: dict[str, Answer] = {}

    def ask(self, question: Question) -> _Asked:
        """The student's answer, from the check's memo where it was asked before."""
        key = repr(question)
        check = self.check
        if key not in check.memo:
            check.admit()
            check.memo[key] = self._settled.get(key) or self._answer(question)
            self.transcript.setdefault(key, Exchange(question, check.memo[key]))
        return _Asked(question, check.memo[key], self.notes)

    def told_of_unknown(self) -> list[str]:
        """A note on the names that there are not, if there are any."""
        names = ", ".join(self.unknown)
        return [f"the page defines no {names}"] if names else []

    def settle(self, key: str, answer: Answer) -> None:
        """Remember for all checks what was answered twice alike, where a check can ask but one
        thing: a function without arguments may be a long computation."""
        if self.transcript[key].question.arguments == ():
            self._settled[key] = answer

    def _answer(self, question: Question) -> Answer:
        if question.function in self._harmed:
            return self._harmed[question.function]
        answer = self._ask(question)
        if isinstance(answer, TimedOut | Crashed):
            self._harmed[question.function] = answer
        if isinstance(answer, Missing):
            if not answer.why:
                self.unknown[question.function] = None
            elif answer.why not in self.notes:
                self.notes.append(answer.why)
        if question.arguments is None and answer == Returned(None):
            return Missing("still the scaffold's")
        return answer


class _Check:
    """One check under way: its memo, the inputs that it passed on, its failure, what shrinking has
    spent."""

    def __init__(self, memo: dict[str, Answer] | None = None) -> None:
        self.memo: dict[str, Answer] = memo or {}
        self.inputs: list[dict[str, Any]] = []
        self.failure: judge.Wrong | None = None
        self.error: BaseException | None = None
        self._asked_since = 0

    def admit(self) -> None:
        """Let a new question pass, or end this draw: shrinking is bounded by calls, not time."""
        if self.failure is None:
            return
        allowed = QUESTIONS_AFTER_FAILURE
        if isinstance(self.failure, judge.OutOfTime | judge.ProcessEnded):
            allowed = 0
        if self._asked_since >= allowed:
            hypothesis.reject()
        self._asked_since += 1


class Suite:
    """The collected checks. Valid inside the call that `with_suite` makes, and only there."""

    def __init__(
        self, session: pytest.Session, engine: "_Engine", modules: Mapping[str, list[Any]]
    ) -> None:
        self._session = session
        self._engine = engine
        self._modules = modules
        self._passed: dict[str, list[dict[str, Any]]] = {}  # by check: the inputs of who passed it
        self._without: dict[str, tuple[str, Findings]] = {}  # by exercise: the last reason's

    def run(self, exercise: Exercise, ask: Callable[[Question], Answer]) -> Findings:
        """Run all checks of one exercise against one submission, which `ask` stands for."""
        run = self._engine.run = _Run(exercise, ask)
        items = [
            (item, visibility)
            for visibility, module in self._modules[exercise.name]
            for item in self._session.genitems(module)
        ]
        reports: list[CheckReport] = []
        faults: list[str] = []
        for item, visibility in items:
            assert isinstance(item, pytest.Function)
            check = run.check = _Check()
            self._engine.prepare(item)
            if not self._passes_again(item, check):
                check = run.check = _Check(check.memo)
                item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
            if check.error is None and check.failure is None:
                self._passed[item.nodeid] = check.inputs
                self._ask_again(item, run, check)
            if check.error is not None:
                faults.append(f"{item.name}: {type(check.error).__name__}: {check.error}")
            reports.append(_report(item, visibility, exercise, check))
        notes = [*run.notes, *run.told_of_unknown()]
        return Findings(reports, list(run.transcript.values()), notes, faults)

    def run_without(self, exercise: Exercise, reason: str) -> Findings:
        """`run` where there is nothing to ask, for a reason; once for many who lack the same."""
        known, findings = self._without.get(exercise.name, ("", None))
        if findings is None or known != reason:
            findings = self.run(exercise, lambda _: Missing(reason))
            self._without[exercise.name] = (reason, findings)
        return findings

    def _passes_again(self, item: pytest.Function, check: _Check) -> bool:
        """Whether the check passes on all inputs that an earlier submission passed it on.

        They are what would be drawn again, without the cost of drawing. Where one fails, nothing is
        decided: the check runs as always and finds the same, from its memo, and shrinks it.
        """
        inputs = self._passed.get(item.nodeid)
        if inputs is None:
            return False
        inner = inspect.unwrap(_inner(item.obj))
        try:
            with _outside_of_a_draw():
                for named in inputs:
                    inner(**named)
        except Exception:  # a wrong answer, or a fault: told apart when the check runs as always
            return False
        check.inputs = inputs
        return True

    def _ask_again(self, item: pytest.Function, run: _Run, check: _Check) -> None:
        """Ask the first input once more, past the memo: an answer must hold twice."""
        if not check.inputs:
            return
        before, check.memo = check.memo, {}
        try:
            with _outside_of_a_draw():
                inspect.unwrap(_inner(item.obj))(**check.inputs[0])
        except judge.Wrong as wrong:
            wrong.message = f"two answers to one question: asked again, {wrong.message}"
            check.failure = wrong
        except Exception as error:  # the check's fault or the grader's
            check.error = error
        changed = []
        for key, answer in check.memo.items():
            if key not in before:
                continue
            if repr(before[key]) == repr(answer):  # by their texts: NaN is not equal to itself
                run.settle(key, answer)
            else:
                changed.append(key)
        if changed and check.failure is None:
            name = run.transcript[changed[0]].question.function
            note = f"{name} gave two different answers to one question, both right"
            if note not in run.notes:
                run.notes.append(note)


class _Engine:
    """The pytest plugin: the fixture, the hooks, and the hand-over inside the test loop."""

    def __init__(self, exercises: Sequence[str], body: Callable[[Suite], Any]) -> None:
        self.run: _Run | None = None
        self.entered = False
        self.collection_error = ""
        self.result: Any = None
        self.raised: BaseException | None = None
        self._exercises = exercises
        self._body = body

    @property
    def current(self) -> _Run:
        """The submission under way."""
        assert self.run is not None
        return self.run

    def fixtures(self) -> ModuleType:
        """The fixtures that checks ask for, as a plugin of their own."""

        @pytest.fixture(scope="session")
        def student() -> Student:
            """The submission under way; each attribute asks its process."""
            return Student(lambda question: self.current.ask(question))

        @pytest.fixture(scope="session")
        def examples() -> Callable[..., list[tuple[tuple[Any, ...], judge.Due]]]:
            """The worked examples that ship: `examples(function)` gives (arguments, due) pairs,
            `examples(function, gradient=True)` those of its gradient."""
            return lambda function, gradient=False: [
                (tuple(from_strict_json(example.arguments)), judge.baked(example.due))
                for example in self.current.exercise.examples
                if (example.function, example.gradient) == (function, gradient)
            ]

        module = ModuleType("grader_fixtures")
        module.__dict__.update(student=student, examples=examples)
        return module

    def pytest_configure(self, config: pytest.Config) -> None:
        text = (
            "points(points, about, draws=40, manual=None, hint=None, explanation=''): what a check "
            "is worth, and for what; what is said where it fails (in place of the judge's words), "
            "and where it passes"
        )
        config.addinivalue_line("markers", text)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.collection_error = str(report.longrepr)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self.collection_error:
            return True
        modules: dict[str, list[Any]] = {name: [] for name in self._exercises}
        for item in session.items:
            module = item.getparent(pytest.Module)
            assert module is not None
            entry = ("hidden" if module.path.parent.name == "keys" else "public", module)
            if entry not in modules[module.path.stem]:
                modules[module.path.stem].append(entry)
        self.entered = True
        try:
            self.result = self._body(Suite(session, self, modules))
        except BaseException as error:
            self.raised = error
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Keep the exception that a check ended with: the student's fault, or a fault of ours.

        The report is for pytest alone, and without the traceback that pytest would spell out: a
        failing check would cost more by it than by all its questions.
        """
        if call.excinfo is not None:
            error = call.excinfo.value
            if isinstance(error, judge.Wrong):
                self.current.check.failure = error
            else:
                self.current.check.error = error
        assert call.when != "collect", "items are collected once, before any is run"
        outcome: Literal["passed", "failed"] = "passed" if call.excinfo is None else "failed"
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, call.when)

    def prepare(self, item: pytest.Function) -> None:
        """Watch the inputs of an item, and give it the engine's settings."""
        function = item.obj
        watched = self._watched(inspect.unwrap(_inner(function)))
        if not hypothesis.is_hypothesis_test(function):
            item.obj = watched
            return
        function.hypothesis.inner_test = watched
        if not hasattr(function, "settings_of_the_engine"):
            draws = _marker(item).kwargs.get("draws", DRAWS)
            hypothesis.settings(SETTINGS, max_examples=draws)(function)
            function.settings_of_the_engine = True

    def _watched(self, inner: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(inner)
        def watched(*arguments: Any, **named: Any) -> None:
            check = self.current.check
            try:
                inner(*arguments, **named)
            except judge.Wrong as wrong:
                check.failure = wrong
                raise
            check.inputs.append(named)  # not one that the check itself turned down

        return watched


@contextmanager
def _outside_of_a_draw() -> Iterator[None]:
    """A check called by us and not by Hypothesis, which warns of `assume` then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _inner(function: Any) -> Any:
    return function.hypothesis.inner_test if hypothesis.is_hypothesis_test(function) else function


def _marker(item: pytest.Function) -> pytest.Mark:
    marker = item.get_closest_marker("points")
    if marker is None:
        raise GraderFault(f"the check {item.name} has no points marker")
    return marker


def _report(
    item: pytest.Function, visibility: Any, exercise: Exercise, check: _Check
) -> CheckReport:
    marker = _marker(item)
    points = float(marker.args[0])
    function = marker.kwargs["about"]
    doc = inspect.unwrap(_inner(item.obj)).__doc__ or item.name
    common = {
        "name": item.originalname.removeprefix("test_"),
        "title": doc.strip().splitlines()[0].rstrip("."),
        "function": function,
        "visibility": visibility,
        "points": points,
        "manual_points": marker.kwargs.get("manual"),
    }
    if check.error is not None:
        message = "the grader could not decide this; it is not your fault"
        return CheckReport(**common, score=None, outcome="not_determined", message=message)
    wrong = check.failure
    if wrong is None:
        said = marker.kwargs.get("explanation", "")
        return CheckReport(**common, score=points, outcome="passed", message=said)
    outcome = OUTCOMES.get(type(wrong), "failed")
    message = wrong.message
    if outcome == "failed" and "hint" in marker.kwargs and not isinstance(wrong, judge.WrongKind):
        message = marker.kwargs["hint"]
    elif outcome == "failed" and not isinstance(wrong, TELL_THEMSELVES):
        is_constant = isinstance(wrong.asked, _Asked) and wrong.asked.question.arguments is None
        message += "" if is_constant else f"; {NEXT_STEP}"
    counterexample = None
    if outcome not in ("not_attempted", "needs_person") and isinstance(wrong.asked, _Asked):
        counterexample = Counterexample(
            _named(wrong.asked.question, exercise),
            wrong.got,
            wrong.due or None,
            wrong.bound,
            wrong.asked.question.gradient,
        )
    return CheckReport(
        **common,
        score=0.0,
        outcome=outcome,
        message=message,
        counterexample=counterexample,
    )


def _named(question: Question, exercise: Exercise) -> dict[str, Any]:
    names = exercise.signatures.get(question.function) or []
    arguments = question.arguments or ()
    return {
        names[place] if place < len(names) else f"argument {place + 1}": strict_json(argument)
        for place, argument in enumerate(arguments)
    }


def with_suite(exercises: Sequence[str], body: Callable[[Suite], T], *, hidden: bool = True) -> T:
    """Start one pytest session over the checks of `exercises` and call `body` in its test loop.

    Hidden checks are among them where their keys are here and `hidden` is true.

    Returns what `body` returns and raises what it raises. One session at a time in a process.
    """
    paths = [
        str(path)
        for name in exercises
        for path in (PACKAGE / "public" / f"{name}.py", PACKAGE / "keys" / f"{name}.py")
        if path.exists() and (hidden or path.parent.name == "public")
    ]
    if not paths:
        raise GraderFault(f"there are no checks for {', '.join(exercises) or 'no exercise'}")
    engine = _Engine(exercises, body)
    with _own_environment():
        code = pytest.main([*PYTEST_ARGUMENTS, *paths], plugins=[engine, engine.fixtures()])
    if engine.raised is not None:
        raise engine.raised
    if not engine.entered:
        why = engine.collection_error or f"pytest ended with {code!r}"
        raise GraderFault(f"the checks could not be collected: {why}")
    result: T = engine.result
    return result


@contextmanager
def _own_environment() -> Iterator[None]:
    """No pytest settings of the surroundings while our session runs, and no files left behind."""
    ours = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    names = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ.update(ours)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            set_hypothesis_home_dir(scratch)
            yield
    finally:
        set_hypothesis_home_dir(None)
        for name in ours:
            del os.environ[name]
        os.environ.update(kept)
