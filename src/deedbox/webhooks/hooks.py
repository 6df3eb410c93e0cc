"""Subscriptions: create, change, pause, resume, rotate, test, recover and delete, each in the caller's transaction."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from deedbox.kernel import admin_log
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.admin_log import Doer
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, ValueCipher
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, NotFound
from deedbox.kernel.ids import new_id
from deedbox.kernel.outbox import Event
from deedbox.kernel.rotation import EncryptedColumn
from deedbox.webhooks import body, catalogue, limits, plan, signature, store
from deedbox.webhooks.hook import (
    SCHEMES,
    CreatedHook,
    Delivery,
    Hook,
    HookChange,
    ManagedBy,
    NewHook,
    Recovery,
    Rotated,
)
from deedbox.webhooks.records import shown_delivery, shown_hook
from deedbox.webhooks.signature import HookSecrets
from deedbox.webhooks.store import HookRow

ENCRYPTED_SECRETS = EncryptedColumn(table="hooks", key_columns=("id",), column="secrets", place="hooks.secrets:{id}")


def create(tx: Tx, box: ValueCipher, who: Doer, new: NewHook, *, managed_by: ManagedBy, now: datetime) -> CreatedHook:
    """The new subscription with its secret, which is shown only now; or the one with the same target and events.

    The URL was judged before, by `Egress.judge`. An equal one that was disabled is active again: someone listens."""
    events, workspace_id = _known(new.kinds()), who.workspace_id
    likeness = _likeness(workspace_id, managed_by, new.target_url, events)
    same = store.hook_like(tx, likeness)
    if same is not None:
        return CreatedHook(resume(tx, who, same.id, now=now) if same.status == "disabled" else shown_hook(same), None)
    if store.count_hooks(tx, workspace_id) >= shared_limits.HOOKS_PER_WORKSPACE:
        raise Conflict(f"This workspace has {shared_limits.HOOKS_PER_WORKSPACE} webhooks already. Delete one first.")
    hook_id, secret = new_id("hook", now), signature.new_secret()
    row = HookRow(
        id=hook_id,
        workspace_id=workspace_id,
        target_url=new.target_url,
        events=" ".join(events),
        status="active",
        managed_by=managed_by,
        signature_scheme=SCHEMES[managed_by],
        description=new.description,
        created_at=instant(now),
        disabled_reason=None,
        last_success_at=None,
        last_failure_at=None,
        consecutive_failures=0,
        failing_since=None,
        likeness=likeness,
        secrets=_encrypted(box, hook_id, HookSecrets(secret)),
    )
    store.add_hook(tx, row)
    _note(tx, who, "hook.created", row, now)
    return CreatedHook(shown_hook(row), secret)


def get(tx: Tx, workspace_id: str, hook_id: str) -> Hook:
    return shown_hook(find(tx, workspace_id, hook_id))


def page(tx: Tx, workspace_id: str, *, limit: int, cursor: str | None) -> list[Hook]:
    """The workspace's subscriptions, newest first, from the one before `cursor` on."""
    return [shown_hook(row) for row in store.hooks(tx, workspace_id, limit, cursor)]


def check(wanted: HookChange) -> None:
    """Raises BadRequest for a change that could be made of no subscription."""
    if wanted.events is not msgspec.UNSET:
        _known(wanted.events)


def change(tx: Tx, who: Doer, hook_id: str, wanted: HookChange, *, now: datetime) -> Hook:
    """The subscription with another target, other events or another description. A new URL was judged before.

    What the target before did is not held against another."""
    known = None if wanted.events is msgspec.UNSET else " ".join(_known(wanted.events))
    row = find(tx, who.workspace_id, hook_id)
    events = known or row.events
    target = row.target_url if wanted.target_url is msgspec.UNSET else wanted.target_url
    likeness = _likeness(who.workspace_id, row.managed_by, target, events.split())
    other = store.hook_like(tx, likeness)
    if other is not None and other.id != row.id:
        raise Conflict(f"The webhook {other.id} has the same target and events already.")
    description = row.description if wanted.description is msgspec.UNSET else wanted.description
    changed = replace(row, target_url=target, events=events, description=description, likeness=likeness)
    if target != row.target_url:
        changed = replace(
            changed, last_success_at=None, last_failure_at=None, failing_since=None, consecutive_failures=0
        )
    _note(tx, who, "hook.changed", changed, now)
    return _changed(tx, row, changed)


def delete(tx: Tx, who: Doer, hook_id: str, *, now: datetime) -> None:
    """Ends the subscription: nothing is sent to it any more, and its secret is forgotten."""
    row = find(tx, who.workspace_id, hook_id)
    store.delete_hook(tx, row.id)
    _note(tx, who, "hook.deleted", row, now)


def pause(tx: Tx, who: Doer, hook_id: str, *, now: datetime) -> Hook:
    """Deliveries go on being planned, and wait until it is resumed."""
    row = find(tx, who.workspace_id, hook_id)
    if row.status == "disabled":
        raise Conflict("A disabled webhook cannot be paused; nothing is sent to it.")
    if row.status != "paused":
        _note(tx, who, "hook.paused", row, now)
    return _changed(tx, row, replace(row, status="paused"))


