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
