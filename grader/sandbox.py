"""The one door to a student's code: load an exercise file into a process, ask it, replace it.

A `Sandbox` holds what processes are started from, for a batch. `Sandbox.load` gives a `Worker` for
one exercise file: a fresh process, loaded cell by cell, asked by `Worker.ask`, replaced when it
dies or hangs.
"""

import secrets
import sys
import time
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Struct

from grader.answers import answer_from, call_of, picture_from
from grader.confinement import Confinement
from grader.errors import GraderFault
from grader.model import Answer, Crashed, Question, Raised, TimedOut
from grader.processes import (
    SIGKILL,
    SIGXCPU,
    START_TIMEOUT,
    ColdStarter,
    Lost,
    Process,
    WarmStarter,
)

CPU_GRAIN = 1.0  # seconds: no less can be granted, and limit and account differ by parts of it
MAX_PICTURES = 8  # of one exercise file
MAX_RELOADS = 5  # fresh processes for cells that end theirs while they load


class Limits(Struct, frozen=True):
    """What one exercise file may use. CPU in seconds, the rest in bytes or a count.

    The wall clock is a backstop only, `wall_per_cpu` times the CPU limit.
    """

    call_cpu: int = 10
    load_cpu: int = 20
    file_cpu: int = 60
    data_bytes: int = 1 << 30
    address_bytes: int = 3 << 30
    file_bytes: int = 64 << 20
    open_files: int = 64
    output_kept: int = 64 << 10
    wall_per_cpu: float = 5


class Source(Struct, frozen=True):
    """What a worker loads: cells as (source, first line), and modules by name that it may import.

    `modules` come first on the import path, then `helpers`, as a page's own folder does. `due` are
    the names that are asked for.
    """

    filename: str
    cells: tuple[tuple[str, int], ...]
    modules: dict[str, str]
    helpers: dict[str, str]
    due: tuple[str, ...] = ()


class LoadEvent(Struct, frozen=True):
    """Something that went wrong while a unit was loaded. `kind` is `syntax`, `left_out`,
    `too_large`, `raised`, `timed_out` or `crashed`; `cell` counts from 0; `line` is a line of the
    file, or of the notebook's cell; `last`: nothing after it was loaded."""

    kind: str
    cell: int
    line: int
    message: str
    column: int = 0
    last: bool = False


class Place(Struct, frozen=True):
    """A line of a page that binds a due name. `kind` is `set`, `imported`, `deleted`, `local` (in a
    function or class, where it doesn't count), `stopped` (the scaffold's `raise`, above what the
    function is to do), or `like`: a similar name is set there, which is `text` then. Else `text` is
    the line; `inside` is the line that the block around it starts with, if there is one."""

    cell: int
    line: int
    name: str
    kind: str
    text: str
    inside: str = ""


