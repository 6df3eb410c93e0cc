"""The daily round of the archive: pushes that were lost are planned again, and the packages of the day before get
their time-stamped root."""

from datetime import datetime, timedelta

import msgspec

from deedbox.archive import limits, merkle, proofs, store
from deedbox.archive.archive import ArchiveService
from deedbox.archive.backfill import Backfill
from deedbox.archive.push import Push
from deedbox.archive.receipt import Tree
from deedbox.archive.spool import in_memory
from deedbox.archive.targets import ArchiveTarget, NameTaken, fetch
from deedbox.kernel import jobs, log
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import ServiceError, Unavailable
from deedbox.kernel.jobs import Work

ROOTS_JOB = "archive_roots"
_JSON = "application/json"


class DailyRoots:
    def __init__(self, archive: ArchiveService, push: Push, backfill: Backfill) -> None:
        self._archive, self._db, self._clock = archive, archive.db, archive.clock
        self._push, self._backfill = push, backfill

    def plan(self, tx: Tx, at: datetime) -> None:
        """A round at this time; one that waits for the same day is joined."""
        key = f"{ROOTS_JOB}:{instant(at)[:10]}"
        jobs.enqueue(tx, jobs.NewJob(ROOTS_JOB, run_at=at, priority=jobs.BULK, unique_key=key), now=self._clock.now())

    def plan_first(self, tx: Tx) -> None:
        """A round at the start of a server, and with it all that follow."""
        now = self._clock.now()
        jobs.enqueue(tx, jobs.NewJob(ROOTS_JOB, priority=jobs.BULK, unique_key=f"{ROOTS_JOB}:start"), now=now)

    async def run(self, work: Work) -> None:
        """The handler of round jobs. The next round is planned first: one that fails must not be the last."""
        now = self._clock.now()
        if self._push.key is None:
            # Another process may have it, or this one after its next start: the rounds must not end here.
            await self._push.put_off(work)
            return
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        following = midnight + timedelta(days=1, seconds=limits.ARCHIVE_ROUND_SECONDS)
        await self._db.write(lambda tx: self.plan(tx, following))
        await self._resume(now)
        await self._backfill.plan()
        if await self.close_before(midnight):
            later = self._clock.now() + timedelta(seconds=limits.ARCHIVE_ROOT_RETRY_SECONDS)
            await work.finish(lambda tx: self.plan(tx, later))

    async def close_before(self, end: datetime) -> int:
        """Makes, time-stamps and publishes the trees over all that was archived before; how many are left to do."""
        while await self._db.write(lambda tx: _grow(tx, end)):
            continue
        unfinished = await self._db.read(store.unfinished_trees)
        return sum([not await self._finished(tree) for tree in unfinished])

    async def _finished(self, tree: Tree) -> bool:
        """Whether the root is published now; if not, that is noted, and keeps no other root from it."""
        try:
            await self._publish(await self._timestamped(tree))
        except ServiceError as error:
            reason = log.redact(error.message)[: limits.ARCHIVE_ERROR_CHARS]
            log.warning(
                "a root of the archive is not published and will be tried again", root=tree.number, reason=reason
            )
            await self._db.write(lambda tx: store.record_tree_error(tx, tree.number, reason))
            return False
        return True

    async def _resume(self, now: datetime) -> None:
        after = ""
        while True:
            after = await self._db.write(lambda tx, after=after: self._resume_some(tx, after, now))  # type: ignore[misc]
            if not after:
                return

    def _resume_some(self, tx: Tx, after: str, now: datetime) -> str:
        rows = store.list_pending(tx, after, limits.ARCHIVE_BATCH)
        for row in rows:
            self._push.resume(tx, row, now=now)
        return rows[-1].document_id if rows else ""

    async def _timestamped(self, tree: Tree) -> Tree:
        if tree.token is None:
            token, degraded = await self._token(tree)
            await self._db.write(lambda tx: store.add_timestamp(tx, tree.number, token, degraded=degraded))
        # Read again: another process may have been first.
        found = await self._db.read(lambda tx: store.tree(tx, tree.number))
        return found or tree

    async def _token(self, tree: Tree) -> tuple[bytes, bool]:
        """The time-stamp, and whether it is our own because the configured authority was away for too long."""
        digest = bytes.fromhex(proofs.statement_sha256(tree))
        try:
            return await self._archive.authority.token(digest), False
        except Unavailable:
            if self._clock.now() < proofs.day_end(tree) + timedelta(days=limits.ARCHIVE_TIMESTAMP_DAYS):
                raise
        return await self._archive.authority.own_token(digest), True

    async def _publish(self, tree: Tree) -> None:
        """The proofs, then the root: whoever sees the root finds every proof."""
        target = self._archive.target
        for row in await self._db.read(lambda tx: store.leaves(tx, tree.number)):
            if row.receipt is not None:
                content = proofs.proof_file(proofs.proof(row, row.receipt, tree))
                await _put(target, proofs.proof_name(row.bag.name, tree), content)
        name, now = proofs.root_name(tree), instant(self._clock.now())
        await _put(target, name, proofs.root_file(tree))
        await self._db.write(lambda tx: store.record_tree_location(tx, tree.number, target.location(name), now))


async def _put(target: ArchiveTarget, name: str, content: bytes) -> None:
    """The content lies under the name; NameTaken if something else does."""
    try:
        await target.put(name, in_memory(content), _JSON)
    except NameTaken:
        if await fetch(target, name, limits.ARCHIVE_JSON_BYTES) != content:
            raise


def _grow(tx: Tx, end: datetime) -> bool:
    """Whether there was another tree to make."""
    rows = store.outside(tx, instant(end), limits.ARCHIVE_TREE_LEAVES)
    if not rows:
        return False
    leaves = [proofs.row_leaf(row) for row in rows]
    last = store.last_tree(tx)
    tree = Tree(
        number=last.number + 1 if last else 1,
        day=instant(end - timedelta(seconds=1))[:10],
        size=len(leaves),
        root=merkle.root(leaves).hex(),
        previous=proofs.statement_sha256(last) if last else None,
    )
    placed: list[dict[str, Value]] = [
        {
            "document_id": row.document_id,
            "leaf": number,
            "proof": msgspec.json.encode([one.hex() for one in path]).decode(),
        }
        for number, (row, path) in enumerate(zip(rows, merkle.paths(leaves), strict=True))
    ]
    store.add_tree(tx, tree, placed)
    return True
