"""Plan deliveries: rows that are written in the transaction of the event that they carry."""

from collections.abc import Sequence
from datetime import datetime

from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import made_at, new_id
from deedbox.kernel.outbox import Event
from deedbox.webhooks import body, store
from deedbox.webhooks.store import DeliveryRow

DELIVERIES_DUE = "deliveries due"
"""Told with the subscription's id. Senders look for work by themselves; being told only makes it sooner."""


def announce(tx: Tx, hook_ids: Sequence[str]) -> None:
    """Once the transaction is durable, tells the senders that these subscriptions have something to send."""
    for hook_id in hook_ids:
        tx.notify(DELIVERIES_DUE, hook_id)


def plan(tx: Tx, events: Sequence[Event]) -> None:
    """One delivery for each subscription that is active or paused. The reaction to every kind of event."""
    hook_ids = store.subscribers(tx, events[0].workspace_id, events[0].kind)
    if hook_ids:
        rows = [row for event in events for row in _rows(event, hook_ids, body.encode(event), made_at(event.id))]
        store.add_deliveries(tx, rows)
        announce(tx, hook_ids)


def add(tx: Tx, event: Event, hook_ids: Sequence[str], text: str, *, now: datetime) -> list[DeliveryRow]:
    """Deliveries of this body, due now."""
    rows = _rows(event, hook_ids, text, now)
    store.add_deliveries(tx, rows)
    announce(tx, hook_ids)
    return rows


def _rows(event: Event, hook_ids: Sequence[str], text: str, now: datetime) -> list[DeliveryRow]:
    return [
        DeliveryRow(
            id=new_id("dlv", now),
            workspace_id=event.workspace_id,
            hook_id=hook_id,
            event_id=event.id,
            kind=event.kind,
            line=event.line,
            body=text,
            status="pending",
            attempts=0,
            due_at=now.timestamp(),
            created_at=instant(now),
        )
        for hook_id in hook_ids
    ]
