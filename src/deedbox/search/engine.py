"""The heart of the search: what answers in each workspace, its index, and what a start has to put right."""

import asyncio
import contextlib
import hashlib
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from deedbox.kernel import jobs, limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.settings import Settings
from deedbox.search import store
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import Embedder
from deedbox.search.extract import Extractor
from deedbox.search.index import Index, IndexInUse
from deedbox.search.models import Models
from deedbox.search.recipe import vectors_of
from deedbox.search.workspace_index import OpenIndex, Shelf

INDEX_JOB = "index"
REBUILD_JOB = "rebuild"
RENEW_JOB = "renew"
FORGET_JOB = "forget"
NOTHING_INDEXED = "No documents indexed. Call /documents/index first."


class Answering(NamedTuple):
    """What answers a workspace's queries: chunks of a recipe, asked with vectors of the model that made theirs."""

    recipe: str
    embedder: Embedder


def local_index(folder: Path, dimensions: int, recipe: str) -> Index:
    from deedbox.search.index.local import LocalIndex

    return LocalIndex(folder, dimensions, recipe)


class SearchEngine:
    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: Settings,
        models: Models,
        open_index: OpenIndex = local_index,
    ) -> None:
        self.db = db
        self.clock = clock
        self.models = models
        self.extractor = Extractor(settings.sandbox_processes)
        self._folder = settings.data_dir / "index"
        self._open_index = open_index
        self._shelves: dict[tuple[str, str], Shelf] = {}
        """By workspace and recipe; those in front were not asked for the longest time."""
        self._resting: dict[tuple[str, str], Shelf] = {}

    @property
    def recipe(self) -> str | None:
        """What chunks are to be made by at present; None without a model."""
        return self.models.present.recipe if self.models.present else None

    async def answering(self, workspace_id: str) -> Answering:
        """What answers in the workspace: until everything is made anew, what the model before has made."""
        present = self.models.need()
        recipe = await self.db.read(lambda tx: chunk_store.answering(tx, workspace_id)) or present.recipe
        if recipe == present.recipe:
            return Answering(recipe, present)
        if former := self.models.that_made(recipe):
            return Answering(recipe, former)
        # Nothing can be compared with its vectors any more, but its words can still be found.
        await self.db.write(lambda tx: chunk_store.let_answer(tx, workspace_id, present.recipe))
        return Answering(present.recipe, present)

    async def index(self, workspace_id: str, answering: Answering) -> Index:
        """The workspace's index of what answers, with every change that is durable by now."""
        if not answering.embedder.dimensions:
            raise BadRequest(NOTHING_INDEXED)  # an endpoint tells them with its first vector
        return await self.shelf(workspace_id, answering).current()

    def shelf(self, workspace_id: str, answering: Answering) -> Shelf:
        place = (workspace_id, answering.recipe)
        shelf = self._taken(place) or Shelf(
            self.db, *place, self._folder_of(*place), answering.embedder.dimensions, self._open_index
        )
        self._shelves[place] = shelf
        if len(self._shelves) > limits.OPEN_INDEXES:
            idle = next(iter(self._shelves))
            self._resting[idle] = self._shelves.pop(idle)
            self._resting[idle].rest()
        return shelf

    async def follow(self, workspace_id: str, answering: Answering) -> None:
        """Brings the index up to date, so that the next query need not wait for it."""
        # Another process may have it: its next query brings it up to date. Without dimensions there is nothing in it.
        with contextlib.suppress(IndexInUse):
            if answering.embedder.dimensions:
                await self.index(workspace_id, answering)

    async def index_bytes(self, workspace_id: str) -> int:
        """The bytes that the workspace's indexes take on disk."""
        return await asyncio.to_thread(_size, self._folder / workspace_id)

    async def recover(self) -> None:
        """After a crash: no document stays in the middle of being indexed."""
        await self.db.write(_unclaim_all)

    async def renew(self) -> None:
        """Plans to make anew what another model or chunker has made."""
        if self.recipe is not None:
            recipe, now = self.recipe, self.clock.now()
            await self.db.write(lambda tx: _plan_renewal(tx, recipe, now))

    async def look_for_another_model(self) -> bool:
        """Whether another model was chosen since the last look: it is the present one from now on."""
        before = self.recipe
        changed = await self.models.look_again()
        if changed and before is not None:
            now = self.clock.now()
            await self.db.write(lambda tx: plan_forgetting(tx, None, before, now))
        return changed

    async def warm(self) -> None:
        """Loads the model, if there is anything to be asked, so that the first query need not wait for it."""
        anything = await self.db.read(chunk_store.indexed_workspaces)
        if anything and self.models.present:
            await self.models.present.warm()

    async def rebuild(self, work: jobs.Work) -> None:
        """The handler of rebuild jobs: makes the workspace's index anew from the database."""
        workspace_id = work.job.workspace_id
        if workspace_id is not None:
            shelf = self.shelf(workspace_id, await self.answering(workspace_id))
            shelf.distrust()
            await shelf.current()

    async def forget(self, work: jobs.Work) -> None:
        """The handler of forget jobs: removes the index, the chunks and the model of a recipe that answers no more."""
        workspace_id, recipe = work.job.workspace_id, work.job.payload["recipe"]
        if workspace_id is not None and not await self.db.read(lambda tx: self._is_wanted(tx, workspace_id, recipe)):
            if shelf := self._taken((workspace_id, recipe)):
                await shelf.close()
            await asyncio.to_thread(shutil.rmtree, self._folder_of(workspace_id, recipe), ignore_errors=True)
            while await self.db.write(
                lambda tx: chunk_store.forget_some(tx, workspace_id, recipe, limits.FORGET_BATCH)
            ):
                await work.progress(0, 0, "")
        answering = await self.db.read(chunk_store.answering_recipes)
        if vectors_of(recipe) not in map(vectors_of, answering):
            await self.models.retire(recipe)

    async def close(self) -> None:
        for shelf in (*self._shelves.values(), *self._resting.values()):
            await shelf.close()
        await self.models.close()
        await self.extractor.close()

    def _taken(self, place: tuple[str, str]) -> Shelf | None:
        return self._shelves.pop(place, None) or self._resting.pop(place, None)

    def _folder_of(self, workspace_id: str, recipe: str) -> Path:
        return self._folder / workspace_id / hashlib.sha256(recipe.encode()).hexdigest()[:16]

    def _is_wanted(self, tx: Tx, workspace_id: str, recipe: str) -> bool:
        return recipe in (self.recipe, chunk_store.answering(tx, workspace_id))


