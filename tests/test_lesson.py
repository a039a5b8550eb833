"""The lesson that students get complete: its numbers, its record of a run, its worked page."""

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXERCISES = Path(__file__).parents[1] / "exercises"
U = 2.0**-24  # the unit roundoff of float32

# Float32 on a CPU with JAX 0.9.2, eager: weight, loss and abs(gradient) before each step.
RECORDED_AT_0_3 = np.array(
    [
        [0.0, 18.6666679, 18.6666679],
        [5.60000038, 60.4800110, 33.6000061],
        [-4.48000145, 195.955292, 60.4800148],
        [13.6640034, 634.895264, 108.864037],
        [-18.9952106, 2057.06152, 195.955322],
        [39.7913895, 6664.88281, 352.719635],
    ]
)
RECORDED_FINAL_AT_0_1 = 1.999999761581421


@pytest.fixture(scope="module")
def lesson() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lesson", EXERCISES / "lesson.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter that can import the lesson; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": str(EXERCISES), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_run_reproduces_the_recorded_rows_within_rounding(lesson):
    _, history = lesson.run(0.3, 6)

    # Let e = w - 2. A gradient is off by 2 roundings of each w*x - y, shares u of |w*x| + |y|, and
    # by at most 10 more (its mean, the rate, their product), shares u of |e|. In this run
    # |w| + 2 <= 2.2 |e|, so that a step adds rate * 28/3 * (4.4 + 10) u |e| = 40u |e|, and u |w|
    # for rounding the new weight: together 24u of the new error, which is 1.8 |e|. The recurrence
    # multiplies old shares as it multiplies e, so they add up; the row's own loss and gradient
    # add less than another step would. Two float32 runs differ by twice as much at most. The loss
    # is e squared: again twice the share.
    share = 2 * 24 * U * np.arange(1, 7)[:, None]
    error = np.abs(RECORDED_AT_0_3[:, :1] - 2)
    scale = np.hstack([error, 2 * RECORDED_AT_0_3[:, 1:2], RECORDED_AT_0_3[:, 2:]])
    assert (np.abs(history - RECORDED_AT_0_3) <= share * scale).all()


def test_run_ends_near_the_recorded_weight_at_a_stable_rate(lesson):
    final_weight, _ = lesson.run(0.1, 6)

    # Near w = 2 a step adds the rate times what the gradient may be off, 2 mean(x * 2u * 4x) = 75u,
    # and 2u for rounding the weight: 9.5u. The next steps keep 1/15 of it each: 10.2u in all, for
    # either run.
    assert abs(final_weight - RECORDED_FINAL_AT_0_1) <= 2 * 10.2 * U


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2])
def test_run_agrees_with_the_exact_recurrence(lesson, rate):
    final_weight, history = lesson.run(rate, 6, initial_weight=0.5)

    # As above, a step adds at most rate * 28/3 * (2 + 10) u (|w| + 2) + u |w|: below
    # 24u (|w| + 2) at these rates, which shrink what is there already.
    due = 2 + (1 - rate * 28 / 3) ** np.arange(7) * (0.5 - 2)
    bound = 6 * 24 * U * (np.abs(due).max() + 2)
    assert np.abs([*history[:, 0], final_weight] - due).max() <= bound


def test_history_is_recorded_before_each_update(lesson):
    final_weight, history = lesson.run(0.3, 4, initial_weight=1.0)

    assert isinstance(final_weight, float)
    assert isinstance(history, np.ndarray)
    assert history.shape == (4, 3)
    assert history[0, 0] == 1.0
    for step, (weight, loss, gradient) in enumerate(history):
        assert weight == lesson.run(0.3, step, initial_weight=1.0)[0]
        assert loss == pytest.approx(float(lesson.loss(weight)), rel=32 * U)
        assert gradient == pytest.approx(abs(float(lesson.analytic_gradient(weight))), rel=32 * U)
    assert final_weight not in history[:, 0]


