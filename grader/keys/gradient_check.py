"""The key of `gradient_check`: exact difference quotients, and right and wrong gradients."""

from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from grader.exact import formulas
from grader.judge import Number, Truth, expect, number
from grader.model import Formula, Misconception

TITLE = "Trust a gradient, but difference it"


def polynomial(*coefficients: float) -> Formula:
    """c0 + c1*w + c2*w**2 + ..."""
    return Formula(formulas.polynomial(*coefficients))


def derivative(function: Formula) -> Formula:
    """The gradient that is right."""
    return Formula(formulas.derivative(function.terms))


def times(function: Formula, factor: float) -> Formula:
    """The function, multiplied."""
    return Formula(formulas.times(function.terms, factor))


def value(function: Formula, weight: float) -> float:
    """What it is at a weight."""
    return formulas.value(function.terms, weight)


# --- what is due ---------------------------------------------------------------------------------


def central_difference(function: Formula, weight: float, step: float) -> Number:
    """(f(w + h) - f(w - h))/(2*h)."""
    return quotient(function, Fraction(weight) + Fraction(step), Fraction(weight) - Fraction(step))


def quotient(function: Formula, ahead: Fraction, behind: Fraction) -> Number:
    """The slope between two points of a polynomial."""
    return number(formulas.difference_quotient(function.terms, ahead, behind))


def gradient_check(function: Formula, gradient: Formula, weight: float) -> Truth:
    """Whether the gradient is the function's. On the domain it is that, or off by 5 % at least."""
    return Truth(abs(share(function, gradient, weight) - 1) < 0.025)


def share(function: Formula, gradient: Formula, weight: float) -> float:
    """The gradient claimed over the true one."""
    return value(gradient, weight) / value(derivative(function), weight)


TRUTH = {"central_difference": central_difference, "gradient_check": gradient_check}

PARABOLA = polynomial(1.0, -2.0, 3.0)
CUBIC = polynomial(0.5, 0.0, -1.0, 2.0)
WAVE = Formula((("sin", 1.5, 2.0), ("power", 0.5, 2.0)))
GROWTH = Formula((("exp", 0.5, 1.0), ("power", -2.0, 1.0)))

# Worked examples that ship to students. A gradient that is off by a few per cent, and one that
# lost a small term, are left for them to think of.
EXAMPLES = [
    ("central_difference", (PARABOLA, 0.5, 1 / 16)),
    ("central_difference", (CUBIC, 1.0, 1 / 16)),
    ("central_difference", (CUBIC, -0.75, 1 / 64)),
    ("gradient_check", (PARABOLA, derivative(PARABOLA), 1.0)),
    ("gradient_check", (PARABOLA, times(derivative(PARABOLA), -1.0), 1.0)),
    ("gradient_check", (WAVE, derivative(WAVE), 0.25)),
    ("gradient_check", (WAVE, times(derivative(WAVE), 2.0), 0.25)),
    ("gradient_check", (GROWTH, derivative(GROWTH), -0.5)),
]

# --- what is drawn -------------------------------------------------------------------------------

STEPS = st.sampled_from((1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256))
quarters = st.integers(-12, 12).map(lambda k: k / 4)
exact_weights = st.integers(-12, 12).map(lambda k: k / 8)
inexact_weights = st.integers(-15, 15).map(lambda k: k / 10)
weights = st.one_of(exact_weights, inexact_weights)

polynomials = st.builds(polynomial, quarters, quarters, quarters, quarters)
waves = st.builds(
    lambda a, b, c: Formula((("sin", a, b), ("power", c, 1.0))),
    st.sampled_from((0.5, -1.0, 1.5)),
    st.sampled_from((0.5, 1.0, -1.5)),
    quarters,
)
growths = st.builds(
    lambda a, b, c: Formula((("exp", a, b), ("power", c, 2.0))),
    st.sampled_from((0.5, -0.5, 1.0)),
    st.sampled_from((0.5, -1.0, 1.0)),
    st.integers(-4, 4).map(lambda k: k / 4),
)
functions = st.one_of(polynomials, waves, growths)

NEAR = tuple(k / 64 for k in range(-4, 5))  # within 1/16


def smooth(function: Formula, weight: float) -> bool:
    """Whether a check may be asked of it: abs(f) <= 8, abs(f') >= 0.5, and third derivative small
    enough that a difference quotient with any step up to 1/16 is within 1 % of the gradient."""
    slope = derivative(function)
    third = derivative(derivative(slope))
    return all(
        abs(value(function, weight + d)) <= 8
        and abs(value(slope, weight + d)) >= 0.5
        and abs(value(third, weight + d)) / 6 / 256 <= 0.01 * abs(value(slope, weight))
        for d in NEAR
    )


def wrong_everywhere(function: Formula, gradient: Formula, weight: float) -> bool:
    """Whether the gradient is off by 5 % and more within 1/16 of the weight."""
    return all(abs(share(function, gradient, weight + d) - 1) >= 0.0505 for d in NEAR)


def without(formula: Formula, which: int) -> Formula:
    """A sum that lost one of its terms."""
    place = which % len(formula.terms)
    return Formula(formula.terms[:place] + formula.terms[place + 1 :])


