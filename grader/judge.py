"""Is this answer the one that is due? The only place that compares a student's value with anything.

A `Due` states what is due; `judged` says whether an answer is it, and if not, why, in words for a
person. `expect` does the same inside a check, where a wrong answer ends it by an exception. Each
cause has an exception class of its own, so that shrinking never slides from one to another.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from grader.model import (
    Answer,
    Array,
    Crashed,
    Missing,
    Opaque,
    Raised,
    Returned,
    TimedOut,
    Value,
    strict_json,
)

UNIT_ROUNDOFF = Fraction(1, 2**24)
"""u of float32, rounding to nearest."""


def gamma(operations: int) -> Fraction:
    """k*u/(1 - k*u): the relative error that k float32 roundings can add up to.

    Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1.
    """
    return operations * UNIT_ROUNDOFF / (1 - operations * UNIT_ROUNDOFF)


# --- what is due -------------------------------------------------------------------------------


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


class Several(Struct, frozen=True, tag=True):
    """A tuple or list with one part for each of `parts`; None is a part judged elsewhere."""

    parts: tuple["Due | None", ...]


class Written(Struct, frozen=True, tag=True):
    """A text that a person reads; it is enough that there is one."""


class Raises(Struct, frozen=True, tag=True):
    """An exception of this built-in class, or of a subclass."""

    kind: str


Due: TypeAlias = Number | Numbers | Truth | Several | Written | Raises


class Bounded(Protocol):
    """An exact value with a bound on a right program's error, as the oracle gives it."""

    @property
    def value(self) -> Fraction: ...

    @property
    def bound(self) -> Fraction: ...


def number(value: Bounded | Fraction | float, bound: Fraction = Fraction(0)) -> Number:
    """A due number: an exact value with its bound, given as one thing or as two."""
    if isinstance(value, float) and not math.isfinite(value):
        return Number(value)
    if isinstance(value, int | float | Fraction):
        return Number(Fraction(value), bound)
    return Number(value.value, value.bound)


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


# --- what is said of an answer -----------------------------------------------------------------


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
    def answer(self) -> Answer: ...

    def heard(self, verdict: Verdict, due: Due | None) -> None:
        """Take note of a verdict."""


def expect(asked: Asked, due: Due) -> None:
    """Hold an answer against what is due; a `Wrong` of its cause's class if it is not that."""
    verdict = judged(asked.answer, due)
    asked.heard(verdict, due)
    if verdict.wrong is not None:
        verdict.wrong.asked = asked
        raise verdict.wrong


def finite_number(asked: Asked) -> Fraction:
    """The answer as an exact number, for checks that relate two answers of one function."""
    return _taken(asked, lambda reader, value: reader.scalar(value, Number(Fraction(0))))


def finite_numbers(asked: Asked, shape: tuple[int, ...]) -> list[Fraction]:
    """The answer's items in C order, for checks that relate numbers of one answer."""
    due = Numbers(shape, (Number(Fraction(0)),) * math.prod(shape))
    return _taken(asked, lambda reader, value: reader.items(value, due))


def finite_part(asked: Asked, part: int, of: int, shape: tuple[int, ...] | None) -> list[Fraction]:
    """One of several returned values, as its items; `shape` None is a scalar."""

    def read(reader: "_Reader", value: Value) -> list[Fraction]:
        parts = reader.parts(value, Several((None,) * of))
        if shape is None:
            return [reader.scalar(parts[part], Number(Fraction(0)))]
        due = Numbers(shape, (Number(Fraction(0)),) * math.prod(shape))
        return reader.items(parts[part], due)

    return _taken(asked, read)


def rows(answer: Answer, part: int, shape: tuple[int, int]) -> list[list[Any]] | None:
    """A table among the returned values, as strict JSON; None when there is none of this shape."""
    reader = _Reader()
    try:
        value = reader.returned(answer, "")
        table = value[part] if isinstance(value, tuple) and part < len(value) else None
        found, items = reader.flat(table, Numbers(shape, ()))
    except Wrong:
        return None
    if found != shape:
        return None
    return [
        [strict_json(float(item)) for item in items[start : start + shape[1]]]
        for start in range(0, len(items), shape[1])
    ]


