"""`grader course init`: a folder that nbgrader's own commands work on."""

import os
from pathlib import Path

from grader import catalogue, scaffolds
from grader.course.opened import CONFIG
from grader.course.settings import LINES, nbgrader_config
from grader.errors import UsageError

NEXT = """\
source/ holds the solutions: students get release/, which the first of these commands makes.
Next, in {folder} (here for {exercise}; the other exercises go the same way):
  nbgrader generate_assignment {exercise}
  put each student's notebook at submitted/STUDENT/{exercise}/{exercise}.ipynb
  nbgrader autograde {exercise}
  nbgrader generate_feedback {exercise}
  nbgrader export"""


def init(folder: Path, root: Path) -> list[str]:
    """Write a course tree into `folder` from the clone at `root`; return what to tell its owner.

    UsageError when `folder` is neither new nor empty, or can't be written.
    """
    if (folder / CONFIG).is_file():
        raise UsageError(
            f"{str(folder)!r} is a course already, and nothing in it was touched; put these "
            f"lines at the end of its {CONFIG}, and copy what you need from the source/ of a "
            f"course made in a new folder:\n\n{LINES}"
        )
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(
            f"{str(folder)!r} is not empty, and nothing in it was touched; "
            "name a new folder, or an empty one"
        )
    files = course_files(root, folder.resolve().name)
    try:
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    except OSError as error:
        raise UsageError(f"can't write into {str(folder)!r}: {error.strerror}") from error
    first = catalogue.names()[0]
    told = NEXT.format(folder=folder, exercise=first)
    return [*(f"wrote {folder / path}" for path in files), *told.splitlines()]


def course_files(root: Path, course: str) -> dict[Path, bytes]:
    """The files of a course by their path in it: one assignment for each exercise.

    An assignment is the instructor's notebook, and beside it the modules that the page speaks of.
    """
    files = {Path(CONFIG): nbgrader_config(course).encode()}
    lesson, traces = (
        (root / "exercises" / name).read_bytes() for name in ("lesson.py", "traces.py")
    )
    for name in catalogue.names():
        due = catalogue.exercise(name).signatures
        notebook = scaffolds.source_notebook(root / "solutions" / f"{name}.py", due)
        assignment = Path("source", name)
        files[assignment / f"{name}.ipynb"] = scaffolds.notebook_bytes(notebook)
        files[assignment / "lesson.py"] = lesson
        if any("import traces" in cell.source for cell in notebook.cells):
            files[assignment / "traces.py"] = traces
    return files
