# %% [markdown]
# # Record evidence, before and after the update
#
# A run that has gone wrong leaves one thing behind: what was written down while it ran. On this
# page you build the record that makes the difference between "it exploded at some point" and "the
# loss of step 41 overflowed, and the updates had been too large since step 30". Then you write
# three small instruments that read it.
#
# You need `lesson.loss` and these calls:
#
# | call | gives |
# |---|---|
# | `jax.value_and_grad(f)(w, ...)` | the value of `f` and its derivative at `w`, both at once |
# | `jnp.clip(a, low, high)` | `a`, brought into the interval from `low` to `high` |
# | `np.isfinite(a)` | for each entry whether it is neither NaN nor infinite |
#
# Letters mean what they mean in [the lesson](lesson.ipynb): weight $w$, rate $r$, and $m$ for what
# a step multiplies the error by.

# %%
import math

import jax
import jax.numpy as jnp
import lesson
import numpy as np

# %% [markdown]
# ## What goes wrong in practice
#
# A long run ends in NaN. The log has the loss of every hundredth step, printed after the update,
# and no other number. So nobody can tell which quantity broke first, whether its size had been
# growing for a while or leapt up at once, and at which weight it happened. The run is started
# again with a smaller rate "to see whether it helps".
#
# Other logs mislead. One holds the gradient as it was clipped, so that it looks calm to the very
# end. In another one a row mixes the loss before the update with the weight after it, and the two
# don't belong together. Some loops look at the numbers before they record them, and throw away the
# one row that would have shown the cause.

# %% [markdown]
# ## The idea
#
# A step is a chain. Each quantity is computed from the ones on its left:
#
# $$\text{weight} \;\to\; \text{loss} \;\to\; \text{gradient} \;\to\; \text{update} \;\to\;
# \text{next weight}$$
#
# NaN and infinity travel along it to the right, and with the next weight into all later steps. So
# the *earliest* of them, in time and then along the chain, is nearest to the cause. To find it, the
# row must hold all five, and the row that broke must be in the record.
#
# Overflow comes late. Long before, sizes tell. A step is too long or not **in proportion to the
# weight that it changes**, so the number to watch is
#
# $$\frac{|\text{update}|}{|\text{weight}|}.$$
#
# Far below one, a step refines the weight; around one or above it, every step replaces the weight
# by another. And since a run that diverges multiplies its error by the same $|m| > 1$ each time,
# its norms form a geometric sequence: a constant factor from step to step is the mark of a rate
# that is too large. A single leap, after many quiet steps, points to something else: a bad batch,
# or a weight that has come into a steep place.

# %% [markdown]
# ## Predict first
#
# Features `[1, 2, 3]`, targets `[2, 4, 6]`, rate 0.3, from weight 0. Write down *before* you run
# anything:
#
# 1. The update of the first step. Which two numbers of the row does it connect, and how?
# 2. By what factor do the sizes of gradient and update grow from row to row?
# 3. With a clip of 1: the first row's gradient, and its update?
# 4. One target is NaN. How many rows does the record have, and which of the row's five numbers are
#    not finite?

# %% [markdown]
# ## One case by hand
#
# One example, feature 2 and target 2, so the best weight is 1. The loss is $4\,(w - 1)^2$, its
# gradient $8\,(w - 1)$. At rate 0.3, $m = 1 - 0.3 \cdot 8 = -1.4$. From weight 0:
#
# | step | weight | loss | gradient | update | next weight | update over weight |
# |---|---|---|---|---|---|---|
# | 0 | 0 | 4 | -8 | 2.4 | 2.4 | infinite |
# | 1 | 2.4 | 7.84 | 11.2 | -3.36 | -0.96 | 1.4 |
# | 2 | -0.96 | 15.3664 | -15.68 | 4.704 | 3.744 | 4.9 |
#
# Each row can be checked on its own: weight plus update is the next weight, and that is the weight
# of the row below. The gradient has a sign, which here changes with every step: the weight jumps
# across 1 and back. Now clip at 10:
#
# | step | weight | loss | gradient | update | next weight |
# |---|---|---|---|---|---|
# | 0 | 0 | 4 | -8 | 2.4 | 2.4 |
# | 1 | 2.4 | 7.84 | 11.2 | -3 | -0.6 |
#
# The gradient that is recorded is the one that the objective has, 11.2. What the clip did to it
# shows in the update: $-0.3 \cdot 10$.

