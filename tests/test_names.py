"""What is said of a due name that doesn't count as its author means it, page by page."""

import textwrap
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader import catalogue, grading, submissions
from grader.model import CheckReport, Crashed, Missing, Question, Raised, TimedOut
from grader.names import Names
from grader.sandbox import LoadEvent, Sandbox
from tests.test_finding import notebook

EXERCISES = Path(__file__).parents[1] / "exercises"
RIGHT = "def curvature(features):\n    return 2\n"
STUB = "def curvature(features):\n    raise NotImplementedError\n"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as started:
        yield started


@pytest.fixture
def names(sandbox, tmp_path):
    """Load a page (a script, or the cells of a notebook) for `ones_bound`: its `Names`."""

    def load(*cells: str) -> Names:
        path = tmp_path / ("ones_bound.ipynb" if len(cells) > 1 else "ones_bound.py")
        path.write_text(notebook(*cells) if len(cells) > 1 else cells[0])
        found = submissions.read(path, ["ones_bound"]).found["ones_bound"]
        worker = sandbox.load(found.source)
        worker.close()
        return Names(found, worker.places, worker.events)

    return load


def check(function: str, outcome: str, manual: float | None = None) -> CheckReport:
    return CheckReport("a", "b", function, "public", 1, 0, outcome, manual_points=manual)


@pytest.mark.parametrize(
    ("above", "line"),
    [
        ("class Solution:", 2),
        ("def main():", 2),
        ("def rate_ceiling(features):\n    return 1\n", 4),
        ("if False:", 2),
        ("try:\n    import no_such_module", 3),
        ('if __name__ == "__main__":', 2),
    ],
)
def test_a_name_that_is_defined_in_a_block_says_in_which(names, above, line):
    page = f"{above}\n{textwrap.indent(RIGHT, '    ')}"
    page += "except ImportError:\n    pass\n" if above.startswith("try") else ""
    header = above.split("\n")[0]
    why = f"curvature is defined only under `{header}` (line {line}); move it out of there"
    assert names(page).why("curvature") == why
    stub_beside = names(STUB, page)
    assert f"under `{header}` (cell 2, line {line})" in stub_beside.why("curvature")


def test_a_script_that_is_no_python_says_so_of_every_name(names):
    page = names(">>> import lesson\n>>> def curvature(f):\n...     return 2\n")
    assert "take away what the console wrote" in page.why("curvature")
    assert page.why("rate_ceiling") == page.why("curvature")


def test_what_is_local_to_another_function_is_no_answer(names):
    assert names("def f():\n    curvature = 2\n    return curvature\n").why("curvature") == ""
    constant = names("def main():\n    PREDICTED_CEILING = 1\n").why("PREDICTED_CEILING")
    assert "only under `def main():`" in constant


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("curvature", "def curvture(features): return 2"),
        ("curvature", "Curvature = lambda features: 2"),
        ("rate_ceiling", "def rateCeiling(features): return 2"),
        ("PREDICTED_CEILING", "PREDICTED_CEILLING = 1"),
    ],
)
def test_a_near_miss_is_named_with_its_line(names, name, written):
    like = written.removeprefix("def ").partition("(")[0].partition(" ")[0]
    said = f"line 2 defines `{like}`; the checks look for `{name}`"
    assert names(f"import lesson\n{written}\n").why(name) == said


def test_a_name_in_comments_in_quotes_or_in_a_cell_that_is_left_out_is_told(names):
    magic = "# Commented out IPython magic to ensure Python compatibility.\n# %%time\n"
    page = f"rate_ceiling: int = 1\n{magic}# def curvature(f):\n#     return 2\n"
    commented = names(page)
    assert commented.why("curvature").startswith("curvature stands in comments only")
    assert commented.why("rate_ceiling") == ""
    for cells in ((STUB, f'"""\n{RIGHT}"""'), ("", f"%%writefile a.py\n{RIGHT}")):
        assert "cell 2, line 2: curvature stands in a text or a cell" in names(*cells).why(
            "curvature"
        )


def test_a_mark_of_a_cell_within_a_text_makes_no_code_a_text(names):
    assert names(f"TEXT = '''\n# %%\n'''\n# %%\n{STUB}").why("curvature") == ""


def test_a_name_whose_line_did_not_run_says_which(names):
    page = names("x = 1\ndef curvature(f, unknown=UNKNOWN): return 2\n")
    assert page.why("curvature") == ""
    assert page.not_run("curvature") == "line 2, which defines curvature, did not run to its end"
    assert page.not_run("rate_ceiling") == ""


def test_a_name_that_is_bound_again_is_told_where_a_check_is_not_content(names):
    page = names(RIGHT, STUB, "for curvature in [1]: pass")
    (note,) = page.notes([check("curvature", "failed")])
    assert note == (
        "curvature is defined more than once: cell 1, line 1 (`def curvature(features):`), "
        "cell 2, line 1 (`def curvature(features):`), cell 3, line 1 (`for curvature in [1]: pass`)"
        "; the last one that runs counts: keep one, and give others other names"
    )
    assert page.notes([check("curvature", "passed")]) == []
    deleted = names(f"{RIGHT}del curvature\n")
    assert "line 3 (`del curvature`); leave it there" in deleted.why("curvature")


