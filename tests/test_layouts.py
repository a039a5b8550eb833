"""Who handed in what, in each layout that a whole class comes in."""

import io
import os
import stat
import tempfile
import unicodedata
import zipfile
from pathlib import Path

import pytest

from grader import layouts, submissions
from grader.errors import UsageError
from grader.escapes import one_line
from grader.layouts import class_at
from grader.reports.text import found_table
from grader.service import Job

WORKED = "def curvature(features):\n    return 2\n"
METADATA = """---
submission_11:
  :submitters:
  - :name: First Person
    :sid: '7'
submission_12:
  :submitters:
  - :name: Second Person
  - :name: Third Person
submission_13:
  :submitters: []
"""


def make(folder: Path, *names: str, **contents: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents.get(path.name, WORKED))
    return folder


def taken(path: Path, layout: str = "auto") -> tuple[str, dict[str, str | None]]:
    """The layout, and the file taken for `ones_bound` by student."""
    with class_at(path, layout) as found:
        return found.layout, {
            entry.student: submissions.read(entry.roots, ["ones_bound"], student=entry.student)
            .found["ones_bound"]
            .file
            for entry in found.entries
        }


def test_plain_folders_files_and_zips(tmp_path):
    make(tmp_path, "one/ones_bound.py", "two.py", "three.ipynb", "notes.md", ".git/ones_bound.py")
    with zipfile.ZipFile(tmp_path / "four.zip", "w") as archive:
        archive.writestr("x/ones_bound.py", WORKED)
    layout, found = taken(tmp_path)
    assert layout == "plain"
    assert found == {
        "one": "ones_bound.py",
        "two": None,  # one function does not tell which exercise it is for
        "three": None,
        "four": "x/ones_bound.py",
    }


def test_nbgrader_from_the_course_and_from_the_submitted_folder(tmp_path):
    names = [f"submitted/{s}/ones_bound/ones_bound.ipynb" for s in ("one", "two")]
    make(tmp_path, *names, "nbgrader_config.py", "source/ones_bound/ones_bound.ipynb")
    expected = dict.fromkeys(("one", "two"), "ones_bound/ones_bound.ipynb")
    assert taken(tmp_path) == ("nbgrader", expected)
    assert taken(tmp_path / "submitted") == ("plain", expected)
    assert taken(tmp_path / "submitted", "nbgrader") == ("nbgrader", expected)


def test_canvas_files_of_one_student_belong_together(tmp_path):
    make(
        tmp_path,
        "firstone_101_9001_ones_bound.py",
        "firstone_101_9002_tools.py",
        "secondtwo_LATE_102_9003_ones_bound-1.py",
        "thirdthree_103_9004_holiday.png",
    )
    assert taken(tmp_path) == (
        "canvas",
        {"firstone": "ones_bound.py", "secondtwo": "ones_bound-1.py", "thirdthree": None},
    )


def test_canvas_students_of_one_name_are_told_apart(tmp_path):
    make(tmp_path, "same_101_1_ones_bound.py", "same_102_2_ones_bound.py")
    assert set(taken(tmp_path)[1]) == {"same_101", "same_102"}


def test_moodle_folders_and_files(tmp_path):
    make(
        tmp_path,
        "First Person_31_assignsubmission_file_/ones_bound.py",
        "First Person_31_assignsubmission_onlinetext_/onlinetext.html",
        "Second Person_32_assignsubmission_file_ones_bound.py",
        "Third Person_33_assignsubmission_onlinetext_/onlinetext.html",
    )
    assert taken(tmp_path) == (
        "moodle",
        {
            "First Person_31": "ones_bound.py",
            "Second Person_32": "ones_bound.py",
            "Third Person_33": None,
        },
    )


def test_an_online_text_is_told_where_no_file_was_handed_in(tmp_path):
    make(
        tmp_path,
        "One_31_assignsubmission_file_/ones_bound.py",
        "One_31_assignsubmission_onlinetext_/onlinetext.html",
        "Two_32_assignsubmission_onlinetext_/onlinetext.html",
    )
    with class_at(tmp_path) as found:
        notes = {entry.student: entry.notes for entry in found.entries}
    assert notes == {"One_31": (), "Two_32": (layouts.ONLINE_TEXT,)}


