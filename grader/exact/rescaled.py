"""One step on a multiple of the objective: plain, clipped, and by Adam.

Plain numbers in, `Rounded`s out, as in `descent`. In all that follows n is the number of examples,
w the weight, r the rate, k the factor on the objective, q = mean(x**2), and T = mean(abs(x*y))/q,
which is at least the size of the weight t = mean(x*y)/q that fits best. G is the size of the
multiple's gradient: 2*k*(q*abs(w) + mean(abs(x*y))).

Where a bound is said to grant p operations on a size, it is the theorem of `rounding`: twice p
roundings on monomials whose magnitudes add up to that size. The roundings of the most wasteful way
that we know stand in parentheses; those of w, r and k on entry are among them. Nothing here
underflows: all inputs are of ordinary size, and Adam isn't asked for small gradients.
"""

from collections.abc import Sequence
from fractions import Fraction

from grader.exact import descent
from grader.exact.rounding import GRANTED, UNIT_ROUNDOFF, Plain, Rounded, gamma, rounded, upward

ADAM_DECAYS = (Fraction(9, 10), Fraction(999, 1000))
"""Adam's decays of the first and of the second moment, as its authors chose them.

Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1.
"""


def _granted(value: Fraction, operations: int, size: Fraction) -> Rounded:
    return Rounded(value, upward(gamma(GRANTED * operations) * size), size)


def compensating_rate(rate: Plain, scale: Plain) -> Rounded:
    """r/k, with 16 operations.

    (By formula 4 roundings. Measured, as r times the quotient of the worked case's gradient and of
    its multiple's, 23: n+5 = 8 for each of them, 2 for the factor, 5 for r and the two operations.
    By logarithms and an exponential 27, for r and k between 1/64 and 64.)
    """
    value = Fraction(rate) / Fraction(scale)
    return _granted(value, 16, abs(value))


def gradient(
    scale: Plain, weight: Plain, features: Sequence[Plain], targets: Sequence[Plain]
) -> Rounded:
    """k*2*mean(x*(w*x - y)): 2n+5 operations on G.

    (n+11 roundings where the data is multiplied by the root of k; 3n+11 as 2*k*q*(w - t), with t a
    quotient of two means. For n = 1 the means save some: one number's isn't rounded.)
    """
    plain = descent.gradient(Rounded(Fraction(weight)), features, targets)
    factor = Fraction(scale)
    return _granted(factor * plain.value, 2 * len(features) + 5, factor * plain.size)


def step(
    rate: Plain, scale: Plain, weight: Plain, features: Sequence[Plain], targets: Sequence[Plain]
) -> Rounded:
    """w - r*gradient: 2n+8 operations on abs(w) + r*G + T.

    (n+14 roundings with the root of k. 3n+15 as t + m*(w - t) with m = 1 - 2*r*k*q, where t is a
    quotient of two means; its monomials are those of w - r*gradient, and T.)
    """
    slope = gradient(scale, weight, features, targets)
    value = Fraction(weight) - Fraction(rate) * slope.value
    size = abs(Fraction(weight)) + Fraction(rate) * slope.size + _fit_size(features, targets)
    return _granted(value, 2 * len(features) + 8, size)


def _fit_size(features: Sequence[Plain], targets: Sequence[Plain]) -> Fraction:
    """T; 0 for features that are all zero."""
    square = descent.mean_square(features).value
    cross = descent.gradient(Rounded(Fraction(0)), features, targets).size / 2
    return cross / square if square else Fraction(0)


def clipped_step(
    rate: Plain,
    scale: Plain,
    clip: Plain,
    weight: Plain,
    features: Sequence[Plain],
    targets: Sequence[Plain],
) -> Rounded:
    """w - r*(the gradient, limited to [-clip, clip]).

    Within the clip it is `step`, with two operations more. (A gradient clipped by its norm, as
    g/abs(g)*min(abs(g), clip), is rounded 3 times more.)

    Beyond the clip the gradient's error is of no account: 6 operations on abs(w) + r*clip. (9
    roundings where the gradient is clipped before it is multiplied, to clip/k, which is the same.)

    Across the clip, where right programs may take either side, both bounds hold together: limiting
    brings no two numbers farther apart, so the gradient's error is no larger after it than before.
    """
    slope, limit = gradient(scale, weight, features, targets), Fraction(clip)
    if abs(slope.value) + slope.bound <= limit:
        plain = step(rate, scale, weight, features, targets)
        more = gamma(2 * GRANTED) * (plain.size + plain.bound)
        return Rounded(plain.value, upward(plain.bound + more), plain.size)
    limited = max(-limit, min(limit, slope.value))
    value = Fraction(weight) - Fraction(rate) * limited
    beyond = _granted(value, 6, abs(Fraction(weight)) + Fraction(rate) * limit)
    if abs(slope.value) - slope.bound >= limit:
        return beyond
    within = step(rate, scale, weight, features, targets)
    return Rounded(value, upward(beyond.bound + 2 * within.bound))