def resume(tx: Tx, who: Doer, hook_id: str, *, now: datetime) -> Hook:
    """Active again after a pause or after it was disabled; what waited is sent."""
    row = find(tx, who.workspace_id, hook_id)
    if row.status != "active":
        _note(tx, who, "hook.resumed", row, now)
    fresh = replace(row, status="active", disabled_reason=None, failing_since=None, consecutive_failures=0)
    plan.announce(tx, [hook_id])
    return _changed(tx, row, fresh)


def rotate(tx: Tx, box: ValueCipher, who: Doer, hook_id: str, *, at_once: bool, now: datetime) -> Rotated:
    """A new secret, shown only now, that takes over at once or in 24 hours; for so long both are sent."""
    row = find(tx, who.workspace_id, hook_id)
    _note(tx, who, "hook.rotated", row, now)
    secret = signature.new_secret()
    secrets = open_secrets(box, row).rotated(secret, now, at_once=at_once)
    hook = _changed(tx, row, replace(row, secrets=_encrypted(box, hook_id, secrets)))
    return Rotated(hook, secret, now if at_once else now + timedelta(hours=shared_limits.WEBHOOK_ROTATION_HOURS))


def test(tx: Tx, workspace_id: str, hook_id: str, kind: str | None, *, now: datetime) -> Delivery:
    """A delivery of the kind's sample, or of its first kind's, to this subscription alone."""
    wanted = _known([kind])[0] if kind is not None else None
    row = find(tx, workspace_id, hook_id)
    if row.status == "disabled":
        raise Conflict("The webhook is disabled, so nothing is sent to it. Resume it first.")
    chosen = wanted or row.events.split()[0]
    event_id = new_id("evt", now)
    told = {**catalogue.KINDS[chosen].sample, "test": True}
    text = msgspec.json.encode(told).decode()
    # A line of its own: it waits for no document's events, and none of them wait for it.
    event = Event(event_id, workspace_id, chosen, event_id, 1, text, instant(now), line=event_id)
    [planned] = plan.add(tx, event, [hook_id], body.encode(event), now=now)
    return shown_delivery(planned)


def recover(tx: Tx, workspace_id: str, hook_id: str, since: datetime, *, now: datetime) -> Recovery:
    """Sends again what was emitted since then and never reached it: deliveries that wait for a retry are due now, those
    that were given up are planned again, a part at a time, oldest first."""
    if since < now - timedelta(days=limits.WEBHOOK_KEEP_DAYS):
        raise BadRequest(f"since must lie within the last {limits.WEBHOOK_KEEP_DAYS} days")
    row = find(tx, workspace_id, hook_id)
    if row.status == "disabled":
        raise Conflict("The webhook is disabled, so nothing is sent to it. Resume it first.")
    first = new_id("evt", since, bytes)
    missed = store.list_missed(tx, row, first, limits.RECOVER_EVENTS + 1)
    for event in missed[: limits.RECOVER_EVENTS]:
        plan.add(tx, event, [hook_id], body.encode(event), now=now)
    hurried = store.hurry_all(tx, hook_id, first, now.timestamp())
    plan.announce(tx, [hook_id])
    return Recovery(min(len(missed), limits.RECOVER_EVENTS) + hurried, len(missed) > limits.RECOVER_EVENTS)


def find(tx: Tx, workspace_id: str, hook_id: str) -> HookRow:
    row = store.hook(tx, workspace_id, hook_id)
    if row is None:
        raise NotFound("Webhook does not exist")
    return row


def open_secrets(box: ValueCipher, row: HookRow) -> HookSecrets:
    """The subscription's secrets."""
    if row.secrets is None:
        raise NotFound("Webhook does not exist")
    return signature.unpack(box.decrypt(row.secrets, ENCRYPTED_SECRETS.place.format(id=row.id)))


def current_secret(tx: Tx, box: ValueCipher, workspace_id: str, hook_id: str, *, now: datetime) -> Secret:
    """The secret in force, for the operator's own commands; no route shows it."""
    return open_secrets(box, find(tx, workspace_id, hook_id)).at(now).current


def _encrypted(box: ValueCipher, hook_id: str, secrets: HookSecrets) -> bytes:
    return box.encrypt(signature.pack(secrets), ENCRYPTED_SECRETS.place.format(id=hook_id))


def _changed(tx: Tx, before: HookRow, after: HookRow) -> Hook:
    store.change_hook(tx, before, after)
    return shown_hook(after)


def _note(tx: Tx, who: Doer, act: str, row: HookRow, now: datetime) -> None:
    # The host alone: a target's path may hold what opens it.
    admin_log.done(tx, who, act, (row.id, row.description or urlsplit(row.target_url).hostname or row.id), at=now)


def _known(events: Sequence[str]) -> list[str]:
    """The kinds once each, in the order of the catalogue; BadRequest names one that there is not."""
    known = catalogue.known(events)
    if not known:
        raise BadRequest("A webhook needs at least one event")
    return known


def _likeness(workspace_id: str, managed_by: str, target_url: str, events: Sequence[str]) -> str:
    return hashlib.sha256("\n".join((workspace_id, managed_by, target_url, *events)).encode()).hexdigest()
