"""Find and read what one student handed in. Nothing here runs it, and nothing here grades it.

Kind where the meaning is plain, and never a guess between two meanings; what was bent is said in a
note. Every size is bounded before anything is read.
"""

import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from grader import catalogue
from grader.errors import UsageError
from grader.model import Status
from grader.pages import Page, Unreadable, code_fingerprint, code_of, decoded, read_page
from grader.sandbox import LoadEvent, Source
from grader.storage import INSTEAD, Contents, StoredFile, clean, contents, named_so, shown, usual

NOT_HELPERS = sys.stdlib_module_names | {
    *("lesson", "grader", "submission", "jax", "jaxlib", "numpy", "scipy", "pytest", "hypothesis"),
    *("matplotlib", "IPython", "msgspec", "typer", "rich"),
    # What these import as they go.
    *("ml_dtypes", "opt_einsum", "mpl_toolkits", "pylab", "cycler", "kiwisolver", "contourpy"),
    *("fontTools", "pyparsing", "dateutil", "six", "PIL", "packaging"),
}
HAND_INS = (  # endings of what a student hands in, those first that hold others
    *(".py.txt", ".ipynb.txt", ".ipynb.json", ".tar.gz", ".tar.bz2", ".tar.xz"),
    *(".py", ".pyw", ".ipynb", ".zip", ".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz"),
)
FEW = 5  # names in a sentence, and notes of one kind
_ENDINGS = (".txt", ".json", ".py", ".pyw", ".ipynb")
_NO_CODE = code_fingerprint(Page((), notebook=False))
# "(1)", "-1", "copy", "- copy 2" at the end of a name, read from its end: forwards, a long name
# would be tried from every place in it.
_COPY_MARKS = re.compile(r"(?:(?:\)\d+\(|\d+-|\d* *ypoc(?: ?-)?)[ _-]*\s*)+")
_DEFINITION = re.compile(
    r"^(?:(?:async +)?def +([a-zA-Z_]+)|([a-zA-Z_]+) *[:=](?!=))", re.MULTILINE
)
# By Python (ones_bound.cpython-311.pyc) and by an editor's history (ones_bound_20241103115700.py).
_ADDED_WHERE_HIDDEN = re.compile(r"\.cpython-\d+(?=\.pyc)|_\d{14}(?=\.)")
_TEXTS = (".html", ".htm", ".docx", ".doc", ".odt", ".pdf", ".rtf", ".eml")
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t].*", re.MULTILINE)
_WHOLE_DEFINITION = re.compile(rf"{_DEFINITION.pattern}(.*\n(?:[ \t)\]}}#].*\n|\n)*)", re.MULTILINE)
_NO_SHELL = re.compile(r"'NoneType' object has no attribute '(?:run_\w+_magic|magic|system)'")
_LESSON_ELSEWHERE = re.compile(r"\s*(?:from|import)\s.*\blesson\b")
_NOT_DEFINED = re.compile(r"NameError: name '(\w+)' is not defined")
_STUB = re.compile(
    # Possessive: a line of signs, or of blanks, could be read in more ways than can be tried.
    r"(?:[^=\n]*=)? *+None *+(?:#.*)?\s*+"
    r"|(?:[^=\n]*=)? *\{(?:\s|#[^\n]*+|\"\w+\": *None,?)*+\}(?:\s|#[^\n]*+)*+"
    r"|(?!.*\breturn\b).*^[ \t]+raise NotImplementedError\b.*",
    re.DOTALL | re.MULTILINE,
)


