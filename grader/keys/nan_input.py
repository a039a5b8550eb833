"""The key of `nan_input`: exact answers, hidden checks, misconceptions with their witnesses.

What is copied is due to the bit: bound 0. Only the gradient is computed, and has a bound.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import (
    NOT_FINITE,
    Marks,
    by_case,
    marks,
    spoiled,
    spoiled_vectors,
    vectors,
    weights,
)
from grader.exact import descent
from grader.exact.rounding import mean, rounded, vector
from grader.judge import (
    Due,
    Number,
    Numbers,
    Raises,
    Truth,
    Truths,
    expect,
    finite_number,
    finite_numbers,
    number,
    numbers,
)
from grader.model import Misconception

T = TypeVar("T")

TITLE = "Find and repair a non-finite input before any update"

NAN, INF = math.nan, math.inf
REFUSED = Raises("ValueError")

# --- what is due ---------------------------------------------------------------------------------


def corrupt(features: list[float], index: int) -> Numbers:
    """The features with NaN at `index`."""
    return numbers([NAN if place == index else x for place, x in enumerate(features)])


def step_is_finite(weight: float, features: list[float], targets: list[float]) -> Truth:
    """Whether all that goes in is finite, which is whether loss and gradient are.

    Let x or y of an example not be finite. Then w*x - y is not: w*x is infinite for an infinite x
    or, with w = 0, NaN, and a NaN stays. Nor is its square, nor its product with x, since 0*inf is
    NaN; and no sum gets rid of what is not finite. Multiplied out, mean(x*x) or mean(y*y) is not
    finite in the loss w*w*mean(x*x) - 2*w*mean(x*y) + mean(y*y), and mean(x*x) or mean(x*y) in the
    gradient 2*w*mean(x*x) - 2*mean(x*y). So the two always agree, and either one tells of both.
    """
    return Truth(all(map(math.isfinite, [*features, *targets])))


def bad_positions(features: list[float]) -> Numbers:
    """Where the features are not finite, in ascending order."""
    return positions(features, lambda x: not math.isfinite(x))


def positions(features: list[float], wanted: Callable[[float], bool]) -> Numbers:
    """Where the features are as `wanted`, in ascending order."""
    return numbers([place for place, x in enumerate(features) if wanted(x)])


def repair(features: list[float], source: list[float]) -> Numbers | Raises:
    """The features with what is not finite taken from the source, unless that is unfit."""
    return REFUSED if unfit(features, source) else numbers(mended(features, source))


def unfit(features: list[float], source: list[float]) -> bool:
    """Whether the source has another length, or isn't finite where it is needed."""
    return len(features) != len(source) or not all(map(math.isfinite, mended(features, source)))


def mended(features: list[float], source: list[float]) -> list[float]:
    """The features with what is not finite taken from the source, whatever that is."""
    return [x if math.isfinite(x) else s for x, s in zip(features, source, strict=True)]


def checked_gradient(
    weight: float, features: list[float], targets: list[float], source: list[float]
) -> Number | Raises:
    """The gradient at the repaired features."""
    if unfit(features, source):
        return REFUSED
    return plain_gradient(weight, mended(features, source), targets)


def plain_gradient(weight: float, features: list[float], targets: list[float]) -> Number:
    """2*mean(x*(w*x - y)), with the bound of any way to it; or the infinity or NaN that it is."""
    if all(map(math.isfinite, features)):
        return number(descent.gradient(rounded(weight), features, targets))
    return number(sum(x * (weight * x - y) for x, y in zip(features, targets, strict=True)))


TRUTH = {
    "corrupt": corrupt,
    "step_is_finite": step_is_finite,
    "bad_positions": bad_positions,
    "repair": repair,
    "checked_gradient": checked_gradient,
}

