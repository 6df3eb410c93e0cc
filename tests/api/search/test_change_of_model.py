"""Another model is chosen while the server runs: it notices, and what answers changes in one step."""

import asyncio

import pytest

from deedbox.search.indexing.embedders import Embedders
from tests.api.search.conftest import Search
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio


async def test_a_running_server_takes_another_model_and_answers_all_the_time(search: Search) -> None:
    doc_ids = [await search.indexed(text) for text in ("rent of the flat", "colour of the car")]
    chosen = [search.embedder]
    search.api.deedbox.search.embedders = Embedders(lambda: chosen[0], lambda _: None)
    assert (await search.api.get("/info")).json()["embedding_model"] == "hashing"
    chosen[0] = HashingEmbedder("other")
    async with asyncio.timeout(60):
        while (await search.api.get("/info")).json()["embedding_model"] != "other":
            await asyncio.sleep(0.05)
        while any([(await search.record(doc_id))["stale"] for doc_id in doc_ids]):
            best = await search.ask("car", mode="semantic", top_k=1)
            assert best[0]["text"] == "colour of the car"
            await asyncio.sleep(0.05)
    assert chosen[0].texts >= 2
    best = await search.ask("flat", mode="semantic", top_k=1)
    assert best[0]["text"] == "rent of the flat"
