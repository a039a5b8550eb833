"""How scripts and notebooks are read: encodings, line ends, cells, damaged files."""

import codecs
import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import pages
from grader.pages import MAX_CELLS, MAX_LINES, Unreadable, code_fingerprint, decoded, read_page

ROOT = Path(__file__).parents[1]


def cells_of(text: str | bytes, name: str = "ones_bound.py"):
    return read_page(text.encode() if isinstance(text, str) else text, name).cells


# --- text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("é = 1\n".encode(), "é = 1\n"),
        (codecs.BOM_UTF8 + "é = 1\n".encode(), "é = 1\n"),
        ("# coding: latin-1\né = 1\n".encode("latin-1"), "# coding: latin-1\né = 1\n"),
        (b"a = 1\r\nb = 2\rc = 3\n", "a = 1\nb = 2\nc = 3\n"),
        (b"a = 1\x0c\nb = 2\n", "a = 1\x0c\nb = 2\n"),
        (b"# x\r# coding: latin-1\rb = '\xe9'\r", "# x\n# coding: latin-1\nb = 'é'\n"),
        (b"", ""),
    ],
)
def test_text_is_read_as_python_reads_it(data, text):
    assert decoded(data) == text


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"a = 1\nb = '\xe9'\n", "line 2, byte 6 (0xe9): not UTF-8"),
        (b"a = 1\rb = '\xe9'\r", "line 2, byte 6 (0xe9): not UTF-8"),
        ("a = 1\n".encode("utf-16"), "line 1, byte 1: the file is in UTF-16"),
        (b"a = 1\nb\0 = 2\n", "line 2, byte 2: a null byte"),
        (b"# coding: no-such-thing\n", "line 1: the encoding can't be told"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "line 1: the encoding can't be told"),
    ],
)
def test_what_cannot_be_read_names_line_and_byte_and_how_to_save_it(data, found):
    with pytest.raises(Unreadable) as raised:
        decoded(data)
    assert found in str(raised.value)
    assert "save the file as text in UTF-8" in str(raised.value)


@pytest.mark.parametrize("name", ["x.py", "x.ipynb"])
def test_null_bytes_at_the_end_are_left_out_with_a_note(name):
    data = a_notebook(("code", "x = 1")) if name.endswith("ipynb") else b"x = 1"
    page = read_page(data + b"\0" * 512, name)
    assert page.cells == (("x = 1", 1),)
    assert page.notes == (f"{name} ends in 512 bytes that are no text (null), left out",)
    (note,) = read_page(data + b"\x1a", name).notes
    assert note == f"{name} ends in 1 bytes that are no text (Ctrl-Z), left out"


def test_null_bytes_alone_or_before_text_are_no_page():
    for data in (b"\0" * 512, b"x = 1\n\0y\0", "x = 1\n".encode("utf-16-le")):
        with pytest.raises(Unreadable, match="a null byte"):
            read_page(data, "x.py")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    for name in ("ones_bound.py", "ones_bound.ipynb"):
        try:
            page = read_page(data, name)
        except Unreadable:
            continue
        code_fingerprint(page)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cells", "source", "cell_type", "nbformat", "worksheets", "metadata"]),
            inner,
            max_size=4,
        )
    ),
)


@given(json_values)
def test_any_json_is_read_as_a_notebook_or_refused(value):
    for content in ({"nbformat": 4, "cells": value}, value):
        with contextlib.suppress(Unreadable):
            read_page(json.dumps(content).encode(), "x.ipynb")


@pytest.mark.parametrize(
    "coding", ["utf-7", "punycode", "idna", "unicode_escape", "raw_unicode_escape", "utf-16", "hz"]
)
def test_an_encoding_that_does_not_extend_ascii_is_refused(coding):
    with pytest.raises(Unreadable, match="line 1: the encoding can't be told"):
        decoded(f"# coding: {coding}\nx = 1\n".encode())