# Worked examples that ship to students. Minus infinity, a weight of 0 beside an infinite feature
# and a source of another length are left for them to think of.
EXAMPLES = [
    ("corrupt", ([1.0, 2.0, 3.0], 1)),
    ("corrupt", ([4.0, -0.5], 0)),
    ("step_is_finite", (0.0, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0])),
    ("step_is_finite", (0.0, [1.0, NAN, 3.0], [2.0, 4.0, 6.0])),
    ("step_is_finite", (0.5, [INF, 2.0], [2.0, 4.0])),
    ("step_is_finite", (0.5, [1.0, 2.0], [NAN, 4.0])),
    ("bad_positions", ([1.0, NAN, 3.0],)),
    ("bad_positions", ([INF, 0.0, NAN],)),
    ("bad_positions", ([1.0, 2.0, 3.0],)),
    ("repair", ([1.0, NAN, 3.0], [1.0, 2.0, 3.0])),
    ("repair", ([INF, 3.0, NAN], [2.0, 7.0, -0.5])),
    ("repair", ([NAN, 2.0], [NAN, 5.0])),
    ("checked_gradient", (0.0, [1.0, NAN, 3.0], [2.0, 4.0, 6.0], [1.0, 2.0, 3.0])),
    ("checked_gradient", (2.0, [INF, 1.0], [1.0, 5.0], [3.0, 8.0])),
    ("checked_gradient", (1.0, [NAN, 2.0], [2.0, 4.0], [INF, 2.0])),
]

# --- what is drawn -------------------------------------------------------------------------------

LENGTHS = (1, 2, 3)  # no longer ones: nothing here depends on them, and each is compiled for

Repair: TypeAlias = tuple[list[float], list[float], list[float]]
"""Features, targets, and a source that is fit for the features."""


def by_length(make: Callable[[int], st.SearchStrategy[T]]) -> st.SearchStrategy[T]:
    """What `make` draws for one of the lengths."""
    return by_case(LENGTHS, make)


def places(length: int) -> st.SearchStrategy[tuple[list[float], int]]:
    """Features and one of their indices."""
    return st.tuples(vectors((length,)), st.integers(0, length - 1))


def marked(length: int) -> st.SearchStrategy[tuple[list[float], list[float], Marks]]:
    """Features, targets, and which entries of either to spoil."""
    return st.tuples(vectors((length,)), vectors((length,)), marks(length))


def repairs(length: int) -> st.SearchStrategy[Repair]:
    """Features of which some need repair, with a source that holds anything where it may."""
    finite, anywhere = vectors((length,)), marks(length, some=False)
    return st.builds(fit, finite, marks(length), finite, finite, anywhere)


def repairs_or_none(length: int) -> st.SearchStrategy[Repair]:
    """The same, where perhaps nothing needs repair."""
    finite, anywhere = vectors((length,)), marks(length, some=False)
    return st.builds(fit, finite, anywhere, finite, finite, anywhere)


def fit(
    features: list[float], bad: Marks, targets: list[float], source: list[float], also: Marks
) -> Repair:
    """Spoil features, and the source where the features are left alone."""
    unneeded = [other if mark is None else None for mark, other in zip(bad, also, strict=True)]
    return spoiled(features, bad), targets, spoiled(source, unneeded)


def broken(features: list[float], source: list[float], which: int, kind: float) -> list[float]:
    """A fit source with `kind` at one of the places where it is needed."""
    needed = [place for place, x in enumerate(features) if not math.isfinite(x)]
    return [kind if place == needed[which % len(needed)] else s for place, s in enumerate(source)]


kinds = st.sampled_from(NOT_FINITE)
choices = st.integers(0, 59)  # of one of up to three places

# A length of 1 is where arrays are broadcast.
TWO_LENGTHS = ((1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2))

of_two_lengths = by_case(
    TWO_LENGTHS,
    lambda lengths: st.tuples(
        st.builds(spoiled, vectors((lengths[0],)), marks(lengths[0], (NAN,), some=False)),
        vectors((lengths[1],)),
    ),
)
"""Features, with NaN or not, and a finite source that is longer or shorter."""

# --- hidden checks -------------------------------------------------------------------------------


@pytest.mark.points(1, about="corrupt", draws=20)
@given(case=by_length(places))
@example(case=([1.0], 0))
@example(case=([1.0, 2.0], 0))
@example(case=([1.0, 2.0], 1))
@example(case=([0.0, 1.0000001192092896], 0))
def test_corruption_is_exact(student, case):
    """corrupt puts NaN at the index and leaves every other entry as it was"""
    expect(student.corrupt(*case), corrupt(*case))


# One of the two checks below begins with NaN, the other one with an infinity: a check ends with its
# first wrong answer, and so it shows which of them is overlooked.


