"""The tables of packets and documents: how they are found, added and changed."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from deedbox.kernel.db import Row, Tx, Value
from deedbox.kernel.db.rows import insert_all
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.signing.model import (
    Archive,
    ArchiveReceipt,
    Attachment,
    Decline,
    Document,
    DocumentFile,
    Field,
    Message,
    Packet,
    Party,
    Reminders,
    Seal,
    Void,
    WorkspaceBrand,
)
from deedbox.signing.store import people, sketches

_PACKET = (
    "lone", "sender", "company", "sender_email", "language", "message", "reminders", "expires_at",
    "expires_after_hours", "title", "external_id", "metadata", "completed_at", "certificate_sha256", "error",
)  # fmt: skip
_SENDER = {"sender": "coalesce(sender_name, name)", "company": "name", "sender_email": "sender_email"}
"""What a packet takes from its workspace, and how."""
_DOCUMENT = (
    "id", "workspace_id", "packet_id", "title", "status", "source", "external_id", "metadata", "files",
    "require_timestamp", "signed_input", "created_at", "updated_at", "template_id", "template_version",
    "bulk_send_id", "paper_sha256", "seal",
    "sent_at", "completed_at", "declined_at", "voided_at", "expired_at", "decline", "void", "verification_code",
    "error", "archive_status", "archive_attempts", "archived_at", "archive_receipt", "archive_error", "attachments",
    "asks_all",
)  # fmt: skip
_COLUMNS = ", ".join([f"d.{name}" for name in _DOCUMENT] + [f"p.{name}" for name in _PACKET])
_WHOLE = f"select {_COLUMNS} from documents d join packets p on p.id = d.packet_id"
_FILES = msgspec.json.Decoder(list[DocumentFile])
_METADATA = msgspec.json.Decoder(dict[str, str])
_MESSAGE, _REMINDERS = msgspec.json.Decoder(Message), msgspec.json.Decoder(Reminders)
_SEAL, _DECLINE, _VOID = msgspec.json.Decoder(Seal), msgspec.json.Decoder(Decline), msgspec.json.Decoder(Void)
_ATTACHMENTS, _NONE = msgspec.json.Decoder(list[Attachment]), "[]"
_RECEIPT = msgspec.json.Decoder(ArchiveReceipt)
_NOT_ARCHIVED = Archive()


# finding


def packet(tx: Tx, workspace_id: str, packet_id: str) -> Packet | None:
    sql = f"{_WHOLE} where d.packet_id = :id and d.workspace_id = :workspace_id order by d.position"
    return _only(_packets(tx, tx.all(sql, id=packet_id, workspace_id=workspace_id)))


def hold(tx: Tx, workspace_id: str, packet_id: str) -> None:
    """Lock the packet until the transaction ends: whoever acts on it reads it after this, so acts follow each other.

    An update, not `select for update`: a transaction that began before another's act then begins again."""
    if tx.dialect == "postgres":  # SQLite has one writer
        sql = "update packets set lone = lone where id = :id and workspace_id = :workspace_id"
        tx.run(sql, id=packet_id, workspace_id=workspace_id)


def hold_packet_of(tx: Tx, workspace_id: str, document_id: str) -> None:
    """Lock the packet that the document lies in, as `hold` does."""
    if tx.dialect == "postgres":
        sql = "update packets set lone = lone where id = (select packet_id from documents where id = :id)"
        tx.run(f"{sql} and workspace_id = :workspace_id", id=document_id, workspace_id=workspace_id)


def packets(tx: Tx, workspace_id: str, packet_ids: Sequence[str]) -> list[Packet]:
    """These packets of the workspace, whole and in this order."""
    if not packet_ids:
        return []
    named = {f"id{number}": one for number, one in enumerate(packet_ids)}
    sql = f"{_WHOLE} where d.packet_id in (:{', :'.join(named)}) and d.workspace_id = :workspace_id order by d.position"
    found = {one.id: one for one in _packets(tx, tx.all(sql, workspace_id=workspace_id, **named))}
    return [found[one] for one in packet_ids if one in found]


