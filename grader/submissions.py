"""Find and read what one student handed in. Nothing here runs it, and nothing here grades it.

Kind where the meaning is plain, and never a guess between two meanings; what was bent is said in a
note. Every size is bounded before anything is read.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from grader import catalogue
from grader.errors import UsageError
from grader.model import Status
from grader.pages import Page, Unreadable, code_fingerprint, read_page
from grader.sandbox import LoadEvent, Source
from grader.storage import StoredFile, stored_files

RESERVED = {"lesson", "grader", "submission", "jax", "numpy", "pytest", "hypothesis"}
_DEFINITION = re.compile(r'^[ "]*(?:async )?(?:def )?([A-Za-z_]+)\s*[(=]', re.MULTILINE)
_COPY_MARK = re.compile(r"[ _-]*(\(\d+\)|- ?copy\d*|copy)$", re.IGNORECASE)


class Found(Struct, frozen=True):
    """What was found for one exercise: a source to load, or (without one) the reason why not."""

    status: Status
    file: str | None = None
    source: Source | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()
    notebook: bool = False

    def told(self, event: LoadEvent) -> str:
        """A loading event as a note, with its place as this file's author sees it."""
        line = f"line {event.line}"
        where = f"cell {event.cell + 1}, {line}" if self.notebook else line
        match event.kind:
            case "syntax":
                column = f", column {event.column}" if event.column else ""
                lost = "this cell is" if self.notebook or event.cell else "it is"
                return f"{where}{column}: syntax error ({event.message}); {lost} not run"
            case "timed_out":
                return (
                    f"{where}: loading reached the time limit here; the rest was loaded without it"
                )
            case "crashed":
                return f"{where}: {event.message} while loading; the rest was loaded without it"
        return f"{where}: {event.message}; the rest was loaded all the same"


class Submission(Struct, frozen=True):
    """One student's work: what was found for each exercise asked for."""

    student: str
    found: Mapping[str, Found]
    notes: tuple[str, ...]


def read(
    path: Path, names: Sequence[str], sole: str | None = None, student: str | None = None
) -> Submission:
    """Read one student's submission: a folder, a script, a notebook or a zip.

    `names` are the exercises to look for; a single file is taken for `sole` whatever its name.
    UsageError when there is nothing at `path`.
    """
    if not path.exists():
        raise UsageError(f"there is no file or folder {str(path)!r}")
    files, notes = stored_files(path)
    if sole is not None and path.is_file() and len(files) == 1:
        files = [StoredFile(f"{sole}{PurePosixPath(files[0].name).suffix}", files[0].data)]
    found = {name: _find(name, files) for name in names}
    found |= _found_by_content(files, found)
    return Submission(student or student_name(path), found, tuple(notes))


def fingerprint(path: Path) -> str:
    """A fingerprint of everything that is read of the submission at `path`."""
    digest = hashlib.sha256()
    files, notes = stored_files(path)
    for name, data in [
        *((file.name, file.data) for file in files),
        *((note, b"") for note in notes),
    ]:
        digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogatepass") + data)
    return digest.hexdigest()


def student_name(path: Path) -> str:
    """The student that a class folder's entry stands for: its name without its ending."""
    return path.stem if path.suffix in (".py", ".ipynb", ".zip") and path.is_file() else path.name


def _find(name: str, files: Sequence[StoredFile]) -> Found:
    candidates = [file for file in files if _spells(file.name, name)]
    exact = [file for file in candidates if _stem(file.name) == name]
    # An exact name beats other spellings, and copies of one file count once.
    chosen = {file.data: file for file in exact or candidates}
    if len(chosen) > 1:
        untouched = catalogue.exercise(name).untouched
        worked = {d: f for d, f in chosen.items() if _fingerprint(f) not in untouched}
        chosen = worked or dict(list(chosen.items())[:1])
    if not chosen:
        return Found("missing", reason="nothing was handed in for this exercise")
    if len(chosen) > 1:
        listed = ", ".join(sorted(file.name for file in chosen.values()))
        reason = f"several files could be meant ({listed}); hand in one of them"
        return Found("ambiguous", reason=reason)
    file = next(iter(chosen.values()))
    notes = () if exact else (f"{file.name} was taken for {name}; the expected name is {name}.py",)
    return _read(name, file, files, notes)


