"""What the figures are counted from: documents, queries by day, and the bytes of files as they were measured."""

from typing import NamedTuple

from deedbox.kernel import limits
from deedbox.kernel.db import Tx

_PER_SLOT = """
select substr({at}, 1, :length) as slot, count(*) from documents
where workspace_id = :id and sent_at is not null and {at} >= :first group by 1
"""
_SECONDS = {
    "sqlite": "strftime('%s', completed_at) - strftime('%s', sent_at)",
    "postgres": "extract(epoch from completed_at::timestamptz - sent_at::timestamptz)::bigint",
}
# The middle of each slot's times, or the mean of the two in the middle.
_MEDIANS = """
with times as (
    select substr(completed_at, 1, :length) as slot, {seconds} as seconds from documents
    where workspace_id = :id and sent_at is not null and completed_at >= :first
), placed as (
    select slot, seconds, row_number() over (partition by slot order by seconds) as place,
        count(*) over (partition by slot) as many
    from times
)
select slot, avg(seconds) from placed where place in ((many + 1) / 2, (many + 2) / 2) group by slot
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


class Stored(NamedTuple):
    document_bytes: int
    library_bytes: int
    measured_at: str


def sent(tx: Tx, workspace_id: str, first: str, length: int) -> dict[str, int]:
    """Documents sent since the first day or month, by the first so many letters of when."""
    rows = tx.all(_PER_SLOT.format(at="sent_at"), id=workspace_id, first=first, length=length)
    return dict(rows)


def completed(tx: Tx, workspace_id: str, first: str, length: int) -> dict[str, int]:
    """The same of documents completed."""
    rows = tx.all(_PER_SLOT.format(at="completed_at"), id=workspace_id, first=first, length=length)
    return dict(rows)


def sign_seconds(tx: Tx, workspace_id: str, first: str, length: int) -> dict[str, int]:
    """The median time from sending to completion, of those completed; of all at once under '' where length is 0."""
    sql = _MEDIANS.format(seconds=_SECONDS[tx.dialect])
    return {slot: round(median) for slot, median in tx.all(sql, id=workspace_id, first=first, length=length)}


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


def storage(tx: Tx, workspace_id: str, first: str, length: int) -> dict[str, Stored]:
    """What was measured last in each slot."""
    rows = tx.all(
        "select day, document_bytes, library_bytes, measured_at from storage_days"
        " where workspace_id = :id and day >= :first order by day",
        id=workspace_id,
        first=first,
    )
    return {day[:length]: Stored(*measured) for day, *measured in rows}


def last_storage(tx: Tx, workspace_id: str) -> Stored | None:
    row = tx.one(
        "select document_bytes, library_bytes, measured_at from storage_days"
        " where workspace_id = :id order by day desc limit 1",
        id=workspace_id,
    )
    return Stored(*row) if row else None


def workspaces(tx: Tx) -> list[str]:
    return [row[0] for row in tx.all("select id from workspaces order by id")]


def stored_bytes(tx: Tx, workspace_id: str) -> tuple[int, int]:
    """Bytes of the workspace's documents and of its library, each content once."""
    found = (tx.one(sql, id=workspace_id) for sql in (_DOCUMENT_BYTES, _LIBRARY_BYTES))
    documents, library = (int(row[0]) if row else 0 for row in found)
    return documents, library


def keep_storage(tx: Tx, workspace_id: str, day: str, measured: Stored) -> None:
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
        for table in ("query_days", "storage_days")
    )
