"""Which file is taken for an exercise: the rules of finding, row by row. Nothing is run here."""

import bz2
import io
import json
import lzma
import os
import zipfile
import zlib
from pathlib import Path, PurePosixPath

import pytest

from grader import storage, submissions, zips
from grader.errors import UsageError
from grader.sandbox import LoadEvent
from grader.submissions import Found, Submission, lesson
from tests.fuzz import bounded

ROOT = Path(__file__).parents[1]
SCAFFOLD = (ROOT / "exercises" / "ones_bound.py").read_text()
SCAFFOLD_NOTEBOOK = (ROOT / "exercises" / "ones_bound.ipynb").read_text()
WORKED = "PREDICTED_CEILING = 1\n\ndef curvature(features):\n    return 2\n"
ALL_NAMES = WORKED + "\ndef rate_ceiling(f): ...\ndef growth_factor(r, f): ...\n"


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code})


@pytest.fixture
def hand_in(tmp_path):
    """Hand in files by name, and read them: the submission."""

    def read(files: dict[str, str | bytes], exercise: str = "ones_bound") -> Submission:
        folder = tmp_path / "someone"
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return submissions.read(folder, [exercise])

    return read


@pytest.fixture
def found(hand_in):
    """The same, and what was found for `ones_bound`."""

    def find(files: dict[str, str | bytes]) -> Found:
        return hand_in(files).found["ones_bound"]

    return find


