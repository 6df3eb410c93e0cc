"""Index runs: parse, chunk, embed and write, document by document, as jobs that a crash only interrupts."""

import asyncio
import contextlib
import hashlib
from collections.abc import Sequence
from datetime import datetime

import msgspec

from deedbox.kernel import jobs, limits, log
from deedbox.kernel.clock import instant, stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import DeedboxError, NotFound, Unavailable
from deedbox.kernel.ids import new_id
from deedbox.kernel.jobs import GiveUp, Job, LeaseLost, Work
from deedbox.search import embed_document, store
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed_document import Made, Phase
from deedbox.search.engine import INDEX_JOB, Answering, SearchEngine
from deedbox.search.models import MISSING
from deedbox.search.text_cache import Reading
from deedbox.search.upload import Upload

NO_TEXT = "No extractable text"


class Order(msgspec.Struct, frozen=True):
    """The payload of an index job: which documents; all of them, when none is named."""

    doc_ids: list[str] | None = None


class Failure(msgspec.Struct, frozen=True):
    doc_id: str
    error: str


class Outcome(msgspec.Struct):
    """What has become of the documents in scope."""

    processed: int = 0
    """Those that are indexed now."""
    skipped: int = 0
    """Those of them that were so before, and cost nothing."""
    chunks: int = 0
    failed: list[Failure] = []


class Step(msgspec.Struct, frozen=True):
    """What the note of an index job's progress says, as JSON."""

    document: str | None = None
    phase: Phase = ""
    outcome: Outcome | None = None


def plan(tx: Tx, engine: SearchEngine, workspace_id: str, doc_ids: Sequence[str] | None) -> str:
    """The id of the run over these documents, or all; one of the same scope that has not ended is joined."""
    engine.models.need()
    scope = "all"
    if doc_ids is not None:
        doc_ids = sorted(set(doc_ids))
        for doc_id in doc_ids:
            if store.upload(tx, workspace_id, doc_id) is None:
                raise NotFound(f"Document {doc_id} does not exist")
        scope = hashlib.sha256("\n".join(doc_ids).encode()).hexdigest()
    return jobs.enqueue(
        tx,
        jobs.NewJob(
            INDEX_JOB,
            {"doc_ids": doc_ids},
            unique_key=f"{INDEX_JOB}:{workspace_id}:{scope}",
            workspace_id=workspace_id,
            max_attempts=limits.INDEX_JOB_ATTEMPTS,
        ),
        now=engine.clock.now(),
    )


def step(job: Job) -> Step:
    """How far an index job is, and at its end what has become of the documents."""
    return msgspec.json.decode(job.progress.note, type=Step) if job.progress and job.progress.note else Step()


def find(tx: Tx, workspace_id: str, job_id: str) -> Job:
    """An index run of the workspace."""
    job = jobs.find(tx, job_id)
    if job is None or job.kind != INDEX_JOB or job.workspace_id != workspace_id:
        raise NotFound("Job does not exist")
    return job


def cancel(tx: Tx, workspace_id: str, job_id: str, now: datetime) -> Job:
    """The run, now ended, if it had not ended before."""
    find(tx, workspace_id, job_id)
    jobs.end(tx, job_id, "Cancelled", now)
    return find(tx, workspace_id, job_id)


