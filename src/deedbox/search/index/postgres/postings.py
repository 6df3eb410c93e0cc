"""Postings: which chunks of a block have a term, how often, and how long those chunks are."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deedbox.kernel.db import Row
from deedbox.search import limits
from deedbox.search.index import bm25
from deedbox.search.index.terms import Numbers

POSTING = np.dtype([("place", "<u2"), ("count", "<u2"), ("length", "u1")])
"""The chunk's place in its block, how often it has the term, and the code of its length."""
Ordinals = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WrittenPostings:
    """Postings as the table takes them: a term in a block, and all that is new there, in hexadecimal."""

    terms: list[int]
    blocks: list[int]
    written: list[str]


def of_chunks(ordinals: Iterable[int], said: Iterable[Numbers]) -> WrittenPostings:
    """The postings of chunks, by the terms of each."""
    return _written([_of_chunk(ordinal, terms) for ordinal, terms in zip(ordinals, said, strict=True)])


def of_uploads(ordinals: Iterable[int], said: Iterable[Numbers]) -> WrittenPostings:
    """The postings of uploads, by the ids of the words of each."""
    made = _written([_of_chunk(ordinal, ids) for ordinal, ids in zip(ordinals, said, strict=True)])
    return WrittenPostings([-term for term in made.terms], made.blocks, made.written)


def _written(pieces: list[tuple[NDArray[np.uint64], NDArray[np.void]]]) -> WrittenPostings:
    keys = np.concatenate([np.zeros(0, np.uint64), *(keys for keys, _ in pieces)])
    records = np.concatenate([np.zeros(0, POSTING), *(records for _, records in pieces)])
    order = np.argsort(keys, kind="stable")
    keys, digits = keys[order], records[order].tobytes().hex()
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, np.intp)
    edges = [*(begins * (2 * POSTING.itemsize)).tolist(), len(digits)]
    written = [digits[begin:end] for begin, end in itertools.pairwise(edges)]
    return WrittenPostings(*_terms_and_blocks(keys[begins]), written)


def places(chunks: Iterable[Row]) -> tuple[list[int], list[int]]:
    """Where these chunks (ordinal, terms) have postings: terms, and the block of each."""
    keys = [
        _keys(np.unique(np.frombuffer(said, "<u4")), ordinal // limits.POSTINGS_BLOCK_CHUNKS)
        for ordinal, said in chunks
    ]
    return _terms_and_blocks(np.unique(np.concatenate([np.zeros(0, np.uint64), *keys])))


def without(rows: Iterable[Row], gone: Ordinals) -> WrittenPostings:
    """The postings of these rows (term, block, postings) without the chunks that are gone."""
    left = WrittenPostings([], [], [])
    for term, block, blob in rows:
        records = np.frombuffer(blob, POSTING)
        kept = records[~np.isin(_ordinals(block, records), gone)]
        left.terms.append(term)
        left.blocks.append(block)
        left.written.append(kept.tobytes().hex())
    return left


def ordinals(rows: Iterable[Row]) -> Ordinals:
    """The chunks of these rows (term, block, postings)."""
    found = [_ordinals(block, np.frombuffer(blob, POSTING)) for _, block, blob in rows]
    return np.concatenate([np.zeros(0, np.int64), *found])


def _of_chunk(ordinal: int, said: Numbers) -> tuple[NDArray[np.uint64], NDArray[np.void]]:
    terms, counts = np.unique(said, return_counts=True)
    block, place = divmod(ordinal, limits.POSTINGS_BLOCK_CHUNKS)
    records = np.empty(len(terms), POSTING)
    records["place"], records["count"] = place, np.minimum(counts, 0xFFFF)
    records["length"] = bm25.length_codes(np.array([len(said)]))[0]
    return _keys(terms, block), records


def _keys(terms: Numbers, block: int) -> NDArray[np.uint64]:
    """Terms and a block as one number each."""
    return (terms.astype(np.uint64) << np.uint64(32)) | np.uint64(block)


def _terms_and_blocks(keys: NDArray[np.uint64]) -> tuple[list[int], list[int]]:
    return (keys >> np.uint64(32)).tolist(), (keys & np.uint64(0xFFFFFFFF)).tolist()


def _ordinals(block: int, records: NDArray[np.void]) -> Ordinals:
    return block * limits.POSTINGS_BLOCK_CHUNKS + records["place"].astype(np.int64)
