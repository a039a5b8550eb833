"""Runs of descent whose gradient is limited to an interval around 0.

Plain numbers in, `Rounded`s out, as in `descent`. In all that follows n is the number of examples,
w the weight, r the rate, c the clip, g the gradient at w, q = mean(x**2), m = 1 - 2*r*q, and T =
mean(abs(x*y))/q, which is at least the size of the weight t = mean(x*y)/q that fits best.

Where a bound is said to grant p operations on a size, it is the theorem of `rounding`: twice p
roundings on monomials whose magnitudes add up to that size. The roundings of the most wasteful way
that we know stand in parentheses.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from grader.exact import descent
from grader.exact.descent import FLUSHED
from grader.exact.rounding import GRANTED, Plain, Rounded, gamma, rounded, upward

Row: TypeAlias = tuple[Rounded, Rounded, Rounded, Rounded]
"""One step, before its update: weight, loss, absolute gradient, absolute clipped gradient."""


def _granted(operations: int, size: Fraction) -> Fraction:
    return gamma(GRANTED * operations) * size + FLUSHED if size else Fraction(0)


def limited(value: Fraction, clip: Fraction) -> Fraction:
    """The value, brought into [-clip, clip]."""
    return max(-clip, min(clip, value))


def clip_gradient(gradient: Plain, clip: Plain) -> Rounded:
    """g, limited to [-c, c]: 4 operations on the result.

    (7 roundings, as g*min(1, c/abs(g)) or g/abs(g)*min(abs(g), c), with g and c rounded on entry.)
    """
    value = limited(Fraction(gradient), Fraction(clip))
    return Rounded(value, upward(_granted(4, abs(value))))


def move_bound(rate: Plain, clip: Plain) -> Rounded:
    """r*c, with 6 operations.

    (By formula 3 roundings. Measured, as the size of a step from the weight 0 at a large gradient,
    10: those of `clip_gradient`, and 3.)
    """
    value = Fraction(rate) * Fraction(clip)
    return Rounded(value, upward(_granted(6, value)))


def share(count: int, total: int) -> Rounded:
    """count/total, with 4 operations on 1. (4 roundings: as 1 less the mean of the other rows.)"""
    return Rounded(Fraction(count, total), upward(_granted(4, Fraction(1))))


def run(
    rate: Plain,
    steps: int,
    clip: Plain,
    features: Sequence[Plain],
    targets: Sequence[Plain],
    initial_weight: Plain,
) -> tuple[Rounded, list[Row]]:
    """`steps` clipped steps: the final weight, and a row per step before its update.

    The exact step takes w to w - r*limited(g). Between two weights it stretches distances by
    abs(m) where neither gradient is limited, by 1 where both are on one side, and never by more
    than the larger of the two, since it is continuous and made of such pieces. That is what it
    makes of a weight's error e.

    The step's own roundings, at a weight of at most abs(w) + e: Limiting brings no two numbers
    farther apart, so what is wrong with the gradient is no larger after it than before. Where the
    gradient is within the clip for sure, the step is a plain one: 4 operations on the weight and
    2n+8 on monomials that add up to 2*r*q*(abs(w) + e + T). (3n+17 roundings, with a gradient
    2*q*(w - t) whose t is a quotient of two means, limited by way of its norm.) Where it is beyond
    the clip for sure, its own error is of no account: 4 operations on the weight and 4 on r*c.
    Where it may be on either side, both hold together. A clip that is rounded on entry moves the
    border by a rounding of c, which both kinds have to spare.

    Up to the first step that may be limited, a program may also know the closed form of the plain
    run: there the weight's bound is no less than that of `descent.run`.
    """
    fast, limit, start = Fraction(rate), Fraction(clip), Fraction(initial_weight)
    square = descent.mean_square(features).value
    change, fit = 2 * fast * square, _fit_size(features, targets, square)
    plain_final, plain_rows = descent.run(fast, steps, features, targets, start)
    plain = [*(row[0].bound for row in plain_rows), plain_final.bound]
    weight, error, untouched = start, rounded(initial_weight).bound, True
    rows: list[Row] = []
    for step in range(steps + 1):
        if untouched:
            error = max(error, plain[step])
        here, reach = Rounded(weight, error), abs(weight) + error
        slope = _gradient(here, features, targets)
        value = limited(slope.value, limit)
        rows.append((here, _loss(here, features, targets), abs(slope), _size(slope, limit)))

        within = abs(slope.value) + slope.bound <= limit
        beyond = abs(slope.value) - slope.bound >= limit
        stretch, local = Fraction(1), _granted(4, reach)
        if not beyond:
            stretch = abs(1 - change) if within else max(abs(1 - change), stretch)
            local += _granted(2 * len(features) + 8, change * (reach + fit))
        if not within:
            local += _granted(4, fast * limit)
        untouched = untouched and within
        weight, error = weight - fast * value, upward(stretch * error + local)
    return rows[-1][0], rows[:-1]


def _fit_size(features: Sequence[Plain], targets: Sequence[Plain], square: Fraction) -> Fraction:
    """T; 0 for features that are all zero."""
    cross = descent.gradient(Rounded(Fraction(0)), features, targets).size / 2
    return cross / square if square else Fraction(0)


def _gradient(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """As `descent.gradient`, with 2n+6 operations: also for 2*q*(w - t) with t a quotient of means.

    (That takes 3n+10 roundings.)
    """
    plain = descent.gradient(weight, features, targets)
    carried = 2 * descent.mean_square(features).value * weight.bound
    off = _granted(2 * len(features) + 6, plain.size) + carried
    return Rounded(plain.value, upward(off), plain.size)


def _loss(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """As `descent.loss`, with 2n+6 operations more, and all of them on 2*mean(y*y), too.

    (Also for q*(w - t)**2 and the least loss, mean(y*y) - q*t**2, where t is a quotient of two
    means: 5n+14 roundings, of 6n+22 in all. The monomials of what is added and taken away are no
    larger than mean(y*y), by Cauchy's inequality.)
    """
    plain = descent.loss(weight, features, targets)
    squares = descent.loss(Rounded(Fraction(0)), features, targets).value
    more = _granted(3 * len(features) + 11, plain.size + 2 * squares)
    return Rounded(plain.value, upward(plain.bound + more), plain.size)


def _size(slope: Rounded, clip: Fraction) -> Rounded:
    """abs(limited(g)): off by g's error where g may be within the clip, and by 4 operations."""
    value = min(abs(slope.value), clip)
    beyond = abs(slope.value) - slope.bound >= clip
    carried = Fraction(0) if beyond else slope.bound
    return Rounded(value, upward(carried + _granted(4, value + carried)))
