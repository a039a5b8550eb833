"""From solutions/ to exercises/: equal to nbgrader's own, the same every time, free of answers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from grader import catalogue, scaffolds
from grader.scaffolds import PageError

ROOT = Path(__file__).parents[1]
DUE = ["PREDICTED_CEILING", "curvature", "rate_ceiling", "growth_factor", "compare_rates"]

PAGE = """\
# %% [markdown]
# # A small page

# %% ANSWER nbgrader={"solution": true}
ANSWER = None  # TODO 1
### BEGIN SOLUTION
ANSWER = 42
### END SOLUTION


# %% twice nbgrader={"solution": true}
def twice(x):
    \"\"\"Return x, twice.\"\"\"
    # TODO 2
    ### BEGIN SOLUTION
    return x + x
    ### END SOLUTION


# %% check_page nbgrader={"grade": true, "points": 10}
check("page")
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page in a folder of its own."""
    path = tmp_path / "page.py"
    path.write_text(PAGE, encoding="utf-8")
    return path


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the tree's pages, without keys, with exercises/ just made from them."""
    shutil.copytree(ROOT / "solutions", tmp_path / "solutions")
    (tmp_path / "exercises").mkdir()
    shutil.copy(ROOT / "exercises" / "lesson.py", tmp_path / "exercises")
    scaffolds.write(tmp_path)
    return tmp_path


def solution_lines(name: str) -> set[str]:
    """Return the lines between the marks in `solutions/NAME.py`, without their indentation."""
    text = (ROOT / "solutions" / f"{name}.py").read_text(encoding="utf-8")
    regions = re.findall(rf"{scaffolds.BEGIN}\n(.*?)\n *{scaffolds.END}", text, re.DOTALL)
    return {line.strip() for region in regions for line in region.splitlines() if line.strip()}


