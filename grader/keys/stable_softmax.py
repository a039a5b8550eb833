"""The key of `stable_softmax`: exact answers, hidden checks, misconceptions with their
witnesses."""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.draws import (
    LENGTHS,
    by_case,
    eighths,
    full_float32,
    vectors,
)
from grader.exact import softmax as exact
from grader.exact.enclosures import Enclosed, exponential
from grader.judge import Number, Numbers, Truth, expect, number, numbers
from grader.model import Misconception

TITLE = "Probabilities that stay usable"

NAN, INF = math.nan, math.inf

Floats: TypeAlias = list[float]
Case: TypeAlias = tuple[Floats, int]
"""Logits and a label."""

# --- what is due ---------------------------------------------------------------------------------


def logsumexp(logits: Floats) -> Number:
    """log(sum(exp(z)))."""
    return number(exact.logsumexp(logits))


def softmax(logits: Floats) -> Numbers:
    """exp(z)/sum(exp(z)), which is also the gradient of logsumexp."""
    return numbers(exact.softmax(logits))


def cross_entropy(logits: Floats, label: int) -> Number:
    """-log of the label's probability."""
    return number(exact.cross_entropy(logits, label))


def cross_entropy_gradient(logits: Floats, label: int) -> Numbers:
    """The probabilities, that of the label less by 1."""
    return numbers(exact.cross_entropy_slope(logits, label))


def confidently_wrong(logits: Floats, label: int) -> Truth:
    """Whether another class than the label has a probability above 0.99."""
    return Truth(exact.confidently_wrong(logits, label))


TRUTH = {
    "logsumexp": logsumexp,
    "softmax": softmax,
    "cross_entropy": cross_entropy,
    "confidently_wrong": confidently_wrong,
}
GRADIENTS = {"logsumexp": softmax, "cross_entropy": cross_entropy_gradient}

# Worked examples that ship to students. One is too large for exp; that a sum of exponentials can
# vanish as well, and that a probability can, is left for them to think of.
EXAMPLES = [
    ("logsumexp", ([0.0, 0.0],)),
    ("logsumexp", ([1000.0, 999.0],)),
    ("logsumexp", ([2.0, -1.0, 0.5],)),
    ("softmax", ([0.0, 0.0],)),
    ("softmax", ([1000.0, 999.0],)),
    ("softmax", ([2.0, -1.0, 0.5],)),
    ("cross_entropy", ([0.0, 0.0, 0.0], 1)),
    ("cross_entropy", ([1000.0, 999.0], 1)),
    ("cross_entropy", ([2.0, -1.0, 0.5], 0)),
    ("confidently_wrong", ([1.0, 0.0], 0)),
    ("confidently_wrong", ([0.0, 8.0], 0)),
    ("confidently_wrong", ([0.0, 8.0], 1)),
    ("confidently_wrong", ([1.0, 2.0, 0.5], 0)),
]
GRADIENT_EXAMPLES = [
    ("logsumexp", ([0.0, 0.0],)),
    ("logsumexp", ([2.0, -1.0, 0.5],)),
    ("cross_entropy", ([0.0, 0.0], 0)),
    ("cross_entropy", ([2.0, -1.0, 0.5], 2)),
]

# --- what is drawn -------------------------------------------------------------------------------

# Of exponentials in float32, the largest is that of 88.72, and below -87.34 they lose digits.
LARGE = (1e4, -1e4, 9999.5, -9999.0, 5000.0, -5000.0, 1000.0, -1000.0, 300.0, -300.0, 95.0, -110.0)
FEW = (1, 2, 3)  # lengths where a further one would cost more than it shows
CENTRES = (0.0, 100.0, -120.0, 1000.0, -1000.0, 9900.0, -9900.0)


def any_logits(length: int) -> st.SearchStrategy[Floats]:
    """Of ordinary size, close to each other and far from 0, or far from everything."""
    close = st.lists(eighths(), min_size=length, max_size=length)
    large = st.lists(
        st.one_of(st.sampled_from(LARGE), full_float32()), min_size=length, max_size=length
    )
    return st.one_of(vectors((length,)), st.builds(moved, close, st.sampled_from(CENTRES)), large)


def moved(logits: Floats, by: float) -> Floats:
    """All logits more by a number; exact for eighths."""
    return [z + by for z in logits]


def with_label(length: int) -> st.SearchStrategy[Case]:
    """Logits and one of their classes."""
    return st.tuples(any_logits(length), st.integers(0, length - 1))