class Found(Struct, frozen=True):
    """What was found for one exercise: a source to load, or (without one) the reason why not."""

    status: Status
    file: str | None = None
    source: Source | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()
    notebook: bool = False
    elsewhere: Mapping[str, str] = {}  # modules of the submission that the page can't import

    def where(self, cell: int, line: int) -> str:
        """A place in this file as its author sees it; `cell` counts from 0."""
        return f"cell {cell + 1}, line {line}" if self.notebook else f"line {line}"

    def told(self, event: LoadEvent) -> str:
        """A loading event as a note, with its place as this file's author sees it."""
        where = self.where(event.cell, event.line)
        cells = self.source.cells if self.source else ()
        whole = len(cells) == 1 and not self.notebook
        lost = "the whole file is" if whole else "this cell is"
        match event.kind:
            case "syntax":
                column = f", column {event.column}" if event.column else ""
                reader = f"read by Python {sys.version_info.major}.{sys.version_info.minor}"
                return f"{where}{column}: syntax error ({event.message}); {lost} not run ({reader})"
            case "too_large":
                return f"{where}: {event.message}; {lost} not run"
            case "left_out":
                return f"{where}: {event.message}"
            case "timed_out":
                return f"{where}: loading reached the time limit here; {_after(event)}"
            case "crashed":
                return f"{where}: {event.message} while loading; {_after(event)}"
        message = self._plainly(event.message, self._line(event)) + self._too_late(event)
        return f"{where}: {message}; the rest was loaded all the same"

    def lines(self) -> Iterator[tuple[int, int, str]]:
        """Every line with its place. A script may be run as one cell: there, lines alone count."""
        for cell, (source, first_line) in enumerate(self.source.cells if self.source else ()):
            for line, text in enumerate(source.split("\n"), first_line):
                yield cell if self.notebook else 0, line, text

    def _line(self, event: LoadEvent) -> str:
        place = (event.cell if self.notebook else 0, event.line)
        return next((text for cell, line, text in self.lines() if (cell, line) == place), "")

    def _too_late(self, event: LoadEvent) -> str:
        """Which later line imports or defines the name that is not there yet."""
        missing = _NOT_DEFINED.match(event.message)
        if missing is None:
            return ""
        name = missing[1]
        brings = re.compile(
            rf"(?:import|from)\b.*\b{name}\b|(?:def|class) +{name}\b|{name} *[:=](?!=)"
        )
        place = (event.cell if self.notebook else 0, event.line)
        for cell, line, text in self.lines():
            if (cell, line) > place and brings.match(text):
                return f" ({self.where(cell, line)} has it, and comes too late: put it first)"
        return ""

    def _plainly(self, message: str, line: str) -> str:
        """What an exception in a line says, in words where it only ends the page's own program, and
        with the reason where something is not there."""
        kind, _, said = message.partition(": ")
        match kind:
            case "SystemExit":
                why = f" ({said})" if said not in ("", "None") else ""
                return f"the program ends itself here{why}"
            case "EOFError":
                return "input is asked for here, and there is none"
            case "BdbQuit":
                return "the debugger stops here, and nobody tells it to go on: take it out"
            case "AttributeError" if _NO_SHELL.search(said):
                return f"{message} (there is no notebook here: IPython's own calls do nothing)"
            case "FileNotFoundError":
                return f"{message} (no files lie beside the page here, only modules to import)"
            case "PermissionError":
                return f"{message} (there are no other programs, no network and no files here)"
            case "ImportError" if "relative import" in said:
                return f"{message} (write it without the dot, as in `from lesson import ...`)"
            case "RuntimeError" if "backend" in said.lower():
                return f"{message} (pages are run on a CPU: leave the choice of a device out)"
            case "ModuleNotFoundError" if _LESSON_ELSEWHERE.match(line):
                return f"{message} (the lesson lies beside the page: write `import lesson`)"
            case "ModuleNotFoundError":
                module = said.split("'")[1].rpartition(".")[2] if said.count("'") == 2 else ""
                if module in self.elsewhere:
                    place = f"{self.elsewhere[module]} is in the submission, but only modules"
                    return f"{message} ({place} beside the page can be imported: put it there)"
        return message


