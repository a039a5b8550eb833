"""Whose turn it is at a course's grade book, where several processes autograde one course.

A process holds the turn all the time but while it waits for students' code.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

_HELD: list[FileLock] = []


@contextlib.contextmanager
def turn(lock: Path) -> Iterator[None]:
    """Wait for the turn, and have it."""
    file = FileLock(lock)
    with file:
        _HELD.append(file)
        try:
            yield
        finally:
            _HELD.remove(file)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Let the others have their turn for as long as this lasts, where anyone takes turns."""
    for file in _HELD:
        file.release()
    try:
        yield
    finally:
        for file in _HELD:
            file.acquire()
