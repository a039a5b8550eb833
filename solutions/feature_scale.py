# %% [markdown]
# # Preprocessing moves the bound
#
# Metres or millimetres: the line through the data is the same, and so is the best weight, if
# features and targets change their unit together. The largest stable rate is not. On this page you
# work out how far it moves, how to follow it with the rate, and how to bring data to a scale at
# which the ceiling is a number that you know by heart.
#
# You need `lesson.run` and two calls of JAX:
#
# | call | gives |
# |---|---|
# | `jnp.mean(a)` | the mean of an array, a scalar |
# | `jnp.sqrt(a)` | the square root |
#
# Letters mean what they mean in [the lesson](lesson.ipynb): weight $w$, true weight $t$, rate $r$,
# loss $L$. New is $s$, the number that features and targets are multiplied by, which the code calls
# `scale`.

# %%
import jax
import jax.numpy as jnp
import lesson
import numpy as np

# %% [markdown]
# ## What goes wrong in practice
#
# A training that was fine for months diverges after a change in the preprocessing: somebody dropped
# a division by 255, or the sensor now reports in another unit. The model is the same, the optimizer
# is the same, the gradient passes its check. So the data is looked through for bad values, and
# there are none.
#
# The opposite is harder to notice. Data that got smaller makes every step shorter. Nothing
# diverges, the loss falls, only a thousand times more slowly, and somebody concludes that the model
# can't do any better.

# %% [markdown]
# ## The idea
#
# Multiply features and targets of every example by $s$. A residual $w\,x - y$ becomes
# $w\,s x - s y$, and $s$ can be taken out. It is then squared and averaged:
#
# $$L_s(w) = \text{mean}\bigl((w\,s x - s y)^2\bigr) = \text{mean}\bigl(s^2\,(w\,x - y)^2\bigr)$$
#
# The rest is in [`rescale_objective`](rescale_objective.ipynb): the new loss is a multiple of the
# old one. Its lowest point is where it was. Its gradient and its curvature are the same multiple of
# the old ones, at every weight, and you know what that does to the ceiling, and which rate gives
# back the steps of the old run.
#
# Two cases need a thought. What does the sign of $s$ do? And what is left of the data when $s$ is
# 0: can any rate bring back the steps that were made before?
#
# **Standardizing** turns this round. Instead of following the scale with the rate, bring the data
# to a fixed scale: divide features and targets by the root mean square of the features,
# $\sqrt{\text{mean}(x^2)}$. Afterwards the mean of the squared features is 1, whatever the unit
# was.

# %% [markdown]
# ## Predict first
#
# The lesson's data, with features and targets multiplied by ten, from weight 0. Write down on
# paper, *before* you run anything:
#
# - the ceiling of the new data, when that of the old data is $\tfrac{3}{14}$,
# - what rate 0.1 does to it, and the weight after one step,
# - which rate gives the weights of the old run at 0.1, and how large the first loss of that run is.

# %% [markdown]
# ## One case by hand
#
# Features `[1, 7]` and targets `[2, 14]`, so $t = 2$. The mean of the squared features is
# $(1 + 49)/2 = 25$ and their root mean square is 5. The loss is $25\,(w - 2)^2$, its gradient
# $50\,(w - 2)$, and rates below 0.04 are stable. Divide both by 5, that is, take $s = 0.2$:
#
# | | features | targets | loss at 0 | gradient at 0 | ceiling |
# |---|---|---|---|---|---|
# | as they came | `[1, 7]` | `[2, 14]` | 100 | -100 | 0.04 |
# | standardized | `[0.2, 1.4]` | `[0.4, 2.8]` | 4 | -4 | 1 |
#
# One step at rate 0.03 on the data as they came goes from 0 to 3, across the best weight. So does
# one step at rate 0.75 on the standardized data. The first loss of the two runs differs, by the
# same factor as every later one.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: where the ceiling goes
#
# From the old ceiling and the scale alone: the data isn't needed. Refuse a scale of 0 with a
# `ValueError` whose message says what was wrong.


# %% scaled_ceiling nbgrader={"solution": true}
def scaled_ceiling(ceiling: float, scale: float) -> float:
    """Return the end of the stable rates when features and targets are multiplied by `scale`.

    ceiling: the end of the stable rates without that. scale: positive or negative.
    Returns a scalar. Raises ValueError for a scale of 0.
    """
    # TODO 1
    ### BEGIN SOLUTION
    if scale == 0:
        raise ValueError("a scale of 0 leaves nothing of the data")
    return ceiling / scale**2
    ### END SOLUTION


# %% [markdown]
# ### TODO 2: the rate that follows


