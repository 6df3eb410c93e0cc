"""Events: written in the transaction that changes the state, and in no other way."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.ids import new_id
from deedbox.kernel.outbox import store
from deedbox.kernel.outbox.event import Event, Subject

__all__ = ["Event", "Reaction", "Subject", "emit", "react"]

Reaction: TypeAlias = Callable[[Tx, Event], None]


def react(db: Database, kind: str, reaction: Reaction) -> None:
    """Has the reaction run in the transaction of every event of this kind that this database gets."""
    db.listeners.add(kind, reaction)


def emit(
    tx: Tx, workspace_id: str, kind: str, subject: str | Subject, data: Mapping[str, Any], *, now: datetime
) -> Event:
    """The event, stored with the next sequence number of its subject; its reactions share the transaction.

    A subject that is given by its id alone has a line of its own.
    The transaction must be serializable, as `db.write` makes it: two emitters of one subject are then put in order."""
    text = msgspec.json.encode(data).decode()
    if len(text.encode()) > limits.EVENT_BYTES:
        raise ValueError(f"the data of {kind} has more than {limits.EVENT_BYTES} bytes")
    about = Subject(subject, subject) if isinstance(subject, str) else subject
    event = store.add(
        tx,
        Event(
            id=new_id("evt", now),
            workspace_id=workspace_id,
            kind=kind,
            subject_id=about.id,
            sequence=0,
            data=text,
            created_at=instant(now),
            line=about.line,
        ),
    )
    for reaction in tx.listeners.of(kind):
        reaction(tx, event)
    return event
