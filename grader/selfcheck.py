"""`check("NAME")` as the last line of a page: the public checks on the functions defined there."""

import os
import sys
from typing import Any, NoReturn

from grader import catalogue
from grader.grading import named_checks
from grader.inprocess import ask_namespace
from grader.model import ExerciseReport, total
from grader.reports.text import exercise_text
from grader.suite import with_suite


class ChecksFailed(AssertionError):
    """Some public checks do not pass."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the text, not the grader's lines that raised it."""
        return str(self).splitlines()


def check(name: str, namespace: dict[str, Any] | None = None) -> None:
    """Run the public checks of the exercise `name` on the caller's functions and print a table.

    `namespace` maps names to functions; without it, the globals of whoever calls. Raises
    AssertionError in a notebook when a check does not pass, so that nbgrader's Validate sees it;
    a script ends with status 1 instead, without a traceback. UsageError for an unknown name.
    """
    execution = os.environ.get("NBGRADER_EXECUTION")
    if execution == "autograde":
        _end_the_kernel(name)
    caller = sys._getframe(1)
    scope = caller.f_globals if namespace is None else namespace
    exercise = catalogue.exercise(name)
    findings = with_suite(
        [name], lambda suite: suite.run(exercise, ask_namespace(scope)), hidden=False
    )
    checks = named_checks(findings, name)
    report = ExerciseReport(
        name=name,
        file=None,
        score=total([item.score for item in checks]),
        max_score=sum(item.points for item in checks),
        status="graded",
        notes=findings.notes,
        output="",
        checks=checks,
    )
    text = exercise_text(report, for_student=True)
    print(text)
    if all(item.outcome in ("passed", "needs_person") for item in checks):
        return
    if execution == "validate":  # nbgrader's button shows the error alone
        raise ChecksFailed(f"some public checks do not pass\n\n{text}")
    if namespace is None and _is_script(scope):
        sys.exit(1)
    raise ChecksFailed(f"some public checks of {name} do not pass; the table above tells which")


def _end_the_kernel(name: str) -> NoReturn:
    """Leave `nbgrader autograde` without a result: it has a student's code in a kernel, where it
    may do all that its instructor may, and would give points for the public checks alone."""
    said = (
        f"\ngrader: {name} must not be graded in a kernel, so this one ends, without points. In "
        "nbgrader_config.py, as the last lines:\n\n"
        "from grader.course.settings import configure\nconfigure(c)\n\n"
    )
    # A kernel's own standard error goes into the notebook; it keeps the one that it was given.
    os.write(getattr(sys.stderr, "_original_stdstream_copy", None) or 2, said.encode())
    os._exit(1)


def _is_script(scope: dict[str, Any]) -> bool:
    return scope.get("__name__") == "__main__" and "get_ipython" not in scope
