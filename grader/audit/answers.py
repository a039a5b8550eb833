"""Answers made from what is due: of someone with a misconception, or moved by so many bounds."""

import builtins
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from grader import judge
from grader.model import Answer, Array, Exchange, Misconception, Question, Raised, Returned, Value

Ask = Callable[[Question], Answer]
Move = Callable[[judge.Number, int], float]
"""A number to answer with, from the number due and its place in the answer."""


def remembered(ask: Callable[[Question], Any]) -> Callable[[Question], Any]:
    """`ask`, which answers a question that it was asked before from memory."""
    memory: dict[str, Any] = {}

    def asking(question: Question) -> Any:
        key = repr(question)
        if key not in memory:
            memory[key] = ask(question)
        return memory[key]

    return asking


def holding(entry: Misconception, solution: Ask) -> Ask:
    """Someone who has everything right but what this misconception is about."""

    def ask(question: Question) -> Answer:
        right = solution(question)
        return answer_of(entry.due(question), right, exactly)

    return ask


def exactly(due: judge.Number, _: int) -> float:
    """The number due itself."""
    return float(due.value)


def answer_of(due: judge.Due | None, right: Answer, move: Move) -> Answer:
    """The answer that `due` stands for, its numbers moved; `right` where it leaves one open."""
    if isinstance(due, judge.Raises):
        kinds = [kind.__name__ for kind in getattr(builtins, due.kind).__mro__]
        return Raised(due.kind, tuple(kinds), "")
    if due is None or isinstance(due, judge.Written):
        return right
    return Returned(value_of(due, right.value if isinstance(right, Returned) else None, move))


def value_of(due: judge.Due | None, right: Value, move: Move) -> Value:
    """The value that `due` stands for, its numbers moved; `right` where it leaves one open."""
    match due:
        case None:
            return right
        case judge.Number():
            return move(due, 0)
        case judge.Numbers(shape, items):
            moved = tuple(move(item, place) for place, item in enumerate(items))
            return Array("float64", shape, moved)
        case judge.Truth(value):
            return value
        case judge.Text(text):
            return text
        case judge.YesOrNo(value):
            return value
        case judge.Nothing():
            return None
        case judge.Fields(entries):
            known = right if isinstance(right, dict) else {}
            made = {n: _as_lists(value_of(due, known.get(n), move)) for n, due in entries.items()}
            return {**known, **made}
        case judge.Texts():
            return right
        case judge.OneOf(options):
            return value_of(options[0], right, move)
        case judge.Truths(items):
            return Array("bool", (len(items),), items)
        case judge.Several(parts):
            whole = right if isinstance(right, tuple) else (None,) * len(parts)
            return tuple(value_of(*pair, move) for pair in zip(parts, whole, strict=True))
    raise TypeError(f"no answer is made from {due!r} yet: say how in this test")


def _as_lists(value: Value) -> Value:
    """An array as lists in lists, which a dict that has to fit JSON may hold."""
    if not isinstance(value, Array) or not value.shape:
        return value
    items: tuple[Any, ...] = value.items
    for length in reversed(value.shape[1:]):
        items = tuple(zip(*[iter(items)] * length, strict=True))
    return items


def numbers_of(due: judge.Due | None) -> list[judge.Number]:
    """All numbers that are due, in order."""
    match due:
        case judge.Number():
            return [due]
        case judge.Numbers(items=items):
            return list(items)
        case judge.Several(parts):
            return [number for part in parts for number in numbers_of(part)]
        case judge.Fields(entries):
            return [number for entry in entries.values() for number in numbers_of(entry)]
    return []


# --- how far an answer is off ---------------------------------------------------------------------


def error_in_bounds(
    transcript: Iterable[Exchange], truth: Callable[[Question], judge.Due | None]
) -> float:
    """The largest error of all numbers in a transcript, over its bound.

    Infinite where a number is missing, not finite, or off where it has to be met exactly; -1 where
    no number was due.
    """
    largest = -1.0
    for exchange in transcript:
        due = truth(exchange.question)
        if isinstance(exchange.answer, Returned) and numbers_of(due):
            largest = max(largest, _error(due, exchange.answer.value))
    return largest


def _error(due: judge.Due | None, value: Value) -> float:
    match due:
        case judge.Number():
            items = _items(value)
            return _in_bounds(items[0], due) if len(items) == 1 else math.inf
        case judge.Numbers():
            items = _items(value)
            if len(items) != len(due.items):
                return math.inf
            return max(map(_in_bounds, items, due.items), default=0.0)
        case judge.Several(parts):
            if not isinstance(value, tuple) or len(value) != len(parts):
                return math.inf
            return max(map(_error, parts, value), default=0.0)
        case judge.Fields(entries):
            if not isinstance(value, dict) or not entries.keys() <= value.keys():
                return math.inf
            return max((_error(due, value[n]) for n, due in entries.items()), default=0.0)
    return 0.0


def _items(value: Value) -> list[Any]:
    if isinstance(value, Array):
        return list(value.items)
    return (
        [item for each in value for item in _items(each)] if isinstance(value, tuple) else [value]
    )


def _in_bounds(got: Any, due: judge.Number) -> float:
    if isinstance(due.value, float):  # an infinity or NaN
        return 0.0 if got == due.value or (got != got and due.value != due.value) else math.inf
    if not isinstance(got, int | float | Fraction) or not math.isfinite(got):
        return math.inf
    error = abs(Fraction(got) - due.value)
    if not error:
        return 0.0
    return float(min(error / due.bound, Fraction(10**300))) if due.bound else math.inf
