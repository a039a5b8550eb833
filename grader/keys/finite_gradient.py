"""The key of `finite_gradient`: exact answers, hidden checks, misconceptions with their witnesses.

What the contract sets at a corner is due exactly: 0 with bound 0, of values and of gradients.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import (
    NOT_FINITE,
    by_case,
    eighths,
    ends,
    full_float32,
    spoiled,
    vectors,
)
from grader.exact import guarded
from grader.exact.enclosures import root
from grader.exact.rounding import Rounded
from grader.judge import Due, Number, Numbers, Raises, expect, number, numbers
from grader.model import Misconception

TITLE = "A finite loss with a NaN gradient"

NAN, INF = math.nan, math.inf

Floats: TypeAlias = list[float]
Mask: TypeAlias = list[bool]
Entry: TypeAlias = Rounded | Number | float
"""One number of an array that is due."""

# --- what is due ---------------------------------------------------------------------------------


def safe_sqrt(x: float) -> Number:
    """sqrt(x) for x > 0, else 0."""
    return number(guarded.safe_sqrt(x))


def safe_sqrt_gradient(x: float) -> Number:
    """1/(2*sqrt(x)) for x > 0, else 0."""
    return number(guarded.safe_sqrt_slope(x))


def safe_norm(v: Floats) -> Number:
    """The Euclidean norm."""
    return number(guarded.safe_norm(v))


def safe_norm_gradient(v: Floats) -> Numbers:
    """v over its norm; zeros at the zero vector."""
    return numbers(guarded.safe_norm_slope(v))


def masked_mean_square(residuals: Floats, mask: Mask) -> Number:
    """The mean of the kept entries' squares; 0 for an empty mask."""
    return number(guarded.masked_mean_square(residuals, mask))


def masked_mean_square_gradient(residuals: Floats, mask: Mask) -> Numbers:
    """2*r/count for kept entries, 0 for the others."""
    return numbers(guarded.masked_mean_square_slope(residuals, mask))


TRUTH = {
    "safe_sqrt": safe_sqrt,
    "safe_norm": safe_norm,
    "masked_mean_square": masked_mean_square,
}
GRADIENTS = {
    "safe_sqrt": safe_sqrt_gradient,
    "safe_norm": safe_norm_gradient,
    "masked_mean_square": masked_mean_square_gradient,
}

# Worked examples that ship to students. The corners themselves (the root of 0, the zero vector, the
# empty mask) and an infinity behind the mask are left for them to think of.
EXAMPLES = [
    ("safe_sqrt", (4.0,)),
    ("safe_sqrt", (0.5,)),
    ("safe_sqrt", (-9.0,)),
    ("safe_norm", ([3.0, 4.0],)),
    ("safe_norm", ([-2.5],)),
    ("safe_norm", ([2.0, 0.0, -1.0],)),
    ("masked_mean_square", ([1.0, 2.0, 5.0], [True, False, True])),
    ("masked_mean_square", ([3.0, NAN], [True, False])),
    ("masked_mean_square", ([1.0, -2.0, 3.0], [True, True, True])),
]
GRADIENT_EXAMPLES = [
    ("safe_sqrt", (4.0,)),
    ("safe_sqrt", (0.25,)),
    ("safe_sqrt", (-9.0,)),
    ("safe_norm", ([3.0, 4.0],)),
    ("safe_norm", ([2.0, 0.0, -1.0],)),
    ("masked_mean_square", ([1.0, 2.0, 5.0], [True, False, True])),
    ("masked_mean_square", ([3.0, NAN], [True, False])),
]

# --- what is drawn -------------------------------------------------------------------------------

LENGTHS = (1, 2, 3)  # no longer ones: nothing here depends on them, and each is compiled for
INEXACT = (0.1, 0.3, -0.3, 1000.1, 1 / 300)  # what float32 can't hold

