"""What `nan_input` alone rests on: loss and gradient are finite together, and NaN travels."""

import json
import math
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grader import catalogue
from grader.draws import NOT_FINITE
from grader.judge import Raises, judged
from grader.model import Question, Raised, Returned, from_strict_json, strict_json
from grader.public import lesson
from grader.suite import with_suite

DRAWS = int(os.environ.get("NAN_INPUT_DRAWS", "400"))
LARGEST = 1024.0  # of what is finite, by the contract


def python_terms(weight, features, targets):
    residuals = [weight * x - y for x, y in zip(features, targets, strict=True)]
    return sum(r * r for r in residuals), sum(
        r * x for r, x in zip(residuals, features, strict=True)
    )


def expanded(weight, x, y):
    xx, xy, yy = (x * x).mean(), (x * y).mean(), (y * y).mean()
    return weight * weight * xx - 2 * weight * xy + yy, 2 * weight * xx - 2 * xy


jit_both = jax.jit(jax.value_and_grad(lesson.loss))
jit_expanded_slope = jax.jit(jax.grad(lambda *arguments: expanded(*arguments)[0]))
float32 = np.float32
PROGRAMS = {
    "Python": python_terms,
    "NumPy": lambda w, x, y: (
        np.mean((w * float32(x) - float32(y)) ** 2),
        np.mean(float32(x) * (w * float32(x) - float32(y))),
    ),
    "NumPy, expanded": lambda w, x, y: expanded(float32(w), float32(x), float32(y)),
    "NumPy, inner products": lambda w, x, y: (
        np.dot(w * float32(x) - float32(y), w * float32(x) - float32(y)),
        np.dot(float32(x), w * float32(x) - float32(y)),
    ),
    "jax.jit": lambda w, x, y: jit_both(w, jnp.asarray(x), jnp.asarray(y)),
    "jax.grad, expanded": lambda w, x, y: (jit_expanded_slope(w, float32(x), float32(y)),),
}


def drawn():
    """Weights, features and targets of any ordinary size, of which some entries are not finite."""
    rng = np.random.default_rng(20240607)
    for _ in range(DRAWS):
        n = int(rng.choice((1, 2, 3, 5)))
        vectors = rng.choice([-1, 1], (2, n)) * 2.0 ** rng.uniform(-10, 10, (2, n))
        vectors *= rng.random((2, n)) > 0.2
        spoil = rng.random((2, n)) < rng.choice([0, 0.2, 0.7])
        vectors[spoil] = rng.choice(NOT_FINITE, int(spoil.sum()))
        weight = float(rng.choice([0.0, 1.0, -LARGEST, rng.uniform(-12, 12)]))
        features, targets = (float32(vector).tolist() for vector in vectors)
        yield weight, features, targets


@pytest.fixture(scope="module")
def key():
    """The key, imported in a session, as its checks are tests."""
    return with_suite(["nan_input"], lambda _: catalogue.key("nan_input"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_loss_and_gradient_are_finite_exactly_where_all_that_goes_in_is(name, key):
    seen = set()
    with np.errstate(all="ignore"):
        for case in drawn():
            due = key.step_is_finite(*case).value
            quantities = PROGRAMS[name](*case)
            assert {bool(np.isfinite(quantity)) for quantity in quantities} == {due}, case
            seen.add(due)
    assert seen == {True, False}


def test_worked_examples_come_out_of_strict_json_as_they_went_in(key):
    text = (catalogue.PACKAGE / "public" / "nan_input.json").read_text(encoding="utf-8")
    assert '"nan"' in text
    json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
    shipped = [
        from_strict_json(item.arguments) for item in catalogue.exercise("nan_input").examples
    ]
    assert repr(shipped) == repr([list(arguments) for _, arguments in key.EXAMPLES])


@pytest.mark.parametrize(
    "value", [[1.0, math.nan], {"a": [math.inf, -math.inf], "b": "text"}, None]
)
def test_what_is_not_finite_comes_back_from_strict_json(value):
    plain = json.loads(json.dumps(strict_json(value), allow_nan=False))
    assert repr(from_strict_json(plain)) == repr(value)


def test_without_its_key_the_worked_examples_are_known_too(key):
    shipped = catalogue._from_examples(catalogue.exercise("nan_input"))
    for function, arguments in key.EXAMPLES:
        due = shipped.truth(Question(function, arguments))
        assert due is not None
        assert judged(_answer(due), key.TRUTH[function](*arguments)).wrong is None


def _answer(due):
    if isinstance(due, Raises):
        return Raised(due.kind, (due.kind,), "")
    return Returned(_value(due))


def _value(due):
    if hasattr(due, "items"):
        return tuple(_value(item) for item in due.items)
    return due.value
