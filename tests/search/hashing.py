"""A model without weights: each word points into a direction of its own, so that texts with common words are near.

Models of different names have nothing in common."""

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deedbox.search.indexing.chunk import cut
from deedbox.search.library.upload import Chunk, Extraction

if TYPE_CHECKING:
    from deedbox.search.embed import Role, Vectors

DIMENSIONS = 64
_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(r"[^\n]+(\n(?!\n)[^\n]+)*")


class HashingEmbedder:
    """Splits at blank lines. `calls` and `texts` tell how often it was asked, and for how much."""

    def __init__(self, name: str = "hashing") -> None:
        self.name = name
        self.dimensions = DIMENSIONS
        self.recipe = f"{name}-{DIMENSIONS}"
        self.roles: list[Role | None] = []
        self.calls = 0
        self.texts = 0
        self.warmed = False
        self.closed = False

    async def warm(self) -> None:
        self.warmed = True

    async def split(self, extraction: Extraction) -> list[Chunk]:
        found = [match for match in _PARAGRAPH.finditer(extraction.text) if match.group().strip()]
        return cut(extraction, [match.span() for match in found])

    async def embed(
        self,
        texts: Sequence[str],
        *,
        urgent: bool,  # noqa: ARG002
        caller: str = "",  # noqa: ARG002
        role: "Role | None" = None,
    ) -> "Vectors":
        self.roles.append(role)
        self.calls += 1
        self.texts += len(texts)
        return np.stack([_vector(self.name, text) for text in texts])

    async def close(self) -> None:
        self.closed = True


def _vector(model: str, text: str) -> "Vectors":
    total = np.full(DIMENSIONS, 0.01, dtype=np.float32)
    for word in _WORD.findall(text.lower()):
        seed = int.from_bytes(hashlib.sha256(f"{model} {word}".encode()).digest()[:8], "big")
        total += np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    vector: Vectors = total / np.float32(np.linalg.norm(total))
    return vector.astype(np.float32)
