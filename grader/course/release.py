"""What `nbgrader generate_assignment` leaves out of a page of ours, whatever a course has set.

A page needs the settings that it was written for; other notebooks keep those of their course.
"""

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions
from traitlets.config import Config

from grader.course.cells import has_check
from grader.scaffolds import NBGRADER_SETTINGS


class ClearPageSolutions(ClearSolutions):  # type: ignore[misc]  # nbgrader ships no types
    """Nbgrader's own, with our stub in pages of ours.

    The hidden part of a page is the stub of a constant, in its solution cell. It goes here, too:
    the grade book keeps cells as they are after this step, and tells by that who has not answered.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Put stubs where solutions stand."""
        if not has_check(nb.cells):
            cleared: tuple[NotebookNode, dict[str, Any]] = super().preprocess(nb, resources)
            return cleared
        for step in (ClearSolutions, ClearHiddenTests):
            nb, resources = step(config=Config(NBGRADER_SETTINGS)).preprocess(nb, resources)
        return nb, resources