def packet_of(tx: Tx, workspace_id: str, document_id: str) -> Packet | None:
    """The packet that the document lies in."""
    sql = (
        f"{_WHOLE} where d.packet_id = (select packet_id from documents where id = :id and workspace_id ="
        " :workspace_id) order by d.position"
    )
    return _only(_packets(tx, tx.all(sql, id=document_id, workspace_id=workspace_id)))


def title_and_status(tx: Tx, workspace_id: str, document_id: str) -> tuple[str, str]:
    """For whoever needs nothing else of the document."""
    sql = "select title, status from documents where id = :id and workspace_id = :workspace_id"
    row = tx.one(sql, id=document_id, workspace_id=workspace_id)
    if row is None:
        raise NotFound("Document does not exist")
    return row[0], row[1]


def alone(tx: Tx, document_ids: Sequence[str]) -> list[tuple[Packet, Document]]:
    """These documents in this order, each with its packet; that holds no others here."""
    if not document_ids:
        return []
    named = {f"id{number}": one for number, one in enumerate(document_ids)}
    rows = tx.all(f"{_WHOLE} where d.id in (:{', :'.join(named)})", **named)
    found = {packet.first.id: packet for packet in _packets(tx, rows, together=False)}
    return [(found[one], found[one].first) for one in document_ids]


class InBrief(NamedTuple):
    """What the library says of a completed document."""

    title: str
    pages: int
    """With those of attachments."""
    verification_code: str
    signers: list[str]
    """The addresses of those who signed or approved."""


def in_brief(tx: Tx, document_id: str) -> InBrief:
    """The document for whoever needs nothing else of it."""
    sql = "select title, files, attachments, verification_code, packet_id from documents where id = :id"
    row = tx.one(sql, id=document_id)
    if row is None:
        raise NotFound("Document does not exist")
    files, attached = _FILES.decode(row[1]), _ATTACHMENTS.decode(row[2])
    pages = sum(file.pages for file in files) + sum(one.pages for one in attached)
    signed = tx.all("select email from signers where packet_id = :id and status = 'signed' order by email", id=row[4])
    return InBrief(row[0], pages, row[3] or "", [*dict.fromkeys(one[0] for one in signed)])


def verification_code(tx: Tx, document_id: str) -> str | None:
    row = tx.one("select verification_code from documents where id = :id", id=document_id)
    return row[0] if row else None


def by_verification_code(tx: Tx, code: str) -> tuple[str, str] | None:
    """Workspace and id of the document that a verification code belongs to."""
    row = tx.one("select workspace_id, id from documents where verification_code = :code", code=code)
    return (row[0], row[1]) if row else None


def brand(tx: Tx, workspace_id: str) -> WorkspaceBrand:
    row = tx.one("select name, accent, logo_sha256 from workspaces where id = :id", id=workspace_id)
    return WorkspaceBrand(*row) if row else WorkspaceBrand("")


def asked_fields(tx: Tx, document_id: str) -> str:
    """The fields that the sender asked for, as JSON."""
    row = tx.one("select asked_fields from documents where id = :id", id=document_id)
    return row[0] if row else "[]"


def asked_values(tx: Tx, document_id: str) -> dict[str, str]:
    """The values that the sender gave for fields, by their labels."""
    row = tx.one("select asked_values from documents where id = :id", id=document_id)
    return _METADATA.decode(row[0]) if row else {}


def paper_of(tx: Tx, workspace_id: str, document_id: str) -> str | None:
    """The hash of the PDF that its signers see; None if there is none, or no such document."""
    sql = "select paper_sha256 from documents where id = :id and workspace_id = :workspace_id"
    row = tx.one(sql, id=document_id, workspace_id=workspace_id)
    return row[0] if row else None


