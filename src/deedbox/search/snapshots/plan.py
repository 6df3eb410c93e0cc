"""Which libraries need a snapshot, and which snapshots go."""

import functools
from datetime import datetime

from deedbox.kernel import jobs
from deedbox.kernel.clock import moment
from deedbox.kernel.db import Database, Tx
from deedbox.search import limits
from deedbox.search.index import FORMAT
from deedbox.search.snapshots import store
from deedbox.search.snapshots.store import KnownSnapshot, SnapshotStatus

SNAPSHOT_JOB = "snapshot"


async def plan(db: Database, now: datetime) -> None:
    """Removes the snapshots that may not stay, and has those made that are lacking; to be run every hour."""
    for snapshot_id in await db.read_aside(store.out_of_service):
        await db.write(functools.partial(store.drop, snapshot_id=snapshot_id, now=now))
    for standing in await db.read_aside(lambda tx: store.standings(tx, limits.SNAPSHOT_CHUNKS)):
        if standing.known is not None and must_go(standing, standing.known, now):
            await db.write(functools.partial(store.drop, snapshot_id=standing.known.id, now=now))
        if is_due(standing, now):
            await db.write(functools.partial(_enqueue, workspace_id=standing.workspace_id, now=now))


def must_go(standing: SnapshotStatus, known: KnownSnapshot, now: datetime) -> bool:
    """Whether it is a day old and holds something that was deleted or replaced since it was begun."""
    return _is_old(known, now) and known.chunks > standing.kept


def is_due(standing: SnapshotStatus, now: datetime) -> bool:
    """Whether a new one is to be made: there is none, or it is a day old and much has changed, or it may not stay."""
    known, chunks = standing.known, standing.chunks
    if chunks < limits.SNAPSHOT_CHUNKS:
        return False
    if known is None or must_go(standing, known, now):
        return True
    changed = chunks - standing.kept
    much = max(limits.INDEX_NEAR_CHUNKS, chunks // limits.SNAPSHOT_PART)
    return _is_old(known, now) and (changed > much or known.format != FORMAT)


def _is_old(known: KnownSnapshot, now: datetime) -> bool:
    return (now - moment(known.made_at)).total_seconds() >= limits.SNAPSHOT_SECONDS


def _enqueue(tx: Tx, workspace_id: str, now: datetime) -> None:
    key = f"{SNAPSHOT_JOB}:{workspace_id}"
    job = jobs.NewJob(SNAPSHOT_JOB, priority=jobs.BULK, unique_key=key, workspace_id=workspace_id)
    jobs.enqueue(tx, job, now=now)
