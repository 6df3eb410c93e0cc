"""The state of the archive, for the person who runs the server."""

import msgspec

from deedbox.archive import limits, proofs, store
from deedbox.archive.receipt import ArchiveRow, Tree
from deedbox.kernel.db import Tx


class ArchiveFailure(msgspec.Struct, frozen=True):
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
    failures: list[ArchiveFailure]
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
    counts, last = store.counts(tx), store.latest_tree(tx)
    return Overview(
        pending=counts.get("pending", 0),
        archived=counts.get("archived", 0),
        failed=counts.get("failed", 0),
        failures=[
            ArchiveFailure(row.document_id, row.attempts, row.tried_at, row.error)
            for row in store.list_failures(tx, limits.ARCHIVE_FAILURES_SHOWN)
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


class WorkspaceOverview(msgspec.Struct, frozen=True):
    """What a workspace learns of the archive: nothing of the documents of others."""

    pending: int
    archived: int
    failed: int
    newest: list[ArchiveRow]
    waiting: list[ArchiveRow]
    """Some of those that are not archived yet, the oldest documents first."""
    last_root: Tree | None
    """The newest root in the archive; it stands for the packages of every workspace."""


def of_workspace(tx: Tx, workspace_id: str) -> WorkspaceOverview:
    counts = store.counts_of(tx, workspace_id)
    return WorkspaceOverview(
        pending=counts.get("pending", 0),
        archived=counts.get("archived", 0),
        failed=counts.get("failed", 0),
        newest=store.newest_of(tx, workspace_id, limits.ARCHIVE_SHOWN),
        waiting=store.waiting_of(tx, workspace_id, "", limits.ARCHIVE_SHOWN),
        last_root=store.latest_tree(tx),
    )
