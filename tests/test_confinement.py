"""How students' code is confined: what it sees, who it is, what the kernel refuses it."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from grader import bubblewrap, confinement
from grader.confinement import Confinement
from grader.errors import UsageError
from grader.model import Returned
from grader.sandbox import Sandbox
from grader.worker import seccomp
from tests.reachable import USER, run_python
from tests.sample_class import ROOT
from tests.sandboxed import LIMITS, ask, loaded, look, notebook

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap works on Linux only")

CLONES = [str(ROOT / name) for name in ("grader", "solutions", "tests", ".git")]
LOOKER = notebook(
    f"""
    import os, sys
    SYSTEM = ("/proc", "/usr", "/dev", sys.base_prefix)
    def files_that_hold(word):
        found = []
        for place, folders, files in os.walk("/"):
            if place.startswith(SYSTEM) or "site-packages" in place:
                folders.clear()
                continue
            for path in (os.path.join(place, name) for name in files):
                try:
                    with open(path, "rb") as file:
                        found += [path] if word.encode() in file.read(1_000_000) else []
                except OSError:
                    pass
        return found
    def answers():
        return files_that_hold("MISCONCEP" + "TIONS") + files_that_hold("BEGIN SOLU" + "TION")
    USER = os.geteuid()
    PARENT = os.getppid()
    SEEN = [path for path in {CLONES} if os.path.exists(path)]
    def written():
        done = []
        for place in ("/", "/usr", "/run", "/run/grader", "/dev", "/dev/shm", "/proc/sys", "/etc"):
            try:
                open(place + "/x", "w").close()
                done.append(place)
            except OSError:
                pass
        return done
    """
)


@pytest.fixture(scope="module")
def isolated():
    with Sandbox(LIMITS, confinement=Confinement("bubblewrap")) as opened:
        yield opened


def test_the_view_holds_no_answers_and_nothing_of_the_clone(isolated):
    with loaded(isolated, LOOKER) as worker:
        assert worker.events == []
        assert look(worker, "SEEN") == Returned(())
        assert ask(worker, "answers") == Returned(())


def test_only_the_scratch_can_be_written_to(isolated):
    with loaded(isolated, LOOKER) as worker:
        assert ask(worker, "written") == Returned(())


def test_students_code_is_no_one_and_its_parent_the_first_process(isolated):
    with loaded(isolated, LOOKER) as worker:
        assert look(worker, "PARENT") == Returned(1)
        user = look(worker, "USER").value
        assert user not in (0, os.geteuid())


@pytest.mark.parametrize(
    "call",
    [
        "os.fork()",
        "subprocess.run(['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "socket.socket()",
        "shared_memory.SharedMemory(create=True, size=10)",
        "libc('ptrace', 0, 0, 0, 0)",
        "libc('unshare', 0x10000000)",
        "libc('shmget', 0x7E57, 4096, 0o1666)",
        "libc('syscall', 425, 8, 0)",
    ],
)
def test_the_kernel_refuses_what_no_right_answer_needs(isolated, call):
    page = notebook(
        f"""
        import ctypes, os, socket, subprocess
        from multiprocessing import shared_memory
        def libc(name, *arguments):
            library = ctypes.CDLL(None, use_errno=True)
            if getattr(library, name)(*arguments) < 0:
                raise OSError(ctypes.get_errno(), name)
        def tries(number): return {call}
        def honest(number): return number
        """
    )
    with loaded(isolated, page) as worker:
        assert "OSError" in ask(worker, "tries", 1.0).kinds
        assert ask(worker, "honest", 1.0) == Returned(1.0)


def test_threads_and_event_loops_work(isolated):
    page = notebook(
        """
        import asyncio, threading
        from concurrent.futures import ThreadPoolExecutor
        async def later(number): return number + 1
        def waits(number): return asyncio.run(later(number))
        def shares(number):
            with ThreadPoolExecutor(4) as pool: return sum(pool.map(float, range(10))) + number
        """
    )
    with loaded(isolated, page) as worker:
        assert ask(worker, "waits", 1.0) == Returned(2.0)
        assert ask(worker, "shares", 1.0) == Returned(46.0)


def test_folders_of_the_batch_are_hidden_wherever_they_lie(tmp_path):
    hidden = Path(sys.prefix) / "share"
    confined = Confinement("bubblewrap", (str(hidden),))
    page = notebook(f"import os\nSEEN = os.listdir({str(hidden)!r})")
    with Sandbox(LIMITS, confinement=confined) as opened, loaded(opened, page) as worker:
        assert look(worker, "SEEN") == Returned(())


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_whole_steps_and_short_enough_for_the_kernel(machine):
    program = seccomp.program(machine)
    assert program is not None
    assert len(program) % 8 == 0
    assert len(program) // 8 < 4096


def test_a_machine_whose_calls_are_not_known_has_no_filter():
    assert seccomp.program("riscv64") is None


# --- who grades ----------------------------------------------------------------------------------

GRADE = """
import grader
report = grader.grade({page!r}, "ones_bound", isolation={isolation!r})
print(report.score, report.exercises[0].output, end="")
"""
PAGE = (
    (ROOT / "fixtures" / "hostile" / "honest.py").read_text()
    + """
