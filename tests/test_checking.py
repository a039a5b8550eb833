"""What a student sees: `grader check`, a page that is run, `check(...)` in a notebook."""

import os
import subprocess
import sys

import pytest

import grader
from grader import catalogue
from tests.sample_class import CLASS, ROOT, run_grader

HALF = "def curvature(features):\n    return 2 * (features**2).mean()\n"


def run_page(path, *, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "exercises")}
    return subprocess.run(
        [sys.executable, str(path)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_right_file_passes_and_exits_0():
    finished = run_grader("check", CLASS / "right_script" / "ones_bound.py")
    assert finished.returncode == 0, finished.stdout
    assert "ones_bound: 4 of 4 points" in finished.stdout


def test_a_wrong_file_is_told_what_is_wrong_and_exits_1():
    finished = run_grader("check", CLASS / "misconception_ones_bound")
    assert finished.returncode == 1
    assert "curvature(features=[1, 2, 3])" in finished.stdout
    assert "forgot_factor_two" in finished.stdout


def test_the_pages_hint_is_shown_when_asked_for():
    assert "two inequalities" not in run_grader("check", CLASS / "misconception_ones_bound").stdout
    assert (
        "two inequalities"
        in run_grader("check", CLASS / "misconception_ones_bound", "--hint").stdout
    )


def test_hidden_checks_are_not_run_for_a_student():
    assert "for any features" not in run_grader("check", CLASS / "right_script").stdout


def test_nothing_to_check_is_a_usage_error(tmp_path):
    finished = run_grader("check", tmp_path)
    assert finished.returncode == 2
    assert f"no file of {', '.join(catalogue.names())} was found" in finished.stderr


def test_a_file_of_any_name_is_checked_when_the_exercise_is_named(tmp_path):
    (tmp_path / "draft.py").write_text(HALF)
    finished = run_grader("check", tmp_path / "draft.py", "--exercise", "ones_bound")
    assert "ok       0.5/0.5  curvature" in finished.stdout


def test_a_solved_page_checks_itself_and_exits_0(tmp_path):
    finished = run_page(ROOT / "solutions" / "ones_bound.py", cwd=tmp_path)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "ones_bound: 4 of 4 points" in finished.stdout


def test_an_untouched_page_runs_through_to_its_check_and_exits_1_without_a_traceback(tmp_path):
    finished = run_page(ROOT / "exercises" / "ones_bound.py", cwd=tmp_path)
    assert finished.returncode == 1
    assert "ones_bound: 0 of 4 points" in finished.stdout
    assert "Traceback" not in finished.stderr


def test_running_a_page_leaves_no_files_behind(tmp_path):
    run_page(ROOT / "exercises" / "ones_bound.py", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_in_a_notebook_a_check_that_fails_raises_assertion_error(capsys):
    with pytest.raises(AssertionError, match="do not pass"):
        grader.check("ones_bound", {"curvature": lambda features: 2 * (features**2).mean()})
    assert "ok       0.5/0.5  curvature" in capsys.readouterr().out


def test_in_a_notebook_the_callers_own_functions_are_checked(capsys):
    namespace: dict = {"get_ipython": lambda: None, "__name__": "__main__"}
    exec(HALF + "from grader import check", namespace)
    with pytest.raises(AssertionError):
        exec('check("ones_bound")', namespace)
    assert "ok       0.5/0.5  curvature" in capsys.readouterr().out


def test_checking_gives_the_notebooks_switches_back():
    import jax
    import numpy as np

    jax.config.update("jax_debug_nans", True)
    before = np.seterr(over="raise")
    try:
        with pytest.raises(AssertionError):
            grader.check("ones_bound", {})
        assert jax.config.values["jax_debug_nans"] is True
        assert np.geterr()["over"] == "raise"
    finally:
        jax.config.update("jax_debug_nans", False)
        np.seterr(**before)


def test_an_unknown_exercise_is_named_with_those_that_there_are():
    from grader.errors import UsageError

    with pytest.raises(UsageError, match=r"there is no exercise 'none'; there are: .*nan_input, "):
        grader.check("none", {})


def test_grade_is_there_for_python_callers():
    report = grader.grade(CLASS / "misconception_ones_bound", "ones_bound")
    assert (report.student, report.score) == ("misconception_ones_bound", 8.5)
    assert report.max_score == 10


def test_only_two_names_are_exported():
    assert sorted(grader.__all__) == ["check", "grade"]
