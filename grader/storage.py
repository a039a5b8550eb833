"""The files of one submission, as names and bytes: from folders, single files, and zips.

Every size is looked at before anything is read. What can't be read is named, with what to do.
"""

import contextlib
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from msgspec import Struct

from grader import zips

MAX_BYTES = 20 << 20  # of one submission, unpacked
MAX_FILES = 2_000  # of one submission, and entries of one zip
MAX_LISTED = 50_000  # entries of one zip, with those that are passed over
MAX_LISTED_IN_ALL = 500_000  # entries of all zips of a submission
MAX_RATIO = 200  # of a zip's content to the zip itself
MAX_NAME = 1_000  # characters of a name with its folders
MAX_DEPTH = 32  # folders in folders
MAX_ZIPS_INSIDE = 1  # a zip in a zip is opened, a third one is not
MAX_NOTES = 50  # of one submission; a folder may hold any number of links
HEAD = 512  # bytes by which a file's kind is told

IGNORED = {
    *("__MACOSX", "__pycache__", "venv", "env", "site-packages", "node_modules"),
    *("$RECYCLE.BIN", "System Volume Information"),
}
PACKAGES = (".whl", ".egg")  # the course's own wheel lies where students work
READ_FIRST = (".py", ".pyw", ".ipynb", ".zip")
PAGE_SUFFIXES = (".py", ".pyw", ".ipynb", ".txt", ".json")
IS_LINK = "is a link; links are not followed: hand in the file itself"
# The last are what Python made of a page, what Vim made while it was open, and what stands for a
# file that is in Apple's cloud.
HIDDEN_PAGES = (".py", ".ipynb", ".pyc", ".swp", ".icloud")
OTHER_KINDS = (  # kinds that can't be read: where their mark stands, the mark, and what they are
    (0, b"Rar!", "a RAR archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"\x1f\x8b", "a gzip or tar.gz archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\xfd7zXZ", "an xz archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"%PDF", "a PDF"),
    (0, b"\xd0\xcf\x11\xe0", "an office document"),
    (0, b"{\\rtf", "an RTF document"),
)
_WEB_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html)\b", re.IGNORECASE)
_NOTEBOOK = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:cells|nbformat)"')
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
SMALLER = "leave out what is not yours, and clear the outputs of notebooks"
INSTEAD = "hand in a .py, a .ipynb or a zip of them"


class StoredFile(Struct, frozen=True):
    """One file: its name below the submission, with forward slashes, and its bytes."""

    name: str
    data: bytes


class Refused(Struct, frozen=True):
    """A file that may hold an answer and can't be read; `reason` says why and what to do."""

    name: str
    reason: str


class Contents(Struct, frozen=True):
    """What was found in a submission; `notes` name what was left out, `others` are the names of
    files that hold neither a page nor one of the kinds that are refused, `hidden` those of pages
    that are hidden, or lie in a folder that is not searched, and of these folders; `skipped` those
    of files that a note says are not read."""

    files: list[StoredFile]
    refused: list[Refused]
    notes: list[str]
    others: list[str]
    hidden: list[str]
    skipped: list[str]


