"""Index runs: how far they are, as they go, and how to end them."""

from collections.abc import AsyncIterator

import msgspec
from litestar import delete, get
from litestar.params import FromPath
from litestar.response import ServerSentEvent, ServerSentEventMessage

from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch
from deedbox.search import ingest
from deedbox.web.api_search.runs import Run, run
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door
from deedbox.wiring import Deedbox


@get("/jobs/{job_id:str}", opt=door("search:read"), summary="How far an index run is", tags=["search"])
async def show_run(request: AnyRequest, job_id: FromPath[str]) -> Run:
    here = context.of(request)
    return run(await here.deedbox.db.read(lambda tx: ingest.find(tx, here.caller.workspace_id, job_id)))


@get(
    "/jobs/{job_id:str}/events",
    opt=door("search:read"),
    summary="An index run as it goes, as server-sent events",
    tags=["search"],
)
async def follow_run(request: AnyRequest, job_id: FromPath[str]) -> ServerSentEvent:
    here = context.of(request)
    await here.deedbox.db.read(lambda tx: ingest.find(tx, here.caller.workspace_id, job_id))
    if here.deadline is not None:
        here.deadline.reschedule(None)
    return ServerSentEvent(_events(here.deedbox, here.caller.workspace_id, job_id))


@delete("/jobs/{job_id:str}", opt=door("search:write"), summary="End an index run", tags=["search"], status_code=200)
async def cancel_run(request: AnyRequest, job_id: FromPath[str]) -> Run:
    """What is indexed already stays indexed; a run that has ended stays as it is."""
    here = context.of(request)
    now = here.deedbox.clock.now()
    return run(await here.deedbox.db.write(lambda tx: ingest.cancel(tx, here.caller.workspace_id, job_id, now)))


async def _events(deedbox: Deedbox, workspace_id: str, job_id: str) -> AsyncIterator[ServerSentEventMessage]:
    """An event whenever the run has got further, until it ends; a comment now and then, so that no proxy hangs up."""
    last, begun, spoken = b"", stopwatch(), stopwatch()
    while stopwatch() - begun < limits.JOB_EVENTS_SECONDS:
        seen = run(await deedbox.db.read(lambda tx: ingest.find(tx, workspace_id, job_id)))
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
        await deedbox.ingest.changed(job_id)


ROUTES = [show_run, follow_run, cancel_run]
