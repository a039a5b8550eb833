"""Running error analysis in exact arithmetic.

A `Rounded` is an exact value and a bound on how far any right float32 program's result may be
from it. Arithmetic on `Rounded` numbers yields both: the value without any rounding (fractions),
the bound by the standard model of floating-point arithmetic (Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., section 2.2): a rounded operation is the exact one times 1 + d, |d|
<= u.

Beside value and bound a `Rounded` carries its `size`: what the formula that made it gives when each
input is replaced by its magnitude and each difference by a sum. Without cancellation size and
magnitude are the same.

Theorem. Let a formula be made of sums, differences, products, and quotients by sums of one sign.
Let a program evaluate it in any order: factored or expanded, summed from either end, fused or
not. Written out, the result is the formula's monomials, each times a product of factors (1 + d)
and 1/(1 + d), one for each rounding on the monomial's way to the result. Let these be, for each
monomial, no more than k times the formula's own operations on its way. Then the result is within
`bound` of `value`.

Proof. The product of j such factors differs from 1 by at most (1 - u)**-j - 1. For j = k*p that
is at most (1 + gamma(k))**p - 1, where gamma(k) = k*u/(1 - k*u) (lemma 3.1), since 1 + gamma(k) =
1/(1 - k*u) >= (1 - u)**-k. Let p be the number of the formula's operations on a monomial's way.
Each rule below adds gamma(k) times size and error of its result to the errors that the operands
bring along, on their sizes; so `bound` is at least the sum of all monomials' magnitudes, each
times its (1 + gamma(k))**p - 1. For the quotient, |A/B - a/b| = |(A - a) - (a/b)*(B - b)| / |B|.

k is 2 (`GRANTED`): one rounding for the operation itself, and one for a wasteful way to it, such as
a division made a product with a rounded reciprocal (jitted JAX), a power by a library function
(NumPy's is off by 1.7u), or a factor multiplied into each term of a sum. A number that isn't a
float32, such as the Python float 0.1, may be rounded on entry: `rounded` gives it an error of u.
Results in float64 are within the same bounds: their u is 2**-29 of this one. Nothing may underflow;
what may get below 2**-100 needs a floor (see `descent`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

UNIT_ROUNDOFF = Fraction(1, 2**24)
GRANTED = 2
LARGEST = Fraction(2) ** 1023

Plain: TypeAlias = "int | float | Fraction"


def gamma(roundings: int) -> Fraction:
    """r*u/(1 - r*u), the relative error that r float32 roundings can add up to (lemma 3.1)."""
    return roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)


PER_OPERATION = gamma(GRANTED)


def upward(bound: Fraction) -> Fraction:
    """The bound rounded up to a double, so that its digits don't grow with every operation; as it
    is where no double is as large."""
    if bound and abs(bound) < LARGEST:
        return Fraction(math.nextafter(float(bound), math.inf))
    return bound


@dataclass(frozen=True, slots=True)
class Rounded:
    """An exact value, a bound on the absolute error of a right program's result, and the size.

    `size` is raised to the value's magnitude where it is given as less, or not at all.
    """

    value: Fraction
    bound: Fraction = Fraction(0)
    size: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.size < abs(self.value):
            object.__setattr__(self, "size", abs(self.value))

    def __add__(self, other: Rounded | Plain) -> Rounded:
        other = rounded(other)
        return _after(self.value + other.value, self.bound + other.bound, self.size + other.size)

    def __radd__(self, other: Plain) -> Rounded:
        return rounded(other) + self

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.bound, self.size)

    def __sub__(self, other: Rounded | Plain) -> Rounded:
        return self + (-rounded(other))

    def __rsub__(self, other: Plain) -> Rounded:
        return rounded(other) - self

    def __mul__(self, other: Rounded | Plain) -> Rounded:
        other = rounded(other)
        carried = self.size * other.bound + other.size * self.bound + self.bound * other.bound
        return _after(self.value * other.value, carried, self.size * other.size)

    def __rmul__(self, other: Plain) -> Rounded:
        return rounded(other) * self

    def __truediv__(self, other: Rounded | Plain) -> Rounded:
        """ZeroDivisionError where the divisor may be zero within its bound."""
        other = rounded(other)
        smallest = abs(other.value) - other.bound
        if smallest <= 0:
            raise ZeroDivisionError("the divisor's bound reaches zero")
        size = self.size / abs(other.value)
        carried = (self.bound + size * other.bound) / smallest
        return _after(self.value / other.value, carried, size)

    def __rtruediv__(self, other: Plain) -> Rounded:
        return rounded(other) / self

    def __pow__(self, exponent: int) -> Rounded:
        """A whole positive power, as repeated multiplication."""
        result = self
        for _ in range(exponent - 1):
            result = result * self
        return result

    def __abs__(self) -> Rounded:
        return Rounded(abs(self.value), self.bound, self.size)


def _after(value: Fraction, carried: Fraction, size: Fraction) -> Rounded:
    """The result of one operation, with the roundings granted to it."""
    return Rounded(value, upward(carried + PER_OPERATION * (size + carried)), size)


def rounded(number: Rounded | Plain) -> Rounded:
    """A number as it was handed to the student: exact where it is a float32, else off by u."""
    if isinstance(number, Rounded):
        return number
    value = Fraction(number)
    return Rounded(value, Fraction(0) if _is_float32(value) else UNIT_ROUNDOFF * abs(value))


def _is_float32(value: Fraction) -> bool:
    """Whether 24 bits hold the value (of any ordinary exponent)."""
    numerator, denominator = abs(value.numerator), value.denominator
    odd = numerator // (numerator & -numerator) if numerator else 0
    return odd < 2**24 and denominator & (denominator - 1) == 0


def vector(numbers: Iterable[Plain]) -> list[Rounded]:
    """Features or targets as they were handed to the student."""
    return [rounded(number) for number in numbers]


def total(terms: Iterable[Rounded]) -> Rounded:
    """A sum of n terms, as n-1 operations on each, which holds for every order.

    Higham, 2nd ed., equation (4.4).
    """
    terms = list(terms)
    value = sum((term.value for term in terms), Fraction(0))
    size = sum((term.size for term in terms), Fraction(0))
    carried = sum((term.bound for term in terms), Fraction(0))
    relative = gamma(GRANTED * max(len(terms) - 1, 0))
    return Rounded(value, upward(carried + relative * (size + carried)), size)


def mean(terms: Iterable[Rounded]) -> Rounded:
    """The sum over n, divided by n (or multiplied by a rounded 1/n)."""
    terms = list(terms)
    return total(terms) / len(terms)
