"""Notebook syntax is left out; Python that looks like it stays."""

import ast

import pytest

from grader.worker.magics import MAX_LEFT_OUT, parsed


def run(source: str) -> tuple[dict, list[int]]:
    """What the cell defines when it is run without what is left out, and the lines left out."""
    tree, left_out = parsed(source, "cell")
    namespace: dict = {}
    exec(compile(tree, "cell", "exec"), namespace)
    namespace.pop("__builtins__")
    return namespace, [item.line for item in left_out]


@pytest.mark.parametrize(
    ("source", "defined", "lines"),
    [
        ("%matplotlib inline\nx = 1", {"x": 1}, [1]),
        ("x = 1\n!pip install jax\ny = 2\n%load_ext autoreload", {"x": 1, "y": 2}, [2, 4]),
        ("files = !ls\nx = 1", {"x": 1}, [1]),
        ("len?\n?len\nlen??\nx = 1", {"x": 1}, [1, 2, 3]),
        ("if True:\n    %time\nelse:\n    !ls\nx = 1", {"x": 1}, [2, 4]),
        ("%%time\nx = 1", {"x": 1}, [1]),
        ("\n%%capture out\nx = 1\n%matplotlib inline", {"x": 1}, [2, 4]),
        ("%%bash\nrm -rf nothing", {}, [1]),
        ("%%writefile a.py\nx = 1", {}, [1]),
        ("%time x = 1", {"x": 1}, [1]),
        ("!pip install a \\\n    b \\\n    c\nx = 1", {"x": 1}, [1]),
        ("if True:\n    !ls \\\n  -l\n    x = 1", {"x": 1}, [2]),
        ("pip install jax\nconda install numpy -y\ncd work\nx = 1", {"x": 1}, [1, 2, 3]),
    ],
)
def test_magics_shell_lines_and_help_marks_are_left_out(source, defined, lines):
    assert run(source) == (defined, lines)


EXPORTED = [
    ("time", "", "def f():\n    return 1\n", {"f"}, [3]),
    ("timeit", "-n 1", "x = 1", {"x"}, [3]),
    (
        "capture",
        "out",
        "%%time\n!ls\nx = 1\n%time y = 2",
        {"x", "y"},
        [3] * 4,
    ),
    ("time", "", "get_ipython().run_cell_magic('time', '', 'x = 1')", {"x"}, [3, 3]),
    ("bash", "", "rm -rf nothing", set(), [3]),
    ("writefile", "a.py", "x = 1", set(), [3]),
    ("time", "", "x = = 1", set(), [3]),
    ("time", "", "return 1", set(), [3]),
    ("time", "", "from __future__ import annotations", set(), [3]),
]


@pytest.mark.parametrize(("name", "line", "cell", "defined", "lines"), EXPORTED)
def test_a_cell_magic_that_an_export_made_a_text_of_is_the_cell_magic(
    name, line, cell, defined, lines
):
    call = f"get_ipython().run_cell_magic({name!r}, {line!r}, {cell!r})"
    found, left_out = run(f"before = 1\n\n{call}\nafter = 1")
    assert set(found) == {"before", "after"} | defined
    assert left_out == lines


def test_what_an_exported_cell_defines_is_where_its_text_is():
    text = "get_ipython().run_cell_magic('time', '', 'def f():\\n    return 1\\n')"
    found, _ = run(f"\n\n{text}")
    assert found["f"].__code__.co_firstlineno == 3


def test_a_line_that_an_export_made_a_text_of_is_run_where_the_line_is():
    call = "get_ipython().run_line_magic"
    source = f"{call}('time', 'x = 1')\n{call}('run', 'a.py')\n{call}('matplotlib', 'inline')\n"
    tree, left_out = parsed(source + "get_ipython().run_line_magic(name, 'x')", "cell")
    assert [item.line for item in left_out] == [1, 2]
    assert ast.unparse(tree.body[0]) == "x = 1"
    assert len(tree.body) == 4


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("%%time\nx = 1", "'%%time' is notebook syntax, and was left out"),
        ("%%bash\nls", "'%%bash' is notebook syntax, and was left out with its whole cell"),
        ("%run a.py", "left out: the file was not run, import it instead (from its name import *)"),
        ("%run ./a b.ipynb", "not run, put what is needed of it into the page itself"),
        ("get_ipython().run_line_magic('run', 'a.py')", "'%run a.py' is notebook syntax, and was"),
        ("get_ipython().run_cell_magic('sql', '', 'x')", "'%%sql' is notebook syntax, and was"),
        (
            "get_ipython().run_cell_magic('time', '', 'x\\ny = = 1')",
            "'%%time' is notebook syntax, and was left out with its whole cell, which has a syntax "
            "error in its line 3 (invalid syntax)",
        ),
    ],
)
def test_what_follows_from_what_is_left_out_is_told(source, words):
    _, (item,) = parsed(source, "cell")
    assert item.told.startswith(words) or item.told.endswith(words)


@pytest.mark.parametrize(
    "source",
    [
        "x = (7\n% 4)",
        'x = """\n%matplotlib inline\n!ls\n%%bash\nwhat?\n"""',
        "x = 7 \\\n% 4",
        "x = [\n1,\n# !ls\n]",
        "x = 5 != 4",
    ],
)
def test_python_that_looks_like_notebook_syntax_is_left_alone(source):
    namespace: dict = {}
    exec(source, namespace)
    assert run(source) == ({"x": namespace["x"]}, [])


@pytest.mark.parametrize("source", ["def f(:\n    pass", "x = (1", "%magic\ny = = 2", "a b"])
def test_what_is_neither_is_a_syntax_error(source):
    with pytest.raises(SyntaxError):
        parsed(source, "cell")


def test_the_number_of_lines_left_out_is_bounded():
    with pytest.raises(SyntaxError):
        parsed("%a\n" * (MAX_LEFT_OUT + 1), "cell")


def test_lines_keep_their_numbers():
    tree, _ = parsed("%a\n\nx = 1", "cell")
    assert isinstance(tree.body[-1], ast.Assign)
    assert tree.body[-1].lineno == 3
