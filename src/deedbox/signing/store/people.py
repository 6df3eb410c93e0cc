"""The tables of parties, signers, and the fields that they fill."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from deedbox.kernel.db import Row, Tx, Value
from deedbox.kernel.db.rows import insert_all
from deedbox.kernel.errors import Conflict
from deedbox.signing.model import Document, Field, Packet, Party, ShowIf, Signer, SignerSignature

_SIGNATURE = msgspec.json.Decoder(SignerSignature)

_SIGNER = (
    "id", "party_id", "name", "email", "language", "auth", "status", "notified_at", "viewed_at", "signed_at",
    "declined_at", "decline_reason", "signature", "initials", "access_code_hash", "identity", "reminded_at",
    "time_zone", "role", "delegation", "delegated_to", "reminders", "timer_reminded_at",
)  # fmt: skip
_PARTY = ("id", "name", "turn", "rule", "quorum", "on_decline", "declared", "status", "completed_at")
_FIELD = (
    "id", "file_id", "signer_id", "party_id", "type", "page", "x", "y", "w", "h", "required", "label",
    "default_value", "options", "value", "font_size", "read_only", "max_length", "pattern", "group_name", "show_if",
    "hint",
)  # fmt: skip

_SHOW_IF = msgspec.json.Decoder(ShowIf)


def parties(tx: Tx, packet_ids: Collection[str]) -> dict[str, list[Party]]:
    """The parties of each packet with their signers, in the order in which they sign."""
    columns = ", ".join(_PARTY)
    sql = f"select packet_id, {columns} from parties where packet_id in ({{ids}}) order by packet_id, position"
    found: dict[str, list[Party]] = {}
    members: dict[str, list[Signer]] = {}
    for packet_id, *rest in _parts(tx, sql, packet_ids):
        party_id, name, order, rule, quorum, on_decline, declared, status, completed_at = rest
        signers = members.setdefault(party_id, [])
        party = Party(party_id, name, order, rule, quorum, on_decline, bool(declared), signers, status, completed_at)
        found.setdefault(packet_id, []).append(party)
    sql = f"select {', '.join(_SIGNER)} from signers where packet_id in ({{ids}}) order by packet_id, position"
    for row in _parts(tx, sql, found):
        members[row[1]].append(_signer(row))
    return found


def add_parties(tx: Tx, *packets: Packet) -> None:
    insert_all(
        tx,
        "parties",
        [
            {**_party_row(party), "packet_id": packet.id, "position": position}
            for packet in packets
            for position, party in enumerate(packet.parties)
        ],
    )
    insert_all(
        tx,
        "signers",
        [
            {**_signer_row(one), "packet_id": packet.id, "workspace_id": packet.workspace_id, "position": position}
            for packet in packets
            for position, (_, one) in enumerate(packet.signers())
        ],
    )


def change_people(tx: Tx, before: Packet, after: Packet) -> None:
    """Writes what differs; parties of a draft that are others take the place of those before, with all fields."""
    if _ids(before) != _ids(after):
        drop_fields(tx, before.documents)
        drop_parties(tx, before)
        add_parties(tx, after)
        for document in after.documents:
            add_fields(tx, document)
        return
    if before.parties is not after.parties:
        _change_parties(tx, before, after)
    for old, new in zip(before.documents, after.documents, strict=True):
        _change_fields(tx, old, new)


def _ids(packet: Packet) -> list[tuple[str, list[str]]]:
    return [(party.id, [signer.id for signer in party.signers]) for party in packet.parties]


def _change_parties(tx: Tx, before: Packet, after: Packet) -> None:
    _change_rows(tx, "parties", map(_party_row, before.parties), map(_party_row, after.parties))
    _change_rows(
        tx,
        "signers",
        (_signer_row(one) for _, one in before.signers()),
        (_signer_row(one) for _, one in after.signers()),
    )


def add_delegate(tx: Tx, packet: Packet, signer_id: str, delegate: Signer) -> None:
    """Someone who takes a signer's place: behind them in the list, with all their fields."""
    whose = {"packet_id": packet.id, "workspace_id": packet.workspace_id}
    place = 1 + [signer.id for _, signer in packet.signers()].index(signer_id)
    sql = "update signers set position = position + 1 where packet_id = :id and position >= :place"
    tx.run(sql, id=packet.id, place=place)
    insert_all(tx, "signers", [{**_signer_row(delegate), **whose, "position": place}])
    tx.run("update fields set signer_id = :to where signer_id = :id", id=signer_id, to=delegate.id)


def drop_parties(tx: Tx, packet: Packet) -> None:
    """Only of a draft, which nobody has a link to."""
    for table in ("signers", "parties"):
        tx.run(f"delete from {table} where packet_id = :id", id=packet.id)


def place_of(tx: Tx, signer_id: str) -> tuple[str, str] | None:
    """The workspace and the packet of a signer."""
    row = tx.one("select workspace_id, packet_id from signers where id = :id", id=signer_id)
    return (row[0], row[1]) if row else None


def add_note(tx: Tx, signer_id: str, most: int) -> bool:
    """Counts an audit row that comes of the signer's coming and looking, not of an act; False if there are enough."""
    sql = "update signers set notes = notes + 1 where id = :id and notes < :most"
    return bool(tx.run(sql, id=signer_id, most=most))


# fields


