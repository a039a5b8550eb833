"""Is this answer the one that is due? The only place that compares a student's value with anything.

A `Due` states what is due; `judged` says whether an answer is it, and if not, why, in words for a
person. `expect` does the same inside a check, where a wrong answer ends it by an exception. Each
cause has an exception class of its own, so that shrinking never slides from one to another.
"""

import decimal
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, TypeVar

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

T = TypeVar("T")

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


class Truths(Struct, frozen=True, tag=True):
    """A 1-D array or list of truth values."""

    items: tuple[bool, ...]


class Text(Struct, frozen=True, tag=True):
    """Exactly this text."""

    value: str


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
    if isinstance(value, float) and _is_special(value):
        return Number(value)
    if isinstance(value, int | float | Fraction):
        return Number(Fraction(value), bound)
    return Number(value.value, value.bound)


ANY_NUMBER = Number(Fraction(0))


def _is_special(item: Any) -> bool:
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
    def answer(self) -> Answer:
        """What came back."""

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

    def read(reader: "_Reader", value: Value) -> Fraction:
        return reader.finite(value)

    return _taken(asked, "a finite number", read)


def finite_numbers(asked: Asked, shape: tuple[int, ...]) -> list[Fraction]:
    """The answer's items in C order, for checks that relate numbers of one answer."""

    def read(reader: "_Reader", value: Value) -> list[Fraction]:
        return reader.all_finite(value, shape)

    return _taken(asked, f"finite numbers in shape {shape}", read)


def finite_part(asked: Asked, part: int, of: int, shape: tuple[int, ...] | None) -> list[Fraction]:
    """One of several returned values, as its items; `shape` None is a scalar."""

    def read(reader: "_Reader", value: Value) -> list[Fraction]:
        taken = reader.parts(value, Several((None,) * of))[part]
        return [reader.finite(taken)] if shape is None else reader.all_finite(taken, shape)

    return _taken(asked, f"finite numbers in part {part + 1} of {of}", read)


def finite_at(asked: Asked, *path: str) -> list[Fraction]:
    """The finite numbers of a list of any length (or the one number), under these keys of dicts in
    dicts."""

    def read(reader: "_Reader", value: Value) -> list[Fraction]:
        for name in path:
            value = reader.entry(value, name, Fields(dict.fromkeys(path[-1:])))
        shape, _ = reader.flat(value, Numbers((0,), ()))
        return reader.all_finite(value, (math.prod(shape),)) if shape else [reader.finite(value)]

    return _taken(asked, f"finite numbers in {'.'.join(path)}", read)


def nones_at(asked: Asked, *path: str) -> list[bool]:
    """Which items of a list, under these keys of dicts in dicts, are None."""

    def read(reader: "_Reader", value: Value) -> list[bool]:
        for name in path:
            value = reader.entry(value, name, Fields(dict.fromkeys(path[-1:])))
        if not isinstance(value, tuple):
            raise WrongKind(f"{_kind(value)} where a list is due", shown(value), "a list")
        return [item is None for item in value]

    return _taken(asked, f"a list in {'.'.join(path)}", read)


def require(asked: Asked, holds: bool, what: str) -> None:
    """Refuse an answer that breaks a rule of the contract; `what` says the rule."""

    def read(_: "_Reader", value: Value) -> None:
        if not holds:
            raise WrongValue(what, shown(value), what)

    _taken(asked, what, read)


def json_ready(asked: Asked) -> None:
    """The answer is a dict that strict JSON can hold: no arrays, no NaN, nothing else in it."""

    def read(reader: "_Reader", value: Value) -> None:
        if not isinstance(value, dict):
            raise WrongKind(f"{_kind(value)} where a dict is due", shown(value), "a dict")
        reader.plain(value, "")

    _taken(asked, "a dict of numbers, texts, truth values, None, lists and dicts", read)


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
        [strict_json(_double(item)) for item in items[start : start + shape[1]]]
        for start in range(0, len(items), shape[1])
    ]


def _double(item: Any) -> float:
    """The nearest double; an infinity for what is beyond all doubles."""
    try:
        return float(item)
    except OverflowError:
        return math.inf if item > 0 else -math.inf


