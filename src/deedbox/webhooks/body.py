"""The body of a delivery, made once when the delivery is planned and kept: every attempt sends the same bytes."""

import msgspec

from deedbox.kernel.outbox import Event

API_VERSION = "v1"


class Envelope(msgspec.Struct, frozen=True):
    """What a receiver gets, and what the feed shows of an event."""

    id: str
    type: str
    timestamp: str
    api_version: str
    sequence: int
    data: msgspec.Raw


def envelope(event: Event) -> Envelope:
    return Envelope(
        id=event.id,
        type=event.kind,
        timestamp=event.created_at,
        api_version=API_VERSION,
        sequence=event.sequence,
        data=msgspec.Raw(event.data.encode()),
    )


def encoded(event: Event) -> str:
    """The event as minified JSON of at most 20 kB, since no event's data has more than `limits.EVENT_BYTES`."""
    return msgspec.json.encode(envelope(event)).decode()
