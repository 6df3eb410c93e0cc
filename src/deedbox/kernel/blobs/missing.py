"""The files that rows name and the store has not."""

import functools
from collections.abc import Awaitable, Callable

from deedbox.kernel.blobs import store
from deedbox.kernel.db import Database

SHELVES = [f"{number:02x}" for number in range(256)]


async def find_missing(db: Database, listed: Callable[[str], Awaitable[set[str]]]) -> list[str]:
    """The locations, shelf by shelf; `listed` tells what lies on one."""
    lost: list[str] = []
    for shelf in SHELVES:
        named = functools.partial(store.list_locations, folder=shelf)
        if (suspects := await db.read(named)) and (suspects := suspects - await listed(shelf)):
            # Asked again: what was deleted between the two looks is not lost.
            lost += sorted(suspects & await db.read(named))
    return lost
