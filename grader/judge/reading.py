"""One answer, read against one due: the one place that compares a student's value with anything."""

import math
import sys
from fractions import Fraction
from typing import Any

from grader.judge.dues import (
    ANY_NUMBER,
    Due,
    Fields,
    Nothing,
    Number,
    Numbers,
    OneOf,
    Raises,
    Several,
    Text,
    Texts,
    Truth,
    Truths,
    Written,
    YesOrNo,
    is_special,
)
from grader.judge.verdicts import (
    ChangedArgument,
    NeedsPerson,
    NoException,
    NotAttempted,
    NotFinite,
    OutOfTime,
    ProcessEnded,
    UnexpectedException,
    Wrong,
    WrongKind,
    WrongShape,
    WrongValue,
)
from grader.judge.words import brief, kind, position, short, shown, told, wanted
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
)

LARGEST = Fraction(sys.float_info.max)
# Bits in all, more than a right run of twelve rows in Fractions can have. Those of doubles are
# powers of two, make no sum longer, and do not count.
MAX_DENOMINATORS = 200_000
# By a part of what an exception says, with a full stop behind it: what it comes from.
_OF_THE_CALL = {
    "() takes ": "it is called with its arguments in the page's order, and none by name",
    "() missing ": "it is called with the page's arguments alone: no self, and nothing further",
}
_ANYWHERE = {
    "unhashable type: 'jaxlib": "an array can't be kept by a cache: take it off",
    # Of semaphores: the same of a file goes on with its name.
    "[Errno 30] Read-only file system.": "a page can't start other processes (multiprocessing)",
}


def _why(message: str, line: int | None) -> str:
    """What else to say of an exception; `line` is the one of the page, where it passed one."""
    known = _ANYWHERE if line else _OF_THE_CALL | _ANYWHERE
    return next((f"; {why}" for mark, why in known.items() if mark in f"{message}."), "")


