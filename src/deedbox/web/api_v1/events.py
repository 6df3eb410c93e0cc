"""Events: the kinds there are, and those that happened, as a feed to pull."""

import re
from typing import Annotated, Any

import msgspec
from litestar import get
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel.errors import BadRequest
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY
from deedbox.webhooks import catalogue, feed
from deedbox.webhooks.body import API_VERSION, EventBody
from deedbox.webhooks.hook import EventName

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


class CatalogueQuery(PageQuery, frozen=True, kw_only=True):
    cursor: (
        Annotated[str, cursors.one_of("|".join(map(re.escape, catalogue.KINDS)), max(map(len, catalogue.KINDS)))]
        | UnsetType
    ) = UNSET


class EventQuery(PageQuery, frozen=True, kw_only=True):
    after: Annotated[str, cursors.of("evt")] | UnsetType = UNSET
    """The id of the last event that you know: those after it are shown, now or when they happen."""
    type: Annotated[tuple[EventName, ...], Meta(max_length=limits.FILTER_VALUES)] = ()
    """Only events of this kind; of several, if repeated."""
    cursor: Annotated[str, cursors.of("evt")] | UnsetType = UNSET


class Catalogue(msgspec.Struct, frozen=True):
    events: list[EventKind]
    """Every kind of event there is."""
    count: int
    has_more: bool
    next_cursor: str | None


class EventPage(msgspec.Struct, frozen=True):
    events: list[EventBody]
    """The events of this page, as they are delivered."""
    count: int
    has_more: bool
    next_cursor: str | None


@get(
    "/api/v1/hooks/events",
    opt={**requires("hooks:read"), QUERY: CatalogueQuery},
    summary="Every kind of event, with a sample",
    tags=["hooks"],
)
async def event_catalogue(request: AnyRequest) -> Catalogue:
    asked: CatalogueQuery = context.of(request).query
    names = list(catalogue.KINDS)
    rest = names[names.index(asked.start) + 1 :] if asked.start else names
    kinds = [_kind(catalogue.KINDS[name]) for name in rest[: asked.limit + 1]]
    return Catalogue(*cursors.page(kinds, asked.limit, lambda kind: kind.type))


def _kind(kind: catalogue.EventType) -> EventKind:
    return EventKind(kind.name, kind.meaning, _body(kind), kind.schema)


def _body(kind: catalogue.EventType) -> dict[str, Any]:
    data = msgspec.Raw(msgspec.json.encode(kind.sample))
    whole = EventBody(_SAMPLE_ID, kind.name, _SAMPLE_TIME, API_VERSION, 1, data)
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole))
    return body


@get(
    "/api/v1/events",
    opt={**requires("hooks:read"), QUERY: EventQuery},
    summary="The events that happened, oldest first",
    tags=["hooks"],
)
async def list_events(request: AnyRequest) -> EventPage:
    here = context.of(request)
    asked: EventQuery = here.query
    if asked.after and asked.cursor:
        raise BadRequest("Give either after or cursor; they mean the same")
    start = asked.after or asked.start
    kinds = catalogue.known(asked.type)
    found = await feed.page(here.deedbox.db, here.caller.workspace_id, after=start, limit=asked.limit + 1, kinds=kinds)
    return EventPage(*cursors.page(found, asked.limit, lambda event: event.id))


ROUTES = [event_catalogue, list_events]
