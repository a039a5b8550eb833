"""Grade one submission: load each of its pages in a worker, run the checks, name the mistakes."""

import functools
import hashlib
import importlib.metadata
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from grader import catalogue, judge, submissions
from grader.confinement import Confinement, chosen
from grader.diagnosis import diagnose
from grader.errors import GraderFault
from grader.model import (
    Answer,
    CheckReport,
    Crashed,
    Exercise,
    ExerciseReport,
    Missing,
    Question,
    Raised,
    Report,
    TimedOut,
    total,
)
from grader.names import Names
from grader.sandbox import Limits, Sandbox
from grader.submissions import Found, Submission
from grader.suite import Findings, Suite, with_suite

MAX_EVENTS = 50  # of loading, told in an exercise's notes


def grade(path: str | Path, exercise: str | None = None, isolation: str = "auto") -> Report:
    """Grade one student's submission (a folder, a script, a notebook or a zip) and report on it.

    With `exercise`, only that one; a single file is then taken for it whatever its name is.
    `isolation` is that of `grader grade`. Raises UsageError when there is nothing at `path`, no
    such exercise, or no such isolation here.
    """
    names = [exercise] if exercise else catalogue.names()
    submission = submissions.read(Path(path), names, sole=exercise)
    confinement = Confinement(chosen(isolation), (str(Path(path).absolute()),))
    with Sandbox(confinement=confinement) as sandbox:
        return with_suite(names, lambda suite: grade_one(submission, names, suite, sandbox))


def grade_one(
    submission: Submission,
    names: Sequence[str],
    suite: Suite,
    sandbox: Sandbox,
    pictures: bool = False,
) -> Report:
    """The report on one submission that was read; with the `pictures` that its pages draw."""
    started = time.monotonic()
    exercises = [
        grade_exercise(submission.found[name], name, suite, sandbox, pictures) for name in names
    ]
    return Report(
        student=submission.student,
        score=total([exercise.score for exercise in exercises]),
        max_score=sum(exercise.max_score for exercise in exercises),
        seconds=round(time.monotonic() - started, 3),
        versions=versions(),
        notes=list(submission.notes),
        exercises=exercises,
    )


def grade_exercise(
    found: Found, name: str, suite: Suite, sandbox: Sandbox, pictures: bool = False
) -> ExerciseReport:
    """The report on one exercise; a fault of the grader's own makes it `not_graded`."""
    return examined(found, name, suite, sandbox, pictures)[0]


def examined(
    found: Found, name: str, suite: Suite, sandbox: Sandbox, pictures: bool = False
) -> tuple[ExerciseReport, Findings]:
    """The report on one exercise, and what it was made from."""
    exercise = catalogue.exercise(name)
    if found.source is None:
        findings = suite.run_without(exercise, found.reason)
        return _report(exercise, found, findings, [], "", {}), findings
    try:
        worker = sandbox.load(found.source)
    except GraderFault as fault:
        findings = suite.run(exercise, _failing(fault))
        return _report(exercise, found, findings, [], "", {}), findings
    names = Names(found, worker.places, worker.events)
    try:
        ask = _asking(worker.ask, names)
        findings = suite.run(exercise, ask)
        series = _series(name, ask, findings)
        drawn = worker.pictures() if pictures else []
    finally:
        output = worker.close()
    events = [found.told(event) for event in worker.events[:MAX_EVENTS]]
    if len(worker.events) > MAX_EVENTS:
        events.append(f"... and {len(worker.events) - MAX_EVENTS} more that went wrong in loading")
    answers = [exchange.answer for exchange in findings.transcript]
    raised = [answer for answer in answers if isinstance(answer, Raised)]
    about = names.notes(findings.checks, raised)
    notes = dict.fromkeys([*found.notes, *events, *findings.notes, *about])
    report = _report(exercise, found, findings, list(notes), output, series)
    return msgspec.structs.replace(report, pictures=drawn), findings


def _failing(fault: GraderFault) -> Callable[[Question], Answer]:
    """An `ask` for a submission that the grader can't run: every check is "not determined"."""

    def ask(_: Question) -> Answer:
        raise fault

    return ask


