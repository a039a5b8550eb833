"""The files of one submission, as names and bytes: from folders, single files, and zips.

Every size is looked at before anything is read. What can't be read is named, with what to do.
"""

import os
import stat
import zipfile
import zlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from msgspec import Struct

MAX_BYTES = 20 << 20  # of one submission, unpacked
MAX_FILES = 2_000  # of one submission, and entries of one zip
MAX_RATIO = 200  # of a zip's content to the zip itself
MAX_NAME = 1_000  # characters of a name with its folders
MAX_DEPTH = 32  # folders in folders
MAX_ZIPS_INSIDE = 1  # a zip in a zip is opened, a third one is not
HEAD = 512  # bytes by which a file's kind is told

IGNORED = {
    *("__MACOSX", "__pycache__", "venv", "env", "site-packages", "node_modules"),
    *("$RECYCLE.BIN", "System Volume Information"),
}
PAGE_SUFFIXES = (".py", ".ipynb", ".txt", ".json")
OTHER_KINDS = (  # kinds that can't be read: where their mark stands, the mark, and what they are
    (0, b"Rar!", "a RAR archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"\x1f\x8b", "a gzip or tar.gz archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\xfd7zXZ", "an xz archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"%PDF", "a PDF"),
    (0, b"\xd0\xcf\x11\xe0", "an office document"),
)
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
    """What was found in a submission; `notes` name what was left out."""

    files: list[StoredFile]
    refused: list[Refused]
    notes: list[str]


