"""Forgets attempts and deliveries that are past their time."""

from datetime import datetime, timedelta

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Database
from deedbox.webhooks import store


async def prune(db: Database, now: datetime) -> int:
    """How many rows are gone: a part at a time, so that nobody waits long for the database."""
    before = instant(now - timedelta(days=limits.WEBHOOK_KEEP_DAYS))
    gone = 0
    while True:
        part = await db.write(lambda tx: store.prune(tx, before, limits.WEBHOOK_PRUNE_ROWS))
        gone += part
        if not part:
            return gone
