"""Several processes on one PostgreSQL: what one changes the others see by its notice, with no look at an interval."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import NOTICES_MISSED
from deedbox.search import limits as search_limits
from deedbox.search.indexing.embedders import Embedders
from deedbox.search.indexing.renewal import MODEL_CHOSEN
from deedbox.web import limits
from deedbox.webhooks import limits as webhooks_limits
from tests.api.conftest import Api, opened, served
from tests.api.hooks.conftest import LOOPBACK
from tests.api.signing.conftest import Office
from tests.conftest import HandClock
from tests.search.hashing import HashingEmbedder
from tests.webhooks.sink import listening

pytestmark = pytest.mark.anyio


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def another(api: Api, embedder: HashingEmbedder | None = None, **start: Any) -> AsyncIterator[Api]:
    """One more process's worth of the installation: a server, or a worker of these `kinds`; it hears the others."""
    settings = api.deedbox.settings
    assert settings.database_url is not None
    heard: list[bool] = []
    url, allowed = settings.database_url.reveal(), settings.egress_allow
    async with opened(url, settings.data_dir, api.clock, egress_allow=allowed) as made:
        made.key, made.workspace = api.key, api.workspace
        if embedder is not None:
            made.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
        made.deedbox.db.listeners.add(NOTICES_MISSED, lambda: heard.append(True))
        begin = made.deedbox.start_worker if "kinds" in start else made.deedbox.start
        await begin(**start)
        try:
            await until(lambda: bool(heard))
            yield made
        finally:
            await made.deedbox.stop()


@pytest.fixture
async def server(
    postgres_url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Api]:
    """A server that does no work. Nobody looks for anything by himself."""
    for interval in ("JOB_POLL_SECONDS", "MODEL_WATCH_SECONDS", "JOB_WATCH_SECONDS"):
        monkeypatch.setattr(shared_limits, interval, 3600)
    monkeypatch.setattr(webhooks_limits, "WEBHOOK_POLL_SECONDS", 3600)
    monkeypatch.setattr(search_limits, "INDEX_FOLLOW_SECONDS", 3600)
    monkeypatch.setattr(limits, "SEAL_WAIT_SECONDS", 60)
    async with AsyncExitStack() as stack, opened(postgres_url, tmp_path, clock, egress_allow=LOOPBACK) as first:
        await first.settle()
        yield await stack.enter_async_context(another(first, work=False))


async def test_who_waits_at_one_server_for_a_seal_gets_it_when_a_worker_has_sealed(server: Api) -> None:
    office = Office(server)
    async with another(server, kinds=["finalize"]):
        document = await office.create(send=True)
        assert (await office.sign(document, "ann")).status_code == 200
        sealed = await server.get(f"/api/v1/documents/{document['id']}/signed")
        assert (sealed.status_code, sealed.content[:5]) == (200, b"%PDF-")


async def test_a_worker_delivers_the_events_of_a_server(server: Api) -> None:
    async with listening() as sink, another(server, kinds=["webhooks"]):
        hook = await server.post("/api/v1/hooks", {"target_url": sink.url, "events": ["document.sent"]})
        assert hook.status_code == 201, hook.text
        await Office(server).create(send=True)
        await until(lambda: len(sink.to("/hook")) == 1)


async def test_a_key_that_one_server_revokes_opens_nothing_at_another(server: Api) -> None:
    async with another(server, work=False) as other:
        key = await server.make_key()
        assert (await other.get("/api/v1/documents", key=key)).status_code == 200
        await server.revoke(key)
        assert (await other.get("/api/v1/documents", key=key)).status_code == 401


async def test_another_model_is_used_as_soon_as_it_is_told(server: Api) -> None:
    async with another(server, work=False) as other:
        engine, chosen = other.deedbox.search, [HashingEmbedder()]
        engine.embedders = Embedders(lambda: chosen[0], lambda _: None)
        before = engine.recipe
        chosen[0] = HashingEmbedder("other")
        await server.deedbox.db.write(lambda tx: tx.notify(MODEL_CHOSEN, "other"))
        await until(lambda: engine.recipe != before)


async def test_an_index_run_of_a_worker_is_followed_at_any_server(server: Api) -> None:
    embedder = HashingEmbedder()
    server.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
    note = {"file": ("note.txt", b"The red house stands by the river.")}
    assert (await server.call("POST", "/documents/upload", files=note)).status_code == 200
    planned = await server.post("/documents/index", {}, headers={"Prefer": "respond-async"})
    assert planned.status_code == 202, planned.text
    path = f"{planned.headers['location']}/events"
    headers = {"Authorization": f"Bearer {server.key.plain}"}
    async with (
        served(server) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client,
        client.stream("GET", path) as answer,
        asyncio.timeout(60),
    ):
        events = (line async for line in answer.aiter_lines() if line.startswith("event: "))
        assert await anext(events) == "event: progress"
        async with another(server, embedder, kinds=["index"]):
            assert [event async for event in events][-1] == "event: end"
            again = await server.post("/documents/index", {})
            assert (again.status_code, again.json()["documents_skipped"]) == (200, 1), again.text


async def test_a_server_that_starts_leaves_alone_what_another_indexes(server: Api) -> None:
    embedder, begun, gate = HashingEmbedder(), asyncio.Event(), asyncio.Event()
    usual = embedder.embed

    async def held(*args: Any, **named: Any) -> Any:
        begun.set()
        await gate.wait()
        return await usual(*args, **named)

    embedder.embed = held  # type: ignore[method-assign]
    server.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
    note = {"file": ("note.txt", b"The red house stands by the river.")}
    assert (await server.call("POST", "/documents/upload", files=note)).status_code == 200
    async with another(server, embedder, kinds=["index"]):
        run = asyncio.create_task(server.post("/documents/index", {}))
        await begun.wait()
        async with another(server, embedder, work=True) as starting:
            listed = await starting.get("/documents")
            assert [one["status"] for one in listed.json()["documents"]] == ["indexing"], listed.text
        gate.set()
        assert (await run).json()["documents_processed"] == 1


async def test_a_server_that_reads_an_index_gets_what_it_lacks_from_the_one_that_writes_it(server: Api) -> None:
    embedder = HashingEmbedder()
    server.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
    async with another(server, embedder, kinds=["index"]), another(server, embedder, work=False) as other:
        for number in range(1, 4):
            note = {"file": ("note.txt", f"The red house {number} stands by the river.".encode())}
            assert (await server.call("POST", "/documents/upload", files=note)).status_code == 200
            assert (await server.post("/documents/index", {})).status_code == 200
            for asked in (server, other) if number == 1 else (other, server):
                found = await asked.post("/query", {"query": "river", "mode": "keyword"})
                assert (found.status_code, len(found.json()["results"])) == (200, number), found.text
        indexes = [next(iter(one.deedbox.search._indexes.values())) for one in (server, other)]
        assert [index.written is not None for index in indexes] == [True, False]
