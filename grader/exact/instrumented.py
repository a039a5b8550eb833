"""Runs that are recorded on both sides of their update, with or without a clip.

Plain numbers in, `Rounded`s out, as in `descent`, whose letters hold here: n examples, weight w,
rate r, q = mean(x**2), c = 2*q, T = mean(abs(x*y))/q. New is the clip C: a step goes from w to
F(w) = w - r*P(g(w)), where g(w) = c*w - 2*mean(x*y) and P limits a number to [-C, C].

Where p operations are granted on a size, that is the theorem of `rounding`: twice p roundings on
monomials that add up to it. What the most wasteful program that we know spends is in parentheses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from grader.exact import descent
from grader.exact.rounding import GRANTED, Plain, Rounded, gamma, rounded, upward

Record: TypeAlias = dict[str, list[Rounded]]
"""weight, loss, gradient, update and next_weight, each with one number a step."""


def _granted(operations: int, size: Fraction) -> Fraction:
    return gamma(GRANTED * operations) * size + descent.FLUSHED if size else Fraction(0)


def record(
    rate: Plain,
    steps: int,
    features: Sequence[Plain],
    targets: Sequence[Plain],
    initial_weight: Plain = 0,
    clip: Plain | None = None,
) -> Record:
    """`steps` steps on finite data, the gradient of each limited to [-clip, clip].

    Loss and gradient follow from the weight and its bound, as in `descent`. For the update see
    `update`.
    """
    path = weights(rate, steps, features, targets, initial_weight, clip)
    before, after = path[:-1], path[1:]
    return {
        "weight": before,
        "loss": [descent.loss(weight, features, targets) for weight in before],
        "gradient": [descent.gradient(weight, features, targets) for weight in before],
        "update": [update(*pair) for pair in zip(before, after, strict=True)],
        "next_weight": after,
    }


def weights(
    rate: Plain,
    steps: int,
    features: Sequence[Plain],
    targets: Sequence[Plain],
    initial_weight: Plain = 0,
    clip: Plain | None = None,
) -> list[Rounded]:
    """The weights before each step, and the one after the last.

    Without a clip they are `descent.run`'s, whose bounds hold for stepping and for closed forms.
    With one a program steps, and `_clipped_step` says what it may be off by.
    """
    if clip is None:
        final, rows = descent.run(rate, steps, features, targets, initial_weight)
        return [*(weight for weight, _, _ in rows), final]
    path = [Rounded(Fraction(initial_weight), rounded(initial_weight).bound)]
    for _ in range(steps):
        path.append(_clipped_step(path[-1], Fraction(rate), Fraction(clip), features, targets))
    return path


def _clipped_step(
    weight: Rounded,
    rate: Fraction,
    clip: Fraction,
    features: Sequence[Plain],
    targets: Sequence[Plain],
) -> Rounded:
    """The weight after a step of a program that is off by at most e = weight.bound before it.

    Let v be the program's weight, within e of w, and G = c*(abs(w) + e + T) the size of its
    gradient. It computes g(v) + d, with n+3 operations granted to d on G; so what it computes is
    within c*e + abs(d) of g(w), which is the bound that `descent.gradient` gives.

    F is a line of slope 1 - r*c where the gradient is within the clip, and of slope 1 beyond it, so
    it takes e to abs(1 - r*c)*e, to e, or, where the clip may lie between the two gradients, to the
    larger of them at most. To this the step adds its own roundings: two operations on v, and

    - surely within: n+7 operations on r*G, d included. (n+7 roundings as in `descent`; 3 more for a
      gradient clipped by its norm, g/abs(g)*min(abs(g), C).)
    - surely beyond: 6 operations on r*C. The gradient's error is of no account. (7 roundings: C, r,
      their product and the sum; and 3 for the clip by the norm.)
    - else both: P brings no two numbers farther apart, so d is no larger after it.
    """
    slope = descent.gradient(weight, features, targets)
    multiplier = abs(1 - rate * descent.curvature(features).value)
    limited = max(-clip, min(clip, slope.value))
    local = _granted(2, abs(weight.value) + weight.bound)
    within = _granted(len(features) + 7, rate * slope.size)
    beyond = _granted(6, rate * clip)
    if abs(slope.value) + slope.bound <= clip:
        bound = multiplier * weight.bound + local + within
    elif abs(slope.value) - slope.bound >= clip:
        bound = weight.bound + local + beyond
    else:
        bound = max(Fraction(1), multiplier) * weight.bound + local + within + beyond
    return Rounded(weight.value - rate * limited, upward(bound))


def update(before: Rounded, after: Rounded) -> Rounded:
    """The change that a step applies, as the difference of its two weights or as -r*P(g).

    Theorem. It is off by at most what both weights may be off by, and one operation. Proof. For the
    difference that is plain, also for weights by a closed form. The product is off by r times what
    the limited gradient is off by, that is r*c*e and roundings (beyond the clip, by roundings
    alone). Now r*c*e <= e + abs(1 - r*c)*e, the weight's error before the step and what the step
    carries of it; and the step's bound grants at least as many roundings to the product, on the
    same size, as it is a part of the step.
    """
    value = after.value - before.value
    off = before.bound + after.bound
    return Rounded(value, upward(off + _granted(1, abs(value) + off)))


def ratio(update: Plain, weight: Plain) -> Rounded | float:
    """abs(update)/abs(weight), with 24 operations; infinite for a weight that alone is 0.

    (By formula 4 roundings, two of them on entry. By logarithms 46, for numbers between 1/1024 and
    1024: their logarithms are below 7 in size, so the two are off by 28u together and by another
    2u for the rounding on entry, their difference by 14u, and the exponential by 1.4u.)
    """
    if not weight:
        return math.inf if update else Rounded(Fraction(0))
    value = abs(Fraction(update) / Fraction(weight))
    return Rounded(value, upward(_granted(24, value)))
