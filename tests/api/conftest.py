"""The real ASGI application over a real database, with the clock in hand."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from deedbox import wiring
from deedbox.accounts import keys, people, store, workspaces
from deedbox.accounts.tiers import Tier
from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import new_id
from deedbox.kernel.settings import Settings
from deedbox.web import app as web_app
from deedbox.web.http.auth import Authenticator
from deedbox.web.http.guard import Guard
from deedbox.web.http.head import App
from deedbox.web.http.metrics import Metrics
from deedbox.web.http.server import Server
from tests import warm
from tests.conftest import HandClock
from tests.kinds import kinds

_idle: list[tuple[Litestar, Authenticator]] = []
"""Routes put together before, and in use by nobody: to build them costs more than most tests do."""


@pytest.fixture(scope="package", autouse=True)
def warm_children() -> Iterator[None]:
    with warm.children():
        yield


class Key:
    def __init__(self, record: keys.KeyRecord, plain: str) -> None:
        self.id = record.id
        self.record = record
        self.plain = plain


class Api:
    """An open installation, its application, and how to call it."""

    def __init__(self, deedbox: wiring.Installation, clock: HandClock) -> None:
        self.deedbox = deedbox
        self.clock = clock
        self.guard: Guard = _guard(deedbox)
        self.workspace = ""
        self.other_workspace = ""
        self.key: Key

    async def settle(self) -> None:
        """Two workspaces, and a key that may do everything in the first."""
        now = self.clock.now()
        self.workspace = (await self.deedbox.db.write(lambda tx: workspaces.ensure(tx, now=now))).id
        self.other_workspace = await self.add_workspace("Other")
        self.key = await self.make_key()

    async def add_workspace(self, name: str) -> str:
        now = self.clock.now()

        def add(tx: Tx) -> str:
            workspace_id = new_id("wsp", now)
            store.add_workspace(tx, workspace_id, name, instant(now))
            people.add_owner(tx, workspace_id, now=now)
            return workspace_id

        return await self.deedbox.db.write(add)

    async def make_key(
        self,
        *scopes: str,
        workspace: str = "",
        tier: Tier = "enterprise",
        seconds: float = 0,
        collections: list[str] | None = None,
        **rest: int,
    ) -> Key:
        """A key with these scopes, or all, that lives for so many seconds, or for ever."""
        now = self.clock.now()
        new = keys.NewKey(
            name="test",
            scopes=list(scopes) or ["*"],
            tier=tier,
            expires_at=now + timedelta(seconds=seconds) if seconds else None,
            rate_limit=keys.RateLimit(**rest) if rest else None,
            collections=collections,
        )
        caller = workspaces.operator(workspace or self.workspace)
        record, plain = await self.deedbox.db.write(lambda tx: keys.create(tx, caller, new, now=now))
        return Key(record, plain.reveal())

    async def revoke(self, key: Key) -> None:
        now = self.clock.now()
        caller = workspaces.operator(self.workspace)
        await self.deedbox.db.write(lambda tx: keys.revoke(tx, caller, key.id, now=now))

    def plant(self, *routes: HTTPRouteHandler, alone: bool = False) -> None:
        """Serves these routes beside the product's own, or alone: to put those together takes most of a test's time."""
        usual = web_app.ROUTES
        web_app.ROUTES = [*([] if alone else usual), *routes]
        try:
            self.guard = web_app.build(self.deedbox)
        finally:
            web_app.ROUTES = usual

    def client(self, *, address: str = "127.0.0.1", scheme: str = "http") -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app=self.guard, client=(address, 5000))
        return httpx.AsyncClient(transport=transport, base_url=f"{scheme}://deedbox.test", timeout=60)

    async def call(
        self, method: str, path: str, *, key: "Key | str | None" = "", address: str = "127.0.0.1", **request: Any
    ) -> httpx.Response:
        """One request with the all-scope key, another key, or none."""
        headers = dict(request.pop("headers", {}))
        plain = self.key.plain if key == "" else key.plain if isinstance(key, Key) else key
        if plain is not None:
            headers["Authorization"] = f"Bearer {plain}"
        async with self.client(address=address) as client:
            return await client.request(method, path, headers=headers, **request)

    async def get(self, path: str, **request: Any) -> httpx.Response:
        return await self.call("GET", path, **request)

    async def post(self, path: str, body: Any = None, **request: Any) -> httpx.Response:
        return await self.call("POST", path, json=body, **request)

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return await self.deedbox.db.read(lambda tx: tx.all(sql))

    async def plant_trigger(self, when: str, *, sqlite: str, postgres: str) -> None:
        """Has the database itself interfere, for each row as `when` says, in the way of its kind."""
        making = f"create trigger planted {when}"
        if self.deedbox.db.dialect == "sqlite":
            await self.deedbox.db.write(lambda tx: tx.run(f"{making} begin {sqlite} end"))
            return
        function = "create function planted() returns trigger language plpgsql as"
        await self.deedbox.db.write(lambda tx: tx.run(f"{function} $$ begin {postgres} end $$"))
        await self.deedbox.db.write(lambda tx: tx.run(f"{making} execute function planted()"))

    async def drop_trigger(self, table: str) -> None:
        of_table = "" if self.deedbox.db.dialect == "sqlite" else f" on {table}"
        await self.deedbox.db.write(lambda tx: tx.run(f"drop trigger planted{of_table}"))


@asynccontextmanager
async def opened(database_url: str, data_dir: Path, clock: HandClock, **settings: Any) -> AsyncIterator[Api]:
    """An application on this database; to be settled if the database is new."""
    url = None if database_url.startswith("sqlite:") else Secret(database_url)
    kinds.opened(data_dir, database_url)
    usual = {"access_log": False, "anonymous_per_minute": limits.RATE_PER_MINUTE_MAX, **kinds.files(data_dir)}
    settings = {**usual, **settings}
    async with wiring.open_installation(Settings(data_dir=data_dir, database_url=url, **settings), clock) as deedbox:
        made = Api(deedbox, clock)
        routed = cast(Litestar, made.guard.app), made.guard.doors
        yield made
        if not deedbox.settings.tsa_public:  # its routes are others
            _idle.append(routed)


@asynccontextmanager
async def served(api: Api) -> AsyncIterator[int]:
    """The port at which this process serves the application."""
    ready = asyncio.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = Server(api.guard, api.deedbox.settings, ready.set)
        task = asyncio.create_task(serving.serve(sockets=[listener]))
        await ready.wait()
        try:
            yield listener.getsockname()[1]
        finally:
            serving.stop()
            await task


def _guard(deedbox: wiring.Installation) -> Guard:
    """As the product builds it, with routes that another test has used and left."""
    if not _idle or deedbox.settings.tsa_public:
        return web_app.build(deedbox)
    app, doors = _idle.pop()
    app.state.metrics = Metrics()
    app.state.guard = Guard(cast(App, app), deedbox, doors, app.state.metrics)
    return cast(Guard, app.state.guard)


@pytest.fixture
async def api(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Api]:
    async with opened(database_url, tmp_path, clock) as made:
        await made.settle()
        yield made
