"""The heart of the search: its model, one index for each workspace, and what a start has to put right."""

import asyncio
import hashlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from deedbox.kernel import jobs, limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import Code, Unavailable
from deedbox.kernel.settings import Settings
from deedbox.search import store
from deedbox.search.embed import Embedder
from deedbox.search.extract import Extractor
from deedbox.search.index import Index
from deedbox.search.pages import PageImages
from deedbox.search.shelf import OpenIndex, Shelf

INDEX_JOB = "index"
REBUILD_JOB = "rebuild"


def local_index(folder: Path, dimensions: int, recipe: str) -> Index:
    from deedbox.search.index.local import LocalIndex

    return LocalIndex(folder, dimensions, recipe)


class SearchEngine:
    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: Settings,
        open_embedder: Callable[[], Embedder | None],
        open_index: OpenIndex = local_index,
    ) -> None:
        self.db = db
        self.clock = clock
        self.extractor = Extractor(settings.sandbox_processes)
        self.pages = PageImages()
        self._folder = settings.data_dir / "index"
        self.open_embedder = open_embedder
        self._open_index = open_index
        self._embedder: Embedder | None = None
        self._shelves: dict[tuple[str, str], Shelf] = {}

    @property
    def embedder(self) -> Embedder | None:
        """The model in use; looked for again as long as there is none, so that installing one needs no restart."""
        if self._embedder is None:
            self._embedder = self.open_embedder()
        return self._embedder

    @property
    def recipe(self) -> str | None:
        """What chunks are made by at present; None without a model."""
        return self.embedder.recipe if self.embedder else None

    def need_embedder(self) -> Embedder:
        if self.embedder is None:
            raise Unavailable("No embedding model is installed. Run: deedbox model install", code=Code.MODEL_MISSING)
        return self.embedder

    async def index(self, workspace_id: str) -> Index:
        """The workspace's index, with every change that is durable by now."""
        return await self.shelf(workspace_id).current()

    def shelf(self, workspace_id: str) -> Shelf:
        embedder = self.need_embedder()
        place = (workspace_id, embedder.recipe)
        if place not in self._shelves:
            folder = self._folder / workspace_id / hashlib.sha256(embedder.recipe.encode()).hexdigest()[:16]
            self._shelves[place] = Shelf(
                self.db, workspace_id, folder, embedder.recipe, embedder.dimensions, self._open_index
            )
        return self._shelves[place]

    async def index_bytes(self, workspace_id: str) -> int:
        """The bytes that the workspace's index takes on disk."""
        return await asyncio.to_thread(_size, self._folder / workspace_id)

    async def recover(self) -> None:
        """After a crash: no document stays in the middle of being indexed."""
        await self.db.write(_unclaim_all)

    async def renew(self) -> None:
        """Plans to make anew what another model or chunker has made."""
        if self.recipe is not None:
            recipe, now = self.recipe, self.clock.now()
            await self.db.write(lambda tx: _plan_renewal(tx, recipe, now))

    async def rebuild(self, work: jobs.Work) -> None:
        """The handler of rebuild jobs: makes the workspace's index anew from the database."""
        workspace_id = work.job.workspace_id
        if workspace_id is not None:
            shelf = self.shelf(workspace_id)
            shelf.distrust()
            await shelf.current()

    async def close(self) -> None:
        for shelf in self._shelves.values():
            await shelf.close()
        if self._embedder is not None:
            await self._embedder.close()
        await self.extractor.close()
        await self.pages.close()


def _unclaim_all(tx: Tx) -> None:
    for upload in store.uploads_with_status(tx, "indexing"):
        store.unclaim(tx, upload)


def _plan_renewal(tx: Tx, recipe: str, now: datetime) -> None:
    for workspace_id in store.workspaces_to_renew(tx, recipe):
        jobs.enqueue(
            tx,
            INDEX_JOB,
            {"stale": True},
            now=now,
            priority=jobs.BULK,
            unique_key=f"{INDEX_JOB}:{workspace_id}:stale",
            workspace_id=workspace_id,
            max_attempts=limits.INDEX_JOB_ATTEMPTS,
        )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
