"""Processes that each do one job after the other, some processes at a time.

A process is a module of ours that reads a line of setup and then jobs from standard input, and
writes an answer for each, in order; all are JSON, one a line.
"""

import contextlib
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

import msgspec

Setup = TypeVar("Setup", bound=msgspec.Struct)
Job = TypeVar("Job", bound=msgspec.Struct)
Answer = TypeVar("Answer", bound=msgspec.Struct)


class Process(Generic[Setup, Job, Answer]):
    """One process, which runs a module."""

    def __init__(self, module: str, setup: Setup, answer: type[Answer]) -> None:
        self._answer = answer
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._said: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._send(setup)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said = [*self._said[-20:], line.decode("utf-8", "replace").rstrip()]

    def _send(self, line: msgspec.Struct) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(line) + b"\n")
            self._process.stdin.flush()
        except OSError:
            return False
        return True

    def do(self, job: Job) -> Answer | None:
        """The answer, or None when the process died of the job."""
        assert self._process.stdout is not None
        if not self._send(job):
            return None
        line = self._process.stdout.readline()
        return msgspec.json.decode(line, type=self._answer) if line.endswith(b"\n") else None

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


def spread(
    jobs: Iterable[Job],
    workers: int,
    start: Callable[[], Process[Setup, Job, Answer]],
    done: Callable[[Job, Answer | None, str], None],
) -> None:
    """Do the jobs, in so many processes at a time; one that dies costs its job, and is replaced.

    `done` is called with each job and its answer, or with None and what the process said at its
    end, from one thread at a time.
    """
    todo: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        todo.put(job)
    lock = threading.Lock()

    def work() -> None:
        process: Process[Setup, Job, Answer] | None = None
        while True:
            try:
                job = todo.get_nowait()
            except queue.Empty:
                break
            process = process or start()
            answer, said = process.do(job), ""
            if answer is None:
                said, process = process.close(), None
            with lock:
                done(job, answer, said)
        if process is not None:
            process.close()

    with ThreadPoolExecutor(workers) as pool:
        try:
            for future in [pool.submit(work) for _ in range(workers)]:
                future.result()
        except BaseException:
            while not todo.empty():  # what is under way is finished and kept
                todo.get()
            raise
