"""nbgrader's settings for courses that hold pages of ours: `configure(c)` in nbgrader_config.py."""

import os
import sysconfig
from collections.abc import Sequence
from typing import Any

from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.preprocessors import ClearSolutions, Execute
from traitlets.config import Config
from traitlets.config.loader import LazyConfigValue
from traitlets.utils.importstring import import_item

from grader.course.engines import share_engines
from grader.course.execute import GraderExecute
from grader.course.mend import MendCells
from grader.course.reading import PageExporter
from grader.course.release import ClearPageSolutions
from grader.errors import UsageError

LINES = """\
from grader.course.settings import configure

configure(c)
"""

CONFIG = '''\
"""nbgrader's settings for this course, made by `grader course init`; yours to add to."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = {course!r}

# A graded cell that a student deleted comes back. Without it, an earlier score would stay.
c.OverwriteCells.add_missing_cells = True

# Pages of this course are graded in the grader's sandbox instead of a kernel; every other notebook
# is left to nbgrader. This goes last, and keeps what you have set above.
{lines}'''


def nbgrader_config(course: str) -> str:
    """Return the settings of a course with the id `course`, as a Python file."""
    return CONFIG.format(course=course, lines=LINES)


def configure(c: Config) -> None:
    """Have nbgrader release and grade pages of ours as we do; what `c` holds already stays.

    UsageError where nothing in `c.Autograde.autograde_preprocessors` is nbgrader's `Execute`.
    """
    c.GenerateAssignment.preprocessors = [
        ClearPageSolutions if step is ClearSolutions else step
        for step in _steps(c, GenerateAssignment, "preprocessors")
    ]
    sanitize = _steps(c, Autograde, "sanitize_preprocessors")
    if MendCells not in sanitize:
        c.Autograde.sanitize_preprocessors = [MendCells, *sanitize]
    autograde = _steps(c, Autograde, "autograde_preprocessors")
    if not {Execute, GraderExecute} & set(autograde):
        raise UsageError(
            "nothing in c.Autograde.autograde_preprocessors is nbgrader's Execute, in whose place "
            "the grader stands; put grader.course.execute.GraderExecute where your notebooks are "
            "executed, and leave configure(c) out"
        )
    c.Autograde.autograde_preprocessors = [
        GraderExecute if step is Execute else step for step in autograde
    ]
    if "exporter_class" not in c.Autograde:
        c.Autograde.exporter_class = PageExporter
    share_engines()
    # nbgrader calls `alembic` by name; this finds it where the environment isn't activated, too.
    scripts = sysconfig.get_path("scripts")
    os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", "")])


def _steps(c: Config, owner: type[Any], name: str) -> Sequence[type]:
    """Return what happens to a notebook in a part of nbgrader: what `c` says, or nbgrader's own."""
    own: list[type] = owner.class_traits()[name].default()
    found = c[owner.__name__].get(name, own)
    if isinstance(found, LazyConfigValue):  # added to nbgrader's own
        found = found.get_value(list(own))
    return [_class(step) for step in found]


def _class(step: type | str) -> type:
    """Return a class that may be given by its dotted name."""
    found: type = import_item(step) if isinstance(step, str) else step
    return found
