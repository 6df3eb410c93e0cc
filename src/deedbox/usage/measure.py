"""Once an hour: how much each workspace stores, and its days that are over. To add them up whenever someone looks would
take too long."""

from datetime import datetime, timedelta

from deedbox.kernel.clock import instant
from deedbox.kernel.db import Database
from deedbox.kernel.prune import prune_in_parts
from deedbox.usage import days, limits, store
from deedbox.usage.store import StoredUsage


async def measure(db: Database, now: datetime) -> None:
    """Keeps the bytes of every workspace as those of today and its days that are over; forgets what no page shows
    any more."""
    at = instant(now)
    for workspace_id in await db.read(store.workspaces):
        # Apart from the write and beside all requests: adding up holds up nobody.
        found = await db.read_aside(lambda tx, one=workspace_id: store.stored_bytes(tx, one))  # type: ignore[misc]
        stored = StoredUsage(*found, at)
        await db.write(lambda tx, one=workspace_id, kept=stored: store.keep_storage(tx, one, at[:10], kept))  # type: ignore[misc]
        await days.keep_days(db, workspace_id, now)
    oldest = instant(now - timedelta(days=limits.USAGE_DAYS))[:10]
    await prune_in_parts(db, lambda tx: store.prune(tx, oldest))
