# %% [markdown]
# # Probabilities that stay usable
#
# A classifier gives one number for each class, a *logit*, and the softmax turns them into
# probabilities. On paper that is one line. In float32 the line breaks for logits of 89, which a
# model that trains too fast reaches in a few steps. On this page you write the four functions that
# a classifier needs so that they are right for logits up to 10000, gradients included, and you see
# that finite isn't the same as good: a loss can be perfectly finite while the model is sure of the
# wrong answer.
#
# You need these calls of JAX:
#
# | call | gives |
# |---|---|
# | `jnp.exp(a)`, `jnp.log(a)` | exponential and natural logarithm, entry by entry |
# | `jnp.max(a)`, `jnp.sum(a)` | the largest entry, the sum |
# | `a[i]` | one entry |
# | `a.at[i].set(v)` | a new array like `a`, with `v` at position `i` |
#
# `jax.nn` has functions for most of this, and you may use them afterwards for comparison. Write
# your own first: it takes four lines, and the idea in them is needed elsewhere, too.

# %%
import jax
import jax.numpy as jnp


# %% [markdown]
# ## What goes wrong in practice
#
# The largest float32 number is about $3.4 \cdot 10^{38}$. The exponential of 88 is smaller, that of
# 89 is larger and so becomes infinite. In the other direction, the exponential of -104 is 0.
#
# - All logits are fine and one is 100: infinity over infinity, the probability is NaN.
# - All logits are below -104: 0 over 0, NaN again. Nothing has grown; the logits only drifted.
# - The probabilities are right, but the one of the true class is below $10^{-45}$ and is stored as
#   0. Its logarithm is minus infinity. Someone adds $10^{-7}$ under the logarithm. Now the loss
#   stops at 16 and its gradient at 0: the worse the model, the less it learns.
#
# None of these answers is out of reach. The loss of the last case may be 120, which is an ordinary
# number. Only the way to it led through numbers that can't be written down.

# %% [markdown]
# ## The idea
#
# Take any number $m$ off all logits. A factor $e^{m}$ comes out of the sum of exponentials:
#
# $$\sum_i e^{z_i} = e^{m} \sum_i e^{z_i - m},
# \qquad \log \sum_i e^{z_i} = m + \log \sum_i e^{z_i - m}.$$
#
# The right side has the same value for every $m$, and its intermediate numbers depend on $m$. Let
# $m$ be the largest logit. Then every exponent is at most 0, so nothing overflows; and one of them
# *is* 0, so the sum is at least 1 and its logarithm is safe. What still vanishes is too small to
# count beside that 1.
#
# A probability is a quotient of two such expressions, and the factor $e^{m}$ cancels. The loss is
# minus its logarithm, and the logarithm of a quotient is a difference:
#
# $$-\log \frac{e^{z_k}}{\sum_i e^{z_i}} = \log \sum_i e^{z_i} - z_k .$$
#
# On the right there is no probability that could vanish. The gradient follows: the derivative of
# the first term by $z_j$ is the probability $p_j$ of class $j$, so the loss has gradient $p_j$, and
# $p_k - 1$ for the label. No entry of it is larger than 1, whatever the logits are.

# %% [markdown]
# ## Predict first
#
# Write the answers down here, or on paper, *before* you run anything:
#
# 1. `jnp.log(jnp.sum(jnp.exp(z)))` for `z = [1000, 999]`, and for `z = [-1000, -1001]`?
# 2. The true values of both?
# 3. Logits `[1000, 0]`. The loss when the label is 0, and when it is 1? And its gradients?
#
# My predictions: ...

# %% [markdown]
# ## One case by hand
#
# Logits `[1000, 999]`, so $m = 1000$:
#
# | class | logit | minus $m$ | exponential | probability |
# |---|---|---|---|---|
# | 0 | 1000 | 0 | 1 | 1/1.367879 = 0.731059 |
# | 1 | 999 | -1 | 0.367879 | 0.367879/1.367879 = 0.268941 |
# | sum | | | 1.367879 | 1 |
#
# The logarithm of 1.367879 is 0.313262. So the logsumexp is 1000.313262, and the loss is 0.313262
# for label 0 and 1.313262 for label 1. The gradient for label 1 is `[0.731059, -0.731059]`: push
# logit 0 down and logit 1 up.
#
# How exact is that in float32? Near 1000, neighbouring float32 numbers are $2^{-14} = 0.00006$
# apart. So 1000.313262 can be held to four places after the point, and a loss that is the
# difference of two such numbers is no better. That isn't a fault of the program: a logit of 1000
# may itself be a rounded number.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: the logarithm of a sum of exponentials

