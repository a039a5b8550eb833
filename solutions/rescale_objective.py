# %% [markdown]
# # Multiply the objective, compensate the rate
#
# Five times the loss is, for most purposes, the same loss: it is lowest at the same weight, and it
# ranks any two weights the same way. For the optimizer it is another problem. On this page you find
# the rate that makes up for the factor, check that it does, and then meet three cases in which it
# doesn't.
#
# You need `lesson.analytic_gradient`, or `jax.grad(lesson.loss)`, and two calls of JAX:
#
# | call | gives |
# |---|---|
# | `jnp.clip(a, low, high)` | `a`, brought into the interval from `low` to `high` |
# | `jnp.abs(a)` | the magnitude of `a` |
#
# Letters mean what they mean in [the lesson](lesson.ipynb): weight $w$, rate $r$, loss $L$. New is
# $k$, the factor on the loss, which the code calls `scale`.

# %%
import jax
import jax.numpy as jnp
import lesson

# %% [markdown]
# ## What goes wrong in practice
#
# Hardly anyone multiplies a loss on purpose. It happens when a mean becomes a sum, when a one-half
# is put in front of a square, when gradients of several batches are added up, when one of two terms
# is given more weight, or when a loss is scaled up so that small gradients survive in 16 bits.
# Nothing is wrong with the new gradient, and yet the run diverges, or crawls.
#
# Whoever finds the factor changes the rate to match. With plain descent that is exactly right. The
# trap is to take it for a rule: the same recipe, carried over to Adam or to a loop that clips,
# silently changes a training that was fine.

# %% [markdown]
# ## The idea
#
# A derivative passes a constant factor on:
#
# $$\frac{d}{dw}\,\bigl(k\,L(w)\bigr) = k\,\frac{dL}{dw}(w)$$
#
# Plain descent on $k\,L$ at some rate $r'$ goes from $w$ to $w - r'\,k\,\frac{dL}{dw}$. Factor and
# rate meet in a product, and nothing else in the step depends on either of them. So there is one
# $r'$ for which the step is the one that $L$ takes at the rate $r$, for any data and any weight.
#
# Two common changes to the step break this up.
#
# **Clipping** brings the gradient into $[-c, c]$ before the rate is applied. What is compared with
# $c$ is the gradient that the optimizer gets, that of $k\,L$; and $c$ is a number that somebody
# chose once.
#
# **Adam** keeps two running averages, of the gradient $g$ and of its square. Both start at 0, and
# both are divided by the share of true gradients that they hold so far. After the first gradient:
#
# $$m = (1 - \beta_1)\,g, \qquad v = (1 - \beta_2)\,g^2, \qquad
# w_{\text{new}} = w - r\,\frac{m/(1 - \beta_1)}{\sqrt{v/(1 - \beta_2)} + \varepsilon}$$
#
# with $\beta_1 = 0.9$, $\beta_2 = 0.999$ and a small $\varepsilon$ that keeps the division safe.
# Simplify this before you program it.

# %% [markdown]
# ## Predict first
#
# Take features `[1, 3]` and targets `[2, 6]`, weight 1 and rate 0.05. Copy the table to paper and
# fill it in with the weight after one step, *before* you run anything. The last column's rate is
# the one that gives the plain step back.
#
# | | $k = 1$, rate 0.05 | $k = 4$, rate 0.05 | $k = 4$, compensating rate |
# |---|---|---|---|
# | plain descent | | | |
# | gradient clipped at 1 | | | |
# | Adam's first step | | | |

