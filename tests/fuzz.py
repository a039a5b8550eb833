"""Mutated hand-ins: `python -m tests.fuzz [notebook|script|zip|class]... --minutes 10`.

Valid submissions are cut, doubled, spliced and filled with what trips readers up, and read. What
comes of it is a submission with a known status for each exercise, all of which can be written down
and sent on, or a UsageError; nothing is written anywhere, and time and memory are bounded. Prints
how often each outcome was seen. The targets run one after another, each for so many minutes.
"""

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from grader import catalogue, layouts, submissions, wire
from grader.errors import UsageError
from grader.model import Status
from grader.storage import MAX_BYTES
from grader.submissions import Submission
from tests.sample_class import ROOT

EXAMPLES = 500  # of one round; each round has another seed
CPU_SECONDS = 20  # of one hand-in, many times what any of them needs
MEMORY = 3 << 30  # of the process that reads them
NAMES = catalogue.names()
STATUSES = set(get_args(Status))

SCRIPT = (ROOT / "fixtures" / "hostile" / "honest.py").read_bytes()
SCAFFOLD = (ROOT / "exercises" / "ones_bound.py").read_bytes()
CELLS = [{"cell_type": "code", "source": SCRIPT.decode().split("\n\n\n")}]
TEXTS = [{"cell_type": "markdown", "source": ["# Title\n", "text"], "metadata": {}}]
NOTEBOOK = json.dumps({"nbformat": 4, "metadata": {}, "cells": TEXTS + CELLS}, indent=1).encode()
OLD_NOTEBOOK = json.dumps(
    {
        "nbformat": 3,
        "metadata": {},
        "worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1"], "outputs": []}]}],
    }
).encode()
METADATA = b"---\nsubmission_1:\n  :submitters:\n  - :name: First Person\n    :sid: '7'\n"


def zipped(entries: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files. Names that clash or can't be stored are left out."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of doubled names
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name or "x"), content, method)
    return out.getvalue()


# --- mutations ------------------------------------------------------------------------------------

SNIPPETS = [
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\f", b"\x1a", b"\xe2\x80\xa8"),
    *(b"# coding: utf-7\n", b"# coding: punycode\n", b"# coding: unicode_escape\n", b"#coding:x\n"),
    *(
        b"\n# %%\n",
        b"\n# %% [markdown]\n",
        b"%%time\n",
        b"!ls \\\n",
        b"<<<<<<< HEAD\n",
        b'"""',
        b"(",
    ),
    *(b"[", b"{", b"}", b'"\\ud800"', b"NaN", b"1e999", b"9" * 5_000, b"null", b'"cells": 3,'),
    *(
        b"PK\1\2",
        b"PK\3\4",
        b"PK\5\6",
        b"PK\6\6",
        b"\xff\xff\xff\xff",
        b"\x0e\0",
        b"\x0c\0",
        b"../",
    ),
    *(b"[" * 20_000, b"# %%\nx=1\n" * 3_000, b"a " * 30_000, b"%a\n" * 300),
]
edits = st.tuples(
    st.sampled_from(["insert", "replace", "delete", "double", "cut", "flip"]),
    st.floats(0, 1),
    st.integers(1, 200),
    st.sampled_from(SNIPPETS) | st.binary(min_size=1, max_size=8),
)


def edited(data: bytes, edit: tuple[str, float, int, bytes]) -> bytes:
    """The bytes with one mutation."""
    kind, where, length, snippet = edit
    place = int(where * len(data))
    before, span, after = data[:place], data[place : place + length], data[place + length :]
    match kind:
        case "insert":
            return before + snippet + span + after
        case "replace":
            return before + snippet + data[place + len(snippet) :]
        case "delete":
            return before + after
        case "double":
            return before + span + span + after
        case "cut":
            return before
    return before + bytes(byte ^ (1 << length % 8) for byte in span[:1]) + data[place + 1 :]


