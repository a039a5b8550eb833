"""The `nbgrader_config.py` of a course."""

from collections.abc import Iterable

from nbgrader.converters import Autograde
from nbgrader.preprocessors import Execute

from grader import scaffolds
from grader.course.execute import GraderExecute
from grader.course.mend import MendCells

CONFIG = '''\
"""nbgrader's settings for this course, made by `grader course init`; yours to add to."""

import os
import sysconfig

{pages}
c.CourseDirectory.course_id = {course!r}

# nbgrader calls `alembic` by name; this finds it where the environment isn't activated, too.
os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])

# A graded cell that a student deleted comes back. Without it, an earlier score would stay.
c.OverwriteCells.add_missing_cells = True

# nbgrader's own lists, where the first of each is ours. Pages of this course get back nbgrader's
# marks on their cells, and are graded in the grader's sandbox instead of a kernel. Every other
# notebook is left to nbgrader.
c.Autograde.sanitize_preprocessors = [
{sanitize}
]
c.Autograde.autograde_preprocessors = [
{autograde}
]
'''


def nbgrader_config(course: str) -> str:
    """Return the settings of a course with the id `course`, as a Python file."""
    return CONFIG.format(
        pages=scaffolds.nbgrader_config(),
        course=course,
        sanitize=_listed([MendCells, *_steps("sanitize_preprocessors")]),
        autograde=_listed(
            GraderExecute if step is Execute else step for step in _steps("autograde_preprocessors")
        ),
    )


def _steps(name: str) -> list[type]:
    """Return nbgrader's own list of what happens to a notebook in a part of `autograde`."""
    steps: list[type] = Autograde.class_traits()[name].default()
    return steps


def _listed(steps: Iterable[type]) -> str:
    """Return the lines of a list that names these classes."""
    return "\n".join(f'    "{step.__module__}.{step.__qualname__}",' for step in steps)
