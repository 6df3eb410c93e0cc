"""The search engine: the recipe and embedder that serve each workspace, and its index."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from deedbox.kernel import jobs, tasks
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.settings import Settings
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import Embedder
from deedbox.search.extract import Extractor
from deedbox.search.index import Index, Place
from deedbox.search.index.choose import open_indexes
from deedbox.search.indexing.builds import Builds
from deedbox.search.indexing.embedders import Embedders
from deedbox.search.indexing.workspace_index import INDEX_UNUSABLE, INDEX_WANTED, WorkspaceIndex
from deedbox.search.ocr.page_reader import PageReader
from deedbox.search.query.known_questions import KnownQuestions
from deedbox.search.query.query_times import QueryTimes
from deedbox.search.query.rerank import Reranker

T = TypeVar("T")

INDEX_JOB = "index"
REBUILD_JOB = "rebuild"
INDEX_DROPPED = "index dropped"
"""Told with workspace and recipe, to every process that may have such an index: it is out of service."""
NOTHING_INDEXED = "No documents indexed. Call /documents/index first."


class Serving(NamedTuple):
    """The recipe and embedder that serve a workspace's queries."""

    recipe: str
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class Current(Generic[T]):
    """A workspace's index with every change that was durable when it was asked for."""

    serving: Serving
    index: Index
    mark: int
    """A change that the index has, and that was durable when `found` was read."""
    found: T