def mutated(valid: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Some mutations of a valid one."""

    def made(data: bytes, steps: list[tuple[str, float, int, bytes]]) -> bytes:
        for step in steps:
            data = edited(data, step)
        return data

    return st.builds(made, valid, st.lists(edits, max_size=5))


scripts = mutated(st.sampled_from([SCRIPT, SCAFFOLD, SCRIPT.replace(b"\n", b"\r\n")]))
texts = st.text(max_size=6) | st.sampled_from(
    ["x = 1", "%magic", "\ud800", "def curvature(f): ..."]
)
keys = st.sampled_from(
    ["cells", "source", "input", "cell_type", "nbformat", "worksheets", "metadata", "outputs"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.just("code"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
)
structured = st.builds(
    lambda value, cells: json.dumps({"nbformat": 4, "cells": cells, **value}).encode(),
    st.dictionaries(keys, values, max_size=3),
    values | st.lists(st.dictionaries(keys, values, max_size=4), max_size=4),
)
notebooks = mutated(st.sampled_from([NOTEBOOK, OLD_NOTEBOOK])) | structured
names = st.sampled_from(
    [
        *("ones_bound.py", "ones_bound.ipynb", "Ones Bound (2).py", "hw.py", "lesson.py", "x.zip"),
        *("a/ones_bound.py", "../ones_bound.py", "/x.py", "C:\\x.py", "a/./b//c.py", "tools/t.py"),
        *(
            "ones_bound.html",
            "ones_bound.docx",
            "__MACOSX/a.py",
            ".hidden.py",
            "numpy.py",
            "x",
            "d/",
        ),
    ]
) | st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace").decode() + ".py")
contents = scripts | notebooks | st.binary(max_size=30)
zips = st.builds(
    zipped,
    st.dictionaries(names, contents, max_size=4),
    st.sampled_from(
        [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    ),
)
zips_in_zips = st.builds(lambda data, more: zipped({"in.zip": data, "b.py": more}), zips, scripts)
broken_zips = mutated(zips | zips_in_zips)

students = st.sampled_from(
    [
        *("anna.py", "anna.zip", "anna", "anna.py.txt", "anna.tar.gz", "notes.md", "submitted"),
        *("anna_LATE_1_2_ones_bound.py", "anna_1_3_x.py", "anna_2_2_ones_bound.py", "a_1_2_"),
        *("First Person_31_assignsubmission_file_", "A B_1_assignsubmission_file_ones_bound.py"),
        *("submission_1", "submission_2", "submission_metadata.yml", "__MACOSX", ".git"),
    ]
).map(os.fsencode) | st.binary(min_size=1, max_size=20).map(
    lambda name: name.replace(b"/", b"_").replace(b"\0", b"_").strip(b".") or b"x"
)
entries = contents | broken_zips | mutated(st.just(METADATA)) | st.dictionaries(names, contents)
classes = st.tuples(
    st.dictionaries(students, entries, min_size=1, max_size=5),
    st.sampled_from(["auto", *layouts.LAYOUTS]),
    st.booleans(),
)
TARGETS: dict[str, st.SearchStrategy[Any]] = {
    "notebook": st.tuples(st.just("ones_bound.ipynb"), notebooks),
    "script": st.tuples(st.sampled_from(["ones_bound.py", "homework.py"]), scripts),
    "zip": st.tuples(st.just("someone.zip"), broken_zips),
    "class": classes,
}


# --- what must hold -------------------------------------------------------------------------------


class Overtime(BaseException):
    """Reading took more CPU time than it may; nothing that is read can catch it."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Overtime where what is done within does not end."""

    def end(*_: object) -> None:
        raise Overtime

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome(target: str, handed_in: Any, folder: Path) -> str:
    """What comes of one hand-in, written to and read from a new folder; for counting."""
    place = folder / "place"
    place.mkdir()
    (place / "tmp").mkdir()
    tempfile.tempdir, before_tempdir = str(place / "tmp"), tempfile.tempdir
    try:
        path, layout = write_down(target, handed_in, place)
        before = sorted(place.rglob("*"))
        try:
            with bounded(), layouts.class_at(path, layout) as found:
                read = [
                    submissions.read(entry.roots, NAMES, student=entry.student)
                    for entry in found.entries
                ]
        except UsageError as error:
            str(error).encode()
            return "UsageError"
        finally:
            assert sorted(place.rglob("*")) == before, "something was written"
        for submission in read:
            check(submission)
        return ", ".join(sorted({found.status for one in read for found in one.found.values()}))
    finally:
        tempfile.tempdir = before_tempdir
        shutil.rmtree(place)


def write_down(target: str, handed_in: Any, place: Path) -> tuple[Path, str]:
    """The path to read and the layout."""
    if target != "class":
        name, data = handed_in
        path = place / "class" / "someone" / name if target != "zip" else place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return (place / "class" if target != "zip" else path), "auto"
    students, layout, as_zip = handed_in
    if as_zip:
        flat: dict[str, bytes] = {}
        for student, content in students.items():
            name = student.decode("utf-8", "replace")
            inside = content if isinstance(content, dict) else {"": content}
            flat |= {f"{name}/{inner}" if inner else name: data for inner, data in inside.items()}
        path = place / "class.zip"
        path.write_bytes(zipped(flat))
        return path, layout
    folder = place / "class"
    folder.mkdir()
    for student, content in students.items():
        path = folder / os.fsdecode(student)
        if isinstance(content, bytes):
            path.write_bytes(content)
            continue
        path.mkdir()
        for number, data in enumerate(content.values()):
            (path / f"{number}.py").write_bytes(data)
        for name, data in content.items():
            if name.isidentifier() or name.startswith("ones"):
                (path / name).write_bytes(data)
    return folder, layout


def check(submission: Submission) -> None:
    """A submission is whole: of known status, and everything in it can be written and sent."""
    msgspec.json.encode([submission.student, submission.notes])
    assert set(submission.found) == set(NAMES)
    for found in submission.found.values():
        assert found.status in STATUSES
        msgspec.json.encode([found.file, found.reason, found.notes])
        assert (found.source is None) == (found.status != "graded")
        assert found.source or found.reason
        if found.source:
            cells = list(found.source.cells)
            assert sum(len(source) for source, _ in cells) <= MAX_BYTES
            source = [found.source.filename, cells, found.source.modules, found.source.helpers]
            assert len(wire.encode(source)) < wire.MAX_REQUEST
            msgspec.json.encode(source)


def run(target: str, examples: int, number: int) -> Counter[str]:
    """How often each outcome was seen in one round; raises what must not happen."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="odd_fuzz_") as folder:

        @seed(number)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(TARGETS[target])
        def one(handed_in: Any) -> None:
            counts[outcome(target, handed_in, Path(folder))] += 1

        one()
    return counts


def main() -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=[], choices=[[], *TARGETS])
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for target in options.targets or TARGETS:
        counts: Counter[str] = Counter()
        end = time.monotonic() + 60 * options.minutes
        while time.monotonic() < end:
            counts += run(target, EXAMPLES, random.getrandbits(32))
        seen = "; ".join(f"{what}: {count}" for what, count in counts.most_common())
        print(f"{target}: {counts.total()} hand-ins, no fault. {seen}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
