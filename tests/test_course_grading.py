"""What a check cell is given, and what must never become a score."""

import base64
import html
import struct
from types import SimpleNamespace
from typing import Any

import nbformat
import nbgrader.api
import pytest
from nbgrader.api import Gradebook
from traitlets.config import Config

from grader.answers import picture_from
from grader.confinement import Confinement
from grader.course import execute, mend, warm
from grader.course.cells import checked_exercise
from grader.course.execute import GraderExecute
from grader.course.mend import MendCells
from grader.course.outputs import check_outputs
from grader.course.reading import UNREAD
from grader.course.settings import configure
from grader.course.warm import HANDED_IN
from grader.errors import GraderFault, UsageError
from grader.model import CheckReport, ExerciseReport, Outcome
from grader.service import Job

CHECK = 'from grader import check\n\ncheck("ones_bound")'
PNG_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
PNG, WIDE = (
    base64.b64encode(PNG_HEAD + struct.pack(">II", width, 7) + b"the rest").decode()
    for width in (7, 4_001)
)
RESOURCES = {
    "nbgrader": {"student": "ada", "assignment": "ones_bound", "notebook": "ones_bound"},
    "metadata": {"path": "."},
}


def report(score, max_score=10.0, output=""):
    """A report on ones_bound with one check."""
    outcome: Outcome = "not_determined" if score is None else "passed"
    check = CheckReport("c", "a <b>title</b>", "f", "public", max_score, score, outcome)
    note = ["the grader's own fault: a bug"] if score is None else []
    return ExerciseReport(
        "ones_bound", "f.ipynb", score, max_score, "graded", note, output, [check]
    )


def notebook(*sources, points=10):
    """A notebook of test cells with these sources."""
    cells = []
    for number, source in enumerate(sources):
        cell = nbformat.v4.new_code_cell(source, id=f"t{number}")
        cell.metadata = nbformat.from_dict(
            {"nbgrader": {"grade": True, "grade_id": f"t{number}", "points": points}}
        )
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells)


@pytest.fixture
def graded(monkeypatch):
    """Sets the report that every notebook gets."""

    def to(found):
        monkeypatch.setattr(execute, "grade_notebook", lambda *_: found)

    return to


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (CHECK, "ones_bound"),
        ("# This cell was missing.\n\n" + CHECK, "ones_bound"),
        (CHECK + "\nassert secret()", None),
        ('check("ones_bound")', None),
        ('from elsewhere import check\ncheck("ones_bound")', None),
        ('from grader import check\nprint("ones_bound")', None),
        ("from grader import check\ncheck(name)", None),
        ("%%time\n" + CHECK, None),
        ("", None),
    ],
)
def test_a_check_cell_is_the_import_and_the_call_alone(source, name):
    assert checked_exercise(source) == name


@pytest.mark.parametrize(
    ("score", "text"), [(7, "7.0"), (0.0, "0.0"), (0.1 + 0.2, repr(0.1 + 0.2))]
)
def test_the_points_are_a_plain_float(graded, score, text):
    graded(report(score))
    done, _ = GraderExecute().preprocess(notebook(CHECK), RESOURCES)
    assert done.cells[0].outputs[-1].data == {"text/plain": text}
    nbformat.validate(done)


def test_what_is_not_determined_is_no_score(graded):
    graded(report(None))
    with pytest.raises(GraderFault, match="gets no score: the grader's own fault: a bug"):
        GraderExecute().preprocess(notebook(CHECK), RESOURCES)


def test_checks_and_check_cell_must_be_worth_the_same(graded):
    graded(report(4.0, max_score=4.0))
    with pytest.raises(GraderFault, match="worth 4 points, its check cell 10"):
        GraderExecute().preprocess(notebook(CHECK), RESOURCES)


def test_a_test_cell_that_would_have_to_be_run_is_no_full_marks(graded):
    graded(report(10.0))
    with pytest.raises(GraderFault, match="t1 is not a lone check"):
        GraderExecute().preprocess(notebook(CHECK, "assert curvature(1) == 2"), RESOURCES)


def test_without_execution_nothing_is_graded():
    step = GraderExecute(config=Config({"Execute": {"enabled": False}}))  # as --no-execute has it
    with pytest.raises(GraderFault, match="leave out --no-execute"):
        step(notebook(CHECK), RESOURCES)
    step(notebook("not ours"), RESOURCES)


def test_an_unknown_exercise_is_named():
    with pytest.raises(UsageError, match="no exercise 'other'"):
        GraderExecute().preprocess(notebook(CHECK.replace("ones_bound", "other")), RESOURCES)


def test_a_student_can_not_write_html(graded):
    found = report(10.0, output="<script>&")
    table = check_outputs(found, 10.0)[0].data
    assert table["text/html"] == f"<pre>{html.escape(table['text/plain'])}</pre>"
    assert "<script>" in table["text/plain"]
    assert "<b>" in table["text/plain"]


