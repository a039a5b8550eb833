"""Who handed in what: the layouts that whole classes come in.

Each layout is recognised by how its entries look, and can be named where that is not enough.
Nothing is read here but names, and Gradescope's own file that says who the submitters are.
"""

import contextlib
import errno
import os
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from grader import zips
from grader.errors import UsageError
from grader.escapes import named, one_line
from grader.storage import MAX_BYTES, MAX_DEPTH, MAX_NOTES, clean, shown, usual
from grader.submissions import HAND_INS, student_name

METADATA = "submission_metadata.yml"
SAKAI_FOLDER = "Submission attachment(s)"  # in each student's folder of a Sakai export
ONLINE_TEXT = "an online text was handed in, which is not read: a .py, a .ipynb or a zip is due"
MAX_CLASS_BYTES = 8 << 30  # of a class that comes as one zip, unpacked
MAX_CLASS_ENTRIES = 200_000
MAX_NAME = 300  # characters of a submitter's
MAX_SUBMITTERS = 20  # of one submission
MAX_METADATA = 20 << 20  # bytes of Gradescope's file

_CANVAS = re.compile(r"(?s)(?P<student>[^_]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)\Z")
_MOODLE = re.compile(r"(?s)(?P<student>.+?_\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)\Z")
_GRADESCOPE = re.compile(r"^submission_\d+$")
_COURSE = {"source", "release", "autograded", "feedback", "submitted"}  # folders of nbgrader's
_COURSE_FILES = {"nbgrader_config.py", "gradebook.db"}
_UNWRITABLE = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL)


class Entry(Struct, frozen=True):
    """One student, and what they handed in: paths, each with the name it goes by. `notes` are on
    who they are taken for."""

    student: str
    roots: tuple[tuple[Path, str], ...]
    notes: tuple[str, ...] = ()

    def is_at(self, place: Path) -> bool:
        """Whether `place` is one of the paths."""
        return any(os.path.realpath(place) == os.path.realpath(path) for path, _ in self.roots)


class ClassFolder(Struct, frozen=True):
    """A whole class: the layout it was read as, its students by name, the names of what lies
    beside them and is nobody's, and notes on the class as a whole."""

    layout: str
    entries: list[Entry]
    left_out: list[str] = []
    notes: list[str] = []


@contextlib.contextmanager
def class_at(path: Path, layout: str = "auto") -> Iterator[ClassFolder]:
    """The students at `path`; a class that comes as one zip is unpacked for as long as this lasts.

    UsageError when there is nothing there, or nobody in it.
    """
    if not path.exists():
        raise UsageError(f"there is no file or folder {clean(str(path))!r}")
    if layout not in ("auto", *LAYOUTS):
        raise UsageError(f"there is no layout {layout!r}; there are: auto, {', '.join(LAYOUTS)}")
    with contextlib.ExitStack() as stack:
        inside = _shown(path) if path.is_dir() else []
        alone = len(inside) == 1 and not inside[0].is_symlink()
        packed = inside[0] if alone else path
        if layout != "plain" and _is_class_zip(packed, least=2 if layout == "auto" else 1):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            yield _unpacked(packed, folder, layout, alone)
        elif path.is_dir():
            found = _class_inside(path, layout) or _read(path, layout)
            if not found.entries:
                raise UsageError(
                    f"{clean(str(path))!r} holds no submission: no folder, .py, .ipynb or .zip"
                )
            yield found
        else:
            yield ClassFolder("plain", [_of_one(path)])


def _unpacked(packed: Path, folder: Path, layout: str, alone: bool) -> ClassFolder:
    """The class in a zip, unpacked into `folder`; or, where nobody is found in it, the one student
    whose zip it may be. One that lies alone in a class folder may always be a student's."""
    try:
        notes = _unpack(packed, folder)
        found = _read(_without_wrapping(folder), layout)
        why = "nobody is in it"
    except UsageError as error:
        if not alone:
            raise
        notes, found, why = [], ClassFolder(layout, []), str(error)
    if found.entries:
        return replace(found, notes=[*notes, *found.notes])
    name = shown(clean(packed.name))
    notes += [f"{name} looks like a class, and was read as one student's: {why}"]
    return ClassFolder("plain", [_of_one(packed)], notes=notes)


def _of_one(path: Path) -> Entry:
    return Entry(student_name(path), ((path, clean(path.name)),))


