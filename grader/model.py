"""The records that pass between the rooms. Frozen, plain, and ignorant of everything else.

Values are what a student's code returned, after the wire: plain Python numbers and text, and the
four shapes below for what plain Python can't say.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from msgspec import Struct

# --- what came back from a student's code -------------------------------------------------------


class Array(Struct, frozen=True):
    """An array of either library, unpacked: `items` in C order, as Python numbers.

    `dtype` is one of `bool`, `int`, `float32`, `float64`: what the judge and the reader need to
    know of a dtype, not its whole name.
    """

    dtype: str
    shape: tuple[int, ...]
    items: tuple[Any, ...]


class Opaque(Struct, frozen=True):
    """Something that is no answer (a generator, a function, too big an array), described."""

    description: str


Value: TypeAlias = (
    bool | int | float | str | Fraction | Array | Opaque | tuple[Any, ...] | dict[str, Any] | None
)
Argument: TypeAlias = Any
"""What a check hands to a student's function: floats, ints, None, text, lists (float32 arrays, or
bool arrays), `Formula`s, and dicts of these."""


class Formula(Struct, frozen=True):
    """A function of one number, as a sum of terms; the worker makes a JAX function of it.

    A term is (kind, factor, parameter): `power` is factor*w**parameter (a whole parameter >= 0),
    `exp`, `sin` and `cos` are factor times that function of parameter*w.
    """

    terms: tuple[tuple[str, float, float], ...]

    def __str__(self) -> str:
        return " + ".join(_TERMS[kind].format(f"{c:g}", f"{p:g}") for kind, c, p in self.terms)


_TERMS = {
    "power": "{}*w**{}",
    **{name: f"{{}}*{name}({{}}*w)" for name in ("exp", "sin", "cos")},
}


class Question(Struct, frozen=True):
    """One call of a student's function, or (without `arguments`) one look at a constant.

    With `gradient` the call is of the function's gradient with respect to its first argument, which
    the worker takes beside the student's code.
    """

    function: str
    arguments: tuple[Argument, ...] | None
    gradient: bool = False


class Returned(Struct, frozen=True):
    """The function came back with a value (or the constant has one)."""

    value: Value
    changed_argument: bool = False


class Raised(Struct, frozen=True):
    """The function raised. `kinds` are its class and built-in bases, the most specific first."""

    type_name: str
    kinds: tuple[str, ...]
    message: str
    line: int | None = None


class Missing(Struct, frozen=True):
    """The submission defines no such name. `why` tells what is known about it."""

    why: str = ""


class TimedOut(Struct, frozen=True):
    """The call, or the exercise file, used up its time."""


class Crashed(Struct, frozen=True):
    """The student's code ended its own process."""

    how: str = ""


Answer: TypeAlias = Returned | Raised | Missing | TimedOut | Crashed


class Exchange(Struct, frozen=True):
    """One question with its answer, as a transcript keeps it."""

    question: Question
    answer: Answer


# --- what an exercise is -------------------------------------------------------------------------


class Example(Struct, frozen=True, omit_defaults=True):
    """A worked example that ships to students: the question and its due answer, as plain data
    (the arguments as `strict_json` writes them)."""

    function: str
    arguments: list[Argument]
    due: dict[str, Any]
    gradient: bool = False


class Misconception(Struct, frozen=True):
    """A wrong answer that students really give, as a small function of the exact inputs.

    `answer` takes the arguments of `function` (nothing for a constant) and returns what someone
    with this misconception returns, as a due of the judge; None where people who hold it return
    this and that. `gradient` is the same for the function's gradient; without it, nothing is known
    of that. `witness` is an input at which the answer, or the gradient, differs from the truth.
    `explanation` is for the student: at most 160 words that point to the line of reasoning, not to
    the formula.
    """

    name: str
    function: str
    answer: Callable[..., Any]
    witness: tuple[Argument, ...]
    explanation: str
    gradient: Callable[..., Any] | None = None

    def due(self, question: Question) -> Any:
        """What someone with this misconception answers; None where that is open."""
        if question.function != self.function:
            return None
        answer = self.gradient if question.gradient else self.answer
        return None if answer is None else answer(*(question.arguments or ()))


