# %% [markdown]
# # Two rates, one bug report
#
# *"Training explodes. I changed nothing but the learning rate."*
#
# The model has one weight. Three points, $x = 1, 2, 3$, lie on the line $y = 2x$. At rate 0.1
# gradient descent finds the weight 2 within a few steps. At rate 0.3 the loss more than triples at
# every step. The code is the same, the data is the same, the gradient is right both times.
#
# What is the cause, and could it have been known before the run? This page answers both, and in
# doing so goes once through the order of looking that the exercises practise. The habit to take
# away: **find the cause before you change anything.**
#
# The code is in `lesson.py`, next to this page. Read it first; it fits on two screens.

# %%
import jax
import lesson
import matplotlib.pyplot as plt
import numpy as np

np.set_printoptions(precision=6, suppress=True, linewidth=100)

# %% [markdown]
# ## What is known before any run
#
# The prediction for $x$ is $w x$, the loss is $L(w) = \operatorname{mean}\,(w x - y)^2$. All
# targets are $y = t x$ with the true weight $t = 2$, so each difference is $(w - t)\,x$. Write
# $q = \operatorname{mean}\,x^2 = \tfrac{14}{3}$, and everything follows:
#
# | quantity | in general | in this case | at $w = 0$ |
# |---|---|---|---|
# | loss | $q\,(w - t)^2$ | $\tfrac{14}{3}(w - 2)^2$ | $\tfrac{56}{3}$ |
# | gradient | $2q\,(w - t)$ | $\tfrac{28}{3}(w - 2)$ | $-\tfrac{56}{3}$ |
# | curvature | $2q$ | $\tfrac{28}{3}$ | $\tfrac{28}{3}$ |
#
# The curvature is the slope of the gradient; here it is the same everywhere.
#
# A step at rate $r$ goes from $w$ to $w - r \cdot 2q\,(w - t)$. Take $t$ away from both sides, and
# what is left is a recurrence for the error $e = w - t$:
#
# $$e_{k+1} = m\,e_k, \qquad m = 1 - r \cdot 2q, \qquad\text{so}\qquad e_k = m^k\,e_0
# \quad\text{and}\quad L_{k+1} = m^2 L_k.$$
#
# The size of $m$ decides. The error dies out when $-1 < m < 1$, that is for $0 < r < 1/q$.
# In this case the ceiling is $\tfrac{3}{14} = 0.214\ldots$, and it lies between our two rates:
#
# | rate | $m$ | the error | the loss, each step |
# |---|---|---|---|
# | 0.1 | $\tfrac{1}{15}$ | shrinks and keeps its sign | divided by 225 |
# | 0.3 | $-1.8$ | grows and changes its sign | multiplied by 3.24 |

# %% [markdown]
# ## The order in which to look
#
# 1. **Make it small and keep it.** Find the shortest run that still fails, and save it.
# 2. **Inputs.** Are they finite? What is their scale? A NaN or a changed unit starts here.
# 3. **Loss and gradient at the first step.** Are they finite, and do they agree with a second way
#    of computing them?
# 4. **The update.** How far does it move the weight, compared with the weight itself?
# 5. **The recurrence.** What do rate and curvature predict for the next steps, and is that what
#    happened?
# 6. **Now change one thing,** and predict what it will do before you run it.
#
# The run is as small as it gets. The next two are quickly done:

# %%
print("inputs finite?", np.isfinite(lesson.FEATURES).all() and np.isfinite(lesson.TARGETS).all())
print("first loss:    ", lesson.loss(0.0), "  by hand:", 56 / 3)
print("first gradient:", jax.grad(lesson.loss)(0.0), "  by hand:", -56 / 3)
print("    by formula:", lesson.analytic_gradient(0.0))

# %% [markdown]
# All is in order, and still one of the runs will fail. A correct gradient says which way is down;
# it doesn't say how far one may go.
#
# Before you run the next cell, write down for each rate the second weight and the ratio of two
# losses in a row. The tables above have all that you need.

# %%
STEPS = 6
runs = {rate: lesson.run(rate, STEPS) for rate in (0.1, 0.3)}

