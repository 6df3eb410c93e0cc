"""Vectors: sign bits find the candidates by an exact scan, floats rank them. Of few vectors, all are candidates.

Nothing here depends on the order in which an index grew, nor on the processor: bits are the signs of sums in a fixed
order, and scores are sums of whole numbers."""

import hashlib
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat

import faiss
import numpy as np
from numpy.typing import NDArray

from deedbox.search import limits
from deedbox.search.index import IndexUnusable, terms
from deedbox.search.index.room import Column, GrowingColumns
from deedbox.search.index.terms import ChunkTerms, Counts, Numbers

Floats = NDArray[np.float32]
Scores = NDArray[np.float64]
Codes = NDArray[np.uint8]
Rows = NDArray[np.intp]


_FAST_WORDS = (1, 2, 4, 8)
_STEPS = 2.0**24
"""Components count in whole steps of this part of 1. A float64 holds sums of their products exactly, and so the same in
whatever order a processor adds them."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The best chunks in no order: as many as were asked for, and all that tie with the last of them."""

    scores: Scores
    uploads: Numbers
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors at one moment. Searches hold on to it while the next one is made."""

    codes: Codes
    uploads: Numbers
    """The ordinal of the upload of each row, ascending."""
    numbers: Numbers
    """Ascending within an upload."""
    positions: Numbers
    """The place of the row's vector among the floats; some floats are dead."""
    floats: Floats
    terms: ChunkTerms
    room: GrowingColumns = field(default_factory=GrowingColumns)
    """Where the next rows go."""

    def __len__(self) -> int:
        return len(self.uploads)

    def near(self, query: Floats, top: int, only: Numbers | None = None) -> Nearest:
        """The best `top` rows by cosine; `only` are the ordinals of the uploads that may answer."""
        asked = self._asked(query)
        rows = self._candidates(asked, top, None if only is None else self._rows_of(only))
        rows = self._promising(asked[0], rows, top)
        scores = self._scores(asked[0], rows)
        if len(rows) > top:
            best = scores >= np.partition(scores, len(rows) - top)[len(rows) - top]
            rows, scores = rows[best], scores[best]
        return Nearest(scores, self.uploads[rows], self.numbers[rows])

    def cosines(self, query: Floats, uploads: Numbers, numbers: Numbers) -> Scores:
        """The score of each of these chunks."""
        return self._scores(self._asked(query)[0], self._rows_at(uploads, numbers))

    @property
    def words(self) -> int:
        """The number of terms of all chunks together."""
        return self.terms.total

    def said(self, uploads: Numbers, numbers: Numbers, wanted: Numbers) -> tuple[Counts, Numbers]:
        """How often each of these chunks has each of the wanted terms, and how many terms it has in all."""
        rows = self._rows_at(uploads, numbers)
        return self.terms.counts(rows, wanted), self.terms.lengths[rows]

    def changed(self, dead: list[int], added: "Vectors") -> "Vectors":
        """Without the rows of the dead uploads, with the added ones; it takes the floats and terms of the latter."""
        columns, room = self.room.extended(self._columns_without(dead), added._columns_without(dead))
        codes, uploads, numbers, positions, begins, lengths = columns
        said = ChunkTerms(begins, lengths, added.terms.stream)
        return Vectors(codes, uploads, numbers, positions, added.floats, said, room)

    def _columns_without(self, dead: list[int]) -> list[Column]:
        """What a row has, but for its floats and terms; not of the rows of these uploads."""
        said = self.terms
        columns: list[Column] = [
            self.codes, self.uploads, self.numbers, self.positions, said.begins, said.lengths
        ]  # fmt: skip
        if not dead:
            return columns
        kept = ~np.isin(self.uploads, np.array(dead, np.uint32))
        return columns if kept.all() else [column[kept] for column in columns]

    def _asked(self, query: Floats) -> Floats:
        if query.shape != self.floats.shape[1:]:
            raise ValueError(f"the index has {self.floats.shape[1]} dimensions, the query {query.shape}")
        return unit(query[np.newaxis])

    def _rows_at(self, uploads: Numbers, numbers: Numbers) -> Rows:
        begins = np.searchsorted(self.uploads, uploads, "left").tolist()
        ends = np.searchsorted(self.uploads, uploads, "right").tolist()
        # Single elements of a view are read several times as fast as those of an array.
        known = self.numbers.data
        rows = list(map(bisect_left, repeat(known), numbers.tolist(), begins, ends))
        found = np.array(rows, np.intp)
        if not (
            np.array_equal(self.uploads.take(found, mode="clip"), uploads)
            and np.array_equal(self.numbers.take(found, mode="clip"), numbers)
        ):
            raise IndexUnusable("A chunk of the word index has no vector.")
        return found

    def _rows_of(self, only: Numbers) -> Rows:
        wanted = np.unique(only)
        begins = np.searchsorted(self.uploads, wanted, "left")
        counts = np.searchsorted(self.uploads, wanted, "right") - begins
        # One run of rows for each upload: its first row, plus how far the row is from the first of its run.
        firsts = np.cumsum(counts) - counts
        return np.repeat(begins - firsts, counts) + np.arange(counts.sum())

    def _candidates(self, asked: Floats, top: int, rows: Rows | None) -> Rows:
        least = limits.CANDIDATES_MIN + len(self) // limits.CANDIDATES_SHARE
        wanted = max(least, limits.CANDIDATES_PER_HIT * top)
        if (len(self) if rows is None else len(rows)) <= max(wanted, limits.INDEX_EXACT_CHUNKS):
            return np.arange(len(self)) if rows is None else rows
        away = distances(self.codes if rows is None else self.codes[rows], pack(asked))
        # All that are as near as the last one wanted: which of them rank must not depend on their order.
        near = np.flatnonzero(away <= np.partition(away, wanted - 1)[wanted - 1])
        return near if rows is None else rows[near]

    def _promising(self, asked: Floats, rows: Rows, top: int) -> Rows:
        """Those of the rows that can be among the best, by a quick score whose rounding depends on the processor."""
        if len(rows) <= top:
            return rows
        rough = np.concatenate([np.vecdot(self.floats[self.positions[block]], asked) for block in _blocks(rows)])
        rough = np.fmax(rough, -1)
        error = 2 * len(asked) * np.finfo(np.float32).eps
        promising: Rows = rows[rough >= np.partition(rough, len(rows) - top)[len(rows) - top] - error]
        return promising

    def _scores(self, asked: Floats, rows: Rows) -> Scores:
        blocks = [cosines(asked, self.floats[self.positions[block]]) for block in _blocks(rows)]
        return np.concatenate([np.zeros(0), *blocks])