def _taken(asked: Asked, due: str, read: "Callable[[_Reader, Value], T]") -> T:
    reader = _Reader()
    try:
        taken = read(reader, reader.returned(asked.answer, due))
    except Wrong as wrong:
        wrong.due = wrong.due and due
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
                text = f"no answer came: {how}"
                raise ProcessEnded(text, "no answer", due)

    def exception(self, answer: Answer, due: Raises) -> None:
        if isinstance(answer, Raised):
            scaffold = "NotImplementedError" in answer.kinds and due.kind != "NotImplementedError"
            if due.kind in answer.kinds and not scaffold:
                return
            if not scaffold:
                text = f"raised {answer.type_name} where {due.kind} is due"
                got = f"{answer.type_name}: {answer.message}"
                raise NoException(text, got, f"{due.kind} raised")
        got = shown(self.returned(answer, told(due)))
        raise NoException(f"returned a value where {due.kind} is due", got, told(due))

    def value(self, value: Value, due: Due) -> None:
        match due:
            case Number():
                self._within(self.scalar(value, due), due, "", value)
            case Numbers():
                self._array(value, due)
            case Truth():
                self._truth(value, due)
            case Truths():
                self._truths(value, due)
            case Text():
                self._text(value, due)
            case YesOrNo():
                self._yes_or_no(value, due)
            case Nothing():
                if value is not None:
                    raise WrongKind(f"{_kind(value)} where None is due", shown(value), "None")
            case Fields():
                self._fields(value, due)
            case Texts():
                self._texts(value)
            case OneOf(options):
                self._one_of(value, options)
            case Several():
                for part, part_due in zip(self.parts(value, due), due.parts, strict=True):
                    if part_due is not None:
                        self.value(part, part_due)
            case Written():
                self._written(value)
            case Raises():
                raise TypeError("an exception can't be due inside a value")

    def scalar(self, value: Value, due: Number) -> Any:
        shape, items = self.flat(value, due)
        if shape not in ((), (1,)):
            text = f"shape {shape} where a single number is due"
            raise WrongShape(text, shown(value), told(due))
        if shape == (1,):
            self.notes.append("has shape (1,) where a scalar is due")
        return self._number(items[0], value, due)

    def finite(self, value: Value) -> Fraction:
        return self._finite(self.scalar(value, ANY_NUMBER), value)

    def all_finite(self, value: Value, shape: tuple[int, ...]) -> list[Fraction]:
        due = Numbers(shape, ())
        items = self._shaped(value, due)
        return [self._finite(self._number(item, value, due), value) for item in items]

    def _finite(self, got: Any, value: Value) -> Fraction:
        if not isinstance(got, Fraction):
            raise NotFinite(f"not finite: {_short(got)}", shown(value), "a finite number")
        return got

    def _array(self, value: Value, due: Numbers) -> None:
        items = self._shaped(value, due)
        for index, (item, item_due) in enumerate(zip(items, due.items, strict=True)):
            exact = self._number(item, value, due)
            self._within(exact, item_due, _position(index, due.shape), value, due)

    def _shaped(self, value: Value, due: Numbers) -> tuple[Any, ...]:
        """The items of a value of exactly the due shape; an empty list is any empty array."""
        shape, items = self.flat(value, due)
        if shape != due.shape and not (shape == (0,) and math.prod(due.shape) == 0):
            text = f"shape {shape} where shape {due.shape} is due"
            raise WrongShape(text, shown(value), told(due))
        return items

    def _within(
        self, got: Any, due: Number, where: str, value: Value, whole: Due | None = None
    ) -> None:
        """Raise unless `got`, a Fraction or a non-finite float, is within the bound."""
        wrong: type[Wrong] = WrongValue
        what = "a wrong number"
        if _is_special(due.value):
            right = got == due.value or (got != got and due.value != due.value)
        elif isinstance(got, float):
            right, wrong, what = False, NotFinite, "not finite"
        else:
            right = abs(got - Fraction(due.value)) <= due.bound
        if not right:
            text = f"{what}{where}: {_short(got)}"
            raise wrong(text, shown(value), told(whole or due), brief(due.bound))

    def _number(self, item: Any, value: Value, due: Due) -> Any:
        """The item as a Fraction; NaN and the infinities as they are."""
        if isinstance(item, bool):
            raise WrongKind("a truth value where a number is due", shown(value), told(due))
        return item if _is_special(item) else Fraction(item)

    def _truth(self, value: Value, due: Truth) -> None:
        shape, items = self.flat(value, due)
        if shape not in ((), (1,)):
            text = f"shape {shape} where a single truth value is due"
            raise WrongShape(text, shown(value), told(due))
        if shape == (1,):
            self.notes.append("has shape (1,) where a scalar is due")
        self._same_truth(items[0], due.value, value, due)

    def _truths(self, value: Value, due: Truths) -> None:
        shape, items = self.flat(value, due)
        if shape != (len(due.items),):
            text = f"shape {shape} where {len(due.items)} truth values are due"
            raise WrongShape(text, shown(value), told(due))
        for item, item_due in zip(items, due.items, strict=True):
            self._same_truth(item, item_due, value, due)

    def _same_truth(self, item: Any, item_due: bool, value: Value, due: Due) -> None:
        if not isinstance(item, bool):
            if item not in (0, 1):
                raise WrongKind("neither true nor false", shown(value), told(due))
            self.notes.append(f"returned {_short(item)} where a truth value is due")
        if bool(item) is not item_due:
            raise WrongValue(f"a wrong truth value: {bool(item)}", shown(value), told(due))

    def _text(self, value: Value, due: Text) -> None:
        if not isinstance(value, str):
            raise WrongKind(f"{_kind(value)} where a text is due", shown(value), told(due))
        if value != due.value:
            raise WrongValue(f"another text: {shown(value, 80)}", shown(value), told(due))

    def _yes_or_no(self, value: Value, due: YesOrNo) -> None:
        if isinstance(value, str):
            word = value.strip().lower()
            if word not in ("yes", "no"):
                raise WrongKind("neither yes nor no", shown(value), told(due))
            if (word == "yes") is not due.value:
                raise WrongValue("the other answer is due", shown(value), told(due))
            return
        self._truth(value, Truth(due.value))

    def entry(self, value: Value, name: str, due: Fields) -> Value:
        """One entry of a dict."""
        if not isinstance(value, dict):
            raise WrongKind(f"{_kind(value)} where a dict is due", shown(value), told(due))
        if name not in value:
            there = ", ".join(map(repr, list(value)[:8])) or "nothing"
            raise WrongShape(f"no entry {name!r}; found: {there}", shown(value), told(due))
        found: Value = value[name]
        return found

    def _fields(self, value: Value, due: Fields) -> None:
        for name, entry_due in due.entries.items():
            if due.unanswered and isinstance(value, dict) and value.get(name) is None:
                raise NotAttempted(f"{name} is not answered yet", "None")
            entry = self.entry(value, name, due)
            if entry_due is None:
                continue
            try:
                self.value(entry, entry_due)
            except Wrong as wrong:
                if len(due.entries) > 1 or not due.unanswered:
                    wrong.message = f"{name}: {wrong.message}"
                raise

    def _one_of(self, value: Value, options: tuple[Due, ...]) -> None:
        first: Wrong | None = None
        for option in options:
            try:
                return self.value(value, option)
            except Wrong as wrong:
                first = first or wrong
        assert first is not None, "one option at least"
        raise first

    def _texts(self, value: Value) -> None:
        due = told(Texts())
        if not isinstance(value, dict):
            raise WrongKind(f"{_kind(value)} where a dict is due", shown(value), due)
        if not value:
            raise WrongShape("an empty dict", shown(value), due)
        for name, text in value.items():
            if not isinstance(text, str):
                raise WrongKind(f"{name}: {_kind(text)} where a text is due", shown(value), due)
            if not text.strip():
                raise WrongValue(f"{name}: the text is blank", shown(value), due)

    def plain(self, value: Value, where: str) -> None:
        """Only what JSON has: an array's own double is one of Python's, too."""
        match value:
            case dict():
                for name, item in value.items():
                    self.plain(item, f"{where}.{name}".removeprefix("."))
            case tuple():
                for item in value:
                    self.plain(item, where)
            case Array("float64", (), (number,)) if math.isfinite(number):
                return
            case float() if not math.isfinite(value):
                text = f"{where}: {_short(value)}, which JSON can't hold"
                raise NotFinite(text, _short(value), "a finite number, or None")
            case Array() | Opaque() | Fraction():
                text = f"{where}: {_kind(value)}, which JSON can't hold; lists and floats can be"
                raise WrongKind(text, shown(value, 200), "plain numbers, texts, lists and dicts")

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
                text = "rows of different shapes: " + ", ".join(map(str, sorted(shapes)[:4]))
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
        case tuple():
            return f"{len(value)} values"
        case bool():
            return "a truth value"
        case _:
            return "a single number"


