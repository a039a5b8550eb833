"""JAX's compiled programs, kept on disk: made once on a machine, read by every worker.

Compiling is most of what a file costs: each primitive, for each shape, in every fresh process. Here
the reference solutions run once, and what JAX compiles for them is kept. Workers only read it: no
student's code can plant a program for the next.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from grader import catalogue, submissions
from grader.confinement import Confinement, Isolation, gives_up_root
from grader.errors import GraderFault, UsageError
from grader.grading import grade_exercise, versions
from grader.sandbox import Sandbox
from grader.suite import Suite, with_suite

UNUSED_AFTER = 30 * 24 * 3600  # seconds


def prepared(
    isolation: Isolation,
    hidden: tuple[str, ...] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Confinement:
    """The confinement for a batch, with this machine's compiled programs where they can be shared.

    They are made if they aren't there; `say` is told so, since it takes a moment. Without them
    (no place to keep them, no solutions here), everything is right, and slower.
    """
    shared = isolation == "bubblewrap" or gives_up_root(isolation)
    return Confinement(isolation, hidden, _programs(say) if shared else None)


def _programs(say: Callable[[str], None]) -> str | None:
    try:
        solutions = catalogue.clone() / "solutions"
    except UsageError:
        return None
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "unstable-learning")
    folder = base / f"compiled-{_fingerprint(solutions)}"
    try:
        if not folder.is_dir():
            say("compiling the course's programs for this machine, once; about half a minute")
            base.mkdir(parents=True, exist_ok=True)
            _make(base, folder)
        os.utime(folder)
        for other in base.glob("compiled-*"):
            if time.time() - other.stat().st_mtime > UNUSED_AFTER:
                shutil.rmtree(other, ignore_errors=True)
    except (OSError, GraderFault) as error:
        say(f"compiled programs can't be kept in {base} ({error}); grading is slower without")
        return None
    return str(folder)


def _fingerprint(solutions: Path) -> str:
    """All that decides which programs are compiled, and for what processor."""
    processor = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = "".join(sorted({x for x in lines if x.startswith(("model name", "flags"))}))
    digest = hashlib.sha256(repr((versions(), platform.machine(), processor)).encode())
    folders = (solutions, catalogue.PACKAGE / "keys", catalogue.PACKAGE / "public")
    for path in sorted(path for folder in folders for path in folder.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _make(base: Path, folder: Path) -> None:
    """Fill a new folder, in a process of its own, and put it in its place when it is whole."""
    with tempfile.TemporaryDirectory(prefix="making-", dir=base) as temporary:
        made = Path(temporary, "programs")
        made.mkdir()
        command = [sys.executable, "-P", "-m", "grader.compiled", str(made)]
        finished = subprocess.run(command, capture_output=True, check=False)
        if finished.returncode != 0:
            said = finished.stderr.decode("utf-8", "replace").strip().splitlines()
            raise GraderFault(f"the reference solutions did not run: {(said or ['?'])[-1]}")
        for path in (made, *made.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)  # for a worker that is another user
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():  # else someone was quicker
                raise


def fill(folder: Path) -> None:
    """Ask every reference solution what the checks ask; JAX keeps what it compiles in `folder`."""
    names = [name for name in catalogue.names() if catalogue.has_key(name)]
    confinement = Confinement("own", cache=str(folder), filling=True)

    def body(suite: Suite) -> None:
        for name in names:
            page = catalogue.clone() / "solutions" / f"{name}.py"
            found = submissions.read(page, [name], name).found[name]
            report = grade_exercise(found, name, suite, sandbox)
            if report.score != report.max_score:
                raise GraderFault(f"the reference solution of {name} does not pass")

    with Sandbox(confinement=confinement) as sandbox:
        with_suite(names, body)


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
