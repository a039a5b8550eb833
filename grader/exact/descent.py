"""The one-weight model in exact arithmetic: loss, gradient, curvature, and runs of descent.

Every function takes plain numbers (floats and ints are rationals) and returns `Rounded`s: the exact
answer for exactly those inputs, and the bound on a right program's error. The mathematics stands in
the course's pages; what stands here is why each bound holds. In all that follows n is the number of
examples, w the weight, r the rate, q = mean(x**2), and T = mean(abs(x*y))/q, which is at least the
size of the optimum t = mean(x*y)/q, and is that size where y = t*x.

`_granted(p, size)` is the theorem of `rounding`: p operations, two roundings for each, on monomials
whose magnitudes add up to `size`. In parentheses: the roundings of the most wasteful way we know.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from grader.exact.rounding import GRANTED, Plain, Rounded, gamma, mean, rounded, upward, vector

Row: TypeAlias = tuple[Rounded, Rounded, Rounded]
"""One step, before its update: weight, loss, absolute gradient."""

FLUSHED = Fraction(1, 2**100)
"""What underflow may do: results below 2**-126 become zero, and later factors are below 2**26."""


@dataclass(frozen=True, slots=True)
class _Means:
    """All that loss and gradient depend on: means of x*x, x*y and y*y, and of abs(x*y)."""

    n: int
    xx: Fraction
    xy: Fraction
    yy: Fraction
    xy_size: Fraction

    @property
    def target_size(self) -> Fraction:
        """T; 0 for features that are all zero."""
        return self.xy_size / self.xx if self.xx else Fraction(0)


def _means(features: Sequence[Plain], targets: Sequence[Plain]) -> _Means:
    n = len(features)
    pairs = [(Fraction(x), Fraction(y)) for x, y in zip(features, targets, strict=True)]
    xx, yy = sum(x * x for x, _ in pairs), sum(y * y for _, y in pairs)
    xy, xy_size = sum(x * y for x, y in pairs), sum(abs(x * y) for x, y in pairs)
    return _Means(n, Fraction(xx) / n, Fraction(xy) / n, Fraction(yy) / n, Fraction(xy_size) / n)


def _granted(operations: int, size: Fraction) -> Fraction:
    return gamma(GRANTED * operations) * size + FLUSHED if size else Fraction(0)


def mean_square(features: Sequence[Plain]) -> Rounded:
    """q = mean(x**2): n+1 operations (n+5 roundings, as a root mean square squared again)."""
    return mean(x * x for x in vector(features))


def curvature(features: Sequence[Plain]) -> Rounded:
    """2q, the second derivative of the loss: n+1 operations.

    Also for programs that take it from the gradient, as the difference between the weights 1 and 0
    on targets that are nowhere larger than the features, or than 1: the monomials of the two
    gradients then add up to no more than 2*q + 4*max(q, mean(abs(x))), which is what the operations
    are granted on. (n+4 roundings on each, 3 for n = 1, where the mean is exact.)
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
    twice, and the rest n+6 times, which the curvature has been granted.
    """
    return 1 - rounded(rate) * curvature(features)


def growth_factor(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """m**2, the loss after a step over the loss before it: of size (1 + 2*r*q)**2, expanded or not.

    Or a program takes one step on targets t*x from the weight 0 (or on targets 0) and divides the
    two losses. The first one is q*t**2. The new weight is off by n+6 roundings of at most
    (1 + 2*r*q)*abs(t), and the monomials of its loss add up to (1 + 2*r*q)**2 times the first loss.
    Twice n+6, for the square; n+6 for computing it; n+2 for the first loss, and the quotient: 4n+21
    roundings on m's size squared, for which 2n+11 operations are granted.
    """
    multiplier = error_multiplier(rate, features)
    formula = multiplier**2
    measured = _granted(2 * len(features) + 11, formula.size)
    return Rounded(formula.value, max(formula.bound, upward(measured)), formula.size)


def loss(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """mean((w*x - y)**2): n+5 operations on monomials that add up to mean((abs(w*x) + abs(y))**2).

    (n+8 roundings, expanded or not. q*(w - t)**2, for y = t*x, has no more, and its size is less.)
    A weight that is off by e has exactly the loss L + e*gradient + e**2*q.
    """
    return _loss(weight, _means(features, targets))


def gradient(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """2*mean(x*(w*x - y)), by autodiff, by residuals or expanded: n+3 operations on monomials that
    add up to 2*q*(abs(w) + T).

    (n+5 roundings.) A weight that is off by e has a gradient that is off by exactly 2*q*e.
    """
    return _gradient(weight, _means(features, targets))


def _loss(weight: Rounded, data: _Means) -> Rounded:
    w, reach = weight.value, abs(weight.value) + weight.bound
    value = data.xx * w * w - 2 * data.xy * w + data.yy
    size = data.xx * reach**2 + 2 * data.xy_size * reach + data.yy
    slope = 2 * (data.xx * w - data.xy)
    carried = abs(slope) * weight.bound + data.xx * weight.bound**2
    return Rounded(value, upward(_granted(data.n + 5, size) + carried), size)


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

    The bound on a weight is the larger one of two, for the two ways to a row (`_stepping`,
    `_closed`). Loss and gradient follow from the weight's, as in `loss` and `gradient`. That is
    enough, too, for a program that has closed forms for them, q*(w0-t)**2*m**(2*k) and its like:
    an error in m moves them no farther than the weight that has this error would.
    """
    data, exact_rate = _means(features, targets), Fraction(rate)
    weight = Fraction(initial_weight)
    stepped = rounded(initial_weight).bound
    rows: list[Row] = []
    for step in range(steps + 1):
        closed = _closed(step, exact_rate, data, Fraction(initial_weight))
        here = Rounded(weight, max(stepped, closed))
        rows.append((here, _loss(here, data), abs(_gradient(here, data))))
        stepped = _stepping(stepped, weight, exact_rate, data)
        weight -= exact_rate * 2 * (data.xx * weight - data.xy)
    return rows[-1][0], rows[:-1]


