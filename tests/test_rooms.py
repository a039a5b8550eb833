"""What import-linter can't hold of the architecture, read from the code and from a real worker."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from grader.model import Returned
from grader.sandbox import Sandbox
from tests.sandboxed import ask, loaded, notebook

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "grader"
CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "thread_time", "now", "time_ns"}
CLOCKS |= {"monotonic_ns", "perf_counter_ns", "process_time_ns"}


def code_in(folder):
    """Each module of a folder, and of those in it, with its syntax tree."""
    paths = sorted(folder.rglob("*.py"))
    assert paths, f"nothing in {folder}"
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def imported(tree):
    """Every module that a tree imports, wherever in it, with the modules that hold it."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called in ("import_module", "__import__"):
                names.add(str(node.args[0].value))
    return {
        ".".join(name.split(".")[: end + 1]) for name in names for end in range(name.count(".") + 1)
    }


def importers(folder, *modules):
    return [str(path) for path, tree in code_in(folder) if imported(tree) & set(modules)]


@pytest.mark.parametrize("room", ["exact", "keys"])
def test_the_oracle_shares_no_library_with_what_it_is_compared_with(room):
    if not (PACKAGE / room).exists():
        pytest.skip("a student's copy")
    assert importers(PACKAGE / room, "jax", "jaxlib", "lesson") == []


def test_nothing_that_turns_bytes_into_code_is_imported_anywhere():
    forbidden = (
        "pickle",
        "cPickle",
        "_pickle",
        "marshal",
        "shelve",
        "dill",
        "cloudpickle",
        "joblib",
    )
    assert importers(PACKAGE, *forbidden) == []


def runs_code(tree):
    """The lines that call exec, eval or compile, by whatever way to the built-in."""
    names = {"exec", "eval", "compile"}
    return [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id in names)
        or (
            isinstance(node, ast.Attribute)
            and node.attr in names
            and isinstance(node.value, ast.Name)
            and node.value.id in ("builtins", "__builtins__")
        )
    ]


def test_code_is_run_from_text_in_the_worker_alone():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path, tree in code_in(PACKAGE)
        if runs_code(tree) and path.relative_to(PACKAGE).parts[0] != "worker"
    }
    assert found == set()
    assert any(runs_code(tree) for _, tree in code_in(PACKAGE / "worker"))


def test_the_worker_imports_nothing_of_the_grader_but_the_wire():
    names = {
        name
        for _, tree in code_in(PACKAGE / "worker")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader")
        for name in (f"{node.module}.{alias.name}" for alias in node.names)
    }
    assert names
    assert all(name == "grader.wire" or name.startswith("grader.worker.") for name in names)


@pytest.mark.parametrize("warm", [sys.platform == "linux", False])
def test_beside_a_students_code_there_is_nothing_of_the_grader_but_the_worker_and_the_wire(warm):
    page = notebook(
        """
        import sys
        def modules():
            return [name for name in sys.modules if name.partition(".")[0] == "grader"]
        def others():
            return [*{"pytest", "hypothesis", "msgspec", "nbgrader"} & set(sys.modules)]
        """
    )
    with Sandbox(warm=warm) as sandbox, loaded(sandbox, page) as worker:
        names = set(ask(worker, "modules").value)
        assert ask(worker, "others") == Returned(())
    assert names >= {"grader", "grader.wire", "grader.worker", "grader.worker.child"}
    assert all(
        name in ("grader", "grader.wire") or name.split(".")[1] == "worker" for name in names
    )


def python(code):
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


def test_the_package_loads_nothing_until_it_is_asked():
    code = """
import sys
before = set(sys.modules)
import grader
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(loaded - set(sys.stdlib_module_names), [name for name in sys.modules if "grader." in name])
"""
    assert python(code) == "{'grader'} []"


def test_the_package_exports_two_names_and_no_more():
    code = """
import grader
print(grader.__all__, callable(grader.check), callable(grader.grade))
try:
    grader.judged
except AttributeError as error:
    print(error)
"""
    assert python(code).splitlines() == [
        "['check', 'grade'] True True",
        "module 'grader' has no attribute 'judged'",
    ]


def clock_readings(function):
    """Names in a function that hold what a clock said, and the calls of clocks themselves."""

    def reads_clock(node):
        return any(
            (isinstance(part, ast.Call) and called_name(part) in CLOCKS)
            or (isinstance(part, ast.Name) and part.id in held)
            for part in ast.walk(node)
        )

    held: set[str] = set()
    for _ in range(3):
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and reads_clock(node.value):
                held |= {
                    part.id
                    for target in node.targets
                    for part in ast.walk(target)
                    if isinstance(part, ast.Name)
                }
    return reads_clock


def called_name(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def asserts_on_clocks(tree):
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [
        node.lineno
        for function in functions
        for reads_clock in [clock_readings(function)]
        for node in ast.walk(function)
        if isinstance(node, ast.Assert) and reads_clock(node.test)
    ]


def test_no_test_asserts_how_long_something_takes():
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path, tree in code_in(ROOT / "tests")
        for line in asserts_on_clocks(tree)
    }
    assert found == set()


def test_an_assertion_on_a_clock_would_be_found():
    planted = """
def test_speed():
    start = time.perf_counter()
    work()
    spent = time.perf_counter() - start
    assert spent < 1

def test_again():
    assert time.monotonic() < deadline

def test_fine():
    deadline = time.monotonic() + 1
    assert work() == 2
"""
    assert asserts_on_clocks(ast.parse(planted)) == [6, 9]


def test_what_would_break_the_rules_would_be_found(tmp_path):
    (tmp_path / "planted.py").write_text(
        "def f():\n    import jax.numpy as jnp\n    exec('1')\nfrom pickle import loads\n"
        "import importlib\nimportlib.import_module('dill')\nre.compile('x')\nbuiltins.eval('2')\n"
    )
    assert importers(tmp_path, "jax") == importers(tmp_path, "pickle") != []
    assert importers(tmp_path, "dill") != []
    [(_, tree)] = code_in(tmp_path)
    assert sorted(runs_code(tree)) == [3, 8]


def test_the_parts_that_run_everywhere_load_where_only_windows_has_what_they_use():
    code = """
import asyncio, ctypes, os, secrets, shutil, signal, socket, subprocess, sys, tempfile
import jax.numpy, msgspec  # whatever they need is theirs

sys.platform = "win32"
for name in ("resource", "fcntl", "pwd", "termios"):
    sys.modules[name] = None
for module, names in {
    os: "fork wait4 waitid killpg setsid register_at_fork WIFSIGNALED WTERMSIG",
    signal: "SIGKILL SIGXCPU SIGSTOP SIGCHLD",
    socket: "AF_UNIX SOCK_SEQPACKET send_fds recv_fds",
}.items():
    for name in names.split():
        delattr(module, name)

from grader import answers, inprocess, judge, processes, sandbox, wire
from grader.worker import calling, child, loading, parent, values

child.set_limits({})
child.allow_cpu(1)
child.die_with_parent()
print("loaded")
"""
    assert python(code) == "loaded"
