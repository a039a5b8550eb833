"""Runs of plain descent that are predicted and not made, for targets that are t times the features.

Plain numbers in, `Rounded`s out, as in `descent`. In all that follows n is the number of examples,
r the rate, q = mean(x**2), m = 1 - 2*r*q, t the true weight, w0 the weight that a run starts from.
"""

from collections.abc import Sequence
from fractions import Fraction

from grader.exact import descent
from grader.exact.descent import FLUSHED
from grader.exact.rounding import GRANTED, Plain, Rounded, gamma, upward


def run(
    rate: Plain,
    steps: int,
    features: Sequence[Plain],
    true_weight: Plain,
    initial_weight: Plain,
) -> tuple[list[Rounded], list[Rounded]]:
    """The weights before each of `steps` steps, and their losses.

    A weight's bound is the larger one of two. One is that of `descent.run`, for programs that make
    the run after all. Their targets are t*x, which takes two roundings more (t on entry, and the
    product), once in a weight's monomials and at most twice in a loss's: n+9 in a step, and n+10 in
    a loss, where both are granted 2n+10. The other one is `_closed`.

    A loss's bound is the larger one of two as well: that of the loss at a weight that is off by so
    much, as in `descent.run`, and `_grown`.
    """
    true, start = Fraction(true_weight), Fraction(initial_weight)
    targets = [true * Fraction(x) for x in features]
    _, rows = descent.run(rate, steps, features, targets, start)
    multiplier = descent.error_multiplier(rate, features)
    weights, losses = [], []
    for step, (stepped, _, _) in enumerate(rows):
        off = _closed(step, multiplier, true, start)
        weight = Rounded(stepped.value, max(stepped.bound, off))
        loss = descent.loss(weight, features, targets)
        grown = _grown(step, rows[0][1], rate, features)
        weights.append(weight)
        losses.append(Rounded(loss.value, max(loss.bound, grown), loss.size))
    return weights, losses


def _closed(step: int, multiplier: Rounded, true: Fraction, start: Fraction) -> Fraction:
    """The error of a program that computes w = t + (w0 - t)*m**step, expanded or not.

    Let h be the bound on m, which also holds for an m that is measured, with gamma(2)*abs(m) for
    the rounding of the power at each factor. So the power is off by at most (abs(m) + h)**step -
    abs(m)**step, which is taken times w0 - t. Then four operations on (abs(m) + h)**step*(abs(w0) +
    abs(t)) + abs(t): a power by a library function, a product and two sums (6 roundings, with t and
    w0 rounded on entry). The weight 0 at the start is exact.
    """
    if step == 0 and start == 0:
        return Fraction(0)
    size = abs(multiplier.value)
    most = size + multiplier.bound + gamma(GRANTED) * size
    off = abs(start - true) * (most**step - size**step)
    sizes = most**step * (abs(start) + abs(true)) + abs(true)
    return upward(off + gamma(4 * GRANTED) * sizes)


def _grown(step: int, first: Rounded, rate: Plain, features: Sequence[Plain]) -> Fraction:
    """The error of a program that takes the first loss times the loss's growth to the power `step`.

    Let h be the bound on the growth g = m**2, which also holds where g is multiplied out or
    measured, with gamma(2)*g for the rounding of the power at each factor. The first loss brings
    its own bound. Then three operations: a power by a library function, and a product.
    """
    growth = descent.growth_factor(rate, features)
    most = growth.value + growth.bound + gamma(GRANTED) * growth.value
    largest = first.value + first.bound
    off = largest * most**step - first.value * growth.value**step
    return upward(off + gamma(3 * GRANTED) * largest * most**step + (FLUSHED if largest else 0))


def is_clear(rate: Plain, features: Sequence[Plain]) -> bool:
    """Whether m is clear of -1, 0 and 1, where right programs may differ: by 1/64 and 64 bounds."""
    multiplier = descent.error_multiplier(rate, features)
    least = max(Fraction(1, 64), 64 * multiplier.bound)
    return all(abs(multiplier.value - border) >= least for border in (-1, 0, 1))
