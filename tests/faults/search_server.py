"""The server with the tests' model in place of an installed one, and with the bug that PLANTED_BUG names, if any."""

import asyncio
import os
from collections.abc import Callable, Collection, Sequence

from deedbox.cli import main
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.outbox import Event
from deedbox.search.chunks import store as chunk_store
from deedbox.search.chunks.store import AnsweringChunk
from deedbox.search.folders.mirror import Mirror
from deedbox.search.index import Index
from deedbox.search.indexing import embedders, ingest, recover
from deedbox.search.indexing.workspace_index import WorkspaceIndex
from deedbox.search.library.upload import LibraryUpload
from deedbox.search.query import best_passages as query
from deedbox.signing_search import CompletedDocuments
from tests.faults.faulty_server import VARIABLE
from tests.faults.signing_faults import LONG_GAP_SECONDS
from tests.search.hashing import HashingEmbedder

LATE_SECONDS = 0.2
FOLLOWING: list[asyncio.Task[None]] = []
"""What nobody awaits must be held by someone."""


def use_the_tests_model() -> None:
    embedder = HashingEmbedder()
    embedders.open_chosen = lambda *_: embedder


def vectors_deleted_after_the_record() -> None:
    """The record goes at once, its entries in the index later, and these answer for themselves meanwhile."""
    known: dict[chunk_store.Place, AnsweringChunk] = {}
    look, bring_up = chunk_store.unchanged_chunks, WorkspaceIndex.current
    brought: dict[WorkspaceIndex, float] = {}

    def unverified(
        tx: Tx, workspace_id: str, recipe: str, places: Collection[chunk_store.Place], mark: int
    ) -> dict[chunk_store.Place, AnsweringChunk]:
        known.update(look(tx, workspace_id, recipe, places, mark))
        return {place: known[place] for place in places if place in known}

    async def late(self: WorkspaceIndex, *, patient: bool, target: int | None = None) -> Index:
        if self._index is None or self not in brought or stopwatch() - brought[self] > LATE_SECONDS:
            index = await bring_up(self, patient=patient, target=target)
            brought[self] = stopwatch()
            return index
        return self._index

    chunk_store.unchanged_chunks = unverified
    WorkspaceIndex.current = late  # type: ignore[method-assign]


def a_claim_outlives_its_process() -> None:
    """What a dead process was indexing is left to it for ever."""
    claim = ingest._claim

    def unless_claimed(tx: Tx, upload: LibraryUpload) -> LibraryUpload | None:
        return None if upload.status == "indexing" else claim(tx, upload)

    recover._release = lambda *_: None
    ingest._claim = unless_claimed


def entry_after_its_document() -> None:
    """The document is completed; its entry in the library follows in a transaction of its own."""
    react = CompletedDocuments.react

    def late(self: CompletedDocuments, tx: Tx, events: Sequence[Event]) -> None:
        async def follow() -> None:
            await asyncio.sleep(LONG_GAP_SECONDS)
            await self._db.write(lambda later: react(self, later, events))

        tx.on_commit(lambda: FOLLOWING.append(asyncio.create_task(follow())))

    CompletedDocuments.react = late  # type: ignore[method-assign]


def a_reader_answers_with_what_it_has() -> None:
    """Who does not write the index does not wait for the one that does."""
    bring_up = WorkspaceIndex.current

    async def current(self: WorkspaceIndex, *, patient: bool, target: int | None = None) -> Index:
        if self._index is not None and self._index.watermark and not self._index.writes:
            return self._index
        return await bring_up(self, patient=patient, target=target)

    WorkspaceIndex.current = current  # type: ignore[method-assign]


def a_removed_file_keeps_its_document() -> None:
    async def remove(self: Mirror, upload: LibraryUpload) -> None: ...

    Mirror.remove = remove  # type: ignore[method-assign]


def collections_are_not_asked_for() -> None:
    query._scope = lambda *_: query._Scope(None, None)


BUGS: dict[str, Callable[[], None]] = {
    "vectors deleted after the record": vectors_deleted_after_the_record,
    "a claim outlives its process": a_claim_outlives_its_process,
    "entry after its document": entry_after_its_document,
    "a reader answers with what it has": a_reader_answers_with_what_it_has,
    "a removed file keeps its document": a_removed_file_keeps_its_document,
    "collections are not asked for": collections_are_not_asked_for,
}

if __name__ == "__main__":
    use_the_tests_model()
    if VARIABLE in os.environ:
        BUGS[os.environ[VARIABLE]]()
    main()
