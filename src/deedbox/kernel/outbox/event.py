"""An event, as it is told to the outbox, and as it is stored and told to reactions."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec


class NewEvent(NamedTuple):
    """What has happened to a subject."""

    kind: str
    subject_id: str
    data: Mapping[str, Any]
    line: str = ""
    """In which it is told: receivers hear of one line in order. The subject has one of its own unless it is given."""


class Event(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    kind: str
    subject_id: str
    sequence: int
    data: str
    """JSON, kept as the bytes that were written, so that every delivery of it is identical."""
    created_at: str
    line: str = ""
    """In which it is told after the earlier ones: that of its subject alone, or one that several subjects share."""
