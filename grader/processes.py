"""Start, feed and end the processes that run students' code: one `Process` per exercise file.

A `WarmStarter` holds a parent that has JAX imported and forks (Linux); a `ColdStarter` starts a
plain subprocess each time. How either is confined is decided in `confinement`.
"""

import contextlib
import os
import queue
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from grader import wire
from grader.bubblewrap import SCRATCH
from grader.confinement import Confinement, Started, close_answers, confined
from grader.errors import GraderFault

START_TIMEOUT = 300.0  # seconds until a process that hasn't even started counts as broken
CONTROL_TIMEOUT = 60.0  # seconds until a silent warm parent counts as lost
CPU_LOOKS = 0.5  # seconds between looks at the CPU time of a process that is slow to answer
PATIENCE = 0.5  # seconds for a process that is ending by itself
DRAIN_TIMEOUT = 10.0  # seconds to read what a process left in its pipes
CLEARING_ROUNDS = 20  # of killing what may start others meanwhile
CHUNK = 1 << 16
CHUNKS = 32  # of the channel, kept until they are asked for
SIGXCPU, SIGKILL = 24, 9
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


class Ended(NamedTuple):
    """How a process ended: its signal or exit code, and the CPU seconds it used.

    `parent_lost`: the warm parent ended, so that nobody knows what became of the process.
    """

    signal: int
    exit_code: int
    cpu: float
    parent_lost: bool = False


CpuUsed: TypeAlias = Callable[[], "float | None"]
"""Seconds of CPU that a process has used so far; None where that can't be told."""

EndProcess: TypeAlias = Callable[[bool], Ended]
"""Ends a process; given whether it may get a moment to end by itself."""


class Lost(Exception):
    """The process gave no reply that fits the question; `why` tells what it did instead.

    `late`: the time was up; `ended`: its stream ended; `forged`: no honest peer replies like this.
    """

    def __init__(self, why: Literal["late", "ended", "forged"]) -> None:
        super().__init__(why)
        self.why = why


class _ParentLost(Exception):
    """The warm parent doesn't answer, or not as it should."""


