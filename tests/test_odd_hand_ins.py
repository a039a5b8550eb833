"""What students who are bad with files really hand in, and what tries to break the reader.

`fixtures/odd/CASE/` holds what was handed in (`handed_in/`, or a file `handed_in.*`) and
`expected.json`: for each exercise its status, score, file taken, and words that must be told (in a
note, or in a check's message); where there are none, nothing is noted. A new case is a new folder;
files of the course in it are links to `exercises/`, so that they stay the course's. What can't live
in a repository is built here.
"""

import csv
import io
import json
import os
import resource
import shutil
import socket
import tarfile
import zipfile
from pathlib import Path

import pytest

from grader import catalogue
from tests.sample_class import ROOT, run_grader

ODD = ROOT / "fixtures" / "odd"
CASES = sorted(path.name for path in ODD.iterdir())
HONEST = (ROOT / "fixtures" / "hostile" / "honest.py").read_text()
HOW = ("--exercise", "ones_bound", "--workers", 1)
STATUSES = ("graded", "missing", "ambiguous", "unreadable")


def refuse(text: str) -> None:
    raise AssertionError(f"{text} is no strict JSON")


def graded(folder: Path, out: Path, *options: object) -> dict[str, dict]:
    """The reports by student, after a look at all that was written and shown."""
    finished = run_grader("grade", folder, "--out", out, *HOW, *options)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    lines = (out / "results.jsonl").read_bytes().split(b"\n")[:-1]
    reports = [json.loads(line.decode("utf-8"), parse_constant=refuse) for line in lines]
    summary = (out / "summary.csv").read_bytes().decode("utf-8")
    assert len(list(csv.DictReader(io.StringIO(summary)))) == len(reports)
    for audience in ("student", "instructor"):
        shown = run_grader("report", out, "--to", "text", "--for", audience)
        assert shown.returncode == 0, shown.stderr
        for said in (finished.stdout, finished.stderr, shown.stdout, shown.stderr):
            assert "Traceback" not in said
            assert all(character.isprintable() or character == "\n" for character in said)
    return {report["student"]: report for report in reports}


def told(report: dict) -> list[str]:
    """Everything that the report says in words."""
    said = list(report["notes"])
    for exercise in report["exercises"]:
        said += [*exercise["notes"], *(check["message"] for check in exercise["checks"])]
    return [text for text in said if text]


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """All cases as one class, graded in one batch."""
    folder = tmp_path_factory.mktemp("odd")
    for case in CASES:
        (path,) = (ODD / case).glob("handed_in*")
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, folder / path.name.replace("handed_in", case, 1))
    return graded(folder, tmp_path_factory.mktemp("out"))


@pytest.mark.parametrize("case", CASES)
def test_what_is_handed_in_gets_what_it_deserves_and_is_told_why(handed_in, case):
    report = handed_in[case]
    for name, expected in json.loads((ODD / case / "expected.json").read_text()).items():
        (found,) = (exercise for exercise in report["exercises"] if exercise["name"] == name)
        assert (found["status"], found["score"]) == (expected["status"], expected["score"]), report
        assert found["file"] == expected.get("file", found["file"])
        said = told(report)
        assert [words for words in expected["notes"] if not any(words in s for s in said)] == []
        if not expected["notes"]:
            assert report["notes"] == found["notes"] == []
            assert found["score"] == found["max_score"], "no points are lost without a word"


# --- what can't live in a repository --------------------------------------------------------------


