"""The files of one submission, as names and bytes: from a folder, a single file, or a zip."""

import os
import stat
import zipfile
from io import BytesIO
from pathlib import Path

from msgspec import Struct

MAX_BYTES = 20 << 20
MAX_FILES = 2_000
MAX_RATIO = 200  # of a zip entry's size to what it takes in the zip
IGNORED = {".ipynb_checkpoints", "__MACOSX", ".venv", "venv", "site-packages", "node_modules"}
IGNORED |= {"__pycache__", ".git", ".idea", ".vscode"}
SUFFIXES = (".py", ".ipynb", ".zip", ".txt")


class StoredFile(Struct, frozen=True):
    """One file: its name below the submission, with forward slashes, and its bytes."""

    name: str
    data: bytes


def stored_files(path: Path) -> tuple[list[StoredFile], list[str]]:
    """The scripts and notebooks at `path`, in the order of their names, and notes on the rest.

    Links are not followed, hidden and environment folders not searched; what is beyond the bounds
    is left out and named.
    """
    notes: list[str] = []
    if path.is_symlink():
        return [], [f"{path.name} is a link; links are not followed"]
    opened = _opened(path.name, _read(path), notes) if path.is_file() else None
    files = _from_folder(path, notes) if opened is None else opened
    return sorted(files, key=lambda file: file.name), notes


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _from_folder(root: Path, notes: list[str]) -> list[StoredFile]:
    files: list[StoredFile] = []
    room, count = MAX_BYTES, 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not _ignored(name))
        for name in [n for n in folders if (Path(folder) / n).is_symlink()]:
            notes.append(f"{name} is a link; links are not followed")
        for name in sorted(names):
            path = Path(folder) / name
            relative = path.relative_to(root).as_posix()
            count += 1
            if count > MAX_FILES:
                notes.append(f"more than {MAX_FILES} files; the rest was not read")
                return files
            if name.startswith(".") or not name.lower().endswith(SUFFIXES):
                continue
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                notes.append(f"{relative} is a link; links are not followed")
            elif not stat.S_ISREG(status.st_mode):
                notes.append(f"{relative} is no ordinary file, and was not read")
            elif status.st_size > room:
                notes.append(f"{relative} is too large, and was not read")
            else:
                room -= status.st_size
                files += _opened(relative, _read(path), notes)
    return files


def _ignored(name: str) -> bool:
    return name in IGNORED or name.startswith(".")


def _opened(name: str, data: bytes, notes: list[str]) -> list[StoredFile]:
    """The file itself, or what is in it when it is a zip (whatever it is called)."""
    if not data.startswith(b"PK\x03\x04"):
        return [StoredFile(name, data)]
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return _from_zip(archive, notes)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError) as error:
        notes.append(f"{name} can't be opened as a zip: {error}")
        return []


def _from_zip(archive: zipfile.ZipFile, notes: list[str]) -> list[StoredFile]:
    files: dict[str, StoredFile] = {}
    room = MAX_BYTES
    entries = archive.infolist()
    if len(entries) > MAX_FILES:
        notes.append(f"the zip has more than {MAX_FILES} entries; the rest was not read")
    for entry in entries[:MAX_FILES]:
        parts = entry.filename.replace("\\", "/").split("/")
        if entry.is_dir() or any(_ignored(part) for part in parts[:-1]) or parts[-1][:1] == ".":
            continue
        if not entry.filename.lower().endswith(SUFFIXES):
            continue
        name = "/".join(parts)
        mode = entry.external_attr >> 16
        if name.startswith("/") or ".." in parts or ":" in parts[0] or stat.S_ISLNK(mode):
            notes.append(f"the zip's entry {name} leads outside of it, and was not read")
        elif entry.flag_bits & 1:
            notes.append(f"the zip's entry {name} is encrypted; hand it in without a password")
        elif entry.file_size > min(room, MAX_RATIO * max(entry.compress_size, 1)):
            notes.append(f"the zip's entry {name} is too large, and was not read")
        else:
            with archive.open(entry) as stream:
                data = stream.read(entry.file_size + 1)
            if len(data) > entry.file_size:
                notes.append(f"the zip's entry {name} is larger than it says, and was not read")
                continue
            room -= len(data)
            if name in files:
                notes.append(f"the zip holds {name} twice; the last one counts")
            files[name] = StoredFile(name, data)
    return list(files.values())