def _after(event: LoadEvent) -> str:
    return "nothing after it was loaded" if event.last else "the rest was loaded without it"


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
        if not place.is_symlink() and not place.exists():
            raise UsageError(f"there is no file or folder {clean(str(place))!r}")
    found = contents(roots)
    stored = found.files
    is_sole = len(stored) == 1 and stored[0].name == roots[0][1]
    files = [_looked_at(file, sole if is_sole else None) for file in stored]
    unread = _unread(files, found)
    by_name = {name: _find(name, files, unread, found) for name in names}
    told = {text for each in by_name.values() for text in (each.reason, *each.notes)}
    named = {each.file for each in by_name.values()}
    return Submission(
        student=student_name(Path(os.path.realpath(roots[0][0]))) if student is None else student,
        found=by_name,
        notes=(*(note for note in found.notes if note not in told), *_nothing_but(found, named)),
        fingerprint=_fingerprint(found),
    )


def student_name(path: Path) -> str:
    """The student that a class folder's entry stands for: its name without its ending."""
    name = clean(path.name)
    ending = _ending(name)
    return name[: -len(ending)] if len(ending) < len(name) and ending else name


def _ending(name: str) -> str:
    """The ending of a name that is one of `HAND_INS`, with what follows it; or nothing."""
    plain = usual(name)
    known = next((known for known in HAND_INS if plain.lower().endswith(known)), "")
    return name[len(plain) - len(known) :] if known else ""


def _fingerprint(found: Contents) -> str:
    digest = hashlib.sha256()
    parts = [(file.name, file.data) for file in found.files]
    parts += [(refused.name, refused.reason.encode()) for refused in found.refused]
    parts += [(note, b"") for note in (*found.notes, *found.others, *found.hidden)]
    for name, data in parts:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


# --- which file is meant --------------------------------------------------------------------------


class _File(Struct, frozen=True):
    """A file that was looked at: its page, or (without one) the reason why it can't be read.

    `spells` is what its name spells, `parts` are the words by which it can be imported. `defines`
    are the exercises of which it defines more than half of the due names; `holds` those that its
    name holds, and of which it defines some. `code` is the fingerprint of its code, `answers` the
    names that it defines otherwise than a scaffold, `imports` the words of its lines that import
    something. `module` is its text for those that import it, or why there is none.
    """

    name: str
    data: bytes
    spells: str | None
    parts: tuple[str, ...] = ()
    page: Page | None = None
    reason: str = ""
    code: str = ""
    defines: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    answers: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    module: str | Unreadable = ""


def _looked_at(file: StoredFile, taken_for: str | None) -> _File:
    spells = taken_for or spelled(file.name)
    parts = PurePosixPath(file.name).with_suffix("").parts if file.name.endswith(".py") else ()
    module = _module(file) if parts else ""
    try:
        page = read_page(file.data, shown(file.name))
    except Unreadable as error:
        return _File(file.name, file.data, spells, parts, reason=str(error), module=module)
    code = code_of(page)
    names = defined(code) if spells is not None else set()
    own = {name: names & set(catalogue.exercise(name).signatures) for name in catalogue.names()}
    due = {name: len(catalogue.exercise(name).signatures) for name in own}
    base = _underscored(PurePosixPath(file.name).name.lower())
    return _File(
        file.name,
        file.data,
        spells,
        parts,
        page,
        code=code_fingerprint(page),
        defines=tuple(name for name in own if 2 * len(own[name]) > due[name]),
        holds=tuple(name for name in own if own[name] and name in base),
        answers=frozenset(names - _stubs(code)) if names else frozenset(),
        imports=frozenset(re.findall(r"\w+", " ".join(_IMPORT.findall(code)))),
        module=module,
    )


def _module(file: StoredFile) -> str | Unreadable:
    try:
        return decoded(file.data.rstrip(b"\0"))
    except Unreadable as error:
        return error


def _unread(files: Sequence[_File], found: Contents) -> list[_File]:
    """What may hold an answer and can't be read, to be named where nothing else is found."""
    unread = [_File(r.name, b"", _spelled_without(r.name), reason=r.reason) for r in found.refused]
    for file in files:
        if file.page is None and usual(file.name).lower().endswith((".py", ".pyw", ".ipynb")):
            unread.append(replace(file, reason=f"{shown(file.name)}: {file.reason}"))
    for other in found.others:
        spells = _spelled_without(other)
        if spells:
            reason = f"{shown(other)} has neither a script's ending nor a notebook's: {INSTEAD}"
            unread.append(_File(other, b"", spells, reason=reason))
    return unread


