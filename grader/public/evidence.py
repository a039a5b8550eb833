"""Public checks of `evidence`: what a portfolio has to hold, and the rules for what is chosen."""

from fractions import Fraction

import pytest

from grader.judge import (
    Fields,
    Texts,
    expect,
    finite_at,
    json_ready,
    number_at,
    numbers,
    require,
)

SECTIONS: dict[str, tuple[str, ...]] = {
    "recurrence": ("0.1", "0.3"),
    "runs": ("0.1", "0.3"),
    "loss_multiplier": (),
    "clipping_bound": ("rate", "clip", "bound", "largest_move"),
    "scale_comparison": ("scale", "rate", "compensated_rate", "weights", "losses"),
    "repaired_case": ("bad_features", "finite_before", "gradient_after", "changed_input"),
    "held_out": ("features", "targets", "loss"),
    "changed_rate": ("rate", "stable", "last_loss"),
    "predictions": (),
    "reasoning": (),
}


@pytest.mark.points(1, about="build_evidence")
def test_every_section_is_there(student):
    """every section of the evidence is there, with all its entries"""
    answer = student.build_evidence()
    expect(answer, Fields(dict.fromkeys(SECTIONS)))
    for section, names in SECTIONS.items():
        if names:
            expect(answer, Fields({section: Fields(dict.fromkeys(names))}))


@pytest.mark.points(1, about="build_evidence")
def test_evidence_is_ready_for_json(student):
    """the evidence holds only what a JSON file can: numbers, texts, lists, dicts, null"""
    json_ready(student.build_evidence())


@pytest.mark.points(1, about="build_evidence")
def test_predictions_and_reasoning_are_written(student):
    """predictions and reasoning hold texts, none of them blank"""
    answer = student.build_evidence()
    expect(answer, Fields({"predictions": Texts()}))
    expect(answer, Fields({"reasoning": Texts()}))


@pytest.mark.points(1, about="build_evidence")
def test_chosen_data_is_new(student):
    """held-out data, the changed input and the changed rate are new ones"""
    answer = student.build_evidence()
    held_out = finite_at(answer, "held_out", "features")
    require(answer, bool(held_out), "held_out: features are due, and found are none")
    seen = "held_out: no feature may be 0, 1, 2 or 3: those the run has seen"
    require(answer, not set(held_out) & {0, 1, 2, 3}, seen)
    expect(answer, Fields({"held_out": Fields({"targets": numbers([2 * x for x in held_out])})}))
    changed = finite_at(answer, "repaired_case", "changed_input", "features")
    rule = "repaired_case: changed_input: features other than [1, 2, 3] are due"
    require(answer, bool(changed) and changed != [1, 2, 3], rule)
    rate = number_at(answer, "changed_rate", "rate")
    rule = "changed_rate: a positive rate other than 0.1 and 0.3 is due"
    known = min(abs(rate - Fraction(seen)) for seen in (0.1, 0.3))
    require(answer, rate > 0 and known > Fraction(1, 10**6), rule)
