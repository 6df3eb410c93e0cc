"""A zip file in one spelling: entries that are stored, not packed, of fixed times. No byte of it is free to change."""

import struct
import zlib
from collections.abc import Sequence
from typing import BinaryIO

import msgspec

from deedbox.archive import limits
from deedbox.kernel.errors import BadRequest

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LOCAL_SIGN, _CENTRAL_SIGN, _END_SIGN = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_VERSION = 20
_MADE_BY = 3 << 8 | _VERSION
_TIME, _DATE = 0, 1 << 5 | 1
"""Midnight of the first day that a zip file knows: 1 January 1980."""
_MODE = 0o100644 << 16
_LARGEST = 0xFFFFFFFE


class ZipEntry(msgspec.Struct, frozen=True):
    name: str
    size_bytes: int
    crc: int


def header(entry: ZipEntry) -> bytes:
    """The header before the entry's bytes."""
    name = entry.name.encode("ascii")
    fields = (_VERSION, 0, 0, _TIME, _DATE, entry.crc, entry.size_bytes, entry.size_bytes, len(name), 0)
    return _LOCAL.pack(_LOCAL_SIGN, *fields) + name


def directory(entries: Sequence[ZipEntry]) -> bytes:
    """The directory after the last entry's bytes; ValueError if there is too much for a plain zip file."""
    found, offset = bytearray(), 0
    for entry in entries:
        name = entry.name.encode("ascii")
        size = entry.size_bytes
        fields = (_MADE_BY, _VERSION, 0, 0, _TIME, _DATE, entry.crc, size, size, len(name), 0, 0, 0, 0, _MODE, offset)
        found += _CENTRAL.pack(_CENTRAL_SIGN, *fields) + name
        offset += len(header(entry)) + size
        if offset > _LARGEST:
            raise ValueError("a package cannot have 4 GB or more")
    return bytes(found) + _END.pack(_END_SIGN, 0, 0, len(entries), len(entries), len(found), offset, 0)


class LocatedEntry(msgspec.Struct, frozen=True):
    """An entry of a file that was read, and where its bytes begin."""

    entry: ZipEntry
    start: int


def read(file: BinaryIO, size_bytes: int) -> list[LocatedEntry]:
    """The entries; BadRequest unless the file is spelled as here, from its first byte to its last."""
    found: list[LocatedEntry] = []
    at = 0
    while entry := _entry(file, at, size_bytes):
        start = at + len(header(entry))
        found.append(LocatedEntry(entry, start))
        at = start + entry.size_bytes
        if at > size_bytes or len(found) > limits.ARCHIVE_ENTRIES:
            raise BadRequest("The package is cut short, or has too many files")
    file.seek(at)
    wanted = directory([one.entry for one in found])
    if size_bytes - at != len(wanted) or file.read(len(wanted)) != wanted:
        raise BadRequest("The package's directory is not the one that was written")
    return found


def _entry(file: BinaryIO, at: int, size_bytes: int) -> ZipEntry | None:
    """The entry whose header stands here; None where the directory begins."""
    file.seek(at)
    head = file.read(_LOCAL.size)
    if head[:4] == (_CENTRAL_SIGN if at else _END_SIGN):
        return None
    if len(head) < _LOCAL.size or head[:4] != _LOCAL_SIGN:
        raise BadRequest("The package is no zip file as it was written")
    *_, crc, size, _, name_length, _ = _LOCAL.unpack(head)
    if name_length > limits.ARCHIVE_NAME_CHARS or size > size_bytes:
        raise BadRequest("The package is no zip file as it was written")
    name = file.read(name_length)
    if not name.isascii():
        raise BadRequest("A file in the package has a different name from the one written")
    entry = ZipEntry(name.decode(), size, crc)
    if header(entry) != head + name:
        raise BadRequest(f"The head of {entry.name} in the package is not as it was written")
    return entry


def crc(data: bytes, before: int = 0) -> int:
    """The checksum of a zip entry, of these bytes after those that gave `before`."""
    return zlib.crc32(data, before)