def by_confidence(length: int) -> st.SearchStrategy[Case]:
    """Logits of which one is ahead of the others, by more or less than 0.99 takes; a label."""
    places = st.integers(0, length - 1)
    close = st.lists(st.sampled_from((-1.0, -0.5, 0.0, 0.0)), min_size=length, max_size=length)
    return st.tuples(
        st.builds(ahead, close, places, st.sampled_from(GAPS), st.sampled_from(CENTRES)), places
    )


GAPS = (0.0, 1.0, 3.0, 4.0, 4.125, 4.25, 4.875, 5.0, 5.5, 6.0, 7.0, 12.0, 50.0, 500.0)


def ahead(logits: Floats, place: int, gap: float, centre: float) -> Floats:
    """One logit raised above 0 by a gap, then all of them moved."""
    return moved([gap if i == place else z for i, z in enumerate(logits)], centre)


logits_of_any_size = by_case(LENGTHS, any_logits)
logits_of_few = by_case(FEW, any_logits)
labelled = by_case(FEW, with_label)
confident = by_case(FEW, by_confidence).filter(lambda case: exact.confidence_is_asked(*case))

# --- hidden checks -------------------------------------------------------------------------------


@pytest.mark.points(1, about="logsumexp", draws=20)
@given(logits=logits_of_any_size)
@example(logits=[0.0, 0.0])
@example(logits=[1.0])
@example(logits=[1000.0])
@example(logits=[-1000.0])
@example(logits=[1000.0, 0.0])
@example(logits=[1e4, -1e4, 1e4])
@example(logits=[0.0, 1000.0])
@example(logits=[-1e4, 1e4, 0.0])
def test_sum_is_exact(student, logits):
    """logsumexp is the logarithm of the summed exponentials, for logits up to 10000"""
    expect(student.logsumexp(logits), logsumexp(logits))


@pytest.mark.points(1, about="logsumexp", draws=4)
@given(logits=logits_of_few)
@example(logits=[1000.0])
@example(logits=[-1000.0])
@example(logits=[1000.0, 0.0])
@example(logits=[1.0, 1.0])
@example(logits=[1e4, -1e4, 1e4])
@example(logits=[-1e4, 1e4, 0.0])
def test_slope_of_the_sum_is_exact(student, logits):
    """the gradient of logsumexp is right, for logits up to 10000"""
    expect(student.logsumexp.gradient(logits), softmax(logits))


@pytest.mark.points(1, about="softmax", draws=20)
@given(logits=logits_of_any_size)
@example(logits=[0.0, 0.0])
@example(logits=[0.0])
@example(logits=[1000.0])
@example(logits=[-1000.0, -1001.0])
@example(logits=[4.0, 0.0])
@example(logits=[1000.0, 900.0])
@example(logits=[1e4, -1e4, 1e4])
@example(logits=[0.0, 1000.0])
@example(logits=[-1e4, 1e4, 0.0])
def test_softmax_is_exact(student, logits):
    """softmax is right, for logits up to 10000"""
    expect(student.softmax(logits), softmax(logits))


@pytest.mark.points(1, about="cross_entropy", draws=20)
@given(case=labelled)
@example(case=([0.0, 0.0], 0))
@example(case=([2.0, 1.0], 0))
@example(case=([1000.0, 0.0], 0))
@example(case=([1000.0, 0.0], 1))
@example(case=([-1000.0, -1001.0], 1))
@example(case=([1e4, -1e4, 1e4], 1))
@example(case=([5.0], 0))
@example(case=([0.0, 1000.0], 1))
@example(case=([-1e4, 1e4, 0.0], 2))
def test_loss_is_exact(student, case):
    """cross_entropy is minus the logarithm of the label's probability, however small that is"""
    expect(student.cross_entropy(*case), cross_entropy(*case))


@pytest.mark.points(1, about="cross_entropy", draws=5)
@given(case=labelled)
@example(case=([2.0, 1.0], 0))
@example(case=([1000.0, 0.0], 0))
@example(case=([1000.0, 0.0], 1))
@example(case=([-1000.0, -1001.0], 1))
@example(case=([1e4, -1e4, 1e4], 1))
@example(case=([-1e4, 1e4, 0.0], 2))
def test_slope_of_the_loss_is_exact(student, case):
    """the gradient of cross_entropy is right, however small the label's probability is"""
    expect(student.cross_entropy.gradient(*case), cross_entropy_gradient(*case))


