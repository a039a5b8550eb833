"""How a process that runs students' code is confined, and the command that starts it.

Three kinds. `bubblewrap`: the sandbox of the module of that name. `process`: a plain process with
limits, which gives up root. `own`: the same for files of the user's own, which may do what the user
may.
"""

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from grader import bubblewrap
from grader.errors import UsageError

Isolation: TypeAlias = Literal["bubblewrap", "process", "own"]

PACKAGE = Path(__file__).parent
FIRST_UID = 1 << 30  # above all that a system gives to people and services

# Where the answers lie in a clone, besides the grader's own package.
_SECRETS = ("solutions", "fixtures", "tests", ".git", "build")


class Confinement(Struct, frozen=True):
    """A kind of isolation, and what it needs to know of the batch.

    `hidden` are folders that must not be seen, whatever else is shown; `cache` holds compiled
    programs, to be read only, unless it is `filling`.
    """

    isolation: Isolation
    hidden: tuple[str, ...] = ()
    cache: str | None = None
    filling: bool = False


class Started(Struct, frozen=True):
    """What it takes to start a worker: the command, its whole environment, its folder, and who has
    to own that, if not the one who starts it."""

    command: list[str]
    environment: dict[str, str]
    folder: str
    owner: int | None = None


def chosen(asked: str) -> Isolation:
    """The isolation that `--isolation` asks for, after a look at whether it works here.

    Raises UsageError, with the missing piece and what to do about it.
    """
    if asked == "process":
        closed = closed_to_others() if gives_up_root("process") else None
        if closed is not None:
            raise UsageError(
                "run by root, students' code gives up root for a user without rights, and that "
                f"user can't enter {closed}, where Python or the grader lies; open it (chmod o+x), "
                "put them elsewhere, or grade as an ordinary user"
            )
        return "process"
    missing = bubblewrap.missing_piece()
    if missing is None:
        return "bubblewrap"
    raise UsageError(
        f"students' code can't be isolated here: {missing}. On files that you trust, or on a "
        "machine that holds nothing else, use --isolation process"
    )


def weakness() -> str:
    """What `process` does not hold, in words for who chose it."""
    if gives_up_root("process"):
        return (
            "students' code runs as a user without rights, and can read what every user can; the "
            "folders that hold answers are closed to other users now"
        )
    return "students' code can read and change what you can"


def closed_to_others() -> Path | None:
    """A folder on the way to the interpreter or the grader that only its owner may enter."""
    for folder in (*bubblewrap.interpreter(), PACKAGE):
        for place in {folder, folder.resolve()}:
            for part in (place, *place.parents):
                if not part.stat().st_mode & stat.S_IXOTH:
                    return part
    return None


def close_answers() -> None:
    """Close to other users the folders that hold answers. Their owner notices nothing.

    For a worker that gave up root and has no view of its own.
    """
    for folder in (*clone_secrets(), PACKAGE / "keys", PACKAGE / "exact"):
        if folder.is_dir() and folder.stat().st_mode & stat.S_IRWXO:
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) & ~stat.S_IRWXO)


def confined(arguments: Sequence[str], confinement: Confinement, scratch: str) -> Started:
    """What starts `python -m grader.worker ARGUMENTS`.

    `scratch` is the folder to start in, the only one that is its to write to; bubblewrap gives it
    one of its own instead.
    """
    command = [sys.executable, "-P", "-s", "-B", "-m", "grader.worker", *arguments]
    uid = FIRST_UID + os.getpid() if gives_up_root(confinement.isolation) else None
    if uid is not None:
        command.append(f"--uid={uid}")
    isolated = confinement.isolation == "bubblewrap"
    environment = _environment(bubblewrap.SCRATCH if isolated else scratch)
    cache = confinement.cache
    if cache is not None:
        place = bubblewrap.CACHE if isolated else cache
        environment |= _cache_settings(place, confinement.filling)
    if not isolated:
        return Started(command, environment, scratch, uid)
    environment["PYTHONPATH"] = os.pathsep.join(
        [bubblewrap.VIEW, *map(str, bubblewrap.further_paths())]
    )
    inner = [*command, "--guarded"]
    return Started(
        bubblewrap.command(inner, environment, _secrets(confinement), cache), {}, folder="/"
    )


def _environment(scratch: str) -> dict[str, str]:
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",  # sets of strings come in the same order every day
        "JAX_PLATFORMS": "cpu",
        "MALLOC_ARENA_MAX": "1",
        "MPLBACKEND": "Agg",
        "PYTHONBREAKPOINT": "0",  # nobody is there to tell a debugger to go on
    }
    environment |= dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP"), scratch)
    # Windows can't start Python without these; no one's secrets are in them.
    environment |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    # Settings that make numerical libraries compute rightly on this processor.
    environment |= {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_")}
    return environment


def _cache_settings(cache: str, filling: bool) -> dict[str, str]:
    """Compiled programs are looked up and never written: no write fails, and none is planted."""
    return {
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",  # else the folder's name decides, too
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0" if filling else "1e9",
    }


def gives_up_root(isolation: Isolation) -> bool:
    """Whether the worker, started by root, becomes a user without rights."""
    return isolation != "own" and hasattr(os, "geteuid") and os.geteuid() == 0


def _secrets(confinement: Confinement) -> list[Path]:
    """What must not be seen, each folder under its own name and its real one."""
    places = [PACKAGE, *clone_secrets(), *map(Path, confinement.hidden)]
    both = {*places, *(place.resolve() for place in places)}
    return sorted(place for place in both if place.is_dir())


def clone_secrets() -> list[Path]:
    """The folders of a clone that hold answers; none where the grader was installed."""
    clone = PACKAGE.parent
    return [clone / name for name in _SECRETS] if (clone / "solutions").is_dir() else []
