"""The events table."""

from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.db.rows import insert_all
from deedbox.kernel.outbox.event import Event

_COLUMNS = "id, workspace_id, kind, subject_id, sequence, data, created_at, line"


def add(tx: Tx, events: Sequence[Event]) -> list[Event]:
    """The events, each with its number among those of its subject."""
    if len(events) == 1:
        return [_add_one(tx, events[0])]
    last = _last_numbers(tx, {event.subject_id for event in events})
    numbered = []
    for event in events:
        last[event.subject_id] += 1
        numbered.append(msgspec.structs.replace(event, sequence=last[event.subject_id]))
    insert_all(tx, "events", [msgspec.structs.asdict(event) for event in numbered])
    return numbered


def _add_one(tx: Tx, event: Event) -> Event:
    """As `add`, by one statement."""
    row = tx.one(
        f"insert into events ({_COLUMNS})"
        " select :id, :workspace_id, :kind, :subject_id, coalesce(max(sequence), 0) + 1, :data, :created_at, :line"
        " from events where subject_id = :subject_id returning sequence",
        id=event.id,
        workspace_id=event.workspace_id,
        kind=event.kind,
        subject_id=event.subject_id,
        data=event.data,
        created_at=event.created_at,
        line=event.line,
    )
    return msgspec.structs.replace(event, sequence=int(row[0]) if row else 1)


def _last_numbers(tx: Tx, subject_ids: Collection[str]) -> Counter[str]:
    """The number of each subject's last event; 0 of those that have none."""
    named = {f"id{number}": one for number, one in enumerate(subject_ids)}
    sql = "select subject_id, max(sequence) from events where subject_id in ({ids}) group by subject_id"
    rows = tx.all(sql.format(ids=":" + ", :".join(named)), **named) if named else []
    return Counter({row[0]: row[1] for row in rows})


def place(tx: Tx, workspace_id: str) -> None:
    """Gives the events that have none yet a place in the workspace's feed, behind all that have one.

    Not when they are written: of two transactions the one with the earlier id may commit later, and a reader that
    had passed it would never see it."""
    # No other may place at the same time; the row's references are not disturbed by this lock.
    lock = "for no key update" if tx.dialect == "postgres" else ""
    tx.one(f"select id from workspaces where id = :id {lock}", id=workspace_id)
    # The database numbers events as they are written, those of one transaction in the order in which it emitted them.
    unplaced = tx.all(
        "select id from events where workspace_id = :workspace_id and position is null order by number limit :most",
        workspace_id=workspace_id,
        most=limits.FEED_PLACED,
    )
    if unplaced:
        last = tx.one("select coalesce(max(position), 0) from events where workspace_id = :id", id=workspace_id)
        start = int(last[0]) if last else 0
        rows = [{"id": row[0], "position": start + number} for number, row in enumerate(unplaced, 1)]
        tx.many("update events set position = :position where id = :id", list(rows))


def is_in_feed(tx: Tx, workspace_id: str, event_id: str) -> bool | None:
    """Whether the event has a place in the feed; None if the workspace has no such event."""
    sql = "select position is not null from events where id = :id and workspace_id = :workspace_id"
    row = tx.one(sql, id=event_id, workspace_id=workspace_id)
    return bool(row[0]) if row else None


def after(tx: Tx, workspace_id: str, event_id: str | None, most: int, kinds: Collection[str] = ()) -> list[Event]:
    """Return the workspace's placed events after the given one, or from the first; only those kinds, if any are named.

    Each kind is one range of its index, so a rare kind is found without reading the events of the others."""
    named = {f"kind{number}": kind for number, kind in enumerate(kinds)}
    ranges = [
        f"select * from (select {_COLUMNS}, position from events where workspace_id = :workspace_id {condition}"
        " and position > coalesce((select position from events where id = :id), 0)"
        " order by position limit :most) as one_kind"
        for condition in ([f"and kind = :{name}" for name in named] or [""])
    ]
    rows = tx.all(
        f"select {_COLUMNS} from ({' union all '.join(ranges)}) as found order by position limit :most",
        workspace_id=workspace_id,
        id=event_id,
        most=most,
        **named,
    )
    return [Event(*row) for row in rows]
