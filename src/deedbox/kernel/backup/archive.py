"""The format of a backup: a tar of plain files, its manifest first. The reader checks all that it reads."""

import contextlib
import gzip
import hashlib
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, TypeAlias, cast

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.blobs.names import LOCATION
from deedbox.kernel.db import Dialect
from deedbox.kernel.errors import SetupError

FORMAT = 2
MANIFEST = "manifest.json"
DATABASE = "deedbox.sqlite"
BLOBS = "blobs"
TABLES = "tables"
ROWS = ".rows"
SINGLE_FILES = ("master.key", "deedbox.toml")
_BLOCK = 512
_PADDING_BLOCKS = 20
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of the stage, how much of it is done, and how much there is in all."""
Kind: TypeAlias = Literal["text", "int", "real", "bytes"]
"""What a column holds, on any database."""


class Out(Protocol):
    def write(self, data: bytes, /) -> int: ...


class BackupEntry(msgspec.Struct, frozen=True):
    sha256: str
    size_bytes: int


class BackupTable(msgspec.Struct, frozen=True):
    columns: dict[str, Kind]
    rows: int


class BackupManifest(msgspec.Struct, frozen=True):
    """What the archive holds. A blob is not listed: its hash is its name, and a row of the table of blobs names it."""

    format: int
    deedbox: str
    schema: str
    created_at: str
    database: Dialect
    files: dict[str, BackupEntry]
    tables: dict[str, BackupTable]
    blob_count: int
    blob_bytes: int

    def total_bytes(self) -> int:
        return self.blob_bytes + sum(entry.size_bytes for entry in self.files.values())

    def total_rows(self) -> int:
        return sum(table.rows for table in self.tables.values())


_MANIFEST = msgspec.json.Decoder(BackupManifest)


class _Head(msgspec.Struct):
    format: int
    deedbox: str = "unknown"


_HEAD = msgspec.json.Decoder(_Head)


class ArchiveMember(msgspec.Struct, frozen=True):
    name: str
    size_bytes: int

    def location(self) -> str | None:
        """Where the member lies among the blobs, if it is one."""
        location = self.name.removeprefix(f"{BLOBS}/")
        return location if location != self.name and LOCATION.fullmatch(location) else None


class Writer:
    """Copies files into an archive. `advance` hears of the bytes."""

    def __init__(self, out: Out, advance: Callable[[int], None]) -> None:
        self._out = out
        self._advance = advance

    def add(self, name: str, size_bytes: int, source: BinaryIO) -> str:
        """The hash of the bytes, which were copied into the archive; EOFError if there are fewer."""
        header = tarfile.TarInfo(name)
        header.size, header.mode = size_bytes, 0o600
        self._out.write(header.tobuf(tarfile.GNU_FORMAT))
        digest = copy(source, self._out, size_bytes, self._advance)
        self._out.write(bytes(-size_bytes % _BLOCK))
        return digest

    def end(self) -> None:
        self._out.write(bytes(2 * _BLOCK))


class BackupReader:
    """Reads plain files only: a link, a folder or an extended header is refused, and memory stays bounded."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.backup_id = ""
        """The hash of the manifest, once it was read: no two backups have the same."""

    def next(self) -> ArchiveMember | None:
        """The next member, whose bytes must be copied before the one after it is asked for; None at the end."""
        block = self._source.read(_BLOCK)
        if len(block) == _BLOCK and not any(block):
            self._read_to_the_end()
            return None
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError) as error:
            raise damage_error("it ends too early, or is no tar file") from error
        if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or header.size < 0:
            raise damage_error(f"{header.name!r} is no plain file")
        return ArchiveMember(header.name, header.size)

    def _read_to_the_end(self) -> None:
        """Reads on to where the file ends, which also makes gzip compare its checksum."""
        for _ in range(_PADDING_BLOCKS):
            block = self._source.read(_BLOCK)
            if not block:
                return
            if any(block):
                break
        raise damage_error("something follows its end")

    def copy(self, member: ArchiveMember, target: Out, advance: Callable[[int], None]) -> str:
        digest = copy(self._source, target, member.size_bytes, advance)
        self._source.read(-member.size_bytes % _BLOCK)
        return digest

    def skip(self, member: ArchiveMember, advance: Callable[[int], None]) -> str:
        """The hash of bytes that are not wanted again."""
        with open(os.devnull, "wb") as nowhere:
            return self.copy(member, nowhere, advance)

    def manifest(self) -> BackupManifest:
        """The manifest, which must be the first member and of a format that this version knows."""
        member = self.next()
        if member is None or member.name != MANIFEST or member.size_bytes > limits.BACKUP_MANIFEST_BYTES:
            raise damage_error("it does not begin with a manifest")
        text = self._source.read(member.size_bytes)
        self._source.read(-member.size_bytes % _BLOCK)
        try:
            head = _HEAD.decode(text)
            if head.format > FORMAT:
                raise SetupError(
                    f"The backup was created by a newer version of Deedbox ({head.deedbox}).",
                    "Install that version or a newer one, and restore again.",
                )
            if head.format < FORMAT:
                raise SetupError(
                    f"The backup was created by an older version of Deedbox ({head.deedbox}), in an older format.",
                    "Restore it with that version, upgrade, and back up again.",
                )
            manifest = _MANIFEST.decode(text)
        except msgspec.MsgspecError as error:
            raise damage_error(f"its manifest cannot be read: {error}") from error
        _check_promises(manifest)
        self.backup_id = hashlib.sha256(text).hexdigest()
        return manifest