def _stepping(error: Fraction, weight: Fraction, rate: Fraction, data: _Means) -> Fraction:
    """The error after a step by a program that is off by at most `error` before it.

    The exact step w' = m*w + 2*r*mean(x*y) takes an error e to m*e and no more. (Arithmetic on
    `Rounded`s would make it (1 + 2*r*q)*e: it can't know that w and its gradient carry one error.)
    To this the step adds its own roundings, at a weight v of at most abs(w) + e: its monomials are
    v, with two operations (3 roundings, in m*w + c), and 2*r*q*(v + T) altogether, with n+3 for the
    gradient and two more (n+8 roundings, 6 for n = 1).
    """
    reach = abs(weight) + error
    change = 2 * rate * data.xx
    local = _granted(2, reach) + _granted(data.n + 5, change * (reach + data.target_size))
    return upward(abs(1 - change) * error + local)


def _closed(step: int, rate: Fraction, data: _Means, start: Fraction) -> Fraction:
    """The error of a program that computes w = t + (w0 - t)*m**step, where it knows t.

    Let h be what m may be off by, with one rounding of the power for each factor: two operations on
    1, and n+4 on 2*r*q (n+6 roundings). The power is off by at most (abs(m) + h)**step -
    abs(m)**step. Then four operations: a power by a library function, the two differences and the
    product (6 roundings, with t and w0 rounded on entry). From w0 = 0 the first weight is exact.
    """
    if step == 0 and start == 0:
        return Fraction(0)
    change, optimum = 2 * rate * data.xx, data.xy / data.xx if data.xx else Fraction(0)
    multiplier = abs(1 - change)
    most = multiplier + _granted(2, Fraction(1)) + _granted(data.n + 4, change)
    off = abs(start - optimum) * (most**step - multiplier**step)
    return upward(off + _granted(4, most**step * (abs(start) + data.target_size) + data.target_size))
