"""What is due: an exact number with the error allowed, and everything that is made of such."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

UNIT_ROUNDOFF = Fraction(1, 2**24)
"""u of float32, rounding to nearest."""


def gamma(operations: int) -> Fraction:
    """k*u/(1 - k*u): the relative error that k float32 roundings can add up to.

    Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1.
    """
    return operations * UNIT_ROUNDOFF / (1 - operations * UNIT_ROUNDOFF)


class Number(Struct, frozen=True, tag=True):
    """A number within `bound` of `value`; infinities and NaN are met by themselves alone."""

    value: Fraction | float
    bound: Fraction = Fraction(0)


class Numbers(Struct, frozen=True, tag=True):
    """An array of exactly this shape, each item (in C order) as its `Number` says."""

    shape: tuple[int, ...]
    items: tuple[Number, ...]


class Truth(Struct, frozen=True, tag=True):
    """A truth value."""

    value: bool


class Truths(Struct, frozen=True, tag=True):
    """A 1-D array or list of truth values."""

    items: tuple[bool, ...]


class Text(Struct, frozen=True, tag=True):
    """Exactly this text; as a `word`, in any letter case and with blanks around it."""

    value: str
    word: bool = False


class YesOrNo(Struct, frozen=True, tag=True):
    """A truth value, or "yes" or "no" in any letter case."""

    value: bool


class Nothing(Struct, frozen=True, tag=True):
    """None."""


class Fields(Struct, frozen=True, tag=True):
    """A dict with (at least) these entries; None is one judged elsewhere. Further ones are let be.

    `unanswered`: an entry that is None or missing is not attempted, not wrong.
    """

    entries: dict[str, "Due | None"]
    unanswered: bool = False


class Texts(Struct, frozen=True, tag=True):
    """A dict of texts by name: not empty, and none of them blank."""


class Several(Struct, frozen=True, tag=True):
    """A tuple or list with one part for each of `parts`; None is a part judged elsewhere."""

    parts: tuple["Due | None", ...]


class OneOf(Struct, frozen=True, tag=True):
    """Any of these, where two readings of what is asked are both sensible."""

    options: tuple["Due", ...]


class Written(Struct, frozen=True, tag=True):
    """A text that a person reads; it is enough that there is one."""


class Raises(Struct, frozen=True, tag=True):
    """An exception of this built-in class, or of a subclass."""

    kind: str


Due: TypeAlias = (
    Number
    | Numbers
    | Truth
    | Truths
    | Text
    | YesOrNo
    | Nothing
    | Fields
    | Texts
    | OneOf
    | Several
    | Written
    | Raises
)


class Bounded(Protocol):
    """An exact value with a bound on a right program's error, as the oracle gives it."""

    @property
    def value(self) -> Fraction:
        """The exact value."""

    @property
    def bound(self) -> Fraction:
        """How far from it a right program's result may be."""


def number(value: Bounded | Fraction | float, bound: Fraction = Fraction(0)) -> Number:
    """A due number: an exact value with its bound, given as one thing or as two."""
    if isinstance(value, float) and is_special(value):
        return Number(value)
    if isinstance(value, int | float | Fraction):
        return Number(Fraction(value), bound)
    return Number(value.value, value.bound)


ANY_NUMBER = Number(Fraction(0))


def is_special(item: Any) -> bool:
    """Whether it is NaN or an infinity, which no Fraction can be."""
    return isinstance(item, float) and not math.isfinite(item)


def numbers(rows: Sequence[Any]) -> Numbers:
    """A due array from (nested) sequences of what `number` takes."""
    shape: list[int] = []
    level: list[Any] = [list(rows)]
    while isinstance(level[0], list | tuple):
        shape.append(len(level[0]))
        level = [item for row in level for item in row]
        if not level:
            break
    return Numbers(tuple(shape), tuple(number(item) for item in level))
