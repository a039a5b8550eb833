"""Find and read what one student handed in. Nothing here runs it, and nothing here grades it.

Kind where the meaning is plain, and never a guess between two meanings; what was bent is said in a
note. Every size is bounded before anything is read.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from grader import catalogue
from grader.errors import UsageError
from grader.model import Status
from grader.pages import Page, Unreadable, code_fingerprint, decoded, read_page
from grader.sandbox import LoadEvent, Source
from grader.storage import Contents, Refused, StoredFile, clean, contents

NOT_HELPERS = sys.stdlib_module_names | {
    *("lesson", "grader", "submission", "jax", "jaxlib", "numpy", "scipy", "pytest", "hypothesis"),
    *("matplotlib", "IPython", "msgspec", "typer", "rich"),
}
_ENDINGS = (".txt", ".json", ".py", ".ipynb")
_COPY_MARK = re.compile(r"[ _-]*(\(\d+\)|-\d+|- ?copy *\d*|copy *\d*)$", re.IGNORECASE)
_DEFINITION = re.compile(
    r"^(?:(?:async +)?def +([a-zA-Z_]+)|([a-zA-Z_]+) *[:=](?!=))", re.MULTILINE
)


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
            case "left_out":
                return f"{where}: {event.message!r} is notebook syntax, and was left out"
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
    fingerprint: str

    def outline(self) -> "Outline":
        """What a batch keeps of it while it is not being graded."""
        files = {name: found.file or found.status for name, found in self.found.items()}
        return Outline(self.student, self.fingerprint, files)


class Outline(Struct, frozen=True):
    """A submission without its content: whose, which, and the file taken for each exercise."""

    student: str
    fingerprint: str
    files: Mapping[str, str]


Roots = Sequence[tuple[Path, str]]
"""What one student handed in: files and folders, each with the name it goes by."""


def read(
    path: Path | Roots, names: Sequence[str], sole: str | None = None, student: str | None = None
) -> Submission:
    """Read one student's submission: a folder, a script, a notebook or a zip, or several of them.

    `names` are the exercises to look for; a single file is taken for `sole` whatever its name.
    UsageError when there is nothing at `path`.
    """
    roots = [(path, clean(path.name))] if isinstance(path, Path) else path
    for place, _ in roots:
        if not place.exists() and not place.is_symlink():
            raise UsageError(f"there is no file or folder {clean(str(place))!r}")
    found = contents(roots)
    files = found.files
    if sole is not None and len(files) == 1 and files[0].name == roots[0][1]:
        files = [StoredFile(f"{sole}{PurePosixPath(files[0].name).suffix}", files[0].data)]
    return Submission(
        student=student_name(roots[0][0].resolve()) if student is None else student,
        found={name: _find(name, files, found.refused) for name in names},
        notes=tuple(found.notes),
        fingerprint=_fingerprint(found),
    )


def student_name(path: Path) -> str:
    """The student that a class folder's entry stands for: its name without its ending."""
    name = clean(path.name)
    ending = PurePosixPath(name).suffix
    return name.removesuffix(ending) if ending in (".py", ".ipynb", ".zip") else name


def _fingerprint(found: Contents) -> str:
    digest = hashlib.sha256()
    parts = [(file.name, file.data) for file in found.files]
    parts += [(refused.name, refused.reason.encode()) for refused in found.refused]
    parts += [(note, b"") for note in found.notes]
    for name, data in parts:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


# --- which file is meant --------------------------------------------------------------------------


def _find(name: str, files: Sequence[StoredFile], refused: Sequence[Refused]) -> Found:
    """The file that is meant for the exercise `name`, read; or why there is none."""
    named = [file for file in files if spelled(file.name) == name]
    spellings = (f"{name}.py", f"{name}.ipynb")
    exact = {file.name for file in named if PurePosixPath(file.name).name in spellings}
    candidates = named or _by_content(name, files)
    worked = _worked_on(candidates, name)
    chosen = [file for file in worked if file.name in exact] or worked
    if len(chosen) > 1:
        listed = ", ".join(file.name for file in chosen)
        reason = f"several files could be meant ({listed}): hand in the one that counts"
        return Found("ambiguous", reason=reason)
    if chosen:
        notes = () if chosen[0].name in exact else (_taken(chosen[0].name, name, bool(named)),)
        return _read(name, chosen[0], files, notes)
    unread = [item for item in refused if spelled(item.name) in (name, "", None)]
    if unread:
        return Found("unreadable", file=unread[0].name, reason=unread[0].reason)
    return Found("missing", reason="nothing was handed in for this exercise")


def _taken(file: str, name: str, by_name: bool) -> str:
    why = "" if by_name else ", whose names it defines"
    ending = ".ipynb" if file.lower().endswith(".ipynb") else ".py"
    return f"{file} was taken for {name}{why}; the expected name is {name}{ending}"