def _wanted(due: Due) -> str:
    match due:
        case Number():
            return "a number"
        case Numbers() | Truths():
            return "an array"
        case Truth():
            return "a truth value"
    return "a value"


def _position(index: int, shape: tuple[int, ...]) -> str:
    place: list[int] = []
    for length in reversed(shape):
        index, position = divmod(index, length)
        place.insert(0, position)
    match place:
        case []:
            return ""
        case [only]:
            return f" at index {only}"
        case [row, column]:
            return f" at row {row}, column {column}"
    return f" at index {tuple(place)}"


def brief(number: Any) -> str:
    """A bound in two digits, rounded up in the last."""
    digits = decimal.Context(prec=2, rounding=decimal.ROUND_CEILING)
    ratio = Fraction(number)
    return f"{float(digits.divide(ratio.numerator, ratio.denominator)):.2g}"


def _short(item: Any, single: bool = False) -> str:
    """A number as a person writes it: the shortest decimal that gives it back."""
    if isinstance(item, Fraction):
        if item and not Fraction(1, 10**300) < abs(item) < 10**300:
            ratio = decimal.Context(prec=6, Emax=10**6, Emin=-(10**6))
            return f"{ratio.divide(item.numerator, item.denominator):.5e}"
        item = float(item)
    if isinstance(item, float) and single and math.isfinite(item):
        for digits in range(1, 10):
            text = f"{item:.{digits}g}"
            if _float32(float(text)) == _float32(item):
                return repr(float(text))
    text = repr(item)
    return text if len(text) <= 40 else f"{text[:20]}...{text[-10:]}"


