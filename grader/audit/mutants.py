"""Wrong programs by the hundred: each reference solution with one thing changed.

A program is the solution with what it takes from the lesson spelled out, without comments, texts
and annotations. It is mutated by cosmic-ray's operators and by numerical ones of our own.
"""

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping

import cosmic_ray.plugins
from cosmic_ray.mutating import mutate_code
from msgspec import Struct

from grader import catalogue
from grader.pages import read_page
from grader.submissions import lesson

REDUCTIONS = ("mean", "sum", "max", "min", "prod", "median")
SWAPS = {
    **{name: tuple(other for other in REDUCTIONS if other != name) for name in REDUCTIONS},
    **{"any": ("all",), "all": ("any",), "maximum": ("minimum",), "minimum": ("maximum",)},
    **{"isfinite": ("isnan",), "isnan": ("isfinite",), "abs": ("square", "sign")},
}
NEARBY = (1.01, 0.99, 1.001, 0.999)


class Mutant(Struct, frozen=True):
    """A program with one change: what made it, in which function, and the lines that differ."""

    operator: str
    function: str
    change: str
    program: str

    @property
    def name(self) -> str:
        """What it goes by, also in the list of equivalents: the place, and the change."""
        return f"{self.function}: {self.change}"


def mutants(exercise: str) -> list[Mutant]:
    """Every mutant of an exercise's reference solution, no two of them the same program."""
    parts, due = program_of(exercise), catalogue.exercise(exercise).signatures
    once: dict[str, Mutant] = {}
    for place, part in enumerate(parts):
        for operator, text in changed(part, due):
            if text == part:
                continue
            program = joined([*parts[:place], text, *parts[place + 1 :]])
            mutant = Mutant(operator, _defined(part), _difference(part, text), program)
            once.setdefault(program, mutant)
    return list(once.values())


def joined(parts: list[str]) -> str:
    """A program's parts as one text."""
    return "\n\n\n".join(parts) + "\n"


def _defined(part: str) -> str:
    node = ast.parse(part).body[0]
    if isinstance(node, ast.FunctionDef):
        return node.name
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else "imports"


def _difference(before: str, after: str) -> str:
    """The first lines that differ, from and to."""
    old, new = before.split("\n"), after.split("\n")
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    from_, to = (" / ".join(line.strip() for line in lines) or "nothing" for lines in (old, new))
    return f"{from_}  ->  {to}"


# --- the program ----------------------------------------------------------------------------------


def program_of(exercise: str) -> list[str]:
    """The parts of the reference solution: its imports, and each function and constant that counts.

    What it calls of the lesson's is among them: `lesson.run` is `lesson_run`.
    """
    page = read_page(
        (catalogue.clone() / "solutions" / f"{exercise}.py").read_bytes(), f"{exercise}.py"
    )
    own = _definitions("\n".join(source for source, _ in page.cells))
    lessons = _definitions(lesson(), "lesson_")
    due = catalogue.exercise(exercise).signatures
    needed = _reached(list(due), {**lessons, **own})
    imports = "import math\nimport jax\nimport jax.numpy as jnp\nimport lesson\nimport numpy as np"
    definitions = {**lessons, **own}
    return [imports, *(definitions[name] for name in definitions if name in needed)]


def _definitions(code: str, prefix: str = "") -> dict[str, str]:
    """Functions and constants by name, each as plain code; of two, the last.

    `prefix` comes before the names of all that is defined here.
    """
    tree = ast.parse(code)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    own |= {target.id for target in _targets(tree)}
    found: dict[str, str] = {}
    for node in _Plain(dict.fromkeys(own, prefix)).visit(tree).body:
        if isinstance(node, ast.FunctionDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        else:
            continue
        found.pop(name, None)
        found[name] = ast.unparse(node)
    return found


def _targets(tree: ast.Module) -> Iterator[ast.Name]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0]


def _reached(names: list[str], definitions: dict[str, str]) -> set[str]:
    """The names, and all that is defined here and used by what they stand for."""
    reached: set[str] = set()
    while names:
        name = names.pop()
        if name not in reached and name in definitions:
            reached.add(name)
            used = ast.walk(ast.parse(definitions[name]))
            names += [node.id for node in used if isinstance(node, ast.Name)]
    return reached


class _Plain(ast.NodeTransformer):
    """Without texts and annotations, the lesson's names as names of its own, and prefixes added."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.prefixes = prefixes

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.prefixes.get(node.id, "") + node.id, node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.prefixes.get(node.name, "") + node.name
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "lesson":
            return ast.Name(f"lesson_{node.attr}", node.ctx)
        return node


# --- what is changed ------------------------------------------------------------------------------


def changed(part: str, due: Collection[str]) -> Iterator[tuple[str, str]]:
    """A part with one change, by the operator that makes it."""
    if not part.startswith(("def", "@")) and _defined(part) not in due:
        return  # imports, and what the lesson has as its own example
    yield from _by_cosmic_ray(part)
    yield from _by_numerics(part)


def _by_cosmic_ray(part: str) -> Iterator[tuple[str, str]]:
    for name in sorted(cosmic_ray.plugins.operator_names()):
        operator = cosmic_ray.plugins.get_operator(name)
        if operator.arguments():
            continue  # variables put in at random
        for occurrence in range(1_000):
            text = mutate_code(part, operator(), occurrence)
            if text is None:
                break
            if _is_python(text):
                yield name.removeprefix("core/"), text


def _is_python(text: str) -> bool:
    """Whether an operator has left a program: `a < not b`, one of them, is none."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _by_numerics(part: str) -> Iterator[tuple[str, str]]:
    tree = ast.parse(part)
    for name, operator in NUMERICAL.items():
        for place, node in enumerate(ast.walk(tree)):
            for change in range(len(operator(node, tree))):
                changed = copy.deepcopy(tree)
                target = list(ast.walk(changed))[place]
                replacement = operator(target, changed)[change]
                text = ast.unparse(_Replaced(target, replacement).visit(changed))
                yield name, text