def adam_quotient(slope: Rounded, eps: Plain) -> Rounded:
    """g/(abs(g) + eps), the gradient as Adam's first step from zero moments uses it.

    Theorem. Let a program go Adam's general way: m = (1-b)*g and v = (1-c)*g*g with the decays b
    and c, divided by 1 - b**1 and 1 - c**1, then m/(sqrt(v) + eps). Let its two gs be within
    `slope.bound` of g, computed once or apart. Let it form each complement, such as 1-c, in float64
    or in float32 from a rounded decay. Then m and sqrt(v) are, after the division, as near to g and
    to its magnitude as `_off` says.

    Proof. Below 1 the gaps of float32 are u, so a decay is off by at most u/2 on entry. Its first
    power is exact, or comes from a library function that is off by less than 2u (NumPy's float32
    power: 1.7u): between float32 numbers that is one gap. So it is off by at most 1.5u, and its
    complement by a share d = 1.5u/(1-b) of itself: 15u for b, 1500u for c. (The difference from 1
    is exact: Sterbenz.) Of two complements that are divided, both may be off, but then by the same
    rounding on entry, and again d is enough. So m is off by at most a factor 1/(1-d), and sqrt(v)
    by its root for c, which is at most 1 + d/2/(1-d). To this come 5 roundings for m (1-b on entry,
    the product, the sum with the old moment, and the quotient by way of a reciprocal), as many and
    the square's 2 for v, of which the root leaves half, and the root's own: 8 are granted to each.
    Last come eps, the sum and the quotient, as in `rounding`.

    With a small eps that is some 780u. A general Adam with float32 bias corrections, optax's for
    one, has been seen to be 113u off.
    """
    first, second = (Fraction(3, 2) * UNIT_ROUNDOFF / (1 - decay) for decay in ADAM_DECAYS)
    moment = _off(slope, first / (1 - first))
    root = abs(_off(slope, second / 2 / (1 - second)))
    return moment / (root + rounded(eps))


def _off(slope: Rounded, relative: Fraction) -> Rounded:
    """The gradient after a factor that is off by `relative`, and 8 roundings more."""
    share = (1 + relative) * (1 + gamma(8)) - 1
    return Rounded(slope.value, upward(slope.bound + share * (abs(slope.value) + slope.bound)))


def adam_step(
    rate: Plain,
    scale: Plain,
    weight: Plain,
    features: Sequence[Plain],
    targets: Sequence[Plain],
    eps: Plain,
) -> Rounded:
    """w - r*g/(abs(g) + eps), for a gradient g that is at least twice its bound.

    A product and a difference on top of `adam_quotient`. (As many roundings, or one more on r where
    it is r that is divided by 1-b.)
    """
    quotient = adam_quotient(gradient(scale, weight, features, targets), eps)
    return rounded(weight) - rounded(rate) * quotient


def adam_is_asked(
    scale: Plain, weight: Plain, features: Sequence[Plain], targets: Sequence[Plain]
) -> bool:
    """Whether the gradient is at least 1/64 in magnitude, and at least 64 times its bound."""
    slope = gradient(scale, weight, features, targets)
    return abs(slope.value) >= max(Fraction(1, 64), 64 * slope.bound)


def clip_is_asked(
    scale: Plain,
    clip: Plain,
    weight: Plain,
    features: Sequence[Plain],
    targets: Sequence[Plain],
) -> bool:
    """Whether the gradient is clear of a tie with the clip: by 1/64 of it, and by 64 bounds."""
    slope, limit = gradient(scale, weight, features, targets), Fraction(clip)
    return abs(abs(slope.value) - limit) >= max(limit / 64, 64 * slope.bound)
