"""The speed table: `python -m tests.bench [--rounds 5] [--files 20] [--scale]`.

CPU and wall seconds for an exercise file: by `grader grade`, by nbgrader's own `autograde` on a
notebook of the same exercise with the same checks in a plain cell, by a plain pytest process, and
for a bare Python that imports JAX and adds two arrays. All in turn, in one run, as medians; look at
the ratios, times are the machine's. Below it, what else a class costs: the share of a student's own
functions, the time to the first result, and the largest memory of each process. `--scale` grades
classes of 10, 100 and 1,000 files, by which cost and memory are seen to stay the same.
"""

import argparse
import contextlib
import os
import resource
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import psutil
from msgspec import Struct

from grader import catalogue
from grader.compiled import prepared
from grader.confinement import chosen
from grader.inprocess import ask_namespace
from grader.model import Question, Returned
from grader.pages import read_page
from grader.sandbox import Sandbox, Source
from grader.submissions import lesson
from grader.suite import with_suite
from tests.sample_class import ROOT

EXERCISE = "ones_bound"
SOLUTION = (ROOT / "solutions" / f"{EXERCISE}.py").read_text().split("# %% check_")[0]
WRONG = SOLUTION + "\n# %%\ndef curvature(features):\n    return (features**2).mean()\n"
BARE = "import jax.numpy as jnp; print(jnp.ones(3) + jnp.ones(3))"
TIMED = f"""{SOLUTION}
# %%
import time
SPENT = [0.0]

def timed(function):
    def call(*arguments):
        started = time.process_time()
        try:
            return function(*arguments)
        finally:
            SPENT[0] += time.process_time() - started
    return call

for name, value in list(globals().items()):
    if getattr(value, "__module__", "") == "submission":
        globals()[name] = timed(value)

def spent():
    return SPENT[0], time.process_time()
"""
LOOKS = 0.1  # seconds between looks at the memory
KINDS = {"grading process": "grader.service", "warm parent": "grader.worker"}
ALONE = f"from tests.bench import check_all; check_all({EXERCISE!r}, globals())"


class Cost(Struct, frozen=True):
    """Seconds of CPU and by the clock, and the largest resident sets by kind of process, in MiB."""

    cpu: float
    wall: float
    memory: Mapping[str, int] = {}

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
    memory: dict[str, int] = {}
    with tempfile.TemporaryFile("w+") as said:
        process = psutil.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)
        while process.poll() is None:
            for kind, size in memory_of(process):
                memory[kind] = max(size, memory.get(kind, 0))
            time.sleep(LOOKS)
        said.seek(0)
        if process.returncode != 0:
            raise RuntimeError(said.read())
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall, memory)


def memory_of(process: psutil.Process) -> Iterator[tuple[str, int]]:
    """The kind and the resident set, in MiB, of each process that a command has started."""
    with contextlib.suppress(psutil.Error):  # they come and go
        for started in process.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                command = started.cmdline()
                kind = next((name for name, mark in KINDS.items() if mark in command), "another")
                if kind == "warm parent" and started.parent().cmdline() == command:
                    kind = "submission"
                yield kind, started.memory_info().rss >> 20


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


def make_course(folder: Path, files: int) -> None:
    """A course of ours with one assignment, and so many students who handed it in."""
    run([sys.executable, "-m", "grader", "course", "init", str(folder)], folder.parent)
    for number in range(files):
        place = folder / "submitted" / f"s{number}" / EXERCISE
        shutil.copytree(folder / "source" / EXERCISE, place)
    run([sys.executable, "-m", "nbgrader", "generate_assignment", EXERCISE, "--force"], folder)


def make_plain_course(folder: Path, files: int) -> None:
    """A course of nbgrader's own with the same exercise and checks, and as many students."""
    folder.mkdir()
    answer = nbformat.v4.new_code_cell(SOLUTION)
    answer.metadata.nbgrader = cell_metadata("answer", solution=True)
    check = nbformat.v4.new_code_cell(ALONE)
    check.metadata.nbgrader = cell_metadata("check", grade=True, points=10)
    notebook = nbformat.v4.new_notebook(cells=[answer, check])
    (folder / "nbgrader_config.py").write_text(
        'c = get_config()\nc.CourseDirectory.course_id = "c"'
    )
    for place in ["source/page", *(f"submitted/s{n}/page" for n in range(files))]:
        (folder / place).mkdir(parents=True)
        nbformat.write(notebook, folder / place / "page.ipynb")
    run([sys.executable, "-m", "nbgrader", "generate_assignment", "page", "--force"], folder)


def cell_metadata(name: str, **further: Any) -> dict[str, Any]:
    """What nbgrader keeps in a cell."""
    plain = {"grade": False, "solution": False, "locked": False, "schema_version": 3}
    return plain | {"grade_id": name, "task": False} | further


def autograde(folder: Path, assignment: str, students: str = "*") -> Cost:
    """`nbgrader autograde` on all students, or on those that a pattern names."""
    command = [sys.executable, "-m", "nbgrader", "autograde", assignment, "--force"]
    return run([*command, "--student", students], folder)


