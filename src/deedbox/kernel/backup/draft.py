"""A backup that is not complete yet: a folder beside its target, from which a later run goes on."""

import contextlib
import fcntl
import os
import shutil
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.backup.archive import BackupManifest, Stopped
from deedbox.kernel.clock import moment
from deedbox.kernel.errors import SetupError

_ARCHIVE, _BLOBS, _STATE, _LOCK = "archive", "blobs", "state.json", "lock"
_GZIP, _FAST = 31, 1


class DraftState(msgspec.Struct, frozen=True):
    """How far it is: all before `offset` is on the disk. `source` tells whose backup it is."""

    source: str
    packed: bool
    manifest: BackupManifest
    offset: int
    blobs: int
    done_bytes: int


_KEPT = msgspec.json.Decoder(DraftState)


class Pieces:
    """The archive's file, which can be cut at every piece and written on from there: packed, each is a gzip of its own.

    It goes to the disk every few megabytes: one long flush at the end would hold up the server's commits."""

    def __init__(self, file: BinaryIO, packed: bool) -> None:
        self._file = file
        self._packed = packed
        self._press: zlib._Compress | None = None
        self._unflushed = 0
        self.since_piece = 0

    def write(self, data: bytes) -> int:
        self.since_piece += len(data)
        if self._packed:
            self._press = self._press or zlib.compressobj(_FAST, zlib.DEFLATED, _GZIP)
            self._pass_on(self._press.compress(data))
        else:
            self._pass_on(data)
        return len(data)

    def end_piece(self) -> int:
        """Where the next piece begins; all before it is durable."""
        if self._press is not None:
            self._pass_on(self._press.flush())
            self._press = None
        self._flush()
        self.since_piece = 0
        return self._file.tell()

    def _pass_on(self, data: bytes) -> None:
        self._unflushed += self._file.write(data)
        if self._unflushed >= limits.BACKUP_FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._unflushed = 0


class BackupDraft:
    def __init__(self, folder: Path, source: str, packed: bool) -> None:
        self.folder = folder
        self._source, self._packed = source, packed

    def state(self, now: datetime) -> DraftState | None:
        """Where an earlier run was stopped; None if there was none, or if it is too long ago to be worth it."""
        try:
            state = _KEPT.decode((self.folder / _STATE).read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None
        age = (now - moment(state.manifest.created_at)).total_seconds()
        ours = (state.source, state.packed) == (self._source, self._packed)
        return state if ours and 0 <= age <= limits.BACKUP_RESUME_SECONDS else None

    def forget(self) -> None:
        """Begins anew."""
        for path in self.folder.iterdir():
            if path.name != _LOCK:
                path.unlink()

    def save(self, manifest: BackupManifest, offset: int, blobs: int, done_bytes: int) -> DraftState:
        """The state from which a later run goes on."""
        state = DraftState(self._source, self._packed, manifest, offset, blobs, done_bytes)
        new = self.folder / f"{_STATE}.new"
        with open(_created(new), "wb") as file:
            file.write(msgspec.json.encode(state))
            file.flush()
            os.fsync(file.fileno())
        os.rename(new, self.folder / _STATE)
        return state

    @contextlib.contextmanager
    def archive(self, offset: int) -> Iterator[Pieces]:
        """The archive, cut at this place, to be written on."""
        with open(os.open(self.folder / _ARCHIVE, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.truncate(offset)
            file.seek(offset)
            yield Pieces(file, self._packed)

    def blob_list(self, mode: str) -> BinaryIO:
        """The rows that name the stored files, in the order of the archive."""
        if mode == "w":
            return open(_created(self.folder / _BLOBS), "w+b")
        return open(self.folder / _BLOBS, "rb")

    def publish(self, target: Path) -> None:
        """The archive is complete."""
        os.rename(self.folder / _ARCHIVE, target)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


@contextlib.contextmanager
def open_draft(target: Path, source: str) -> Iterator[BackupDraft]:
    """The draft of the target. It stays when the work is stopped, and goes when the target is there or cannot be."""
    _refuse_existing(target)
    folder = target.with_name(target.name + ".partial")
    folder.mkdir(mode=0o700, exist_ok=True)
    with open(_created(folder / _LOCK), "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SetupError(f"Another backup is writing {folder}.", "Wait for it to end.") from error
        try:
            _refuse_existing(target)  # it may have been completed between the look and the lock
            yield BackupDraft(folder, source, target.suffix != ".tar")
        except Stopped:
            raise
        except Exception:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder)


def _created(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise SetupError(f"There is already a file at {target}.", "Choose another name, or move that file away.")
