"""unstable-learning: an autograded course on debugging unstable training.

Two names are exported, and looked up only when asked for, so that the process that runs a
student's code can import this package without loading the grader.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.grading import grade
    from grader.selfcheck import check

__all__ = ["check", "grade"]


def __getattr__(name: str) -> Any:
    if name == "check":
        from grader.selfcheck import check

        return check
    if name == "grade":
        from grader.grading import grade

        return grade
    raise AttributeError(f"module 'grader' has no attribute {name!r}")
