# %% [markdown]
# # A finite loss with a NaN gradient
#
# The loss is printed at every step, and it is an ordinary number. After the next update every
# weight is NaN. Nothing was wrong with the data, the rate was small, and the value of the loss was
# right. On this page you write three functions whose values *and* gradients are right everywhere,
# corners included, and you learn to see where a gradient breaks although the value doesn't.
#
# You need these calls of JAX:
#
# | call | gives |
# |---|---|
# | `jnp.sqrt(x)` | the root; NaN below 0 |
# | `jnp.where(c, a, b)` | `a` where `c` is true, `b` elsewhere |
# | `jnp.sum(a)` | the sum; of an array of truth values, how many are true |
# | `jnp.maximum(a, b)` | the larger of the two |
# | `jax.grad(f)` | a function: the gradient of `f` with respect to its first argument |
#
# Your functions are differentiated with `jax.grad`. So they have to be made of JAX's operations,
# not of those of `math` or NumPy.

# %%
import jax
import jax.numpy as jnp


# %% [markdown]
# ## What goes wrong in practice
#
# A model measures a distance, and two points coincide. A batch is padded with rows that don't
# count, and a padded row holds NaN. A standard deviation is taken of a feature that doesn't vary.
# Each of these is met with a guard such as
#
# ```python
# jnp.where(x > 0, jnp.sqrt(x), 0.0)
# ```
#
# and the guard seems to work: the values are right. The gradient is NaN all the same. Someone adds
# `nan_to_num` to the gradient, and one bad example now silences the good ones. Someone adds a small
# number under the root, and the gradient is finite and enormous.

# %% [markdown]
# ## The idea
#
# Reverse-mode differentiation walks through the program backwards. Each operation receives a number
# from behind (call it $g$, how much the result changes per change of its output) and hands on
# $g$ times its own slope. For the root,
#
# $$\frac{d}{dx}\sqrt{x} = \frac{1}{2\sqrt{x}},$$
#
# which is infinite at $x = 0$ and NaN below. A choice, `where(c, a, b)`, doesn't multiply: it hands
# $g$ on to the branch that was chosen and a plain 0 to the other one, whatever $g$ is.
#
# Now put the choice *after* the root, as above, and let $x$ be 0. The root is the branch that was
# not chosen, so it receives $g = 0$. But it was computed, and it is walked back through all the
# same: $0 \cdot \infty$ is NaN, and that is what $x$ receives. Below 0 it is $0 \cdot \text{NaN}$.
#
# Put the choice *before* the root, so that the root sees a stand-in. Whatever comes back from the
# root now arrives at the choice first, and the choice sends $x$ a plain 0.
#
# So a choice afterwards protects the value and not the gradient. What protects the gradient is a
# choice that stands between the bad number and the operation that can't bear it.

# %% [markdown]
# ## Predict first
#
# Take `f(x) = jnp.where(x > 0, jnp.sqrt(x), 0.0)`. Write the answers down here, or on paper,
# *before* you run anything:
#
# 1. The values `f(4.0)`, `f(0.0)` and `f(-1.0)`?
# 2. The gradients `jax.grad(f)` at the same three numbers?
# 3. The same for `g(x) = jnp.sqrt(jnp.maximum(x, 0.0))`. Where do the two differ?
#
# My predictions: ...

# %% [markdown]
# ## One case by hand
#
# Residuals `[3, NaN]`, of which only the first one counts; the mask is `[True, False]`. Somebody
# squares and then chooses, `jnp.sum(jnp.where(mask, residuals**2, 0.0))`. Forwards:
#
# | entry | residual $r$ | its square | after the choice |
# |---|---|---|---|
# | 0 | 3 | 9 | 9 |
# | 1 | NaN | NaN | 0 |
#
# The sum is 9, which is right. Backwards, from the last column to the first:
#
# | entry | into the choice | out of the choice | slope of the square, $2r$ | gradient |
# |---|---|---|---|---|
# | 0 | 1 | 1 | 6 | 6 |
# | 1 | 1 | 0 | NaN | $0 \cdot \text{NaN} = \text{NaN}$ |
#
# The choice did its work in both directions: it kept NaN out of the sum, and it sent back a 0. The
# harm is done one operation earlier, by the square, which still holds the NaN that it was given. An
# infinite residual does the same, as $0 \cdot \infty$.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: a root without an edge
#
# For positive numbers it is the root, for all others it is 0, with gradient 0 there. The number 0
# belongs to the others.