# %% compensating_rate nbgrader={"solution": true}
def compensating_rate(rate: float, scale: float) -> float:
    """Return the rate that gives the weights of `rate` when features and targets are multiplied by
    `scale`.

    scale: positive or negative. Returns a scalar. Raises ValueError for a scale of 0.
    """
    # TODO 2
    ### BEGIN SOLUTION
    if scale == 0:
        raise ValueError("on data that is all zero no rate gives the old steps back")
    return rate / scale**2
    ### END SOLUTION


# %% [markdown]
# ### TODO 3: a scale that you choose
#
# Return the scale as well: whoever gets new data later has to divide it by this one, not by its
# own.


# %% standardize nbgrader={"solution": true}
def standardize(features: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return (features, targets, scale): both divided by the root mean square of the features.

    features, targets: shape (n,), n >= 1. Returns two arrays of shape (n,) and a scalar.
    Raises ValueError when the root mean square is 0.
    """
    # TODO 3
    ### BEGIN SOLUTION
    scale = jnp.sqrt(jnp.mean(features**2))
    if scale == 0:
        raise ValueError("all features are 0: there is no size to divide by")
    return features / scale, targets / scale, scale
    ### END SOLUTION


# %% [markdown]
# ### TODO 4: two runs, side by side
#
# One on the data, one on the multiplied data at the compensating rate, both from weight 0. Measure
# the ratio of the losses; don't fill in what you expect.


# %% scaled_comparison nbgrader={"solution": true}
def scaled_comparison(
    rate: float, scale: float, steps: int, features: jax.Array, targets: jax.Array
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (original_weights, compensated_weights, loss_ratio), each of shape (steps,).

    features, targets: shape (n,), n >= 1; steps >= 1; scale is not 0, and no loss of the original
    run is near 0.
    original_weights: before each update, from weight 0, on the data at `rate`.
    compensated_weights: the same on scale * features and scale * targets, at the compensating rate.
    loss_ratio: the losses of the second run over those of the first, row by row.
    """
    # TODO 4: use your compensating_rate
    ### BEGIN SOLUTION
    _, original = lesson.run(rate, steps, features, targets)
    following = compensating_rate(rate, scale)
    _, compensated = lesson.run(following, steps, scale * features, scale * targets)
    return original[:, 0], compensated[:, 0], compensated[:, 1] / original[:, 1]
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Ceiling.** Rate and curvature meet in a product, and the ceiling is the rate at which that
#   product reaches a fixed number. If one factor is multiplied, what happens to the other?
# - **Rate.** A step is the rate times the gradient. By what is the gradient multiplied, at one and
#   the same weight?
# - **Standardize.** Square, mean, root: the name read from its end. Test the result on itself:
#   standardized data has a root mean square of 1.
# - **Runs.** `lesson.run` returns a final weight and a history. Weights are its first column,
#   losses its second.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python feature_scale.py`. In a
# terminal `grader check feature_scale.py` does the same. What you see there are public checks,
# worked examples and properties that every right answer has; grading also asks for other data.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. Say beforehand what each line
# will print.
#
# ```python
# print(scaled_ceiling(3 / 14, 10.0), compensating_rate(0.1, 10.0))
# for part in scaled_comparison(0.1, 10.0, 6, lesson.FEATURES, lesson.TARGETS):
#     print(part)
# features, targets, scale = standardize(lesson.FEATURES, lesson.TARGETS)
# print(scale, jnp.mean(features**2), lesson.run(0.5, 2, features, targets))
# ```
#
# - Take 9.7 for 10 and ask for twelve steps. In some rows the ratio is off in the fifth digit, and
#   from one row on it is no number at all, while the weights agree to the end. What has happened to
#   the two losses there?
# - Rate 0.5 on standardized data: how many steps does the run need? Would it need more on other
#   data?
# - Standardize the features alone and leave the targets. Which of the numbers on this page still
#   hold, and what is the best weight now?
# - Multiply by $-1$. What changes in the picture of the data, and what in the run?

# %% [markdown]
# ## Carry forward
#
# - A unit is part of the problem that the optimizer gets. When the preprocessing changes, the rate
#   is no longer the one that was tested, even if no line of the training code was touched.
# - Data of a known scale has a known ceiling. That, and not tidiness, is why inputs are
#   standardized; and the scale belongs to the model, to be used again on every later input.
# - With one feature, dividing by its size settles the matter. With several, each direction has a
#   curvature of its own; scaling every feature by itself helps where they are little correlated,
#   and the largest curvature that is left sets the ceiling.
# - Taking the mean away first, as most libraries do, changes the model unless it has a bias. Here
#   it has none.
#
# Next: `instrumented_run`, a record that shows what happened before and after each update.

# %% check_feature_scale nbgrader={"grade": true, "points": 10}
from grader import check

check("feature_scale")