@pytest.mark.parametrize(
    ("names", "students"),
    [
        (
            ["submission_metadata.yml", "submission_11/ones_bound.py", "submission_12/a.py"],
            ["First Person", "Second Person & Third Person"],
        ),
        (
            ["A_31_assignsubmission_file_/a.py", "B_32_assignsubmission_file_/a.py"],
            ["A_31", "B_32"],
        ),
        (["aa_1_2_ones_bound.py", "bb_3_4_ones_bound.py"], ["aa", "bb"]),
        (
            ["M, A(a)/Submission attachment(s)/a.py", "O, B(b)/timestamp.txt", "grades.csv"],
            ["M, A(a)", "O, B(b)"],
        ),
    ],
)
def test_a_class_that_lies_one_folder_deeper_is_read_as_one_with_a_note(tmp_path, names, students):
    make(tmp_path / "export", *names, **{"submission_metadata.yml": METADATA})
    with class_at(tmp_path) as found:
        assert [entry.student for entry in found.entries] == students
        assert found.notes == ["export holds a class, and is not read as one student's"]


@pytest.mark.parametrize("names", [["week 1/a.py", "week 2/a.py"], ["aa_1_2_x.py", "aa_1_3_y.py"]])
def test_the_only_student_of_a_class_is_one(tmp_path, names):
    make(tmp_path / "someone", *names)
    with class_at(tmp_path) as found:
        assert [entry.student for entry in found.entries] == ["someone"]
        assert found.notes == []


def test_gradescope_names_come_from_its_metadata(tmp_path):
    make(tmp_path, *(f"submission_{n}/ones_bound.py" for n in (11, 12, 13, 14)))
    (tmp_path / "submission_metadata.yml").write_text(METADATA)
    assert taken(tmp_path) == (
        "gradescope",
        {
            "First Person": "ones_bound.py",
            "Second Person & Third Person": "ones_bound.py",
            "submission_13": "ones_bound.py",
            "submission_14": "ones_bound.py",
        },
    )


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "a: [", "!!python/object/apply:os.getcwd []"])
def test_metadata_that_cannot_be_read_names_nobody(tmp_path, text):
    make(tmp_path, "submission_11/ones_bound.py")
    (tmp_path / "submission_metadata.yml").write_text(text)
    assert taken(tmp_path)[1] == {"submission_11": "ones_bound.py"}


@pytest.mark.parametrize("wrapping", ["", "export/"])
def test_a_class_in_one_zip_is_unpacked_for_as_long_as_it_is_read(tmp_path, wrapping):
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as archive:
        for number in (1, 2):
            archive.writestr(f"{wrapping}student{number}_10{number}_7_ones_bound.py", WORKED)
    with class_at(tmp_path / "submissions.zip") as found:
        paths = [path for entry in found.entries for path, _ in entry.roots]
        assert all(path.exists() for path in paths)
    assert not any(path.exists() for path in paths)
    assert taken(tmp_path / "submissions.zip") == (
        "canvas",
        {"student1": "ones_bound.py", "student2": "ones_bound.py"},
    )


def test_a_class_zip_that_is_all_there_is_in_a_folder_is_unpacked(tmp_path):
    make(tmp_path, "sub/one_101_7_ones_bound.py", "sub/two_102_7_ones_bound.py")
    with zipfile.ZipFile(tmp_path / "sub" / "submissions.zip", "w") as archive:
        for path in sorted((tmp_path / "sub").glob("*.py")):
            archive.write(path, path.name)
            path.unlink()
    both = {"one": "ones_bound.py", "two": "ones_bound.py"}
    assert taken(tmp_path / "sub") == ("canvas", both)
    assert taken(tmp_path / "sub", "plain")[1].keys() == {"submissions"}


def test_a_zip_of_one_student_is_one_student(tmp_path):
    with zipfile.ZipFile(tmp_path / "someone.zip", "w") as archive:
        archive.writestr("ones_bound.py", WORKED)
    assert taken(tmp_path / "someone.zip") == ("plain", {"someone": "ones_bound.py"})