def _taken(asked: Asked, read: Any) -> Any:
    reader = _Reader()
    try:
        value = reader.returned(asked.answer, "a number")
        taken = read(reader, value)
    except Wrong as wrong:
        asked.heard(Verdict(wrong), None)
        wrong.asked = asked
        raise
    asked.heard(Verdict(None, tuple(reader.notes)), None)
    return taken


def judged(answer: Answer, due: Due) -> Verdict:
    """Whether `answer` is the one due. Never raises for anything that an answer can be."""
    reader = _Reader()
    try:
        if isinstance(due, Raises):
            reader.exception(answer, due)
        else:
            reader.value(reader.returned(answer, told(due)), due)
    except Wrong as wrong:
        return Verdict(wrong)
    return Verdict(None, tuple(reader.notes))


class _Reader:
    """Reads one answer against one due, raising the `Wrong` it meets first and keeping notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def returned(self, answer: Answer, due: str) -> Value:
        match answer:
            case Returned(value, changed):
                if changed:
                    text = "the function changes its argument; work on a copy"
                    raise ChangedArgument(text, shown(value), due)
                return value
            case Missing(why):
                raise NotAttempted(why or "there is no such name in the submission", "", due)
            case Raised(name, kinds, message, line):
                got = f"{name}: {message}" if message else name
                if "NotImplementedError" in kinds:
                    raise NotAttempted("still the scaffold's: it raises NotImplementedError", got)
                where = f" (line {line})" if line else ""
                raise UnexpectedException(f"raised {got}{where}", got, due)
            case TimedOut():
                raise OutOfTime(
                    "the time limit was reached before an answer came", "no answer", due
                )
            case Crashed(how):
                text = f"the call ended the process it ran in: {how}"
                raise ProcessEnded(text, "no answer", due)

    def exception(self, answer: Answer, due: Raises) -> None:
        if isinstance(answer, Raised):
            if due.kind in answer.kinds:
                return
            if "NotImplementedError" not in answer.kinds:
                text = f"raised {answer.type_name} where {due.kind} is due"
                got = f"{answer.type_name}: {answer.message}"
                raise NoException(text, got, f"{due.kind} raised")
        got = shown(self.returned(answer, told(due)))
        raise NoException(f"returned a value where {due.kind} is due", got, told(due))

    def value(self, value: Value, due: Due) -> None:
        match due:
            case Number():
                self._within(self.scalar(value, due, finite=False), due, "", value)
            case Numbers():
                self._array(value, due)
            case Truth():
                self._truth(value, due)
            case Several():
                for part, part_due in zip(self.parts(value, due), due.parts, strict=True):
                    if part_due is not None:
                        self.value(part, part_due)
            case Written():
                self._written(value)
            case Raises():
                raise TypeError("an exception can't be due inside a value")

    def scalar(self, value: Value, due: Number, finite: bool = True) -> Any:
        shape, items = self.flat(value, due)
        if shape not in ((), (1,)):
            text = f"shape {shape} where a single number is due"
            raise WrongShape(text, shown(value), told(due))
        if shape == (1,):
            self.notes.append("returned shape (1,) where a scalar is due")
        return self._number(items[0], value, due, finite)

    def items(self, value: Value, due: Numbers) -> list[Fraction]:
        shape, items = self.flat(value, due)
        if shape != due.shape and not (math.prod(shape) == 0 == math.prod(due.shape)):
            text = f"shape {shape} where shape {due.shape} is due"
            raise WrongShape(text, shown(value), told(due))
        return [self._number(item, value, due, finite=True) for item in items]

    def _array(self, value: Value, due: Numbers) -> None:
        shape, items = self.flat(value, due)
        if shape != due.shape and not (len(items) == 0 == math.prod(due.shape)):
            text = f"shape {shape} where shape {due.shape} is due"
            raise WrongShape(text, shown(value), told(due))
        for index, (item, item_due) in enumerate(zip(items, due.items, strict=True)):
            where = f" at {_position(index, due.shape)}"
            exact = self._number(item, value, due, finite=False)
            self._within(exact, item_due, where, value, due)

    def _within(
        self, got: Any, due: Number, where: str, value: Value, whole: Due | None = None
    ) -> None:
        """Raise unless `got`, a Fraction or a non-finite float, is within the bound."""
        texts = (shown(value), told(whole or due), brief(due.bound))
        if isinstance(due.value, float):
            if got != due.value and not (got != got and due.value != due.value):
                raise WrongValue(f"a wrong number{where}: {_short(got)}", *texts)
        elif isinstance(got, float):
            raise NotFinite(f"not finite{where}: {_short(got)}", *texts)
        elif abs(got - due.value) > due.bound:
            raise WrongValue(f"a wrong number{where}: {_short(got)}", *texts)

    def _number(self, item: Any, value: Value, due: Due, finite: bool) -> Any:
        if isinstance(item, bool):
            raise WrongKind("a truth value where a number is due", shown(value), told(due))
        if isinstance(item, float) and not math.isfinite(item):
            if finite:
                raise NotFinite(f"not finite: {_short(item)}", shown(value), told(due))
            return item
        return Fraction(item)

    def _truth(self, value: Value, due: Truth) -> None:
        shape, items = self.flat(value, due)
        if shape not in ((), (1,)):
            text = f"shape {shape} where a single truth value is due"
            raise WrongShape(text, shown(value), told(due))
        item = items[0]
        if shape == (1,):
            self.notes.append("returned shape (1,) where a scalar is due")
        if not isinstance(item, bool):
            if item not in (0, 1):
                raise WrongKind("neither true nor false", shown(value), told(due))
            self.notes.append(f"returned {_short(item)} where a truth value is due")
        if bool(item) is not due.value:
            raise WrongValue(f"a wrong truth value: {bool(item)}", shown(value), told(due))

    def _written(self, value: Value) -> None:
        if not isinstance(value, str):
            raise WrongKind(f"{_kind(value)} where a text is due", shown(value), "a text")
        if not value.strip():
            raise NotAttempted("the text is still empty", "")
        raise NeedsPerson(value, shown(value))

    def parts(self, value: Value, due: Several) -> tuple[Value, ...]:
        if not isinstance(value, tuple):
            text = f"{len(due.parts)} values are due, as a tuple; found {_kind(value)}"
            raise WrongKind(text, shown(value), told(due))
        if len(value) != len(due.parts):
            text = f"{len(value)} values where {len(due.parts)} are due"
            raise WrongShape(text, shown(value), told(due))
        return value

    def flat(self, value: Value, due: Due) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        """Shape and items of a number, an array, or (nested) sequences of them."""
        if isinstance(value, Array):
            return value.shape, value.items
        if isinstance(value, bool | int | float | Fraction):
            return (), (value,)
        if isinstance(value, tuple):
            rows = [self.flat(item, due) for item in value]
            shapes = {shape for shape, _ in rows}
            if len(shapes) > 1:
                text = "rows of different shapes: " + ", ".join(map(str, sorted(shapes)))
                raise WrongShape(text, shown(value), told(due))
            inner = shapes.pop() if shapes else ()
            return (len(rows), *inner), tuple(item for _, items in rows for item in items)
        raise WrongKind(f"{_kind(value)} where {_wanted(due)} is due", shown(value), told(due))


# --- words ---------------------------------------------------------------------------------------


def _kind(value: Value) -> str:
    match value:
        case None:
            return "nothing (None; is a return missing?)"
        case str():
            return "text"
        case Opaque(description):
            return description
        case dict():
            return "a dict"
        case Array(_, shape, _):
            return f"an array of shape {shape}"
        case _:
            return "a single value"


def _wanted(due: Due) -> str:
    return {Number: "a number", Numbers: "an array", Truth: "a truth value"}.get(
        type(due), "a value"
    )


def _position(index: int, shape: tuple[int, ...]) -> str:
    place: list[int] = []
    for length in reversed(shape):
        index, position = divmod(index, length)
        place.insert(0, position)
    return f"index {place[0]}" if len(place) == 1 else f"row {place[0]}, column {place[-1]}"


def brief(number: Any) -> str:
    """A bound in two digits, rounded up in the last."""
    return f"{float(number):.2g}"


def _short(item: Any, single: bool = False) -> str:
    """A number as a person writes it: the shortest decimal that gives it back."""
    if isinstance(item, Fraction):
        item = float(item) if abs(item) < Fraction(10) ** 300 else math.copysign(math.inf, item)
    if isinstance(item, float) and single and math.isfinite(item):
        for digits in range(1, 10):
            text = f"{item:.{digits}g}"
            if struct.pack("<f", float(text)) == struct.pack("<f", item):
                return repr(float(text))
    text = repr(item)
    return text if len(text) <= 40 else f"{text[:20]}...{text[-10:]}"


def shown(value: Value, limit: int = 600) -> str:
    """A value as text for a person, at most `limit` characters."""
    text = "".join(_pieces(value, 0))
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _pieces(value: Value, depth: int) -> Iterator[str]:
    match value:
        case Array(dtype, shape, items):
            single = dtype == "float32"
            yield _nested([_short(item, single) for item in items], shape)
        case tuple():
            yield "("
            for place, item in enumerate(value):
                yield ", " if place else ""
                yield from _pieces(item, depth + 1)
            yield ",)" if len(value) == 1 else ")"
        case dict():
            yield "{"
            for place, (key, item) in enumerate(value.items()):
                yield (", " if place else "") + f"{key!r}: "
                yield from _pieces(item, depth + 1)
            yield "}"
        case Opaque(description):
            yield description
        case str():
            yield repr(value[:200])
        case _:
            yield _short(value)


def _nested(items: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return items[0]
    if len(shape) == 1:
        return "[" + ", ".join(items) + "]"
    step = math.prod(shape[1:])
    rows = [items[start * step : (start + 1) * step] for start in range(shape[0])]
    return "[" + ", ".join(_nested(row, shape[1:]) for row in rows) + "]"


def told(due: Due) -> str:
    """What is due, as text for a person."""
    match due:
        case Number(value):
            return _short(value if isinstance(value, float) else Fraction(value))
        case Numbers(shape, items):
            return _nested([told(item) for item in items], shape)[:600]
        case Truth(value):
            return str(value)
        case Several(parts):
            return "(" + ", ".join("..." if part is None else told(part) for part in parts) + ")"
        case Written():
            return "a text"
        case Raises(kind):
            return f"{kind} raised"


# --- dues as plain data, for what ships without the oracle ---------------------------------------


def bake(due: Due) -> dict[str, Any]:
    """A due as JSON-ready data: numbers as doubles, their rounding added to the bound."""
    match due:
        case Number(float() as value):
            return {"not_finite": str(value)}
        case Number(value, bound):
            nearest = float(value)
            return {"value": nearest, "bound": _up(bound + abs(Fraction(nearest) - value))}
        case Numbers(shape, items):
            return {"shape": list(shape), "items": [bake(item) for item in items]}
        case Truth(value):
            return {"truth": value}
        case Several(parts):
            return {"parts": [None if part is None else bake(part) for part in parts]}
        case Written():
            return {"written": True}
        case Raises(kind):
            return {"raises": kind}


def _up(bound: Fraction) -> float:
    nearest = float(bound)
    return nearest if Fraction(nearest) >= bound else math.nextafter(nearest, math.inf)


def baked(data: dict[str, Any]) -> Due:
    """The due that `bake` made the data from."""
    match data:
        case {"not_finite": name}:
            return Number(float(name))
        case {"value": value, "bound": bound}:
            return Number(Fraction(value), Fraction(bound))
        case {"shape": shape, "items": items}:
            return Numbers(tuple(shape), tuple(number_from(item) for item in items))
        case {"truth": value}:
            return Truth(value)
        case {"parts": parts}:
            return Several(tuple(None if part is None else baked(part) for part in parts))
        case {"written": True}:
            return Written()
        case {"raises": kind}:
            return Raises(kind)
    raise ValueError(f"no due is baked like this: {data}")


def number_from(data: dict[str, Any]) -> Number:
    """A baked number; ValueError for anything else."""
    due = baked(data)
    if not isinstance(due, Number):
        raise ValueError(f"a number was expected, found {data}")
    return due