@pytest.mark.points(0.75, about="step_is_finite", draws=15)
@given(weight=weights(), case=by_length(marked))
@example(weight=1.0, case=([1.0], [1.0], [NAN]))
@example(weight=1.0, case=([1.0], [1.0], [INF]))
@example(weight=0.0, case=([1.0], [1.0], [-INF]))
@example(weight=1.0, case=([1.0, 2.0], [1.0, 2.0], [NAN, None]))
@example(weight=1.0, case=([1.0, 2.0], [1.0, 2.0], [INF, -INF]))
@example(weight=1000.0, case=([1000.0, 0.0], [-1000.0, 0.0], [None, NAN]))
def test_features_are_watched(student, weight, case):
    """step_is_finite tells features with NaN or an infinity from the same features without"""
    features, targets, marks_ = case
    expect(student.step_is_finite(weight, spoiled(features, marks_), targets), Truth(False))
    expect(student.step_is_finite(weight, features, targets), Truth(True))


@pytest.mark.points(0.75, about="step_is_finite", draws=15)
@given(weight=weights(), case=by_length(marked))
@example(weight=1.0, case=([1.0], [1.0], [INF]))
@example(weight=1.0, case=([1.0], [1.0], [NAN]))
@example(weight=1.0, case=([0.0], [0.0], [-INF]))
@example(weight=0.0, case=([1.0, 2.0], [1.0, 2.0], [None, NAN]))
@example(weight=1.0, case=([1.0, 2.0], [1.0, 2.0], [INF, -INF]))
def test_targets_are_watched(student, weight, case):
    """step_is_finite tells targets with NaN or an infinity from the same targets without"""
    features, targets, marks_ = case
    bad = spoiled(targets, marks_)
    expect(student.step_is_finite(weight, features, bad), Truth(False))
    expect(student.step_is_finite(weight, features, targets), Truth(True))
    expect(student.step_is_finite(weight, spoiled(features, marks_), bad), Truth(False))


@pytest.mark.points(0.5, about="bad_positions", draws=12)
@given(features=spoiled_vectors(LENGTHS, (NAN,)))
@example(features=[NAN])
@example(features=[1.0, NAN])
@example(features=[0.0, NAN])
@example(features=[NAN, 1000.0, NAN])
def test_every_nan_is_found(student, features):
    """bad_positions finds every NaN and nothing else"""
    expect(student.bad_positions(features), bad_positions(features))


@pytest.mark.points(0.5, about="bad_positions", draws=20)
@given(features=spoiled_vectors(LENGTHS, some=False))
@example(features=[1.0])
@example(features=[INF])
@example(features=[-INF])
@example(features=[1.0, INF, NAN])
@example(features=[-INF, -1000.0, 0.0])
def test_positions_are_exact(student, features):
    """bad_positions finds NaN and both infinities, in ascending order"""
    expect(student.bad_positions(features), bad_positions(features))


@pytest.mark.points(0.5, about="repair", draws=25)
@given(case=by_length(repairs_or_none))
@example(case=([NAN], [0.0], [1.0]))
@example(case=([INF], [0.0], [1.0]))
@example(case=([NAN, 3.0], [0.0] * 2, [1.0, 2.0]))
@example(case=([3.0, NAN], [0.0] * 2, [1.0, 2.0]))
@example(case=([3.0, -INF], [0.0] * 2, [INF, 2.0]))
@example(case=([1.0], [0.0], [NAN]))
@example(case=([0.0, NAN, -INF], [0.0] * 3, [2.0, 0.0, 1.0000001192092896]))
def test_repair_is_exact(student, case):
    """repair replaces what is not finite, and nothing else"""
    features, _, source = case
    expect(student.repair(features, source), repair(features, source))


@pytest.mark.points(0.5, about="repair", draws=12)
@given(case=by_length(repairs), which=choices, kind=kinds)
@example(case=([NAN], [0.0], [1.0]), which=0, kind=NAN)
@example(case=([NAN, NAN], [0.0] * 2, [1.0, 2.0]), which=0, kind=INF)
@example(case=([NAN, INF], [0.0] * 2, [1.0, 2.0]), which=1, kind=-INF)
def test_unfit_source_is_refused(student, case, which, kind):
    """repair raises ValueError for a source that is not finite where it is needed, and only then"""
    features, _, source = case
    expect(student.repair(features, broken(features, source, which, kind)), REFUSED)
    finite_numbers(student.repair(features, source), (len(features),))