def test_two_entries_for_one_student_are_graded_apart_with_a_note(tmp_path):
    make(tmp_path, "one.py", "one/ones_bound.py", "two/ones_bound.py")
    assert set(taken(tmp_path)[1]) == {"one (one)", "one (one.py)", "two"}
    with class_at(tmp_path) as found:
        (note,) = found.notes
        notes = {entry.student: entry.notes for entry in found.entries}
        assert Job.of(found.entries[0]).notes == (note,)
    assert "one and one.py would both be the student 'one'" in note
    assert notes == {"one (one)": (note,), "one (one.py)": (note,), "two": ()}
    assert note[:40] in found_table("plain", [], [], [], found.notes)


@pytest.mark.parametrize(
    ("names", "students"),
    [
        ((b"bob\xff", b"bob\\xff"), ["bob\\xff (bob\\xff)", "bob\\xff (bob\\xff, 2)"]),
        ((b"a\nb", b"a\\nb"), ["a\nb (a\nb)", "a\\nb (a\\nb, 2)"]),
        ((b"x.py", b"x.zip", b"x", b"x (x)"), ["x (x)", "x (x, 2)", "x (x.py)", "x (x.zip)"]),
    ],
)
def test_students_whose_names_would_read_alike_are_told_apart(tmp_path, names, students):
    for name in (*names, b"ada"):
        (tmp_path / os.fsdecode(name)).mkdir()
    with class_at(tmp_path) as found:
        assert [entry.student for entry in found.entries] == sorted(["ada", *students])
        shown = {one_line(entry.student) for entry in found.entries}
        assert len(shown) == len(names) + 1
        assert len({entry.roots[0][0] for entry in found.entries}) == len(names) + 1


def test_a_student_called_submitted_is_one_of_a_plain_class(tmp_path):
    make(tmp_path, "submitted/ones_bound.py", "submitted/a/b/x.ipynb", "ada/ones_bound.py")
    assert taken(tmp_path)[0] == "plain"
    assert taken(tmp_path)[1].keys() == {"submitted", "ada"}
    make(tmp_path / "alone", "submitted/ones_bound.py")
    assert taken(tmp_path / "alone") == ("plain", {"submitted": "ones_bound.py"})
    make(tmp_path / "course", "submitted/one/ones_bound/ones_bound.ipynb", "release/x.ipynb")
    assert taken(tmp_path / "course")[0] == "nbgrader"


def test_an_unknown_layout_and_an_empty_class_are_usage_errors(tmp_path):
    with pytest.raises(UsageError, match="there is no layout 'blackboard'; there are: auto, "):
        taken(tmp_path, "blackboard")
    with pytest.raises(UsageError, match="holds no submission"):
        taken(tmp_path)


def test_a_job_carries_paths_of_any_bytes(tmp_path):
    name = os.fsdecode(b"caf\xe9\n ones")
    make(tmp_path, f"{name}/ones_bound.py")
    with class_at(tmp_path) as found:
        (entry,) = found.entries
    job = Job.of(entry)
    assert job.paths() == list(entry.roots)
    "".join(part for root in job.roots for part in root).encode("utf-8")


def test_archives_and_doubled_endings_are_students_too_and_what_is_left_is_named(tmp_path):
    names = ("one.rar", "two.tar.gz", "three.py.txt", "Four.PY", "notes.md", "roster.csv")
    make(tmp_path, *names, "five/ones_bound.py", ".git/x.py")
    with class_at(tmp_path) as found:
        assert [entry.student for entry in found.entries] == ["Four", "five", "one", "three", "two"]
        assert found.left_out == ["notes.md", "roster.csv"]
    table = found_table("plain", [], [], found.left_out)
    assert "taken for no student's: notes.md, roster.csv" in table


def test_what_belongs_to_nobody_in_an_export_is_named(tmp_path):
    make(tmp_path, *(f"student{n}_10{n}_7_ones_bound.py" for n in (1, 2, 3)), "late arrival.py")
    with class_at(tmp_path) as found:
        assert (found.layout, found.left_out) == ("canvas", ["late arrival.py"])


def test_a_name_with_line_feeds_belongs_to_its_student(tmp_path):
    make(tmp_path, "one_101_1_ones\nbound.py\n", "two\n_102_2_x.py")
    make(tmp_path / "moodle", "A\nB_31_assignsubmission_file_/ones_bound.py")
    assert set(taken(tmp_path, "canvas")[1]) == {"one", "two\n"}
    assert set(taken(tmp_path / "moodle")[1]) == {"A\nB_31"}


