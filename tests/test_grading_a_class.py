"""`grader grade` and `grader report` on the sample class, as an instructor runs them."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from grader import batch, catalogue, layouts, results
from grader.confinement import Confinement
from grader.model import CheckReport, ExerciseReport, Report
from grader.pool import Process
from grader.reports.text import class_table
from grader.sandbox import Limits
from grader.service import Job, Setup
from tests.installed import install_wheel
from tests.sample_class import CLASS, ROOT, expected, handed_in, reports_in, run_grader

EXERCISES = catalogue.names()
ALL = expected()
PROBE = "def curvature(features):\n    return 2 * (features**2).mean()\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class graded once, by two workers: the finished process and its folder."""
    out = tmp_path_factory.mktemp("graded")
    return run_grader("grade", CLASS, "--out", out, "--workers", 2), out


def test_the_sample_class_gets_its_expected_reports(graded):
    finished, out = graded
    assert finished.returncode == 0, finished.stderr
    assert handed_in(reports_in(out)) == expected(), (
        "look at the change, then: python tests/sample_class.py"
    )


def test_the_table_names_every_student_with_score_and_misconception(graded):
    table = graded[0].stdout.split("\n\n")[1]  # after the table of what was found
    for student, report in expected().items():
        line = next(line for line in table.splitlines() if line.startswith(student))
        assert f"{report['score']:g}/{report['max_score']:g}" in line
    assert "forgot_factor_two" in table


def test_the_summary_has_a_row_a_student(graded):
    rows = list(csv.DictReader(io.StringIO((graded[1] / "summary.csv").read_text())))
    assert list(rows[0]) == ["student", "score", "max_score", *EXERCISES]
    found = {row["student"]: float(row["score"]) for row in rows}
    assert found == {student: report["score"] for student, report in expected().items()}


def test_results_are_strict_json_sorted_by_student(graded):
    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no strict JSON")

    lines = (graded[1] / "results.jsonl").read_text().splitlines()
    reports = [json.loads(line, parse_constant=refuse) for line in lines]
    students = [report["student"] for report in reports]
    assert students == sorted(students)
    for report in reports:
        assert report["schema"] == 1
        assert set(report["versions"]) == {"grader", "python", "jax", "numpy", "hypothesis"}


def only(name: str) -> dict[str, dict]:
    """The expected report of one exercise, by student who handed it in."""
    return {
        student: exercise
        for student, report in ALL.items()
        for exercise in report["exercises"]
        if exercise["name"] == name
    }