@pytest.mark.points(0.5, about="repair", draws=15)
@given(case=of_two_lengths)
@example(case=([NAN], [1.0, 2.0]))
@example(case=([1.0], [1.0, 2.0]))
@example(case=([NAN, 1.0], [1.0]))
@example(case=([NAN, 1.0], [NAN]))
@example(case=([NAN, 1.0], [1.0, 2.0, 3.0]))
@example(case=([1.0, NAN, 1.0], [1.0, 2.0]))
def test_other_length_is_refused(student, case):
    """repair raises ValueError for a source of another length, whether or not it is needed"""
    features, source = case
    expect(student.repair(features, source), REFUSED)
    finite_numbers(student.repair(features, [1.0] * len(features)), (len(features),))


@pytest.mark.points(0.5, about="checked_gradient", draws=25)
@given(weight=weights(), case=by_length(repairs_or_none))
@example(weight=0.0, case=([NAN], [1.0], [1.0]))
@example(weight=1.0, case=([-INF], [1.0], [2.0]))
@example(weight=0.0, case=([NAN, 1.0], [1.0, 2.0], [1.0, 3.0]))
@example(weight=1.0, case=([2.0, INF], [4.0, 2.0], [NAN, 3.0]))
@example(weight=1.0, case=([2.0], [4.0], [3.0]))
@example(weight=2.0, case=([NAN, 2.0], [2.0, 4.0], [1.0, 5.0]))
@example(weight=2.0, case=([0.0, 2.0, NAN], [3.0, 5.0, 1.0], [1.0, 1.0, 2.0]))
def test_gradient_is_exact(student, weight, case):
    """checked_gradient is the gradient at the repaired features"""
    expect(student.checked_gradient(weight, *case), checked_gradient(weight, *case))


@pytest.mark.points(0.5, about="checked_gradient", draws=10)
@given(weight=weights(), case=by_length(repairs), which=choices, kind=kinds, other=of_two_lengths)
@example(weight=0.0, case=([NAN], [1.0], [1.0]), which=0, kind=NAN, other=([1.0], [1.0, 2.0]))
@example(weight=1.0, case=([NAN], [1.0], [1.0]), which=0, kind=INF, other=([NAN, 1.0], [1.0]))
def test_gradient_of_unfit_source_is_refused(student, weight, case, which, kind, other):
    """checked_gradient raises ValueError where repair does, and only there"""
    features, targets, source = case
    unfit_source = broken(features, source, which, kind)
    expect(student.checked_gradient(weight, features, targets, unfit_source), REFUSED)
    finite_number(student.checked_gradient(weight, features, targets, source))
    features, source = other
    expect(student.checked_gradient(weight, features, [1.0] * len(features), source), REFUSED)


# --- misconceptions ------------------------------------------------------------------------------

ANY_FINITE = Number(Fraction(0), Fraction(2**128))
"""0, or the largest float32, or another filling: programs that replace an infinity differ."""


def where_fit(features: list[float], source: list[float], due: Due) -> Due | None:
    """For people who don't use the source, of whom some look at it all the same."""
    return None if unfit(features, source) else due


def filled(features: list[float], nan: Number, infinity: Number) -> Numbers:
    """NaN and infinities replaced by a number each."""
    items = (nan if math.isnan(x) else infinity if math.isinf(x) else number(x) for x in features)
    return Numbers((len(features),), tuple(items))


def filled_with_mean(features: list[float]) -> Numbers:
    """What is not finite replaced by the mean of what is; NaN stays where nothing is."""
    good = finite_only(features)
    middle = number(mean(vector(good))) if good else Number(NAN)
    return filled(features, middle, middle)


def finite_only(features: list[float]) -> list[float]:
    """The finite entries."""
    return [x for x in features if math.isfinite(x)]


def zeroed(features: list[float]) -> list[float]:
    """What is not finite replaced by 0."""
    return [x if math.isfinite(x) else 0.0 for x in features]


def step_without_nan(weight: float, features: list[float], targets: list[float]) -> Truth:
    """Neither loss nor gradient is NaN."""
    residuals = [weight * x - y for x, y in zip(features, targets, strict=True)]
    loss = sum(r * r for r in residuals)
    gradient = sum(r * x for r, x in zip(residuals, features, strict=True))
    return Truth(not math.isnan(loss) and not math.isnan(gradient))


def repair_of_nan(features: list[float], source: list[float]) -> Due:
    """NaN alone is looked for, and infinities stay."""
    if len(features) != len(source):
        return REFUSED
    pairs = list(zip(features, source, strict=True))
    if any(math.isnan(x) and not math.isfinite(s) for x, s in pairs):
        return REFUSED
    return numbers([s if math.isnan(x) else x for x, s in pairs])


