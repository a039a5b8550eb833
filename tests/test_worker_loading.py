"""Loading a page, cell by cell: one mistake costs only what depends on it."""

import ast
import random
import sys
from pathlib import Path

import msgspec
import pytest

from grader.model import Missing, Raised, Returned
from grader.pages import MAX_CELLS, read_page
from grader.public import lesson
from grader.sandbox import LoadEvent, Sandbox, Source
from grader.worker import loading
from grader.worker.loading import MAX_LEFT_OUT
from tests.sandboxed import LIMITS, ask, loaded, look, notebook, script

LESSON = Path(lesson.__file__).read_text()


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(LIMITS) as opened:
        yield opened


def events(worker):
    return [(event.kind, event.cell, event.line) for event in worker.events]


# --- order and names -----------------------------------------------------------------------------


def test_cells_run_from_top_to_bottom_and_the_last_definition_counts(sandbox):
    page = notebook(
        "steps = [1]", "def f(): return 'first'", "steps.append(2)", "def f(): return steps"
    )
    with loaded(sandbox, page) as worker:
        assert worker.events == []
        assert ask(worker, "f") == Returned((1, 2))


def test_a_page_is_the_module_submission_and_never_the_main_program(sandbox):
    page = notebook(
        """
        import sys
        NAME = __name__
        ARGUMENTS = sys.argv
        KNOWN = sys.modules["submission"].__dict__ is globals()
        MAIN = sys.modules["__main__"].__dict__ is globals()
        if __name__ == "__main__":
            def guarded(): return 1
        class Point: pass
        WHERE = Point.__module__
        """
    )
    with loaded(sandbox, page) as worker:
        assert look(worker, "NAME") == look(worker, "WHERE") == Returned("submission")
        assert look(worker, "ARGUMENTS") == Returned(("page.ipynb",))
        assert look(worker, "KNOWN") == Returned(True)
        assert look(worker, "MAIN") == Returned(False)
        assert ask(worker, "guarded") == Missing("")


def test_source_annotations_and_dataclasses_work_as_in_a_module(sandbox):
    page = notebook(
        "VALUE: int = 3",
        """
        import dataclasses, inspect
        @dataclasses.dataclass
        class Run:
            weight: float

        def source():
            return inspect.getsource(Run).splitlines()[1], inspect.getsource(source)[:12]
        """,
    )
    with loaded(sandbox, page) as worker:
        assert worker.events == []
        assert ask(worker, "source") == Returned(("class Run:", "def source()"))


@pytest.mark.parametrize("page", [script, notebook], ids=["script", "notebook"])
def test_imports_from_the_future_hold_for_what_follows(sandbox, page):
    text = "from __future__ import annotations\ndef f(x: Unknown = None) -> Unknown: return 1"
    with loaded(sandbox, page(text)) as worker:
        assert worker.events == []
        assert ask(worker, "f") == Returned(1)
    cells = text.split("\n", 1)
    with loaded(sandbox, notebook(*cells)) as worker:
        assert worker.events == []
        assert ask(worker, "f") == Returned(1)


# --- mistakes ------------------------------------------------------------------------------------


def test_an_exception_costs_only_its_statement_in_a_cell_too(sandbox):
    page = notebook(
        "def before(): return 1\n\n1 / 0\ndef below(): return 2",
        "%%time\nimport no_such_module\n%matplotlib inline\ndef after(): return 3",
    )
    with loaded(sandbox, page) as worker:
        message = "ZeroDivisionError: division by zero"
        assert worker.events[0] == LoadEvent("raised", 0, 3, message)
        assert events(worker)[1:] == [("left_out", 1, 1), ("raised", 1, 2), ("left_out", 1, 3)]
        assert ask(worker, "before") == Returned(1)
        assert ask(worker, "below") == Returned(2)
        assert ask(worker, "after") == Returned(3)


def test_in_a_percent_script_an_exception_costs_only_its_statement(sandbox):
    page = read_page(b"# %%\nimport no_such_module\nimport math\n# %%\nx = math.pi\n", "page.py")
    with loaded(sandbox, Source("page.py", page.cells, {}, {})) as worker:
        assert events(worker) == [("raised", 0, 2)]
        assert isinstance(look(worker, "x"), Returned)


