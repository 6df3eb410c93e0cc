"""Renewal after a change of model: all documents are embedded anew beside the chunks in service, replace them in one
step, and the former chunks go."""

from collections.abc import Collection
from datetime import datetime, timedelta

from deedbox.kernel import jobs, log
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError, Unavailable
from deedbox.kernel.ids import new_id
from deedbox.kernel.jobs import GiveUp, LeaseLost, Work
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import vectors_of
from deedbox.search.engine import SearchEngine, Serving
from deedbox.search.indexing.embed_document import DocumentRun, Pages, Phase
from deedbox.search.library import store
from deedbox.search.library.library import TextCache

RENEW_JOB = "renew"
FORGET_JOB = "forget"
MODEL_CHOSEN = "model chosen"
"""Told with the model's name, to processes that would otherwise see it at their next look."""


class Renewal:
    """Plans and runs renewals. No document changes its status meanwhile: the former recipe goes on serving."""

    def __init__(self, engine: SearchEngine, texts: TextCache) -> None:
        self._engine = engine
        self._texts = texts

    async def plan(self) -> None:
        """Plans to embed anew the documents of every workspace that has chunks of another recipe."""
        recipe, now = self._engine.recipe, self._engine.clock.now()
        if recipe is not None:
            await self._engine.db.write(lambda tx: _plan_renewal(tx, recipe, now))

    async def look_for_another_model(self) -> bool:
        """Whether another model was chosen since the last look; it is in use from now on."""
        before = self._engine.recipe
        changed = await self._engine.embedders.refresh()
        if changed and before is not None:
            now = self._engine.clock.now()
            await self._engine.db.write(lambda tx: _plan_forgetting(tx, None, before, now))
        return changed

    async def run(self, work: Work) -> None:
        """The handler of renewal jobs. When yet another model is chosen meanwhile, the new chunks go again."""
        workspace_id, recipe = work.job.workspace_id, work.job.payload.get("recipe")
        if workspace_id is None or not isinstance(recipe, str):
            raise GiveUp("The job does not say what to renew.")
        left_out: set[str] = set()
        while (embedder := self._engine.embedders.current) is not None and embedder.recipe == recipe:
            fresh = Serving(recipe, embedder)
            waiting = await self._engine.db.read(lambda tx: _waiting(tx, workspace_id, recipe, left_out))
            if not waiting and await self._serve(workspace_id, fresh, left_out):
                return
            left_out.update(await _RenewalRun(self._engine, self._texts, work, workspace_id, fresh).renew(waiting))
        now = self._engine.clock.now()
        await self._engine.db.write(lambda tx: _plan_forgetting(tx, workspace_id, recipe, now))

    async def forget(self, work: Work) -> None:
        """The handler of forget jobs: removes the index, the chunks and the model of a recipe out of service."""
        db, workspace_id, recipe = self._engine.db, work.job.workspace_id, work.job.payload["recipe"]
        if workspace_id is not None and not await db.read(lambda tx: self._is_wanted(tx, workspace_id, recipe)):
            await self._engine.drop_index(workspace_id, recipe)
            while await db.write(lambda tx: chunk_store.forget_some(tx, workspace_id, recipe, limits.FORGET_BATCH)):
                await work.progress(0, 0, "")
        in_service = await db.read(chunk_store.serving_recipes)
        if vectors_of(recipe) not in map(vectors_of, in_service):
            await self._engine.embedders.retire(recipe)

    def _is_wanted(self, tx: Tx, workspace_id: str, recipe: str) -> bool:
        return recipe in (self._engine.recipe, chunk_store.serving_recipe(tx, workspace_id))

    async def _serve(self, workspace_id: str, fresh: Serving, left_out: Collection[str]) -> bool:
        """Whether everything was embedded anew, so that the fresh recipe serves from now on."""
        # Before the step, so that the first query after it finds the index ready.
        await self._engine.follow(workspace_id, fresh)
        now = self._engine.clock.now()
        return await self._engine.db.write(lambda tx: _serve(tx, workspace_id, fresh.recipe, left_out, now))


class _RenewalRun(DocumentRun):
    """One pass over the documents that the fresh recipe had no chunks of when it began."""

    def __init__(self, engine: SearchEngine, texts: TextCache, work: Work, workspace_id: str, fresh: Serving) -> None:
        super().__init__(engine, texts, work, workspace_id)
        self._fresh = fresh
        self._failed: set[str] = set()

    async def renew(self, doc_ids: list[str]) -> set[str]:
        """Embeds the documents anew; returns those that cannot be."""
        await self._each(doc_ids)
        return self._failed

    async def _serving(self) -> Serving:
        return self._fresh

    def _note(self, doc_id: str, phase: Phase, pages: Pages | None) -> str:  # noqa: ARG002 (nobody sees its documents)
        return phase

    async def _document(self, doc_id: str) -> None:
        if self._engine.recipe != self._fresh.recipe:
            return  # yet another model was chosen
        try:
            await self._renew(doc_id)
        except (Unavailable, LeaseLost):
            raise  # nothing is wrong with the document
        except ServiceError as error:
            log.warning("a document cannot be re-embedded", upload=doc_id, reason=error.message)
            self._failed.add(doc_id)

    async def _renew(self, doc_id: str) -> None:
        recipe = self._fresh.recipe
        upload = await self._db.read(lambda tx: store.upload(tx, self._workspace_id, doc_id))
        if upload is None:
            return  # deleted meanwhile
        embedded = await self._embed(upload, self._fresh)
        now = self._engine.clock.now()
        set_id = new_id("set", now)

        def save(tx: Tx) -> None:
            if store.upload(tx, self._workspace_id, doc_id) == upload:
                kept = chunk_store.kept_set(tx, set_id, upload, recipe, embedded, instant(now))
                if kept is not None:
                    chunk_store.log_change(tx, self._workspace_id, recipe, doc_id, kept[0])

        await self._db.write(save)


def _waiting(tx: Tx, workspace_id: str, recipe: str, left_out: Collection[str]) -> list[str]:
    return [doc_id for doc_id in chunk_store.to_renew(tx, workspace_id, recipe) if doc_id not in left_out]


def _serve(tx: Tx, workspace_id: str, recipe: str, left_out: Collection[str], now: datetime) -> bool:
    if _waiting(tx, workspace_id, recipe, left_out):
        return False
    chunk_store.serve(tx, workspace_id, recipe)
    for former in chunk_store.other_recipes(tx, workspace_id, recipe):
        _plan_forgetting(tx, workspace_id, former, now)
    return True


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


def _plan_forgetting(tx: Tx, workspace_id: str | None, recipe: str, now: datetime) -> None:
    """Has a recipe's chunks, or without a workspace its model, removed when the queries that use them have ended."""
    jobs.enqueue(
        tx,
        jobs.NewJob(
            FORGET_JOB,
            {"recipe": recipe},
            run_at=now + timedelta(seconds=shared_limits.QUERY_SECONDS),
            priority=jobs.BULK,
            unique_key=f"{FORGET_JOB}:{workspace_id}:{recipe}",
            workspace_id=workspace_id,
        ),
        now=now,
    )
