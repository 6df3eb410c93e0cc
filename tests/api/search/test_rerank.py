"""POST /query with a reranker behind a real endpoint: it has the last word, and is missed without harm."""

import json
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel.settings import Networks
from deedbox.search import limits
from deedbox.search.indexing.embedders import Embedders
from tests.api.conftest import opened
from tests.api.search.conftest import Search
from tests.conftest import HandClock
from tests.search.embed.loopback import Request, Response, serving
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio

RENTS = [f"rent {'rent ' * number}of house {number}" for number in range(8)]


class Endpoint:
    """Finds the passage with the lowest number best, unlike the index; fails while `status` says so."""

    def __init__(self) -> None:
        self.status = 200
        self.asked: list[Any] = []

    def answer(self, request: Request) -> Response:
        self.asked.append(json.loads(request.body))
        texts = self.asked[-1]["texts"]
        scores = [{"index": at, "score": 10 - float(text.split()[-1])} for at, text in enumerate(texts)]
        return Response(self.status, json.dumps(scores).encode())


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
async def reranking(endpoint: Endpoint, database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Search]:
    """An application whose settings name the endpoint, with eight passages about rent in it."""
    inside = Networks([ip_network("127.0.0.0/8")])
    with serving(endpoint.answer) as address:
        async with opened(database_url, tmp_path, clock, rerank_url=address, egress_allow=inside) as made:
            await made.settle()
            embedder = HashingEmbedder()
            made.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
            await made.deedbox.start()
            search = Search(made, embedder)
            await search.indexed("\n\n".join(RENTS))
            try:
                yield search
            finally:
                await made.deedbox.stop()


async def asked(search: Search, **body: Any) -> Any:
    answer = await search.api.post("/query", {"query": "rent", "top_k": 3, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_reranker_has_the_last_word(reranking: Search, endpoint: Endpoint) -> None:
    answer = await asked(reranking)
    assert answer["reranked"] is True
    assert [result["text"] for result in answer["results"]] == RENTS[:3]
    assert [result["score"] for result in answer["results"]] == [10, 9, 8]
    assert all(result["metadata"]["highlights"] for result in answer["results"])
    # It saw all that the index found, and not only as many as were asked for.
    (request,) = endpoint.asked
    assert (request["query"], sorted(request["texts"])) == ("rent", sorted(RENTS))


async def test_without_it_the_answer_is_that_of_the_index_and_says_so(reranking: Search, endpoint: Endpoint) -> None:
    endpoint.status = 500
    missed = await asked(reranking)
    reranking.api.deedbox.search.reranker = None
    plain = await asked(reranking)
    assert missed["reranked"] is False
    assert "reranked" not in plain
    found, expected = [[(result["text"], result["score"]) for result in one["results"]] for one in (missed, plain)]
    assert found == expected
    assert [text for text, _ in found] != RENTS[:3]


@pytest.mark.parametrize("mode", ["semantic", "keyword"])
async def test_where_the_question_says_what_decides_it_is_not_asked(
    reranking: Search, endpoint: Endpoint, mode: str
) -> None:
    assert "reranked" not in await asked(reranking, mode=mode)
    assert endpoint.asked == []


async def test_more_passages_than_it_may_read_are_left_as_they_are(
    reranking: Search, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RERANK_PASSAGES", 4)
    assert (await asked(reranking, top_k=5))["reranked"] is False
    assert endpoint.asked == []
    assert (await asked(reranking, top_k=4))["reranked"] is True
    assert len(endpoint.asked[0]["texts"]) == 4
