"""A reranker behind an endpoint, on loopback: what is sent, what is taken, and what happens when it fails."""

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from deedbox.kernel.addresses import networks
from deedbox.kernel.crypto import Secret
from deedbox.kernel.egress import Egress
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import load
from deedbox.search import limits
from deedbox.search.query.rerank import Reranker
from tests.search.embed.loopback import Request, Response, serving

pytestmark = pytest.mark.anyio

LOOPBACK = networks("127.0.0.0/8,::1/128")
KEY = "key-that-must-not-be-shown"


class ByLength:
    """Scores by length, answers best first as the real ones do, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        asked = json.loads(request.body)
        texts = asked.get("documents") or asked["texts"]
        placed = sorted(enumerate(map(len, texts)), key=lambda one: -one[1])
        if "documents" in asked:
            said: Any = {"id": "x", "results": [{"index": at, "relevance_score": n / 100} for at, n in placed]}
        else:
            said = [{"index": at, "score": n / 100} for at, n in placed]
        return Response(200, json.dumps(said).encode())


@asynccontextmanager
async def reranker(
    answer: Callable[[Request], Response], path: str = "", model: str | None = None, key: str | None = None
) -> AsyncIterator[Reranker]:
    egress = Egress(LOOPBACK)
    with serving(answer) as address:
        try:
            yield Reranker(lambda: egress, address + path, model, Secret(key) if key else None)
        finally:
            await egress.close()


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """The one reason that the log gives."""
    (reason,) = [vars(record)["fields"]["reason"] for record in caplog.records]
    return str(reason)


@pytest.mark.parametrize("path", ["", "/", "/rerank", "/rerank/"])
async def test_tei_is_asked_in_its_shape(path: str) -> None:
    endpoint = ByLength()
    async with reranker(endpoint, path) as made:
        assert await made.scores("who?", ["one", "three", "no"]) == [0.03, 0.05, 0.02]
    (request,) = endpoint.requests
    assert (request.method, request.path) == ("POST", "/rerank")
    assert json.loads(request.body) == {"query": "who?", "texts": ["one", "three", "no"], "truncate": True}
    assert "authorization" not in request.headers


async def test_cohere_and_jina_are_asked_in_theirs() -> None:
    endpoint = ByLength()
    async with reranker(endpoint, "/v2", model="some-reranker", key=KEY) as made:
        assert await made.scores("who?", ["one", "three"]) == [0.03, 0.05]
    (request,) = endpoint.requests
    assert request.path == "/v2/rerank"
    assert json.loads(request.body) == {"model": "some-reranker", "query": "who?", "documents": ["one", "three"]}
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_many_and_long_passages_go_out_in_pieces_of_a_size() -> None:
    endpoint = ByLength()
    passages = ["x" * number for number in range(1, 65)] + ["y" * (limits.RERANK_CHARS + 1), "\ud800"]
    async with reranker(endpoint) as made:
        scores = await made.scores("who?", passages)
    assert scores == [number / 100 for number in range(1, 65)] + [limits.RERANK_CHARS / 100, 0.01]
    assert sorted(len(json.loads(each.body)["texts"]) for each in endpoint.requests) == [2, 32, 32]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, b"secret details", "status 500"),
        (401, b"", "DEEDBOX_RERANK_KEY"),
        (404, b"", "DEEDBOX_RERANK_URL"),
        (302, b"", "status 302"),
        (200, b"<html>", "no list of scores"),
        (200, b'{"scores": [1, 2]}', "no list of scores"),
        (200, b"\xff\xfe", "no list of scores"),
        (200, b'[{"index": 0, "score": 1}]', "1 usable scores for 2"),
        (200, b'[{"index": 0, "score": 1}, {"index": 0, "score": 2}]', "1 usable scores for 2"),
        (200, b'[{"index": 0, "score": 1}, {"index": 2, "score": 2}]', "2 usable scores for 2"),
        (200, b'[{"index": 0, "score": 1e999}, {"index": 1, "score": 2}]', "scores"),
        (200, b" " * (limits.RERANK_RESPONSE_BYTES + 1), "too large"),
    ],
)
async def test_an_endpoint_that_fails_gives_no_scores_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture, status: int, body: bytes, words: str
) -> None:
    async with reranker(lambda _: Response(status, body), key=KEY) as made:
        assert await made.scores("who?", ["one", "two"]) is None
    said = logged(caplog)
    assert words in said
    assert KEY not in said
    assert "secret details" not in said


async def test_one_that_does_not_answer_in_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RERANK_SECONDS", 0.2)
    asked = []

    def slow(request: Request) -> Response:
        asked.append(request)
        time.sleep(0.6)
        return Response(200, b"[]")

    async with reranker(slow) as made:
        assert await made.scores("who?", ["one"]) is None
        assert await made.scores("who?", ["one"]) is None
        # The second question did not even ask.
        assert len(asked) == 1


async def test_after_a_rest_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RERANK_REST_SECONDS", 0)
    answers = iter([Response(503), Response(200, b'[{"index": 0, "score": 0.5}]')])
    async with reranker(lambda _: next(answers)) as made:
        assert await made.scores("who?", ["one"]) is None
        assert await made.scores("who?", ["one"]) == [0.5]


async def test_an_address_inside_is_refused_unless_it_is_allowed(caplog: pytest.LogCaptureFixture) -> None:
    endpoint, egress = ByLength(), Egress()
    with serving(endpoint) as address:
        assert await Reranker(lambda: egress, address, None, None).scores("who?", ["one"]) is None
    assert "not public" in logged(caplog)
    assert endpoint.requests == []
    await egress.close()


@pytest.mark.parametrize("name", ["KEY", "MODEL"])
def test_a_key_or_a_model_needs_the_endpoint(name: str) -> None:
    with pytest.raises(SetupError, match="mean nothing without DEEDBOX_RERANK_URL") as refused:
        load({f"DEEDBOX_RERANK_{name}": "hidden"})
    assert "hidden" not in str(refused.value)


def test_the_endpoint_must_be_an_address() -> None:
    with pytest.raises(SetupError, match=r"DEEDBOX_RERANK_URL.*not an address"):
        load({"DEEDBOX_RERANK_URL": "models.example.com"})
