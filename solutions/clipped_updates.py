# %% [markdown]
# # Clipping: a bounded symptom, not a diagnosis
#
# A step is too long, so somebody limits it. Clipping the gradient is one line of code, it never
# makes a number overflow, and it often makes a run look healthy. On this page you work out what
# clipping does promise, make a run with it, and measure how often it was needed. That last number
# is what tells a safety belt from a run that is driven by its clip.
#
# You need `lesson.run`, which takes a `clip` and an `initial_weight`, and three calls:
#
# | call | gives |
# |---|---|
# | `jnp.clip(a, low, high)` | `a`, brought into the interval from `low` to `high` |
# | `jnp.mean(a > b)` | the share of entries for which the comparison holds |
# | `jnp.column_stack([a, b])` | arrays side by side, as columns of one array |
#
# Letters mean what they mean in [the lesson](lesson.ipynb): weight $w$, true weight $t$, rate $r$.
# New is $c$, the clip.

# %%
import jax
import jax.numpy as jnp
import lesson

# %% [markdown]
# ## What goes wrong in practice
#
# A run diverges, a clip is added, the loss stays finite, and the matter is closed. Weeks later
# somebody notices that the model got no better after the first hour: its rate is above the ceiling,
# and every step is as long as the clip allows, once this way, once that way. Nothing overflows, and
# nothing is learnt.
#
# It stays unnoticed because of what is logged. Many loops record the gradient's size only *after*
# clipping. That curve is flat and calm by construction. The gradient before clipping still shows
# the trouble, if somebody kept it.

# %% [markdown]
# ## The idea
#
# Before the update the gradient $g$ is brought into the interval $[-c, c]$:
#
# $$w_{\text{next}} = w - r\,g_c, \qquad g_c = \min(\max(g, -c),\, c)$$
#
# A gradient inside the interval passes as it is, one outside keeps its sign and gets the size $c$.
# Two things follow.
#
# **What is promised.** The weight can't jump: however large the gradient was, a step has a greatest
# length, which depends on two numbers that you chose. TODO 2 asks for it.
#
# **What isn't.** Near the best weight gradients are small, the clip does nothing, and a step is a
# plain one. There the error is multiplied by $m = 1 - r\,\text{curvature}$, as in
# [the first exercise](ones_bound.ipynb). With $|m| > 1$ a run is driven away from the best weight,
# and the clip only catches it farther out. So it circles: it neither settles nor leaves.
#
# The clip has hidden that the rate is too large. To see it, keep both gradients in the record, the
# one that the loss has and the one that the update used, and count how often they differ.

# %% [markdown]
# ## Predict first
#
# Take the lesson's data, whose gradient is $\tfrac{28}{3}\,(w - 2)$, with rate 0.3 and clip 1, from
# weight 0. Write down on paper, *before* you run anything:
#
# - the first four weights,
# - whether the run settles, and if not, what it does after step 8 or so,
# - which of these would change with a clip of 0.1.

# %% [markdown]
# ## One case by hand
#
# One example, feature 2 and target 4. The loss is $4\,(w - 2)^2$, its gradient $8\,(w - 2)$, and
# rates below 0.25 are stable. Take rate 0.5, twice that much, with clip 3, from weight $-0.75$:
#
# | step | weight | loss | size of gradient | clipped |
# |---|---|---|---|---|
# | 0 | -0.75 | 30.25 | 22 | 3 |
# | 1 | 0.75 | 6.25 | 10 | 3 |
# | 2 | 2.25 | 0.25 | 2 | 2 |
# | 3 | 1.25 | 2.25 | 6 | 3 |
# | 4 | 2.75 | 2.25 | 6 | 3 |
# | 5 | 1.25 | 2.25 | 6 | 3 |
#
# Three steps of this look like a success: the loss falls from 30 to a quarter. But at step 2 the
# gradient passes as it is, the plain step from there multiplies the error by $-3$, and the run ends
# in a circle between 1.25 and 2.75. Five of six rows are limited, and they will be for ever.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: the limit
#
# On both sides: gradients have a sign.


# %% clip_gradient nbgrader={"solution": true}
def clip_gradient(gradient: float, clip: float) -> jax.Array:
    """Return the gradient, limited to [-clip, clip].

    clip > 0. Returns a scalar.
    """
    # TODO 1
    ### BEGIN SOLUTION
    return jnp.clip(gradient, -clip, clip)
    ### END SOLUTION


