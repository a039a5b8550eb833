"""`grader evidence`: a student's own evidence, run once in a process of its own, for its page."""

from pathlib import Path
from typing import Any

from msgspec import Struct

from grader import submissions
from grader.errors import UsageError
from grader.grading import grade_exercise
from grader.model import (
    Answer,
    Array,
    CheckReport,
    Crashed,
    Missing,
    Opaque,
    Question,
    Raised,
    Returned,
    TimedOut,
    nearest_double,
    strict_json,
)
from grader.sandbox import Sandbox
from grader.suite import with_suite

EXERCISE = "evidence"
FUNCTION = "build_evidence"


class Portfolio(Struct, frozen=True):
    """All that the page shows: the evidence (None where there is none), why it is missing, what is
    missing or off in it, the student's code, and what it printed."""

    file: str
    evidence: dict[str, Any] | None
    problem: str
    missing: list[str]
    code: list[str]
    output: str
    notes: list[str]


def portfolio(path: Path) -> Portfolio:
    """The evidence of the page at `path` (a file, or a folder that holds one).

    UsageError where there is no such page.
    """
    found = submissions.read(path, [EXERCISE]).found[EXERCISE]
    if found.source is None:
        raise UsageError(f"no page of {EXERCISE} was found in {path}: {found.reason}")
    with Sandbox() as sandbox:
        report = with_suite(
            [EXERCISE],
            lambda suite: grade_exercise(found, EXERCISE, suite, sandbox),
            hidden=False,
        )
        worker = sandbox.load(found.source)  # anew: what the checks made it print comes twice
        answer = worker.ask(Question(FUNCTION, ()))
        output = worker.close()
    evidence = answer.value if isinstance(answer, Returned) else None
    return Portfolio(
        file=found.file or "",
        evidence=_plain(evidence) if isinstance(evidence, dict) else None,
        problem="" if isinstance(evidence, dict) else _problem(answer),
        missing=[_told(check) for check in report.checks if check.outcome != "passed"],
        code=[text.strip("\n") for text, _ in found.source.cells if text.strip()],
        output=output,
        notes=report.notes,
    )


def _told(check: CheckReport) -> str:
    return f"{check.title}: {check.message}" if check.message else check.title


def _problem(answer: Answer) -> str:
    match answer:
        case Returned():
            return f"{FUNCTION} did not return a dict"
        case Missing():
            return f"there is no function {FUNCTION} yet"
        case Raised(name, kinds, message, line):
            if "NotImplementedError" in kinds:
                return f"{FUNCTION} is still the scaffold's"
            where = f" (line {line})" if line else ""
            return f"{FUNCTION} raised {name}: {message}{where}"
        case TimedOut():
            return f"{FUNCTION} did not come to an end"
        case Crashed(how):
            return f"{FUNCTION} ended its process: {how}"


def _plain(value: Any) -> Any:
    """An answer as strict JSON, whatever it holds."""
    match value:
        case Array(_, shape, items):
            return _nested(list(items), shape)
        case Opaque(description):
            return f"({description})"
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case tuple():
            return [_plain(item) for item in value]
        case bool() | int() | str() | None:
            return value
        case _:
            return strict_json(nearest_double(value))


def _nested(items: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return _plain(items[0])
    for length in reversed(shape[1:]):
        items = [items[start : start + length] for start in range(0, len(items), max(length, 1))]
    return [_plain(tuple(item)) if isinstance(item, list) else _plain(item) for item in items]
