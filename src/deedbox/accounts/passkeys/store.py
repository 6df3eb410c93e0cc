"""The tables of passkeys, and of the questions that they are to answer."""

import msgspec

from deedbox.kernel.db import Tx

_COLUMNS = "id, person_id, name, credential_id, public_key, sign_count, created_at, used_on"


class PasskeyRow(msgspec.Struct, frozen=True):
    id: str
    person_id: str
    name: str
    credential_id: bytes
    public_key: bytes
    sign_count: int
    created_at: str
    used_on: str | None


def add(tx: Tx, row: PasskeyRow) -> None:
    tx.run(
        f"insert into passkeys ({_COLUMNS}) values (:id, :person_id, :name, :credential_id, :public_key, :sign_count,"
        " :created_at, :used_on)",
        **msgspec.structs.asdict(row),
    )


def of_person(tx: Tx, person_id: str) -> list[PasskeyRow]:
    rows = tx.all(f"select {_COLUMNS} from passkeys where person_id = :id order by id", id=person_id)
    return [PasskeyRow(*row) for row in rows]


def by_credential(tx: Tx, credential_id: bytes) -> PasskeyRow | None:
    row = tx.one(f"select {_COLUMNS} from passkeys where credential_id = :id", id=credential_id)
    return PasskeyRow(*row) if row else None


def record_use(tx: Tx, passkey_id: str, sign_count: int, day: str) -> None:
    tx.run(
        "update passkeys set sign_count = :sign_count, used_on = :day where id = :id",
        id=passkey_id,
        sign_count=sign_count,
        day=day,
    )


def drop(tx: Tx, person_id: str, passkey_id: str) -> bool:
    dropped = tx.run("delete from passkeys where id = :id and person_id = :person", id=passkey_id, person=person_id)
    return bool(dropped)


def drop_sessions(tx: Tx, person_id: str, passkey_id: str) -> None:
    """Ends the sessions that the passkey opened."""
    tx.run("delete from login_sessions where person_id = :person and passkey_id = :id", person=person_id, id=passkey_id)


def drop_all(tx: Tx, person_id: str) -> None:
    tx.run("delete from passkeys where person_id = :id", id=person_id)


def put_challenge(tx: Tx, holder_hash: bytes, challenge: bytes, expires_at: str) -> None:
    """In the place of an earlier one of the same holder."""
    tx.run(
        "insert into passkey_challenges (holder_hash, challenge, expires_at) values (:holder, :challenge, :expires_at)"
        " on conflict (holder_hash) do update set challenge = excluded.challenge, expires_at = excluded.expires_at",
        holder=holder_hash,
        challenge=challenge,
        expires_at=expires_at,
    )


def take_challenge(tx: Tx, holder_hash: bytes, now: str) -> bytes | None:
    """The holder's challenge, which nobody gets again."""
    row = tx.one(
        "delete from passkey_challenges where holder_hash = :holder returning challenge, expires_at",
        holder=holder_hash,
    )
    return bytes(row[0]) if row and row[1] > now else None
