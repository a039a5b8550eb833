"""The hostile suite: `python -m tests.hostile [--rounds 3] [CASE...]`.

Each file `fixtures/hostile/FAMILY/CASE.py` is graded between two honest submissions, by one worker
and by two. It must get what it states, and the honest ones what they get alone; afterwards nothing
of its must be left running or on disk. A case is the honest answer, followed by the file, which

- says in its docstring what it tries, and in MUST_NOT what must not happen;
- states in GETS the outcomes that are allowed, by function; "*" stands for those not named.
- where it looks for a secret, defines `attempt()`, which returns one only if it found it; then
  every function answers rightly with the secret in hand, and not at all without. Any mark is a
  leak.

Whatever a case leaves behind carries MARK in its name, so that it is found.
"""

import argparse
import ast
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from grader.confinement import FIRST_UID
from tests.sample_class import ROOT, reports_in, run_grader

CASES = ROOT / "fixtures" / "hostile"
MARK = "hostile-mark"
LIMITS = ("--call-seconds", 2, "--load-seconds", 4, "--file-seconds", 20)
PLACES = ("/tmp", "/var/tmp", "/dev/shm", str(ROOT), str(Path.home() / ".cache"))
LOOTING = """

_loot = None
try:
    _loot = attempt()
    print("loot:", _loot)
except BaseException as error:
    print("no loot:", repr(error))
if not _loot:
    def curvature(*_): raise RuntimeError("no loot")
    rate_ceiling = growth_factor = compare_rates = curvature
    PREDICTED_CEILING = "no loot"
"""


class Case(Struct, frozen=True):
    """One hostile file: its name, what it states, and the submission that it makes."""

    name: str
    tries: str
    gets: dict[str, str | list[str]]
    submission: str

    def allowed(self, function: str) -> list[str]:
        """The outcomes that checks about a function may have."""
        outcomes = self.gets.get(function, self.gets.get("*", []))
        return [outcomes] if isinstance(outcomes, str) else outcomes


def read(path: Path) -> Case:
    """The case in a file."""
    text = path.read_text()
    tree = ast.parse(text)
    stated = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("GETS", "MUST_NOT")
    }
    assert set(stated) == {"GETS", "MUST_NOT"}, f"{path} states too little"
    looting = any(isinstance(n, ast.FunctionDef) and n.name == "attempt" for n in tree.body)
    honest = (CASES / "honest.py").read_text()
    whole = f"{honest}\n\n{text}{LOOTING if looting else ''}"
    tries = ast.get_docstring(tree) or ""
    assert tries, f"{path} doesn't say what it tries"
    return Case(f"{path.parent.name}-{path.stem}", tries, stated["GETS"], whole)


def cases(wanted: list[str]) -> list[Case]:
    """All cases, or those whose names hold one of the words wanted."""
    found = [read(path) for path in sorted(CASES.glob("*/*.py"))]
    return [case for case in found if not wanted or any(word in case.name for word in wanted)]


def write_class(folder: Path, chosen: list[Case]) -> None:
    """A class with an honest submission before, between and after the cases."""
    honest = (CASES / "honest.py").read_text()
    for number in range(len(chosen) + 1):
        (folder / f"{number:03}-a-honest").mkdir()
        (folder / f"{number:03}-a-honest" / "ones_bound.py").write_text(honest)
    for number, case in enumerate(chosen):
        (folder / f"{number:03}-b-{case.name}.py").write_text(case.submission)


def graded(folder: Path, workers: int, isolation: str) -> dict[str, dict]:
    """The exercise's report by submission."""
    with tempfile.TemporaryDirectory() as out:
        how = ("--exercise", "ones_bound", "--workers", workers, "--isolation", isolation)
        finished = run_grader("grade", folder, "--out", out, *how, *LIMITS)
        assert finished.returncode == 0, finished.stderr
        reports = reports_in(Path(out))
    return {student: report["exercises"][0] for student, report in reports.items()}


def problems_with(case: Case, report: dict) -> list[str]:
    """Where a case did not get what it states."""
    if report["status"] != "graded":
        return [f"{case.name}: {report['status']}: {report['notes']}"]
    return [
        f"{case.name}: {check['function']}/{check['name']} {check['outcome']}, "
        f"not {case.allowed(check['function'])}: {check['message']}"
        for check in report["checks"]
        if check["outcome"] not in case.allowed(check["function"])
    ]


def left_behind() -> list[str]:
    """Processes, files and shared memory that carry the mark; workers whose grader has ended."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            user = command.parent.stat().st_uid
            orphan = user >= FIRST_UID and not Path(f"/proc/{user - FIRST_UID}").exists()
            if MARK.encode() in command.read_bytes() or orphan:
                found.append(f"process {command.parent.name}")
        except OSError:
            continue
    for place in filter(Path.exists, map(Path, PLACES)):
        listed = ["find", str(place), "-xdev", "-name", f"*{MARK}*"]
        found += subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()
    for kind in ("shm", "sem", "msg"):
        lines = Path("/proc/sysvipc", kind).read_text().splitlines()[1:]
        found += [f"{kind}: {line}" for line in lines if str(0x7E57) in line.split()[:1]]
    return found


def problems(chosen: list[Case], workers: int, isolation: str, alone: dict) -> list[str]:
    """All that went otherwise than it must, in one run over these cases."""
    before = set(left_behind())
    with tempfile.TemporaryDirectory() as folder:
        write_class(Path(folder), chosen)
        reports = graded(Path(folder), workers, isolation)
    found = [f"left behind: {thing}" for thing in left_behind() if thing not in before]
    for number, case in enumerate(chosen):
        found += problems_with(case, reports[f"{number:03}-b-{case.name}"])
    for student, report in reports.items():
        if student.endswith("-a-honest") and report != alone:
            found.append(f"{student} is not what it is alone")
    return found


def honest_alone(isolation: str) -> dict:
    """The report on the honest submission in an undisturbed run."""
    with tempfile.TemporaryDirectory() as folder:
        write_class(Path(folder), [])
        (report,) = graded(Path(folder), 1, isolation).values()
    assert report["score"] == report["max_score"], report
    return report


def main() -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only cases whose names hold one of these")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isolation", default="bubblewrap")
    options = parser.parse_args()
    chosen = cases(options.words)
    alone = honest_alone(options.isolation)
    failed = False
    for number in range(options.rounds):
        for workers in (1, 2):
            started = time.monotonic()
            found = problems(chosen, workers, options.isolation, alone)
            failed = failed or bool(found)
            print(
                f"round {number + 1}, {workers} worker(s): {len(chosen)} cases, "
                f"{len(found)} problems ({time.monotonic() - started:.0f} s)",
                *found,
                sep="\n  ",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
