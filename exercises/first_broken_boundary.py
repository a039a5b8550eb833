# %% [markdown]
# # Locate the first broken boundary, then explain
#
# Between data and new weights lie a handful of places where one could stop and look. On this page
# you find the first of them at which something is no longer a finite number. Then comes the harder
# half: from where it shows to why it happened. The two are often not the same place, and some
# faults show nowhere.
#
# You need `jnp.mean` and these calls:
#
# | call | gives |
# |---|---|
# | `jnp.isfinite(a)` | for each entry, in an array of any shape, whether it is finite |
# | `jnp.all(c)`, `jnp.any(c)` | whether all entries are true, whether any is |
#
# Letters mean what they mean in [the lesson](lesson.ipynb), which derives the largest stable rate.

# %%
import jax
import jax.numpy as jnp


# %% [markdown]
# ## What goes wrong in practice
#
# "The loss is NaN", says the ticket, so somebody looks at the loss. They add a small number under
# the logarithm; the NaN moves to the gradient. They clip the gradient; it moves to the optimizer.
# Each repair was made at the place where the trouble *showed*, and that place is decided by what
# happens to be computed from what.
#
# The opposite mistake is to know the answer beforehand. Whoever has seen ten runs diverge from too
# large a rate lowers the rate in the eleventh as well, and there a feature was missing.

# %% [markdown]
# ## The idea
#
# A training step passes six boundaries, each computed from the ones before it:
#
# $$\text{inputs} \to \text{forward} \to \text{loss} \to \text{gradient} \to
# \text{optimizer state} \to \text{update}$$
#
# Record the arrays at all six. The first that holds NaN or an infinity is the place to stop, as
# everything to its right is an heir. That is a search, and a program can do it.
#
# What it finds is a symptom's *place*. For the cause there is a second order of questions, in which
# each is answered by what is known already, before anything is run again:
#
# 1. Is everything finite that goes in, features and targets? If not, nothing that comes later can
#    be judged.
# 2. Is the rate below the ceiling? Inputs and rate decide that, and no run is needed. Above it the
#    error grows by a factor with every step, until *something* overflows. Which quantity that is,
#    and when, tells nothing about the cause.
# 3. Both are fine, and still a row isn't finite: then a finite number went into some operation, and
#    came out broken. That operation is unsafe where it was used.
#
# Only the third question needs the run's history.

# %% [markdown]
# ## Predict first
#
# For each of these write down, *before* you read on, at which of the six boundaries NaN or infinity
# shows first, and whether the gradient, the update and the weights still look normal in that step:
#
# 1. A probability that is exactly 0, under a logarithm.
# 2. A rate a hundred times too large, after ten steps.
# 3. A gradient of size $10^{20}$, and an optimizer that averages its squares.
# 4. `jnp.where(e == 0, 0.0, jnp.sqrt(e**2))` as the size of an error `e` that is 0.
# 5. Targets of shape `(8, 1)` and predictions of shape `(8,)`, subtracted.
#
# My predictions: ...

# %% [markdown]
# ## One case by hand
#
# Features `[1, 2]`, targets `[2, 4]`, so the mean of the squared features is 2.5 and the ceiling
# 0.4. Float32 ends near $3.4 \cdot 10^{38}$. Three runs, each of which ends in a loss that is
# infinite or NaN:
#
# | run | what the record shows | inputs | rate | so the cause is |
# |---|---|---|---|---|
# | A: rate 0.5, one target NaN | loss NaN in row 0 | not finite | | the input |
# | B: rate 0.5 | sizes grow by 1.5 a step, loss inf in row 106 | finite | above 0.4 | the rate |
# | C: rate 0.3 | loss inf in row 3, after 0.625 in row 2 | finite | below 0.4 | an operation |
#
# In B the multiplier is $1 - 0.5 \cdot 5 = -1.5$. The loss overflows first because it is the
# square of what grows: it leaves float32 while the weights are still near $10^{19}$. "The loss
# overflowed" is true, and a safer loss would only overflow later. In A the rate is above the
# ceiling, too; but as long as the target is NaN, no rate will do, so that is what is said first.
# In C a loss cannot get from 0.625 to infinity by steps that shrink the error. Something else was
# computed.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: the first broken boundary
#
# The arrays have any shape, also none: a loss is often a single number. A single bad entry makes an
# array broken.

# %% first_broken
def first_broken(trace: dict[str, jax.Array]) -> str:
    """Return the first boundary whose array holds a number that is not finite.

    trace: an array of any shape for each of inputs, forward, loss, gradient, optimizer_state and
    update, in any order. First is meant as in this list. Returns "none" when all are finite.
    """
    # TODO 1
    raise NotImplementedError


