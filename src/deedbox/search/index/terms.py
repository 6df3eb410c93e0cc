"""The terms of the chunks, as numbers: scores are reckoned from them, and so depend on nothing but the chunks."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deedbox.search import limits

Numbers = NDArray[np.uint32]
Places = NDArray[np.int64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """The terms of every chunk, row by row."""

    begins: Places
    """The place of the row's first term in the stream; parts of the stream are dead."""
    lengths: Numbers
    stream: Numbers

    @property
    def total(self) -> int:
        return int(self.lengths.sum(dtype=np.int64))

    def counts(self, rows: NDArray[np.intp], wanted: Numbers) -> Counts:
        """How often each of these rows has each of the wanted terms."""
        said, owner = self.of_rows(rows), np.repeat(np.arange(len(rows)), self.lengths[rows])
        found = np.zeros((len(rows), len(wanted)), np.int64)
        for at, term in enumerate(wanted):
            found[:, at] = np.bincount(owner[said == term], minlength=len(rows))
        return found

    def of_rows(self, rows: NDArray[np.intp] | slice) -> Numbers:
        """The terms of these rows, one after another."""
        begins, lengths = self.begins[rows].tolist(), self.lengths[rows].tolist()
        pieces = [self.stream[begin : begin + length] for begin, length in zip(begins, lengths, strict=True)]
        return np.concatenate([np.zeros(0, np.uint32), *pieces])


def empty() -> ChunkTerms:
    return ChunkTerms(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint32))


@lru_cache(limits.KNOWN_WORDS)
def number(term: str) -> int:
    """The number of a term. Two terms may share one; then they count as one in the same way everywhere."""
    return zlib.crc32(term.encode())


def numbers(terms: Sequence[str]) -> Numbers:
    return np.array(list(map(number, terms)), np.uint32)
