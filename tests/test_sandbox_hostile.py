"""Code that works against the grader: it may spoil its own answers, and nothing else.

What only stronger isolation can hold (files, networks, other users' processes) is not asked here.
"""

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from grader import processes
from grader.model import Crashed, Raised, Returned, TimedOut
from grader.sandbox import Limits, Sandbox
from grader.worker import parent as warm_parent
from tests.reachable import USER, run_python
from tests.sandboxed import IMPATIENT, LIMITS, ask, eventually, is_running, loaded, look, notebook

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are listed in /proc")

OUT_OF_TURN = Crashed("the process answered out of turn")
KILLED = Crashed("the process was killed, or closed its channel")

HEAD = """
import ctypes, os, resource, signal, stat, subprocess, sys, threading, time

def channels():
    '''Every descriptor that is neither standard input nor standard output.'''
    return [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2]

def write_everywhere(data):
    for descriptor in channels():
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, data)
        except OSError:
            pass

wire = sys.modules["grader.wire"]

def honest(number): return number + 1
"""


def page(*cells):
    return notebook(HEAD, *cells)


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(LIMITS, warm=True) as opened:
        yield opened


def assert_no_harm(worker):
    """Another function is answered rightly, twice."""
    assert ask(worker, "honest", 1.0) == Returned(2.0)
    assert ask(worker, "honest", 2.0) == Returned(3.0)


# --- the channel ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "junk",
    [
        r"b'\x05\x00\x00\x00junk!' * 1000",
        r"b'\xff' * 1000",
        r"b'\x02\x00\x00\x00U\x05'",
        r"wire.frame(b'')",
        r"wire.frame(b'L' + b'\xff' * 4)",
        r"wire.frame(wire.encode(None))",
        r"wire.frame(wire.encode(('0' * 16, ('returned', 2.0, False))))",
        r"wire.frame(wire.encode(('returned', 2.0, False)))",
        r"wire.frame(wire.encode(['fork']))",
    ],
)
def test_a_forged_frame_is_no_answer(sandbox, junk):
    forger = f"def forges(number):\n    write_everywhere({junk})\n    return number"
    with loaded(sandbox, page(forger)) as worker:
        assert ask(worker, "forges", 1.0) == OUT_OF_TURN
        assert_no_harm(worker)


def test_half_a_frame_is_no_answer_and_is_not_waited_for_without_end(sandbox):
    forger = r"""
        def forges(number):
            write_everywhere(b"\x00\x00\x01\x00" + b"x")
            return number
    """
    with loaded(sandbox, page(forger), IMPATIENT) as worker:
        assert ask(worker, "forges", 1.0) == TimedOut()
        assert_no_harm(worker)


def test_a_forged_frame_that_carries_the_right_token_spoils_only_its_own_answer(sandbox):
    forger = """
        def forges(number):
            frame = sys._getframe()
            while "token" not in frame.f_locals:
                frame = frame.f_back
            reply = (frame.f_locals["token"], ("returned", 42.0, False))
            write_everywhere(wire.frame(wire.encode(reply)))
            return number
    """
    with loaded(sandbox, page(forger)) as worker:
        assert ask(worker, "forges", 1.0) == Returned(42.0)
        assert_no_harm(worker)


def test_a_thread_that_floods_the_channel_spoils_only_its_own_answers(sandbox):
    forger = """
        def floods(number):
            def flood():
                while True: write_everywhere(wire.frame(b"x" * 60_000))
            threading.Thread(target=flood, daemon=True).start()
            return number
    """
    with loaded(sandbox, page(forger)) as worker:
        assert ask(worker, "floods", 1.0) in (Returned(1.0), OUT_OF_TURN)
        assert_no_harm(worker)


def test_what_nobody_asked_for_is_not_kept_beyond_its_bound(sandbox):
    forger = """
        def floods(number):
            def flood():
                time.sleep(0.5)
                while True: write_everywhere(b"x" * 60_000)
            threading.Thread(target=flood, daemon=True).start()
            return number
    """
    with loaded(sandbox, page(forger)) as worker:
        assert eventually(lambda: ask(worker, "floods", 1.0) == Returned(1.0))
        process = worker._process
        assert process is not None
        assert eventually(lambda: process._chunks.qsize() >= processes.CHUNKS)
        time.sleep(0.5)
        assert process._chunks.qsize() <= processes.CHUNKS
        assert_no_harm(worker)