def zipped(entries: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ones_bound.py", "ones_bound.ipynb", "week 3/deep/ones_bound.py"])
def test_the_exact_name_is_taken_without_a_note(found, name):
    result = found({name: notebook(WORKED) if name.endswith("ipynb") else WORKED})
    assert (result.status, result.file, result.notes) == ("graded", name, ())


@pytest.mark.parametrize(
    "name",
    [
        *("Ones_Bound.py", "ONES_BOUND.PY", "ones bound.py", "ones-bound.py", "Ones Bound.PY"),
        *("ones_bound (1).py", "ones_bound(2).py", "ones_bound-1.py", "ones_bound copy.py"),
        *("ones_bound - final (Ana).py", "ones_bound - Kopie.py", "ones_bound.py.txt"),
        *("ones_bound.txt", "ones_bound", "ones  bound .py", "ones_bound.py.py"),
        *(
            "ones_bound.py ",
            "ones_bound.PY\r",
            "ones_bound.py\n",
            "ones_bound.py.",
            "ones_bound.pyw",
        ),
        *("ones_bound (1).py\u00a0", "ones_bound.py.txt .", "week 1./ones_bound.py.. ."),
    ],
)
def test_another_spelling_is_taken_with_a_note(found, name):
    result = found({name: WORKED})
    assert (result.status, result.file) == ("graded", name)
    assert result.notes == (f"{name} was taken for ones_bound; the expected name is ones_bound.py",)


@pytest.mark.parametrize("name", ["ones_bound.ipynb ", "ones_bound.ipynb.\r", "homework.ipynb."])
def test_a_notebook_whose_ending_goes_on_is_a_notebook(found, name):
    result = found({name: notebook(ALL_NAMES)})
    assert (result.file, result.notebook, len(result.notes)) == (name, True, 1)
    assert "the expected name is ones_bound.ipynb" in result.notes[0]
    assert found({name: notebook(ALL_NAMES)[:-9]}).status == "unreadable"


@pytest.mark.parametrize("name", ["a.zip ", "a.ZIP.", "a.zip\n"])
def test_a_zip_whose_ending_goes_on_is_a_zip_and_nothing_to_note(hand_in, name):
    submission = hand_in({name: zipped({"ones_bound.py ": WORKED})})
    assert submission.found["ones_bound"].file == f"{name}/ones_bound.py "
    assert submission.notes == ()


@pytest.mark.parametrize("name", ["Ana.py", "Ana.py ", "Ana.pyw", "Ana.ipynb.", "Ana.zip\r"])
def test_a_student_is_called_by_what_comes_before_the_ending(name):
    assert submissions.student_name(Path(name)) == "Ana"


def test_a_file_of_another_name_is_taken_for_the_exercise_whose_names_it_defines(found):
    result = found({"homework3.py": ALL_NAMES, "notes.txt": "remember the milk", "data.csv": "1,2"})
    assert result.file == "homework3.py"
    assert "whose names it defines" in result.notes[0]


def test_a_notebook_of_another_name_is_known_by_its_cells(found):
    assert found({"Untitled.ipynb": notebook(*ALL_NAMES.split("\n\n"))}).file == "Untitled.ipynb"


def test_an_export_is_known_by_its_cells_too(found):
    cells = [f"get_ipython().run_cell_magic('time', '', {t!r})" for t in ALL_NAMES.split("\n\n")]
    assert found({"homework.py": "\n".join(cells)}).file == "homework.py"


def test_a_file_that_only_calls_the_functions_is_not_taken(found):
    calls = "from x import *\nprint(curvature(1))\nrate_ceiling(2)\ngrowth_factor(1, 2)\n"
    assert found({"try_it.py": calls}).status == "missing"


def test_nothing_of_the_exercise_is_missing(found):
    assert found({"other.py": "x = 1\n"}).status == "missing"


def test_a_single_file_is_taken_for_the_exercise_that_was_named(tmp_path):
    path = tmp_path / "draft7.py"
    path.write_text("def curvature(features): ...\n")
    assert submissions.read(path, ["ones_bound"]).found["ones_bound"].status == "missing"
    result = submissions.read(path, ["ones_bound"], sole="ones_bound").found["ones_bound"]
    assert (result.status, result.file) == ("graded", "draft7.py")
    assert "draft7.py was taken for ones_bound" in result.notes[0]


@pytest.mark.parametrize(
    "name",
    [
        "_" * 9_000 + "x" + "-1" * 9_000,
        "ones_bound" + " (1)" * 9_000 + "!",
        " " * 20_000 + "x",
        "copy" + " " * 9_000 + "1" * 9_000,
    ],
)
def test_a_name_is_spelled_in_one_pass_however_long_it_is(name):
    with bounded():
        assert submissions.spelled(f"{name}.py") == ""
        assert submissions.spelled(f"{name} - ones_bound (1).py") == ""
        assert submissions.spelled(f"ones_bound - {name}.py") == "ones_bound"


# --- several candidates ---------------------------------------------------------------------------


def test_an_untouched_scaffold_drops_out(found):
    result = found({"ones_bound.py": SCAFFOLD, "ones_bound (1).py": WORKED})
    assert result.file == "ones_bound (1).py"


def test_an_untouched_scaffold_with_other_line_ends_drops_out(found):
    crlf = SCAFFOLD.replace("\n", "\r\n") + "\r\n# I will do it tomorrow\r\n"
    assert found({"ones_bound.py": crlf, "ones_bound.ipynb": notebook(WORKED)}).file == (
        "ones_bound.ipynb"
    )


def test_script_and_notebook_the_one_that_was_worked_on_counts(found):
    result = found({"ones_bound.py": WORKED, "ones_bound.ipynb": SCAFFOLD_NOTEBOOK})
    assert (result.status, result.file) == ("graded", "ones_bound.py")


SCRATCH = "\n\nimport math\nprint(math.sqrt(2))\n"


@pytest.mark.parametrize("name", ["ones_bound.py", "homework.py"])
def test_a_page_on_which_every_due_name_is_still_the_stub_was_not_worked_on(found, name):
    opened = json.loads(SCAFFOLD_NOTEBOOK)
    opened["cells"].append({"cell_type": "code", "source": SCRATCH, "metadata": {}, "outputs": []})
    result = found({name: ALL_NAMES, "ones_bound.ipynb": json.dumps(opened)})
    assert (result.status, result.file) == ("graded", name)


def test_a_dict_of_nones_is_a_stub_too(tmp_path):
    opened = (ROOT / "exercises" / "concept_checks.py").read_text(encoding="utf-8")
    begun = opened.replace('"scaling_reason": None', '"scaling_reason": "curvature"')
    name, other = "concept_checks", 'ANSWERS = {"scaling_reason": "curvature"}'
    for page, status in ((opened + SCRATCH, "graded"), (begun, "ambiguous")):
        (tmp_path / "concept_checks.py").write_text(page)
        (tmp_path / "concept_checks.ipynb").write_text(notebook(other))
        assert submissions.read(tmp_path, [name]).found[name].status == status


def test_a_page_of_stubs_is_taken_where_there_is_no_other(found):
    assert found({"ones_bound.py": SCAFFOLD + SCRATCH}).file == "ones_bound.py"


@pytest.mark.parametrize("part", [" ", "\n", "    return\n", "def f():\n", "None", "    raise "])
def test_no_definition_is_too_long_to_be_looked_at(found, part):
    files = {
        "ones_bound.py": f"def curvature(\n{part * 200_000}x",
        "ones_bound.ipynb": SCAFFOLD_NOTEBOOK,
    }
    assert found(files).file == "ones_bound.py"


@pytest.mark.parametrize(
    ("stub", "work"),
    [
        ("PREDICTED_CEILING = None", "PREDICTED_CEILING = 1.0"),
        ("PREDICTED_CEILING = None", "PREDICTED_CEILING: float = 1  # None"),
        ("PREDICTED_CEILING = None", ""),
        ("# TODO 2\n", "return 2\n\n# not any more:\n"),
        ("    # TODO 2\n", "    if len(features): return 1\n"),
        ("    # TODO 2\n    raise NotImplementedError", "    return 1"),
        ("import lesson", "import lesson\ncurvature = abs"),
    ],
)
def test_a_page_with_work_on_one_name_was_worked_on(found, stub, work):
    begun = SCAFFOLD.replace(stub, work, 1)
    assert begun != SCAFFOLD
    pages = {"ones_bound.py": begun, "ones_bound.ipynb": notebook(ALL_NAMES)}
    assert found(pages).status == "ambiguous"


def test_script_and_notebook_both_worked_on_are_ambiguous(found):
    other = WORKED.replace("return 2", "return 3")
    result = found({"ones_bound.py": WORKED, "ones_bound.ipynb": notebook(other)})
    assert result.status == "ambiguous"
    assert "ones_bound.ipynb, ones_bound.py" in result.reason


@pytest.mark.parametrize(
    "script",
    [
        "# ---\n# jupytext: {}\n# ---\n\n# %%\n# %matplotlib inline\nimport jax\n\n# %%\n" + WORKED,
        "#!/usr/bin/env python\n# In[1]:\n\n"
        "get_ipython().run_line_magic('matplotlib', 'inline')\n"
        f"import jax\n\n\n# In[ ]:\n\n\n{WORKED}",
    ],
)
def test_a_notebook_and_the_script_it_was_exported_to_are_one_page(found, script):
    pages = {
        "ones_bound.py": script,
        "ones_bound.ipynb": notebook("%matplotlib inline\nimport jax", WORKED),
    }
    result = found(pages)
    assert (result.status, result.file) == ("graded", "ones_bound.ipynb")


CELLS_AND_EXPORTS = {
    "a magic of a cell": (
        f"%%time\n{WORKED}",
        f"get_ipython().run_cell_magic('time', '', {WORKED + chr(10)!r})",
    ),
    "a magic with words": (
        '%%timeit -n 1\nit\'s = "1"\\n',
        "get_ipython().run_cell_magic('timeit', '-n 1', 'it\\'s = \"1\"\\\\n\\n')",
    ),
    "a magic in a comment": (f"%%time\n{WORKED}", f"# %%time\n{WORKED}"),
    "a cell that is no Python": (
        "%%bash\nls -l\ncd ..",
        "get_ipython().run_cell_magic('bash', '', 'ls -l\\ncd ..\\n')",
    ),
    "help before": ("?jnp.mean", "get_ipython().run_line_magic('pinfo', 'jnp.mean')"),
    "help behind": ("jnp.mean??  # why", "get_ipython().run_line_magic('pinfo2', 'jnp.mean')"),
    "what a shell line gives": ("files = !ls", "files = get_ipython().getoutput('ls')"),
    "what a magic gives": (
        "a, b = %time f()",
        "a, b = get_ipython().run_line_magic('time', 'f()')",
    ),
    "a long shell line": (
        "if True:\n    !pip install \\\n    jax\nx = 1",
        "if True:\n    get_ipython().system('pip install      jax')\nx = 1",
    ),
    "a word for a magic": ("pip install jax", "get_ipython().run_line_magic('pip', 'install jax')"),
}


@pytest.mark.parametrize(("cell", "exported"), CELLS_AND_EXPORTS.values(), ids=CELLS_AND_EXPORTS)
def test_whatever_an_export_makes_of_notebook_syntax_it_is_one_page(found, cell, exported):
    pages = {"ones_bound.ipynb": notebook(ALL_NAMES, cell, "y = 2")}
    pages["ones_bound.py"] = f"{ALL_NAMES}\n# In[2]:\n\n\n{exported}\n\n\n# In[ ]:\n\n\ny = 2\n"
    result = found(pages)
    assert (result.status, result.file) == ("graded", "ones_bound.ipynb")


def test_a_cell_magic_with_other_code_is_another_page(found):
    exported = "get_ipython().run_cell_magic('time', '', 'x = 2')"
    pages = {"ones_bound.ipynb": notebook(ALL_NAMES, "%%time\nx = 1")}
    assert found(pages | {"ones_bound.py": f"{ALL_NAMES}\n{exported}\n"}).status == "ambiguous"


def test_untouched_scaffolds_alone_are_one_untouched_submission(found):
    result = found({"ones_bound.py": SCAFFOLD, "ones_bound.ipynb": SCAFFOLD_NOTEBOOK})
    assert result.status == "graded"


def test_copies_of_one_file_count_once(found):
    result = found({"a/ones_bound.py": WORKED, "b/ones_bound.py": WORKED})
    assert (result.status, result.file) == ("graded", "a/ones_bound.py")


def test_an_exact_name_beats_other_spellings(found):
    result = found({"ones_bound.py": WORKED, "Ones Bound (2).py": WORKED + "# more\nx = 1\n"})
    assert (result.status, result.file) == ("graded", "ones_bound.py")


def test_two_that_are_left_are_ambiguous(found):
    result = found({"old/ones_bound.py": WORKED, "new/ones_bound.py": WORKED + "x = 1\n"})
    assert result.status == "ambiguous"
    assert result.source is None


def test_a_file_of_another_name_counts_where_the_expected_one_is_untouched(found):
    result = found({"ones_bound.py": SCAFFOLD, "Copy of ones_bound.py": ALL_NAMES})
    assert (result.status, result.file) == ("graded", "Copy of ones_bound.py")


@pytest.mark.parametrize("other", ["Ones Bound (2).py", "ones_bound_final.py"])
def test_what_was_left_aside_for_the_exact_name_is_named(found, other):
    result = found({"ones_bound.py": WORKED, other: ALL_NAMES})
    (note,) = result.notes
    assert note.startswith(f"{other} was left aside")
    assert note.endswith("; ones_bound.py was taken, which has no growth_factor, rate_ceiling")
    assert ("hand in that one alone" in note) is (other == "Ones Bound (2).py")


def test_copies_with_other_line_ends_and_comments_count_once(found):
    crlf = "# mine\r\n" + WORKED.replace("\n", "\r\n")
    result = found({"a/ones_bound.py": WORKED, "b/ones_bound.py": crlf})
    assert (result.status, result.file) == ("graded", "a/ones_bound.py")


def test_of_copies_the_one_of_the_exact_name_counts(found):
    result = found({"Ones Bound.py": WORKED, "ones_bound.py": WORKED})
    assert (result.file, result.notes) == ("ones_bound.py", ())


@pytest.mark.parametrize("content", ["", "# nothing yet\n", "\n\n"])
def test_a_file_without_code_drops_out(found, content):
    result = found({"ones_bound.py": content, "ones_bound.ipynb": notebook(WORKED)})
    assert (result.status, result.file) == ("graded", "ones_bound.ipynb")


def test_one_file_for_several_exercises_is_ambiguous_and_says_so(found):
    nan_input = (ROOT / "exercises" / "nan_input.py").read_text()
    result = found({"all.py": ALL_NAMES + nan_input})
    assert result.status == "ambiguous"
    assert "all.py defines the names of nan_input, ones_bound: hand in one file" in result.reason


# --- what a file really is ------------------------------------------------------------------------


def test_a_notebook_named_as_a_script_is_read_as_a_notebook_with_a_note(found):
    result = found({"ones_bound.py": notebook(WORKED)})
    assert result.notebook
    assert "holds a notebook" in result.notes[0]


def test_a_script_named_as_a_notebook_is_read_as_a_script_with_a_note(found):
    result = found({"ones_bound.ipynb": WORKED})
    assert not result.notebook
    assert "holds no notebook but a script" in result.notes[0]


def test_a_script_that_starts_with_a_brace_is_a_script(found):
    assert found({"ones_bound.py": "{1: 2}\n" + WORKED}).status == "graded"


def test_a_zip_named_otherwise_is_opened_with_a_note(hand_in, tmp_path):
    place = tmp_path / "someone"
    for name in ("homework.py", "homework.bin", "homework"):
        submission = hand_in({name: zipped({"ones_bound.py": WORKED})})
        assert submission.found["ones_bound"].file == f"{name}/ones_bound.py"
        assert f"{name} is a zip, and was read as one" in submission.notes
        (place / name).unlink()


@pytest.mark.parametrize("name", ["a.zip", "zzz.zip"])
def test_pages_of_one_name_from_different_places_are_candidates_like_others(found, name):
    untouched = found({"ones_bound.py": WORKED, name: zipped({"ones_bound.py": SCAFFOLD})})
    assert (untouched.status, untouched.file) == ("graded", "ones_bound.py")
    wrong = WORKED.replace("return 2", "return 3")
    differing = found({"ones_bound.py": WORKED, name: zipped({"ones_bound.py": wrong})})
    assert differing.status == "ambiguous"
    assert f"{name}/ones_bound.py" in differing.reason


def test_files_that_one_student_uploaded_by_one_name_are_candidates_like_others(tmp_path):
    roots = []
    for number, text in enumerate([WORKED, SCAFFOLD]):
        path = tmp_path / f"lastfirst_1_{number}_ones_bound.py"
        path.write_text(text)
        roots.append((path, "ones_bound.py"))
    result = submissions.read(roots, ["ones_bound"]).found["ones_bound"]
    assert (result.status, PurePosixPath(result.file).parts) == (
        "graded",
        ("lastfirst_1_0_ones_bound.py", "ones_bound.py"),
    )


def test_each_zip_has_helpers_of_its_own_and_those_beside_it(found):
    page = f"import h\n{WORKED}"
    files = {"a.zip": zipped({"ones_bound.py": page, "h.py": "A = 1"}), "k.py": "K = 3"}
    files["b.zip"] = zipped({"nan_input.py": "import h", "h.py": "A = 2"})
    assert found(files).source.helpers == {"h": "A = 1", "k": "K = 3"}


@pytest.mark.parametrize("name", ["Ana_ones_bound.py", "ones_bound_v2.py", "HW3 Ones-Bound.ipynb"])
def test_a_name_that_holds_the_exercises_is_taken_where_some_of_its_names_are_defined(found, name):
    some = "def curvature(features):\n    return 2\n"
    result = found({name: notebook(some) if name.endswith("ipynb") else some})
    assert (result.status, result.file) == ("graded", name)
    assert any(name in note for note in result.notes)


def test_a_helper_whose_name_holds_the_exercises_is_not_taken_for_it(found):
    files = {"ones_bound_helpers.py": "def mean_square(x): ...", "Untitled.py": ALL_NAMES}
    assert found(files).file == "Untitled.py"


def test_a_helper_that_defines_some_of_the_names_is_no_second_meaning(found):
    helper = "def curvature(features):\n    return 2\n"
    files = {"ones_bound_helpers.py": helper, "Untitled.py": ALL_NAMES}
    assert found(files).file == "Untitled.py"


def test_what_may_have_been_meant_is_named_where_nothing_is_taken(found):
    assert "only work.py" in found({"work.py": "def mean(x): ..."}).reason


def test_a_page_under_another_exercises_name_is_named(found):
    result = found({"nan_input.py": ALL_NAMES})
    assert result.status == "missing"
    assert "nan_input.py defines its names" in result.reason


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"Rar!\x1a\x07", "a RAR archive"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"\x1f\x8b\x08", "a gzip or tar.gz archive"),
        (b"\0" * 257 + b"ustar", "a tar archive"),
        (b"%PDF-1.7", "a PDF"),
        (b"\xd0\xcf\x11\xe0", "an office document"),
        (b"{\\rtf1\\ansi", "an RTF document"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"<html>", "a web page"),
    ],
)
@pytest.mark.parametrize("name", ["homework.xyz", "ones_bound.py", "ones_bound.tar.gz"])
def test_other_kinds_are_unreadable_and_say_what_to_hand_in(found, head, kind, name):
    result = found({name: head + b"\0" * 300})
    assert result.status == "unreadable"
    assert kind in result.reason
    assert "hand in a .py, a .ipynb or a zip" in result.reason


