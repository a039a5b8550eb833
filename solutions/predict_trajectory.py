# %% [markdown]
# # The whole run, before any of it
#
# A trajectory is the list of weights that a run goes through. For the lesson's model you can write
# it down without running anything: on this page you find each weight, each loss, and the shape that
# the curve will have, from the rate, the data and the first weight alone. A run that then differs
# from its prediction tells you something. Without a prediction, it only shows you a curve.
#
# You need three calls of JAX:
#
# | call | gives |
# |---|---|
# | `jnp.mean(a)` | the mean of an array, a scalar |
# | `jnp.arange(n)` | the array `[0, 1, ..., n-1]` |
# | `a ** jnp.arange(n)` | the powers of a number, from the power 0 to the power n-1 |
#
# Letters mean what they mean in [the lesson](lesson.ipynb): weight $w$, true weight $t$, rate $r$,
# loss $L$. On this page the targets are always $t$ times the features, so that $w = t$ fits them
# exactly.

# %%
import jax
import jax.numpy as jnp

# %% [markdown]
# ## What goes wrong in practice
#
# Someone starts a run, looks at the curve of the loss, and finds that it "looks about right". That
# sentence can't be wrong, and so it is worth nothing. A loop that updates before it records, a loss
# with a stray one-half, a sum for a mean: all of them give curves that look about right.
#
# Another mistake is to read too much out of a falling loss. It falls when the weight creeps towards
# its goal, and it falls when the weight leaps across the goal and back. The second run is close to
# trouble: a somewhat larger rate, or somewhat larger data, and each leap is longer than the last.

# %% [markdown]
# ## The idea
#
# Let $e = w - t$ be the error of a weight, with its sign. In [the first exercise](ones_bound.ipynb)
# you saw that a step multiplies it by a number that is the same at every step:
#
# $$e_{\text{next}} = m\,e$$
#
# where $m$ depends on the rate and on the curvature of the loss. This is a recurrence: each error
# follows from the one before. Apply it $k$ times, starting from $e_0 = w_0 - t$:
#
# $$e_k = m^k\,e_0$$
#
# That is the whole trajectory. Two translations are left. From an error to a weight is one step,
# since $e = w - t$. From an error to a loss is another: put $y = t\,x$ into the loss, and each
# residual $w\,x - y$ becomes $e\,x$. What doesn't depend on the example leaves the mean.
#
# The number $m$ also says what the curve will look like. A run settles when $|m| < 1$. If $m$ is
# positive, all errors have one sign: the weight comes from one side, and we call the run
# **monotone**. If $m$ is negative, the sign changes at every step: the run is **alternating**, or,
# with $m < -1$, **diverging**.

# %% [markdown]
# ## Predict first
#
# Take the lesson's data, features `[1, 2, 3]` and $t = 2$, from weight 0, at the rates 0.1, 0.2 and
# 0.3. For each rate write on paper, *before* you run anything:
#
# - the regime,
# - on which side of 2 the sixth recorded weight lies,
# - whether the sixth loss is larger or smaller than the first, and by about what factor.

# %% [markdown]
# ## One case by hand
#
# Features `[2, 1, 1]`, true weight $-1$, so that the targets are `[-2, -1, -1]`. The mean of the
# squared features is $(4 + 1 + 1)/3 = 2$; the loss is $2\,(w + 1)^2$, its gradient $4\,(w + 1)$. At
# rate 0.4 a step takes 1.6 times the error away, and leaves $-0.6$ times the error. From weight 3:
#
# | row | error | weight | loss |
# |---|---|---|---|
# | 0 | 4 | 3 | 32 |
# | 1 | -2.4 | -3.4 | 11.52 |
# | 2 | 1.44 | 0.44 | 4.1472 |
#
# The rows are those that a run would record, so row 0 is the state before the first update. Each
# loss is 0.36 times the one before. From the column of losses alone nobody could tell that the
# weight changes sides.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: the multiplier
#
# With its sign: it is the sign that tells the two sides apart.


# %% error_multiplier nbgrader={"solution": true}
def error_multiplier(rate: float, features: jax.Array) -> jax.Array:
    """Return what one step of gradient descent multiplies the error of the weight by.

    features: shape (n,), n >= 1. Returns a scalar.
    """
    # TODO 1
    ### BEGIN SOLUTION
    return 1 - rate * (2 * jnp.mean(features**2))
    ### END SOLUTION


