"""What is known of the exercises: what ships with each, its key where there is one, and where both
are found. Keys are found by file name at run time; nothing imports one by name.
"""

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from grader import judge
from grader.errors import GraderFault, UsageError
from grader.model import Argument, Exercise, Misconception, Question, strict_json

PACKAGE = Path(__file__).parent


def names() -> list[str]:
    """Every exercise that ships, in alphabetical order."""
    return sorted(path.stem for path in (PACKAGE / "public").glob("*.json"))


def exercise(name: str) -> Exercise:
    """What ships of one exercise; UsageError for a name that there isn't."""
    path = PACKAGE / "public" / f"{name}.json"
    if not path.is_file():
        raise UsageError(f"there is no exercise {name!r}; there are: {', '.join(names())}")
    return _decoded(path, path.stat().st_mtime_ns)


@functools.cache
def _decoded(path: Path, changed: int) -> Exercise:
    """The exercise in a file that was last changed then: reading a page asks for all of them."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Exercise)
    except msgspec.DecodeError as error:
        raise GraderFault(
            f"{path.name} is damaged ({error}); make it anew: grader scaffolds"
        ) from error


def has_key(name: str) -> bool:
    """Whether the hidden checks of this exercise are here."""
    return (PACKAGE / "keys" / f"{name}.py").is_file()


def key(name: str) -> Any:
    """The key's module, with TITLE, TRUTH, EXAMPLES and MISCONCEPTIONS.

    Where gradients are asked for, also GRADIENTS and GRADIENT_EXAMPLES.
    """
    return importlib.import_module(f"grader.keys.{name}")


def due(module: Any, question: Question) -> judge.Due:
    """What a key says is due."""
    truths = module.GRADIENTS if question.gradient else module.TRUTH
    found: judge.Due = truths[question.function](*(question.arguments or ()))
    return found


def examples(module: Any) -> list[Question]:
    """The worked examples of a key, in the order in which they ship."""
    plain = [Question(function, arguments) for function, arguments in module.EXAMPLES]
    return plain + [
        Question(function, arguments, gradient=True)
        for function, arguments in getattr(module, "GRADIENT_EXAMPLES", ())
    ]


class Catalogue(msgspec.Struct, frozen=True):
    """The misconceptions about one exercise, and the truth, as far as each is known here.

    `due` and `truth` are None at an input that is not covered: without a key only the worked
    examples are.
    """

    misconceptions: list[Misconception]
    truth: Callable[[Question], judge.Due | None]


def catalogue(name: str) -> Catalogue:
    """The exercise's catalogue from its key, or from what ships when there is no key."""
    return _from_key(key(name)) if has_key(name) else _from_examples(exercise(name))


def _from_key(module: Any) -> Catalogue:
    return Catalogue(list(module.MISCONCEPTIONS), lambda question: due(module, question))


def _from_examples(shipped: Exercise) -> Catalogue:
    places = {
        repr((example.function, list(example.arguments), example.gradient)): place
        for place, example in enumerate(shipped.examples)
    }

    def place_of(question: Question) -> int | None:
        arguments = strict_json(question.arguments or ())
        return places.get(repr((question.function, arguments, question.gradient)))

    def truth(question: Question) -> judge.Due | None:
        place = place_of(question)
        return None if place is None else judge.baked(shipped.examples[place].due)

    def answers(function: str, baked: list[Any], gradient: bool) -> Callable[..., judge.Due | None]:
        def answer(*arguments: Argument) -> judge.Due | None:
            place = place_of(Question(function, arguments, gradient))
            data = None if place is None else baked[place]
            return None if data is None else judge.baked(data)

        return answer

    entries = [
        Misconception(
            name=m.name,
            function=m.function,
            answer=answers(m.function, m.answers, gradient=False),
            witness=(),
            explanation=m.explanation,
            gradient=answers(m.function, m.answers, gradient=True),
        )
        for m in shipped.misconceptions
    ]
    return Catalogue(entries, truth)


def clone() -> Path:
    """The root of the instructor's clone; UsageError where the package came without one."""
    root = PACKAGE.parent
    if not (root / "solutions").is_dir() or not (root / "exercises").is_dir():
        raise UsageError("this needs the instructor's clone: there is no solutions/ here")
    return root
