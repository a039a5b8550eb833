"""Who handed in what: the layouts that whole classes come in.

Each layout is recognised by how its entries look, and can be named where that is not enough.
Nothing is read here but names, and Gradescope's own file that says who the submitters are.
"""

import contextlib
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from grader.errors import UsageError
from grader.storage import clean, usual
from grader.submissions import HAND_INS, student_name

METADATA = "submission_metadata.yml"
MAX_CLASS_BYTES = 8 << 30  # of a class that comes as one zip, unpacked
MAX_CLASS_ENTRIES = 200_000
MAX_METADATA = 20 << 20  # bytes of Gradescope's file

_CANVAS = re.compile(r"(?s)(?P<student>[^_]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)\Z")
_MOODLE = re.compile(r"(?s)(?P<student>.+_\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)\Z")
_GRADESCOPE = re.compile(r"^submission_\d+$")


class Entry(Struct, frozen=True):
    """One student, and what they handed in: paths, each with the name it goes by."""

    student: str
    roots: tuple[tuple[Path, str], ...]


class ClassFolder(Struct, frozen=True):
    """A whole class: the layout it was read as, its students by name, and the names of what lies
    beside them and is nobody's."""

    layout: str
    entries: list[Entry]
    left_out: list[str] = []


@contextlib.contextmanager
def class_at(path: Path, layout: str = "auto") -> Iterator[ClassFolder]:
    """The students at `path`; a class that comes as one zip is unpacked for as long as this lasts.

    UsageError when there is nothing there, nobody in it, or two entries would be one student.
    """
    if not path.exists():
        raise UsageError(f"there is no file or folder {clean(str(path))!r}")
    if layout not in ("auto", *LAYOUTS):
        raise UsageError(f"there is no layout {layout!r}; there are: auto, {', '.join(LAYOUTS)}")
    with contextlib.ExitStack() as stack:
        inside = _shown(path) if path.is_dir() else []
        alone = len(inside) == 1 and layout != "plain" and not inside[0].is_symlink()
        if alone and _is_class_zip(inside[0]):
            path = inside[0]
        if path.is_dir():
            yield _read(path, layout)
        elif layout != "plain" and _is_class_zip(path):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            _unpack(path, folder)
            yield _read(_without_wrapping(folder), layout)
        else:
            yield ClassFolder("plain", [Entry(student_name(path), ((path, clean(path.name)),))])


def _read(folder: Path, layout: str) -> ClassFolder:
    if layout == "auto":
        layout = next(name for name, (_, looks) in LAYOUTS.items() if looks(folder))
    find, _ = LAYOUTS[layout]
    entries: dict[str, Entry] = {}
    for entry in find(folder):
        if entry.student in entries:
            both = [root for root, _ in (*entries[entry.student].roots, *entry.roots)]
            listed = " and ".join(clean(root.name) for root in both)
            raise UsageError(
                f"{listed} would both be the student {entry.student!r}; "
                "put one student's files into a folder of that name"
            )
        entries[entry.student] = entry
    if not entries:
        raise UsageError(
            f"{clean(str(folder))!r} holds no submission: no folder, .py, .ipynb or .zip"
        )
    by_name = [entries[student] for student in sorted(entries)]
    return ClassFolder(layout, by_name, _left_out(folder, by_name))


def _left_out(folder: Path, entries: list[Entry]) -> list[str]:
    taken = {path for entry in entries for path, _ in entry.roots}
    beside = {path.parent for path in taken} or {folder}
    shown = [path for place in sorted(beside) for path in _shown(place)]
    return [clean(p.name) for p in shown if p not in taken and p.name != METADATA]


