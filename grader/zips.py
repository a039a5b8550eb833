"""What zips hold, within bounds: a zip may say anything of itself, and is not believed.

How many entries it lists is known before its list is parsed, and what an entry unpacks to comes in
small pieces, of no more bytes than are asked for.
"""

import bz2
import copy
import lzma
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, Protocol

PIECE = 1 << 16  # bytes
MAX_LINE = 512  # bytes of the list for each entry, on average: its name, its times, a comment
MAX_CHAIN = 4096  # bytes, the least that LZMA looks back
METHODS = {9: "Deflate64", 93: "Zstandard", 95: "XZ", 97: "WavPack", 98: "PPMd"}  # that some use

_ENTRY = b"PK\1\2"
_ENDS_64 = 56 + 20  # bytes of the two records before the last one, in a large zip
_DRIVE = re.compile(r"[A-Za-z]:(?! )")  # "C:/...", and not "A: final/..."


class UnknownMethod(ValueError):
    """An entry is packed in a way that is not read; the text names it."""


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def entry_name(entry: zipfile.ZipInfo) -> str:
    """The name of an entry, with forward slashes."""
    return entry.filename.replace("\\", "/")


def _end(stream: IO[bytes]) -> Any:
    """The record at a zip's end, a list as zipfile itself reads it; None for what is no zip."""
    return zipfile._EndRecData(stream)  # type: ignore[attr-defined]  # zipfile has no public way


def is_in_parts(stream: IO[bytes]) -> bool:
    """Whether a zip is the last one of several that are one archive together."""
    end = _end(stream)
    return end is not None and end[1] not in (0, 0xFFFF)


def leads_outside(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a link, or has a name that would lie outside of the zip's folder."""
    name = entry_name(entry)
    upwards = name.startswith("/") or ".." in name.split("/")
    return upwards or bool(_DRIVE.match(name)) or stat.S_ISLNK(entry.external_attr >> 16)


def lists_more_than(most: int, stream: IO[bytes]) -> bool:
    """Whether a zip may list more than `most` entries: its list is read through, and not parsed.

    False for what is no zip.
    """
    end = _end(stream)
    if end is None:
        return False
    size, place = end[5], end[9]
    if size > place:
        return False  # it says of itself what can't be, and is damaged
    if size > most * MAX_LINE:
        return True
    large = end[0] == zipfile.stringEndArchive64  # type: ignore[attr-defined]
    stream.seek(max(place - size - (_ENDS_64 if large else 0), 0))
    count, before = 0, b""
    while size > 0 and count <= most and (piece := stream.read(min(size, PIECE))):
        count += (before + piece).count(_ENTRY)
        before = piece[-len(_ENTRY) + 1 :]
        size -= len(piece)
    return count > most


def pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
    """The first `most` bytes of an entry, piece by piece.

    UnknownMethod, or what zipfile raises for one that is damaged; a wrong checksum is found at the
    entry's end.
    """
    most = min(most, entry.file_size)
    if entry.compress_type in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield from _unpacked(archive, entry, most)
        return
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        method = METHODS.get(entry.compress_type, f"method {entry.compress_type}")
        raise UnknownMethod(f"it is packed by {method}, which is not read")
    with archive.open(entry) as stream:
        while most > 0 and (piece := stream.read(min(PIECE, most))):
            most -= len(piece)
            yield piece


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
    """The same for bzip2 and LZMA, of which zipfile unpacks all that it is given at once."""
    packed = copy.copy(entry)
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, entry.compress_size
    del packed.CRC  # it is that of what is unpacked
    size = checksum = 0
    with archive.open(packed) as stream:
        unpacker = _unpacker(entry, stream, most)
        while size < most:
            given = stream.read(PIECE) if unpacker.needs_input else b""
            if unpacker.eof or (unpacker.needs_input and not given):
                raise zipfile.BadZipFile(f"{entry.filename!r} ends early")
            piece = unpacker.decompress(given, min(PIECE, most - size))
            size, checksum = size + len(piece), zlib.crc32(piece, checksum)
            yield piece
    if size == entry.file_size and checksum != entry.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {entry.filename!r}")


def _unpacker(entry: zipfile.ZipInfo, stream: IO[bytes], most: int) -> _Unpacker:
    if entry.compress_type == zipfile.ZIP_BZIP2:
        return bz2.BZ2Decompressor()
    stream.read(2)  # the version of what packed it
    properties = stream.read(int.from_bytes(stream.read(2), "little"))
    if len(properties) < 5:
        raise zipfile.BadZipFile(f"{entry.filename!r} ends early")
    how = properties[0]
    back = int.from_bytes(properties[1:5], "little")  # gigabytes, if it says so
    chain = {
        "id": lzma.FILTER_LZMA1,
        "lc": how % 9,
        "lp": how // 9 % 5,
        "pb": how // 45,
        "dict_size": max(min(back, most), MAX_CHAIN),
    }
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[chain])
