"""What a portfolio of the worked case holds, exactly, and how far a right program's numbers may be.

Plain numbers in, `Rounded`s out, as in `descent`. The worked case is features 1, 2, 3 and targets
twice that, from the weight 0. Numbers that a student chose come back as doubles: where they are no
float32s, a program in float32 rounds them on entry.
"""

import itertools
from collections.abc import Sequence
from fractions import Fraction

from grader.exact import descent
from grader.exact.rounding import Plain, Rounded, gamma, rounded, upward

FEATURES = (1.0, 2.0, 3.0)
TRUE_WEIGHT = 2
STEPS = 6


def run(rate: Plain, factor: int = 1) -> tuple[Rounded, list[descent.Row]]:
    """Six steps on the worked case, with features and targets times `factor`."""
    features = [factor * x for x in FEATURES]
    return descent.run(rate, STEPS, features, [TRUE_WEIGHT * x for x in features])


def loss_multiplier(rate: Plain) -> Rounded:
    """m**2, by formula or measured: the quotient of two losses that follow each other in a run, at
    whatever step, or the fifth root of the last over the first.

    Either quotient is within what its two losses' bounds make of it. A root of the last over the
    first is off by less than the quotient that it is made of, and two operations.
    """
    formula = descent.growth_factor(rate, FEATURES)
    losses = [loss for _, loss, _ in run(rate)[1]]
    measured = [after / before for before, after in itertools.pairwise(losses)]
    bound = max(quotient.bound for quotient in measured) + gamma(4) * formula.value
    return Rounded(formula.value, max(formula.bound, upward(bound)), formula.size)


def move_bound(rate: Plain, clip: Plain) -> Rounded:
    """rate*clip, one operation."""
    return rounded(rate) * rounded(clip)


def largest_move(rate: Plain, clip: Plain) -> Rounded:
    """The largest difference of two weights in a clipped run: rate*clip, as the first gradient is
    beyond the clip.

    The step is rounded 3 times. Weights of the worked case stay below 4 (no move takes one farther
    than rate*clip beyond 2), so each of the two is stored within 2u, or 4u; that counts fully.
    """
    move = move_bound(rate, clip)
    stored = 2 * gamma(4)
    return Rounded(move.value, upward(move.bound + stored), move.size)


def gradient_at_zero(features: Sequence[Plain]) -> Rounded:
    """The gradient at weight 0 on targets twice the features; each feature is rounded on entry,
    and each target, which is 2 roundings more on each monomial, and 2 for the products."""
    targets = [TRUE_WEIGHT * Fraction(x) for x in features]
    plain = descent.gradient(Rounded(Fraction(0)), features, targets)
    return _entered(plain)


def held_out_loss(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """The loss on other features, on targets twice those, at the weight after six steps: a mean of
    squared residuals.

    A residual w*x - 2*x is off by what the weight is off, times x, and by 8 roundings of its two
    terms (x is rounded on entry, and so are w, the product, the target and the difference). A
    residual r that is off by d has the square r**2 + 2*r*d + d**2; the mean of the squares rounds
    n+6 times more. (Not for the loss multiplied out, whose terms cancel to nothing here: in float32
    that is no loss near the optimum, and may be negative.)
    """
    weight, _ = run(rate)
    value, off = Fraction(0), Fraction(0)
    for x in [Fraction(feature) for feature in features]:
        residual = (weight.value - TRUE_WEIGHT) * x
        reach = (abs(weight.value) + TRUE_WEIGHT) * abs(x)
        wrong = gamma(8) * reach + weight.bound * abs(x)
        value += residual**2
        off += 2 * abs(residual) * wrong + wrong**2
    n = len(features)
    return Rounded(value / n, upward(off / n + gamma(n + 6) * (value + off) / n))


def _entered(plain: Rounded) -> Rounded:
    return Rounded(plain.value, upward(plain.bound + gamma(4) * plain.size), plain.size)