numbers_of_any_sign = st.one_of(
    eighths(), eighths(), full_float32(), ends(), st.sampled_from(INEXACT)
)


def masked(length: int) -> st.SearchStrategy[tuple[Floats, Mask]]:
    """Residuals with a mask; what is masked out is finite, NaN or an infinity."""
    kept = st.lists(st.booleans(), min_size=length, max_size=length)
    behind = st.lists(st.sampled_from((None, None, *NOT_FINITE)), min_size=length, max_size=length)
    return st.builds(behind_the_mask, vectors((length,)), kept, behind)


def behind_the_mask(
    residuals: Floats, mask: Mask, behind: Sequence[float | None]
) -> tuple[Floats, Mask]:
    """The residuals spoiled where the mask doesn't keep them."""
    marked = [None if keep else kind for keep, kind in zip(mask, behind, strict=True)]
    return spoiled(residuals, marked), mask


masks = by_case(LENGTHS, masked)

# --- hidden checks -------------------------------------------------------------------------------


@pytest.mark.points(0.5, about="safe_sqrt", draws=20)
@given(x=numbers_of_any_sign)
@example(x=0.0)
@example(x=-1.0)
@example(x=0.25)
@example(x=-1 / 1024)
def test_root_is_exact(student, x):
    """safe_sqrt is the root of a positive number, and 0 of any other"""
    expect(student.safe_sqrt(x), safe_sqrt(x))


@pytest.mark.points(0.75, about="safe_sqrt", draws=4)
@given(x=numbers_of_any_sign.filter(lambda x: x > 0))
@example(x=0.25)
@example(x=1 / 1024)
@example(x=1024.0)
def test_slope_of_the_root_is_exact(student, x):
    """the gradient of safe_sqrt is right at positive numbers"""
    expect(student.safe_sqrt.gradient(x), safe_sqrt_gradient(x))


@pytest.mark.points(0.75, about="safe_sqrt", draws=4)
@given(x=numbers_of_any_sign.map(lambda x: -abs(x)))
@example(x=0.0)
@example(x=-1.0)
@example(x=-1 / 1024)
def test_slope_at_the_corner_is_zero(student, x):
    """the gradient of safe_sqrt is 0 at 0 and below"""
    x = x or 0.0  # -0.0 is not asked for
    expect(student.safe_sqrt.gradient(x), safe_sqrt_gradient(x))


@pytest.mark.points(0.5, about="safe_norm", draws=16)
@given(v=vectors(LENGTHS))
@example(v=[0.0])
@example(v=[0.0, 0.0])
@example(v=[3.0, -3.0])
@example(v=[1.0, 1.0])
@example(v=[2.0])
@example(v=[0.0, 1.0])
def test_norm_is_exact(student, v):
    """safe_norm is the Euclidean norm"""
    expect(student.safe_norm(v), safe_norm(v))


@pytest.mark.points(0.5, about="safe_norm", draws=5)
@given(v=vectors(LENGTHS, zeros=False))
@example(v=[1.0, 1.0])
@example(v=[2.0])
@example(v=[0.0, -1.0])
def test_slope_of_the_norm_is_exact(student, v):
    """the gradient of safe_norm is right at any vector but the zero vector"""
    expect(student.safe_norm.gradient(v), safe_norm_gradient(v))


@pytest.mark.points(0.5, about="safe_norm")
def test_slope_at_the_zero_vector(student):
    """the gradient of safe_norm is 0 at the zero vector"""
    for length in LENGTHS:
        expect(student.safe_norm.gradient([0.0] * length), safe_norm_gradient([0.0] * length))


@pytest.mark.points(1, about="masked_mean_square", draws=20)
@given(case=masks)
@example(case=([1.0, 2.0], [True, False]))
@example(case=([NAN, 1.0], [False, True]))
@example(case=([1.0, INF], [True, False]))
@example(case=([1.0, 2.0], [True, True]))
@example(case=([1.0, -1.0], [True, True]))
@example(case=([0.0], [True]))
@example(case=([0.0, 2.0], [True, True]))
def test_masked_mean_is_exact(student, case):
    """masked_mean_square is the mean square of what the mask keeps"""
    expect(student.masked_mean_square(*case), masked_mean_square(*case))


