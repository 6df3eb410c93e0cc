"""The table of certificates: one in use in each slot, and those that were in use before it."""

from collections.abc import Sequence

import msgspec

from deedbox.kernel.db import Tx

_COLUMNS = (
    "id, slot, issuer_id, serial, certificate, chain, private_key, created_at, not_after, ended_at, revoked_at,"
    " revocation_reason, crl, crl_number, crl_stale_at"
)
_ADD = f"""
insert into certificates ({_COLUMNS})
values (:id, :slot, :issuer_id, :serial, :certificate, :chain, :private_key, :created_at, :not_after, :ended_at,
        :revoked_at, :revocation_reason, :crl, :crl_number, :crl_stale_at)
on conflict do nothing
"""
# An authority's key goes on signing its CRL; every other key is forgotten with its use.
_END = """
update certificates
set ended_at = :now, private_key = case when slot in ('root', 'issuing') then private_key end
where id = :id and ended_at is null
"""
_BELOW = """
with recursive below (id) as (
    select id from certificates where issuer_id = :id
    union select certificates.id from certificates join below on certificates.issuer_id = below.id
)
select id from below
"""


class CertificateRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    slot: str
    issuer_id: str | None
    """None for the root, and for a certificate that the workspace brought."""
    serial: str
    certificate: bytes
    chain: bytes
    """The certificates above one that the workspace brought, one after the other in DER."""
    private_key: bytes | None
    created_at: str
    not_after: str
    ended_at: str | None = None
    revoked_at: str | None = None
    revocation_reason: str | None = None
    crl: bytes | None = None
    crl_number: int = 0
    crl_stale_at: str | None = None


_FIELDS = CertificateRow.__struct_fields__


def _row(values: tuple[object, ...] | None) -> CertificateRow | None:
    if values is None:
        return None
    plain = (bytes(value) if isinstance(value, memoryview) else value for value in values)
    return CertificateRow(**dict(zip(_FIELDS, plain, strict=True)))  # type: ignore[arg-type]


def in_slot(tx: Tx, slot: str) -> CertificateRow | None:
    return _row(tx.one(f"select {_COLUMNS} from certificates where slot = :slot and ended_at is null", slot=slot))


def certificate(tx: Tx, certificate_id: str) -> CertificateRow | None:
    return _row(tx.one(f"select {_COLUMNS} from certificates where id = :id", id=certificate_id))


def every(tx: Tx) -> list[CertificateRow]:
    """All of them, oldest first."""
    return [row for values in tx.all(f"select {_COLUMNS} from certificates order by id") if (row := _row(values))]


def in_slots(tx: Tx, slots: Sequence[str]) -> list[CertificateRow]:
    """Every certificate that is or was in one of the slots, oldest first."""
    named = {f"a{number}": slot for number, slot in enumerate(slots)}
    asked = ", ".join(f":{name}" for name in named)
    rows = tx.all(f"select {_COLUMNS} from certificates where slot in ({asked}) order by id", **named)
    return [row for values in rows if (row := _row(values))]


def authorities(tx: Tx) -> list[CertificateRow]:
    """Every root and issuing certificate there is or was, oldest first."""
    sql = f"select {_COLUMNS} from certificates where slot in ('root', 'issuing') order by id"
    return [row for values in tx.all(sql) if (row := _row(values))]


def brought(tx: Tx, slot: str | None) -> list[CertificateRow]:
    """Every certificate that was brought into this slot, or into any, oldest first."""
    sql = f"select {_COLUMNS} from certificates where issuer_id is null and slot <> 'root'"
    rows = tx.all(f"{sql} order by id") if slot is None else tx.all(f"{sql} and slot = :slot order by id", slot=slot)
    return [row for values in rows if (row := _row(values))]


def add(tx: Tx, row: CertificateRow) -> None:
    """Puts it into its slot, unless someone else was first."""
    tx.run(_ADD, **msgspec.structs.asdict(row))


def end(tx: Tx, certificate_id: str, now: str) -> None:
    """It is used no more, and its slot is free."""
    tx.run(_END, id=certificate_id, now=now)


def below(tx: Tx, certificate_id: str) -> list[str]:
    """What it has issued, and what that has issued."""
    return [row[0] for row in tx.all(_BELOW, id=certificate_id)]


def revoke(tx: Tx, certificate_id: str, reason: str, now: str) -> bool:
    """False if it was revoked before."""
    sql = "update certificates set revoked_at = :now, revocation_reason = :reason where id = :id and revoked_at is null"
    return tx.run(sql, id=certificate_id, reason=reason, now=now) == 1


def revoked_by(tx: Tx, issuer_id: str) -> list[tuple[str, str, str]]:
    """Serial number, time and reason of every certificate that the issuer has revoked."""
    sql = (
        "select serial, revoked_at, revocation_reason from certificates"
        " where issuer_id = :issuer_id and revoked_at is not null order by id"
    )
    return [(row[0], row[1], row[2]) for row in tx.all(sql, issuer_id=issuer_id)]


def keep_crl(tx: Tx, issuer: CertificateRow, crl: bytes, stale_at: str) -> bool:
    """False if someone else has made the next CRL since the row was read."""
    sql = (
        "update certificates set crl = :crl, crl_number = crl_number + 1, crl_stale_at = :stale_at"
        " where id = :id and crl_number = :number"
    )
    return tx.run(sql, id=issuer.id, crl=crl, stale_at=stale_at, number=issuer.crl_number) == 1


def workspace_name(tx: Tx, workspace_id: str) -> str | None:
    row = tx.one("select name from workspaces where id = :id", id=workspace_id)
    return None if row is None else str(row[0])