def _shown(folder: Path) -> list[Path]:
    hidden = ("__MACOSX", "__pycache__")
    try:
        found = list(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{clean(str(folder))!r} can't be read: {error.strerror}") from error
    paths = [p for p in found if not p.name.startswith(".") and p.name not in hidden]
    return sorted(paths, key=lambda path: path.name)


# --- the layouts ----------------------------------------------------------------------------------


def _plain(folder: Path) -> Iterator[Entry]:
    """`<student>/...`, `<student>.zip`, `<student>.py`, `<student>.ipynb`, or another archive."""
    for path in _shown(folder):
        if path.is_dir() or path.is_symlink() or usual(path.name).lower().endswith(HAND_INS):
            yield Entry(student_name(path), ((path, clean(path.name)),))


def _nbgrader(folder: Path) -> Iterator[Entry]:
    """`submitted/<student>/<assignment>/*.ipynb`; the folder above it, or itself."""
    submitted = folder / "submitted" if (folder / "submitted").is_dir() else folder
    yield from (
        Entry(clean(path.name), ((path, clean(path.name)),))
        for path in _shown(submitted)
        if path.is_dir()
    )


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
    for path in _shown(folder):
        match = _MOODLE.match(clean(path.name))
        if match:
            roots = students.setdefault(match["student"], [])
            if match["kind"] == "file":
                roots.append((path, match["file"] or clean(path.name)))
    for student, found in students.items():
        yield Entry(student, tuple(found))


def _gradescope(folder: Path) -> Iterator[Entry]:
    """`submission_<number>/` beside `submission_metadata.yml`, which names the submitters."""
    people = _submitters(folder / METADATA)
    paths = [path for path in _shown(folder) if _GRADESCOPE.match(path.name) and path.is_dir()]
    names = [people.get(path.name) or path.name for path in paths]
    for path, name in zip(paths, names, strict=True):
        unique = name if names.count(name) == 1 else f"{name} ({path.name})"
        yield Entry(unique, ((path, clean(path.name)),))


def _submitters(metadata: Path) -> dict[str, str]:
    """Names by submission folder, from Gradescope's metadata; what can't be read names nobody."""
    try:
        import yaml  # comes with the instructor's packages

        if not metadata.is_file() or metadata.is_symlink():
            return {}
        with metadata.open("rb") as stream:
            data = stream.read(MAX_METADATA)
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        content = yaml.load(data, Loader=loader)  # noqa: S506  # a safe loader
    except (ImportError, OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    found: dict[str, str] = {}
    for folder, about in content.items() if isinstance(content, dict) else ():
        people = about.get(":submitters") if isinstance(about, dict) else None
        names = [
            person[":name"].encode("utf-8", "backslashreplace").decode("utf-8")
            for person in (people if isinstance(people, list) else ())
            if isinstance(person, dict) and isinstance(person.get(":name"), str) and person[":name"]
        ]
        if names and isinstance(folder, str):
            found[folder] = " & ".join(names)
    return found


def _most(folder: Path, looks: Callable[[Path], bool]) -> bool:
    paths = [path for path in _shown(folder) if path.name != METADATA]
    return bool(paths) and 2 * sum(map(looks, paths)) > len(paths)


LAYOUTS: dict[str, tuple[Callable[[Path], Iterator[Entry]], Callable[[Path], bool]]] = {
    "gradescope": (_gradescope, lambda folder: (folder / METADATA).is_file()),
    "moodle": (_moodle, lambda folder: _most(folder, lambda p: bool(_MOODLE.match(p.name)))),
    "canvas": (_canvas, lambda folder: _most(folder, lambda p: bool(_CANVAS.match(p.name)))),
    "nbgrader": (_nbgrader, lambda folder: (folder / "submitted").is_dir()),
    "plain": (_plain, lambda folder: True),
}
"""Each layout: how its students are found, and whether a folder looks like it. In this order."""


# --- a class in one zip ---------------------------------------------------------------------------


def _is_class_zip(path: Path) -> bool:
    """Whether a zip holds a whole class (Canvas, Moodle, Gradescope), not one student's work."""
    if not path.is_file():  # a pipe would be waited for
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except Exception:  # of a dozen kinds: the one student's file is read, and says why not
        return False
    parts = {
        name.split("/")[depth] for name in names for depth in (0, 1) if name.count("/") >= depth
    }
    marked = [part for part in parts if _CANVAS.match(part) or _MOODLE.match(part)]
    return METADATA in parts or len(marked) > 1


def _unpack(path: Path, folder: Path) -> None:
    """Unpack a class into `folder`; names that lead outside, and links, are left out."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > MAX_CLASS_BYTES or len(entries) > MAX_CLASS_ENTRIES:
            raise UsageError(f"{clean(path.name)} is too large for one class; unpack it yourself")
        try:
            for entry in entries:
                archive.extract(entry, folder)  # zipfile itself takes "..", drives and roots out
        except Exception as error:  # of a dozen kinds, and all mean the same here
            raise UsageError(f"{clean(path.name)} can't be unpacked: {error}") from error


def _without_wrapping(folder: Path) -> Path:
    """The folder itself, or the only folder in it, as an exported zip often has."""
    inside = _shown(folder)
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder
