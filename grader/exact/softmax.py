"""Sums of exponentials and what is made of them: logsumexp, softmax, cross-entropy.

Plain logits in, `Rounded`s out. There are n logits z, all of them float32 numbers, at most Z in
magnitude; m is the largest. u is the unit roundoff, gamma(k) the relative error that k float32
roundings can add up to.

The exact answer comes from `enclosures`: with logits shifted by m, so that no exponent is above 0.

How far may a right program be off? A logit may be as large as 10**4, where neighbouring float32
numbers are 2**-10 apart. A program that rounds a number of that size once is off by up to u*Z,
whatever it does afterwards. So the bounds are on 1 + Z, as conditioning demands: a relative change
of u in the logits changes logsumexp and cross-entropy by up to u*Z and 2*u*Z, and each probability
by a factor e**(2*u*Z) or its inverse.

Theorem. Ways to the logsumexp are off by at most gamma(2*(n + 6))*(1 + Z), for n up to 5:

- m + log(sum(exp(z - m))): each difference d is rounded, which changes e**d by u*|d|*e**d at most,
  less than 0.4u. XLA's exp is off by 1.4u of a number that is at most 1, the sum by n-1 roundings.
  The sum is at least 1 and at most n: as an error of the logarithm, that is less than (n - 1 +
  1.8*n)*u. The logarithm's own is 2.0u of log(n), and the last sum rounds at most Z + log(n).
  Together, with log(n) <= 1.61: less than (Z + 2.8*n + 4)*u.
- by pairs, log(exp(a) + exp(b)) again and again: n - 1 stages with a last sum each, so that their
  roundings add up to (n - 1)*(Z + log(n)), and with log1p (3.5u of at most log(2)), exp and
  difference to less than (n - 1)*(Z + 6)*u.
- in base 2: two roundings of Z on the way in (a constant, a product), two on the way out, one of
  the last sum: 5*Z*u, and what the first way has beside Z.
- as a logit minus its log-probability: three roundings of Z or twice that, 5*Z*u.

2*(n + 6) is at least 14, so it exceeds each of these.

Theorem. Cross-entropy, as the difference of two, rounds at most 2*Z + log(n) once more, or, as -log
of a probability that was shifted first, twice: gamma(2*(n + 8)) on 1 + Z.

Theorem. A probability e**(z - logsumexp) has the error of its exponent, at most E = gamma(2*(n +
8))*(1 + Z) by the same count, as a factor; so have quotients of exponentials that were shifted by
anything, and what JAX makes of any of the ways above as their gradient, which is a product of at
most n - 1 such factors. Beside it some n + 4 operations of two roundings each work on numbers up to
1, among them 1 minus the rest and sums that cancel, as in the gradient by the shift: they are
absolute errors, gamma(2*(n + 4)), which is also far above all that underflow can do. The gradient
of the cross-entropy is a probability, less by 1 for the label. Where that 1 comes about as the sum
of all probabilities, as in the gradient of logsumexp(z - z[label]), the factor is on it as well.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

from grader.exact.enclosures import Enclosed, exponential, logarithm
from grader.exact.rounding import Plain, Rounded, gamma, upward

CONFIDENT = Fraction(99, 100)


def conditioning(logits: Sequence[Plain], operations: int) -> Fraction:
    """So many operations and one for each logit, of two roundings each, on 1 + Z."""
    largest = max(abs(Fraction(z)) for z in logits)
    return gamma(2 * (len(logits) + operations)) * (1 + largest)


@functools.lru_cache(2_000)
def _enclosed(logits: tuple[Plain, ...]) -> Enclosed:
    """The logsumexp: m and the logarithm of a sum that is at least 1."""
    exact = [Fraction(z) for z in logits]
    largest = max(exact)
    total = Enclosed(Fraction(0))
    for z in exact:
        total = total + exponential(Enclosed(z - largest))
    return Enclosed(largest) + logarithm(total)


def logsumexp(logits: Sequence[Plain]) -> Rounded:
    """log(sum(exp(z)))."""
    exact = _enclosed(tuple(logits))
    return Rounded(exact.value, upward(conditioning(logits, 6) + exact.width))


def cross_entropy(logits: Sequence[Plain], label: int) -> Rounded:
    """-log(softmax(z)[label]) = logsumexp(z) - z[label]."""
    exact = _enclosed(tuple(logits)) - Enclosed(Fraction(logits[label]))
    return Rounded(exact.value, upward(conditioning(logits, 8) + exact.width))


def softmax(logits: Sequence[Plain]) -> list[Rounded]:
    """exp(z - logsumexp(z)), which is also the gradient of logsumexp."""
    return [_probability(logits, place, Fraction(0)) for place in range(len(logits))]


def cross_entropy_slope(logits: Sequence[Plain], label: int) -> list[Rounded]:
    """The gradient of the cross-entropy: probabilities, that of the label less by 1."""
    return [_probability(logits, place, Fraction(place == label)) for place in range(len(logits))]


def _probability(logits: Sequence[Plain], place: int, less: Fraction) -> Rounded:
    """One probability, less by a number, on which the factor may have worked, too."""
    exact = exponential(Enclosed(Fraction(logits[place])) - _enclosed(tuple(logits)))
    off = conditioning(logits, 8)
    relative = off + off * off  # at least e**off - 1 for off up to 1
    bound = relative * (exact.value + less) + gamma(2 * (len(logits) + 4)) + exact.width
    return Rounded(exact.value - less, upward(bound))


def confidently_wrong(logits: Sequence[Plain], label: int) -> bool:
    """Whether a class other than the label has a probability above 0.99."""
    return any(p.value > CONFIDENT for p in _others(logits, label))


def confidence_is_asked(logits: Sequence[Plain], label: int) -> bool:
    """Whether every other class is clear of 0.99: by its bound, and by 1/1000 beyond it."""
    margin = Fraction(1, 1000)
    return all(abs(p.value - CONFIDENT) > p.bound + margin for p in _others(logits, label))


def _others(logits: Sequence[Plain], label: int) -> list[Rounded]:
    return [p for place, p in enumerate(softmax(logits)) if place != label]
