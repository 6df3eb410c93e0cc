"""What an index must answer, by the plainest means: a dictionary, exact cosines, sets of terms."""

import random
from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from deedbox.search.index import ChunkEntry, Hit, Index, IndexChange
from deedbox.search.index.analysis import of_text, query_terms

DIMENSIONS = 32
WORDS = [
    *("lease", "tenant", "deposit", "seal", "witness", "notary", "clause"),
    *("annex", "warranty", "premium", "Kündigung", "契約", "договор"),
]

Place = tuple[str, int]


def vector(random_: random.Random) -> NDArray[np.float32]:
    drawn = np.array([random_.gauss(0, 1) for _ in range(DIMENSIONS)])
    return np.asarray(drawn / np.linalg.norm(drawn), np.float32)


def entry(number: int, text: str, vector_: NDArray[np.float32]) -> ChunkEntry:
    return ChunkEntry(number, text, vector_.astype("<f4").tobytes())


def change(upload_id: str, random_: random.Random, most: int = 4) -> IndexChange:
    """Up to so many new entries for the upload; none deletes it."""
    count = random_.randint(0, most)
    return IndexChange(
        upload_id, [entry(n, " ".join(random_.choices(WORDS, k=5)), vector(random_)) for n in range(count)]
    )


class Model:
    def __init__(self) -> None:
        self.entries: dict[str, list[ChunkEntry]] = {}

    def apply(self, changes: Iterable[IndexChange]) -> None:
        for made in changes:
            self.entries[made.upload_id] = made.entries

    @property
    def size(self) -> int:
        return sum(map(len, self.entries.values()))

    def cosines(self, asked: NDArray[np.float32], only: Collection[str] | None = None) -> dict[Place, float]:
        return {
            (upload_id, kept.number): float(np.frombuffer(kept.vector, "<f4").astype(float) @ asked.astype(float))
            for upload_id, entries in self.entries.items()
            for kept in entries
            if only is None or upload_id in only
        }

    def having(self, query: str, only: Collection[str] | None = None) -> set[Place]:
        """The chunks that have a term of the query."""
        wanted = {term for word in query_terms(query) for term in word.terms}
        return {
            (upload_id, kept.number)
            for upload_id, entries in self.entries.items()
            for kept in entries
            if (only is None or upload_id in only) and wanted & set(of_text(kept.text))
        }


def places(hits: Iterable[Hit]) -> list[Place]:
    return [(hit.upload_id, hit.number) for hit in hits]


def in_order(hits: list[Hit]) -> bool:
    return hits == sorted(hits, key=lambda hit: (-hit.score, hit.upload_id, hit.number))


def assert_same(index: Index, model: Model, random_: random.Random, only: Collection[str] | None = None) -> None:
    """The index answers as the model does, by vectors and by words."""
    assert index.size == model.size
    asked = vector(random_)
    exact = model.cosines(asked, only)
    top = random_.randint(1, 12)
    near = index.near(asked, top, only)
    best = sorted(exact.values(), reverse=True)[:top]
    np.testing.assert_allclose([hit.score for hit in near], best, atol=1e-5)
    np.testing.assert_allclose([exact[place] for place in places(near)], best, atol=1e-5)
    assert in_order(near)
    query = " ".join(random_.choices(WORDS, k=2))
    found = index.words(query, model.size + 1, only)
    assert set(places(found)) == model.having(query, only)
    assert len(set(places(found))) == len(found)
    assert in_order(found)
    assert all(hit.score > 0 for hit in found)
