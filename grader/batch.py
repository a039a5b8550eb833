"""Grade many submissions: hand them to grading processes, keep what they report, lose nothing."""

import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from grader import catalogue
from grader.errors import UsageError
from grader.grading import checks_fingerprint, not_graded
from grader.model import Report
from grader.service import Job, Setup
from grader.submissions import fingerprint, student_name


def find_students(submissions: Path) -> list[Job]:
    """The entries of a class folder, one a student, by name; a single file is one student.

    UsageError when there is nothing there, or when two entries would be one student.
    """
    if not submissions.exists():
        raise UsageError(f"there is no file or folder {str(submissions)!r}")
    if submissions.is_file():
        return [Job(student_name(submissions), str(submissions))]
    found: dict[str, Path] = {}
    for path in sorted(submissions.iterdir()):
        if path.name.startswith(".") or path.name in ("__MACOSX", "__pycache__"):
            continue
        if path.is_file() and path.suffix.lower() not in (".py", ".ipynb", ".zip"):
            continue
        name = student_name(path)
        if name in found:
            raise UsageError(
                f"{found[name].name} and {path.name} would both be the student {name!r}; "
                "put one student's files into a folder of that name"
            )
        found[name] = path
    if not found:
        raise UsageError(f"{str(submissions)!r} holds no submissions: a folder, .py, .ipynb or .zip")
    return [Job(name, str(path)) for name, path in found.items()]


def grade_class(
    jobs: Sequence[Job],
    setup: Setup,
    results: "ResultFiles",
    workers: int,
    done: Callable[[Report], None],
) -> list[Report]:
    """Grade what is not graded yet, `workers` at a time; all reports, sorted by student.

    `done` is called with each report as it comes, from one thread at a time.
    """
    checks = checks_fingerprint(setup.exercises, setup.limits)
    wanted = {job.student: f"{fingerprint(Path(job.path))}-{checks}" for job in jobs}
    reports = {
        report.student: report
        for report in results.trusted()
        if wanted.get(report.student) == report.fingerprint
    }
    todo: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
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
    threads = [
        threading.Thread(target=_grade_from, args=(todo, setup, keep))
        for _ in range(min(workers, todo.qsize()))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    final = [reports[student] for student in sorted(reports)]
    results.finish(final)
    return final


def _grade_from(
    todo: "queue.SimpleQueue[Job]", setup: Setup, keep: Callable[[Report], None]
) -> None:
    """Feed one grading process; a process that dies costs the submission under way, and is replaced."""
    process: _Process | None = None
    while True:
        try:
            job = todo.get_nowait()
        except queue.Empty:
            break
        process = process or _Process(setup)
        report = process.grade(job)
        if report is None:
            why = process.close()
            process = None
            report = not_graded(job.student, setup.exercises, why)
        keep(report)
    if process is not None:
        process.close()


class _Process:
    """One `grader.service` process."""

    def __init__(self, setup: Setup) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grader.service"],
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
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass
        self._process.wait()
        self._listener.join(timeout=5)
        self._process.stdout.close()
        return self._said[-1] if self._said else "the grading process ended"


class ResultFiles:
    """`results.jsonl` and what leads to it. A crash leaves the last good results, and the finished
    lines of the run that crashed."""

    def __init__(self, folder: Path, force: bool = False) -> None:
        self.folder = folder
        self.results = folder / "results.jsonl"
        self._partial = folder / "results.partial.jsonl"
        self._force = force
        folder.mkdir(parents=True, exist_ok=True)

    def trusted(self) -> Iterator[Report]:
        """Reports of earlier runs; a line that was not finished is none."""
        for path in () if self._force else (self.results, self._partial):
            if path.is_file():
                for line in path.read_bytes().splitlines(keepends=True):
                    try:
                        if line.endswith(b"\n"):
                            yield msgspec.json.decode(line, type=Report)
                    except msgspec.DecodeError:
                        continue

    def append(self, report: Report) -> None:
        """Keep one report, on a line of its own whatever stood there before."""
        with self._partial.open("ab") as stream:
            start = b"\n" if stream.tell() else b""
            stream.write(start + msgspec.json.encode(report) + b"\n")

    def finish(self, reports: Sequence[Report]) -> None:
        """Replace the results by `reports`, at once or not at all."""
        lines = [msgspec.json.encode(report) + b"\n" for report in reports]
        replace_file(self.results, b"".join(lines))
        self._partial.unlink(missing_ok=True)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file at once or not at all."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_bytes(data)
    temporary.replace(path)


def read_results(folder: Path) -> list[Report]:
    """The reports of a result folder; UsageError when there are none, or one is damaged."""
    path = folder / "results.jsonl"
    if not path.is_file():
        raise UsageError(f"{str(folder)!r} holds no results.jsonl; grade first: grader grade")
    reports = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            reports.append(msgspec.json.decode(line, type=Report))
        except msgspec.DecodeError as error:
            raise UsageError(f"{path}, line {number}: not a report ({error})") from error
    return reports


def exercise_names(wanted: Sequence[str]) -> list[str]:
    """The exercises asked for, each once and known; all of them when none is named."""
    for name in wanted:
        catalogue.exercise(name)
    return sorted(set(wanted)) or catalogue.names()
