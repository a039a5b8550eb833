"""An existing course, with nbgrader's own settings and API."""

import contextlib
import warnings
from pathlib import Path

from nbgrader.apps.api import NbGraderAPI
from nbgrader.apps.baseapp import NbGrader
from sqlalchemy.exc import SAWarning

from grader.errors import UsageError

CONFIG = "nbgrader_config.py"


def opened(folder: Path) -> NbGraderAPI:
    """Return nbgrader's API on the course in `folder`, with the settings that its commands use.

    UsageError when there is no course, or its settings can't be read.
    """
    folder = folder.absolute()
    if not (folder / CONFIG).is_file():
        raise UsageError(
            f"{str(folder)!r} is no course: there is no {CONFIG} in it; "
            "`grader course init DIR` makes one"
        )
    # nbgrader adds a submission before SQLAlchemy's session knows it: harmless, and nobody's news.
    warnings.filterwarnings("ignore", "Object of type <Submitted", SAWarning)
    app = NbGrader()
    app.raise_config_file_errors = True
    with contextlib.chdir(folder):
        try:
            app.initialize([], root=str(folder))
        except (Exception, SystemExit) as error:  # it is a program, and traitlets gives up by exit
            raise UsageError(f"{folder / CONFIG} can't be read: {error}") from error
    return NbGraderAPI(coursedir=app.coursedir, parent=app)
