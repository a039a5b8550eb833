"""What is said of an answer: right, or wrong for one of the causes that shrinking must not mix."""

from typing import Any, Protocol

from msgspec import Struct

from grader.judge.dues import Due
from grader.model import Answer


class Wrong(AssertionError):
    """An answer that is not the one due. Subclasses tell the causes apart."""

    def __init__(self, message: str, got: str, due: str = "", bound: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.got = got
        self.due = due
        self.bound = bound
        self.asked: Asked | None = None


class WrongValue(Wrong):
    """A number outside the bound, or the other truth value."""


class WrongShape(Wrong):
    """An array (or number of parts) of another shape than the one due."""


class WrongKind(Wrong):
    """Something that is not of the kind due: nothing, text, a function, a bool for a number."""


class NotFinite(Wrong):
    """NaN or an infinity where a finite number is due."""


class NoException(Wrong):
    """A value where an exception is due, or an exception of another kind."""


class UnexpectedException(Wrong):
    """An exception where a value is due."""


class ChangedArgument(Wrong):
    """The function changed what it was given."""


class NotAttempted(Wrong):
    """The name is missing, or what stands there is still the scaffold's."""


class NeedsPerson(Wrong):
    """Nothing wrong: a text that a person will read and mark."""


class OutOfTime(Wrong):
    """The call used up its time."""


class ProcessEnded(Wrong):
    """The call ended the process it ran in."""


class Verdict(Struct, frozen=True):
    """What the judge says: right when `wrong` is None. `notes` tell what was bent to be kind."""

    wrong: Any = None
    notes: tuple[str, ...] = ()


class Asked(Protocol):
    """An answer as a check gets it: it listens to what the judge says about it."""

    @property
    def answer(self) -> Answer:
        """What came back."""

    def heard(self, verdict: Verdict, due: Due | None) -> None:
        """Take note of a verdict."""
