"""Events: written in the transaction that changes the state, and in no other way."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.ids import new_id
from deedbox.kernel.outbox import store
from deedbox.kernel.outbox.event import Event, NewEvent

__all__ = ["Event", "NewEvent", "Reaction", "emit", "emit_all", "react"]

Reaction: TypeAlias = Callable[[Tx, Sequence[Event]], None]
"""Gets the events of one kind that were emitted one after the other."""


def react(db: Database, kind: str, reaction: Reaction) -> None:
    """Has the reaction run in the transaction of every event of this kind that this database gets."""
    db.listeners.add(kind, reaction)


def emit(tx: Tx, workspace_id: str, kind: str, subject_id: str, data: Mapping[str, Any], *, now: datetime) -> Event:
    """As `emit_all`, for one event."""
    return emit_all(tx, workspace_id, [NewEvent(kind, subject_id, data)], now=now)[0]


def emit_all(tx: Tx, workspace_id: str, news: Sequence[NewEvent], *, now: datetime) -> list[Event]:
    """The events, stored in this order with the next numbers of their subjects; reactions share the transaction.

    The transaction must be serializable, as `db.write` makes it, or have made or changed each subject's own row: two
    emitters of one subject are then put in order."""
    events = store.add(tx, [_event(workspace_id, each, now) for each in news])
    for kind, group in itertools.groupby(events, lambda event: event.kind):
        told = list(group)
        for reaction in tx.listeners.of(kind):
            reaction(tx, told)
    return events


def _event(workspace_id: str, news: NewEvent, now: datetime) -> Event:
    text = msgspec.json.encode(news.data).decode()
    if len(text.encode()) > limits.EVENT_BYTES:
        raise ValueError(f"the data of {news.kind} has more than {limits.EVENT_BYTES} bytes")
    return Event(
        id=new_id("evt", now),
        workspace_id=workspace_id,
        kind=news.kind,
        subject_id=news.subject_id,
        sequence=0,
        data=text,
        created_at=instant(now),
        line=news.line or news.subject_id,
    )
