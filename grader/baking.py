"""Make `grader/public/NAME.json`, what ships of an exercise's key: worked examples with their due
answers and bounds, and what each misconception answers to them."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from grader import catalogue, judge
from grader.model import (
    BakedMisconception,
    Example,
    Exercise,
    Misconception,
    Question,
    strict_json,
)
from grader.pages import code_fingerprint, read_page


def signatures(source: str) -> dict[str, list[str] | None]:
    """The due names of a page, from its reference solution: functions with their argument names,
    and upper-case constants with None."""
    found: dict[str, list[str] | None] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name] = [argument.arg for argument in node.args.args]
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id.isupper():
                    found[target.id] = None
    return found


_HINT = re.compile(r"^# <details>\n# <summary>.*?</summary>\n(.*?)^# </details>", re.S | re.M)


def hint(source: str) -> str:
    """The hint that a page keeps folded away, or nothing."""
    found = _HINT.search(source)
    lines = found[1].split("\n") if found else []
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines).strip()


def shipped(name: str, source: str, scaffolds: list[bytes]) -> Exercise:
    """What ships of the exercise `name`, whose page has the text `source`."""
    key = catalogue.key(name)
    due_names = {
        function: names for function, names in signatures(source).items() if function in key.TRUTH
    }
    questions = catalogue.examples(key)
    examples = [
        Example(
            question.function,
            strict_json(question.arguments),
            judge.bake(catalogue.due(key, question)),
            question.gradient,
        )
        for question in questions
    ]
    misconceptions = [
        BakedMisconception(
            entry.name, entry.function, _one_line(entry.explanation), _answers(entry, questions)
        )
        for entry in key.MISCONCEPTIONS
    ]
    untouched = [code_fingerprint(read_page(scaffold, name)) for scaffold in scaffolds]
    return Exercise(name, key.TITLE, due_names, untouched, hint(source), examples, misconceptions)


def _answers(entry: Misconception, examples: list[Question]) -> list[dict[str, Any] | None]:
    dues = [entry.due(question) for question in examples]
    return [None if due is None else judge.bake(due) for due in dues]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def render(root: Path, pages: Mapping[Path, bytes]) -> dict[Path, bytes]:
    """Every baked file of the clone at `root`: path below `root`, and content.

    `pages` are the rendered scaffolds, by path below `root`.
    """
    public, files = Path("grader/public"), {}
    for path in sorted((root / "grader" / "keys").glob("[a-z]*.py")):
        source = (root / "solutions" / path.name).read_text(encoding="utf-8")
        scaffolds = [pages[Path("exercises") / f"{path.stem}{end}"] for end in (".py", ".ipynb")]
        data = msgspec.json.encode(shipped(path.stem, source, scaffolds))
        files[public / f"{path.stem}.json"] = msgspec.json.format(data, indent=1) + b"\n"
    files[public / "lesson.py"] = (root / "exercises" / "lesson.py").read_bytes()
    return files
