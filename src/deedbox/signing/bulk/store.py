"""The tables of bulk sends and their rows. A row leaves `queued` in the transaction that makes its document."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from deedbox.kernel.db import Row as DbRow
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.db.rows import insert, insert_all
from deedbox.kernel.errors import Conflict
from deedbox.signing import limits
from deedbox.signing.bulk.model import (
    BulkSend,
    BulkUpload,
    CheckedRow,
    ColumnChoice,
    Common,
    Counts,
    KeptReport,
    Row,
    RowStatus,
)

_COUNTS = Counts.__struct_fields__
_PLAIN = (
    "id", "workspace_id", "name", "template_id", "template_version", "status", "rows_per_minute", "actor", "round",
    "next_at", "created_at", "updated_at", "completed_at", "canceled_at",
)  # fmt: skip
_BULK_SEND = ", ".join([*_PLAIN, "common", *_COUNTS])
_ROW = "number, row_key, status, document_id, error"
_COMMON = msgspec.json.Decoder(Common)
_UPLOAD = "id, workspace_id, template_id, file_name, choice, report, created_at"
_CHOICE, _REPORT = msgspec.json.Decoder(ColumnChoice), msgspec.json.Decoder(KeptReport)


class KnownRow(NamedTuple):
    """What is known of a row that came before."""

    number: int
    status: RowStatus
    digest: str
    document_id: str | None


class QueuedRow(NamedTuple):
    number: int
    key: str
    content: bytes


class RowOutcome(NamedTuple):
    """What became of a row: the document, or why there is none."""

    number: int
    document_id: str | None = None
    error: str | None = None


# bulk sends


def find(tx: Tx, workspace_id: str, bulk_send_id: str) -> BulkSend | None:
    sql = f"select {_BULK_SEND} from bulk_sends where id = :id and workspace_id = :workspace_id"
    row = tx.one(sql, id=bulk_send_id, workspace_id=workspace_id)
    return _bulk_send(row) if row else None


def find_by_name(tx: Tx, workspace_id: str, template_id: str, name: str) -> BulkSend | None:
    """The one bulk send of this name from this template."""
    sql = (
        f"select {_BULK_SEND} from bulk_sends where workspace_id = :workspace_id and template_id = :template_id"
        " and name = :name"
    )
    row = tx.one(sql, workspace_id=workspace_id, template_id=template_id, name=name)
    return _bulk_send(row) if row else None


def page(tx: Tx, workspace_id: str, limit: int, before: str | None) -> list[BulkSend]:
    """The workspace's bulk sends, newest first."""
    sql = (
        f"select {_BULK_SEND} from bulk_sends where workspace_id = :workspace_id and id < :before"
        " order by id desc limit :limit"
    )
    rows = tx.all(sql, workspace_id=workspace_id, before=before or "blk_~", limit=limit)
    return [_bulk_send(row) for row in rows]


def add(tx: Tx, bulk_send: BulkSend) -> None:
    insert(tx, "bulk_sends", _values(bulk_send))


def change(tx: Tx, before: BulkSend, after: BulkSend) -> None:
    """Writes what differs. Conflict when it was changed since: the write is the check."""
    old, new = _values(before), _values(after)
    changes = {name: value for name, value in new.items() if value != old[name]}
    sets = ", ".join(f"{name} = :new_{name}" for name in changes)
    seen = {name: old[name] for name in ("id", "status", "round", "queued", "failed")}
    same = " and ".join(f"{name} = :{name}" for name in seen)
    values = {f"new_{name}": value for name, value in changes.items()}
    if changes and not tx.run(f"update bulk_sends set {sets} where {same}", **seen, **values):
        raise Conflict("The bulk send was changed at this very moment. Look at it and try again.")


# rows


def add_rows(tx: Tx, bulk_send_id: str, rows: Sequence[CheckedRow], first: int) -> None:
    """Adds the rows, queued, with numbers from the first on."""
    insert_all(
        tx,
        "bulk_rows",
        [
            {
                "bulk_send_id": bulk_send_id,
                "number": number,
                "row_key": row.key,
                "digest": row.digest,
                "status": "queued",
                "content": row.content,
            }
            for number, row in enumerate(rows, first)
        ],
    )


def known_rows(tx: Tx, bulk_send_id: str) -> dict[str, KnownRow]:
    """All rows, by their keys."""
    sql = "select row_key, number, status, digest, document_id from bulk_rows where bulk_send_id = :id"
    return {row[0]: KnownRow(*row[1:]) for row in tx.all(sql, id=bulk_send_id)}


def queue_again(tx: Tx, bulk_send_id: str, rows: Sequence[CheckedRow]) -> None:
    """Rows that were not sent are queued again, as they came now."""
    again: list[Mapping[str, Value]] = [
        {"id": bulk_send_id, "row_key": row.key, "digest": row.digest, "content": row.content} for row in rows
    ]
    if again:
        tx.many(
            "update bulk_rows set status = 'queued', error = null, digest = :digest, content = :content"
            " where bulk_send_id = :id and row_key = :row_key and status in ('failed', 'canceled')",
            again,
        )


