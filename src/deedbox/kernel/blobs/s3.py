"""Blobs in a bucket: named as in a folder, and shared by every server that uses the bucket's prefix.

A small file is one request. A large one goes to `incoming/` in parts while its hash is computed, and is copied to its
place inside the store, which computes the hash again."""

import asyncio
import contextlib
import functools
import hashlib
import itertools
import os
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TypeVar

from deedbox.kernel import limits, log
from deedbox.kernel.blobs import store
from deedbox.kernel.blobs.missing import find_missing
from deedbox.kernel.blobs.names import INCOMING, LOCATION, location_of, too_large
from deedbox.kernel.blobs.trash import empty_trash
from deedbox.kernel.blobs.upload import BlobUpload, Lent
from deedbox.kernel.db import Database
from deedbox.kernel.errors import ErrorCode, LostFile, NotFound, ServiceError, Unavailable
from deedbox.kernel.ids import Entropy
from deedbox.kernel.s3.bucket import Bucket, StoredObject
from deedbox.kernel.s3.multipart import Multipart

T = TypeVar("T")

HOLDS = "hold"
_NOTHING = hashlib.sha256().hexdigest()


class S3Blobs:
    """The blobs of one prefix; several servers may use it at once."""

    def __init__(
        self, bucket: Bucket, entropy: Entropy = os.urandom, *, part_bytes: int = limits.S3_PART_BYTES
    ) -> None:
        self.bucket = bucket
        self._entropy = entropy
        self._part_bytes = part_bytes
        self._doubtful: set[str] = set()
        self._lent: Lent = {}
        # Threads of its own: a store that is slow must not take those that everything else needs.
        self._threads = ThreadPoolExecutor(limits.S3_THREADS, thread_name_prefix="s3")

    def receive(self, max_bytes: int) -> BlobUpload:
        return BlobUpload(
            _Draft(self.bucket, self._entropy(8).hex()),
            max_bytes=min(max_bytes, limits.BLOB_BYTES_MAX),
            piece_bytes=self._part_bytes,
            doubt=self._doubtful.add,
            lent=self._lent,
            in_thread=self._handed,
        )

    async def open_range(
        self, location: str, start: int = 0, length: int | None = None, *, chunk_bytes: int = limits.BLOB_CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        _check(location)
        if location in self._lent:
            if lent := self._lent[location][start : None if length is None else start + length]:
                yield lent
            return
        with _named(location):
            reading = await self._in_thread(self.bucket.open, location, start, length)
        try:
            while chunk := await self._in_thread(reading.read, chunk_bytes):
                yield chunk
        finally:
            # In a thread, and not waited for: that of a cancelled request may still be reading.
            with contextlib.suppress(RuntimeError):  # at the very end there are no threads any more
                self._threads.submit(reading.close)

    async def read(self, location: str, max_bytes: int) -> bytes:
        _check(location)
        with _named(location):
            return await self._in_thread(self._read_all, location, max_bytes)

    async def sweep(self, db: Database, now: datetime) -> int:
        async def remove(locations: list[str]) -> bool:
            return await self._in_thread(self._remove, locations, now)

        return await empty_trash(db, now, self._doubtful, remove)

    async def reclaim(self, db: Database, now: datetime) -> int:
        before = now - timedelta(seconds=limits.BLOB_ORPHAN_SECONDS)
        found = await self._in_thread(self._clear_incoming, before)
        pages = self.bucket.pages()
        while (page := await self._in_thread(next, pages, None)) is not None:
            found += await self._condemn(db, [one.name for one in page if _is_old(one, before)], now)
        return found

    async def lost(self, db: Database) -> list[str]:
        def listed(shelf: str) -> set[str]:
            return {one.name for page in self.bucket.pages(f"{shelf}/") for one in page}

        return await find_missing(db, lambda shelf: self._in_thread(listed, shelf))

    async def size(self) -> int:
        return await self._in_thread(self._size)

    async def check(self) -> None:
        await self._in_thread(self.bucket.check, self._entropy)

    async def close(self) -> None:
        self._threads.shutdown(wait=False)

    async def _in_thread(self, work: Callable[..., T], *words: object) -> T:
        return await self._handed(work, *words)

    def _handed(self, work: Callable[..., T], *words: object) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._threads, work, *words)

    async def _condemn(self, db: Database, names: list[str], now: datetime) -> int:
        orphans: list[str] = []
        for shelf, some in itertools.groupby(names, lambda name: name[:2]):
            known = await db.read(functools.partial(store.known, folder=shelf))
            orphans += [name for name in some if name not in known]
        return await db.write(lambda tx: store.condemn(tx, orphans, now)) if orphans else 0

    def _read_all(self, location: str, max_bytes: int) -> bytes:
        with contextlib.closing(self.bucket.open(location)) as reading:
            if reading.remaining > max_bytes:
                raise too_large(max_bytes)
            data = bytearray()
            while chunk := reading.read(limits.BLOB_CHUNK_BYTES):
                data += chunk
            return bytes(data)

    def _remove(self, locations: Collection[str], now: datetime) -> bool:
        """False, and nothing done, while a backup holds the files."""
        since = now - timedelta(seconds=limits.S3_HOLD_SECONDS)
        for page in self.bucket.pages(f"{HOLDS}/"):
            if any(one.modified > since for one in page):
                return False
            for one in page:  # of a backup that died
                self.bucket.delete(one.name)
        for location in filter(LOCATION.fullmatch, locations):
            self.bucket.delete(location)
        return True

    def _clear_incoming(self, before: datetime) -> int:
        stale = self.bucket.abort_stale(f"{INCOMING}/", before)
        for page in self.bucket.pages(f"{INCOMING}/"):
            for one in page:
                if one.modified < before:
                    self.bucket.delete(one.name)
                    stale += 1
        return stale

    def _size(self) -> int:
        return sum(one.size_bytes for page in self.bucket.pages() for one in page)


