"""Index runs: parse, chunk, embed and write, document by document, as jobs that a crash only interrupts."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import msgspec

from deedbox.kernel import jobs, log
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import NOTICES_MISSED, Tx
from deedbox.kernel.errors import NotFound, ServiceError, Unavailable
from deedbox.kernel.ids import new_id
from deedbox.kernel.jobs import GiveUp, Job, LeaseLost, Work
from deedbox.kernel.watches import Watches
from deedbox.search import conditions, limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import INDEX_JOB, SearchEngine, Serving
from deedbox.search.indexing.embed_document import DocumentRun, EmbeddedChunks, Pages, Phase
from deedbox.search.indexing.embedders import MISSING
from deedbox.search.library import library, store
from deedbox.search.library.library import TextCache
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.upload import LibraryUpload

NO_TEXT = "No extractable text"


class IndexJobPayload(msgspec.Struct, frozen=True):
    """The payload of an index job: which documents; all of them, when none is named."""

    doc_ids: list[str] | None = None
    documents: bool = True
    """Whether those that stand for documents are among them."""
    collections: frozenset[str] | None = None
    """Only of these."""

    def reader(self, workspace_id: str) -> SearchReader:
        """Who ordered it: only who sees as much may see the run, which names documents."""
        return SearchReader(workspace_id, self.documents, self.collections)


class Failure(msgspec.Struct, frozen=True):
    doc_id: str
    """The document's id."""
    error: str
    """Why it could not be indexed."""


class IndexOutcome(msgspec.Struct):
    """The documents in scope, counted by their end."""

    processed: int = 0
    """Indexed now."""
    skipped: int = 0
    """Indexed before, at no cost; they count as processed too."""
    chunks: int = 0
    failed: list[Failure] = []


class IndexProgress(msgspec.Struct, frozen=True):
    """The note of an index job's progress, as JSON."""

    document: str | None = None
    phase: Phase = ""
    pages: Pages | None = None
    outcome: IndexOutcome | None = None


_STEP = msgspec.json.Decoder(IndexProgress)


def plan(
    tx: Tx, engine: SearchEngine, reader: SearchReader, doc_ids: Sequence[str] | None, *, automatic: bool = False
) -> str:
    """The id of the run over these documents, or all; one of the same scope that has not ended is joined. An automatic
    one, which nobody asked for, yields to the others."""
    engine.embedders.need()
    workspace_id, scope = reader.workspace_id, "all"
    reach = "" if reader.documents else ":uploads"
    if reader.collections is not None:
        reach += f":{hashlib.sha256(msgspec.json.encode(sorted(reader.collections))).hexdigest()}"
    if doc_ids is not None:
        doc_ids = sorted(set(doc_ids))
        library.need_all(tx, reader, doc_ids)
        scope = hashlib.sha256("\n".join(doc_ids).encode()).hexdigest()
    order = IndexJobPayload(None if doc_ids is None else list(doc_ids), reader.documents, reader.collections)
    return jobs.enqueue(
        tx,
        jobs.NewJob(
            INDEX_JOB,
            msgspec.to_builtins(order),
            priority=jobs.AUTOMATIC if automatic else jobs.PATIENT,
            unique_key=f"{INDEX_JOB}:{workspace_id}:{scope}{reach}",
            workspace_id=workspace_id,
            max_attempts=limits.INDEX_JOB_ATTEMPTS,
        ),
        now=engine.clock.now(),
    )


def step(job: Job) -> IndexProgress:
    """The progress of an index job; once it has ended, with its outcome."""
    return _STEP.decode(job.progress.note) if job.progress and job.progress.note else IndexProgress()


def find(tx: Tx, reader: SearchReader, job_id: str) -> Job:
    """An index run that is there for this reader."""
    job = jobs.find(tx, job_id)
    if job is None or job.kind != INDEX_JOB or job.workspace_id != reader.workspace_id:
        raise NotFound("Job does not exist")
    if not _sees(reader, job) and store.hides(tx, reader):
        raise NotFound("Job does not exist")
    return job


def page(tx: Tx, reader: SearchReader, before: str | None, most: int) -> list[Job]:
    """Index runs that are there for this reader, before the one with this id, newest first."""
    if not store.hides(tx, reader):
        return jobs.of_kind(tx, INDEX_JOB, reader.workspace_id, before, most)
    found = list[Job]()
    while len(found) < most:
        some = jobs.of_kind(tx, INDEX_JOB, reader.workspace_id, before, shared_limits.LIST_BATCH)
        found += [job for job in some if _sees(reader, job)]
        if len(some) < shared_limits.LIST_BATCH:
            break
        before = some[-1].id
    return found[:most]


