"""An event, as it is told to the outbox, and as it is stored and told to reactions."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec


class News(NamedTuple):
    """What has happened to a subject."""

    kind: str
    subject_id: str
    data: Mapping[str, Any]


class Event(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    kind: str
    subject_id: str
    sequence: int
    data: str
    """JSON, kept as the bytes that were written, so that every delivery of it is identical."""
    created_at: str
