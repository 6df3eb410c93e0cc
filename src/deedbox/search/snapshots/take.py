"""Downloads a snapshot for an index that lacks much. With one that is no good, the index is built from the database."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from deedbox.kernel import log
from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import LostFile, Unavailable
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.index import FORMAT, Index, IndexUnusable, Place
from deedbox.search.index.folders import IndexFolders
from deedbox.search.indexing.builds import Build, Builds, Span
from deedbox.search.snapshots import Snapshot, SnapshotFile, spans, store, write


class _Wanted(msgspec.Struct, frozen=True):
    """A snapshot that is worth its download."""

    snapshot: Snapshot
    rest: int
    """The chunks that it lacks."""


class TakeSnapshots:
    def __init__(self, db: Database, blobs: Blobs, clock: Clock, builds: Builds, folders: IndexFolders) -> None:
        self._db = db
        self._folders = folders
        self._blobs = blobs
        self._clock = clock
        self._builds = builds
        self._turns = asyncio.Semaphore(limits.INDEX_BUILDS)

    async def fetch(self, place: Place, lacking: Span, build: Build) -> str | None:
        """The id of a snapshot that lies here now, every byte checked; None if there is none to use."""
        folder = self._folders.incoming(place)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)  # of a download that a crash has ended
        wanted = await self._db.read_aside(lambda tx: _wanted(tx, place, lacking))
        if wanted is None:
            return None
        try:
            async with self._turns:
                await self._download(wanted, folder, build)
            return wanted.snapshot.id
        except (LostFile, IndexUnusable, Unavailable, OSError) as error:
            log.warning("a snapshot of an index cannot be used", workspace=place[0], reason=str(error))
            build.done = 0
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            if isinstance(error, LostFile | IndexUnusable):
                await self._drop(wanted.snapshot.id)
            return None

    async def put(self, snapshot_id: str, place: Place, dimensions: int, index: Index) -> Index:
        """The snapshot that was fetched, opened, in the place of the index, which is closed."""
        try:
            return await asyncio.to_thread(self._folders.replace, index, place, dimensions)
        except Exception as error:
            await asyncio.to_thread(index.close)
            if isinstance(error, IndexUnusable):
                await self._drop(snapshot_id)
            raise

    async def _drop(self, snapshot_id: str) -> None:
        """Removes a snapshot that is no good, so that nobody tries it again."""
        now = self._clock.now()
        await self._db.write(lambda tx: store.drop(tx, snapshot_id, now))

    async def _download(self, wanted: _Wanted, folder: Path, build: Build) -> None:
        contents = wanted.snapshot.contents
        blobs = await self._db.read_aside(
            lambda tx: [blobs_store.demand(tx, piece.sha256) for piece in contents.pieces]
        )
        download = _Download(folder, contents.files, build, max(0, build.chunks - wanted.rest))
        await asyncio.to_thread(download.prepare)
        waiting = iter(list(download.placed(blobs)))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(limits.SNAPSHOT_PARALLEL):
                    group.create_task(self._take_pieces(download, waiting))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        await asyncio.to_thread(download.flush_folders)

    async def _take_pieces(self, download: "_Download", waiting: Iterator[tuple[int, Blob]]) -> None:
        for begin, blob in waiting:
            digest, at = hashlib.sha256(), begin
            async for block in self._blobs.open_range(blob.location, chunk_bytes=limits.SNAPSHOT_BLOCK_BYTES):
                self._builds.go_on()
                await asyncio.to_thread(download.write, digest, at, block)
                at += len(block)
            if at != begin + blob.size_bytes or digest.hexdigest() != blob.sha256:
                raise IndexUnusable(f"The blob {blob.sha256} is not what was stored.")
            await asyncio.to_thread(download.flush, begin, blob.size_bytes)


class _Download:
    """The files of a snapshot on their way into a folder; its methods run in threads."""

    def __init__(self, folder: Path, files: list[SnapshotFile], build: Build, chunks: int) -> None:
        self._folder, self._files, self._build, self._chunks = folder, files, build, chunks
        self._size = sum(file.size_bytes for file in files)
        self._received = 0

    def prepare(self) -> None:
        """The files are there, as long as they are to be."""
        for file in self._files:
            path = self._folder / file.name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as made:
                made.truncate(file.size_bytes)

    def placed(self, blobs: list[Blob]) -> Iterator[tuple[int, Blob]]:
        """Every piece with the place of its first byte; IndexUnusable if together they are not the files."""
        begin = 0
        for blob in blobs:
            yield begin, blob
            begin += blob.size_bytes
        if begin != self._size:
            raise IndexUnusable(f"The pieces have {begin} bytes, the files {self._size}.")

    def write(self, digest: "hashlib._Hash", begin: int, data: bytes) -> None:
        digest.update(data)
        write(self._folder, self._files, begin, data)
        self._received += len(data)
        self._build.done = self._chunks * self._received // max(1, self._size)

    def flush(self, begin: int, length: int) -> None:
        """These bytes are durable: a mapped file has no sum that would tell what a power cut took away."""
        for name, _, _ in spans(self._files, begin, length):
            _flush(self._folder / name)

    def flush_folders(self) -> None:
        for folder in {(self._folder / file.name).parent for file in self._files}:
            _flush(folder)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _wanted(tx: Tx, place: Place, lacking: Span) -> _Wanted | None:
    """The snapshot of the place, if it can be used here and has at least half of what is lacking."""
    begin, target = lacking
    snapshot = store.find(tx, *place)
    if snapshot is None or snapshot.format != FORMAT or not begin < snapshot.watermark <= target:
        return None
    rest = chunk_store.chunks_after(tx, *place, snapshot.watermark, target - snapshot.watermark)
    all_of_it = chunk_store.chunks_after(tx, *place, begin, target - begin)
    return _Wanted(snapshot, rest) if 2 * rest <= all_of_it else None