@pytest.mark.parametrize("head", ["BZh = 1\n", f'"""{"x" * 254}ustar"""\n', "Rar = 1\n"])
def test_a_text_that_begins_as_an_archive_does_is_a_page(found, head):
    assert found({"ones_bound.py": head + WORKED}).source.cells[0][0] == head + WORKED
    assert found({"in.zip": zipped({"ones_bound.py": head + WORKED})}).status == "graded"


def test_a_web_page_named_as_a_script_is_none(found):
    for head in ("<!DOCTYPE html>\n<html>", "\n\n  <!doctype HTML>", "\ufeff<HTML lang='en'>"):
        for name in ("ones_bound.py", "ones_bound.ipynb"):
            assert "a web page" in found({name: f"{head}x</html>\n"}).reason
    assert found({"ones_bound.py": f"\n{WORKED}", "ones_bound.ipynb": ""}).status == "graded"


def test_a_word_document_is_unreadable(found):
    document = zipped({"[Content_Types].xml": "<x/>", "word/document.xml": "<x/>"})
    assert "an office document" in found({"ones_bound.docx": document}).reason


def test_an_unreadable_file_beside_the_right_one_does_not_matter(found):
    assert found({"ones_bound.py": WORKED, "handout.pdf": b"%PDF-1.7"}).status == "graded"


