"""BM25, the same for every index: from counts of terms, the lengths of chunks, and how many chunks have each term."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deedbox.search import limits
from deedbox.search.index.analysis import QueryTerm

K1, B = 1.2, 0.75
SCORE_DIGITS = 4


def weight(chunks: int, having: int) -> float:
    """How much a term weighs that so many of the chunks have."""
    return (K1 + 1) * math.log(1 + (chunks - having + 0.5) / (having + 0.5))


def weights(chunks: int, asked: Sequence[QueryTerm], having: Mapping[str, int]) -> dict[str, float]:
    """The weights of a query's terms, by what each word counts in the query and how many of the chunks have it in any
    language, or in a name; those that none has are left out."""
    known = [(word, found) for word in asked if (found := sum(having[term] for term in (*word.terms, *word.names)))]
    if len(known) > limits.QUERY_TERMS:
        # A pasted page: its rarest words say what it is about.
        known = sorted(known, key=lambda each: each[1])[: limits.QUERY_TERMS]
    weighed: dict[str, float] = {}
    for word, _ in known:
        for terms in (word.terms, word.names):
            found = min(chunks, sum(having[term] for term in terms))
            for term in terms:
                if having[term]:
                    weighed[term] = weighed.get(term, 0.0) + word.share * weight(chunks, found)
    return weighed


def length_factor(kept: NDArray[np.int64], average: float) -> NDArray[np.floating]:
    """By how much the lengths of chunks, as they are kept, damp the counts of terms."""
    return K1 * (1 - B + B * kept / max(average, 1))


def length_codes(lengths: NDArray[np.integer]) -> NDArray[np.intp]:
    """The lengths in one byte each, as tantivy keeps them: the longer, the coarser, rounded down."""
    return np.searchsorted(LENGTHS, lengths, "right") - 1


def _length(code: int) -> int:
    beyond = code - 24
    return code if beyond < 8 else 24 + ((8 | beyond & 7) << (beyond >> 3) - 1)


LENGTHS = np.array([_length(code) for code in range(256)], np.int64)
"""The length that each code stands for."""