@pytest.mark.parametrize("mark", [6, 10])  # version needed, way of packing
def test_a_zip_that_cannot_be_opened_is_one_students_and_unreadable(tmp_path, mark):
    with zipfile.ZipFile(tmp_path / "someone.zip", "w") as archive:
        archive.writestr("ones_bound.py", WORKED)
    data = bytearray((tmp_path / "someone.zip").read_bytes())
    data[data.index(b"PK\1\2") + mark] = 255
    (tmp_path / "someone.zip").write_bytes(data)
    with class_at(tmp_path / "someone.zip") as found:
        (entry,) = found.entries
        result = submissions.read(entry.roots, ["ones_bound"]).found["ones_bound"]
    assert result.status == "unreadable"


def test_a_class_in_a_damaged_zip_is_a_usage_error(tmp_path):
    path = tmp_path / "submissions.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for number in (1, 2):
            archive.writestr(f"student{number}_10{number}_7_ones_bound.py", WORKED)
    data = bytearray(path.read_bytes())
    data[70:80] = b"\xff" * 10
    path.write_bytes(data)
    with pytest.raises(UsageError, match="can't be unpacked"):
        taken(path)


def test_a_class_in_a_zip_that_unpacks_to_too_much_is_a_usage_error(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in (1, 2):
            archive.writestr(f"student{number}_10{number}_7_ones_bound.py", WORKED)
    assert taken(tmp_path / "submissions.zip")[0] == "canvas"
    monkeypatch.setattr(layouts, "MAX_CLASS_BYTES", len(WORKED))
    with pytest.raises(UsageError, match="too large for one class; unpack it yourself"):
        taken(tmp_path / "submissions.zip")


def test_a_pipe_is_no_class(tmp_path):
    os.mkfifo(tmp_path / "class.zip")
    assert taken(tmp_path / "class.zip") == ("plain", {"class": None})


@pytest.fixture
def opened(monkeypatch):
    """What is opened that is no ordinary file: opening it fails here, where it would wait."""
    odd: list[str] = []
    plain_open = io.open

    def watched(file, *arguments, **named):
        if (
            not isinstance(file, int)
            and Path(file).exists()
            and not stat.S_ISREG(Path(file).stat().st_mode)
        ):
            odd.append(str(file))
            raise OSError(f"{file} would have been waited for")
        return plain_open(file, *arguments, **named)

    monkeypatch.setattr(io, "open", watched)
    return odd


@pytest.mark.parametrize("name", ["ada.py", "ada.zip", "ada.ipynb"])
def test_a_pipe_alone_in_a_class_folder_is_one_students_and_not_opened(tmp_path, opened, name):
    os.mkfifo(tmp_path / name)
    assert taken(tmp_path) == ("plain", {"ada": None})
    assert opened == []


def test_a_link_alone_in_a_class_folder_is_not_followed(tmp_path):
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(tmp_path / "others.zip", "w") as archive:
        for number in (1, 2):
            archive.writestr(f"student{number}_10{number}_7_ones_bound.py", WORKED)
    (tmp_path / "class" / "ada.zip").symlink_to(tmp_path / "others.zip")
    assert taken(tmp_path / "class") == ("plain", {"ada": None})


def test_metadata_that_is_a_pipe_names_nobody(tmp_path, opened):
    make(tmp_path, "submission_11/ones_bound.py")
    os.mkfifo(tmp_path / "submission_metadata.yml")
    assert taken(tmp_path, "gradescope")[1] == {"submission_11": "ones_bound.py"}
    assert opened == []


def test_a_name_in_metadata_can_be_written_whatever_it_is(tmp_path):
    make(tmp_path, *(f"submission_{number}/ones_bound.py" for number in (1, 2, 3)))
    lists = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 7))
    (tmp_path / "submission_metadata.yml").write_text(
        f"a0: &a0 [x]\n{lists}"
        "submission_1:\n  :submitters:\n  - :name: First Person\n"
        "submission_2:\n  :submitters:\n  - :name: *a6\n"
        "submission_3:\n  :submitters:\n  - :name: [x]\n"
    )
    assert set(taken(tmp_path)[1]) == {"First Person", "submission_2", "submission_3"}
    half = 'submission_1:\n  :submitters:\n  - :name: "\\ud800 Prof"\n'
    (tmp_path / "submission_metadata.yml").write_text(half)
    "".join(taken(tmp_path)[1]).encode()