# %% [markdown]
# ### TODO 2: every weight of a run
#
# No loop is needed, though a loop is right as well. What matters is the row that you begin with.


# %% predicted_weights nbgrader={"solution": true}
def predicted_weights(
    rate: float, steps: int, features: jax.Array, true_weight: float, initial_weight: float
) -> jax.Array:
    """Return the weights that a run on targets true_weight * features records, one before each
    update.

    features: shape (n,), n >= 1; steps >= 1. Returns shape (steps,).
    """
    # TODO 2: use your error_multiplier
    ### BEGIN SOLUTION
    powers = error_multiplier(rate, features) ** jnp.arange(steps)
    return true_weight + (initial_weight - true_weight) * powers
    ### END SOLUTION


# %% [markdown]
# ### TODO 3: every loss of a run


# %% predicted_losses nbgrader={"solution": true}
def predicted_losses(
    rate: float, steps: int, features: jax.Array, true_weight: float, initial_weight: float
) -> jax.Array:
    """Return the losses that a run on targets true_weight * features records, one before each
    update.

    features: shape (n,), n >= 1; steps >= 1. Returns shape (steps,).
    """
    # TODO 3: use your predicted_weights
    ### BEGIN SOLUTION
    errors = predicted_weights(rate, steps, features, true_weight, initial_weight) - true_weight
    return jnp.mean(features**2) * errors**2
    ### END SOLUTION


# %% [markdown]
# ### TODO 4: the shape of the curve
#
# Three names, three ranges of the multiplier. You won't be asked about a border, where rounding
# would decide.


# %% regime nbgrader={"solution": true}
def regime(rate: float, features: jax.Array) -> str:
    """Return "monotone", "alternating" or "diverging": how a run at this rate will go.

    features: shape (n,), n >= 1, not all zero. Returns a text.
    """
    # TODO 4
    ### BEGIN SOLUTION
    multiplier = error_multiplier(rate, features)
    if multiplier < -1:
        return "diverging"
    return "alternating" if multiplier < 0 else "monotone"
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Multiplier.** Write one step, subtract $t$ on both sides, and collect what stands before
#   $w - t$. As the rate goes to 0, the multiplier has to go to 1.
# - **Weights.** Make a list of the errors first. The first error has been multiplied no time at
#   all; any number to the power 0 is 1. Then ask what turns an error into a weight.
# - **Losses.** The first loss has to be `lesson.loss` at the first weight. If it isn't, look at
#   what you took out of the mean.
# - **Regime.** Ask about divergence first. Of the two names that are left, the sign decides.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python predict_trajectory.py`.
# In a terminal `grader check predict_trajectory.py` does the same. What you see there are public
# checks, worked examples and properties that every right answer has; grading also asks for other
# data.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. It sets your prediction
# beside a run.
#
# ```python
# import lesson
#
# for rate in (0.1, 0.2, 0.3):
#     final_weight, history = lesson.run(rate, 6)
#     print(rate, regime(rate, lesson.FEATURES))
#     print("  run      ", history[:, 0], history[:, 1])
#     print("  predicted", predicted_weights(rate, 6, lesson.FEATURES, 2.0, 0.0),
#           predicted_losses(rate, 6, lesson.FEATURES, 2.0, 0.0))
# ```
#
# - Compare with your notes. Which of the three was hardest to say beforehand?
# - At rate 0.1, how many digits of the last loss agree, and how many of the last weight? Near the
#   optimum the loss is a small difference of large numbers, and its digits are the first to go.
# - Find the rate at which the second weight is 2 and stays 2. Which multiplier is that?
# - Give the run targets that are *not* a multiple of the features. Which part of your prediction
#   survives, and with what in the place of $t$?

# %% [markdown]
# ## Carry forward
#
# - A prediction that is written down before the run turns "looks about right" into a comparison,
#   row by row. The first row that disagrees is where to look.
# - Size and sign of the multiplier are two facts. The loss shows the first; only the weights show
#   the second.
# - The recurrence is exact where the curvature is the same everywhere and the rate is the same at
#   every step. With more weights there is one multiplier for each direction; with other losses it
#   changes on the way, and a prediction holds for a few steps near where it was made.
#
# Next: `clipped_updates`, where a limit keeps the steps short and the cause stays.

# %% check_predict_trajectory nbgrader={"grade": true, "points": 10}
from grader import check

check("predict_trajectory")