def cosines(asked: Floats, rows: Floats) -> Scores:
    """The exact score of each row: rows and query have length 1."""
    # Row by row: a matrix product would wake a team of threads, and stall the searches beside it.
    scores = np.vecdot(_whole(rows), _whole(asked)) / _STEPS**2
    # What is not a number, of a file gone bad, ranks last.
    bounded: Scores = np.minimum(np.fmax(scores, -1), 1)
    return bounded


def _blocks(rows: Rows) -> list[Rows]:
    return [rows[begin : begin + limits.RESCORE_ROWS] for begin in range(0, len(rows), limits.RESCORE_ROWS)]


def _whole(floats: Floats) -> Scores:
    """The components as numbers of steps."""
    steps = np.multiply(floats, _STEPS, dtype=np.float64)
    return np.rint(steps, out=steps)


def code_bytes(dimensions: int) -> int:
    """The length of a row of sign bits: whole 64-bit words, as many as the scan has code of its own for."""
    words = (dimensions + 63) // 64
    # At 384 dimensions, rows of 64 bytes are scanned in a third of the time that rows of 48 take.
    return 8 * next((size for size in _FAST_WORDS if size >= words), words)


def empty(dimensions: int) -> Vectors:
    none = np.zeros(0, np.uint32)
    codes = np.zeros((0, code_bytes(dimensions)), np.uint8)
    return Vectors(codes, none, none, none, np.zeros((0, dimensions), np.float32), terms.empty())


def unit(rows: NDArray[np.floating]) -> Floats:
    """The rows with length 1; components that are not finite count as zero, and a row of zeros stays one."""
    clean = np.nan_to_num(rows.astype(np.float64), nan=0, posinf=0, neginf=0)
    lengths = np.sqrt(_summed(clean * clean))
    return (clean / np.where(lengths > 0, lengths, 1)[:, np.newaxis]).astype(np.float32)


def _summed(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each row, its halves added until one column is left: in this order on every processor."""
    while rows.shape[1] > 1:
        half = (rows.shape[1] + 1) // 2
        folded = rows[:, :half].copy()
        folded[:, : rows.shape[1] - half] += rows[:, half:]
        rows = folded
    return rows[:, 0]


def pack(rows: Floats) -> Codes:
    """A bit for each of some directions that are the same for every index: whether the row points along it.

    They are those of a Hadamard matrix, with the components' signs turned at random. So no component counts for more
    than another, and the bits fill the whole code, which one for each component would not."""
    count, dimensions = rows.shape
    bits = 8 * code_bytes(dimensions)
    size = 1 << (max(dimensions, bits) - 1).bit_length()
    sums = np.zeros((size, count), np.float32)
    sums[:dimensions] = (rows * _turns(dimensions)).T
    step = 1
    while step < size:
        before, sums = sums.reshape(-1, 2, step * count), np.empty_like(sums)
        after = sums.reshape(-1, 2, step * count)
        np.add(before[:, 0], before[:, 1], out=after[:, 0])
        np.subtract(before[:, 0], before[:, 1], out=after[:, 1])
        step *= 2
    return np.packbits(np.ascontiguousarray((sums[:bits] > 0).T), axis=1)


@cache
def _turns(dimensions: int) -> Floats:
    # From a hash, which is the same for ever.
    drawn = np.frombuffer(hashlib.shake_256(b"deedbox").digest(dimensions), np.uint8)
    return np.where(drawn & 1, np.float32(1), np.float32(-1))


def distances(codes: Codes, code: Codes) -> NDArray[np.int32]:
    """The number of bits in which each row differs from the one code."""
    away = np.empty(len(codes), np.int32)
    # One thread for each search: searches run beside each other, and a team of threads for one stalls the rest.
    faiss.omp_set_num_threads(1)
    hammings, pointer = faiss.hammings, faiss.swig_ptr  # type: ignore[attr-defined]
    hammings(pointer(code), pointer(codes), 1, len(codes), codes.shape[1], pointer(away))
    return away
