"""`grader course init`, and nbgrader's own commands on what it makes, run as instructors do."""

import copy
from typing import Any

import nbformat
import pytest

from grader import catalogue
from grader.course import tree
from grader.course.settings import LINES
from grader.errors import UsageError
from tests.nbgrader_course import NAME, Course, marked, solved
from tests.sample_class import ROOT, reports_in, run_grader

EXERCISES = catalogue.names()
MADE = sorted(
    ["nbgrader_config.py"]
    + [f"source/{name}/{file}" for name in EXERCISES for file in ("lesson.py", f"{name}.ipynb")]
    + ["source/first_broken_boundary/traces.py"]
)

# What a student's cell can tell of the process it runs in.
PROBE = """
import sys
print("<script>alert(1)</script>")
print("modules:", sorted({"ipykernel", "nbgrader", "pytest", "grader.judge"} & set(sys.modules)))
print("to the other stream", file=sys.stderr)
"""


def submissions(course: Course) -> dict[str, nbformat.NotebookNode]:
    """A class: right, one misconception, nothing done, and marks and outputs tampered with."""
    right = solved(course)
    wrong = copy.deepcopy(right)
    cell = marked(wrong, "curvature")
    cell.source = cell.source.replace("return 2 * ", "return ") + PROBE
    untouched = nbformat.read(course.folder / "release" / NAME / f"{NAME}.ipynb", as_version=4)

    pretending = copy.deepcopy(untouched)
    check = marked(pretending, f"check_{NAME}")
    check.source = "10.0"
    check.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "10.0"})]
    check.metadata.tags = ["skip-execution"]
    check.metadata.nbgrader.points = 1000

    doubled = copy.deepcopy(right)
    again = copy.deepcopy(marked(doubled, "curvature"))
    again.id = "again"
    doubled.cells.insert(0, again)
    marked(doubled, "rate_ceiling").metadata.nbgrader.grade_id = "unknown"
    marked(doubled, f"check_{NAME}").metadata.nbgrader.grade = False

    stripped = copy.deepcopy(right)
    for cell in stripped.cells:
        cell.metadata.clear()

    return {
        "right": right,
        "wrong": wrong,
        "untouched": untouched,
        "pretending": pretending,
        "doubled": doubled,
        "stripped": stripped,
    }


def instructors_own() -> Any:
    """A notebook that is none of our pages: one test cell, worth 1.5 of 2 points to everybody."""
    marks = {"grade": True, "grade_id": "t", "locked": True, "points": 2, "solution": False}
    cell = nbformat.v4.new_code_cell("print('from the kernel')\n1.5", id="t")
    cell.metadata.nbgrader = {**marks, "schema_version": 3, "task": False}
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course after nbgrader's four commands, and the same notebooks graded by `grader grade`."""
    folder = tmp_path_factory.mktemp("nbgrader")
    course = Course(folder)
    assert course.init.returncode == 0, course.init.stderr
    course.nbgrader("generate_assignment", NAME)
    for student, notebook in submissions(course).items():
        course.submit(student, notebook)
        scripts = folder / "class" / student
        scripts.mkdir(parents=True)
        (scripts / f"{NAME}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    course.nbgrader("autograde", NAME)
    course.nbgrader("generate_feedback", NAME)
    course.nbgrader("export")
    options = ("--exercise", NAME, "--workers", 2)
    graded = run_grader("grade", folder / "class", "--out", folder / "graded", *options)
    assert graded.returncode == 0, graded.stderr
    return course, reports_in(folder / "graded")


def test_init_names_what_it_wrote_and_what_comes_next(course):
    told = course[0].init.stdout
    for path in MADE:
        assert f"wrote {course[0].folder / path}" in told
    for command in ("generate_assignment", "autograde", "generate_feedback"):
        assert f"nbgrader {command} {EXERCISES[0]}" in told


def test_the_release_is_what_students_get_from_us(course):
    release = course[0].folder / "release" / NAME
    assert sorted(path.name for path in release.iterdir()) == ["lesson.py", f"{NAME}.ipynb"]
    for path in release.iterdir():
        assert path.read_bytes() == (ROOT / "exercises" / path.name).read_bytes()


def test_the_grade_book_has_the_points_that_grade_gives(course):
    scores = course[0].scores()
    assert scores == {student: report["score"] for student, report in course[1].items()}
    assert scores["right"] == scores["doubled"] == scores["stripped"] == 10
    assert scores["untouched"] == scores["pretending"] == 0
    assert 0 < scores["wrong"] < 10


def test_no_kernel_ran_and_cells_saw_the_worker(course):
    assert not course[0].kernels.exists()
    outputs = marked(course[0].checked("wrong"), f"check_{NAME}").outputs
    assert "modules: []" in outputs[0].data["text/plain"]


@pytest.mark.parametrize("student", ["right", "wrong", "untouched", "doubled", "stripped"])
def test_only_the_check_cell_has_outputs_and_the_points_are_the_last(course, student):
    notebook = course[0].checked(student)
    check = marked(notebook, f"check_{NAME}")
    assert [output.output_type for output in check.outputs] == ["display_data", "execute_result"]
    assert check.outputs[-1].data["text/plain"] == repr(float(course[1][student]["score"]))
    others = [cell for cell in notebook.cells if cell.cell_type == "code" and cell != check]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in others)