for rate, (final_weight, history) in runs.items():
    print(f"rate {rate}\nstep       weight           loss   abs(gradient)   loss ratio")
    ratios = ["", *(f"{ratio:.5g}" for ratio in history[1:, 1] / history[:-1, 1])]
    for step, (weight, loss, gradient) in enumerate(history):
        print(f"{step:4} {weight:12.7g} {loss:14.7g} {gradient:15.7g} {ratios[step]:>12}")
    print(f"final weight {final_weight:.9g}\n")

# %% [markdown]
# A row is recorded *before* its step's update: row 0 is the starting point, and the last update
# shows only in the final weight.
#
# ## The same run, recorded earlier
#
# This is what the run at rate 0.3 gave in float32 on a CPU, with JAX 0.9.2. At rate 0.1 the final
# weight was 1.999999761581421.
#
# | step | weight | loss | abs(gradient) |
# |---|---|---|---|
# | 0 | 0.0 | 18.6666679 | 18.6666679 |
# | 1 | 5.60000038 | 60.4800110 | 33.6000061 |
# | 2 | -4.48000145 | 195.955292 | 60.4800148 |
# | 3 | 13.6640034 | 634.895264 | 108.864037 |
# | 4 | -18.9952106 | 2057.06152 | 195.955322 |
# | 5 | 39.7913895 | 6664.88281 | 352.719635 |

# %%
RECORDED = np.array(
    [
        [0.0, 18.6666679, 18.6666679],
        [5.60000038, 60.4800110, 33.6000061],
        [-4.48000145, 195.955292, 60.4800148],
        [13.6640034, 634.895264, 108.864037],
        [-18.9952106, 2057.06152, 195.955322],
        [39.7913895, 6664.88281, 352.719635],
    ]
)
RECORDED_FINAL_WEIGHT = 1.999999761581421  # at rate 0.1

# %% [markdown]
# Your run may differ from it in the last digits, and both differ from the exact recurrence: a sum
# in another order, or a multiplication fused with the addition after it, rounds differently. So
# the question is not whether two numbers are equal, but whether they are as close as rounding
# allows. How close is that?
#
# ## How close is close enough
#
# In float32 each operation may be wrong by a share $u = 2^{-24}$ of its result. Follow that
# through one step, from inside out. Let $d$ be what we already doubt about the weight.
#
# - **A difference** $w x - y$ inherits $|x|\,d$. Its product and its subtraction add at most
#   $2u\,(|w x| + |y|)$: a share of the numbers that go *in*, however small their difference is.
# - **Gradient and loss** are means made of those differences. Working them out takes a handful of
#   further roundings, eight at most, each a share $u$ of the result.
# - **The next weight** inherits the doubt about the old one times $|m|$, for errors follow the same
#   recurrence as $e$. Added to it: the rate times the fresh doubt about the gradient, three
#   roundings of rate and product, and one of the new weight.
#
# The next cell does just that, beside the recurrence itself. It leaves out what two roundings do
# together, millions of times less than each alone, and works in double precision, whose own
# rounding is half a billion times finer.

# %%
U = 2.0**-24
TRUE_WEIGHT = 2.0
x = np.array([1.0, 2.0, 3.0])
y = TRUE_WEIGHT * x
CURVATURE = 2 * np.mean(x**2)


def recurrence(rate, steps):
    """Return the exact rows [weight, loss, abs(gradient)], and bounds on their float32 errors."""
    multiplier = 1 - rate * CURVATURE
    weight, doubt = 0.0, 0.0
    rows, bounds = [], []
    for _ in range(steps):
        difference = np.abs(weight * x - y)
        loss, gradient = np.mean(difference**2), CURVATURE * abs(weight - TRUE_WEIGHT)
        rows.append([weight, loss, gradient])

        fresh = 2 * U * (np.abs(weight * x) + np.abs(y))
        off = x * doubt + fresh
        loss_doubt = np.mean(2 * difference * off + off**2) + 8 * U * loss
        fresh_gradient = 2 * np.mean(x * fresh) + 8 * U * gradient
        bounds.append([doubt, loss_doubt, CURVATURE * doubt + fresh_gradient])

        weight = TRUE_WEIGHT + multiplier * (weight - TRUE_WEIGHT)
        doubt = abs(multiplier) * doubt + rate * (fresh_gradient + 3 * U * gradient)
        doubt += U * abs(weight)
    return np.array(rows), np.array(bounds)


