"""The terms of the chunks, as numbers: scores are reckoned from them, and so depend on nothing but the chunks."""

import re
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deedbox.kernel import limits
from deedbox.search.index.analysis import analyser, indexable

Numbers = NDArray[np.uint32]
Places = NDArray[np.int64]
Counts = NDArray[np.int64]

_PLAIN_WORD = re.compile("[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Terms:
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


def empty() -> Terms:
    return Terms(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint32))


def number(term: str) -> int:
    """The number of a term. Two terms may share one; then they count as one in the same way everywhere."""
    return zlib.crc32(term.encode())


def of_text(text: str) -> Numbers:
    """The terms of a chunk's text, each as often as it occurs: those that the word index has of it."""
    if not text.isascii():
        return np.array([number(term) for term in analyser().analyze(indexable(text))], np.uint32)
    # Stemming is most of the work, and most words have been seen before.
    words = _PLAIN_WORD.findall(text)
    if len(_known) > limits.KNOWN_WORDS:
        _known.clear()
    numbers = list(map(_known.__getitem__, words))
    return np.array([known for known in numbers if known is not None] if None in numbers else numbers, np.uint32)


class _Known(dict[str, int | None]):
    """The numbers of plain words; None for one that the index leaves out."""

    def __missing__(self, word: str) -> int | None:
        terms = analyser().analyze(word)
        found = number(terms[0]) if terms else None
        self[word] = found
        return found


_known = _Known()