def test_in_a_plain_script_an_exception_costs_only_its_statement(sandbox):
    page = script(
        """\
        def before(): return 1
        import no_such_module
        undefined
        lost, kept = 1 / 0, 2
        def after(): return 3
        """
    )
    with loaded(sandbox, page) as worker:
        assert events(worker) == [("raised", 0, 2), ("raised", 0, 3), ("raised", 0, 4)]
        assert "no_such_module" in worker.events[0].message
        assert ask(worker, "before") == Returned(1)
        assert ask(worker, "after") == Returned(3)
        assert look(worker, "kept") == Missing()


def test_the_line_of_an_exception_is_in_the_cell_that_ran(sandbox):
    page = notebook("\n\n\n\n\n\ndef fails():\n    raise ValueError", "\nfails()")
    with loaded(sandbox, page) as worker:
        assert events(worker) == [("raised", 1, 2)]


def test_a_line_of_a_script_counts_from_its_top(sandbox):
    cells = (
        ("x = 1\n1 / 0", 3),
        ("def f():\n    raise ValueError", 7),
        ("y = (", 12),
        ("y = 2\nreturn y", 20),
    )
    page = Source("page.py", cells, {}, {})
    with loaded(sandbox, page) as worker:
        assert events(worker) == [("raised", 0, 4), ("syntax", 2, 12), ("syntax", 3, 21)]
        answer = ask(worker, "f")
        assert isinstance(answer, Raised)
        assert answer.line == 8


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("\n\nit's", 5, "(detected at line 5)"),
        ("%magic\nfor x in 'abc':\n", 4, "after 'for' statement on line 4"),
        ("def f(\n\n]", 5, "does not match opening parenthesis '(' on line 3"),
    ],
)
def test_a_syntax_error_speaks_of_the_lines_of_the_file(sandbox, text, line, words):
    page = read_page(f"x = 1\n# %%\n{text}\n# %%\ny = 1".encode(), "page.py")
    with loaded(sandbox, Source("page.py", page.cells, {}, {})) as worker:
        event = worker.events[-1]
        assert (event.kind, event.line) == ("syntax", line)
        assert words in event.message
        assert look(worker, "y") == Returned(1)


@pytest.mark.parametrize(
    ("cell", "line", "column"),
    [
        ("def g(:\n    pass", 1, 7),
        ("x = 1\n\nreturn x", 3, 1),
        ("x = 1\nif x:\ny = 2", 3, 1),
        ("x = 1\nbreak", 2, 1),
        ("'unended", 1, 1),
        ("x = 1\0", 1, 0),
        ("x = '\ud800'", 1, 0),
        ("(" * 300 + ")" * 300, 1, None),
    ],
)
def test_a_syntax_error_costs_its_cell(sandbox, cell, line, column):
    page = notebook("def before(): return 1", cell, "def after(): return 2")
    with loaded(sandbox, page) as worker:
        [event] = worker.events
        assert (event.kind, event.cell, event.line) == ("syntax", 1, line)
        assert column is None or event.column == column
        assert event.message
        assert ask(worker, "before") == Returned(1)
        assert ask(worker, "after") == Returned(2)


def test_what_is_nested_too_deeply_for_python_costs_its_cell_and_says_so(sandbox):
    for cell in ("x = " + "-" * 100_000 + "1", "x = " + "1+" * 100_000 + "1"):
        page = notebook("def before(): return 1", cell, "def after(): return 2")
        with loaded(sandbox, page) as worker:
            [event] = worker.events
            assert (event.kind, event.cell, event.line) == ("too_large", 1, 1)
            assert "too large or too deeply nested" in event.message
            assert ask(worker, "after") == Returned(2)


DEEP = "+".join(["1"] * 1_500)  # Python compiles a text of this depth, and no tree of it