def test_a_file_that_cannot_be_read_and_has_another_name_is_named(found):
    result = found({"homework.py": "# Rückgabe\n".encode("latin-1")})
    assert (result.status, result.file) == ("unreadable", "homework.py")
    assert "homework.py: line 1, byte 4" in result.reason


def test_what_cannot_be_read_is_named_beside_an_untouched_page(found):
    result = found({"ones_bound.py": SCAFFOLD, "answers.pdf": b"%PDF-1.7"})
    assert result.status == "graded"
    assert "answers.pdf is a PDF" in result.notes[0]


DAMAGED: dict[str, list[str | bytes]] = {
    "ones_bound.ipynb": [notebook(ALL_NAMES)[:-30], "version https://git-lfs.github.com/spec/v1\n"],
    "ones_bound (1).py": ["# R\xfcckgabe\n".encode("latin-1")],
}


@pytest.mark.parametrize("readable", ["ones_bound.py", "Ones Bound.py", "homework.py"])
@pytest.mark.parametrize(
    ("name", "content"), [(name, content) for name in DAMAGED for content in DAMAGED[name]]
)
def test_of_candidates_the_one_that_can_be_read_is_taken_and_the_other_named(
    found, readable, name, content
):
    result = found({readable: ALL_NAMES, name: content})
    assert (result.status, result.file) == ("graded", readable)
    (note,) = [note for note in result.notes if note.startswith(f"{name} can't be read (")]
    assert note.endswith(f"; {readable} was taken")


def test_what_cannot_be_read_counts_where_the_rest_was_not_worked_on(found):
    for content in DAMAGED["ones_bound.ipynb"]:
        result = found({"ones_bound.py": SCAFFOLD, "ones_bound.ipynb": content})
        assert (result.status, result.file) == ("unreadable", "ones_bound.ipynb")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS's pointer to the"),
        (b"book\0\0\0\0mark\0\0\0\0\xff", "a macOS alias of the"),
        (b"L\0\0\0\x01\x14\x02\0\0\0\0\0\xc0", "a Windows shortcut to the"),
    ],
)
def test_a_pointer_to_the_file_is_unreadable_and_says_what_to_hand_in(found, content, what):
    result = found({"ones_bound.py": content})
    assert result.status == "unreadable"
    assert f"only {what} file is here; hand in the file itself" in result.reason


MARIMO = f"import marimo\n\napp = marimo.App()\n\n\n@app.function\n{WORKED[23:]}"


def test_a_marimo_app_is_unreadable_and_says_what_to_hand_in(found):
    result = found({"ones_bound.py": MARIMO})
    assert result.status == "unreadable"
    assert "a marimo app: hand in a script (marimo export script)" in result.reason
    result = found({"ones_bound.py": MARIMO, "ones_bound.ipynb": notebook(ALL_NAMES)})
    assert result.file == "ones_bound.ipynb"


@pytest.mark.parametrize("line", ["# app = marimo.App()", "text = 'app = marimo.App()'"])
def test_a_page_that_only_speaks_of_marimo_is_read(found, line):
    assert found({"ones_bound.py": f"import marimo\n{line}\n{WORKED}"}).status == "graded"


@pytest.mark.parametrize("name", ["ones_bound.html", "Ones Bound (1).R", "ones_bound.ipynb.part"])
def test_a_page_of_another_kind_is_unreadable(hand_in, tmp_path, name):
    (tmp_path / "someone").mkdir()
    (tmp_path / "someone" / name).write_text("x")
    submission = submissions.read(tmp_path / "someone", ["ones_bound", "nan_input"])
    result = submission.found["ones_bound"]
    assert (result.status, result.file) == ("unreadable", name)
    assert f"{name} has neither a script's ending nor a notebook's" in result.reason
    assert submission.notes == ()  # told once
    assert submission.found["nan_input"].status == "missing"


def test_files_that_hold_no_page_are_named_where_nothing_else_is(hand_in):
    submission = hand_in({"holiday.png": b"\x89PNG"})
    assert submission.found["ones_bound"].status == "missing"
    assert "no file has a script's or a notebook's ending, only holiday.png" in submission.notes[0]
    assert hand_in({"ones_bound.py": WORKED}).notes == ()


NAN_INPUT = "".join(
    f"def {name}(x):\n    return x\n" for name in ("corrupt", "step_is_finite", "repair")
)


@pytest.mark.parametrize("own", [SCAFFOLD, NAN_INPUT])
def test_answers_under_another_exercises_name_are_named_beside_a_page_without_any(found, own):
    result = found({"ones_bound.py": own, "nan_input.py": ALL_NAMES})
    said = "nan_input.py defines the names of ones_bound: hand that in as ones_bound"
    assert (result.file, said in result.notes) == ("ones_bound.py", True)


def test_of_other_exercises_pages_nothing_is_said_beside_an_answer(found):
    assert found({"ones_bound.py": WORKED, "nan_input.py": ALL_NAMES}).notes == ()
    scaffold = (ROOT / "exercises" / "nan_input.py").read_text()
    assert found({"ones_bound.py": SCAFFOLD, "nan_input.py": scaffold}).notes == ()


@pytest.mark.parametrize("name", ["ones_bound part", "half"])
@pytest.mark.parametrize("first", [1, 2])
def test_a_page_handed_in_as_two_parts_is_told_so(found, name, first):
    parts = {first: ALL_NAMES, 3 - first: "def compare_rates(*a):\n    return 2\n"}
    result = found({f"{name} {n}.ipynb": notebook(code) for n, code in parts.items()})
    said = f"{name} {3 - first}.ipynb defines compare_rates, and {name} {first}.ipynb does not"
    assert any(note.startswith(said) for note in result.notes), result.notes


def test_a_helper_that_is_imported_is_no_part(found):
    helpers = {"b.py": "def compare_rates(*a): return 2", "c/d.py": "def curvature(f): return 1"}
    result = found({"ones_bound.py": "from b import *\nimport c.d\n" + WORKED[22:], **helpers})
    assert not any("does not" in note for note in result.notes), result.notes


def test_a_page_that_imports_its_answers_is_told_to_hold_them(found):
    page = notebook("from ones_bound import *\nrate_ceiling = 1")
    both = found({"ones_bound.ipynb": page, "ones_bound.py": ALL_NAMES})
    assert "ones_bound.ipynb imports from ones_bound: copy what it needs into it" in both.reason


def test_a_page_that_imports_itself_is_told_so(found):
    (note,) = found({"ones_bound.py": "from ones_bound import *\nrate_ceiling = 1"}).notes
    assert "ones_bound, which is the page itself" in note


@pytest.mark.parametrize("name", ["lesson.ipynb", "ones_bound.py"])
def test_a_page_that_has_all_its_answers_may_import_what_it_likes(found, name):
    code = f"{ALL_NAMES}\ncompare_rates = 1\nimport lesson\nfrom ones_bound import curvature\n"
    result = found({name: notebook(code) if name.endswith("ipynb") else code})
    assert not any("itself" in note for note in result.notes)


def test_the_expected_name_is_that_of_what_the_file_holds(found):
    assert "name is ones_bound.ipynb" in found({"ones_bound.ipynb.txt": notebook(WORKED)}).notes[0]


# --- folders, links, odd names --------------------------------------------------------------------


def test_a_folder_named_like_a_script_is_searched(found):
    assert found({"ones_bound.py/x/ones_bound.py": WORKED}).status == "graded"