def _worked_on(candidates: Sequence[StoredFile], name: str) -> list[StoredFile]:
    """The candidates without copies and, if anything else is left, without untouched scaffolds."""
    once = list({file.data: file for file in reversed(candidates)}.values())[::-1]
    untouched = catalogue.exercise(name).untouched
    worked = [file for file in once if _code_fingerprint(file) not in untouched]
    return worked or once[:1]


def _code_fingerprint(file: StoredFile) -> str:
    try:
        return code_fingerprint(read_page(file.data, file.name))
    except Unreadable:
        return ""


def spelled(name: str) -> str | None:
    """The exercise that a file's name spells, in any usual spelling; "" for no exercise's name.

    None for a name that is not there to tell: a helper's, `lesson.py`.
    """
    base = PurePosixPath(name).name.lower()
    if base == "lesson.py":
        return None
    while base.endswith(_ENDINGS):
        base = base.rsplit(".", 1)[0]
    base = re.sub(r" +- .*$", "", base).strip()
    while _COPY_MARK.search(base):
        base = _COPY_MARK.sub("", base).strip()
    base = re.sub(r"[ _-]+", "_", base)
    return base if base in catalogue.names() else ""


def _by_content(name: str, files: Sequence[StoredFile]) -> list[StoredFile]:
    """Files whose names say nothing, and that define the names of this exercise alone."""
    return [
        file for file in files if spelled(file.name) == "" and _defined_exercises(file) == [name]
    ]


def _defined_exercises(file: StoredFile) -> list[str]:
    """The exercises of which a file defines more than half of the due names."""
    try:
        page = read_page(file.data, file.name)
    except Unreadable:
        return []
    defined = _defined("\n".join(source for source, _ in page.cells))
    return [name for name in catalogue.names() if _defines(defined, name)]


def _defined(code: str) -> set[str]:
    """The functions and constants that a text of Python defines at its left margin."""
    return {function or constant for function, constant in _DEFINITION.findall(code)}


def _defines(defined: set[str], name: str) -> bool:
    due = set(catalogue.exercise(name).signatures)
    return 2 * len(defined & due) > len(due)


# --- reading it -----------------------------------------------------------------------------------


def _read(name: str, file: StoredFile, files: Sequence[StoredFile], notes: Iterable[str]) -> Found:
    try:
        page = read_page(file.data, file.name)
    except Unreadable as error:
        return Found("unreadable", file=file.name, reason=str(error), notes=tuple(notes))
    helpers, about_helpers = _helpers(file, files)
    source = Source(
        filename=PurePosixPath(file.name).name,
        cells=page.cells,
        split=page.plain,
        modules={"lesson": lesson()},
        helpers=helpers,
    )
    shown = [*notes, *page.notes, *about_helpers, *_only_in_text(name, page)]
    return Found(
        "graded", file=file.name, source=source, notes=tuple(shown), notebook=page.notebook
    )


def _only_in_text(name: str, page: Page) -> list[str]:
    """A note for each due function that stands in a markdown cell and in no cell of code."""
    code = _defined("\n".join(source for source, _ in page.cells))
    text = _defined(page.text)
    return [
        f"{due} stands in a text cell only; cells of text are not run: make it a code cell"
        for due in catalogue.exercise(name).signatures
        if due in text - code
    ]


def _helpers(file: StoredFile, files: Sequence[StoredFile]) -> tuple[dict[str, str], list[str]]:
    """The modules beside a page, by the name they are imported by, and notes on those not used."""
    folder = PurePosixPath(file.name).parent
    sources: dict[str, str] = {}
    notes: list[str] = []
    for other in files:
        path = PurePosixPath(other.name)
        if other is file or path.suffix != ".py" or folder not in path.parents:
            continue
        parts = path.relative_to(folder).with_suffix("").parts
        if not all(part.isidentifier() for part in parts):
            continue
        if parts == ("lesson",):
            if not _same_text(other.data, lesson()):
                notes.append("lesson.py was changed; the course's own was used")
        elif parts[0] in NOT_HELPERS:
            notes.append(f"{other.name} is not used: a module {parts[0]} is there already")
        else:
            module = parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
            try:
                sources[".".join(module)] = decoded(other.data)
            except Unreadable as error:
                notes.append(f"{other.name} is not used: {error}")
    return sources, notes


def _same_text(data: bytes, text: str) -> bool:
    found = data.decode("utf-8-sig", "replace").splitlines()
    return [line.rstrip() for line in found] == [line.rstrip() for line in text.splitlines()]


def lesson() -> str:
    """The text of the course's own `lesson` module, which every page imports from."""
    return (catalogue.PACKAGE / "public" / "lesson.py").read_text(encoding="utf-8")
