"""The tables of subscriptions and deliveries, as people see and change them; `queue` holds what the sender does."""

from collections.abc import Iterable, Sequence

import msgspec

from deedbox.kernel.db import Row, Tx, Value
from deedbox.kernel.db.rows import insert
from deedbox.kernel.outbox import Event
from deedbox.webhooks.hook import DeliveryPart, DeliveryStatus, ManagedBy, Scheme, Status


class HookRow(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    target_url: str
    events: str
    status: Status
    managed_by: ManagedBy
    signature_scheme: Scheme
    description: str | None
    created_at: str
    disabled_reason: str | None
    last_success_at: str | None
    last_failure_at: str | None
    consecutive_failures: int
    failing_since: str | None
    likeness: str
    """A hash of what makes two subscriptions the same."""
    secrets: bytes | None


class DeliveryRow(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    hook_id: str
    event_id: str
    kind: str
    line: str
    """Deliveries of one line reach the subscription in the order in which they were planned."""
    body: str
    status: DeliveryStatus
    attempts: int
    due_at: float
    created_at: str
    ended_at: str | None = None
    response_status: int | None = None
    error: str | None = None


class AttemptRow(msgspec.Struct, frozen=True):
    delivery_id: str
    number: int
    started_at: str
    duration_ms: int
    request_headers: str
    response_status: int | None
    response_headers: str | None
    response_body: bytes | None
    response_truncated: int
    error: str | None
    target_url: str | None
    """None if the attempt was made before this was kept."""


_HOOK = ", ".join(HookRow.__struct_fields__)
_DELIVERY = ", ".join(DeliveryRow.__struct_fields__)
_ATTEMPT = ", ".join(AttemptRow.__struct_fields__)
_LIVE = "status <> 'deleted'"


def add_hook(tx: Tx, row: HookRow) -> None:
    insert(tx, "hooks", msgspec.structs.asdict(row))
    _subscribe(tx, row.workspace_id, row.id, row.events)


def hook(tx: Tx, workspace_id: str, hook_id: str) -> HookRow | None:
    row = tx.one(
        f"select {_HOOK} from hooks where id = :id and workspace_id = :workspace_id and {_LIVE}",
        id=hook_id,
        workspace_id=workspace_id,
    )
    return _hook(row) if row else None


def hook_like(tx: Tx, likeness: str) -> HookRow | None:
    row = tx.one(f"select {_HOOK} from hooks where likeness = :likeness and {_LIVE}", likeness=likeness)
    return _hook(row) if row else None


def hooks(tx: Tx, workspace_id: str, limit: int, before: str | None) -> list[HookRow]:
    """The workspace's subscriptions, newest first."""
    rows = tx.all(
        f"select {_HOOK} from hooks where workspace_id = :workspace_id and {_LIVE} and id < :before"
        " order by id desc limit :limit",
        workspace_id=workspace_id,
        before=before or "hook_~",
        limit=limit,
    )
    return [_hook(row) for row in rows]


def count_hooks(tx: Tx, workspace_id: str) -> int:
    row = tx.one(f"select count(*) from hooks where workspace_id = :id and {_LIVE}", id=workspace_id)
    return int(row[0]) if row else 0


def change_hook(tx: Tx, before: HookRow, after: HookRow) -> None:
    """Gives the subscription what a person may change, as in `after`. `before` was read in this transaction."""
    tx.run(
        "update hooks set target_url = :target_url, events = :events, description = :description, likeness = :likeness,"
        " status = :status, disabled_reason = :disabled_reason, failing_since = :failing_since,"
        " consecutive_failures = :consecutive_failures, last_success_at = :last_success_at,"
        " last_failure_at = :last_failure_at, secrets = :secrets where id = :id",
        id=before.id,
        target_url=after.target_url,
        events=after.events,
        description=after.description,
        likeness=after.likeness,
        status=after.status,
        disabled_reason=after.disabled_reason,
        failing_since=after.failing_since,
        consecutive_failures=after.consecutive_failures,
        last_success_at=after.last_success_at,
        last_failure_at=after.last_failure_at,
        secrets=after.secrets,
    )
    if before.events != after.events:
        tx.run("delete from hook_events where hook_id = :id", id=before.id)
        _subscribe(tx, before.workspace_id, before.id, after.events)


def delete_hook(tx: Tx, hook_id: str) -> None:
    """Forgets the secret and the subscription at once; its deliveries go with the next housekeeping."""
    tx.run("delete from hook_events where hook_id = :id", id=hook_id)
    tx.run("update hooks set status = 'deleted', secrets = null, target_url = '' where id = :id", id=hook_id)


def _subscribe(tx: Tx, workspace_id: str, hook_id: str, events: str) -> None:
    rows = [{"workspace_id": workspace_id, "kind": kind, "hook_id": hook_id} for kind in events.split()]
    tx.many("insert into hook_events (workspace_id, kind, hook_id) values (:workspace_id, :kind, :hook_id)", list(rows))


def subscribers(tx: Tx, workspace_id: str, kind: str) -> list[str]:
    """The subscriptions that an event of this kind is for."""
    rows = tx.all(
        "select hook_events.hook_id from hook_events join hooks on hooks.id = hook_events.hook_id"
        " where hook_events.workspace_id = :workspace_id and hook_events.kind = :kind"
        " and hooks.status in ('active', 'paused') order by hook_events.hook_id",
        workspace_id=workspace_id,
        kind=kind,
    )
    return [row[0] for row in rows]


def add_deliveries(tx: Tx, rows: Iterable[DeliveryRow]) -> None:
    names = DeliveryRow.__struct_fields__
    values: list[dict[str, Value]] = [msgspec.structs.asdict(row) for row in rows]
    tx.many(
        f"insert into deliveries ({_DELIVERY}, claims) values ({', '.join(f':{name}' for name in names)}, 0)",
        list(values),
    )


def delivery(tx: Tx, workspace_id: str, delivery_id: str) -> DeliveryRow | None:
    row = tx.one(
        f"select {_DELIVERY} from deliveries where id = :id and workspace_id = :workspace_id"
        f" and exists (select 1 from hooks where hooks.id = deliveries.hook_id and hooks.{_LIVE})",
        id=delivery_id,
        workspace_id=workspace_id,
    )
    return DeliveryRow(*row) if row else None


def deliveries(tx: Tx, workspace_id: str, part: DeliveryPart) -> list[DeliveryRow]:
    """Deliveries of the workspace, or of one of its subscriptions, newest first."""
    whose: dict[str, Value] = {"hook_id": part.hook_id} if part.hook_id else {"workspace_id": workspace_id}
    named: dict[str, Value] = {f"status{number}": status for number, status in enumerate(part.statuses)}
    conditions = [f"deliveries.{name} = :{name}" for name in whose]
    if named:
        conditions.append(f"deliveries.status in ({', '.join(f':{name}' for name in named)})")
    rows = tx.all(
        f"select {_DELIVERY} from deliveries where {' and '.join(conditions)} and id < :before"
        f" and exists (select 1 from hooks where hooks.id = deliveries.hook_id and hooks.{_LIVE})"
        " order by id desc limit :limit",
        before=part.cursor or "dlv_~",
        limit=part.limit,
        **whose,
        **named,
    )
    return [DeliveryRow(*row) for row in rows]


def hurry(tx: Tx, delivery_id: str, now: float) -> bool:
    """Whether a delivery that waited is due now."""
    sql = "update deliveries set due_at = :now where id = :id and status = 'pending' and due_at > :now"
    return tx.run(sql, id=delivery_id, now=now) > 0


def hurry_all(tx: Tx, hook_id: str, first: str, now: float) -> int:
    """How many deliveries of events from the id `first` on waited for a retry, and are due now."""
    sql = (
        "update deliveries set due_at = :now where hook_id = :hook_id and status = 'pending' and due_at > :now"
        " and event_id >= :first"
    )
    return tx.run(sql, hook_id=hook_id, first=first, now=now)


def attempts(tx: Tx, delivery_id: str) -> list[AttemptRow]:
    rows = tx.all(f"select {_ATTEMPT} from delivery_attempts where delivery_id = :id order by number", id=delivery_id)
    return [AttemptRow(*row) for row in rows]


def durations(tx: Tx, delivery_ids: Sequence[str]) -> dict[str, int]:
    """The milliseconds of the last attempt at each of these deliveries."""
    if not delivery_ids:
        return {}
    named: dict[str, Value] = {f"id_{number}": one for number, one in enumerate(delivery_ids)}
    rows = tx.all(
        "select delivery_id, duration_ms from delivery_attempts"
        f" where delivery_id in ({', '.join(f':{name}' for name in named)}) order by number",
        **named,
    )
    return {str(delivery_id): int(milliseconds) for delivery_id, milliseconds in rows}


def add_attempt(tx: Tx, row: AttemptRow) -> None:
    insert(tx, "delivery_attempts", msgspec.structs.asdict(row))


def list_missed(tx: Tx, row: HookRow, first: str, most: int) -> list[Event]:
    """The oldest events from the id `first` on that are for the subscription, never reached it and do not wait."""
    kinds: dict[str, Value] = {f"kind_{number}": kind for number, kind in enumerate(row.events.split())}
    names = Event.__struct_fields__
    found = tx.all(
        f"select {', '.join(names)} from events where workspace_id = :workspace_id and id >= :first"
        f" and kind in ({', '.join(f':{name}' for name in kinds)})"
        " and not exists (select 1 from deliveries where deliveries.event_id = events.id"
        " and deliveries.hook_id = :hook_id and deliveries.status <> 'failed') order by number limit :most",
        workspace_id=row.workspace_id,
        hook_id=row.id,
        first=first,
        most=most,
        **kinds,
    )
    return [Event(*one) for one in found]


def prune(tx: Tx, before: str, most: int) -> int:
    """Forgets some of the attempts, of the ended deliveries and of the deleted subscriptions from before then."""
    values: dict[str, Value] = {"before": before, "most": most}
    old = "select delivery_id, number from delivery_attempts where started_at < :before order by started_at limit :most"
    gone = tx.run(f"delete from delivery_attempts where (delivery_id, number) in ({old})", **values)
    for condition in _OUTDATED:
        doomed = [row[0] for row in tx.all(f"select deliveries.id from deliveries {condition} limit :most", **values)]
        gone += len(doomed)
        _forget(tx, doomed)
    return gone + tx.run(
        "delete from hooks where status = 'deleted' and not exists"
        " (select 1 from deliveries where deliveries.hook_id = hooks.id)"
    )


_OUTDATED = (
    "where ended_at < :before",
    "join hooks on hooks.id = deliveries.hook_id where hooks.status in ('disabled', 'paused')"
    " and deliveries.status = 'pending' and deliveries.created_at < :before",
    "join hooks on hooks.id = deliveries.hook_id where hooks.status = 'deleted'"
    " and (deliveries.status <> 'sending' or deliveries.created_at < :before)",
)


def _forget(tx: Tx, delivery_ids: Sequence[str]) -> None:
    rows = [{"id": one} for one in delivery_ids]
    tx.many("delete from delivery_attempts where delivery_id = :id", list(rows))
    tx.many("delete from deliveries where id = :id", list(rows))


def _hook(row: Row) -> HookRow:
    # PostgreSQL's driver may hand out a view of its buffer.
    values: Row = (*row[:-1], bytes(row[-1]) if row[-1] is not None else None)
    return HookRow(*values)
