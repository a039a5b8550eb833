# %% [markdown]
# # How large may the rate be when every feature is one?
#
# A bias is a weight whose feature is one for every example. The plainest training problem there
# is, finding one number that is close to all targets, is therefore the lesson's model with
# features `[1, 1, ..., 1]`. On this page you find the largest rate at which gradient descent on
# it settles, first for those features and then for any others, and you find it before you run
# anything.
#
# You need `lesson.run` and three calls of JAX:
#
# | call | gives |
# |---|---|
# | `jnp.mean(a)` | the mean of an array, a scalar |
# | `jnp.ones(n)` | an array of `n` ones |
# | `jnp.full(n, 2.0)` | an array of `n` twos |
#
# Letters mean what they mean in [the lesson](lesson.ipynb), which derives loss and gradient:
# weight $w$, true weight $t$, rate $r$.

# %%
import jax
import jax.numpy as jnp
import lesson
import numpy as np

# %% [markdown]
# ## What goes wrong in practice
#
# Someone carries a rate over from another data set. The code is unchanged, the gradient is
# correct, and the loss grows. The usual reactions are to doubt the gradient or to try rates until
# one works; neither says *why* this rate was too large here.
#
# A second trap is to watch how large the gradient is. Far from the optimum a large gradient is
# harmless if the step that follows is well chosen. What limits the rate is how fast the gradient
# *changes* as the weight moves, and that is a property of the data, known before the first step.

# %% [markdown]
# ## The idea
#
# Call the curvature $c$: by how much the gradient grows when the weight grows by one. In our
# model it is the same everywhere, so the gradient is a straight line through zero at $w = t$:
#
# $$\text{gradient} = c\,(w - t)$$
#
# One step takes $w$ to $w - r\,c\,(w - t)$. Subtract $t$ on both sides and watch the error
# $e = w - t$:
#
# $$e_{\text{next}} = e - r\,c\,e = (1 - r\,c)\,e$$
#
# So each step multiplies the error by one fixed number, $m = 1 - r\,c$. The loss is proportional
# to $e^2$. The run settles when $|m| < 1$; at $m = -1$ the error changes its sign for ever and
# never its size; beyond that it grows at every step.

# %% [markdown]
# ## Predict first: TODO 1
#
# For features `[1, 1, 1]`, the rates that settle form an open interval that starts at 0. Where
# does it end? Work it out on paper and replace `None` below by your number *before* you run
# anything. Then ask yourself: would four ones give another number than three? Would other targets?

# %% PREDICTED_CEILING
# The largest stable rate for features [1, 1, 1]: the end of the open interval.
PREDICTED_CEILING = None  # TODO 1


# %% [markdown]
# ## One case by hand
#
# Take features `[1, 3]` and targets `[2, 6]`, so $t = 2$. The mean of the squared features is
# $(1 + 9)/2 = 5$. The loss is $5\,(w - 2)^2$ and its gradient $10\,(w - 2)$: the curvature is 10.
#
# At rate 0.25 the multiplier is $m = 1 - 0.25 \cdot 10 = -1.5$. From weight 0:
#
# | step | weight | error | gradient | loss | loss over the one before |
# |---|---|---|---|---|---|
# | 0 | 0 | -2 | -20 | 20 | |
# | 1 | 5 | 3 | 30 | 45 | 2.25 |
# | 2 | -2.5 | -4.5 | -45 | 101.25 | 2.25 |
#
# Every step the error changes sign and grows by half, and the loss grows by
# $2.25 = (-1.5)^2$. For the run to settle, $1 - 10\,r$ has to stay above $-1$: the rate has to
# stay below 0.2.

# %% [markdown]
# ## Now in code
#
# ### TODO 2: the curvature of any data
#
# Start from `lesson.analytic_gradient` and ask how it changes when the weight does. The targets
# are no argument here: find out why they drop out.

# %% curvature
def curvature(features: jax.Array) -> jax.Array:
    """Return the second derivative of the loss with respect to the weight.

    features: shape (n,), n >= 1. Returns a scalar.
    """
    # TODO 2
    raise NotImplementedError


# %% [markdown]
# ### TODO 3: the end of the stable interval
#
# Solve $|m| < 1$ for the rate. One case needs thought: when every feature is zero, the prediction
# doesn't depend on the weight, and no rate can do harm.

# %% rate_ceiling
def rate_ceiling(features: jax.Array) -> jax.Array:
    """Return the end of the open interval of stable rates.

    features: shape (n,), n >= 1. Returns a scalar; infinity when every feature is zero.
    """
    # TODO 3: use your curvature
    raise NotImplementedError


# %% [markdown]
# ### TODO 4: how fast the loss grows or falls
#
# The last column of the table above, without running anything.

# %% growth_factor
def growth_factor(rate: float, features: jax.Array) -> jax.Array:
    """Return the loss after a step over the loss before it.

    features: shape (n,), n >= 1, not all zero. Returns a scalar.
    """
    # TODO 4
    raise NotImplementedError


# %% [markdown]
# ### TODO 5: a run on either side of the bound
#
# Two runs on `n` ones with targets 2, both from weight 0: of the stable one only the final weight
# is wanted, of the unstable one the whole history.

# %% compare_rates
def compare_rates(
    stable_rate: float, unstable_rate: float, steps: int, n: int
) -> tuple[float, np.ndarray]:
    """Return (final_weight, divergent_history) for features ones(n), targets 2, from weight 0.

    final_weight: the weight after `steps` steps at the stable rate, a scalar.
    divergent_history: shape (steps, 3), as lesson.run records it at the unstable rate.
    """
    # TODO 5
    raise NotImplementedError


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Curvature.** The gradient is a mean of terms, one for each example. Write one term out with
#   its brackets multiplied. Which part still holds the weight, and what stands in front of it?
# - **Ceiling.** $|m| < 1$ is two inequalities. One of them holds for every positive rate; the
#   other one is the bound. In Python `1 / 0.0` is an error, but dividing by a zero that is a JAX
#   array gives infinity.
# - **Growth.** The loss is proportional to the square of the error. The sign of $m$ disappears,
#   its size does not.
# - **Two runs.** `lesson.run` returns two things each time. Take the one that is asked for.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python ones_bound.py`. In a
# terminal `grader check ones_bound.py` does the same. What you see there are public checks, worked
# examples and properties that every right answer has; grading also asks for other data.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. Say beforehand what each
# line will print.
#
# ```python
# final_weight, history = compare_rates(0.5, 1.1, 6, 3)
# print(final_weight, history[:, 0])
# print(history[1:, 1] / history[:-1, 1], growth_factor(1.1, jnp.ones(3)))
# print(jax.grad(jax.grad(lesson.loss))(0.0), curvature(lesson.FEATURES))
# ```
#
# - How many steps did the stable run need, and which value of $m$ explains that?
# - On which side of 2 are the weights of the unstable run? The loss alone doesn't show it.
# - The last line lets JAX differentiate twice: a second way to the same number, and so a check
#   on your formula that doesn't use it.
# - Change 3 to 300. Which of the numbers change?

# %% [markdown]
# ## Carry forward
#
# - Whether a rate is too large is a question about the data and the objective, and here it can be
#   answered before the first step. Compute, then run.
# - Loss ratios that stay the same from step to step are the mark of a multiplier: their root is
#   the size of $m$, measured.
# - The bound is exact for this objective with its one weight and constant curvature. In other
#   models curvature depends on where you are and on the direction you move in, and the bound is at
#   best a local guide.
#
# Next: `rescale_objective`, where the objective is multiplied and the rate has to follow.

# %% check_ones_bound
from grader import check

check("ones_bound")
