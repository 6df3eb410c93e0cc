"""The audit trail of a document, and whether it is as it was written."""

from collections import OrderedDict
from typing import NamedTuple

from deedbox.evidence import chain
from deedbox.evidence.chain import TrailEntry
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.signing import limits
from deedbox.signing.store import audit, sealed


class Trail(NamedTuple):
    entries: list[TrailEntry]
    """The last rows, or those before the one that is asked for, oldest first."""
    has_more: bool
    """Whether there are rows before them."""
    rows: int
    """How many there are in all."""
    broken_at: int | None
    """The number of the first row that is not as it was written; None if all are."""


class _Whole(NamedTuple):
    """A trail that was as it was written, by its last row."""

    number: int
    hash: str
    sealed: str | None
    """The hash of the row that the document's seal names."""


class VerifiedTrails:
    """Trails that this process has found whole, so that someone who watches one has only its new rows checked."""

    def __init__(self) -> None:
        self._whole: OrderedDict[str, _Whole] = OrderedDict()

    def forget(self, document_id: str) -> None:
        """Has the trail checked from its first row when it is looked at next."""
        self._whole.pop(document_id, None)

    def look(self, tx: Tx, document_id: str, before: int | None, most: int) -> Trail:
        """So many rows, with the check of all; the seal tells of rows that were cut off after it."""
        rows, broken = self._checked(tx, document_id)
        return Trail(*audit.latest(tx, document_id, before, most), rows, broken)

    def _checked(self, tx: Tx, document_id: str) -> tuple[int, int | None]:
        """How many rows there are, and the first that is not as it was written."""
        known = self._whole.pop(document_id, None)
        whole = _grown(tx, document_id, known) if known else None
        if whole is None:
            entries, made = audit.trail(tx, document_id), sealed.find(tx, document_id)
            broken = chain.check(document_id, entries)
            if broken is None and made is not None and made.head not in {entry.hash for entry in entries}:
                broken = len(entries) + 1
            if broken is not None or not entries:
                return len(entries), broken
            whole = _Whole(len(entries), entries[-1].hash, made.head if made else None)
        self._whole[document_id] = whole
        if len(self._whole) > limits.TRAILS_CHECKED:
            self._whole.popitem(last=False)
        return whole.number, None


def _grown(tx: Tx, document_id: str, known: _Whole) -> _Whole | None:
    """The trail with the rows that were written since; None if it must be checked from the first."""
    new, made = audit.page(tx, document_id, known.number, shared_limits.LIST_BATCH), sealed.find(tx, document_id)
    head = made.head if made else None
    follows = chain.follow(known.hash, known.number, new) is None and len(new) < shared_limits.LIST_BATCH
    if not follows or head not in {None, known.sealed, *(entry.hash for entry in new)}:
        return None
    if not new and audit.last(tx, document_id) != (known.number, known.hash):
        return None
    return _Whole(known.number + len(new), new[-1].hash if new else known.hash, head)
