"""The same chunks by many ways: histories that end alike, on two servers, and what each then answers.

A history adds, replaces and deletes uploads, in batches of any size; the index is closed and opened, built anew, merged
and rewritten on the way. Both servers follow the same log, each in batches of its own: each has an index in a folder of
its own, or both share one in PostgreSQL. The measure is an index that got the last state at once."""

import functools
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Protocol, TypeAlias
from unittest.mock import patch

import msgspec
import numpy as np
from numpy.typing import NDArray

from deedbox.kernel.db import Tx
from deedbox.search import limits
from deedbox.search.index import ChunkEntry, Index, IndexChange, bits
from deedbox.search.index.local import LocalIndex
from deedbox.search.index.postgres.indexes import PostgresIndexes
from deedbox.search.index.postgres.store import indexes as index_rows
from deedbox.search.index.postgres.store.indexes import IndexRow
from deedbox.search.index.word_search import Match, WordSearch
from deedbox.search.query.fusion import fuse
from tests.search.index.model import DIMENSIONS, WORDS, entry, vector

UPLOADS = 24
TOP = 6
QUESTIONS = 6
SERVERS = ("one", "two")
AT_ONCE = "at once"
LIMITS = {
    "CANDIDATES_MIN": 12, "CANDIDATES_PER_HIT": 2, "REWRITE_ROWS": 40, "TIED_HITS": 2, "QUERY_TERMS": 3,
    "INDEX_WRITE_CHUNKS": 8, "NEAR_SPARE": 4, "INDEX_EXACT_CHUNKS": 0,
}  # fmt: skip
"""So small that a few chunks are many."""
Bug: TypeAlias = Callable[[], AbstractContextManager[None]]


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


class Places(Protocol):
    """Where indexes are kept: in a history, a server opens its own, or the one that all servers share."""

    def opened(self, history: str, server: str) -> Index: ...


