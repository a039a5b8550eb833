"""Progress on a terminal: a bar while a class is graded, nothing where no one watches."""

import sys
from types import TracebackType
from typing import Self

import rich.console
import rich.progress


class Progress:
    """Counts submissions as they are done; a context manager."""

    def __init__(self, total: int) -> None:
        console = rich.console.Console(file=sys.stderr)
        self._bar = rich.progress.Progress(console=console, disable=not sys.stderr.isatty())
        self._task = self._bar.add_task("grading", total=total)

    def step(self) -> None:
        """One more submission is done."""
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