@pytest.mark.points(1, about="confidently_wrong", draws=30)
@given(case=confident)
@example(case=([1000.0], 0))
@example(case=([1.0, 0.0], 0))
@example(case=([0.0, 0.0, 1000.0], 0))
@example(case=([0.0, 1000.0, 0.0], 2))
@example(case=([1.0, 0.0], 1))
@example(case=([9.0, 0.0], 0))
@example(case=([5.0, 5.0, -1.0], 2))
@example(case=([1000.0, 0.0], 1))
@example(case=([1000.0, 0.0], 0))
@example(case=([-1000.0, -990.0], 0))
@example(case=([4.25, 0.0], 1))
@example(case=([0.0, 4.875], 0))
@example(case=([0.0, 1000.0, -500.0], 2))
@example(case=([9.0, 0.0], 1))
def test_confidence_is_judged(student, case):
    """confidently_wrong says whether another class than the label has more than 0.99"""
    expect(student.confidently_wrong(*case), confidently_wrong(*case))


# --- misconceptions ------------------------------------------------------------------------------

OVER, UNDER = 89, -104
"""Beyond these, the exponential of a float32 number is infinite, or 0."""
NEARLY_OVER, NEARLY_UNDER = 85, -87
"""Up to these, nothing is lost; in between it depends on how many there are, and on the program.
(One over a sum above e**87 is too small for a normal float32, and with it the gradient is lost.)"""


def fate(largest: float) -> str | None:
    """What becomes of a sum of plain exponentials: "inf", "zero" or "right"; None in between."""
    if largest > OVER:
        return "inf"
    if largest < UNDER:
        return "zero"
    return "right" if NEARLY_UNDER <= largest <= NEARLY_OVER else None


def plain_sum(logits: Floats, shift: float = 0.0) -> Number | None:
    """The logarithm of plain exponentials, after a shift of all logits."""
    match fate(max(logits) - shift):
        case "inf":
            return number(INF)
        case "zero":
            return number(-INF)
        case "right":
            return logsumexp(logits)
    return None


def plain_sum_gradient(logits: Floats, shift: float = 0.0) -> Numbers | None:
    """What JAX makes of it: 0 times infinity where one overflows, 1/0 times 0 where all vanish."""
    match fate(max(logits) - shift):
        case "inf":
            return overflown([z - shift for z in logits])
        case "zero":
            return numbers([NAN] * len(logits))
        case "right":
            return softmax(logits)
    return None


def overflown(logits: Floats, label: int | None = None) -> Numbers | None:
    """NaN where an exponential is infinite, 0 elsewhere (-1 at the label); open near the border."""
    if any(NEARLY_OVER < z <= OVER for z in logits):
        return None
    return numbers([NAN if z > OVER else Fraction(-(i == label)) for i, z in enumerate(logits)])


def right_or_open(logits: Floats, shift: float) -> Numbers | None:
    """The gradient where a shift is good enough; elsewhere it also depends on how that is held."""
    return softmax(logits) if fate(max(logits) - shift) == "right" else None


def largest_size(logits: Floats) -> float:
    """The largest magnitude."""
    return max(map(abs, logits))


def plain_softmax(logits: Floats, shift: float = 0.0) -> Numbers | None:
    """Plain exponentials over their sum, after a shift of all logits."""
    return plain_sum_gradient(logits, shift)


def mean_of(logits: Floats) -> float:
    """The mean, in double precision."""
    return math.fsum(logits) / len(logits)


def near(values: Sequence[Fraction]) -> Numbers:
    """These numbers, to single precision."""
    return numbers([number(v, (abs(v) + 1) / 10**5) for v in values])


def less(due: Number, by: Fraction) -> Number:
    """A number less by another one, with twice the bound."""
    return number(Fraction(due.value) - by, 2 * due.bound)


def log_of(count: int) -> Fraction:
    """log(count), from a case that has no other part."""
    return exact.logsumexp([0.0] * count).value


KEPT_IN_RANGE = number(Fraction(50), Fraction(40))
"""What comes of clipping at anything from 10 to 88."""


def sum_of_clipped(logits: Floats) -> Number | None:
    """Clipped at something: from 10 to 90 where a logit is above 100."""
    if max(map(abs, logits)) <= 8:
        return logsumexp(logits)
    if max(logits) > 100:
        return KEPT_IN_RANGE
    return number(Fraction(-49), Fraction(41)) if max(logits) < -100 else None


def softmax_of_clipped(logits: Floats) -> Numbers | None:
    """The largest ones share everything where they are all above 100, and others below -100."""
    if max(map(abs, logits)) <= 8:
        return softmax(logits)
    if min(map(abs, logits)) <= 100:
        return None
    signs = [math.copysign(1, z) for z in logits]
    return near([Fraction(sign == max(signs), signs.count(max(signs))) for sign in signs])


def made_finite(logits: Floats) -> Number | None:
    """Infinities replaced by the largest float32."""
    match fate(max(logits)):
        case "inf":
            return number(Fraction(2**128), Fraction(2**110))
        case "zero":
            return number(-Fraction(2**128), Fraction(2**110))
        case "right":
            return logsumexp(logits)
    return None