def clean(name: str) -> str:
    """A name as text that can be written anywhere: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def contents(roots: Iterable[Path | tuple[Path, str]]) -> Contents:
    """The pages in `roots` (paths, or paths with the names they go by), sorted by name.

    Links are not followed, hidden and environment folders not searched.
    """
    reader = _Reader()
    for root in roots:
        path, name = root if isinstance(root, tuple) else (root, clean(root.name))
        if path.is_symlink():
            reader.notes.append(f"{name} is a link; links are not followed")
        elif path.is_dir():
            reader.folder(path, "")
        else:
            reader.file(path, name)
    files = sorted(reader.files.values(), key=lambda file: file.name)
    return Contents(files, reader.refused, reader.notes)


class _Reader:
    """Collects files, and keeps count of what is left of the bounds."""

    def __init__(self) -> None:
        self.files: dict[str, StoredFile] = {}
        self.refused: list[Refused] = []
        self.notes: list[str] = []
        self.room = MAX_BYTES
        self.count = 0

    def folder(self, folder: Path, prefix: str) -> None:
        """Everything in a folder, in the order of names."""
        if prefix.count("/") >= MAX_DEPTH:
            self.notes.append(f"{_cut(prefix)} lies too deep, and was not searched")
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self.notes.append(f"{_cut(prefix) or 'the folder'} can't be read: {error.strerror}")
            return
        for entry in entries:
            name = prefix + clean(entry.name)
            if entry.is_symlink():
                self.notes.append(f"{_cut(name)} is a link; links are not followed")
            elif entry.is_dir():
                if not _ignored(entry.name):
                    self.folder(Path(entry.path), f"{name}/")
            elif not entry.name.startswith("."):
                if self.count == MAX_FILES:
                    self.notes.append(f"more than {MAX_FILES} files; the rest was not read")
                if self.count >= MAX_FILES:
                    self.count += 1
                    return
                self.count += 1
                self.file(Path(entry.path), name)

    def file(self, path: Path, name: str) -> None:
        """One file on disk: read when it may be a page or a zip."""
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                self.notes.append(f"{_cut(name)} is no ordinary file, and was not read")
                return
            with path.open("rb") as stream:
                head = stream.read(HEAD)
                if not _may_be_page(name) and not head.startswith(b"PK\x03\x04"):
                    self._refuse_other_kind(name, head)
                elif status.st_size > self.room:
                    self._too_large(name)
                else:
                    self.opened(name, head + stream.read(self.room - len(head) + 1), 0)
        except OSError as error:
            self.refused.append(Refused(name, f"{_cut(name)} can't be read: {error.strerror}"))

    def opened(self, name: str, data: bytes, depth: int) -> None:
        """A file that was read: kept, or when it is a zip (whatever it is called) unpacked."""
        if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            if not name.lower().endswith(".zip"):
                self.notes.append(f"{_cut(name)} is a zip, and was read as one")
            self._zip(name, data, depth)
        elif len(data) > self.room:
            self._too_large(name)
        elif not self._refuse_other_kind(name, data[:HEAD]):
            self.room -= len(data)
            if name in self.files:
                self.notes.append(f"{_cut(name)} is there twice; the last one counts")
            self.files[name] = StoredFile(name, data)

    def _refuse_other_kind(self, name: str, head: bytes) -> bool:
        for place, mark, kind in OTHER_KINDS:
            if head[place : place + len(mark)] == mark:
                self.refused.append(Refused(name, f"{_cut(name)} is {kind}: {INSTEAD}"))
                return True
        return False

    def _too_large(self, name: str) -> None:
        limit = f"{MAX_BYTES >> 20} MiB"
        reason = f"{_cut(name)} is too large (a submission may have {limit} in all): {INSTEAD}"
        self.refused.append(Refused(name, reason))

    # --- zips ----------------------------------------------------------------------------------

    def _zip(self, name: str, data: bytes, depth: int) -> None:
        if depth > MAX_ZIPS_INSIDE:
            self.refused.append(
                Refused(name, f"{_cut(name)} is a zip in a zip in a zip: unpack it")
            )
            return
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                reason = _why_not(archive, len(data), self.room)
                if reason:
                    self.refused.append(Refused(name, f"{_cut(name)} {reason}"))
                    return
                self._entries(archive, depth)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            reason = f"{_cut(name)} is damaged ({error}): make the zip once more"
            self.refused.append(Refused(name, reason))
        except (NotImplementedError, RuntimeError) as error:
            reason = f"{_cut(name)} is packed in a way that can't be read ({error}): {INSTEAD}"
            self.refused.append(Refused(name, reason))

    def _entries(self, archive: zipfile.ZipFile, depth: int) -> None:
        last = {entry.filename: entry for entry in archive.infolist()}
        if len(last) < len(archive.infolist()):
            doubled = sorted({e.filename for e in archive.infolist() if last[e.filename] is not e})
            for name in doubled[:20]:
                self.notes.append(f"the zip holds {_cut(name)} twice; the last one counts")
        for entry in last.values():
            name = entry.filename.replace("\\", "/")
            parts = name.split("/")
            if entry.is_dir() or any(map(_ignored, parts[:-1])) or parts[-1].startswith("."):
                continue
            mode = entry.external_attr >> 16
            if name.startswith("/") or ".." in parts or ":" in parts[0] or stat.S_ISLNK(mode):
                self.notes.append(f"the zip's entry {_cut(name)} leads outside, and was not read")
            elif len(name) > MAX_NAME or len(parts) > MAX_DEPTH:
                self.notes.append(f"the zip's entry {_cut(name)} has too long a name")
            elif _may_be_page(name) or name.lower().endswith(".zip"):
                with archive.open(entry) as stream:
                    data = stream.read(self.room + 1)
                self.opened(clean(name), data, depth + 1)
            else:
                with archive.open(entry) as stream:
                    head = stream.read(HEAD)
                self._refuse_other_kind(clean(name), head)


def _why_not(archive: zipfile.ZipFile, packed: int, room: int) -> str | None:
    """Why a zip is not unpacked at all, or None."""
    entries = archive.infolist()
    names = {entry.filename for entry in entries}
    if "[Content_Types].xml" in names or "mimetype" in names or "META-INF/MANIFEST.MF" in names:
        return f"is an office document or a program: {INSTEAD}"
    if any(entry.flag_bits & 1 for entry in entries):
        return "is encrypted: hand it in without a password"
    if len(entries) > MAX_FILES:
        return f"has more than {MAX_FILES} entries: leave out what is not yours"
    size = sum(entry.file_size for entry in entries)
    if size > MAX_RATIO * max(packed, 1):
        return f"unpacks to more than {MAX_RATIO} times its size: {INSTEAD}"
    if size > room:
        return f"unpacks to more than {MAX_BYTES >> 20} MiB: leave out what is not yours"
    return None


def _may_be_page(name: str) -> bool:
    base = name.rsplit("/", 1)[-1].lower()
    return base.endswith(PAGE_SUFFIXES) or "." not in base


def _ignored(name: str) -> bool:
    return name in IGNORED or (name.startswith(".") and name not in (".", ".."))


def _cut(name: str) -> str:
    return name if len(name) <= 120 else f"{name[:60]}...{name[-50:]}"
