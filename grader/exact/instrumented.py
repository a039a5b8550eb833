"""Runs that are recorded on both sides of their update, with or without a clip.

Plain numbers in, `Rounded`s out. The run is that of `clipped`, whose bounds and letters hold here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from grader.exact import clipped, descent
from grader.exact.rounding import GRANTED, Plain, Rounded, gamma, upward

Record: TypeAlias = dict[str, list[Rounded]]
"""weight, loss, gradient, update and next_weight, each with one number a step."""

UNREACHED = Fraction(2**500)
"""A clip that no gradient of a float32 run comes near: the run is a plain one."""


def record(
    rate: Plain,
    steps: int,
    features: Sequence[Plain],
    targets: Sequence[Plain],
    initial_weight: Plain = 0,
    clip: Plain | None = None,
) -> Record:
    """`steps` steps on finite data, the gradient of each limited to [-clip, clip]."""
    limit = UNREACHED if clip is None else clip
    final, rows = clipped.run(rate, steps, limit, features, targets, initial_weight)
    weights = [*(row[0] for row in rows), final]
    return {
        "weight": weights[:-1],
        "loss": [row[1] for row in rows],
        "gradient": [_signed(row[2], row[0], features, targets) for row in rows],
        "update": [update(*pair) for pair in itertools.pairwise(weights)],
        "next_weight": weights[1:],
    }


def _signed(
    size: Rounded, weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]
) -> Rounded:
    """A gradient from its size: a magnitude is as far off as what it is of."""
    exact = descent.gradient(Rounded(weight.value), features, targets).value
    return -size if exact < 0 else size


def update(before: Rounded, after: Rounded) -> Rounded:
    """The change that a step applies, as the difference of its two weights or as -r*limited(g).

    Theorem. It is off by at most what both weights may be off by, and one operation more. Proof.
    For the difference that is plain, also for weights by a closed form. Let the weight before the
    step be off by e. The product is off by r times what is wrong with the limited gradient: where
    that isn't limited for sure, by 2*r*q*e = abs(1 - m)*e and roundings. Now abs(1 - m)*e is at
    most e + abs(m)*e, of which the bound of the weight after the step holds the second part. And
    that bound grants to the step at least the roundings that are spent on the product, on the same
    sizes, as the product is a part of the step.
    """
    value = after.value - before.value
    off = before.bound + after.bound
    return Rounded(value, upward(off + gamma(GRANTED) * (abs(value) + off)))


def ratio(update: Plain, weight: Plain) -> Rounded | float:
    """abs(update)/abs(weight), with 24 operations; infinite for a weight that alone is 0.

    (By formula 4 roundings, two of them on entry. By logarithms 46, for numbers between 1/1024 and
    1024: their logarithms are below 7 in size, so the two are off by 28u together and by another
    2u for the rounding on entry, their difference by 14u, and the exponential by 1.4u.)
    """
    if not weight:
        return math.inf if update else Rounded(Fraction(0))
    value = abs(Fraction(update) / Fraction(weight))
    return Rounded(value, upward(gamma(24 * GRANTED) * value))
