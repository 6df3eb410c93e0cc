"""The state of the archive, for the person who runs the server."""

import msgspec

from deedbox.archive import proofs, store
from deedbox.kernel import limits
from deedbox.kernel.db import Tx


class Failure(msgspec.Struct, frozen=True):
    document_id: str
    attempts: int
    tried_at: str | None
    error: str | None


class Unpublished(msgspec.Struct, frozen=True):
    number: int
    day: str
    error: str | None


class Overview(msgspec.Struct, frozen=True):
    pending: int
    archived: int
    failed: int
    failures: list[Failure]
    """Some of them, the oldest documents first."""
    trees: int
    unpublished: list[Unpublished]
    """Some of the roots that are not in the archive yet, the oldest first."""
    degraded: int
    """Roots with a time-stamp of our own, because the configured authority was away for too long."""
    last_root: str | None
    """The name of the newest root in the archive."""
    last_root_published_at: str | None


def overview(tx: Tx) -> Overview:
    counts, last = store.counts(tx), store.last_published(tx)
    return Overview(
        pending=counts.get("pending", 0),
        archived=counts.get("archived", 0),
        failed=counts.get("failed", 0),
        failures=[
            Failure(row.document_id, row.attempts, row.tried_at, row.error)
            for row in store.failed(tx, limits.ARCHIVE_FAILURES_SHOWN)
        ],
        trees=store.trees(tx),
        unpublished=[
            Unpublished(tree.number, tree.day, tree.error)
            for tree in store.unfinished_trees(tx)[: limits.ARCHIVE_FAILURES_SHOWN]
        ],
        degraded=store.degraded_trees(tx),
        last_root=proofs.root_name(last) if last else None,
        last_root_published_at=last.published_at if last else None,
    )
