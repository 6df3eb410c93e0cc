"""One index in PostgreSQL: its searches, and its builds."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Unavailable
from deedbox.kernel.traces import span
from deedbox.search.index import ANYTHING, Candidate, Change, Hit, IndexUnusable, Place, Sieve, bits, bm25
from deedbox.search.index.analysis import asked, forms
from deedbox.search.index.bits import Floats
from deedbox.search.index.languages import LATIN, mark
from deedbox.search.index.postgres.graphs import Graphs
from deedbox.search.index.postgres.postings import POSTING, ordinals
from deedbox.search.index.postgres.store import chunks as chunk_rows
from deedbox.search.index.postgres.store import indexes as index_rows
from deedbox.search.index.postgres.store import postings as posting_rows
from deedbox.search.index.postgres.store import terms as term_rows
from deedbox.search.index.postgres.store.chunks import ChunkRow
from deedbox.search.index.postgres.store.indexes import IndexRow
from deedbox.search.index.postgres.word_list import WordList
from deedbox.search.index.postgres.word_scores import Mask, WordScores, groups
from deedbox.search.index.postgres.write import write, written
from deedbox.search.index.terms import number

if TYPE_CHECKING:
    from deedbox.kernel.db.postgres import PostgresDatabase

T = TypeVar("T")


class PostgresIndex:
    """An Index in tables that all processes share. Raises IndexUnusable when it is of other dimensions.

    Documents change it in their own transactions; `apply` is for what they could not: a database that was restored,
    or whose indexes lay elsewhere before."""

    identity = ""
    """Who has it open knows it by its place."""
    writes = True
    """Any process may: each change says what it follows."""

    def __init__(
        self,
        db: "PostgresDatabase",
        place: Place,
        dimensions: int,
        graphs: Graphs,
        discard: Callable[[], None],
    ) -> None:
        self.discard = discard
        self._db = db
        self._place = place
        self._dimensions = dimensions
        self._graphs = graphs
        self._seen: IndexRow | None = None
        self._building = False
        db.read_here(self.look)
        if self._seen is not None and self._seen.dimensions != dimensions:
            raise IndexUnusable(f"The index has {self._seen.dimensions} dimensions.")

    @property
    def watermark(self) -> int:
        return self._seen.watermark if self._seen else 0

    @property
    def size(self) -> int:
        return self._seen.chunks if self._seen else 0

    @property
    def size_bytes(self) -> int:
        seen = self._seen
        return self._db.read_here(lambda tx: index_rows.share_bytes(tx, "id", seen.id)) if seen else 0

    def claim(self) -> bool:
        """Nobody has to be asked for it."""
        return True

    def look(self, tx: Tx) -> None:
        """Sees how far others have brought the index."""
        self._seen = seen = index_rows.find(tx, self._place)
        # Not while it is being built: each chunk would have to find its place in the graph.
        large = seen is not None and seen.chunks > limits.INDEX_EXACT_CHUNKS
        if seen is not None and large and not seen.graph and not self._building:
            self._graphs.want(seen.id, seen.dimensions)

    def apply(self, changes: Iterable[Change], watermark: int, since: int | None = None) -> None:
        """Makes the changes, in transactions of a bounded size: each goes as far as its last change's number."""
        reached, self._building = self.watermark if since is None else since, True
        try:
            for batch, following in _batches(changes):
                goal = watermark if not following else batch[-1].number or reached
                if not self._written(batch, reached, goal):
                    break  # another process is at it too, and has gone further
                reached = goal
        finally:
            self._building = False
        self._db.read_here(self.look)

    def near(self, vector: Floats, top: int, only: Collection[str] | None = None) -> list[Hit]:
        """The nearest chunks by cosine, best first, ties by upload id and number; `only` of these, none lost."""
        asked = self._asked(vector)

        def search(tx: Tx, index: IndexRow) -> list[Hit]:
            return list(_near(tx, index, asked, top, only).values())

        return self._searched(search, [], top, only)

    def words(self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING) -> list[Hit]:
        """The best chunks by BM25 that pass the sieve, best first, ties by upload id and number; `only` of these."""

        def search(tx: Tx, index: IndexRow) -> list[Hit]:
            said = _said(tx, index, query, top, only, sieve)
            rows = chunk_rows.names(tx, index, said, len(said))
            return sorted((Hit(upload_id, number_, said[ordinal]) for ordinal, upload_id, number_ in rows), key=_rank)

        return self._searched(search, [], top, only)

    def corrected(self, words: Collection[str], only: Collection[str] | None = None) -> dict[str, str]:
        """The words that were meant, of those that are in none of these uploads."""

        def search(tx: Tx, index: IndexRow) -> list[tuple[str, str]]:
            allowed = None if only is None else _allowed(tx, index, only)
            return list(WordList(tx, index, _spoken(tx, index), allowed).corrected(words).items())

        return dict(self._searched(search, [], len(words), only))

    def candidates(
        self, vector: Floats, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> list[Candidate]:
        """The hits of `near` and `words` at one moment, each chunk once, with the exact cosine of all; in no order."""
        asked = self._asked(vector)

        def search(tx: Tx, index: IndexRow) -> list[Candidate]:
            with span("search by meaning"):
                found = _near(tx, index, asked, top, only)
            with span("search by words"):
                said = _said(tx, index, query, top, only, sieve)
            if others := said.keys() - found.keys():
                found |= _scored(chunk_rows.chunks(tx, index, others), asked)
            return [
                Candidate(hit.upload_id, hit.number, hit.score, said.get(ordinal)) for ordinal, hit in found.items()
            ]

        return self._searched(search, [], top, only)

    def by_words(
        self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> Callable[[Floats], list[Candidate]]:
        """The candidates of a vector that is not known yet; both legs then, in one snapshot."""
        return lambda vector: self.candidates(vector, query, top, only, sieve)

    def close(self) -> None:
        """Nothing of it is open."""

    def _searched(
        self, search: Callable[[Tx, IndexRow], list[T]], nothing: list[T], top: int, only: Collection[str] | None
    ) -> list[T]:
        """What a search finds in one snapshot."""
        if top < 1 or (only is not None and not only):
            return nothing
        mark = self.watermark

        def run(tx: Tx) -> list[T]:
            index = index_rows.find(tx, self._place)
            if (index.watermark if index else 0) < mark:
                raise Unavailable("The index is being rebuilt. Try again in a moment.")
            return search(tx, index) if index and index.chunks else nothing

        return self._db.read_here(run)

    def _asked(self, vector: Floats) -> Floats:
        if np.shape(vector) != (self._dimensions,):
            raise ValueError(f"the index has {self._dimensions} dimensions, the query {np.shape(vector)}")
        asked: Floats = bits.unit(np.asarray(vector)[np.newaxis])[0]
        return asked

    def _written(self, batch: list[Change], since: int, watermark: int) -> bool:
        """Whether the batch was written: not if the index is elsewhere than at `since`."""

        def run(tx: Tx) -> bool:
            index = index_rows.find(tx, self._place)
            if index is None and since == 0:
                index = index_rows.add(tx, self._place, self._dimensions)
            if index is None or not index_rows.move(tx, index, since, watermark):
                return False
            write(tx, index, batch)
            return True

        return self._db.write_here(run, isolation="repeatable read")


def _batches(changes: Iterable[Change]) -> Iterator[tuple[list[Change], bool]]:
    """The changes in batches of a bounded number of chunks, at least one, and whether another follows."""
    batch: list[Change] = []
    size = 0
    for change in changes:
        if batch and size + len(change.entries) > limits.INDEX_WRITE_CHUNKS:
            yield batch, True
            batch, size = [], 0
        batch.append(change)
        size += max(1, len(change.entries))
    yield batch, False


def _near(tx: Tx, index: IndexRow, asked: Floats, top: int, only: Collection[str] | None) -> dict[int, Hit]:
    """The nearest by their ordinals, best first."""
    compared = index.chunks if only is None else sum(chunks for _, chunks in chunk_rows.ranges(tx, index, only))
    if index.graph and compared > limits.INDEX_EXACT_CHUNKS:
        found = chunk_rows.near_by_graph(tx, index, written(asked), 2 * top, only)
    else:
        found = chunk_rows.near(tx, index, written(asked), top + limits.NEAR_SPARE, only)
    best = sorted(_scored(found, asked).items(), key=lambda each: _rank(each[1]))
    return dict(best[:top])


def _scored(found: list[ChunkRow], asked: Floats) -> dict[int, Hit]:
    """The chunks with their exact cosines, by ordinal."""
    # As pgvector sends a vector: two numbers of 16 bits, then the components.
    floats = np.frombuffer(b"".join(row.vector[4:] for row in found), ">f4").astype(np.float32)
    cosines = bits.cosines(asked, floats.reshape(len(found), len(asked))).tolist()
    return {row.ordinal: Hit(row.upload_id, row.number, score) for row, score in zip(found, cosines, strict=True)}


def _said(
    tx: Tx, index: IndexRow, query: str, top: int, only: Collection[str] | None, sieve: Sieve
) -> dict[int, float]:
    """The scores of the best by their words, by ordinal."""
    spoken, allowed = _spoken(tx, index), None if only is None else _allowed(tx, index, only)
    words = asked(query, spoken, WordList(tx, index, spoken, allowed).begun)
    numbers = {term: number(term) for word in words for term in (*word.terms, *word.names)}
    lengths = posting_rows.posting_bytes(tx, index, numbers.values()) if words else {}
    having = {term: lengths.get(known, 0) // POSTING.itemsize for term, known in numbers.items()}
    weights = {numbers[term]: weight for term, weight in bm25.weights(index.chunks, words, having).items()}
    if not weights:
        return {}
    if sieve != ANYTHING:
        allowed = _sieved(tx, index, sieve, spoken, np.ones(index.next, np.bool_) if allowed is None else allowed)
    scores = WordScores(weights, index.words / max(1, index.chunks), index.next, allowed)
    postings = {known: lengths[known] // POSTING.itemsize for known in weights}
    left = sum(postings.values())
    for group in groups(postings):
        scores.take(group, posting_rows.postings(tx, index, group))
        left -= sum(postings[term] for term in group)
        reach = scores.within_reach(top)
        if left and reach is not None and len(reach) * limits.TERMS_ROW_POSTINGS <= left:
            scores.look_up(term_rows.terms(tx, index, reach.tolist()))
            break
    return _cut(tx, index, scores.best(top), top)


def _spoken(tx: Tx, index: IndexRow) -> list[str]:
    """The languages of the chunks beside English."""
    found = posting_rows.posting_bytes(tx, index, [number(mark(each)) for each in LATIN])
    return [each for each in LATIN if found.get(number(mark(each)))]


def _sieved(tx: Tx, index: IndexRow, sieve: Sieve, spoken: list[str], allowed: Mask) -> Mask:
    """Those of the allowed chunks that pass."""
    for word in sieve.required:
        for terms in forms(word, spoken):
            allowed = allowed & _having(tx, index, terms)
    for word in sieve.excluded:
        found = forms(word, spoken)
        # Of a run without spaces, a chunk may have some pairs and not the word: who reads the text decides.
        if len(found) == 1:
            allowed = allowed & ~_having(tx, index, found[0])
    return allowed


def _having(tx: Tx, index: IndexRow, terms: Sequence[str]) -> Mask:
    """Whether the chunk with each ordinal has any of the terms."""
    having = np.zeros(index.next, np.bool_)
    having[ordinals(posting_rows.postings(tx, index, [number(term) for term in terms]))] = True
    return having


def _allowed(tx: Tx, index: IndexRow, only: Collection[str]) -> Mask:
    """Whether the chunk with each ordinal belongs to one of these uploads."""
    allowed = np.zeros(index.next, np.bool_)
    for begins, chunks in chunk_rows.ranges(tx, index, only):
        allowed[begins : begins + chunks] = True
    return allowed


def _cut(tx: Tx, index: IndexRow, found: list[tuple[float, int]], top: int) -> dict[int, float]:
    """The best of these by ordinal: of those that tie with the last, the first by upload and number."""
    if len(found) > top:
        last = min(score for score, _ in found)
        better = [each for each in found if each[0] > last]
        tied = [ordinal for score, ordinal in found if score == last]
        found = better + [(last, ordinal) for ordinal, _, _ in chunk_rows.names(tx, index, tied, top - len(better))]
    return {ordinal: score for score, ordinal in found}


def _rank(hit: Hit) -> tuple[float, str, int]:
    return -hit.score, hit.upload_id, hit.number