def _nothing_but(found: Contents, named: Collection[str | None]) -> list[str]:
    """A note where something was handed in, and nothing of it may be a page; not on files that are
    `named` with an exercise."""
    if found.files or found.refused:
        return []
    others = [other for other in found.others if other not in named]
    if others:
        return [f"no file has a script's or a notebook's ending, only {_listed(others)}: {INSTEAD}"]
    if found.hidden and not any(map(_spelled_hidden, found.hidden)):
        return [f"there is only {_listed(found.hidden)}, hidden or not searched: {INSTEAD}"]
    return []


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(map(shown, names[:FEW])) + more


def _few(notes: Sequence[str]) -> list[str]:
    """The first of many notes of one kind."""
    more = [f"... and {len(notes) - FEW} more of this kind"] if len(notes) > FEW else []
    return [*notes[:FEW], *more]


def _find(name: str, files: Sequence[_File], unread: Sequence[_File], contents: Contents) -> Found:
    """The file that is meant for the exercise `name`, read; or why there is none."""
    named = _exact_first([file for file in files if file.spells == name], name)
    unspelled = [file for file in files if file.spells == ""]
    unnamed = [file for file in unspelled if file.defines == (name,)]
    unnamed = unnamed or [file for file in unspelled if file.holds == (name,)]
    worked_on = [_worked_on(candidates, name) for candidates in (named, unnamed)]
    readable = [[file for file in candidates if file.page] for candidates in worked_on]
    worked = next(filter(None, [*readable, *worked_on]), [])
    usually = [file for file in worked if named_so(file.name)]  # a backup's ending comes last
    chosen = [file for file in worked if _exact(file.name, name)] or usually or worked
    if len(chosen) > 1:
        listed = _listed([file.name for file in chosen])
        reason = f"several files could be meant ({listed}): hand in the one that counts"
        for file in chosen:
            if _imports_from(name, file):
                reason += f"; {shown(file.name)} imports from {name}: copy what it needs into it"
        return Found("ambiguous", reason=_together(name, chosen) or reason)
    lost = [file for file in unread if file.spells in (name, "", None)]
    if chosen:
        file = chosen[0]
        aside = [other for other in chain(*worked_on) if other.code != file.code]
        taken = shown(file.name)
        notes: list[str] = []
        parts = _parts(name, file, files)
        for other in aside:
            lacks = f", which has no {parts.pop(other.name)}" if other.name in parts else ""
            notes.append(f"{_left_aside(other, name)}; {taken} was taken{lacks}")
        for part, there in parts.items():
            text = f"{shown(part)} defines {there}, and {taken} does not"
            notes.append(f"{text}: put all into one file")
        notes += _misnamed(name, file, files)
        return _read(name, file, files, [*_about_name(file, name), *_few(notes)])
    if named or unnamed:  # untouched: what else was handed in may hold the answers
        file = (named or unnamed)[0]
        notes = [*_misnamed(name, file, files), *(other.reason for other in lost)]
        notes += _passed_over(name, contents)
        return _read(name, file, files, [*_about_name(file, name), *_few(notes)])
    if lost:
        return Found("unreadable", file=lost[0].name, reason=lost[0].reason)
    return _missing(name, files, contents)


def _together(name: str, files: Sequence[_File]) -> str:
    """What each of several files answers, where they do so only together."""
    due = set(catalogue.exercise(name).signatures)
    answered = {file.name: due & file.answers for file in files}
    if set().union(*answered.values()) in answered.values():
        return ""
    told = [f"{shown(file)} answers {', '.join(sorted(own))}" for file, own in answered.items()]
    return f"{'; '.join(told[:FEW])}: put all into one file, {name}.py"


