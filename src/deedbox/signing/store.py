"""Documents with their files, parties, signers and fields."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from deedbox.kernel.clock import moment
from deedbox.kernel.db import Row, Tx, Value
from deedbox.kernel.db.rows import insert
from deedbox.kernel.ids import new_id
from deedbox.signing.document import Document, Field, File, Filter, Party, Progress, Signer, Status

_COLUMNS = (
    "id, title, status, source, external_id, metadata, template_id, packet_id, bulk_send_id, message, language,"
    " signers_total, signers_signed, parties_total, parties_completed, seal, reminders, expires_at, created_at,"
    " updated_at, sent_at, completed_at, declined_at, voided_at, expired_at, decline, void, archive, verification_code,"
    " error"
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
    if wanted.signer_email is not None:
        conditions.append(
            "id in (select document_id from signers where workspace_id = :workspace_id and email = :signer_email)"
        )
        values["signer_email"] = wanted.signer_email
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
    return _whole(tx, rows)


def document(tx: Tx, workspace_id: str, document_id: str) -> Document | None:
    rows = tx.all(
        f"select {_COLUMNS} from documents where id = :id and workspace_id = :workspace_id",
        id=document_id,
        workspace_id=workspace_id,
    )
    return _whole(tx, rows)[0] if rows else None


def workspace_of(tx: Tx, document_id: str) -> str | None:
    row = tx.one("select workspace_id from documents where id = :id", id=document_id)
    return row[0] if row else None


def workspace_name(tx: Tx, workspace_id: str) -> str:
    row = tx.one("select name from workspaces where id = :id", id=workspace_id)
    return row[0] if row else ""


def add_document(tx: Tx, row: Mapping[str, Value]) -> None:
    insert(tx, "documents", row)


def change_document(
    tx: Tx, document_id: str, was: Status, changes: Mapping[str, Value], *, now: str, add: Iterable[str] = ()
) -> bool:
    """Whether the document was in this state and has been changed: the write is the check. `add` counts one more."""
    sets = [f"{name} = :new_{name}" for name in changes] + [f"{name} = {name} + 1" for name in add]
    values: dict[str, Value] = {f"new_{name}": value for name, value in changes.items()}
    sql = f"update documents set {', '.join([*sets, 'updated_at = :now'])} where id = :id and status = :was"
    return tx.run(sql, id=document_id, was=was, now=now, **values) > 0


def note_error(tx: Tx, document_id: str, error: str) -> None:
    """What keeps a document from being sealed."""
    tx.run("update documents set error = :error where id = :id and status = 'finalizing'", id=document_id, error=error)


def drop_draft(tx: Tx, document_id: str) -> bool:
    """Whether it was a draft, which is gone now with all its parts."""
    if not tx.one("select 1 from documents where id = :id and status = 'draft'", id=document_id):
        return False
    for table in ("fields", "signers", "parties", "document_files", "audit"):
        tx.run(f"delete from {table} where document_id = :id", id=document_id)
    return tx.run("delete from documents where id = :id and status = 'draft'", id=document_id) > 0


def wished_fields(tx: Tx, document_id: str) -> str:
    """The fields that the sender asked for, as JSON."""
    row = tx.one("select wanted from documents where id = :id", id=document_id)
    return row[0] if row else "[]"


def demands_timestamp(tx: Tx, document_id: str) -> bool:
    row = tx.one("select demand_timestamp from documents where id = :id", id=document_id)
    return bool(row and row[0])


def note_archive(tx: Tx, document_id: str, archive: str) -> None:
    """Where the archiving of the document stands, as JSON. It is no change of the document itself."""
    tx.run("update documents set archive = :archive where id = :id", id=document_id, archive=archive)


def never_archived(tx: Tx, after: tuple[str, str], most: int) -> list[tuple[str, str, str]]:
    """Workspace, id and time of documents whose archiving was never begun, completed after this time and id."""
    # Spelled as the index is: it has these and no others, so that there is nothing to pass over.
    rows = tx.all(
        "select workspace_id, id, completed_at from documents where status = 'completed'"
        """ and substr(archive, 1, 20) = '{"status":"disabled"' and (completed_at, id) > (:at, :id)"""
        " order by completed_at, id limit :most",
        at=after[0],
        id=after[1],
        most=most,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def by_verification_code(tx: Tx, code: str) -> tuple[str, str] | None:
    """Workspace and id of the document that a verification code belongs to."""
    row = tx.one("select workspace_id, id from documents where verification_code = :code", code=code)
    return (row[0], row[1]) if row else None


# whole documents


def _whole(tx: Tx, rows: Sequence[Row]) -> list[Document]:
    """The documents of these rows, their parts read for all of them at once."""
    ids = [row[0] for row in rows]
    files, parties, fields = _files(tx, ids), _parties(tx, ids), _fields(tx, ids)
    return [_document(row, files.get(row[0], []), parties.get(row[0], []), fields.get(row[0], [])) for row in rows]


def _parts(tx: Tx, sql: str, ids: Sequence[str]) -> list[Row]:
    if not ids:
        return []
    names = ", ".join(f":id{number}" for number in range(len(ids)))
    return tx.all(sql.format(ids=names), **{f"id{number}": one for number, one in enumerate(ids)})


def _files(tx: Tx, ids: Sequence[str]) -> dict[str, list[File]]:
    sql = (
        "select document_id, id, name, sha256, size_bytes, pages, position, removed from document_files"
        " where document_id in ({ids}) order by document_id, position"
    )
    found: dict[str, list[File]] = {}
    for owner, file_id, name, sha256, size_bytes, sizes, position, removed in _parts(tx, sql, ids):
        pages = len(msgspec.json.decode(sizes))
        file = File(file_id, name, sha256, size_bytes, pages, position, msgspec.json.decode(removed))
        found.setdefault(owner, []).append(file)
    return found


def _parties(tx: Tx, ids: Sequence[str]) -> dict[str, list[Party]]:
    signers: dict[str, list[Signer]] = {}
    sql = (
        "select id, party_id, name, email, language, auth, status, notified_at, viewed_at, signed_at, declined_at,"
        " decline_reason from signers where document_id in ({ids}) order by document_id, id"
    )
    for row in _parts(tx, sql, ids):
        signers.setdefault(row[1], []).append(Signer(*row))
    sql = (
        "select document_id, id, name, position, rule, quorum, on_decline, status, completed_at from parties"
        " where document_id in ({ids}) order by document_id, position, id"
    )
    found: dict[str, list[Party]] = {}
    for owner, party_id, name, order, rule, quorum, on_decline, status, completed_at in _parts(tx, sql, ids):
        members = signers.get(party_id, [])
        party = Party(party_id, name, order, rule, quorum, on_decline, status, members, completed_at)
        found.setdefault(owner, []).append(party)
    return found


def _fields(tx: Tx, ids: Sequence[str]) -> dict[str, list[Field]]:
    sql = (
        "select document_id, id, file_id, signer_id, party_id, type, page, x, y, w, h, required, label, default_value,"
        " options, value from fields where document_id in ({ids}) order by document_id, id"
    )
    found: dict[str, list[Field]] = {}
    for owner, *rest in _parts(tx, sql, ids):
        rest[10], rest[13] = bool(rest[10]), msgspec.json.decode(rest[13])
        found.setdefault(owner, []).append(Field(*rest))
    return found


def _first_id(begin: datetime) -> str:
    """The least id of this moment: a document's id and `created_at` are made of the same, so ids bound the search."""
    return new_id("doc", max(begin, _EPOCH), bytes)


def folded(title: str) -> str:
    """The title as it is searched: SQL's own `lower` knows ASCII only, depending on the database."""
    return title.casefold()


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _document(row: Row, files: list[File], parties: list[Party], fields: list[Field]) -> Document:
    # Value objects are stored as the JSON that the API shows: passed on as they are, never decoded to be encoded again.
    (id, title, status, source, external_id, metadata, template_id, packet_id, bulk_send_id, message, language,
     signers_total, signers_signed, parties_total, parties_completed, seal, reminders, expires_at, created_at,
     updated_at, sent_at, completed_at, declined_at, voided_at, expired_at, decline, void, archive,
     code, error) = row  # fmt: skip
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
        files,
        parties,
        fields,
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
        error,
    )