def is_paper(tx: Tx, sha256: str) -> bool:
    """Whether some document or template has this PDF as its paper."""
    sql = (
        "select 1 where exists (select 1 from documents where paper_sha256 = :sha256)"
        " or exists (select 1 from template_versions where paper_sha256 = :sha256)"
    )
    return tx.one(sql, sha256=sha256) is not None


def list_without_archive(tx: Tx, after: tuple[str, str], most: int) -> list[tuple[str, str, str]]:
    """Workspace, id and time of documents whose archiving was never begun, completed after this time and id."""
    # The index holds these and no others, so that there is nothing to pass over.
    rows = tx.all(
        "select workspace_id, id, completed_at from documents where status = 'completed'"
        " and archive_status = 'disabled' and (completed_at, id) > (:at, :id) order by completed_at, id limit :most",
        at=after[0],
        id=after[1],
        most=most,
    )
    return [(row[0], row[1], row[2]) for row in rows]


# adding and changing


def add(tx: Tx, packet: Packet, asked: Mapping[str, Sequence[msgspec.Struct]]) -> Packet:
    """The packet, stored with everything in it, now with its sender.

    `asked` are the fields that the sender asked for, by document."""
    row = _new_packet_row(packet)
    sender = tx.one(f"{_new_packet_sql(row)} returning {', '.join(_SENDER)}", **row)
    if sender is None:
        raise NotFound("Workspace does not exist")
    _add_parts(tx, [packet], asked)
    return _sent_by(packet, sender)


def add_all(tx: Tx, packets: Sequence[Packet], asked: Mapping[str, Sequence[msgspec.Struct]]) -> list[Packet]:
    """As `add`, for many packets of one workspace: as many statements, whatever their number."""
    if not packets:
        return []
    rows: list[Mapping[str, Value]] = [_new_packet_row(packet) for packet in packets]
    tx.many(_new_packet_sql(rows[0]), rows)
    sender = tx.one(f"select {', '.join(_SENDER)} from packets where id = :id", id=packets[0].id)
    if sender is None:
        raise NotFound("Workspace does not exist")
    _add_parts(tx, packets, asked)
    return [_sent_by(packet, sender) for packet in packets]


def _new_packet_row(packet: Packet) -> dict[str, Value]:
    row = {**_packet_row(packet), "created_at": packet.first.created_at}
    return {name: value for name, value in row.items() if name not in _SENDER}


def _new_packet_sql(row: Mapping[str, Value]) -> str:
    names, values = ", ".join([*row, *_SENDER]), ", ".join([*(f":{name}" for name in row), *_SENDER.values()])
    return f"insert into packets ({names}) select {values} from workspaces where id = :workspace_id"


def _add_parts(tx: Tx, packets: Sequence[Packet], asked: Mapping[str, Sequence[msgspec.Struct]]) -> None:
    insert_all(
        tx,
        "documents",
        [
            {
                **_document_row(document),
                "title_folded": fold_title(document.title),
                "position": position,
                "asked_fields": _json(asked[document.id]),
            }
            for packet in packets
            for position, document in enumerate(packet.documents)
        ],
    )
    people.add_parties(tx, *packets)
    people.add_fields(tx, *(document for packet in packets for document in packet.documents))


def take_sender(tx: Tx, packet: Packet) -> Packet:
    """The packet, stored with its sender as the workspace has it now."""
    taken = {name: f"(select {how} from workspaces where id = :workspace_id)" for name, how in _SENDER.items()}
    sets = ", ".join(f"{name} = {value}" for name, value in taken.items())
    sender = tx.one(
        f"update packets set {sets} where id = :id returning {', '.join(_SENDER)}",
        id=packet.id,
        workspace_id=packet.workspace_id,
    )
    if sender is None:
        raise NotFound("Document does not exist")
    return _sent_by(packet, sender)


def change(tx: Tx, before: Packet, after: Packet) -> None:
    """Writes what differs. Conflict when a row is no longer in the state it was in before: the write is the check."""
    changes = _difference(_packet_row(before), _packet_row(after))
    if changes:
        _update(tx, "packets", "id = :key", {"key": before.id}, changes)
    for old, new in zip(before.documents, after.documents, strict=True):
        change_document(tx, old, new)
    people.change_people(tx, before, after)