def test_many_places_are_told_in_a_few_with_the_last(names):
    (note,) = names("curvature = 1\n" * 5_000).notes([check("curvature", "failed")])
    assert note.count("line") == 5
    assert "..., line 5000" in note


def test_a_value_by_the_name_of_the_lesson_is_told_and_an_import_is_not(names):
    page = names("import lesson\nimport lesson\n" + RIGHT)
    assert page.notes([check("curvature", "failed")]) == []
    (note,) = names("import lesson\nlesson = 'two'\n").notes([check("curvature", "failed")])
    assert note.startswith("line 2: `lesson = 'two'` takes the name of the module lesson")


@pytest.mark.parametrize("line", ["import curvature", "import lesson as curvature"])
def test_a_module_in_the_place_of_a_function_is_told(names, line):
    (note,) = names(f"{line}\n").notes([check("curvature", "failed")])
    assert note.startswith(f"line 1: `{line}` makes curvature a module, not a function; write")
    assert names("from x import curvature\n").notes([check("curvature", "failed")]) == []


def raised(message: str) -> list[Raised]:
    return [Raised("NameError", ("NameError",), message, 1)]


@pytest.mark.parametrize(
    ("page", "note"),
    [
        ('if __name__ == "__main__":\n    K = 2\n', "line 3: K is set only under `if __name__ =="),
        ('if __name__ == "__main__":\n    import x as K\n', "line 3: K is set only under `if __"),
        ("def main(\n    a,\n):\n    def K(): pass\n", "line 5: K is set only under `def main(`"),
        ("if 0:\n    K = 1\nK = 2\n", ""),
        ("print(K)\n", ""),
    ],
)
def test_what_is_set_where_others_do_not_see_it_is_told(names, page, note):
    notes = names(f"\n{page}").notes(
        [check("curvature", "failed")], raised("name 'K' is not defined")
    )
    assert [told[: len(note)] for told in notes] == ([note] if note else [])
    guarded = [told for told in notes if told.endswith("which is not run here; move it out")]
    assert len(guarded) == page.count("__name__")


@pytest.mark.parametrize(
    ("line", "told"),
    [("len = 3", True), ("for len in (1, 2): pass", True), ("sum = 3", False), ("x = 3", False)],
)
def test_a_name_of_pythons_that_a_value_takes_is_told_where_it_is_called(names, line, told):
    page = names(f"n = len([1])\n{line}\n")
    message = "'int' object is not callable"
    notes = page.notes([check("curvature", "failed")], raised(message))
    assert [note.startswith(f"line 2: `{line}` takes Python's own len away") for note in notes] == (
        [True] * told
    )


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (
            "# all of it: import jax def curvature(x): return 1",
            "stands in a comment, which goes on",
        ),
        ('"def curvature(x):\\n",\n"    return 1\\n"\n', "stands in a text in quotes, as in the"),
        ("curvature: 1.0\n", "is given nothing here: write `curvature =`, not `curvature:`"),
    ],
)
def test_a_definition_that_a_line_keeps_from_being_one_is_told(names, page, told):
    assert names(page).why("curvature").startswith(f"line 1: curvature {told}")


@pytest.mark.parametrize(("written", "told"), [("1,0", 1), ("(1, 5)  # c", 1), ("1.0", 0)])
def test_a_decimal_comma_is_told(names, written, told):
    page = names(f"PREDICTED_CEILING = {written}\n")
    notes = page.notes([check("PREDICTED_CEILING", "failed")])
    assert ["with a point" in note for note in notes] == [True] * told


def test_a_text_that_a_person_reads_is_told_where_it_has_to_stand(names):
    page = names(RIGHT)
    empty = check("EXPLANATION", "not_attempted", manual=2)
    assert page.notes([empty, check("curvature", "not_attempted")]) == []
    (note,) = page.notes([empty, check("curvature", "passed")])
    assert note.startswith("EXPLANATION is empty: an answer counts in its code cell")


@pytest.mark.parametrize(
    ("kind", "answer"),
    [("timed_out", TimedOut()), ("crashed", Crashed("its process ended while the file was"))],
)
def test_what_is_missing_since_loading_ended_is_no_missing_name(names, kind, answer):
    page = names("PREDICTED_CEILING = 1\n")
    events = [LoadEvent("raised", 0, 1, "no"), LoadEvent(kind, 0, 2, "no")]
    ask = grading._asking(lambda _: Missing(), replace(page, events=events))
    found = ask(Question("curvature", ()))
    assert type(found) is type(answer)
    assert "line 2" in getattr(found, "how", "line 2")


@pytest.mark.parametrize("name", catalogue.names())
@pytest.mark.parametrize("ending", [".py", ".ipynb"])
def test_nothing_is_said_of_an_untouched_scaffold(sandbox, name, ending):
    found = submissions.read(EXERCISES / f"{name}{ending}", [name]).found[name]
    worker = sandbox.load(found.source)
    worker.close()
    names = Names(found, worker.places, worker.events)
    due = catalogue.exercise(name).signatures
    assert names.notes([check(each, "not_attempted") for each in due]) == []


def test_a_page_with_any_number_of_names_is_looked_at_within_bounds(names):
    page = "\n".join(f"curvatur{number} = {number}" for number in range(50_000))
    assert len(names(page).places) < 10