class SearchEngine:
    def __init__(self, db: Database, clock: Clock, settings: Settings, embedders: Embedders) -> None:
        self.db = db
        self.clock = clock
        self.embedders = embedders
        self.reranker: Reranker | None = None
        self.times = QueryTimes(db, clock)
        self.known_questions = KnownQuestions()
        self.extractor = Extractor(settings.sandbox_processes)
        self.pages = PageReader(settings.models)
        self.keeps_index = True
        """Whether queries are answered from an index here; a worker answers none."""
        self.indexes = open_indexes(settings, db)
        self.builds = Builds()
        self._indexes: dict[Place, WorkspaceIndex] = {}
        """By workspace and recipe, the least recently used first."""
        self._resting: dict[Place, WorkspaceIndex] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        db.listeners.add(INDEX_WANTED, lambda identity: self._begin(self._bring_up(identity)))
        db.listeners.add(INDEX_UNUSABLE, lambda identity: self._begin(self._bring_up(identity, anew=True)))
        db.listeners.add(INDEX_DROPPED, lambda place: self._begin(self._drop_index(*place.split(" ", 1))))

    @property
    def recipe(self) -> str | None:
        """The recipe of the embedder in use; None without one."""
        return self.embedders.current.recipe if self.embedders.current else None

    async def serving(self, workspace_id: str) -> Serving:
        """The recipe and embedder that serve the workspace: the former ones, until everything is embedded anew."""
        recipe = await self.db.read(lambda tx: chunk_store.serving_recipe(tx, workspace_id))
        return await self.serving_of(workspace_id, recipe)

    async def current(self, workspace_id: str, read: Callable[[Tx, str], T], *, patient: bool) -> "Current[T]":
        """Return what serves the workspace, its index with every durable change, and what `read` finds for the recipe
        in the same snapshot. Takes one read transaction if the index lacks nothing."""
        usual = self.embedders.need().recipe

        def look(tx: Tx) -> tuple[str | None, int | None, T]:
            recipe, last = chunk_store.serving_state(tx, workspace_id)
            opened = self._indexes.get((workspace_id, recipe or usual))
            return recipe, opened.look(tx, last) if opened else None, read(tx, recipe or usual)

        recipe, target, found = await self.db.read(look)
        serving = await self.serving_of(workspace_id, recipe)
        if serving.recipe != (recipe or usual):
            target = None
        index = await self.index(workspace_id, serving, patient=patient, target=target)
        if (mark := index.watermark) == target:
            return Current(serving, index, mark, found)
        # What was read is older than the index: a document that has changed since could be judged by its former state.
        return Current(serving, index, mark, await self.db.read(lambda tx: read(tx, serving.recipe)))

    async def serving_of(self, workspace_id: str, recipe: str | None) -> Serving:
        """Return the recipe and its embedder; the current ones if no embedder of that recipe is installed."""
        current = self.embedders.need()
        recipe = recipe or current.recipe
        if recipe == current.recipe:
            return Serving(recipe, current)
        if former := self.embedders.of_recipe(recipe):
            return Serving(recipe, former)
        # Nothing can be compared with its vectors any more, but its words can still be found.
        await self.db.write(lambda tx: chunk_store.serve(tx, workspace_id, current.recipe))
        return Serving(current.recipe, current)

    async def index(
        self, workspace_id: str, serving: Serving, *, patient: bool = False, target: int | None = None
    ) -> Index:
        """The workspace's index, with every change that is durable by now; `target` is the last, if it was just read.

        One that lacks much is built in the background, and whoever is not patient gets IndexWarming after a moment."""
        if not serving.embedder.dimensions:
            raise BadRequest(NOTHING_INDEXED)  # an endpoint tells them with its first vector
        return await self.workspace_index(workspace_id, serving).current(patient=patient, target=target)

    def workspace_index(self, workspace_id: str, serving: Serving) -> WorkspaceIndex:
        place = (workspace_id, serving.recipe)
        index = self._taken(place) or WorkspaceIndex(
            self.db, place, serving.embedder.dimensions, self.indexes, self.builds
        )
        self._indexes[place] = index
        if len(self._indexes) > limits.OPEN_INDEXES:
            idle = next(iter(self._indexes))
            self._resting[idle] = self._indexes.pop(idle)
            self._resting[idle].rest()
        return index

    async def follow(self, workspace_id: str, serving: Serving) -> None:
        """Brings the index up to date, so that the next query need not wait for it."""
        # Without dimensions there is nothing in it.
        if serving.embedder.dimensions and self.keeps_index:
            await self.index(workspace_id, serving, patient=True)

    async def lacks(self, workspace_id: str, serving: Serving) -> int:
        """How many chunks the stored index lacks; it is not opened. None at all where the model's size is unknown."""
        recipe, dimensions = serving.recipe, serving.embedder.dimensions
        if not dimensions:
            return 0
        stored = await asyncio.to_thread(self.indexes.watermark, (workspace_id, recipe), dimensions)
        return await self.db.read_aside(lambda tx: _chunks_after(tx, workspace_id, recipe, stored))

    async def index_bytes(self, workspace_id: str) -> int:
        """The bytes that the workspace's indexes take."""
        return await asyncio.to_thread(self.indexes.size_bytes, workspace_id)

    async def warm(self) -> None:
        """Loads the model, if anything is indexed, so that the first query need not wait for it."""
        anything = await self.db.read(chunk_store.indexed_workspaces)
        if anything and self.embedders.current:
            await self.embedders.current.warm()

    async def rebuild(self, work: jobs.Work) -> None:
        """The handler of rebuild jobs: builds the workspace's index anew from the database."""
        workspace_id = work.job.workspace_id
        if workspace_id is not None:
            index = self.workspace_index(workspace_id, await self.serving(workspace_id))
            index.distrust()
            await index.current(patient=True)

    async def drop_index(self, workspace_id: str, recipe: str) -> None:
        """Closes and removes the workspace's index of a recipe out of service, here and wherever else it is."""
        await self._drop_index(workspace_id, recipe)
        await self.db.write(lambda tx: tx.notify(INDEX_DROPPED, f"{workspace_id} {recipe}"))

    async def follow_forever(self) -> None:
        """Brings up the indexes that are written here, which other processes may be waiting for."""
        while True:
            await asyncio.sleep(limits.INDEX_FOLLOW_SECONDS)
            with tasks.going_on("an index is brought up to date at its next question only"):
                await self._follow_written()

    async def close(self) -> None:
        self.builds.stop()
        await tasks.end(*self._tasks)
        for index in (*self._indexes.values(), *self._resting.values()):
            await index.close()
        await asyncio.to_thread(self.indexes.close)
        await self.embedders.close()
        await self.extractor.close()
        await self.pages.close()

    def _begin(self, act: Coroutine[Any, Any, None]) -> None:
        if self.builds.stopping:
            act.close()
            return
        task = asyncio.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _bring_up(self, identity: str, *, anew: bool = False) -> None:
        """For another process, which reads what this one writes; nothing, if this one does not write that index."""
        with tasks.going_on("an index that another process waits for cannot be brought up to date"):
            for index in list(self._indexes.values()):
                if (written := index.written) and written.identity == identity:
                    if anew:
                        index.distrust()
                    await index.current(patient=True)

    async def _follow_written(self) -> None:
        written = {place: one.watermark for place, index in self._indexes.items() if (one := index.written)}
        if written:
            behind = await self.db.read(lambda tx: _behind(tx, written))
            indexes = [index for place in behind if (index := self._indexes.get(place))]
            await asyncio.gather(*(index.current(patient=True) for index in indexes))

    async def _drop_index(self, workspace_id: str, recipe: str) -> None:
        if index := self._taken((workspace_id, recipe)):
            await index.close()
        # One that another process writes is left to that one.
        await asyncio.to_thread(self.indexes.discard, (workspace_id, recipe))

    def _taken(self, place: Place) -> WorkspaceIndex | None:
        return self._indexes.pop(place, None) or self._resting.pop(place, None)


def _behind(tx: Tx, written: dict[Place, int]) -> list[Place]:
    return [place for place, mark in written.items() if chunk_store.watermark(tx, *place) != mark]


def _chunks_after(tx: Tx, workspace_id: str, recipe: str, stored: int) -> int:
    target = chunk_store.watermark(tx, workspace_id, recipe)
    begin = stored if stored <= target else 0  # one that is ahead of the database is built anew
    return chunk_store.chunks_after(tx, workspace_id, recipe, begin, target - begin)
