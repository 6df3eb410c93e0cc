"""Empties the trash of a blob store, in a folder or in a bucket."""

import functools
from collections.abc import Awaitable, Callable
from datetime import datetime

from deedbox.kernel import limits
from deedbox.kernel.blobs import store
from deedbox.kernel.db import Database


async def empty_trash(
    db: Database, now: datetime, doubtful: set[str], remove: Callable[[list[str]], Awaitable[bool]]
) -> int:
    """The number of files that `remove` has removed; `remove` says False while a backup holds the files.

    It is asked after the trash was read, so a backup that begins later names nothing of this batch."""
    if named := list(doubtful):
        await db.write(functools.partial(store.condemn, locations=named, now=now))
        doubtful.difference_update(named)
    removed = 0
    while batch := await db.read(functools.partial(store.list_trash, limit=limits.BLOB_SWEEP)):
        if not await remove(batch):
            break
        await db.write(functools.partial(store.empty_trash, locations=batch))
        removed += len(batch)
    return removed
