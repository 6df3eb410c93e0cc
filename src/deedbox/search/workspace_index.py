"""One workspace's index of one recipe, brought up to date with the database before it is searched."""

import asyncio
import functools
import shutil
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from deedbox.kernel import limits, log
from deedbox.kernel.db import Database, Tx
from deedbox.search.builds import Build, Builds, Place, Span
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import vectors_of
from deedbox.search.index import Change, Entry, Index, IndexUnusable, IndexWarming

OpenIndex: TypeAlias = Callable[[Path, int, str], Index]
"""The index in a folder, with vectors of so many dimensions, made by this recipe."""
_Log: TypeAlias = list[tuple[int, Change]]
_Read: TypeAlias = Callable[[Callable[[Tx], _Log]], Coroutine[Any, Any, _Log]]
"""How changes are read from the database."""


class WorkspaceIndex:
    def __init__(
        self, db: Database, place: Place, folder: Path, dimensions: int, open_index: OpenIndex, builds: Builds
    ) -> None:
        self._db = db
        self._place = place
        self._workspace_id, self._recipe = place
        self._folder = folder
        self._dimensions = dimensions
        self._open = functools.partial(open_index, folder, dimensions, self._recipe)
        self._builds = builds
        self._build: Build | None = None
        """While much that the index lacks is on its way into it."""
        self._index: Index | None = None
        self._following: asyncio.Task[None] | None = None
        self._distrusted = False

    async def current(self, *, patient: bool) -> Index:
        """The index with every change that is in the database now; costs one read when nothing changed.

        Whoever is not patient gets IndexWarming, after a moment, if it lacks much."""
        target = await self._db.read(lambda tx: chunk_store.watermark(tx, self._workspace_id, self._recipe))
        while self._index is None or self._distrusted or self._index.watermark != target:
            await self._follow(patient=patient)
            if self._index is not None and self._index.watermark > target:
                break
        return self._index

    def distrust(self) -> None:
        """Has the index built anew before the next search: it could not be read, or someone wants it so."""
        self._distrusted = True

    def rest(self) -> None:
        """Closes the index until the next search; one that is just being brought up to date stays open."""
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._close())

    async def close(self) -> None:
        if self._following is not None:
            await asyncio.gather(self._following, return_exceptions=True)
        await self._close()

    async def _close(self) -> None:
        index, self._index = self._index, None
        if index is not None:
            await asyncio.to_thread(index.close)

    async def _follow(self, *, patient: bool) -> None:
        # One at a time, and not cancelled with the query that began it: a thread cannot be taken back.
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._catch_up())
            self._following.add_done_callback(_log_failure)
        following, seconds = self._following, None if patient else limits.INDEX_WAIT_SECONDS
        while not (await asyncio.wait({following}, timeout=seconds))[0]:
            if self._build is not None:
                raise IndexWarming(self._build.percent)
        following.result()

    async def _catch_up(self) -> None:
        self._builds.go_on()
        distrusted, self._distrusted = self._distrusted, False
        try:
            if distrusted:
                raise IndexUnusable("it is to be built anew")
            await self._bring_up(snapshots=True)
        except IndexUnusable as reason:
            log.warning("an index is built anew", workspace=self._workspace_id, reason=str(reason))
            await self._close()
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
            # One that is not trusted is built from nothing but the database.
            await self._bring_up(snapshots=not distrusted)

    async def _bring_up(self, *, snapshots: bool) -> None:
        if self._index is None:
            self._index = await asyncio.to_thread(self._open)
        index, begin = self._index, self._index.watermark
        target, chunks = await self._db.read(lambda tx: self._lacking(tx, begin))
        if begin > target:
            raise IndexUnusable("it is ahead of the database")
        if chunks > limits.INDEX_NEAR_CHUNKS:
            await self._fill(index, target, snapshots=snapshots)
        elif begin < target:
            changes = self._changes(begin, target, self._db.read, asyncio.get_running_loop())
            await asyncio.to_thread(index.apply, changes, target)

    def _lacking(self, tx: Tx, begin: int) -> tuple[int, int]:
        """The log's last number, and how many chunks came after that one; of very many, enough to know that."""
        target, enough = chunk_store.watermark(tx, *self._place), limits.INDEX_NEAR_CHUNKS + 1
        return target, chunk_store.chunks_after(tx, *self._place, begin, enough) if begin < target else 0

    async def _fill(self, index: Index, target: int, *, snapshots: bool) -> None:
        """Adds much to the index, when it is its turn, beside the reads of everyone else."""
        begin, place = index.watermark, self._place
        chunks = await self._db.read_aside(lambda tx: chunk_store.chunks_after(tx, *place, begin, target - begin))
        self._build = self._builds.expect(place, chunks)
        try:
            if snapshots:
                index = await self._from_snapshot(self._build, (begin, target)) or index
            changes = self._changes(index.watermark, target, self._db.read_aside, asyncio.get_running_loop())
            await self._builds.run(functools.partial(index.apply, self._build.counted(changes), target))
        finally:
            self._build = None
            self._builds.end(place)

    async def _from_snapshot(self, build: Build, lacking: Span) -> Index | None:
        """A snapshot in the place of the index, if there is one that has much of what is lacking."""
        stored, incoming = self._builds.snapshots, self._folder.with_name(f"{self._folder.name}.incoming")
        snapshot_id = await stored.fetch(self._place, lacking, incoming, build) if stored else None
        if stored is None or snapshot_id is None:
            return None
        await self._close()
        await asyncio.to_thread(shutil.rmtree, self._folder)
        incoming.rename(self._folder)
        try:
            self._index = await asyncio.to_thread(self._open)
        except IndexUnusable:
            await stored.drop(snapshot_id)
            raise
        return self._index

    def _changes(self, number: int, target: int, read: _Read, loop: asyncio.AbstractEventLoop) -> Iterator[Change]:
        """The changes after that number, up to the target, read as they are needed; runs in a thread."""
        while number < target:
            look = functools.partial(self._some_changes, after=number, target=target)
            found = asyncio.run_coroutine_threadsafe(read(look), loop).result()
            if not found:
                return
            for _, change in found:
                self._builds.go_on()
                yield change
            number = found[-1][0]

    def _some_changes(self, tx: Tx, *, after: int, target: int) -> _Log:
        # Each with its chunks from one snapshot: what changes again meanwhile has moved behind the target.
        entries = chunk_store.log_after(tx, self._workspace_id, self._recipe, after, limits.INDEX_LOG_BATCH)
        return [
            (entry.number, Change(entry.upload_id, self._entries(tx, entry.chunk_set_id)))
            for entry in entries
            if entry.number <= target
        ]

    def _entries(self, tx: Tx, set_id: str | None) -> list[Entry]:
        if set_id is None:
            return []
        # Chunks of a lost model are found by words only, until they are embedded anew: their vectors mean nothing here.
        foreign = None
        if vectors_of(chunk_store.recipe(tx, set_id) or "") != vectors_of(self._recipe):
            foreign = bytes(4 * self._dimensions)
        return [
            Entry(number, text, foreign or vector) for number, text, vector in chunk_store.chunk_vectors(tx, set_id)
        ]


def _log_failure(following: asyncio.Task[None]) -> None:
    """Logs a failure: everyone who waited for it may have left."""
    if not following.cancelled() and (error := following.exception()):
        log.warning("an index cannot be brought up to date", reason=str(error))
