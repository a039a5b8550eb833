"""The one door to a student's code: start, limit and replace the process that it runs in.

A `Sandbox` holds one warm parent for a batch. `Sandbox.load` gives a `Worker` for one exercise
file: a fresh process, loaded cell by cell, asked by `Worker.ask`, replaced when it dies or hangs.
How the parent is confined is decided in one place, `confined_command`.
"""

import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

import msgspec
from msgspec import Struct

from grader import wire
from grader.answers import answer_from
from grader.errors import GraderFault
from grader.model import Answer, Crashed, Question, Raised, TimedOut

WALL_PER_CPU = 5  # the wall clock is a backstop only, this many times the CPU limit
CONTROL_TIMEOUT = 60.0  # seconds until a silent warm parent counts as lost
MAX_RELOADS = 5  # fresh workers for cells that end the process while they load
SIGXCPU, SIGKILL = 24, 9


class Limits(Struct, frozen=True):
    """What one exercise file may use. CPU in seconds, the rest in bytes or a count."""

    call_cpu: int = 10
    load_cpu: int = 20
    file_cpu: int = 60
    data_bytes: int = 1 << 30
    address_bytes: int = 3 << 30
    file_bytes: int = 64 << 20
    open_files: int = 64
    output_kept: int = 64 << 10


class Source(Struct, frozen=True):
    """What a worker loads: cells as (source, first line), and modules by name that it may import.

    `split` makes each top-level statement of a cell a unit of its own (plain scripts).
    `helpers` come last on the import path, `modules` first.
    """

    filename: str
    cells: tuple[tuple[str, int], ...]
    split: bool
    modules: dict[str, str]
    helpers: dict[str, str]


class LoadEvent(Struct, frozen=True):
    """Something that went wrong while a unit was loaded. `kind` is `syntax`, `raised`, `timed_out`
    or `crashed`; `cell` counts from 0; `line` is a line of the file, or of the notebook's cell."""

    kind: str
    cell: int
    line: int
    message: str
    column: int = 0


class Ended(NamedTuple):
    """How a worker process ended: its signal or exit code, and the CPU seconds it used."""

    signal: int
    exit_code: int
    cpu: float


EndProcess: TypeAlias = Callable[[int], Ended]
"""Ends a worker process, given the descriptor that requests go to."""


class _Lost(Exception):
    """The worker gave no reply that fits the question. `late`: the time was up."""

    def __init__(self, late: bool) -> None:
        super().__init__("no reply")
        self.late = late