# %% [markdown]
# ### TODO 2: the cause
#
# For the lesson's model, one weight and the mean squared error. The history is the lesson's, a row
# `[weight, loss, abs(gradient)]` a step, and here its numbers may be anything.

# %% diagnose
def diagnose(features: jax.Array, targets: jax.Array, rate: float, history: jax.Array) -> str:
    """Return what is wrong with a run: the first of these that applies.

    "nonfinite_input": a feature or a target is not finite;
    "rate_above_ceiling": the rate is above the largest stable one, whatever the history shows;
    "unsafe_operation": some number of the history is not finite all the same;
    "healthy": none of this.

    features, targets: shape (n,), n >= 1; the features are not all zero. history: shape (k, 3).
    """
    # TODO 2
    raise NotImplementedError


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Boundary.** The trace is a dict, and a dict's order is whatever order it was filled in. Write
#   the six names down once, in the order of the computation, and look each one up. `isfinite` gives
#   an array of truth values of the same shape; one of them must be made of it.
# - **Cause.** Three questions in the order of "The idea", each with an early return. A comparison
#   with NaN is false, so the first question can't be left out. For the second one take the ceiling
#   from the lesson or from `ones_bound`; on features of one it must come out as 1.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script:
# `python first_broken_boundary.py`. In a terminal `grader check first_broken_boundary.py` does the
# same. What you see there are public checks, worked examples and properties that every right answer
# has; grading also asks for other data.