class Process:
    """One process that runs a student's code: its channel, its captured output, a way to end it.

    Threads read its streams, so that it is the same on every platform, that a flood of output can't
    hold up an answer, and that what is kept of either stays within its bound. The descriptors are
    this object's to close: `channel` and `output` are read, `requests` is written.
    `scratch` is a folder of a random name, and the name that stands for it where it is told.
    """

    def __init__(
        self,
        channel: int,
        output: int,
        requests: int,
        kept: int,
        end: EndProcess,
        scratch: tuple[str, str],
        cpu_used: CpuUsed = lambda: None,
    ) -> None:
        self._requests = requests
        self._end_process = end
        self._scratch = scratch
        self._cpu_used = cpu_used
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=CHUNKS)
        self._buffer = bytearray()
        self._kept = kept
        self._ending = False
        self.printed = bytearray()
        self.printed_more = False
        if sys.platform != "win32":
            os.set_blocking(requests, False)
        self._threads = [
            threading.Thread(target=self._read, args=(descriptor, take), daemon=True)
            for descriptor, take in ((channel, self._on_frame_part), (output, self._on_output))
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _read(descriptor: int, take: Callable[[bytes], None]) -> None:
        part = b"more"
        while part:
            try:
                part = os.read(descriptor, CHUNK)
            except OSError:
                part = b""
            take(part)
        os.close(descriptor)

    def _on_frame_part(self, part: bytes) -> None:
        while not self._ending:
            try:
                return self._chunks.put(part, timeout=0.1)
            except queue.Full:
                continue

    def _on_output(self, part: bytes) -> None:
        room = self._kept - len(self.printed)
        self.printed += part[:room]
        self.printed_more = self.printed_more or len(part) > room

    def send(self, value: Any, deadline: float) -> None:
        """One frame to the process; `Lost` when it has ended, or doesn't read until time is up."""
        view = memoryview(wire.frame(wire.encode(value)))
        while view:
            try:
                view = view[os.write(self._requests, view) :]
            except BlockingIOError as error:
                if not _writable(self._requests, deadline - time.monotonic()):
                    raise Lost("late") from error
            except OSError as error:
                raise Lost("ended") from error

    def receive_within(self, cpu: float, deadline: float) -> Any:
        """`receive`, for a process that the kernel stops after `cpu` seconds of CPU.

        One that keeps the kernel's signal away is `Lost` here, after at most twice as much.
        """
        limit = None
        while True:
            patience = time.monotonic() + (cpu if limit is None else CPU_LOOKS)
            try:
                return self.receive(min(patience, deadline))
            except Lost as lost:
                if lost.why != "late" or time.monotonic() >= deadline:
                    raise
                used = self._cpu_used()
                limit = limit or (None if used is None else used + cpu)
                if used is not None and limit is not None and used > limit:
                    raise

    def receive(self, deadline: float) -> Any:
        """The next frame; `Lost` when time is up, the stream ends, or no honest peer sent it."""
        try:
            while True:
                if len(self._buffer) >= 4:
                    end = 4 + wire.frame_length(bytes(self._buffer[:4]), wire.MAX_ANSWER)
                    if len(self._buffer) >= end:
                        payload = bytes(self._buffer[4:end])
                        del self._buffer[:end]
                        return wire.decode(payload)
                part = self._chunks.get(timeout=max(deadline - time.monotonic(), 0))
                if not part:
                    raise Lost("ended")
                self._buffer += part
        except queue.Empty as error:
            raise Lost("late") from error
        except wire.WireError as error:
            raise Lost("forged") from error

    def plain(self, text: str) -> str:
        """The text, with nothing in it that is random: the scratch folder by its usual name, and
        where an object lies in memory not at all."""
        return _ADDRESS.sub("at 0x...", text.replace(*self._scratch))

    def end(self, wait: bool = True) -> Ended:
        """Close the channel, end the process and all that it started, read the rest of its output.

        With `wait`, one that is ending by itself is given a moment, so that its own end is told.
        """
        self._ending = True
        os.close(self._requests)
        ended = self._end_process(wait)
        for thread in self._threads:
            thread.join(DRAIN_TIMEOUT)
        printed = self.printed.decode("utf-8", "surrogateescape")
        self.printed = bytearray(self.plain(printed).encode("utf-8", "surrogateescape"))
        return ended


class WarmStarter:
    """Forks each process from a parent that has JAX imported; a parent that is lost is replaced.

    One process at a time: ending one ends everything that the parent has forked.
    """

    def __init__(self, confinement: Confinement) -> None:
        self._confinement = confinement
        self._parent = _Parent(confinement)

    def start(self, output_kept: int) -> Process:
        """A fresh process. GraderFault when even a new parent can't give one."""
        for _ in range(2):
            try:
                return self._parent.start(output_kept)
            except _ParentLost:
                self._parent.close()
                self._parent = _Parent(self._confinement)
        raise GraderFault("no process can be forked, not even by a new parent")

    def close(self) -> None:
        """End the parent and all that it forked."""
        self._parent.close()


class _Parent:
    """One warm parent. It is obeyed no more once it was lost."""

    def __init__(self, confinement: Confinement) -> None:
        self._scratch = os.path.realpath(tempfile.mkdtemp(prefix="grader-"))
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        start = _confined("warm", confinement, self._scratch)
        with theirs:
            self.process = subprocess.Popen(
                start.command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                env=start.environment,
                cwd=start.folder,
                start_new_session=True,
            )
        self._lost = False
        self._control.settimeout(START_TIMEOUT)
        try:
            self._receive()
        except BaseException as error:
            self._lost = True
            self._said.seek(0)
            said = self._said.read()[-500:].decode("utf-8", "replace")
            self.close()
            if not isinstance(error, _ParentLost):
                raise
            raise GraderFault(f"the worker's parent does not start: {error}\n{said}") from error
        self._control.settimeout(CONTROL_TIMEOUT)

    def _receive(self) -> Any:
        try:
            message = self._control.recv(4096)
            if not message:
                raise _ParentLost("it ended")
            return wire.decode(message)
        except (OSError, wire.WireError) as error:
            raise _ParentLost(f"it does not answer: {error}") from error

    def _ask(self, descriptors: Sequence[int], *request: Any) -> Any:
        """The parent's answer; once it failed to answer, it is asked nothing more."""
        try:
            if self._lost:
                raise _ParentLost("it was lost earlier")
            socket.send_fds(self._control, [wire.encode(request)], descriptors)
            return self._receive()
        except (OSError, _ParentLost) as error:
            self._lost = True
            raise _ParentLost(str(error)) from error

    def start(self, output_kept: int) -> Process:
        requests_end, requests = os.pipe()
        channel, channel_end = os.pipe()
        output, output_end = os.pipe()
        theirs = (requests_end, channel_end, output_end)
        try:
            pid = self._ask(theirs, "fork")
        except _ParentLost:
            for descriptor in (channel, output, requests):
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)

        def end(wait: bool) -> Ended:
            try:
                return Ended(*self._ask((), "end", pid, wait))
            except (_ParentLost, TypeError):
                self.close()  # and with it all that it forked
                return Ended(SIGKILL, 0, 0.0, parent_lost=True)

        def cpu_used() -> float | None:
            try:
                return float(self._ask((), "cpu", pid))
            except (_ParentLost, TypeError, ValueError):
                return None

        scratch = (self._scratch, SCRATCH)
        return Process(channel, output, requests, output_kept, end, scratch, cpu_used)

    def close(self) -> None:
        """End the parent and all that it forked; at once when it was lost."""
        self._control.close()
        try:
            self.process.wait(timeout=0 if self._lost else 10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._said.close()
        _clear(self._scratch)


class ColdStarter:
    """Starts one plain subprocess per exercise file, where a warm parent can't fork."""

    def __init__(self, confinement: Confinement) -> None:
        self._confinement = confinement

    def start(self, output_kept: int) -> Process:
        """A fresh process."""
        scratch = os.path.realpath(tempfile.mkdtemp(prefix="grader-"))
        start = _confined("cold", self._confinement, scratch)
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            start.command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=start.environment,
            cwd=start.folder,
            bufsize=0,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        descriptors = []
        for stream in (process.stdout, process.stderr, process.stdin):
            assert stream is not None
            with stream:
                descriptors.append(os.dup(stream.fileno()))
        channel, output, requests = descriptors

        def end(wait: bool) -> Ended:
            ended = _reaped(process, PATIENCE if wait else 0)
            _kill_group(process)
            ended = ended or _reaped(process, None)
            assert ended is not None
            _clear(scratch)
            return ended

        return Process(channel, output, requests, output_kept, end, (scratch, f"{SCRATCH}/page"))

    def close(self) -> None:
        """Nothing outlives its exercise file."""


def _confined(mode: str, confinement: Confinement, scratch: str) -> Started:
    """What starts a worker, when its scratch folder is its own and the answers are closed to it."""
    start = confined([mode], confinement, scratch)
    if start.owner is not None:
        close_answers()
        os.chown(scratch, start.owner, start.owner)
    return start


def _writable(descriptor: int, patience: float) -> bool:
    """Whether something can be written, after at most `patience` seconds."""
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return patience > 0 and bool(poll.poll(1000 * patience))


def _reaped(process: "subprocess.Popen[bytes]", patience: float | None) -> Ended | None:
    """How the process ended, as soon as it has; None when `patience` seconds were not enough."""
    deadline = time.monotonic() + (float("inf") if patience is None else patience)
    if sys.platform == "win32":
        while process.poll() is None:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.01)
        return Ended(0, process.returncode, 0.0)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = code = os.waitstatus_to_exitcode(status)
            return Ended(max(-code, 0), max(code, 0), usage.ru_utime + usage.ru_stime)
        if time.monotonic() > deadline:
            return None
        time.sleep(0.002)


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process, if it still runs, and what it started."""
    if sys.platform == "win32":
        if process.poll() is None:
            tree = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(tree, capture_output=True, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _clear(scratch: str) -> None:
    """Kill what is left of those who work in a scratch folder, and remove it as far as can be."""
    for _ in range(CLEARING_ROUNDS):
        left = _processes_of(scratch)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, SIGKILL)
        if not left:
            break
    with contextlib.suppress(RecursionError):
        for place, folders, _ in os.walk(scratch):
            for folder in (Path(place, name) for name in folders):
                if not folder.is_symlink():
                    folder.chmod(0o700)  # a student may have closed it
        shutil.rmtree(scratch, ignore_errors=True)


def _processes_of(scratch: str) -> list[int]:
    """Who was started with this scratch folder in its environment, where the system tells that.

    What a student's process started in a session of its own is found by nothing else.
    """
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"={scratch}".encode() in environment.read_bytes():
                found.append(int(environment.parent.name))
    return found
