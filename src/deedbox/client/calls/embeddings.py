# Written by scripts/client.py from the OpenAPI document: change it there.
"""Vectors of texts."""

from deedbox.client.call import Call, once
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.records.embeddings import Embedding, EmbeddingList, QuantizedEmbedding
from deedbox.client.requests.embeddings import NewEmbedding, NewEmbeddings


class EmbeddingsCalls:
    """Vectors of texts."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def embed(self, body: NewEmbedding, *, idempotency_key: str | None = None) -> Embedding:
        """The vector of a text."""
        return self._connection.answer(Call("POST", "/embed", headers=once(idempotency_key), body=body), Embedding)

    def embed_and_quantize(self, body: NewEmbedding, *, idempotency_key: str | None = None) -> QuantizedEmbedding:
        """The vector of a text, and its bits."""
        return self._connection.answer(
            Call("POST", "/embed_and_quantize", headers=once(idempotency_key), body=body), QuantizedEmbedding
        )

    def openai(self, body: NewEmbeddings, *, idempotency_key: str | None = None) -> EmbeddingList:
        """The vectors of texts, as OpenAI's clients ask for them."""
        return self._connection.answer(
            Call("POST", "/v1/embeddings", headers=once(idempotency_key), body=body), EmbeddingList
        )


class AsyncEmbeddingsCalls:
    """Vectors of texts."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def embed(self, body: NewEmbedding, *, idempotency_key: str | None = None) -> Embedding:
        """The vector of a text."""
        return await self._connection.answer(
            Call("POST", "/embed", headers=once(idempotency_key), body=body), Embedding
        )

    async def embed_and_quantize(self, body: NewEmbedding, *, idempotency_key: str | None = None) -> QuantizedEmbedding:
        """The vector of a text, and its bits."""
        return await self._connection.answer(
            Call("POST", "/embed_and_quantize", headers=once(idempotency_key), body=body), QuantizedEmbedding
        )

    async def openai(self, body: NewEmbeddings, *, idempotency_key: str | None = None) -> EmbeddingList:
        """The vectors of texts, as OpenAI's clients ask for them."""
        return await self._connection.answer(
            Call("POST", "/v1/embeddings", headers=once(idempotency_key), body=body), EmbeddingList
        )