@pytest.mark.parametrize(
    "folder",
    [
        *(".ipynb_checkpoints", "__MACOSX", ".venv", "venv", "node_modules", "__pycache__", ".git"),
        *("site-packages", "env"),
    ],
)
def test_hidden_and_environment_folders_are_not_searched(found, folder):
    result = found({f"{folder}/ones_bound.py": WORKED, ".DS_Store": b"\0\1"})
    assert result.status == "missing"
    assert f"; {folder}/ones_bound.py is hidden, or in a folder that is not" in result.reason
    result = found({"ones_bound.py": WORKED + WORKED})
    assert (result.file, result.notes) == ("ones_bound.py", ()), "no candidate beside another"


@pytest.mark.parametrize("name", [".git/HEAD", ".vscode/settings.json", "venv/bin/python"])
def test_where_all_is_hidden_the_submission_says_so(hand_in, name):
    (note,) = hand_in({name: "x"}).notes
    assert note.startswith(f"there is only {name.split('/')[0]}/, hidden or not searched: hand in")


def test_a_zip_of_nothing_but_hidden_files_says_so(hand_in):
    (note,) = hand_in({"all.zip": zipped({".git/HEAD": "x"})}).notes
    assert note.startswith("all.zip is a zip with nothing in it but what is hidden, or in folders")


def test_what_an_editor_keeps_of_an_open_page_is_told_as_that(found):
    reason = found({".ones_bound.py.swp": b"b0VIM"}).reason
    assert reason.endswith("is what an editor keeps of an open file: hand in ones_bound.py")


def test_a_helper_that_another_page_imports_is_not_meant_for_an_exercise(hand_in):
    page = f"from tables import one\n{WORKED}"
    files = {"ones_bound.py": page, "tables.py": "from more import one\n", "more.py": "one = 1\n"}
    reason = hand_in(files | {"draft.py": "x = 1\n"}, "nan_input").found["nan_input"].reason
    assert "only draft.py: hand in one file" in reason


@pytest.mark.parametrize("in_a_zip", [False, True])
def test_a_file_that_is_too_large_is_named_beside_a_page_too(hand_in, monkeypatch, in_a_zip):
    monkeypatch.setattr(storage, "MAX_BYTES", 2_000)
    files = {"ones_bound.py": WORKED, "tables.py": "".join(map(str, range(1_000)))}
    submission = hand_in({"all.zip": zipped(files)} if in_a_zip else files)
    assert submission.found["ones_bound"].status == "graded"
    (note,) = submission.notes
    assert "tables.py is too large" in note


def test_what_an_exercise_is_told_is_not_told_again(hand_in, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 2_000)
    submission = hand_in({"ones_bound.py": "1" * 3_000})
    assert "ones_bound.py is too large" in submission.found["ones_bound"].reason
    assert submission.notes == ()


def test_an_entry_with_a_name_too_long_or_too_deep_is_skipped_and_named(tmp_path):
    entries = {"ones_bound.py": WORKED, "x" * 1_001 + ".py": "", "x/" * 32 + "y.py": ""}
    submission = read_zip(tmp_path, zipped(entries))
    assert submission.found["ones_bound"].status == "graded"
    assert [note.endswith("too long a name, or lies too deep") for note in submission.notes] == [
        True,
        True,
    ]


def test_links_are_not_followed_and_named(hand_in, tmp_path):
    (tmp_path / "secret.py").write_text(WORKED)
    (tmp_path / "someone").mkdir()
    (tmp_path / "someone" / "ones_bound.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "someone" / "all").symlink_to(tmp_path, target_is_directory=True)
    submission = hand_in({})
    assert submission.found["ones_bound"].status == "missing"
    told = "is a link; links are not followed: hand in the file itself"
    assert {f"ones_bound.py {told}", f"all {told}"} <= set(submission.notes)


def test_a_pipe_is_not_read(hand_in, tmp_path):
    (tmp_path / "someone").mkdir()
    os.mkfifo(tmp_path / "someone" / "ones_bound.py")
    submission = hand_in({})
    assert submission.found["ones_bound"].status == "missing"
    assert "no ordinary file" in submission.notes[0]


def test_names_of_any_bytes_can_be_read_and_written(tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9 \n \xe2\x80\xae"
    place = Path(os.fsdecode(folder))
    place.mkdir()
    (place / os.fsdecode(b"ones_bound (\xff).py")).write_text(ALL_NAMES)
    submission = submissions.read(place, ["ones_bound"])
    assert submission.found["ones_bound"].status == "graded"
    assert submission.student == "caf\\xe9 \n \u202e"
    (submission.found["ones_bound"].file or "").encode("utf-8")


def test_nothing_there_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="there is no file or folder"):
        submissions.read(tmp_path / "nobody", ["ones_bound"])


# --- zips -----------------------------------------------------------------------------------------


def read_zip(tmp_path, data: bytes) -> Submission:
    path = tmp_path / "someone.zip"
    path.write_bytes(data)
    return submissions.read(path, ["ones_bound"])


def test_a_zip_is_searched_like_a_folder(tmp_path):
    data = zipped({"hw/ones_bound.py": WORKED, "__MACOSX/hw/._ones_bound.py": b"\0\5\x16"})
    submission = read_zip(tmp_path, data)
    assert submission.student == "someone"
    assert submission.found["ones_bound"].file == "hw/ones_bound.py"


@pytest.mark.parametrize(
    "name", ["../ones_bound.py", "/ones_bound.py", "C:/ones_bound.py", "a/../../ones_bound.py"]
)
def test_entries_that_lead_outside_are_skipped_and_named(tmp_path, name):
    submission = read_zip(tmp_path, zipped({name: WORKED}))
    assert submission.found["ones_bound"].status == "missing"
    note = f"the zip's entry {name} leads outside: make the zip again, in the folder itself"
    assert note in submission.notes
    reason = submission.found["ones_bound"].reason
    assert reason.endswith(f"; {name} was found and not read, as the notes say")


def test_links_in_a_zip_are_skipped_and_named(tmp_path):
    info = zipfile.ZipInfo("ones_bound.py")
    info.external_attr = 0o120777 << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    assert "leads outside" in read_zip(tmp_path, out.getvalue()).notes[0]


def test_of_two_equal_names_in_a_zip_the_last_counts_with_a_note(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("ones_bound.py", "x = 1\n")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("ones_bound.py", WORKED)
    submission = read_zip(tmp_path, out.getvalue())
    assert submission.found["ones_bound"].source.cells[0][0] == WORKED
    assert "the zip holds ones_bound.py twice; the last one counts" in submission.notes


def test_a_zip_in_a_zip_is_opened_and_a_third_one_is_not(tmp_path):
    inner = zipped({"ones_bound.py": WORKED})
    assert read_zip(tmp_path, zipped({"a.zip": inner})).found["ones_bound"].status == "graded"
    third = read_zip(tmp_path, zipped({"b.zip": zipped({"a.zip": inner})}))
    assert third.found["ones_bound"].status == "unreadable"
    assert "a zip in a zip in a zip" in third.found["ones_bound"].reason


def test_an_encrypted_zip_is_unreadable_and_says_so(tmp_path):
    data = bytearray(zipped({"ones_bound.py": WORKED}))
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    result = read_zip(tmp_path, bytes(data)).found["ones_bound"]
    assert result.status == "unreadable"
    assert "encrypted" in result.reason


def test_too_many_entries_too_much_content_and_too_high_a_ratio_are_unreadable(
    tmp_path, monkeypatch
):
    many = zipped({f"{k}.py": "" for k in range(30)})
    bomb = zipped({"ones_bound.py": b"#" * 3_000_000})
    assert (
        read_zip(tmp_path, zipped({"p.png": b"0" * 3_000_000, "ones_bound.py": WORKED}))
        .found["ones_bound"]
        .source
    ), "what is not read does not count"
    large = zipped({"ones_bound.py": os.urandom(3_000_000)})
    ratio = read_zip(tmp_path, bomb).found["ones_bound"].reason
    assert "times its size: clear the notebook's outputs, or hand in the .ipynb itself" in ratio
    monkeypatch.setattr(storage, "MAX_FILES", 20)
    assert "more than 20 entries" in read_zip(tmp_path, many).found["ones_bound"].reason
    monkeypatch.setattr(storage, "MAX_BYTES", 2 << 20)
    for data in (bomb, large):
        assert read_zip(tmp_path, data).found["ones_bound"].status == "unreadable"


def test_an_entry_that_is_too_large_costs_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 100_000)
    large = os.urandom(1_000).hex() * 100
    submission = read_zip(tmp_path, zipped({"nan_input.py": large, "ones_bound.py": WORKED}))
    assert submission.found["ones_bound"].source
    named = submissions.read(tmp_path / "someone.zip", ["nan_input"]).found["nan_input"]
    assert (named.status, named.file) == ("unreadable", "nan_input.py")
    assert "too large" in named.reason


def test_a_zip_that_lies_about_its_sizes_is_unreadable_or_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 100_000)
    data = bytearray(zipped({"ones_bound.py": b"x = 1\n" * 100_000}))
    place = data.index(b"PK\1\2") + 24
    data[place : place + 4] = (10).to_bytes(4, "little")
    result = read_zip(tmp_path, bytes(data)).found["ones_bound"]
    assert result.status != "graded" or len(result.source.cells[0][0]) <= 100_000


