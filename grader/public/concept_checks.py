"""The public check of `concept_checks`: whether every question has an answer, not which one."""

import pytest

from grader.judge import Fields, expect

NUMBERS = ("worked_ceiling", "crossing_rate", "largest_clipped_move")
WORDS = ("scaling_reason",)
YES_OR_NO = (
    "stable_after_scaling",
    "nan_is_possible_symptom",
    "nan_is_a_diagnosis",
    "large_updates_warn",
    "comparing_update_and_parameter_helps",
    "correct_gradient_implies_stable",
    "large_weights_imply_large_gradients",
    "quadratic_bound_fits_other_models",
    "lower_rate_is_a_check",
    "change_several_factors_at_once",
    "keep_the_failing_case",
    "held_out_before_declaring_fixed",
)


@pytest.mark.points(0, about="ANSWERS")
def test_every_question_is_answered(student):
    """each of the sixteen questions has an answer"""
    answered = dict.fromkeys((*NUMBERS, *WORDS, *YES_OR_NO))
    expect(student.ANSWERS, Fields(answered, unanswered=True))