def clean(name: str) -> str:
    """A name as text that can be written anywhere: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def usual(name: str) -> str:
    """A name without the white space and the dots that follow its ending."""
    end = len(name)
    while end and (name[end - 1] == "." or name[end - 1].isspace()):
        end -= 1
    return name[:end]


def contents(roots: Iterable[Path | tuple[Path, str]]) -> Contents:
    """The pages in `roots` (paths, or paths with the names they go by), sorted by name.

    Links are not followed, hidden and environment folders not searched. What lies in a zip goes by
    the zip's name and its own, as in a folder, unless the zip is all that there is.
    """
    reader = _Reader()
    named = [root if isinstance(root, tuple) else (root, clean(root.name)) for root in roots]
    times = Counter(name for _, name in named)
    for path, name in named:
        if times[name] > 1:
            name = f"{clean(path.name)}/{name}"
        if path.is_symlink():
            reader.skip(name, f"{name} {IS_LINK}")
        elif path.is_dir():
            reader.folder(path, "")
        else:
            reader.file(path, name, "" if len(named) == 1 else None)
    files = sorted(reader.files.values(), key=lambda file: file.name)
    notes = reader.notes[:MAX_NOTES]
    if len(reader.notes) > MAX_NOTES:
        notes.append(f"... and {len(reader.notes) - MAX_NOTES} more notes of this kind")
    hidden, skipped = reader.hidden[:MAX_FILES], reader.skipped[:MAX_FILES]
    return Contents(files, reader.refused, notes, reader.others, hidden, skipped)


class _Reader:
    """Collects files, and keeps count of what is left of the bounds."""

    def __init__(self) -> None:
        self.files: dict[str, StoredFile] = {}
        self.refused: list[Refused] = []
        self.notes: list[str] = []
        self.others: list[str] = []
        self.hidden: list[str] = []
        self.skipped: list[str] = []
        self.room = MAX_BYTES
        self.unpacking = 4 * MAX_BYTES  # bytes; pages, zips in zips and heads are half of it
        self.count = 0
        self.listed = 0

    def folder(self, folder: Path, prefix: str) -> None:
        """Everything in a folder: what is named as a page or a zip first, since there is an end to
        what is read; then other files, then folders, each in the order of names."""
        if prefix.count("/") >= MAX_DEPTH:
            self.notes.append(f"{_cut(prefix)} lies too deep, and was not searched")
            return
        try:
            entries = sorted(os.scandir(folder), key=_order)
        except OSError as error:
            reason = f"{_cut(prefix) or 'the folder'} can't be read: {error.strerror}"
            self.refused.append(Refused(prefix or clean(folder.name), reason))
            return
        for entry in entries:
            name = prefix + clean(entry.name)
            if entry.is_symlink():
                self.skip(name, f"{_cut(name)} {IS_LINK}")
            elif entry.is_dir():
                if not _ignored(entry.name):
                    self.folder(Path(entry.path), f"{name}/")
                else:
                    self._not_searched(Path(entry.path), f"{name}/")
            elif _is_hidden(entry.name):
                self._hide(name)
            else:
                if self.count >= MAX_FILES:
                    note = f"more than {MAX_FILES} files; the rest was not read"
                    self.notes += [note] if note not in self.notes else []
                    return
                self.count += 1
                self.file(Path(entry.path), name)

    def _not_searched(self, folder: Path, prefix: str) -> None:
        """A folder that is not searched: the pages in it are known by name, those below it not."""
        self.hidden.append(prefix)
        with contextlib.suppress(OSError):
            for entry in sorted(os.scandir(folder), key=_order):
                self._hide(prefix + clean(entry.name))

    def skip(self, name: str, note: str) -> None:
        """A file that is not read; `note` tells why."""
        self.skipped.append(name)
        self.notes.append(note)

    def _hide(self, name: str) -> None:
        if name.lower().endswith(HIDDEN_PAGES):
            self.hidden.append(name)

    def file(self, path: Path, name: str, inside: str | None = None) -> None:
        """One file on disk: read when it may be a page or a zip. `inside` is as for `opened`."""
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                self.skip(name, f"{_cut(name)} is no ordinary file, and was not read")
                return
            with path.open("rb") as stream:
                head = stream.read(HEAD)
                if not _wanted(name, head):
                    self._left(name, head)
                elif status.st_size > self.room:
                    self._too_large(name)
                else:
                    self.opened(name, head + self._rest(stream, head), 0, inside)
        except OSError as error:
            self.refused.append(Refused(name, f"{_cut(name)} can't be read: {error.strerror}"))

    def opened(self, name: str, data: bytes, depth: int, inside: str | None = None) -> None:
        """A file that was read: kept, or when it is a zip (whatever it is called) unpacked.

        `inside` comes before the names of what a zip holds; without it, the zip's name.
        """
        if self._refuse_other_kind(name, data):
            return
        if usual(name).lower().endswith(".zip") or data.startswith(ZIP):
            self._zip(name, data, depth, f"{name}/" if inside is None else inside)
        elif len(data) > self.room:
            self._too_large(name)
        else:
            self.room -= len(data)
            if name in self.files:
                self.notes.append(f"{_cut(name)} is there twice; the last one counts")
            self.files[name] = StoredFile(name, data)

    def _rest(self, stream: IO[bytes], head: bytes) -> bytes:
        """What follows `head`, up to the first byte for which there is no room."""
        return stream.read(max(self.room - len(head) + 1, 0))

    def _left(self, name: str, head: bytes) -> None:
        """A file that is no page: refused where it is of a known kind, else its name is kept."""
        if not self._refuse_other_kind(name, head):
            self.others.append(name)

    def _refuse_other_kind(self, name: str, data: bytes) -> bool:
        for place, mark, kind in OTHER_KINDS:
            if data[place : place + len(mark)] == mark:
                if kind.endswith("archive") and _is_text(name, data):
                    continue  # `BZh = 1` is Python
                self.refused.append(Refused(name, f"{_cut(name)} is {kind}: {INSTEAD}"))
                return True
        if _WEB_PAGE.match(data):
            self.refused.append(Refused(name, f"{_cut(name)} is a web page: {INSTEAD}"))
            return True
        return False

    def _too_large(self, name: str) -> None:
        limit = f"{MAX_BYTES >> 20} MiB"
        ending = PurePosixPath(usual(name).lower()).suffix
        what = {".zip": SMALLER, ".ipynb": "clear all outputs of the notebook, and save it"}
        reason = f"{_cut(name)} is too large (a submission may have {limit} in all): "
        reason += what.get(ending, INSTEAD)
        self.refused.append(Refused(name, reason))
        self.notes.append(reason)  # also where another file is the page: it may import this one

    # --- zips ----------------------------------------------------------------------------------

    def _zip(self, name: str, data: bytes, depth: int, inside: str) -> None:
        if depth > MAX_ZIPS_INSIDE:
            self.refused.append(
                Refused(name, f"{_cut(name)} is a zip in a zip in a zip: unpack it")
            )
            return
        try:
            if zips.is_in_parts(BytesIO(data)):
                whole = "is the last part of a zip in several: hand in one zip that is not split"
                self.refused.append(Refused(name, f"{_cut(name)} {whole}"))
                return
            if zips.lists_more_than(
                min(MAX_LISTED, MAX_LISTED_IN_ALL - self.listed), BytesIO(data)
            ):
                listed = f"lists more than {MAX_LISTED} entries, or with the other zips more than "
                listed += f"{MAX_LISTED_IN_ALL}: leave out what is not yours"
                self.refused.append(Refused(name, f"{_cut(name)} {listed}"))
                return
            with zipfile.ZipFile(BytesIO(data)) as archive:
                entries = archive.infolist()
                self.listed += len(entries)
                looked_at = [entry for entry in entries if not _passed_over(entry)]
                for entry in filter(_passed_over, entries):
                    self._hide(inside + zips.entry_name(entry))
                reason = _why_not(entries, looked_at, len(data), self.room)
                self.unpacking -= _overlap(looked_at, len(data))
                if not reason and self.count + len(looked_at) > MAX_FILES:
                    reason = f"would make more than {MAX_FILES} files: leave out what is not yours"
                if reason:
                    self.refused.append(Refused(name, f"{_cut(name)} {reason}"))
                    return
                self.count += len(looked_at)
                if not usual(name).lower().endswith(".zip"):
                    self.notes.append(f"{_cut(name)} is a zip, and was read as one")
                if not looked_at:
                    but = " but what is hidden, or in folders that are not searched"
                    but = but if any(not entry.is_dir() for entry in entries) else ""
                    self.notes.append(f"{_cut(name)} is a zip with nothing in it{but}")
                self._entries(archive, looked_at, depth, inside)
        except Exception as error:  # of a dozen kinds, and all mean the same here
            reason = f"{_cut(name)} is damaged ({_said(error)}): make the zip once more"
            self.refused.append(Refused(name, reason))

    def _entries(
        self, archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], depth: int, inside: str
    ) -> None:
        last = {entry.filename: entry for entry in entries}
        for name in sorted({e.filename for e in entries if last[e.filename] is not e}):
            self.notes.append(f"the zip holds {_cut(name)} twice; the last one counts")
        for entry in last.values():
            name = zips.entry_name(entry)
            if zips.leads_outside(entry):
                again = "make the zip again, in the folder itself"
                self.skip(name, f"the zip's entry {_cut(name)} leads outside: {again}")
            elif len(name) > MAX_NAME or name.count("/") >= MAX_DEPTH:
                self.skip(
                    name, f"the zip's entry {_cut(name)} has too long a name, or lies too deep"
                )
            elif _wanted(name) and entry.file_size > MAX_BYTES:
                self._too_large(inside + name)
            else:
                self._entry(archive, entry, inside + name, depth)

    def _entry(
        self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, depth: int
    ) -> None:
        """One entry; where it can't be read, the others still are."""
        try:
            data = b"" if _wanted(name) else self._unpacked(archive, entry, HEAD)
            wanted = _wanted(name, data)
            if wanted:
                data = self._unpacked(archive, entry, self.room + 1)
        except _TooMuch:
            self._too_large(name)
            return
        except zips.UnknownMethod as error:
            reason = (
                f"{_cut(name)} can't be unpacked ({error}): pack it in the ordinary way (Deflate)"
            )
            self.refused.append(Refused(name, reason))
            return
        except Exception as error:  # of a dozen kinds, and all mean the same here
            found = f"{_cut(name)} can't be unpacked ({_said(error)})"
            self.refused.append(Refused(name, f"{found}, the zip is damaged: make it once more"))
            return
        if wanted:
            # A zip by another name: the bounds of the zip that it lies in left it out.
            if not named_so(name) and data.startswith(ZIP):
                self.room -= len(data)
            self.opened(name, data, depth + 1)
        else:
            self._left(name, data)

    def _unpacked(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
        """Up to `most` bytes of an entry. What comes out counts, whatever comes of it."""
        data = bytearray()
        last_piece = min(zips.PIECE, entry.file_size)  # counts before: it may come with an error
        self.unpacking -= last_piece
        if self.unpacking < 0:
            raise _TooMuch
        for piece in zips.pieces(archive, entry, most):
            data += piece
            self.unpacking -= len(piece)
            if self.unpacking < 0:
                raise _TooMuch
        self.unpacking += last_piece
        return bytes(data)


def _order(entry: "os.DirEntry[str]") -> tuple[bool, bool, str]:
    is_folder = entry.is_dir(follow_symlinks=False)
    return is_folder, not usual(entry.name).lower().endswith(READ_FIRST), entry.name


class _TooMuch(Exception):
    """What a submission's zips say of their sizes is not true."""


def _overlap(entries: list[zipfile.ZipInfo], packed: int) -> int:
    """By how many bytes the entries of a zip are more than the zip, which they share then."""
    return max(sum(min(entry.compress_size, packed) for entry in entries) - packed, 0)


def _passed_over(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a folder, or lies in one that is not searched, or is hidden."""
    *folders, base = zips.entry_name(entry).split("/")
    return not base or _is_hidden(base) or any(map(_ignored, folders))


def _said(error: Exception) -> str:
    return _cut(str(error) or type(error).__name__)


def _why_not(
    entries: list[zipfile.ZipInfo], looked_at: list[zipfile.ZipInfo], packed: int, room: int
) -> str | None:
    """Why a zip is not unpacked at all, or None."""
    names = {entry.filename for entry in entries}
    if "[Content_Types].xml" in names or "mimetype" in names or "META-INF/MANIFEST.MF" in names:
        return f"is an office document or a program: {INSTEAD}"
    if any(entry.flag_bits & 1 for entry in entries):
        return "is encrypted: hand it in without a password"
    if len(looked_at) > MAX_FILES:
        return f"has more than {MAX_FILES} entries: leave out what is not yours"
    sizes = [entry.file_size for entry in looked_at if _wanted(zips.entry_name(entry))]
    if sum(sizes) > MAX_RATIO * max(packed, 1):
        what = "clear the notebook's outputs, or hand in the .ipynb itself"
        return f"unpacks to more than {MAX_RATIO} times its size: {what}"
    if sum(size for size in sizes if size <= MAX_BYTES) > room:
        return f"unpacks to more than {MAX_BYTES >> 20} MiB: leave out what is not yours"
    return None


def _wanted(name: str, head: bytes = b"") -> bool:
    """Whether a file may be a page or a zip, by its name or how it begins."""
    return named_so(name) or head.startswith(ZIP) or bool(_NOTEBOOK.match(head))


def named_so(name: str) -> bool:
    """Whether a file may be a page or a zip by its name: it has one of their endings, or none."""
    base = usual(name.rsplit("/", 1)[-1]).lower()
    return base.endswith((*PAGE_SUFFIXES, ".zip")) or "." not in base


def _is_text(name: str, data: bytes) -> bool:
    """Whether a file is named as a page and is a text, as no archive is."""
    if not name.lower().endswith(PAGE_SUFFIXES):
        return False
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _is_hidden(name: str) -> bool:
    """Whether a file is nothing that a student wrote: hidden, or a package to install."""
    return (name.startswith(".") and name != "..") or name.lower().endswith(PACKAGES)


def _ignored(name: str) -> bool:
    return name in IGNORED or (name.startswith(".") and name not in (".", ".."))


def shown(name: str) -> str:
    """A name as notes and reasons show it: the middle of a long one is left out."""
    return name if len(name) <= 120 else f"{name[:60]}...{name[-50:]}"


_cut = shown
