# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `embeddings`."""

from msgspec import Struct


class Embedding(Struct, frozen=True, kw_only=True):
    embedding: list[float]
    """float32, of length 1."""
    dimensions: int
    """How many components the vector has."""


class QuantizedEmbedding(Struct, frozen=True, kw_only=True):
    embedding: list[float]
    """The vector: float32, of length 1."""
    hex_embedding: str
    """A bit for each component, set when it is positive, the first one in the highest bit."""
    dimensions: int
    """How many components the vector has."""
    compression_ratio: int
    """How many times smaller the bits are than the vector."""


class EmbeddingItem(Struct, frozen=True, kw_only=True):
    object: str = "embedding"
    """Always `embedding`."""
    index: int
    """Which of the texts, from 0."""
    embedding: list[float] | str
    """The vector, as numbers or in base64."""


class Usage(Struct, frozen=True, kw_only=True):
    prompt_tokens: int
    """An estimate; nothing is charged for tokens."""
    total_tokens: int
    """The same."""


class EmbeddingList(Struct, frozen=True, kw_only=True):
    object: str = "list"
    """Always `list`."""
    data: list[EmbeddingItem]
    """A vector for each text."""
    model: str
    """The model that answered."""
    usage: Usage
    """How much text there was."""
