"""Progress on a terminal: a bar while a class is graded, nothing where no one watches."""

import sys
from types import TracebackType
from typing import Self

import rich.console
import rich.progress

from grader.model import Report


class Progress:
    """Counts reports as they come; a context manager."""

    def __init__(self, total: int) -> None:
        console = rich.console.Console(file=sys.stderr)
        self._bar = rich.progress.Progress(console=console, disable=not sys.stderr.isatty())
        self._task = self._bar.add_task("grading", total=total)

    def step(self, report: Report) -> None:
        """One more submission has its report."""
        self._bar.advance(self._task)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()