def test_clipping_limits_the_update_and_not_the_record(lesson):
    final_weight, history = lesson.run(0.3, 6, clip=1.0)

    weights = [*history[:, 0], final_weight]
    # The largest weight is below 2, where float32 numbers are 2u apart: half of that for rounding
    # each weight, and u * 0.3 for the move itself.
    assert np.abs(np.diff(weights)).max() <= 0.3 + 3 * U
    assert history[0, 2] == pytest.approx(56 / 3, rel=32 * U)
    np.testing.assert_allclose(weights, 0.3 * np.arange(7), rtol=0, atol=7 * 2 * U)


def test_data_and_clip_go_by_position(lesson):
    by_name = lesson.run(
        0.1, 2, features=lesson.FEATURES, targets=lesson.TARGETS, clip=1.0, initial_weight=5.0
    )
    by_position = lesson.run(0.1, 2, lesson.FEATURES, lesson.TARGETS, 1.0, 5.0)

    assert by_position[0] == by_name[0] == pytest.approx(4.8, rel=8 * U)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_data_of_any_length_works_as_arrays_or_lists(lesson, n):
    final_weight, history = lesson.run(0.5, 3, [1.0] * n, np.full(n, 2.0, np.float32))

    assert final_weight == 2.0
    np.testing.assert_array_equal(history, [[0, 4, 4], [2, 0, 0], [2, 0, 0]])


def test_loss_and_gradient_take_plain_numbers(lesson):
    assert float(lesson.loss(0.5, 3.0, 6.0)) == 20.25
    assert float(lesson.analytic_gradient(0.5, 3.0, 6.0)) == -27.0


def test_overflow_is_raised_at_its_step_by_name(lesson):
    largest = float(np.finfo(np.float32).max)
    step = math.ceil(math.log(largest / (56 / 3)) / math.log(3.24))

    lesson.run(0.3, step)
    with pytest.raises(FloatingPointError, match=f"^step {step}: loss is inf$"):
        lesson.run(0.3, 200)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.1, 3, [1.0, math.nan], [2.0, 4.0]), "step 0: loss is nan"),
        ((0.1, 3, [1.0], [math.inf]), "step 0: loss is inf"),
        ((0.1, 3, [1.0], [2.0], None, math.nan), "step 0: weight is nan"),
        ((1e38, 1), "step 0: updated_weight is inf"),
        ((0.1, 3, [1e-30, 1e20], [1e20, 0.0], None, 0.0), "step 0: loss is inf"),
    ],
)
def test_the_first_quantity_that_is_not_finite_is_named(lesson, arguments, message):
    with pytest.raises(FloatingPointError) as caught:
        lesson.run(*arguments)
    assert str(caught.value) == message


def test_the_data_are_float32_and_a_run_is_the_same_with_x64_on(lesson):
    code = (
        "import lesson, numpy as np\n"
        "final, history = lesson.run(0.3, 6)\n"
        "print(lesson.FEATURES.dtype, lesson.TARGETS.dtype, [final, *history.ravel().tolist()])\n"
        "wide = lesson.run(0.1, 6, np.array([1., 2., 3.]), np.array([2., 4., 6.]))[0]\n"
        "print(2 - wide)"
    )
    narrow, wide = python(code, JAX_ENABLE_X64="1").splitlines()

    final, history = lesson.run(0.3, 6)
    assert narrow == f"float32 float32 {[final, *history.ravel().tolist()]}"
    # Double data are computed in double: the exact error 2/15**6 shows, far below float32's grain.
    assert float(wide) == pytest.approx(2 / 15**6, rel=1e-7)


def test_the_worked_page_runs_from_top_to_bottom_without_a_screen():
    page = json.loads((EXERCISES / "lesson.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(c["source"]) for c in page["cells"] if c["cell_type"] == "code"]

    printed = python("\n\n".join(cells), MPLBACKEND="Agg")

    assert printed.count("every row agrees with the recurrence") == 3
