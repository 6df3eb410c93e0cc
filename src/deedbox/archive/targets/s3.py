"""Packages as objects that the store itself keeps anyone from replacing or deleting, until their lock ends.

Where the bucket keeps versions, the first of a name is the one that counts: what is put over it, or deletes it, hides
it from others and not from here."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Literal, TypeVar

import msgspec

from deedbox.archive.spool import SpooledFile
from deedbox.archive.targets import NameTaken, PutResult, Write
from deedbox.kernel import limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.errors import Conflict, ErrorCode, NotFound, Unavailable
from deedbox.kernel.s3.bucket import Bucket, Lock, StoredObject
from deedbox.kernel.s3.failures import Denied, Rejected
from deedbox.kernel.s3.object_stream import ObjectStream
from deedbox.kernel.s3.place import Access, BucketPrefix

T = TypeVar("T")

_NO_LOCK = ("InvalidRequest", "NotImplemented", "MethodNotAllowed", "ObjectLockConfigurationNotFoundError")
_RIGHTS = (
    "s3:ListBucket, s3:GetObject, s3:PutObject, s3:ListBucketVersions and s3:GetObjectVersion, and for locks"
    " s3:PutObjectRetention and s3:GetObjectRetention"
)


class S3Target:
    def __init__(
        self,
        place: BucketPrefix,
        access: Access,
        lock: Literal["governance", "compliance", "none"],
        lock_days: int,
        clock: Clock,
    ) -> None:
        self._bucket = Bucket(place, access)
        self._mode: Literal["GOVERNANCE", "COMPLIANCE"] | None = None
        if lock != "none":
            self._mode = "COMPLIANCE" if lock == "compliance" else "GOVERNANCE"
        self._days = lock_days
        self._clock = clock
        # Threads of its own: a store that is slow must not take those that everything else needs.
        self._threads = ThreadPoolExecutor(limits.S3_THREADS, thread_name_prefix="archive")

    def location(self, name: str) -> str:
        return f"{self._bucket.place}/{name}"

    async def put(self, name: str, content: SpooledFile, media_type: str) -> PutResult:  # noqa: ARG002 (the bucket sets none)
        return await self._in_thread(self._put, name, content)

    async def confirm(self, name: str, content: SpooledFile) -> PutResult:
        return await self._in_thread(self._put, name, content)

    async def fetch(self, name: str, write: Write, version: str | None = None) -> None:
        try:
            reading = await self._in_thread(self._open, name, version)
        except NotFound as error:
            raise NotFound(f"There is no {name} in the archive") from error
        try:
            while chunk := await self._in_thread(reading.read, limits.BLOB_CHUNK_BYTES):
                await write(chunk)
        finally:
            # Not waited for: the thread of someone who was cancelled may still be reading.
            with contextlib.suppress(RuntimeError):  # at the very end there are no threads any more
                self._threads.submit(reading.close)

    async def close(self) -> None:
        self._threads.shutdown(wait=False)

    async def _in_thread(self, work: Callable[..., T], *words: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *words)

    def _open(self, name: str, version: str | None) -> ObjectStream:
        try:
            return self._bucket.open(name, version=version or self._first(name).version)
        except Denied as error:
            if version is None or self._mode is not None:
                raise _no_right(self._bucket, error) from error
            return self._bucket.open(name)

    def _put(self, name: str, content: SpooledFile) -> PutResult:
        try:
            # Asked first: a store that does not know put-if-absent, or takes a deleted name for a new one, would make
            # a second version.
            found, lock = self._found(name), self._lock()
            if found is None:
                self._bucket.put(name, content.file, content.sha256, new=True, lock=lock)
                found = self._first(name)
            self._demand_same(found, content)
            if lock is not None and not _is_enough(found.lock, lock):
                self._lock_longer(found, lock)
            return PutResult(version=found.version, etag=found.etag)
        except Denied as error:
            raise _no_right(self._bucket, error) from error
        except Rejected as error:
            if self._mode is not None and error.answer in _NO_LOCK:
                raise Unavailable(
                    f"The bucket {self._bucket.place.bucket} locks no objects ({error.answer}): make one with object"
                    " lock, or set DEEDBOX_ARCHIVE_LOCK=none",
                    code=ErrorCode.STORAGE_UNAVAILABLE,
                ) from error
            raise
        except Conflict as error:
            raise NameTaken(f"Something else lies under {name} in the archive, and it must not be replaced") from error

    def _found(self, name: str) -> StoredObject | None:
        try:
            return self._first(name)
        except NotFound:
            return None

    def _first(self, name: str) -> StoredObject:
        """The first version; where nothing is locked and the key has no right to versions, what there is."""
        try:
            return self._bucket.first(name)
        except Denied:
            if self._mode is not None:
                raise
            return msgspec.structs.replace(self._bucket.head(name), version=None)

    def _demand_same(self, found: StoredObject, content: SpooledFile) -> None:
        if (found.sha256 or self._bucket.hashed(found.name, found.version)) != content.sha256:
            raise Conflict("another")
        if found.size_bytes != content.size_bytes:
            raise Unavailable(
                f"The store has another size for {found.name} than was sent", code=ErrorCode.STORAGE_UNAVAILABLE
            )

    def _lock_longer(self, found: StoredObject, wanted: Lock) -> None:
        """Locks an object that was there already, whoever put it, and checks that the store keeps the lock."""
        mode, until = wanted.mode, wanted.until
        if found.lock is not None:
            mode = "COMPLIANCE" if "COMPLIANCE" in (mode, found.lock.mode) else mode
            until = max(until, found.lock.until)
        self._bucket.lock(found.name, found.version, Lock(mode, until))
        if not _is_enough(self._bucket.head(found.name, found.version).lock, wanted):
            raise Unavailable(
                f"The store took {found.name} and did not lock it as is set: check the bucket's object lock, and that"
                " this server may see it",
                code=ErrorCode.STORAGE_UNAVAILABLE,
            )

    def _lock(self) -> Lock | None:
        if self._mode is None:
            return None
        # To the second: a store that keeps no more would seem to have locked it for less.
        return Lock(self._mode, self._clock.now().replace(microsecond=0) + timedelta(days=self._days))


def _no_right(bucket: Bucket, error: Denied) -> Unavailable:
    return Unavailable(
        f"The bucket {bucket.place.bucket} of the archive denies something: give the key the rights {_RIGHTS}",
        code=error.code,
    )


def _is_enough(lock: Lock | None, wanted: Lock) -> bool:
    return lock is not None and lock.mode in (wanted.mode, "COMPLIANCE") and lock.until >= wanted.until