# --- hidden checks -------------------------------------------------------------------------------


@pytest.mark.points(1.5, about="central_difference", draws=20)
@given(function=polynomials, weight=weights, step=STEPS)
@example(function=polynomial(0.0, 0.0, 1.0), weight=0.5, step=1 / 16)
@example(function=polynomial(0.0, 0.0, 0.0, 1.0), weight=0.0, step=1 / 16)
@example(function=polynomial(0.0, 0.0, 0.0, 10.0), weight=-1.0, step=1 / 16)
@example(function=polynomial(0.0, 1.0), weight=1.0, step=1 / 256)
@example(function=polynomial(3.0, 0.0, 0.0, -2.5), weight=0.7, step=1 / 16)
def test_difference_is_exact(student, function, weight, step):
    """central_difference is the slope between the two points on either side"""
    assume(function.terms)
    due = central_difference(function, weight, step)
    expect(student.central_difference(function, weight, step), due)


@pytest.mark.points(2, about="gradient_check", draws=20)
@given(function=functions, weight=weights)
@example(function=polynomial(0.0, 1.0), weight=0.0)
@example(function=polynomial(0.0, 0.0, 1.0), weight=-1.0)
@example(function=polynomial(7.5, -0.5), weight=0.5)
@example(function=polynomial(-4.0, -7.5, 0.0, 4.0), weight=1.25)
def test_right_gradients_are_accepted(student, function, weight):
    """gradient_check accepts the gradient of the function"""
    assume(smooth(function, weight))
    expect(student.gradient_check(function, derivative(function), weight), Truth(True))


@pytest.mark.points(1, about="gradient_check", draws=20)
@given(function=functions, weight=weights, factor=st.sampled_from((-1.0, 2.0, 0.5, 0.0, 3.0)))
@example(function=polynomial(0.0, 1.0), weight=0.0, factor=-1.0)
@example(function=polynomial(0.0, 1.0), weight=0.0, factor=2.0)
@example(function=polynomial(0.0, 0.0, 1.0), weight=-1.0, factor=0.5)
@example(function=polynomial(0.0, 0.5), weight=1.0, factor=0.0)
def test_wrong_sign_and_factor_are_rejected(student, function, weight, factor):
    """gradient_check rejects a gradient of the wrong sign, or off by a factor"""
    assume(smooth(function, weight))
    wrong = times(derivative(function), factor)
    expect(student.gradient_check(function, wrong, weight), Truth(False))


@pytest.mark.points(1, about="gradient_check", draws=20)
@given(function=functions, weight=weights, factor=st.sampled_from((1.055, 0.945, 1.1, 0.9)))
@example(function=polynomial(0.0, 1.0), weight=0.0, factor=1.055)
@example(function=polynomial(0.0, -0.5), weight=0.0, factor=0.945)  # off by 0.0275 in all
@example(function=polynomial(7.5, 0.5), weight=0.5, factor=1.1)  # a small share of the value
@example(function=polynomial(0.0, 0.0, 2.5), weight=1.5, factor=1.055)
@example(function=polynomial(0.0, 0.0, 2.5), weight=1.5, factor=0.945)
def test_a_few_per_cent_are_rejected(student, function, weight, factor):
    """gradient_check rejects a gradient that is a few per cent off"""
    assume(smooth(function, weight))
    wrong = times(derivative(function), factor)
    expect(student.gradient_check(function, wrong, weight), Truth(False))


@pytest.mark.points(0.5, about="gradient_check", draws=20)
@given(function=functions, weight=weights, which=st.integers(0, 3))
@example(function=polynomial(0.0, 1.0, 1.0), weight=1.0, which=0)
@example(function=polynomial(0.0, 4.0, 0.5), weight=0.5, which=1)
@example(function=Formula((("sin", 1.5, 1.0), ("power", 0.25, 1.0))), weight=0.5, which=1)
def test_a_lost_term_is_rejected(student, function, weight, which):
    """gradient_check rejects a gradient that lost one of its terms"""
    assume(len(derivative(function).terms) > 1 and smooth(function, weight))
    wrong = without(derivative(function), which)
    assume(wrong_everywhere(function, wrong, weight))
    expect(student.gradient_check(function, wrong, weight), Truth(False))


# --- misconceptions ------------------------------------------------------------------------------


def slope(function: Formula, weight: float, step: float) -> Number:
    """The derivative, taken exactly and not as a difference: three products, and a sum."""
    exact = sum(
        (Fraction(c) * Fraction(weight) ** int(k) for _, c, k in derivative(function).terms),
        Fraction(0),
    )
    return number(exact, formulas.difference_quotient(function.terms, weight + step, weight).bound)


def ahead(function: Formula, weight: float, step: float) -> Number:
    """(f(w + h) - f(w))/h."""
    return quotient(function, Fraction(weight) + Fraction(step), Fraction(weight))


def behind(function: Formula, weight: float, step: float) -> Number:
    """(f(w) - f(w - h))/h."""
    return quotient(function, Fraction(weight), Fraction(weight) - Fraction(step))