class Folders:
    """Each server has an index of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def opened(self, history: str, server: str) -> Index:
        return LocalIndex(self._folder / history / server, DIMENSIONS, "recipe")


class Database:
    """The servers share an index in PostgreSQL; each has connections of its own."""

    def __init__(self, one: PostgresIndexes, two: PostgresIndexes) -> None:
        self._one, self._two = one, two

    def opened(self, history: str, server: str) -> Index:
        workspace = f"{history} {AT_ONCE}" if server == AT_ONCE else history
        return (self._two if server == SERVERS[1] else self._one).open((workspace, "recipe"), DIMENSIONS)


class Server:
    """One server, whose index follows the log."""

    def __init__(self, opened: Callable[[], Index], chance: random.Random, report: Report) -> None:
        self._opened, self._chance, self._report = opened, chance, report
        self.index = opened()

    def follow(self, log: list[IndexChange]) -> None:
        """A few changes more, if no other server has gone further meanwhile; here and there the index is opened again,
        or begun anew."""
        begin = self.index.watermark
        end = min(len(log), begin + self._chance.choice((1, 2, 5, 20)))
        self.index.apply(log[begin:end], end, begin)
        self._report.changes += end - begin
        if self._chance.random() < 0.1:
            self._reopen()
        elif self._chance.random() < 0.03:
            self._rebuild()

    def discard(self) -> None:
        if isinstance(self.index, LocalIndex):
            self._report.rewritten += self.index._manifest.generation
        self.index.discard()

    def _reopen(self) -> None:
        self.index.close()
        self.index = self._opened()
        self._report.reopened += 1

    def _rebuild(self) -> None:
        self.discard()
        self.index = self._opened()
        self._report.rebuilt += 1


def lived(places: Places, histories: int, *, bug: Bug = nullcontext, seed: int = 1) -> Report:
    report = Report()
    with ExitStack() as stack:
        for name, value in LIMITS.items():
            stack.enter_context(patch.object(limits, name, value))
        stack.enter_context(bug())
        for number in range(histories):
            _live(functools.partial(places.opened, str(number)), random.Random(f"{seed} {number}"), report)
    return report


def _live(opened: Callable[[str], Index], chance: random.Random, report: Report) -> None:
    last = {f"upl_{upload:03d}": _content(chance, 12) for upload in range(UPLOADS) if chance.random() < 0.8}
    log = _log(chance, last)
    begun = opened(AT_ONCE)
    begun.apply([IndexChange(upload_id, made) for upload_id, made in last.items()], 1)
    servers = [Server(functools.partial(opened, name), random.Random(chance.random()), report) for name in SERVERS]
    while behind := [server for server in servers if server.index.watermark < len(log)]:
        chance.choice(behind).follow(log)
    for _ in range(QUESTIONS):
        asked, query = vector(chance) + _LEANING, " ".join(chance.choices(WORDS, k=chance.randint(1, 5)))
        only = chance.sample(sorted(last), len(last) // 2) if chance.random() < 0.3 else None
        expected = _answers(begun, asked, query, only)
        for server in servers:
            found = _answers(server.index, asked, query, only)
            report.answers += len(found)
            report.different += sum(mine != theirs for mine, theirs in zip(found, expected, strict=True))
    for server in servers:
        server.discard()
    begun.discard()
    report.histories += 1


def _log(chance: random.Random, last: dict[str, list[ChunkEntry]]) -> list[IndexChange]:
    """Changes that end in the last state: before it, each upload was something else, several times, or not there."""
    before = [
        IndexChange(f"upl_{chance.randrange(UPLOADS):03d}", _content(chance, 40) if chance.random() < 0.7 else [])
        for _ in range(chance.randint(0, 3 * UPLOADS))
    ]
    gone = [IndexChange(f"upl_{upload:03d}", []) for upload in range(UPLOADS) if f"upl_{upload:03d}" not in last]
    end = [*gone, *(IndexChange(upload_id, made) for upload_id, made in last.items())]
    chance.shuffle(end)
    log = before + end
    return [msgspec.structs.replace(change, number=number) for number, change in enumerate(log, start=1)]


def _content(chance: random.Random, most_words: int) -> list[ChunkEntry]:
    return [
        entry(number, " ".join(chance.choices(WORDS, k=chance.randint(1, most_words))), vector(chance) + _LEANING)
        for number in range(chance.randint(1, 4))
    ]


def _answers(index: Index, asked: NDArray[np.float32], query: str, only: list[str] | None) -> list[bytes]:
    """Each mode's answer, byte for byte."""
    hits = (
        index.near(asked, TOP, only),
        index.words(query, TOP, only),
        fuse(index.candidates(asked, query, TOP, only), TOP),
        index.words(f"{query[:2]}* no*", TOP, only),
    )
    # All but the first letter, as people leave out letters.
    meant = index.corrected([word[1:] for word in query.split()], only)
    return [msgspec.json.encode(found) for found in (*hits, meant)]


_LEANING = np.full(DIMENSIONS, 0.1, np.float32)
"""Vectors of a model share a direction."""


@contextmanager
def _bits_relative_to_a_centre_that_moves() -> Iterator[None]:
    """The centre is that of what came last, so that it depends on how the index grew."""
    real, centre = bits.pack, [np.zeros(DIMENSIONS, np.float32)]

    def packed(rows: NDArray[np.float32]) -> NDArray[np.uint8]:
        if len(rows) > 1:
            centre[0] = rows.mean(axis=0)
        return real(np.asarray(rows - centre[0], np.float32))

    with patch.object(bits, "pack", packed):
        yield


@contextmanager
def _the_engines_own_scores() -> Iterator[None]:
    """tantivy counts chunks that are gone until it merges them away."""

    def scored(_: WordSearch, found: list[Match], __: dict[str, float]) -> list[Match]:
        return [(round(score, 4), upload, number) for score, upload, number in found]

    with patch.object(WordSearch, "_scored", scored):
        yield


@contextmanager
def _words_that_are_gone_still_counted() -> Iterator[None]:
    """In PostgreSQL: how long chunks are on average depends on those that were there before."""
    real = index_rows.count

    def count(tx: Tx, index: IndexRow, chunks: int, words: int, following: int) -> None:
        real(tx, index, chunks, max(0, words), following)

    with patch.object(index_rows, "count", count):
        yield


OF_FOLDERS: dict[str, Bug] = {
    "bits relative to a centre that moves": _bits_relative_to_a_centre_that_moves,
    "the engine's own scores": _the_engines_own_scores,
}
OF_DATABASE: dict[str, Bug] = {"words that are gone still counted": _words_that_are_gone_still_counted}
