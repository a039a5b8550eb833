"""Run an audit: each exercise in a process of its own, some at a time, then the settings."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from grader import catalogue
from grader.audit import settings, summary
from grader.audit.examine import fingerprinted, programs, records
from grader.errors import GraderFault
from grader.model import Missing
from grader.suite import Suite, with_suite

LOOKS = 0.5  # seconds between looks at what is done
TELLS = 10.0  # seconds between lines about it


def run(
    names: Sequence[str],
    out: Path,
    every: int,
    workers: int,
    say: Callable[[str], None],
) -> summary.Audit:
    """The audit of these exercises. What `out` holds of an earlier one, unchanged, is taken over.

    `say` is told what is under way. GraderFault where an exercise can't be examined.
    """
    out.mkdir(parents=True, exist_ok=True)
    totals = {name: len(programs(name, every)) for name in names}
    told = time.monotonic()
    waiting, running = list(names), dict[str, subprocess.Popen[bytes]]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                name = waiting.pop(0)
                say(f"{name}: {totals[name]} programs")
                running[name] = _started(name, _file(out, name), every)
            time.sleep(LOOKS)
            for name, process in list(running.items()):
                ended = process.poll() is not None
                count = len(records(_file(out, name)))
                if ended or time.monotonic() > told + TELLS:
                    say(f"{name}: {count} programs of {totals[name]}")
                    told = time.monotonic()
                if ended:
                    del running[name]
                    _require_success(name, process)
    finally:
        for process in running.values():
            process.kill()
    exercises = [_summary(name, out, every) for name in names]
    count, changed = settings.compared(names, every, say)
    return summary.Audit(exercises, [each.name for each in settings.SETTINGS], count, changed)


def _file(out: Path, name: str) -> Path:
    return out / f"{name}.jsonl"


def _started(name: str, path: Path, every: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-P", "-m", "grader.audit.examine", name, str(path), str(every)]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def _require_success(name: str, process: "subprocess.Popen[bytes]") -> None:
    assert process.stderr is not None
    said = process.stderr.read().decode("utf-8", "replace").strip()
    process.stderr.close()
    if process.returncode:
        raise GraderFault(f"{name} can't be examined: {said[-500:]}")


def _summary(name: str, out: Path, every: int) -> summary.Exercise:
    """The summary of the records that belong to the programs of today."""
    found = {record.fingerprint: record for record in records(_file(out, name))}
    due = [found[fingerprint] for fingerprint in fingerprinted(name, every)]
    return summary.summarised(name, due, with_suite([name], partial(_checks, name, every)))


def _checks(name: str, every: int, suite: Suite) -> list[str]:
    """The checks that some wrong program has to fail: those that are worth something, and that no
    person decides. None where there are no misconceptions, and only a sample of the mutants."""
    if every > 1 and not catalogue.catalogue(name).misconceptions:
        return []
    findings = suite.run(catalogue.exercise(name), lambda _: Missing())
    return [check.name for check in findings.checks if check.manual_points is None and check.points]