def zip_of(path: Path, *names: str, **contents: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, contents.get(name, WORKED))
    return path.parent


@pytest.mark.parametrize(
    "names",
    [
        ["submission_metadata.yml", "submission_1/ones_bound.py"],
        ["ada_1_1_ones_bound.py", "ada_1_2_tools.py"],  # one student's
        ["run_1_1_a.csv", "run_2_2_b.csv", "ones_bound.py", "tools.py"],  # most is named otherwise
        ["data/ada_1_1_x.py", "data/bob_2_1_x.py", "ones_bound.py"],
    ],
)
def test_a_students_zip_that_merely_looks_like_a_class_is_one_students(tmp_path, names):
    folder = zip_of(tmp_path / "class" / "mallory.zip", *names)
    assert taken(folder)[0] == "plain"
    assert taken(folder)[1].keys() == {"mallory"}


def test_a_class_zip_with_one_student_is_unpacked_where_its_layout_is_named(tmp_path):
    folder = zip_of(tmp_path / "class" / "all.zip", "ada_1_1_ones_bound.py")
    assert taken(folder, "canvas") == ("canvas", {"ada": "ones_bound.py"})


def test_names_in_a_class_zip_that_cannot_be_written_are_skipped_with_a_note(tmp_path):
    odd = ["x" * 300 + "_3_3_ones_bound.py", "../eve_4_4_ones_bound.py", "d/" * 2_000 + "x.py"]
    odd.append("ada_1_1_ones_bound.py/below.py")
    folder = zip_of(
        tmp_path / "class" / "all.zip", "ada_1_1_ones_bound.py", "bob_2_2_ones_bound.py", *odd
    )
    before = sorted(tmp_path.rglob("*"))
    for place in (folder, folder / "all.zip"):
        assert taken(place) == ("canvas", {"ada": "ones_bound.py", "bob": "ones_bound.py"})
        with class_at(place) as found:
            said = "\n".join(found.notes)
        assert len(found.notes) == len(odd)
        assert f"{'x' * 60}...{'x' * 32}_3_3_ones_bound.py was left out: File name too long" in said
        assert tempfile.gettempdir() not in said
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("names", [("ada", "bob"), ("x" * 300, "y" * 300)])
def test_a_zip_alone_in_a_class_folder_is_somebodys_whatever_it_holds(tmp_path, names):
    entries = [f"{name}_{number}_1_ones_bound.py" for number, name in enumerate(names)]
    folder = zip_of(tmp_path / "class" / "mallory.zip", *entries)
    path = folder / "mallory.zip"
    data = path.read_bytes()
    if names == ("ada", "bob"):
        path.write_bytes(data.replace(b"return 2", b"return 3"))  # and its checksum is wrong
        with pytest.raises(UsageError, match=r"mallory\.zip can't be unpacked: Bad CRC-32"):
            taken(path)
    with class_at(folder) as found:
        assert [entry.student for entry in found.entries] == ["mallory"]
    assert "mallory.zip looks like a class, and was read as one student's" in found.notes[-1]


@pytest.mark.parametrize("lie", [False, True])
def test_the_list_of_a_class_zip_is_bounded_before_it_is_parsed(tmp_path, monkeypatch, lie):
    folder = zip_of(tmp_path / "class" / "all.zip", *(f"s{n}_{n}_1_x.py" for n in range(300)))
    if lie:
        data = bytearray((folder / "all.zip").read_bytes())
        data[-14:-10] = b"\1\0\1\0"  # one entry, it says
        (folder / "all.zip").write_bytes(data)
    assert len(taken(folder)[1]) == 300
    monkeypatch.setattr(layouts, "MAX_CLASS_ENTRIES", 299)
    parsed: list[Path] = []
    monkeypatch.setattr(zipfile.ZipFile, "__init__", lambda _, file: parsed.append(file))
    with class_at(folder) as found:
        assert [entry.student for entry in found.entries] == ["all"]
    assert parsed == []


def test_a_hidden_folder_is_told_where_it_may_be_a_students(tmp_path):
    make(tmp_path, "anna/ones_bound.py", ".bert/ones_bound.py", ".git/config")
    with class_at(tmp_path) as found:
        assert [entry.student for entry in found.entries] == ["anna"]
        assert found.left_out == [".bert"]