# %%
def compare(title, measured, rate):
    """Print how far each measured number is off, and how far it may be. Raise if any is too far."""
    exact, bound = recurrence(rate, len(measured))
    error = np.abs(measured - exact)
    print(f"{title}: how far off, and how far it may be")
    print("step |       weight       |        loss        |   abs(gradient)")
    for step, (off, may) in enumerate(zip(error, bound, strict=True)):
        pairs = " | ".join(f"{o:8.1e} ({m:7.1e})" for o, m in zip(off, may, strict=True))
        print(f"{step:4} | {pairs}")
    assert (error <= bound).all(), "a row is farther off than rounding explains"
    print("every row agrees with the recurrence\n")


compare("recorded, rate 0.3", RECORDED, 0.3)
compare("your run, rate 0.3", runs[0.3][1], 0.3)
compare("your run, rate 0.1", runs[0.1][1], 0.1)

# %% [markdown]
# ## Why only an absolute error means anything near the optimum
#
# At rate 0.1 the weight comes ever closer to 2. Near 2 the float32 numbers are $2^{-23}$ apart
# below it and $2^{-22}$ above, so no program can hold the error $w - 2$ more finely than that.
# But the error itself goes to zero. Sooner or later it is no larger than the gap between two
# numbers, and then its *relative* error is of the order of one, for a program without a mistake.
# The loss is its square and fares worse.

# %%
exact, bound = recurrence(0.1, STEPS)
final_weight, history = runs[0.1]
print("step   loss measured     loss exact   relative error   absolute error  (may be)")
for step, (got, due, may) in enumerate(zip(history[:, 1], exact[:, 1], bound[:, 1], strict=True)):
    off = abs(got - due)
    print(f"{step:4}   {got:13.6e}  {due:13.6e}   {off / due:14.1e}   {off:14.1e}  ({may:.1e})")

rows, bounds = recurrence(0.1, STEPS + 1)
print("\nafter the last step the weight is below 2 by")
print(f"{TRUE_WEIGHT - rows[-1, 0]:.3e} exactly, and in float32 within {bounds[-1, 0]:.1e} of that")
print(f"{TRUE_WEIGHT - RECORDED_FINAL_WEIGHT:.3e} as recorded")
print(f"{TRUE_WEIGHT - final_weight:.3e} in your run")

# %% [markdown]
# Read the relative error downwards: it climbs by orders of magnitude while nothing goes wrong, and
# two right programs may end on different sides of the exact weight. The absolute error stays below
# its bound all the way. That is why the checks of this course compare with a bound on the absolute
# error, worked out for each case, and not with one relative tolerance for all.

# %% [markdown]
# ## The two runs as a picture

# %%
COLOURS = {0.1: "#1b6ca8", 0.3: "#c8501e"}
steps = np.arange(STEPS)

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
for rate, (_, history) in runs.items():
    style = {"color": COLOURS[rate], "marker": "o", "markersize": 5, "linewidth": 1.8}
    left.semilogy(steps, history[:, 1], **style)
    right.plot(steps, history[:, 0], **style)
    for axes, column in ((left, 1), (right, 0)):
        axes.annotate(
            f"rate {rate}",
            (steps[-1], history[-1, column]),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=COLOURS[rate],
            fontweight="bold",
        )
right.hlines(TRUE_WEIGHT, 0, STEPS - 1, color="0.5", linewidth=1, linestyle="dashed", zorder=0)
right.text(0.05, -2.2, "true weight 2", color="0.35", fontsize=9, va="top")
left.set(title="Loss", ylabel="loss before the update (log axis)")
right.set(title="Weight", ylabel="weight before the update")
for axes in (left, right):
    axes.set(xlabel="step", xlim=(-0.3, STEPS + 0.35), xticks=steps)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# How to read it:
