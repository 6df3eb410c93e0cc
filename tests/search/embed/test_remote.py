"""An OpenAI-compatible endpoint, on loopback: what is sent, what is taken, and what is said when it fails."""

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from deedbox.kernel.addresses import networks
from deedbox.kernel.crypto import Secret
from deedbox.kernel.egress import Egress
from deedbox.kernel.errors import TimedOut, Unavailable
from deedbox.search import limits
from deedbox.search.embed import Prefixes, Role
from deedbox.search.embed.remote import RemoteEmbedder
from deedbox.search.endpoint import ModelEndpoint
from deedbox.search.library.upload import Extraction
from tests.search.embed.loopback import Request, Response, serving

pytestmark = pytest.mark.anyio

LOOPBACK = networks("127.0.0.0/8,::1/128")
KEY = "key-that-must-not-be-shown"


def answered(rows: list[list[float]], status: int = 200) -> Response:
    data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
    return Response(status, json.dumps({"object": "list", "data": data, "model": "m", "usage": {}}).encode())


class LengthEndpoint:
    """Gives each text a vector by its length, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        texts = json.loads(request.body)["input"]
        response = answered([[3.0 * len(text), 4.0 * len(text), 0.0] for text in texts])
        body = json.loads(response.body)
        body["data"].reverse()
        return Response(200, json.dumps(body).encode())


@asynccontextmanager
async def remote(answer: Callable[[Request], Response], key: str | None = KEY) -> AsyncIterator[RemoteEmbedder]:
    with serving(answer) as address, TemporaryDirectory() as folder:
        egress = Egress(LOOPBACK)
        secret = Secret(key) if key else None
        place = Path(folder) / "models"
        embedder = RemoteEmbedder(
            egress, ModelEndpoint(f"{address}/v1/", "some-model", secret), place, size=50, overlap=10
        )
        try:
            yield embedder
        finally:
            await embedder.close()
            await egress.close()


async def failure(answer: Callable[[Request], Response], kind: type[Exception] = Unavailable) -> str:
    async with remote(answer) as embedder:
        with pytest.raises(kind) as failed:
            await embedder.embed(["one", "two"], urgent=True)
    assert KEY not in str(failed.value)
    return str(failed.value)


async def test_texts_go_out_as_the_api_wants_and_come_back_as_unit_vectors() -> None:
    endpoint = LengthEndpoint()
    async with remote(endpoint) as embedder:
        assert (embedder.name, embedder.dimensions) == ("some-model", 0)
        vectors = await embedder.embed(["one", "three"], urgent=False)
        assert embedder.dimensions == 3
    assert np.allclose(vectors, [[0.6, 0.8, 0], [0.6, 0.8, 0]])
    assert vectors.dtype == np.float32
    (request,) = endpoint.requests
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    sent = json.loads(request.body)
    assert sent == {"model": "some-model", "input": ["one", "three"], "encoding_format": "float"}


async def test_without_a_key_none_is_sent() -> None:
    endpoint = LengthEndpoint()
    async with remote(endpoint, key=None) as embedder:
        await embedder.embed(["one"], urgent=True)
    assert "authorization" not in endpoint.requests[0].headers


async def test_prefixes_stand_before_questions_and_passages_alone(tmp_path: Path) -> None:
    endpoint, egress = LengthEndpoint(), Egress(LOOPBACK)
    with serving(endpoint) as address:
        plain = ModelEndpoint(f"{address}/v1", "m", None)
        prefixes = Prefixes("query: ", "passage: ")
        embedder = RemoteEmbedder(egress, plain, tmp_path, prefixes, size=50, overlap=10)
        roles: list[Role | None] = ["query", "passage", None]
        for role in roles:
            await embedder.embed(["one"], urgent=True, role=role)
    assert [json.loads(each.body)["input"] for each in endpoint.requests] == [["query: one"], ["passage: one"], ["one"]]
    assert embedder.recipe != RemoteEmbedder(egress, plain, tmp_path, size=50, overlap=10).recipe
    await embedder.close()
    await egress.close()


async def test_many_texts_go_out_in_batches_and_keep_their_order() -> None:
    endpoint = LengthEndpoint()

    def by_number(request: Request) -> Response:
        endpoint.requests.append(request)
        return answered([[float(text), 1.0] for text in json.loads(request.body)["input"]])

    count = limits.EMBED_BULK_BATCH * 2 + 3
    async with remote(by_number) as embedder:
        vectors = await embedder.embed([str(number) for number in range(count)], urgent=False)
    assert len(endpoint.requests) == 3
    assert np.allclose(vectors[:, 0] / vectors[:, 1], range(count), rtol=1e-5)


async def test_no_texts_need_no_request() -> None:
    endpoint = LengthEndpoint()
    async with remote(endpoint) as embedder:
        assert (await embedder.embed([], urgent=True)).shape == (0, 0)
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("status", "words"),
    [(500, "status 500"), (429, "status 429"), (401, "EMBEDDING_KEY"), (404, "EMBEDDING_MODEL"), (302, "status 302")],
)
async def test_a_refusal_is_said_with_what_to_check(status: int, words: str) -> None:
    assert words in await failure(lambda _: Response(status, b"secret details"))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([[1.0], [1.0], [1.0]], "3 vectors for 2 texts"),
        ([[1.0, 2.0], [1.0]], "no usable length"),
        ([[], []], "no usable length"),
        ([[1.0, 2.0], [0.0, 0.0]], "without direction"),
        ([[1.0, 2.0], [1e308, 1e308]], "without direction"),
    ],
)
async def test_vectors_that_are_none_are_refused(rows: list[list[float]], words: str) -> None:
    assert words in await failure(lambda _: answered(rows))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b'{"data": [{"index": 0, "embedding": [NaN, 1]}, {"index": 1, "embedding": [1, 1]}]}',
        b'{"data": [{"index": 0, "embedding": [null]}, {"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}]}',
        b"\xff\xfe",
    ],
)
async def test_an_answer_that_holds_no_numbers_is_refused(body: bytes) -> None:
    assert "no list of vectors" in await failure(lambda _: Response(200, body))


async def test_the_same_index_twice_is_refused() -> None:
    body = b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}'
    assert "2 vectors for 2 texts" in await failure(lambda _: Response(200, body))


async def test_vectors_of_another_length_than_before_are_refused() -> None:
    widths = iter([2, 3])

    def answer(request: Request) -> Response:
        return answered([[1.0] * next(widths)])

    async with remote(answer) as embedder:
        await embedder.embed(["one"], urgent=True)
        with pytest.raises(Unavailable, match="3 dimensions where it gave 2"):
            await embedder.embed(["two"], urgent=True)
        assert embedder.dimensions == 2


@pytest.mark.parametrize("note", [None, "", "many"])
async def test_the_dimensions_are_known_after_a_restart(tmp_path: Path, note: str | None) -> None:
    egress = Egress(LOOPBACK)
    with serving(LengthEndpoint()) as address:
        first = RemoteEmbedder(egress, ModelEndpoint(f"{address}/v1", "m", None), tmp_path, size=50, overlap=10)
        await first.embed(["one"], urgent=True)
        if note is not None:
            for path in tmp_path.iterdir():
                path.write_text(note)
        again = RemoteEmbedder(egress, ModelEndpoint(f"{address}/v1", "m", None), tmp_path, size=50, overlap=10)
        assert again.dimensions == (3 if note is None else 0)
        other = RemoteEmbedder(egress, ModelEndpoint(f"{address}/v1", "n", None), tmp_path, size=50, overlap=10)
        assert other.dimensions == 0
        assert (await again.embed(["one"], urgent=True)).shape == (1, 3)
    await egress.close()


async def test_an_endpoint_that_does_not_answer_in_time_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EMBED_SECONDS", 0.2)

    def slow(_: Request) -> Response:
        time.sleep(0.6)
        return answered([[1.0], [1.0]])

    assert "too long" in await failure(slow, TimedOut)


async def test_an_answer_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REMOTE_RESPONSE_BYTES", 1000)
    assert "too large" in await failure(lambda _: answered([[0.5] * 500, [0.5] * 500]))


async def test_an_address_inside_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    with serving(LengthEndpoint()) as address:
        egress = Egress()
        embedder = RemoteEmbedder(egress, ModelEndpoint(f"{address}/v1", "m", None), tmp_path, size=50, overlap=10)
        with pytest.raises(Unavailable, match="not public"):
            await embedder.embed(["one"], urgent=True)
        await embedder.close()
        await egress.close()


async def test_chunks_are_cut_by_an_estimate_that_loses_nothing() -> None:
    text = "# One\n" + "Some rather ordinary words, in a sentence. " * 30 + "\n\n" + "漢字かな交じり文。" * 40
    async with remote(LengthEndpoint()) as embedder:
        found = await embedder.split(Extraction(text, [0], [(0, "One")]))
    assert all(chunk.text == text[chunk.char_start : chunk.char_end] for chunk in found)
    assert found[0].heading == "One"
    assert (found[0].char_start, found[-1].char_end) == (0, len(text))
    assert all(one.char_end >= other.char_start - 2 for one, other in pairwise(found))
    assert max(len(chunk.text) for chunk in found) <= 50 * 6


async def test_another_endpoint_or_model_is_another_recipe(tmp_path: Path) -> None:
    egress = Egress()

    def recipe(url: str, model: str) -> str:
        return RemoteEmbedder(egress, ModelEndpoint(url, model, None), tmp_path, size=50, overlap=10).recipe

    recipes: list[Any] = [recipe("https://a.example/v1", "m"), recipe("https://b.example/v1", "m")]
    recipes += [recipe("https://a.example/v1", "n")]
    assert len(set(recipes)) == 3
    assert recipe("https://a.example/v1/", "m") == recipes[0]
    await egress.close()