class _Replaced(ast.NodeTransformer):
    """A tree with one node replaced."""

    def __init__(self, target: ast.AST, replacement: ast.AST) -> None:
        self.target, self.replacement = target, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        """The replacement for the target, and every other node as it is."""
        return self.replacement if node is self.target else super().generic_visit(node)


def _swapped_reduction(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Attribute) and node.attr in SWAPS:
        return [ast.Attribute(node.value, name, node.ctx) for name in SWAPS[node.attr]]
    return []


def _dropped_reduction(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    """`mean(x)` as `x`, `clip(x, low, high)` as `x`, `where(c, a, b)` as each of them."""
    return list(node.args) if isinstance(node, ast.Call) else []


def _dropped_operand(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    return [node.left, node.right] if isinstance(node, ast.BinOp) else []


def _sign(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [ast.UnaryOp(ast.USub(), node)] if isinstance(node, ast.BinOp | ast.Call) else []


def _order(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    """Operands and arguments the other way round."""
    if isinstance(node, ast.BinOp):
        return [ast.BinOp(node.right, node.op, node.left)]
    if isinstance(node, ast.Call):
        swapped = []
        for place in range(len(node.args) - 1):
            args = [*node.args]
            args[place : place + 2] = reversed(args[place : place + 2])
            swapped.append(ast.Call(node.func, args, node.keywords))
        return [*swapped]
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        return [ast.Tuple([*reversed(node.elts)], node.ctx)]
    return []


def _power(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        higher = ast.BinOp(node.right, ast.Add(), ast.Constant(1))
        return [node.left, ast.BinOp(node.left, ast.Pow(), higher)]
    return []


def _nearby(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    """A number that is off by 1 % or 0.1 %, and a result that is."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value:
        return [ast.Constant(node.value * factor) for factor in NEARBY]
    if isinstance(node, ast.Return) and node.value is not None:
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        return [
            ast.Return(_with(node.value, value, ast.BinOp(value, ast.Mult(), ast.Constant(factor))))
            for value in values
            for factor in NEARBY
        ]
    return []


def _with(whole: ast.expr, value: ast.expr, changed: ast.expr) -> ast.expr:
    if whole is value:
        return changed
    assert isinstance(whole, ast.Tuple)
    return ast.Tuple([changed if each is value else each for each in whole.elts], ast.Load())


def _step_count(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    """A range, a length, or an index that is off by one."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in COUNTS:
        return [ast.BinOp(node, operator, ast.Constant(1)) for operator in (ast.Add(), ast.Sub())]
    return []


COUNTS = ("steps", "step", "n", "index")


def _statements(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    """A statement left out, and two neighbours the other way round: updates before and after."""
    if not isinstance(node, ast.FunctionDef | ast.For | ast.If):
        return []
    changed: list[ast.AST] = []
    for place in range(len(node.body)):
        shorter = [*node.body[:place], *node.body[place + 1 :]] or [ast.Pass()]
        bodies = [shorter]
        if place + 1 < len(node.body):
            swapped = [*node.body]
            swapped[place : place + 2] = reversed(swapped[place : place + 2])
            bodies.append(swapped)
        for body in bodies:
            other = copy.copy(node)
            other.body = body
            changed.append(other)
    return changed


def _wrong_argument(node: ast.AST, tree: ast.AST) -> list[ast.AST]:
    """A parameter where another one is meant."""
    if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
        return []
    names = [arg.arg for arg in ast.walk(tree) if isinstance(arg, ast.arg)]
    if node.id not in names:
        return []
    return [ast.Name(name, node.ctx) for name in dict.fromkeys(names) if name != node.id]


def _guard(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    """An `if` that never or always holds; either side of a conditional expression."""
    if isinstance(node, ast.If):
        changed = []
        for value in (True, False):
            other = copy.copy(node)
            other.test = ast.Constant(value)
            changed.append(other)
        return [*changed]
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else []


def _exception(node: ast.AST, _: ast.AST) -> list[ast.AST]:
    """Another exception than the one that is due."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return [
            ast.Raise(ast.Call(ast.Name(name, ast.Load()), node.exc.args, []))
            for name in ("Exception", "KeyError")
        ]
    return []


def _wrong_text(node: ast.AST, tree: ast.AST) -> list[ast.AST]:
    """The next text of the same part where this one is meant; an exception's is of no account."""
    raised = {
        id(part)
        for each in ast.walk(tree)
        if isinstance(each, ast.Raise)
        for part in ast.walk(each)
    }
    texts = [
        each.value
        for each in ast.walk(tree)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in raised
    ]
    different = list(dict.fromkeys(texts))
    if not isinstance(node, ast.Constant) or id(node) in raised or node.value not in different:
        return []
    after = different[(different.index(node.value) + 1) % len(different)]
    return [ast.Constant(after)] if after != node.value else []


NUMERICAL: dict[str, Callable[[ast.AST, ast.AST], list[ast.AST]]] = {
    "swapped reduction": _swapped_reduction,
    "dropped reduction": _dropped_reduction,
    "dropped operand": _dropped_operand,
    "sign": _sign,
    "order": _order,
    "power": _power,
    "nearby number": _nearby,
    "off by one": _step_count,
    "statement": _statements,
    "wrong argument": _wrong_argument,
    "wrong text": _wrong_text,
    "guard": _guard,
    "exception": _exception,
}
"""What numerical programs get wrong, each as the nodes that may stand in a node's place."""
