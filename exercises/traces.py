"""Small training runs, each with one fault that was planted on purpose, recorded at six boundaries.

    for step in planted("nan_input", seed=0):
        print(step.trace["loss"], step.norms)

The model has two weights and predicts `features @ weights`; every step gets a batch of its own, of
eight examples, whose targets follow from the weights 2 and -1. A fault replaces one part of this by
another one: the batch of one step, the forward pass, the losses, or what the optimizer does.
Everything here is complete. It is there to be read after `first_broken_boundary` is done.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

BOUNDARIES = ("inputs", "forward", "loss", "gradient", "optimizer_state", "update")
STEPS = 30
BAD_STEP = 3  # the step whose batch is bad, where it is the batch that is bad
TRUE_WEIGHTS = np.array([2.0, -1.0], dtype=np.float32)


class Step(NamedTuple):
    """What is recorded of a step: an array at each boundary, and three norms."""

    trace: dict[str, jax.Array]
    norms: dict[str, float]  # of the parameters before the update, of the gradient, of the update


# --- the parts of a run ---------------------------------------------------------------------------
# A forward pass takes weights and features; losses take outputs and targets, and give one number an
# example; an optimizer takes a gradient and its state, and gives its new state and a direction.


def linear(weights, features):
    return features @ weights


def standardized(weights, features):
    """Columns with mean 0 and deviation 1: a column that is constant is divided by 0."""
    return (features - features.mean(axis=0)) / features.std(axis=0) @ weights


def exponential(weights, features):
    return jnp.exp(features @ weights / 4)


def probability(weights, features):
    return jax.nn.sigmoid(features @ weights)


def squares(outputs, targets):
    return (outputs - targets) ** 2


def distances(outputs, targets):
    """The sizes of the errors. The branch that isn't taken at 0 has no derivative there."""
    errors = outputs - targets
    return jnp.where(errors == 0, 0.0, jnp.sqrt(errors**2))


def log_losses(outputs, targets):
    """For targets 0 and 1; a probability that is exactly 0 or 1 has an infinite logarithm."""
    return -targets * jnp.log(outputs) - (1 - targets) * jnp.log(1 - outputs)


def descent(gradient, count):
    """The gradient itself; what is kept is the number of steps."""
    return count + 1, gradient


def clipped(gradient, _):
    """The gradient, brought to a norm of 1 where it is longer; what is kept is the norm."""
    norm = jnp.sqrt(jnp.sum(gradient**2))
    return norm, gradient * jnp.minimum(1.0, 1.0 / norm)


def unit_length(gradient, _):
    """The gradient over its norm, whatever that is."""
    norm = jnp.sqrt(jnp.sum(gradient**2))
    return norm, gradient / norm


def root_mean_square(gradient, moment):
    """The gradient over the root of a running mean of its squares, which is kept."""
    moment = 0.9 * moment + 0.1 * gradient**2
    return moment, gradient / (jnp.sqrt(moment) + 1e-8)


def as_it_is(features, targets):
    return features, targets


def with_feature(value):
    """A batch whose first feature of the first example is `value`; its target stays as it was."""
    return lambda features, targets: (features.at[0, 0].set(value), targets)


def with_constant_column(features, targets):
    return features.at[:, 1].set(0.5), targets


def with_padding(features, targets):
    """The last example is no example: all zeros."""
    return features.at[-1].set(0.0), targets.at[-1].set(0.0)


def all_padding(features, targets):
    return jnp.zeros_like(features), jnp.zeros_like(targets)


def in_another_unit(features, targets):
    return 1e10 * features, 1e10 * targets


class Fault(NamedTuple):
    """A run's parts. `first` is the boundary at which the fault first shows as NaN or infinity."""

    first: str
    forward: Callable = linear
    losses: Callable = squares
    reduce: Callable = jnp.mean
    optimizer: Callable = descent
    rate: float = 0.05
    batch: Callable = as_it_is  # what is done to the batch of BAD_STEP
    targets: Callable = linear  # what the targets are, of the true weights and the features


def column(weights, features):
    """Targets as a column: shape (n, 1) where (n,) is meant."""
    return linear(weights, features)[:, None]


def yes_or_no(weights, features):
    return (linear(weights, features) > 0).astype(float)


FAULTS = {
    "healthy": Fault("none"),
    "nan_input": Fault("inputs", batch=with_feature(jnp.nan)),
    "inf_input": Fault("inputs", batch=with_feature(jnp.inf)),
    "division_by_zero": Fault("forward", forward=standardized, batch=with_constant_column),
    "activation_overflow": Fault(
        "forward", forward=exponential, targets=exponential, batch=with_feature(5000.0)
    ),
    "log_of_zero": Fault(
        "loss",
        forward=probability,
        losses=log_losses,
        targets=yes_or_no,
        batch=with_feature(5000.0),
    ),
    "rate_above_ceiling": Fault("loss", rate=100.0),
    "masked_branch": Fault("gradient", losses=distances, batch=with_padding),
    "moment_overflow": Fault("optimizer_state", optimizer=root_mean_square, batch=in_another_unit),
    "overflowed_clip": Fault("optimizer_state", optimizer=clipped, batch=in_another_unit),
    "division_by_zero_norm": Fault("update", optimizer=unit_length, batch=all_padding),
    "broadcast_targets": Fault("none", targets=column),
    "sum_for_mean": Fault("none", reduce=jnp.sum),
}


# --- the run --------------------------------------------------------------------------------------


def planted(fault: str, seed: int = 0, steps: int = STEPS) -> list[Step]:
    """Run `steps` steps with this fault (a name in FAULTS), on data that `seed` draws.

    The weights start at (0.5, 0.5). Returns a Step for each step, also for those after the fault.
    """
    parts = FAULTS[fault]
    random = np.random.default_rng(seed)
    weights, state = jnp.full(2, 0.5), jnp.zeros(())

    def objective(weights, features, targets):
        outputs = parts.forward(weights, features)
        losses = parts.losses(outputs, targets)
        return parts.reduce(losses), (outputs, losses)

    record = []
    for step in range(steps):
        features = jnp.asarray(random.normal(size=(8, 2)), dtype=jnp.float32)
        targets = parts.targets(TRUE_WEIGHTS, features)
        if step == BAD_STEP:
            features, targets = parts.batch(features, targets)
        gradient, (outputs, losses) = jax.grad(objective, has_aux=True)(weights, features, targets)
        state, direction = parts.optimizer(gradient, state)
        update = -parts.rate * direction
        arrays = (jnp.column_stack([features, targets]), outputs, losses, gradient, state, update)
        norms = {"parameter": norm(weights), "gradient": norm(gradient), "update": norm(update)}
        record.append(Step(dict(zip(BOUNDARIES, arrays, strict=True)), norms))
        weights = weights + update
    return record


def norm(array: jax.Array) -> float:
    """The root of the sum of squares, in float64: an instrument must not overflow before what it
    measures does."""
    return float(np.sqrt(np.sum(np.asarray(array, dtype=np.float64) ** 2)))