# %% [markdown]
# ## One case by hand
#
# The lesson's data, features `[1, 2, 3]` and targets `[2, 4, 6]`, at weight 0.25. There the
# gradient is $\tfrac{28}{3}\,(0.25 - 2) = -16.333\ldots$ Multiply the objective by 5 and it becomes
# $-81.666\ldots$
#
# | objective | rate | rate times gradient | new weight |
# |---|---|---|---|
# | $L$ | 0.1 | $-1.6333\ldots$ | 1.8833333 |
# | $5\,L$ | 0.1 | $-8.1666\ldots$ | 8.416667 |
# | $5\,L$ | 0.02 | $-1.6333\ldots$ | 1.8833333 |
#
# The second step leaps across the best weight, 2, and lands more than six beyond it, where it was
# less than two short. That is what the lesson's rate of 0.3 did, only worse: the curvature is five
# times as large, and the largest stable rate a fifth of what it was. At 0.02 the objective is five
# times as steep and nobody can tell from the weights.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: the gradient of the multiplied objective


# %% scaled_gradient nbgrader={"solution": true}
def scaled_gradient(
    scale: float, weight: float, features: jax.Array, targets: jax.Array
) -> jax.Array:
    """Return the derivative of scale * lesson.loss with respect to the weight.

    features, targets: shape (n,), n >= 1. Returns a scalar.
    """
    # TODO 1
    ### BEGIN SOLUTION
    return scale * lesson.analytic_gradient(weight, features, targets)
    ### END SOLUTION


# %% [markdown]
# ### TODO 2: the rate that gives the old step back


# %% compensating_rate nbgrader={"solution": true}
def compensating_rate(rate: float, scale: float) -> float:
    """Return the rate at which plain descent on scale * loss takes the step that it takes on the
    loss alone at `rate`.

    scale > 0. Returns a scalar.
    """
    # TODO 2
    ### BEGIN SOLUTION
    return rate / scale
    ### END SOLUTION


# %% [markdown]
# ### TODO 3: one plain step
#
# At the rate as it is given: `update` itself compensates for nothing, or you couldn't see what
# happens when nobody does.


# %% update nbgrader={"solution": true}
def update(
    rate: float, scale: float, weight: float, features: jax.Array, targets: jax.Array
) -> jax.Array:
    """Return the weight after one step of gradient descent on scale * loss at this rate.

    features, targets: shape (n,), n >= 1. Returns a scalar.
    """
    # TODO 3: use your scaled_gradient
    ### BEGIN SOLUTION
    return weight - rate * scaled_gradient(scale, weight, features, targets)
    ### END SOLUTION


# %% [markdown]
# ### TODO 4: one step with the gradient clipped
#
# It is the multiplied objective's gradient that is clipped, on both sides.


# %% clipped_update nbgrader={"solution": true}
def clipped_update(
    rate: float,
    scale: float,
    clip: float,
    weight: float,
    features: jax.Array,
    targets: jax.Array,
) -> jax.Array:
    """Return the weight after one such step, the gradient limited to [-clip, clip].

    clip > 0; features, targets: shape (n,), n >= 1. Returns a scalar.
    """
    # TODO 4
    ### BEGIN SOLUTION
    gradient = scaled_gradient(scale, weight, features, targets)
    return weight - rate * jnp.clip(gradient, -clip, clip)
    ### END SOLUTION


# %% [markdown]
# ### TODO 5: Adam's first step
#
# From averages that are zero, with the bias corrected, as in the formula above. `eps` is an
# argument: it may be as large as the gradient, and then it matters.


# %% adam_first_update nbgrader={"solution": true}
def adam_first_update(
    rate: float,
    scale: float,
    weight: float,
    features: jax.Array,
    targets: jax.Array,
    eps: float = 1e-8,
) -> jax.Array:
    """Return the weight after Adam's first step on scale * loss, bias-corrected.

    eps > 0; features, targets: shape (n,), n >= 1; the gradient is not zero. Returns a scalar.
    """
    # TODO 5
    ### BEGIN SOLUTION
    gradient = scaled_gradient(scale, weight, features, targets)
    return weight - rate * gradient / (jnp.abs(gradient) + eps)
    ### END SOLUTION


# %% [markdown]
# ### TODO 6: say why
#
# A person reads this one. A colleague has compensated the rate, and wonders why that was right for
# plain descent and is wrong now. Give a reason, in a sentence or two and with a number from your
# table where you have one, for each of these:
#
# - Adam,
# - clipping,
# - a loss with a regularizer, $L(w) + \lambda\,w^2$, of which only $L$ was multiplied.
#
# Replace `None` by a text. Between triple quotes it may have as many lines as you like.

