"""Packages as objects that the store itself keeps anyone from replacing or deleting, until their lock ends."""

import asyncio
from datetime import timedelta
from typing import Any, Literal

from deedbox.archive.spool import Held
from deedbox.archive.targets import Kept, Taken, Write
from deedbox.kernel import limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.errors import Code, Conflict, NotFound, Unavailable
from deedbox.kernel.s3.bucket import Bucket, Lock
from deedbox.kernel.s3.failures import Rejected
from deedbox.kernel.s3.place import Access, Place

_NO_LOCK = ("InvalidRequest", "NotImplemented", "MethodNotAllowed", "ObjectLockConfigurationNotFoundError")


class S3Target:
    def __init__(
        self,
        place: Place,
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

    def location(self, name: str) -> str:
        return f"{self._bucket.place}/{name}"

    async def put(self, name: str, content: Held, media_type: str) -> Kept:  # noqa: ARG002 (the bucket sets none)
        return await asyncio.to_thread(self._put, name, content)

    async def fetch(self, name: str, write: Write) -> None:
        try:
            reading = await asyncio.to_thread(self._bucket.open, name)
        except NotFound as error:
            raise NotFound(f"There is no {name} in the archive") from error
        try:
            while chunk := await asyncio.to_thread(reading.read, limits.BLOB_CHUNK_BYTES):
                await write(chunk)
        finally:
            await asyncio.to_thread(reading.close)

    def _put(self, name: str, content: Held) -> Kept:
        try:
            # Asked first: a store that does not know put-if-absent would make a second version.
            found = self._stored(name)
            if found is None:
                self._bucket.put(name, content.file, content.sha256, new=True, lock=self._lock())
                found = self._bucket.ask("head_object", name, ChecksumMode="ENABLED")
            elif self._bucket.head(name).sha256 != content.sha256:
                raise Conflict("another")
        except Rejected as error:
            if self._mode is not None and error.answer in _NO_LOCK:
                raise Unavailable(
                    f"The bucket {self._bucket.place.bucket} locks no objects ({error.answer}): make one with object"
                    " lock, or set DEEDBOX_ARCHIVE_LOCK=none",
                    code=Code.STORAGE_UNAVAILABLE,
                ) from error
            raise
        except Conflict as error:
            raise Taken(f"Something else lies under {name} in the archive, and it must not be replaced") from error
        return self._kept(name, found, content)

    def _stored(self, name: str) -> Any:
        try:
            return self._bucket.ask("head_object", name, ChecksumMode="ENABLED")
        except NotFound:
            return None

    def _kept(self, name: str, found: Any, content: Held) -> Kept:
        """What the store tells of the object, once it is seen that it has it all, and locked."""
        if found["ContentLength"] != content.size_bytes:
            raise Unavailable(f"The store has another size for {name} than was sent", code=Code.STORAGE_UNAVAILABLE)
        if self._mode is not None and "ObjectLockMode" not in found:
            raise Unavailable(
                f"The store took {name} and did not lock it: check the bucket's object lock",
                code=Code.STORAGE_UNAVAILABLE,
            )
        return Kept(version=found.get("VersionId"), etag=found.get("ETag", "").strip('"') or None)

    def _lock(self) -> Lock | None:
        if self._mode is None:
            return None
        return Lock(self._mode, self._clock.now() + timedelta(days=self._days))