def _sees(reader: SearchReader, job: Job) -> bool:
    return reader.covers(_order(job).reader(reader.workspace_id))


def _order(job: Job) -> IndexJobPayload:
    return msgspec.convert(job.payload, IndexJobPayload)


def under_way(tx: Tx, workspace_id: str) -> bool:
    """Whether one of the workspace's last index runs has not ended."""
    last = jobs.of_kind(tx, INDEX_JOB, workspace_id, None, limits.RUNS_LOOKED_AT)
    return any(job.state in ("ready", "running") for job in last)


def cancel(tx: Tx, reader: SearchReader, job_id: str, now: datetime) -> Job:
    """The run, now ended, if it had not ended before."""
    find(tx, reader, job_id)
    jobs.end(tx, job_id, "Canceled", now)
    return find(tx, reader, job_id)


class Ingest:
    """Runs index jobs. A document that two runs want is indexed by one of them; the other waits for it."""

    def __init__(self, engine: SearchEngine, texts: TextCache) -> None:
        self.engine = engine
        self.texts = texts
        self._busy: dict[str, asyncio.Event] = {}
        self.runs = Watches()
        """Those that somebody follows."""
        engine.db.listeners.add(jobs.JOB_CHANGED, self.runs.tell)
        engine.db.listeners.add(NOTICES_MISSED, self.runs.tell_all)

    async def run(self, work: Work) -> None:
        """The handler of index jobs."""
        workspace_id = work.job.workspace_id
        if self.engine.embedders.current is None or workspace_id is None:
            raise GiveUp(MISSING)
        order = _order(work.job)
        doc_ids = await self.engine.db.read(lambda tx: _in_scope(tx, workspace_id, order))
        await _IndexRun(self, work, workspace_id).index(doc_ids)
        # So that the next query need not wait for it.
        await self.engine.follow(workspace_id, await self.engine.serving(workspace_id))
        await work.finish(lambda tx: tx.notify(jobs.JOB_CHANGED, work.job.id))

    async def ended(self, job_id: str) -> Job | None:
        """The job, once it is done or given up; None if it is gone."""
        with self.runs.watch(job_id) as watch:
            while True:
                job = await self.engine.db.read(lambda tx: jobs.find(tx, job_id))
                if job is None or job.state in ("done", "parked"):
                    return job
                await watch.news(shared_limits.JOB_WATCH_SECONDS)

    @contextlib.asynccontextmanager
    async def turn(self, upload_id: str) -> AsyncIterator[None]:
        """Waits until no other run of this process is at the document, and keeps the others waiting meanwhile."""
        while other := self._busy.get(upload_id):
            await other.wait()
        self._busy[upload_id] = asyncio.Event()
        try:
            yield
        finally:
            self._busy.pop(upload_id).set()