# %% EXPLANATION nbgrader={"solution": true, "grade": true, "points": 2}
EXPLANATION = None  # TODO 6
### BEGIN SOLUTION
EXPLANATION = (
    "In plain descent, factor and rate appear only as their product, so one can undo the other. "
    "Adam divides the gradient by its own size. The factor is in both and cancels, as long as the "
    "gradient is much larger than eps, and the first step is as long as the rate whatever the "
    "objective is multiplied by. There is nothing to compensate: a smaller rate just makes a "
    "smaller step, 1.0125 instead of 1.05 in the table. "
    "A clip is a fixed number, and the multiplied gradient is compared with it. Beyond the clip "
    "the step is rate times clip and knows nothing of the factor, so a compensated rate makes it "
    "too short, again 1.0125 instead of 1.05; and gradients that used to pass are now clipped. "
    "The clip would have to be multiplied together with the objective. "
    "With a regularizer only one of two terms was multiplied, so the gradient isn't a multiple of "
    "the old one and no rate gives the old step back. Even the best weight has moved, away from "
    "the regularizer's; the strength of the regularizer would have to be multiplied, too."
)
### END SOLUTION

# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Gradient.** The factor comes out of the derivative, so the lesson's gradient does most of the
#   work. `jax.grad` of a small function of the weight does as well.
# - **Rate.** Set the two steps equal, one with $r$ and one with $r'$ and $k$, and strike out what
#   stands on both sides.
# - **Clip.** Three things happen to a gradient here: it is multiplied, it is clipped, it meets the
#   rate. Two of them in another order give another step.
# - **Adam.** Put $m$ and $v$ into the quotient. Each divisor removes the factor that is in front of
#   $g$ or $g^2$. The root of a square is a magnitude, so the sign has to come from above the bar.
# - **Explanation.** Ask of each method what happens to its step when $g$ is replaced by $5\,g$.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python rescale_objective.py`.
# In a terminal `grader check rescale_objective.py` does the same. What you see there are public
# checks, worked examples and properties that every right answer has; grading also asks for other
# data. Your explanation isn't checked by machine: "read by a person" is as good as it gets.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. It prints your table.
#
# ```python
# features, targets = jnp.array([1.0, 3.0]), jnp.array([2.0, 6.0])
# columns = [(0.05, 1.0), (0.05, 4.0), (compensating_rate(0.05, 4.0), 4.0)]
# print("plain  ", *(update(r, k, 1.0, features, targets) for r, k in columns))
# print("clipped", *(clipped_update(r, k, 1.0, 1.0, features, targets) for r, k in columns))
# print("Adam   ", *(adam_first_update(r, k, 1.0, features, targets) for r, k in columns))
# ```
#
# - In which rows does the last column repeat the first?
# - Which number would you have to multiply for the second row to repeat as well?
# - Give Adam an `eps` of 40, the size of the multiplied gradient. How long is the step for $k = 1$
#   now, and for $k = 4$? What would you have to do to `eps` for the two to agree again?
# - Start at weight 1.99 instead of 1 and look at the clipped row again.

# %% [markdown]
# ## Carry forward
#
# - When a loss is rewritten, ask first whether its gradient is now a multiple of the old one. If
#   so, and the optimizer is plain descent, rate and factor can be traded exactly.
# - Everything else that is compared with a gradient, or added to it, has a scale of its own: clips,
#   Adam's $\varepsilon$, regularizers, thresholds for an alarm. They don't follow by themselves.
# - Adam shrugs off a factor that is on the whole loss and stays the same from step to step. It
#   does notice a factor on one term of the loss, and one that changes on the way.
#
# Next: `nan_input`, where the gradient isn't too large but no number at all.

# %% check_rescale_objective nbgrader={"grade": true, "points": 10}
from grader import check

check("rescale_objective")
