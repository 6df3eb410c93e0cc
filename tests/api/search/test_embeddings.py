"""Vectors of text, in our own shapes and in OpenAI's."""

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deedbox.kernel import limits
from deedbox.search.indexing.embedders import Embedders
from deedbox.web import limits as web_limits
from tests.api.answers import faults, reason
from tests.api.conftest import Api
from tests.api.search.conftest import Search
from tests.search.hashing import DIMENSIONS

if TYPE_CHECKING:
    import openai

pytestmark = pytest.mark.anyio

PATHS = {"/embed": "text", "/embed_and_quantize": "text", "/v1/embeddings": "input"}
GOLDEN = [1, -1, 0, 2, -3, 0.5, 0, 0, -1, 1]


def client(search: Search) -> "openai.AsyncOpenAI":
    """The real client, with this application in place of the network."""
    import openai  # two seconds, which only those who use it shall wait for

    network: Any = search.api.client()
    return openai.AsyncOpenAI(
        base_url="http://deedbox.test/v1", api_key=search.api.key.plain, http_client=network, max_retries=0
    )


async def test_a_text_gives_a_unit_vector_of_the_models_length(search: Search) -> None:
    answer = (await search.api.post("/embed", {"text": "a lease"})).json()
    assert list(answer) == ["embedding", "dimensions"]
    assert (len(answer["embedding"]), answer["dimensions"]) == (DIMENSIONS, DIMENSIONS)
    assert np.linalg.norm(answer["embedding"]) == pytest.approx(1, abs=1e-5)
    assert answer["dimensions"] == (await search.api.get("/info")).json()["embedding_dimensions"]


async def test_the_same_text_gives_the_same_bytes(search: Search) -> None:
    answers = [await search.api.post("/embed", {"text": "a lease"}) for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert (await search.api.post("/embed", {"text": "a boat"})).content != answers[0].content


async def test_quantizing_keeps_the_vector_and_adds_a_bit_for_each_component(search: Search) -> None:
    plain = (await search.api.post("/embed", {"text": "a lease"})).json()
    answer = (await search.api.post("/embed_and_quantize", {"text": "a lease"})).json()
    assert list(answer) == ["embedding", "hex_embedding", "dimensions", "compression_ratio"]
    assert answer["embedding"] == plain["embedding"]
    assert (answer["dimensions"], answer["compression_ratio"]) == (DIMENSIONS, 32)
    bits = "".join("1" if component > 0 else "0" for component in plain["embedding"])
    assert answer["hex_embedding"] == f"{int(bits, 2):0{DIMENSIONS // 4}x}"


async def test_the_golden_vector_gives_the_golden_bits(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    async def golden(*_: Any, **__: Any) -> Any:
        return np.array([GOLDEN], dtype=np.float32)

    monkeypatch.setattr(search.embedder, "embed", golden)
    answer = (await search.api.post("/embed_and_quantize", {"text": "x"})).json()
    assert (answer["hex_embedding"], answer["embedding"]) == ("9440", GOLDEN)


async def test_the_real_openai_client_gets_vectors(search: Search) -> None:
    expected = (await search.api.post("/embed", {"text": "a lease"})).json()["embedding"]
    async with client(search) as real:
        one = await real.embeddings.create(model="text-embedding-3-small", input="a lease")
        several = await real.embeddings.create(model="any", input=["a boat", "a lease"], encoding_format="float")
    assert one.data[0].embedding == pytest.approx(expected, abs=1e-7)
    assert (one.object, one.data[0].object, one.model) == ("list", "embedding", "hashing")
    assert one.usage.prompt_tokens == one.usage.total_tokens > 0
    assert [item.index for item in several.data] == [0, 1]
    assert several.data[1].embedding == pytest.approx(expected, abs=1e-7)


async def test_the_real_openai_client_reads_our_errors(search: Search) -> None:
    import openai

    async with client(search) as real:
        with pytest.raises(openai.BadRequestError) as refused:
            await real.embeddings.create(model="any", input="a", dimensions=128)
        assert refused.value.message.count("dimensions must be 64") == 1
        assert (refused.value.code, refused.value.type) == ("invalid_request", "invalid_request_error")
        with pytest.raises(openai.BadRequestError, match="token arrays are not supported"):
            await real.embeddings.create(model="any", input=[[1, 2, 3]])
    network: Any = search.api.client()
    wrong = openai.AsyncOpenAI(base_url="http://deedbox.test/v1", api_key="none", http_client=network, max_retries=0)
    async with wrong as real:
        with pytest.raises(openai.AuthenticationError) as unknown:
            await real.embeddings.create(model="any", input="a")
        assert (unknown.value.code, unknown.value.type) == ("invalid_key", "authentication_error")
    async with client(search) as real:
        assert (await real.embeddings.create(model="any", input="a", dimensions=DIMENSIONS)).data


async def test_base64_holds_the_same_floats(search: Search) -> None:
    floats = (await search.api.post("/v1/embeddings", {"input": "a lease"})).json()["data"][0]["embedding"]
    body = {"input": "a lease", "encoding_format": "base64", "model": "any", "user": "someone"}
    packed = (await search.api.post("/v1/embeddings", body)).json()["data"][0]["embedding"]
    assert np.frombuffer(base64.b64decode(packed), "<f4").tolist() == floats


@pytest.mark.parametrize("path", PATHS)
async def test_a_text_has_a_first_and_a_last_possible_length(search: Search, path: str) -> None:
    field = PATHS[path]
    for length, status in ((0, 400), (1, 200), (web_limits.EMBED_CHARS, 200), (web_limits.EMBED_CHARS + 1, 400)):
        assert (await search.api.post(path, {field: "x" * length})).status_code == status, length


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": []},
        {"input": [""]},
        {"input": ["a"] * (web_limits.EMBED_INPUTS + 1)},
        {"input": [1, 2]},
        {"input": [[1, 2]]},
        {"input": None},
        {"input": "a", "encoding_format": "hex"},
        {"input": "a", "dimensions": 0},
        {"input": "a", "dimensions": 3},
        {"input": "a", "model": 5},
        {"input": "a", "colour": "red"},
    ],
    ids=lambda body: str(body)[:40],
)
@pytest.mark.one_database
async def test_what_openai_would_not_take_either_is_400(search: Search, body: dict[str, Any]) -> None:
    assert faults("/v1/embeddings", await search.api.post("/v1/embeddings", body), 400) == []


