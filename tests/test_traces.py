"""The planted faults that students read about: each shows where it is said to, and the tables of
the page are what the runs give."""

import functools
import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.test_every_exercise import namespace
from tests.test_lesson import python

ROOT = Path(__file__).parents[1]
PAGE = "first_broken_boundary"
ROW = re.compile(r"^# \| `(\w+)` \| (\d+) \| (\w+) \| (.*) \|$", re.M)
SEEDS = (0, 1)
SILENT = {"healthy", "broadcast_targets", "sum_for_mean"}


def module() -> ModuleType:
    traces = ModuleType("traces")
    path = ROOT / "exercises" / "traces.py"
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(traces))
    return traces


traces = module()


@functools.cache
def planted(fault: str, seed: int = 0) -> list[Any]:
    found: list[Any] = traces.planted(fault, seed)
    return found


@pytest.fixture(scope="module")
def first_broken() -> Callable[[dict], str]:
    found: Any = namespace(PAGE)["first_broken"]
    return found


def rows() -> list[tuple[str, int, str, list[float]]]:
    """The rows of the page's tables: run, step, boundary, and the numbers after it."""
    text = (ROOT / "solutions" / f"{PAGE}.py").read_text(encoding="utf-8")
    return [
        (fault, int(step), boundary, [float(number) for number in numbers.split(" | ")])
        for fault, step, boundary, numbers in ROW.findall(text)
    ]


@pytest.mark.parametrize("fault", traces.FAULTS)
def test_a_fault_shows_first_where_it_was_planted(fault, first_broken):
    for seed in SEEDS:
        found = [first_broken(step.trace) for step in planted(fault, seed)]
        broken = [boundary for boundary in found if boundary != "none"]
        expected = traces.FAULTS[fault].first

        assert (broken[0] if broken else "none") == expected
        assert (expected == "none") == (fault in SILENT)
        if traces.FAULTS[fault].batch is not traces.as_it_is:
            assert found.index(expected) == traces.BAD_STEP


@pytest.mark.parametrize("fault", traces.FAULTS)
def test_only_one_part_of_a_run_is_at_fault(fault):
    """A run like it, without the fault, is finite: with sound batches, or at the usual rate."""
    parts = traces.FAULTS[fault]
    traces.FAULTS["sound"] = parts._replace(batch=traces.as_it_is, rate=0.05)
    try:
        run = traces.planted("sound")
    finally:
        del traces.FAULTS["sound"]

    for step in run:
        assert all(np.isfinite(np.asarray(array)).all() for array in step.trace.values())


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    first, again, other = (traces.planted("healthy", seed, steps=1)[0].trace for seed in (5, 5, 6))

    assert np.array_equal(first["inputs"], again["inputs"])
    assert not np.array_equal(first["inputs"], other["inputs"])


def test_every_fault_has_a_row_on_the_page():
    assert {fault for fault, *_ in rows()} == set(traces.FAULTS)


@pytest.mark.parametrize("fault", traces.FAULTS)
def test_the_rows_on_the_page_are_those_of_a_run(fault, first_broken):
    run = planted(fault)
    for _, number, boundary, printed in (row for row in rows() if row[0] == fault):
        trace, norms = run[number]
        loss = float(np.mean(np.asarray(trace["loss"], dtype=np.float64)))
        measured = [loss, norms["gradient"], norms["update"], norms["parameter"]]

        assert first_broken(trace) == boundary
        assert len(printed) == len(measured)
        for shown, number_ in zip(printed, measured, strict=True):
            same = math.isclose(shown, number_, rel_tol=0.01)
            assert same or (math.isnan(shown) and math.isnan(number_))


def test_growth_on_the_page_is_that_of_a_run():
    """Between 90 and 400 a step, until the loss overflows; the update is larger from the start."""
    norms = [step.norms for step in planted("rate_above_ceiling")[:10]]

    for before, after in itertools.pairwise(norms):
        for name in ("gradient", "update", "parameter"):
            assert 90 < after[name] / before[name] < 400
    assert all(each["update"] > each["parameter"] for each in norms)


def test_shapes_tell_of_targets_that_are_broadcast():
    shapes = {
        fault: planted(fault)[0].trace["loss"].shape for fault in ("healthy", "broadcast_targets")
    }

    assert shapes == {"healthy": (8,), "broadcast_targets": (8, 8)}


def test_a_sum_has_the_gradient_times_the_number_of_examples():
    mean, total = (planted(fault)[0].norms for fault in ("healthy", "sum_for_mean"))

    assert math.isclose(total["gradient"], 8 * mean["gradient"], rel_tol=1e-5)


def test_the_page_can_be_followed():
    """What the page asks students to paste runs, beside the course's own files."""
    text = (ROOT / "solutions" / f"{PAGE}.py").read_text(encoding="utf-8")
    snippet = re.search(r"^# ```python\n(.*?)^# ```", text, re.M | re.S)
    assert snippet
    code = "\n".join(line[2:] for line in snippet[1].splitlines())
    solution = re.search(r"^def first_broken.*?^# %%", text, re.M | re.S)
    assert solution
    printed = python(
        "import jax, jax.numpy as jnp\n" + solution[0].removesuffix("# %%") + "\n" + code
    )

    assert len(printed.splitlines()) == 6 * len(traces.FAULTS)