# %% [markdown]
# ## Now in code
#
# The names of a row's numbers, in the order in which a step computes them, and a function that
# gives two of them at once, compiled.


# %%
NAMES = ("weight", "loss", "gradient", "update", "next_weight")


@jax.jit
def loss_and_gradient(weight, features, targets):
    return jax.value_and_grad(lesson.loss)(weight, features, targets)


# %% [markdown]
# ### TODO 1: the run and its record
#
# Clip only what the update is made of. Record the row first; then look whether everything in it is
# finite, and stop if it isn't. Features or targets may hold NaN or infinities, so it can be the
# first row already.


# %% instrumented_run nbgrader={"solution": true}
def instrumented_run(
    rate: float,
    steps: int,
    features: jax.Array,
    targets: jax.Array,
    initial_weight: float,
    clip: float | None,
) -> dict[str, np.ndarray]:
    """Take up to `steps` steps of gradient descent, the gradient limited to [-clip, clip].

    features, targets: shape (n,), n >= 1; NaN and infinities are possible. clip: None for no limit.
    Returns a dict of arrays of one length, shape (k,), with a number for each step taken:
    weight, loss and gradient (with its sign, not clipped) before the update; update, the change
    that is applied; and next_weight.
    The first row with a number that is not finite is the last one, and is recorded.
    """
    # TODO 1
    ### BEGIN SOLUTION
    limit = math.inf if clip is None else clip
    weight, rows = jnp.asarray(initial_weight, dtype=float), []
    for _ in range(steps):
        loss, gradient = loss_and_gradient(weight, features, targets)
        update = -rate * jnp.clip(gradient, -limit, limit)
        row = [weight, loss, gradient, update, weight + update]
        rows.append([float(number) for number in row])
        if not np.all(np.isfinite(rows[-1])):
            break
        weight = weight + update
    return dict(zip(NAMES, np.array(rows).T, strict=True))
    ### END SOLUTION


# %% [markdown]
# ### TODO 2: how large is a step beside the weight?
#
# Two cases have no quotient. A weight of 0 that is moved is moved beyond all proportion. A weight
# of 0 that stays where it is hasn't been moved at all.


# %% update_ratio nbgrader={"solution": true}
def update_ratio(update: float, weight: float) -> float:
    """Return the size of the update over the size of the weight.

    Returns a scalar; infinity for an update that isn't 0 at a weight of 0, 0 when both are 0.
    """
    # TODO 2
    ### BEGIN SOLUTION
    if weight == 0:
        return math.inf if update != 0 else 0.0
    return abs(update) / abs(weight)
    ### END SOLUTION


# %% [markdown]
# ### TODO 3: where did the growth begin?
#
# Norms of gradients or updates, one a step. The first that is at least `factor` times the one
# before it is the place to look at.


# %% first_jump nbgrader={"solution": true}
def first_jump(norms: jax.Array, factor: float) -> int:
    """Return the first step k >= 1 whose norm is at least `factor` times that of step k - 1.

    norms: shape (n,), n >= 1, none of them negative; some may be 0. factor: more than 1.
    Returns a whole number, -1 when there is no such step.
    """
    # TODO 3
    ### BEGIN SOLUTION
    sizes = np.asarray(norms)
    for step in range(1, len(sizes)):
        if sizes[step] >= factor * sizes[step - 1]:
            return step
    return -1
    ### END SOLUTION


