"""The state of an index that a search sees."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from deedbox.kernel.traces import span
from deedbox.search.index import Candidate, Hit, Sieve
from deedbox.search.index.bits import Floats, Vectors
from deedbox.search.index.word_search import Match, WordSearch

Place: TypeAlias = tuple[int, int]
"""The ordinal of an upload and the number of one of its chunks."""


@dataclass(frozen=True, slots=True)
class IndexView:
    """One state; a change makes another."""

    vectors: Vectors
    said: WordSearch
    names: list[str]

    def near(self, vector: Floats, top: int, allowed: list[int] | None) -> list[Match]:
        with span("search by meaning"):
            found = self.vectors.near(vector, top, None if allowed is None else np.array(allowed, np.uint32))
        matches = zip(found.scores.tolist(), found.uploads.tolist(), found.numbers.tolist(), strict=True)
        return self._cut(list(matches), top)

    def by_words(self, query: str, top: int, allowed: list[int] | None, sieve: Sieve) -> list[Match]:
        with span("search by words"):
            return self._cut(self.said.best(query, top, None if allowed is None else set(allowed), sieve), top)

    def cosines(self, vector: Floats, places: Collection[Place]) -> dict[Place, float]:
        uploads, numbers = np.array(list(places), np.uint32).reshape(-1, 2).T
        return dict(zip(places, self.vectors.cosines(vector, uploads, numbers).tolist(), strict=True))

    def candidates(self, vector: Floats, near: Iterable[Match], said: Iterable[Match]) -> list[Candidate]:
        """Each chunk of the two legs once, with its exact cosine."""
        bm25 = {match[1:]: match[0] for match in said}
        found = {match[1:]: match[0] for match in near}
        found |= self.cosines(vector, bm25.keys() - found.keys())
        return [Candidate(self.names[place[0]], place[1], cosine, bm25.get(place)) for place, cosine in found.items()]

    def hits(self, matches: Iterable[Match]) -> list[Hit]:
        """Best first."""
        return [Hit(self.names[ordinal], number, score) for score, ordinal, number in self._ranked(matches)]

    def _cut(self, matches: list[Match], top: int) -> list[Match]:
        return matches if len(matches) <= top else self._ranked(matches)[:top]

    def _ranked(self, matches: Iterable[Match]) -> list[Match]:
        names = self.names
        return sorted(matches, key=lambda match: (-match[0], names[match[1]], match[2]))