class Ingest:
    """Runs index jobs. A document that two runs want is indexed by one of them; the other waits for it."""

    def __init__(self, engine: SearchEngine, reading: Reading) -> None:
        self._engine = engine
        self._reading = reading
        self._busy: dict[str, asyncio.Event] = {}
        self._watched: dict[str, asyncio.Event] = {}

    async def run(self, work: Work) -> None:
        """The handler of index jobs."""
        try:
            await self._run(work)
        finally:
            self._announce(work.job.id)

    async def _run(self, work: Work) -> None:
        workspace_id = work.job.workspace_id
        if self._engine.models.present is None or workspace_id is None:
            raise GiveUp(MISSING)
        order = msgspec.convert(work.job.payload, Order)
        await _Run(self, work, workspace_id).documents(
            await self._engine.db.read(lambda tx: _in_scope(tx, workspace_id, order))
        )
        await self.follow(workspace_id)
        await work.finish(lambda _: None)

    async def ended(self, job_id: str) -> Job | None:
        """The job, once it is done or given up; None if it is gone."""
        while True:
            watch = self._watch(job_id)
            job = await self._engine.db.read(lambda tx: jobs.find(tx, job_id))
            if job is None or job.state in ("done", "parked"):
                return job
            await _wait(watch, limits.JOB_WATCH_SECONDS)

    async def changed(self, job_id: str) -> None:
        """Returns when the job may have got further; it may run in another process, so at least now and then."""
        await _wait(self._watch(job_id), limits.JOB_WATCH_SECONDS)

    def _watch(self, job_id: str) -> asyncio.Event:
        return self._watched.setdefault(job_id, asyncio.Event())

    def _announce(self, job_id: str) -> None:
        if watch := self._watched.pop(job_id, None):
            watch.set()

    async def report(self, work: Work, done: int, total: int, note: Step) -> None:
        await work.progress(done, total, msgspec.json.encode(note).decode())
        self._announce(work.job.id)

    async def follow(self, workspace_id: str) -> None:
        """Brings the index up to date, so that the next query need not wait for it."""
        await self._engine.follow(workspace_id, await self._engine.answering(workspace_id))

    async def turn(self, upload_id: str) -> asyncio.Event:
        """Waits until no other run of this process is at the document; to be ended by `leave`."""
        while other := self._busy.get(upload_id):
            await other.wait()
        return self._busy.setdefault(upload_id, asyncio.Event())

    def leave(self, upload_id: str) -> None:
        self._busy.pop(upload_id).set()

    @property
    def engine(self) -> SearchEngine:
        return self._engine

    @property
    def reading(self) -> Reading:
        return self._reading


class _Run:
    """One attempt at one index job."""

    def __init__(self, ingest: Ingest, work: Work, workspace_id: str) -> None:
        self._ingest = ingest
        self._work = work
        self._engine = ingest.engine
        self._db = ingest.engine.db
        self._workspace_id = workspace_id
        self._outcome = Outcome()
        self._done = self._total = 0
        self._reported = 0.0

    async def documents(self, doc_ids: Sequence[str]) -> None:
        """Indexes them, several at a time, and leaves what became of them with the job."""
        self._total = len(doc_ids)
        await self._report(Step(), always=True)
        await embed_document.several(doc_ids, self._in_turn)
        self._outcome.failed.sort(key=lambda failure: failure.doc_id)
        await self._report(Step(outcome=self._outcome), always=True)

    async def _in_turn(self, doc_id: str) -> None:
        await self._ingest.turn(doc_id)
        try:
            await self._document(doc_id)
        finally:
            self._ingest.leave(doc_id)
        self._done += 1
        if self._done % limits.INDEX_FOLLOW_DOCUMENTS == 0:
            await self._ingest.follow(self._workspace_id)

    async def _document(self, doc_id: str) -> None:
        for _ in range(limits.INDEX_TRIES):
            answering = await self._engine.answering(self._workspace_id)
            found = await self._db.read(lambda tx: store.described(tx, self._workspace_id, doc_id))
            if not found:
                return  # deleted meanwhile
            upload, chunks = found[0].upload, found[0].chunks
            if upload.status == "indexed" and found[0].recipe == answering.recipe:
                self._outcome.skipped += 1
                self._count(chunks)
                return
            claimed = await self._db.write(lambda tx, upload=upload: _claim(tx, upload))  # type: ignore[misc]
            if claimed is not None and await self._attempt(claimed, answering):
                return
        self._outcome.failed.append(Failure(doc_id, "The document is being replaced again and again"))

    async def _attempt(self, upload: Upload, answering: Answering) -> bool:
        """Whether the document is settled: indexed, or failed. If not, it or what answers was replaced meanwhile."""
        settled = False
        try:
            settled = await self._index(upload, answering)
        except (Unavailable, LeaseLost):
            raise  # nothing is wrong with the document
        except DeedboxError as error:
            settled = await self._fail(upload, error.message)
        except Exception as error:  # one document that breaks our code must not keep the others from being indexed
            log.error("a document cannot be indexed", exception=error, upload=upload.id)
            settled = await self._fail(upload, "Internal error; the server's log says more")
        finally:
            if not settled:
                await asyncio.shield(self._db.write(lambda tx: store.unclaim(tx, upload)))
        return settled

    async def _index(self, upload: Upload, answering: Answering) -> bool:
        recipe = answering.recipe
        found: Made | None = None
        if await self._db.read(lambda tx: chunk_store.chunk_set(tx, upload, recipe)) is None:

            async def report(phase: Phase) -> None:
                await self._report(Step(upload.id, phase))

            found = await embed_document.made(self._ingest.reading, answering.embedder, upload, report)
            if not found:
                return await self._fail(upload, NO_TEXT)
        await self._report(Step(upload.id, "writing"))
        now = self._engine.clock.now()
        set_id = new_id("set", now)
        chunks = await self._db.write(lambda tx: _save(tx, upload, recipe, set_id, found, instant(now)))
        if chunks is not None:
            self._count(chunks)
        return chunks is not None

    async def _fail(self, upload: Upload, reason: str) -> bool:
        failed = await self._db.write(lambda tx: _mark_failed(tx, upload, reason))
        if failed:
            self._outcome.failed.append(Failure(upload.id, reason))
        return failed

    def _count(self, chunks: int) -> None:
        self._outcome.processed += 1
        self._outcome.chunks += chunks

    async def _report(self, note: Step, *, always: bool = False) -> None:
        # Each report is a write: now and then is enough to look at, and to notice that the job was cancelled.
        if always or stopwatch() - self._reported >= limits.PROGRESS_SECONDS:
            self._reported = stopwatch()
            await self._ingest.report(self._work, self._done, self._total, note)


