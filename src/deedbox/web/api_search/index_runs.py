"""Index runs: they build the search index, tell how far they are, as they go, and can be ended."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from litestar import Response, delete, get, post
from litestar.openapi import ResponseSpec
from litestar.params import FromPath
from litestar.response import ServerSentEvent, ServerSentEventMessage
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, ServiceError, TimedOut
from deedbox.kernel.idempotency import PLANNED
from deedbox.kernel.jobs import Job
from deedbox.search.indexing import ingest
from deedbox.search.indexing.embed_document import Phase
from deedbox.search.indexing.ingest import Failure
from deedbox.search.library import library
from deedbox.search.library.reader import SearchReader
from deedbox.web import limits
from deedbox.web.api_search.query import DocId
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.body import OPTIONAL_BODY
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.once import complete, once
from deedbox.web.http.openapi import ALSO, ANSWERS, MAKES
from deedbox.web.http.query import QUERY
from deedbox.wiring import Installation

RunStatus: TypeAlias = Literal["waiting", "running", "done", "failed", "canceled"]


class IndexOrder(msgspec.Struct, forbid_unknown_fields=True):
    doc_ids: Annotated[list[DocId], Meta(min_length=1, max_length=shared_limits.INDEX_DOC_IDS)] | UnsetType = UNSET
    """Only these documents; without it, all that were uploaded."""


class Indexed(msgspec.Struct, frozen=True, omit_defaults=True):
    status: Literal["success", "partial"]
    """`partial` if some documents could not be indexed."""
    documents_processed: int
    """Documents in scope that are indexed now."""
    documents_skipped: int
    """Those of them that were indexed already, and are unchanged."""
    total_chunks: int
    """Chunks of the documents in scope."""
    index_size: int
    """Vectors in the whole index, of what is there for the key."""
    elapsed_seconds: float
    """How long it took."""
    message: str
    """The outcome, in a sentence."""
    failed: list[Failure] | UnsetType = UNSET
    """The documents that could not be indexed, and why; left out if there are none."""


class RunProgress(msgspec.Struct, frozen=True):
    document: str | None
    """The document that is being worked on."""
    phase: Phase
    """What is being done with it."""
    done: int
    """Documents that are through."""
    total: int
    """Documents in scope."""
    pages_read: int | None
    """Scanned pages of that document that are read; null unless its phase is `reading`."""
    pages_scanned: int | None
    """Scanned pages that it has; null unless its phase is `reading`."""


class RunResult(msgspec.Struct, frozen=True):
    documents_processed: int
    """Documents in scope that are indexed now."""
    documents_skipped: int
    """Those of them that were indexed already, and are unchanged."""
    total_chunks: int
    """Chunks of the documents in scope."""
    failed: list[Failure]
    """The documents that could not be indexed, and why."""


class Run(msgspec.Struct, frozen=True):
    id: str
    """The job's id."""
    status: RunStatus
    """How far it is."""
    progress: RunProgress
    """What is being done."""
    result: RunResult | None
    """What has become of the documents; null until it is done."""
    error: str | None
    """Why it failed or was ended; null unless that happened."""
    created_at: str
    """When it was asked for."""
    finished_at: str | None
    """When it ended; null until then."""


_EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": ["progress", "end"], "description": "Whether the run goes on."},
        "data": {"type": "string", "description": "The run, in JSON, as `GET /jobs/{job_id}` shows it."},
    },
    "required": ["event", "data"],
}
_EVENTS = {
    "200": {
        "description": "An event `progress` whenever the run has got further, and `end` at last; the data is the run",
        "content": {"text/event-stream": {"schema": _EVENT, "example": {"event": "progress", "data": "{…}"}}},
    }
}


class RunQuery(PageQuery, frozen=True, kw_only=True):
    cursor: Annotated[str, cursors.of("job")] | UnsetType = UNSET


class RunPage(msgspec.Struct, frozen=True):
    jobs: list[Run]
    """The index runs of this page, newest first."""
    count: int
    has_more: bool
    next_cursor: str | None


class _Planned(msgspec.Struct, frozen=True):
    job_id: str


_PLANNED = msgspec.json.Decoder(_Planned)
_RUN = msgspec.json.Decoder(Run)


@post(
    "/documents/index",
    opt={**requires("search:write"), OPTIONAL_BODY: IndexOrder, ALSO: (404,), MAKES: {"job_id": "/id"}},
    summary="Build the search index",
    tags=["search"],
    status_code=200,
    responses={202: ResponseSpec(Run, description="Begun; Location names the job", generate_examples=False)},
)
async def build_index(request: AnyRequest) -> Response[Indexed]:
    """With the header `Prefer: respond-async` it answers at once, with the job. A replay of the same `Idempotency-Key`
    gives the first answer, byte for byte."""
    here = context.of(request)
    if here.deadline is not None:
        here.deadline.reschedule(asyncio.get_running_loop().time() + limits.INDEX_SECONDS + limits.REQUEST_SECONDS)
    begun, is_async = stopwatch(), "respond-async" in request.headers.get("prefer", "").lower()
    planned: Response[Any] = await _plan(request, is_async=is_async)
    if planned.status_code != PLANNED:  # the answer itself: of an asynchronous request, or of a replayed one
        if planned.status_code == 202:
            planned.headers["Location"] = f"/jobs/{_RUN.decode(planned.content).id}"
        return planned
    job_id, replayed = _PLANNED.decode(planned.content).job_id, dict(planned.headers)
    location = {"Location": f"/jobs/{job_id}"}
    if is_async:
        job = await here.deedbox.db.read(lambda tx: ingest.find(tx, here.reader, job_id))
        accepted: Response[Any] = Response(run(job), status_code=202, headers={**replayed, **location})
        return accepted
    try:
        async with asyncio.timeout(limits.INDEX_SECONDS):
            job_at_end = await here.deedbox.ingest.ended(job_id)
    except TimeoutError as error:
        raise TimedOut("Request took too long", headers=location) from error
    size = await here.deedbox.db.read(lambda tx: library.chunks_in_service(tx, here.reader))
    answer: Response[Any] = await complete(request, _answer(job_at_end, size, stopwatch() - begun), status=200)
    answer.headers.update(replayed)
    return answer


