"""Functions with a corner: a root, a norm and a masked mean, with their gradients.

Plain numbers in, `Rounded`s out. u is the unit roundoff, gamma(k) the relative error that k float32
roundings can add up to (see `rounding`). What the contract sets at a corner, 0, is due exactly:
bound 0.

Theorem (roots). A program that computes the root of a positive number in one of the ways below is
within gamma(64) of it, relative to the root; so is one that computes half of its reciprocal.

- As `sqrt` or `rsqrt` of the library: at most 2u. The argument may be rounded on entry, which the
  root halves.
- By Newton's iteration s -> (s + x/s)/2 to its end: the last step has 3 roundings, and the error
  before it enters squared.
- By a power: as e**(log(x)/2). Of a number between 2**-20 and 2**23, which is what squares and
  their sums can be, up to eight of them, half the logarithm is below 8 in magnitude. XLA's log is
  off by 2.0u, the product rounds once more, and by way of base 2 two rounded constants and two
  products come in: 7u of at most 8, as an error of the exponent, is a relative one of at most 56u
  of the result. The exponential's own is 1.4u, and the number's on entry 0.5u.

The derivative, by JAX or by formula, is a product of a root and its number, or a quotient of 1 by
twice a root: the same errors, which are each counted once, and up to 4 roundings. Those are within
the 64, too, since the entry's half rounding, 1.4u and 56u leave six.
"""

from collections.abc import Sequence
from fractions import Fraction

from grader.exact.enclosures import Enclosed, root
from grader.exact.rounding import Plain, Rounded, gamma, upward

ROOT = 64
"""Roundings that a root, or half its reciprocal, may be off by: see the theorem above."""

ZERO = Rounded(Fraction(0))


def _enclosed(number: Enclosed, roundings: int, size: Fraction) -> Rounded:
    """A number with so many roundings of `size`, and its own width."""
    return Rounded(number.value, upward(gamma(roundings) * size + number.width), size)


def safe_sqrt(x: Plain) -> Rounded:
    """The root of a positive number, as the theorem has it; else 0, exactly."""
    if x <= 0:
        return ZERO
    exact = root(Fraction(x))
    return _enclosed(exact, ROOT, exact.value)


def safe_sqrt_slope(x: Plain) -> Rounded:
    """1/(2*sqrt(x)) for a positive number, as the theorem has it; else 0, exactly."""
    if x <= 0:
        return ZERO
    exact = root(1 / (4 * Fraction(x)))
    return _enclosed(exact, ROOT, exact.value)


def square_sum(vector: Sequence[Plain]) -> Fraction:
    """The sum of the squares, exactly."""
    return sum((Fraction(x) ** 2 for x in vector), Fraction(0))


def safe_norm(vector: Sequence[Plain]) -> Rounded:
    """The Euclidean norm of n numbers; 0, exactly, where all of them are 0.

    A sum of n squares is within gamma(n + 2) of itself (n - 1 sums, the square, and a power by a
    library function), of which the root leaves half. By hypotenuses, one after the other, there are
    n - 1 roots, each of which halves the errors before it: 4 roundings for each. Scaled by the
    largest number, or by the sum of the magnitudes, a division and a product come in. So 4*n more
    than for a root are enough.
    """
    exact = root(square_sum(vector))
    return _enclosed(exact, ROOT + 4 * len(vector), exact.value)


def safe_norm_slope(vector: Sequence[Plain]) -> list[Rounded]:
    """The vector over its norm, entry by entry; zeros, exactly, for the vector of zeros.

    By formula, and as JAX takes it through root and squares, an entry is within gamma(ROOT + 4*n +
    4) of itself: the norm's errors, a quotient, and an entry or its double.

    Scaled, as s*|v/s|, the norm has a derivative by s as well: g - h/g with g = |v/s| and h = g*g
    as a sum of n products. That is 0, but each of both terms has some n + 8 roundings of its own,
    so what is left is at most 2*gamma(n + 8)*g, and it is multiplied by the derivative of s. For s
    the sum of the magnitudes, g is at most 1 and reaches every entry, the zeros among them. For s
    the largest magnitude, g is at most the root of n, and it reaches the largest entries alone,
    which are at least 1 over that root. Up to n = 5 either is less than gamma(ROOT + 4*n + 4). So
    the bound is that, on the entry's magnitude and 1: `size`.
    """
    squares = square_sum(vector)
    if not squares:
        return [ZERO] * len(vector)
    norm = root(squares)
    return [_share(Fraction(x), norm, len(vector)) for x in vector]


def _share(x: Fraction, norm: Enclosed, n: int) -> Rounded:
    value = x / norm.value
    width = abs(value) * norm.width / (norm.value - norm.width)
    return _enclosed(Enclosed(value, width), ROOT + 4 * n + 4, 1 + abs(value))


def kept_of(residuals: Sequence[Plain], mask: Sequence[bool]) -> list[Fraction]:
    """The entries that the mask keeps; the others may be anything."""
    return [Fraction(r) for r, keep in zip(residuals, mask, strict=True) if keep]


def masked_mean_square(residuals: Sequence[Plain], mask: Sequence[bool]) -> Rounded:
    """The mean of the squares of what is kept; 0, exactly, where nothing is.

    Directly: k squares of two roundings at most, a sum of n terms (zeros among them) in any order,
    a quotient of two: n + 4 roundings. As the square of a norm over the count: twice those of the
    norm and three more. That is granted.
    """
    kept = kept_of(residuals, mask)
    if not kept:
        return ZERO
    value = square_sum(kept) / len(kept)
    return Rounded(value, upward(gamma(2 * (ROOT + 4 * len(mask)) + 3) * value))


def masked_mean_square_slope(residuals: Sequence[Plain], mask: Sequence[bool]) -> list[Rounded]:
    """2*r/count for each kept entry; 0, exactly, for each of the others.

    By formula and as JAX takes it: the entry, a factor 2, a quotient of two roundings. As the
    square of a norm over the count it is 2*norm/count times an entry of `safe_norm_slope`, and so
    the bound is: its errors, the norm's, and four roundings, on 2*norm/count times its size.
    """
    kept = kept_of(residuals, mask)
    norm = root(square_sum(kept))
    largest = norm.value + norm.width
    relative = gamma(2 * (ROOT + 4 * len(mask)) + 8)
    slopes = []
    for residual, keep in zip(residuals, mask, strict=True):
        if not keep:
            slopes.append(ZERO)
            continue
        value = 2 * Fraction(residual) / len(kept)
        size = abs(value) + 2 * largest / len(kept)
        slopes.append(Rounded(value, upward(relative * size)))
    return slopes