def test_questions_that_are_read_by_another_are_lost_and_no_more(sandbox):
    thief = """
        def steals(number):
            def steal():
                for descriptor in channels():
                    threading.Thread(target=os.read, args=(descriptor, 65536), daemon=True).start()
            steal()
            return number
    """
    with loaded(sandbox, page(thief), IMPATIENT) as worker:
        assert ask(worker, "steals", 1.0) == Returned(1.0)
        assert_no_harm(worker)


def test_a_process_that_does_not_read_cannot_hold_up_the_grader(sandbox):
    deaf = """
        def stops(number):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGSTOP)).start()
            return number
    """
    with loaded(sandbox, page(deaf), IMPATIENT) as worker:
        assert ask(worker, "stops", 1.0) == Returned(1.0)
        process = worker._process
        assert process is not None
        while not any(
            child.status() == psutil.STATUS_STOPPED
            for child in psutil.Process().children(recursive=True)
        ):
            time.sleep(0.01)
        with pytest.raises(processes.Lost, match="late"):
            process.send(["x" * 1_000_000], deadline=time.monotonic())
        assert_no_harm(worker)


def test_closed_descriptors_are_an_answer_that_never_came(sandbox):
    closer = """
        def closes(number):
            os.closerange(3, 64)
            time.sleep(1e9)
        def closes_and_returns(number):
            os.closerange(3, 64)
            return number
    """
    with loaded(sandbox, page(closer)) as worker:
        assert ask(worker, "closes", 1.0) == KILLED
        assert_no_harm(worker)
        assert ask(worker, "closes_and_returns", 1.0) == Crashed(
            "the process ended with exit code 1"
        )
        assert_no_harm(worker)


def test_another_program_in_the_process_is_an_answer_that_never_came(sandbox):
    other = """
        def becomes_another(number):
            os.execv("/bin/sh", ["sh", "-c", "exec sleep 1000000"])
        def becomes_another_that_answers(number):
            code = "import os; [os.write(fd, b'x' * 100) for fd in range(3, 9)]"
            os.execv(sys.executable, [sys.executable, "-c", code])
    """
    with loaded(sandbox, page(other)) as worker:
        assert ask(worker, "becomes_another", 1.0) == KILLED
        assert isinstance(ask(worker, "becomes_another_that_answers", 1.0), Crashed)
        assert_no_harm(worker)


# --- copies --------------------------------------------------------------------------------------


def test_a_copy_of_the_process_has_no_say(sandbox):
    copier = """
        def copies(number):
            return number if os.fork() else -number
        def copies_and_ends(number):
            if os.fork(): os._exit(5)
            time.sleep(1e9)
    """
    with loaded(sandbox, page(copier)) as worker:
        for number in (1.0, 2.0, 3.0):
            assert ask(worker, "copies", number) == Returned(number)
        assert ask(worker, "copies_and_ends", 1.0) == Crashed("the process ended with exit code 5")
        assert_no_harm(worker)


def test_two_processes_that_answer_one_question_spoil_only_their_own_answers(sandbox):
    copier = """
        def copies(number):
            ctypes.CDLL(None).fork()
            return number
    """
    with loaded(sandbox, page(copier)) as worker:
        assert ask(worker, "copies", 1.0) == Returned(1.0)
        assert_no_harm(worker)


def test_processes_that_multiply_are_gone_with_their_worker(sandbox):
    bomb = """
        def multiplies(number):
            if not os.fork():
                os.setsid()
                for _ in range(4): os.fork()
                while True: time.sleep(1)
            return float(os.getpid())
        def leaves_an_orphan(number):
            reading, writing = os.pipe()
            if not os.fork():
                if not os.fork():
                    os.setsid()
                    os.write(writing, str(os.getpid()).encode())
                    signal.pause()
                os._exit(0)
            return float(os.read(reading, 20))
    """
    with loaded(sandbox, page(bomb)) as worker:
        assert isinstance(ask(worker, "multiplies", 1.0), Returned)
        orphan = ask(worker, "leaves_an_orphan", 1.0)
        assert is_running(int(orphan.value))
    assert not is_running(int(orphan.value))
    parent = sandbox._starter._parent.process.pid
    assert Path(f"/proc/{parent}/task/{parent}/children").read_text() == ""


