"""The answers kept for a day."""

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Tx


class StoredKey(msgspec.Struct, frozen=True):
    status: int
    exchange: bytes
    created_at: str


def find(tx: Tx, caller: str, key: str) -> StoredKey | None:
    row = tx.one(
        "select status, exchange, created_at from idempotency where caller = :caller and idempotency_key = :key",
        caller=caller,
        key=key,
    )
    return StoredKey(*row) if row else None


def keep(tx: Tx, kept: StoredKey, caller: str, key: str) -> None:
    # The upsert replaces an answer that is past its day. A twin of this very moment fails one of the two
    # transactions (PostgreSQL: serialisation failure, tried again) and then finds the other's answer.
    tx.run(
        "insert into idempotency (caller, idempotency_key, status, exchange, created_at)"
        " values (:caller, :key, :status, :exchange, :created_at)"
        " on conflict (caller, idempotency_key) do update set status = excluded.status,"
        " exchange = excluded.exchange, created_at = excluded.created_at",
        caller=caller,
        key=key,
        **msgspec.structs.asdict(kept),
    )


def replace(tx: Tx, caller: str, key: str, status: int, exchange: bytes) -> None:
    tx.run(
        "update idempotency set status = :status, exchange = :exchange"
        " where caller = :caller and idempotency_key = :key",
        caller=caller,
        key=key,
        status=status,
        exchange=exchange,
    )


def prune(tx: Tx, older_than: str) -> int:
    """Forgets some of the answers from before then."""
    old = (
        "select caller, idempotency_key from idempotency where created_at < :older_than order by created_at limit :most"
    )
    sql = f"delete from idempotency where (caller, idempotency_key) in ({old})"
    return tx.run(sql, older_than=older_than, most=limits.PRUNE_ROWS)