def change_document(tx: Tx, before: Document, after: Document) -> None:
    """Writes what differs in the document's own row, as `change` does."""
    if after is before:
        return
    changes = _difference(_document_row(before), _document_row(after))
    if "title" in changes:
        changes["title_folded"] = fold_title(after.title)
    if changes and not _update(
        tx, "documents", "id = :key and status = :was", {"key": before.id, "was": before.status}, changes
    ):
        raise Conflict("The document was changed at this very moment. Look at it and try again.")


def ask_fields(tx: Tx, document_id: str, fields: Sequence[msgspec.Struct]) -> None:
    """Keeps what the sender asks for instead."""
    tx.run("update documents set asked_fields = :fields where id = :id", id=document_id, fields=_json(fields))


def ask_values(tx: Tx, document_id: str, values: Mapping[str, str]) -> None:
    """Keeps the values that the sender gives for fields, by their labels."""
    tx.run("update documents set asked_values = :given where id = :id", id=document_id, given=_json(values))


def note_error(tx: Tx, document_id: str, error: str) -> None:
    """What keeps a document from being sealed."""
    tx.run("update documents set error = :error where id = :id and status = 'finalizing'", id=document_id, error=error)


def note_packet_error(tx: Tx, packet_id: str, error: str) -> None:
    """What keeps a packet, whose documents are all sealed, from being certified as a whole."""
    tx.run("update packets set error = :error where id = :id", id=packet_id, error=error)


def note_archive(tx: Tx, document_id: str, archive: Archive) -> None:
    """Where the archiving of the document stands. It is no change of the document itself."""
    _update(tx, "documents", "id = :key", {"key": document_id}, _archive_row(archive))


def drop(tx: Tx, packet: Packet) -> bool:
    """Whether none of its documents was ever sent: they are gone now with all their parts."""
    names = {f"id{number}": document.id for number, document in enumerate(packet.documents)}
    ids = ", ".join(f":{name}" for name in names)
    people.drop_fields(tx, packet.documents)
    people.drop_parties(tx, packet)
    sketches.drop(tx, *names.values())
    tx.run(f"delete from audit where document_id in ({ids})", **names)
    dropped = tx.run(f"delete from documents where id in ({ids}) and status in ('draft', 'failed')", **names)
    return dropped == len(names) and tx.run("delete from packets where id = :id", id=packet.id) > 0


def fold_title(title: str) -> str:
    """The title as it is searched: SQL's own `lower` knows ASCII only, depending on the database."""
    return title.casefold()


# rows


def _packets(tx: Tx, rows: Sequence[Row], *, together: bool = True) -> list[Packet]:
    """The packets of these rows, their parts read for all of them at once; not together, each row has one alone."""
    parties = people.parties(tx, {row[2] for row in rows})
    fields = people.fields(tx, [row[0] for row in rows])
    found: dict[str, Packet] = {}
    for row in rows:
        key = row[2] if together else row[0]
        document = _document(row, fields.get(row[0], []))
        if key not in found:
            found[key] = _packet(row, parties.get(row[2], []))
        found[key].documents.append(document)
    return list(found.values())


def _packet(row: Row, parties: list[Party]) -> Packet:
    (lone, sender, company, sender_email, language, message, reminders, expires_at, hours, title, external_id, metadata,
     completed_at, certificate, error) = row[len(_DOCUMENT) :]  # fmt: skip
    return Packet(
        row[2],
        row[1],
        bool(lone),
        sender,
        company,
        sender_email,
        language,
        None if message is None else _MESSAGE.decode(message),
        None if reminders is None else _REMINDERS.decode(reminders),
        expires_at,
        parties,
        [],
        hours,
        title,
        external_id,
        {} if lone else _METADATA.decode(metadata),
        completed_at,
        certificate,
        error,
    )


