"""Another model: everything is embedded anew beside what answers, takes its place in one step, and the old goes."""

from collections.abc import Collection
from datetime import datetime

from deedbox.kernel import limits, log
from deedbox.kernel.clock import instant, stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import DeedboxError, Unavailable
from deedbox.kernel.ids import new_id
from deedbox.kernel.jobs import LeaseLost, Work
from deedbox.search import embed_document, store
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import Embedder
from deedbox.search.embed_document import Made, Phase
from deedbox.search.engine import Answering, SearchEngine, plan_forgetting
from deedbox.search.text_cache import Reading


class Renewal:
    """Runs renewal jobs. No document changes its status meanwhile: what answers goes on answering."""

    def __init__(self, engine: SearchEngine, reading: Reading) -> None:
        self._engine = engine
        self._reading = reading

    async def run(self, work: Work) -> None:
        """The handler of renewal jobs. When yet another model is chosen meanwhile, what was made goes again."""
        workspace_id, recipe = work.named("recipe")
        left_out: set[str] = set()
        while (embedder := self._engine.models.present) is not None and embedder.recipe == recipe:
            waiting = await self._engine.db.read(lambda tx: _waiting(tx, workspace_id, recipe, left_out))
            if not waiting and await self._let_answer(workspace_id, Answering(recipe, embedder), left_out):
                return
            left_out.update(await _Round(self._engine, self._reading, work, embedder, workspace_id).documents(waiting))
        now = self._engine.clock.now()
        await self._engine.db.write(lambda tx: plan_forgetting(tx, workspace_id, recipe, now))

    async def _let_answer(self, workspace_id: str, fresh: Answering, left_out: Collection[str]) -> bool:
        """Whether everything was made, so that it could take the place of what answered."""
        # Before the step, so that the first query after it finds the index ready.
        await self._engine.follow(workspace_id, fresh)
        now = self._engine.clock.now()
        return await self._engine.db.write(lambda tx: _let_answer(tx, workspace_id, fresh.recipe, left_out, now))


class _Round:
    """One pass over the documents that were not made anew when it began."""

    def __init__(
        self, engine: SearchEngine, reading: Reading, work: Work, embedder: Embedder, workspace_id: str
    ) -> None:
        self._engine = engine
        self._reading = reading
        self._work = work
        self._embedder = embedder
        self._workspace_id = workspace_id
        self._done = self._total = 0
        self._reported = 0.0
        self._failed: set[str] = set()

    async def documents(self, doc_ids: list[str]) -> set[str]:
        """Makes them anew; those that cannot be."""
        self._total = len(doc_ids)
        await embed_document.several(doc_ids, self._document)
        return self._failed

    async def _document(self, doc_id: str) -> None:
        if self._engine.recipe == self._embedder.recipe:
            try:
                await self._make(doc_id)
            except (Unavailable, LeaseLost):
                raise  # nothing is wrong with the document
            except DeedboxError as error:
                log.warning("a document cannot be embedded anew", upload=doc_id, reason=error.message)
                self._failed.add(doc_id)
        self._done += 1
        if self._done % limits.INDEX_FOLLOW_DOCUMENTS == 0:
            await self._engine.follow(self._workspace_id, Answering(self._embedder.recipe, self._embedder))

    async def _make(self, doc_id: str) -> None:
        recipe, db = self._embedder.recipe, self._engine.db
        upload = await db.read(lambda tx: store.upload(tx, self._workspace_id, doc_id))
        if upload is None:
            return  # deleted meanwhile
        found: Made | None = None
        if await db.read(lambda tx: chunk_store.chunk_set(tx, upload, recipe)) is None:
            found = await embed_document.made(self._reading, self._embedder, upload, self._report)
        now = self._engine.clock.now()
        set_id = new_id("set", now)

        def save(tx: Tx) -> None:
            if store.upload(tx, self._workspace_id, doc_id) == upload:
                chosen = chunk_store.kept_set(tx, set_id, upload, recipe, found, instant(now))
                if chosen is not None:
                    chunk_store.log_change(tx, self._workspace_id, recipe, doc_id, chosen[0])

        await db.write(save)

    async def _report(self, phase: Phase) -> None:
        if stopwatch() - self._reported >= limits.PROGRESS_SECONDS:
            self._reported = stopwatch()
            await self._work.progress(self._done, self._total, phase)


def _waiting(tx: Tx, workspace_id: str, recipe: str, left_out: Collection[str]) -> list[str]:
    return [doc_id for doc_id in chunk_store.to_renew(tx, workspace_id, recipe) if doc_id not in left_out]


def _let_answer(tx: Tx, workspace_id: str, recipe: str, left_out: Collection[str], now: datetime) -> bool:
    if _waiting(tx, workspace_id, recipe, left_out):
        return False
    chunk_store.let_answer(tx, workspace_id, recipe)
    for former in chunk_store.other_recipes(tx, workspace_id, recipe):
        plan_forgetting(tx, workspace_id, former, now)
    return True