class FakeProcess:
    """A grading process that does what the next of `answers` says."""

    def __init__(self, answers):
        self.answers, self.closed = answers, False

    def do(self, job):
        answer = self.answers.pop(0)
        if isinstance(answer, type):
            raise answer
        return answer

    def close(self):
        self.closed = True
        return "its last words"


@pytest.fixture
def processes(monkeypatch):
    """Grading processes that were started, answers for them, and the checks' fingerprint."""
    state = SimpleNamespace(started=[], answers=[], checks="1")

    def start(setup):
        state.started.append(FakeProcess(state.answers))
        return state.started[-1]

    monkeypatch.setattr(warm, "grading_process", start)
    monkeypatch.setattr(warm, "checks_fingerprint", lambda *_: state.checks)
    monkeypatch.setattr(warm, "chosen", lambda _: "own")
    monkeypatch.setattr(warm, "prepared", Confinement)
    return state


def test_one_process_grades_them_all(processes):
    process = warm.WarmProcess()
    processes.answers += ["first", "second"]
    found: list[object] = [
        process.grade(Job("a", []), "auto"),
        process.grade(Job("b", []), "auto"),
    ]
    assert found == ["first", "second"]
    process.close()
    assert [one.closed for one in processes.started] == [True]


@pytest.mark.parametrize(("end", "error"), [(None, GraderFault), (KeyboardInterrupt,) * 2])
def test_a_process_that_failed_answers_no_more(processes, end, error):
    process = warm.WarmProcess()
    processes.answers += [end, "second"]
    with pytest.raises(error):
        process.grade(Job("a", []), "auto")
    found: object = process.grade(Job("b", []), "auto")
    assert found == "second"
    assert [one.closed for one in processes.started] == [True, False]


def test_changed_checks_need_a_new_process(processes):
    process = warm.WarmProcess()
    processes.answers += ["first", "second"]
    process.grade(Job("a", []), "auto")
    processes.checks = "2"
    process.grade(Job("b", []), "auto")
    assert [one.closed for one in processes.started] == [True, False]


def test_settings_of_a_course_stay_where_ours_are_added():
    c = Config()
    c.Autograde.sanitize_preprocessors.insert(0, "nbgrader.preprocessors.LimitOutput")
    c.ClearSolutions.code_stub = {"python": "pass"}
    c.Autograde.exporter_class = "mine.Exporter"
    for _ in range(2):  # also when the lines are pasted twice
        configure(c)
    sanitize = c.Autograde.sanitize_preprocessors
    assert [step.__name__ for step in sanitize[:3]] == ["MendCells", "LimitOutput", "ClearOutput"]
    assert c.ClearSolutions.code_stub == {"python": "pass"}
    assert c.Autograde.exporter_class == "mine.Exporter"
    names = [step.__name__ for step in c.Autograde.autograde_preprocessors]
    assert names[0] == "GraderExecute"
    assert "Execute" not in names


def test_a_course_that_executes_otherwise_is_told_where_the_grader_goes():
    c = Config()
    c.Autograde.autograde_preprocessors = ["nbgrader.preprocessors.LimitOutput"]
    with pytest.raises(UsageError, match=r"put grader\.course\.execute\.GraderExecute where"):
        configure(c)


def test_grade_books_of_one_address_share_their_compiled_statements(monkeypatch, tmp_path):
    monkeypatch.setattr(nbgrader.api, "create_engine", nbgrader.api.create_engine)  # put back
    configure(Config())
    addresses = [f"sqlite:///{tmp_path / name}.db" for name in ("one", "one", "another")]
    first, second, another = map(Gradebook, addresses)
    assert first.engine is second.engine is not another.engine
    first.add_student("ada")
    second.close()
    assert [student.id for student in first.students] == ["ada"], "closing one leaves the other"
    another.close()
    first.close()
    with Gradebook(addresses[0]) as opened_again:
        assert [student.id for student in opened_again.students] == ["ada"]


def test_only_what_nbgrader_could_not_read_is_graded_as_it_was_handed_in():
    page = notebook(CHECK)
    page.metadata[HANDED_IN] = "Zm9yZ2Vk"  # a student's
    place: dict[str, Any] = {
        "nbgrader": {"db_url": "sqlite://", "notebook": "n", "assignment": "a"}
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mend, "released_cells", lambda _: {"t0": notebook(CHECK).cells[0]})
        MendCells().preprocess(page, place)
        assert HANDED_IN not in page.metadata
        place["nbgrader"][UNREAD] = b"{"
        MendCells().preprocess(page, place)
    assert warm.file_of(page) == b"{"


@pytest.mark.parametrize(
    ("reply", "picture"),
    [(None, None), ([], b""), ([PNG[:40], PNG[40:]], base64.b64decode(PNG))],
)
def test_a_picture_comes_as_texts(reply, picture):
    assert picture_from(reply) == picture


@pytest.mark.parametrize(
    "reply",
    ["text", [1], ["%%%"], [base64.b64encode(b"GIF89a").decode()], [PNG[:20]], [WIDE]],
)
def test_what_is_no_picture_is_refused(reply):
    with pytest.raises(ValueError, match=r"reply|picture|base64|Base64|padding"):
        picture_from(reply)
