"""The key of `evidence`: every number of a portfolio against the exact one, section by section.

There are no misconceptions here: what is missing or off is said of its section. What a student
chose (other data, another rate) is taken from the answer, and what follows from it is held against
the exact result for just that.
"""

from fractions import Fraction
from typing import Any

import pytest

from grader.exact import descent, evidence
from grader.exact.rounding import Rounded
from grader.judge import (
    Asked,
    Due,
    Fields,
    Nothing,
    Numbers,
    OneOf,
    Several,
    Truth,
    expect,
    finite_at,
    nones_at,
    number,
    number_at,
    numbers,
    require,
)
from grader.model import Misconception

TITLE = "Keep what you found"

PLAIN_DATA = True  # answers have to fit JSON: the audit wraps none of them in arrays

RATES = {"0.1": 0.1, "0.3": 0.3}
ASKED = Fraction(1, 10**9)  # a number that is repeated as it was asked for, or stored as a float32

# --- what is due ---------------------------------------------------------------------------------


def recurrence() -> Fields:
    """The six weights before each step, at either rate."""
    return Fields({name: weights(evidence.run(rate)[1]) for name, rate in RATES.items()})


def weights(rows: list[descent.Row]) -> Numbers:
    """The weights of a run."""
    return numbers([weight for weight, _, _ in rows])


def runs() -> Fields:
    """The six rows at either rate."""
    return Fields(
        {
            name: numbers([list(row) for row in evidence.run(rate)[1]])
            for name, rate in RATES.items()
        }
    )


def given(value: float) -> Due:
    """A number that the contract itself states."""
    exact = Fraction(value)
    return number(exact, abs(exact) * Fraction(1, 2**23))


def clipping_bound() -> Fields:
    """The farthest that one clipped step moves the weight, by rule and as it was measured."""
    return Fields(
        {
            "rate": given(0.3),
            "clip": given(1.0),
            "bound": number(evidence.move_bound(0.3, 1)),
            "largest_move": number(evidence.largest_move(0.3, 1)),
        }
    )


def scale_comparison() -> Fields:
    """The run on data times ten, at the rate that gives the same weights."""
    rate = Fraction(0.1) / 100
    _, rows = evidence.run(rate, factor=10)
    return Fields(
        {
            "scale": given(10.0),
            "rate": given(0.1),
            "compensated_rate": number(rate, rate * Fraction(4, 2**24)),
            "weights": weights(rows),
            "losses": numbers([loss for _, loss, _ in rows]),
        }
    )


def build_evidence() -> Fields:
    """All that doesn't depend on what the student chose."""
    return Fields(
        {
            "recurrence": recurrence(),
            "runs": runs(),
            "loss_multiplier": number(evidence.loss_multiplier(0.3)),
            "clipping_bound": clipping_bound(),
            "scale_comparison": scale_comparison(),
            "repaired_case": Fields(
                {
                    "finite_before": Truth(False),
                    "gradient_after": number(evidence.gradient_at_zero(evidence.FEATURES)),
                }
            ),
        }
    )


TRUTH = {"build_evidence": build_evidence}
EXAMPLES: list[tuple[str, tuple[Any, ...]]] = []
MISCONCEPTIONS: list[Misconception] = []

# --- hidden checks -------------------------------------------------------------------------------


def section(name: str, due: Due) -> Fields:
    """One section of the evidence."""
    return Fields({name: due})


@pytest.mark.points(1, about="build_evidence")
def test_recurrence_is_exact(student):
    """recurrence: the weights before each of six steps, at rates 0.1 and 0.3"""
    expect(student.build_evidence(), section("recurrence", recurrence()))


@pytest.mark.points(1, about="build_evidence")
def test_runs_are_exact(student):
    """runs: six rows of weight, loss and absolute gradient, at rates 0.1 and 0.3"""
    expect(student.build_evidence(), section("runs", runs()))


