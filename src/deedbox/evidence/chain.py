"""The audit trail of a document as a hash chain: no row can be changed, dropped, moved or added unseen.

The first row follows the genesis, SHA-256 of the document's id in UTF-8. A row's hash is SHA-256 of the 32 bytes of the
hash before it, followed by the canonical JSON (see `canonical`) of the object with the keys `number`, `at`, `act`,
`actor` and `detail`. Hashes are written as 64 lower-case hexadecimal digits. Rows are numbered from 1 without a gap.
"""

import hashlib
from collections.abc import Sequence
from hmac import compare_digest

from msgspec import Struct

from deedbox.evidence.canonical import Json, canonical
from deedbox.kernel.clock import Instant


class TrailEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of an audit trail: who did what, when, and the hash that ties it to all rows before."""

    number: int
    at: Instant
    act: str
    actor: str
    detail: dict[str, Json]
    previous: str
    hash: str


def genesis(document_id: str) -> str:
    """The hash that the first row of a document follows."""
    return hashlib.sha256(document_id.encode("utf-8")).hexdigest()


def next_entry(
    previous_hash: str, number: int, at: Instant, act: str, actor: str, detail: dict[str, Json] | None = None
) -> TrailEntry:
    """The row to write next, with its hash."""
    told = detail or {}
    return TrailEntry(number, at, act, actor, told, previous_hash, _hash(previous_hash, number, at, act, actor, told))


def check(document_id: str, entries: Sequence[TrailEntry], head: str | None = None) -> int | None:
    """The number of the first row that is not as it was written, or None.

    The last rows can be cut off unseen unless the head, the hash of the last row, is known from elsewhere."""
    before = genesis(document_id)
    if (bad := follow(before, 0, entries)) is not None:
        return bad
    if head is not None and not compare_digest(entries[-1].hash if entries else before, head):
        return len(entries) + 1
    return None


def follow(before: str, last: int, entries: Sequence[TrailEntry]) -> int | None:
    """The number of the first row that is not as it was written, or None, of those that follow the row with this
    number and hash."""
    for number, entry in enumerate(entries, last + 1):
        if not _follows(entry, before, number):
            return number
        before = entry.hash
    return None


def _follows(entry: TrailEntry, before: str, number: int) -> bool:
    if entry.number != number or entry.previous != before:
        return False
    try:
        expected = _hash(before, entry.number, entry.at, entry.act, entry.actor, entry.detail)
    except ValueError:  # what no chain can hold was put in afterwards
        return False
    return compare_digest(expected.encode(), entry.hash.encode())


def _hash(previous: str, number: int, at: str, act: str, actor: str, detail: dict[str, Json]) -> str:
    row = canonical({"number": number, "at": at, "act": act, "actor": actor, "detail": detail})
    return hashlib.sha256(bytes.fromhex(previous) + row).hexdigest()
