"""The speed table: `python -m tests.bench [--rounds 5] [--scale]`.

CPU and wall seconds for an exercise file: by `grader grade`, by nbgrader's own `autograde` on a
notebook of the same exercise with the same checks in a plain cell, by a plain pytest process, and
for a bare Python that imports JAX and adds two arrays. All in turn, in one run, as medians; look at
the ratios, times are the machine's. `--scale` also grades 10, 100 and 1,000 files.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
from msgspec import Struct

from grader import catalogue
from grader.inprocess import ask_namespace
from grader.suite import with_suite
from tests.sample_class import ROOT

EXERCISE = "ones_bound"
FILES = 20  # for each `grader grade`, so that its start counts as it does for a small class
NOTEBOOKS = 3  # for each `nbgrader autograde`
SOLUTION = (ROOT / "solutions" / f"{EXERCISE}.py").read_text().split("# %% check_")[0]
WRONG = SOLUTION + "\n\ndef curvature(features):\n    return (features**2).mean()\n"
BARE = "import jax.numpy as jnp; print(jnp.ones(3) + jnp.ones(3))"
ALONE = f"from tests.bench import check_all; check_all({EXERCISE!r}, globals())"


class Cost(Struct, frozen=True):
    """Seconds of CPU and by the clock, and the largest resident set of any process, in MiB."""

    cpu: float
    wall: float
    memory: float = 0.0

    def per(self, count: int) -> "Cost":
        """For one of so many."""
        return Cost(self.cpu / count, self.wall / count, self.memory)


def check_all(name: str, namespace: Mapping[str, Any]) -> float:
    """The points that the functions in a namespace get by all checks, in this process."""
    exercise = catalogue.exercise(name)
    ask = ask_namespace(dict(namespace))
    findings = with_suite([name], lambda suite: suite.run(exercise, ask))
    return sum(check.score or 0.0 for check in findings.checks)


def run(command: list[str], folder: Path) -> Cost:
    """What a command and all that it starts cost. Raises where it fails."""
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'exercises'}",
        "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}",
        "JAX_PLATFORMS": "cpu",
    }
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    finished = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if finished.returncode != 0:
        raise RuntimeError(finished.stdout + finished.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall, after.ru_maxrss / 1024)


def grade(folder: Path, text: str, count: int, workers: int = 1) -> Cost:
    """`grader grade` on a class of so many copies of a page."""
    submissions = folder / "class"
    submissions.mkdir(exist_ok=True)
    for place in submissions.iterdir():
        place.unlink()
    for number in range(count):
        (submissions / f"s{number:04}.py").write_text(text)
    command = [sys.executable, "-m", "grader", "grade", str(submissions), "--force"]
    command += ["--out", str(folder / "out"), "--exercise", EXERCISE, "--workers", str(workers)]
    return run(command, folder)


def make_course(folder: Path) -> None:
    """A course of nbgrader's own with one assignment, and so many students who handed it in."""
    answer = nbformat.v4.new_code_cell(SOLUTION)
    answer.metadata.nbgrader = cell_metadata("answer", solution=True)
    check = nbformat.v4.new_code_cell(ALONE)
    check.metadata.nbgrader = cell_metadata("check", grade=True, points=10)
    notebook = nbformat.v4.new_notebook(cells=[answer, check])
    (folder / "nbgrader_config.py").write_text(
        'c = get_config()\nc.CourseDirectory.course_id = "c"'
    )
    for place in ["source/page", *(f"submitted/s{n}/page" for n in range(NOTEBOOKS))]:
        (folder / place).mkdir(parents=True)
        nbformat.write(notebook, folder / place / "page.ipynb")
    run([sys.executable, "-m", "nbgrader", "generate_assignment", "page", "--force"], folder)


def cell_metadata(name: str, **further: Any) -> dict[str, Any]:
    """What nbgrader keeps in a cell."""
    plain = {"grade": False, "solution": False, "locked": False, "schema_version": 3}
    return plain | {"grade_id": name, "task": False} | further


def autograde(folder: Path) -> Cost:
    """nbgrader's own, on all students."""
    return run([sys.executable, "-m", "nbgrader", "autograde", "page", "--force"], folder)


def alone(folder: Path) -> Cost:
    """A plain pytest process over the same checks."""
    page = folder / "page.py"
    page.write_text(f"{SOLUTION}\n{ALONE}\n")
    return run([sys.executable, str(page)], folder)


def table(costs: Mapping[str, list[Cost]]) -> str:
    """Medians, and how many times more than `grader grade` each costs."""
    ours = statistics.median(cost.cpu for cost in costs["grader grade, right"])
    lines = [f"{'one exercise file':44}{'CPU s':>8}{'wall s':>8}{'MiB':>7}{'of ours':>9}"]
    for name, found in costs.items():
        cpu = statistics.median(cost.cpu for cost in found)
        wall = statistics.median(cost.wall for cost in found)
        memory = max(cost.memory for cost in found)
        lines.append(f"{name:44}{cpu:>8.2f}{wall:>8.2f}{memory:>7.0f}{cpu / ours:>9.2f}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", action="store_true", help="also 10, 100 and 1,000 files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        course = folder / "course"
        course.mkdir()
        make_course(course)
        grade(folder, SOLUTION, 1)  # compiles this machine's programs, if they aren't there
        one, many = (grade(folder, SOLUTION, count) for count in (1, FILES))
        ways: dict[str, Callable[[], Cost]] = {
            "grader grade, right": lambda: grade(folder, SOLUTION, FILES).per(FILES),
            "grader grade, wrong": lambda: grade(folder, WRONG, FILES).per(FILES),
            "nbgrader autograde, the same checks": lambda: autograde(course).per(NOTEBOOKS),
            "a plain pytest process, the same checks": lambda: alone(folder),
            "a bare Python, JAX imported, arrays added": lambda: run(
                [sys.executable, "-c", BARE], folder
            ),
        }
        costs: dict[str, list[Cost]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                costs[name].append(way())
        print(table(costs))
        further = (many.cpu - one.cpu) / (FILES - 1)
        print(f"a further file, without the start: {further:.2f} s of CPU")
        print(f"one file alone, from the command's start to its result: {one.wall:.1f} s")
        for count in (10, 100, 1000) if options.scale else ():
            cost = grade(folder, SOLUTION, count, workers=2)
            each = cost.per(count)
            print(f"{count:>5} files, 2 workers: {each.cpu:.2f} s of CPU, {each.wall:.2f} s each")


if __name__ == "__main__":
    main()
