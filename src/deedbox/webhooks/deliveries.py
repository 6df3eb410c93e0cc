"""Deliveries: list, show, send again, forget."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.kernel.outbox import Event
from deedbox.webhooks import hooks, limits, plan, store
from deedbox.webhooks.hook import Delivery, DeliveryDetail, DeliveryPart
from deedbox.webhooks.records import shown_attempt, shown_delivery
from deedbox.webhooks.store import DeliveryRow


def page(tx: Tx, workspace_id: str, part: DeliveryPart) -> list[Delivery]:
    """The workspace's deliveries, newest first, from the one before the cursor on."""
    if part.hook_id is not None:
        hooks.find(tx, workspace_id, part.hook_id)
    return [shown_delivery(row) for row in store.deliveries(tx, workspace_id, part)]


def get(tx: Tx, workspace_id: str, delivery_id: str) -> DeliveryDetail:
    """The delivery with its body and every attempt that is still kept."""
    row = _find(tx, workspace_id, delivery_id)
    return DeliveryDetail(
        **msgspec.structs.asdict(shown_delivery(row)),
        target_url=hooks.find(tx, workspace_id, row.hook_id).target_url,
        request_body=row.body,
        attempts_made=[shown_attempt(attempt) for attempt in store.attempts(tx, delivery_id)],
    )


def durations(tx: Tx, shown: Sequence[Delivery]) -> dict[str, int]:
    """How many milliseconds the last attempt at each of them took, by the id of the delivery."""
    return store.durations(tx, [one.id for one in shown])


def under_way(delivery: Delivery, now: datetime) -> bool:
    """Whether something comes of it at any moment: it is being sent, or due."""
    due = delivery.next_attempt_at
    return delivery.status == "sending" or (due is not None and due <= instant(now))


def redeliver(tx: Tx, workspace_id: str, delivery_id: str, *, now: datetime) -> Delivery:
    """The same event and bytes once more: one that waits is tried now, for one that has ended there is a new one."""
    row = _find(tx, workspace_id, delivery_id)
    hook = hooks.find(tx, workspace_id, row.hook_id)
    if hook.status == "disabled":
        raise Conflict("The webhook is disabled, so nothing is sent to it. Resume it first.")
    if row.status == "sending":
        raise Conflict("The delivery is being sent at this moment.")
    if row.status == "pending":
        store.hurry(tx, delivery_id, now.timestamp())
        plan.announce(tx, [hook.id])
        return shown_delivery(_find(tx, workspace_id, delivery_id))
    event = Event(row.event_id, workspace_id, row.kind, "", 0, "", row.created_at, line=row.line)
    [planned] = plan.add(tx, event, [hook.id], row.body, now=now)
    return shown_delivery(planned)


def prune(tx: Tx, now: datetime) -> int:
    """Forgets some of the attempts and deliveries that are past their time; how many."""
    return store.prune(tx, instant(now - timedelta(days=limits.WEBHOOK_KEEP_DAYS)), shared_limits.PRUNE_ROWS)


def _find(tx: Tx, workspace_id: str, delivery_id: str) -> DeliveryRow:
    row = store.delivery(tx, workspace_id, delivery_id)
    if row is None:
        raise NotFound("Delivery does not exist")
    return row