def test_one_worker_another_order_and_a_named_exercise_change_nothing(tmp_path):
    shuffled = tmp_path / "class"
    shuffled.mkdir()
    names = {path.name: path for path in CLASS.iterdir()}
    for name in sorted(names, reverse=True):
        copy = shutil.copytree if names[name].is_dir() else shutil.copy
        copy(names[name], shuffled / name)
    out = tmp_path / "out"
    finished = run_grader("grade", shuffled, "--out", out, "--exercise", "ones_bound")
    assert finished.returncode == 0, finished.stderr
    reports = handed_in(reports_in(out))
    found = {student: report["exercises"] for student, report in reports.items()}
    found = {student: exercises for student, exercises in found.items() if exercises}
    # A script of any name is taken for the exercise that was named, which is said in no note.
    del found["exits_at_import"]
    assert found == {
        student: [report] for student, report in only("ones_bound").items() if student in found
    }


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A Python that has the wheel installed, beside the dependencies of this one."""
    return install_wheel(tmp_path_factory.mktemp("installed"))


def test_an_installed_wheel_runs_public_checks_only(installed, tmp_path):
    python, site = installed
    assert not (site / "grader" / "keys").exists()
    page = tmp_path / "ones_bound.py"
    page.write_text(PROBE)
    arguments = ("--out", tmp_path / "out", "--exercise", "ones_bound")
    finished = run_grader("grade", page, *arguments, python=python)
    assert "only public checks run" in finished.stderr
    (report,) = reports_in(tmp_path / "out").values()
    assert {check["visibility"] for check in report["exercises"][0]["checks"]} == {"public"}


def test_an_installed_wheel_names_misconceptions_by_what_ships(installed, tmp_path):
    page = tmp_path / "ones_bound.py"
    page.write_text(PROBE.replace("2 * ", ""))
    finished = run_grader("check", page, python=installed[0])
    assert finished.returncode == 1
    assert "forgot_factor_two" in finished.stdout


def test_an_installed_wheel_with_keys_gives_the_same_reports(installed, tmp_path):
    python, site = installed
    for room in ("keys", "exact"):
        shutil.copytree(ROOT / "grader" / room, site / "grader" / room)
    try:
        out = tmp_path / "out"
        finished = run_grader("grade", CLASS, "--out", out, "--workers", 2, python=python)
    finally:
        for room in ("keys", "exact"):
            shutil.rmtree(site / "grader" / room)
    assert finished.returncode == 0, finished.stderr
    assert handed_in(reports_in(out)) == expected()


def raw_reports(out: Path) -> dict[str, dict]:
    lines = (out / "results.jsonl").read_bytes().splitlines()
    return {report["student"]: report for report in map(msgspec.json.decode, lines)}


def test_a_second_run_grades_only_what_changed(tmp_path):
    class_folder, out = tmp_path / "class", tmp_path / "out"
    for student in ("one", "two"):
        (class_folder / student).mkdir(parents=True)
        (class_folder / student / "ones_bound.py").write_text(PROBE)
    run_grader("grade", class_folder, "--out", out)
    first = raw_reports(out)
    marked = [msgspec.json.encode(report | {"seconds": 999.0}) for report in first.values()]
    (out / "results.jsonl").write_bytes(b"".join(line + b"\n" for line in marked))
    (class_folder / "two" / "ones_bound.py").write_text(PROBE + "\nPREDICTED_CEILING = 1\n")
    run_grader("grade", class_folder, "--out", out)
    second = raw_reports(out)
    assert second["one"]["seconds"] == 999.0  # taken over from the first run
    assert second["two"]["seconds"] != 999.0
    assert second["two"]["score"] == first["two"]["score"] + 1
    run_grader("grade", class_folder, "--out", out, "--force")
    assert raw_reports(out)["one"]["seconds"] != 999.0


def test_a_line_that_a_crash_left_unfinished_is_not_trusted(tmp_path, graded):
    lines = (graded[1] / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "results.partial.jsonl").write_bytes(lines[0] + lines[1][:-40])
    files = results.ResultFiles(tmp_path)
    assert [report.student for report in files.trusted()] == [sorted(expected())[0]]
    files.append(msgspec.json.decode(lines[2], type=Report))
    assert [report.student for report in files.trusted()] == [
        sorted(expected())[0],
        sorted(expected())[2],
    ]


def test_a_grading_process_that_dies_costs_no_marks_and_stops_no_one(tmp_path, monkeypatch):
    for student in ("first", "second"):
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "ones_bound.py").write_text(PROBE)
    do = Process.do

    def dying(self, job: Job) -> Report | None:
        if job.student == "first":
            self._process.kill()
        return do(self, job)

    monkeypatch.setattr(Process, "do", dying)
    setup = Setup(["ones_bound"], Limits(), Confinement("own"))
    files = results.ResultFiles(tmp_path / "out")
    with layouts.class_at(tmp_path / "class") as found:
        jobs = [batch.outlined(entry, setup) for entry in found.entries]
        first, second = batch.grade_class(jobs, setup, files, 1, lambda report: None)
    assert first.score is None
    assert first.exercises[0].status == "not_graded"
    assert {check.outcome for check in first.exercises[0].checks} == {"not_determined"}
    assert second.score is not None
    assert second.score > 0
    monkeypatch.undo()
    again: list[float | None] = []
    first, _ = batch.grade_class(jobs, setup, files, 1, lambda report: again.append(report.score))
    assert first.score == second.score, "what was no fault of the student's is tried again"
    assert len(again) == 2


def test_a_submission_that_the_reader_fails_on_stops_no_one(tmp_path, monkeypatch):
    def failing(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(batch, "read", failing)
    setup = Setup(["ones_bound"], Limits(), Confinement("own"))
    job, outline = batch.outlined(layouts.Entry("anna", ((tmp_path, "anna"),)), setup)
    assert job.student == outline.student == "anna"
    assert outline.files == {"ones_bound": "not_graded"}


def test_a_page_that_fails_on_every_line_is_told_so_in_a_bounded_number_of_notes(tmp_path):
    (tmp_path / "ones_bound.py").write_text(PROBE + "1 / 0\n" * 300)
    run_grader("grade", tmp_path / "ones_bound.py", "--out", tmp_path / "out", "--force")
    (report,) = reports_in(tmp_path / "out").values()
    notes = report["exercises"][EXERCISES.index("ones_bound")]["notes"]
    assert len(notes) == 52
    assert notes[-2] == "... and 250 more that went wrong in loading"


def test_a_score_that_is_not_determined_is_blank_in_the_summary_and_a_dash_in_the_table(graded):
    from grader.reports import table, text

    report = results.read_results(graded[1])[0]
    first = msgspec.structs.replace(report.exercises[0], score=None, status="not_graded")
    exercises = [first, *report.exercises[1:]]
    report = msgspec.structs.replace(report, score=None, exercises=exercises)
    assert table.summary_csv([report]).splitlines()[1].startswith(f"{report.student},,146,,")
    assert "-/146" in text.class_table([report])


@pytest.mark.parametrize(
    ("message", "notes", "remark"),
    [
        ("line 3: syntax error (no Python); lost", True, "line 3: syntax error"),
        ("still the scaffold's", False, "not attempted"),
    ],
)
def test_the_table_says_in_short_why_nothing_counts(message, notes, remark):
    check = CheckReport("a", "b", "f", "public", 1, 0, "not_attempted", message=message)
    exercise = ExerciseReport(
        "x", "x.py", 0, 1, "graded", [message] if notes else [], "", checks=[check]
    )
    nothing = msgspec.structs.replace(
        exercise, file=None, status="missing", notes=["only todo1.py"]
    )
    reports = [Report("s", 0, 1, 0, {}, [], [each]) for each in (exercise, nothing)]
    lines = class_table(reports).splitlines()
    assert lines[1].endswith(f"  {remark}")
    assert lines[2].endswith("  nothing taken (see the report)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such/place"], "there is no file or folder 'no/such/place'"),
        ([CLASS, "--exercise", "two_bounds"], "there is no exercise 'two_bounds'; there are: "),
        ([ROOT / "LICENSE"], "there is no file or folder"),
        (["q" * 300], "File name too long"),
    ],
)
def test_a_wrong_call_is_told_in_one_line_and_exits_2(arguments, message, tmp_path):
    if arguments[0] == ROOT / "LICENSE":
        arguments = [tmp_path / "empty"]
    finished = run_grader("grade", *arguments, "--out", tmp_path / "out")
    assert finished.returncode == 2
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr


def test_an_empty_class_is_a_usage_error(tmp_path):
    (tmp_path / "class").mkdir()
    finished = run_grader("grade", tmp_path / "class", "--out", tmp_path / "out")
    assert finished.returncode == 2
    assert "holds no submission" in finished.stderr


def test_students_with_odd_names_are_graded_and_written_safely(tmp_path):
    names = ["=1+1", "line\nfeed", "\u202egnp.exe", "spaced name", "naïve-姓"]
    for name in names:
        (tmp_path / "class" / name).mkdir(parents=True)
    (tmp_path / "class" / "=1+1" / "ones_bound.py").write_text(PROBE)
    finished = subprocess.run(
        [sys.executable, "-P", "-m", "grader", "grade", "class", "--out", "out"],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    table, _, _ = finished.stdout.split(b"\n\n")[1].partition(b"nobody handed in")
    assert len(table.splitlines()) == 1 + len(names)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "summary.csv").read_text("utf-8"))))
    students = {row["student"] for row in rows}
    assert students == {"'=1+1", "line\\nfeed", "\\u202egnp.exe", "spaced name", "naïve-姓"}
    assert set(raw_reports(tmp_path / "out")) == set(names)


def test_doubled_students_are_graded_apart_and_their_names_escaped_in_messages(tmp_path):
    for name in ("\x1b[2Jone", "\x1b[2Jone.py"):
        (tmp_path / "class" / name).mkdir(parents=True)
    finished = run_grader("grade", tmp_path / "class", "--out", tmp_path / "out")
    assert finished.returncode == 0
    assert "\x1b" not in finished.stdout
    assert "\\x1b[2Jone and \\x1b[2Jone.py would both be the student" in finished.stdout
    reports = reports_in(tmp_path / "out")
    assert set(reports) == {"\x1b[2Jone (\x1b[2Jone)", "\x1b[2Jone (\x1b[2Jone.py)"}
    assert all("graded apart" in report["notes"][0] for report in reports.values())


def test_a_note_is_one_line_whatever_it_names():
    from grader.reports import text

    note = "a\n  ok  3/3  b\u2028c\x85d.py was taken"
    report = ExerciseReport("ones_bound", "x", 0.0, 10.0, "graded", [note], "", [])
    lines = text.exercise_text(report, for_student=True).splitlines()
    assert lines[1:] == ["  note: a\\n  ok  3/3  b\\u2028c\\x85d.py was taken"]


def test_a_students_text_hides_what_hidden_checks_expect(graded):
    student = run_grader("report", graded[1], "--to", "text", "--for", "student").stdout
    instructor = run_grader("report", graded[1], "--to", "text").stdout
    hidden = "curvature is the second derivative of the loss, for any features\n    input:"
    shown = student[student.rindex(hidden) :].split("\n\n")[0]
    assert "got:" in shown
    assert "due:" not in shown
    assert "due:" in instructor[instructor.rindex(hidden) :].split("\n\n")[0]


def test_reports_go_to_files_where_asked(graded, tmp_path):
    for kind, name in (("csv", "summary.csv"), ("text", "report.txt")):
        finished = run_grader("report", graded[1], "--to", kind, "--out", tmp_path)
        assert finished.returncode == 0
        assert (tmp_path / name).stat().st_size > 100
    assert run_grader("report", tmp_path, "--to", "text").returncode == 2


def test_doctor_tells_what_this_machine_offers():
    finished = run_grader("doctor")
    assert finished.returncode == 0
    for word in (
        "versions:",
        "nan_input, ones_bound",
        "keys: all here",
        "isolation:",
        "speed:",
    ):
        assert word in finished.stdout


def test_results_within_the_class_are_no_student(tmp_path):
    (tmp_path / "anna.py").write_text(PROBE)
    for _ in range(2):
        out = ("--out", tmp_path / "out", "--exercise", "ones_bound", "--force")
        assert run_grader("grade", tmp_path, *out).returncode == 0
        assert list(reports_in(tmp_path / "out")) == ["anna"]


def test_no_two_names_are_the_same_in_the_summary():
    from grader.reports.table import no_formula

    names = ["=q", "'=q", "''=q", "q", "'q", "-1", "@a", "\uff1dq"]
    shown = [no_formula(name) for name in names]
    assert len(set(shown)) == len(names)
    assert not any(name.startswith(("=", "+", "-", "@", "\uff1d")) for name in shown)