@pytest.mark.points(1, about="masked_mean_square", draws=6)
@given(case=masks)
@example(case=([1.0, 2.0], [True, False]))
@example(case=([NAN, 1.0], [False, True]))
@example(case=([1.0, INF], [True, False]))
@example(case=([1.0, 3.0], [True, True]))
@example(case=([0.0], [True]))
@example(case=([NAN], [False]))
@example(case=([0.0, 2.0], [True, True]))
def test_slope_of_the_masked_mean_is_exact(student, case):
    """the gradient of masked_mean_square is right, and 0 for what is masked out"""
    expect(student.masked_mean_square.gradient(*case), masked_mean_square_gradient(*case))


@pytest.mark.points(0.5, about="masked_mean_square")
def test_empty_mask(student):
    """masked_mean_square is 0 where the mask keeps nothing"""
    for residuals in ([1.0, 2.0], [NAN], [INF, 1.0, NAN]):
        mask = [False] * len(residuals)
        expect(student.masked_mean_square(residuals, mask), masked_mean_square(residuals, mask))


# --- misconceptions ------------------------------------------------------------------------------

LEAST = Fraction(1, 2**126)
LITTLE = Fraction(1, 10)
OUT_OF_JAX = Raises("TypeError")


def at_corner(x: float, corner: float, below: float) -> Number:
    """The gradient of someone who has it right at positive numbers."""
    return safe_sqrt_gradient(x) if x > 0 else number(below if x else corner)


def lifted(exact: Number) -> Number:
    """The exact number or up to 1/10 more; where it is 0, more than 0: an epsilon under a root."""
    value = Fraction(exact.value)
    least = value - exact.bound if value else LEAST
    most = value + LITTLE
    return Number((least + most) / 2, (most - least) / 2)


def squares_of(v: Sequence[float]) -> Fraction:
    """The sum of the squares."""
    return guarded.square_sum(v)


def enclosed(square: Fraction, share: Fraction = Fraction(1)) -> Number:
    """A share of a root, to single precision."""
    value = root(square).value * share
    return number(value, value / 10**5)


def root_mean_square(v: Floats) -> Number:
    """The root of the mean of the squares."""
    return enclosed(squares_of(v) / len(v))


def guarded_by_entry(v: Floats) -> Number | None:
    """Each 0 counts as 1; at the zero vector people differ."""
    return enclosed(squares_of([x or 1.0 for x in v])) if any(v) else None


def guarded_by_entry_gradient(v: Floats) -> Numbers | None:
    """The gradient of that; entries that are 0 have none."""
    if not any(v):
        return None
    norm = root(squares_of([x or 1.0 for x in v])).value
    return near([Fraction(x) / norm for x in v])


def near(values: Sequence[Fraction | float]) -> Numbers:
    """These numbers, to single precision; NaN is met by itself."""
    return numbers([v if isinstance(v, float) else number(v, (abs(v) + 1) / 10**5) for v in values])


def multiplied_by_mask(residuals: Floats, mask: Mask) -> Number | None:
    """NaN where anything that is masked out is not finite; open where nothing is kept."""
    if all(map(math.isfinite, residuals)):
        return masked_mean_square(residuals, mask) if any(mask) else None
    return number(NAN)


def nan_behind_mask(residuals: Floats, mask: Mask) -> Numbers | None:
    """The gradient is NaN exactly where something is not finite; open where nothing is kept."""
    if not any(mask):
        return None
    exact = guarded.masked_mean_square_slope(residuals, mask)
    return numbers([s if math.isfinite(r) else NAN for r, s in zip(residuals, exact, strict=True)])


