"""Dues as plain data, for what ships without the oracle."""

import math
from fractions import Fraction
from typing import Any

from grader.judge.dues import (
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


def bake(due: Due) -> dict[str, Any]:
    """A due as JSON-ready data: numbers as doubles, their rounding added to the bound."""
    match due:
        case Number(value) if is_special(value):
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
        case Text(value, word):
            return {"word": value} if word else {"text": value}
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
        case {"word": text}:
            return Text(text, word=True)
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
