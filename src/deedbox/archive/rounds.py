"""Once a day: what was left lying is taken up, and the packages of the day before get their time-stamped root."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from deedbox.archive import merkle, proofs, store
from deedbox.archive.package import Bag
from deedbox.archive.push import Pushing
from deedbox.archive.receipt import Archived, Tree
from deedbox.archive.records import Authority
from deedbox.archive.spool import held
from deedbox.archive.targets import Taken, Target, fetched
from deedbox.kernel import jobs, limits
from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.db import Database, Tx, Value
from deedbox.kernel.jobs import Work

ROUND_JOB = "archive_round"
_JSON = "application/json"


class Rounds:
    def __init__(
        self, db: Database, clock: Clock, pushing: Pushing, authority: Authority, target: Callable[[], Target]
    ) -> None:
        self._db, self._clock, self._pushing = db, clock, pushing
        self._authority, self._target = authority, target

    def plan(self, tx: Tx, at: datetime) -> None:
        """A round at this time; one that waits for the same day is joined."""
        key = f"{ROUND_JOB}:{instant(at)[:10]}"
        jobs.enqueue(tx, ROUND_JOB, {}, now=self._clock.now(), run_at=at, priority=jobs.BULK, unique_key=key)

    def plan_first(self, tx: Tx) -> None:
        """A round at the start of a server, and with it all that follow."""
        now = self._clock.now()
        jobs.enqueue(tx, ROUND_JOB, {}, now=now, priority=jobs.BULK, unique_key=f"{ROUND_JOB}:start")

    async def run(self, work: Work) -> None:
        """The handler of round jobs. The next round is planned first: one that fails must not be the last."""
        del work
        if self._pushing.key is None:
            return
        now = self._clock.now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        following = midnight + timedelta(days=1, seconds=limits.ARCHIVE_ROUND_SECONDS)
        await self._db.write(lambda tx: self.plan(tx, following))
        await self._resume(now)
        await self.close_before(midnight)

    async def close_before(self, end: datetime) -> int:
        """Makes, stamps and publishes the trees over all that was archived before; how many trees there were to do."""
        while await self._db.write(lambda tx: _grow(tx, end)):
            continue
        unfinished = await self._db.read(store.unfinished_trees)
        for tree in unfinished:
            await self._publish(await self._stamped(tree))
        return len(unfinished)

    async def _resume(self, now: datetime) -> None:
        after = ""
        while True:
            after = await self._db.write(lambda tx, after=after: self._resume_some(tx, after, now))  # type: ignore[misc]
            if not after:
                return

    def _resume_some(self, tx: Tx, after: str, now: datetime) -> str:
        rows = store.waiting(tx, after, limits.ARCHIVE_BATCH)
        for row in rows:
            self._pushing.resume(tx, row, now=now)
        return rows[-1].document_id if rows else ""

    async def _stamped(self, tree: Tree) -> Tree:
        if tree.token is None:
            token = await self._authority.token(bytes.fromhex(proofs.statement_sha256(tree)))
            await self._db.write(lambda tx: store.stamp_tree(tx, tree.number, token))
        # Read again: another process may have been first.
        found = await self._db.read(lambda tx: store.tree(tx, tree.number))
        return found or tree

    async def _publish(self, tree: Tree) -> None:
        """The proofs, then the root: whoever sees the root finds every proof."""
        target = self._target()
        for row in await self._db.read(lambda tx: store.leaves(tx, tree.number)):
            package, receipt = package_name(row), row.got
            if receipt is None:
                continue
            content = proofs.proof_file(proofs.proof(row, package, receipt, tree))
            await _put(target, proofs.proof_name(package), content)
        await _put(target, proofs.root_name(tree), proofs.root_file(tree))
        now = instant(self._clock.now())
        await self._db.write(lambda tx: store.note_published(tx, tree.number, now))


async def _put(target: Target, name: str, content: bytes) -> None:
    """The content lies under the name; Taken if something else does."""
    try:
        await target.put(name, held(content), _JSON)
    except Taken:
        if await fetched(target, name, limits.ARCHIVE_JSON_BYTES) != content:
            raise


def package_name(row: Archived) -> str:
    return msgspec.json.decode(row.bag, type=Bag).name


def _grow(tx: Tx, end: datetime) -> bool:
    """Whether there was another tree to make."""
    rows = store.outside(tx, instant(end), limits.ARCHIVE_TREE_LEAVES)
    if not rows:
        return False
    leaves = [_leaf(row) for row in rows]
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


def _leaf(row: Archived) -> bytes:
    receipt = row.got
    assert receipt is not None  # noqa: S101 (whatever is archived has one)
    return proofs.leaf(package_name(row), receipt.sha256, receipt.size_bytes)
