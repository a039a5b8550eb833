"""`check("NAME")` as the last line of a page: the public checks on the functions defined there."""

import sys
from typing import Any

from grader import catalogue
from grader.grading import named_checks
from grader.inprocess import ask_namespace
from grader.model import ExerciseReport, total
from grader.reports.text import exercise_text
from grader.suite import with_suite


def check(name: str, namespace: dict[str, Any] | None = None) -> None:
    """Run the public checks of the exercise `name` on the caller's functions and print a table.

    `namespace` maps names to functions; without it, the globals of whoever calls. Raises
    AssertionError in a notebook when a check does not pass, so that nbgrader's Validate sees it;
    a script ends with status 1 instead, without a traceback. UsageError for an unknown name.
    """
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
    print(exercise_text(report, for_student=True))
    if all(item.outcome in ("passed", "needs_person") for item in checks):
        return
    if namespace is None and _is_script(scope):
        sys.exit(1)
    raise AssertionError(f"some public checks of {name} do not pass; the table above tells which")


def _is_script(scope: dict[str, Any]) -> bool:
    return scope.get("__name__") == "__main__" and "get_ipython" not in scope
