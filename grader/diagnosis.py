"""From a transcript to the misconception behind it, when there is exactly one that explains it."""

from collections.abc import Sequence

from grader import judge
from grader.catalogue import Catalogue
from grader.model import Exchange, Misconception, Missing


def diagnose(
    function: str, transcript: Sequence[Exchange], catalogue: Catalogue
) -> Misconception | None:
    """The one misconception about `function` that every answer agrees with, and that differs from
    the truth at one of the questions at least; None when there is none, or more than one."""
    exchanges = [
        exchange
        for exchange in transcript
        if exchange.question.function == function and not isinstance(exchange.answer, Missing)
    ]
    found = [
        misconception
        for misconception in catalogue.misconceptions
        if misconception.function == function and _explains(misconception, exchanges, catalogue)
    ]
    return found[0] if len(found) == 1 else None


def _explains(
    misconception: Misconception, exchanges: Sequence[Exchange], catalogue: Catalogue
) -> bool:
    differs = False
    for exchange in exchanges:
        due = misconception.due(exchange.question)
        if due is None:
            continue
        if judge.judged(exchange.answer, due).wrong is not None:
            return False
        truth = catalogue.truth(exchange.question)
        differs = differs or (
            truth is not None and judge.judged(exchange.answer, truth).wrong is not None
        )
    return differs and bool(exchanges)
