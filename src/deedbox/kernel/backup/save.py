"""Makes a backup while the server goes on writing: first a snapshot of the database, then the blobs it names.

Stopped in between, it goes on with the same snapshot; if a file of that is gone meanwhile, with a new one."""

import contextlib
import hashlib
import io
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from deedbox import VERSION
from deedbox.kernel import limits
from deedbox.kernel.backup import archive, rows, tables
from deedbox.kernel.backup.archive import BackupEntry, BackupManifest, BackupTable, Progress, rows_of
from deedbox.kernel.backup.draft import BackupDraft, DraftState, Pieces, open_draft
from deedbox.kernel.backup.files import Files, FolderFiles
from deedbox.kernel.backup.progress import Counted
from deedbox.kernel.backup.tables import BackupTables, TableShape
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import SetupError

_BLOBS = "blobs"
READING, WRITING = "reading rows", "writing"


class _Lost(SetupError):
    """A stored file is not there."""


class _Work:
    """One run of a backup."""

    def __init__(self, draft: BackupDraft, files: Files, progress: Progress | None) -> None:
        self._draft, self._files, self._progress = draft, files, progress

    def begin(self, data_dir: Path, database_url: str | None, now: datetime) -> DraftState:
        """The snapshot, in the archive: the manifest, the single files and every row."""
        self._draft.forget()
        held: dict[str, tuple[BackupEntry, BinaryIO]] = {}
        with contextlib.ExitStack() as stack:
            for name in archive.SINGLE_FILES:
                if (data_dir / name).exists():
                    data = (data_dir / name).read_bytes()
                    held[name] = BackupEntry(hashlib.sha256(data).hexdigest(), len(data)), io.BytesIO(data)
            # The transaction ends before the blobs are copied, which may take long: PostgreSQL has to clean up.
            with tables.snapshot(data_dir, database_url) as database:
                manifest = self._unload(database, held, stack, instant(now))
            return self._write_head(manifest, held)

    def _unload(
        self,
        database: BackupTables,
        held: dict[str, tuple[BackupEntry, BinaryIO]],
        stack: contextlib.ExitStack,
        created_at: str,
    ) -> BackupManifest:
        schema = database.schema()
        if schema is None:
            raise SetupError("The database has no schema.", "Start `deedbox serve` once, then back up.")
        shapes = database.shapes()
        advance = Counted(self._progress, READING, sum(map(database.count, shapes)))
        described: dict[str, BackupTable] = {}
        for table, shape in shapes.items():
            file = stack.enter_context(tempfile.TemporaryFile(dir=self._draft.folder))  # noqa: SIM115 (the stack does)
            with database.rows(table, shape) as found:
                count, entry = rows.write(found, file, advance)
            held[rows_of(table)] = (entry, file)
            described[table] = BackupTable(shape.columns, count)
        count, size_bytes = self._list_blobs(held[rows_of(_BLOBS)][1], shapes[_BLOBS])
        return BackupManifest(
            format=archive.FORMAT,
            deedbox=VERSION,
            schema=schema,
            created_at=created_at,
            database=database.dialect,
            files={name: entry for name, (entry, _) in held.items()},
            tables=described,
            blob_count=count,
            blob_bytes=size_bytes,
        )

    def _list_blobs(self, file: BinaryIO, shape: TableShape) -> tuple[int, int]:
        """Keeps the list of stored files for a later run; how many, and their bytes. By hash, which is by location."""
        places = [list(shape.columns).index(name) for name in ("sha256", "location", "size_bytes")]
        found = (rows.decode(line) for line in rows.read(file))
        total = 0

        def listed() -> Iterator[tuple[object, ...]]:
            nonlocal total
            for row in found:
                total += int(row[places[2]])
                yield tuple(row[place] for place in places)

        with self._draft.blob_list("w") as out:
            count, _ = rows.write(listed(), out, lambda _: None)
        file.seek(0)
        return count, total

    def _write_head(self, manifest: BackupManifest, held: dict[str, tuple[BackupEntry, BinaryIO]]) -> DraftState:
        text = msgspec.json.encode(manifest)
        if len(text) > limits.BACKUP_MANIFEST_BYTES:
            raise SetupError("The database has too many tables for a backup.", "Remove those that are not Deedbox's.")
        advance = Counted(self._progress, WRITING, manifest.total_bytes())
        with self._draft.archive(0) as out:
            archive.Writer(out, lambda _: None).add(archive.MANIFEST, len(text), io.BytesIO(text))
            writer = archive.Writer(out, advance)
            for name, (entry, file) in held.items():
                writer.add(name, entry.size_bytes, file)
            return self._draft.save(manifest, out.end_piece(), 0, advance.done)

    def finish(self, state: DraftState) -> BackupManifest:
        """The manifest of the archive, to which every stored file that was not in it is added."""
        manifest = state.manifest
        advance = Counted(self._progress, WRITING, manifest.total_bytes(), state.done_bytes)
        with self._draft.archive(state.offset) as out, self._draft.blob_list("r") as names:
            writer = archive.Writer(out, advance)
            for number, line in enumerate(rows.read(names)):
                if number < state.blobs:
                    continue
                self._add_blob(writer, *rows.decode(line))
                self._save_now_and_then(out, manifest, number + 1, advance.done)
            writer.end()
            out.end_piece()
        return manifest

    def _save_now_and_then(self, out: Pieces, manifest: BackupManifest, blobs: int, done_bytes: int) -> None:
        if out.since_piece >= limits.BACKUP_FLUSH_BYTES:
            self._draft.save(manifest, out.end_piece(), blobs, done_bytes)

    def _add_blob(self, writer: archive.Writer, sha256: str, location: str, size_bytes: int) -> None:
        problem = "is not the one that was stored"
        try:
            with self._files.opened(location) as (there, file):
                if there == size_bytes and writer.add(f"{archive.BLOBS}/{location}", size_bytes, file) == sha256:
                    return
        except (FileNotFoundError, EOFError):
            problem = "is missing"
        raise _Lost(
            f"The backup would not be complete: the stored file {self._files.named(location)} {problem}.",
            "Put that file back from an earlier backup, or delete the document it belongs to, then back up again.",
        )


def backup(
    data_dir: Path,
    database_url: str | None,
    target: Path,
    *,
    now: datetime,
    files: Files | None = None,
    progress: Progress | None = None,
) -> BackupManifest:
    """The manifest of the archive that is now at target: complete and on the disk, or there is none."""
    if not data_dir.is_dir():
        raise SetupError(
            f"There is no data folder {data_dir}.", "Name it with --data, or start `deedbox serve` once, then back up."
        )
    files = files or FolderFiles(data_dir / archive.BLOBS)
    source = hashlib.sha256(f"{data_dir.resolve()}\n{database_url}".encode()).hexdigest()
    try:
        # The hold comes before the snapshot: what the snapshot names is not swept until it is copied.
        with open_draft(target, source) as draft, files.held():
            work = _Work(draft, files, progress)
            manifest = _gone_on_with(work, draft.state(now)) or work.finish(work.begin(data_dir, database_url, now))
            draft.publish(target)
            return manifest
    except OSError as error:
        raise SetupError(
            f"The backup could not be created: {error.strerror or error}.",
            "Nothing was left behind. Check the free space and the permissions of both folders.",
        ) from error


def _gone_on_with(work: _Work, state: DraftState | None) -> BackupManifest | None:
    """None if there is no snapshot to go on with, or if a file that it names was deleted while nobody held it."""
    if state is None:
        return None
    try:
        return work.finish(state)
    except _Lost:
        return None
