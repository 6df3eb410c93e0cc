"""The rows of a table as bytes that belong to no kind of database: each as MessagePack behind its length."""

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.backup.archive import BackupEntry, damage_error
from deedbox.kernel.db import Row

_LENGTH = struct.Struct(">I")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Any, ...]).decode


def encode(row: Row) -> bytes:
    """The same bytes for the same row, whichever database it comes from."""
    # SQLite has no minus nothing: it gives 0.0 back.
    return _encode([value + 0.0 if type(value) is float else value for value in row])


def decode(line: bytes) -> Row:
    try:
        return _decode(line)
    except msgspec.MsgspecError as error:
        raise damage_error("it has a row that cannot be read") from error


def write(rows: Iterable[Row], out: BinaryIO, advance: Callable[[int], None]) -> tuple[int, BackupEntry]:
    """How many rows there are now in out, which is at its beginning again, and the hash and size of their bytes."""
    digest, size, count = hashlib.sha256(), 0, 0
    for row in rows:
        line = encode(row)
        framed = _LENGTH.pack(len(line)) + line
        digest.update(framed)
        size += out.write(framed)
        count += 1
        advance(1)
    out.seek(0)
    return count, BackupEntry(digest.hexdigest(), size)


def read(source: BinaryIO) -> Iterator[bytes]:
    """Every row, encoded."""
    while head := source.read(_LENGTH.size):
        size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
        if not 0 < size <= limits.BACKUP_ROW_BYTES:
            raise damage_error("it has a row without an end")
        line = source.read(size)
        if len(line) != size:
            raise damage_error("it has a row without an end")
        yield line