def _found_by_content(files: Sequence[StoredFile], found: Mapping[str, Found]) -> dict[str, Found]:
    """For a single file whose name says nothing: the one exercise whose names it defines."""
    pages = [file for file in files if PurePosixPath(file.name).name != "lesson.py"]
    if len(pages) != 1 or any(entry.status != "missing" for entry in found.values()):
        return {}
    file = pages[0]
    defined = set(_DEFINITION.findall(file.data.decode("utf-8", "replace")))
    fitting = [name for name in catalogue.names() if _defines(defined, name)]
    if len(fitting) != 1 or fitting[0] not in found:
        return {}
    name = fitting[0]
    note = f"{file.name} was taken for {name}, whose names it defines; call it {name}.py"
    return {name: _read(name, file, files, (note,))}


def _defines(defined: set[str], name: str) -> bool:
    due = set(catalogue.exercise(name).signatures)
    return 2 * len(defined & due) > len(due)


def _read(
    name: str, file: StoredFile, files: Sequence[StoredFile], notes: tuple[str, ...]
) -> Found:
    try:
        page = read_page(file.data)
    except Unreadable as error:
        return Found("unreadable", file=file.name, reason=str(error), notes=notes)
    helpers = _helpers(file, files)
    changed = [f for f in helpers if f.name.endswith("lesson.py") and f.data != lesson().encode()]
    if changed:
        notes = (*notes, "lesson.py was changed; the course's own was used")
    source = Source(
        filename=PurePosixPath(file.name).name,
        cells=page.cells,
        split=page.plain,
        modules={"lesson": lesson()},
        helpers=_helper_sources(helpers),
    )
    return Found(
        "graded",
        file=file.name,
        source=source,
        notes=(*notes, *page.notes),
        notebook=page.notebook,
    )


def _helpers(file: StoredFile, files: Sequence[StoredFile]) -> list[StoredFile]:
    folder = PurePosixPath(file.name).parent
    return [
        other
        for other in files
        if other.name != file.name
        and other.name.endswith(".py")
        and PurePosixPath(other.name).parent == folder
    ]


def _helper_sources(helpers: Sequence[StoredFile]) -> dict[str, str]:
    sources = {}
    for helper in helpers:
        module = PurePosixPath(helper.name).stem
        if module.isidentifier() and module not in RESERVED:
            sources[module] = helper.data.decode("utf-8", "replace")
    return sources


def lesson() -> str:
    """The text of the course's own `lesson` module, which every page imports from."""
    return (catalogue.PACKAGE / "public" / "lesson.py").read_text(encoding="utf-8")


def _stem(name: str) -> str:
    path = PurePosixPath(name)
    return path.stem if path.suffix in (".py", ".ipynb") else ""


def _spells(name: str, exercise: str) -> bool:
    """Whether a file's name is the exercise's, in any usual spelling."""
    base = PurePosixPath(name).name
    for ending in (".txt", ".py", ".ipynb"):
        base = base[: -len(ending)] if base.lower().endswith(ending) else base
    if base == PurePosixPath(name).name:
        return False
    base = re.sub(r" - .*$", "", base)
    while _COPY_MARK.search(base):
        base = _COPY_MARK.sub("", base)
    return re.sub(r"[ -]+", "_", base.strip()).lower() == exercise


def _fingerprint(file: StoredFile) -> str:
    try:
        page: Page = read_page(file.data)
    except Unreadable:
        return ""
    return code_fingerprint(page)
