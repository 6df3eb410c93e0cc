"""Turns a backup into an installation again: all of it, read back and compared, or nothing.

Stopped in between, the same restore goes on from what it finds."""

import hashlib
import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from deedbox.kernel import limits, rotation
from deedbox.kernel.backup import archive, rows, targets
from deedbox.kernel.backup.archive import (
    ArchiveMember,
    BackupEntry,
    BackupManifest,
    BackupReader,
    Progress,
    damage_error,
    rows_of,
)
from deedbox.kernel.backup.files import Files, FolderFiles, hash_in
from deedbox.kernel.backup.progress import Counted
from deedbox.kernel.backup.staging import Staging
from deedbox.kernel.backup.tables import BackupTables, TableShape
from deedbox.kernel.backup.targets import BackupTarget
from deedbox.kernel.db import migrate
from deedbox.kernel.errors import SetupError
from deedbox.kernel.rotation import EncryptedColumn, EncryptedRow

READING, LOADING, COMPARING = "reading", "loading rows", "comparing rows"
_NAMED = "files-named"


class RestoreSecrets(NamedTuple):
    """Where the encrypted values are, and the master key of an installation whose backup does not hold it."""

    columns: Sequence[EncryptedColumn]
    ring: Path


def restore(
    source: Path,
    data_dir: Path,
    database_url: str | None,
    *,
    files: Files | None = None,
    progress: Progress | None = None,
    secrets: RestoreSecrets | None = None,
) -> BackupManifest:
    """The manifest of the backup whose installation is now in data_dir (and in PostgreSQL, and in the bucket)."""
    data_dir = data_dir.resolve()
    files = files or FolderFiles(data_dir / archive.BLOBS)
    try:
        with archive.open_backup(source) as reader:
            manifest = reader.manifest()
            words = f"{reader.backup_id}\n{database_url}\n{files.named('')}"
            restore_id = hashlib.sha256(words.encode()).hexdigest()
            staging = Staging(data_dir, restore_id)
            target = targets.chosen(database_url, staging.folder, restore_id)
            _Restore(manifest, staging, target, files, progress).run(reader, secrets)
            return manifest
    except OSError as error:
        raise SetupError(
            f"The backup could not be restored: {error.strerror or error}.",
            "Nothing was left behind. Check the free space and the permissions of the data folder.",
        ) from error


