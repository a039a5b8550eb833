"""The key of `concept_checks`: sixteen answers, each with a hint and an explanation.

There are no misconceptions here: a wrong answer is one of few, and the hint speaks to all of them.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from grader.judge import Due, Fields, Text, YesOrNo, expect, number
from grader.model import Misconception

TITLE = "Sixteen short questions"
WITHIN = Fraction(1, 10**6)

Check = Callable[[Any], None]


def question(key: str, due: Due | None, title: str, hint: str, explanation: str) -> Check:
    """The check of one question, worth one point."""

    def check(student: Any) -> None:
        expect(student.ANSWERS, Fields({key: due}, unanswered=True))

    check.__doc__ = f"{key}: {title}"
    said = {"hint": f"{key}: {hint}", "explanation": explanation}
    marked: Check = pytest.mark.points(1, about="ANSWERS", **said)(check)
    return marked


ANSWERS: dict[str, Due | None] = {
    "worked_ceiling": number(Fraction(3, 14), WITHIN),
    "crossing_rate": number(Fraction(3, 10), WITHIN),
    "largest_clipped_move": number(Fraction(3, 10), WITHIN),
    "stable_after_scaling": YesOrNo(False),
    "scaling_reason": Text("curvature", word=True),
    "nan_is_possible_symptom": YesOrNo(True),
    "nan_is_a_diagnosis": YesOrNo(False),
    "large_updates_warn": YesOrNo(True),
    "comparing_update_and_parameter_helps": YesOrNo(True),
    "correct_gradient_implies_stable": YesOrNo(False),
    "large_weights_imply_large_gradients": YesOrNo(False),
    "quadratic_bound_fits_other_models": YesOrNo(False),
    "lower_rate_is_a_check": YesOrNo(True),
    "change_several_factors_at_once": YesOrNo(False),
    "keep_the_failing_case": YesOrNo(True),
    "held_out_before_declaring_fixed": YesOrNo(True),
}

TRUTH = {"ANSWERS": lambda: Fields(ANSWERS, unanswered=True)}
EXAMPLES: list[tuple[str, tuple[Any, ...]]] = []
MISCONCEPTIONS: list[Misconception] = []

test_worked_ceiling = question(
    "worked_ceiling",
    ANSWERS["worked_ceiling"],
    "the end of the stable rates in the worked case",
    "write down the mean of the three squared features as a fraction, and ask for which rate the "
    "error after a step is as large as the one before, with its sign turned.",
    "the mean squared feature is 14/3, and the rates end at one over it: 3/14, about 0.214.",
)
test_crossing_rate = question(
    "crossing_rate",
    ANSWERS["crossing_rate"],
    "the one of the two rates that crosses the ceiling",
    "the answer is one of the two rates themselves. Hold both against the ceiling.",
    "0.3 is above 3/14, and its error multiplier is -1.8; 0.1 is below, with 1/15.",
)
test_largest_clipped_move = question(
    "largest_clipped_move",
    ANSWERS["largest_clipped_move"],
    "how far one clipped step can move the weight",
    "the first gradient is 56/3, and no number of that size has any part in the answer. What is "
    "left of a gradient after clipping, and what does the step multiply it by?",
    "a clipped gradient is at most 1 in size, and a step is the rate times that: 0.3.",
)
test_stable_after_scaling = question(
    "stable_after_scaling",
    ANSWERS["stable_after_scaling"],
    "whether rate 0.1 is stable on data times ten",
    "work out the mean squared feature of [10, 20, 30] and compare the rate with what follows "
    "from it. How does the answer change when the factor is squared?",
    "the curvature grows by a factor of 100, so the ceiling falls to 3/1400, far below 0.1.",
)
test_scaling_reason = question(
    "scaling_reason",
    ANSWERS["scaling_reason"],
    "why data times ten changes the stable rates",
    "JAX differentiates the scaled loss as exactly as the plain one, and three examples are still "
    "three. Which quantity of the three is another one after scaling?",
    "each feature enters the loss squared, so the second derivative grows a hundredfold.",
)
test_nan_is_possible_symptom = question(
    "nan_is_possible_symptom",
    ANSWERS["nan_is_possible_symptom"],
    "whether NaN may come from a rate that is too high",
    "let a diverging run go on for some hundred steps. The numbers outgrow float32 first. What is "
    "an infinity minus an infinity?",
    "a diverging run overflows to infinity, and infinity minus infinity is NaN. Other causes give "
    "NaN as well.",
)
test_nan_is_a_diagnosis = question(
    "nan_is_a_diagnosis",
    ANSWERS["nan_is_a_diagnosis"],
    "whether 'it became NaN' says what is wrong",
    "list three different causes on these pages that end in NaN. Would you repair all three in the "
    "same way?",
    "it says what was seen. A bad input, a rate too high and an unsafe operation all end in NaN, "
    "and each needs another repair.",
)
test_large_updates_warn = question(
    "large_updates_warn",
    ANSWERS["large_updates_warn"],
    "whether large updates are a reason to look closer",
    "in the run at rate 0.3, look at how the moves of the weight grow long before anything "
    "overflows. Is that worth knowing early?",
    "they prove nothing alone, but they show up many steps before a number stops being finite.",
)
test_comparing_update_and_parameter_helps = question(
    "comparing_update_and_parameter_helps",
    ANSWERS["comparing_update_and_parameter_helps"],
    "whether to record updates beside parameters",
    "is an update of 5 large? Try to answer for a weight of 0.1 and for one of 10,000.",
    "the size of an update means something only beside the size of what it changes.",
)
test_correct_gradient_implies_stable = question(
    "correct_gradient_implies_stable",
    ANSWERS["correct_gradient_implies_stable"],
    "whether a right gradient makes a run stable",
    "the lesson's run at rate 0.3 diverges. Check its gradient by finite differences.",
    "the gradient is right at both rates; at one of them the step is too long for the curvature.",
)
test_large_weights_imply_large_gradients = question(
    "large_weights_imply_large_gradients",
    ANSWERS["large_weights_imply_large_gradients"],
    "whether large weights are a sign of large gradients",
    "put the true weight at 1000 instead of 2. What is the gradient when the run has settled?",
    "the gradient depends on the distance to the optimum, and the optimum may be anywhere.",
)
test_quadratic_bound_fits_other_models = question(
    "quadratic_bound_fits_other_models",
    ANSWERS["quadratic_bound_fits_other_models"],
    "whether the bound holds for other models",
    "the derivation used that the curvature is one number, the same at every weight. Name a model "
    "for which it isn't.",
    "it was derived for one weight and a curvature that is the same everywhere; elsewhere it is a "
    "local guide at best.",
)
test_lower_rate_is_a_check = question(
    "lower_rate_is_a_check",
    ANSWERS["lower_rate_is_a_check"],
    "whether one run at a lower rate tells causes apart",
    "suppose that the input holds a NaN. What happens at a lower rate? And what happens if the "
    "rate was too high? Are the two outcomes the same?",
    "a rate above the ceiling is cured by it and a bad input is not, so it tells the two apart. It "
    "is a check first, and a repair only if it says so.",
)
test_change_several_factors_at_once = question(
    "change_several_factors_at_once",
    ANSWERS["change_several_factors_at_once"],
    "whether to change rate, clip and scale in one go",
    "suppose that the run settles after all three changes. Which of them did it, and are the other "
    "two harmless?",
    "if the run settles, nothing tells which change did it, or whether one hides another's harm.",
)
test_keep_the_failing_case = question(
    "keep_the_failing_case",
    ANSWERS["keep_the_failing_case"],
    "whether to keep the input that failed",
    "how will you know next month that the repair still works?",
    "it is the only input that shows whether the repair works, now and after the next change.",
)
test_held_out_before_declaring_fixed = question(
    "held_out_before_declaring_fixed",
    ANSWERS["held_out_before_declaring_fixed"],
    "whether to look at data that had no part in the repair",
    "a repair that only makes the one failing input pass is easy to write. What would show that "
    "it is no more than that?",
    "a repair that fits only the case it was made for looks right there, and nowhere else.",
)