# %% safe_sqrt
def safe_sqrt(x: float | jax.Array) -> jax.Array:
    """Return sqrt(x) for x > 0, else 0.

    x: a finite scalar. Returns a scalar. The gradient is that of the root for x > 0, else 0.
    """
    # TODO 1
    raise NotImplementedError


# %% [markdown]
# ### TODO 2: the length of a vector
#
# The Euclidean norm. Entries that are zero beside others are harmless; think about which number
# can be bad here. `jnp.linalg.norm` is no way out: ask for its gradient at `jnp.zeros(2)`.

# %% safe_norm
def safe_norm(v: jax.Array) -> jax.Array:
    """Return the Euclidean norm of v.

    v: finite, shape (n,), n >= 1. Returns a scalar. The gradient at the zero vector is 0.
    """
    # TODO 2
    raise NotImplementedError


# %% [markdown]
# ### TODO 3: a mean over what counts
#
# The mean of the squares of the entries that the mask keeps. What is masked out may be anything,
# NaN and infinities included, and must reach neither the value nor the gradient. When nothing is
# kept, the value is 0, and so is the gradient.

# %% masked_mean_square
def masked_mean_square(residuals: jax.Array, mask: jax.Array) -> jax.Array:
    """Return the mean of residuals**2 over the entries where the mask is true.

    residuals: shape (n,), finite where the mask is true, anything elsewhere. mask: truth values,
    shape (n,). Returns a scalar, 0 where the mask keeps nothing. The gradient with respect to the
    residuals is 0 for what is masked out.
    """
    # TODO 3
    raise NotImplementedError


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Root.** Two choices are needed. One decides what the root is shown, the other what is
#   returned. Both ask the same question. Show the root a number where it and its slope are finite:
#   then nothing that isn't finite is ever computed, and tools that stop at NaN keep quiet.
# - **Norm.** The only root is the one of the sum of the squares.
# - **Masked mean.** Which operation in the table above met the NaN? Let it meet something else.
#   Then look at the division, and ask what happens to it when the mask keeps nothing.
# - A gradient can be tested like a value: `jax.grad(safe_sqrt)(0.0)`. JAX wants a float there, not
#   the integer `0`.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python finite_gradient.py`. In
# a terminal `grader check finite_gradient.py` does the same. What you see there are public checks,
# worked examples and properties that every right answer has; grading also asks for other numbers,
# and above all for the corners.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. Say beforehand what each
# line will print.
#
# ```python
# chosen_late = lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0)
# cut_off = lambda x: jnp.sqrt(jnp.maximum(x, 0.0))
# shifted = lambda x: jnp.sqrt(jnp.maximum(x, 0.0) + 1e-12)
# for f in (chosen_late, cut_off, shifted, safe_sqrt):
#     print([(float(f(x)), float(jax.grad(f)(x))) for x in (4.0, 0.0, -1.0)])
#
# residuals, mask = jnp.array([3.0, jnp.nan]), jnp.array([True, False])
# squared_first = lambda r: jnp.sum(jnp.where(mask, r**2, 0.0))
# print(squared_first(residuals), jax.grad(squared_first)(residuals))
# print(masked_mean_square(residuals, mask), jax.grad(masked_mean_square)(residuals, mask))
# print(jax.grad(jnp.linalg.norm)(jnp.zeros(2)), jax.grad(safe_norm)(jnp.zeros(2)))
# ```
#
# - All four roots have the right value at 4. Which of them would you have caught by looking at
#   values alone, and at which number?
# - The shifted root is finite everywhere. What would one step at rate 0.1 do with its gradient at
#   0?
# - Set `jax.config.update("jax_debug_nans", True)` and run the two lines with residuals once more.
#   JAX then stops at the first operation that gives NaN, forwards or backwards. Which of the two
#   lines does it stop, although the value there is right? Is that a nuisance or a help?

# %% [markdown]
# ## Carry forward
#
# - A right value says nothing about the gradient. Check both, and at the corners.
# - Choose *before* the dangerous operation, so that it never sees the dangerous number. Where the
#   stand-in would show in the value, choose once more after it.
# - When the loss is finite and the gradient is not, look for roots, logarithms, quotients and
#   powers that meet a 0, and for a mask that comes after them.
# - Gradient 0 at a corner is a decision, not a fact: the root has no slope at 0, and the norm has
#   none at the zero vector. It is the decision that lets the other examples go on. If training
#   should move away from the corner, another objective is needed, for instance the squared norm.
#
# Next: `stable_softmax`, where the numbers in between are too large to be written down.

# %% check_finite_gradient
from grader import check

check("finite_gradient")
