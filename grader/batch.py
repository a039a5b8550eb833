"""Grade many submissions: hand them to grading processes, keep what they report, lose nothing."""

import contextlib
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from grader import catalogue
from grader.errors import UsageError
from grader.grading import checks_fingerprint, not_graded
from grader.layouts import Entry
from grader.model import Report
from grader.results import ResultFiles
from grader.service import Job, Setup
from grader.submissions import Outline, read


def outlined(entry: Entry, setup: Setup) -> tuple[Job, Outline]:
    """The job that an entry of a class makes, and what will be read for it."""
    try:
        outline = read(entry.roots, setup.exercises, setup.sole, entry.student).outline()
    except UsageError:
        raise
    except Exception:  # the grader's own fault; grading it will say so, and go on with the others
        outline = Outline(entry.student, "", dict.fromkeys(setup.exercises, "not_graded"))
    return Job.of(entry), outline


def grade_class(
    jobs: Sequence[tuple[Job, Outline]],
    setup: Setup,
    results: ResultFiles,
    workers: int,
    done: Callable[[Report], None],
) -> list[Report]:
    """Grade what is not graded yet, `workers` at a time; all reports, sorted by student.

    `done` is called with each report as it comes, from one thread at a time.
    """
    checks = checks_fingerprint(setup.exercises, setup.limits)
    wanted = {outline.student: f"{outline.fingerprint}-{checks}" for _, outline in jobs}
    reports = {
        report.student: report
        for report in results.trusted()
        if wanted.get(report.student) == report.fingerprint
    }
    todo: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job, _ in jobs:
        if job.student not in reports:
            todo.put(job)
    lock = threading.Lock()

    def keep(report: Report) -> None:
        report = msgspec.structs.replace(report, fingerprint=wanted[report.student])
        with lock:
            reports[report.student] = report
            results.append(report)
            done(report)

    for report in list(reports.values()):
        done(report)
    with ThreadPoolExecutor(workers) as pool:
        try:
            feeding = [pool.submit(_grade_from, todo, setup, keep, lock) for _ in range(workers)]
            for future in feeding:
                future.result()
        except BaseException:
            while not todo.empty():  # what is under way is finished and kept
                todo.get()
            raise
    final = [reports[student] for student in sorted(reports)]
    results.finish(final)
    return final


def _grade_from(
    todo: "queue.SimpleQueue[Job]",
    setup: Setup,
    keep: Callable[[Report], None],
    lock: threading.Lock,
) -> None:
    """Feed one grading process; one that dies costs the submission under way, and is replaced."""
    process: Process | None = None
    while True:
        try:
            job = todo.get_nowait()
        except queue.Empty:
            break
        process = process or Process(setup)
        report = process.grade(job)
        if report is None:
            why = process.close()
            process = None
            with lock:  # one pytest session at a time in a process
                report = not_graded(job.student, setup.exercises, why)
        keep(report)
    if process is not None:
        process.close()


class Process:
    """One `grader.service` process, which grades a submission at a time."""

    def __init__(self, setup: Setup) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.service"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._said: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._send(msgspec.json.encode(setup))

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said = [*self._said[-20:], line.decode("utf-8", "replace").rstrip()]

    def _send(self, line: bytes) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except OSError:
            return False
        return True

    def grade(self, job: Job) -> Report | None:
        """The report, or None when the process died of the job."""
        assert self._process.stdout is not None
        if not self._send(msgspec.json.encode(job)):
            return None
        line = self._process.stdout.readline()
        return msgspec.json.decode(line, type=Report) if line.endswith(b"\n") else None

    def close(self) -> str:
        """End the process; the last thing it said."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        self._listener.join(timeout=5)
        if self._process.stderr is not None and not self._listener.is_alive():
            self._process.stderr.close()
        self._process.stdout.close()
        return self._said[-1] if self._said else "the grading process ended"


def exercise_names(wanted: Sequence[str]) -> list[str]:
    """The exercises asked for, each once and known; all of them when none is named."""
    for name in wanted:
        catalogue.exercise(name)
    return sorted(set(wanted)) or catalogue.names()