@pytest.mark.points(0.5, about="build_evidence")
def test_multiplier_is_exact(student):
    """loss_multiplier: by what a step at rate 0.3 multiplies the loss"""
    due = number(evidence.loss_multiplier(0.3))
    expect(student.build_evidence(), section("loss_multiplier", due))


@pytest.mark.points(0.75, about="build_evidence")
def test_clipping_bound_is_exact(student):
    """clipping_bound: how far a clipped step may move the weight, and how far one did"""
    expect(student.build_evidence(), section("clipping_bound", clipping_bound()))


@pytest.mark.points(0.75, about="build_evidence")
def test_scale_comparison_is_exact(student):
    """scale_comparison: the compensated run on data times ten"""
    expect(student.build_evidence(), section("scale_comparison", scale_comparison()))


@pytest.mark.points(1, about="build_evidence")
def test_repaired_case_is_exact(student):
    """repaired_case: the failing case as it was, its repair, and the repair of another input"""
    answer = student.build_evidence()
    missing = nones_at(answer, "repaired_case", "bad_features")
    rule = "repaired_case: bad_features: [1, 2, 3] with null in place of at least one is due"
    require(answer, len(missing) == 3 and any(missing), rule)
    kept = zip(missing, evidence.FEATURES, strict=True)
    bad = Several(tuple(Nothing() if gone else number(x) for gone, x in kept))
    fixed: dict[str, Due | None] = {
        "bad_features": bad,
        "finite_before": Truth(False),
        "gradient_after": number(evidence.gradient_at_zero(evidence.FEATURES)),
    }
    expect(answer, section("repaired_case", Fields(fixed)))
    features = features_at(answer, "repaired_case", "changed_input", "features")
    changed = Fields({"gradient": number(evidence.gradient_at_zero(features))})
    expect(answer, section("repaired_case", Fields({"changed_input": changed})))


@pytest.mark.points(0.5, about="build_evidence")
def test_held_out_loss_is_exact(student):
    """held_out: the loss there, of the weight after six steps at rate 0.1"""
    answer = student.build_evidence()
    features = features_at(answer, "held_out", "features")
    require_no_negative_loss(answer, "held_out", "loss")
    due = Fields({"loss": number(evidence.held_out_loss(0.1, features))})
    expect(answer, section("held_out", due))


@pytest.mark.points(0.5, about="build_evidence")
def test_changed_rate_is_exact(student):
    """changed_rate: whether that rate is stable, and the last loss of six steps at it"""
    answer = student.build_evidence()
    rate = number_at(answer, "changed_rate", "rate")
    require_no_negative_loss(answer, "changed_rate", "last_loss")
    due = Fields({"stable": stable(rate), "last_loss": last_loss(rate)})
    expect(answer, section("changed_rate", due))


def features_at(answer: Asked, *path: str) -> list[Fraction]:
    """The student's own features, one at least."""
    features = finite_at(answer, *path)
    require(answer, bool(features), f"{': '.join(path)}: features are due, and found are none")
    return features


def require_no_negative_loss(answer: Asked, *path: str) -> None:
    """Near 0 a bound reaches below it; a mean of squares doesn't."""
    loss = number_at(answer, *path)
    rule = f"{': '.join(path)}: a mean of squares is never negative"
    require(answer, loss >= 0, rule)


def stable(rate: Fraction) -> Due:
    """Whether the rate is below the ceiling; at the border either answer is right."""
    multiplier = descent.error_multiplier(rate, evidence.FEATURES)
    size = abs(multiplier.value)
    if abs(size - 1) <= multiplier.bound:
        return OneOf((Truth(True), Truth(False)))
    return Truth(size < 1)


def last_loss(rate: Fraction) -> Due:
    """The loss in the last recorded row, or after the last of the six steps."""
    final, rows = evidence.run(rate)
    targets = [evidence.TRUE_WEIGHT * x for x in evidence.FEATURES]
    after: Rounded = descent.loss(final, evidence.FEATURES, targets)
    return OneOf((number(rows[-1][1]), number(after)))