def _parts(name: str, chosen: _File, files: Sequence[_File]) -> dict[str, str]:
    """What the chosen file doesn't answer, by the name of a file that does and isn't imported."""
    lacking = set(catalogue.exercise(name).signatures) - chosen.answers
    imported = _imported_by([chosen], files)
    parts: dict[str, str] = {}
    for file in files:
        there = ", ".join(sorted(lacking & file.answers))
        if there and file.name not in imported and file.spells in (name, ""):
            parts[file.name] = there
    return parts


def _imported_by(pages: Sequence[_File], files: Sequence[_File]) -> set[str]:
    """The names of the pages themselves, and of all that they may import, and it in turn."""
    by_part: dict[str, list[_File]] = {}
    for file in files:
        for part in file.parts:
            by_part.setdefault(part, []).append(file)
    imported, todo = {page.name for page in pages}, list(pages)
    while todo:
        for word in todo.pop().imports:
            found = [file for file in by_part.pop(word, []) if file.name not in imported]
            imported.update(file.name for file in found)
            todo += found
    return imported


def _imports_from(module: str, file: _File) -> bool:
    """Whether a line of a page's code imports a module of this name, or from it."""
    line = rf"^[ \t]*(?:from|import)[ \t]+{re.escape(module)}\b"
    return file.page is not None and bool(re.search(line, code_of(file.page), re.MULTILINE))


def _misnamed(name: str, chosen: _File, files: Sequence[_File]) -> list[str]:
    """Notes on the files of another exercise's name that hold the answers to this one, where the
    chosen one holds none."""
    due = set(catalogue.exercise(name).signatures)
    if due & chosen.answers:
        return []
    return [
        f"{shown(file.name)} defines the names of {name}: hand that in as {name}"
        for file in files
        if file.spells not in (name, "") and 2 * len(due & file.answers) > len(due)
    ]


def _left_aside(file: _File, name: str) -> str:
    """What became of a file that might have been taken for the exercise `name`."""
    if file.page is None:
        return f"{shown(file.name)} can't be read ({file.reason})"
    instead = (
        " (if it is the one that counts, hand in that one alone)" if file.spells == name else ""
    )
    return f"{shown(file.name)} was left aside{instead}"


def _missing(name: str, files: Sequence[_File], contents: Contents) -> Found:
    """Nothing is taken for an exercise; what of the rest may have been meant for it is named."""
    for file in files:
        if name in file.defines and file.spells == "":
            listed = ", ".join(file.defines)
            reason = f"{shown(file.name)} defines the names of {listed}: hand in one file for each"
            return Found("ambiguous", reason=reason)
    reason = "nothing was handed in for this exercise"
    used = _imported_by([file for file in files if file.spells or file.defines], files)
    misnamed = [file for file in files if name in file.defines]
    if misnamed:
        reason += f"; {shown(misnamed[0].name)} defines its names: hand that in as {name}"
    elif unknown := [
        file.name
        for file in files
        if file.spells == "" and not (file.defines or file.holds) and file.name not in used
    ]:
        reason += f" under its name ({name}.py or {name}.ipynb), only {_listed(unknown)}"
        reason += ": hand in one file of that name"
    texts = [other for other in contents.others if other.lower().endswith(_TEXTS)]
    if texts and files:  # without files, all others are told of
        reason += (
            f"; {_listed(texts)} was not read: it has neither a script's ending nor a notebook's"
        )
    return Found("missing", reason="; ".join([reason, *_passed_over(name, contents)]))


def _passed_over(name: str, contents: Contents) -> list[str]:
    """What to know of a file that was not read and may be meant for an exercise: the first one."""
    for path in contents.skipped:
        if spelled(path) == name:
            return [f"{shown(path)} was found and not read, as the notes say"]
    for path in contents.hidden:
        if _spelled_hidden(path) != name:
            continue
        if path.lower().endswith(".pyc"):
            return [f"{shown(path)} is what Python made of a page: hand in the page, {name}.py"]
        if path.lower().endswith(".swp"):
            return [f"{shown(path)} is what an editor keeps of an open file: hand in {name}.py"]
        return [
            f"{shown(path)} is hidden, or in a folder that is not searched, and was not read: "
            "hand it in under its plain name, in a folder of your own"
        ]
    return []


