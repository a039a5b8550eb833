# %% [markdown]
# # Trust a gradient, but difference it
#
# Automatic differentiation is right about the program that it is given. A gradient that someone
# wrote by hand, a custom rule, or a term that was left out of the loss is another matter. On this
# page you write the one tool that needs no derivative at all: two values of the function, on either
# side of the weight, and the slope between them.
#
# You need no new call of JAX. `function` and `gradient` are handed to you as functions of one
# number: call them. They take Python floats as well as JAX arrays, and give a JAX scalar.

# %%
import jax
import jax.numpy as jnp

# %% [markdown]
# ## What goes wrong in practice
#
# A run diverges, and the gradient is suspected first. Someone prints it, finds it large, and
# "fixes" it by clipping. Nobody compared it with anything. It may have been right in every digit,
# as it is in the lesson's run at rate 0.3, and then the hour was spent in the wrong place.
#
# The opposite happens, too: a check is written that can't fail. Its tolerance is an absolute number
# that is larger than most gradients, or it looks at the sign alone, or it differentiates the same
# program twice and finds that it agrees with itself.

# %% [markdown]
# ## The idea
#
# Write the function as its Taylor series around $w$, a step $h$ ahead and a step $h$ behind:
#
# $$f(w \pm h) = f(w) \pm h f'(w) + \tfrac{h^2}{2} f''(w) \pm \tfrac{h^3}{6} f'''(w) + \dots$$
#
# Subtract one from the other. The terms with an even power of $h$ cancel, and what is left, over
# the distance $2h$ between the two points, is
#
# $$\frac{f(w+h) - f(w-h)}{2h} = f'(w) + \tfrac{h^2}{6} f'''(w) + \dots$$
#
# A look to one side only keeps the term $\tfrac{h}{2} f''(w)$, which is larger by far.
#
# A smaller step makes this *truncation error* smaller, and another one larger. Each value is a
# float32, rounded by about $6 \cdot 10^{-8}$ of its size, and the difference is divided by $2h$. So
# the *rounding error* grows as $1/h$. In between lies a step where both are small. For float32 it
# is near the third root of $6 \cdot 10^{-8}$, about 0.004; with $h = 10^{-8}$, a favourite in
# float64, both values are the same float32 and the slope is 0.

# %% [markdown]
# ## Predict first
#
# For $f(w) = w^3$ at $w = 1$ the derivative is 3. Work out on paper what the central difference
# gives for $h = 1/4$, before you run it. By how much is it off, and what becomes of that for
# $h = 1/8$?

# %% [markdown]
# ## One case by hand
#
# $f(w) = w^3$ at $w = 2$ with $h = 1/2$. Two values: $2.5^3 = 15.625$ and $1.5^3 = 3.375$. Their
# difference is 12.25, the distance of the points is 1, so the slope is 12.25. The derivative is
# $3 \cdot 2^2 = 12$, and $h^2 f'''/6 = \tfrac14 \cdot 6/6 = 0.25$: here the next term of the series
# is all there is.
#
# Looking ahead only: $(15.625 - 8)/0.5 = 15.25$. Off by 3.25, for the same step.

# %% [markdown]
# ## Now in code
#
# ### TODO 1: the slope between two points
#
# Two values of the function and one division. The weight and the step are Python floats.


# %% central_difference nbgrader={"solution": true}
def central_difference(function, weight: float, step: float) -> jax.Array:
    """Return the slope of `function` between `weight - step` and `weight + step`, a scalar.

    function: takes a number and returns a JAX scalar. step: from 2**-8 to 2**-4.
    """
    # TODO 1
    ### BEGIN SOLUTION
    rise = function(weight + step) - function(weight - step)
    return rise / (2 * step)
    ### END SOLUTION


# %% [markdown]
# ### TODO 2: is this gradient the function's?
#
# You decide on a step and on how far apart the two numbers may be. The functions are smooth, abs(f)
# is at most 8, the true gradient at least 0.5 in size, and abs(weight) at most 1.5. A gradient that
# is wrong is off by 5 % or more: turned in sign, twice too large, without one of its terms, or off
# by a few per cent. A right one must pass, whatever float32 does to its last digits.


# %% gradient_check nbgrader={"solution": true}
def gradient_check(function, gradient, weight: float) -> bool:
    """Return whether `gradient` is the gradient of `function` at `weight`.

    function, gradient: each takes a number and returns a JAX scalar.
    """
    # TODO 2
    ### BEGIN SOLUTION
    measured = central_difference(function, weight, 2**-7)
    return bool(jnp.abs(gradient(weight) - measured) <= 0.025 * jnp.abs(measured))
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary>Hint: open it when you are stuck</summary>
#
# - **Slope.** How far apart are the two points? Mind the order of operations in `a / 2 * h`.
# - **Which step?** Put numbers in: values up to 8, rounded to about one part in sixteen million,
#   divided by twice your step. Compare with a gradient of 0.5.
# - **How close?** 5 % off must be told from 0 % off. Halfway is a good place for a border, and what
#   it is a share of matters: a difference of 0.1 is much for a gradient of 0.5, and little for one
#   of 30.
# - **Sign.** Take the difference of the two numbers, then its size. The other way round loses it.
#
# </details>

# %% [markdown]
# ## Check it
#
# Run the last cell of the notebook, or the whole page as a script: `python gradient_check.py`. In a
# terminal `grader check gradient_check.py` does the same. What you see there are public checks,
# worked examples and properties that every right answer has; grading also asks for other functions.

# %% [markdown]
# ## Look at it afterwards
#
# When the checks pass, paste this into a new cell above the last one. Say beforehand what each
# line will print.
#
# ```python
# for exponent in range(1, 24, 2):
#     h = 2.0**-exponent
#     print(f"2**-{exponent:<3}", central_difference(lambda w: w**3, jnp.float32(1.0), h) - 3)
#
# import lesson
#
# print(gradient_check(lesson.loss, lesson.analytic_gradient, 0.0))
# print(gradient_check(lesson.loss, lambda w: lesson.analytic_gradient(w) / 2, 0.0))
# print(gradient_check(lesson.loss, jax.grad(lesson.loss), 1.5))
# ```
#
# - Where is the error smallest? To the one side of that it falls by a factor of 16 from line to
#   line, to the other side it grows. Which is which?
# - The last line checks JAX against values of the loss alone. Which of the lesson's two runs does
#   it acquit, and of what?

# %% [markdown]
# ## Carry forward
#
# - A right gradient doesn't make a run stable. This check takes one suspect off the list, and says
#   nothing of the rate, the data, or the objective itself.
# - A check is worth something once it has been seen to fail. Spoil the gradient on purpose first.
# - With many weights, one difference for each is slow. The usual way is a few random directions:
#   the slope along a direction against the gradient's component along it.
# - At a kink (`abs`, `max`, a clip) both sides may differ and neither is wrong. Keep away from
#   kinks or look at both sides.
#
# Next: `concept_checks`, sixteen short questions.

# %% check_gradient_check nbgrader={"grade": true, "points": 10}
from grader import check

check("gradient_check")