class BakedMisconception(Struct, frozen=True):
    """A misconception as students get it: its answers to the worked examples, in their order."""

    name: str
    function: str
    explanation: str
    answers: list[dict[str, Any] | None]


class Exercise(Struct, frozen=True):
    """What ships of an exercise beside its page. `signatures` map each due function to its
    argument names, and each constant to None; `untouched` are the fingerprints of its scaffolds;
    `hint` is what its page keeps folded away."""

    name: str
    title: str
    signatures: dict[str, list[str] | None]
    untouched: list[str]
    hint: str
    examples: list[Example]
    misconceptions: list[BakedMisconception]


# --- what a grading says ------------------------------------------------------------------------

Outcome: TypeAlias = Literal[
    "passed", "failed", "not_attempted", "timed_out", "crashed", "needs_person", "not_determined"
]
Status: TypeAlias = Literal["graded", "missing", "ambiguous", "unreadable", "not_graded"]
Visibility: TypeAlias = Literal["public", "hidden"]


class Counterexample(Struct, frozen=True):
    """The smallest input found: its arguments by name, what came back, what was due; of the
    function, or of its `gradient`."""

    arguments: dict[str, Any]
    got: str
    due: str | None = None
    bound: str | None = None
    gradient: bool = False


class CheckReport(Struct, frozen=True):
    """One check's verdict on one submission. `score` is None when not determined."""

    name: str
    title: str
    function: str
    visibility: Visibility
    points: float
    score: float | None
    outcome: Outcome
    misconception: str | None = None
    message: str = ""
    counterexample: Counterexample | None = None
    manual_points: float | None = None


class ExerciseReport(Struct, frozen=True):
    """One exercise of one submission. `series` holds what pictures need, by name of the run;
    `pictures` are PNG files that the page itself drew, where they were asked for."""

    name: str
    file: str | None
    score: float | None
    max_score: float
    status: Status
    notes: list[str]
    output: str
    checks: list[CheckReport]
    series: dict[str, Any] = {}
    pictures: list[bytes] = []


class Report(Struct, frozen=True):
    """Everything about one student's submission; one line of `results.jsonl`."""

    student: str
    score: float | None
    max_score: float
    seconds: float
    versions: dict[str, str]
    notes: list[str]
    exercises: list[ExerciseReport]
    schema: int = 1
    fingerprint: str = ""


def total(scores: list[float | None]) -> float | None:
    """Sum of `scores`; None when any of them is not determined."""
    known = [score for score in scores if score is not None]
    return sum(known) if len(known) == len(scores) else None


def nearest_double(number: Any) -> float:
    """A number as a double; an infinity for what is beyond all doubles."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def strict_json(value: Any) -> Any:
    """A value for strict JSON: non-finite floats become "nan", "inf" and "-inf", and a formula its
    text with its terms."""
    if isinstance(value, Formula):
        return {"formula": str(value), "terms": [list(term) for term in value.terms]}
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    if isinstance(value, list | tuple):
        return [strict_json(item) for item in value]
    if isinstance(value, dict):
        return {key: strict_json(item) for key, item in value.items()}
    return value


def from_strict_json(value: Any) -> Any:
    """The value that `strict_json` made this from, lists for tuples."""
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return float(value)
    if isinstance(value, list):
        return [from_strict_json(item) for item in value]
    if isinstance(value, dict) and value.keys() == {"formula", "terms"}:
        return Formula(tuple((str(kind), *numbers) for kind, *numbers in value["terms"]))
    if isinstance(value, dict):
        return {key: from_strict_json(item) for key, item in value.items()}
    return value