def zipped(entries: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def notebook(*cells: object, **more: object) -> str:
    listed = [{"cell_type": "code", "source": cell} for cell in cells]
    return json.dumps({"nbformat": 4, "cells": listed} | more)


def bomb(size: int) -> bytes:
    return zipped({"ones_bound.py": b"\n" * size})


def nested(depth: int) -> bytes:
    data = zipped({"ones_bound.py": HONEST})
    for level in range(depth):
        data = zipped({f"{level}.zip": data})
    return data


def lying_about_size() -> bytes:
    data = bytearray(bomb(1_000_000))
    place = data.index(b"PK\1\2") + 24
    data[place : place + 4] = (9).to_bytes(4, "little")
    return bytes(data)


def patched(data: bytes, mark: bytes, offset: int, value: bytes) -> bytes:
    changed = bytearray(data)
    place = changed.index(mark) + offset
    changed[place : place + len(value)] = value
    return bytes(changed)


def overlapping() -> bytes:
    """Many names for one and the same content."""
    data = zipped({f"{number:04}.py": b"#" * 9_000 for number in range(500)})
    first = b"PK\1\2"
    parts = data.split(first)
    return first.join([parts[0], *(part[:38] + b"\0\0\0\0" + part[42:] for part in parts[1:])])


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("../ones_bound.py")
        info.size = len(HONEST)
        archive.addfile(info, io.BytesIO(HONEST.encode()))
    return out.getvalue()


def encrypted() -> bytes:
    data = patched(zipped({"ones_bound.py": HONEST}), b"PK\3\4", 6, b"\1")
    return patched(data, b"PK\1\2", 8, b"\1")


LONG = "n" * 252 + ".py"
MARKUP = "<script>alert(1)</script>".replace("/", "\u2215")
RUINS = 'HALF = "\\ud800"\nprint(HALF, "\\x1b[2J", "\\0")\n'
PLAIN_ZIP = zipped({"ones_bound.py": HONEST})
FILES: dict[str, dict[str, str | bytes]] = {
    # zips
    "bomb": {"a.zip": bomb(500_000_000)},
    "bomb_in_a_zip": {"a.zip": zipped({"b.zip": bomb(50_000_000)})},
    "many_zips_in_a_zip": {"a.zip": zipped({f"{k}.zip": PLAIN_ZIP for k in range(400)})},
    "zips_in_zips": {"a.zip": nested(9)},
    "lies_about_its_size": {"a.zip": lying_about_size()},
    "names_that_overlap": {"a.zip": overlapping()},
    "encrypted": {"a.zip": encrypted()},
    "from_the_future": {"a.zip": patched(PLAIN_ZIP, b"PK\1\2", 6, b"\xff")},
    "unknown_method": {"a.zip": patched(PLAIN_ZIP, b"PK\1\2", 10, b"\x63")},
    "nameless_entry": {"a.zip": patched(zipped({"x": HONEST}), b"PK\1\2", 46, b"\0")},
    "name_that_is_no_utf8": {
        "a.zip": patched(zipped({"\xe9\xe9.py": HONEST}), b"PK\1\2", 46, b"\xff")
    },
    "broken_lzma": {
        "a.zip": patched(
            zipped({"ones_bound.py": HONEST}, zipfile.ZIP_LZMA), b"ones", 20, b"\xff" * 9
        )
    },
    "broken_bzip2": {
        "a.zip": patched(
            zipped({"ones_bound.py": HONEST}, zipfile.ZIP_BZIP2), b"ones", 20, b"\0" * 9
        )
    },
    "names_outside": {
        "a.zip": zipped(
            dict.fromkeys(("/etc/x.py", "../../x.py", "C:\\x.py", "..\\y.py", "a/.."), "x")
        )
    },
    "names_that_are_odd": {
        "a.zip": zipped({"\x1b[2J.py": HONEST, "a\nb.py": "x", "\u202e.py": "y", "d" * 2_000: "z"})
    },
    "ten_thousand_entries": {"a.zip": zipped({f"{k}.py": "" for k in range(10_000)})},
    "only_a_head": {"a.zip": b"PK\3\4"},
    "cut_off": {"a.zip": PLAIN_ZIP[:-30]},
    # other archives and documents
    "tar": {"a.tar": tarred()},
    "tar_named_as_a_script": {"ones_bound.py": tarred()},
    "rar": {"a.rar": b"Rar!\x1a\7\0" + b"\0" * 99},
    "seven_zip": {"a.7z": b"7z\xbc\xaf\x27\x1c" + b"\0" * 99},
    "word": {"a.docx": zipped({"[Content_Types].xml": "<x/>"})},
    "pdf": {"ones_bound.py": b"%PDF-1.7\n" + b"\xff" * 99},
    # notebooks
    "deep_json": {"ones_bound.ipynb": '{"cells":' + "[" * 900_000},
    "deep_json_that_ends": {"ones_bound.ipynb": '{"cells":' + "[" * 50_000 + "]" * 50_000 + "}"},
    "cells_without_end": {"ones_bound.ipynb": '{"cells":[' + "{}," * 1_000_000 + "{}]}"},
    "cells_are_no_list": {"ones_bound.ipynb": '{"nbformat": 4, "cells": {"a": 1}}'},
    "cells_are_numbers": {"ones_bound.ipynb": '{"nbformat": 4, "cells": [1, null, "x"]}'},
    "sources_are_numbers": {"ones_bound.ipynb": notebook(1, 2.5, None)},
    "sources_are_lists_of_lists": {"ones_bound.ipynb": notebook([["x"]], [{"a": 1}])},
    "kinds_are_lists": {"ones_bound.ipynb": '{"cells": [{"cell_type": [], "source": "x"}]}'},
    "huge_numbers": {"ones_bound.ipynb": notebook(HONEST).replace("4", "9" * 100_000, 1)},
    "no_numbers": {"ones_bound.ipynb": notebook(HONEST, nbformat_minor=float("nan"))},
    "keys_that_are_doubled": {"ones_bound.ipynb": '{"cells": [], ' + notebook(HONEST)[1:]},
    "of_a_later_format": {"ones_bound.ipynb": notebook(HONEST, nbformat=99)},
    "of_a_format_before_all": {"ones_bound.ipynb": '{"nbformat": -9, "worksheets": [{}]}'},
    "halves_in_a_notebook": {"ones_bound.ipynb": notebook("%%html \ud800", "# \udfff", HONEST)},
    "truncated": {"ones_bound.ipynb": notebook(HONEST)[:-40]},
    "nulls_in_a_notebook": {"ones_bound.ipynb": notebook(HONEST).encode().replace(b" ", b"\0")},
    "null_in_a_source": {"ones_bound.ipynb": notebook("x = '\0'", HONEST)},
    # scripts
    "nulls": {"ones_bound.py": HONEST.encode() + b"\0"},
    "million_lines": {"ones_bound.py": "x = 1\n" * 1_000_000},
    "million_cells": {"ones_bound.py": "# %%\nx = 1\n" * 1_000_000},
    "million_braces": {"ones_bound.py": "(" * 1_000_000},
    "million_minus_signs": {"ones_bound.py": "x = " + "-" * 1_000_000 + "1"},
    "million_magics": {"ones_bound.py": "%a\n" * 300_000},
    "no_utf8": {"ones_bound.py": b"# ok\n\xff\xfe\xfd"},
    "punycode": {"ones_bound.py": b"# coding: punycode\n" + b"a" * 99_999 + b"-99999a" * 9_999},
    "escapes_as_encoding": {"ones_bound.py": "# coding: unicode_escape\nx = '\\ud800'\n" + HONEST},
    "utf7": {"ones_bound.py": b"# coding: utf-7\nx = '+2AA-'\n"},
    "too_large": {"ones_bound.py": b"#" * (21 << 20)},
    "halves_in_texts": {"ones_bound.py": HONEST + RUINS},
    "halves_in_exceptions": {
        "ones_bound.py": HONEST + 'raise ValueError("\\udc80\\x1b]0;x\\a\\n=1")'
    },
    "halves_in_answers": {"ones_bound.py": 'def curvature(f): return "\\ud800\\n=1\\x1b[2J"\n'},
    "halves_in_names": {"ones_bound.py": HONEST + 'raise type("\\ud800", (Exception,), {})()'},
    "huge_answers": {
        "ones_bound.py": "def curvature(f): return 10 ** 400\nPREDICTED_CEILING = 9**9999"
    },
    # names
    "long_name": {LONG: HONEST},
    "markup_in_a_name": {f"{MARKUP}.py": HONEST},
    "line_feeds_in_a_name": {"ones_bound\n  ok  10  all.py": HONEST, "a\rb.py": ""},
    "escapes_in_a_name": {"\x1b[31mones\x07.py": HONEST},
    "half_a_character_in_a_name": {os.fsdecode(b"ones_bound (\xff\xed\xa0\x80).py"): HONEST},
    "formula_in_a_name": {"=cmd|' !A1.py": HONEST},
    "same_name_in_another_case": {"ones_bound.py": HONEST, "ONES_BOUND.PY": HONEST},
}
ENTRIES = {  # whole entries of the class, by name
    b"=HYPERLINK(1).py": HONEST,
    b"\x1b[2Jcleared.py": HONEST,
    b'two\nlines,"quoted".py': HONEST,
    b"no \xff utf-8.py": HONEST,
    "<b>\u202ebold</b>".replace("/", "\u2215").encode() + b".py": HONEST,
    b"@sum": "",
    b"e" * 252 + b".py": HONEST,
    b"archive.rar": "Rar!\x1a\7\0",
}


def odd_things(folder: Path) -> None:
    """What is no file at all, or refers to what lies outside."""
    things = folder / "things"
    things.mkdir()
    os.mkfifo(things / "ones_bound.py")
    (things / "ones_bound.ipynb").symlink_to("/dev/zero")
    (things / "loop").symlink_to(things, target_is_directory=True)
    (things / "itself.py").symlink_to("itself.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(things / "s.py"))
    links = folder / "links"
    links.mkdir()
    for number in range(500):
        (links / f"{number}.py").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.py")
    (folder / "gone.py").symlink_to(folder / "nowhere")
    (folder / "outside").symlink_to("/etc", target_is_directory=True)
    deep = folder / "deep"
    for _ in range(60):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "ones_bound.py").write_text(HONEST)
    closed = folder / "closed"
    closed.mkdir()
    (closed / "ones_bound.py").write_text(HONEST)
    (closed / "ones_bound.py").chmod(0)
    (folder / "nothing").mkdir()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What can't live in a repository as one class, graded in one batch, in bounded memory."""
    folder = tmp_path_factory.mktemp("built") / "class"
    folder.mkdir()
    for student, files in FILES.items():
        for name, content in files.items():
            path = folder / student / name
            path.parent.mkdir(exist_ok=True)
            data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
            path.write_bytes(data)
    for entry, text in ENTRIES.items():
        if "." in os.fsdecode(entry):
            (folder / os.fsdecode(entry)).write_text(text)
        else:
            (folder / os.fsdecode(entry)).mkdir()
    odd_things(folder)
    reports = graded(
        folder, tmp_path_factory.mktemp("out"), "--load-seconds", 4, "--file-seconds", 9
    )
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert kilobytes < 4 << 20, f"{kilobytes} kB"
    return reports


def test_nothing_that_is_handed_in_crashes_or_stops_the_grading(built):
    assert len(built) == len(FILES) + len(ENTRIES) + 8
    for report in built.values():
        (exercise,) = report["exercises"]
        assert exercise["status"] in STATUSES
        assert exercise["score"] is not None
        assert exercise["score"] == exercise["max_score"] or told(report)


@pytest.mark.parametrize(
    ("student", "words"),
    [
        ("bomb", "times its size"),
        ("zips_in_zips", "a zip in a zip in a zip"),
        ("encrypted", "encrypted"),
        ("from_the_future", "damaged"),
        ("ten_thousand_entries", "more than 2000 entries"),
        ("names_outside", "leads outside"),
        ("broken_lzma", "can't be unpacked"),
        ("million_cells", "more than 100000 are not read"),
        ("punycode", "does not extend ASCII"),
        ("million_lines", "more than 100000 are not read"),
        ("too_large", "too large"),
        ("things", "no ordinary file"),
        ("links", "more notes of this kind"),
        ("deep", "too deep"),
        ("outside", "links are not followed"),
        ("archive", "a RAR archive"),
    ],
)
def test_what_is_not_read_says_why(built, student, words):
    assert any(words in text for text in told(built[student])), told(built[student])


@pytest.mark.parametrize(
    "student",
    [
        *("halves_in_a_notebook", "halves_in_texts", "halves_in_exceptions", "halves_in_names"),
        *("keys_that_are_doubled", "no_numbers", "of_a_later_format", "null_in_a_source"),
        *("long_name", "markup_in_a_name", "line_feeds_in_a_name", "escapes_in_a_name"),
        *("half_a_character_in_a_name", "formula_in_a_name", "same_name_in_another_case"),
        *("=HYPERLINK(1)", "\x1b[2Jcleared", 'two\nlines,"quoted"', "no \\xff utf-8", "e" * 252),
    ],
)
def test_right_answers_of_odd_names_and_texts_get_all_points(built, student):
    (exercise,) = built[student]["exercises"]
    assert exercise["score"] == exercise["max_score"], told(built[student])


def test_the_exercise_of_every_case_is_there():
    for case in CASES:
        assert set(json.loads((ODD / case / "expected.json").read_text())) <= set(catalogue.names())