def _unclaim_all(tx: Tx) -> None:
    for upload in store.uploads_with_status(tx, "indexing"):
        store.unclaim(tx, upload)


def _plan_renewal(tx: Tx, recipe: str, now: datetime) -> None:
    for workspace_id in chunk_store.workspaces_to_renew(tx, recipe):
        jobs.enqueue(
            tx,
            jobs.NewJob(
                RENEW_JOB,
                {"recipe": recipe},
                priority=jobs.BULK,
                unique_key=f"{RENEW_JOB}:{workspace_id}:{recipe}",
                workspace_id=workspace_id,
                max_attempts=limits.INDEX_JOB_ATTEMPTS,
            ),
            now=now,
        )


def plan_forgetting(tx: Tx, workspace_id: str | None, recipe: str, now: datetime) -> None:
    """Has a recipe's chunks, or without a workspace its model, removed when the queries that use them have ended."""
    jobs.enqueue(
        tx,
        jobs.NewJob(
            FORGET_JOB,
            {"recipe": recipe},
            run_at=now + timedelta(seconds=limits.QUERY_SECONDS),
            priority=jobs.BULK,
            unique_key=f"{FORGET_JOB}:{workspace_id}:{recipe}",
            workspace_id=workspace_id,
        ),
        now=now,
    )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
