"""The same chunks by many ways: histories that end alike, on two servers, and what each then answers.

A history adds, replaces and deletes uploads, in batches of any size; the index is closed and opened, built anew, merged
and rewritten on the way. Both servers follow the same log, each in batches of its own. The measure is an index that got
the last state at once."""

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import msgspec
import numpy as np
from numpy.typing import NDArray

from deedbox.kernel import limits
from deedbox.search.index import Change, Entry, Index, bits
from deedbox.search.index.local import LocalIndex
from deedbox.search.index.word_search import Match, WordSearch
from deedbox.search.query import fused
from tests.search.index.model import DIMENSIONS, WORDS, entry, vector

UPLOADS = 24
TOP = 6
QUESTIONS = 6
LIMITS = {"CANDIDATES_MIN": 12, "CANDIDATES_PER_HIT": 2, "REWRITE_ROWS": 40, "TIED_HITS": 2, "QUERY_TERMS": 3}
"""So small that a few chunks are many."""


class Report(msgspec.Struct):
    histories: int = 0
    changes: int = 0
    reopened: int = 0
    rebuilt: int = 0
    rewritten: int = 0
    answers: int = 0
    different: int = 0


def summary(report: Report) -> str:
    return (
        f"{report.histories} histories on two servers: {report.changes} changes, {report.reopened} restarts,"
        f" {report.rebuilt} built anew, {report.rewritten} rewritten; {report.answers} answers,"
        f" {report.different} differ"
    )


class Server:
    """One server's index, which follows the log."""

    def __init__(self, folder: Path, chance: random.Random, report: Report) -> None:
        self._folder, self._chance, self._report = folder, chance, report
        self._generation = 0
        self._begin()

    def follow(self, log: list[Change]) -> Index:
        """All of the log, a few changes at a time, with a restart or a new beginning here and there."""
        while self.index.watermark < len(log):
            begin = self.index.watermark
            end = min(len(log), begin + self._chance.choice((1, 2, 5, 20)))
            self.index.apply(log[begin:end], end)
            self._report.changes += end - begin
            if self._chance.random() < 0.1:
                self._reopen()
            elif self._chance.random() < 0.03:
                self._rebuild()
        return self.index

    def close(self) -> None:
        self._report.rewritten += self.index._manifest.generation
        self.index.close()

    def _begin(self) -> None:
        self.index = LocalIndex(self._folder / str(self._generation), DIMENSIONS, "recipe")

    def _reopen(self) -> None:
        self.index.close()
        self._begin()
        self._report.reopened += 1

    def _rebuild(self) -> None:
        self.close()
        self._generation += 1
        self._begin()
        self._report.rebuilt += 1


def lived(folder: Path, histories: int, *, bug: str | None = None, seed: int = 1) -> Report:
    report = Report()
    with ExitStack() as stack:
        for name, value in LIMITS.items():
            stack.enter_context(patch.object(limits, name, value))
        stack.enter_context(PLANTED[bug]())
        for number in range(histories):
            _live(folder / str(number), random.Random(f"{seed} {number}"), report)
    return report


def _live(folder: Path, chance: random.Random, report: Report) -> None:
    last = {f"upl_{upload:03d}": _content(chance, 12) for upload in range(UPLOADS) if chance.random() < 0.8}
    log = _log(chance, last)
    begun = LocalIndex(folder / "at once", DIMENSIONS, "recipe")
    begun.apply([Change(upload_id, made) for upload_id, made in last.items()], 1)
    servers = [Server(folder / name, random.Random(chance.random()), report) for name in ("one", "two")]
    indexes = [server.follow(log) for server in servers]
    for _ in range(QUESTIONS):
        asked, query = vector(chance) + _LEANING, " ".join(chance.choices(WORDS, k=chance.randint(1, 5)))
        only = chance.sample(sorted(last), len(last) // 2) if chance.random() < 0.3 else None
        expected = _answers(begun, asked, query, only)
        for index in indexes:
            found = _answers(index, asked, query, only)
            report.answers += len(found)
            report.different += sum(mine != theirs for mine, theirs in zip(found, expected, strict=True))
    for server in servers:
        server.close()
    begun.close()
    report.histories += 1


def _log(chance: random.Random, last: dict[str, list[Entry]]) -> list[Change]:
    """Changes that end in the last state: before it, each upload was something else, several times, or not there."""
    before = [
        Change(f"upl_{chance.randrange(UPLOADS):03d}", _content(chance, 40) if chance.random() < 0.7 else [])
        for _ in range(chance.randint(0, 3 * UPLOADS))
    ]
    gone = [Change(f"upl_{upload:03d}", []) for upload in range(UPLOADS) if f"upl_{upload:03d}" not in last]
    end = [*gone, *(Change(upload_id, made) for upload_id, made in last.items())]
    chance.shuffle(end)
    return before + end


def _content(chance: random.Random, most_words: int) -> list[Entry]:
    return [
        entry(number, " ".join(chance.choices(WORDS, k=chance.randint(1, most_words))), vector(chance) + _LEANING)
        for number in range(chance.randint(1, 4))
    ]


def _answers(index: Index, asked: NDArray[np.float32], query: str, only: list[str] | None) -> list[bytes]:
    """Each mode's answer, byte for byte."""
    hits = (
        index.near(asked, TOP, only),
        index.words(query, TOP, only),
        fused(index.candidates(asked, query, TOP, only), TOP),
    )
    return [msgspec.json.encode(found) for found in hits]


_LEANING = np.full(DIMENSIONS, 0.1, np.float32)
"""Vectors of a model share a direction."""


@contextmanager
def _bits_relative_to_a_centre_that_moves() -> Iterator[None]:
    """The centre is that of what came last, so that it depends on how the index grew."""
    real, centre = bits.packed, [np.zeros(DIMENSIONS, np.float32)]

    def packed(rows: NDArray[np.float32]) -> NDArray[np.uint8]:
        if len(rows) > 1:
            centre[0] = rows.mean(axis=0)
        return real(np.asarray(rows - centre[0], np.float32))

    with patch.object(bits, "packed", packed):
        yield


@contextmanager
def _the_engines_own_scores() -> Iterator[None]:
    """tantivy counts chunks that are gone until it merges them away."""

    def scored(_: WordSearch, found: list[Match], __: dict[str, float]) -> list[Match]:
        return [(round(score, 4), upload, number) for score, upload, number in found]

    with patch.object(WordSearch, "_scored", scored):
        yield


@contextmanager
def _no_bug() -> Iterator[None]:
    yield


PLANTED: dict[str | None, Callable[[], AbstractContextManager[None]]] = {
    None: _no_bug,
    "bits relative to a centre that moves": _bits_relative_to_a_centre_that_moves,
    "the engine's own scores": _the_engines_own_scores,
}