@pytest.mark.parametrize("kind", [script, notebook], ids=["script", "notebook"])
@pytest.mark.parametrize(
    "text",
    [
        f"if 0x{'f' * 5_000}: pass",
        f"if {DEEP} == 1_500: pass",
        f"x = 1; é = 'é'; y = {DEEP}; z = 2",
        f"@(lambda f, x={DEEP}:\n    f)\ndef g(): pass",
        f"if __name__ == '__main__' and 0x{'f' * 5_000}: pass",
        "if x:\n    pass\n" + "elif x:\n    pass\n" * 1_500,
    ],
    ids=["digits", "test", "semicolons", "decorator", "guard", "elif"],
)
def test_what_python_can_run_is_run(sandbox, kind, text):
    page = kind(f"x = 0\ndef before(): return 1\n{text}\n%magic\ndef after(): raise ValueError")
    with loaded(sandbox, page) as worker:
        assert {event.kind for event in worker.events} == {"left_out"}
        assert ask(worker, "before") == Returned(1)
        answer = ask(worker, "after")
        assert (answer.type_name, answer.line) == ("ValueError", 4 + text.count("\n") + 1)


def test_a_statement_too_deep_for_a_tree_fails_on_its_own_line_and_alone(sandbox):
    with loaded(sandbox, script(f"a = 1\n\nx = 1; y = (\n1/0 if x else {DEEP})\nz = 2")) as worker:
        assert events(worker) == [("raised", 0, 4)]
        assert (look(worker, "x"), look(worker, "z")) == (Returned(1), Returned(2))
    cells = notebook(f"a = 1\n1/0\nz = {DEEP}", "b = 1")
    with loaded(sandbox, cells) as worker:
        assert events(worker) == [("raised", 0, 2)]
        assert (look(worker, "z"), look(worker, "b")) == (Returned(1_500), Returned(1))


@pytest.mark.parametrize("error", [RecursionError, MemoryError, ValueError])
def test_where_only_the_analysis_fails_python_runs_the_cell_as_it_is(monkeypatch, error):
    def parsed(*_):
        raise error

    monkeypatch.setattr(loading, "parsed", parsed)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    for name in ("submission", "grader"):
        monkeypatch.setitem(sys.modules, name, None)
    page = loading.Submission("page.py", {}, {})
    assert page.prepare([("x = 1\n", 3), ("x = = 1", 7)])[0][0] == ("unit", 0, 3)
    assert page.run(0) == ("ran",)
    assert page.namespace["x"] == 1


@pytest.mark.parametrize("last", ["return 1", "from __future__ import annotations", "def g(:"])
def test_a_syntax_error_costs_the_whole_of_a_plain_script_as_in_python(sandbox, last):
    with loaded(sandbox, script(f"def f(): return 1\n\n{last}")) as worker:
        assert events(worker) == [("syntax", 0, 3)]
        assert ask(worker, "f") == Missing()


def test_a_page_that_leaves_early_is_noted_and_goes_on(sandbox):
    page = notebook(
        "import sys\nsys.exit(3)",
        "exit()",
        "quit(0)",
        "raise SystemExit",
        "raise KeyboardInterrupt",
        "raise BaseException('b')",
        "def f(): return 1",
    )
    with loaded(sandbox, page) as worker:
        assert [event.cell for event in worker.events] == [0, 1, 2, 3, 4, 5]
        assert worker.events[0] == LoadEvent("raised", 0, 2, "SystemExit: 3")
        assert ask(worker, "f") == Returned(1)


def test_standard_input_is_empty(sandbox):
    page = notebook("import sys\nREST = sys.stdin.read()", "name = input('Name? ')", "after = 1")
    with loaded(sandbox, page) as worker:
        assert worker.events == [LoadEvent("raised", 1, 1, "EOFError: EOF when reading a line")]
        assert look(worker, "REST") == Returned("")
        assert look(worker, "after") == Returned(1)


def test_an_empty_page_has_nothing(sandbox):
    for page in (notebook(), notebook("", "# nothing"), script("")):
        with loaded(sandbox, page) as worker:
            assert worker.events == []
            assert ask(worker, "f") == Missing()


def test_a_script_of_many_thousand_statements_loads(sandbox):
    lines = ["total = 0", *["total += 1"] * 30_000, "1 / 0", "def f(): return total"]
    with loaded(sandbox, script("\n".join(lines))) as worker:
        assert events(worker) == [("raised", 0, 30_002)]
        assert look(worker, "total") == Returned(30_000)