@functools.lru_cache(1_000)
def _sigmoid(z: float) -> Fraction:
    power = exponential(Enclosed(-abs(Fraction(z)))).value
    return (1 if z > 0 else power) / (1 + power)


def log_probabilities(logits: Floats) -> Numbers:
    """z - logsumexp(z), minus the loss of each class."""
    losses = [cross_entropy(logits, place) for place in range(len(logits))]
    return numbers([multiplied(loss, Fraction(-1)) for loss in losses])


def not_divided(logits: Floats) -> Numbers:
    """exp(z - max)."""
    largest = Fraction(max(logits))
    return near([exponential(Enclosed(Fraction(z) - largest)).value for z in logits])


def made_zero(logits: Floats) -> Numbers | None:
    """Plain exponentials over their sum, NaN replaced by 0."""
    due = plain_softmax(logits)
    if due is None or fate(max(logits)) == "right":
        return due
    return numbers([Fraction(0)] * len(logits))


def rescaled(logits: Floats) -> Numbers | None:
    """The softmax of logits that are divided by the largest; open where that isn't clear."""
    largest = max(logits)
    if not any(logits):
        return numbers([NAN] * len(logits))
    if largest <= 0 or largest < -min(logits):
        return None
    return near([p.value for p in exact.softmax([z / largest for z in logits])])


def vanishes(logits: Floats, label: int) -> bool | None:
    """Whether the label's probability is 0 in float32; None where it is subnormal."""
    behind = max(logits) - logits[label]
    return True if behind > 106 else False if behind < 84 else None


def log_of_softmax(logits: Floats, label: int) -> Number | None:
    """The logarithm of a probability that may have vanished."""
    gone = vanishes(logits, label)
    if gone is None:
        return None
    return number(INF) if gone else cross_entropy(logits, label)


def log_of_softmax_gradient(logits: Floats, label: int) -> Numbers | None:
    """Zero times infinity for every class, where the probability has vanished."""
    gone = vanishes(logits, label)
    if gone is None:
        return None
    return numbers([NAN] * len(logits)) if gone else cross_entropy_gradient(logits, label)


def loss_made_finite(logits: Floats, label: int) -> Number | None:
    """The largest float32 where the probability has vanished."""
    gone = vanishes(logits, label)
    if gone is None:
        return None
    return number(Fraction(2**128), Fraction(2**110)) if gone else cross_entropy(logits, label)


def one_hot_times_log(logits: Floats, label: int) -> Number | None:
    """NaN where any class's probability has vanished: 0 times infinity, or infinity."""
    gone = [vanishes(logits, place) for place in range(len(logits))]
    if any(gone[:label] + gone[label + 1 :]):
        return number(NAN)
    return None if None in gone else log_of_softmax(logits, label)


def one_hot_times_log_gradient(logits: Floats, label: int) -> Numbers | None:
    """Right where no class's probability has vanished, or nearly."""
    gone = [vanishes(logits, place) for place in range(len(logits))]
    return None if any(g is not False for g in gone) else cross_entropy_gradient(logits, label)


def loss_by_plain_softmax(logits: Floats, label: int) -> Number | None:
    """Plain exponentials over their sum, then the logarithm."""
    match fate(max(logits)):
        case "inf":
            if NEARLY_OVER < logits[label] <= OVER:
                return None
            return number(NAN if logits[label] > OVER else INF)
        case "zero":
            return number(NAN)
        case "right" if logits[label] >= NEARLY_UNDER:
            return log_of_softmax(logits, label)
        case "right" if logits[label] < UNDER:
            return number(INF)
    return None


def loss_by_plain_softmax_gradient(logits: Floats, label: int) -> Numbers | None:
    """NaN for every class where the sum overflows or vanishes; open where one probability does."""
    match fate(max(logits)):
        case "inf" | "zero":
            return numbers([NAN] * len(logits))
        case "right" if logits[label] >= NEARLY_UNDER and vanishes(logits, label) is False:
            return cross_entropy_gradient(logits, label)
    return None


def loss_by_plain_sum(logits: Floats, label: int) -> Number | None:
    """A plain logsumexp, less the label's logit."""
    total = plain_sum(logits)
    if total is None:
        return None
    return cross_entropy(logits, label) if isinstance(total.value, Fraction) else total


def loss_by_plain_sum_gradient(logits: Floats, label: int) -> Numbers | None:
    """As the plain logsumexp's, less 1 for the label."""
    match fate(max(logits)):
        case "inf":
            return overflown(logits, label)
        case "zero":
            return numbers([NAN] * len(logits))
        case "right":
            return cross_entropy_gradient(logits, label)
    return None