def test_feedback_shows_the_table_and_the_misconception(course):
    page = course[0].feedback("wrong")
    report = course[1]["wrong"]["exercises"][0]
    assert f"{NAME}: {report['score']:g} of 10 points" in page
    for check in report["checks"]:
        assert check["title"] in page
    assert "forgot_factor_two: You found the part that depends on the data" in page


def test_feedback_escapes_what_students_print(course):
    page = course[0].feedback("wrong")
    assert "| &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page


def test_hidden_answers_stay_hidden_in_feedback(course):
    shown = course[0].feedback("wrong")
    hidden = [
        c for c in course[1]["wrong"]["exercises"][0]["checks"] if c["visibility"] == "hidden"
    ]
    dues = [c["counterexample"]["due"] for c in hidden if c["counterexample"]]
    bounds = [c["counterexample"]["bound"] for c in hidden if c["counterexample"]]
    assert dues
    for due, bound in zip(dues, bounds, strict=True):
        assert f"due:   {due} (within {bound})" not in shown


def test_other_notebooks_are_left_to_nbgrader(course):
    course = course[0]
    path = course.folder / "source" / "own" / "own.ipynb"
    path.parent.mkdir()
    path.write_text(nbformat.writes(instructors_own()), encoding="utf-8")
    course.nbgrader("generate_assignment", "own")
    course.submit("right", instructors_own(), "own")
    course.nbgrader("autograde", "own")
    printed, points = course.checked("right", "own").cells[0].outputs
    assert printed.text == "from the kernel\n"
    assert points.data["text/plain"] == "1.5"
    # The one kernel of this course: so the test above would have seen others.
    assert course.kernels.read_text() == "started\n"


def test_init_refuses_a_folder_with_something_in_it(tmp_path):
    (tmp_path / "mine").write_text("mine")
    refused = run_grader("course", "init", tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is not empty" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_init_refuses_a_file_and_a_place_below_one(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    for place in (path, path / "below"):
        with pytest.raises(UsageError):
            tree.init(place, ROOT)
    assert path.read_text() == "mine"


def test_init_tells_the_owner_of_a_course_what_to_paste(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("mine")
    refused = run_grader("course", "init", tmp_path)
    assert refused.returncode == 2
    assert "is a course already" in refused.stderr
    assert refused.stderr.rstrip().endswith(LINES.rstrip())
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_init_takes_an_empty_folder(tmp_path):
    folder = tmp_path / "a course" / "of 2031"
    folder.mkdir(parents=True)
    tree.init(folder, ROOT)
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert sorted(path.as_posix() for path in found) == MADE
