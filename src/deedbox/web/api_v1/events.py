"""Events: the kinds there are, and those that happened, as a feed to pull."""

from typing import Annotated, Any

import msgspec
from litestar import get
from litestar.params import QueryParameter

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.web.frame import context
from deedbox.web.frame import cursor as cursors
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door
from deedbox.webhooks import catalogue, feed
from deedbox.webhooks.body import API_VERSION, EventBody

_SAMPLE_ID = "evt_01JD0000000000000000000000"
_SAMPLE_TIME = "2026-03-01T12:00:00Z"


class EventKind(msgspec.Struct, frozen=True):
    type: str
    """The kind of event."""
    meaning: str
    """When it is sent."""
    sample: dict[str, Any]
    """The body of a delivery."""
    schema: dict[str, Any]
    """The JSON Schema of the body."""


class Catalogue(msgspec.Struct, frozen=True):
    events: list[EventKind]
    """Every kind of event there is."""
    count: int
    has_more: bool = False
    next_cursor: str | None = None


class EventPage(msgspec.Struct, frozen=True):
    events: list[EventBody]
    """The events of this page, as they are delivered."""
    count: int
    has_more: bool
    next_cursor: str | None
    """Give it as `after` to go on, also when there is no more at this moment."""


@get("/api/v1/hooks/events", opt=door("hooks:read"), summary="Every kind of event, with a sample", tags=["hooks"])
async def event_catalogue() -> Catalogue:
    kinds = [EventKind(kind.name, kind.meaning, _body(kind), kind.schema) for kind in catalogue.KINDS.values()]
    return Catalogue(kinds, len(kinds))


def _body(kind: catalogue.Kind) -> dict[str, Any]:
    data = msgspec.Raw(msgspec.json.encode(kind.sample))
    whole = EventBody(_SAMPLE_ID, kind.name, _SAMPLE_TIME, API_VERSION, 1, data)
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole))
    return body


@get("/api/v1/events", opt=door("hooks:read"), summary="The events that happened, oldest first", tags=["hooks"])
async def list_events(
    request: AnyRequest,
    after: Annotated[str | None, cursors.parameter("evt")] = None,
    limit: Annotated[
        int, QueryParameter(ge=1, le=limits.PAGE_MAX, description="How many on a page.")
    ] = limits.PAGE_DEFAULT,
    cursor: Annotated[str | None, cursors.parameter("evt")] = None,
) -> EventPage:
    here = context.of(request)
    if after is not None and cursor is not None:
        raise BadRequest("Give either after or cursor; they mean the same")
    start = cursor if after is None else after
    cursors.check(start, "evt")
    found = await feed.page(here.deedbox.db, here.caller.workspace_id, after=start, limit=limit + 1)
    shown = found[:limit]
    return EventPage(shown, len(shown), len(found) > limit, shown[-1].id if shown else start)


ROUTES = [event_catalogue, list_events]