@pytest.mark.parametrize("tokens", [[1, 2], [[1, 2], [3]], ["a", 5]])
async def test_token_arrays_are_refused_by_name(search: Search, tokens: list[Any]) -> None:
    answer = await search.api.post("/v1/embeddings", {"input": tokens})
    assert faults("/v1/embeddings", answer, 400) == []
    assert "input: token arrays are not supported" in reason(answer)
    assert "Send the text" in reason(answer)


async def test_an_answer_too_large_to_be_kept_is_made_again_for_a_retry(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDEMPOTENT_RESPONSE_BYTES", 2000)
    headers, body = {"Idempotency-Key": "large"}, {"input": ["text", "another"]}
    first, again = [await search.api.post("/v1/embeddings", body, headers=headers) for _ in range(2)]
    assert len(first.content) > limits.IDEMPOTENT_RESPONSE_BYTES
    assert (again.status_code, again.content) == (200, first.content)
    assert "Idempotency-Replayed" not in again.headers
    other = await search.api.post("/v1/embeddings", {"input": "b"}, headers=headers)
    assert faults("/v1/embeddings", other, 409) == []
    kept = await search.api.rows("select exchange from idempotency")
    assert max(len(exchange) for (exchange,) in kept) < limits.IDEMPOTENT_RESPONSE_BYTES


async def test_a_full_list_of_inputs_keeps_its_order(search: Search) -> None:
    texts = [f"text {number}" for number in range(web_limits.EMBED_INPUTS)]
    answer = (await search.api.post("/v1/embeddings", {"input": texts})).json()
    assert [item["index"] for item in answer["data"]] == list(range(web_limits.EMBED_INPUTS))
    assert answer["data"][7]["embedding"] == (await search.api.post("/embed", {"text": texts[7]})).json()["embedding"]


@pytest.mark.parametrize("path", PATHS)
async def test_a_retry_with_the_same_key_gets_the_same_bytes(search: Search, path: str) -> None:
    headers = {"Idempotency-Key": "e1"}
    first, again = [await search.api.post(path, {PATHS[path]: "a"}, headers=headers) for _ in range(2)]
    assert (again.content, again.headers["Idempotency-Replayed"]) == (first.content, "true")
    assert faults(path, await search.api.post(path, {PATHS[path]: "b"}, headers=headers), 409) == []


@pytest.mark.parametrize("path", PATHS)
async def test_without_a_model_the_answer_says_what_to_run(api: Api, path: str) -> None:
    api.deedbox.search.embedders = Embedders(lambda: None, lambda _: None)
    answer = await api.post(path, {PATHS[path]: "a"})
    assert faults(path, answer, 503) == []
    assert reason(answer) == "No embedding model is installed. Run: deedbox model install"
    assert answer.headers["X-Service-Error-Code"] == "model_missing"


@pytest.mark.parametrize("path", PATHS)
async def test_embedding_that_takes_too_long_is_408(search: Search, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(*_: Any, **__: Any) -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr(search.embedder, "embed", sleep)
    monkeypatch.setattr(limits, "QUERY_SECONDS", 0.05)
    assert faults(path, await search.api.post(path, {PATHS[path]: "a"}), 408) == []
