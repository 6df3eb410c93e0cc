"""The audit table."""

import msgspec

from deedbox.evidence import chain
from deedbox.evidence.chain import Entry
from deedbox.kernel.db import Tx


def last(tx: Tx, document_id: str) -> tuple[int, str] | None:
    """Number and hash of the last row."""
    row = tx.one("select number, hash from audit where document_id = :id order by number desc limit 1", id=document_id)
    return (row[0], row[1]) if row else None


def add(tx: Tx, document_id: str, entry: Entry) -> None:
    tx.run(
        "insert into audit (document_id, number, at, act, actor, detail, hash)"
        " values (:document_id, :number, :at, :act, :actor, :detail, :hash)",
        document_id=document_id,
        number=entry.number,
        at=entry.at,
        act=entry.act,
        actor=entry.actor,
        detail=msgspec.json.encode(entry.detail).decode(),
        hash=entry.hash,
    )


def entries(tx: Tx, document_id: str) -> list[Entry]:
    rows = tx.all(
        "select number, at, act, actor, detail, hash from audit where document_id = :id order by number",
        id=document_id,
    )
    found, previous = [], chain.genesis(document_id)
    for number, at, act, actor, detail, own in rows:
        found.append(Entry(number, at, act, actor, msgspec.json.decode(detail), previous, own))
        previous = own
    return found