@get(
    "/jobs",
    opt={**requires("search:read"), QUERY: RunQuery},
    summary="List index runs, newest first",
    tags=["search"],
)
async def list_runs(request: AnyRequest) -> RunPage:
    here = context.of(request)
    reader, asked = here.reader, here.query
    found = await here.deedbox.db.read(lambda tx: ingest.page(tx, reader, asked.start, asked.limit + 1))
    return RunPage(*cursors.page([run(job) for job in found], asked.limit, lambda job: job.id))


@get("/jobs/{job_id:str}", opt=requires("search:read"), summary="How far an index run is", tags=["search"])
async def show_run(request: AnyRequest, job_id: FromPath[str]) -> Run:
    here = context.of(request)
    return run(await here.deedbox.db.read(lambda tx: ingest.find(tx, here.reader, job_id)))


@get(
    "/jobs/{job_id:str}/events",
    opt={**requires("search:read"), ANSWERS: _EVENTS},
    summary="An index run as it goes, as server-sent events",
    tags=["search"],
)
async def follow_run(request: AnyRequest, job_id: FromPath[str]) -> ServerSentEvent:
    here = context.of(request)
    await here.deedbox.db.read(lambda tx: ingest.find(tx, here.reader, job_id))
    if here.deadline is not None:
        here.deadline.reschedule(None)
    return ServerSentEvent(_events(here.deedbox, here.reader, job_id))


@delete(
    "/jobs/{job_id:str}", opt=requires("search:write"), summary="End an index run", tags=["search"], status_code=200
)
async def cancel_run(request: AnyRequest, job_id: FromPath[str]) -> Run:
    """What is indexed already stays indexed; a run that has ended stays as it is."""
    here = context.of(request)
    now = here.deedbox.clock.now()
    return run(await here.deedbox.db.write(lambda tx: ingest.cancel(tx, here.reader, job_id, now)))


async def _plan(request: AnyRequest, *, is_async: bool) -> Response[bytes]:
    """Plan the run; an asynchronous request is answered with it, any other once it has ended."""
    deedbox, reader = context.of(request).deedbox, context.of(request).reader
    order: IndexOrder = context.of(request).body
    doc_ids = None if order.doc_ids is UNSET else order.doc_ids

    def plan(tx: Tx) -> msgspec.Struct:
        job_id = ingest.plan(tx, deedbox.search, reader, doc_ids)
        return run(ingest.find(tx, reader, job_id)) if is_async else _Planned(job_id)

    return await once(request, plan, status=202 if is_async else PLANNED)


def _answer(job: Job | None, size: int, seconds: float) -> Indexed:
    if job is None or (job.state == "done" and job.error is not None):
        raise Conflict("The index run was canceled.")
    outcome = ingest.step(job).outcome
    if job.state == "parked" or outcome is None:
        raise ServiceError("Internal server error")
    message = f"{outcome.processed} of {outcome.processed + len(outcome.failed)} documents are indexed."
    if not outcome.processed and not outcome.failed:
        message = "There is nothing to index. Upload a document first."
    return Indexed(
        status="partial" if outcome.failed else "success",
        documents_processed=outcome.processed,
        documents_skipped=outcome.skipped,
        total_chunks=outcome.chunks,
        index_size=size,
        elapsed_seconds=round(seconds, 3),
        message=message,
        failed=outcome.failed or UNSET,
    )


async def _events(deedbox: Installation, reader: SearchReader, job_id: str) -> AsyncIterator[ServerSentEventMessage]:
    """An event whenever the run has got further, until it ends; a comment now and then, so that no proxy hangs up."""
    last, begun, spoken = b"", stopwatch(), stopwatch()
    with deedbox.ingest.runs.watch(job_id) as watch:
        while stopwatch() - begun < limits.JOB_EVENTS_SECONDS:
            seen = run(await deedbox.db.read(lambda tx: ingest.find(tx, reader, job_id)))
            text = msgspec.json.encode(seen)
            ended = seen.finished_at is not None
            if text != last:
                last, spoken = text, stopwatch()
                yield ServerSentEventMessage(data=text.decode(), event="end" if ended else "progress")
            elif stopwatch() - spoken >= limits.JOB_HEARTBEAT_SECONDS:
                spoken = stopwatch()
                yield ServerSentEventMessage(comment="still running")
            if ended:
                return
            await watch.news(shared_limits.JOB_WATCH_SECONDS)


def run(job: Job) -> Run:
    step = ingest.step(job)
    outcome = step.outcome
    return Run(
        id=job.id,
        status=_status(job),
        progress=RunProgress(
            step.document,
            step.phase,
            job.progress.done if job.progress else 0,
            job.progress.total if job.progress else 0,
            *(step.pages or (None, None)),
        ),
        result=RunResult(outcome.processed, outcome.skipped, outcome.chunks, outcome.failed)
        if outcome is not None and job.state == "done" and job.error is None
        else None,
        error=job.error,
        created_at=job.created_at,
        finished_at=job.finished_at,
    )


def _status(job: Job) -> RunStatus:
    if job.state == "done":
        return "done" if job.error is None else "canceled"
    return {"ready": "waiting", "running": "running", "parked": "failed"}[job.state]  # type: ignore[return-value]


ROUTES = [build_index, list_runs, show_run, follow_run, cancel_run]
