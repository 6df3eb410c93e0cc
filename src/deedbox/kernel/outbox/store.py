"""The events table."""

import msgspec

from deedbox.kernel.db import Tx
from deedbox.kernel.outbox.event import Event

_COLUMNS = "id, workspace_id, kind, subject_id, sequence, data, created_at"


def next_sequence(tx: Tx, subject_id: str) -> int:
    row = tx.one("select coalesce(max(sequence), 0) + 1 from events where subject_id = :id", id=subject_id)
    return int(row[0]) if row else 1


def add(tx: Tx, event: Event) -> None:
    tx.run(
        f"insert into events ({_COLUMNS})"
        " values (:id, :workspace_id, :kind, :subject_id, :sequence, :data, :created_at)",
        **msgspec.structs.asdict(event),
    )


def after(tx: Tx, workspace_id: str, event_id: str, most: int) -> list[Event]:
    """The workspace's events after the given one, oldest first."""
    rows = tx.all(
        f"select {_COLUMNS} from events where workspace_id = :workspace_id and id > :id order by id limit :most",
        workspace_id=workspace_id,
        id=event_id,
        most=most,
    )
    return [Event(*row) for row in rows]
