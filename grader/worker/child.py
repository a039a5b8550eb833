"""The process that a student's code lives in: answer requests until the channel closes."""

import contextlib
import gc
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from grader import wire
from grader.worker import calling
from grader.worker.loading import Submission

try:
    import resource
except ImportError:  # Windows has no such limits; the grader's wall clock still holds there
    resource = None  # type: ignore[assignment]


def serve(requests: int, replies: int, output: int) -> None:
    """Answer on the descriptors `requests` and `replies` until the grader closes them.

    Standard input is empty, standard output and error go to the descriptor `output`. The first
    request states the limits; each later one is (token, verb, ...), answered by (token, reply).
    """
    null = os.open(os.devnull, os.O_RDWR)
    output = os.dup(output)
    os.dup2(null, 0)
    redirect(output)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = open(  # noqa: SIM115
        1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )

    def answer(token: Any, payload: bytes) -> None:
        flush()
        _write_all(replies, wire.frame(wire.encode_pair(token, payload)))

    limits = _read(requests)
    set_limits(limits)
    submission: Submission | None = None
    while True:
        try:
            token, verb, *rest = _read(requests)
        except EOFError:
            return
        if verb == "prepare":
            filename, modules, helpers, cells, split, quiet = rest
            redirect(null if quiet else output)
            submission = Submission(filename, modules, helpers)
            allow_cpu(limits["load_cpu"])
            answer(token, wire.encode(submission.prepare(cells, split)))
            continue
        assert submission is not None, "prepare comes first"
        if verb == "run":
            answer(token, calling.encoded(submission.run(rest[0])))
        else:
            redirect(output)
            allow_cpu(limits["call_cpu"])
            name, arguments = rest
            answer(token, calling.encoded(calling.call(submission.namespace, name, arguments)))


def redirect(output: int) -> None:
    """Let standard output and standard error go to the descriptor `output`."""
    os.dup2(output, 1)
    os.dup2(output, 2)


def flush() -> None:
    """Hand on what the student's code printed, whatever it has made of `sys.stdout`."""
    for stream in (sys.stdout, sys.__stdout__):
        with contextlib.suppress(BaseException):
            stream.flush()  # type: ignore[union-attr]


def _read(descriptor: int) -> Any:
    read: Callable[[int], bytes] = lambda size: os.read(descriptor, size)  # noqa: E731
    return wire.decode(wire.read_frame(read, wire.MAX_REQUEST), trusted=True)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def set_limits(limits: dict[str, Any]) -> None:
    """Apply the limits that hold for the process as a whole, where the platform has them."""
    if resource is None:
        return
    for name, value in (
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", limits["file_cpu"]),
        ("RLIMIT_DATA", limits["data_bytes"]),
        ("RLIMIT_AS", limits["address_bytes"]),
        ("RLIMIT_FSIZE", limits["file_bytes"]),
        ("RLIMIT_NOFILE", limits["open_files"]),
    ):
        number = getattr(resource, name, None)
        if number is not None:
            _, hard = resource.getrlimit(number)
            wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(number, (wanted, wanted))
    gc.collect()


def allow_cpu(seconds: int) -> None:
    """Let this process use `seconds` more of CPU time; the kernel ends it when they are used up.

    Whole seconds, rounded up: the limit never comes early.
    """
    if resource is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(time.process_time()) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))
