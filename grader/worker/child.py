"""The process that a student's code lives in: answer requests until the channel closes."""

import contextlib
import ctypes
import functools
import gc
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from grader import wire
from grader.worker import calling, plots
from grader.worker.loading import Submission

if sys.platform != "win32":  # no such limits there; the grader's wall clock still holds
    import resource

PR_SET_PDEATHSIG = 1
CPU_GRACE = 2  # seconds between the signal that tells why and the one that can't be ignored


def serve_and_exit(requests: int, replies: int, output: int) -> NoReturn:
    """Serve, and end the process at once: what a student's code left for its end is not run."""
    status = 1
    try:
        serve(requests, replies, output)
        status = 0
    finally:
        os._exit(status)


def serve(requests: int, replies: int, output: int) -> None:
    """Answer on the descriptors `requests` and `replies` until the grader closes them.

    Standard input is empty, standard output and error go to the descriptor `output`. The first
    request states the limits and is answered by "ready"; each later one is (token, verb, ...),
    answered by (token, reply). The verbs: "prepare" compiles a submission's cells, "run" runs one
    unit of them, "call" calls a function or looks at a constant, "draw" gives a figure.
    """
    null = os.open(os.devnull, os.O_RDWR)
    output = os.dup(output)
    os.dup2(null, 0)
    _redirect(output)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = open(  # noqa: SIM115
        1,
        "w",
        buffering=1,
        encoding="utf-8",
        errors="backslashreplace",
        newline="\n",
        closefd=False,
    )
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)  # another program in this process has no say
    if hasattr(os, "register_at_fork"):
        silence = functools.partial(_redirect, null, (requests, replies))
        os.register_at_fork(after_in_child=silence)  # nor has a copy of it

    def answer(payload: bytes) -> None:
        _flush()
        _write_all(replies, wire.frame(payload))

    limits = _read(requests)
    set_limits(limits)
    random.seed(0)
    np.random.seed(0)
    answer(wire.encode("ready"))
    submission: Submission | None = None
    while True:
        try:
            token, verb, *rest = _read(requests)
        except EOFError:
            return
        if verb == "prepare":
            filename, modules, helpers, due, cells, quiet = rest
            _redirect(null if quiet else output)
            sys.argv = [filename]
            submission = Submission(filename, modules, helpers, due)
            allow_cpu(limits["load_cpu"])
            reply = wire.encode(submission.prepare(cells))
        elif verb == "run":
            assert submission is not None, "prepare comes first"
            unit, quiet = rest
            _redirect(null if quiet else output)
            reply = calling.encoded(submission.run(unit))
        elif verb == "draw":
            allow_cpu(limits["call_cpu"])
            reply = wire.encode(plots.drawn(*rest))
        else:
            assert submission is not None, "prepare comes first"
            name, arguments, gradient = rest
            _redirect(output)
            allow_cpu(limits["call_cpu"])
            names = submission.filenames
            result = calling.call(submission.namespace, name, arguments, names, gradient)
            reply = calling.encoded(result)
        answer(wire.encode_pair(token, reply))


def die_with_parent() -> None:
    """Have this process killed when the one that started it ends, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _redirect(target: int, descriptors: tuple[int, ...] = (1, 2)) -> None:
    """Let `descriptors` (standard output and standard error) stand for what `target` stands for."""
    for descriptor in descriptors:
        os.dup2(target, descriptor, inheritable=descriptor <= 2)


def _flush() -> None:
    """Hand on what the student's code printed, whatever it has made of `sys.stdout`."""
    for name in ("stdout", "stderr", "__stdout__"):
        with contextlib.suppress(BaseException):  # anything may be there, or nothing
            getattr(sys, name).flush()


def _read(descriptor: int) -> Any:
    read: Callable[[int], bytes] = functools.partial(os.read, descriptor)
    return wire.decode(wire.read_frame(read, wire.MAX_REQUEST), trusted=True)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def set_limits(limits: dict[str, Any]) -> None:
    """Apply the limits that hold for the process as a whole, where the platform has them."""
    if sys.platform == "win32":
        return
    for name, value in (
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", limits["file_cpu"] + CPU_GRACE),
        ("RLIMIT_DATA", limits["data_bytes"]),
        ("RLIMIT_AS", limits["address_bytes"]),
        ("RLIMIT_FSIZE", limits["file_bytes"]),
        ("RLIMIT_NOFILE", limits["open_files"]),
    ):
        number = getattr(resource, name, None)
        if number is not None:
            _, hard = resource.getrlimit(number)
            wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
            # macOS knows limits that it doesn't let anyone set.
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(number, (wanted, wanted))
    allow_cpu(limits["file_cpu"])
    gc.collect()


def limit_tasks() -> None:
    """Let threads not multiply without end; the computing threads of every core have room.

    Before Linux 5.14 the limit counts what the user runs elsewhere, too, and is left alone.
    """
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if version and tuple(map(int, version.groups())) >= (5, 14):
        tasks = 256 + 8 * (os.cpu_count() or 1)
        resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))


def allow_cpu(seconds: int) -> None:
    """Let this process use `seconds` more of CPU time; the kernel ends it when they are used up.

    Whole seconds, rounded up: the limit never comes early. The file's own limit holds besides.
    """
    if sys.platform == "win32":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(time.process_time()) + seconds + 1
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard - CPU_GRACE)
    with contextlib.suppress(ValueError, OSError):  # a student's code may have lowered it itself
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
