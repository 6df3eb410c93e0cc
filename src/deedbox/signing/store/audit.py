"""The audit table."""

from collections.abc import Mapping

import msgspec

from deedbox.evidence import chain
from deedbox.evidence.chain import Entry
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.db.rows import insert_all


def last(tx: Tx, document_id: str) -> tuple[int, str] | None:
    """Number and hash of the last row."""
    row = tx.one("select number, hash from audit where document_id = :id order by number desc limit 1", id=document_id)
    return (row[0], row[1]) if row else None


def add(tx: Tx, entries: list[tuple[str, Entry]]) -> None:
    """Each entry with the document that it is about."""
    rows: list[Mapping[str, Value]] = [
        {
            "document_id": document_id,
            "number": entry.number,
            "at": entry.at,
            "act": entry.act,
            "actor": entry.actor,
            "detail": msgspec.json.encode(entry.detail).decode(),
            "hash": entry.hash,
        }
        for document_id, entry in entries
    ]
    insert_all(tx, "audit", rows)


def trail(tx: Tx, document_id: str) -> list[Entry]:
    """Every row, oldest first."""
    rows = tx.all(
        "select number, at, act, actor, detail, hash from audit where document_id = :id order by number",
        id=document_id,
    )
    found, previous = [], chain.genesis(document_id)
    for number, at, act, actor, detail, own in rows:
        found.append(Entry(number, at, act, actor, msgspec.json.decode(detail), previous, own))
        previous = own
    return found
