"""Holes planted on purpose, each of which the audit must find: `python -m tests.planted`.

In every exercise a check that asks and never judges, a bound that is far too wide, and an
expectation that is another function's. Each is planted in a copy of the clone, whose generated
files are made anew, as one who believed in the change would do. Takes a quarter of an hour.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

from tests.sample_class import ROOT

ROOMS = ("grader", "solutions", "exercises", "fixtures")
WIDER = "Number(due.value, due.bound * 10**6)"


class Plant(Struct, frozen=True):
    """A change of an exercise's key, and what the audit must say of it."""

    exercise: str
    kind: str
    old: str
    new: str
    told: str
    every: int = 60


def _widened(exercise: str, call: str) -> Plant:
    new = f"due = number({call})\n    return {WIDER}"
    return Plant(exercise, "widened bound", f"return number({call})", new, ": survived: ", 4)


PLANTS = (
    Plant(
        "ones_bound",
        "weakened check",
        "expect(student.growth_factor(rate, features), growth_factor(rate, features))",
        "student.growth_factor(rate, features)",
        "no wrong program fails this check: growth_is_exact",
    ),
    _widened("ones_bound", "descent.growth_factor(rate, features)"),
    Plant(
        "ones_bound",
        "swapped expectation",
        "expect(student.rate_ceiling(features), rate_ceiling(features))",
        "expect(student.rate_ceiling(features), curvature(features))",
        "a right program is rejected",
    ),
    Plant(
        "rescale_objective",
        "weakened check",
        "expect(student.update(rate, scale, weight, *data), due)",
        "student.update(rate, scale, weight, *data)",
        "no wrong program fails this check: update_is_exact",
    ),
    _widened("rescale_objective", "rescaled.compensating_rate(rate, scale)"),
    Plant(
        "rescale_objective",
        "swapped expectation",
        "expect(student.compensating_rate(rate, scale), compensating_rate(rate, scale))",
        "expect(student.compensating_rate(rate, scale), compensating_rate(scale, rate))",
        "a right program is rejected",
    ),
    Plant(
        "nan_input",
        "weakened check",
        "expect(student.bad_positions(features), bad_positions(features))",
        "student.bad_positions(features)",
        "no wrong program fails this check: positions_are_exact",
    ),
    Plant(
        "nan_input",
        "widened bound",
        "def plain_gradient(",
        "def plain_gradient(weight, features, targets):\n"
        "    due = exact_gradient(weight, features, targets)\n"
        f"    return {WIDER}\n\n\ndef exact_gradient(",
        ": survived: ",
        4,
    ),
    Plant(
        "nan_input",
        "swapped expectation",
        "expect(student.repair(features, source), repair(features, source))",
        "expect(student.repair(features, source), repair(source, features))",
        "a right program is rejected",
    ),
)


def found(plant: Plant, folder: Path) -> str:
    """What the audit prints of a copy of the clone with the hole in it."""
    root = folder / "clone"
    for room in ROOMS:
        shutil.copytree(ROOT / room, root / room, symlinks=True)
    key = root / "grader" / "keys" / f"{plant.exercise}.py"
    text = key.read_text(encoding="utf-8")
    if plant.old not in text:
        raise SystemExit(f"{plant.exercise}, {plant.kind}: the key has changed; plant it anew")
    key.write_text(text.replace(plant.old, plant.new), encoding="utf-8")
    _grader(root, "scaffolds")
    how = ("--exercise", plant.exercise, "--every", plant.every, "--out", folder / "out")
    return _grader(root, "audit", *how)


def _grader(root: Path, *arguments: object) -> str:
    command = [sys.executable, "-P", "-m", "grader", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(root)}
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return finished.stdout + finished.stderr


def main() -> int:
    """Plant each, and say whether it was found."""
    missed = 0
    for plant in PLANTS:
        with tempfile.TemporaryDirectory() as folder:
            said = found(plant, Path(folder))
        seen = plant.told in said
        missed += not seen
        print(f"{plant.exercise}, {plant.kind}: {'found' if seen else 'MISSED'}", flush=True)
        if not seen:
            print(said)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
