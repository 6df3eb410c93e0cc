"""What the figures are counted from: documents and their kept days, queries by day, and the bytes of files as they
were measured."""

from typing import NamedTuple

from deedbox.kernel import limits
from deedbox.kernel.db import Tx

_SENT = """
select substr(sent_at, 1, 10), count(*) from documents
where workspace_id = :id and sent_at >= :since and sent_at < :until group by 1
"""
_COMPLETED = """
select sent_at, completed_at from documents
where workspace_id = :id and completed_at >= :since and completed_at < :until and sent_at is not null
"""
_DOCUMENT_BYTES = """
with owners (id) as (
    select id from documents where workspace_id = :id
    union all select id from packets where workspace_id = :id
    union all select id from templates where workspace_id = :id
    union all select 'attachment:' || kept_attachments.field_id || ':' || kept_attachments.signer_id
        from kept_attachments join fields on fields.id = kept_attachments.field_id
        join documents on documents.id = fields.document_id where documents.workspace_id = :id
)
select coalesce(sum(size_bytes), 0) from blobs where sha256 in (
    select sha256 from owners join blob_refs on blob_refs.owner = owners.id)
"""
_LIBRARY_BYTES = """
select coalesce(sum(size_bytes), 0) from blobs where sha256 in (
    select sha256 from uploads where workspace_id = :id
    union select text_sha256 from extractions where workspace_id = :id)
"""
_KEEP = """
insert into storage_days (workspace_id, day, document_bytes, library_bytes, measured_at)
values (:id, :day, :document_bytes, :library_bytes, :now)
on conflict (workspace_id, day) do update set document_bytes = excluded.document_bytes,
    library_bytes = excluded.library_bytes, measured_at = excluded.measured_at
"""
_PRUNE = """
delete from {table} where (workspace_id, day) in (
    select workspace_id, day from {table} where day < :before order by day limit :most)
"""


class StoredUsage(NamedTuple):
    document_bytes: int
    library_bytes: int
    measured_at: str


def sent(tx: Tx, workspace_id: str, since: str, until: str) -> dict[str, int]:
    """Documents sent from one day to before another, by day."""
    return {day: int(number) for day, number in tx.all(_SENT, id=workspace_id, since=since, until=until)}


def list_completions(tx: Tx, workspace_id: str, since: str, until: str) -> list[tuple[str, str]]:
    """When each document that was completed from one day to before another was sent, and completed."""
    return [(row[0], row[1]) for row in tx.all(_COMPLETED, id=workspace_id, since=since, until=until)]


def first_move(tx: Tx, workspace_id: str, since: str) -> str | None:
    """When the first document since this day was sent or completed."""
    sql = (
        "select min(at) from (select min(sent_at) as at from documents where workspace_id = :id and sent_at >= :since"
        " union all select min(completed_at) from documents where workspace_id = :id and completed_at >= :since) moves"
    )
    row = tx.one(sql, id=workspace_id, since=since)
    return row[0] if row else None


def kept_days(tx: Tx, workspace_id: str, since: str) -> list[tuple[str, int, str]]:
    """Each kept day since this one, how many documents were sent on it, and the times to sign as JSON."""
    sql = "select day, sent, sign_seconds from document_days where workspace_id = :id and day >= :since"
    return [(row[0], int(row[1]), row[2]) for row in tx.all(sql, id=workspace_id, since=since)]


def latest_day(tx: Tx, workspace_id: str) -> str | None:
    row = tx.one("select max(day) from document_days where workspace_id = :id", id=workspace_id)
    return row[0] if row else None


def keep_day(tx: Tx, workspace_id: str, day: str, sent: int, sign_seconds: str) -> None:
    tx.run(
        "insert into document_days (workspace_id, day, sent, sign_seconds) values (:id, :day, :sent, :seconds)",
        id=workspace_id,
        day=day,
        sent=sent,
        seconds=sign_seconds,
    )


def forget_days(tx: Tx, workspace_id: str, since: str) -> None:
    """Put off, so that many documents of one transaction ask once."""
    tx.later("delete from document_days where workspace_id = :id and day >= :since", id=workspace_id, since=since)


def queries(tx: Tx, workspace_id: str, first: str, length: int) -> dict[str, dict[int, int]]:
    """How many queries took how long, by slot and bucket."""
    rows = tx.all(
        "select substr(day, 1, :length), bucket, sum(queries) from query_days"
        " where workspace_id = :id and day >= :first group by 1, 2",
        id=workspace_id,
        first=first,
        length=length,
    )
    found: dict[str, dict[int, int]] = {}
    for slot, bucket, number in rows:
        found.setdefault(slot, {})[int(bucket)] = int(number)
    return found


def storage(tx: Tx, workspace_id: str, first: str, length: int) -> dict[str, StoredUsage]:
    """What was measured last in each slot."""
    rows = tx.all(
        "select day, document_bytes, library_bytes, measured_at from storage_days"
        " where workspace_id = :id and day >= :first order by day",
        id=workspace_id,
        first=first,
    )
    return {day[:length]: StoredUsage(*measured) for day, *measured in rows}


def last_storage(tx: Tx, workspace_id: str) -> StoredUsage | None:
    row = tx.one(
        "select document_bytes, library_bytes, measured_at from storage_days"
        " where workspace_id = :id order by day desc limit 1",
        id=workspace_id,
    )
    return StoredUsage(*row) if row else None


def workspaces(tx: Tx) -> list[str]:
    return [row[0] for row in tx.all("select id from workspaces order by id")]


def stored_bytes(tx: Tx, workspace_id: str) -> tuple[int, int]:
    """Bytes of the workspace's documents and of its library, each content once."""
    found = (tx.one(sql, id=workspace_id) for sql in (_DOCUMENT_BYTES, _LIBRARY_BYTES))
    documents, library = (int(row[0]) if row else 0 for row in found)
    return documents, library


def keep_storage(tx: Tx, workspace_id: str, day: str, measured: StoredUsage) -> None:
    tx.run(
        _KEEP,
        id=workspace_id,
        day=day,
        document_bytes=measured.document_bytes,
        library_bytes=measured.library_bytes,
        now=measured.measured_at,
    )


def prune(tx: Tx, before: str) -> int:
    """Forgets days before this one, some at a time."""
    return sum(
        tx.run(_PRUNE.format(table=table), before=before, most=limits.PRUNE_ROWS)
        for table in ("query_days", "storage_days", "document_days")
    )
