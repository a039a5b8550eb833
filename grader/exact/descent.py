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
    """2q, the second derivative of the loss: n+2 operations on 2q, and all of that three times.

    For programs that take it from the gradient at two weights: on targets t*x with abs(t) <= 2, at
    the weights 0 and 1, the two gradients have the sizes 4q and 2q, three times the difference.
    (3n+7 roundings: n+2 in each gradient, and the difference.)
    """
    size = 2 * mean_square(features).value
    return Rounded(size, upward(_granted(3 * (len(features) + 2), size)))


def rate_ceiling(features: Sequence[Plain]) -> Rounded | float:
    """1/q, the open end of the stable rates; infinity for features that are all zero."""
    if not any(features):
        return math.inf
    return 2 / curvature(features)


def error_multiplier(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """m = 1 - 2*r*q, of size 1 + 2*r*q: near m = 0 only an absolute error is bounded.

    Two operations more than the curvature, granted to both monomials: a program that measures m
    as a quotient of two residuals rounds the 1 as often as the rest.
    """
    curve = Fraction(rate) * curvature(features).value
    bound = _granted(3 * (len(features) + 2) + 2, 1 + curve)
    return Rounded(1 - curve, upward(bound), 1 + curve)


def growth_factor(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """m**2, the loss after a step over the loss before it: twice m's operations, and the square.

    (6n+21 roundings by a measured curvature.) Or a program takes one step of a run of its own, on
    targets t*x from the weight 0, and divides the losses. The first is q*t**2. The new weight is
    off by n+6 roundings of at most (1 + 2*r*q)*abs(t), its loss therefore by n+6 and twice n+6 of
    (1 + 2*r*q)**2 times the first: with the first loss's own n+2 and the quotient, 4n+21 of m's
    size squared.
    """
    multiplier = error_multiplier(rate, features)
    size = multiplier.size**2
    bound = _granted(2 * (3 * (len(features) + 2) + 2) + 1, size)
    return Rounded(multiplier.value**2, upward(bound), size)


def loss(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """mean((w*x - y)**2): n+5 operations on monomials that add up to mean((abs(w*x) + abs(y))**2).

    (n+8 roundings, expanded or not. q*(w - t)**2, for y = t*x, has no more, and its size is less.)
    A weight that is off by e has exactly the loss L + e*gradient + e**2*q.
    """
    return _loss(weight, _means(features, targets))


def gradient(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """2*mean(x*(w*x - y)), by autodiff, by residuals or expanded: n+4 operations on monomials that
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
    return Rounded(value, upward(_granted(data.n + 4, size) + carried), size)


def run(
    rate: Plain,
    steps: int,
    features: Sequence[Plain],
    targets: Sequence[Plain],
    initial_weight: Plain = 0,
) -> tuple[Rounded, list[Row]]:
    """`steps` steps of plain descent: the final weight, and a row per step before its update.

    Theorem. Let s = 1 + 2*r*q and D(v) = g*s*(v + T), where g is what n+6 operations are granted.
    A weight that is off by at most e is off by at most e' = abs(m)*e + D(abs(w) + e) a step later.

    Proof, for a program that steps. The exact step w' = m*w + 2*r*mean(x*y) takes an error e to m*e
    and no more. Its monomials add up to v + 2*r*q*(v + T) <= s*(v + T) at a weight of magnitude v;
    gradient, rate, product and difference are n+6 operations (n+8 roundings). (Arithmetic on
    `Rounded`s all the way would give s*e: it can't know that w and its gradient carry one error.)

    Proof, for a program that has the closed form w = t + (w0 - t)*m**k, with t known: let f be
    abs(w0 - t)*abs(m)**k + e after k steps. As abs(w) + T >= abs(w - t), f' >= (abs(m) + g*s)*f, and
    so e >= abs(w0 - t)*((abs(m) + g*s)**k - abs(m)**k). That is what an error of g*s in m itself
    can do. Of the 2n+12 roundings that g counts, m and each product with it need n+6. Rounding t and
    w0 on entry, the power by a library function, and the three last operations need 8 more, each at
    most u*(abs(m)**k*(abs(w0) + T) + T), and D is granted that at the first step and at the last.
    (For n = 1, m needs n+4: a mean of one number isn't rounded.) Loss and gradient by closed forms
    of their own, q*(w0-t)**2*m**(2*k) and its like, have the same error in m, which moves them no
    farther than the weight's error does, by the formulas in `loss` and `gradient`.

    The first row's weight is exact if it is 0; else it may have been rounded, by itself and by
    w0 - t + t.
    """
    data = _means(features, targets)
    double_rate = 2 * Fraction(rate)
    multiplier, spread = abs(1 - double_rate * data.xx), 1 + double_rate * data.xx
    weight = rounded(initial_weight)
    if weight.value:
        weight = Rounded(weight.value, _granted(2, abs(weight.value) + data.target_size))
    rows: list[Row] = []
    for _ in range(steps):
        rows.append((weight, _loss(weight, data), abs(_gradient(weight, data))))
        reach = abs(weight.value) + weight.bound + data.target_size
        bound = multiplier * weight.bound + _granted(data.n + 6, spread * reach)
        value = weight.value - double_rate * (data.xx * weight.value - data.xy)
        weight = Rounded(value, upward(bound))
    return weight, rows
