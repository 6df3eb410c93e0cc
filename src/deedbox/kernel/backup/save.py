"""Makes a backup while the server goes on writing: first a snapshot of the database, then the blobs it names."""

import contextlib
import fcntl
import gzip
import io
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
from psycopg import sql

from deedbox import VERSION
from deedbox.kernel import limits
from deedbox.kernel.backup import archive, tables
from deedbox.kernel.backup.archive import Entry, Manifest, Progress
from deedbox.kernel.backup.files import Files, FolderFiles
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Dialect, sqlite
from deedbox.kernel.errors import SetupError

_BLOB_TOTALS = "select count(*), coalesce(sum(size_bytes), 0) from blobs"
_BLOB_ROWS = "select sha256, location, size_bytes from blobs order by location"


class _Snapshot(msgspec.Struct):
    """The database at one moment."""

    dialect: Dialect
    schema: str
    files: dict[str, tuple[Entry, BinaryIO]]
    tables: dict[str, list[str]]
    blob_count: int
    blob_bytes: int
    blobs: Iterable[tuple[str, str, int]]


def backup(
    data_dir: Path,
    database_url: str | None,
    target: Path,
    *,
    now: datetime,
    files: Files | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """The manifest of the archive that is now at target: complete and on the disk, or there is none."""
    files = files or FolderFiles(data_dir / archive.BLOBS)
    try:
        # The hold comes before the snapshot: what the snapshot names is not swept until it is copied.
        with _written(target) as out, files.held(), contextlib.ExitStack() as stack:
            if database_url is None or database_url.startswith("sqlite"):
                snapshot = stack.enter_context(_sqlite_snapshot(data_dir / archive.DATABASE, target))
            else:
                snapshot = stack.enter_context(_postgres_snapshot(database_url, target.parent))
            for name in archive.SINGLE_FILES:
                if (data_dir / name).exists():
                    snapshot.files[name] = _in_memory((data_dir / name).read_bytes())
            return _pack(snapshot, files, out, now, progress)
    except OSError as error:
        raise SetupError(
            f"The backup could not be made: {error.strerror or error}.",
            "Nothing was left behind. Check the free space and the permissions of both folders.",
        ) from error


def _pack(snapshot: _Snapshot, files: Files, out: BinaryIO, now: datetime, progress: Progress | None) -> Manifest:
    manifest = Manifest(
        format=archive.FORMAT,
        deedbox=VERSION,
        schema=snapshot.schema,
        created_at=instant(now),
        database=snapshot.dialect,
        files={name: entry for name, (entry, _) in snapshot.files.items()},
        tables=snapshot.tables,
        blob_count=snapshot.blob_count,
        blob_bytes=snapshot.blob_bytes,
    )
    text = msgspec.json.encode(manifest)
    writer = archive.Writer(out, progress)
    writer.add(archive.MANIFEST, len(text), io.BytesIO(text))
    writer.total = manifest.total_bytes()
    for name, (entry, file) in snapshot.files.items():
        writer.add(name, entry.size_bytes, file)
    for sha256, location, size_bytes in snapshot.blobs:
        _pack_blob(writer, files, location, sha256, size_bytes)
    writer.end()
    return manifest


def _pack_blob(writer: archive.Writer, files: Files, location: str, sha256: str, size_bytes: int) -> None:
    name = f"{archive.BLOBS}/{location}"
    problem = "is not the one that was stored"
    try:
        with files.opened(location) as (there, file):
            if there == size_bytes and writer.add(name, size_bytes, file) == sha256:
                return
    except (FileNotFoundError, EOFError):
        problem = "is missing"
    raise SetupError(
        f"The backup would not be complete: the stored file {files.named(location)} {problem}.",
        "Put that file back from an earlier backup, or delete the document it belongs to, then back up again.",
    )


@contextlib.contextmanager
def _sqlite_snapshot(database: Path, target: Path) -> Iterator[_Snapshot]:
    if not database.exists():
        raise SetupError(f"There is no database at {database}.", "Check the data folder.")
    copy = target.with_name(target.name + ".partial.sqlite")
    try:
        copy.unlink(missing_ok=True)
        with contextlib.closing(_copied(database, copy)) as connection, open(copy, "rb") as file:
            count, size_bytes = connection.execute(_BLOB_TOTALS).fetchone()
            yield _Snapshot(
                dialect="sqlite",
                schema=connection.execute("select version_num from alembic_version").fetchone()[0],
                files={archive.DATABASE: (_entry(file), file)},
                tables={},
                blob_count=count,
                blob_bytes=size_bytes,
                blobs=connection.execute(_BLOB_ROWS),
            )
    except sqlite3.Error as error:
        raise SetupError(
            f"The database {database} cannot be copied: {error}.", "Run `deedbox doctor` to find the cause."
        ) from error
    finally:
        copy.unlink(missing_ok=True)


def _copied(database: Path, copy: Path) -> sqlite3.Connection:
    """A connection to a copy that is one file. Writers go on: a reader of a WAL never blocks them."""
    os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.execute("pragma synchronous = off")
    with contextlib.closing(sqlite.connect(database, writable=False)) as source:
        # An open read transaction: without it the copy would begin again after every commit of the server.
        source.execute("begin")
        source.execute("select 1 from sqlite_master").fetchone()
        source.backup(connection, pages=limits.BACKUP_STEP_PAGES)
    connection.execute("pragma journal_mode = delete")
    return connection


@contextlib.contextmanager
def _postgres_snapshot(url: str, folder: Path) -> Iterator[_Snapshot]:
    with contextlib.ExitStack() as stack:
        with tables.connected(url) as connection:
            connection.execute("set transaction isolation level repeatable read read only")
            columns = tables.tables(connection)
            files: dict[str, tuple[Entry, BinaryIO]] = {}
            for table, names in columns.items():
                file = stack.enter_context(tempfile.TemporaryFile(dir=folder))
                entry = Entry(*tables.unload(connection, tables.named(table, names), file))
                files[f"{archive.TABLES}/{table}.copy"] = (entry, file)
            totals = connection.execute(_BLOB_TOTALS).fetchone() or (0, 0)
            blobs = stack.enter_context(tempfile.TemporaryFile(dir=folder))
            tables.unload(connection, sql.SQL(f"({_BLOB_ROWS})"), blobs)
            schema = tables.schema(connection)
        # The transaction ends here: copying the blobs may take long, and PostgreSQL has to clean up.
        yield _Snapshot("postgres", schema, files, columns, int(totals[0]), int(totals[1]), _rows(blobs))


def _rows(file: BinaryIO) -> Iterator[tuple[str, str, int]]:
    for line in file:
        sha256, location, size_bytes = line.decode().split("\t")
        yield sha256, location, int(size_bytes)


def _entry(file: BinaryIO) -> Entry:
    size_bytes = os.fstat(file.fileno()).st_size
    with open(os.devnull, "wb") as nowhere:
        sha256 = archive.copy(file, nowhere, size_bytes, lambda _: None)
    file.seek(0)
    return Entry(sha256, size_bytes)


def _in_memory(data: bytes) -> tuple[Entry, BinaryIO]:
    file = io.BytesIO(data)
    with open(os.devnull, "wb") as nowhere:
        entry = Entry(archive.copy(file, nowhere, len(data), lambda _: None), len(data))
    file.seek(0)
    return entry, file


class _SteadyFile:
    """Goes to the disk every few megabytes: one long flush at the end would hold up the server's commits."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._waiting = 0

    def write(self, data: bytes) -> int:
        size = self._file.write(data)
        self._waiting += size
        if self._waiting >= limits.BACKUP_FLUSH_BYTES:
            self.flush()
        return size

    def flush(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._waiting = 0


@contextlib.contextmanager
def _written(target: Path) -> Iterator[BinaryIO]:
    """A stream that becomes the target when all is written; until then, and after a failure, there is none."""
    partial = target.with_name(target.name + ".partial")
    _refuse_existing(target)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SetupError(f"Another backup is writing {partial}.", "Wait for it to end.") from error
        try:
            _refuse_existing(target)  # it may have been completed between the look and the lock
            file.truncate(0)
            steady = _SteadyFile(file)
            if target.suffix == ".tar":
                yield cast(BinaryIO, steady)
            else:
                with gzip.GzipFile("", "wb", 1, cast(BinaryIO, steady), mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            steady.flush()
            os.rename(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise SetupError(f"There is already a file at {target}.", "Choose another name, or move that file away.")
