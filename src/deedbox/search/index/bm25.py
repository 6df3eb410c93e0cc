"""BM25, the same for every index: from counts of terms, the lengths of chunks, and how many chunks have each term."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from deedbox.kernel import limits

K1, B = 1.2, 0.75
SCORE_DIGITS = 4


def weight(chunks: int, having: int) -> float:
    """How much a term weighs that so many of the chunks have."""
    return (K1 + 1) * math.log(1 + (chunks - having + 0.5) / (having + 0.5))


def weights(chunks: int, asked: Mapping[str, float], having: Mapping[str, int]) -> dict[str, float]:
    """The weights of a query's terms, by what each counts in the query and how many of the chunks have it; those that
    none has are left out."""
    known = [term for term in asked if having[term]]
    if len(known) > limits.QUERY_TERMS:
        # A pasted page: its rarest terms say what it is about.
        known = sorted(known, key=having.__getitem__)[: limits.QUERY_TERMS]
    return {term: asked[term] * weight(chunks, having[term]) for term in known}


def damping(kept: NDArray[np.int64], average: float) -> NDArray[np.floating]:
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
