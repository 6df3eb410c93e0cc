"""Postings: which chunks of a block have a term, how often, and how long those chunks are."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deedbox.kernel import limits
from deedbox.kernel.db import Row
from deedbox.search.index import bm25
from deedbox.search.index.bits import Scores
from deedbox.search.index.terms import Numbers

POSTING = np.dtype([("place", "<u2"), ("count", "<u2"), ("length", "u1")])
"""The chunk's place in its block, how often it has the term, and the code of its length."""
Ordinals = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Written:
    """Postings as the table takes them: a term in a block, and all that is new there, in hexadecimal."""

    terms: list[int]
    blocks: list[int]
    written: list[str]


def of_chunks(ordinals: Iterable[int], said: Iterable[Numbers]) -> Written:
    """The postings of chunks, by the terms of each."""
    pieces = [_of_chunk(ordinal, terms) for ordinal, terms in zip(ordinals, said, strict=True)]
    keys = np.concatenate([np.zeros(0, np.uint64), *(keys for keys, _ in pieces)])
    records = np.concatenate([np.zeros(0, POSTING), *(records for _, records in pieces)])
    order = np.argsort(keys, kind="stable")
    keys, digits = keys[order], records[order].tobytes().hex()
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, np.intp)
    edges = [*(begins * (2 * POSTING.itemsize)).tolist(), len(digits)]
    rows = keys[begins]
    return Written(
        (rows >> np.uint64(32)).tolist(),
        (rows & np.uint64(0xFFFFFFFF)).tolist(),
        [digits[begin:end] for begin, end in itertools.pairwise(edges)],
    )


def without(rows: Iterable[Row], gone: Ordinals) -> Written:
    """The postings of these rows (term, block, postings) without the chunks that are gone."""
    left = Written([], [], [])
    for term, block, blob in rows:
        records = np.frombuffer(blob, POSTING)
        kept = records[~np.isin(_ordinals(block, records), gone)]
        left.terms.append(term)
        left.blocks.append(block)
        left.written.append(kept.tobytes().hex())
    return left


def scores(rows: Iterable[Row], weights: Mapping[int, float], average: float, ordinals: int) -> Scores:
    """The BM25 score of each chunk by its ordinal, below that many; 0 for one that has none of the terms."""
    found: dict[int, list[tuple[int, bytes]]] = {term: [] for term in weights}
    for term, block, blob in rows:
        found[term].append((block, blob))
    damping, total = bm25.damping(bm25.LENGTHS, average), np.zeros(ordinals)
    # In the order of the query, as the local index adds them: so the sums are the same to the last bit.
    for term, weight in weights.items():
        records = np.frombuffer(b"".join(blob for _, blob in found[term]), POSTING)
        sizes = [len(blob) // POSTING.itemsize for _, blob in found[term]]
        begins = np.array([block for block, _ in found[term]], np.int64) * limits.POSTINGS_BLOCK_CHUNKS
        count = records["count"].astype(np.float64)
        total[np.repeat(begins, sizes) + records["place"]] += weight * (count / (count + damping[records["length"]]))
    return total


def best(scores_: Scores, top: int) -> list[tuple[float, int]]:
    """Score and ordinal of the best `top`, and of all that tie with the last of them; in no order."""
    found = np.flatnonzero(scores_ > 0)
    values = scores_[found]
    if len(found) > top:
        # Scores are rounded before they are compared: all that could round to the last one's are looked at.
        least = np.partition(values, len(found) - top)[len(found) - top] - 10.0**-bm25.SCORE_DIGITS
        found, values = found[values >= least], values[values >= least]
    rounded = [round(value, bm25.SCORE_DIGITS) for value in values.tolist()]
    last = sorted(rounded, reverse=True)[top - 1] if len(rounded) > top else 0.0
    return [(score, ordinal) for score, ordinal in zip(rounded, found.tolist(), strict=True) if score >= last]


def _of_chunk(ordinal: int, said: Numbers) -> tuple[NDArray[np.uint64], NDArray[np.void]]:
    terms, counts = np.unique(said, return_counts=True)
    block, place = divmod(ordinal, limits.POSTINGS_BLOCK_CHUNKS)
    records = np.empty(len(terms), POSTING)
    records["place"], records["count"] = place, np.minimum(counts, 0xFFFF)
    records["length"] = bm25.length_codes(np.array([len(said)]))[0]
    return (terms.astype(np.uint64) << np.uint64(32)) | np.uint64(block), records


def _ordinals(block: int, records: NDArray[np.void]) -> Ordinals:
    return block * limits.POSTINGS_BLOCK_CHUNKS + records["place"].astype(np.int64)


def blocks(begins: int, chunks: int) -> range:
    """The blocks in which so many chunks from that ordinal on lie."""
    size = limits.POSTINGS_BLOCK_CHUNKS
    return range(begins // size, (begins + chunks - 1) // size + 1)