@contextlib.contextmanager
def open_backup(path: Path) -> Iterator[BackupReader]:
    """A reader of the archive, packed or not; whatever is wrong with the bytes ends as a SetupError."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            with gzip.GzipFile(fileobj=file) if packed else contextlib.nullcontext(file) as source:
                yield BackupReader(cast(BinaryIO, source))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damage_error("it ends too early, or was changed") from error
    except FileNotFoundError as error:
        if error.filename != str(path):
            raise
        raise SetupError(f"There is no backup at {path}.", "Check the path.") from error


def copy(source: BinaryIO, target: Out, size_bytes: int, advance: Callable[[int], None]) -> str:
    """The hash of the next size_bytes, copied; EOFError if there are fewer."""
    digest = hashlib.sha256()
    left = size_bytes
    while left:
        chunk = source.read(min(left, limits.BLOB_CHUNK_BYTES))
        if not chunk:
            raise EOFError
        digest.update(chunk)
        target.write(chunk)
        left -= len(chunk)
        advance(len(chunk))
    return digest.hexdigest()


def damage_error(reason: str) -> SetupError:
    return SetupError(
        f"The backup is damaged or not a Deedbox backup: {reason}.",
        "Nothing was restored. Use another copy of it, or another backup.",
    )


class Stopped(SetupError):
    """What stopped the work may pass: what was done is kept, and the same command goes on from there."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "What was done is kept: run the same command again, and it goes on from there.")


def rows_of(table: str) -> str:
    """The name of the file with the rows of a table."""
    return f"{TABLES}/{table}{ROWS}"


def _check_promises(manifest: BackupManifest) -> None:
    """The manifest names what every backup has, and nothing that leads elsewhere."""
    sizes = [manifest.blob_count, manifest.blob_bytes, *(entry.size_bytes for entry in manifest.files.values())]
    if min(sizes + [table.rows for table in manifest.tables.values()]) < 0:
        raise damage_error("its manifest has a negative size")
    names = [name for table, held in manifest.tables.items() for name in (table, *held.columns)]
    if not all(map(_NAME.fullmatch, names)):
        raise damage_error("its manifest has a table with an unusual name")
    wanted = set(map(rows_of, manifest.tables))
    if unexpected := (set(manifest.files) - set(SINGLE_FILES)) ^ wanted:
        raise damage_error(f"its manifest has an unexpected or a missing file {min(unexpected)!r}")