def _exact(file: str, name: str) -> bool:
    return PurePosixPath(file).name in (f"{name}.py", f"{name}.ipynb")


def _exact_first(files: Iterable[_File], name: str) -> list[_File]:
    return sorted(files, key=lambda file: not _exact(file.name, name))


def _about_name(file: _File, name: str) -> list[str]:
    """A note on a file whose name is not the expected one."""
    if _exact(file.name, name):
        return []
    why = ", whose names it defines" if name in file.defines else ", which its name holds"
    why = "" if file.spells == name else why
    named = usual(file.name).lower().endswith(".ipynb")
    ending = ".ipynb" if (file.page.notebook if file.page else named) else ".py"
    return [f"{shown(file.name)} was taken for {name}{why}; the expected name is {name}{ending}"]


def _worked_on(candidates: Sequence[_File], name: str) -> list[_File]:
    """The candidates without copies, without scaffolds that nothing was written in, and without
    those of no code."""
    exercise = catalogue.exercise(name)
    untouched = {*exercise.untouched, _NO_CODE}
    once: dict[object, _File] = {}
    for file in candidates:
        stubs = set() if file.page is None else _stubs(code_of(file.page))
        if file.code not in untouched and not stubs.issuperset(exercise.signatures):
            once.setdefault(file.code if file.page else file.data, file)
    return list(once.values())


def spelled(name: str) -> str | None:
    """The exercise that a file's name spells, in any usual spelling; "" for no exercise's name.

    None for a name that is not there to tell: a helper's, `lesson.py`.
    """
    base = usual(PurePosixPath(name).name).lower()
    if base == "lesson.py":
        return None
    while base.endswith(_ENDINGS):
        base = base.rsplit(".", 1)[0]
    base = base.partition(" - ")[0].strip()
    if marks := _COPY_MARKS.match(base[::-1]):
        base = base[: -marks.end()].strip()
    base = _underscored(base)
    return base if base in catalogue.names() else ""


def _spelled_without(name: str) -> str | None:
    """The exercise that a name spells, whatever its ending."""
    return spelled(name.removesuffix(_ending(name) or PurePosixPath(name).suffix))


def _spelled_hidden(path: str) -> str | None:
    """The exercise that a name spells, without what hides it."""
    name = PurePosixPath(path).name.lstrip("._").replace("-checkpoint", "")
    return _spelled_without(_ADDED_WHERE_HIDDEN.sub("", name))


def _underscored(text: str) -> str:
    return re.sub(r"[ _-]+", "_", text)


def defined(code: str) -> set[str]:
    """The functions and constants that a text of Python defines at its left margin."""
    return {function or constant for function, constant in _DEFINITION.findall(code)}


def _stubs(code: str) -> set[str]:
    """The names that a text of Python defines only as a scaffold does: as None, or to raise
    NotImplementedError."""
    stubs: set[str] = set()
    others: set[str] = set()
    for function, constant, rest in _WHOLE_DEFINITION.findall(f"{code}\n"):
        (stubs if _STUB.fullmatch(rest) else others).add(function or constant)
    return stubs - others


# --- reading it -----------------------------------------------------------------------------------