def scaled(function: Formula, weight: float, step: float, by: Fraction) -> Number:
    """The right quotient times a factor."""
    due = central_difference(function, weight, step)
    return number(Fraction(due.value) * by, due.bound * abs(by))


MISCONCEPTIONS = [
    Misconception(
        "forward_difference",
        "central_difference",
        ahead,
        (polynomial(0.0, 0.0, 1.0), 0.5, 1 / 16),
        """You look ahead of the weight and not behind it. On a parabola that is off by half the
        second derivative times the step, and the error only halves when the step does. Draw the
        curve and the line through your two points: at which weight does the line have the curve's
        slope? It is not the weight that was asked about. Choose two points for which it is.
        """,
    ),
    Misconception(
        "backward_difference",
        "central_difference",
        behind,
        (polynomial(0.0, 0.0, 1.0), 0.5, 1 / 16),
        """You look behind the weight and not ahead of it. The slope that you find belongs to a
        point half a step to the left. On a straight line nobody notices; take a parabola and
        compare with the slope that you get by hand. Which second point would put the weight in the
        middle?
        """,
    ),
    Misconception(
        "divided_by_one_step",
        "central_difference",
        lambda function, weight, step: scaled(function, weight, step, Fraction(2)),
        (polynomial(0.0, 1.0), 1.0, 1 / 256),
        """Your slope of the line f(w) = w is 2. The two points that you compare are not one step
        apart: count from the one behind the weight to the one ahead of it. The rise has to be
        divided by all of the run.
        """,
    ),
    Misconception(
        "multiplied_by_the_step",
        "central_difference",
        lambda function, weight, step: scaled(function, weight, step, Fraction(step) ** 2),
        (polynomial(0.0, 1.0), 1.0, 1 / 256),
        """Your result shrinks with the step, though the slope of a line doesn't depend on it. Look
        at the order in which your line computes: `a / 2 * h` divides by 2 and then multiplies by h.
        What is to be divided by has to stand in brackets.
        """,
    ),
    Misconception(
        "turned_round",
        "central_difference",
        lambda function, weight, step: scaled(function, weight, step, Fraction(-1)),
        (polynomial(0.0, 1.0), 1.0, 1 / 256),
        """A line that rises has a negative slope in your answer. You took the value ahead away from
        the value behind. Rise over run counts both in the same direction: from the left point to
        the right one.
        """,
    ),
    Misconception(
        "exact_derivative",
        "central_difference",
        slope,
        (polynomial(0.0, 0.0, 0.0, 1.0), 0.0, 1 / 16),
        """You differentiate, by JAX or by formula, where a difference of two values is asked for.
        On a cubic the two are not the same. The point of a difference is that it needs no
        derivative: a check of a gradient by the same gradient proves nothing. Use the function's
        values alone.
        """,
    ),
    Misconception(
        "accepts_everything",
        "gradient_check",
        lambda function, gradient, weight: Truth(True),
        (polynomial(0.0, 1.0), polynomial(-2.0), 0.0),
        """Your check accepted every gradient that it was given, also one with the wrong sign.
        Perhaps the two numbers that you compare come from one source, or the tolerance is wider
        than the numbers. A check that can't fail is none: feed it a gradient that you have spoiled
        yourself and watch it fail first.
        """,
    ),
    Misconception(
        "rejects_everything",
        "gradient_check",
        lambda function, gradient, weight: Truth(False),
        (polynomial(0.0, 1.0), polynomial(1.0), 0.0),
        """Your check rejected every gradient, also right ones. A difference quotient in float32 is
        never the gradient to the last digit: its values carry rounding errors, and dividing by the
        step enlarges them. Ask how far the two may be apart for a right gradient, relative to its
        size, and choose a step for which that is small.
        """,
    ),
    Misconception(
        "only_the_sign",
        "gradient_check",
        lambda function, gradient, weight: Truth(share(function, gradient, weight) > 0),
        (polynomial(0.0, 1.0), polynomial(2.0), 0.0),
        """Your check is content when the gradient points the right way. A gradient that is twice as
        large points the right way, too, and makes a run diverge at half the rate. Compare the sizes
        as well, relative to the one that you measure.
        """,
    ),
    Misconception(
        "only_the_size",
        "gradient_check",
        lambda function, gradient, weight: Truth(
            abs(abs(share(function, gradient, weight)) - 1) < 0.025
        ),
        (polynomial(0.0, 1.0), polynomial(-1.0), 0.0),
        """Your check compares sizes, and lets a gradient of the wrong sign pass. Descent along it
        climbs. Take the difference of the two numbers first and its size afterwards.
        """,
    ),
    Misconception(
        "tolerance_too_wide",
        "gradient_check",
        lambda function, gradient, weight: Truth(abs(share(function, gradient, weight) - 1) < 0.3),
        (polynomial(0.0, 1.0), polynomial(1.0625), 0.0),
        """Your check finds a turned sign and a factor of two, and accepts a gradient that is some
        per cent off. A small term that was forgotten looks like that. With a sensible step the
        difference quotient is good to far better than one per cent; let the tolerance follow from
        that, not from the mistakes that you have in mind.
        """,
    ),
]
