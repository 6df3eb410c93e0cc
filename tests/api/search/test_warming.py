"""A server that lacks an index: it is ready for everything else, says how far it is, and answers as soon as it can."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from deedbox.search import limits
from deedbox.search.indexing.embedders import Embedders
from tests import server
from tests.api.answers import faults
from tests.api.conftest import Api, opened
from tests.api.search.conftest import Search
from tests.api.search.test_pages import owner, shown
from tests.conftest import HandClock
from tests.faults.installation import ROOT
from tests.search import held_server
from tests.search.gate import Gate
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio
RENT = [f"The tenant of house {number} pays the rent." for number in range(4)]
QUESTION = {"query": "rent of house 2", "top_k": 4}


@asynccontextmanager
async def started(made: Api, gate: Gate) -> AsyncIterator[Search]:
    embedder = HashingEmbedder()
    made.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
    gate.stand_before(made.deedbox.search)
    await made.deedbox.start()
    try:
        yield Search(made, embedder)
    finally:
        gate.open()
        await made.deedbox.stop()


def told(answer: httpx.Response) -> Any:
    """The answer to a question, without the time that it took."""
    assert answer.status_code == 200, answer.text
    return {**answer.json(), "elapsed_ms": None}


async def test_without_its_index_the_server_is_ready_and_questions_are_told_to_come_again(
    database_url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url, tmp_path, clock) as made:
        await made.settle()
        key, workspace, free = made.key, made.workspace, Gate()
        free.open()
        async with started(made, free) as search:
            for text in RENT:
                await search.indexed(text)
            before = told(await made.post("/query", QUESTION))
            assert (await made.get("/readyz", key=None)).text == "ready\n"
    shutil.rmtree(tmp_path / "index")
    monkeypatch.setattr(limits, "INDEX_NEAR_CHUNKS", 1)
    monkeypatch.setattr(limits, "INDEX_WAIT_SECONDS", 0.01)
    gate = Gate(passing=1)
    async with opened(database_url, tmp_path, clock) as made:
        made.key, made.workspace = key, workspace
        async with started(made, gate):
            await asyncio.to_thread(gate.wait_for, 1)
            ready = await made.get("/readyz", key=None)
            assert (ready.status_code, ready.text) == (200, "ready\nsearch: warming 25 %\n")
            refused = await made.post("/query", QUESTION)
            assert faults("/query", refused, 503) == []
            assert refused.headers["X-Service-Error-Code"] == "index_warming"
            assert refused.headers["Retry-After"] == str(limits.INDEX_RETRY_SECONDS)
            assert refused.json() == {"error": "The search index is being built: 25 % are done. Try again in a moment."}
            keyed = await made.post("/query", QUESTION, headers={"Idempotency-Key": "one"})
            assert keyed.status_code == 503
            for path in ("/stats", "/documents", "/health", "/api/v1/documents"):
                assert (await made.get(path)).status_code == 200
            async with owner(made) as client:
                assert "Try again in a moment" in await shown(client, "/app/search", q="rent")
            gate.open()
            while (await made.get("/readyz", key=None)).text != "ready\n":
                await asyncio.sleep(0.01)
            assert told(await made.post("/query", QUESTION)) == before
            again = await made.post("/query", QUESTION, headers={"Idempotency-Key": "one"})
            assert told(again) == before, "a refusal is not kept for the key"
            assert (await made.get("/stats")).json()["queries"] == 3, "refused questions are not counted"


def test_a_server_that_lost_its_index_builds_it_by_itself(tmp_path: Path) -> None:
    data, gate = tmp_path / "data", tmp_path / "gate"
    gate.touch()
    env = {"PYTHONPATH": str(ROOT), held_server.VARIABLE: str(gate)}
    first = server.start(data, module=held_server.__name__, env=env)
    with ended(first), first.client() as client:
        for number, text in enumerate(RENT):
            assert client.post("/documents/upload", files={"file": (f"{number}.txt", text.encode())}).status_code == 200
        assert client.post("/documents/index", json={}).json()["documents_processed"] == len(RENT)
        before = told(client.post("/query", json=QUESTION))
    shutil.rmtree(data / "index")
    gate.unlink()
    later = server.start(data, module=held_server.__name__, env=env)
    with ended(later), later.client(first.api_key) as client:
        while client.get("/readyz").text != "ready\nsearch: warming 25 %\n":
            time.sleep(0.02)
        refused = client.post("/query", json=QUESTION)
        assert (refused.status_code, refused.headers["X-Service-Error-Code"]) == (503, "index_warming")
        assert refused.headers["Retry-After"] == str(limits.INDEX_RETRY_SECONDS)
        assert client.get("/stats").status_code == 200
        gate.touch()
        while client.get("/readyz").text != "ready\n":
            time.sleep(0.02)
        assert told(client.post("/query", json=QUESTION)) == before


@contextmanager
def ended(running: server.Server) -> Iterator[None]:
    """Stops the server, cleanly."""
    try:
        yield
        assert running.stop() == 0
    finally:
        running.kill()
        assert running.process.stdout is not None
        running.process.stdout.close()
