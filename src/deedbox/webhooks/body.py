"""The body of a delivery, made once when the delivery is planned and kept: every attempt sends the same bytes."""

import msgspec

from deedbox.kernel.outbox import Event

API_VERSION = "v1"


class EventBody(msgspec.Struct, frozen=True):
    """An event, as receivers get it and the feed shows it."""

    id: str
    """The event's id: the same in every delivery of it."""
    type: str
    """The kind of event."""
    timestamp: str
    """When it happened."""
    api_version: str
    """The version of the API that made it."""
    sequence: int
    """Its number among the events of its subject, from 1: receivers can order by it and see gaps."""
    data: msgspec.Raw
    """What happened to what; `GET /api/v1/hooks/events` gives the schema for each kind."""


def event_body(event: Event) -> EventBody:
    return EventBody(
        id=event.id,
        type=event.kind,
        timestamp=event.created_at,
        api_version=API_VERSION,
        sequence=event.sequence,
        data=msgspec.Raw(event.data.encode()),
    )


def encode(event: Event) -> str:
    """The event as minified JSON of at most 20 kB, since no event's data has more than `limits.EVENT_BYTES`."""
    return msgspec.json.encode(event_body(event)).decode()
