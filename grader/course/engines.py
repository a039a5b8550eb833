"""One SQLAlchemy engine for each grade book that nbgrader opens in this process.

nbgrader opens the grade book some ten times for a notebook, each time with a new engine, for which
every statement is compiled anew: almost half of what autograding costs besides the grading. It has
no setting for that, so the name that it calls is replaced.
"""

import functools
from typing import Any

import nbgrader.api
from sqlalchemy import Engine, create_engine


def share_engines() -> None:
    """Have every grade book of one address use the same engine from now on."""
    nbgrader.api.create_engine = _engine


@functools.cache
def _engine(url: str, **options: Any) -> Engine:
    """Return the engine of an address. A grade book that is closed closes its connections."""
    return create_engine(url, **options)
