"""One weight, fitted by gradient descent: small enough to check every number by hand.

The model predicts `weight * x`; the loss is the mean of the squared differences from the targets.
Everything here is complete: read it once, then import from it. The page around it, with the
derivations, is lesson.ipynb.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

# The worked case: three points on the line y = 2x. The best weight is 2, and there the loss is 0.
FEATURES = jnp.asarray(np.array([1.0, 2.0, 3.0], dtype=np.float32))
TARGETS = jnp.asarray(np.array([2.0, 4.0, 6.0], dtype=np.float32))

Scalar = float | jax.Array


def loss(weight: Scalar, features: jax.Array = FEATURES, targets: jax.Array = TARGETS) -> jax.Array:
    """Return the mean squared error of the predictions `weight * features`, a scalar.

    `features` and `targets` have the same shape (n,).
    """
    return jnp.mean((weight * features - targets) ** 2)


def analytic_gradient(
    weight: Scalar, features: jax.Array = FEATURES, targets: jax.Array = TARGETS
) -> jax.Array:
    """Return the derivative of `loss` with respect to the weight, by formula, without JAX's help.

    Arguments as for `loss`; a scalar comes back.
    """
    return 2 * jnp.mean(features * (weight * features - targets))


def run(
    rate: float,
    steps: int,
    features: jax.Array = FEATURES,
    targets: jax.Array = TARGETS,
    clip: float | None = None,
    initial_weight: float = 0.0,
) -> tuple[float, np.ndarray]:
    """Take `steps` steps of gradient descent and keep a record of them.

    A row of the record is written *before* its step's update: weight, loss, abs(gradient).
    The gradient in it is the true one; `clip` limits only what the update uses, to [-clip, clip].

    Returns (final_weight, history): a float, and an array of shape (steps, 3).
    Raises FloatingPointError, naming the step and the quantity, when one of them is not finite.
    """
    features, targets = jnp.asarray(features), jnp.asarray(targets)
    weight = jnp.asarray(initial_weight, dtype=jnp.result_type(features, targets, float))
    limit = math.inf if clip is None else float(clip)

    history = np.empty((steps, 3))
    for step in range(steps):
        value, gradient, updated = _step(weight, float(rate), limit, features, targets)
        _require_finite(step, weight=weight, loss=value, gradient=gradient, updated_weight=updated)
        history[step] = float(weight), float(value), abs(float(gradient))
        weight = updated
    return float(weight), history


@jax.jit  # compiled once for each length of the data
def _step(
    weight: jax.Array, rate: float, limit: float, features: jax.Array, targets: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the loss and its gradient at `weight`, and the weight after one update."""
    value, gradient = jax.value_and_grad(loss)(weight, features, targets)
    return value, gradient, weight - rate * jnp.clip(gradient, -limit, limit)


def _require_finite(step: int, **quantities: jax.Array) -> None:
    """Raise FloatingPointError for the first of the quantities that is NaN or infinite."""
    for name, quantity in quantities.items():
        if not math.isfinite(quantity):
            raise FloatingPointError(f"step {step}: {name} is {float(quantity)}")