def _in_scope(tx: Tx, workspace_id: str, order: Order) -> list[str]:
    return order.doc_ids if order.doc_ids is not None else [upload.id for upload in store.uploads(tx, workspace_id)]


def _claim(tx: Tx, upload: Upload) -> Upload | None:
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


def _save(tx: Tx, upload: Upload, recipe: str, new_set_id: str, made: Made | None, now: str) -> int | None:
    """The number of chunks that answer for the upload now; None, and nothing done, when something has changed."""
    present, answering = (
        store.upload(tx, upload.workspace_id, upload.id),
        chunk_store.answering(tx, upload.workspace_id),
    )
    if present is None or present.revision != upload.revision or answering not in (None, recipe):
        return None
    # None also when the set that was to be reused went with another document.
    found = chunk_store.kept_set(tx, new_set_id, upload, recipe, made, now)
    if found is None:
        return None
    set_id, chunks = found
    if answering is None:
        chunk_store.let_answer(tx, upload.workspace_id, recipe)
    _settle(tx, present, {"status": "indexed", "error": None, "indexed_at": now})
    if chunk_store.set_of(tx, upload.workspace_id, recipe, upload.id) != set_id:
        chunk_store.log_change(tx, upload.workspace_id, recipe, upload.id, set_id)
    return chunks


def _mark_failed(tx: Tx, upload: Upload, reason: str) -> bool:
    present = store.upload(tx, upload.workspace_id, upload.id)
    if present is None or present.revision != upload.revision:
        return False
    _settle(tx, present, {"status": "failed", "error": reason})
    if reason == NO_TEXT:  # after any other failure, the old chunks go on answering
        chunk_store.log_removal(tx, upload.workspace_id, upload.id)
    return True


def _settle(tx: Tx, upload: Upload, changes: dict[str, str | None]) -> None:
    store.change_upload(tx, upload.id, {"revision": upload.revision}, {"status_before": None, **changes})


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
