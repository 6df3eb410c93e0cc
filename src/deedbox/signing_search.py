"""Completed documents become searchable: signing meets search here, without either knowing the other."""

import functools
import itertools
from collections.abc import Sequence

from deedbox.accounts import workspace_profile
from deedbox.kernel import limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Tx
from deedbox.kernel.outbox import Event
from deedbox.search.indexing import ingest
from deedbox.search.indexing.ingest import Ingest
from deedbox.search.library import library
from deedbox.search.library import store as search_store
from deedbox.search.library.library import SealedEntry
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.upload import SEALED_NAMES, MetadataValue
from deedbox.signing.store import documents, sealed


class CompletedDocuments:
    """Takes the sealed file of each document into the library of its workspace, once, and has it indexed."""

    def __init__(self, runs: Ingest) -> None:
        self._engine, self._db = runs.engine, runs.engine.db
        self._caught_up = False

    def react(self, tx: Tx, events: Sequence[Event]) -> None:
        """The reaction to `document.completed`, in its transaction. Nothing is read in it: an index run does that."""
        workspace_id = events[0].workspace_id
        if not workspace_profile.row(tx, workspace_id).search_documents:
            return
        now = self._engine.clock.now()
        added = [
            library.add_completed_document(tx, workspace_id, _sealed(tx, event.subject_id), now=now) for event in events
        ]
        if self._engine.embedders.current is None:
            tx.on_commit(self._leave_waiting)
            return
        for entry in added:
            if entry is not None:
                ingest.plan(tx, self._engine, SearchReader(workspace_id, documents=True), [entry.id], automatic=True)

    def _leave_waiting(self) -> None:
        """There are entries in the library that wait for a model: `catch_up` finds them."""
        self._caught_up = False

    async def catch_up(self) -> None:
        """As soon as there is a model, or one again, has what came before it indexed."""
        if self._engine.embedders.current is None:
            self._caught_up = False  # another process may take documents in meanwhile
            return
        after: str | None = None if self._caught_up else ""
        while after is not None:
            after = await self._db.write(functools.partial(self._plan_waiting, after=after))
        self._caught_up = True

    def _plan_waiting(self, tx: Tx, after: str) -> str | None:
        """Plans the next of them; the id of the last, or None when there are no more."""
        waiting = search_store.waiting_documents(tx, after, limits.INDEX_DOC_IDS)
        for workspace_id, entries in itertools.groupby(sorted(waiting), lambda one: one[0]):
            reader = SearchReader(workspace_id, documents=True)
            ingest.plan(tx, self._engine, reader, [upload_id for _, upload_id in entries], automatic=True)
        return waiting[-1][1] if waiting else None


def _sealed(tx: Tx, document_id: str) -> SealedEntry:
    brief = documents.in_brief(tx, document_id)
    blob = blobs_store.demand(tx, sealed.demand(tx, document_id).sha256)
    signers = _joined(brief.signers)
    said: dict[str, MetadataValue] = dict(zip(SEALED_NAMES, (True, signers, brief.verification_code), strict=True))
    return SealedEntry(
        document_id, f"{brief.title[: limits.FILENAME_CHARS - len('.pdf')]}.pdf", blob, brief.pages, said
    )


def _joined(addresses: Sequence[str]) -> str:
    """As many of the addresses as metadata can hold; the filter `signer` knows all of them."""
    kept = [*addresses]
    while len(", ".join(kept)) > limits.UPLOAD_VALUE_CHARS:
        kept.pop()
    return ", ".join(kept)
