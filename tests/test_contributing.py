"""What CONTRIBUTING says of writing an exercise works as it stands there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("grader", "solutions", "exercises", "tests")


def blocks() -> list[str]:
    """What the section shows, in its order: the page, the key, a public check."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Write an exercise")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.S)


def test_the_two_files_of_the_walk_through_make_an_exercise(tmp_path):
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    page, key, _ = blocks()
    (tmp_path / "solutions" / "step_size.py").write_text(page)
    (tmp_path / "grader" / "keys" / "step_size.py").write_text(key)

    def run(*arguments: str) -> str:
        finished = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    written = run("-m", "grader", "scaffolds")
    assert sorted(written.split()[1::2]) == [
        "exercises/step_size.ipynb",
        "exercises/step_size.py",
        "grader/public/step_size.json",
    ]
    proven = ("-m", "pytest", "-q", "-p", "no:xdist", "tests/test_every_exercise.py")
    assert " passed" in run(*proven, "-k", "step_size")
