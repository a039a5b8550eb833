"""Functions of one number, as sums of terms: exact values, derivatives, difference quotients.

A formula is its terms, (kind, factor, parameter), as `grader.model.Formula` tells. It arrives at a
student's function as a JAX function. What that computes is ours, so its error is known: a term
factor*w**k is k products, and each of T terms passes through T sums at most.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from grader.exact.rounding import GRANTED, Plain, Rounded, gamma, upward

Term = tuple[str, float, float]
Terms = tuple[Term, ...]

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
}


def polynomial(*coefficients: float) -> Terms:
    """c0 + c1*w + c2*w**2 + ..., without the terms that are zero."""
    return tuple(("power", float(c), float(k)) for k, c in enumerate(coefficients) if c)


def derivative(formula: Terms) -> Terms:
    """The derivative, term by term; the empty sum for a constant."""
    return tuple(new for term in formula for new in _differentiated(term))


def _differentiated(term: Term) -> list[Term]:
    kind, factor, parameter = term
    if kind == "power":
        return [("power", factor * parameter, parameter - 1)] if parameter else []
    after = {"exp": ("exp", 1), "sin": ("cos", 1), "cos": ("sin", -1)}
    name, sign = after[kind]
    return [(name, sign * factor * parameter, parameter)]


def times(formula: Terms, factor: float) -> Terms:
    """The formula, every term multiplied."""
    return tuple((kind, factor * c, parameter) for kind, c, parameter in formula)


def value(formula: Terms, weight: float) -> float:
    """The formula's value in double precision."""
    return math.fsum(
        factor
        * (weight ** int(parameter) if kind == "power" else _FUNCTIONS[kind](parameter * weight))
        for kind, factor, parameter in formula
    )


def difference_quotient(formula: Terms, ahead: Plain, behind: Plain) -> Rounded:
    """(f(ahead) - f(behind))/(ahead - behind), exactly, of a polynomial.

    f(w) is off by what its own arithmetic and a rounded w make of it. In the monomials of f, which
    add up to S(w), the highest degree is d: d products and T sums on each, and w is rounded on
    entry (2 roundings, for w and h and their sum), d times. The quotient is of size (S(ahead) +
    S(behind))/abs(ahead - behind), with 4 operations more: both values divided before they are
    subtracted, by a step that is rounded or taken as a reciprocal.

    ValueError for a formula that is no polynomial.
    """
    if any(kind != "power" for kind, _, _ in formula):
        raise ValueError("an exact quotient is known of polynomials alone")
    first, second = Fraction(ahead), Fraction(behind)
    width = first - second
    difference = _exact(formula, first) - _exact(formula, second)
    size = (_size(formula, first) + _size(formula, second)) / abs(width)
    degree = max((int(parameter) for _, _, parameter in formula), default=0)
    operations = 3 * degree + len(formula) + 4
    bound = upward(gamma(GRANTED * operations) * size)
    return Rounded(difference / width, bound, size)


def _exact(formula: Terms, weight: Fraction) -> Fraction:
    terms = (Fraction(factor) * weight ** int(parameter) for _, factor, parameter in formula)
    return sum(terms, Fraction(0))


def _size(formula: Terms, weight: Fraction) -> Fraction:
    return sum(
        (abs(Fraction(c) * weight ** int(parameter)) for _, c, parameter in formula),
        Fraction(0),
    )