import glob, os
print(os.geteuid(), [path for path in glob.glob(KEYS) if os.access(path, os.R_OK)])
"""
)


@pytest.fixture
def clone(tmp_path):
    """A copy of the clone that every user can reach, and a page that looks for its keys."""
    for name in ("grader", "solutions", "exercises"):
        shutil.copytree(ROOT / name, tmp_path / "clone" / name)
    page = tmp_path / "page.py"
    page.write_text(PAGE.replace("KEYS", repr(str(tmp_path / "clone/grader/keys/*.py"))))
    for place in (page, *page.parents):
        if place.owner() == Path(tmp_path).owner() and str(place) != "/":
            place.chmod(place.stat().st_mode | 0o555)
    return tmp_path / "clone", page


def test_an_ordinary_user_can_isolate_students_code(clone):
    root, page = clone
    code = GRADE.format(page=str(page), isolation="bubblewrap")
    finished = run_python(code, user=USER, root=root)
    assert finished.stdout == "10.0 65534 []\n", finished.stderr


def test_without_isolation_students_code_of_root_gives_up_root_and_reads_no_keys(clone):
    root, page = clone
    code = GRADE.format(page=str(page), isolation="process")
    finished = run_python(code, root=root)
    score, user, keys = finished.stdout.split()
    assert score == "10.0", finished.stderr
    if os.geteuid() == 0:
        assert int(user) >= confinement.FIRST_UID
        assert keys == "[]"


def test_answers_are_closed_to_other_users_and_nothing_else_is(tmp_path, monkeypatch):
    (tmp_path / "grader" / "keys").mkdir(parents=True)
    (tmp_path / "solutions").mkdir(mode=0o755)
    monkeypatch.setattr(confinement, "PACKAGE", tmp_path / "grader")
    confinement.close_answers()
    closed = (tmp_path / "solutions", tmp_path / "grader" / "keys")
    assert [folder.stat().st_mode & 0o777 for folder in closed] == [0o750, 0o750]
    assert (tmp_path / "grader").stat().st_mode & 0o777 == 0o755


def test_auto_without_bubblewrap_stops_and_says_what_to_do(monkeypatch):
    monkeypatch.setattr(bubblewrap, "program", lambda: None)
    bubblewrap.missing_piece.cache_clear()
    try:
        with pytest.raises(UsageError, match=r"apt-get install bubblewrap.*--isolation process"):
            confinement.chosen("auto")
    finally:
        bubblewrap.missing_piece.cache_clear()


def test_bubblewrap_that_does_not_work_says_why_in_its_own_words(monkeypatch, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text(
        "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
    )
    broken.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "program", lambda: str(broken))
    bubblewrap.missing_piece.cache_clear()
    try:
        with pytest.raises(UsageError, match="setting up uid map: Permission denied"):
            confinement.chosen("bubblewrap")
    finally:
        bubblewrap.missing_piece.cache_clear()


def test_root_is_told_which_folder_its_helpless_user_can_not_enter(monkeypatch, tmp_path):
    closed = tmp_path / "closed"
    (closed / "grader").mkdir(parents=True)
    closed.chmod(0o700)
    monkeypatch.setattr(confinement, "PACKAGE", closed / "grader")
    monkeypatch.setattr(bubblewrap, "interpreter", set)
    monkeypatch.setattr(confinement, "gives_up_root", lambda _: True)
    with pytest.raises(UsageError, match="can't enter"):
        confinement.chosen("process")
