"""Pages of a student, loaded into a real process."""

import contextlib
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grader.model import Question
from grader.sandbox import Limits, Sandbox, Source, Worker

# Short enough for a test to wait for; the wall clock is left so wide that CPU time decides.
LIMITS = Limits(call_cpu=1, load_cpu=2, file_cpu=30, wall_per_cpu=30)
# For those that sleep: CPU time would never end them.
IMPATIENT = Limits(call_cpu=1, load_cpu=2, file_cpu=30, wall_per_cpu=0.5)


def notebook(
    *cells: str, modules: dict[str, str] | None = None, helpers: dict[str, str] | None = None
) -> Source:
    """A notebook of these cells."""
    numbered = tuple((textwrap.dedent(cell), 1) for cell in cells)
    return Source("page.ipynb", numbered, modules or {}, helpers or {})


def script(text: str) -> Source:
    """A plain script."""
    return Source("page.py", ((textwrap.dedent(text), 1),), {}, {})


@contextlib.contextmanager
def loaded(sandbox: Sandbox, source: Source, limits: Limits | None = None) -> Iterator[Worker]:
    """A worker for this source, closed at the end."""
    worker = sandbox.load(source, limits)
    try:
        yield worker
    finally:
        worker.close()


def ask(worker: Worker, function: str, *arguments: object) -> Any:
    """What a student's function answers."""
    return worker.ask(Question(function, arguments))


def look(worker: Worker, name: str) -> Any:
    """What a student's constant is."""
    return worker.ask(Question(name, None))


def eventually(happened: Callable[[], bool], patience: float = 30) -> bool:
    """Wait for what happens soon, on a machine under any load."""
    deadline = time.monotonic() + patience
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that only waits to be buried is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
