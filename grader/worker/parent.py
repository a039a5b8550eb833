"""The warm parent: imports JAX once, then forks a fresh child for every exercise file.

It never touches a JAX device: XLA's thread pools don't survive a fork, and a child of a parent that
had started them hangs at its first compilation.
"""

import contextlib
import ctypes
import gc
import os
import secrets
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader import wire
from grader.worker import child, seccomp

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 0.5  # seconds for a child that is ending by itself
CLEARING_TIME = 10.0  # seconds to kill what a student's code left behind
EMPTYING_TIME = 5.0  # seconds to remove what it wrote to a file system that ends with the parent
DISK_EMPTYING_TIME = 30.0  # the same for a folder on a disk, where it would stay

# What the parent doesn't ignore: what can't be, and what tells that it is itself at fault.
_NOT_IGNORED = {"SIGKILL", "SIGSTOP", "SIGCHLD", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT"}


def serve(control: int, guarded: bool) -> None:
    """Obey the grader on the socket `control`: ("fork",), ("cpu", pid) and ("end", pid, wait).

    "fork" comes with a child's descriptors for requests, replies and output, and is answered by its
    pid; "cpu" is answered by the seconds of CPU that a child has used; "end" kills what is left of
    the child and of everything that it started, and is answered by (signal, exit code, CPU
    seconds). A child works in a folder of its own below the parent's;
    `guarded`, the kernel refuses it what no right answer needs.
    """
    for number in _ignored_signals():
        signal.signal(number, signal.SIG_IGN)
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    folder = Path.cwd()
    patience = EMPTYING_TIME if guarded else DISK_EMPTYING_TIME
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=os.dup(control)) as channel, Path(os.devnull).open("rb") as null:
        os.dup2(null.fileno(), control)
        _reply(channel, "ready")
        while True:
            message, descriptors, _, _ = socket.recv_fds(channel, 4096, 3)
            if not message:
                end_all_children()
                empty(folder, patience)
                with contextlib.suppress(OSError):
                    folder.rmdir()
                return
            verb, *rest = wire.decode(message)
            if verb == "fork":
                _reply(channel, _fork(channel, descriptors, folder, guarded))
                for descriptor in descriptors:
                    os.close(descriptor)
            elif verb == "cpu":
                _reply(channel, cpu_used(*rest))
            else:
                ended = end(*rest)
                emptied = empty(folder, patience)
                _reply(channel, ended)
                if not emptied:
                    return  # and with this process what is left; another one takes its place


def _ignored_signals() -> list[int]:
    return [n for n in signal.valid_signals() if getattr(n, "name", "") not in _NOT_IGNORED]


def _reply(channel: socket.socket, value: Any) -> None:
    channel.sendall(wire.encode(value))


def _fork(channel: socket.socket, descriptors: list[int], folder: Path, guarded: bool) -> int:
    requests, replies, output = descriptors
    scratch = os.fspath(folder / "page")  # by this name in every run; the folder was emptied
    Path(scratch).mkdir(mode=0o700)
    pid = os.fork()
    if pid:
        return pid
    try:
        child.die_with_parent()
        channel.close()
        os.setsid()
        _restore_signals()
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        os.chdir(scratch)
        os.environ |= dict.fromkeys(("HOME", "TMPDIR"), scratch)
        if guarded:
            child.limit_tasks()
            seccomp.install()
        child.serve_and_exit(requests, replies, output)
    finally:
        os._exit(1)


def _restore_signals() -> None:
    """Every signal as Python has it at its start."""
    for number in _ignored_signals():
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def cpu_used(pid: int) -> float:
    """Seconds of CPU that a child has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def end(pid: int, wait: bool) -> tuple[int, int, float]:
    """Kill the child and all its descendants; its (signal, exit code, CPU seconds used).

    With `wait`, a child that is ending by itself is given a moment, so that its own end is what is
    reported.
    """
    deadline = time.monotonic() + (PATIENCE if wait else 0)
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended or time.monotonic() > deadline:
            break
        time.sleep(0.002)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    end_all_children()
    cpu = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        return (os.WTERMSIG(status), 0, cpu)
    return (0, os.WEXITSTATUS(status), cpu)


def end_all_children() -> None:
    """Kill every descendant. Orphans come to this process, a subreaper, so the loop meets them.

    Processes that multiply faster than they are killed end the parent, which is then replaced.
    """
    deadline = time.monotonic() + CLEARING_TIME
    while children := Path("/proc/thread-self/children").read_text().split():
        if time.monotonic() > deadline:
            raise RuntimeError("a student's processes can't be ended")
        for pid in children:
            os.kill(int(pid), signal.SIGKILL)
        for pid in children:
            os.waitpid(int(pid), 0)


def empty(folder: Path, patience: float) -> bool:
    """Remove all that a student's code has written, whatever it is; whether nothing is left.

    Folders within a folder are moved up before it is removed: there is no recursion to run out of,
    and no path too long. Millions of files are not waited for.
    """
    deadline = time.monotonic() + patience
    found = True
    try:
        while found:
            found = False
            for entry in _entries(folder, deadline):
                found = True
                if not _is_own_folder(entry):
                    Path(entry).unlink()
                    continue
                for inner in _entries(entry, deadline):
                    if _is_own_folder(inner):
                        Path(inner).rename(folder / secrets.token_hex(16))
                    else:
                        Path(inner).unlink()
                Path(entry).rmdir()
        _unmark(folder)
    except OSError:
        return False
    return True


def _unmark(folder: Path) -> None:
    """Take off the folder itself what only its owner can write there: mode, attributes, times."""
    if folder.stat().st_uid == os.geteuid():
        folder.chmod(0o700)
        os.utime(folder)
        with contextlib.suppress(OSError):  # not every file system has attributes
            for name in os.listxattr(folder):
                os.removexattr(folder, name)


def _entries(folder: "Path | os.DirEntry[str]", deadline: float) -> Iterator["os.DirEntry[str]"]:
    """What is in a folder, one by one: a list of it could be larger than memory."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if time.monotonic() > deadline:
                raise TimeoutError
            yield entry


def _is_own_folder(entry: "os.DirEntry[str]") -> bool:
    """Whether this is a folder, and no link to one; it is opened where a student closed it."""
    if not entry.is_dir(follow_symlinks=False):
        return False
    Path(entry).chmod(0o700)
    return True
