"""Blobs in a folder: `ab/<sha256>.<random>`, each file written once under a name that is never used again."""

import asyncio
import contextlib
import errno
import fcntl
import functools
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from datetime import datetime
from pathlib import Path

from deedbox.kernel import limits
from deedbox.kernel.blobs import store
from deedbox.kernel.blobs.missing import find_missing
from deedbox.kernel.blobs.names import INCOMING, LOCATION, SHELF, location_of, too_large
from deedbox.kernel.blobs.trash import empty_trash
from deedbox.kernel.blobs.upload import BlobUpload, Lent
from deedbox.kernel.db import Database
from deedbox.kernel.errors import ErrorCode, LostFile, SetupError, Unavailable
from deedbox.kernel.ids import Entropy
from deedbox.kernel.threads import in_thread

HOLD = ".hold"
_AT_ONCE = getattr(os, "RWF_NOWAIT", 0)
"""Asks for bytes only if they are there at once; macOS has no such thing."""
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG}


class LocalBlobs:
    """The blobs of one data folder; several processes may use it at once."""

    def __init__(self, folder: Path, entropy: Entropy = os.urandom) -> None:
        self.folder = folder
        self._entropy = entropy
        self._doubtful: set[str] = set()
        self._lent: Lent = {}
        self._just_used: OrderedDict[str, None] = OrderedDict()
        """The system has the names of these in memory, so that to open them is no wait for the disk."""
        self._tells = _AT_ONCE != 0
        """Whether the file system can tell what it has in memory: that of a network cannot, and may always wait."""
        try:
            self._durable_shelves = _prepare(folder)
        except OSError as error:
            raise SetupError(
                f"The folder for files {folder} cannot be used: {error.strerror}.",
                "Check that the data folder exists, is writable, and has free space.",
            ) from error

    def receive(self, max_bytes: int) -> BlobUpload:
        return BlobUpload(
            _Draft(str(self.folder), self._entropy(8).hex(), self._shelve, self._note_use),
            max_bytes=min(max_bytes, limits.BLOB_BYTES_MAX),
            piece_bytes=limits.BLOB_CHUNK_BYTES,
            doubt=self._doubtful.add,
            lent=self._lent,
            in_thread=in_thread,
        )

    async def open_range(
        self, location: str, start: int = 0, length: int | None = None, *, chunk_bytes: int = limits.BLOB_CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        if location in self._lent:
            if lent := self._lent[location][start : None if length is None else start + length]:
                yield lent
            return
        file = await self._opened(location)
        try:
            end = start + length if length is not None else os.fstat(file).st_size
            while start < end:
                size = min(chunk_bytes, end - start)
                chunk = self._in_memory(file, size, start)
                if chunk is not None:
                    await asyncio.sleep(0)  # so that others get their turn
                else:
                    with disk():
                        chunk = await in_thread(os.pread, file, size, start)
                if not chunk:
                    break
                start += len(chunk)
                yield chunk
        finally:
            # A thread of a cancelled request may still be in pread: it moves no offset, and nobody hears it.
            os.close(file)

    async def _opened(self, location: str) -> int:
        path = self._path(location)
        if self._tells and location in self._just_used:
            return _open(path)
        file = await in_thread(_open, path)
        self._note_use(location)
        return file

    def _note_use(self, location: str) -> None:
        self._just_used[location] = None
        if len(self._just_used) > limits.BLOBS_JUST_USED:
            self._just_used.popitem(last=False)

    def _in_memory(self, file: int, size: int, start: int) -> bytes | None:
        """The bytes, if the system has them in memory: then no thread has to wait for the disk."""
        if not self._tells:
            return None
        buffer = bytearray(size)
        try:
            count = os.preadv(file, [buffer], start, _AT_ONCE)
        except BlockingIOError:  # they are on the disk
            return None
        except OSError:
            self._tells = False
            return None
        # Linux 5.9 and 5.10 may say 0 although more is to come.
        return bytes(memoryview(buffer)[:count]) if count else None

    async def read(self, location: str, max_bytes: int) -> bytes:
        return await in_thread(_read_all, self._path(location), max_bytes)

    async def sweep(self, db: Database, now: datetime) -> int:
        async def remove(locations: list[str]) -> bool:
            return await in_thread(self._remove, locations)

        return await empty_trash(db, now, self._doubtful, remove)

    async def reclaim(self, db: Database, now: datetime) -> int:
        before = now.timestamp() - limits.BLOB_ORPHAN_SECONDS
        found = await in_thread(_clear, self.folder / INCOMING, before)
        for shelf in await in_thread(_shelves, self.folder):
            if names := await in_thread(self._listed, shelf):
                names -= await db.read(functools.partial(store.known, folder=shelf))
                if orphans := await in_thread(self._older, names, before):
                    found += await db.write(functools.partial(store.condemn, locations=orphans, now=now))
        return found

    async def lost(self, db: Database) -> list[str]:
        async def listed(shelf: str) -> set[str]:
            there = await in_thread((self.folder / shelf).is_dir)
            return await in_thread(self._listed, shelf) if there else set()

        return await find_missing(db, listed)

    async def size(self) -> int:
        return await in_thread(self._size)

    async def check(self) -> None:
        """Nothing more to see: a folder that cannot be used was refused at once."""

    async def close(self) -> None: ...

    def _path(self, location: str) -> str:
        if not LOCATION.fullmatch(location):
            raise LostFile(location)
        return f"{self.folder}/{location}"

    def _shelve(self, shelf: str) -> None:
        """Makes the shelf, if it is not there yet, so that no crash can take it away again."""
        if shelf not in self._durable_shelves:
            (self.folder / shelf).mkdir(mode=0o700, exist_ok=True)
            _flush_folder(self.folder)
            self._durable_shelves.add(shelf)

    def _remove(self, locations: Collection[str]) -> bool:
        """False, and nothing done, while a backup holds the folder."""
        with open(self.folder / HOLD, "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            for location in filter(LOCATION.fullmatch, locations):
                with disk(), contextlib.suppress(FileNotFoundError):
                    os.unlink(self.folder / location)
        return True

    def _listed(self, shelf: str) -> set[str]:
        names = (f"{shelf}/{name}" for name in os.listdir(self.folder / shelf))
        return {name for name in names if LOCATION.fullmatch(name)}

    def _older(self, locations: Collection[str], before: float) -> list[str]:
        return [name for name in locations if _modified(self.folder / name) < before]

    def _size(self) -> int:
        total = 0
        for shelf in [*_shelves(self.folder), INCOMING]:
            with os.scandir(self.folder / shelf) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        total += entry.stat(follow_symlinks=False).st_size
        return total


class _Draft:
    """The file of one upload."""

    def __init__(self, folder: str, name: str, shelve: Callable[[str], None], note_use: Callable[[str], None]) -> None:
        self._folder = folder
        self.name = name
        self._path = f"{folder}/{INCOMING}/{name}"
        self._shelve, self._note_use = shelve, note_use
        self._digest = hashlib.sha256()
        self._file: int | None = None
        self._gone = False
        self._lock = threading.Lock()

    def append(self, data: bytearray) -> None:
        with self._lock, disk():
            self._write(data)

    def keep(self, data: bytearray, durable: bool) -> tuple[str, str]:
        with self._lock, disk():
            file = self._write(data)
            if durable:
                _flush(file)
            self._close()
            sha256 = self._digest.hexdigest()
            location = location_of(sha256, self.name)
            self._shelve(location[:2])
            place = f"{self._folder}/{location}"
            os.rename(self._path, place)
            self._path = place
            self._note_use(location)
            if durable:
                _flush_folder(os.path.dirname(place))
            return sha256, location

    def discard(self) -> None:
        with self._lock, contextlib.suppress(OSError):  # a file that cannot be removed now is an orphan later
            self._gone = True
            self._close()
            os.unlink(self._path)

    def _write(self, data: bytearray) -> int:
        if self._gone:
            raise FileNotFoundError(errno.ENOENT, "The upload was given up")
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._digest.update(data)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """While this lasts no file is swept from the folder, by any process."""
    with open(os.open(folder / HOLD, os.O_RDONLY | os.O_CREAT, 0o600), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


@contextlib.contextmanager
def disk() -> Iterator[None]:
    """A disk that is full or failing raises Unavailable."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        raise Unavailable(
            "The server cannot use its disk for files (full, read-only or failing). Nothing was changed; "
            "free some space and try again.",
            code=ErrorCode.STORAGE_FULL,
        ) from error


def _prepare(folder: Path) -> set[str]:
    """The shelves that are there, durably."""
    for made in (folder, folder / INCOMING):
        made.mkdir(mode=0o700, exist_ok=True)
    os.close(os.open(folder / HOLD, os.O_RDONLY | os.O_CREAT, 0o600))
    shelves = set(_shelves(folder))
    _flush_folder(folder)
    return shelves


def _shelves(folder: Path) -> list[str]:
    return sorted(filter(SHELF.fullmatch, os.listdir(folder)))


def _flush(file: int) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):  # on macOS fsync leaves the bytes in the drive's cache
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fsync(file)


def _flush_folder(folder: Path | str) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _flush(file)
    finally:
        os.close(file)


def _open(path: str) -> int:
    try:
        with disk():
            return os.open(path, os.O_RDONLY)
    except FileNotFoundError as error:
        raise LostFile("/".join(path.split("/")[-2:])) from error


def _read_all(path: str, max_bytes: int) -> bytes:
    with disk(), open(_open(path), "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size > max_bytes:
            raise too_large(max_bytes)
        return file.readall()


def _clear(folder: Path, before: float) -> int:
    """Removes the files that nobody has written to since; how many."""
    stale = [path for path in folder.iterdir() if _modified(path) < before]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
