"""An event, as it is stored and told to reactions."""

from typing import NamedTuple

import msgspec


class Subject(NamedTuple):
    """What an event is about, and the line in which it is told: receivers get the events of one line in order."""

    id: str
    line: str


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
