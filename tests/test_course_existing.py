"""A course that exists already, with notebooks that are none of our pages: nothing changes for it.

Its notebooks come with nbgrader: the quickstart course with the documented submissions, and the
fixtures of nbgrader's own tests of `autograde`.
"""

import os
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import nbformat
import nbgrader
import pytest
from nbgrader.api import Gradebook

from grader.course.settings import LINES
from tests.nbgrader_course import NAME, Course, solved
from tests.sample_class import ROOT, run_grader

pytestmark = pytest.mark.system

SHIPPED = Path(nbgrader.__file__).parent
FILES = SHIPPED / "tests" / "apps" / "files"
DOCUMENTED = SHIPPED / "docs" / "source" / "user_guide"
# An assignment's source, and what is handed in, by student.
FIXTURES = {
    "cheating": (
        "submitted-unchanged",
        {
            "unchanged": "submitted-unchanged",
            "changed": "submitted-changed",
            "grade_cell": "submitted-grade-cell-changed",
            "locked_cell": "submitted-locked-cell-changed",
            "attempt": "submitted-cheat-attempt",
            "alternative": "submitted-cheat-attempt-alternative",
        },
    ),
    **{
        f"autotest_{kind}": (
            f"autotest-{kind}",
            {
                "unchanged": f"autotest-{kind}-unchanged",
                "changed": f"autotest-{kind}-{changed}",
            },
        )
        for kind, changed in (
            ("simple", "changed"),
            ("multi", "changed"),
            ("hashed", "changed"),
            ("hidden", "changed-right"),
        )
    },
    "printed": ("test-with-output", {"unchanged": "test-with-output"}),
}


class Existing(Course):
    """A course that nbgrader's own quickstart made, as it comes or with our lines at the end."""

    def __init__(self, folder: Path, lines: str) -> None:
        super().__init__(folder)
        shutil.rmtree(self.folder)
        # nbgrader calls `alembic` by name: without our lines, the environment has to be active.
        self.environment["PATH"] = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.defpath}"
        self.folder.mkdir()
        self.nbgrader("quickstart", "quick")
        self.folder /= "quick"
        config = self.folder / "nbgrader_config.py"
        config.write_text(f"{config.read_text()}\n{lines}")
        shutil.copy(FILES / "autotests.yml", self.folder)

    def score(self, assignment: str, student: str) -> tuple[float, float]:
        """The points in the grade book, and those that there are."""
        with Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}") as book:
            score = book.find_submission(assignment, student).score
            return score, book.find_assignment(assignment).max_score


def run_all(course: Existing) -> dict[tuple[str, str], Any]:
    """All scores of a course after its commands."""
    shutil.copytree(DOCUMENTED / "submitted", course.folder / "submitted")
    course.nbgrader("generate_assignment", "ps1")
    course.nbgrader("autograde", "ps1")
    found = {("ps1", who): course.score("ps1", who) for who in ("bitdiddle", "hacker")}
    for assignment, (source, handed_in) in FIXTURES.items():
        place = course.folder / "source" / assignment / "page.ipynb"
        place.parent.mkdir()
        shutil.copy(FILES / f"{source}.ipynb", place)
        course.nbgrader("generate_assignment", assignment)
        for student, file in handed_in.items():
            place = course.folder / "submitted" / student / assignment / "page.ipynb"
            place.parent.mkdir(parents=True)
            shutil.copy(FILES / f"{file}.ipynb", place)
        course.nbgrader("autograde", assignment)
        found |= {(assignment, who): course.score(assignment, who) for who in handed_in}
    return found


def test_scores_are_those_that_nbgrader_alone_gives(tmp_path):
    alone = run_all(Existing(tmp_path / "alone", ""))
    assert (alone["ps1", "bitdiddle"], alone["ps1", "hacker"]) == ((1.5, 13.0), (3.0, 13.0))
    course = Existing(tmp_path / "with_us", LINES)
    assert run_all(course) == alone

    # Our pages beside them: their own stubs, whatever the course has set for its notebooks.
    made = tmp_path / "new"
    assert run_grader("course", "init", made).returncode == 0
    shutil.copytree(made / "source" / NAME, course.folder / "source" / NAME)
    course.nbgrader("generate_assignment", NAME)
    released = nbformat.read(course.folder / "release" / NAME / f"{NAME}.ipynb", 4)
    ours = nbformat.read(ROOT / "exercises" / f"{NAME}.ipynb", 4)
    assert released.cells[-len(ours.cells) :] == ours.cells  # below the course's own header
    before = course.kernels.read_text()
    course.submit("bitdiddle", solved(course))
    course.nbgrader("autograde", NAME)
    assert course.score(NAME, "bitdiddle") == (10.0, 10.0)
    assert course.kernels.read_text() == before


def test_without_our_lines_a_page_is_not_graded_in_a_kernel(tmp_path):
    course = Course(tmp_path)
    course.nbgrader("generate_assignment", NAME)
    course.submit("someone", solved(course))
    config = course.folder / "nbgrader_config.py"
    config.write_text(config.read_text().replace(LINES, ""))
    said = course.nbgrader("autograde", NAME, status=1).stderr
    assert "ones_bound must not be graded in a kernel" in said
    assert "from grader.course.settings import configure" in said
    course.nbgrader("export")
    assert course.scores() == {"someone": 0.0}
    done = run_grader("course", "autograde", course.folder, NAME)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith(LINES.rstrip())