# --- limits --------------------------------------------------------------------------------------


def test_a_call_that_ignores_its_limit_is_ended_by_the_files(sandbox):
    stubborn = """
        def loops(number):
            signal.signal(signal.SIGXCPU, signal.SIG_IGN)
            soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
            resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
            end = time.process_time() + 8
            while time.process_time() < end: pass
            return number
    """
    limits = Limits(call_cpu=1, load_cpu=1, file_cpu=1, wall_per_cpu=60)
    with loaded(sandbox, page(stubborn), limits) as worker:
        assert ask(worker, "loops", 1.0) == TimedOut()
        assert ask(worker, "honest", 1.0) == TimedOut()


def test_files_are_limited_and_do_not_stay(sandbox, tmp_path):
    (tmp_path / "outside").mkdir(mode=0o755)
    (tmp_path / "outside" / "file").touch(mode=0o644)
    writer = f"""
        def fills(number):
            with open("big", "wb") as file:
                while True: file.write(b"x" * (1 << 20))
        def leaves(number):
            os.makedirs("deep/" * 50)
            open("deep/deep/file", "w").close()
            os.symlink({str(tmp_path / "outside")!r}, "deep/link")
            os.symlink("nowhere", "deep/nowhere")
            os.chmod("deep/deep", 0)
            os.chmod("deep", 0)
            return os.getcwd()
    """
    limits = Limits(file_bytes=1 << 20)
    with loaded(sandbox, page(writer), limits) as worker:
        answer = ask(worker, "fills", 1.0)
        assert isinstance(answer, Raised)
        assert answer.type_name == "OSError"
        folder = Path(ask(worker, "leaves", 1.0).value)
        assert folder.is_dir()
    assert not folder.exists()
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "outside" / "file").exists()


def test_folders_of_any_depth_do_not_stay(sandbox):
    digger = """
        def digs(number):
            for _ in range(3_000):
                os.mkdir("d")
                os.chdir("d")
            return os.environ["HOME"]
    """
    with loaded(sandbox, page(digger)) as worker:
        folder = Path(ask(worker, "digs", 1.0).value)
        assert folder.is_dir()
    assert not folder.exists()
    assert list(folder.parent.iterdir()) == []


def test_more_files_than_can_be_removed_in_time_are_given_up(tmp_path):
    (tmp_path / "folder" / "in it").mkdir(parents=True)
    (tmp_path / "folder" / "file").touch()
    assert not warm_parent.empty(tmp_path, patience=-1)
    assert warm_parent.empty(tmp_path, patience=60)
    assert list(tmp_path.iterdir()) == []


# --- the parent ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGALRM"])
def test_a_signal_to_the_parent_is_ignored(sandbox, name):
    parent = sandbox._starter._parent.process.pid
    sender = f"""
        def signals(number):
            os.kill(os.getppid(), signal.{name})
            return number
    """
    with loaded(sandbox, page(sender)) as worker:
        assert ask(worker, "signals", 1.0) == Returned(1.0)
        assert_no_harm(worker)
    with loaded(sandbox, page()) as worker:
        assert_no_harm(worker)
    assert sandbox._starter._parent.process.pid == parent


def test_code_that_kills_the_parent_spoils_only_its_own_answer(sandbox):
    killer = """
        def kills(number):
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1e9)
    """
    with loaded(sandbox, page(killer)) as worker:
        assert ask(worker, "kills", 1.0) == KILLED
        assert_no_harm(worker)
    with loaded(sandbox, page()) as worker:
        assert_no_harm(worker)


def test_what_was_started_by_code_that_kills_the_parent_is_gone_too(sandbox, tmp_path):
    killer = f"""
        def starts_and_kills(number):
            started = subprocess.Popen(["sleep", "1000000"], start_new_session=True)
            with open({str(tmp_path / "pid")!r}, "a") as file: print(started.pid, file=file)
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1e9)
    """
    with loaded(sandbox, page(killer)) as worker:
        assert ask(worker, "starts_and_kills", 1.0) == KILLED
    pids = [int(line) for line in (tmp_path / "pid").read_text().split()]
    assert pids
    assert eventually(lambda: not any(map(is_running, pids)))