def _read(folder: Path, layout: str) -> ClassFolder:
    """The class in a folder; there may be nobody in it."""
    if layout == "auto":
        layout = _looks(folder)
    find, _ = LAYOUTS[layout]
    entries, notes = _told_apart(find(folder))
    by_name = sorted(entries, key=lambda entry: entry.student)
    if layout == "gradescope":
        notes += _not_in_metadata(by_name)
    return ClassFolder(layout, by_name, _left_out(folder, by_name), notes)


def _class_inside(folder: Path, layout: str) -> ClassFolder | None:
    """The class in the only folder in a folder, where that is an export of several students' work,
    and the folder itself is none."""
    inside = _shown(folder)
    if layout != "auto" or len(inside) != 1 or inside[0].is_symlink() or not inside[0].is_dir():
        return None
    if _looks(folder) != "plain":
        return None
    found = _read(inside[0], layout)
    is_sakai = any(_is_folder(path / SAKAI_FOLDER) for path in _shown(inside[0]))
    is_export = is_sakai or found.layout != "plain"
    if not is_export or (len(found.entries) < 2 and found.layout != "gradescope"):
        return None
    note = f"{shown(clean(inside[0].name))} holds a class, and is not read as one student's"
    return replace(found, notes=[note, *found.notes])


def _looks(folder: Path) -> str:
    """The layout that a folder looks like."""
    return next(name for name, (_, looks) in LAYOUTS.items() if looks(folder))


def _told_apart(found: Iterable[Entry]) -> tuple[list[Entry], list[str]]:
    """The entries, where those whose students would read alike get names that tell them apart;
    with a note on each name that was shared."""
    alike: dict[str, list[Entry]] = {}
    for entry in found:
        alike.setdefault(_as_read(entry.student), []).append(entry)
    taken = set(alike)
    entries: list[Entry] = []
    notes: list[str] = []
    for student, same in alike.items():
        if len(same) == 1:
            entries += same
            continue
        listed = " and ".join(shown(one_line(_root_name(entry))) for entry in same[:2])
        listed += f" and {len(same) - 2} more" if len(same) > 2 else ""
        note = f"{listed} would both be the student '{shown(student)}', and are graded apart"
        note += "; put one student's files into a folder of that name"
        notes.append(note)
        for entry in same:
            name = f"{entry.student} ({_root_name(entry)})"
            number = 1
            while _as_read(name) in taken:
                number += 1
                name = f"{entry.student} ({_root_name(entry)}, {number})"
            taken.add(_as_read(name))
            entries.append(replace(entry, student=name, notes=(*entry.notes, note)))
    return entries, notes


def _as_read(student: str) -> str:
    """A student's name as a person reads it: the same for two that look alike."""
    return unicodedata.normalize("NFC", " ".join(named(student).split()))


def _root_name(entry: Entry) -> str:
    return clean(entry.roots[0][0].name) if entry.roots else ""


def _left_out(folder: Path, entries: list[Entry]) -> list[str]:
    taken = {path for entry in entries for path, _ in entry.roots}
    beside = {path.parent for path in taken} or {folder}
    paths = [path for place in sorted(beside) for path in (*_shown(place), *_hidden(place))]
    if folder not in beside:  # a course's, whose students are in `submitted`
        paths += [path for entry in _plain(folder) for path, _ in entry.roots]
    known = {METADATA, *_COURSE, *_COURSE_FILES} if folder not in beside else {METADATA}
    return [clean(p.name) for p in paths if p not in taken and p.name not in known]


def _hidden(folder: Path) -> list[Path]:
    """Hidden folders that are none of a tool's own: a student's may be among them."""
    tools = (".git", ".ipynb_checkpoints", ".venv", ".vscode", ".idea", ".cache", ".local")
    hidden = [path for path in folder.iterdir() if path.name.startswith(".") and _is_folder(path)]
    return sorted(path for path in hidden if path.name not in tools)