def mean_over_all(residuals: Floats, mask: Mask) -> Number:
    """The kept entries' squares, over the number of all entries."""
    kept = guarded.kept_of(residuals, mask)
    return near([squares_of([float(r) for r in kept]) / len(mask)]).items[0]


def mean_over_all_gradient(residuals: Floats, mask: Mask) -> Numbers:
    """The gradient of that."""
    return slopes(residuals, mask, Fraction(2, len(mask)))


def slopes(residuals: Floats, mask: Mask, factor: Fraction) -> Numbers:
    """So many times each kept residual; 0 for the others."""
    pairs = zip(residuals, mask, strict=True)
    return near([factor * Fraction(r) if keep else Fraction(0) for r, keep in pairs])


def summed(residuals: Floats, mask: Mask) -> Number:
    """The kept entries' squares, added."""
    return near([squares_of([float(r) for r in guarded.kept_of(residuals, mask)])]).items[0]


def by_finiteness(residuals: Floats, mask: Mask) -> Number:
    """The mean square of what is finite, whatever the mask says."""
    return masked_mean_square(residuals, [math.isfinite(r) for r in residuals])


def by_finiteness_gradient(residuals: Floats, mask: Mask) -> Numbers:
    """The gradient of that."""
    return masked_mean_square_gradient(residuals, [math.isfinite(r) for r in residuals])


def inverted(residuals: Floats, mask: Mask) -> Number | None:
    """The mean square of what is masked out; open where that is nothing."""
    out = [r for r, keep in zip(residuals, mask, strict=True) if not keep]
    if not out:
        return None
    if all(map(math.isfinite, out)):
        return masked_mean_square(out, [True] * len(out))
    return number(NAN if any(map(math.isnan, out)) else INF)


def rooted(residuals: Floats, mask: Mask) -> Number:
    """The root of the mean square."""
    kept = [float(r) for r in guarded.kept_of(residuals, mask)]
    return enclosed(squares_of(kept) / len(kept)) if kept else number(Fraction(0))


def square_of_the_mean(residuals: Floats, mask: Mask) -> Number:
    """The square of the mean of what is kept."""
    kept = guarded.kept_of(residuals, mask)
    mean = sum(kept, Fraction(0)) / max(len(kept), 1)
    size = sum(map(abs, kept), Fraction(0)) / max(len(kept), 1)
    return number(mean**2, size**2 / 10**5)


def square_of_the_mean_gradient(residuals: Floats, mask: Mask) -> Numbers:
    """The gradient of that."""
    kept = guarded.kept_of(residuals, mask)
    slope = 2 * sum(kept, Fraction(0)) / max(len(kept), 1) ** 2
    size = sum(map(abs, kept), Fraction(0))
    return numbers([number(slope, size / 10**5) if keep else 0.0 for keep in mask])


def empty_divided(residuals: Floats, mask: Mask) -> Number:
    """NaN for an empty mask."""
    return masked_mean_square(residuals, mask) if any(mask) else number(NAN)


def right_where_kept(residuals: Floats, mask: Mask) -> Due | None:
    """The gradient; open where nothing is kept, as programs differ."""
    return masked_mean_square_gradient(residuals, mask) if any(mask) else None


