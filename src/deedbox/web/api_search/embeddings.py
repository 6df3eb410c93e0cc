"""Vectors of text, also in the shape that OpenAI's clients know."""

import asyncio
import base64
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from litestar import Response, post
from litestar.params import JSONBody
from msgspec import Meta

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.once import once

if TYPE_CHECKING:
    from deedbox.search.embed import Vectors

COMPRESSION_RATIO = 32
"""A float of 32 bits becomes one bit."""
CHARS_PER_TOKEN = 4

Text = Annotated[str, Meta(min_length=1, max_length=limits.EMBED_CHARS, extra_json_schema=shared_limits.NO_NUL)]
Name = Annotated[str, Meta(max_length=shared_limits.FILTER_CHARS, extra_json_schema=shared_limits.NO_NUL)]


class NewEmbedding(msgspec.Struct, forbid_unknown_fields=True):
    text: Text
    """What to embed; beyond the model's window, the mean of its windows."""


class Embedding(msgspec.Struct, frozen=True):
    embedding: list[float]
    """float32, of length 1."""
    dimensions: int
    """How many components the vector has."""


class QuantizedEmbedding(msgspec.Struct, frozen=True):
    embedding: list[float]
    """The vector: float32, of length 1."""
    hex_embedding: str
    """A bit for each component, set when it is positive, the first one in the highest bit."""
    dimensions: int
    """How many components the vector has."""
    compression_ratio: int
    """How many times smaller the bits are than the vector."""


class NewEmbeddings(msgspec.Struct, forbid_unknown_fields=True):
    input: Text | Annotated[list[Text], Meta(min_length=1, max_length=limits.EMBED_INPUTS)]
    """One text, or several. Token arrays are not read: send text."""
    model: Name | None = None
    """Read and ignored: the installed model answers."""
    encoding_format: Literal["float", "base64"] = "float"
    """Numbers, or the bytes of float32 (little-endian) in base64."""
    dimensions: Annotated[int, Meta(ge=1, le=65536)] | None = None
    """Only the model's own number is possible."""
    user: Name | None = None
    """Read and ignored."""

    @staticmethod
    def refusal(reason: str, place: str) -> str | None:
        """Why a body that is none is refused, where OpenAI's API would take it."""
        if not place.startswith(".input[") or not reason.endswith(("got `int`", "got `array`")):
            return None
        return "input: token arrays are not supported, because their tokens are those of another model. Send the text"


class EmbeddingItem(msgspec.Struct, frozen=True, kw_only=True):
    object: Literal["embedding"] = "embedding"
    index: int
    """Which of the texts, from 0."""
    embedding: list[float] | str
    """The vector, as numbers or in base64."""


class Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int
    """An estimate; nothing is charged for tokens."""
    total_tokens: int
    """The same."""


class EmbeddingList(msgspec.Struct, frozen=True, kw_only=True):
    object: Literal["list"] = "list"
    data: list[EmbeddingItem]
    """A vector for each text."""
    model: str
    """The model that answered."""
    usage: Usage
    """How much text there was."""


@post("/embed", opt=requires("embeddings:create"), summary="The vector of a text", tags=["embeddings"], status_code=200)
async def embed(request: AnyRequest, data: JSONBody[NewEmbedding]) -> Response[Embedding]:
    vector = (await _vectors(request, [data.text]))[0]
    return await _answer(request, Embedding(vector.tolist(), len(vector)))


@post(
    "/embed_and_quantize",
    opt=requires("embeddings:create"),
    summary="The vector of a text, and its bits",
    tags=["embeddings"],
    status_code=200,
)
async def embed_and_quantize(request: AnyRequest, data: JSONBody[NewEmbedding]) -> Response[QuantizedEmbedding]:
    from deedbox.search.embed.quantize import quantize

    vector = (await _vectors(request, [data.text]))[0]
    made = QuantizedEmbedding(vector.tolist(), quantize(vector), len(vector), COMPRESSION_RATIO)
    return await _answer(request, made)


@post(
    "/v1/embeddings",
    opt=requires("embeddings:create"),
    summary="The vectors of texts, as OpenAI's clients ask for them",
    tags=["embeddings"],
    status_code=200,
)
async def openai_embeddings(request: AnyRequest, data: JSONBody[NewEmbeddings]) -> Response[EmbeddingList]:
    embedder = context.of(request).deedbox.search.embedders.need()
    if data.dimensions not in (None, embedder.dimensions):
        raise BadRequest(f"dimensions must be {embedder.dimensions}: the model makes vectors of no other length")
    texts = [data.input] if isinstance(data.input, str) else data.input
    vectors = await _vectors(request, texts)
    items = [
        EmbeddingItem(index=index, embedding=_encoded(vector, data.encoding_format))
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(-(-len(text) // CHARS_PER_TOKEN) for text in texts)
    return await _answer(request, EmbeddingList(data=items, model=embedder.name, usage=Usage(tokens, tokens)))


async def _vectors(request: AnyRequest, texts: list[str]) -> "Vectors":
    here = context.of(request)
    if here.deadline is not None:
        here.deadline.reschedule(asyncio.get_running_loop().time() + shared_limits.QUERY_SECONDS)
    return await here.deedbox.search.embedders.need().embed(texts, urgent=True, caller=here.holder)


def _encoded(vector: Any, encoding: str) -> list[float] | str:
    if encoding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    numbers: list[float] = vector.tolist()
    return numbers


async def _answer(request: AnyRequest, made: msgspec.Struct) -> Response[Any]:
    if "idempotency-key" in request.headers:
        return await once(request, lambda _: made, status=200, repeatable=True)
    return Response(msgspec.json.encode(made), media_type="application/json")


ROUTES = [embed, embed_and_quantize, openai_embeddings]
