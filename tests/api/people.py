"""People of each role who are signed in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from deedbox.accounts import people, store
from deedbox.accounts.people import AccountChange
from deedbox.accounts.roles import Role
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import new_id
from tests.api.conftest import Api


async def member(api: Api, role: Role, name: str = "Ann", *, workspace: str = "", email: str = "") -> str:
    """The id of a new member of the workspace."""
    now = api.clock.now()

    def add(tx: Tx) -> str:
        person_id = new_id("per", now)
        store.add_person(tx, person_id, name, instant(now))
        store.add_member(tx, workspace or api.workspace, person_id, role, instant(now))
        if email:
            people.settle(tx, person_id, AccountChange(name, email, None), keep="")
        return person_id

    return await api.deedbox.db.write(add)


@asynccontextmanager
async def signed_in(api: Api, person_id: str, workspace: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A browser in which this person is signed in."""
    now = api.clock.now()
    token = await api.deedbox.db.write(lambda tx: people.open_session(tx, person_id, workspace_id=workspace, now=now))
    async with api.client() as client:
        client.cookies.set("deedbox", token.reveal())
        client.headers["Accept"] = "text/html"
        yield client