def test_in_a_long_script_too_a_statement_that_fails_costs_no_other(sandbox):
    names = [f"f{number}" for number in range(300)]
    lines = [
        line for name in names for line in ("1 / 0", f"def {name}(): return 1", *["x = 1"] * 9)
    ]
    lines += [f"all = [{', '.join(names)}]", "KNOWN = len(all)"]
    with loaded(sandbox, script("\n".join(lines))) as worker:
        assert [event.kind for event in worker.events] == ["raised"] * 300
        assert look(worker, "KNOWN") == Returned(300)


def test_in_a_long_script_a_definition_is_not_lost_with_what_ends_the_process(sandbox):
    lines = ["import os", *["x = 1"] * 2_500, "os._exit(1)", "def f(): return 1", "os._exit(1)"]
    with loaded(sandbox, script("\n".join(lines + ["x = 1"] * 2_500))) as worker:
        assert [event.kind for event in worker.events] == ["crashed"] * 2
        assert ask(worker, "f") == Returned(1)


@pytest.mark.parametrize(
    ("definitions", "others"), [(0, 1), (5, 1_995), (300, 4_000), (999, 9_000), (5_000, 5_000)]
)
def test_a_script_has_a_bounded_number_of_units(definitions, others):
    lines = ["def f(): pass"] * definitions + ["x = 1"] * others
    random.Random(1).shuffle(lines)
    body = ast.parse("\n".join(lines)).body
    groups = loading._grouped(body, loading.MAX_UNITS)
    assert [node for group in groups for node in group] == body
    assert len(groups) <= loading.MAX_UNITS
    if definitions < loading.MAX_UNITS // 2:
        mixed = [group for group in groups if isinstance(group[0], ast.FunctionDef)]
        assert all(len(group) == 1 for group in mixed)


# --- what a page may import ----------------------------------------------------------------------


def test_the_check_at_the_end_of_a_page_does_nothing(sandbox):
    page = notebook(
        "from grader import check",
        "check('ones_bound')",
        "import grader\ngrader.check('ones_bound', namespace=globals())",
        "CHECKED = check('x')",
    )
    with loaded(sandbox, page) as worker:
        assert worker.events == []
        assert look(worker, "CHECKED") == Returned(None)
        assert worker.close() == ""


def test_the_grader_itself_cannot_be_imported(sandbox):
    page = notebook("import grader.keys", "from grader import judge", "import grader.exact.descent")
    with loaded(sandbox, page) as worker:
        assert [event.cell for event in worker.events] == [0, 1, 2]


def test_the_lesson_is_the_courses_own(sandbox):
    page = notebook(
        "from lesson import loss\nimport lesson\nLOSS = loss()",
        modules={"lesson": "def loss(): return 'the course'"},
        helpers={"lesson": "def loss(): return 'a student'"},
    )
    with loaded(sandbox, page) as worker:
        assert worker.events == []
        assert look(worker, "LOSS") == Returned("the course")


def test_helper_modules_come_last_on_the_path(sandbox):
    page = notebook(
        "import helper, math, numpy\nFOUND = helper.value, math.pi > 3, numpy.__name__",
        "import broken",
        "from helper import other",
        "VALUE = other.value",
        helpers={
            "helper": "import other\nvalue = other.value + 1",
            "other": "value = 1",
            "math": "pi = 0",
            "numpy": "raise ImportError",
            "broken": "def f(:",
        },
    )
    with loaded(sandbox, page) as worker:
        assert events(worker) == [("raised", 1, 1)]
        assert look(worker, "FOUND") == Returned((2, True, "numpy"))
        assert look(worker, "VALUE") == Returned(1)


def test_a_helper_that_imports_the_page_finds_the_one_under_way(sandbox):
    page = notebook(
        "RATE = 2\nimport helper\nimport page\nSAME = page.RATE is RATE and helper.page is page",
        "RATE = 3\nfrom helper import rate",
        helpers={
            "helper": "import page\nfrom page import RATE\ndef rate(): return page.RATE, RATE"
        },
    )
    with loaded(sandbox, page) as worker:
        assert worker.events == []
        assert look(worker, "SAME") == Returned(True)
        assert ask(worker, "rate") == Returned((3, 2))


