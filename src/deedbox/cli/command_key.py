"""The API key with which a command talks to the server on its data folder."""

from datetime import timedelta
from typing import Any

from deedbox.accounts import keys, workspaces
from deedbox.cli import limits
from deedbox.kernel.db import Tx


async def make(deedbox: Any, purpose: str, scopes: list[str], hours: int = limits.COMMAND_KEY_HOURS) -> keys.CreatedKey:
    """A key for a command; one that is killed leaves it to its end."""
    now = deedbox.clock.now()
    new = keys.NewKey(name=purpose, scopes=scopes, expires_at=now + timedelta(hours=hours))

    def create(tx: Tx) -> keys.CreatedKey:
        return keys.create(tx, workspaces.operator(workspaces.ensure(tx, now=now).id), new, now=now)

    made: keys.CreatedKey = await deedbox.db.write(create)
    return made


async def revoke(deedbox: Any, key_id: str) -> None:
    """Ends the key. It stays in the list, because the audit trail names it."""
    now = deedbox.clock.now()

    def end(tx: Tx) -> None:
        keys.revoke(tx, workspaces.operator(workspaces.ensure(tx, now=now).id), key_id, now=now)

    await deedbox.db.write(end)