#
# - Every point is taken **before** its step's update, so step 0 is the start, the same for both.
# - On the **log axis** equal distances are equal *ratios*, not equal changes. A constant factor
#   makes a straight line: upwards by 3.24 a step at rate 0.3, downwards by 225 at rate 0.1. The
#   drop from 1e-9 to 1e-11 looks as large as one from 1000 to 10.
# - The loss **hides the sign** of the error. At rate 0.3 the left curve climbs smoothly, while the
#   weight jumps from one side of 2 to the other. That swing is the signature of $m < -1$, and
#   only the right picture shows it.

# %% [markdown]
# ## Experiment 1: clip the gradient at 1
#
# Clipping is the usual first aid. Keep rate 0.3, and let the update use the gradient only up to
# size 1. Predict, in writing:
#
# 1. What is the farthest that one step can move the weight? (The first gradient is $-56/3$.)
# 2. Will the run settle at 2?
# 3. Once the weight is near 2, what is the multiplier?

# %%
final_weight, clipped = lesson.run(0.3, 20, clip=1.0)
print("weights:", clipped[:, 0])
print("largest move:", np.abs(np.diff(clipped[:, 0])).max())
print("abs(gradients):", clipped[:, 2])

# %% [markdown]
# <details>
# <summary>What happened</summary>
#
# No step moves the weight by more than $0.3 \cdot 1 = 0.3$, and nothing explodes. It doesn't
# settle, either: closer than $3/28$ to 2 the gradient is too small to be clipped, and there the
# multiplier is $-1.8$ as before. The run is pushed out again until the clip catches it, and swings
# about 2 for ever. Clipping bounds the symptom. The cause, a rate above the ceiling, is still
# there, and a plot of the loss alone would look almost healthy.
#
# </details>

# %% [markdown]
# ## Experiment 2: features and targets times ten
#
# The same points in another unit: both $x$ and $y$ ten times as large. The line is still
# $y = 2x$. Predict, in writing:
#
# 1. What becomes of loss, gradient, curvature and ceiling?
# 2. Rate 0.1 settled before. Will it now?
# 3. Which rate gives back the very same weights, and what will the losses be?

# %%
features, targets = 10 * lesson.FEATURES, 10 * lesson.TARGETS

_, same_rate = lesson.run(0.1, STEPS, features, targets)
_, other_rate = lesson.run(0.001, STEPS, features, targets)
original = runs[0.1][1]

with np.printoptions(precision=4, suppress=False):
    print("rate 0.1, weights:  ", same_rate[:, 0])
    print("rate 0.001, weights:", other_rate[:, 0])
    print("original, weights:  ", original[:, 0])
    print("loss over original loss, first rows:", other_rate[:3, 1] / original[:3, 1])

# %% [markdown]
# <details>
# <summary>What happened</summary>
#
# Loss, gradient and curvature carry the square of the factor: all three are 100 times as large.
# The ceiling is divided by 100 and is now 0.00214..., so that rate 0.1 is far above it, with
# $m = 1 - 0.1 \cdot 2800/3 = -92.3\ldots$ Rate 0.001 makes the same $m$ as before, hence the same
# weights up to rounding, at 100 times the loss. Only the first losses are compared: further down
# they are so small that rounding decides their ratio, as we saw above.
#
# Nobody touched the code, the model or the rate. A change of unit in the preprocessing was enough.
#
# </details>

# %% [markdown]
# ## What to take along
#
# - The cause was neither the gradient nor the data, but the product of rate and curvature. It was
#   known before the first step.
# - A finite loss, a right gradient and a clipped update all looked fine. Each answers one question
#   and leaves the others open.
# - The exact recurrence holds for this objective: one weight, constant curvature. For other
#   models the order of looking stays and the formula doesn't.
#
# Go on with `ones_bound`, the first exercise.
#
# ## References
#
# - JAX documentation, *Numerical accuracy*: <https://docs.jax.dev/en/latest/accuracy.html>.
#   How far JAX's functions may be from the true value, by platform and number type.
# - Optax documentation, *Transformations*:
#   <https://optax.readthedocs.io/en/latest/api/transformations.html>. Clipping as it is used in
#   practice: `clip` for each entry, `clip_by_global_norm` for the gradient as a whole.
