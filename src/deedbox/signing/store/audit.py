"""The audit table."""

from collections.abc import Mapping, Sequence

import msgspec

from deedbox.evidence import chain
from deedbox.evidence.chain import TrailEntry
from deedbox.kernel.clock import Instant
from deedbox.kernel.db import Row, Tx, Value
from deedbox.kernel.db.rows import insert_all

_ROWS = "select number, at, act, actor, detail, hash from audit where document_id = :id"


def last(tx: Tx, document_id: str) -> tuple[int, str] | None:
    """Number and hash of the last row."""
    row = end(tx, document_id)
    return row[:2] if row else None


def end(tx: Tx, document_id: str) -> tuple[int, str, Instant] | None:
    """Number, hash and time of the last row."""
    sql = "select number, hash, at from audit where document_id = :id order by number desc limit 1"
    row = tx.one(sql, id=document_id)
    return (row[0], row[1], Instant(row[2])) if row else None


def add(tx: Tx, entries: list[tuple[str, TrailEntry]]) -> None:
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


def trail(tx: Tx, document_id: str) -> list[TrailEntry]:
    """Every row, oldest first."""
    return _entries(tx.all(f"{_ROWS} order by number", id=document_id), chain.genesis(document_id))


def page(tx: Tx, document_id: str, after: int, most: int) -> list[TrailEntry]:
    """Rows after the one with this number, oldest first; rows are numbered from 1."""
    # With that one, whose hash the first of them follows.
    sql = f"{_ROWS} and number >= :after order by number limit :most"
    rows = tx.all(sql, id=document_id, after=after, most=most + 1)
    if not after:
        return _entries(rows[:most], chain.genesis(document_id))
    return _entries(rows[1:], rows[0][-1]) if rows else []


def latest(tx: Tx, document_id: str, before: int | None, most: int) -> tuple[list[TrailEntry], bool]:
    """The last rows, or the last before the one with this number, oldest first; and whether there are more before."""
    bound, value = ("", {}) if before is None else (" and number < :before", {"before": before})
    rows = tx.all(f"{_ROWS}{bound} order by number desc limit :most", id=document_id, most=most + 1, **value)[::-1]
    if len(rows) <= most:
        return _entries(rows, chain.genesis(document_id)), False
    return _entries(rows[1:], rows[0][-1]), True


def heads(tx: Tx, document_ids: Sequence[str]) -> list[tuple[str, int, str]]:
    """The last row of each document's trail: its number and hash."""
    return [(one, *(last(tx, one) or (0, ""))) for one in document_ids]


def _entries(rows: Sequence[Row], previous: str) -> list[TrailEntry]:
    found = []
    for number, at, act, actor, detail, own in rows:
        found.append(TrailEntry(number, at, act, actor, msgspec.json.decode(detail), previous, own))
        previous = own
    return found
