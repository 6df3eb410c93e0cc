"""People who are signed in to the pages of a workspace, by role."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from deedbox.accounts import people, store
from deedbox.accounts.roles import Role
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import new_id
from tests.api.conftest import Api


@asynccontextmanager
async def signed_in(
    api: Api, role: Role = "owner", email: str = "mara@example.com"
) -> AsyncIterator[httpx.AsyncClient]:
    """The browser of a new member of the workspace."""
    now = api.clock.now()

    def join(tx: Tx) -> Secret:
        person_id = new_id("per", now)
        store.add_person(tx, person_id, "Mara", instant(now))
        store.add_member(tx, api.workspace, person_id, role, instant(now))
        store.update_person(tx, person_id, "Mara", email, None, None)
        return people.login_link(tx, person_id, now=now)

    token = await api.deedbox.db.write(join)
    async with api.client() as client:
        assert (await client.post(f"/login/{token.reveal()}")).status_code == 303
        yield client