@pytest.mark.parametrize(
    "name", ["statistics", "numpy", "lesson", "grader", "helper", "a page", "x.y", ""]
)
def test_a_page_hides_no_module_of_its_name(sandbox, name):
    helpers, modules = {"helper": "NAME = __name__"}, {"lesson": ""}
    cells = (("import statistics, numpy, lesson, grader, helper", 1), ("KNOWN = helper.NAME", 1))
    with loaded(sandbox, Source(f"{name}.py", cells, modules, helpers)) as worker:
        assert worker.events == []
        assert look(worker, "KNOWN") == Returned("helper")


def test_packages_and_folders_of_modules_can_be_imported(sandbox):
    page = notebook(
        "import tools.parts\nfrom tools import whole\nfrom folder.deep.one import ONE",
        "FOUND = tools.parts.VALUE, whole.VALUE, ONE",
        helpers={
            "tools": "from .parts import VALUE",
            "tools.parts": "VALUE = 1",
            "tools.whole": "from .parts import VALUE\nfrom . import parts\nVALUE += parts.VALUE",
            "folder.deep.one": "ONE = 1",
        },
    )
    with loaded(sandbox, page) as worker:
        assert worker.events == []
        assert look(worker, "FOUND") == Returned((1, 2, 1))


def test_a_mark_of_a_cell_within_a_text_or_a_function_cuts_nothing(sandbox):
    text = '"""A text\n# %% with a mark\n"""\n# %%\n%magic\ndef f():\n# %%\n    return 1\n1 / 0\n'
    page = read_page(text.encode(), "page.py")
    assert len(page.cells) == 4
    with loaded(sandbox, Source("page.py", page.cells, {}, {})) as worker:
        assert events(worker) == [("left_out", 0, 5), ("raised", 0, 9)]
        assert ask(worker, "f") == Returned(1)


@pytest.mark.parametrize("line", ["x = = 2", "return 2", "1; from __future__ import annotations"])
def test_where_a_script_is_no_python_as_a_whole_a_cell_is_lost_alone(sandbox, line):
    page = read_page(f"# %%\ndef f(): return 1\n# %%\n{line}\n# %%\ny = 2\n".encode(), "page.py")
    with loaded(sandbox, Source("page.py", page.cells, {}, {})) as worker:
        assert events(worker) == [("syntax", 1, 4)]
        assert ask(worker, "f") == Returned(1)
        assert look(worker, "y") == Returned(2)


def test_a_page_of_magics_is_told_within_a_frame(sandbox):
    cells = ["%magic\n" * 150] * 40 + ["def f(): return 1"]
    with loaded(sandbox, notebook(*cells)) as worker:
        assert len(worker.events) == MAX_LEFT_OUT
        assert ask(worker, "f") == Returned(1)


def test_a_page_of_many_statements_and_mistakes_is_told_within_a_frame(sandbox):
    cells = ["x = 1\n" * 5_000, *["%magic\n" * 150] * 4, *["= ="] * 1_994, "def f(): return 1"]
    with loaded(sandbox, notebook(*cells)) as worker:
        assert len(worker.events) == MAX_LEFT_OUT + 1_994
        assert ask(worker, "f") == Returned(1)


def test_a_page_of_long_syntax_errors_is_told_within_a_frame(sandbox):
    name = "\N{CJK UNIFIED IDEOGRAPH-20000}" * 300
    cells = [f"def f():\n  {name}=1\n  global {name}"] * 1_999 + ["def f(): return 1"]
    with loaded(sandbox, notebook(*cells)) as worker:
        assert [event.cell for event in worker.events] == list(range(1_999))
        assert all(event.kind == "syntax" for event in worker.events)
        assert name[:100] in worker.events[0].message
        assert ask(worker, "f") == Returned(1)


def test_nothing_of_the_folder_it_runs_in_can_be_imported(sandbox):
    page = notebook(
        "import pathlib\nfor place in ('', '../'):\n"
        "    pathlib.Path(place + 'planted.py').write_text('VALUE = 1')",
        "import planted",
        "import conftest",
    )
    with loaded(sandbox, page) as worker:
        assert [event.cell for event in worker.events] == [1, 2]


