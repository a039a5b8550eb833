"""Does the grader ever change its mind? The same class graded under settings that might move it."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from grader import catalogue
from grader.audit.variants import answers
from grader.errors import GraderFault
from grader.model import Report

SPIN = "while True: pass"
# The sample class has loops without end: here they end sooner, at ten times what a call takes.
LIMITS = ("--call-seconds", "3", "--load-seconds", "6", "--file-seconds", "20")


class Setting(Struct, frozen=True):
    """A way to run the same command: variables, workers, a load beside it, names that turn the
    order of students round, another folder."""

    name: str
    environment: dict[str, str] = {}
    workers: int = 2
    load: int = 0
    reverse: bool = False
    elsewhere: bool = False


class Changed(Struct, frozen=True):
    """A report that was another one under a setting."""

    setting: str
    student: str


SETTINGS = (
    Setting("a hash seed of 1", {"PYTHONHASHSEED": "1"}),
    Setting("one worker", workers=1),
    Setting("the students from last to first", reverse=True),
    Setting("two busy processes beside it", load=2),
    Setting(
        "JAX's wide numbers and no jit asked for by the environment",
        {
            "JAX_ENABLE_X64": "1",
            "JAX_DISABLE_JIT": "1",
            "XLA_FLAGS": "--xla_cpu_enable_fast_math=true",
        },
    ),
    Setting(
        "another folder, locale and time zone",
        {"LC_ALL": "C", "TZ": "Asia/Kathmandu", "PYTHONIOENCODING": "ascii"},
        elsewhere=True,
    ),
)


def corpus(folder: Path, names: Sequence[str], every: int) -> None:
    """A class of right, wrong and odd submissions, each a folder; one in `every`.

    A quarter of the right ones and a twelfth of the wrong: it is graded seven times.
    """
    fixtures = catalogue.clone() / "fixtures"
    places = [path for name in names for path in answers("right", name)[::4]]
    places += [path for name in names for path in answers("wrong", name)[::12]]
    for number, path in enumerate(places[::every]):
        target = folder / f"{number:04}"
        target.mkdir()
        shutil.copy(path, target / f"{path.parent.name}{path.suffix}")
    for path in sorted((fixtures / "class").iterdir())[::every]:
        if path.is_dir():
            shutil.copytree(path, folder / f"class-{path.name}")


def compared(
    names: Sequence[str], every: int, say: Callable[[str], None]
) -> tuple[int, list[Changed]]:
    """How many reports were compared in all, and which were not the same as in a plain run."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "class")
        folder.mkdir()
        corpus(folder, names, every)
        say("determinism: a plain run")
        plain = _graded(folder, names, Setting("plain"))
        changed: list[Changed] = []
        for setting in SETTINGS:
            say(f"determinism: {setting.name}")
            found = _graded(folder, names, setting)
            changed += [
                Changed(setting.name, student)
                for student in sorted(plain.keys() | found.keys())
                if plain.get(student) != found.get(student)
            ]
    return len(plain) * len(SETTINGS), changed


def _graded(folder: Path, names: Sequence[str], setting: Setting) -> dict[str, bytes]:
    """Every student's report, without what may differ."""
    with tempfile.TemporaryDirectory() as place, _load(setting.load):
        where = Path(place)
        students = sorted(path.name for path in folder.iterdir())
        called = {student: student for student in students}
        if setting.reverse:
            called = {f"{len(students) - n:04}-{s}": s for n, s in enumerate(students)}
        if setting.reverse or setting.elsewhere:
            moved = where / "élsewhere" / "submissions of a class"
            for name, student in called.items():
                shutil.copytree(folder / student, moved / name)
            folder = moved
        command = [sys.executable, "-P", "-m", "grader", "grade", str(folder)]
        command += ["--out", str(where / "out"), "--layout", "plain"]
        command += ["--workers", str(setting.workers), *LIMITS]
        command += [word for name in names for word in ("--exercise", name)]
        finished = subprocess.run(
            command, capture_output=True, check=False, env=os.environ | setting.environment
        )
        if finished.returncode:
            said = finished.stderr.decode("utf-8", "replace").strip()[-500:]
            raise GraderFault(f"{setting.name}: {said}")
        lines = (where / "out" / "results.jsonl").read_bytes().splitlines()
    reports = [msgspec.json.decode(line, type=Report) for line in lines]
    return {called[report.student]: comparable(report) for report in reports}


def comparable(report: Report) -> bytes:
    """All that a report says, but for what may differ: the time it took, the student's name, and
    what the page printed, which may be the time of day."""
    exercises = [msgspec.structs.replace(exercise, output="") for exercise in report.exercises]
    named = {"student": "", "fingerprint": ""}
    report = msgspec.structs.replace(report, seconds=0.0, exercises=exercises, **named)
    return msgspec.json.encode(report)


@contextlib.contextmanager
def _load(count: int) -> Iterator[None]:
    """So many processes that are busy for as long as this lasts."""
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