def test_release_notebooks_equal_what_nbgrader_generates(tmp_path):
    folder = tmp_path / "source" / "course"
    folder.mkdir(parents=True)
    due = {}
    for name in scaffolds.exercise_names(ROOT):
        source = scaffolds.source_notebook(ROOT / "solutions" / f"{name}.py")
        (folder / f"{name}.ipynb").write_bytes(scaffolds.notebook_bytes(source))
        due[f"{name}.ipynb"] = scaffolds.notebook_bytes(scaffolds.release_notebook(source))
    settings = [
        f"c.{owner}.{option} = {value!r}"
        for owner, options in scaffolds.NBGRADER_SETTINGS.items()
        for option, value in options.items()
    ]
    (tmp_path / "nbgrader_config.py").write_text("\n".join(["c = get_config()", *settings]))

    bin_folder = Path(sys.executable).parent  # nbgrader calls alembic by name
    done = subprocess.run(
        [str(bin_folder / "nbgrader"), "generate_assignment", "course"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "JUPYTER_CONFIG_DIR": str(tmp_path / "jupyter"),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    made = {path.name: path.read_bytes() for path in (tmp_path / "release/course").iterdir()}
    assert made == due


def test_generated_files_are_current():
    # In a fresh process: keys, from which some are made, hold pytest marks of their own session.
    ask = (
        "import pathlib, sys; from grader import scaffolds\n"
        "print(*scaffolds.stale(pathlib.Path(sys.argv[1])))"
    )
    found = subprocess.run(
        [sys.executable, "-c", ask, str(ROOT)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [], "make them anew: grader scaffolds"


def test_rendering_twice_gives_the_same_bytes():
    assert scaffolds.render_pages(ROOT) == scaffolds.render_pages(ROOT)


def test_generated_files_end_their_lines_with_lf_alone():
    for content in scaffolds.render_pages(ROOT).values():
        assert b"\r" not in content
        assert content.endswith(b"\n")


@pytest.mark.parametrize("name", scaffolds.exercise_names(ROOT))
def test_no_line_of_a_solution_reaches_the_students(name):
    secret = solution_lines(name)
    assert secret
    pages = scaffolds.render_pages(ROOT)
    script = pages[Path("exercises") / f"{name}.py"].decode()
    notebook = nbformat.reads(pages[Path("exercises") / f"{name}.ipynb"].decode(), as_version=4)

    for text in (script, *(cell.source for cell in notebook.cells)):
        assert not secret & {line.strip() for line in text.splitlines() if len(line.strip()) > 1}
        assert "SOLUTION" not in text
        assert "HIDDEN TESTS" not in text


def test_lesson_page_is_released_without_outputs_or_marks():
    content = scaffolds.render_pages(ROOT)[Path("exercises/lesson.ipynb")]
    notebook = nbformat.reads(content.decode(), as_version=4)

    assert all(cell.metadata == {} for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_script_and_notebook_hold_the_same_cells():
    for path, content in scaffolds.render_pages(ROOT).items():
        if path.suffix == ".py":
            script = jupytext.reads(content.decode(), fmt="py:percent")
            text = scaffolds.render_pages(ROOT)[path.with_suffix(".ipynb")].decode()
            notebook = nbformat.reads(text, as_version=4)
            assert [(c.cell_type, c.source) for c in script.cells] == [
                (c.cell_type, c.source) for c in notebook.cells
            ]


@pytest.mark.parametrize("name", scaffolds.exercise_names(ROOT))
def test_script_parses_and_its_markers_are_clean(name):
    text = scaffolds.render_pages(ROOT)[Path("exercises") / f"{name}.py"].decode()

    compile(text, f"{name}.py", "exec")
    markers = [line for line in text.splitlines() if line.startswith("# %%")]
    assert f"# %% check_{name}" == markers[-1]
    for marker in markers:
        assert re.fullmatch(r"# %%( \[markdown\]| [A-Za-z_]+)?", marker)


def test_untouched_script_runs_through_to_its_check_and_every_function_is_a_stub(tmp_path):
    for file in ("ones_bound.py", "lesson.py"):
        shutil.copy(ROOT / "exercises" / file, tmp_path)
    (tmp_path / "grader.py").write_text("def check(name): print('checked', name)\n")
    probe = f"""
import inspect, runpy
page = runpy.run_path("ones_bound.py", run_name="__main__")
assert page["PREDICTED_CEILING"] is None
for name in {DUE[1:]}:
    function = page[name]
    assert function.__doc__, name
    try:
        function(*[None] * len(inspect.signature(function).parameters))
    except NotImplementedError:
        print("stub", name)
"""
    done = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["checked ones_bound", *(f"stub {n}" for n in DUE[1:])]


def test_every_due_name_has_a_cell_that_nbgrader_knows_by_it():
    release = scaffolds.release_notebook(
        scaffolds.source_notebook(ROOT / "solutions" / "ones_bound.py", due=DUE)
    )

    marks = {c.id: c.metadata["nbgrader"] for c in release.cells if "nbgrader" in c.metadata}
    assert list(marks) == [*DUE, "check_ones_bound"]
    for name in DUE:
        mark = marks[name]
        assert mark["grade_id"] == name
        assert (mark["solution"], mark["locked"], mark["grade"]) == (True, False, False)
        assert "points" not in mark
    test = marks["check_ones_bound"]
    assert (test["solution"], test["locked"], test["grade"]) == (False, True, True)
    assert test["points"] == 10
    assert release.cells[-1].source == 'from grader import check\n\ncheck("ones_bound")'


def test_instructors_notebook_keeps_the_solutions(page):
    answer, twice = scaffolds.source_notebook(page).cells[1:3]

    assert "ANSWER = 42" in answer.source
    assert "return x + x" in twice.source


def test_stub_stands_in_functions_and_constants_keep_their_own(page):
    cells = scaffolds.release_notebook(scaffolds.source_notebook(page)).cells

    assert cells[1].source == "ANSWER = None  # TODO 1"
    assert cells[2].source == (
        'def twice(x):\n    """Return x, twice."""\n    # TODO 2\n    raise NotImplementedError'
    )


def test_cells_are_named_after_what_they_define_or_their_place(page):
    cells = scaffolds.source_notebook(page).cells

    assert [cell.id for cell in cells] == ["page-00", "ANSWER", "twice", "check_page"]


def test_answer_read_by_a_person_may_carry_points(page):
    text = PAGE.replace('ANSWER nbgrader={"', 'ANSWER nbgrader={"grade": true, "points": 2, "')
    page.write_text(text, encoding="utf-8")

    mark = scaffolds.release_notebook(scaffolds.source_notebook(page)).cells[1].metadata["nbgrader"]

    assert (mark["points"], mark["solution"], mark["grade"], mark["locked"]) == (
        2,
        True,
        True,
        False,
    )


def test_stale_names_a_file_that_was_touched_or_lost(clone):
    assert scaffolds.stale(clone) == []
    script = clone / "exercises" / "ones_bound.py"
    script.write_bytes(script.read_bytes().replace(b"raise NotImplementedError", b"return 1"))
    (clone / "exercises" / "lesson.ipynb").unlink()

    found = scaffolds.stale(clone)

    assert found == [Path("exercises/lesson.ipynb"), Path("exercises/ones_bound.py")]


def test_stale_names_what_follows_from_a_changed_source(clone):
    source = clone / "solutions" / "ones_bound.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("## Carry forward", "## Take along"), encoding="utf-8")

    assert scaffolds.stale(clone) == [
        Path("exercises/ones_bound.ipynb"),
        Path("exercises/ones_bound.py"),
    ]


def test_changed_solution_changes_nothing_that_students_get(clone):
    source = clone / "solutions" / "ones_bound.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("PREDICTED_CEILING = 1.0", "PREDICTED_CEILING = 1"))

    assert scaffolds.stale(clone) == []


def test_write_mends_what_is_stale_and_leaves_nothing_else_behind(clone):
    before = sorted((clone / "exercises").iterdir())
    (clone / "exercises" / "ones_bound.py").write_text("")

    assert scaffolds.write(clone) == [Path("exercises/ones_bound.py")]
    assert scaffolds.stale(clone) == []
    assert sorted((clone / "exercises").iterdir()) == before


MARK = ' nbgrader={"solution": true}'


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("    ### END SOLUTION\n", "", 15, "not closed"),
        ("ANSWER = 42\n### END SOLUTION\n", "ANSWER = 42\n", 6, "not closed"),
        ("    ### BEGIN SOLUTION\n", "", 16, "no '### BEGIN SOLUTION' above"),
        ("ANSWER = 42\n", "ANSWER = 42\n### BEGIN SOLUTION\n", 8, "line 6 is still open"),
        ("### BEGIN SOLUTION\nA", "# BEGIN SOLUTION\nA", 6, "write '### BEGIN SOLUTION'"),
        ("42\n### END SOLUTION", "42  ### END SOLUTION", 7, "write '### END SOLUTION'"),
        (f"twice{MARK}", "twice", 11, "needs the mark"),
        (f"twice{MARK}", f"thrice{MARK}", 11, "the solution of cell thrice does not define"),
        (f"# %% twice{MARK}", f"# %%{MARK}", 11, "title"),
        ("ANSWER = None  # TODO 1\n", "", 4, "the scaffold of cell ANSWER does not define"),
        ("return x + x", "return x +", 16, "the solution of cell twice: invalid syntax"),
        (f"ANSWER{MARK}", f"twice{MARK}", 4, "does not define twice"),
        (
            "# %% [markdown]\n",
            f'# %% A{MARK}\nA = "all of it"\n\n# %% [markdown]\n',
            1,
            "no solution",
        ),
        ('# %% check_page nbgrader={"grade": true, "points": 10}', "# %%", 20, "no test cell"),
        (', "points": 10', "", 20, "points"),
        ('"points": 10', '"points": 10, "colour": 3', 20, "colour"),
        ('check("page")\n', 'check("page")\n\n# %% [markdown]\n# Bye.\n', 20, "last cell"),
        ("# %% [markdown]\n", "import math\n\n# %% [markdown]\n", 1, "begins with a cell marker"),
    ],
)
def test_broken_page_is_refused_with_file_and_line(page, old, new, line, says):
    assert PAGE.count(old) >= 1
    page.write_text(PAGE.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(PageError) as caught:
        scaffolds.source_notebook(page)

    assert str(caught.value).startswith(f"{page}:{line}: ")
    assert says in str(caught.value)


def test_due_name_without_a_cell_is_refused(page):
    scaffolds.source_notebook(page, due=["ANSWER", "twice"])
    with pytest.raises(PageError, match="no cell for thrice"):
        scaffolds.source_notebook(page, due=["ANSWER", "thrice"])


def test_name_with_two_cells_is_refused(page):
    page.write_text(PAGE + f"\n# %% ANSWER{MARK}" + PAGE.partition(f"ANSWER{MARK}")[2])

    with pytest.raises(PageError, match="line 4 has a cell ANSWER, too"):
        scaffolds.source_notebook(page)


def test_worked_page_with_a_solution_is_refused(page):
    with pytest.raises(PageError, match=r"page\.py:4: a worked page"):
        scaffolds.worked_page(page)


def test_the_way_through_names_every_page_with_its_points():
    text = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\d+) \| \[`(\w+)`\]\(\2\.ipynb\) \| .* \| \d+ \| (\d+) \|$", text, re.M
    )
    assert sorted(name for _, name, _ in rows) == catalogue.names()
    assert [int(place) for place, _, _ in rows] == list(range(1, len(rows) + 1))
    assert sum(int(points) for _, _, points in rows) == 146  # the contract's
    for _, name, points in rows:
        page = nbformat.read(ROOT / "exercises" / f"{name}.ipynb", as_version=4)
        assert page.cells[-1].metadata["nbgrader"]["points"] == int(points)
