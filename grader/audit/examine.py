"""`python -m grader.audit.examine NAME FILE`: one exercise's programs, each graded as a submission.

A line of strict JSON for each program goes to FILE; what stands there already, and would come out
the same, is not done again.
"""

import hashlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from grader import catalogue
from grader.audit import mutants, variants
from grader.audit.answers import error_in_bounds, holding, remembered
from grader.compiled import prepared
from grader.confinement import chosen
from grader.grading import checks_fingerprint, examined, named_checks
from grader.model import CheckReport
from grader.sandbox import Limits, Sandbox
from grader.submissions import Found
from grader.suite import Suite, with_suite

SURE = ("passed", "needs_person")


class Program(Struct, frozen=True):
    """A program to grade. `kind` is `mutant`, `right` or `misconception`; `made_by` tells how it
    came about, and for a misconception what function it is about."""

    kind: str
    name: str
    made_by: str
    found: Found | None = None


class Graded(Struct, frozen=True):
    """What a program got: the checks that it failed, the misconceptions that were named, and its
    largest error over the bound (infinite is 1e300; -1 where no number was due)."""

    kind: str
    name: str
    made_by: str
    fingerprint: str
    failed: list[str]
    named: list[str]
    error: float


def programs(exercise: str, every: int = 1) -> list[Program]:
    """All programs of an exercise's audit; one mutant and one right program in `every`."""
    found = [
        Program("misconception", entry.name, entry.function)
        for entry in catalogue.catalogue(exercise).misconceptions
    ]
    right = [Program("right", *variant) for variant in variants.variants(exercise)]
    found += right[::every]
    found += [
        Program("mutant", mutant.name, mutant.operator, variants.program(mutant.program))
        for mutant in mutants.mutants(exercise)[::every]
    ]
    return found


def fingerprinted(exercise: str, every: int) -> dict[str, Program]:
    """The same, by a fingerprint of all that their records depend on."""
    checks = checks_fingerprint([exercise], Limits())
    reference = mutants.program_of(exercise)
    return {
        hashlib.sha256(msgspec.json.encode((checks, reference, program))).hexdigest(): program
        for program in programs(exercise, every)
    }


def records(path: Path) -> list[Graded]:
    """What a file holds so far; a line that was cut off is not there."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [msgspec.json.decode(line, type=Graded) for line in lines]


def examine(exercise: str, path: Path, every: int = 1) -> None:
    """Grade all programs of an exercise that `path` doesn't hold yet, and add them to it."""
    done = {record.fingerprint for record in records(path)}
    todo = {
        key: program for key, program in fingerprinted(exercise, every).items() if key not in done
    }

    def body(suite: Suite) -> None:
        with (
            Sandbox(confinement=prepared(chosen("auto"))) as sandbox,
            path.open("ab") as stream,
        ):
            for record in _graded(exercise, suite, sandbox, todo):
                stream.write(msgspec.json.encode(record) + b"\n")
                stream.flush()

    with_suite([exercise], body)


def _graded(
    exercise: str, suite: Suite, sandbox: Sandbox, todo: Mapping[str, Program]
) -> Iterator[Graded]:
    entries = catalogue.catalogue(exercise)
    truth = remembered(entries.truth)
    by_name = {entry.name: entry for entry in entries.misconceptions}
    reference = variants.program(mutants.joined(mutants.program_of(exercise))).source
    assert reference is not None
    worker = sandbox.load(reference)
    known = remembered(worker.ask)
    for fingerprint, program in todo.items():
        if program.found is None:
            ask = holding(by_name[program.name], known)
            findings = suite.run(catalogue.exercise(exercise), ask)
            reports = named_checks(findings, exercise)
        else:
            worker.close()  # misconceptions come first
            report, findings = examined(program.found, exercise, suite, sandbox)
            reports = report.checks
        error = min(error_in_bounds(findings.transcript, truth), 1e300)
        yield _record(program, fingerprint, reports, error)


def _record(program: Program, fingerprint: str, reports: list[CheckReport], error: float) -> Graded:
    failed = [report.name for report in reports if report.outcome not in SURE]
    named = sorted({report.misconception for report in reports if report.misconception})
    return Graded(program.kind, program.name, program.made_by, fingerprint, failed, named, error)


def main() -> None:
    """Examine the exercise that the command line names."""
    name, path, every = sys.argv[1:]
    examine(name, Path(path), int(every))


if __name__ == "__main__":
    main()
