# %% [markdown]
# # Sixteen short questions
#
# The other pages ask for functions. This one asks for judgement: what a number means, what a
# symptom proves, and what to do next. Every question has one answer, and every answer follows from
# what you derived or ran on the pages before. There is nothing to compute but three numbers.
#
# You need no call of JAX here, but [the lesson](lesson.ipynb), your own pages, and a pencil.

# %% [markdown]
# ## What goes wrong in practice
#
# Most time that is lost on unstable training is lost to sentences that sound like explanations:
# "the gradients exploded", "it was a NaN", "the rate was too high". Each of them names something
# that was *seen*. None says why it happened, and two of them are often true at the same time.
# Someone who can't keep symptom, check and cause apart changes three things at once, gets a run
# that looks better, and doesn't know which of the three did it.
#
# So the questions below are of three kinds: numbers of the worked case, statements about what can
# be concluded, and statements about how to work.

# %% [markdown]
# ## The idea
#
# A **symptom** is something that a run shows: a loss that grows, a NaN, a large update. A **check**
# is a change or a measurement that would come out differently under different causes. A **cause**
# is what remains when every check agrees with it and with nothing else.
#
# Ask of each statement below: if it were false, what would I have seen on one of the pages? If you
# can name the page and the number, you know the answer.

# %% [markdown]
# ## One question answered
#
# *Does a loss that falls at every step show that the data is right?* Take features `[1, 2, 3]` and
# targets `[2, 4, 60]`, where one target was mistyped. At rate 0.1 the loss falls at every step: the
# bound depends on the features alone, and they are fine. So the answer is no. One page and one
# number decided it; no opinion was needed.

# %% [markdown]
# ## Predict first: the sixteen answers
#
# Write every answer down before you look at any of your runs again. Then go back to the pages and
# check those you were unsure of. Yes/no questions take `True` and `False` (or `"yes"` and `"no"`),
# numbers take a number, right within one millionth. What is `None` counts as not attempted.
#
# **Numbers of the worked case** (features `[1, 2, 3]`, targets twice that, weight 0)
#
# 1. `worked_ceiling`: where does the open interval of stable rates end?
# 2. `crossing_rate`: of the rates 0.1 and 0.3, which one crosses that ceiling?
# 3. `largest_clipped_move`: the gradient is clipped to [-1, 1] and the rate is 0.3. How far can one
#    step move the weight at most?
# 4. `stable_after_scaling`: features and targets are both multiplied by ten, and the rate stays at
#    0.1. Is the run still stable?
#
# **What can be concluded**
#
# 5. `scaling_reason`: why does multiplying features and targets by ten change the range of stable
#    rates? Because it changes the `"curvature"`, because it disturbs `"autodiff"`, or because it
#    changes the number of `"observations"`?
# 6. `nan_is_possible_symptom`: can a NaN in the loss be a symptom of a rate that is too high?
# 7. `nan_is_a_diagnosis`: is "the loss became NaN" a diagnosis?
# 8. `large_updates_warn`: are updates that are large beside the weights a reason to look closer?
# 9. `comparing_update_and_parameter_helps`: does it help to record the size of the update beside
#    the size of the parameter?
# 10. `correct_gradient_implies_stable`: the gradient agrees with finite differences everywhere.
#     Does that make the run stable?
# 11. `large_weights_imply_large_gradients`: are large weights a sign of large gradients?
# 12. `quadratic_bound_fits_other_models`: is one over the mean squared feature the bound on the
#     rate for other models, too?
#
# **How to work**
#
# 13. `lower_rate_is_a_check`: is a run at a lower rate, with all else unchanged, a check that tells
#     causes apart?
# 14. `change_several_factors_at_once`: a run diverges. Is it good practice to lower the rate, clip
#     and rescale the data in one go?
# 15. `keep_the_failing_case`: should the input that failed be kept after the repair?
# 16. `held_out_before_declaring_fixed`: should data that took no part in the repair be looked at
#     before the matter is closed?

# %% ANSWERS
ANSWERS = {  # TODO 1 to 16: replace each None
    "worked_ceiling": None,  # a number
    "crossing_rate": None,  # a number
    "largest_clipped_move": None,  # a number
    "stable_after_scaling": None,  # yes or no
    "scaling_reason": None,  # "curvature", "autodiff" or "observations"
    "nan_is_possible_symptom": None,  # yes or no, as all below
    "nan_is_a_diagnosis": None,
    "large_updates_warn": None,
    "comparing_update_and_parameter_helps": None,
    "correct_gradient_implies_stable": None,
    "large_weights_imply_large_gradients": None,
    "quadratic_bound_fits_other_models": None,
    "lower_rate_is_a_check": None,
    "change_several_factors_at_once": None,
    "keep_the_failing_case": None,
    "held_out_before_declaring_fixed": None,
}

# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Numbers.** The first is on the page `ones_bound`, once you put in the right features. The
#   second follows from the first. The third needs no gradient.
# - **Conclusions.** Look for a counterexample on your own pages. A model at its optimum may have
#   any weight at all; a diverging run of the lesson has a gradient that is right in every digit.
# - **Work.** For each of the four, imagine the opposite and ask what you could still tell
#   afterwards.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python concept_checks.py`. It
# tells whether every question has an answer. Whether the answers are right is told when the page is
# graded: each right one with its reason, each wrong one with a place to look.

# %% [markdown]
# ## Look at it afterwards
#
# For every yes/no question, name the page and the number that settle it. Where you can't, run the
# page again and find one. An answer that you can't back by a run is a guess, even when it is right.

# %% [markdown]
# ## Carry forward
#
# - Symptoms are cheap to see and prove little. A check is worth its time when two causes would make
#   it come out differently.
# - One change at a time is slower by the minute and faster by the day.
# - Nothing here is about a single weight only, except where a question says so: the numbers belong
#   to the worked case, and the bound to this objective.
#
# Next: `evidence`, where you put together what you found.

# %% check_concept_checks
from grader import check

check("concept_checks")