def next_rows(tx: Tx, bulk_send_id: str, most: int) -> list[QueuedRow]:
    """The next rows to send."""
    rows = tx.all(
        "select number, row_key, content from bulk_rows where bulk_send_id = :id and status = 'queued'"
        " order by number limit :most",
        id=bulk_send_id,
        most=most,
    )
    return [QueuedRow(row[0], row[1], bytes(row[2])) for row in rows]


def all_in_queue(tx: Tx, bulk_send_id: str, numbers: Sequence[int]) -> bool:
    """Whether all of these rows still wait to be sent."""
    named = {f"n{place}": number for place, number in enumerate(numbers)}
    row = tx.one(
        "select count(*) from bulk_rows where bulk_send_id = :id and status = 'queued'"
        f" and number in ({', '.join(':' + name for name in named)})",
        id=bulk_send_id,
        **named,
    )
    return row is not None and row[0] == len(numbers)


def settle(tx: Tx, bulk_send_id: str, outcomes: Sequence[RowOutcome]) -> None:
    """What became of queued rows. Of one that is sent, what it said is forgotten."""
    sent: list[Mapping[str, Value]] = []
    failed: list[Mapping[str, Value]] = []
    for one in outcomes:
        key: dict[str, Value] = {"id": bulk_send_id, "number": one.number}
        if one.document_id is not None:
            sent.append({**key, "document_id": one.document_id})
        else:
            failed.append({**key, "error": one.error})
    where = "where bulk_send_id = :id and number = :number and status = 'queued'"
    if sent:
        tx.many(f"update bulk_rows set status = 'sent', document_id = :document_id, content = null {where}", sent)
    if failed:
        tx.many(f"update bulk_rows set status = 'failed', error = :error {where}", failed)


def move_rows(tx: Tx, bulk_send_id: str, before: RowStatus, after: RowStatus) -> int:
    """All rows of one status get another; how many."""
    sql = "update bulk_rows set status = :after, error = null where bulk_send_id = :id and status = :before"
    return tx.run(sql, id=bulk_send_id, before=before, after=after)


def rows(tx: Tx, bulk_send_id: str, status: RowStatus | None, after: int, most: int) -> list[Row]:
    """Rows behind the one of this number, of one status or of any."""
    of_status = "and status = :status" if status else ""
    sql = (
        f"select {_ROW} from bulk_rows where bulk_send_id = :id and number > :after {of_status}"
        " order by number limit :most"
    )
    given = {"status": status} if status else {}
    return [Row(*row) for row in tx.all(sql, id=bulk_send_id, after=after, most=most, **given)]


# files whose columns are being named


def upload(tx: Tx, workspace_id: str, upload_id: str) -> BulkUpload | None:
    sql = f"select {_UPLOAD} from bulk_uploads where id = :id and workspace_id = :workspace_id"
    row = tx.one(sql, id=upload_id, workspace_id=workspace_id)
    if row is None:
        return None
    (id, workspace, template_id, file_name, choice, report, created_at) = row
    said, found = _CHOICE.decode(choice) if choice else None, _REPORT.decode(report) if report else None
    return BulkUpload(id, workspace, template_id, file_name, said, found, created_at)


def upload_content(tx: Tx, upload_id: str) -> bytes | None:
    """The file, encrypted."""
    row = tx.one("select content from bulk_uploads where id = :id", id=upload_id)
    return bytes(row[0]) if row else None


def add_upload(tx: Tx, upload: BulkUpload, encrypted: bytes) -> None:
    names = ("id", "workspace_id", "template_id", "file_name", "created_at")
    insert(tx, "bulk_uploads", {**{name: getattr(upload, name) for name in names}, "content": encrypted})


def change_upload(tx: Tx, upload_id: str, choice: ColumnChoice, report: KeptReport | None) -> None:
    sql = "update bulk_uploads set choice = :choice, report = :report where id = :id"
    told = msgspec.json.encode(report).decode() if report else None
    tx.run(sql, id=upload_id, choice=msgspec.json.encode(choice).decode(), report=told)


def drop_upload(tx: Tx, upload_id: str) -> None:
    tx.run("delete from bulk_uploads where id = :id", id=upload_id)


def drop_uploads_but(tx: Tx, workspace_id: str, newest: int) -> None:
    """Of the workspace's uploads only so many stay."""
    last = "select id from bulk_uploads where workspace_id = :workspace_id order by id desc limit 1 offset :newest"
    sql = f"delete from bulk_uploads where workspace_id = :workspace_id and id <= ({last})"
    tx.run(sql, workspace_id=workspace_id, newest=newest)


def prune_uploads(tx: Tx, before: str) -> int:
    """How many uploads from before that time are gone now."""
    old = "select id from bulk_uploads where created_at < :before limit :most"
    return tx.run(f"delete from bulk_uploads where id in ({old})", before=before, most=limits.BULK_UPLOADS)


def _bulk_send(row: DbRow) -> BulkSend:
    plain = dict(zip(_PLAIN, row, strict=False))
    common, counts = row[len(_PLAIN)], row[len(_PLAIN) + 1 :]
    return BulkSend(**plain, common=_COMMON.decode(common), counts=Counts(*counts))


def _values(bulk_send: BulkSend) -> dict[str, Value]:
    plain = {name: getattr(bulk_send, name) for name in _PLAIN}
    return {
        **plain,
        "common": msgspec.json.encode(bulk_send.common).decode(),
        **msgspec.structs.asdict(bulk_send.counts),
    }
