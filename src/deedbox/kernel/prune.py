"""Forgets old rows a part at a time, so that nobody waits long for the database."""

from collections.abc import Callable

from deedbox.kernel.db import Database, Tx


async def prune_in_parts(db: Database, part: Callable[[Tx], int]) -> int:
    """How many rows are gone, once a part, which says how many it has removed, finds none any more."""
    gone = 0
    while some := await db.write(part):
        gone += some
    return gone