@pytest.mark.parametrize(
    "coding", ["latin-1", "cp1252", "shift_jis", "gb18030", "koi8-r", "mac-roman"]
)
def test_an_encoding_that_extends_ascii_is_read(coding):
    text = f"# coding: {coding}\nx = 'a~\\\\b'\n"
    assert decoded(text.encode(coding)) == text


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_bytes_that_are_no_utf8_are_told_by_line_wherever_they_stand(lines):
    with pytest.raises(Unreadable, match=rf"line {lines + 1}, byte 3 \(0xe9\): not UTF-8"):
        decoded(b"x = 1\n" * lines + b"# \xe9\n")


# --- scripts --------------------------------------------------------------------------------------


def test_a_script_without_markers_is_one_plain_cell():
    page = read_page(b"a = 1\n\nb = 2\n", "x.py")
    assert page.cells == (("a = 1\n\nb = 2\n", 1),)


def marked_cell(kind, **marks):
    """A cell as a notebook's file holds it, with nbgrader's marks."""
    marks = {"grade_id": "f", "solution": True, "cell_type": "code"} | marks
    return {"cell_type": kind, "source": "def f(): pass", "metadata": {"nbgrader": marks}}


def test_a_cell_that_code_was_asked_for_in_is_code_also_when_it_was_turned_into_text():
    cells = [marked_cell("markdown"), marked_cell("code"), marked_cell("raw")]
    page = read_page(json.dumps({"cells": cells}).encode(), "f.ipynb")
    assert [source for source, _ in page.cells] == ["def f(): pass"] * 3
    assert page.notes == ("turned into text, and read as code: cell 1, cell 3",)


@pytest.mark.parametrize("marks", [{"solution": False}, {"cell_type": "markdown"}])
def test_text_that_no_code_was_asked_for_in_stays_text(marks):
    page = read_page(json.dumps({"cells": [marked_cell("markdown", **marks)]}).encode(), "f.ipynb")
    assert page.text == "def f(): pass"
    assert page.notes == ()


def test_percent_cells_keep_their_lines_and_text_cells_are_no_code():
    text = "import a\n# %% one\nx = 1\n#%%\ny = 2\n# %% [markdown]\n# def z(): text\n"
    page = read_page(text.encode(), "x.py")
    assert page.cells == (("import a", 1), ("x = 1", 3), ("y = 2", 5))
    assert page.text == "def z(): text\n"


@pytest.mark.parametrize("line", ["# %%time", "#%%capture out", "# %%writefile a.py", "# %%x"])
def test_a_cell_magic_in_a_comment_is_no_marker(line):
    assert len(cells_of(f"a = 1\n{line}\n# b = 2\nc = 3\n")) == 1


@pytest.mark.parametrize(
    "line", ["# %%", "#%%", "# %% ", "# %%\ta title", "# %% title", "#  %% [code]", "# %%%% part"]
)
def test_a_marker_is_followed_by_white_space_or_nothing(line):
    assert cells_of(f"a = 1\n{line}\nc = 3\n") == (("a = 1", 1), ("c = 3\n", 3))


@pytest.mark.parametrize("kind", ["[markdown]", "[raw]", "[md]", " md", " raw"])
@pytest.mark.parametrize("start", ["# %% ", "#%%"])
def test_a_marker_of_a_text_cell_need_not_have_a_space(start, kind):
    assert cells_of(f"a = 1\n{start}{kind}\n# text\n# %%\nc = 3\n") == (
        ("a = 1", 1),
        ("c = 3\n", 5),
    )


def test_every_line_of_a_generated_page_is_where_it_was():
    text = (ROOT / "exercises" / "ones_bound.py").read_text()
    lines = text.split("\n")
    for source, first in cells_of(text):
        for offset, line in enumerate(source.split("\n")):
            assert lines[first - 1 + offset] == line


# --- notebooks ------------------------------------------------------------------------------------


def a_notebook(*cells) -> bytes:
    listed = [
        {"cell_type": kind, "source": source, "metadata": {}}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for kind, source in cells
    ]
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": listed}).encode()


def test_notebook_cells_count_from_one_whatever_their_kind():
    page = read_page(a_notebook(("code", "x = 1"), ("markdown", "def f"), ("code", "y")), "n.ipynb")
    assert page.cells == (("x = 1", 1), ("", 1), ("y", 1))
    assert page.text == "def f"


