"""Parties, their signers, and the fields that they fill."""

from collections.abc import Mapping

import msgspec

from deedbox.kernel.db import Tx, Value
from deedbox.kernel.db.rows import insert
from deedbox.signing.document import Field, Party, Signer


def add_party(tx: Tx, document_id: str, party: Party, *, declared: bool) -> None:
    insert(
        tx,
        "parties",
        {
            "id": party.id,
            "document_id": document_id,
            "name": party.name,
            "position": party.order,
            "rule": party.rule,
            "quorum": party.quorum,
            "on_decline": party.on_decline,
            "declared": int(declared),
            "status": party.status,
            "completed_at": None,
        },
    )


def is_declared(tx: Tx, party_id: str) -> bool:
    """Whether the request named the party, instead of a lone signer."""
    row = tx.one("select declared from parties where id = :id", id=party_id)
    return bool(row and row[0])


def change_party(tx: Tx, party_id: str, was: str, changes: Mapping[str, Value]) -> bool:
    return _change(tx, "parties", party_id, was, changes)


def add_signer(tx: Tx, workspace_id: str, document_id: str, signer: Signer, access_code_hash: bytes | None) -> None:
    row: dict[str, Value] = {
        **msgspec.structs.asdict(signer),
        "workspace_id": workspace_id,
        "document_id": document_id,
        "access_code_hash": access_code_hash,
    }
    insert(tx, "signers", row)


def change_signer(tx: Tx, signer_id: str, was: str, changes: Mapping[str, Value]) -> bool:
    return _change(tx, "signers", signer_id, was, changes)


def cancel_signers(tx: Tx, document_id: str, party_id: str | None = None) -> None:
    """Those who have neither signed nor declined cannot any more."""
    one = "" if party_id is None else " and party_id = :party_id"
    values: dict[str, Value] = {} if party_id is None else {"party_id": party_id}
    tx.run(
        "update signers set status = 'canceled' where document_id = :id"
        f" and status in ('waiting', 'notified', 'viewed'){one}",
        id=document_id,
        **values,
    )


def cancel_parties(tx: Tx, document_id: str) -> None:
    tx.run(
        "update parties set status = 'canceled' where document_id = :id and status in ('waiting', 'active')",
        id=document_id,
    )


def signer_place(tx: Tx, signer_id: str) -> tuple[str, str] | None:
    """The workspace and the document of a signer."""
    row = tx.one("select workspace_id, document_id from signers where id = :id", id=signer_id)
    return (row[0], row[1]) if row else None


def access_code_hash(tx: Tx, signer_id: str) -> bytes | None:
    row = tx.one("select access_code_hash from signers where id = :id", id=signer_id)
    return bytes(row[0]) if row and row[0] is not None else None


def signatures(tx: Tx, document_id: str) -> dict[str, str]:
    """How each signer has signed, as JSON."""
    rows = tx.all("select id, signature from signers where document_id = :id and signature is not null", id=document_id)
    return {row[0]: row[1] for row in rows}


def add_field(tx: Tx, document_id: str, field: Field) -> None:
    row = msgspec.structs.asdict(field)
    row |= {"document_id": document_id, "default_value": row.pop("default"), "required": int(field.required)}
    row["options"] = msgspec.json.encode(field.options).decode()
    insert(tx, "fields", row)


def drop_fields(tx: Tx, document_id: str) -> None:
    tx.run("delete from fields where document_id = :id", id=document_id)


def drop_parties(tx: Tx, document_id: str) -> None:
    """Only of a draft, which nobody has a link to."""
    for table in ("signers", "parties"):
        tx.run(f"delete from {table} where document_id = :id", id=document_id)


def keep_value(tx: Tx, field_id: str, signer_id: str, value: str) -> None:
    """What a signer has filled in; it counts only when the signer has signed."""
    tx.run(
        "insert into field_values (field_id, signer_id, value) values (:field_id, :signer_id, :value)"
        " on conflict (field_id, signer_id) do update set value = excluded.value",
        field_id=field_id,
        signer_id=signer_id,
        value=value,
    )


def values_of(tx: Tx, signer_id: str) -> dict[str, str]:
    rows = tx.all("select field_id, value from field_values where signer_id = :id", id=signer_id)
    return {row[0]: row[1] for row in rows}


def settle_value(tx: Tx, field_id: str, value: str) -> None:
    tx.run("update fields set value = :value where id = :id", id=field_id, value=value)


def _change(tx: Tx, table: str, row_id: str, was: str, changes: Mapping[str, Value]) -> bool:
    sets = ", ".join(f"{name} = :new_{name}" for name in changes)
    values: dict[str, Value] = {f"new_{name}": value for name, value in changes.items()}
    return tx.run(f"update {table} set {sets} where id = :id and status = :was", id=row_id, was=was, **values) > 0
