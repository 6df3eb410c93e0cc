"""Turns a backup into an installation again: all of it, checked, or nothing."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from deedbox.kernel.backup import archive, tables
from deedbox.kernel.backup.archive import Entry, Manifest, Member, Progress, Reader, damaged
from deedbox.kernel.backup.files import Files, FolderFiles, Keep
from deedbox.kernel.db import Dialect, migrate
from deedbox.kernel.errors import SetupError

_BLOB_ROWS = "select sha256, location, size_bytes from blobs"
_ALWAYS_THERE = {"lost+found"}


def restore(
    source: Path,
    data_dir: Path,
    database_url: str | None,
    *,
    files: Files | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """The manifest of the backup whose installation is now in data_dir (and in PostgreSQL, and in the bucket)."""
    files = files or FolderFiles(data_dir / archive.BLOBS)
    data_dir = data_dir.resolve()
    dialect: Dialect = "sqlite" if database_url is None or database_url.startswith("sqlite") else "postgres"
    try:
        _refuse_used(data_dir)
        with archive.opened(source) as reader, _staged(data_dir) as staging:
            manifest = reader.manifest()
            _check(manifest, dialect, staging, files)
            if dialect == "postgres":
                tables.refuse_used(str(database_url))
            (staging / archive.BLOBS).mkdir(mode=0o700)
            with files.refilled() as keep:
                _extract(reader, manifest, staging, keep, progress)
                if dialect == "sqlite":
                    _finish_sqlite(manifest, staging, data_dir, files)
                else:
                    _finish_postgres(manifest, staging, data_dir, str(database_url), files)
            return manifest
    except OSError as error:
        raise SetupError(
            f"The backup could not be restored: {error.strerror or error}.",
            "Nothing was left behind. Check the free space and the permissions of the data folder.",
        ) from error


def _refuse_used(data_dir: Path) -> None:
    if data_dir.exists() and set(os.listdir(data_dir)) - _ALWAYS_THERE:
        raise SetupError(
            f"The data folder {data_dir} is not empty.",
            "Nothing was restored. Restore into a new folder, or move what is there away.",
        )


def _check(manifest: Manifest, dialect: Dialect, staging: Path, files: Files) -> None:
    if manifest.database != dialect:
        names = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
        raise SetupError(
            f"The backup is of a {names[manifest.database]} database, these settings use {names[dialect]}.",
            "Set or unset DEEDBOX_DATABASE_URL accordingly, and restore again.",
        )
    if manifest.schema > migrate.newest_schema():
        raise SetupError(
            f"The backup was made by a newer version of Deedbox ({manifest.deedbox}, schema {manifest.schema}).",
            "Install that version or a newer one, and restore again.",
        )
    free = shutil.disk_usage(staging).free
    needed = manifest.total_bytes() - (0 if files.on_this_disk else manifest.blob_bytes)
    if needed > free:
        raise SetupError(
            f"The backup needs {needed} bytes, the disk has {free} free.",
            "Nothing was restored. Free some space, or restore onto another disk.",
        )


def _extract(reader: Reader, manifest: Manifest, staging: Path, keep: Keep, progress: Progress | None) -> None:
    """Every member that the manifest promises, its hash checked, and no other."""
    missing = set(manifest.files)
    count = size_bytes = done = 0

    def advance(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, manifest.total_bytes())

    while (member := reader.next()) is not None:
        if member.name in missing:
            missing.remove(member.name)
            _extract_member(reader, member, staging, manifest.files[member.name], advance)
        elif location := member.location():
            count, size_bytes = count + 1, size_bytes + member.size_bytes
            if count > manifest.blob_count or size_bytes > manifest.blob_bytes:
                raise damaged("it holds more files than it should")
            _extract_member(reader, member, staging, Entry(location[3:67], member.size_bytes), advance)
            keep(staging / member.name, location)
        else:
            raise damaged(f"it holds an unexpected file {member.name!r}")
    if missing or (count, size_bytes) != (manifest.blob_count, manifest.blob_bytes):
        raise damaged("a part of it is missing")


def _extract_member(
    reader: Reader, member: Member, staging: Path, entry: Entry, advance: Callable[[int], None]
) -> None:
    if member.size_bytes != entry.size_bytes:
        raise damaged(f"{member.name} has the wrong size")
    path = staging / member.name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise damaged(f"{member.name} is in it twice") from error
    with open(file, "wb") as target:
        if reader.copy(member, target, advance) != entry.sha256:
            raise damaged(f"{member.name} was changed")


def _finish_sqlite(manifest: Manifest, staging: Path, data_dir: Path, files: Files) -> None:
    try:
        database = f"{(staging / archive.DATABASE).as_uri()}?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(database, uri=True)) as connection:
            schema = connection.execute("select version_num from alembic_version").fetchone()
            _check_blobs(connection.execute(_BLOB_ROWS), manifest, staging)
    except sqlite3.Error as error:
        raise damaged(f"its database cannot be read: {error}") from error
    if schema != (manifest.schema,):
        raise damaged("its manifest does not belong to its database")
    files.settle(staging)
    _publish(staging, data_dir)


def _finish_postgres(manifest: Manifest, staging: Path, data_dir: Path, url: str, files: Files) -> None:
    tables.prepare(url, manifest.schema)
    published = False
    try:
        with tables.connected(url) as connection:
            tables.load(connection, manifest, staging / archive.TABLES)
            _check_blobs(connection.execute(_BLOB_ROWS), manifest, staging)
            shutil.rmtree(staging / archive.TABLES)
            files.settle(staging)
            _publish(staging, data_dir)
            published = True
    except SetupError:
        if published:  # the files are in place, but the commit failed
            _take_back(data_dir)
        raise


def _check_blobs(rows: Iterable[tuple[object, ...]], manifest: Manifest, staging: Path) -> None:
    """Every row has its file. As there are as many files as rows, no file is without a row."""
    count = 0
    for sha256, location, size_bytes in rows:
        count += 1
        member = Member(f"{archive.BLOBS}/{location}", int(str(size_bytes)))
        path = staging / member.name
        if (
            member.location() is None
            or str(location)[3:67] != sha256
            or not path.is_file()
            or path.stat().st_size != member.size_bytes
        ):
            raise damaged(f"the stored file {location} is missing")
    if count != manifest.blob_count:
        raise damaged("it holds files that its database does not name")


@contextlib.contextmanager
def _staged(data_dir: Path) -> Iterator[Path]:
    """A folder beside the data folder, gone at the end; inside it where it cannot be replaced as a whole."""
    inside = data_dir.exists() and (os.path.ismount(data_dir) or not os.access(data_dir.parent, os.W_OK))
    parent = data_dir if inside else data_dir.parent
    parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{data_dir.name}.restoring-", dir=parent))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, data_dir: Path) -> None:
    os.sync()
    if staging.parent != data_dir:
        os.rename(staging, data_dir)
    else:  # the database last: without it the folder is no installation
        for path in sorted(staging.iterdir(), key=lambda path: path.name == archive.DATABASE):
            os.rename(path, data_dir / path.name)
    os.sync()


def _take_back(data_dir: Path) -> None:
    for name in (archive.BLOBS, *archive.SINGLE_FILES):
        path = data_dir / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