def test_sources_as_lists_ids_missing_or_doubled_and_any_kernel_are_read():
    cells = [
        {"cell_type": "code", "source": ["a = 1\n", "b = 2"], "id": "same"},
        {"cell_type": "code", "source": "c = 3", "metadata": {"tags": ["skip-execution"]}},
        {"cell_type": "code"},
    ]
    data = {"cells": cells, "metadata": {"kernelspec": {"name": "julia"}}, "nbformat": 4}
    assert cells_of(json.dumps(data), "n.ipynb") == (("a = 1\nb = 2", 1), ("c = 3", 1), ("", 1))


def test_a_notebook_of_format_3_is_converted():
    cell = {"cell_type": "code", "input": "x = 3", "language": "python", "outputs": []}
    sheet = {"cells": [cell | {"collapsed": False, "metadata": {}}], "metadata": {}}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [sheet]}
    data = json.dumps(old)
    assert ("x = 3", 1) in cells_of(data, "n.ipynb")


def test_an_old_notebook_is_read_with_only_what_it_needs():
    sheets = [{"cells": [{"cell_type": "code", "input": ["x = 3\n", "y"]}]}, {"cells": []}]
    for about in ({}, {"nbformat": 2}, {"nbformat": 3, "metadata": {"name": ""}}):
        data = json.dumps(about | {"worksheets": sheets})
        assert cells_of(data, "n.ipynb") == (("x = 3\ny", 1),)


def test_half_of_a_character_in_a_notebook_means_what_it_meant():
    page = read_page(a_notebook(("code", 'x = "\ud800"'), ("markdown", "\udfff")), "n.ipynb")
    assert page.cells[0] == (r'x = "\ud800"', 1)
    page.text.encode("utf-8")


def test_the_number_of_cells_is_bounded():
    with pytest.raises(Unreadable, match="more than 2000 are not read"):
        read_page(a_notebook(*[("code", "")] * (MAX_CELLS + 1)), "n.ipynb")
    with pytest.raises(Unreadable, match="more than 2000 are not read"):
        read_page(b"# %%\nx\n" * (MAX_CELLS + 1), "x.py")
    assert len(read_page(b"# %%\nx\n" * MAX_CELLS, "x.py").cells) == MAX_CELLS


def test_the_number_of_lines_is_bounded():
    with pytest.raises(Unreadable, match="it has 100001 lines; more than 100000 are not read"):
        read_page(b"\n" * MAX_LINES, "x.py")
    with pytest.raises(Unreadable, match="more than 100000 are not read"):
        read_page(a_notebook(("code", "\n" * 60_000), ("markdown", "\n" * 60_000)), "n.ipynb")
    assert not read_page(b"\n" * (MAX_LINES - 1), "x.py").notebook


def test_the_lists_and_dicts_of_a_notebook_are_bounded_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr(pages, "MAX_BRACKETS", 100)
    data = a_notebook(("code", "x = 1"))
    assert read_page(data, "n.ipynb").notebook
    with pytest.raises(Unreadable, match="clear all outputs"):
        read_page(data[:-1] + b',"x":' + b"[" * 100 + b"]" * 100 + b"}", "n.ipynb")


def test_lines_that_are_listed_without_their_ends_are_lines():
    def listed(*lines: str) -> bytes:
        cell = {"cell_type": "code", "source": list(lines), "metadata": {}, "outputs": []}
        return json.dumps(
            {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}
        ).encode()

    page = read_page(listed("def f():", "    return 1"), "n.ipynb")
    assert page.cells == (("def f():\n    return 1", 1),)
    assert page.notes == ("the lines have no ends in the file, and were read as lines: cell 1",)
    page = read_page(listed("x = 1\n", "y = ", "2"), "n.ipynb")
    assert (page.cells, page.notes) == ((("x = 1\ny = 2", 1),), ())