def loss_with_epsilon(logits: Floats, label: int) -> Number | None:
    """-log(p + eps), for some eps from 1e-38 to 1e-5."""
    loss = exact.cross_entropy(logits, label).value
    if loss <= 3:
        return number(loss, Fraction(1, 100))
    return KEPT_IN_RANGE if loss > 100 else None


def multiplied(due: Number, factor: Fraction) -> Number:
    """A number times a factor, its bound with it."""
    return number(Fraction(due.value) * factor, due.bound * abs(factor))


def each_multiplied(due: Numbers, factor: Fraction) -> Numbers:
    """An array's numbers times a factor."""
    return Numbers(due.shape, tuple(multiplied(item, factor) for item in due.items))


def softmax_twice(logits: Floats, label: int) -> Number:
    """The cross-entropy of probabilities taken for logits."""
    probabilities = [p.value for p in exact.softmax(logits)]
    value = exact.cross_entropy([float(p) for p in probabilities], label).value
    largest = max(p.bound for p in exact.softmax(logits))
    return number(value, 2 * largest + Fraction(1, 10**5))


def label_improbable(logits: Floats, label: int) -> Truth | None:
    """Whether the label has less than 0.01; open near that."""
    p = exact.softmax(logits)[label]
    bar = 1 - exact.CONFIDENT
    return None if abs(p.value - bar) <= p.bound else Truth(p.value < bar)


def best(logits: Floats) -> list[int]:
    """The classes with the largest logit."""
    return [place for place, z in enumerate(logits) if z == max(logits)]


def mispredicted(logits: Floats, label: int) -> Truth | None:
    """Whether the largest logit is another class's; open at a tie with the label."""
    classes = best(logits)
    return None if label in classes and len(classes) > 1 else Truth(label not in classes)


def by_plain_softmax(logits: Floats, label: int) -> Truth | None:
    """NaN is not above 0.99, and nothing over infinity is."""
    match fate(max(logits)):
        case "inf" | "zero":
            return Truth(False)
        case "right":
            return confidently_wrong(logits, label)
    return None


def somebody_confident(logits: Floats, label: int) -> Truth | None:
    """Whether any class has more than 0.99, the label among them; open near that."""
    p = max(exact.softmax(logits), key=lambda p: p.value)
    if abs(p.value - exact.CONFIDENT) <= p.bound and not exact.confidently_wrong(logits, label):
        return None
    return Truth(p.value > exact.CONFIDENT)


def label_confident(logits: Floats, label: int) -> Truth | None:
    """Whether the label itself has more than 0.99; open near that."""
    p = exact.softmax(logits)[label]
    near_bar = abs(p.value - exact.CONFIDENT) <= p.bound
    return None if near_bar else Truth(p.value > exact.CONFIDENT)


def without_the_label(logits: Floats, label: int) -> Truth | None:
    """Whether a class has more than 0.99 among the others alone; open near that."""
    others = [z for place, z in enumerate(logits) if place != label]
    if not others:
        return None
    p = max(exact.softmax(others), key=lambda p: p.value)
    return None if abs(p.value - exact.CONFIDENT) <= p.bound else Truth(p.value > exact.CONFIDENT)


def shifted_by_mean(logits: Floats) -> Number | None:
    """Exponentials of logits less their mean."""
    return plain_sum(logits, mean_of(logits))


