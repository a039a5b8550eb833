"""Right programs: those of `fixtures/right/`, and each reference solution written in other ways.

A transformation changes how a program computes, and nothing that the contract asks for.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from grader import catalogue, submissions
from grader.audit.mutants import joined, program_of
from grader.sandbox import Source
from grader.submissions import Found, lesson


def variants(exercise: str) -> Iterator[tuple[str, str, Found]]:
    """The name of each right program, what it was made by, and the program as it was found."""
    for path in answers("right", exercise):
        found = submissions.read(path, [exercise], sole=exercise).found[exercise]
        yield path.name, "independent", found
    parts = program_of(exercise)
    yield "the reference", "transformation", program(joined(parts))
    for name, transformation in {**REWRITTEN, **WRAPPED}.items():
        if name in OUT_OF_JAX and hasattr(catalogue.key(exercise), "GRADIENTS"):
            continue
        if name in WRAPPED and hasattr(catalogue.key(exercise), "PLAIN_DATA"):
            continue
        text = transformation(parts, list(catalogue.exercise(exercise).signatures))
        if text is not None and text != joined(parts):
            yield name, "transformation", program(text)


def answers(kind: str, exercise: str) -> list[Path]:
    """What others have written for an exercise, `right` or `wrong`; nothing where there is none."""
    folder = catalogue.clone() / "fixtures" / kind / exercise
    return sorted(path for path in folder.glob("*") if path.name != "manifest.json")


def program(text: str) -> Found:
    """A text as it would be found, handed in as a plain script."""
    source = Source("program.py", ((text, 1),), {"lesson": lesson()}, {})
    return Found("graded", "program.py", source)


Transformation = Callable[[list[str], list[str]], "str | None"]
"""The program's parts and the names that are due of it, to the text of another program; None where
the transformation does not apply."""


# --- written in other ways ------------------------------------------------------------------------


def _each(change: Callable[[ast.AST], ast.AST]) -> Callable[[list[str], list[str]], str]:
    """Every node of the program changed, from the leaves up."""

    class Changed(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return change(self.generic_visit(node))

    def transformed(parts: list[str], _: list[str]) -> str:
        return joined([ast.unparse(Changed().visit(ast.parse(part))) for part in parts])

    return transformed


def _commuted(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd):
        return ast.BinOp(node.right, node.op, node.left)
    return node


def _turned(node: ast.AST) -> ast.AST:
    """a - b as -(b - a)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return ast.UnaryOp(ast.USub(), ast.BinOp(node.right, node.op, node.left))
    return node


def _as_product(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.BinOp) and ast.unparse(node).endswith("** 2"):
        return ast.BinOp(node.left, ast.Mult(), node.left)
    return node


def _by_reciprocal(node: ast.AST) -> ast.AST:
    """a / b as a * (1 / b), rounded once more."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        reciprocal = ast.BinOp(ast.Constant(1.0), ast.Div(), node.right)
        return ast.BinOp(node.left, ast.Mult(), reciprocal)
    return node


def _mean_as(template: str) -> Callable[[ast.AST], ast.AST]:
    """`jnp.mean(x)` as another way to take it."""

    def change(node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "jnp.mean":
            return ast.parse(template.format(x=ast.unparse(node.args[0])), mode="eval").body
        return node

    return change


def _eager(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
    return node


def _by_formula(node: ast.AST) -> ast.AST:
    """JAX's gradient as the lesson's formula."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "jax.value_and_grad(lesson_loss)":
        weight, features, targets = map(ast.unparse, node.args)
        gradient = f"2 * jnp.mean({features} * ({weight} * {features} - {targets}))"
        loss = f"lesson_loss({weight}, {features}, {targets})"
        return ast.parse(f"({loss}, {gradient})", mode="eval").body
    return node


def _numpy(parts: list[str], due: list[str]) -> str | None:
    """Everything in NumPy, in the precision that the arguments have."""
    plain = _each(lambda node: _eager(_by_formula(node)))(parts, due).replace("import jax\n", "")
    plain = plain.replace("import jax.numpy as jnp", "import numpy as jnp")
    return None if "jax" in plain or ".at[" in plain else plain


