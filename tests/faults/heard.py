"""How soon what one process of a fleet has changed is seen by another: an event, a job, a revoked key, another model.

A change is durable at some moment between that when it was asked for and that when this was answered. Delays since both
are kept: the true one lies between them."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec

from deedbox.kernel.db import Tx
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.search.embed import models
from deedbox.search.engine import INDEX_JOB
from deedbox.search.indexing.renewal import MODEL_CHOSEN
from tests.faults import installation
from tests.faults.fleet import Fleet
from tests.webhooks.sink import Sink, listening

LOOK_SECONDS = 0.001
SECONDS = 60
"""What was not seen by then is missed."""
NAMES = ("one", "other")
"""Of two models that differ in nothing else."""
BEGUN = f"select count(*) from jobs where kind = '{INDEX_JOB}' and state <> 'ready'"
WAITING = f"select count(*) from jobs where kind = '{INDEX_JOB}' and state in ('ready', 'running')"


class Delay(msgspec.Struct, frozen=True):
    """Seconds until a change was seen elsewhere."""

    asked: float
    answered: float
    """Below zero if it was seen before whoever had asked for it was answered."""


def told(kind: str, delays: list[Delay]) -> str:
    """Median and 99th percentile of each, in milliseconds."""
    since = [sorted(1000 * getattr(one, name) for one in delays) for name in ("answered", "asked")]
    parts = (f"{statistics.median(each):.1f} (p99 {each[int(0.99 * len(each))]:.1f})" for each in since)
    return f"{kind}: {' ms since the answer, '.join(parts)} ms since the request, of {len(delays)}"


class Scenario:
    """Changes are made at the first server of the fleet and looked for at the second, or at its workers."""

    def __init__(self, fleet: Fleet, installed: Path, folder: Path) -> None:
        fleet.env |= {"DEEDBOX_MODELS_DIR": str(folder), "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
        self._fleet, self._folder = fleet, folder
        _install_twice(installed, folder)
        self._here: httpx.AsyncClient
        self._there: httpx.AsyncClient
        self._db: PostgresDatabase
        self._sink: Sink

    def run(self, rounds: int) -> dict[str, list[Delay]]:
        """The delays of each kind of change."""
        key = self._fleet.key()
        with self._fleet.running() as running:
            return asyncio.run(self._measure(running.address.split(), key, rounds))

    async def _measure(self, addresses: list[str], key: str, rounds: int) -> dict[str, list[Delay]]:
        async with self._ready(addresses, key):
            kinds = {"events": self._event, "jobs": self._job, "revoked keys": self._key, "models": self._model}
            return {name: [await kind(number) for number in range(rounds)] for name, kind in kinds.items()}

    @asynccontextmanager
    async def _ready(self, addresses: list[str], key: str) -> AsyncIterator[None]:
        assert self._fleet.database_url is not None
        self._db = PostgresDatabase(self._fleet.database_url)
        self._here, self._there = (installation.client(address, key) for address in addresses[:2])
        async with self._here, self._there, listening() as self._sink:
            try:
                yield
            finally:
                await self._db.close()

    async def _event(self, number: int) -> Delay:
        """A subscriber of its own is told by a worker."""
        path = f"/hook/{number}"
        wish = {"target_url": f"{self._sink.url}/{number}", "event": "document.expired"}
        hook_id = _checked(await self._here.post("/api/v1/hooks", json=wish)).json()["id"]

        async def seen() -> bool:
            return bool(self._sink.to(path))

        return await _delay(self._posted(f"/api/v1/hooks/{hook_id}/test"), seen)

    async def _job(self, number: int) -> Delay:  # noqa: ARG002 (each is like the others)
        """A worker begins an index run over nothing."""
        before = await self._count(BEGUN)

        async def seen() -> bool:
            return await self._count(BEGUN) > before

        found = await _delay(self._posted("/documents/index", Prefer="respond-async"), seen)
        while await self._count(WAITING):  # else the next would join it
            await asyncio.sleep(LOOK_SECONDS)
        return found

    async def _key(self, number: int) -> Delay:
        made = _checked(await self._here.post("/api/v1/keys", json={"name": f"key {number}"})).json()
        caller = {"Authorization": f"Bearer {made['key']}"}
        assert (await self._there.get("/api/v1/me", headers=caller)).status_code == 200

        async def revoke() -> None:
            _checked(await self._here.delete(f"/api/v1/keys/{made['id']}"))

        async def seen() -> bool:
            return (await self._there.get("/api/v1/me", headers=caller)).status_code == 401

        return await _delay(revoke, seen)

    async def _model(self, number: int) -> Delay:
        """As `deedbox model use` does it."""
        name = NAMES[(number + 1) % 2]

        async def choose() -> None:
            await asyncio.to_thread(models.use, self._folder, name)
            await self._db.write(lambda tx: tx.notify(MODEL_CHOSEN, name))

        async def seen() -> bool:
            return bool(_checked(await self._there.get("/info")).json()["embedding_model"] == name)

        return await _delay(choose, seen)

    def _posted(self, path: str, **headers: str) -> Callable[[], Awaitable[None]]:
        async def post() -> None:
            _checked(await self._here.post(path, headers=headers))

        return post

    async def _count(self, sql: str) -> int:
        def count(tx: Tx) -> int:
            row = tx.one(sql)
            assert row is not None
            return int(row[0])

        return await self._db.read(count)


async def _delay(change: Callable[[], Awaitable[None]], seen: Callable[[], Awaitable[bool]]) -> Delay:
    async def timed() -> float:
        await change()
        return time.monotonic()

    asked = time.monotonic()
    changing = asyncio.create_task(timed())
    async with asyncio.timeout(SECONDS):
        while not await seen():
            await asyncio.sleep(LOOK_SECONDS)
    at = time.monotonic()
    return Delay(at - asked, at - await changing)


def _install_twice(installed: Path, folder: Path) -> None:
    model = models.current(installed)
    assert model is not None
    files = [(installed / model.name / name).read_bytes() for name in (models.GRAPH, models.TOKENIZER)]
    for name in NAMES:
        models.add(folder, msgspec.structs.replace(model, name=name), *files)


def _checked(answer: httpx.Response) -> httpx.Response:
    assert answer.is_success, answer.text
    return answer