MISCONCEPTIONS = [
    Misconception(
        "plain_exponentials",
        "logsumexp",
        plain_sum,
        ([1000.0],),
        """You take the exponentials as they are. In float32 the exponential of 89 is infinite, and
        that of -104 is 0, whose logarithm is minus infinity. Yet the answer itself is of ordinary
        size: for a single logit it is that logit. Which factor could you take out of the sum before
        it becomes too large to be written down?
        """,
        gradient=plain_sum_gradient,
    ),
    Misconception(
        "shifted_by_the_mean",
        "logsumexp",
        shifted_by_mean,
        ([1000.0, 0.0],),
        """You shift all logits by their mean. That helps as long as they lie close together. With
        1000 and 0 the mean is 500, one of the shifted logits is 500, and its exponential is as
        infinite as before. After the shift no exponent should be above 0. Which logit can be
        trusted for that?
        """,
        gradient=lambda logits: right_or_open(logits, mean_of(logits)),
    ),
    Misconception(
        "shifted_by_the_largest_size",
        "logsumexp",
        lambda logits: plain_sum(logits, largest_size(logits)),
        ([-1000.0],),
        """You shift by the largest magnitude. That keeps every exponent from being large, but where
        all logits are negative it pushes them down further: from -1000 to -2000. All exponentials
        vanish, and the logarithm of 0 is minus infinity. The sign counts: after the shift one
        exponent should be exactly 0.
        """,
        gradient=lambda logits: right_or_open(logits, largest_size(logits)),
    ),
    Misconception(
        "shifted_by_the_first",
        "logsumexp",
        lambda logits: plain_sum(logits, logits[0]),
        ([0.0, 1000.0],),
        """You shift all logits by the first one. Any of them would do on paper. But another one may
        be larger by more than 89, and then its exponential is infinite as before. After the shift
        no exponent should be above 0, wherever in the list the logits stand.
        """,
        gradient=lambda logits: right_or_open(logits, logits[0]),
    ),
    Misconception(
        "largest_logit_alone",
        "logsumexp",
        lambda logits: number(Fraction(max(logits)), Fraction(1, 10**6)),
        ([0.0, -1.0],),
        """You return the largest logit. It is the answer when one logit is far ahead of all others;
        when they are close, the others add up to something. For two logits of 0 the sum of the
        exponentials is 2. What has become of the second term of the formula?
        """,
        gradient=lambda logits: None,
    ),
    Misconception(
        "mean_of_exponentials",
        "logsumexp",
        lambda logits: less(logsumexp(logits), log_of(len(logits))),
        ([0.0, 0.0],),
        """You average the exponentials where they should be added. For two logits of 0 the sum of
        the exponentials is 2, and its logarithm isn't 0. The gradient doesn't show the difference,
        since it is the same constant for all logits; the value does.
        """,
        gradient=softmax,
    ),
    Misconception(
        "shift_not_undone",
        "logsumexp",
        lambda logits: less(logsumexp(logits), Fraction(max(logits))),
        ([1.0],),
        """You take the largest logit off before the exponentials and never put it back. Shifting
        all logits by a number shifts the logsumexp by the same number; softmax doesn't mind a
        shift, but this function does. For a single logit z the answer is z.
        """,
        gradient=lambda logits: None,
    ),
    Misconception(
        "logits_clipped",
        "logsumexp",
        sum_of_clipped,
        ([1000.0],),
        """You clip the logits into a range where exponentials behave. It is finite now, and it is
        the answer to another question: logits of 1000 and 900 become equal. And where a logit is
        clipped, its gradient is 0, so that training can't bring it back. Something can be taken off
        all logits without changing what they mean. Clipping isn't that.
        """,
        gradient=lambda logits: None,
    ),
    Misconception(
        "infinity_made_finite",
        "logsumexp",
        made_finite,
        ([1000.0],),
        """You replace an infinite result by the largest finite number. Nothing stops any more, but
        for logits of 1000 you return a number with 38 digits. The true answer is near the largest
        logit. Repair the place where the number gets too large, not the place where you see it.
        """,
        gradient=lambda logits: None,
    ),
    Misconception(
        "plain_quotient",
        "softmax",
        plain_softmax,
        ([1000.0],),
        """You divide plain exponentials. Above 89 they are infinite in float32, and infinity over
        infinity is NaN; below -104 they are all 0, and so is their sum. But probabilities depend
        on the differences of the logits alone: the same number can be taken off all of them. Choose
        it so that no exponent is above 0.
        """,
    ),
    Misconception(
        "quotient_shifted_by_the_mean",
        "softmax",
        lambda logits: plain_softmax(logits, mean_of(logits)),
        ([1000.0, 0.0],),
        """You take the mean off the logits. Any shift gives the same probabilities on paper; in
        float32 the shift also has to keep every exponent from becoming large. With 1000 and 0 half
        of the difference remains, and that is too much. What is the smallest shift after which no
        exponent is above 0?
        """,
    ),
    Misconception(
        "quotient_shifted_by_the_largest_size",
        "softmax",
        lambda logits: plain_softmax(logits, largest_size(logits)),
        ([-1000.0, -1001.0],),
        """You shift by the largest magnitude. Where all logits are negative, that pushes them down
        further, all exponentials vanish, and 0 over 0 is NaN. The sign counts: after the shift one
        exponent should be exactly 0 and no other one above it.
        """,
    ),
    Misconception(
        "nan_made_zero",
        "softmax",
        made_zero,
        ([1000.0],),
        """You replace NaN by 0. So for large logits no class has any probability, not even the one
        that is far ahead, and what should add up to 1 adds up to 0. NaN says that the way there is
        broken. Mend the exponents, before anything is divided.
        """,
    ),
    Misconception(
        "sigmoid_of_each",
        "softmax",
        lambda logits: near([_sigmoid(z) for z in logits]),
        ([0.0],),
        """You judge each logit on its own, as if there were as many yes-or-no questions as classes.
        Here one class must be the right one: the probabilities add up to 1, and raising one logit
        lowers all the others. Add yours up.
        """,
    ),
    Misconception(
        "logarithms_returned",
        "softmax",
        log_probabilities,
        ([0.0, 0.0],),
        """What you return are the logarithms of the probabilities. They are the better thing to
        compute a loss from, but none of them is above 0, and they don't add up to 1. One step is
        left.
        """,
    ),
    Misconception(
        "not_divided_by_the_sum",
        "softmax",
        not_divided,
        ([0.0, 0.0],),
        """You have the exponentials after a shift, the largest of them 1. Nothing is too large any
        more, but they aren't probabilities yet: two equal logits should get one half each. What
        should they add up to?
        """,
    ),
    Misconception(
        "divided_by_the_largest",
        "softmax",
        rescaled,
        ([4.0, 0.0],),
        """You divide the logits by the largest one. They are small now, and their differences have
        become small with them: a class that was nearly certain gets little more than the others.
        Adding a number to all logits leaves the probabilities alone. Multiplying doesn't; that is
        what a temperature does.
        """,
    ),
    Misconception(
        "softmax_of_clipped_logits",
        "softmax",
        softmax_of_clipped,
        ([1000.0, 900.0],),
        """You clip the logits first. Then 1000 and 900 are equal, and each gets one half, although
        the first is certain. What matters are the differences, and clipping destroys just those.
        Look for a change of all logits that keeps every difference as it is.
        """,
    ),
    Misconception(
        "loss_by_plain_quotient",
        "cross_entropy",
        loss_by_plain_softmax,
        ([1000.0], 0),
        """You divide plain exponentials and take the logarithm. With a logit of 1000 that is
        infinity over infinity, NaN. Write the logarithm of the quotient as a difference, and see
        which of the two exponentials disappears altogether. What is left, you have a function for.
        """,
        gradient=loss_by_plain_softmax_gradient,
    ),
    Misconception(
        "loss_by_plain_sum",
        "cross_entropy",
        loss_by_plain_sum,
        ([1000.0, 0.0], 0),
        """The difference of two terms is the right idea, and the label's logit is as it should be.
        The other term still takes exponentials of large numbers, or of numbers that are all far
        below 0, and is infinite. Have you used the function that you made for this?
        """,
        gradient=loss_by_plain_sum_gradient,
    ),
    Misconception(
        "log_of_a_vanished_probability",
        "cross_entropy",
        log_of_softmax,
        ([1000.0, 0.0], 1),
        """Your softmax is fine, and its logarithm comes too late. The probability of the label may
        be smaller than any float32 number above 0. Then it is 0, the loss is infinite and the
        gradient NaN, just when the model is badly wrong and most needs to learn. The logarithm of
        such a probability is of ordinary size. Get to it without the probability.
        """,
        gradient=log_of_softmax_gradient,
    ),
    Misconception(
        "infinite_loss_made_finite",
        "cross_entropy",
        loss_made_finite,
        ([1000.0, 0.0], 1),
        """Where the probability has vanished, you replace the infinite loss by the largest finite
        number. It has 38 digits, where the true loss of logits 1000 and 0 is 1000. And its gradient
        says nothing of use. The logarithm of a very small probability is of ordinary size; get to
        it without the probability.
        """,
        gradient=lambda logits, label: None,
    ),
    Misconception(
        "one_hot_times_infinity",
        "cross_entropy",
        one_hot_times_log,
        ([1000.0, 0.0], 0),
        """You multiply the logarithms of all probabilities by zeros and a one. When a class that
        isn't even the label has a vanishing probability, its logarithm is minus infinity, and zero
        times that is NaN. So a model that is certain and right gets NaN. Take the one term that
        counts, and take its logarithm before it is a probability.
        """,
        gradient=one_hot_times_log_gradient,
    ),
    Misconception(
        "epsilon_inside_the_logarithm",
        "cross_entropy",
        loss_with_epsilon,
        ([1000.0, 0.0], 1),
        """You add a small number to the probability, or keep it above one, so that the logarithm is
        finite. The loss can't grow beyond some 10 to 90 any more, whatever the model does, and
        there its gradient is 0: where the model is most wrong, it learns nothing. The true loss of
        logits 1000 and 0 is 1000, which is a perfectly good number.
        """,
        gradient=lambda logits, label: None,
    ),
    Misconception(
        "sign_of_the_logarithm",
        "cross_entropy",
        lambda logits, label: multiplied(cross_entropy(logits, label), Fraction(-1)),
        ([0.0, 0.0], 0),
        """Your loss is below 0 and falls when the model gets worse. A probability is at most 1, so
        its logarithm is at most 0; a loss should be 0 for a certain and right answer and grow from
        there. Descending on yours would unlearn everything.
        """,
        gradient=lambda logits, label: each_multiplied(
            cross_entropy_gradient(logits, label), Fraction(-1)
        ),
    ),
    Misconception(
        "label_counted_from_one",
        "cross_entropy",
        lambda logits, label: cross_entropy(logits, (label - 1) % len(logits)),
        ([2.0, 1.0], 0),
        """You look one place too early. Labels count from 0 here, as everywhere in Python; and for
        label 0 you reach for place -1, which is the last one, so that no error tells you. Try
        logits [2, 1] with label 0: the label is the likelier class.
        """,
        gradient=lambda logits, label: cross_entropy_gradient(logits, (label - 1) % len(logits)),
    ),
    Misconception(
        "averaged_over_classes",
        "cross_entropy",
        lambda logits, label: multiplied(cross_entropy(logits, label), Fraction(1, len(logits))),
        ([0.0, 0.0], 0),
        """Your loss is divided by the number of classes. With one-hot targets all terms but the
        label's are 0, and a mean over classes counts these zeros. The mean in a training loss goes
        over examples, and here there is one example.
        """,
        gradient=lambda logits, label: each_multiplied(
            cross_entropy_gradient(logits, label), Fraction(1, len(logits))
        ),
    ),
    Misconception(
        "softmax_applied_twice",
        "cross_entropy",
        softmax_twice,
        ([2.0, 1.0], 0),
        """You turn the logits into probabilities and hand these to a function that expects logits.
        So the softmax is applied twice. Nothing breaks, but probabilities differ by 1 at most, and
        your loss can't get near 0, however certain and right the model is. Compute it for logits
        [1000, 0] and label 0: it should be 0.
        """,
        gradient=lambda logits, label: None,
    ),
    Misconception(
        "normaliser_forgotten",
        "cross_entropy",
        lambda logits, label: number(-Fraction(logits[label])),
        ([1000.0, 0.0], 1),
        """You return the label's logit with its sign turned, and the other classes don't matter. A
        logit is a logarithm of a probability only up to a constant that all classes share. Add 5 to
        all logits: the probabilities stay as they are, and your loss doesn't.
        """,
        gradient=lambda logits, label: numbers(
            [Fraction(-(place == label)) for place in range(len(logits))]
        ),
    ),
    Misconception(
        "any_error_counts",
        "confidently_wrong",
        mispredicted,
        ([1.0, 0.0], 1),
        """You report every wrong prediction. With logits 1 and 0 the other class has a probability
        of about 0.73: wrong, but nobody would call it confident. How sure the model is, the largest
        logit alone doesn't say; it takes the probabilities.
        """,
    ),
    Misconception(
        "any_confidence_counts",
        "confidently_wrong",
        somebody_confident,
        ([9.0, 0.0], 0),
        """You report a class with a probability above 0.99, even if it is the label. A model that
        is sure and right is what one hopes for. Leave the label out before you look for the largest
        probability; and think of a single class, which is always the label.
        """,
    ),
    Misconception(
        "improbable_label_counts",
        "confidently_wrong",
        label_improbable,
        ([5.0, 5.0, -1.0], 2),
        """You look at the label's probability: below 0.01, so the others have more than 0.99. But
        they may share it. With logits [5, 5, -1] and label 2, two classes have one half each; the
        model is sure that it isn't the label, and not sure of anything else. A single other class
        is asked for.
        """,
    ),
    Misconception(
        "label_removed_too_early",
        "confidently_wrong",
        without_the_label,
        ([1.0, 0.0], 0),
        """You remove the label before the softmax. The others are then shared out anew, so that
        they add up to 1 without it: with two classes the other one always gets everything. What the
        model believes comes from all its logits. Take the probabilities first, and leave the label
        out of the comparison.
        """,
    ),
    Misconception(
        "nan_is_not_above",
        "confidently_wrong",
        by_plain_softmax,
        ([1000.0, 0.0], 1),
        """For large logits you always say no. The probabilities are NaN there, and every comparison
        with NaN is false. So the check is silent in just the cases that are worst. Use
        probabilities that stay usable.
        """,
    ),
    Misconception(
        "confidently_right",
        "confidently_wrong",
        label_confident,
        ([9.0, 0.0], 1),
        """You say yes when the label itself has a probability above 0.99. That is a model which is
        sure and right. Asked for is one that is sure of something else.
        """,
    ),
]
