"""Completed documents become searchable: signing meets search here, without either knowing the other."""

import functools
import itertools
from collections.abc import Sequence

from deedbox.accounts import workspace_profile
from deedbox.kernel import jobs, limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import moment
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import DeedboxError
from deedbox.kernel.jobs import Work
from deedbox.kernel.outbox import Event
from deedbox.search import ingest, library
from deedbox.search import store as search_store
from deedbox.search.ingest import Ingest
from deedbox.search.library import Parsed, Sealed
from deedbox.search.reader import Reader
from deedbox.signing.desk import document_of
from deedbox.signing.store import sealed

TAKE_IN_JOB = "take_in"


class CompletedDocuments:
    """Takes the sealed file of each document into the library of its workspace, once, and has it indexed."""

    def __init__(self, runs: Ingest) -> None:
        self._runs, self._engine = runs, runs.engine
        self._db = runs.engine.db
        self._caught_up = False

    def react(self, tx: Tx, events: Sequence[Event]) -> None:
        """The reaction to `document.completed`, in its transaction."""
        if not workspace_profile.row(tx, events[0].workspace_id).search_documents:
            return
        for event in events:
            jobs.enqueue(
                tx,
                jobs.NewJob(
                    TAKE_IN_JOB,
                    {"document_id": event.subject_id},
                    unique_key=f"{TAKE_IN_JOB}:{event.subject_id}",
                    workspace_id=event.workspace_id,
                    max_attempts=limits.TAKE_IN_ATTEMPTS,
                ),
                now=moment(event.created_at),
            )

    async def run(self, work: Work) -> None:
        """The handler of these jobs: entry, index run and the end of the job are one transaction."""
        workspace_id, document_id = work.named("document_id")
        file = await self._db.read(lambda tx: _sealed(tx, workspace_id, document_id))
        try:
            async with self._runs.texts.read(workspace_id, library.PDF, file.blob) as parsed:
                await work.finish(lambda tx: self._take_in(tx, workspace_id, file, parsed))
        except DeedboxError as error:
            if error.status != 400:
                raise  # nothing is wrong with the file
            reason = error.message
            await work.finish(lambda tx: self._take_in(tx, workspace_id, file, reason))

    def _take_in(self, tx: Tx, workspace_id: str, file: Sealed, parsed: Parsed | str) -> None:
        added = library.add_sealed(tx, workspace_id, file, parsed, now=self._engine.clock.now())
        if added is None or added.status != "uploaded":
            return
        if self._engine.embedders.current is None:
            self._caught_up = False  # it waits in the library, and `catch_up` finds it
        else:
            ingest.plan(tx, self._engine, Reader(workspace_id, documents=True), [added.id])

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
            reader = Reader(workspace_id, documents=True)
            ingest.plan(tx, self._engine, reader, [upload_id for _, upload_id in entries])
        return waiting[-1][1] if waiting else None


def _sealed(tx: Tx, workspace_id: str, document_id: str) -> Sealed:
    _, document = document_of(tx, workspace_id, document_id)
    blob = blobs_store.demand(tx, sealed.demand(tx, document_id).sha256)
    return Sealed(document_id, f"{document.title[: limits.FILENAME_CHARS - len('.pdf')]}.pdf", blob)
