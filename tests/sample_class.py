"""The sample class and its expected reports: `python tests/sample_class.py` writes them anew.

Look at what changed before you commit it: these files are what the grader is held to.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
CLASS = ROOT / "fixtures" / "class"
EXPECTED = ROOT / "fixtures" / "expected"
UNSTEADY = ("seconds", "versions", "fingerprint")


def run_grader(*arguments: object, python: str = sys.executable) -> subprocess.CompletedProcess:
    """The command `grader`, as a user runs it."""
    command = [str(python), "-P", "-m", "grader", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def reports_in(folder: Path) -> dict[str, dict]:
    """The reports of a result folder by student, without what may differ from run to run."""
    lines = (folder / "results.jsonl").read_bytes().splitlines()
    reports = [msgspec.json.decode(line) for line in lines]
    return {
        report["student"]: {key: report[key] for key in report if key not in UNSTEADY}
        for report in reports
    }


def handed_in(reports: dict[str, dict]) -> dict[str, dict]:
    """The reports without the exercises that nobody handed in: every check of those is the same."""
    return {
        student: {
            **report,
            "exercises": [e for e in report["exercises"] if e["status"] != "missing"],
        }
        for student, report in reports.items()
    }


def expected() -> dict[str, dict]:
    """The reports that the sample class must get, as far as `handed_in`."""
    return {path.stem: msgspec.json.decode(path.read_bytes()) for path in EXPECTED.glob("*.json")}


def main() -> None:
    """Grade the class and write what came out."""
    with tempfile.TemporaryDirectory() as folder:
        print(run_grader("grade", CLASS, "--out", folder, "--workers", 2).stdout)
        EXPECTED.mkdir(exist_ok=True)
        reports = handed_in(reports_in(Path(folder)))
        for path in EXPECTED.glob("*.json"):
            if path.stem not in reports:
                path.unlink()
        for student, report in reports.items():
            text = msgspec.json.format(msgspec.json.encode(report), indent=1)
            (EXPECTED / f"{student}.json").write_bytes(text + b"\n")


if __name__ == "__main__":
    main()
