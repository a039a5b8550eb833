"""The programs that JAX compiles once on a machine, and that every worker reads."""

import sys

import pytest

from grader import catalogue, compiled
from grader.confinement import Confinement
from grader.errors import GraderFault, UsageError
from grader.sandbox import Sandbox
from tests.sandboxed import LIMITS, ask, loaded, look, notebook

PAGE = notebook(
    """
    import os, jax, jax.numpy as jnp
    counted = {}
    def count(event, **_): counted[event] = counted.get(event, 0) + 1
    jax.monitoring.register_event_listener(count)
    FOLDER = os.environ["JAX_COMPILATION_CACHE_DIR"]
    def mean_square(features): return jnp.mean(features**2)
    def new_program(number): return jnp.cosh(jnp.full((7, 11, 13), number)).sum()
    def hits(): return counted.get("/jax/compilation_cache/cache_hits", 0)
    def written(): return len(os.listdir(FOLDER))
    from jax._src.interpreters import mlir
    def one_context(): return mlir.make_ir_context() is mlir.make_ir_context()
    """
)


@pytest.fixture
def base(tmp_path, monkeypatch):
    """An empty place for programs, and a quick way of making them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []

    def make(_, folder):
        made.append(folder)
        folder.mkdir()

    monkeypatch.setattr(compiled, "_make", make)
    return tmp_path / "unstable-learning", made


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap works on Linux only")
def test_workers_read_what_the_solutions_compiled_and_write_nothing():
    confinement = compiled.prepared("bubblewrap")
    with Sandbox(LIMITS, confinement=confinement) as sandbox, loaded(sandbox, PAGE) as worker:
        before = ask(worker, "written").value
        assert before > 10
        ask(worker, "mean_square", [1.0, 2.0, 3.0])
        assert ask(worker, "hits").value > 0
        ask(worker, "new_program", 0.5)
        assert ask(worker, "written").value == before
        assert look(worker, "FOLDER").value == "/run/cache"
        assert ask(worker, "one_context").value is True, "each program makes a context of its own"


def test_programs_are_made_once(base):
    place, made = base
    said: list[str] = []
    first = compiled.prepared("bubblewrap", say=said.append)
    assert compiled.prepared("bubblewrap", say=said.append) == first
    assert first.cache == str(made[0])
    assert [folder.parent for folder in made] == [place]
    assert len(said) == 1


def test_files_of_ones_own_are_checked_without(base):
    assert compiled.prepared("own", ("/hidden",)) == Confinement("own", ("/hidden",))
    assert base[1] == []


@pytest.mark.parametrize("error", [OSError("no room"), GraderFault("a solution did not run")])
def test_where_programs_can_not_be_made_grading_goes_on_without(base, monkeypatch, error):
    def failing(*_):
        raise error

    monkeypatch.setattr(compiled, "_make", failing)
    said: list[str] = []
    assert compiled.prepared("bubblewrap", say=said.append).cache is None
    assert str(error) in said[-1]


def test_without_a_clone_there_is_nothing_to_compile(base, monkeypatch):
    def nowhere():
        raise UsageError("no clone")

    monkeypatch.setattr(catalogue, "clone", nowhere)
    assert compiled.prepared("bubblewrap").cache is None
