"""Running error analysis in exact arithmetic.

A `Rounded` is an exact value and a bound on how far any right float32 program's result may be from
it. Arithmetic on `Rounded` numbers yields both: the value without any rounding (fractions), the
bound by the standard model of floating-point arithmetic (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., section 2.2; running error analysis: section 3.3).

Theorem (one operation). Let a and b be known up to A and B. Then a program's a+b, a-b, a*b, a/b is
known up to what A and B become by exact arithmetic, plus k*u times the magnitude at hand, where u is
the unit roundoff of float32 and k the number of roundings granted to one operation. For sums and
differences the magnitude is |a|+|b|, not |a+b|: so the bound holds for any rearrangement of a
polynomial (factored or expanded, any order of summation, fused or not), whose every intermediate
result is bounded by the sum of magnitudes.

k is 4 (`GRANTED`): one rounding for the operation itself, one for an operand rounded on entry (a
Python float such as 0.1 is no float32), one for a division made a multiplication by a reciprocal,
and one more for an equivalent formula that needs an operation more than ours.
Results in float64 are within the same bounds: their u is 2**-29 of this one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

UNIT_ROUNDOFF = Fraction(1, 2**24)
GRANTED = 4

Plain: TypeAlias = "int | float | Fraction"


def upward(bound: Fraction) -> Fraction:
    """The bound rounded up to a double, so that its digits don't grow with every operation."""
    return Fraction(math.nextafter(float(bound), math.inf)) if bound else bound


@dataclass(frozen=True, slots=True)
class Rounded:
    """An exact value, and a bound on the absolute error of a right program's result."""

    value: Fraction
    bound: Fraction = Fraction(0)

    def _after(self, value: Fraction, bound: Fraction, magnitude: Fraction) -> Rounded:
        return Rounded(value, upward(bound + GRANTED * UNIT_ROUNDOFF * (magnitude + bound)))

    def __add__(self, other: Rounded | Plain) -> Rounded:
        other = rounded(other)
        magnitude = abs(self.value) + abs(other.value)
        return self._after(self.value + other.value, self.bound + other.bound, magnitude)

    def __radd__(self, other: Plain) -> Rounded:
        return rounded(other) + self

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.bound)

    def __sub__(self, other: Rounded | Plain) -> Rounded:
        return self + (-rounded(other))

    def __rsub__(self, other: Plain) -> Rounded:
        return rounded(other) - self

    def __mul__(self, other: Rounded | Plain) -> Rounded:
        other = rounded(other)
        value = self.value * other.value
        bound = abs(self.value) * other.bound + abs(other.value) * self.bound
        bound += self.bound * other.bound
        return self._after(value, bound, abs(value))

    def __rmul__(self, other: Plain) -> Rounded:
        return rounded(other) * self

    def __truediv__(self, other: Rounded | Plain) -> Rounded:
        """ZeroDivisionError where the divisor may be zero within its bound."""
        other = rounded(other)
        smallest = abs(other.value) - other.bound
        if smallest <= 0:
            raise ZeroDivisionError("the divisor's bound reaches zero")
        value = self.value / other.value
        bound = (self.bound + abs(value) * other.bound) / smallest
        return self._after(value, bound, abs(value))

    def __rtruediv__(self, other: Plain) -> Rounded:
        return rounded(other) / self

    def __pow__(self, exponent: int) -> Rounded:
        """A whole positive power, as repeated multiplication."""
        result = self
        for _ in range(exponent - 1):
            result = result * self
        return result

    def __abs__(self) -> Rounded:
        return Rounded(abs(self.value), self.bound)


def rounded(number: Rounded | Plain) -> Rounded:
    """A number as it was handed to the student: known exactly."""
    return number if isinstance(number, Rounded) else Rounded(Fraction(number))


def vector(numbers: Iterable[Plain]) -> list[Rounded]:
    """Features or targets as they were handed to the student."""
    return [rounded(number) for number in numbers]


def total(terms: Iterable[Rounded]) -> Rounded:
    """A sum of n terms in any order: n-1 roundings of at most the sum of magnitudes.

    Higham, 2nd ed., equation (4.4); it holds for pairwise and blocked summation too.
    """
    terms = list(terms)
    value = sum((term.value for term in terms), Fraction(0))
    carried = sum((term.bound for term in terms), Fraction(0))
    magnitude = sum((abs(term.value) for term in terms), Fraction(0)) + carried
    roundings = GRANTED * max(len(terms) - 1, 0)
    relative = roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)
    return Rounded(value, upward(carried + relative * magnitude))


def mean(terms: Iterable[Rounded]) -> Rounded:
    """The sum over n, divided by n (or multiplied by a rounded 1/n)."""
    terms = list(terms)
    return total(terms) / len(terms)