def test_a_link_to_a_name_that_is_too_long_costs_itself_alone(tmp_path):
    make(tmp_path / "class", "ann/ones_bound.py")
    (tmp_path / "class" / "zed").symlink_to("x" * 300)
    assert taken(tmp_path / "class") == ("plain", {"ann": "ones_bound.py", "zed": None})
    make(tmp_path / "one", "ann/ones_bound.py")
    (tmp_path / "one" / "ann" / "link").symlink_to("x" * 300)
    assert taken(tmp_path / "one") == ("plain", {"ann": "ones_bound.py"})


def test_names_in_two_forms_of_one_letter_are_told_apart(tmp_path):
    make(tmp_path, "Jos\u00e9/ones_bound.py", "Jose\u0301/ones_bound.py")
    with class_at(tmp_path) as found:
        read = {unicodedata.normalize("NFC", entry.student) for entry in found.entries}
        assert len(read) == 2  # also to the eye
        assert all("would both be the student" in note for note in found.notes)
        assert found.notes


@pytest.mark.parametrize(
    "value", ["!!bool maybe", "!!int ''", "!!timestamp x", "1" + ":59" * 100_000]
)
def test_metadata_of_any_content_stops_no_class(tmp_path, value):
    (tmp_path / "submission_1").mkdir()
    (tmp_path / "submission_1" / "ones_bound.py").write_text("x = 1\n")
    (tmp_path / "submission_metadata.yml").write_text(f"a: {value}\n")
    with class_at(tmp_path) as found:
        assert len(found.entries) == 1


def test_a_link_of_the_metadatas_name_that_leads_too_far_stops_no_class(tmp_path):
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "ones_bound.py").write_text("x = 1\n")
    (tmp_path / "submission_metadata.yml").symlink_to("x" * 300)
    with class_at(tmp_path) as found:
        assert "ann" in [entry.student for entry in found.entries]


def test_a_link_called_submitted_makes_no_course_of_a_class(tmp_path):
    make(tmp_path / "elsewhere", "bob/ones_bound.py")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "submitted").symlink_to(tmp_path / "elsewhere")
    with class_at(tmp_path / "class") as found:
        assert "bob" not in [entry.student for entry in found.entries]


def test_hand_ins_beside_a_course_are_named(tmp_path):
    make(tmp_path, "submitted/bob/ones_bound/ones_bound.ipynb", "ann/ones_bound.py", "cyd.zip")
    make(tmp_path, "nbgrader_config.py", "source/ones_bound/ones_bound.ipynb", "gradebook.db")
    with class_at(tmp_path) as found:
        assert [entry.student for entry in found.entries] == ["bob"]
        assert found.left_out == ["ann", "cyd.zip"]


def test_a_file_whose_own_name_looks_like_moodles_is_its_students(tmp_path):
    inner = "Bea One_1_assignsubmission_file_ones_bound.py"
    make(tmp_path, f"Mal Lory_2_assignsubmission_file_{inner}")
    make(tmp_path, "Bea One_1_assignsubmission_file_ones_bound.py")
    assert set(taken(tmp_path)[1]) == {"Bea One_1", "Mal Lory_2"}


def test_names_that_differ_in_blanks_alone_are_told_apart(tmp_path):
    make(tmp_path, "ann/ones_bound.py", "ann .py", "ann  lee.py", "ann lee/ones_bound.py")
    with class_at(tmp_path) as found:
        assert len({" ".join(entry.student.split()) for entry in found.entries}) == 4
        assert len(found.notes) == 2


@pytest.mark.parametrize("metadata", ["a: [", "submission_1:\n  :submitters: []\n"])
def test_folders_that_the_metadata_does_not_name_are_told(tmp_path, metadata):
    make(tmp_path, "submission_1/ones_bound.py", "submission_2/ones_bound.py")
    (tmp_path / "submission_metadata.yml").write_text(metadata)
    with class_at(tmp_path) as found:
        (note,) = found.notes
        assert "names nobody for submission_1 and 1 more: they go by their folders" in note


def test_metadata_without_gradescopes_folders_makes_no_export(tmp_path):
    make(tmp_path, "ann/ones_bound.py", "submission_metadata.yml")
    assert taken(tmp_path) == ("plain", {"ann": "ones_bound.py"})
