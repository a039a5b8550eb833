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


def settled(rate: Plain) -> Rounded:
    """The weight after six steps at a rate with 0 <= m < 1, where m = 1 - 2*r*q.

    `descent.run` grants more than six steps and five differ by, 41u at rate 0.1. This one counts on
    it that the data are small whole numbers, and that weights only rise, from 0 to t = 2; and it
    grants the roundings of the most wasteful program that we know, with none to spare. That one
    steps by m*w + c, with c = 2*r*mean(x*y). In m there is 2*r*q, in c 2*r*q*t, each with 6: four
    of the mean (a rounded 1/3 in each term, two sums), the rate's, its product's. Then two on m*w
    (m's own, the product's), and one on the new weight. An error e before a step is m*e after it.
    (2*mean(x*(w*x - y)), expanded or not, takes 9 on 2*r*q*t, where these are 12: a rounding that
    comes after the difference vanishes with it. And t + (w0 - t)*m**6 hardly feels an m that is
    off.)
    """
    weight, _ = run(rate)
    multiplier = descent.error_multiplier(rate, FEATURES).value
    means = 2 * gamma(6) * (1 - multiplier) * TRUE_WEIGHT
    step = means + (gamma(2) * multiplier + gamma(1)) * TRUE_WEIGHT
    return Rounded(weight.value, upward(step / (1 - multiplier)))


def held_out_loss(rate: Plain, features: Sequence[Plain]) -> Rounded:
    """The loss on other features, on targets twice those, at the weight after six steps: a mean of
    squared residuals.

    A residual w*x - 2*x is off by what the weight is off, times x, and by at most 5 roundings of
    2*abs(x): those of w, x and the target on entry, the product's, and the target's own. (The two
    are so near each other that their difference is exact; (w - 2)*x takes fewer.) A residual r that
    is off by d has the square r**2 + 2*r*d + d**2; the mean of the squares rounds n+6 times more.
    (Not for the loss multiplied out, whose terms cancel to nothing here: in float32 that is no loss
    near the optimum, and may be negative.)
    """
    weight = settled(rate)
    value, off = Fraction(0), Fraction(0)
    for x in [Fraction(feature) for feature in features]:
        residual = (weight.value - TRUE_WEIGHT) * x
        wrong = (gamma(5) * TRUE_WEIGHT + weight.bound) * abs(x)
        value += residual**2
        off += 2 * abs(residual) * wrong + wrong**2
    n = len(features)
    return Rounded(value / n, upward(off / n + gamma(n + 6) * (value + off) / n))


def _entered(plain: Rounded) -> Rounded:
    return Rounded(plain.value, upward(plain.bound + gamma(4) * plain.size), plain.size)
