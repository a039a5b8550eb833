"""Strategies that keys and public checks draw their inputs from.

The same draws on every machine: Hypothesis mixes constants that it finds in imported modules into
some of its strategies, so that they change with what else is imported. Strategies made only of
whole numbers within +-99 and of short `sampled_from` lists are immune, and nothing else is used.

Lengths come from a short list, since each new array shape costs a compilation.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
C = TypeVar("C")

LENGTHS = (1, 2, 3, 5)
NOT_FINITE = (math.nan, math.inf, -math.inf)

Marks: TypeAlias = list[float | None]
"""For each entry of a vector a number that is not finite, or None where the entry stays."""

small = st.integers(-99, 99)
digits = st.integers(0, 99)


def eighths() -> st.SearchStrategy[float]:
    """Multiples of 1/8 up to 99/8 in magnitude: exact in float32, and easy to read."""
    return small.map(lambda k: k / 8)


def full_float32() -> st.SearchStrategy[float]:
    """float32 values with all 24 bits of significand in use, 1/8 <= |value| < 16."""
    return st.builds(
        _full, digits, digits, digits, digits, st.integers(-3, 3), st.sampled_from((1.0, -1.0))
    )


def _full(a: int, b: int, c: int, d: int, exponent: int, sign: float) -> float:
    bits = (((a * 100 + b) * 100 + c) * 100 + d) % 2**23
    return sign * (1 + bits / 2**23) * 2.0**exponent


def ends() -> st.SearchStrategy[float]:
    """The ends of what counts as ordinary size, 1/1024 to 1024 in magnitude, and zero."""
    sizes = (1 / 1024, 3 / 1024, 1 / 64, 100.0, 500.25, 1000.0, 1024.0)
    return st.sampled_from((0.0, *sizes, *(-size for size in sizes)))


def vectors(
    lengths: Sequence[int] = LENGTHS, *, zeros: bool = True
) -> st.SearchStrategy[list[float]]:
    """Features or targets: mostly eighths, some with full significands, some of extreme sizes.

    `zeros` False draws no vector that is zero everywhere.
    """

    def of_length(length: int) -> st.SearchStrategy[list[float]]:
        coarse = st.lists(eighths(), min_size=length, max_size=length)
        full = st.lists(full_float32(), min_size=length, max_size=length)
        extreme = st.lists(ends(), min_size=length, max_size=length)
        return st.one_of(coarse, coarse, full, extreme)

    drawn = by_case(lengths, of_length)
    return drawn if zeros else drawn.filter(any)


def by_case(cases: Sequence[C], make: Callable[[C], st.SearchStrategy[T]]) -> st.SearchStrategy[T]:
    """What `make` draws for one of `cases` (lengths, say), its strategies made once for each."""
    made = {case: make(case) for case in cases}
    return st.sampled_from(tuple(cases)).flatmap(made.__getitem__)


def rates(low: int = 1, high: int = 99) -> st.SearchStrategy[float]:
    """Rates from low/64 to high/64: k/64, exact in float32, and k/50, which mostly are not."""
    exact = st.integers(low, high).map(lambda k: k / 64)
    inexact = st.integers(-(-low * 50 // 64), high * 50 // 64).map(lambda k: k / 50)
    return st.one_of(exact, inexact)


def any_rates() -> st.SearchStrategy[float]:
    """Rates of any ordinary size."""
    return st.one_of(rates(), st.sampled_from((1 / 1024, 1 / 300, 5.0, 100.5, 1024.0)))


def factors() -> st.SearchStrategy[float]:
    """Positive factors from 1/10 to 99/8: k/8, exact in float32, and k/10, which mostly are not;
    some of any ordinary size."""
    exact = st.integers(1, 99).map(lambda k: k / 8)
    inexact = st.integers(1, 99).map(lambda k: k / 10)
    extreme = st.sampled_from((1 / 1024, 1 / 300, 1 / 30, 30.5, 100.5, 300.0, 1024.0))
    return st.one_of(exact, inexact, extreme)


def weights() -> st.SearchStrategy[float]:
    """Weights: mostly eighths, some with full significands, some of extreme sizes."""
    return st.one_of(eighths(), eighths(), full_float32(), ends())


def datasets(
    lengths: Sequence[int] = LENGTHS,
) -> st.SearchStrategy[tuple[list[float], list[float]]]:
    """Features and targets of one length, each as from `vectors`."""

    def of_length(length: int) -> st.SearchStrategy[tuple[list[float], list[float]]]:
        return st.tuples(vectors((length,)), vectors((length,)))

    return by_case(lengths, of_length)


def marks(
    length: int, kinds: Sequence[float] = NOT_FINITE, *, some: bool = True
) -> st.SearchStrategy[Marks]:
    """Which entries of a vector to spoil, and with what: one, several or all of them.

    `some` False draws marks that spoil nothing, too.
    """
    mark = st.sampled_from((*[None] * len(kinds), *kinds))
    drawn = st.lists(mark, min_size=length, max_size=length)
    if not some:
        return drawn
    return st.builds(_with_one, drawn, st.integers(0, length - 1), st.sampled_from(tuple(kinds)))


def _with_one(marked: Marks, place: int, kind: float) -> Marks:
    return [*marked[:place], kind, *marked[place + 1 :]]


def spoiled(vector: Sequence[float], marked: Marks) -> list[float]:
    """The vector with its marked entries replaced."""
    return [x if mark is None else mark for x, mark in zip(vector, marked, strict=True)]


def spoiled_vectors(
    lengths: Sequence[int] = LENGTHS, kinds: Sequence[float] = NOT_FINITE, *, some: bool = True
) -> st.SearchStrategy[list[float]]:
    """Vectors as from `vectors`, with marks as from `marks`."""

    def of_length(length: int) -> st.SearchStrategy[list[float]]:
        return st.builds(spoiled, vectors((length,)), marks(length, kinds, some=some))

    return by_case(lengths, of_length)
