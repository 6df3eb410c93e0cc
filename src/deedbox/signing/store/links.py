"""Links, sessions and codes of signers: hashes only."""

from typing import Literal, TypeAlias

from deedbox.kernel.db import Tx

LinkKind: TypeAlias = Literal["mail", "embedded"]


def add_link(tx: Tx, token_hash: bytes, signer_id: str, kind: LinkKind, now: str, expires_at: str) -> None:
    tx.run(
        "insert into signing_links (token_hash, signer_id, kind, created_at, expires_at)"
        " values (:token_hash, :signer_id, :kind, :now, :expires_at)",
        token_hash=token_hash,
        signer_id=signer_id,
        kind=kind,
        now=now,
        expires_at=expires_at,
    )


def use_link(tx: Tx, token_hash: bytes, now: str) -> str | None:
    """The signer whose link it is, and it is used up; None when it is no link that still works."""
    row = tx.one(
        "update signing_links set used_at = :now where token_hash = :token_hash and used_at is null"
        " and expires_at > :now returning signer_id",
        token_hash=token_hash,
        now=now,
    )
    return row[0] if row else None


def is_known(tx: Tx, token_hash: bytes) -> bool:
    return tx.one("select 1 from signing_links where token_hash = :hash", hash=token_hash) is not None


def add_session(tx: Tx, token_hash: bytes, signer_id: str, now: str, expires_at: str) -> None:
    tx.run(
        "insert into signer_sessions (token_hash, signer_id, created_at, expires_at)"
        " values (:token_hash, :signer_id, :now, :expires_at)",
        token_hash=token_hash,
        signer_id=signer_id,
        now=now,
        expires_at=expires_at,
    )


def session(tx: Tx, token_hash: bytes, now: str) -> tuple[str, bool] | None:
    """The signer of the session, and whether the code was given."""
    row = tx.one(
        "select signer_id, checked_at from signer_sessions where token_hash = :hash and expires_at > :now",
        hash=token_hash,
        now=now,
    )
    return (row[0], row[1] is not None) if row else None


def mark_checked(tx: Tx, token_hash: bytes, now: str) -> None:
    tx.run("update signer_sessions set checked_at = :now where token_hash = :hash", hash=token_hash, now=now)


def keep_code(tx: Tx, signer_id: str, code_hash: bytes, expires_at: str) -> None:
    tx.run(
        "insert into signer_codes (signer_id, code_hash, expires_at, tries) values (:id, :code_hash, :expires_at, 0)"
        " on conflict (signer_id) do update set code_hash = excluded.code_hash, expires_at = excluded.expires_at",
        id=signer_id,
        code_hash=code_hash,
        expires_at=expires_at,
    )


def code(tx: Tx, signer_id: str, now: str) -> bytes | None:
    row = tx.one(
        "select code_hash from signer_codes where signer_id = :id and expires_at > :now", id=signer_id, now=now
    )
    return bytes(row[0]) if row else None


def count_try(tx: Tx, signer_id: str, now: str, since: str) -> int:
    """The attempts in the present span of time, this one included."""
    row = tx.one(
        "insert into signer_codes (signer_id, code_hash, expires_at, tries, first_try_at)"
        " values (:id, :none, :now, 1, :now) on conflict (signer_id) do update set"
        " tries = case when signer_codes.first_try_at is null or signer_codes.first_try_at <= :since then 1"
        " else signer_codes.tries + 1 end,"
        " first_try_at = case when signer_codes.first_try_at is null or signer_codes.first_try_at <= :since then :now"
        " else signer_codes.first_try_at end returning tries",
        id=signer_id,
        none=b"",
        now=now,
        since=since,
    )
    return int(row[0]) if row else 1


def forget(tx: Tx, signer_id: str) -> None:
    tx.run("delete from signing_links where signer_id = :id", id=signer_id)
    tx.run("delete from signer_sessions where signer_id = :id", id=signer_id)
    tx.run("delete from signer_codes where signer_id = :id", id=signer_id)
