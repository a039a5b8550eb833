"""A worker answers, whatever its process does: in a fork of a warm parent, and in a cold process.

Here are the accidents; what is done on purpose is in test_sandbox_hostile.py.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from grader import processes
from grader.confinement import Started
from grader.errors import GraderFault
from grader.model import Array, Crashed, Missing, Raised, Returned, TimedOut
from grader.sandbox import Limits, LoadEvent, Sandbox
from tests.sandboxed import (
    IMPATIENT,
    LIMITS,
    ask,
    eventually,
    is_running,
    loaded,
    look,
    notebook,
    script,
)

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can fork a warm parent")

PAGE = notebook(
    """
    import ctypes, os, subprocess, sys, threading, time
    import jax, jax.numpy as jnp
    import numpy as np
    print("loaded")

    TYPED = sys.stdin.read()
    CEILING = 0.5
    def successor(number): return number + 1
    def total(features): return jnp.sum(features)
    def refuses(number): raise ValueError("no")

    def leaves(number): sys.exit(3)
    def leaves_at_once(number): os._exit(3)
    def faults(number): ctypes.string_at(0)
    def aborts(number): os.abort()
    def loops(number):
        while True: pass
    def loops_in_jax(number):
        return jax.lax.while_loop(lambda x: x < 2, lambda x: jnp.sin(x) + 0.1, number)
    class Lazy:
        shape, dtype = (), np.dtype("float32")
        def __array__(self, *_):
            while True: pass
    def answers_lazily(number): return Lazy()
    def sleeps(number): time.sleep(1e9)
    def takes_all_memory(number):
        taken = []
        while True: taken.append(np.empty(10**8))
    def prints(number):
        for _ in range(1_000): print("x" * 10_000)
        return number
    def starts_a_process(number):
        started = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(1e9)"], start_new_session=True
        )
        return started.pid
    """
)


@pytest.fixture(scope="module", params=[pytest.param("warm", marks=linux_only), "cold"])
def sandbox(request):
    with Sandbox(LIMITS, warm=request.param == "warm") as opened:
        yield opened


@pytest.fixture(scope="module")
def warm():
    if sys.platform != "linux":
        pytest.skip("only Linux can fork a warm parent")
    with Sandbox(LIMITS, warm=True) as opened:
        yield opened


# --- answers -------------------------------------------------------------------------------------


def test_functions_and_constants_answer(sandbox):
    with loaded(sandbox, PAGE) as worker:
        assert worker.events == []
        assert ask(worker, "successor", 1.0) == Returned(2.0)
        assert ask(worker, "total", [1.0, 2.0]) == Returned(Array("float32", (), (3.0,)))
        assert look(worker, "CEILING") == Returned(0.5)
        assert look(worker, "TYPED") == Returned("")
        assert ask(worker, "nothing") == Missing()
        answer = ask(worker, "refuses", 1.0)
        assert isinstance(answer, Raised)
        assert (answer.type_name, answer.message, answer.kinds[0]) == (
            "ValueError",
            "no",
            "ValueError",
        )
        assert ask(worker, "leaves", 1.0).type_name == "SystemExit"
        assert ask(worker, "successor", 2.0) == Returned(3.0)
        assert worker.close() == "loaded\n"


def test_the_figures_that_a_page_left_open_are_its_pictures(warm):
    drawing = """
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        plt.plot([1, 2])
        plt.close(plt.figure())
        plt.figure(figsize=(100, 100))
        plt.figure()
        def f(): return 1.0
    """
    with loaded(warm, notebook(drawing), Limits(file_cpu=60)) as worker:
        pictures = worker.pictures()
        assert ask(worker, "f") == Returned(1.0)
    assert len(pictures) == 3
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)


@pytest.mark.parametrize(
    "does",
    ["while True: pass", "raise SystemExit", "import os; os._exit(0)", "file.write(b'x' * 2**21)"],
)
def test_a_page_that_draws_otherwise_costs_its_pictures_alone(warm, does):
    page = f"""
        import sys, types
        class Figure:
            def get_size_inches(self): return 4, 3
            def savefig(self, file, **_):
                {does}
        fake = types.ModuleType("matplotlib.pyplot")
        fake.get_fignums = lambda: range(10**9)
        fake.figure = lambda number: Figure()
        sys.modules["matplotlib.pyplot"] = fake
        def f(): return 1.0
    """
    with loaded(warm, notebook(page)) as worker:
        assert worker.pictures() == []
        assert ask(worker, "f") == Returned(1.0)


def test_a_call_that_ends_its_process_costs_that_call_alone(sandbox):
    with loaded(sandbox, PAGE) as worker:
        assert ask(worker, "leaves_at_once", 1.0) == Crashed("the process ended with exit code 3")
        answer = ask(worker, "faults", 1.0)
        assert isinstance(answer, Crashed)
        if os.name == "posix":
            assert answer.how == f"the process ended by signal {signal.SIGSEGV:d}"
        assert ask(worker, "successor", 1.0) == Returned(2.0)
        assert worker.close() == "loaded\n"


def test_a_call_without_end_is_ended_by_its_cpu_time_and_costs_itself_alone(sandbox):
    with loaded(sandbox, PAGE) as worker:
        assert ask(worker, "loops", 1.0) == TimedOut()
        assert ask(worker, "successor", 1.0) == Returned(2.0)


@linux_only
def test_what_a_call_has_started_is_gone_when_the_worker_is_closed(sandbox):
    with loaded(sandbox, PAGE) as worker:
        answer = ask(worker, "starts_a_process", 1.0)
        assert isinstance(answer, Returned)
        assert isinstance(answer.value, int)
        assert is_running(answer.value)
    assert eventually(lambda: not is_running(answer.value))


def test_a_statement_that_ends_the_process_is_left_out_and_each_output_is_kept_once(sandbox):
    page = notebook(
        "print('one')\ndef before(number): return number",
        "print('two')\nimport os\nos._exit(4)\nkept = 1",
        "print('three')\ndef after(number):\n    print('called')\n    return number",
    )
    with loaded(sandbox, page) as worker:
        how = "the process ended with exit code 4"
        assert worker.events == [LoadEvent("crashed", 1, 3, how)]
        assert ask(worker, "before", 1.0) == Returned(1.0)
        assert ask(worker, "after", 1.0) == Returned(1.0)
        assert look(worker, "kept") == Returned(1)
        assert worker.close() == "one\ntwo\nthree\ncalled\n"


# --- limits --------------------------------------------------------------------------------------


def test_an_abort_costs_that_call_alone(warm):
    with loaded(warm, PAGE) as worker:
        how = f"the process ended by signal {signal.SIGABRT:d}"
        assert ask(worker, "aborts", 1.0) == Crashed(how)
        assert ask(worker, "successor", 1.0) == Returned(2.0)


@pytest.mark.parametrize("name", ["loops_in_jax", "answers_lazily"])
def test_a_loop_that_is_not_in_the_students_own_lines_is_ended_too(warm, name):
    with loaded(warm, PAGE) as worker:
        assert ask(worker, name, 1.0) == TimedOut()


def test_a_call_that_sleeps_is_ended_by_the_wall_clock(warm):
    with loaded(warm, PAGE, IMPATIENT) as worker:
        assert ask(worker, "sleeps", 1.0) == TimedOut()
        assert ask(worker, "successor", 1.0) == Returned(2.0)


def test_a_call_that_takes_all_memory_fails_by_itself(warm):
    with loaded(warm, PAGE) as worker:
        answer = ask(worker, "takes_all_memory", 1.0)
        assert isinstance(answer, Raised)
        assert "MemoryError" in answer.kinds
        assert ask(worker, "successor", 1.0) == Returned(2.0)


def test_loading_without_end_costs_its_cell(warm):
    page = notebook("def before(): return 1", "while True: pass", "def after(): return 2")
    with loaded(warm, page) as worker:
        assert worker.events == [LoadEvent("timed_out", 1, 1, "")]
        assert ask(worker, "before") == Returned(1)
        assert ask(worker, "after") == Returned(2)


def test_loading_that_sleeps_costs_its_statement(warm):
    page = script("def before(): return 1\nimport time\ntime.sleep(1e9)\ndef after(): return 2")
    with loaded(warm, page, IMPATIENT) as worker:
        assert worker.events == [LoadEvent("timed_out", 0, 3, "")]
        assert ask(worker, "before") == Returned(1)
        assert ask(worker, "after") == Returned(2)


def test_a_page_that_ends_its_process_again_and_again_keeps_what_came_before(warm):
    ends = "import os\nos._exit(1)"
    page = notebook("def before(): return 1", *[ends] * 20, "def after(): return 2")
    with loaded(warm, page) as worker:
        assert {event.kind for event in worker.events} == {"crashed"}
        assert [event.last for event in worker.events] == [False] * (len(worker.events) - 1) + [
            True
        ]
        assert [event.cell for event in worker.events] == [1, 2, 3, 4, 5]
        assert ask(worker, "before") == Returned(1)
        assert ask(worker, "after") == Missing()
        assert ask(worker, "before") == Returned(1)


def test_a_file_that_has_used_up_its_time_is_asked_no_more(warm):
    page = notebook(
        """
        import time
        def works(seconds):
            end = time.process_time() + seconds
            while time.process_time() < end: pass
            return seconds
        def f(): return 1
        """
    )
    limits = Limits(call_cpu=5, load_cpu=5, file_cpu=2, wall_per_cpu=30)
    with loaded(warm, page, limits) as worker:
        assert ask(worker, "works", 1.0) == Returned(1.0)
        assert ask(worker, "works", 3.0) == TimedOut()
        assert ask(worker, "works", 0.0) == TimedOut()
        assert ask(worker, "f") == TimedOut()


def test_a_file_that_has_slept_too_long_is_asked_no_more(warm):
    limits = Limits(call_cpu=1, load_cpu=1, file_cpu=1, wall_per_cpu=1)
    page = notebook("import time\ndef naps(): time.sleep(1.2)\ndef f(): return 1")
    with loaded(warm, page, limits) as worker:
        ask(worker, "naps")
        assert ask(worker, "f") == TimedOut()


# --- functions that harm their process for others ------------------------------------------------


def test_a_function_that_ends_the_process_later_costs_another_function_nothing(warm):
    page = notebook(
        """
        import os, threading, time
        armed = False
        def arms(number):
            global armed
            armed = True
            return number
        def waits(number):
            if armed:
                os._exit(1)  # as a thread would that `arms` had started
            return number
        def starts_a_thread(number):
            threading.Timer(0.01, os._exit, (1,)).start()
            return number
        def takes_a_while(number):
            time.sleep(0.2)
            return number
        """
    )
    with loaded(warm, page) as worker:
        for _ in range(2):
            assert ask(worker, "arms", 1.0) == Returned(1.0)
            assert ask(worker, "waits", 2.0) == Returned(2.0)
        assert ask(worker, "starts_a_thread", 1.0) == Returned(1.0)
        assert ask(worker, "takes_a_while", 2.0) == Returned(2.0)


def test_a_function_that_ends_the_process_itself_is_not_excused_by_others(warm):
    with loaded(warm, PAGE) as worker:
        assert ask(worker, "successor", 1.0) == Returned(2.0)
        assert ask(worker, "leaves_at_once", 1.0) == Crashed("the process ended with exit code 3")


def test_a_thread_that_uses_up_the_time_of_other_calls_costs_them_nothing(warm):
    page = notebook(
        """
        import threading, time
        burning = threading.Event()
        def burns():
            burning.set()
            while True: pass
        def starts_burning(number):
            threading.Thread(target=burns, daemon=True).start()
            return number
        def waits(number):
            end = time.process_time() + 20
            while burning.is_set() and time.process_time() < end:
                time.sleep(0.01)
            return number
        """
    )
    with loaded(warm, page) as worker:
        assert ask(worker, "starts_burning", 1.0) == Returned(1.0)
        assert ask(worker, "waits", 2.0) == Returned(2.0)


# --- one exercise file after another -------------------------------------------------------------


def test_nothing_of_one_file_reaches_the_next(warm):
    harmful = notebook(
        """
        import os, pathlib, sys
        import jax, jax.numpy as jnp
        import numpy as np
        import random
        np.sum = jnp.sum = max = len = lambda *_: 42
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_disable_jit", True)
        np.set_printoptions(precision=1)
        random.seed(7), np.random.seed(7)
        sys.modules["json"] = None
        sys.path.insert(0, ".")
        os.environ["PLANTED"] = "1"
        pathlib.Path("planted").write_text("x")
        pathlib.Path("../planted").write_text("x")
        """
    )
    page = notebook(
        """
        import json, os, pathlib, sys
        import jax, jax.numpy as jnp
        import numpy as np
        import random
        SWITCHES = [
            jax.config.jax_disable_jit, str(np.array(1 / 3)), random.random(), np.random.random(),
        ]
        FOUND = [
            np.sum([1, 2]), jnp.sum(jnp.ones(2)), jax.config.jax_enable_x64, "." in sys.path,
            "PLANTED" in os.environ, os.listdir("."), os.path.exists("../planted"),
        ]
        """
    )
    with loaded(warm, harmful) as worker:
        assert worker.events == []
    with loaded(warm, page) as worker:
        assert worker.events == []
        found = (
            Array("int", (), (3,)),
            Array("float32", (), (2.0,)),
            False,
            False,
            False,
            (),
            False,
        )
        assert look(worker, "FOUND") == Returned(found)
        seeded = (random.Random(0).random(), np.random.RandomState(0).random())
        assert look(worker, "SWITCHES") == Returned((False, str(np.array(1 / 3)), *seeded))


def test_where_an_object_lies_in_memory_is_not_told(warm):
    page = notebook(
        """
        print(len, print, lambda: 0, flush=True)
        def f(): raise ValueError(f"{f.f} is no number, 0xff is one")
        f.f = lambda: 0
        """,
        "raise TypeError(object())",
    )
    with loaded(warm, page) as worker:
        (event,) = worker.events
        assert event.message == "TypeError: <object object at 0x...>"
        answer = ask(worker, "f")
        assert isinstance(answer, Raised)
        assert answer.message.endswith("<lambda> at 0x...> is no number, 0xff is one")
        printed = worker.close()
    assert printed.endswith("<function <lambda> at 0x...>\n")


@pytest.mark.parametrize("warm_mode", [pytest.param(True, marks=linux_only), False])
def test_the_folder_that_a_page_works_in_is_told_by_the_same_name_every_time(warm_mode):
    page = notebook(
        """
        import os, pathlib
        print(os.getcwd(), os.environ["HOME"])
        print(pathlib.Path(__file__).resolve(), flush=True)
        open(os.path.abspath("rates.json"))
        """,
        "def f(): os.remove(os.path.abspath('rates.json'))\nos._exit(1)",
        "print(os.getcwd())",
    )
    told = []
    for _ in range(2):
        with Sandbox(LIMITS, warm=warm_mode) as opened, loaded(opened, page) as worker:
            told.append((worker.events, ask(worker, "f"), worker.close()))
    assert told[0] == told[1]
    (missing, _), _, output = told[0]
    assert "/scratch/page/rates.json" in missing.message
    assert output == "/scratch/page /scratch/page\n/scratch/page/page.ipynb\n/scratch/page\n"


def test_one_worker_is_open_at_a_time(warm):
    with loaded(warm, PAGE), pytest.raises(GraderFault, match="close"):
        warm.load(PAGE)
    with loaded(warm, PAGE) as worker:
        assert ask(worker, "successor", 1.0) == Returned(2.0)


# --- output --------------------------------------------------------------------------------------


def test_a_flood_of_output_is_cut_and_delays_no_answer(warm):
    with loaded(warm, PAGE) as worker:
        for _ in range(3):
            assert ask(worker, "prints", 1.0) == Returned(1.0)
        text = worker.close()
        kept, note = text[: LIMITS.output_kept], text[LIMITS.output_kept :]
        assert kept.startswith("loaded\n" + "x" * 10_000 + "\n")
        assert note == "\n... (more was printed, and is cut here)"


def test_output_of_just_the_limit_is_not_called_cut(warm):
    page = notebook(f"print('x' * {LIMITS.output_kept}, end='')")
    with loaded(warm, page) as worker:
        assert worker.close() == "x" * LIMITS.output_kept


def test_everything_printed_is_kept_in_order_however_it_was_printed(warm):
    page = notebook(
        """
        import os, subprocess, sys
        print("a", end="")
        print("b", file=sys.stderr)
        sys.stdout.flush()
        os.write(1, b"c\\n")
        subprocess.run(["echo", "d"])
        print("\\ud800 e")
        def f(number):
            sys.stdout.write("f")
            return number
        def replaces(number):
            import io
            sys.stdout = sys.stderr = io.StringIO()
            print("nowhere")
            return number
        def closes(number):
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            sys.stdout.close()
            return number
        """
    )
    with loaded(warm, page) as worker:
        for name in ("f", "replaces", "closes", "f"):
            answer = ask(worker, name, 1.0)
        assert isinstance(answer, Raised)
        assert worker.close() == "ab\nc\nd\n\\ud800 e\nf"


def test_output_that_is_no_text_is_kept_as_well_as_it_can_be(warm):
    with loaded(warm, notebook("import os\nos.write(1, b'\\xff\\xfeok\\n')")) as worker:
        assert worker.close() == "\ufffd\ufffdok\n"


# --- faults of the grader's own ------------------------------------------------------------------


@pytest.mark.parametrize("warm_mode", [pytest.param(True, marks=linux_only), False])
def test_a_process_that_does_not_start_is_the_graders_fault_and_says_why(warm_mode, monkeypatch):
    def broken(arguments, confinement, scratch):
        code = "import sys; sys.exit('no such library')"
        return Started([sys.executable, "-c", code], dict(os.environ), scratch)

    monkeypatch.setattr(processes, "confined", broken)
    with (
        pytest.raises(GraderFault, match="no such library"),
        Sandbox(LIMITS, warm=warm_mode) as opened,
    ):
        opened.load(PAGE)


@pytest.mark.parametrize("warm_mode", [pytest.param(True, marks=linux_only), False])
def test_a_machine_without_room_is_the_graders_fault(warm_mode, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with (
        pytest.raises(GraderFault, match="nowhere"),
        Sandbox(LIMITS, warm=warm_mode) as opened,
    ):
        opened.load(PAGE)


def test_many_files_in_a_row_use_up_nothing_of_the_graders(warm):
    def used():
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    page = notebook("import os\ndef ends(): os._exit(1)")
    before = used()
    for _ in range(20):
        with loaded(warm, page) as worker:
            assert ask(worker, "ends") == Crashed("the process ended with exit code 1")
    assert used() == before


def parent_of(sandbox):
    return sandbox._starter._parent.process.pid


def test_a_warm_parent_that_was_lost_is_replaced_and_costs_nobody_anything(warm):
    with loaded(warm, PAGE) as worker:
        os.kill(parent_of(warm), signal.SIGKILL)
        assert ask(worker, "successor", 1.0) == Returned(2.0)
        os.kill(parent_of(warm), signal.SIGKILL)
        assert ask(worker, "successor", 1.0) == Returned(2.0)
        os.kill(parent_of(warm), signal.SIGKILL)
    with loaded(warm, PAGE) as worker:
        assert ask(worker, "successor", 1.0) == Returned(2.0)


@linux_only
def test_a_warm_parent_that_is_stopped_is_replaced(monkeypatch):
    monkeypatch.setattr(processes, "CONTROL_TIMEOUT", 0.5)
    with Sandbox(LIMITS, warm=True) as sandbox:
        with loaded(sandbox, PAGE):
            os.kill(parent_of(sandbox), signal.SIGSTOP)
        monkeypatch.undo()
        with loaded(sandbox, PAGE) as worker:
            assert ask(worker, "successor", 1.0) == Returned(2.0)


@linux_only
def test_nothing_outlives_a_grader_that_is_killed():
    code = """
import sys, time
from grader.model import Question
from grader.sandbox import Sandbox
from tests.test_sandbox import PAGE, parent_of
with Sandbox(warm=True) as sandbox:
    worker = sandbox.load(PAGE)
    answer = worker.ask(Question("starts_a_process", (1.0,)))
    print(parent_of(sandbox), answer.value, sandbox._starter._parent._scratch, flush=True)
    time.sleep(1e9)
"""
    root = os.fspath(processes.__file__).rpartition("grader")[0]
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as grader:
        assert grader.stdout is not None
        *pids, scratch = grader.stdout.readline().split()
        assert len(pids) == 2
        assert all(is_running(int(pid)) for pid in pids)
        assert Path(scratch).exists()
        grader.kill()
    assert eventually(lambda: not any(is_running(int(pid)) for pid in pids))
    assert eventually(lambda: not Path(scratch).exists())
