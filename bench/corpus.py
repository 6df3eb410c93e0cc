"""Chunks for the benches: vectors in clusters, as embeddings lie, and text: of made words that follow Zipf's law, or of
the sentences of our own documentation."""

import random
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

DIMENSIONS = 384
CLUSTERS = 1000
VOCABULARY = 60_000
WORDS_PER_CHUNK = 120
WORDS_PER_QUERY = 6
BLOCK = 10_000


class Corpus:
    """The same for the same seed: chunks in blocks, and queries near the chunks but not among them."""

    def __init__(self, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        # Embeddings share a direction, and a few directions carry most of their variance; none of them is an axis.
        turned = np.linalg.qr(self._random.standard_normal((DIMENSIONS, DIMENSIONS)))[0]
        self._spread = (turned / np.sqrt(np.arange(DIMENSIONS) + 10)[:, np.newaxis]).astype(np.float32)
        self._shared = self._noise(1) * 2
        self._centres = self._noise(CLUSTERS)
        odds = 1 / np.arange(1, VOCABULARY + 1)
        self._odds = np.cumsum(odds / odds.sum())
        self._words = np.array([_word(number) for number in range(VOCABULARY)])

    def blocks(self, chunks: int) -> Iterator[tuple[Floats, list[str]]]:
        """Vectors and texts, until there are so many."""
        for begin in range(0, chunks, BLOCK):
            count = min(BLOCK, chunks - begin)
            yield self.vectors(count), self.texts(count, WORDS_PER_CHUNK)

    def vectors(self, count: int) -> Floats:
        cluster = self._random.integers(0, CLUSTERS, count)
        rows = self._shared + self._centres[cluster] + 0.7 * self._noise(count)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def texts(self, count: int, words: int) -> list[str]:
        ranks = np.searchsorted(self._odds, self._random.random((count, words)))
        return [" ".join(row) for row in self._words[np.minimum(ranks, VOCABULARY - 1)].tolist()]

    def _noise(self, count: int) -> Floats:
        return self._random.standard_normal((count, DIMENSIONS), np.float32) @ self._spread


class Prose(Corpus):
    """The same with natural text. Its questions are beginnings of sentences."""

    def texts(self, count: int, words: int) -> list[str]:
        chance = random.Random(int(self._random.integers(1 << 32)))
        return [self._text(chance, words) for _ in range(count)]

    def _text(self, chance: random.Random, words: int) -> str:
        said: list[str] = []
        while len(said) < words:
            said += chance.choice(self._sentences)
        return " ".join(said[:words])

    @cached_property
    def _sentences(self) -> list[list[str]]:
        pages = sorted((Path(__file__).parents[1] / "docs").rglob("*.md"))
        prose = (re.sub(r"```.*?```|[|#*`>]", " ", page.read_text(), flags=re.DOTALL) for page in pages)
        split = (sentence.split() for text in prose for sentence in re.split(r"(?<=[.!?:])\s+", text))
        return [sentence for sentence in split if len(sentence) >= WORDS_PER_QUERY]


def _word(number: int) -> str:
    """A word of its own for each number, shorter for the frequent ones, that no stemmer changes."""
    consonants, vowels = "bdfgklmnprtvz", "aou"
    word = ""
    number += 1
    while number:
        number, syllable = divmod(number, len(consonants) * len(vowels))
        word += consonants[syllable // len(vowels)] + vowels[syllable % len(vowels)]
    return word + "k"