MISCONCEPTIONS = [
    Misconception(
        "plain_root",
        "safe_sqrt",
        lambda x: number(NAN) if x < 0 else safe_sqrt(x),
        (-1.0,),
        """Nothing guards the root. Below 0 your value is NaN, and at 0, where the value is right,
        the slope is infinite: the graph of the root leaves 0 straight up. One such number in a sum
        makes every gradient infinite or NaN. Ask for values and gradients at -1, 0 and 1 before you
        go on.
        """,
        gradient=lambda x: at_corner(x, INF, NAN),
    ),
    Misconception(
        "chosen_after_the_root",
        "safe_sqrt",
        safe_sqrt,
        (0.0,),
        """Your values are right, and the gradient is NaN at 0 and below. You take the root of the
        bad number and drop the result afterwards. JAX goes back through both branches of a
        `where`: the one that was not chosen gets a zero, and zero times the root's slope there,
        which is infinite or NaN, is NaN. What must the root never be shown?
        """,
        gradient=lambda x: at_corner(x, NAN, NAN),
    ),
    Misconception(
        "root_meets_zero",
        "safe_sqrt",
        safe_sqrt,
        (0.0,),
        """Your values are right, and the gradient at 0 is infinite. Numbers below 0 may be cut off,
        or what comes out of the root is mended; but the root still meets the number 0 itself, and
        there its slope is infinite. Cutting off at 0 leads straight to that place, and so does
        counting 0 among the numbers whose root is taken. As a value it does no harm, so ask for the
        gradients at 0 and at -1.
        """,
        gradient=lambda x: number(INF) if x == 0 else safe_sqrt_gradient(x) if x > 0 else None,
    ),
    Misconception(
        "only_zero_guarded",
        "safe_sqrt",
        safe_sqrt,
        (-1.0,),
        """At 0 everything is right, and below 0 the gradient is NaN. There the root still sees a
        negative number, if only to have its result thrown away, and the way back passes through
        it. Your guard before the root should ask the same question as your choice after it.
        """,
        gradient=lambda x: at_corner(x, 0.0, NAN),
    ),
    Misconception(
        "root_of_the_size",
        "safe_sqrt",
        lambda x: safe_sqrt(abs(x)),
        (-1.0,),
        """You take the root of the magnitude, so that -4 gives 2. That is another function: here
        everything below 0 is to give 0, flat, with gradient 0. And at 0 the slope of the root of a
        magnitude is still infinite or NaN.
        """,
        gradient=lambda x: safe_sqrt_gradient(x) if x > 0 else None,
    ),
    Misconception(
        "stand_in_returned",
        "safe_sqrt",
        lambda x: safe_sqrt(x) if x > 0 else number(Fraction(1)),
        (0.0,),
        """The root never sees a bad number, and so the gradient is right. But the root of the
        stand-in comes out as if it were the answer. Whoever asks for the root of -5 gets the root
        of the number that you put in its place. One more choice, after the root, is missing.
        """,
    ),
    Misconception(
        "small_number_under_the_root",
        "safe_sqrt",
        lambda x: None if x < 0 else lifted(safe_sqrt(x)),
        (0.0,),
        """You add a small number so that the root never meets 0. Then the value at 0 is the root
        of it, which is much larger than the number itself, and the slope at 0 is finite but huge: a
        gradient of a million in a run is hardly better than an infinite one. An exact 0 and a
        gradient of 0 need a choice, not a shift.
        """,
        gradient=lambda x: None,
    ),
    Misconception(
        "left_jax",
        "safe_sqrt",
        safe_sqrt,
        (4.0,),
        """The values are right, but JAX can't differentiate them: the root comes from `math` or
        NumPy, or the number was turned into a Python float. Such a function takes numbers only,
        and while JAX differentiates, it hands over tracers, which stand for numbers and keep a
        record. Use the functions of `jax.numpy` all the way.
        """,
        gradient=lambda x: OUT_OF_JAX if x > 0 else None,
    ),
    Misconception(
        "slope_without_half",
        "safe_sqrt",
        safe_sqrt,
        (4.0,),
        """Your values are right, and the gradient that you wrote for them is not: it is too large
        by a constant. A rule of your own is used as it stands, and JAX has no means to check it.
        Differentiate x to the power one-half once more on paper, or leave the rule to JAX and guard
        the argument instead.
        """,
        gradient=lambda x: enclosed(1 / Fraction(x)) if x > 0 else number(Fraction(0)),
    ),
    Misconception(
        "plain_norm",
        "safe_norm",
        safe_norm,
        ([0.0, 0.0],),
        """Every value is right, and the gradient at the zero vector is NaN. The squares there add
        up to 0, the slope of the root at 0 is infinite, and on the way back it is multiplied by the
        derivative of a square at 0, which is 0. `jnp.linalg.norm` does the same. Choosing
        afterwards is too late: which of your functions already guards a root?
        """,
        gradient=lambda v: safe_norm_gradient(v) if any(v) else numbers([NAN] * len(v)),
    ),
    Misconception(
        "norm_outside_jax",
        "safe_norm",
        safe_norm,
        ([1.0],),
        """The values are right, but JAX can't differentiate them: somewhere on the way the vector
        becomes a NumPy array or plain Python numbers. While JAX differentiates, it hands over
        tracers, which stand for numbers and keep a record of what is done with them. Stay with
        `jax.numpy` from the argument to the result.
        """,
        gradient=lambda v: OUT_OF_JAX if any(v) else None,
    ),
    Misconception(
        "small_number_under_the_norm",
        "safe_norm",
        lambda v: lifted(safe_norm(v)),
        ([0.0, 0.0],),
        """A small number is added, and the norm of the zero vector isn't 0 any more. That looks
        harmless, but the root makes a small number much larger (of a millionth, a thousandth), and
        every difference near 0 now looks like one of that size. Ask for the norm of zeros and
        compare it with 0.
        """,
        gradient=lambda v: None,
    ),
    Misconception(
        "root_mean_square",
        "safe_norm",
        root_mean_square,
        ([1.0, 1.0],),
        """You average the squares where they should be added. The Euclidean norm is the length of
        the arrow: [3, 4] has length 5, and [1, 1] is longer than [1]. A mean would make the length
        depend on how many zeros are appended.
        """,
        gradient=lambda v: None,
    ),
    Misconception(
        "norm_squared",
        "safe_norm",
        lambda v: near([squares_of(v)]).items[0],
        ([2.0],),
        """That is the square of the norm. It has no corner at all, which is why its gradient gives
        no trouble, and in many losses it is the better choice for just that reason. But here the
        length itself is asked for: [3, 4] should give 5.
        """,
        gradient=lambda v: near([2 * Fraction(x) for x in v]),
    ),
    Misconception(
        "sum_of_sizes",
        "safe_norm",
        lambda v: near([sum((abs(Fraction(x)) for x in v), Fraction(0))]).items[0],
        ([1.0, 1.0],),
        """You add up the magnitudes: for [3, 4] that is 7, the way along the streets. The Euclidean
        norm is the straight line, 5. Taking a root of each square separately gives the same sum;
        there is a single root, and everything is added before it is taken.
        """,
        gradient=lambda v: near([Fraction((x > 0) - (x < 0)) for x in v]) if all(v) else None,
    ),
    Misconception(
        "stand_in_for_the_norm",
        "safe_norm",
        lambda v: safe_norm(v) if any(v) else number(Fraction(1)),
        ([0.0, 0.0],),
        """The gradient is right everywhere, and the norm of the zero vector is that of your
        stand-in. The root must not see 0; what is returned for the zero vector must be 0 all the
        same. Choose once more, after the root.
        """,
    ),
    Misconception(
        "guarded_entry_by_entry",
        "safe_norm",
        guarded_by_entry,
        ([0.0, 1.0],),
        """You replace each entry that is 0. But zeros among other numbers are harmless, and with
        something else in their place the length is another one: [0, 3] has length 3. Only one
        number can be bad here. Which one does the root see?
        """,
        gradient=guarded_by_entry_gradient,
    ),
    Misconception(
        "multiplied_by_the_mask",
        "masked_mean_square",
        multiplied_by_mask,
        ([1.0, INF], [True, False]),
        """You multiply by the mask as zeros and ones. That gets rid of finite numbers alone: zero
        times NaN is NaN, and so is zero times an infinity. One bad entry that nobody wants spoils
        the whole mean. Choose between two values instead of multiplying.
        """,
        gradient=nan_behind_mask,
    ),
    Misconception(
        "chosen_after_squaring",
        "masked_mean_square",
        lambda residuals, mask: masked_mean_square(residuals, mask) if any(mask) else None,
        ([1.0, INF], [True, False]),
        """Your values are right; the gradient is NaN where something that isn't finite was masked
        out. You square first and choose afterwards. The way back goes through the square: a zero
        comes from the choice, and it is multiplied by twice the residual, which is NaN or infinite.
        Let the square see chosen numbers only.
        """,
        gradient=nan_behind_mask,
    ),
    Misconception(
        "mean_outside_jax",
        "masked_mean_square",
        masked_mean_square,
        ([1.0], [True]),
        """The values are right, but JAX can't differentiate them: somewhere on the way the
        residuals become a NumPy array or plain Python numbers. While JAX differentiates, it hands
        over tracers, which stand for numbers and keep a record of what is done with them. Stay with
        `jax.numpy` from the argument to the result.
        """,
        gradient=lambda residuals, mask: OUT_OF_JAX if any(mask) else None,
    ),
    Misconception(
        "mean_over_everything",
        "masked_mean_square",
        mean_over_all,
        ([1.0, 2.0], [True, False]),
        """The sum is right, and you divide it by the number of all entries. Then each entry that is
        masked out counts as a perfect prediction, and the loss becomes smaller the more data are
        missing. By how many entries is a mean over the kept ones divided?
        """,
        gradient=mean_over_all_gradient,
    ),
    Misconception(
        "kept_squares_summed",
        "masked_mean_square",
        summed,
        ([1.0, 3.0], [True, True]),
        """You add up the squares and don't divide. A sum grows with the number of kept entries, and
        so does its gradient: a batch with twice as many would take steps twice as large. A mean is
        asked for.
        """,
        gradient=lambda residuals, mask: slopes(residuals, mask, Fraction(2)),
    ),
    Misconception(
        "finite_instead_of_kept",
        "masked_mean_square",
        by_finiteness,
        ([1.0, 2.0], [True, False]),
        """You leave out what is not finite, and don't ask the mask. A masked-out entry may well
        be a finite number, such as the zero in a padded sequence, and then it takes part in your
        mean. The mask alone says what counts.
        """,
        gradient=by_finiteness_gradient,
    ),
    Misconception(
        "mask_inverted",
        "masked_mean_square",
        inverted,
        ([1.0, 2.0], [True, False]),
        """You average what the mask leaves out. Libraries differ in this: for NumPy's masked arrays
        true means hidden. Here true means kept. Try residuals [1, 2] with the mask [True, False].
        """,
        gradient=lambda residuals, mask: None,
    ),
    Misconception(
        "empty_mask_divides",
        "masked_mean_square",
        empty_divided,
        ([1.0], [False]),
        """With an empty mask you divide 0 by 0, and that is NaN. A batch in which everything is
        masked out does happen, and it should say nothing: loss 0 and gradient 0. The sum is 0
        already, so nothing is wrong with it; look at what you divide it by.
        """,
        gradient=right_where_kept,
    ),
    Misconception(
        "root_of_the_mean_square",
        "masked_mean_square",
        rooted,
        ([1.0, 3.0], [True, True]),
        """You return the root of the mean square. It has the unit of the residuals and is good to
        read in a report; but it isn't the objective of this course, it has another gradient, and it
        has a corner at 0. Leave the mean of the squares as it is.
        """,
        gradient=lambda residuals, mask: None,
    ),
    Misconception(
        "squared_the_mean",
        "masked_mean_square",
        square_of_the_mean,
        ([1.0, 3.0], [True, True]),
        """You average first and square afterwards, so that residuals of 1 and -1 cancel. Two
        misses in opposite directions are still two misses. Every residual is squared on its own
        before anything is added.
        """,
        gradient=square_of_the_mean_gradient,
    ),
]