class Worker:
    """One exercise file, loaded. `ask` never raises for anything that a student's code does."""

    def __init__(self, starter: WarmStarter | ColdStarter, source: Source, limits: Limits) -> None:
        self._starter = starter
        self._source = source
        self._limits = limits
        self._skipped: set[int] = set()  # units that ended their process
        self._stop: int | None = None  # the unit that loading ends before
        self._reached = 0  # units whose output was seen once
        self._asked: set[str] = set()  # functions that the process was asked
        self._blameless = False  # the last loss may not be the fault of what was asked
        self._printed = bytearray()
        self._printed_more = False
        self._cpu = 0.0
        self._granted = limits.file_cpu
        self._deadline = time.monotonic() + limits.wall_per_cpu * limits.file_cpu
        self._process: Process | None = None
        self.closed = False
        self.events: list[LoadEvent] = []
        self.places: list[Place] = []  # of the due names, as far as the page could be compiled
        self._first_load()

    # --- loading ---------------------------------------------------------------------------------

    def _first_load(self) -> None:
        """Load every unit; one that ends the process is left out of the next, which goes on."""
        ended: list[LoadEvent] = []
        for reload in range(MAX_RELOADS + 1):
            events, lost = self._load()
            if lost is None:
                break
            number, event = lost
            last = number is None or reload >= MAX_RELOADS - 1 or self._used_up()
            ended.append(msgspec.structs.replace(event, last=last))
            if number is None or self._used_up():
                break  # not even compiled, or no time left
            self._skipped.add(number)
            if reload == MAX_RELOADS - 1:
                self._stop = number  # what was defined until here counts
        self.events = sorted([*events, *ended], key=lambda event: (event.cell, event.line))

    def _load(self) -> tuple[list[LoadEvent], tuple[int | None, LoadEvent] | None]:
        """What went wrong in each unit; and the unit that ended the process, if one did.

        Once more from the start when the process was lost through no fault of the unit's.
        """
        events, lost = self._load_once()
        if lost is not None and self._blameless:
            events, lost = self._load_once()
        return events, lost

    def _load_once(self) -> tuple[list[LoadEvent], tuple[int | None, LoadEvent] | None]:
        """Start a process and run the units in it. What one prints is kept the first time only."""
        self._start()
        source = self._source
        events: list[LoadEvent] = []
        number: int | None = None
        place = (0, source.cells[0][1] if source.cells else 1)
        limit = self._limits.load_cpu
        try:
            prepare = (source.filename, source.modules, source.helpers, list(source.due))
            again = self._reached > 0
            units, places = self._exchange(
                "prepare", *prepare, list(source.cells), again, cpu=limit
            )
            self.places = [Place(*place) for place in places]
            for number, (kind, cell, line, *rest) in enumerate(units[: self._stop]):
                place = (cell, line)
                if kind == "syntax":
                    column, message = rest
                    events.append(LoadEvent("syntax", cell, line, message, column))
                elif kind in ("left_out", "too_large"):
                    events.append(LoadEvent(kind, cell, line, rest[0]))
                elif number not in self._skipped:
                    again = number < self._reached
                    self._reached = max(self._reached, number + 1)
                    reply = self._answered("run", number, again, cpu=limit)
                    if isinstance(reply, Raised):
                        text = f"{reply.type_name}: {reply.message}".removesuffix(": ")
                        events.append(LoadEvent("raised", cell, reply.line or line, text))
        except Lost as lost:
            answer = self._end(lost)
            kind = "timed_out" if isinstance(answer, TimedOut) else "crashed"
            how = answer.how if isinstance(answer, Crashed) else ""
            return events, (number, LoadEvent(kind, *place, how))
        return events, None

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, question: Question) -> Answer:
        """The student's answer. One that was lost is asked for once more, of a fresh process, where
        another function may have harmed the first, or the grader itself lost it."""
        self._blameless = False
        answer = self._ask_once(question)
        if self._blameless:
            answer = self._ask_once(question)
        return answer

    def _ask_once(self, question: Question) -> Answer:
        if self._used_up():
            return TimedOut()
        if self._process is None:
            _, lost = self._load()
            self._blameless = False
            if lost is not None:
                return Crashed("the file could not be loaded again")
        others = self._asked - {question.function}
        self._asked.add(question.function)
        try:
            return self._answered("call", *call_of(question), cpu=self._limits.call_cpu)
        except Lost as lost:
            answer = self._end(lost)
            self._blameless = self._blameless or bool(others)
            return answer

    def pictures(self) -> list[bytes]:
        """The figures that the student's code has drawn and left open, as PNG files.

        Those of a process that has ended are not drawn again: no marks rest on them.
        """
        found: list[bytes] = []
        while self._process is not None and not self._used_up() and len(found) < MAX_PICTURES:
            try:
                drawn = self._exchange("draw", len(found), cpu=self._limits.call_cpu)
                picture = picture_from(drawn)
            except (Lost, ValueError) as error:
                self._end(error if isinstance(error, Lost) else Lost("forged"))
                break
            if picture is None:
                break
            found.append(picture)
        return [picture for picture in found if picture]

    # --- the process -----------------------------------------------------------------------------

    def _used_up(self) -> bool:
        left = self._limits.file_cpu - self._cpu
        return left < CPU_GRAIN or time.monotonic() > self._deadline

    def _start(self) -> None:
        """Start a process. No student's code runs yet: what fails here is the grader's fault."""
        for _ in range(2):
            room = max(self._limits.output_kept - len(self._printed), 0)
            try:
                self._process = self._starter.start(room)
            except OSError as error:
                raise GraderFault(f"no process can be started here: {error}") from error
            self._asked = set()
            self._granted = max(int(self._limits.file_cpu - self._cpu), 1)
            limits = msgspec.structs.asdict(self._limits)
            deadline = time.monotonic() + START_TIMEOUT
            try:
                self._process.send(limits | {"file_cpu": self._granted}, deadline)
                self._process.receive(deadline)
                return
            except Lost as lost:
                process, self._process = self._process, None
                ended = process.end(wait=lost.why == "ended")
                said = process.printed.decode("utf-8", "replace")[-500:]
        raise GraderFault(f"a process for students' code does not start: {ended}\n{said}")

    def _exchange(self, verb: str, *rest: Any, cpu: int) -> Any:
        """Send one request, wait for the reply that carries its token."""
        assert self._process is not None
        token = secrets.token_hex(8)
        deadline = min(self._deadline, time.monotonic() + self._limits.wall_per_cpu * (cpu + 1))
        self._process.send([token, verb, *rest], deadline)
        reply = self._process.receive_within(cpu + CPU_GRAIN, deadline)
        if not (isinstance(reply, tuple) and len(reply) == 2 and reply[0] == token):
            raise Lost("forged")  # or doubled: this process is out of step
        return reply[1]

    def _answered(self, verb: str, *rest: Any, cpu: int) -> Answer:
        try:
            answer = answer_from(self._exchange(verb, *rest, cpu=cpu))
        except ValueError as error:
            raise Lost("forged") from error
        if isinstance(answer, Raised) and self._process is not None:
            message = self._process.plain(answer.message)
            answer = msgspec.structs.replace(answer, message=message)
        return answer

    def _end(self, lost: Lost | None = None) -> Answer:
        """End the process; why it gave no reply."""
        assert self._process is not None
        process, self._process = self._process, None
        ended = process.end(wait=lost is None or lost.why == "ended")
        self._printed += process.printed
        self._printed_more = self._printed_more or process.printed_more
        self._cpu += ended.cpu
        self._blameless = ended.parent_lost
        killed_at_limit = ended.signal == SIGKILL and ended.cpu > self._granted - CPU_GRAIN
        if ended.signal == SIGXCPU or killed_at_limit:
            return TimedOut()
        match lost:
            case Lost(why="late"):
                return TimedOut()
            case Lost(why="forged"):
                return Crashed("the process answered out of turn")
        if ended.signal == SIGKILL:
            return Crashed("the process was killed, or closed its channel")
        if ended.signal:
            return Crashed(f"the process ended by signal {ended.signal}")
        return Crashed(f"the process ended with exit code {ended.exit_code}")

    def close(self) -> str:
        """End the process; what the student's code printed, cut to the limit."""
        self.closed = True
        if self._process is not None:
            self._end()
        text = self._printed.decode("utf-8", "replace")
        if self._printed_more:
            text += "\n... (more was printed, and is cut here)"
        return text


class Sandbox:
    """Holds what processes are started from; a context manager, one per batch.

    Start it from a thread that lives as long as the batch does. One worker is open at a time.
    Without a `confinement`, what it loads may do what the user may.
    GraderFault when no process can be started.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        warm: bool | None = None,
        confinement: Confinement | None = None,
    ) -> None:
        self._limits = limits or Limits()
        confinement = confinement or Confinement("own")
        warm = sys.platform == "linux" if warm is None else warm
        try:
            self._starter = WarmStarter(confinement) if warm else ColdStarter(confinement)
        except OSError as error:
            raise GraderFault(f"no process can be started here: {error}") from error
        self._worker: Worker | None = None

    def load(self, source: Source, limits: Limits | None = None) -> Worker:
        """A fresh process with `source` loaded, within `limits` if they differ from the sandbox's.

        The caller closes it before the next one is loaded. GraderFault when no process starts.
        """
        if self._worker is not None and not self._worker.closed:
            raise GraderFault("close a worker before the next one is loaded")
        self._worker = Worker(self._starter, source, limits or self._limits)
        return self._worker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._worker is not None and not self._worker.closed:
            self._worker.close()
        self._starter.close()