def _sent_by(packet: Packet, sender: Row) -> Packet:
    return msgspec.structs.replace(packet, **dict(zip(_SENDER, sender, strict=True)))


def _document(row: Row, fields: list[Field]) -> Document:
    # By position: a list of documents is made of these, and by name it would take twice as long.
    (id, workspace_id, packet_id, title, status, source, external_id, metadata, files, require_timestamp, signed_input,
     created_at, updated_at, template_id, template_version, bulk_send_id, paper, seal, sent_at, completed_at,
     declined_at, voided_at, expired_at, decline, void, code, error, archive_status, attempts, archived_at, receipt,
     archive_error, attachments, asks_all) = row[: len(_DOCUMENT)]  # fmt: skip
    archive = _NOT_ARCHIVED
    if archive_status != "disabled" or attempts:
        kept = None if receipt is None else _RECEIPT.decode(receipt)
        archive = Archive(archive_status, attempts, archived_at, kept, archive_error)
    return Document(
        id,
        workspace_id,
        packet_id,
        title,
        status,
        source,
        external_id,
        _METADATA.decode(metadata),
        _FILES.decode(files),
        bool(require_timestamp),
        created_at,
        updated_at,
        fields,
        template_id,
        template_version,
        bulk_send_id,
        paper,
        None if seal is None else _SEAL.decode(seal),
        sent_at,
        completed_at,
        declined_at,
        voided_at,
        expired_at,
        None if decline is None else _DECLINE.decode(decline),
        None if void is None else _VOID.decode(void),
        code,
        error,
        archive,
        signed_input,
        [] if attachments == _NONE else _ATTACHMENTS.decode(attachments),
        bool(asks_all),
    )


def _packet_row(packet: Packet) -> dict[str, Value]:
    return {
        "id": packet.id,
        "workspace_id": packet.workspace_id,
        "lone": int(packet.lone),
        "sender": packet.sender,
        "company": packet.company,
        "sender_email": packet.sender_email,
        "language": packet.language,
        "message": _json_or_none(packet.message),
        "reminders": _json_or_none(packet.reminders),
        "expires_at": packet.expires_at,
        "expires_after_hours": packet.expires_after_hours,
        "title": packet.title,
        "title_folded": fold_title(packet.title),
        "external_id": packet.external_id,
        "metadata": _json(packet.metadata),
        # Nobody asks for that of a lone document: it would be written twice at each of its moves.
        "status": None if packet.lone else packet.status,
        "completed_at": packet.completed_at,
        "certificate_sha256": packet.certificate_sha256,
        "error": packet.error,
    }


def _document_row(document: Document) -> dict[str, Value]:
    row: dict[str, Any] = {name: getattr(document, name) for name in _DOCUMENT if hasattr(document, name)}
    row |= {"metadata": _json(document.metadata), "files": _json(document.files)}
    row["attachments"] = _json(document.attachments) if document.attachments else _NONE
    row |= {name: _json_or_none(row[name]) for name in ("seal", "decline", "void")}
    row |= {"require_timestamp": int(document.require_timestamp), "asks_all": int(document.asks_all)}
    return {**row, **_archive_row(document.archive)}


def _archive_row(archive: Archive) -> dict[str, Value]:
    return {
        "archive_status": archive.status,
        "archive_attempts": archive.attempts,
        "archived_at": archive.archived_at,
        "archive_receipt": _json_or_none(archive.receipt),
        "archive_error": archive.error,
    }


def _difference(before: Mapping[str, Value], after: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in after.items() if value != before[name]}


def _update(tx: Tx, table: str, where: str, key: Mapping[str, Value], changes: Mapping[str, Value]) -> int:
    sets = ", ".join(f"{name} = :new_{name}" for name in changes)
    return tx.run(
        f"update {table} set {sets} where {where}", **key, **{f"new_{name}": value for name, value in changes.items()}
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _json_or_none(value: object) -> str | None:
    return None if value is None else _json(value)


def _only(packets: Sequence[Packet]) -> Packet | None:
    return packets[0] if packets else None
