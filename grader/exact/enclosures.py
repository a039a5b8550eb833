"""Roots, exponentials and logarithms, each enclosed: a fraction, and how far from it the number is.

Python's `decimal` rounds its `sqrt`, `exp` and `ln` correctly, in any precision. (General Decimal
Arithmetic Specification, version 1.70: each is the exact result rounded half-even to the context's
precision.) So the only errors here are roundings to `DIGITS` digits, and they are counted.

An `Enclosed` value is within `width` of the number it stands for. Widths are about 10**-60 and the
bounds on a float32 program's error about 10**-6, so that adding the width to the bound changes
nothing that anybody could see, and makes the bound a true one.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from fractions import Fraction

DIGITS = 80
_CONTEXT = decimal.Context(prec=DIGITS, Emax=10**6, Emin=-(10**6))
_ROUNDING = Fraction(1, 10 ** (DIGITS - 1))
"""At least the relative error of one rounding to `DIGITS` digits, half a unit of the last one."""

NOTHING = Fraction(1, 10**100)
"""What is known to be between 0 and this is enclosed as 0: its digits would be of no use."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A fraction, and at most how far from it the number is that it stands for."""

    value: Fraction
    width: Fraction = Fraction(0)

    def __add__(self, other: Enclosed) -> Enclosed:
        return Enclosed(self.value + other.value, self.width + other.width)

    def __sub__(self, other: Enclosed) -> Enclosed:
        return Enclosed(self.value - other.value, self.width + other.width)


def root(number: Fraction) -> Enclosed:
    """The square root of a number that isn't negative.

    The number is rounded to decimal (which halves on the way through the root), then the root is:
    one and a half roundings, for which two are counted.
    """
    value = Fraction(_CONTEXT.sqrt(_decimal(number)))
    return Enclosed(value, 2 * _ROUNDING * value)


def exponential(exponent: Enclosed) -> Enclosed:
    """e to a power whose width is below 1/2; enclosed as 0 where it is below `NOTHING`.

    A share w of an error in the exponent, |w| <= 1/2, is a factor e**w: off by at most 2*|w|. The
    exponent's rounding to decimal is such an error, the result's rounding a factor of its own.
    """
    if exponent.value + exponent.width < -240:  # e**-240 < 10**-104
        return Enclosed(Fraction(0), NOTHING)
    value = Fraction(_CONTEXT.exp(_decimal(exponent.value)))
    off = exponent.width + _ROUNDING * abs(exponent.value)
    return Enclosed(value, value * (2 * off + 2 * _ROUNDING))


def logarithm(number: Enclosed) -> Enclosed:
    """The natural logarithm of a number that is at least 1 and enclosed to less than a half.

    Its slope is at most 2 on the enclosure.
    """
    value = Fraction(_CONTEXT.ln(_decimal(number.value)))
    off = number.width + _ROUNDING * number.value
    return Enclosed(value, 2 * off + _ROUNDING * abs(value))


def _decimal(number: Fraction) -> decimal.Decimal:
    """The nearest decimal of `DIGITS` digits."""
    return _CONTEXT.divide(decimal.Decimal(number.numerator), decimal.Decimal(number.denominator))