def fields(tx: Tx, document_ids: Collection[str]) -> dict[str, list[Field]]:
    sql = (
        f"select document_id, {', '.join(_FIELD)} from fields where document_id in ({{ids}})"
        " order by document_id, position"
    )
    found: dict[str, list[Field]] = {}
    for document_id, *row in _parts(tx, sql, document_ids):
        row[10], row[13], row[16] = bool(row[10]), msgspec.json.decode(row[13]), bool(row[16])
        row[20] = None if row[20] is None else _SHOW_IF.decode(row[20])
        found.setdefault(document_id, []).append(Field(*row))
    return found


def add_fields(tx: Tx, *documents: Document) -> None:
    rows = [
        {**_field_row(field), "document_id": document.id, "position": position}
        for document in documents
        for position, field in enumerate(document.fields)
    ]
    insert_all(tx, "fields", rows)


def _change_fields(tx: Tx, before: Document, after: Document) -> None:
    """Writes the values that differ; fields of a draft that are others take the place of those before."""
    if len(before.fields) != len(after.fields) or any(map(_is_other, before.fields, after.fields)):
        drop_fields(tx, [before])
        add_fields(tx, after)
        return
    filled: list[Mapping[str, Value]] = [
        {"id": new.id, "value": new.value}
        for old, new in zip(before.fields, after.fields, strict=True)
        if new.value != old.value
    ]
    if filled:
        tx.many("update fields set value = :value where id = :id", filled)


def _is_other(before: Field, after: Field) -> bool:
    """Whether it differs in more than its value."""
    return before is not after and msgspec.structs.replace(after, value=before.value) != before


def drop_fields(tx: Tx, documents: Iterable[Document]) -> None:
    for document in documents:
        tx.run("delete from fields where document_id = :id", id=document.id)


def keep_values(tx: Tx, signer_id: str, values: Mapping[str, str]) -> None:
    """What a signer has filled in; it counts only when the signer has signed."""
    rows: list[Mapping[str, Value]] = [
        {"field_id": field_id, "signer_id": signer_id, "value": value} for field_id, value in values.items()
    ]
    if rows:
        tx.many(
            "insert into field_values (field_id, signer_id, value) values (:field_id, :signer_id, :value)"
            " on conflict (field_id, signer_id) do update set value = excluded.value",
            rows,
        )


def drop_values(tx: Tx, signer_id: str, field_ids: Sequence[str]) -> None:
    """What this signer has kept, who has signed now, and what anybody has kept for these fields."""
    tx.run("delete from field_values where signer_id = :id", id=signer_id)
    if field_ids:
        rows: list[Mapping[str, Value]] = [{"id": field_id} for field_id in field_ids]
        tx.many("delete from field_values where field_id = :id", rows)


def values_of(tx: Tx, signer_id: str) -> dict[str, str]:
    rows = tx.all("select field_id, value from field_values where signer_id = :id", id=signer_id)
    return {row[0]: row[1] for row in rows}


# rows


def _parts(tx: Tx, sql: str, ids: Collection[str]) -> Sequence[Row]:
    if not ids:
        return []
    named = {f"id{number}": one for number, one in enumerate(ids)}
    return tx.all(sql.format(ids=":" + ", :".join(named)), **named)


def _change_rows(
    tx: Tx, table: str, before: Iterable[Mapping[str, Value]], after: Iterable[Mapping[str, Value]]
) -> None:
    """Writes what differs in each row. Conflict when one is no longer in the state it was in before."""
    for old, new in zip(before, after, strict=True):
        changes = {name: value for name, value in new.items() if value != old[name]}
        if not changes:
            continue
        sets = ", ".join(f"{name} = :new_{name}" for name in changes)
        values = {f"new_{name}": value for name, value in changes.items()}
        sql = f"update {table} set {sets} where id = :id and status = :was"
        if not tx.run(sql, id=old["id"], was=old["status"], **values):
            raise Conflict("Someone else has acted at this very moment. Look at the document and try again.")


def _signer(row: Row) -> Signer:
    values = dict(zip(_SIGNER, row, strict=True))
    values["delegation"] = bool(values["delegation"])
    for name in ("signature", "initials"):
        if values[name] is not None:
            values[name] = _SIGNATURE.decode(values[name])
    return Signer(**values)


def _signer_row(signer: Signer) -> dict[str, Value]:
    row: dict[str, Any] = {name: getattr(signer, name) for name in _SIGNER}
    row["delegation"] = int(signer.delegation)
    for name in ("signature", "initials"):
        if row[name] is not None:
            row[name] = msgspec.json.encode(row[name]).decode()
    return row


def _party_row(party: Party) -> dict[str, Value]:
    row: dict[str, Any] = {name: getattr(party, name) for name in _PARTY if name != "turn"}
    return {**row, "turn": party.order, "declared": int(party.declared)}


def _field_row(field: Field) -> dict[str, Value]:
    row: dict[str, Any] = msgspec.structs.asdict(field)
    row |= {"default_value": row.pop("default"), "required": int(field.required), "read_only": int(field.read_only)}
    row["group_name"] = row.pop("group")
    row["show_if"] = None if field.show_if is None else msgspec.json.encode(field.show_if).decode()
    row["options"] = msgspec.json.encode(field.options).decode()
    return row


def asked_lately(tx: Tx, workspace_id: str, documents: int) -> list[tuple[str, str]]:
    """Name and address of those in the workspace's latest documents, each once, the latest first."""
    sql = (
        "select name, email, max(id) as latest from signers where packet_id in"
        " (select packet_id from documents where workspace_id = :workspace_id order by id desc limit :most)"
        " group by name, email order by latest desc limit :most"
    )
    rows = tx.all(sql, workspace_id=workspace_id, most=documents)
    return [(row[0], row[1]) for row in rows]