# %% [markdown]
# ### TODO 4: what broke first?
#
# The earliest step, and within it the earliest of `NAMES`. The record is a dict whose names come in
# any order; the order of a step's computation is the one that counts.


# %% first_nonfinite nbgrader={"solution": true}
def first_nonfinite(record: dict[str, jax.Array]) -> tuple[int, str] | None:
    """Return where the record first holds NaN or an infinity.

    record: the five arrays by name, each of shape (n,), n >= 1, in any order.
    Returns (step, name): the earliest such step, and the earliest name of NAMES within it;
    None when every number is finite.
    """
    # TODO 4
    ### BEGIN SOLUTION
    columns = [np.asarray(record[name]) for name in NAMES]
    for step, row in enumerate(zip(*columns, strict=True)):
        for name, number in zip(NAMES, row, strict=True):
            if not np.isfinite(number):
                return step, name
    return None
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **The run.** Five numbers belong to a step. Compute all of them from this step's weight, put
#   them into the record, and only then let the weight of the next step take its place. For a run
#   without a clip, infinity is a limit that limits nothing.
# - **When to stop.** "Record, look, leave" in that order. Exceptions aren't wanted here.
# - **The ratio.** Decide about a weight of 0 before you divide. Python raises an exception for a
#   division by 0, JAX and NumPy return infinity or NaN.
# - **The jump.** Written as a product the comparison is safe even where a norm is 0. How many pairs
#   of neighbours do three norms have?
# - **What broke.** Two loops, one over steps and one over names. Which of the two questions decides
#   first?
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python instrumented_run.py`. In
# a terminal `grader check instrumented_run.py` does the same. What you see there are public checks,
# worked examples and properties that every right answer has; grading also asks for other data.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. Say beforehand what each
# line will print.
#
# ```python
# x, y = lesson.FEATURES, lesson.TARGETS
# for rate, clip in ((0.1, None), (0.3, None), (0.3, 1.0)):
#     record = instrumented_run(rate, 100, x, y, 0.0, clip)
#     ratios = [update_ratio(u, w) for u, w in zip(record["update"], record["weight"])]
#     print(f"rate {rate}, clip {clip}: {len(record['loss'])} rows, {first_nonfinite(record)}")
#     print("  update/weight ", np.array(ratios)[1:7])
#     print("  jump by 1.5 at", first_jump(np.abs(record["update"][:6]), 1.5))
# print(instrumented_run(0.3, 100, x.at[1].set(jnp.nan), y, 0.0, None))
# ```
#
# - At rate 0.3 something overflows. Which quantity is it, and why not the weight, which is what
#   diverges? At which step could you have known?
# - The clipped run has 100 rows and nothing in it is ever infinite. Which of its columns tells that
#   it will never settle?
# - Replace `[:6]` by `[:20]`, and the healthy run jumps as well. Look at the sizes of its updates
#   there: what is left of them, and why is no alarm due?
# - Where is the cause of the last run, and does the record name it? It begins with the weight. What
#   would have to stand before the weight for the record to tell?

# %% [markdown]
# ## Carry forward
#
# - Record before you look, and look before you go on. The row that breaks is worth more than the
#   thousand before it.
# - A row is about one step: what it started from, what it computed, what it changed. Gradients are
#   recorded as they are, clipped or not is the update's business.
# - Earliest first: in time, then along the chain. Everything later may be a consequence.
# - The ratio of update to weight has no universal threshold. In large networks a thousandth is
#   often named as healthy, but that is a habit and not a theorem: it depends on the optimizer, on
#   the layer, and on how far the weight still has to go. What it shows reliably is a change.
# - With many weights each size becomes a norm, for each layer. Log the step's number and its rate
#   beside them.
#
# Next: `first_broken_boundary`, where the chain gets longer and the first break isn't always the
# cause.

# %% check_instrumented_run nbgrader={"grade": true, "points": 15}
from grader import check

check("instrumented_run")
