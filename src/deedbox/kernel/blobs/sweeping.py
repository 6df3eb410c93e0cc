"""How trash is emptied, wherever the files lie."""

import functools
from collections.abc import Awaitable, Callable
from datetime import datetime

from deedbox.kernel import limits
from deedbox.kernel.blobs import store
from deedbox.kernel.db import Database


async def swept(db: Database, now: datetime, doubtful: set[str], remove: Callable[[list[str]], Awaitable[bool]]) -> int:
    """How many files `remove` has removed. It is asked after the trash was read: what a backup names is not in it
    unless the backup held the files before, and then `remove` says False."""
    if named := list(doubtful):
        await db.write(functools.partial(store.condemn, locations=named, now=now))
        doubtful.difference_update(named)
    removed = 0
    while batch := await db.read(functools.partial(store.trashed, limit=limits.BLOB_SWEEP)):
        if not await remove(batch):
            break
        await db.write(functools.partial(store.empty_trash, locations=batch))
        removed += len(batch)
    return removed