class _IndexRun(DocumentRun):
    """One attempt at one index job."""

    def __init__(self, ingest: Ingest, work: Work, workspace_id: str) -> None:
        super().__init__(ingest.engine, ingest.texts, work, workspace_id)
        self._ingest = ingest
        self._outcome = IndexOutcome()

    async def index(self, doc_ids: Sequence[str]) -> None:
        """Indexes the documents, and leaves their outcome with the job."""
        self._total = len(doc_ids)
        await self._progress(_encoded(IndexProgress()))
        await self._each(doc_ids)
        self._outcome.failed.sort(key=lambda failure: failure.doc_id)
        await self._progress(_encoded(IndexProgress(outcome=self._outcome)))

    async def _serving(self) -> Serving:
        return await self._engine.serving(self._workspace_id)

    def _note(self, doc_id: str, phase: Phase, pages: Pages | None) -> str:
        return _encoded(IndexProgress(doc_id, phase, pages))

    async def _document(self, doc_id: str) -> None:
        async with self._ingest.turn(doc_id):
            for _ in range(limits.INDEX_TRIES):
                if await self._try(doc_id):
                    return
            self._outcome.failed.append(Failure(doc_id, "The document is being replaced again and again"))

    async def _try(self, doc_id: str) -> bool:
        """Whether the document is settled: indexed, failed or gone. If not, it or the recipe was replaced meanwhile."""
        serving = await self._serving()
        found = await self._db.read(lambda tx: store.summary(tx, self._workspace_id, doc_id))
        if found is None:
            return True  # deleted meanwhile
        upload, chunks, recipe = found.upload, found.chunks, found.recipe
        if upload.status == "indexed" and recipe == serving.recipe:
            self._outcome.skipped += 1
            self._count(chunks)
            return True
        claimed = await self._db.write(lambda tx: _claim(tx, upload))
        return claimed is not None and await self._settle(claimed, serving)

    async def _settle(self, upload: LibraryUpload, serving: Serving) -> bool:
        settled = False
        try:
            settled = await self._index(upload, serving)
        except (Unavailable, LeaseLost):
            raise  # nothing is wrong with the document
        except ServiceError as error:
            settled = await self._fail(upload, error.message)
        except Exception as error:  # one document that breaks our code must not keep the others from being indexed
            log.error("a document cannot be indexed", exception=error, upload=upload.id)
            settled = await self._fail(upload, "Internal error; the server's log says more")
        finally:
            if not settled:
                await asyncio.shield(self._db.write(lambda tx: store.unclaim(tx, upload)))
        return settled

    async def _index(self, upload: LibraryUpload, serving: Serving) -> bool:
        embedded = await self._embed(upload, serving)
        if embedded is not None and not embedded:
            return await self._fail(upload, NO_TEXT)
        await self._report(upload.id, "writing")
        now = self._engine.clock.now()
        set_id = new_id("set", now)
        chunks = await self._db.write(lambda tx: _save(tx, upload, serving.recipe, set_id, embedded, now))
        if chunks is not None:
            self._count(chunks)
        return chunks is not None

    async def _fail(self, upload: LibraryUpload, reason: str) -> bool:
        now = self._engine.clock.now()
        failed = await self._db.write(lambda tx: _mark_failed(tx, upload, reason, now))
        if failed:
            self._outcome.failed.append(Failure(upload.id, reason))
        return failed

    def _count(self, chunks: int) -> None:
        self._outcome.processed += 1
        self._outcome.chunks += chunks


def _encoded(step: IndexProgress) -> str:
    return msgspec.json.encode(step).decode()


def _in_scope(tx: Tx, workspace_id: str, order: IndexJobPayload) -> list[str]:
    if order.doc_ids is not None:
        return order.doc_ids
    return store.find_by_condition(tx, order.reader(workspace_id), conditions.ANY)


def _claim(tx: Tx, upload: LibraryUpload) -> LibraryUpload | None:
    """The upload as it is while it is being indexed; None when it has changed since it was read."""
    # One that a dead process left `indexing` is taken over; saving the same content twice is harmless.
    before = upload.status_before if upload.status == "indexing" else upload.status
    claimed = store.change_upload(
        tx,
        upload.id,
        {"revision": upload.revision, "status": upload.status},
        {"status": "indexing", "status_before": before},
    )
    return msgspec.structs.replace(upload, status="indexing", status_before=before) if claimed else None


def _save(
    tx: Tx, upload: LibraryUpload, recipe: str, new_set_id: str, embedded: EmbeddedChunks | None, now: datetime
) -> int | None:
    """The number of chunks that serve for the upload now; None, and nothing done, when something has changed."""
    present = store.upload(tx, upload.workspace_id, upload.id)
    serving = chunk_store.serving_recipe(tx, upload.workspace_id)
    if present is None or present.revision != upload.revision or serving not in (None, recipe):
        return None
    # None also when the set that was to be reused went with another document.
    found = chunk_store.kept_set(tx, new_set_id, upload, recipe, embedded, instant(now))
    if found is None:
        return None
    set_id, chunks = found
    if serving is None:
        chunk_store.serve(tx, upload.workspace_id, recipe)
    _finish(tx, present, {"status": "indexed", "error": None, "indexed_at": instant(now)})
    renamed = library.settle(tx, present, now=now)
    if renamed or chunk_store.set_of(tx, upload.workspace_id, recipe, upload.id) != set_id:
        chunk_store.log_change(tx, upload.workspace_id, recipe, upload.id, set_id)
    return chunks


def _mark_failed(tx: Tx, upload: LibraryUpload, reason: str, now: datetime) -> bool:
    present = store.upload(tx, upload.workspace_id, upload.id)
    if present is None or present.revision != upload.revision:
        return False
    _finish(tx, present, {"status": "failed", "error": reason})
    if reason == NO_TEXT:  # after any other failure, the old chunks go on serving
        library.settle(tx, present, now=now)
        chunk_store.log_removal(tx, upload.workspace_id, upload.id)
    return True


def _finish(tx: Tx, upload: LibraryUpload, changes: dict[str, str | None]) -> None:
    store.change_upload(tx, upload.id, {"revision": upload.revision}, {"status_before": None, **changes})