def _shown(folder: Path) -> list[Path]:
    hidden = ("__MACOSX", "__pycache__")
    try:
        found = list(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{clean(str(folder))!r} can't be read: {error.strerror}") from error
    paths = [p for p in found if not p.name.startswith(".") and p.name not in hidden]
    return sorted(paths, key=lambda path: path.name)


def _is_folder(path: Path) -> bool:
    return _is(path.is_dir)


def _is(kind: Callable[[], bool]) -> bool:
    """Whether there is a file or folder; a link whose target can't even be looked up is none."""
    try:
        return kind()
    except OSError:
        return False


# --- the layouts ----------------------------------------------------------------------------------


def _plain(folder: Path) -> Iterator[Entry]:
    """`<student>/...`, `<student>.zip`, `<student>.py`, `<student>.ipynb`, or another archive."""
    for path in _shown(folder):
        named_so = usual(path.name).lower().endswith(HAND_INS)
        if path.is_symlink() or named_so or _is_folder(path):
            yield _of_one(path)


def _nbgrader(folder: Path) -> Iterator[Entry]:
    """`submitted/<student>/<assignment>/*.ipynb`; the folder above it, or itself."""
    submitted = folder / "submitted" if _is_folder(folder / "submitted") else folder
    yield from (
        Entry(clean(path.name), ((path, clean(path.name)),))
        for path in _shown(submitted)
        if _is_folder(path)
    )


def _is_course(folder: Path) -> bool:
    """Whether a folder is nbgrader's: students' folders in `submitted`, and beside it what belongs
    to a course. In a class, one of whose students is called that, others lie beside it."""
    submitted = folder / "submitted"
    if submitted.is_symlink() or not _is_folder(submitted):
        return False
    if not any(map(_is_folder, _shown(submitted))):
        return False
    beside = {path.name for path in _shown(folder) if not path.is_symlink()}
    others = {clean(entry.roots[0][0].name) for entry in _plain(folder)} - _COURSE - _COURSE_FILES
    return bool(beside & _COURSE_FILES) or not others


def _canvas(folder: Path) -> Iterator[Entry]:
    """`lastfirst_[LATE_]<id>_<id>_<file>`; the files of one student belong together."""
    students: dict[tuple[str, str], list[tuple[Path, str]]] = {}
    for path in _shown(folder):
        match = _CANVAS.match(clean(path.name))
        if match:
            person = (match["student"], match["id"])
            students.setdefault(person, []).append((path, match["file"]))
    names = [student for student, _ in students]
    for (student, number), roots in students.items():
        unique = student if names.count(student) == 1 else f"{student}_{number}"
        yield Entry(unique, tuple(roots))


def _moodle(folder: Path) -> Iterator[Entry]:
    """`<Full Name>_<number>_assignsubmission_file_[/...]`, folders or files."""
    students: dict[str, list[tuple[Path, str]]] = {}
    texts: set[str] = set()
    for path in _shown(folder):
        match = _MOODLE.match(clean(path.name))
        if match:
            if match["kind"] == "onlinetext":
                texts.add(match["student"])
            roots = students.setdefault(match["student"], [])
            if match["kind"] == "file":
                roots.append((path, match["file"] or clean(path.name)))
    for student, found in students.items():
        notes = (ONLINE_TEXT,) if student in texts and not found else ()
        yield Entry(student, tuple(found), notes)


def _gradescope(folder: Path) -> Iterator[Entry]:
    """`submission_<number>/` beside `submission_metadata.yml`, which names the submitters."""
    people = _submitters(folder / METADATA)
    paths = [path for path in _shown(folder) if _GRADESCOPE.match(path.name) and _is_folder(path)]
    names = [people.get(path.name) or path.name for path in paths]
    for path, name in zip(paths, names, strict=True):
        unique = name if names.count(name) == 1 else f"{name} ({path.name})"
        yield Entry(unique, ((path, clean(path.name)),))


def _is_gradescopes(folder: Path) -> bool:
    """Whether a folder is Gradescope's export: its file, and a folder as it names them."""
    named = any(_GRADESCOPE.match(path.name) for path in _shown(folder))
    return named and _is((folder / METADATA).is_file)


def _not_in_metadata(entries: list[Entry]) -> list[str]:
    """A note on the folders that the metadata names nobody for."""
    unnamed = [entry.student for entry in entries if _GRADESCOPE.match(entry.student)]
    more = f" and {len(unnamed) - 1} more" if len(unnamed) > 1 else ""
    told = f"{METADATA} can't be read, or names nobody for {{}}{more}: they go by their folders"
    return [told.format(unnamed[0])] if unnamed else []


def _submitters(metadata: Path) -> dict[str, str]:
    """Names by submission folder, from Gradescope's metadata; what can't be read names nobody."""
    try:
        import yaml  # comes with the instructor's packages

        if not metadata.is_file() or metadata.is_symlink():
            return {}
        with metadata.open("rb") as stream:
            data = stream.read(MAX_METADATA)
        # All of it as texts: dates, and numbers to the base of 60, can be made to fail or to last.
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        content = yaml.load(data, Loader=loader)  # noqa: S506  # it makes texts, lists and dicts
    except (ImportError, OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    found: dict[str, str] = {}
    for folder, about in content.items() if isinstance(content, dict) else ():
        people = about.get(":submitters") if isinstance(about, dict) else None
        names = [
            person[":name"][:MAX_NAME].encode("utf-8", "backslashreplace").decode("utf-8")
            for person in (people[:MAX_SUBMITTERS] if isinstance(people, list) else ())
            if isinstance(person, dict) and isinstance(person.get(":name"), str) and person[":name"]
        ]
        if names and isinstance(folder, str):
            found[folder] = " & ".join(names)
    return found


def _most(folder: Path, looks: Callable[[Path], bool]) -> bool:
    paths = [path for path in _shown(folder) if path.name != METADATA]
    return bool(paths) and 2 * sum(map(looks, paths)) > len(paths)


LAYOUTS: dict[str, tuple[Callable[[Path], Iterator[Entry]], Callable[[Path], bool]]] = {
    "gradescope": (_gradescope, _is_gradescopes),
    "moodle": (_moodle, lambda folder: _most(folder, lambda p: bool(_MOODLE.match(p.name)))),
    "canvas": (_canvas, lambda folder: _most(folder, lambda p: bool(_CANVAS.match(p.name)))),
    "nbgrader": (_nbgrader, _is_course),
    "plain": (_plain, lambda folder: True),
}
"""Each layout: how its students are found, and whether a folder looks like it. In this order."""


# --- a class in one zip ---------------------------------------------------------------------------


def _is_class_zip(path: Path, least: int) -> bool:
    """Whether a zip holds a whole class (Canvas, Moodle, Gradescope), not one student's work: most
    of what it holds is named as there, and belongs to `least` students or more."""
    if not path.is_file():  # a pipe would be waited for
        return False
    try:
        with path.open("rb") as stream:
            if zips.lists_more_than(MAX_CLASS_ENTRIES, stream):
                return False
        with zipfile.ZipFile(path) as archive:
            names = [zips.entry_name(entry).split("/") for entry in archive.infolist()]
    except Exception:  # of a dozen kinds: the one student's file is read, and says why not
        return False
    level = {parts[0] for parts in names} - {"__MACOSX", ".DS_Store"}
    below = {parts[1] for parts in names if parts[1:] and parts[0] in level} - {""}
    if len(level) == 1 and below:  # one folder with all in it, as an exported zip often has
        level = below
    if METADATA in level:
        return sum(bool(_GRADESCOPE.match(name)) for name in level) >= least
    for pattern, student in ((_MOODLE, "student"), (_CANVAS, "id")):
        marked = [match for name in level if (match := pattern.match(name))]
        if 2 * len(marked) > len(level) and len({match[student] for match in marked}) >= least:
            return True
    return False


def _unpack(path: Path, folder: Path) -> list[str]:
    """Unpack a class into `folder`; notes on what was left out: names that lead outside, links,
    and names that can't be written. UsageError when it is damaged, or too large for a class."""
    notes: list[str] = []
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > MAX_CLASS_BYTES:
            raise UsageError(f"{clean(path.name)} is too large for one class; unpack it yourself")
        for entry in entries:
            name = zips.entry_name(entry)
            if zips.leads_outside(entry) or name.count("/") > 2 * MAX_DEPTH:
                notes.append(f"{shown(name)} leads outside, or too deep, and was left out")
                continue
            target = folder / name
            try:
                if name.endswith("/"):
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as stream:
                    # A file beyond what a submission may have is not read to its end there, either.
                    stream.writelines(zips.pieces(archive, entry, MAX_BYTES + 1))
            except Exception as error:  # of a dozen kinds, and all but one mean the same here
                if not isinstance(error, OSError) or error.errno not in _UNWRITABLE:
                    said = f"{clean(path.name)} can't be unpacked: {_said(error)}"
                    raise UsageError(said) from error
                notes.append(f"{shown(name)} was left out: {error.strerror}")
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES:] = [f"... and {len(notes) - MAX_NOTES} more that were left out"]
    return notes


def _said(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__


def _without_wrapping(folder: Path) -> Path:
    """The folder itself, or the only folder in it, as an exported zip often has."""
    inside = _shown(folder)
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder
