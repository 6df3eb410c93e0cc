"""A model without weights: each word points into a direction of its own, so that texts with common words are near.

Models of different names have nothing in common."""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deedbox.search.upload import Chunk, Extraction

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
        places = [(match.group(), match.start(), match.end()) for match in found]
        return [
            Chunk(number, text, start, end, _page(extraction, start), _heading(extraction, start))
            for number, (text, start, end) in enumerate(places)
        ]

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


def _heading(extraction: Extraction, start: int) -> str | None:
    above = [title for offset, title in extraction.headings if offset <= start]
    return above[-1] if above else None


def _page(extraction: Extraction, at: int) -> int | None:
    return max(1, bisect_right(extraction.page_starts, at)) if extraction.page_starts else None


def _vector(model: str, text: str) -> "Vectors":
    total = np.full(DIMENSIONS, 0.01, dtype=np.float32)
    for word in _WORD.findall(text.lower()):
        seed = int.from_bytes(hashlib.sha256(f"{model} {word}".encode()).digest()[:8], "big")
        total += np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    vector: Vectors = total / np.float32(np.linalg.norm(total))
    return vector.astype(np.float32)