# --- notebooks -----------------------------------------------------------------------------------


def test_await_works_at_the_top_of_a_cell(sandbox):
    page = notebook(
        "import asyncio\nasync def value():\n    await asyncio.sleep(0)\n    return 3",
        "VALUE = await value()\nALL = [await value() for _ in range(2)]",
        "async with asyncio.Lock():\n    LOCKED = True",
        "await asyncio.sleep(0)\n1 / 0",
        "VALUE += asyncio.run(value())",
        "task = asyncio.create_task(value())\nexit()\nVALUE += await task",
        "await asyncio.sleep(0)\nraise SystemExit\nasync for _ in 3: pass\nVALUE += await value()",
    )
    with loaded(sandbox, page) as worker:
        places = [("raised", 3, 2), ("raised", 5, 2), ("raised", 6, 2), ("raised", 6, 3)]
        assert events(worker) == places
        assert look(worker, "VALUE") == Returned(12)
        assert look(worker, "ALL") == Returned((3, 3))
        assert look(worker, "LOCKED") == Returned(True)


def test_what_a_notebook_offers_beside_python_does_no_harm(sandbox):
    page = notebook(
        "display(3, 'text', metadata={})",
        "get_ipython().run_line_magic('matplotlib', 'inline')",
        "get_ipython().system('rm -rf /')",
        "SHELL = get_ipython() is not None",
    )
    with loaded(sandbox, page) as worker:
        assert worker.events == []
        assert look(worker, "SHELL") == Returned(True)
        assert worker.close() == "3 'text'\n"


def test_figures_are_drawn_without_a_screen(sandbox):
    page = notebook(
        """
        import warnings
        warnings.simplefilter("error")
        import matplotlib.pyplot as plt
        plt.plot([1, 2])
        plt.savefig("figure.png")
        plt.show()
        """
    )
    with loaded(sandbox, page) as worker:
        assert worker.events == []


# --- what a page may switch ----------------------------------------------------------------------


def test_a_pages_switches_do_not_make_its_right_answers_wrong_and_double_precision_stays(sandbox):
    page = notebook(
        """
        import warnings
        import jax, jax.numpy as jnp, numpy as np
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_debug_nans", True)
        jax.config.update("jax_debug_infs", True)
        jax.config.update("jax_transfer_guard", "disallow")
        np.seterr(all="raise")
        warnings.simplefilter("error")
        import lesson

        def f(features):
            warnings.warn("a warning")
            return features[0] / 0, np.float64(1) / np.float64(0), float(jnp.asarray(0.1) * 1)
        """
    )
    page = msgspec.structs.replace(page, modules={"lesson": LESSON})
    with loaded(sandbox, page) as worker:
        assert worker.events == []
        answer = ask(worker, "f", [float("nan"), 1.0])
        assert isinstance(answer, Returned), answer
        assert isinstance(answer.value, tuple)
        assert answer.value[1].items == (float("inf"),)
        assert answer.value[2] == 0.1


def test_the_same_page_gives_the_same_answers_every_time(sandbox):
    page = notebook(
        """
        import random
        import numpy as np
        print({"weight", "loss", "gradient", "update"})
        def f():
            return random.random(), np.random.rand(), hash("text"), list({"a", "b", "c", "d"})
        """
    )
    answers, outputs = [], []
    for _ in range(2):
        with Sandbox(LIMITS) as another, loaded(another, page) as worker:
            answers.append(ask(worker, "f"))
            outputs.append(worker.close())
    assert answers[0] == answers[1]
    assert outputs[0] == outputs[1] != ""


def test_what_is_told_of_the_largest_page_fits_into_a_frame(sandbox):
    names = "abcdefg"
    bound = "".join(f"{name} = 2\n" for name in names) * 20
    many = "x = 1\n" * (loading.MAX_UNITS - bound.count("\n")) + bound
    cells = [many, *["!ls\nreturn 1"] * 500, *["return 1"] * (MAX_CELLS - 501)]
    page = msgspec.structs.replace(notebook(*cells), due=tuple(names))
    with loaded(sandbox, page) as worker:
        assert {event.kind for event in worker.events} == {"left_out", "syntax"}
        assert look(worker, "g") == Returned(2)