class Reader:
    """Reads one answer against one due, raising the `Wrong` it meets first and keeping notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def returned(self, answer: Answer, due: Due | str) -> Value:
        """The value that came back; the `Wrong` that anything else is, which tells what is due."""
        if isinstance(answer, Returned) and not answer.changed_argument:
            return answer.value  # nearly always, and telling takes a while
        due = due if isinstance(due, str) else told(due)
        match answer:
            case Returned(value):
                text = "the function changes its argument; work on a copy"
                raise ChangedArgument(text, shown(value), due)
            case Missing(why):
                raise NotAttempted(why or "there is no such name in the submission", "", due)
            case Raised(name, kinds, message, line):
                got = f"{name}: {message}" if message else name
                if "NotImplementedError" in kinds:
                    raise NotAttempted("still the scaffold's: it raises NotImplementedError", got)
                where = f" (line {line})" if line else ""
                why = _why(message, line)
                raise UnexpectedException(f"raised {got}{where}{why}", got, due)
            case TimedOut():
                raise OutOfTime(
                    "the time limit was reached before an answer came", "no answer", due
                )
            case Crashed(how):
                text = f"no answer came: {how}"
                raise ProcessEnded(text, "no answer", due)

    def exception(self, answer: Answer, due: Raises) -> None:
        """The due exception, or a subclass of it."""
        if isinstance(answer, Raised):
            scaffold = "NotImplementedError" in answer.kinds and due.kind != "NotImplementedError"
            if due.kind in answer.kinds and not scaffold:
                return
            if not scaffold:
                text = f"raised {answer.type_name} where {due.kind} is due"
                got = f"{answer.type_name}: {answer.message}"
                raise NoException(text, got, f"{due.kind} raised")
        got = shown(self.returned(answer, due))
        raise NoException(f"returned a value where {due.kind} is due", got, told(due))

    def value(self, value: Value, due: Due) -> None:
        """A value that is the due one."""
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
                    raise WrongKind(f"{kind(value)} where None is due", shown(value), "None")
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
        """One number, as a Fraction, or as the float that NaN and the infinities are."""
        shape, items = self.flat(value, due)
        if shape not in ((), (1,)):
            text = f"shape {shape} where a single number is due"
            raise WrongShape(text, shown(value), told(due))
        if shape == (1,):
            self.notes.append("has shape (1,) where a scalar is due")
        return self._number(items[0], value, due)

    def finite(self, value: Value) -> Fraction:
        """One finite number."""
        return self._finite(self.scalar(value, ANY_NUMBER), value)

    def all_finite(self, value: Value, shape: tuple[int, ...]) -> list[Fraction]:
        """The finite numbers of an array of this shape."""
        due = Numbers(shape, ())
        items = self._shaped(value, due)
        found = [self._finite(self._number(item, value, due), value) for item in items]
        others = [n.denominator for n in found if n.denominator & (n.denominator - 1)]
        if sum(map(int.bit_length, others)) > MAX_DENOMINATORS:
            raise WrongKind("Fractions of too many digits to compute with", shown(value), told(due))
        return found

    def _finite(self, got: Any, value: Value) -> Fraction:
        if not isinstance(got, Fraction):
            raise NotFinite(f"not finite: {short(got)}", shown(value), "a finite number")
        if abs(got) > LARGEST:
            text = f"beyond the largest floating-point number: {short(got)}"
            raise NotFinite(text, shown(value), "a finite number")
        return got

    def _array(self, value: Value, due: Numbers) -> None:
        items = self._shaped(value, due)
        for index, (item, item_due) in enumerate(zip(items, due.items, strict=True)):
            exact = self._number(item, value, due)
            self._within(exact, item_due, position(index, due.shape), value, due)

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
        if is_special(due.value):
            right = got == due.value or (got != got and due.value != due.value)
        elif isinstance(got, float):
            right, wrong, what = False, NotFinite, "not finite"
        else:
            right = abs(got - Fraction(due.value)) <= due.bound
        if not right:
            text = f"{what}{where}: {short(got)}"
            raise wrong(text, shown(value), told(whole or due), brief(due.bound))

    def _number(self, item: Any, value: Value, due: Due) -> Any:
        """The item as a Fraction; NaN and the infinities as they are."""
        if isinstance(item, bool):
            raise WrongKind("a truth value where a number is due", shown(value), told(due))
        return item if is_special(item) else Fraction(item)

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
            self.notes.append(f"returned {short(item)} where a truth value is due")
        if bool(item) is not item_due:
            raise WrongValue(f"a wrong truth value: {bool(item)}", shown(value), told(due))

    def _text(self, value: Value, due: Text) -> None:
        if not isinstance(value, str):
            raise WrongKind(f"{kind(value)} where a text is due", shown(value), told(due))
        if (value.strip().lower() if due.word else value) != due.value:
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
            raise WrongKind(f"{kind(value)} where a dict is due", shown(value), told(due))
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
            raise WrongKind(f"{kind(value)} where a dict is due", shown(value), due)
        if not value:
            raise WrongShape("an empty dict", shown(value), due)
        for name, text in value.items():
            if not isinstance(text, str):
                raise WrongKind(f"{name}: {kind(text)} where a text is due", shown(value), due)
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
                text = f"{where}: {short(value)}, which JSON can't hold"
                raise NotFinite(text, short(value), "a finite number, or None")
            case Array() | Opaque() | Fraction():
                text = f"{where}: {kind(value)}, which JSON can't hold; lists and floats can be"
                raise WrongKind(text, shown(value, 200), "plain numbers, texts, lists and dicts")

    def _written(self, value: Value) -> None:
        if not isinstance(value, str):
            text = f"{kind(value)} where a text is due: write it in quotes"
            if isinstance(value, tuple) and any(isinstance(part, str) for part in value):
                text += ", and leave out the commas between its parts"
            raise WrongKind(text, shown(value), "a text")
        if not value.strip():
            raise NotAttempted("the text is still empty", "")
        raise NeedsPerson(value, shown(value))

    def parts(self, value: Value, due: Several) -> tuple[Value, ...]:
        """The parts of a tuple of as many as are due."""
        if not isinstance(value, tuple):
            text = f"{len(due.parts)} values are due, as a tuple; found {kind(value)}"
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
        text = f"{kind(value)} where {wanted(due)} is due"
        if isinstance(value, str) and isinstance(due, Number):
            text += ": write it without quotes, and decimals with a point"
        raise WrongKind(text, shown(value), told(due))
