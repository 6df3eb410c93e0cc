"""How far the archiving of everything has come, for the person who runs the server; and what to push now."""

import msgspec

from deedbox.archive import proofs, store
from deedbox.archive.push import Pushing
from deedbox.archive.receipt import Archived
from deedbox.archive.records import Records
from deedbox.kernel import limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import NotFound


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


class Catching:
    """Plans what the archive does not have, some at a time, so that a running server is not held up."""

    def __init__(self, db: Database, clock: Clock, pushing: Pushing, records: Records) -> None:
        self._db, self._clock, self._pushing, self._records = db, clock, pushing, records

    async def backfill(self, since: str = "") -> int:
        """How many documents that were completed since, where there was no key, are to be archived from now on."""
        after, planned = (since, ""), 0
        while found := await self._missed(after):
            planned += await self._plan(found)
            _, document_id, completed_at = found[-1]
            after = (completed_at, document_id)
        return planned

    async def catch_up(self) -> int:
        """As `backfill` of what was completed since the archive began; those before wait for a person to ask for it."""
        since = await self._db.read(store.began)
        return 0 if since is None else await self.backfill(since)

    async def retry(self, document_id: str | None) -> int:
        """How many documents are pushed at once instead of in their time; NotFound if the one is not waiting."""
        if document_id is not None:
            return await self._db.write(lambda tx: self._retry_one(tx, document_id))
        after, planned = "", 0
        while True:
            rows = await self._db.write(lambda tx, after=after: self._retry_some(tx, after))  # type: ignore[misc]
            planned += len(rows)
            if not rows:
                return planned
            after = rows[-1].document_id

    async def _missed(self, after: tuple[str, str]) -> list[tuple[str, str, str]]:
        # In a transaction of its own: looking for what may not be there must not hold up who writes.
        return await self._db.read(lambda tx: self._records.missed(tx, after, limits.ARCHIVE_BATCH))

    async def _plan(self, found: list[tuple[str, str, str]]) -> int:
        now = self._clock.now()
        return await self._db.write(lambda tx: sum(self._pushing.plan(tx, *where, now=now) for *where, _ in found))

    def _retry_some(self, tx: Tx, after: str) -> list[Archived]:
        rows = store.waiting(tx, after, limits.ARCHIVE_BATCH)
        for row in rows:
            self._pushing.retry(tx, row, now=self._clock.now())
        return rows

    def _retry_one(self, tx: Tx, document_id: str) -> int:
        row = store.find(tx, document_id)
        if row is None or row.status == "archived":
            raise NotFound(f"The document {document_id} does not wait for the archive. `deedbox archive status` shows.")
        self._pushing.retry(tx, row, now=self._clock.now())
        return 1