def _float32(number: float) -> bytes | None:
    """The nearest float32; None for what is beyond the largest one."""
    try:
        return struct.pack("<f", number)
    except OverflowError:
        return None


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
        case Text(value):
            return repr(value)
        case YesOrNo(value):
            return "yes" if value else "no"
        case Nothing():
            return "None"
        case Fields(entries):
            pairs = ((name, "..." if e is None else told(e)) for name, e in entries.items())
            return "{" + ", ".join(f"{name!r}: {text}" for name, text in pairs) + "}"
        case Texts():
            return "a dict of texts, none of them blank"
        case OneOf(options):
            return " or ".join(map(told, options))
        case Truths(values):
            return _nested([str(value) for value in values], (len(values),))
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
        case Number(value) if _is_special(value):
            return {"not_finite": str(value)}
        case Number(value, bound):
            exact, nearest = Fraction(value), float(value)
            return {"value": nearest, "bound": _up(bound + abs(Fraction(nearest) - exact))}
        case Numbers(shape, items):
            return {"shape": list(shape), "items": [bake(item) for item in items]}
        case Truth(value):
            return {"truth": value}
        case Truths(values):
            return {"truths": list(values)}
        case Text(value):
            return {"text": value}
        case YesOrNo(value):
            return {"yes": value}
        case Nothing():
            return {"nothing": True}
        case Fields(entries, unanswered):
            baked_entries = {n: None if e is None else bake(e) for n, e in entries.items()}
            return {"fields": baked_entries, "unanswered": unanswered}
        case Texts():
            return {"texts": True}
        case OneOf(options):
            return {"one_of": [bake(option) for option in options]}
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
        case {"truths": values}:
            return Truths(tuple(values))
        case {"text": text}:
            return Text(text)
        case {"yes": value}:
            return YesOrNo(value)
        case {"nothing": True}:
            return Nothing()
        case {"fields": entries, "unanswered": unanswered}:
            dues = {n: None if e is None else baked(e) for n, e in entries.items()}
            return Fields(dues, unanswered)
        case {"texts": True}:
            return Texts()
        case {"one_of": options}:
            return OneOf(tuple(baked(option) for option in options))
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
