"""One workspace's index of one recipe, brought up to date with the database before it is searched."""

import asyncio
import contextlib
import functools
import itertools
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

from deedbox.kernel import log
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import Unavailable
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.chunks.store import LogEntry
from deedbox.search.index import ChunkEntry, Index, IndexChange, Indexes, IndexUnusable, IndexWarming, Place
from deedbox.search.indexing.builds import Build, Builds, Span
from deedbox.search.indexing.entries import entries

INDEX_WANTED = "index wanted"
"""Told with its identity, to the process that writes an index: another lacks what is in the database."""
INDEX_UNUSABLE = "index unusable"
"""Told with its identity, to the process that writes an index: it is to be begun anew."""
_Log: TypeAlias = list[tuple[int, IndexChange]]
_Read: TypeAlias = Callable[[Callable[[Tx], _Log]], Coroutine[Any, Any, _Log]]
"""How changes are read from the database."""


class WorkspaceIndex:
    until: int | None = None
    """Where it ends, if it is to be as it was after that change, and not as everything is now."""

    def __init__(self, db: Database, place: Place, dimensions: int, indexes: Indexes, builds: Builds) -> None:
        self._db = db
        self._place = place
        self._workspace_id, self._recipe = place
        self._dimensions = dimensions
        self._indexes = indexes
        self._builds = builds
        self._build: Build | None = None
        """While much that the index lacks is on its way into it."""
        self._index: Index | None = None
        self._following: asyncio.Task[None] | None = None
        self._distrusted = False

    @property
    def written(self) -> Index | None:
        """The index, if this is the process that writes it."""
        return self._index if self._index is not None and self._index.writes else None

    async def current(self, *, patient: bool, target: int | None = None) -> Index:
        """The index with every change that is in the database now; costs one read when nothing changed, and none if
        what `look` returned is given.

        Whoever is not patient gets IndexWarming, after a moment, if it lacks much."""
        if target is None:
            target = await self._db.read(self.look)
        while self._index is None or self._distrusted or self._index.watermark != target:
            await self._follow(patient=patient)
            if self._index is not None and self._index.watermark > target:
                break
        return self._index

    def look(self, tx: Tx, last: int | None = None) -> int:
        """Return the number of the last change that belongs in the index, and see how far the index goes in the same
        snapshot. `last` is the watermark, if the caller has read it."""
        if self._index is not None:
            self._index.look(tx)
        return self._target(tx, last)

    def _target(self, tx: Tx, last: int | None = None) -> int:
        """The number of the last change that belongs in the index."""
        if last is None:
            last = chunk_store.watermark(tx, *self._place)
        return last if self.until is None else min(last, self.until)

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
                raise IndexUnusable("it must be rebuilt")
            await self._bring_up(snapshots=True)
        except IndexUnusable as reason:
            log.warning("an index is being rebuilt", workspace=self._workspace_id, reason=str(reason))
            await self._begin_anew()
            # One that is not trusted is built from nothing but the database.
            await self._bring_up(snapshots=not distrusted)

    async def _begin_anew(self) -> None:
        """Leaves nothing of the index; where another process writes it, has that one do so."""
        index = self._index
        if index is not None and not index.writes:
            before = index.identity

            def is_other() -> bool:
                with contextlib.suppress(IndexUnusable):  # still the one that is to go
                    index.claim()
                return index.writes or index.identity != before

            await self._ask_writer(INDEX_UNUSABLE, index, is_other)
            if not index.writes:
                return
        self._index = None
        discard = index.discard if index is not None else functools.partial(self._indexes.discard, self._place)
        await asyncio.to_thread(discard)

    async def _bring_up(self, *, snapshots: bool) -> None:
        if self._index is None:
            self._index = await asyncio.to_thread(self._indexes.open, self._place, self._dimensions)
        index = self._index
        writes = await asyncio.to_thread(index.claim)
        begin, target, chunks = await self._db.read(lambda tx: self._lacking(tx, index))
        if begin > target:
            raise IndexUnusable("it is ahead of the database")
        if begin < target and not writes:
            await self._wait_for_writer(index, target, chunks)
        elif chunks > limits.INDEX_NEAR_CHUNKS:
            await self._fill(index, (begin, target), snapshots=snapshots)
        elif begin < target:
            changes = self._changes(begin, target, self._db.read, asyncio.get_running_loop())
            await asyncio.to_thread(index.apply, changes, target, begin)

    async def _wait_for_writer(self, index: Index, target: int, chunks: int) -> None:
        """Until the process that writes the index has brought it so far."""
        if chunks > limits.INDEX_NEAR_CHUNKS:
            self._build = self._builds.expect(self._place, chunks)
        try:
            await self._ask_writer(INDEX_WANTED, index, lambda: index.claim() or index.watermark >= target)
        finally:
            if self._build is not None:
                self._build = None
                self._builds.end(self._place)

    async def _ask_writer(self, notice: str, index: Index, is_done: Callable[[], bool]) -> None:
        """Tells the process that writes the index until it has done so, or is gone: then this one writes it."""
        for look in itertools.count():
            if look % limits.INDEX_NOTICE_LOOKS == 0:
                await self._db.write(lambda tx: tx.notify(notice, index.identity))
            if look == limits.INDEX_WRITER_LOOKS and self._build is None:
                raise Unavailable("The process that writes the search index does not answer. Try again in a moment.")
            await asyncio.sleep(limits.INDEX_LOOK_SECONDS)
            self._builds.go_on()
            if await asyncio.to_thread(is_done):
                return

    def _lacking(self, tx: Tx, index: Index) -> tuple[int, int, int]:
        """How far the index goes, the log's last number, and how many chunks came between; of very many, enough to
        know that."""
        index.look(tx)
        begin, target = index.watermark, self._target(tx)
        enough = limits.INDEX_NEAR_CHUNKS + 1
        return begin, target, chunk_store.chunks_after(tx, *self._place, begin, enough) if begin < target else 0

    async def _fill(self, index: Index, lacking: Span, *, snapshots: bool) -> None:
        """Adds much to the index, when it is its turn, beside the reads of everyone else."""
        place, (begin, target) = self._place, lacking
        chunks = await self._db.read_aside(lambda tx: chunk_store.chunks_after(tx, *place, begin, target - begin))
        self._build = build = self._builds.expect(place, chunks)
        try:
            if snapshots and await self._has_taken_snapshot(index, lacking, build):
                return  # the next look adds the rest, here or where it is written
            changes = self._changes(begin, target, self._db.read_aside, asyncio.get_running_loop())
            await self._builds.run(functools.partial(index.apply, build.counted(changes), target, begin))
        finally:
            self._build = None
            self._builds.end(place)

    async def _has_taken_snapshot(self, index: Index, lacking: Span, build: Build) -> bool:
        """Whether a snapshot stands in the place of the index now: one that had much of what was lacking."""
        stored = self._builds.snapshots
        snapshot_id = await stored.fetch(self._place, lacking, build) if stored else None
        if stored is None or snapshot_id is None:
            return False
        self._index = None
        self._index = await stored.put(snapshot_id, self._place, self._dimensions, index)
        return True

    def _changes(self, number: int, target: int, read: _Read, loop: asyncio.AbstractEventLoop) -> Iterator[IndexChange]:
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
        found = chunk_store.log_after(tx, self._workspace_id, self._recipe, after, limits.INDEX_LOG_BATCH)
        return [
            (entry.number, IndexChange(entry.upload_id, self._entries(tx, entry), entry.number))
            for entry in found
            if entry.number <= target
        ]

    def _entries(self, tx: Tx, logged: LogEntry) -> list[ChunkEntry]:
        if logged.chunk_set_id is None:
            return []
        return entries(tx, self._recipe, logged.upload_id, logged.chunk_set_id, self._dimensions)


def _log_failure(following: asyncio.Task[None]) -> None:
    """Logs a failure: everyone who waited for it may have left."""
    if not following.cancelled() and (error := following.exception()):
        log.warning("an index cannot be brought up to date", reason=str(error))
