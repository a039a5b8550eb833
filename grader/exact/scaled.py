"""Features and targets multiplied by one number: what follows, and a run on either data.

Plain numbers in, `Rounded`s out, as in `descent`. In all that follows n is the number of examples,
w the weight, r the rate, s the scale, q = mean(x**2), m = 1 - 2*r*q, and T = mean(abs(x*y))/q,
which is at least the size of the weight t = mean(x*y)/q that fits best.

Where a bound is said to grant p operations on a size, it is the theorem of `rounding`: twice p
roundings on monomials whose magnitudes add up to that size. The roundings of the most wasteful way
that we know stand in parentheses.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from grader.exact import descent
from grader.exact.descent import FLUSHED
from grader.exact.rounding import GRANTED, Plain, Rounded, gamma, upward

BY_ROOT = Fraction(1, 2**96)
"""How far `_root` may be off, as a share."""

RESCALED = 18
"""Operations that a step on the multiplied data is granted beside its own: 16 for the rate, as in
`compensated`, and 2 for the 4 roundings of two entries of the data (s on entry, and a product)."""


def _granted(operations: int, size: Fraction) -> Fraction:
    return gamma(GRANTED * operations) * size + FLUSHED if size else Fraction(0)


def compensated(quantity: Plain, scale: Plain) -> Rounded:
    """A rate or a ceiling, divided by s**2: 16 operations.

    (By formula 8 roundings: s on entry and squared, or divided by twice. Measured, as the quotient
    of two curvatures, 2n+12; for three examples 18.)
    """
    value = Fraction(quantity) / Fraction(scale) ** 2
    return Rounded(value, upward(_granted(16, abs(value))))


def root_mean_square(features: Sequence[Plain]) -> Rounded:
    """The root of q: n+8 operations.

    (As sqrt(mean(x**2)) n/2+2 roundings, as the norm over the root of n as many and 3 more. By way
    of a logarithm 18, for features of ordinary size: half of a logarithm below 14 that is off by
    2u, and the exponential.)
    """
    value = _root(descent.mean_square(features).value)
    return Rounded(value, upward(_granted(len(features) + 8, value) + BY_ROOT * value))


def _root(value: Fraction) -> Fraction:
    """The square root, off by less than a share of 2**-96: some 99 bits of it, from integers."""
    if not value:
        return value
    places = 100 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return Fraction(math.isqrt(value.numerator * 4**places // value.denominator), 2**places)


def divided(numbers: Sequence[Plain], scale: Rounded) -> list[Rounded]:
    """Features or targets over the root mean square: its operations and 2 more.

    (3 roundings: a division by way of a reciprocal.)
    """
    found = []
    for item in numbers:
        value = Fraction(item) / scale.value
        share = scale.bound / (scale.value - scale.bound)
        off = abs(value) * (share + BY_ROOT)
        found.append(Rounded(value, upward(off + _granted(2, abs(value) + off))))
    return found


def comparison(
    rate: Plain,
    scale: Plain,
    steps: int,
    features: Sequence[Plain],
    targets: Sequence[Plain],
) -> tuple[list[Rounded], list[Rounded], list[Rounded]]:
    """Weights before each step from the weight 0 on the data; those on s times the data at the
    compensating rate; and the losses of the second run over those of the first.

    Without rounding the weights are the same, and each ratio is s**2. The ratio's bound is that of
    a quotient of two losses, each with the error that its own weight brings along.

    Losses are granted 3n+11 operations beside those of `descent.loss`, all of them on 2*mean(y*y)
    as well, for programs that add the least loss to q*(w - t)**2 (5n+14 roundings, with t a
    quotient of two means); those of the multiplied data 4 more (8 roundings: s**2 for each monomial
    of four factors, entered and multiplied).
    """
    fast, factor = Fraction(rate), Fraction(scale) ** 2
    square = descent.mean_square(features).value
    change, fit = 2 * fast * square, _fit_size(features, targets, square)
    slope_at = [descent.gradient(Rounded(Fraction(w)), features, targets).value for w in (0, 1)]
    best = -slope_at[0] / (slope_at[1] - slope_at[0]) if square else Fraction(0)
    squares = descent.loss(Rounded(Fraction(0)), features, targets).value

    def loss(weight: Rounded, more: int) -> Rounded:
        plain = descent.loss(weight, features, targets)
        off = _granted(3 * len(features) + 11 + more, plain.size + 2 * squares)
        return Rounded(plain.value, upward(plain.bound + off))

    weight, stepped = Fraction(0), [Fraction(0), Fraction(0)]
    found: tuple[list[Rounded], list[Rounded], list[Rounded]] = ([], [], [])
    for step in range(steps):
        here = [
            Rounded(weight, max(error, _closed(step, change, best, fit, len(features), more)))
            for error, more in zip(stepped, (0, RESCALED), strict=True)
        ]
        first, second = loss(here[0], 0), loss(here[1], 4)
        if first.value > first.bound:
            ratio = Rounded(factor * second.value, factor * second.bound) / first
        else:  # never asked
            ratio = Rounded(factor, factor)
        for column, item in zip(found, (*here, ratio), strict=True):
            column.append(item)
        stepped = [
            _stepping(error, weight, change, fit, len(features), more)
            for error, more in zip(stepped, (0, RESCALED), strict=True)
        ]
        weight -= fast * (slope_at[0] + (slope_at[1] - slope_at[0]) * weight)
    return found


def _fit_size(features: Sequence[Plain], targets: Sequence[Plain], square: Fraction) -> Fraction:
    """T; 0 for features that are all zero."""
    cross = descent.gradient(Rounded(Fraction(0)), features, targets).size / 2
    return cross / square if square else Fraction(0)


def _stepping(
    error: Fraction, weight: Fraction, change: Fraction, fit: Fraction, n: int, more: int
) -> Fraction:
    """The error after a step, of a program that is off by at most `error` before it.

    As in `descent`: the exact step takes it to m times itself. The step adds its own roundings, on
    a weight of at most abs(w) + e: 4 operations on that, 2n+8 and `more` on monomials that add up
    to 2*r*q*(abs(w) + e + T). (3n+13, with a gradient 2*q*(w - t) whose t is a quotient.)
    """
    reach = abs(weight) + error
    local = _granted(4, reach) + _granted(2 * n + 8 + more, change * (reach + fit))
    return upward(abs(1 - change) * error + local)


def _closed(
    step: int, change: Fraction, best: Fraction, fit: Fraction, n: int, more: int
) -> Fraction:
    """The error of a program that computes w = t - t*m**step, with t a quotient of two means.

    m is off by at most h, with one rounding of the power for each factor: 2 operations on 1, n+4
    and `more` on 2*r*q. So the power is off by at most (abs(m) + h)**step - abs(m)**step. Then t
    with 2n+6 roundings, a power by a library function, a product and a difference: n+8 operations
    on T*((abs(m) + h)**step + 1). The weight 0 at the start is exact.
    """
    if step == 0:
        return Fraction(0)
    multiplier = abs(1 - change)
    most = multiplier + _granted(2, Fraction(1)) + _granted(n + 4 + more, change)
    off = abs(best) * (most**step - multiplier**step)
    return upward(off + _granted(n + 8 + more, fit * (most**step + 1)))


def is_asked(rate: Plain, steps: int, features: Sequence[Plain], targets: Sequence[Plain]) -> bool:
    """Whether every loss of the run on the data is above 1/64, and above 1024 times its bound."""
    fast, weight = Fraction(rate), Fraction(0)
    for _ in range(steps):
        loss = descent.loss(Rounded(weight), features, targets)
        if loss.value <= max(Fraction(1, 64), 1024 * loss.bound):
            return False
        weight -= fast * descent.gradient(Rounded(weight), features, targets).value
    return True