def test_loading_that_kills_the_parent_costs_its_cell(sandbox):
    # In one statement: after it, whether the next one still begins is a matter of luck.
    killer = "[os.kill(os.getppid(), signal.SIGKILL), time.sleep(1e9)]"
    with loaded(sandbox, page(killer)) as worker:
        assert [(event.kind, event.cell) for event in worker.events] == [("crashed", 1)]
        assert_no_harm(worker)


def test_code_that_stops_the_parent_costs_nobody_else_anything(monkeypatch):
    monkeypatch.setattr(processes, "CONTROL_TIMEOUT", 1.0)
    stopper = """
        def stops(number):
            os.kill(os.getppid(), signal.SIGSTOP)
            return number
    """
    with Sandbox(LIMITS, warm=True) as sandbox:
        with loaded(sandbox, page(stopper)) as worker:
            assert ask(worker, "stops", 1.0) == Returned(1.0)
        monkeypatch.undo()
        with loaded(sandbox, page()) as worker:
            assert_no_harm(worker)


# --- what a process is born with -----------------------------------------------------------------


def test_a_page_has_pythons_own_signal_handlers(sandbox):
    looker = """
        names = [name for name in dir(signal) if name.startswith("SIG") and name[3].isalpha()]
        handlers = {name: signal.getsignal(getattr(signal, name)) for name in names}
        IGNORED = sorted({name for name, handler in handlers.items() if handler is signal.SIG_IGN})
        PYTHONS = handlers["SIGINT"] is signal.default_int_handler
    """
    with loaded(sandbox, page(looker)) as worker:
        assert worker.events == []
        ignored = {"SIGPIPE", "SIGXFSZ"}
        assert set(look(worker, "IGNORED").value) == ignored
        assert look(worker, "PYTHONS") == Returned(True)
    assert {name for name in ignored if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN}


def test_a_page_holds_none_of_the_parents_descriptors_and_nothing_of_its_environment(sandbox):
    os.environ["A_SECRET"] = "secret"
    looker = """
        SOCKETS = []
        for descriptor in channels():
            try:
                if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    SOCKETS.append(descriptor)
            except OSError:
                continue
        ENVIRONMENT = sorted(os.environ)
    """
    try:
        with Sandbox(LIMITS, warm=True) as fresh, loaded(fresh, page(looker)) as worker:
            assert worker.events == []
            assert look(worker, "SOCKETS") == Returned(())
            names = set(look(worker, "ENVIRONMENT").value)
    finally:
        del os.environ["A_SECRET"]
    known = {"HOME", "LANG", "PATH", "TEMP", "TMP", "TMPDIR", "PYTHONHASHSEED", "LC_CTYPE"}
    known |= {"JAX_PLATFORMS", "MALLOC_ARENA_MAX", "MPLBACKEND", "PYTHONBREAKPOINT"}
    assert {
        name for name in names - known if not name.startswith(("OPENBLAS_", "TF_", "TPU_"))
    } == set()


AS_A_USER = """
import os
from grader.sandbox import Sandbox
from tests.reachable import USER, run_python
from tests.sandboxed import LIMITS, eventually, is_running, loaded, look, notebook

page = notebook(
    "import os, subprocess\\nSTARTED = subprocess.Popen(['sleep', '1000000']).pid",
    "OWN = os.path.exists('/proc/self/fd/0')",
    "PARENTS = open(f'/proc/{os.getppid()}/environ').read()",
)
with Sandbox(LIMITS, warm=True) as sandbox:
    with loaded(sandbox, page) as worker:
        events = [(event.cell, event.message.split(":")[0]) for event in worker.events]
        assert events == [(2, "PermissionError")], worker.events
        assert look(worker, "OWN").value is True
        started = look(worker, "STARTED").value
        assert is_running(started)
    assert eventually(lambda: not is_running(started))
print("as uid", os.geteuid())
"""


def test_an_ordinary_user_can_grade_and_the_parent_is_out_of_its_childrens_reach():
    finished = run_python(AS_A_USER, user=USER, root=Path(processes.__file__).parents[1])
    assert finished.stdout == f"as uid {os.geteuid() or USER}\n", finished.stderr