def further(one: list[Cost], each: list[Cost], files: int) -> float:
    """Seconds by the clock for one more notebook of a class, without the start of the command: from
    what one alone costs, and what each costs in a class of so many."""
    alone, of_class = (statistics.median(cost.wall for cost in costs) for costs in (one, each))
    return (of_class * files - alone) / (files - 1)


def course_autograde(folder: Path, workers: int) -> Cost:
    """`grader course autograde` on all students."""
    command = [sys.executable, "-m", "grader", "course", "autograde", str(folder), EXERCISE]
    return run([*command, "--force", "--workers", str(workers)], folder)


def alone(folder: Path) -> Cost:
    """A plain pytest process over the same checks."""
    page = folder / "page.py"
    page.write_text(f"{SOLUTION}\n{ALONE}\n")
    return run([sys.executable, str(page)], folder)


def table(costs: Mapping[str, list[Cost]]) -> str:
    """Medians, and how many times more CPU than `grader grade` each costs."""
    ours = statistics.median(cost.cpu for cost in costs["grader grade, right"])
    lines = [f"{'one exercise file':44}{'CPU s':>8}{'wall s':>8}{'of ours':>9}"]
    for name, found in costs.items():
        cpu = statistics.median(cost.cpu for cost in found)
        wall = statistics.median(cost.wall for cost in found)
        lines.append(f"{name:44}{cpu:>8.2f}{wall:>8.2f}{cpu / ours:>9.2f}")
    return "\n".join(lines)


def memory_told(cost: Cost) -> str:
    """The largest resident set of each kind of process."""
    return ", ".join(f"{kind} {size} MiB" for kind, size in sorted(cost.memory.items()))


def students_share() -> tuple[float, float]:
    """CPU seconds within a student's own functions, and all that the file's process used."""
    exercise = catalogue.exercise(EXERCISE)
    found = read_page(TIMED.encode(), f"{EXERCISE}.py")
    source = Source(f"{EXERCISE}.py", found.cells, {"lesson": lesson()}, {})
    with Sandbox(confinement=prepared(chosen("auto"))) as sandbox:
        worker = sandbox.load(source)
        with_suite([EXERCISE], lambda suite: suite.run(exercise, worker.ask))
        answer = worker.ask(Question("spent", ()))
        worker.close()
    assert isinstance(answer, Returned)
    assert isinstance(answer.value, tuple)
    own, whole = (float(seconds) for seconds in answer.value if isinstance(seconds, float))
    return own, whole


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    text = "of a class, by either grader, which starts once for all of them"
    parser.add_argument("--files", type=int, default=20, help=text)
    parser.add_argument("--scale", action="store_true", help="also 10, 100 and 1,000 files")
    options = parser.parse_args()
    files = options.files
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        course, plain = folder / "course", folder / "plain"
        make_course(course, files)
        make_plain_course(plain, files)
        grade(folder, SOLUTION, 1)  # compiles this machine's programs, if they aren't there
        ways: dict[str, Callable[[], Cost]] = {
            "grader grade, right": lambda: grade(folder, SOLUTION, files).per(files),
            "grader grade, wrong": lambda: grade(folder, WRONG, files).per(files),
            "nbgrader autograde, by this grader": lambda: autograde(course, EXERCISE).per(files),
            "grader course autograde, 2 workers": lambda: course_autograde(course, 2).per(files),
            "nbgrader autograde, the same checks": lambda: autograde(plain, "page").per(files),
            "a plain pytest process, the same checks": lambda: alone(folder),
            "a bare Python, JAX imported, arrays added": lambda: run(
                [sys.executable, "-c", BARE], folder
            ),
        }
        starts: dict[str, Callable[[], Cost]] = {  # the same commands, for one student
            "nbgrader autograde, by this grader": lambda: autograde(course, EXERCISE, "s0"),
            "nbgrader autograde, the same checks": lambda: autograde(plain, "page", "s0"),
        }
        costs: dict[str, list[Cost]] = {name: [] for name in ways}
        ones: dict[str, list[Cost]] = {name: [] for name in starts}
        for _ in range(options.rounds):
            for name, way in ways.items():
                costs[name].append(way())
            for name, way in starts.items():
                ones[name].append(way())
        print(table(costs))
        ours, theirs = (further(ones[name], costs[name], files) for name in starts)
        ratio = f"{ours:.2f} s by this grader, {theirs:.2f} s by its own Execute"
        print(f"a further notebook in nbgrader autograde: {ratio} ({theirs / ours:.1f} times)")
        one, many = (grade(folder, SOLUTION, count) for count in (1, 1 + files))
        without_start = (many.cpu - one.cpu) / files
        print(f"a further file, without the start: {without_start:.2f} s of CPU")
        print(f"one file alone, from the command's start to its result: {one.wall:.1f} s")
        own, whole = students_share()
        share = f"{own:.2f} s of the {whole:.2f} s of CPU in the file's process"
        print(f"in the student's own functions: {share}, of {without_start:.2f} s in all")
        print(f"memory, at most: {memory_told(many)}")
        for count in (10, 100, 1000) if options.scale else ():
            cost = grade(folder, SOLUTION, count, workers=2)
            each = cost.per(count)
            spent = f"{each.cpu:.2f} s of CPU, {each.wall:.2f} s each"
            print(f"{count:>5} files, 2 workers: {spent}; {memory_told(cost)}")


if __name__ == "__main__":
    main()
