"""Ask functions that live in this very process: a student's own notebook or script, checked by the
student. Nothing is confined here; a stranger's code is asked through the sandbox."""

from collections.abc import Callable
from typing import Any

from grader import wire
from grader.answers import answer_from, call_of
from grader.model import Answer, Question, Raised
from grader.worker import calling


def ask_namespace(namespace: dict[str, Any]) -> Callable[[Question], Answer]:
    """An `ask` for the functions and constants that `namespace` defines.

    Answers take the way over the wire's bytes, so that they are what a worker would have sent.
    `ask` raises KeyboardInterrupt when the student interrupts a call, and nothing else.
    """

    def ask(question: Question) -> Answer:
        name, arguments, gradient = call_of(question)
        with calling.switches_kept():
            reply = calling.call(namespace, name, arguments, gradient=gradient)
        answer = answer_from(wire.decode(calling.encoded(reply)))
        if isinstance(answer, Raised) and "KeyboardInterrupt" in answer.kinds:
            raise KeyboardInterrupt
        return answer

    return ask
