# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `embeddings`."""

from typing import Literal

from msgspec import Struct


class NewEmbedding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    text: str
    """What to embed; beyond the model's window, the mean of its windows."""


class NewEmbeddings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    input: str | list[str]
    """One text, or several. Token arrays are not read: send text."""
    model: str | None = None
    """Read and ignored: the installed model answers."""
    encoding_format: Literal["base64", "float"] = "float"
    """Numbers, or the bytes of float32 (little-endian) in base64."""
    dimensions: int | None = None
    """Only the model's own number is possible."""
    user: str | None = None
    """Read and ignored."""