def _read(name: str, file: _File, files: Sequence[_File], notes: Sequence[str]) -> Found:
    page = file.page
    if page is None:
        return Found("unreadable", file=file.name, reason=file.reason, notes=tuple(notes))
    helpers, about_helpers = _helpers(file, files)
    source = Source(
        filename=PurePosixPath(file.name).name,
        cells=page.cells,
        modules={"lesson": lesson()},
        helpers=helpers,
        due=(*catalogue.exercise(name).signatures, "lesson"),
    )
    itself = PurePosixPath(file.name).stem
    is_free = itself not in helpers and itself not in NOT_HELPERS
    lacks = not file.answers.issuperset(catalogue.exercise(name).signatures)
    if lacks and is_free and _imports_from(itself, file):
        about_helpers.append(
            f"the page imports from {itself}, which is the page itself: copy what is meant into it"
        )
    shown = [*notes, *page.notes, *about_helpers, *_only_in_text(name, page)]
    return Found(
        "graded",
        file=file.name,
        source=source,
        notes=tuple(shown),
        notebook=page.notebook,
        elsewhere=_elsewhere(file, files),
    )


def _elsewhere(page: _File, files: Sequence[_File]) -> dict[str, str]:
    """The modules and folders of modules that don't lie beside the page, by their names."""
    beside = PurePosixPath(page.name).parent
    paths = [PurePosixPath(file.name) for file in files if file.name.endswith(".py")]
    folders = [folder for path in paths for folder in path.parents if folder.name]
    return {place.stem: str(place) for place in (*folders, *paths) if place.parent != beside}


def _only_in_text(name: str, page: Page) -> list[str]:
    """A note for each due function that stands in a markdown cell and in no cell of code."""
    code = defined(code_of(page))
    text = defined(page.text)
    return [
        f"{due} stands in a text cell only; cells of text are not run: make it a code cell"
        for due in catalogue.exercise(name).signatures
        if due in text - code
    ]


def _helpers(file: _File, files: Sequence[_File]) -> tuple[dict[str, str], list[str]]:
    """The modules beside a page, by the name they are imported by, and notes on those not used.

    A page in a zip may also have helpers beside the zip; those in it come before them.
    """
    folder = PurePosixPath(file.name).parent
    zips = [place for place in (folder, *folder.parents) if place.suffix.lower() == ".zip"]
    sources: dict[str, str] = {}
    notes: list[str] = []
    shadowing: dict[str, str] = {}
    places = [*(zipped.parent for zipped in reversed(zips)), folder]
    beside: dict[PurePosixPath, list[tuple[_File, PurePosixPath]]] = {place: [] for place in places}
    for other in files:
        path = PurePosixPath(other.name)
        place = path.parent
        while place not in beside and place.name.isidentifier():
            place = place.parent
        if other is not file and path.suffix == ".py" and place in beside:
            beside[place].append((other, path.relative_to(place)))
    for other, path in chain(*beside.values()):
        parts = path.with_suffix("").parts
        if not all(part.isidentifier() for part in parts):
            continue
        if parts == ("lesson",):
            continue
        if parts[0] in NOT_HELPERS:
            shadowing.setdefault(parts[0], other.name)
        else:
            module = parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
            if isinstance(other.module, Unreadable):
                notes.append(f"{shown(other.name)} is not used: {other.module}")
            else:
                sources[".".join(module)] = other.module
    known = [
        f"{shown(file)} is not used: a module {module} is there already, give it another name"
        for module, file in shadowing.items()
    ]
    return sources, [*_lesson_changed(folder, files), *_few(notes), *_few(known)]


def _lesson_changed(folder: PurePosixPath, files: Sequence[_File]) -> list[str]:
    """A note where the lesson beside a page (or elsewhere, where none is) is not the course's."""
    lessons = [other for other in files if PurePosixPath(other.name).name == "lesson.py"]
    beside = [other for other in lessons if PurePosixPath(other.name).parent == folder]
    if all(_same_text(other.data, lesson()) for other in beside or lessons):
        return []
    note = "lesson.py was changed; the course's own was used: put functions of yours into the page"
    return [note]


def _same_text(data: bytes, text: str) -> bool:
    found = data.decode("utf-8-sig", "replace").splitlines()
    return [line.rstrip() for line in found] == [line.rstrip() for line in text.splitlines()]


def lesson() -> str:
    """The text of the course's own `lesson` module, which every page imports from."""
    return (catalogue.PACKAGE / "public" / "lesson.py").read_text(encoding="utf-8")