# %% [markdown]
# ## Look at it afterwards
#
# `traces.py`, which lies beside `lesson.py`, makes real runs with one fault planted in each: two
# weights, a batch of eight examples a step, in most runs plain descent at rate 0.05. Step 3 gets
# the bad batch, where it is a batch that is bad. When the checks pass, paste this into a new cell
# above the last one:
#
# ```python
# import traces
#
# for fault in traces.FAULTS:
#     for number, step in enumerate(traces.planted(fault, seed=0)[:6]):
#         norms = "  ".join(f"{name} {size:.3g}" for name, size in step.norms.items())
#         print(fault, number, first_broken(step.trace), " norms:", norms)
# ```
#
# These are rows of it. The loss is the mean of the losses, "gradient" and "update" are norms, and
# "parameter" is the norm of the weights before the update.
#
# **Faults of one batch.** Each shows in step 3, and steps 0 to 2 look like those of a healthy run.
#
# | run | step | first broken | loss | gradient | update | parameter |
# |---|---|---|---|---|---|---|
# | `nan_input` | 3 | inputs | nan | nan | nan | 0.793 |
# | `nan_input` | 4 | forward | nan | nan | nan | nan |
# | `inf_input` | 3 | inputs | inf | inf | inf | 0.793 |
# | `division_by_zero` | 3 | forward | nan | nan | nan | 0.751 |
# | `activation_overflow` | 3 | forward | inf | inf | inf | 0.706 |
# | `log_of_zero` | 3 | loss | nan | nan | nan | 0.728 |
# | `masked_branch` | 3 | gradient | 1.07 | nan | nan | 0.718 |
# | `moment_overflow` | 3 | optimizer_state | 2.43e+20 | 2.74e+20 | 0 | 0.843 |
# | `overflowed_clip` | 3 | optimizer_state | 2.92e+20 | 3.06e+20 | 0 | 0.733 |
# | `division_by_zero_norm` | 3 | update | 0 | 0 | nan | 0.733 |
#
# - The norms alone can't tell the first six apart: gradient and update are lost in all of them, and
#   the parameters still look fine. The boundary tells. One step later it doesn't any more: the
#   weights are NaN, and the forward pass is the first to show it, whatever the fault was.
# - `division_by_zero` standardizes a column that is constant in this batch, 0 over 0.
#   `activation_overflow` has one feature in the wrong unit under an exponential, and `log_of_zero`
#   has it under a sigmoid: the probability is finite, and exactly 0 or 1.
# - `masked_branch` has a normal loss beside a gradient that is NaN. So the value is all right and
#   its derivative isn't: look for a branch that isn't taken and is differentiated all the same.
# - A gradient of $10^{20}$ is finite, its square is not. Two optimizers square it and divide by the
#   root of what they get: the update is exactly 0, and the run seems to rest.
# - In `division_by_zero_norm` loss and gradient are exactly 0, which looks like success. The batch
#   is all padding.
#
# **What comes after.** The two runs whose update was 0 differ later on:
#
# | run | step | first broken | loss | gradient | update | parameter |
# |---|---|---|---|---|---|---|
# | `moment_overflow` | 4 | optimizer_state | 5.97 | 6.63 | 0 | 0.843 |
# | `moment_overflow` | 29 | optimizer_state | 5.39 | 7.15 | 0 | 0.843 |
# | `overflowed_clip` | 4 | none | 6.88 | 7.09 | 0.05 | 0.733 |
# | `overflowed_clip` | 29 | none | 1.12 | 3.31 | 0.05 | 1.49 |
#
# A clip forgets: one step was lost, and who looks at step 4 finds nothing. A running mean that is
# infinite stays so. Loss and gradient are finite and normal for ever, and the parameters never move
# again: a gradient that isn't small beside an update of 0 is the mark.
#
# **A rate above the ceiling.** Here nothing is wrong with any batch.
#
# | run | step | first broken | loss | gradient | update | parameter |
# |---|---|---|---|---|---|---|
# | `rate_above_ceiling` | 0 | none | 1.9 | 2.58 | 258 | 0.707 |
# | `rate_above_ceiling` | 1 | none | 2.94e+04 | 240 | 2.4e+04 | 258 |
# | `rate_above_ceiling` | 2 | none | 6.26e+08 | 5.64e+04 | 5.64e+06 | 2.37e+04 |
# | `rate_above_ceiling` | 8 | none | 1.69e+36 | 2.52e+18 | 2.52e+20 | 1.35e+18 |
# | `rate_above_ceiling` | 9 | loss | inf | 6.84e+20 | 6.84e+22 | 2.5e+20 |
#
# The first broken boundary is the loss, as in `log_of_zero`. But all three norms have grown with
# every step, by factors between 90 and 400, and the update was larger than the parameters from the
# first step on. Put the norms side by side: a batch breaks a run at once, a rate breaks it at
# compound interest.
#
# **Silent faults.** Nothing is ever broken in these, and `first_broken` says "none" throughout.
#
# | run | step | first broken | loss | gradient | update | parameter |
# |---|---|---|---|---|---|---|
# | `healthy` | 0 | none | 1.9 | 2.58 | 0.129 | 0.707 |
# | `healthy` | 1 | none | 1.44 | 1.43 | 0.0715 | 0.805 |
# | `healthy` | 29 | none | 0.0178 | 0.434 | 0.0217 | 2.14 |
# | `broadcast_targets` | 0 | none | 4.09 | 1.28 | 0.0639 | 0.707 |
# | `broadcast_targets` | 1 | none | 1.95 | 0.916 | 0.0458 | 0.645 |
# | `broadcast_targets` | 29 | none | 11.1 | 1.67 | 0.0837 | 0.366 |
# | `sum_for_mean` | 0 | none | 1.9 | 20.6 | 1.03 | 0.707 |
# | `sum_for_mean` | 1 | none | 1.1 | 11.5 | 0.577 | 1.62 |
# | `sum_for_mean` | 5 | none | 0.0107 | 1.9 | 0.0948 | 2.31 |
#
# - `broadcast_targets` subtracts targets of shape `(8, 1)` from outputs of shape `(8,)`: every
#   output is compared with every target. The gradient is no smaller than elsewhere, but the loss
#   doesn't fall and the parameters shrink, as the best answer to all targets at once is one that
#   ignores the features. No norm proves it; the *shape* does: `trace["loss"].shape` is `(8, 8)`.
#   Check shapes before values.
# - `sum_for_mean` starts with the same losses as the healthy run and 8 times its gradient, the
#   number of examples. Here it even learns faster, so nobody complains, until somebody doubles the
#   batch and the rate is above the ceiling. Half a batch is the test: a mean's gradient keeps its
#   size.

# %% [markdown]
# ## Carry forward
#
# - First locate: the earliest step, and in it the first boundary. Look one step too late and the
#   answer is "forward", whatever happened.
# - Then explain, in an order that doesn't need the run: inputs, rate, operations. A place is not a
#   cause, and the same boundary has several.
# - Gradient, update and parameter norms belong side by side. Lost together with quiet steps before:
#   a batch or an operation. Growing together by a factor: the rate. Update 0 beside a gradient that
#   isn't: something between the two has swallowed it.
# - Compute norms more widely than the run computes, or they overflow before it does.
# - "None" means finite, not right. Shapes, scales and a case whose answer is known catch what no
#   search for NaN can.
# - The ceiling is that of the lesson's model. For others the second question needs an experiment:
#   a tenth of the rate, on the same batches, from the same weights.
#
# Next: `finite_gradient`, where the loss is finite and its gradient isn't.

# %% check_first_broken_boundary
from grader import check

check("first_broken_boundary")
