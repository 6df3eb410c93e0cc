"""The audit trail of a document, and whether it is as it was written."""

from typing import NamedTuple

from deedbox.evidence import chain
from deedbox.evidence.chain import Entry
from deedbox.kernel.db import Tx
from deedbox.signing.store import audit, sealed


class Trail(NamedTuple):
    entries: list[Entry]
    broken_at: int | None
    """The number of the first row that is not as it was written; None if all are."""


def checked(tx: Tx, document_id: str) -> Trail:
    """Every row, oldest first, and the check of the chain; the seal tells of rows that were cut off after it."""
    entries = audit.trail(tx, document_id)
    broken, made = chain.check(document_id, entries), sealed.find(tx, document_id)
    if broken is None and made is not None and made.head not in {entry.hash for entry in entries}:
        broken = len(entries) + 1
    return Trail(entries, broken)