@pytest.mark.parametrize("cut", [4, 30, 60, 100])
def test_a_damaged_zip_is_unreadable(tmp_path, cut):
    result = read_zip(tmp_path, zipped({"ones_bound.py": WORKED})[:-cut]).found["ones_bound"]
    assert result.status == "unreadable"
    assert "damaged" in result.reason


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_entry_that_is_damaged_costs_no_other(tmp_path, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("data.txt", os.urandom(2_000))
        archive.writestr("ones_bound.py", WORKED)
    data = bytearray(out.getvalue())
    data[60:1_000] = bytes(940)
    assert read_zip(tmp_path, bytes(data)).found["ones_bound"].status == "graded"


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_entry_is_named(tmp_path, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("ones_bound.py", WORKED * 9)
    data = bytearray(out.getvalue())
    data[53:80] = b"\xff" * 27
    result = read_zip(tmp_path, bytes(data)).found["ones_bound"]
    assert result.status == "unreadable"
    assert "ones_bound.py can't be unpacked" in result.reason


def test_an_entry_without_a_name_is_passed_over(tmp_path):
    data = bytearray(zipped({"x": "", "ones_bound.py": WORKED}))
    data[data.index(b"PK\1\2") + 46] = 0
    assert read_zip(tmp_path, bytes(data)).found["ones_bound"].status == "graded"


def test_what_is_named_a_zip_and_is_none_is_unreadable(found):
    result = found({"homework.zip": b"<p>please log in"})
    assert (result.status, result.file) == ("unreadable", "homework.zip")


def test_a_document_in_a_zip_is_unreadable(tmp_path):
    document = zipped({"[Content_Types].xml": "<x/>"})
    result = read_zip(tmp_path, zipped({"ones_bound.docx": document})).found["ones_bound"]
    assert "an office document" in result.reason


def test_entries_that_are_not_searched_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_FILES", 5)
    data = zipped({"ones_bound.py": WORKED} | {f".venv/{k}.py": "" for k in range(10)})
    assert read_zip(tmp_path, data).found["ones_bound"].status == "graded"


def test_the_entries_of_all_zips_are_bounded_together(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_FILES", 20)
    inner = {f"{k}.zip": zipped({f"{k}-{j}.py": "" for j in range(9)}) for k in range(9)}
    result = read_zip(tmp_path, zipped(inner)).found["ones_bound"]
    assert result.status == "unreadable"
    assert "would make more than 20 files" in result.reason


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_every_way_of_packing_is_read(tmp_path, method):
    page = f"{WORKED}# {os.urandom(200_000).hex()}\n"
    submission = read_zip(tmp_path, zipped({"ones_bound.py": page, "empty.py": ""}, method))
    assert submission.found["ones_bound"].source.cells[0][0] == page
    damaged = bytearray(zipped({"ones_bound.py": WORKED}, method))
    damaged[damaged.index(b"PK\1\2") + 16] ^= 1  # the checksum
    assert "Bad CRC-32" in read_zip(tmp_path, bytes(damaged)).found["ones_bound"].reason


def lying(method: int, entries: int, size: int = 50_000_000) -> bytes:
    """A zip of a page and of entries that unpack to `size` bytes, and say that they are short."""
    with zipfile.ZipFile(io.BytesIO(zipped({"h": b"#" * size}, method))) as archive:
        place = archive.getinfo("h").header_offset + 30 + 1
        content = archive.fp.getvalue()[place : place + archive.getinfo("h").compress_size]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("ones_bound.py", WORKED)
        archive.writestr("holiday.png", os.urandom(20_000))  # nothing unpacks to a lot of it
        for number in range(entries):
            archive.writestr(f"h{number}.py", content)
            info = archive.infolist()[-1]
            info.compress_type, info.file_size, info.CRC = method, 900_000, 0
    return out.getvalue()


class Unpackers:
    """The unpackers of a module, with the largest piece and the sum of what they made."""

    def __init__(self, monkeypatch, module, name):
        self.largest = self.total = 0
        made = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *how, **named: Watched(made(*how, **named), self))


class Watched:
    def __init__(self, unpacker, counts):
        self.unpacker, self.counts = unpacker, counts

    def __getattr__(self, name):
        return getattr(self.unpacker, name)

    def decompress(self, data, *bound):
        piece = self.unpacker.decompress(data, *bound)
        self.counts.largest = max(self.counts.largest, len(piece))
        self.counts.total += len(piece)
        return piece


@pytest.mark.parametrize(
    ("method", "module", "name"),
    [
        (zipfile.ZIP_DEFLATED, zlib, "decompressobj"),
        (zipfile.ZIP_BZIP2, bz2, "BZ2Decompressor"),
        (zipfile.ZIP_LZMA, lzma, "LZMADecompressor"),
    ],
)
def test_an_entry_that_lies_about_its_size_is_unpacked_to_that_size_alone(
    tmp_path, monkeypatch, method, module, name
):
    data = lying(method, 2)
    unpackers = Unpackers(monkeypatch, module, name)
    found = read_zip(tmp_path, data).found["ones_bound"]
    assert found.status == "graded"
    assert unpackers.total == 2 * 900_000
    assert unpackers.largest <= zips.PIECE


def test_what_is_unpacked_in_vain_is_bounded_for_a_submission(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 2 << 20)
    unpackers = Unpackers(monkeypatch, zlib, "decompressobj")
    for number in range(30):
        (tmp_path / "someone").mkdir(exist_ok=True)
        path = tmp_path / "someone" / f"{number:02}.zip"
        path.write_bytes(lying(zipfile.ZIP_DEFLATED, 1, 2_000_000))
    found = submissions.read(tmp_path / "someone", ["ones_bound"]).found["ones_bound"]
    assert unpackers.total <= 4 * (2 << 20) + zips.PIECE
    assert (found.status, found.file) == ("graded", "00.zip/ones_bound.py")


def test_entries_that_share_their_bytes_are_not_unpacked_time_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 1 << 20)
    empty = b"\0\0\0\xff\xff" * 40_000  # unpacks to nothing
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("ones_bound.py", empty)
        info = archive.infolist()[-1]
        info.compress_type, info.file_size, info.CRC = zipfile.ZIP_DEFLATED, 100, 0
        for _ in range(99):
            archive.filelist.append(info)
    monkeypatch.setattr(zips, "pieces", None)
    result = read_zip(tmp_path, out.getvalue()).found["ones_bound"]
    assert (result.status, result.file) == ("unreadable", "ones_bound.py")
    assert "is too large" in result.reason


def test_a_part_of_a_zip_is_told_as_that(tmp_path):
    data = zipped({"ones_bound.py": WORKED})
    end = data.rindex(b"PK\5\6")
    part = data[: end + 4] + b"\1\0\1\0" + data[end + 8 :]
    assert (
        "the last part of a zip in several" in read_zip(tmp_path, part).found["ones_bound"].reason
    )


@pytest.mark.parametrize("name", ["ones_bound.ipnyb", "ones_bound.docx", "ones_bound.py_"])
@pytest.mark.parametrize("in_a_zip", [False, True])
def test_a_notebook_of_any_ending_is_one(hand_in, name, in_a_zip):
    page = notebook(ALL_NAMES, "x = 1")
    submission = hand_in({"all.zip": zipped({name: page})} if in_a_zip else {name: page})
    found = submission.found["ones_bound"]
    assert (found.status, found.notebook) == ("graded", True)
    assert any("holds a notebook, and was read as one" in note for note in found.notes)


@pytest.mark.parametrize("backup", ["homework.ipynb.bak", "homework.ipynb~", "homework.old"])
def test_a_notebook_of_another_ending_gives_way_to_one_of_the_usual(found, backup):
    page, draft = notebook(ALL_NAMES, "x = 1"), notebook(ALL_NAMES, "x = 2")
    result = found({"homework.ipynb": page, backup: draft})
    assert (result.status, result.file) == ("graded", "homework.ipynb")
    assert any(f"{backup} was left aside" in note for note in result.notes)


def test_the_list_of_a_zip_is_bounded_before_it_is_parsed(tmp_path, monkeypatch):
    data = zipped({f".venv/{number}": "" for number in range(300)} | {"ones_bound.py": WORKED})
    assert read_zip(tmp_path, data).found["ones_bound"].status == "graded"
    monkeypatch.setattr(storage, "MAX_LISTED", 300)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    result = read_zip(tmp_path, data).found["ones_bound"]
    assert (result.status, result.file) == ("unreadable", "someone.zip")
    assert "lists more than 300 entries, or with the other zips more than" in result.reason


def test_the_lists_of_all_zips_are_bounded_together(hand_in, monkeypatch):
    monkeypatch.setattr(storage, "MAX_LISTED_IN_ALL", 500)
    listed = zipped({f".venv/{number}": "" for number in range(300)})
    found = hand_in({"a.zip": listed, "ones_bound.zip": listed}).found["ones_bound"]
    assert found.status == "unreadable"
    assert "with the other zips more than 500: leave out what is not yours" in found.reason


def test_a_helper_is_read_once_for_all_exercises(tmp_path):
    for name in ("ones_bound.py", "nan_input.py"):
        (tmp_path / name).write_text(f"import tables\n{WORKED}x = {len(name)}\n")
    (tmp_path / "tables.py").write_text("TABLE = [1, 2]\n")
    found = submissions.read(tmp_path, ["ones_bound", "nan_input"]).found
    first, second = (each.source.helpers["tables"] for each in found.values() if each.source)
    assert first is second


# --- bounds on folders ----------------------------------------------------------------------------


def test_more_files_than_allowed_are_left_out_and_told(hand_in, monkeypatch):
    monkeypatch.setattr(storage, "MAX_FILES", 5)
    submission = hand_in({f"{k}.py": "" for k in range(10)})
    assert "more than 5 files; the rest was not read" in submission.notes


def test_a_notebook_that_is_too_large_is_to_be_cleared(found, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 1_000)
    large = notebook("x = 1" + "#" * 2_000)
    assert "clear all outputs of the notebook" in found({"ones_bound.ipynb": large}).reason
    packed = zipped({"ones_bound.ipynb": large}, zipfile.ZIP_DEFLATED)
    reason = read_zip(tmp_path, packed).found["ones_bound"].reason
    assert "clear all outputs of the notebook" in reason


@pytest.mark.parametrize(("method", "name"), [(9, "Deflate64"), (200, "method 200")])
def test_a_way_of_packing_that_is_not_read_is_named(tmp_path, method, name):
    data = bytearray(zipped({"ones_bound.py": WORKED}))
    data[8], data[data.index(b"PK\1\2") + 10] = method, method
    reason = read_zip(tmp_path, bytes(data)).found["ones_bound"].reason
    assert f"packed by {name}, which is not read): pack it in the ordinary way" in reason
    assert "damaged" not in reason


def test_a_file_that_is_too_large_is_unreadable(found, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 1_000)
    result = found({"ones_bound.py": WORKED + "#" * 2_000})
    assert result.status == "unreadable"
    assert "too large" in result.reason


def test_folders_that_are_too_deep_are_not_searched(hand_in):
    submission = hand_in({"/".join(["d"] * 40) + "/ones_bound.py": WORKED})
    assert submission.found["ones_bound"].status == "missing"
    assert "too deep" in submission.notes[0]


# --- helpers --------------------------------------------------------------------------------------


def test_helper_modules_beside_the_file_can_be_imported(found):
    files = {"hw/ones_bound.py": WORKED, "hw/tools.py": "A = 1\n", "hw/pack/__init__.py": ""}
    files |= {"hw/pack/part.py": "B = 2\n", "elsewhere/other.py": "C = 3\n"}
    result = found(files)
    assert result.source.helpers == {"tools": "A = 1\n", "pack": "", "pack.part": "B = 2\n"}
    assert found({"hw/tools.py": "A = 1\n\0\0"}).source.helpers["tools"] == "A = 1\n"


def test_a_module_that_is_missing_and_lies_elsewhere_is_named(found):
    unreadable = "# Rückgabe\n".encode("latin-1")
    files = {"hw/pages/ones_bound.py": WORKED, "hw/pages/a/b.py": "", "hw/maths.py": ""}
    result = found(files | {"hw/pages/h.py": unreadable})

    def told(missing: str) -> str:
        event = LoadEvent("raised", 0, 1, f"ModuleNotFoundError: No module named {missing}")
        return result.told(event)

    assert "(hw/maths.py is in the submission, but only modules beside the page" in told("'maths'")
    assert "(hw/maths.py is in" in told("'hw.maths'")
    assert "(hw is in" in told("'hw'")
    assert "(hw/pages/a/b.py is in" in told("'b'")
    for name in ("'h'", "'a'", "'google'", "", "'", "''", "'hw' and 'b'"):
        assert "is in the submission" not in told(name)


@pytest.mark.parametrize("name", ["random.py", "numpy.py", "jax/__init__.py", "math.py"])
def test_a_helper_that_shadows_a_known_module_is_not_used_and_named(found, name):
    result = found({"ones_bound.py": WORKED, name: "x = 1\n"})
    assert result.source.helpers == {}
    assert f"{name} is not used: a module" in result.notes[0]


def test_a_changed_lesson_is_replaced_with_a_note_and_an_unchanged_one_without(found):
    changed = found({"ones_bound.py": WORKED, "lesson.py": "def run(): return 1\n"})
    assert changed.source.modules == {"lesson": lesson()}
    assert changed.notes == (
        "lesson.py was changed; the course's own was used: put functions of yours into the page",
    )
    same = found({"ones_bound.py": WORKED, "lesson.py": lesson().replace("\n", "\r\n").encode()})
    assert same.notes == ()


def test_a_file_is_looked_at_once_for_helpers_however_many_zips_it_lies_in(tmp_path, monkeypatch):
    """Folders may be called zips, too."""
    folders = "/".join(["i.zip"] * 12)
    inside = zipped(
        {f"{folders}/ones_bound.py": WORKED}
        | {f"{folders}/h{number}.py": "" for number in range(40)}
        | {f"{folders}/p/h{number}.py": "" for number in range(40)}
    )
    looked_at: list[str] = []

    class Watched(PurePosixPath):
        def __new__(cls, name):
            looked_at.append(name)
            return PurePosixPath(name)

    monkeypatch.setattr(submissions, "PurePosixPath", Watched)
    found = read_zip(tmp_path, zipped({f"{folders}/a.zip": inside})).found["ones_bound"]
    monkeypatch.undo()
    assert len(looked_at) < 8 * 81
    assert len(found.source.helpers) == 80
    assert "p.h39" in found.source.helpers


def test_everything_that_is_read_is_in_the_fingerprint(hand_in):
    first = hand_in({"ones_bound.py": WORKED}).fingerprint
    assert hand_in({"ones_bound.py": WORKED}).fingerprint == first
    second = hand_in({"ones_bound.py": WORKED, "tools.py": "A = 1\n"}).fingerprint
    third = hand_in({"ones_bound.py": WORKED, "tools.py": "A = 2\n"}).fingerprint
    assert len({first, second, third}) == 3


def test_names_bound_in_other_ways_than_def_count_as_defined(found):
    text = "from functools import partial\ncurvature = partial(max)\nrate_ceiling: object = min\n"
    assert found({"odd.py": text + "growth_factor = lambda rate, features: 1\n"}).file == "odd.py"


def test_the_number_of_notes_is_bounded(hand_in, tmp_path):
    (tmp_path / "someone").mkdir()
    for number in range(storage.MAX_NOTES + 7):
        (tmp_path / "someone" / f"{number}.py").symlink_to(tmp_path)
    notes = hand_in({}).notes
    assert len(notes) == storage.MAX_NOTES + 1
    assert notes[-1] == "... and 7 more notes of this kind"


LONG = "/".join(["d" * 90] * 10)
CODING = "# coding: x" + os.urandom(1_500).hex()


@pytest.mark.parametrize(
    ("first", "others"),
    [
        ({"ones_bound.py": WORKED}, ("ones_bound (2).py", WORKED + "x = {}\n")),  # left aside
        ({}, ("ones_bound.py", WORKED + "x = {}\n")),  # ambiguous
        ({"ones_bound.py": WORKED}, ("json{}.py", b"\xff")),  # helpers that can't be used
        ({"ones_bound.py": SCAFFOLD}, ("homework.py", b"\xff")),  # told beside an untouched page
        ({"ones_bound.py": SCAFFOLD}, ("homework.py", CODING)),
        ({"ones_bound.py": WORKED}, ("x.py", CODING)),
        ({}, ("x{}.py", "x = {}\n")),  # of another name
        ({}, ("x{}.png", "")),  # no page at all
        ({}, ("x.py", ALL_NAMES + "x = {}\n")),
        ({}, ("nan_input.py", ALL_NAMES + "x = {}\n")),
        ({}, ("ones_bound.ipynb", WORKED)),
        ({"ones_bound.py": WORKED}, ("numpy.py", "x = {}")),
    ],
)
def test_reasons_and_notes_name_a_few_of_many_and_cut_their_names(tmp_path, first, others):
    name, content = others
    files: dict[str, str | bytes] = dict(first)
    for number in range(300):
        text = content.format(number) if isinstance(content, str) else content
        files[f"{LONG}/{number:03}/{name.format(number)}"] = text
        if name.startswith(("json", "numpy", "x.py")):
            files[f"{name.removesuffix('.py').format(number)}{number}.py"] = text
    submission = read_zip(tmp_path, zipped(files))
    said = [*submission.notes, *submission.found["ones_bound"].notes]
    said.append(submission.found["ones_bound"].reason)
    assert all(len(text) < 1_000 for text in said)
    assert len(said) < 16
    if len(said) > 5 or "could be meant" in said[-1] or ".png" in said[0]:
        assert any("more" in text for text in said)


def test_a_module_that_is_there_already_is_noted_once(found):
    many = {f"numpy/{name}.py": "" for name in ("__init__", "core", "lib")}
    assert len(found({"ones_bound.py": WORKED, **many}).notes) == 1


def test_the_courses_wheel_beside_a_students_work_is_none_of_it(tmp_path):
    content = (ROOT / "fixtures" / "hostile" / "honest.py").read_text()
    (tmp_path / "ones_bound.py").write_text(content)
    with zipfile.ZipFile(tmp_path / "unstable_learning-0.1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("grader/public/ones_bound.py", content + "\n# another\n")
        wheel.writestr("grader/public/nan_input.py", "def corrupt(f, i): ...\n")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / "unstable_learning-0.1.0-py3-none-any.whl", "course.whl")
    found = submissions.read(tmp_path, ["nan_input", "ones_bound"]).found
    assert found["ones_bound"].file == "ones_bound.py"
    assert found["ones_bound"].notes == ()
    assert found["nan_input"].status == "missing"


def test_files_beside_a_page_do_not_use_up_its_room(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_FILES", 5)
    page = tmp_path / "ones_bound.py"
    page.write_text(WORKED)
    (tmp_path / "data").mkdir()
    for number in range(9):
        (tmp_path / "data" / f"{number}.py").write_text("")
        (tmp_path / f"{number}.txt").write_text("")
    submission = submissions.read(tmp_path, ["ones_bound"])
    assert submission.found["ones_bound"].source
    assert "more than 5 files; the rest was not read" in submission.notes


def test_a_folder_that_can_not_be_read_is_unreadable(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.scandir", refused)
    found = submissions.read(tmp_path, ["ones_bound"]).found["ones_bound"]
    assert found.status == "unreadable"
    assert "the folder can't be read: Permission denied" in found.reason


def test_a_link_that_leads_to_itself_is_told_as_a_link(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    submission = submissions.read(loop, ["ones_bound"])
    assert submission.student == "loop"
    assert submission.notes == ("loop is a link; links are not followed: hand in the file itself",)


@pytest.mark.parametrize("line", ["#" * 80, "# " * 80, "# # # #" + " " * 80, "\t #" * 40])
def test_a_banner_of_signs_in_a_dict_is_read_at_once(found, line):
    page = f"notes = {{\n{(line + chr(10)) * 20}    'rate': 0.5,\n}}\n{WORKED}"
    with bounded():
        assert found({"ones_bound.py": page}).status == "graded"


def test_blanks_without_end_are_read_in_one_way(found):
    blanks = " " * 500_000
    assert found({"ones_bound.py": f"X = None{blanks}x\n{WORKED}"}).status == "graded"
    assert storage.usual(f"b{blanks}.py") == f"b{blanks}.py"


def test_a_zip_that_lies_about_the_size_of_its_list_is_damaged(hand_in):
    data = bytearray(zipped({"ones_bound.py": WORKED}))
    data[-10:-6] = (0xFFFFFFFE).to_bytes(4, "little")  # the list's size, in the end record
    assert "entries" not in hand_in({"ones_bound.zip": bytes(data)}).found["ones_bound"].reason