class _Restore:
    def __init__(
        self, manifest: BackupManifest, staging: Staging, target: BackupTarget, files: Files, progress: Progress | None
    ) -> None:
        self._manifest, self._staging, self._target, self._files = manifest, staging, target, files
        self._folder = staging.folder
        self._progress = progress

    def run(self, reader: BackupReader, secrets: RestoreSecrets | None) -> None:
        self._refuse_unfit()
        with self._files.answered():
            again = self._refuse_used()
        with self._staging.opened():
            try:
                with self._files.answered():
                    self._check_room()
                    self._target.begin()
                    self._extract(reader, again)
                self._fill_database(secrets)
                self._publish()
            except archive.Stopped:
                raise
            except Exception:
                self._target.take_back(list(self._manifest.tables))
                self._files.take_back(self._folder)
                self._staging.remove()
                raise

    def _publish(self) -> None:
        self._files.settle(self._folder)
        shutil.rmtree(self._folder / archive.TABLES)
        (self._folder / _NAMED).unlink()
        self._staging.publish(last=self._target.ends_with_the_folder)
        if not self._target.ends_with_the_folder:
            self._target.end()
            self._staging.end()

    def _refuse_unfit(self) -> None:
        schema, version = self._manifest.schema, self._manifest.deedbox
        if schema > migrate.newest_schema():
            raise SetupError(
                f"The backup was created by a newer version of Deedbox ({version}, schema {schema}).",
                "Install that version or a newer one, and restore again.",
            )
        if schema not in migrate.known_schemas():
            raise SetupError(
                f"This version of Deedbox does not know the schema {schema} of the backup (made by {version}).",
                "Restore it with that version, upgrade, and back up again.",
            )

    def _refuse_used(self) -> bool:
        """False if there is nothing yet, True if this very restore was begun before; else SetupError."""
        again = self._staging.under_way and self._target.under_way()
        if not (again and self._staging.published):
            self._staging.refuse_used()
        if not again:
            self._target.refuse_used(self._manifest.schema)
            self._files.refuse_used()
        return again

    def _check_room(self) -> None:
        """The rows twice: as they were read, and in the database."""
        row_bytes = self._manifest.total_bytes() - self._manifest.blob_bytes
        needed = row_bytes + (row_bytes if self._target.on_this_disk else 0)
        needed += self._manifest.blob_bytes if self._files.on_this_disk else 0
        free = shutil.disk_usage(self._folder).free + _used(self._folder)
        if needed > free:
            raise SetupError(
                f"The backup needs {needed} bytes, the disk has {free} free.",
                "Nothing was restored. Free some space, or restore onto another disk.",
            )

    def _extract(self, reader: BackupReader, again: bool) -> None:
        """Every member that the manifest promises, its hash checked, and no other."""
        manifest, missing = self._manifest, set(self._manifest.files)
        count = size_bytes = 0
        last = ""
        advance = Counted(self._progress, READING, manifest.total_bytes())
        (self._folder / archive.BLOBS).mkdir(mode=0o700, exist_ok=True)
        with open(self._folder / _NAMED, "w") as named:
            while (member := reader.next()) is not None:
                if member.name in missing:
                    missing.remove(member.name)
                    self._extract_member(reader, member, manifest.files[member.name], advance)
                elif location := member.location():
                    count, size_bytes = count + 1, size_bytes + member.size_bytes
                    if count > manifest.blob_count or size_bytes > manifest.blob_bytes:
                        raise damage_error("it holds more files than it should")
                    if location <= last:
                        raise damage_error(f"{member.name} is in it twice, or not in its place")
                    last = location
                    named.write(f"{location} {member.size_bytes}\n")
                    self._take_blob(reader, member, location, again, advance)
                else:
                    raise damage_error(f"it holds an unexpected file {member.name!r}")
        if missing or (count, size_bytes) != (manifest.blob_count, manifest.blob_bytes):
            raise damage_error("a part of it is missing")

    def _take_blob(
        self, reader: BackupReader, member: ArchiveMember, location: str, again: bool, advance: Counted
    ) -> None:
        if again and self._files.has(self._folder, location, member.size_bytes):
            if reader.skip(member, advance) != hash_in(location):
                raise damage_error(f"{member.name} was changed")
            return
        self._extract_member(reader, member, BackupEntry(hash_in(location), member.size_bytes), advance)
        self._files.keep(self._folder, location)

    def _extract_member(
        self, reader: BackupReader, member: ArchiveMember, entry: BackupEntry, advance: Counted
    ) -> None:
        if member.size_bytes != entry.size_bytes:
            raise damage_error(f"{member.name} has the wrong size")
        path = self._folder / member.name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as target:
            if reader.copy(member, target, advance) != entry.sha256:
                raise damage_error(f"{member.name} was changed")

    def _fill_database(self, secrets: RestoreSecrets | None) -> None:
        self._target.prepare(self._manifest.schema)
        with self._target.tables() as database:
            # A newer schema is that of a run that was stopped later: all was compared before it was upgraded.
            if database.schema() == self._manifest.schema:
                try:
                    self._load(database)
                    if secrets is not None:
                        self._check_secrets(database, secrets)
                except (TypeError, ValueError, AttributeError, OverflowError) as error:  # values of another kind
                    raise damage_error(f"a row does not fit its table ({error})") from error
        self._target.upgrade()

    def _load(self, database: BackupTables) -> None:
        shapes = database.shapes()
        for name, table in self._manifest.tables.items():
            if name not in shapes or shapes[name].columns != table.columns:
                raise damage_error(f"it has a table that this version does not know: {name!r}")
        filled = {name: shape for name, shape in shapes.items() if name in self._manifest.tables}
        self._load_rows(database, filled)
        database.settle()
        self._compare_rows(database, filled)
        for name in shapes.keys() - filled.keys():
            if database.count(name):
                raise damage_error(f"its manifest does not name the table {name}, in which there are rows")
        self._compare_files(database, shapes[archive.BLOBS])

    def _check_secrets(self, database: BackupTables, secrets: RestoreSecrets) -> None:
        """SetupError if the master key decrypts none of the encrypted values: documents could never be sealed."""
        own = self._folder / "master.key"
        found = [(one, row) for one in secrets.columns if (row := _sample(database, one))]
        if not found:
            return
        ring = own if own.exists() else secrets.ring
        if not ring.exists():
            raise SetupError(
                "The backup holds encrypted values and no master key.",
                "Nothing was restored. Put its master.key where DEEDBOX_MASTER_KEY_FILE names it, and restore again.",
            )
        rotation.unreadable(ring, found)

    def _load_rows(self, database: BackupTables, shapes: dict[str, TableShape]) -> None:
        """Goes on behind the rows that are there, which must be the first of the backup."""
        advance = Counted(self._progress, LOADING, self._manifest.total_rows())
        for name, shape in shapes.items():
            with self._rows(name) as file:
                lines = rows.read(file)
                with database.rows(name, shape) as present:
                    for number, row in enumerate(present, 1):
                        if next(lines, None) != rows.encode(row):
                            raise _different(name, number)
                        advance(1)
                for batch in _batches(lines):
                    database.add(name, shape, batch)
                    advance(len(batch))

    def _compare_rows(self, database: BackupTables, shapes: dict[str, TableShape]) -> None:
        """Reads every row back from the database."""
        advance = Counted(self._progress, COMPARING, self._manifest.total_rows())
        for name, shape in shapes.items():
            count = 0
            with self._rows(name) as file, database.rows(name, shape) as present:
                for line, row in itertools.zip_longest(rows.read(file), present):
                    count += 1
                    if line is None or row is None or rows.encode(row) != line:
                        raise _different(name, count)
                    advance(1)
            if count != self._manifest.tables[name].rows:
                raise damage_error(f"its manifest counts other rows of {name} than it has")

    def _compare_files(self, database: BackupTables, shape: TableShape) -> None:
        """Every row has its file, and every file its row: both are in the order of their hashes."""
        places = [list(shape.columns).index(name) for name in ("sha256", "location", "size_bytes")]
        with open(self._folder / _NAMED) as named, database.rows(archive.BLOBS, shape) as present:
            for row, line in itertools.zip_longest(present, named):
                sha256, location, size_bytes = (row[place] for place in places) if row else ("", "", 0)
                if line is None:
                    raise damage_error(f"the stored file {location} is missing")
                if line != f"{location} {size_bytes}\n" or hash_in(location) != sha256:
                    raise damage_error(f"the stored file {location or line.split()[0]} is missing, or no row names it")

    def _rows(self, table: str) -> BinaryIO:
        return open(self._folder / rows_of(table), "rb")


def _sample(database: BackupTables, column: EncryptedColumn) -> EncryptedRow | None:
    names = [*column.key_columns, column.column]
    row = database.first(column.table, names, column.column)
    if row is None:
        return None
    *key, value = row
    return EncryptedRow(dict(zip(column.key_columns, key, strict=True)), bytes(value))


def _batches(lines: Iterator[bytes]) -> Iterator[list[tuple[object, ...]]]:
    batch: list[tuple[object, ...]] = []
    size = 0
    for line in lines:
        batch.append(rows.decode(line))
        size += len(line)
        if size >= limits.BACKUP_LOAD_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _different(table: str, number: int) -> SetupError:
    return SetupError(
        f"The restored installation does not match the backup: the table {table} differs from its row {number} on.",
        "Nothing was restored. See that nobody else uses the database, and restore again.",
    )


def _used(folder: Path) -> int:
    """The bytes that an earlier run has used already."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
