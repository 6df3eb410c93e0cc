"""BM25 from postings, rare terms first: what the frequent ones add is looked up only where it matters."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from deedbox.kernel.db import Row
from deedbox.search import limits
from deedbox.search.index import bm25
from deedbox.search.index.bits import Scores
from deedbox.search.index.postgres.postings import POSTING, Ordinals
from deedbox.search.index.terms import ChunkTerms

Mask = NDArray[np.bool_]

_MARGIN = 2 * 10.0**-bm25.SCORE_DIGITS
"""Scores that are rounded alike differ by less."""


def groups(having: Mapping[int, int]) -> Iterator[list[int]]:
    """The terms by how many chunks have each, the rarest first; those that few have go together."""
    group: list[int] = []
    size = 0
    for term in sorted(having, key=having.__getitem__):
        if group and size + having[term] > limits.POSTINGS_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(term)
        size += having[term]
    if group:
        yield group


class WordScores:
    """The scores of all chunks, by ordinal, as far as the terms are known."""

    def __init__(self, weights: Mapping[int, float], average: float, ordinals: int, allowed: Mask | None) -> None:
        self._weights = weights
        """In the order of the query."""
        self._damping = bm25.length_factor(bm25.LENGTHS, average)
        self._sums = np.zeros(ordinals)
        self._allowed = allowed
        self._parts: dict[int, tuple[Ordinals, Scores]] = {}
        """By term: the chunks that have it, and what it adds to the score of each."""

    def take(self, terms: Iterable[int], rows: Iterable[Row]) -> None:
        """All postings of these terms, as rows of term, block and postings."""
        found: dict[int, list[tuple[int, bytes]]] = {term: [] for term in terms}
        for term, block, blob in rows:
            found[term].append((block, blob))
        for term, blobs in found.items():
            records = np.frombuffer(b"".join(blob for _, blob in blobs), POSTING)
            sizes = [len(blob) // POSTING.itemsize for _, blob in blobs]
            begins = np.array([block for block, _ in blobs], np.int64) * limits.POSTINGS_BLOCK_CHUNKS
            ordinals = np.repeat(begins, sizes) + records["place"]
            if self._allowed is not None:
                chosen = self._allowed[ordinals]
                ordinals, records = ordinals[chosen], records[chosen]
            self._add(term, ordinals, records["count"], records["length"])

    def within_reach(self, top: int) -> Ordinals | None:
        """The chunks that can be among the best `top` or tie with them, whatever the terms add that are not known
        yet; None if chunks can that have none of the known ones."""
        # A term adds less than its weight, however often a chunk has it.
        rest = sum(weight for term, weight in self._weights.items() if term not in self._parts)
        least = self._last(top) - rest - _MARGIN
        return np.flatnonzero(self._sums >= least) if least > 0 else None

    def look_up(self, rows: Iterable[Row]) -> None:
        """What the terms that are not known add to these chunks, as rows of ordinal and terms."""
        chunks, said = zip(*rows, strict=True)
        lengths = np.array([len(each) for each in said], np.uint32) // np.uint32(4)
        ends = np.cumsum(lengths, dtype=np.int64)
        stream = np.frombuffer(b"".join(said), "<u4")
        wanted = [term for term in self._weights if term not in self._parts]
        found = ChunkTerms(ends - lengths, lengths, stream).counts(np.arange(len(said)), np.array(wanted, np.uint32))
        ordinals, codes = np.array(chunks, np.int64), bm25.length_codes(lengths)
        for term, counts in zip(wanted, found.T, strict=True):
            having = counts > 0
            self._add(term, ordinals[having], counts[having], codes[having])

    def best(self, top: int) -> list[tuple[float, int]]:
        """Score and ordinal of the best `top`, and of all that tie with the last of them, once all terms are known; in
        no order."""
        chunks = np.flatnonzero((self._sums > 0) & (self._sums >= self._last(top) - _MARGIN))
        chosen, exact = np.zeros(len(self._sums), np.bool_), np.zeros(len(self._sums))
        chosen[chunks] = True
        # In the order of the query, as the local index adds them: so the sums are the same to the last bit.
        for term in self._weights:
            ordinals, parts = self._parts[term]
            wanted = chosen[ordinals]
            exact[ordinals[wanted]] += parts[wanted]
        rounded = [round(score, bm25.SCORE_DIGITS) for score in exact[chunks].tolist()]
        last = sorted(rounded, reverse=True)[top - 1] if len(rounded) > top else 0.0
        return [(score, ordinal) for score, ordinal in zip(rounded, chunks.tolist(), strict=True) if score >= last]

    def _last(self, top: int) -> float:
        """The score that `top` chunks have or exceed, as far as it is known; 0 if fewer have any."""
        values = self._sums[self._sums > 0]
        return float(np.partition(values, len(values) - top)[len(values) - top]) if len(values) >= top else 0.0

    def _add(self, term: int, ordinals: Ordinals, counts: NDArray[np.integer], lengths: NDArray[np.integer]) -> None:
        """Counts of a term in chunks, and the codes of their lengths."""
        count = counts.astype(np.float64)
        parts = self._weights[term] * (count / (count + self._damping[lengths]))
        self._sums[ordinals] += parts
        self._parts[term] = ordinals, parts
