"""For those who run the server: alive, ready, metrics, and the description of the API."""

import asyncio
from typing import Any

from litestar import MediaType, Response, get

from deedbox.accounts import store
from deedbox.kernel import limits
from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.web.http import context, openapi
from deedbox.web.http.auth import PROBE, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.guard import Guard
from deedbox.web.http.metrics import Metrics


@get("/livez", opt=requires(PROBE), summary="The process runs", tags=["operations"], media_type=MediaType.TEXT)
async def livez() -> str:
    return "ok\n"


@get("/readyz", opt=requires(PROBE), summary="Requests can be answered", tags=["operations"], media_type=MediaType.TEXT)
async def readyz(request: AnyRequest) -> str:
    guard: Guard = request.app.state.guard
    if guard.draining:
        raise Unavailable("The server is stopping.", code=ErrorCode.DRAINING)
    deedbox = context.of(request).deedbox
    await deedbox.db.read(store.first_workspace)
    lines = ["ready"]
    if (warming := deedbox.search.builds.percent) is not None:
        lines.append(f"search: warming {warming} %")
    if (refusal := guard.last_refusal) is not None:
        lines.append(f"storage: {refusal[0]} {refusal[1]} s ago")
    if deedbox.stalled:
        named = ", ".join(f"{kind} ({one.due} due)" for kind, one in deedbox.stalled.items())
        lines.append(f"jobs: nobody does {named}")
    if abs(deedbox.clock_ahead) > limits.CLOCK_SKEW_SECONDS:
        lines.append(f"clock: {deedbox.clock_ahead:+.0f} s against the database's, whose time is used")
    return "".join(f"{line}\n" for line in lines)


@get("/metrics", opt=requires(PROBE), summary="Prometheus metrics", tags=["operations"], media_type=MediaType.TEXT)
async def metrics(request: AnyRequest) -> Response[str]:
    counted: Metrics = request.app.state.metrics
    deedbox = context.of(request).deedbox
    text = counted.text(await deedbox.backlogs(), clock_ahead=deedbox.clock_ahead, retries=deedbox.retries)
    return Response(text, media_type="text/plain; version=0.0.4")


_DESCRIPTION = {
    "200": {
        "description": "An OpenAPI 3.1 document",
        "content": {"application/json": {"schema": {"type": "object"}, "example": {"openapi": "3.1.0"}}},
    }
}


@get(
    "/openapi.json",
    opt={**requires(PROBE), openapi.ANSWERS: _DESCRIPTION},
    summary="This description",
    tags=["operations"],
)
async def openapi_json(request: AnyRequest) -> Response[Any]:
    # Before it is built, the request waits in a thread, and those after it for the lock: they take no further threads.
    async with request.app.state.describing:
        described = await asyncio.to_thread(request.app.state.description.encoded)
    return Response(described, media_type="application/json")


ROUTES = [livez, readyz, metrics, openapi_json]
