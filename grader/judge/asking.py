"""What checks call: hold an answer against what is due, or take out of it what can be related."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from grader.judge.dues import Due, Fields, Numbers, Raises, Several
from grader.judge.reading import Reader
from grader.judge.verdicts import Asked, Verdict, Wrong, WrongKind, WrongValue
from grader.judge.words import kind, shown
from grader.model import Answer, Value, nearest_double, strict_json

T = TypeVar("T")


def expect(asked: Asked, due: Due) -> None:
    """Hold an answer against what is due; a `Wrong` of its cause's class if it is not that."""
    verdict = judged(asked.answer, due)
    asked.heard(verdict, due)
    if verdict.wrong is not None:
        verdict.wrong.asked = asked
        raise verdict.wrong


def finite_number(asked: Asked) -> Fraction:
    """The answer as an exact number, for checks that relate two answers of one function."""

    def read(reader: Reader, value: Value) -> Fraction:
        return reader.finite(value)

    return _taken(asked, "a finite number", read)


def finite_numbers(asked: Asked, shape: tuple[int, ...]) -> list[Fraction]:
    """The answer's items in C order, for checks that relate numbers of one answer."""

    def read(reader: Reader, value: Value) -> list[Fraction]:
        return reader.all_finite(value, shape)

    return _taken(asked, f"finite numbers in shape {shape}", read)


def finite_part(asked: Asked, part: int, of: int, shape: tuple[int, ...] | None) -> list[Fraction]:
    """One of several returned values, as its items; `shape` None is a scalar."""

    def read(reader: Reader, value: Value) -> list[Fraction]:
        taken = reader.parts(value, Several((None,) * of))[part]
        return [reader.finite(taken)] if shape is None else reader.all_finite(taken, shape)

    return _taken(asked, f"finite numbers in part {part + 1} of {of}", read)


def _under(reader: Reader, value: Value, path: Sequence[str]) -> Value:
    """What is under these keys of dicts in dicts."""
    for name in path:
        value = reader.entry(value, name, Fields(dict.fromkeys(path[-1:])))
    return value


def finite_at(asked: Asked, *path: str) -> list[Fraction]:
    """The finite numbers of a list of any length (or the one number), under these keys of dicts in
    dicts."""

    def read(reader: Reader, value: Value) -> list[Fraction]:
        value = _under(reader, value, path)
        shape, _ = reader.flat(value, Numbers((0,), ()))
        return reader.all_finite(value, (math.prod(shape),)) if shape else [reader.finite(value)]

    return _taken(asked, f"finite numbers in {'.'.join(path)}", read)


def number_at(asked: Asked, *path: str) -> Fraction:
    """The one finite number under these keys of dicts in dicts."""

    def read(reader: Reader, value: Value) -> Fraction:
        return reader.finite(_under(reader, value, path))

    return _taken(asked, f"a finite number in {'.'.join(path)}", read)


def nones_at(asked: Asked, *path: str) -> list[bool]:
    """Which items of a list, under these keys of dicts in dicts, are None."""

    def read(reader: Reader, value: Value) -> list[bool]:
        value = _under(reader, value, path)
        if not isinstance(value, tuple):
            raise WrongKind(f"{kind(value)} where a list is due", shown(value), "a list")
        return [item is None for item in value]

    return _taken(asked, f"a list in {'.'.join(path)}", read)


def require(asked: Asked, holds: bool, what: str) -> None:
    """Refuse an answer that breaks a rule of the contract; `what` says the rule."""

    def read(_: Reader, value: Value) -> None:
        if not holds:
            raise WrongValue(what, shown(value), what)

    _taken(asked, what, read)


def json_ready(asked: Asked) -> None:
    """The answer is a dict that strict JSON can hold: no arrays, no NaN, nothing else in it."""

    def read(reader: Reader, value: Value) -> None:
        if not isinstance(value, dict):
            raise WrongKind(f"{kind(value)} where a dict is due", shown(value), "a dict")
        reader.plain(value, "")

    _taken(asked, "a dict of numbers, texts, truth values, None, lists and dicts", read)


def rows(answer: Answer, part: int, shape: tuple[int, int]) -> list[list[Any]] | None:
    """A table among the returned values, as strict JSON; None when there is none of this shape."""
    reader = Reader()
    try:
        value = reader.returned(answer, "")
        table = value[part] if isinstance(value, tuple) and part < len(value) else None
        found, items = reader.flat(table, Numbers(shape, ()))
    except Wrong:
        return None
    if found != shape:
        return None
    return [
        [strict_json(nearest_double(item)) for item in items[start : start + shape[1]]]
        for start in range(0, len(items), shape[1])
    ]


def _taken(asked: Asked, due: str, read: Callable[[Reader, Value], T]) -> T:
    reader = Reader()
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
    reader = Reader()
    try:
        if isinstance(due, Raises):
            reader.exception(answer, due)
        else:
            reader.value(reader.returned(answer, due), due)
    except Wrong as wrong:
        return Verdict(wrong)
    return Verdict(None, tuple(reader.notes))