# %% logsumexp
def logsumexp(logits: jax.Array) -> jax.Array:
    """Return log(sum(exp(logits))).

    logits: finite, up to 10000 in magnitude, shape (n,), n >= 1. Returns a scalar.
    """
    # TODO 1
    raise NotImplementedError


# %% [markdown]
# ### TODO 2: the probabilities

# %% softmax
def softmax(logits: jax.Array) -> jax.Array:
    """Return the probability of each class.

    logits: as for logsumexp, shape (n,). Returns shape (n,): numbers that add up to 1.
    """
    # TODO 2
    raise NotImplementedError


# %% [markdown]
# ### TODO 3: the loss
#
# Minus the logarithm of the label's probability, also where that probability is too small for a
# float32 number.

# %% cross_entropy
def cross_entropy(logits: jax.Array, label: int) -> jax.Array:
    """Return minus the logarithm of the label's probability.

    logits: as for logsumexp, shape (n,). label: the true class, from 0 to n - 1. Returns a scalar.
    """
    # TODO 3
    raise NotImplementedError


# %% [markdown]
# ### TODO 4: finite, and still badly wrong
#
# A loss that is finite says that the arithmetic worked. Ask what the model believes: is it sure of
# a class, and is that class a wrong one?

# %% confidently_wrong
def confidently_wrong(logits: jax.Array, label: int) -> jax.Array:
    """Return whether a class other than the label has a probability above 0.99.

    logits, label: as for cross_entropy. Returns a truth value; with a single class, never true.
    """
    # TODO 4
    raise NotImplementedError


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Logsumexp.** Follow the formula with $m$ from left to right, and don't forget what stands in
#   front of the logarithm. A single logit is a good test: what must come out?
# - **Softmax.** The same exponents. Here nothing has to be put back.
# - **Loss.** If a probability appears in your code, it can vanish. The second formula of the page
#   has none.
# - **Confidently wrong.** The label's own probability must not take part. A probability that can't
#   win is one way to leave it out.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python stable_softmax.py`. In a
# terminal `grader check stable_softmax.py` does the same. What you see there are public checks,
# worked examples and properties that every right answer has; grading also asks for other logits and
# their gradients. The error that is allowed grows with the size of the logits, for the reason given
# under the worked case.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. Say beforehand what each
# line will print.
#
# ```python
# plain = lambda z: jnp.log(jnp.sum(jnp.exp(z)))
# for z in ([1.0, 0.0], [88.0, 0.0], [89.0, 0.0], [-1000.0, -1001.0]):
#     z = jnp.array(z)
#     print(z, plain(z), logsumexp(z), jax.grad(plain)(z), jax.grad(logsumexp)(z))
#
# late = lambda z, label: -jnp.log(softmax(z)[label])
# padded = lambda z, label: -jnp.log(softmax(z)[label] + 1e-7)
# for z in ([5.0, 0.0], [50.0, 0.0], [500.0, 0.0]):
#     z = jnp.array(z)
#     for loss in (late, padded, cross_entropy):
#         print(z, loss(z, 1), jax.grad(loss)(z, 1), confidently_wrong(z, 1))
# ```
#
# - For `[88, 0]` the plain value is right. Is its gradient? On the way back JAX needs 1 over the
#   sum, and float32 has no normal number that small.
# - Of the three losses, which one tells the model to change when the logits are `[500, 0]`?
# - The gradient of `cross_entropy` is nearly the same for `[50, 0]` and `[500, 0]`. What does the
#   loss tell that the gradient doesn't?
# - `jax.nn.logsumexp` and `jax.nn.log_softmax` do the same as you. Compare them on your own logits.

# %% [markdown]
# ## Carry forward
#
# - When a result is of ordinary size and the way to it isn't, change the way. Here it was a shift
#   that the result doesn't mind.
# - A loss is computed from logits, not from probabilities. Libraries have functions for that, often
#   with `logits` in their names; giving them probabilities is a mistake that nothing reports.
# - Finite isn't good. Keep an eye on what the model believes: how often it is sure and wrong, and
#   whether its logits grow without end.
# - The limits: this makes the arithmetic safe, and doesn't make logits of 1000 sensible. If they
#   grow like that, look for the cause, in the rate first.
#
# Next: `gradient_check`, where a gradient is held against differences of the function itself.

# %% check_stable_softmax
from grader import check

check("stable_softmax")
