"""An event, as it is stored and told to reactions."""

import msgspec


class Event(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    kind: str
    subject_id: str
    sequence: int
    data: str
    """JSON, kept as the bytes that were written, so that every delivery of it is identical."""
    created_at: str
