"""Vectors: sign bits find the candidates by an exact scan, floats rank them."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import repeat

import faiss
import numpy as np
from numpy.typing import NDArray

from deedbox.kernel import limits
from deedbox.search.index import IndexUnusable

Floats = NDArray[np.float32]
Codes = NDArray[np.uint8]
Numbers = NDArray[np.uint32]
Rows = NDArray[np.intp]


_FAST_WORDS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Nearest:
    """The best chunks in no order: as many as were asked for, and all that tie with the last of them."""

    scores: Floats
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
    centre: Floats

    def __len__(self) -> int:
        return len(self.uploads)

    def near(self, query: Floats, top: int, only: Numbers | None = None) -> Nearest:
        """The best `top` rows by cosine; `only` are the ordinals of the uploads that may answer."""
        asked = self._asked(query)
        rows = self._candidates(asked, top, None if only is None else self._rows_of(only))
        scores = self._scores(asked[0], rows)
        if len(rows) > top:
            best = scores >= np.partition(scores, len(rows) - top)[len(rows) - top]
            rows, scores = rows[best], scores[best]
        return Nearest(scores, self.uploads[rows], self.numbers[rows])

    def cosines(self, query: Floats, uploads: Numbers, numbers: Numbers) -> Floats:
        """The score of each of these chunks."""
        return self._scores(self._asked(query)[0], self._rows_at(uploads, numbers))

    def changed(self, dead: list[int], added: "Vectors") -> "Vectors":
        """Without the rows of the dead uploads, with the added ones; it takes the floats of the latter."""
        uploads = np.concatenate([self.uploads, added.uploads])
        kept = ~np.isin(uploads, np.array(dead, np.uint32)) if dead else slice(None)
        return Vectors(
            np.concatenate([self.codes, added.codes])[kept],
            uploads[kept],
            np.concatenate([self.numbers, added.numbers])[kept],
            np.concatenate([self.positions, added.positions])[kept],
            added.floats,
            self.centre,
        )

    def _asked(self, query: Floats) -> Floats:
        if query.shape != self.centre.shape:
            raise ValueError(f"the index has {len(self.centre)} dimensions, the query {query.shape}")
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
        if (len(self) if rows is None else len(rows)) <= wanted:
            return np.arange(len(self)) if rows is None else rows
        away = distances(self.codes if rows is None else self.codes[rows], packed(asked, self.centre))
        # All that are as near as the last one wanted: which of them rank must not depend on their order.
        near = np.flatnonzero(away <= np.partition(away, wanted - 1)[wanted - 1])
        return near if rows is None else rows[near]

    def _scores(self, asked: Floats, rows: Rows) -> Floats:
        scores = np.empty(len(rows), np.float32)
        for begin in range(0, len(rows), limits.RESCORE_ROWS):
            block = slice(begin, begin + limits.RESCORE_ROWS)
            # Row by row, unlike a matrix product: the score of a row does not depend on the rows beside it.
            scores[block] = np.vecdot(self.floats[self.positions[rows[block]]], asked)
        # What is not a number, of a file gone bad, ranks last.
        return np.minimum(np.fmax(scores, -1), 1)


def code_bytes(dimensions: int) -> int:
    """The length of a row of sign bits: whole 64-bit words, as many as the scan has code of its own for."""
    words = (dimensions + 63) // 64
    # At 384 dimensions, rows of 64 bytes are scanned in a third of the time that rows of 48 take.
    return 8 * next((size for size in _FAST_WORDS if size >= words), words)


def empty(dimensions: int, centre: Floats) -> Vectors:
    none = np.zeros(0, np.uint32)
    codes = np.zeros((0, code_bytes(dimensions)), np.uint8)
    return Vectors(codes, none, none, none, np.zeros((0, dimensions), np.float32), centre)


def unit(rows: NDArray[np.floating]) -> Floats:
    """The rows with length 1; components that are not finite count as zero, and a row of zeros stays one."""
    clean = np.nan_to_num(rows.astype(np.float64), nan=0, posinf=0, neginf=0)
    lengths = np.sqrt(np.vecdot(clean, clean))
    return (clean / np.where(lengths > 0, lengths, 1)[:, np.newaxis]).astype(np.float32)


def packed(rows: Floats, centre: Floats) -> Codes:
    """A bit for each component: whether it is above the centre."""
    codes = np.zeros((len(rows), code_bytes(len(centre))), np.uint8)
    bits = np.packbits(rows > centre, axis=1)
    codes[:, : bits.shape[1]] = bits
    return codes


def distances(codes: Codes, code: Codes) -> NDArray[np.int32]:
    """The number of bits in which each row differs from the one code."""
    away = np.empty(len(codes), np.int32)
    # One thread for each search: searches run beside each other, and a team of threads for one stalls the rest.
    faiss.omp_set_num_threads(1)
    hammings, pointer = faiss.hammings, faiss.swig_ptr  # type: ignore[attr-defined]
    hammings(pointer(code), pointer(codes), 1, len(codes), codes.shape[1], pointer(away))
    return away


def mean(vectors: Vectors) -> Floats:
    """The centre of the vectors."""
    total = np.zeros(len(vectors.centre), np.float64)
    for begin in range(0, len(vectors), limits.RESCORE_ROWS):
        total += vectors.floats[vectors.positions[begin : begin + limits.RESCORE_ROWS]].sum(axis=0, dtype=np.float64)
    return (total / max(1, len(vectors))).astype(np.float32)
