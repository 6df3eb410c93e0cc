"""The documents table."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from deedbox.kernel.clock import moment
from deedbox.kernel.db import Row, Tx, Value
from deedbox.kernel.ids import new_id
from deedbox.signing.document import Document, Filter, Progress

_COLUMNS = (
    "id, title, status, source, external_id, metadata, template_id, packet_id, bulk_send_id, message, language,"
    " signers_total, signers_signed, parties_total, parties_completed, seal, reminders, expires_at, created_at,"
    " updated_at, sent_at, completed_at, declined_at, voided_at, expired_at, decline, void, archive, verification_code"
)
_EPOCH = datetime.fromtimestamp(0, UTC)
_EQUAL = ("status", "packet_id", "bulk_send_id", "template_id", "external_id")


def documents(
    tx: Tx, workspace_id: str, wanted: Filter, limit: int, cursor: str | None, newest_first: bool
) -> list[Document]:
    conditions = ["workspace_id = :workspace_id"]
    values: dict[str, Value] = {"workspace_id": workspace_id, "limit": limit}
    for name in _EQUAL:
        if (value := getattr(wanted, name)) is not None:
            conditions.append(f"{name} = :{name}")
            values[name] = value
    if wanted.q is not None:
        conditions.append("title_folded like :q escape '\\'")
        values["q"] = f"%{_literal(folded(wanted.q))}%"
    if wanted.created_after is not None:
        conditions.append("created_at > :created_after and id >= :first_after")
        values["created_after"] = wanted.created_after
        values["first_after"] = _first_id(moment(wanted.created_after))
    if wanted.created_before is not None:
        conditions.append("created_at < :created_before and id < :first_before")
        values["created_before"] = wanted.created_before
        values["first_before"] = _first_id(moment(wanted.created_before))
    if cursor is not None:
        conditions.append(f"id {'<' if newest_first else '>'} :cursor")
        values["cursor"] = cursor
    order = "desc" if newest_first else "asc"
    # In two steps: what does not match is passed over in the index, without a look at the table.
    found = f"select id from documents where {' and '.join(conditions)} order by id {order} limit :limit"
    rows = tx.all(f"select {_COLUMNS} from documents where id in ({found}) order by id {order}", **values)
    return [_document(row) for row in rows]


def _first_id(begin: datetime) -> str:
    """The least id of this moment: a document's id and `created_at` are made of the same, so ids bound the search."""
    return new_id("doc", max(begin, _EPOCH), bytes)


def folded(title: str) -> str:
    """The title as it is searched: SQL's own `lower` knows ASCII only, depending on the database."""
    return title.casefold()


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _document(row: Row) -> Document:
    # Value objects are stored as the JSON that the API shows: passed on as they are, never decoded to be encoded again.
    (id, title, status, source, external_id, metadata, template_id, packet_id, bulk_send_id, message, language,
     signers_total, signers_signed, parties_total, parties_completed, seal, reminders, expires_at, created_at,
     updated_at, sent_at, completed_at, declined_at, voided_at, expired_at, decline, void, archive,
     code) = row  # fmt: skip
    raw: Any = msgspec.Raw
    return Document(
        id,
        "document",
        title,
        status,
        source,
        external_id,
        raw(metadata.encode()),
        template_id,
        packet_id,
        bulk_send_id,
        message and raw(message.encode()),
        language,
        [],
        [],
        [],
        Progress(signers_total, signers_signed, parties_total, parties_completed),
        seal and raw(seal.encode()),
        reminders and raw(reminders.encode()),
        expires_at,
        created_at,
        updated_at,
        sent_at,
        completed_at,
        declined_at,
        voided_at,
        expired_at,
        decline and raw(decline.encode()),
        void and raw(void.encode()),
        raw(archive.encode()),
        code,
    )
