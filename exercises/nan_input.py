# %% [markdown]
# # One bad number: find it and repair it before any update
#
# A sensor fails, a division by zero slips into a table, and one entry of the data is no longer a
# number. On this page you break good data on purpose, find the broken entry, mend it from a source
# that you trust, and compute a gradient that cannot silently be nonsense. The order matters: look
# at what goes *in* before you touch anything that comes after it.
#
# You need `lesson.loss`, `lesson.analytic_gradient`, three calls of JAX and one of NumPy, which can
# return as many positions as there happen to be:
#
# | call | gives |
# |---|---|
# | `a.at[i].set(v)` | a new array like `a`, with `v` at position `i` |
# | `jnp.isfinite(a)` | for each entry whether it is neither NaN nor infinite |
# | `np.flatnonzero(c)` | the positions where `c` is true |
# | `jnp.where(c, a, b)` | entry by entry, `a` where `c` is true and `b` elsewhere |
#
# Model, loss and gradient are those of [the lesson](lesson.ipynb).

# %%
import jax
import jax.numpy as jnp
import lesson
import numpy as np


# %% [markdown]
# ## What goes wrong in practice
#
# The loss is NaN, "not a number". Someone lowers the rate; still NaN. Someone clips the gradient;
# still NaN. Someone replaces the NaN in the gradient by 0, and now the run doesn't move at all.
# Someone replaces the NaN in the *data* by 0, and at last everything runs. That is the worst of
# the four, since it now solves another problem and nobody will notice.
#
# Rate, clipping and optimizer come after the loss. When the loss of the very first step is broken,
# none of them can be the cause.

# %% [markdown]
# ## The idea
#
# Whatever is computed from NaN is NaN: $\text{NaN} + 1$, $\text{NaN}^2$, even
# $0 \cdot \text{NaN}$. Let the feature $x_i$ of a single example be NaN, and follow it:
#
# $$w\,x_i - y_i \;\to\; (w\,x_i - y_i)^2 \;\to\; L = \operatorname{mean}\,(w\,x - y)^2,
# \qquad x_i\,(w\,x_i - y_i) \;\to\; 2\operatorname{mean}\,x\,(w\,x - y).$$
#
# A mean takes in every example, so one bad entry spoils loss and gradient altogether, at every
# weight. The next weight is $w - r \cdot \text{NaN}$, which is NaN at every rate $r$, at 0 too.
#
# An infinity does the same in a less obvious way: $w \cdot \infty$ is infinite, $0 \cdot \infty$
# and $\infty - \infty$ are NaN. And NaN is not equal to anything, not even to itself, so asking
# `x == nan` finds nothing.
#
# To get rid of NaN is easy; to put the right number in its place takes knowledge. Loss, gradient
# and curvature depend on the features through means, above all $\operatorname{mean}\,x^2$. Any
# number in the gap gives *some* mean. Only the right one gives the right mean.

# %% [markdown]
# ## Predict first
#
# Take features `[1, NaN, 3]`, targets `[2, 4, 6]` and weight 0. Write the answers down here, or on
# paper, *before* you run anything:
#
# 1. Loss and gradient? What are they if the targets hold the NaN and the features are fine?
# 2. The weight after one step at rate 0.1, at rate 0.001, at rate 0?
# 3. Somebody fills the gap with 0. The right feature was 2. Is the loss now too small, too large
#    or right? And the gradient?
#
# My predictions: ...

# %% [markdown]
# ## One case by hand
#
# Question 3 is worth a pencil. At weight 0 the prediction is 0, so the difference of prediction
# and target is minus the target. The gradient is twice the mean of the last column.
#
# | example | feature | target | difference | its square | feature times difference |
# |---|---|---|---|---|---|
# | 0 | 1 | 2 | -2 | 4 | -2 |
# | 1 | NaN | 4 | NaN | NaN | NaN |
# | 2 | 3 | 6 | -6 | 36 | -18 |
#
# What stands in the gap decides about the middle row:
#
# | middle feature | its row | loss | gradient | largest stable rate |
# |---|---|---|---|---|
# | 2, as it was | -4, 16, -8 | 56/3 | $2 \cdot (-28/3) = -56/3$ | 3/14 |
# | 0 | -4, 16, 0 | 56/3 | $2 \cdot (-20/3) = -40/3$ | 3/10 |
# | the row is dropped | | 40/2 = 20 | $2 \cdot (-20/2) = -20$ | 1/5 |
#
# All three are finite. With 0 in the gap the first loss doesn't even differ. The gradient does, and
# so does the largest stable rate (one over the mean of the squared features): at rate 0.25 the
# filled data settles, while the true data diverges.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: break it on purpose
#
# A repair can be tested only on a broken case whose right answer is known. So make one: good data
# with one entry spoiled. The data that you are given stays as it is.

# %% corrupt
def corrupt(features: jax.Array, index: int) -> jax.Array:
    """Return a copy of the features with NaN at `index`.

    features: shape (n,). index: from 0 to n - 1. Returns shape (n,).
    """
    # TODO 1
    raise NotImplementedError