def confined_command(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command that starts `python -m grader.worker ARGUMENTS`, and its whole environment.

    Here stronger isolation goes: nothing else knows how the worker's process is started.
    """
    command = [sys.executable, "-I", "-B", "-m", "grader.worker", *arguments]
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": os.devnull,
        "JAX_PLATFORMS": "cpu",
        "MALLOC_ARENA_MAX": "1",
        "MPLBACKEND": "Agg",
    }
    # Windows can't start Python without these; no one's secrets are in them.
    environment |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    # Settings that make numerical libraries compute rightly on this processor.
    environment |= {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_")}
    return command, environment


class _WarmParent:
    """The process that imports JAX once and forks a child per exercise file (Linux)."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command, environment = confined_command(["warm"])
        with theirs:
            self.process = subprocess.Popen(
                command,
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
        self.control = ours
        self.control.settimeout(CONTROL_TIMEOUT)
        self._receive()

    def _receive(self) -> Any:
        try:
            message = self.control.recv(4096)
        except OSError as error:
            raise GraderFault(f"the worker's parent does not answer: {error}") from error
        if not message:
            self.process.kill()
            _, said = self.process.communicate()
            raise GraderFault(f"the worker's parent ended: {said.decode(errors='replace')[-500:]}")
        return wire.decode(message)

    def start(self, output_kept: int) -> "_Process":
        channel, channel_end = socket.socketpair()
        output, output_end = socket.socketpair()
        with channel_end, output_end:
            descriptors = [channel_end.fileno(), output_end.fileno()]
            socket.send_fds(self.control, [wire.encode(["fork"])], descriptors)
            pid = self._receive()
        requests = os.dup(channel.fileno())

        def end(requests: int) -> Ended:
            os.close(requests)
            self.control.sendall(wire.encode(["end", pid]))
            return Ended(*self._receive())

        return _Process(channel.detach(), output.detach(), requests, output_kept, end)

    def close(self) -> None:
        self.control.close()
        assert self.process.stderr is not None
        self.process.stderr.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _ColdStart:
    """Starts one plain subprocess per exercise file, where a warm parent can't fork."""

    def start(self, output_kept: int) -> "_Process":
        command, environment = confined_command(["cold"])
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, bufsize=0
        )
        assert process.stdin and process.stdout and process.stderr
        channel, output, requests = (
            os.dup(stream.fileno()) for stream in (process.stdout, process.stderr, process.stdin)
        )
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

        def end(requests: int) -> Ended:
            os.close(requests)
            try:
                code = process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            return Ended(-code, 0, 0.0) if code < 0 else Ended(0, code, 0.0)

        return _Process(channel, output, requests, output_kept, end)

    def close(self) -> None:
        """Nothing outlives its exercise file."""


class _Process:
    """One worker process: its channel, its captured output, and a way to end it.

    A thread reads each of the two streams, so that it is the same on every platform, a flood of
    output never blocks an answer, and what is kept of either stays within its bound.
    """

    def __init__(
        self, channel: int, output: int, requests: int, kept: int, end: EndProcess
    ) -> None:
        self._requests = requests
        self._end_process = end
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=32)
        self._buffer = bytearray()
        self._kept = kept
        self._ending = False
        self.printed = bytearray()
        self._threads = [
            threading.Thread(target=self._pump, args=(channel, self._on_frame_part), daemon=True),
            threading.Thread(target=self._pump, args=(output, self._on_output), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _pump(descriptor: int, take: Callable[[bytes], None]) -> None:
        part = b"more"
        while part:
            try:
                part = os.read(descriptor, 1 << 16)
            except OSError:
                part = b""
            take(part)
        os.close(descriptor)

    def _on_frame_part(self, part: bytes) -> None:
        while not self._ending:
            try:
                return self._chunks.put(part, timeout=1)
            except queue.Full:
                continue

    def _on_output(self, part: bytes) -> None:
        self.printed += part[: max(self._kept - len(self.printed), 0)]

    def send(self, value: Any) -> None:
        """One frame to the worker. It reads whenever no question is open, so this can't block."""
        view = memoryview(wire.frame(wire.encode(value)))
        try:
            while view:
                view = view[os.write(self._requests, view) :]
        except OSError as error:
            raise _Lost(late=False) from error

    def receive(self, deadline: float) -> Any:
        """The next frame; `_Lost` when time is up, the stream ends, or no honest peer sent it."""
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
                    raise _Lost(late=False)
                self._buffer += part
        except queue.Empty as error:
            raise _Lost(late=True) from error
        except wire.WireError as error:
            raise _Lost(late=False) from error

    def end(self) -> Ended:
        """Close the channel, end the process, wait until its output is read."""
        ended = self._end_process(self._requests)
        self._ending = True
        for thread in self._threads:
            thread.join(timeout=2)
        return ended


class Worker:
    """One exercise file, loaded. `ask` never raises for anything that a student's code does."""

    def __init__(self, starter: "_WarmParent | _ColdStart", source: Source, limits: Limits) -> None:
        self._starter = starter
        self._source = source
        self._limits = limits
        self._skipped: set[int] = set()
        self._asked: set[str] = set()
        self._printed = bytearray()
        self._cpu = 0.0
        self._granted = limits.file_cpu
        self._deadline = time.monotonic() + WALL_PER_CPU * limits.file_cpu
        self._process: _Process | None = None
        self.events: list[LoadEvent] = []
        self._first_load()

    # --- loading ---------------------------------------------------------------------------------

    def _first_load(self) -> None:
        """Load every unit; a unit that ends its process is skipped in the next one."""
        for _ in range(MAX_RELOADS):
            self.events = [event for event in self.events if event.kind in ("timed_out", "crashed")]
            if self._load(self.events, quiet=bool(self._skipped)):
                break
        self.events.sort(key=lambda event: (event.cell, event.line))

    def _load(self, events: list[LoadEvent], quiet: bool) -> bool:
        """Start a process and run the units in it; False when a unit ended the process.

        `quiet` drops what they print: it was kept the first time.
        """
        self._start()
        source = self._source
        unit = (0, source.cells[0][1] if source.cells else 1)
        number: int | None = None
        limit = self._limits.load_cpu
        try:
            prepare = (source.filename, source.modules, source.helpers, list(source.cells))
            units = self._exchange("prepare", *prepare, source.split, quiet, cpu=limit)
            for number, (kind, cell, line, *rest) in enumerate(units):
                unit = (cell, line)
                if kind == "syntax":
                    column, message = rest
                    events.append(LoadEvent("syntax", cell, line, message, column))
                elif number not in self._skipped:
                    reply = self._answered("run", number, cpu=limit)
                    if isinstance(reply, Raised):
                        text = f"{reply.type_name}: {reply.message}".removesuffix(": ")
                        events.append(LoadEvent("raised", cell, reply.line or line, text))
        except _Lost as lost:
            answer = self._end(lost)
            kind = "timed_out" if isinstance(answer, TimedOut) else "crashed"
            how = answer.how if isinstance(answer, Crashed) else ""
            events.append(LoadEvent(kind, *unit, how))
            if number is not None:
                self._skipped.add(number)
            return number is None  # a process that can't even compile is not started again
        return True

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, question: Question) -> Answer:
        """The student's answer; a worker that another function harmed is replaced, and asked again."""
        others = self._asked - {question.function}
        answer = self._ask_once(question)
        if isinstance(answer, TimedOut | Crashed) and others:
            answer = self._ask_once(question)
        return answer

    def _ask_once(self, question: Question) -> Answer:
        if self._cpu >= self._limits.file_cpu or time.monotonic() > self._deadline:
            return TimedOut()
        if self._process is None:
            self._asked = set()
            if not self._load([], quiet=True):
                return Crashed("the file could not be loaded again")
        if self._process is None:
            return Crashed("the file could not be loaded")
        self._asked.add(question.function)
        arguments = None if question.arguments is None else list(question.arguments)
        try:
            call = ("call", question.function, arguments)
            return self._answered(*call, cpu=self._limits.call_cpu)
        except _Lost as lost:
            return self._end(lost)

    # --- the process -----------------------------------------------------------------------------

    def _start(self) -> None:
        room = max(self._limits.output_kept - len(self._printed), 0)
        self._process = self._starter.start(room)
        self._granted = max(int(self._limits.file_cpu - self._cpu), 1)
        limits = msgspec.structs.asdict(self._limits)
        self._process.send(limits | {"file_cpu": self._granted})

    def _exchange(self, verb: str, *rest: Any, cpu: int) -> Any:
        """Send one request, wait for the reply that carries its token."""
        assert self._process is not None
        token = secrets.token_hex(8)
        deadline = min(self._deadline, time.monotonic() + WALL_PER_CPU * (cpu + 1))
        self._process.send([token, verb, *rest])
        reply = self._process.receive(deadline)
        if not (isinstance(reply, tuple) and len(reply) == 2 and reply[0] == token):
            raise _Lost(late=False)  # a forged or doubled reply: this worker is out of step
        return reply[1]

    def _answered(self, verb: str, *rest: Any, cpu: int) -> Answer:
        try:
            return answer_from(self._exchange(verb, *rest, cpu=cpu))
        except ValueError as error:
            raise _Lost(late=False) from error

    def _end(self, lost: _Lost | None = None) -> Answer:
        """End the process; why it gave no reply."""
        assert self._process is not None
        process, self._process = self._process, None
        ended = process.end()
        self._printed += process.printed
        self._cpu += ended.cpu
        out_of_time = ended.signal == SIGXCPU or ended.cpu >= self._granted
        if (lost is not None and lost.late) or out_of_time:
            return TimedOut()
        if ended.signal == SIGKILL:
            return Crashed("the process was killed, or answered out of turn")
        if ended.signal:
            return Crashed(f"the process ended by signal {ended.signal}")
        return Crashed(f"the process ended with exit code {ended.exit_code}")

    def close(self) -> str:
        """End the process; what the student's code printed, cut to the limit."""
        if self._process is not None:
            self._end()
        text = self._printed.decode("utf-8", "replace")
        if len(self._printed) >= self._limits.output_kept:
            text += "\n... (more was printed, and is cut here)"
        return text


class Sandbox:
    """Holds what workers are started from; a context manager, one per batch.

    Start it from a thread that lives as long as the batch does.
    """

    def __init__(self, limits: Limits | None = None, warm: bool | None = None) -> None:
        self._limits = limits or Limits()
        warm = sys.platform == "linux" if warm is None else warm
        self._starter = _WarmParent() if warm else _ColdStart()

    def load(self, source: Source) -> Worker:
        """A fresh process with `source` loaded. The caller closes it."""
        return Worker(self._starter, source, self._limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._starter.close()