def _asking(ask: Callable[[Question], Answer], names: Names) -> Callable[[Question], Answer]:
    """`ask`, where a name that is missing is so for a reason: what the page's text tells of it, or
    that its process ended, or that its line did not run."""
    ended = [event for event in names.events if event.kind in ("timed_out", "crashed")]
    why = functools.cache(names.why)

    def asking(question: Question) -> Answer:
        answer = ask(question)
        if not isinstance(answer, Missing):
            return answer
        if reason := why(question.function):
            return Missing(reason)
        if not ended:
            return Missing(names.not_run(question.function))
        if ended[-1].kind == "timed_out":
            return TimedOut()
        return Crashed(f"its process ended while the file was loaded, line {ended[-1].line}")

    return asking


def _series(name: str, ask: Callable[[Question], Answer], findings: Findings) -> dict[str, object]:
    """The student's own run that pictures are drawn from, where the exercise has one.

    A function that hung or ended its process is not asked for it again. There is no picture where
    the grader itself fails to ask: marks don't rest on it.
    """
    if not catalogue.has_key(name) or not hasattr(catalogue.key(name), "SERIES"):
        return {}
    function, arguments, part, shape = catalogue.key(name).SERIES
    outcomes = {check.outcome for check in findings.checks if check.function == function}
    if outcomes & {"timed_out", "crashed"}:
        return {}
    try:
        rows = judge.rows(ask(Question(function, arguments)), part, shape)
    except GraderFault:
        return {}
    return {} if rows is None else {function: rows}


def _report(
    exercise: Exercise,
    found: Found,
    findings: Findings,
    notes: list[str],
    output: str,
    series: dict[str, object],
) -> ExerciseReport:
    checks = named_checks(findings, exercise.name)
    status = found.status
    if findings.faults:
        status = "not_graded"
        notes = [*notes, *(f"the grader's own fault: {fault}" for fault in findings.faults)]
    return ExerciseReport(
        name=exercise.name,
        file=found.file,
        score=total([check.score for check in checks]),
        max_score=sum(check.points for check in checks),
        status=status,
        notes=notes if found.source else [found.reason, *found.notes],
        output=output,
        checks=checks,
        series=series,
    )


def named_checks(findings: Findings, name: str) -> list[CheckReport]:
    """The checks, with the misconception behind each function that failed one."""
    entries = catalogue.catalogue(name)
    failing = {check.function for check in findings.checks if check.outcome == "failed"}
    diagnoses = {function: diagnose(function, findings.transcript, entries) for function in failing}
    checks = []
    for check in findings.checks:
        entry = diagnoses.get(check.function) if check.outcome == "failed" else None
        if entry is not None:
            text = " ".join(entry.explanation.split())
            check = msgspec.structs.replace(check, misconception=entry.name, message=text)
        checks.append(check)
    return checks


def versions() -> dict[str, str]:
    """The versions that a verdict may depend on."""
    packages = {"grader": "unstable-learning", "jax": "jax", "numpy": "numpy"}
    packages["hypothesis"] = "hypothesis"
    found = {name: importlib.metadata.version(package) for name, package in packages.items()}
    return {"grader": found.pop("grader"), "python": platform.python_version(), **found}


def checks_fingerprint(names: Sequence[str], limits: Limits) -> str:
    """A fingerprint of all that a verdict depends on besides the submission."""
    digest = hashlib.sha256(repr((names, limits, versions())).encode())
    for path in sorted(catalogue.PACKAGE.rglob("*")):
        if path.suffix in (".py", ".json", ".ini") and path.is_file():
            digest.update(path.relative_to(catalogue.PACKAGE).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def not_graded(student: str, names: Sequence[str], why: str) -> Report:
    """The report on a submission that the grader itself failed on: no score, no marks lost."""

    def body(suite: Suite) -> list[ExerciseReport]:
        found = Found("not_graded", reason=f"the grader's own fault: {why}")
        reports = []
        for name in names:
            exercise = catalogue.exercise(name)
            findings = suite.run(exercise, lambda _: Missing())
            checks = [
                msgspec.structs.replace(check, score=None, outcome="not_determined", message="")
                for check in findings.checks
            ]
            findings = msgspec.structs.replace(findings, checks=checks)
            reports.append(_report(exercise, found, findings, [], "", {}))
        return reports

    exercises = with_suite(names, body)
    return Report(
        student=student,
        score=None,
        max_score=sum(exercise.max_score for exercise in exercises),
        seconds=0.0,
        versions=versions(),
        notes=[],
        exercises=exercises,
    )
