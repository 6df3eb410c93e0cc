"""The body of a delivery, made once when the delivery is planned and kept: every attempt sends the same bytes."""

from typing import Any

import msgspec

from deedbox.kernel import limits
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
    """The event as minified JSON of at most 20 kB; metadata that does not fit is left out."""
    whole = envelope(event)
    text = msgspec.json.encode(whole)
    if len(text) > limits.WEBHOOK_BODY_BYTES:
        text = msgspec.json.encode(msgspec.structs.replace(whole, data=_lightened(event.data)))
    return text.decode()


def _lightened(data: str) -> msgspec.Raw:
    """Without the metadata, the one part of an event that may be long; `truncated` says so."""
    told: dict[str, Any] = msgspec.json.decode(data)
    return msgspec.Raw(msgspec.json.encode({**told, "metadata": {}, "truncated": True}))
