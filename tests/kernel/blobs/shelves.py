"""The two places for blobs, as the tests of both need them."""

import os
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Blobs, ReceivedBlob, local, s3, store
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.blobs.s3 import S3Blobs
from deedbox.kernel.db import Database
from deedbox.kernel.s3.multipart import Multipart
from tests.s3 import Store, names

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


class Shelf(Protocol):
    blobs: Blobs
    piece_bytes: int
    """An upload of as much is not only in memory."""
    moment_seconds: float
    """In which an upload of four pieces gets some steps further."""

    def files(self) -> set[str]:
        """The location of every file, those of unfinished uploads included."""

    def restarted(self) -> Blobs: ...

    def held(self) -> AbstractContextManager[None]: ...

    def lose(self, location: str) -> None: ...

    def leave_half_an_upload(self, name: str) -> None: ...

    def now(self, clock: datetime) -> datetime:
        """The time at which what is stored now is fresh."""

    def age(self, name: str, now: datetime, seconds: float) -> None:
        """The file was last touched so long before now."""


def files_in(blobs: LocalBlobs) -> set[str]:
    paths = (path.relative_to(blobs.folder) for path in blobs.folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.name != ".hold"}


class FolderShelf:
    piece_bytes = limits.BLOB_CHUNK_BYTES
    moment_seconds = 0.0005

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.local = LocalBlobs(folder)
        self.blobs: Blobs = self.local

    def files(self) -> set[str]:
        return files_in(self.local)

    def restarted(self) -> Blobs:
        return LocalBlobs(self.folder)

    def held(self) -> AbstractContextManager[None]:
        return local.held(self.folder)

    def lose(self, location: str) -> None:
        (self.folder / location).unlink()

    def leave_half_an_upload(self, name: str) -> None:
        (self.folder / name).write_bytes(b"half an upload")

    def now(self, clock: datetime) -> datetime:
        return clock

    def age(self, name: str, now: datetime, seconds: float) -> None:
        os.utime(self.folder / name, (now.timestamp() - seconds, now.timestamp() - seconds))


class BucketShelf:
    piece_bytes = 400_000
    moment_seconds = 0.01

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bucket = store.bucket()
        self.blobs: Blobs = S3Blobs(self.bucket, part_bytes=self.piece_bytes)

    def files(self) -> set[str]:
        return names(self.bucket)

    def restarted(self) -> Blobs:
        return S3Blobs(self.bucket)

    def held(self) -> AbstractContextManager[None]:
        return s3.held(self.bucket)

    def lose(self, location: str) -> None:
        self.bucket.delete(location)

    def leave_half_an_upload(self, name: str) -> None:
        Multipart(self.bucket, name).send(bytes(self.piece_bytes))

    def now(self, clock: datetime) -> datetime:  # noqa: ARG002
        return datetime.now(UTC)  # the store has a clock of its own

    def age(self, name: str, now: datetime, seconds: float) -> None:  # noqa: ARG002
        self.store.age(self.bucket, name, seconds)


async def receive(blobs: Blobs, data: bytes) -> ReceivedBlob:
    """Bytes that survive their context without a row, as after a crash before the transaction."""
    async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        await incoming.write(data)
        received = await incoming.finish()
        received.offer()
    return received


async def put(blobs: Blobs, db: Database, data: bytes, owner: str) -> Blob:
    async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        for start in range(0, len(data), 50_000):
            await incoming.write(data[start : start + 50_000])
        received = await incoming.finish()
        return await db.write(lambda tx: store.adopt(tx, received, owner, NOW))


async def release(db: Database, blob: Blob, owner: str) -> None:
    await db.write(lambda tx: store.release(tx, blob.sha256, owner, NOW))


async def rows(db: Database) -> tuple[int, int, int]:
    """How many blobs, references and pieces of trash there are."""
    sql = "select (select count(*) from blobs), (select count(*) from blob_refs), (select count(*) from blob_trash)"
    row = await db.read(lambda tx: tx.one(sql))
    assert row is not None
    return row[0], row[1], row[2]
