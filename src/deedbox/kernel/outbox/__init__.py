"""Events: written in the transaction that changes the state, and in no other way."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import new_id
from deedbox.kernel.outbox import store
from deedbox.kernel.outbox.event import Event

__all__ = ["Event", "Reaction", "emit", "forget", "react"]

Reaction: TypeAlias = Callable[[Tx, Event], None]

_reactions: dict[str, list[Reaction]] = {}


def react(kind: str, reaction: Reaction) -> None:
    """Has the reaction run in the transaction of every event of this kind. Wiring calls it, once per process."""
    if reaction not in _reactions.setdefault(kind, []):
        _reactions[kind].append(reaction)


def forget(kind: str, reaction: Reaction) -> None:
    """Takes the reaction back, when what it belongs to is closed."""
    if reaction in _reactions.get(kind, ()):
        _reactions[kind].remove(reaction)


def emit(tx: Tx, workspace_id: str, kind: str, subject_id: str, data: Mapping[str, Any], *, now: datetime) -> Event:
    """The event, stored with the next sequence number of its subject; its reactions share the transaction.

    The transaction must be serializable, as `db.write` makes it: two emitters of one subject are then put in order."""
    text = msgspec.json.encode(data).decode()
    if len(text.encode()) > limits.EVENT_BYTES:
        raise ValueError(f"the data of {kind} has more than {limits.EVENT_BYTES} bytes")
    event = Event(
        id=new_id("evt", now),
        workspace_id=workspace_id,
        kind=kind,
        subject_id=subject_id,
        sequence=store.next_sequence(tx, subject_id),
        data=text,
        created_at=instant(now),
    )
    store.add(tx, event)
    for reaction in _reactions.get(kind, ()):
        reaction(tx, event)
    return event