# %% [markdown]
# ### TODO 2: what is promised
#
# For any data and any weight: no gradient is given, because none is needed.


# %% move_bound nbgrader={"solution": true}
def move_bound(rate: float, clip: float) -> float:
    """Return the farthest that one clipped step can move the weight.

    rate > 0, clip > 0. Returns a scalar.
    """
    # TODO 2
    ### BEGIN SOLUTION
    return rate * clip
    ### END SOLUTION


# %% [markdown]
# ### TODO 3: a run that keeps both gradients
#
# `lesson.run` clips what the update uses, and records the true gradient. What its record lacks is
# the gradient that was used; that can be made from what it has. You may as well write the loop
# yourself.


# %% clipped_run nbgrader={"solution": true}
def clipped_run(
    rate: float,
    steps: int,
    clip: float,
    features: jax.Array,
    targets: jax.Array,
    initial_weight: float,
) -> tuple[float, jax.Array]:
    """Return (final_weight, history) of a run of clipped gradient descent.

    features, targets: shape (n,), n >= 1; steps >= 1; clip > 0.
    final_weight: the weight after `steps` updates, a scalar.
    history: shape (steps, 4), a row for each step, written before its update:
    weight, loss, abs(gradient), abs(clipped gradient).
    """
    # TODO 3
    ### BEGIN SOLUTION
    final_weight, history = lesson.run(rate, steps, features, targets, clip, initial_weight)
    return final_weight, jnp.column_stack([history, clip_gradient(history[:, 2], clip)])
    ### END SOLUTION


# %% [markdown]
# ### TODO 4: how often the clip was needed
#
# A share, between 0 and 1, of the rows in such a history.


# %% clipped_fraction nbgrader={"solution": true}
def clipped_fraction(history: jax.Array, clip: float) -> jax.Array:
    """Return the share of rows whose original gradient is larger in size than the clip.

    history: shape (steps, 4), as clipped_run returns it, recorded with this clip. Returns a scalar.
    """
    # TODO 4
    ### BEGIN SOLUTION
    return jnp.mean(history[:, 2] > clip)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Limit.** Test it on four numbers: small and large, each with both signs. A small one has to
#   come back unchanged.
# - **Promise.** Take the line of the update and put the largest thing into it that can stand there.
# - **Run.** The third column of `lesson.run` holds sizes, which are never negative. What does
#   clipping do to a size? If you write a loop, write the row first and update afterwards.
# - **Share.** Two of the four columns would do. A comparison of an array with a number gives an
#   array of truth values, and the mean of truth values is the share of true ones.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python clipped_updates.py`. In
# a terminal `grader check clipped_updates.py` does the same. What you see there are public checks,
# worked examples and properties that every right answer has; grading also asks for other data.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. Say beforehand what each line
# will print.
#
# ```python
# for rate, clip in ((0.3, 1.0), (0.3, 0.1), (0.1, 1.0)):
#     final_weight, history = clipped_run(rate, 30, clip, lesson.FEATURES, lesson.TARGETS, 0.0)
#     print(rate, clip, final_weight, clipped_fraction(history[20:], clip))
#     print("  longest step", abs(jnp.diff(history[:, 0])).max(), move_bound(rate, clip))
# ```
#
# - Which of the three runs settles? Set it beside what you wrote down.
# - Two runs are limited in each of their last ten rows. One of them circles, the other is still on
#   its way to the best weight. Which numbers in the history tell the two apart?
# - The second run is far from its goal after thirty steps. Would rate 0.1 with clip 0.3 have given
#   other weights?
# - Look at the last column of the first run alone. Could you tell from it that 0.3 is above the
#   ceiling?

# %% [markdown]
# ## Carry forward
#
# - A clip bounds what one step can do. It doesn't make a rate stable: near the optimum, where
#   gradients are small, it isn't there.
# - Record the gradient before the clip, and the share of steps that were limited. A few limited
#   steps at the start are a safety belt at work; a share that stays high is a finding.
# - With many weights it is mostly the norm of the whole gradient that is limited, which keeps its
#   direction; limiting each entry by itself, as here, does not. The promise about the length of a
#   step then holds for the norm.
#
# Next: `feature_scale`, where the data is rescaled, and the ceiling moves.

# %% check_clipped_updates nbgrader={"grade": true, "points": 10}
from grader import check

check("clipped_updates")
