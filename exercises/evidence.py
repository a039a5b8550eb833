# %% [markdown]
# # Keep what you found
#
# This page asks for no new idea. It asks for a record: one function that recomputes what you found
# on the other pages and returns it as plain data, so that anyone can hold every number against the
# exact one, next year as well as today. `grader evidence` makes a page of it, with tables, plots,
# your code and what it printed.
#
# You need `lesson.run`, `lesson.loss`, `lesson.analytic_gradient`, and these:
#
# | call | gives |
# |---|---|
# | `a.tolist()` | an array as a list of plain Python numbers |
# | `float(a)` | an array of one number as a plain Python number |
# | `jnp.isfinite(a)` | for each entry, whether it is neither NaN nor infinite |
# | `jnp.where(c, a, b)` | entries of `a` where `c` is true, of `b` elsewhere |

# %%
import jax.numpy as jnp
import lesson
import numpy as np


# %% [markdown]
# ## What goes wrong in practice
#
# A bug is found, the fix goes in, and a month later the loss grows again. Nobody kept the input
# that failed. The numbers in the report were copied by hand from a run that nobody can repeat, at a
# rate that nobody wrote down. What is left is a memory of having understood it.
#
# A record is worth something when a program makes it, when it holds what was predicted beside what
# was measured, and when it holds the cases that were *not* used to find the answer.

# %% [markdown]
# ## The idea
#
# Evidence is a comparison with something that could have come out differently:
#
# - a formula beside a run: the recurrence $e_{k+1} = (1 - r\,c)\,e_k$, with curvature $c$, gives
#   every weight before anything runs;
# - a bound beside a measurement: the rate times the clip beside the largest move;
# - a broken case beside its repair, and the same repair on an input that it wasn't made for;
# - a loss on data that the run has never seen;
# - an explanation beside a rate that it wasn't found with.
#
# JSON is enough to hold all that: numbers, texts, truth values, lists, dicts and null. It has no
# arrays and no NaN, so an array becomes a list, and the missing feature becomes `None`.

# %% [markdown]
# ## Predict first
#
# Before you write the function, write down, in words, what you expect at a rate of your own choice
# (not 0.1 and not 0.3), and what the loss on data that the run hasn't seen will be. Both go into
# `predictions` as they are, right or wrong. A prediction that is corrected afterwards is none.

# %% [markdown]
# ## One section by hand
#
# `clipping_bound`, for a rate of 0.2 and a clip of 0.5: a clipped gradient is at most 0.5 in size,
# so a step moves the weight by at most 0.1. The first gradient of the worked case is -56/3, far
# beyond the clip, and the first step goes from 0 to 0.1. So the largest move that a run measures is
# 0.1, and the section would read
#
# ```python
# {"rate": 0.2, "clip": 0.5, "bound": 0.1, "largest_move": 0.1}
# ```
#
# `bound` by the rule, `largest_move` from the weights of a run. In float32 the last digits of the
# measured one may differ, and that is fine.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: the evidence
#
# Return a dict with these sections. Features are those of the worked case, [1, 2, 3], targets twice
# that, and runs start at weight 0, unless a section says otherwise. "Six steps" gives six recorded
# weights or rows, each from before its update.
#
# - `recurrence`: `{"0.1": [six weights], "0.3": [six weights]}`, by formula.
# - `runs`: the same keys, each with six rows `[weight, loss, abs(gradient)]`, measured.
# - `loss_multiplier`: by what a step at rate 0.3 multiplies the loss, by formula or measured.
# - `clipping_bound`: `rate` 0.3, `clip` 1.0, the `bound` on a move, and a run's `largest_move`.
# - `scale_comparison`: `scale` 10, `rate` 0.1, the `compensated_rate` for features and targets
#   times ten, and of that run the six `weights` and the six `losses`.
# - `repaired_case`: `bad_features`, which are [1, 2, 3] with `None` for NaN at one place or more;
#   `finite_before`, whether loss and gradient were finite with them at weight 0; `gradient_after`
#   the repair, at weight 0; and `changed_input`, the same repair on other, finite `features` of
#   yours, with the `gradient` at weight 0 on targets twice those.
# - `held_out`: `features` of yours, none of them 0, 1, 2 or 3, `targets` twice those, and the
#   `loss` there of the weight after six steps at rate 0.1.
# - `changed_rate`: a `rate` of yours, whether it is `stable`, and the `last_loss` of six steps.
# - `predictions`: texts by name, what you expected before you ran it.
# - `reasoning`: texts by name, why it came out as it did.

# %% build_evidence
def build_evidence() -> dict:
    """Return the evidence as a dict that JSON can hold: see the list above for its sections."""
    # TODO 1
    raise NotImplementedError


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Plain data.** `json.dumps(build_evidence(), allow_nan=False)` raises at the first thing that
#   JSON can't hold. `float(...)` and `.tolist()` cure most of it.
# - **Recurrence.** Six powers of one multiplier, for each rate. No run is needed for it, and none
#   should be used: otherwise the two sections are one.
# - **Largest move.** The differences of weights that follow each other, by size.
# - **Scale.** Both arrays times ten. By what does the curvature grow, and what must the rate do?
# - **Repair.** What you wrote for `nan_input` does it here, too.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python evidence.py`. In a
# terminal `grader check evidence.py` does the same. You are told of each section whether it is
# there and follows its rules; grading also holds every number against the exact one.

# %% [markdown]
# ## Look at it afterwards
#
# `grader evidence --out portfolio` runs your function and writes `portfolio/evidence.html`: one
# file that needs no network. Read it as someone who wasn't there:
#
# - Which of your predictions came out wrong? Say so in `reasoning`; it is the most useful entry.
# - In the plot, where do formula and run part? Nowhere to see is not the same as nowhere: look at
#   the last weights at rate 0.1.
# - Would the record still tell whether the repair works if someone changed `repair` tomorrow?

# %% [markdown]
# ## Carry forward
#
# - Keep the failing case, the prediction and the program. The rest can be made again.
# - A repair that was tried on one input is a guess about all others.
# - Real networks need the same habit and more instruments: shapes checked before values, the step
#   and the rate logged beside them, finite checks at every boundary, gradient norms, the range of
#   the predictions, the balance of the classes, and data that training never sees kept apart from
#   data that it does.
#
# This is the last page of the course.

# %% check_evidence
from grader import check

check("evidence")
