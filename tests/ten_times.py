"""The sample class graded ten times, each time otherwise: `python -m tests.ten_times`.

One and two workers, entries in another order, exercises by name and all at once, from this clone
and from an installed wheel with the keys beside it. Prints each round and how many reports differ
from `fixtures/expected` in anything but the seconds; exits 1 when any does. Ten minutes.
"""

import random
import shutil
import sys
import tempfile
import time
from itertools import cycle, product
from pathlib import Path

from grader import catalogue
from tests.installed import install_wheel
from tests.sample_class import CLASS, ROOT, expected, handed_in, reports_in, run_grader

ROUNDS = 10


def shuffled_class(folder: Path, seed: int) -> Path:
    """A copy of the class whose entries lie on disk in another order."""
    entries = sorted(CLASS.iterdir())
    random.Random(seed).shuffle(entries)
    copy = folder / "class"
    copy.mkdir()
    for entry in entries:
        (shutil.copytree if entry.is_dir() else shutil.copy)(entry, copy / entry.name)
    return copy


def main() -> int:
    """Grade and compare; the exit code."""
    wanted, names = expected(), catalogue.names()
    differing = 0
    with tempfile.TemporaryDirectory() as place:
        installed, site = install_wheel(Path(place))
        for room in ("keys", "exact"):
            shutil.copytree(ROOT / "grader" / room, site / "grader" / room)
        settings = cycle(product((1, 2), (False, True), (sys.executable, str(installed))))
        for number, (workers, by_name, python) in zip(range(1, ROUNDS + 1), settings, strict=False):
            folder = Path(place, str(number))
            folder.mkdir()
            started = time.monotonic()
            arguments = [shuffled_class(folder, number), "--out", folder, "--workers", workers]
            for name in names if by_name else ():
                arguments += ["--exercise", name]
            finished = run_grader("grade", *arguments, python=python)
            found = handed_in(reports_in(folder)) if finished.returncode == 0 else {}
            wrong = sorted(name for name in wanted if found.get(name) != wanted[name])
            differing += len(wrong)
            kind = "wheel and keys" if python != sys.executable else "clone"
            how = "exercises named" if by_name else "all exercises"
            print(
                f"{number:>2}  {kind:15}{workers} worker(s)  {how:16} {len(found)} reports, "
                f"{len(wrong)} differ {' '.join(wrong)} {finished.stderr if not found else ''}"
                f"({time.monotonic() - started:.0f} s)",
                flush=True,
            )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