def _in_float64(parts: list[str], _: list[str]) -> str:
    """With JAX's wide numbers switched on, for itself."""
    return joined([parts[0], 'jax.config.update("jax_enable_x64", True)', *parts[1:]])


REWRITTEN: dict[str, Transformation] = {
    "operands commuted": _each(_commuted),
    "differences turned": _each(_turned),
    "squares as products": _each(_as_product),
    "quotients by reciprocals": _each(_by_reciprocal),
    "mean as a sum over the size": _each(_mean_as("jnp.sum({x}) / ({x}).size")),
    "mean as a dot product": _each(_mean_as("jnp.dot({x}, jnp.ones(({x}).shape)) / ({x}).size")),
    "mean from the last to the first": _each(_mean_as("jnp.mean(({x})[::-1])")),
    "mean of what is divided first": _each(_mean_as("jnp.sum(({x}) / ({x}).size)")),
    "without jit": _each(_eager),
    "gradient by formula": _each(_by_formula),
    "NumPy": _numpy,
    "float64": _in_float64,
}


# --- taking and giving other types ----------------------------------------------------------------


def _wrapped(taken: str, given: str, called: str = "function(*arguments)") -> Transformation:
    """Each due function calls what it was, with its arguments and results in another form."""

    def transformed(parts: list[str], due: list[str]) -> str:
        class Inner(ast.NodeTransformer):
            def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
                self.generic_visit(node)
                node.name = renamed(node.name)
                return node

            def visit_Name(self, node: ast.Name) -> ast.AST:
                return ast.Name(renamed(node.id), node.ctx)

        def renamed(name: str) -> str:
            return f"inner_{name}" if name in functions else name

        functions = [name for name in due if not name.isupper()]
        inner = [ast.unparse(Inner().visit(ast.parse(part))) for part in parts]
        outer = [f"{name} = wrapped(inner_{name})" for name in functions]
        return joined([*inner, WRAPPING.format(taken=taken, given=given, called=called), *outer])

    return transformed


WRAPPING = """
from decimal import Decimal
from fractions import Fraction

def is_number(value):
    return getattr(value, "shape", ()) == () and not isinstance(value, (tuple, list))

def is_truth(value):
    return np.asarray(value).dtype == bool

def is_special(value):
    return not np.all(np.isfinite(np.asarray(value, dtype=float)))

def taken(value):
    return {taken}

def given(value):
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return tuple(given(part) for part in value)
    if isinstance(value, dict):
        return {{name: given(entry) for name, entry in value.items()}}
    if value is None:
        return value
    return {given}

def tried(function, arguments):
    try:
        return jax.jit(function)(*arguments)
    except Exception:
        return function(*arguments)

def wrapped(function):
    def call(*arguments):
        arguments = [taken(value) for value in arguments]
        return given({called})
    return call
"""
_NUMBERS = "value if not is_number(value) or is_truth(value) or is_special(value) else {}"
WRAPPED: dict[str, Transformation] = {
    "jit where it works": _wrapped("value", "value", "tried(function, arguments)"),
    "Python numbers": _wrapped("value", "np.asarray(value).tolist()"),
    "NumPy arrays": _wrapped("value", "np.asarray(value)"),
    "NumPy float64": _wrapped(
        "value", "np.asarray(value) if is_truth(value) else np.asarray(value, dtype=np.float64)"
    ),
    "JAX arrays": _wrapped("value", "jnp.asarray(value)"),
    "fractions": _wrapped("value", _NUMBERS.format("Fraction(float(value))")),
    "decimals": _wrapped("value", _NUMBERS.format("Decimal(float(value))")),
    "arguments as JAX scalars": _wrapped(
        "jnp.float32(value) if isinstance(value, float) else value", "value"
    ),
}

# What JAX can't differentiate; wrong where gradients are asked for.
OUT_OF_JAX = {"NumPy", "Python numbers", "NumPy arrays", "NumPy float64", "fractions", "decimals"}