def without_a_look(features: list[float], source: list[float]) -> Due:
    """Entries of the source are taken whatever they are; the length is compared."""
    return REFUSED if len(features) != len(source) else numbers(mended(features, source))


def clamped(features: list[float], source: list[float]) -> Due:
    """No look at the length: entries are taken by index, the last one for those past the end."""
    stretched = [source[min(place, len(source) - 1)] for place in range(len(features))]
    return repair(features, stretched)


def broadcast(features: list[float], source: list[float]) -> tuple[list[float], list[float]] | None:
    """Both as an array library fits them to each other; None where it can't."""
    length = max(len(features), len(source))
    if {len(features), len(source)} - {1, length}:
        return None
    wide = [v * length if len(v) == 1 else v for v in (features, source)]
    return wide[0], wide[1]


def broadcast_source(features: list[float], source: list[float]) -> Due:
    """No look at the length: one is fitted to the other where that goes."""
    pair = broadcast(features, source)
    return REFUSED if pair is None else repair(*pair)


def nothing_looked_at(features: list[float], source: list[float]) -> Due:
    """Neither the length nor the entries of the source are looked at."""
    pair = broadcast(features, source)
    return REFUSED if pair is None else numbers(mended(*pair))


def asserted(features: list[float], source: list[float]) -> Due:
    """An unfit source is refused by an assertion."""
    return Raises("AssertionError") if unfit(features, source) else repair(features, source)


def gradient_made_finite(weight: float, features: list[float], targets: list[float]) -> Number:
    """The gradient of the spoiled data, 0 where it is NaN and anything where it is infinite."""
    gradient = plain_gradient(weight, features, targets)
    if isinstance(gradient.value, Fraction):
        return gradient
    return number(0) if math.isnan(gradient.value) else ANY_FINITE


def gradient_of_the_rest(weight: float, features: list[float], targets: list[float]) -> Number:
    """The gradient over the examples that are finite; NaN when there are none."""
    kept = [(x, y) for x, y in zip(features, targets, strict=True) if math.isfinite(x)]
    if not kept:
        return Number(NAN)
    return plain_gradient(weight, [x for x, _ in kept], [y for _, y in kept])


def gradient_at_source(
    weight: float, features: list[float], targets: list[float], source: list[float]
) -> Due:
    """The gradient at the source, where that is fit."""
    return REFUSED if unfit(features, source) else plain_gradient(weight, source, targets)


def gradient_without_a_look(
    weight: float, features: list[float], targets: list[float], source: list[float]
) -> Due:
    """The gradient after a repair that takes any entry of the source."""
    if len(features) != len(source):
        return REFUSED
    return plain_gradient(weight, mended(features, source), targets)


def half_gradient(
    weight: float, features: list[float], targets: list[float], source: list[float]
) -> Due:
    """mean(x*(w*x - y)) at the repaired features."""
    if unfit(features, source):
        return REFUSED
    return number(descent.gradient(rounded(weight), mended(features, source), targets) / 2)


