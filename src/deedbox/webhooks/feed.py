"""The event log as a feed that a client pulls."""

from collections.abc import Collection

from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.outbox import store as outbox_store
from deedbox.webhooks import body
from deedbox.webhooks.body import EventBody


async def page(
    db: Database, workspace_id: str, *, after: str | None, limit: int, kinds: Collection[str] = ()
) -> list[EventBody]:
    """Return the workspace's events after the given one, or from the first; only those kinds, if any are named.

    A client that continues after the last id it received misses none."""

    def read(tx: Tx) -> list[EventBody] | None:
        """None if the given event has no place yet: some of those before it have one now."""
        outbox_store.place(tx, workspace_id)
        if after is not None:
            placed = outbox_store.is_in_feed(tx, workspace_id, after)
            if placed is None:
                raise BadRequest(f"There is no event {after}; leave `after` out to begin with the first")
            if not placed:
                return None
        return [body.event_body(event) for event in outbox_store.after(tx, workspace_id, after, limit, kinds)]

    # Read committed: placing must see what others have just committed, and must never make an emitter try again.
    while (found := await db.write(read, isolation="read committed")) is None:
        pass
    return found
