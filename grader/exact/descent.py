"""The one-weight model in exact arithmetic: loss, gradient, curvature, and runs of descent.

Every function takes plain numbers (floats and ints are rationals) and returns `Rounded`s: the exact
answer for exactly those inputs, and the bound on a right program's error. The mathematics stands in
the course's pages; what stands here is why each bound holds.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from grader.exact.rounding import Plain, Rounded, mean, rounded, upward, vector

Row: TypeAlias = tuple[Rounded, Rounded, Rounded]
"""One step, before its update: weight, loss, absolute gradient."""


def mean_square(features: Sequence[Plain]) -> Rounded:
    """q = mean(x**2). No cancellation: the relative error is a few roundings a term."""
    return mean(x * x for x in vector(features))


def curvature(features: Sequence[Plain]) -> Rounded:
    """2q, the second derivative of the loss.

    Also for programs that take it from the gradient (`jax.hessian`, or the gradient at two weights
    one apart): the difference of two linear functions of size 3q is granted by one more operation.
    """
    square = mean_square(features)
    return Rounded(2 * square.value, 2 * (square + square).bound)


def rate_ceiling(features: Sequence[Plain]) -> Rounded | float:
    """1/q, the open end of the stable rates; infinity for features that are all zero."""
    if not any(features):
        return math.inf
    return 2 / curvature(features)


def error_multiplier(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """m = 1 - rate*2q. The magnitude is 1 + rate*2q, which the bound uses: near m = 0 the relative
    error has no bound, the absolute one has."""
    return 1 - rounded(rate) * curvature(features)


def growth_factor(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """m**2, the loss after a step over the loss before it.

    Programs that measure it from a run (two losses at some weight and targets of their own) compute
    m as a quotient of residuals, with roundings of numerator and denominator: twice m's bound.
    """
    multiplier = error_multiplier(rate, features)
    return Rounded(multiplier.value, 2 * multiplier.bound) ** 2


def loss(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """mean((w*x - y)**2). The bound uses (|w*x| + |y|)**2, so that expanded forms are covered."""
    terms = []
    for x, y in zip(vector(features), vector(targets), strict=True):
        size = abs(weight.value * x.value) + abs(y.value)
        residual = weight * x - y
        rounding = (Rounded(size) * size).bound  # of one square of this size
        square = residual * residual
        terms.append(Rounded(square.value, square.bound + rounding))
    return mean(terms)


def gradient(weight: Rounded, features: Sequence[Plain], targets: Sequence[Plain]) -> Rounded:
    """2*mean(x*(w*x - y)), by autodiff, by residuals or expanded."""
    pairs = zip(vector(features), vector(targets), strict=True)
    return 2 * mean(x * (weight * x - y) for x, y in pairs)


def run(
    rate: Plain,
    steps: int,
    features: Sequence[Plain],
    targets: Sequence[Plain],
    initial_weight: Plain = 0,
) -> tuple[Rounded, list[Row]]:
    """`steps` steps of plain descent: the final weight, and a row per step before its update.

    Theorem. The exact recurrence is w' = m*w + c, so an error e in w becomes exactly m*e in w', and
    one step adds at most the rounding of that step. Hence e' <= |m|*e + d, where d is the rounding
    of one update at the exact weight, enlarged by e. (Arithmetic on `Rounded`s all the way would give
    (1 + rate*2q)*e + d: it can't know that w and its gradient carry the same error.)
    A program that uses the closed form w = t + (w0-t)*m**k has an error of k*|m|**(k-1)*|w0-t| times
    m's own, which is the same sum: the size of the residual's parts is granted to each step's d.
    """
    rate_exact = rounded(rate)
    multiplier = abs(error_multiplier(rate, features).value)
    spread = 1 + rate_exact.value * curvature(features).value
    target_size = max(abs(Fraction(y)) for y in targets)
    weight = rounded(initial_weight)
    rows: list[Row] = []
    for _ in range(steps):
        slope = gradient(weight, features, targets)
        rows.append((weight, loss(weight, features, targets), abs(slope)))
        exact = Rounded(weight.value)
        update = exact - rate_exact * gradient(exact, features, targets)
        size = (abs(weight.value) + weight.bound + target_size) * spread
        local = update.bound + (Rounded(size) * 1).bound
        weight = Rounded(update.value, upward(multiplier * weight.bound + local))
    return weight, rows