# %% [markdown]
# ### TODO 2: is this step worth taking?
#
# Ask the two numbers that an update rests on. Features or targets may hold NaN or infinities; the
# weight is finite.

# %% step_is_finite
def step_is_finite(weight: float, features: jax.Array, targets: jax.Array) -> jax.Array:
    """Return whether the loss and its gradient at `weight` are both finite.

    features, targets: shape (n,), any of their entries may be NaN, inf or -inf.
    Returns a truth value.
    """
    # TODO 2
    raise NotImplementedError


# %% [markdown]
# ### TODO 3: where is it?
#
# "The loss is NaN" is a symptom. "Entry 1 of the features is NaN" is a finding that somebody can
# act on.

# %% bad_positions
def bad_positions(features: jax.Array) -> np.ndarray:
    """Return the positions of NaN, inf and -inf among the features, in ascending order.

    features: shape (n,). Returns whole numbers from 0 to n - 1, shape (k,) for k bad entries,
    empty when all are finite.
    """
    # TODO 3
    raise NotImplementedError


# %% [markdown]
# ### TODO 4: repair it, or refuse to
#
# The source is another record of the same features: a backup, the table before preprocessing, a
# second sensor. It need not agree with the data elsewhere and may have gaps of its own. Take from
# it what is needed and nothing else. Where it can't help, say so instead of guessing: a source of
# another length belongs to other data, even on a day when nothing needs repair.

# %% repair
def repair(features: jax.Array, source: jax.Array) -> jax.Array:
    """Return the features with each entry that is not finite replaced by the source's.

    features: shape (n,). source: the same features from elsewhere; where they are not needed its
    entries don't matter, finite or not. Returns shape (n,); finite features are unchanged.
    Raises ValueError when the source has another length, whether or not anything needs repair,
    and when it is not finite at a position that is needed.
    """
    # TODO 4
    raise NotImplementedError


# %% [markdown]
# ### TODO 5: a gradient that can be trusted
#
# Repair first, then differentiate. The targets are finite here.

# %% checked_gradient
def checked_gradient(
    weight: float, features: jax.Array, targets: jax.Array, source: jax.Array
) -> jax.Array:
    """Return the gradient of the loss at `weight`, on the features repaired from the source.

    features, targets: shape (n,), targets finite. Returns a scalar.
    Raises ValueError where `repair` does.
    """
    # TODO 5
    raise NotImplementedError


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Break it.** A JAX array can't be changed. `.at[...].set(...)` leaves it alone and gives you a
#   new one, so don't forget to keep what it gives.
# - **Finite?** Two numbers, one question to each. `isfinite` is false for NaN and for both
#   infinities; `isnan` is not its opposite.
# - **Where?** Ask which entries are good, turn that round (`~` works on arrays of truth values),
#   and ask for positions.
# - **Repair.** Settle the question of lengths first. JAX stretches an array of length 1 to any
#   other length without a word, so don't wait for an error. For the second refusal it helps to look
#   at the result: what would still be wrong with it if the source can't help?
# - **Gradient.** Everything is there already. Which of the two arrays goes into it?
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python nan_input.py`. In a
# terminal `grader check nan_input.py` does the same. What you see there are public checks, worked
# examples and properties that every right answer has; grading also asks for other data.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. Say beforehand what each
# line will print.
#
# ```python
# bad = corrupt(lesson.FEATURES, 1)
# print(bad, bad_positions(bad), step_is_finite(0.0, bad, lesson.TARGETS))
# for rate in (0.3, 0.1, 0.001):
#     try:
#         lesson.run(rate, 1, bad)
#     except FloatingPointError as error:
#         print(f"rate {rate}: {error}")
# print(checked_gradient(0.0, bad, lesson.TARGETS, lesson.FEATURES), -56 / 3)
#
# filled = jnp.nan_to_num(bad)
# for name, features in (("repaired", repair(bad, lesson.FEATURES)), ("filled", filled)):
#     print(name, lesson.run(0.25, 6, features)[1][:, 1])
# ```
#
# - The error names a step and a quantity. What does it not name, and which line above does?
# - The losses of the two last runs start alike. Which one looks like success? Which one is about
#   your data?
# - The filled run doesn't go to zero. Which example can no weight fit any more, and what does it
#   add to the mean?
# - Put an infinity in place of the NaN. At which weight is the loss infinite, at which is it NaN?

# %% [markdown]
# ## Carry forward
#
# - NaN in the first step, at every rate: look at the inputs. What comes later can't be the cause.
# - Keep the broken case. It is the only thing on which a repair can be seen to work.
# - Finite is not the same as right. Hold a repair against a number that you know, as you did with
#   -56/3.
# - The reverse holds no better: finite inputs prove little. A wrong unit is finite, and a program
#   can make NaN out of good numbers on its way; `finite_gradient`, one of the further exercises,
#   is about that.
#
# With this page the core is done. Next: `predict_trajectory`, where a whole run is known before it
# starts.

# %% check_nan_input
from grader import check

check("nan_input")