@pytest.mark.parametrize("end", ["\x0b", "\x85", "\u2028", "\u2029"])
def test_lines_that_end_as_only_editors_end_them_are_lines(end):
    text = f"# mine{end}x = 1{end}y = 2{end}"
    for page in (
        read_page(text.encode(), "x.py"),
        read_page(a_notebook(("code", text)), "n.ipynb"),
    ):
        assert page.cells[0][0].split("\n")[:3] == ["# mine", "x = 1", "y = 2"]
        assert page.notes == (
            f"lines end in U+{ord(end):04X}, which Python does not know, and were read as lines",
        )
    mixed = read_page(f"x = 'a{end}'\ny = 2\n".encode(), "x.py")
    assert mixed.cells == ((f"x = 'a{end}'\ny = 2\n", 1),)
    assert mixed.notes == ()


def test_a_truncated_notebook_is_unreadable_with_its_line():
    data = json.dumps(json.loads(a_notebook(("code", "x = 1"))), indent=1).encode()
    with pytest.raises(Unreadable, match=r"line \d+: the notebook is damaged"):
        read_page(data[:-30], "n.ipynb")


def test_an_unfinished_merge_is_named():
    data = json.dumps(json.loads(a_notebook(("code", "x = 1"))), indent=1)
    merged = data.replace(' "cells"', '<<<<<<< HEAD\n "cells"')
    with pytest.raises(Unreadable, match=r"line \d: .*marks of a merge.* as text"):
        read_page(merged.encode(), "n.ipynb")


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ('{"cells": [1,]}', "or mend that line in a text editor"),
        ('{"cells": [{"cell_type": "code", "source": null}]}', "export the notebook once more"),
        ('{"type": "notebook", "content": {"cells": []}}', "download the notebook itself"),
    ],
)
def test_what_jupyter_cannot_open_is_not_to_be_saved_in_it(content, advice):
    with pytest.raises(Unreadable, match=advice) as raised:
        read_page(content.encode(), "n.ipynb")
    assert "save it" not in str(raised.value)


@pytest.mark.parametrize(
    "data", [b"{}", b'{"cells": 3}', b'{"cells": [1]}', b'{"nbformat": 2}', b"{" * 100_000]
)
def test_what_jupyter_would_not_open_is_unreadable(data):
    with pytest.raises(Unreadable):
        read_page(data, "n.ipynb")


def test_a_notebook_that_is_not_utf8_names_its_line():
    with pytest.raises(Unreadable, match="line 2: the notebook is not in UTF-8"):
        read_page(b'{"cells":\n"\xe9"}', "n.ipynb")


# --- fingerprints ---------------------------------------------------------------------------------


def test_comments_blank_lines_and_cell_bounds_do_not_change_the_fingerprint():
    one = read_page(b"# hello\nx = 1\n\n\ny = 2\n", "x.py")
    two = read_page(b"# %% a\nx = 1   \n# %% b\n# more\ny = 2\n", "x.py")
    other = read_page(b"x = 1\ny = 3\n", "x.py")
    assert code_fingerprint(one) == code_fingerprint(two) != code_fingerprint(other)


@pytest.mark.parametrize("part", [" ", "a", "a ", "a, ", "?", "%", "get_ipython()."])
def test_no_line_is_too_long_for_its_fingerprint(part):
    code_fingerprint(read_page(f"{part * 300_000}x\n".encode(), "x.py"))
    call = "get_ipython().run_cell_magic('a', 'b', '"
    code_fingerprint(read_page(f"{call}{part * 300_000}\n{call * 1_000}".encode(), "x.py"))


def test_code_below_a_text_cell_whose_next_marker_was_deleted_is_code():
    page = read_page(b"# %% [markdown]\n# A text.\n\ndef f():\n    return 1\n", "f.py")
    assert page.cells == (("# A text.\n\ndef f():\n    return 1\n", 2),)
    assert page.text == ""


@pytest.mark.parametrize("prose", ["A rate = 2 is fine", "# f = 1", "define f (x)", "if it grows"])
def test_prose_in_a_text_cell_of_a_script_is_no_code(prose):
    page = read_page(f"#%% md\n{prose}\n#%%\na = 1\n".encode(), "f.py")
    assert page.cells == (("a = 1\n", 4),)


def test_a_source_that_is_no_text_is_refused():
    data = a_notebook(("code", "x = 1")).replace(b'"x = 1"', b'{"x = 1": 1}')
    with pytest.raises(Unreadable, match="no notebook that Jupyter would open"):
        read_page(data, "x.ipynb")
