"""What `nbgrader generate_assignment` leaves out of a page of ours, whatever a course has set.

A page needs the settings that it was written for; other notebooks keep those of their course.
"""

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions
from traitlets.config import Config

from grader.course.cells import has_check
from grader.scaffolds import NBGRADER_SETTINGS

Result = tuple[NotebookNode, dict[str, Any]]


class ClearPageSolutions(ClearSolutions):  # type: ignore[misc]  # nbgrader ships no types
    """Nbgrader's own, with our stub in pages of ours."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> Result:
        """Put stubs where solutions stand."""
        if not has_check(nb.cells):
            return _result(super().preprocess(nb, resources))
        return _result(ClearSolutions(config=Config(NBGRADER_SETTINGS)).preprocess(nb, resources))


class ClearPageHiddenTests(ClearHiddenTests):  # type: ignore[misc]
    """Nbgrader's own, where the hidden part of a page of ours may stand in any cell."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> Result:
        """Leave hidden parts out."""
        if not has_check(nb.cells):
            return _result(super().preprocess(nb, resources))
        return _result(ClearHiddenTests(config=Config(NBGRADER_SETTINGS)).preprocess(nb, resources))


def _result(done: Any) -> Result:
    """What an untyped preprocessor returned."""
    notebook, resources = done
    return notebook, resources