MISCONCEPTIONS = [
    Misconception(
        "result_not_kept",
        "corrupt",
        lambda features, index: numbers(features),
        ([1.0], 0),
        """What you return is the data as it came in. A JAX array never changes: its update
        functions leave it alone and give back a new array. If nobody keeps that new array, the
        update is lost without a word. Look at the line that sets the entry, and ask where its
        result goes.
        """,
    ),
    Misconception(
        "assigned_in_place",
        "corrupt",
        lambda features, index: Raises("TypeError"),
        ([1.0], 0),
        """You assign to an entry of a JAX array, and JAX refuses: its arrays can't be changed.
        That is a help here, since the data you were given must stay as it is. Ask for a new array
        instead, one that differs at a single place; the table at the top of the page has the
        call.
        """,
    ),
    Misconception(
        "corrupt_counts_from_one",
        "corrupt",
        lambda features, index: corrupt(features, (index - 1) % len(features)),
        ([1.0, 2.0], 1),
        """Your NaN is one place too early. Positions count from 0 here, as everywhere in Python:
        index 0 is the first entry. And where index 0 is asked for, you reach for the entry at
        minus one, which Python takes for the last one, so that no error tells you.
        """,
    ),
    Misconception(
        "everything_spoiled",
        "corrupt",
        lambda features, index: numbers([NAN] * len(features)),
        ([1.0, 2.0], 0),
        """Every entry of your result is NaN, where one should be. Any arithmetic with NaN gives
        NaN, even a product with zero. So a mask of zeros and ones can't keep NaN away from the
        other entries when you multiply or add. Choose between values, or set one of them, and
        don't compute with it.
        """,
    ),
    Misconception(
        "infinity_passes",
        "step_is_finite",
        step_without_nan,
        (1.0, [INF], [1.0]),
        """You look for NaN, and an infinite loss passes. Infinity is not finite either, and a step
        with an infinite gradient takes the weight to infinity; at the next step the difference of
        two infinities is NaN. So the run breaks one step later, farther from its cause. Ask
        whether a number is finite, which leaves out both.
        """,
    ),
    Misconception(
        "targets_not_watched",
        "step_is_finite",
        lambda weight, features, targets: Truth(all(map(math.isfinite, features))),
        (1.0, [1.0], [NAN]),
        """Your answer depends on the features alone. A target that is not finite does the same
        harm: it enters the residual of its example, and through it the loss and the gradient. Put
        NaN among the targets of the worked case and work out both by hand. If you ask loss and
        gradient themselves, you can't forget an input.
        """,
    ),
    Misconception(
        "nothing_is_noticed",
        "step_is_finite",
        lambda weight, features, targets: Truth(True),
        (1.0, [NAN], [1.0]),
        """Your function calls every step finite. If you compare with NaN by == or !=, that is the
        reason: NaN is not equal to anything, itself included, so the one comparison is never true
        and the other one always. There are functions that ask what kind of number one has; use
        one of them on loss and gradient.
        """,
    ),
    Misconception(
        "answer_turned_round",
        "step_is_finite",
        lambda weight, features, targets: Truth(
            not step_is_finite(weight, features, targets).value
        ),
        (1.0, [1.0], [1.0]),
        """You find what there is to find and give the opposite answer. The name asks whether the
        step is finite: true means that all is well. As it stands, a healthy run would be stopped
        and a broken one let through.
        """,
    ),
    Misconception(
        "infinities_overlooked",
        "bad_positions",
        lambda features: positions(features, math.isnan),
        ([INF],),
        """You find every NaN and no infinity. An infinite feature breaks loss and gradient just
        as well, and often it is where a NaN comes from: a logarithm of zero, a division by zero,
        a number too large for its format. Ask which entries are finite and take the others.
        """,
    ),
    Misconception(
        "minus_infinity_overlooked",
        "bad_positions",
        lambda features: positions(features, lambda x: math.isnan(x) or x == INF),
        ([-INF],),
        """There are two infinities, and you find one of them. Minus infinity is what the logarithm
        of zero gives, so it is no rare guest in data. A list of bad kinds is easily one short.
        What do all good entries have in common?
        """,
    ),
    Misconception(
        "nan_overlooked",
        "bad_positions",
        lambda features: positions(features, math.isinf),
        ([NAN],),
        """You find the infinities and miss NaN. A comparison with NaN is false whatever stands on
        the other side: NaN is neither equal to NaN nor larger than the largest number. So no test
        by ==, < or > will find it in this way. Use a function that asks whether a number is
        finite.
        """,
    ),
    Misconception(
        "positions_from_one",
        "bad_positions",
        lambda features: numbers(
            [place + 1 for place, x in enumerate(features) if not math.isfinite(x)]
        ),
        ([NAN],),
        """Every position is one too large. Whoever uses your positions as indices looks at the
        neighbour of the bad entry, and past the end when the last one is bad. Positions count
        from 0.
        """,
    ),
    Misconception(
        "positions_of_the_good",
        "bad_positions",
        lambda features: positions(features, math.isfinite),
        ([1.0, NAN],),
        """These are the positions of the entries that are finite. You asked the right question of
        each entry and kept those that answered yes. The others are wanted: a negation is missing
        between the question and the positions.
        """,
    ),
    Misconception(
        "mask_instead_of_positions",
        "bad_positions",
        lambda features: Truths(tuple(not math.isfinite(x) for x in features)),
        ([NAN],),
        """You return a truth value for each entry. That mask is the right first half. What is
        asked for are the places where it is true, as whole numbers: a report has to say which
        entry is bad, and for good data there is nothing to list.
        """,
    ),
    Misconception(
        "tuple_of_positions",
        "bad_positions",
        lambda features: Numbers(
            (1, *bad_positions(features).shape), bad_positions(features).items
        ),
        ([NAN],),
        """The positions are right, and they are wrapped once too often: what comes back has two
        dimensions. Functions that search arrays of any dimension give one array of positions for
        each axis, in a tuple. Features have a single axis; take its array out, or use the
        function for flat arrays.
        """,
    ),
    Misconception(
        "sorted_by_kind",
        "bad_positions",
        lambda features: numbers(
            [place for place, x in enumerate(features) if math.isnan(x)]
            + [place for place, x in enumerate(features) if math.isinf(x)]
        ),
        ([1.0, INF, NAN],),
        """You find all of them, first every NaN and then the infinities. Ascending order is asked
        for: the first position is then the first bad entry, whatever its kind. Put the two
        questions together before you ask for positions.
        """,
    ),
    Misconception(
        "filled_with_zero",
        "repair",
        lambda features, source: where_fit(
            features, source, filled(features, number(0), ANY_FINITE)
        ),
        ([NAN], [1.0]),
        """You replace NaN by 0, and everything runs. But 0 is a value like any other, and it says
        that this example's feature was measured and is zero. The mean of the squared features
        changes, and with it loss, gradient, curvature and the stable rates: you train on another
        problem and nothing tells you. What the entry should be is known to the source alone.
        """,
    ),
    Misconception(
        "filled_with_mean",
        "repair",
        lambda features, source: where_fit(features, source, filled_with_mean(features)),
        ([NAN, 3.0], [1.0, 2.0]),
        """You fill the gap with the mean of the other entries. That is a guess, and it makes loss
        and gradient finite without making them right: the squares, which matter here, have another
        mean than before. A repair restores what was there. Where does this function get that from?
        """,
    ),
    Misconception(
        "entries_dropped",
        "repair",
        lambda features, source: where_fit(features, source, numbers(finite_only(features))),
        ([NAN], [1.0]),
        """Your result is shorter than the data. With an entry gone, all later features stand
        beside another example's target, or the lengths don't fit at all. And the mean is then
        over fewer examples, another objective. A repair keeps every example in its place.
        """,
    ),
    Misconception(
        "infinities_left",
        "repair",
        repair_of_nan,
        ([INF], [1.0]),
        """NaN is repaired, and an infinity stays where it was. It gives an infinite loss or, at
        weight 0, NaN once more. The page asks for every entry that is not finite. You have a
        function that finds those.
        """,
    ),
    Misconception(
        "source_copied",
        "repair",
        lambda features, source: REFUSED if unfit(features, source) else numbers(source),
        ([NAN, 3.0], [1.0, 2.0]),
        """You give back the source, all of it. Where a feature is finite, it is the data, and it
        may well differ from the source: it may have been corrected, scaled or newly measured. A
        repair that changes good entries is one more thing to look for later. Touch only what is
        not finite.
        """,
    ),
    Misconception(
        "unneeded_entries_refused",
        "repair",
        lambda features, source: (
            repair(features, source) if all(map(math.isfinite, source)) else REFUSED
        ),
        ([1.0], [NAN]),
        """You refuse a source because of an entry that nobody needs. A source may have gaps of its
        own; as long as they are elsewhere, it can mend this data. Look at the entries that you
        would take from it, not at all of them.
        """,
    ),
    Misconception(
        "source_taken_unseen",
        "repair",
        without_a_look,
        ([NAN], [NAN]),
        """When the source is not finite at a place where it is needed, you put its NaN or infinity
        in the place of the old one, and call the data repaired. The next step breaks, and the one
        who looks for the cause will trust the repair. Look at what you are about to return.
        """,
    ),
    Misconception(
        "source_broadcast",
        "repair",
        broadcast_source,
        ([NAN, 1.0], [1.0]),
        """Lengths that differ don't always raise by themselves: an array of length 1 is stretched
        to any other length. So a source with a single number fills every gap with that number, and
        a single feature comes back as several. A source of another length belongs to other data.
        Compare the lengths yourself, before anything else.
        """,
    ),
    Misconception(
        "nothing_looked_at",
        "repair",
        nothing_looked_at,
        ([NAN, 1.0], [NAN]),
        """Good sources work, and none is ever turned away by you. Two kinds are unfit. One is not
        finite just where it is needed, so that you replace NaN by NaN. The other one has another
        length; where that length is 1, it is stretched to fit without any error. Look for both, and
        raise what the page asks for.
        """,
    ),
    Misconception(
        "length_not_compared",
        "repair",
        clamped,
        ([NAN], [1.0, 2.0]),
        """You never ask how long the source is. Of a longer one you take what you need, and one
        that is too short may not stop you either: an index past the end is no error for a JAX
        array, it gives the last entry. A source of another length belongs to other data, so its
        entries stand for other examples. Compare the lengths first, whether or not anything is
        missing.
        """,
    ),
    Misconception(
        "length_seen_only_when_needed",
        "repair",
        lambda features, source: (
            numbers(features) if all(map(math.isfinite, features)) else repair(features, source)
        ),
        ([1.0], [1.0, 2.0]),
        """When nothing needs repair, you return before you have looked at the source. A source of
        another length belongs to other data, and you want to hear of that today and not on the day
        when the first NaN comes. Which of your two questions must come first?
        """,
    ),
    Misconception(
        "refused_by_assertion",
        "repair",
        asserted,
        ([NAN], [NAN]),
        """You turn down the right sources, by an assertion. Assertions are notes that programmers
        leave for themselves, and Python skips them when it runs with optimisation. Whoever calls
        you was promised a ValueError and waits for that one. The type of an exception is part of
        what a function promises; its text is not.
        """,
    ),
    Misconception(
        "gradient_not_repaired",
        "checked_gradient",
        lambda weight, features, targets, source: where_fit(
            features, source, plain_gradient(weight, features, targets)
        ),
        (0.0, [NAN], [1.0], [1.0]),
        """Your gradient is not finite where the features are not, so the repair has not reached
        it. Follow the features from the argument to the gradient: where is the repaired array
        made, and which of the two is used afterwards? An array that was made and not used is
        easily overlooked.
        """,
    ),
    Misconception(
        "gradient_made_finite",
        "checked_gradient",
        lambda weight, features, targets, source: where_fit(
            features, source, gradient_made_finite(weight, features, targets)
        ),
        (0.0, [NAN], [1.0], [1.0]),
        """You repair the result where the data is broken. A gradient of zero says that the weight
        is already the best one, and so the run stands still and looks as if it had converged. All
        that the finite examples had to say is lost as well. Mend the first thing that is broken,
        and compute from there.
        """,
    ),
    Misconception(
        "examples_dropped",
        "checked_gradient",
        lambda weight, features, targets, source: where_fit(
            features, source, gradient_of_the_rest(weight, features, targets)
        ),
        (0.0, [NAN, 1.0], [1.0, 2.0], [1.0, 3.0]),
        """Your gradient is that of the examples which are finite, and of no others. Fewer examples
        have another mean, so this is another objective with another curvature. In the worked case
        the number differs from the known one; compare the two. The source holds what you need to
        keep all examples.
        """,
    ),
    Misconception(
        "gradient_of_zeros",
        "checked_gradient",
        lambda weight, features, targets, source: where_fit(
            features, source, plain_gradient(weight, zeroed(features), targets)
        ),
        (0.0, [NAN, 1.0], [1.0, 2.0], [1.0, 3.0]),
        """Your gradient counts a broken feature as 0. Such an example adds nothing to the sum and
        still counts in the mean, so the gradient comes out finite, of a common size, and wrong.
        Work out the worked case by hand with 0 in the gap and compare it with the known gradient.
        """,
    ),
    Misconception(
        "gradient_of_the_source",
        "checked_gradient",
        gradient_at_source,
        (2.0, [NAN, 2.0], [2.0, 4.0], [1.0, 5.0]),
        """You take the gradient at the source. Where the features are finite, they are the data,
        whatever the source holds there. The two agree in the worked case, and that hides the
        difference: change one good feature and compute again.
        """,
    ),
    Misconception(
        "unfit_source_goes_through",
        "checked_gradient",
        gradient_without_a_look,
        (0.0, [NAN], [1.0], [NAN]),
        """With a source that is not finite where it is needed, a gradient comes back that is not
        finite either. This function is the last gate before an update, and its name promises a
        check. What a repair refuses should stop here, too, and not be computed with.
        """,
    ),
    Misconception(
        "half_the_gradient",
        "checked_gradient",
        half_gradient,
        (0.0, [NAN], [1.0], [1.0]),
        """The repair works, and the gradient is half of what it should be. The loss of this course
        is the mean of the squares with no one-half in front, so differentiating a square leaves a
        factor behind. The lesson has a function for this gradient; compare it with yours.
        """,
    ),
]
