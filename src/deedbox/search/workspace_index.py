"""One workspace's index of one recipe, brought up to date with the database before it is searched."""

import asyncio
import functools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from deedbox.kernel import limits, log
from deedbox.kernel.db import Database, Tx
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import vectors_of
from deedbox.search.index import Change, Entry, Index, IndexUnusable

OpenIndex: TypeAlias = Callable[[Path, int, str], Index]
"""The index in a folder, with vectors of so many dimensions, made by this recipe."""


class WorkspaceIndex:
    def __init__(
        self, db: Database, workspace_id: str, recipe: str, folder: Path, dimensions: int, open_index: OpenIndex
    ) -> None:
        self._db = db
        self._workspace_id = workspace_id
        self._folder = folder
        self._recipe = recipe
        self._dimensions = dimensions
        self._open = functools.partial(open_index, folder, dimensions, recipe)
        self._index: Index | None = None
        self._following: asyncio.Task[None] | None = None
        self._distrusted = False

    async def current(self) -> Index:
        """The index with every change that is in the database now; costs one read when nothing changed."""
        target = await self._db.read(lambda tx: chunk_store.watermark(tx, self._workspace_id, self._recipe))
        while self._index is None or self._distrusted or self._index.watermark != target:
            await self._follow()
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

    async def _follow(self) -> None:
        # One at a time, and not cancelled with the query that began it: a thread cannot be taken back.
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._catch_up())
            self._following.add_done_callback(_log_failure)
        await asyncio.shield(self._following)

    async def _catch_up(self) -> None:
        target = await self._db.read(lambda tx: chunk_store.watermark(tx, self._workspace_id, self._recipe))
        distrusted, self._distrusted = self._distrusted, False
        old, self._index = (self._index, None) if distrusted else (None, self._index)
        loop = asyncio.get_running_loop()
        try:
            if distrusted:
                raise IndexUnusable("it is to be built anew")
            self._index = await asyncio.to_thread(self._caught_up, self._index, target, loop)
        except IndexUnusable as reason:
            log.warning("an index is built anew", workspace=self._workspace_id, reason=str(reason))
            old, self._index = old or self._index, None
            self._index = await asyncio.to_thread(self._built_anew, old, target, loop)

    def _caught_up(self, index: Index | None, target: int, loop: asyncio.AbstractEventLoop) -> Index:
        if index is None:
            index = self._open()
        if index.watermark > target:
            index.close()
            raise IndexUnusable("it is ahead of the database")
        if index.watermark < target:
            index.apply(self._changes(index.watermark, target, loop), target)
        return index

    def _built_anew(self, old: Index | None, target: int, loop: asyncio.AbstractEventLoop) -> Index:
        if old is not None:
            old.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        return self._caught_up(None, target, loop)

    def _changes(self, number: int, target: int, loop: asyncio.AbstractEventLoop) -> Iterator[Change]:
        """The changes after that number, up to the target, read as they are needed; runs in a thread."""
        while number < target:
            look = functools.partial(self._some_changes, after=number, target=target)
            found = asyncio.run_coroutine_threadsafe(self._db.read(look), loop).result()
            if not found:
                return
            for _, change in found:
                yield change
            number = found[-1][0]

    def _some_changes(self, tx: Tx, *, after: int, target: int) -> list[tuple[int, Change]]:
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
