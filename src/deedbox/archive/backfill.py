"""Backfill: plans the push of completed documents that the archive does not have."""

from collections.abc import Callable

from deedbox.archive import limits, store
from deedbox.archive.archive import ArchiveService
from deedbox.archive.push import Push
from deedbox.archive.receipt import ArchiveRow
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound


class Backfill:
    """Works some documents at a time, so that a running server is not held up."""

    def __init__(self, archive: ArchiveService, push: Push) -> None:
        self._db, self._clock, self._records, self._push = archive.db, archive.clock, archive.records, push

    async def plan(self) -> int:
        """How many documents, completed without a key, are to be archived from now on."""
        after, planned = ("", ""), 0
        while found := await self._missed(after):
            planned += await self._plan_some(found)
            _, document_id, completed_at = found[-1]
            after = (completed_at, document_id)
        return planned

    async def retry(self, document_id: str | None) -> int:
        """How many documents are pushed at once instead of in their time; NotFound if the one is not waiting."""
        if document_id is not None:
            return await self._db.write(lambda tx: self._retry_one(tx, document_id))
        return await self._retry_each(store.list_pending)

    async def retry_workspace(self, workspace_id: str) -> int:
        """How many documents of the workspace are pushed at once."""
        return await self._retry_each(lambda tx, after, most: store.waiting_of(tx, workspace_id, after, most))

    async def _retry_each(self, waiting: Callable[[Tx, str, int], list[ArchiveRow]]) -> int:
        after, planned = "", 0
        while True:
            rows = await self._db.write(lambda tx, after=after: self._retry_some(tx, waiting, after))  # type: ignore[misc]
            planned += len(rows)
            if not rows:
                return planned
            after = rows[-1].document_id

    async def _missed(self, after: tuple[str, str]) -> list[tuple[str, str, str]]:
        # In a transaction of its own: looking for what may not be there must not hold up who writes.
        return await self._db.read(lambda tx: self._records.missed(tx, after, limits.ARCHIVE_BATCH))

    async def _plan_some(self, found: list[tuple[str, str, str]]) -> int:
        now = self._clock.now()
        return await self._db.write(lambda tx: sum(self._push.plan(tx, *where, now=now) for *where, _ in found))

    def _retry_some(self, tx: Tx, waiting: Callable[[Tx, str, int], list[ArchiveRow]], after: str) -> list[ArchiveRow]:
        rows = waiting(tx, after, limits.ARCHIVE_BATCH)
        for row in rows:
            self._push.retry(tx, row, now=self._clock.now())
        return rows

    def _retry_one(self, tx: Tx, document_id: str) -> int:
        row = store.find(tx, document_id)
        if row is None or row.status == "archived":
            raise NotFound(f"The document {document_id} does not wait for the archive. `deedbox archive status` shows.")
        self._push.retry(tx, row, now=self._clock.now())
        return 1
