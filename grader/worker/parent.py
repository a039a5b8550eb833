"""The warm parent: imports JAX once, then forks a fresh child for every exercise file.

It never touches a JAX device: XLA's thread pools don't survive a fork, and a child of a parent that
had started them hangs at its first compilation.
"""

import ctypes
import gc
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

from grader import wire
from grader.worker import child

PR_SET_CHILD_SUBREAPER = 36


def serve(control: int) -> None:
    """Obey the grader on the socket `control`: ("fork",) with two descriptors, ("end", pid).

    "fork" is answered by the child's pid; "end" kills what is left of the child and of everything
    that it started, and is answered by (signal, exit code, CPU seconds).
    """
    import jax.numpy  # noqa: F401
    import numpy  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=os.dup(control)) as channel:
        os.dup2(os.open(os.devnull, os.O_RDONLY), control)
        _reply(channel, "ready")
        while True:
            message, descriptors, _, _ = socket.recv_fds(channel, 4096, 2)
            if not message:
                end_all_children()
                return
            verb, *rest = wire.decode(message)
            if verb == "fork":
                _reply(channel, _fork(channel, descriptors))
                for descriptor in descriptors:
                    os.close(descriptor)
            else:
                _reply(channel, end(rest[0]))


def _reply(channel: socket.socket, value: Any) -> None:
    channel.sendall(wire.encode(value))


def _fork(channel: socket.socket, descriptors: list[int]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        channel.close()
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        child.serve(descriptors[0], descriptors[0], output=descriptors[1])
        status = 0
    finally:
        os._exit(status)


def end(pid: int) -> tuple[int, int, float]:
    """Kill the child and all its descendants; its (signal, exit code, CPU seconds used)."""
    # A child that is ending by itself is given a moment, so that its own end is what is reported.
    deadline = time.monotonic() + 0.5
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
    """Kill every descendant. Orphans come to this process, a subreaper, so the loop meets them."""
    while children := Path("/proc/thread-self/children").read_text().split():
        for pid in children:
            os.kill(int(pid), signal.SIGKILL)
        for pid in children:
            os.waitpid(int(pid), 0)
