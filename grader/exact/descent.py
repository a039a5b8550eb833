"""The one-weight model in exact arithmetic: loss, gradient, curvature, and runs of descent.

Every function takes plain numbers (floats and ints are rationals) and returns `Rounded`s: the exact
answer for exactly those inputs, and the bound on a right program's error. The mathematics stands in
the course's pages; what stands here is why each bound holds. In all that follows n is the number of
examples, w the weight, r the rate, q = mean(x**2), and T = mean(abs(x*y))/q, which is at least the
size of the optimum t = mean(x*y)/q, and is that size where y = t*x.

An operation is granted two roundings, as in `rounding`; doubling is exact and no operation. In
parentheses stands what the most wasteful program that we know spends: no more than is granted. A
mean is n operations. It spends n+1 roundings, n-1 of them for the sum and 2 for the product with a
rounded 1/n, which are none where n is 1 or 2. Features and targets are float32s.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from grader.exact.rounding import GRANTED, Plain, Rounded, gamma, mean, rounded, upward, vector

Row: TypeAlias = tuple[Rounded, Rounded, Rounded]
"""One step, before its update: weight, loss, absolute gradient."""

FLUSHED = Fraction(1, 2**100)
"""What underflow may do: results below 2**-126 become 0, and later factors are below 2**26."""


def _granted(operations: int, size: Fraction) -> Fraction:
    """The theorem of `rounding`: so many operations on monomials that add up to `size`."""
    return gamma(GRANTED * operations) * size + FLUSHED if size else Fraction(0)


def mean_square(features: Sequence[Plain]) -> Rounded:
    """q = mean(x**2): n+1 operations (n+2 roundings)."""
    return _mean_square(tuple(features))


@functools.lru_cache(10_000)  # every submission is asked for the same features
def _mean_square(features: tuple[Plain, ...]) -> Rounded:
    return mean(x * x for x in vector(features))


def curvature(features: Sequence[Plain]) -> Rounded:
    """2q, the second derivative of the loss: n+1 operations.

    Also for programs that take it as the difference of two gradients, at the weights 1 and 0, on
    targets that are nowhere larger than the features, or nowhere larger than 1. The monomials of
    both add up to no more than 2*q + 4*max(q, mean(abs(x))), and on all of that the operations are
    granted. (n+4 roundings on the gradients' monomials; n+6 on 2*q alone, for a root mean square
    raised to its second power. On targets 2*x the residuals are exact, and the sum is as large.)
    """
    square = mean_square(features).value
    width = Fraction(sum(abs(Fraction(x)) for x in features)) / len(features)
    size = 2 * square + 4 * max(square, width)
    return Rounded(2 * square, upward(_granted(len(features) + 1, size)))


def rate_ceiling(features: Sequence[Plain]) -> Rounded | float:
    """1/q, the open end of the stable rates; infinity for features that are all zero."""
    if not any(features):
        return math.inf
    return 2 / curvature(features)


def error_multiplier(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """m = 1 - r*curvature, of size 1 + 2*r*q: near m = 0 only an absolute error is bounded.

    Also measured, as a quotient of two residuals of one step from the weight 0: that rounds the 1
    twice and the rest n+9 times, fewer than are granted to the curvature and to two operations.
    """
    return 1 - rounded(rate) * curvature(features)


def growth_factor(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """m**2, the loss after a step over the loss before it: of size (1 + 2*r*q)**2, expanded or not.

    Or a program takes one step on targets t*x and divides the two losses, from a weight w0 with
    abs(w0) + abs(t) = abs(w0 - t), as where one of them is 0. The first loss is q*(w0 - t)**2. The
    monomials of the next residual add up to (1 + 2*r*q)*abs((w0 - t)*x), and those of the next loss
    to (1 + 2*r*q)**2 times the first. The new weight takes n+8 roundings (w0, t, t*x and r are
    rounded, too), which count twice in the square; its loss n+6 more, the first loss n+8, and the
    quotient one: 4n+31 on the square of m's size, for which 2n+16 operations are granted.
    """
    multiplier = error_multiplier(rate, features)
    formula = multiplier**2
    measured = upward(_granted(2 * len(features) + 16, formula.size))
    return Rounded(formula.value, max(formula.bound, measured), formula.size)


@dataclass(frozen=True, slots=True)
class _Means:
    """All that loss and gradient depend on: the means of x*x, x*y and y*y, and of abs(x*y)."""

    n: int
    xx: Fraction
    xy: Fraction
    yy: Fraction
    xy_size: Fraction

    @property
    def optimum(self) -> Fraction:
        """t; 0 for features that are all zero."""
        return self.xy / self.xx if self.xx else Fraction(0)

    @property
    def optimum_size(self) -> Fraction:
        """T; 0 for features that are all zero."""
        return self.xy_size / self.xx if self.xx else Fraction(0)


def _means(features: Sequence[Plain], targets: Sequence[Plain]) -> _Means:
    n, zero = len(features), Fraction(0)
    pairs = [(Fraction(x), Fraction(y)) for x, y in zip(features, targets, strict=True)]
    return _Means(
        n,
        sum((x * x for x, _ in pairs), zero) / n,
        sum((x * y for x, y in pairs), zero) / n,
        sum((y * y for _, y in pairs), zero) / n,
        sum((abs(x * y) for x, y in pairs), zero) / n,
    )


def loss(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """mean((w*x - y)**2): n+5 operations on monomials that add up to mean((abs(w*x) + abs(y))**2).

    (n+6 roundings, expanded or not. For y = t*x with a known t, q*(w - t)**2 spends n+8, and its
    q*(abs(w) + T)**2 is no larger, by Cauchy's inequality.) A weight that is off by e has the loss
    L + e*gradient + e**2*q, exactly: that is what the weight's own bound does.
    """
    return _loss(weight, _means(features, targets))


def _loss(weight: Rounded, data: _Means) -> Rounded:
    w, reach = weight.value, abs(weight.value) + weight.bound
    value = data.xx * w * w - 2 * data.xy * w + data.yy
    size = data.xx * reach**2 + 2 * data.xy_size * reach + data.yy
    slope = 2 * (data.xx * w - data.xy)
    carried = abs(slope) * weight.bound + data.xx * weight.bound**2
    return Rounded(value, upward(_granted(data.n + 5, size) + carried), size)


def gradient(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """2*mean(x*(w*x - y)), by autodiff, by residuals or expanded: n+3 operations on monomials that
    add up to 2*q*(abs(w) + T).

    (n+4 roundings; n+5 for 2*q*(w - t).) A weight that is off by e has a gradient that is
    off by 2*q*e, exactly.
    """
    return _gradient(weight, _means(features, targets))


def _gradient(weight: Rounded, data: _Means) -> Rounded:
    reach = abs(weight.value) + weight.bound
    value = 2 * (data.xx * weight.value - data.xy)
    size = 2 * (data.xx * reach + data.xy_size)
    carried = 2 * data.xx * weight.bound
    return Rounded(value, upward(_granted(data.n + 3, size) + carried), size)


def run(
    rate: Plain,
    steps: int,
    features: Sequence[Plain],
    targets: Sequence[Plain],
    initial_weight: Plain = 0,
) -> tuple[Rounded, list[Row]]:
    """`steps` steps of plain descent: the final weight, and a row per step before its update.

    The bound on a weight is the larger one of two, for the two ways to it (`_stepping`, `_closed`).
    Loss and gradient follow from the weight's, as in `loss` and `gradient`. That is enough, too,
    for a program with closed forms for them, q*((w0 - t)*m**k)**2 and its like: what is wrong with
    w0 - t and m**k moves them exactly as far as it moves the weight, and q, the square and the
    product are roundings of the loss.
    """
    data, exact_rate, start = _means(features, targets), Fraction(rate), Fraction(initial_weight)
    weight, stepped = start, rounded(initial_weight).bound
    rows: list[Row] = []
    for step in range(steps + 1):
        here = Rounded(weight, max(stepped, _closed(step, exact_rate, data, start)))
        rows.append((here, _loss(here, data), abs(_gradient(here, data))))
        stepped = _stepping(stepped, weight, exact_rate, data)
        weight -= exact_rate * 2 * (data.xx * weight - data.xy)
    return rows[-1][0], rows[:-1]


def _stepping(error: Fraction, weight: Fraction, rate: Fraction, data: _Means) -> Fraction:
    """The error after a step, of a program that is off by at most `error` before it.

    The exact step w' = m*w + 2*r*mean(x*y) takes an error e to m*e and no more. (Arithmetic on
    `Rounded`s would make it (1 + 2*r*q)*e: it can't know that w and its gradient carry one error.)
    To this the step adds its own roundings, at a weight v of at most abs(w) + e. Its monomials are
    v, with two operations (3 roundings, in m*v + c), and others that add up to 2*r*q*(v + T), with
    n+3 for the gradient and two more (n+7 roundings, one of them the rate's).
    """
    reach, change = abs(weight) + error, 2 * rate * data.xx
    local = _granted(2, reach) + _granted(data.n + 5, change * (reach + data.optimum_size))
    return upward(abs(1 - change) * error + local)


def _closed(step: int, rate: Fraction, data: _Means, start: Fraction) -> Fraction:
    """The error of a program that computes w = t + (w0 - t)*m**step, where it knows t.

    Let h be what m may be off by, with one rounding of the power for each factor: two operations on
    1 (2 roundings), and n+4 on 2*r*q (n+6 roundings). So the power is off by at most
    (abs(m) + h)**step - abs(m)**step. Then four operations: a power by a library function, a
    product and two sums (6 roundings, with t and w0 rounded on entry). From w0 = 0 the first weight
    is exact.
    """
    if step == 0 and start == 0:
        return Fraction(0)
    change = 2 * rate * data.xx
    multiplier = abs(1 - change)
    most = multiplier + _granted(2, Fraction(1)) + _granted(data.n + 4, change)
    off = abs(start - data.optimum) * (most**step - multiplier**step)
    sizes = most**step * (abs(start) + data.optimum_size) + data.optimum_size
    return upward(off + _granted(4, sizes))