class _Draft:
    """The object of one upload."""

    def __init__(self, bucket: Bucket, name: str) -> None:
        self._bucket = bucket
        self.name = name
        self._digest = hashlib.sha256()
        self._size = 0
        self._parts: Multipart | None = None
        self._placed: str | None = None
        self._gone = False
        self._lock = threading.Lock()

    def append(self, data: bytearray) -> None:
        with self._lock:
            self._take(data)
            self._send(data)

    def keep(self, data: bytearray, durable: bool) -> tuple[str, str]:  # noqa: ARG002 (a bucket always is)
        with self._lock:
            self._take(data)
            sha256 = self._digest.hexdigest()
            # Noted before it is there: a request whose answer is lost may have stored it.
            self._placed = location_of(sha256, self.name)
            if self._parts is None:
                self._bucket.put(self._placed, data, sha256)
            else:
                if data:
                    self._send(data)
                self._parts.complete(self._size)
                self._move(self._parts.name, self._placed, sha256)
            return sha256, self._placed

    def discard(self) -> None:
        with self._lock:
            if not self._gone:
                self._gone = True
                for step in self._steps_back():
                    with contextlib.suppress(ServiceError):
                        step()

    def _steps_back(self) -> Iterator[Callable[[], None]]:
        if self._placed is not None:
            placed = self._placed
            yield lambda: self._bucket.delete(placed)
        if self._parts is not None:
            parts = self._parts
            yield parts.abort
            yield lambda: self._bucket.delete(parts.name)

    def _take(self, data: bytearray) -> None:
        if self._gone:
            raise Unavailable("The upload was given up.")
        self._digest.update(data)
        self._size += len(data)

    def _send(self, data: bytearray) -> None:
        if self._parts is None:
            self._parts = Multipart(self._bucket, f"{INCOMING}/{self.name}")
        self._parts.send(data)

    def _move(self, source: str, target: str, sha256: str) -> None:
        # A store that computes no hash is not believed: what it gives out is read back.
        stored = self._bucket.copy(source, target) or self._bucket.hashed(target)
        if stored != sha256:
            raise Unavailable(
                "The store for files has changed the file on its way. Send it again.",
                code=ErrorCode.STORAGE_UNAVAILABLE,
            )
        with contextlib.suppress(Unavailable):  # the copy is safe; what remains is an orphan
            self._bucket.delete(source)
        self._parts = None


@contextlib.contextmanager
def held(bucket: Bucket, entropy: Entropy = os.urandom) -> Iterator[None]:
    """While this lasts no object is swept, by any server: an object says so, and is written again while it lasts."""
    name, ended = f"{HOLDS}/{entropy(8).hex()}", threading.Event()

    def hold() -> None:
        while not ended.wait(limits.S3_HOLD_RENEW_SECONDS):
            try:
                bucket.put(name, b"", _NOTHING)
            except ServiceError as error:
                log.warning("the hold on the store for files cannot be renewed", reason=error.message)

    bucket.put(name, b"", _NOTHING)
    renewing = threading.Thread(target=hold, name="s3-hold", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        with contextlib.suppress(ServiceError):  # it loses its force by its age
            bucket.delete(name)


@contextlib.contextmanager
def _named(location: str) -> Iterator[None]:
    """A row names it: an object that is not there is lost."""
    try:
        yield
    except NotFound as error:
        raise LostFile(location) from error


def _check(location: str) -> None:
    if not LOCATION.fullmatch(location):
        raise LostFile(location)


def _is_old(one: StoredObject, before: datetime) -> bool:
    return LOCATION.fullmatch(one.name) is not None and one.modified < before
