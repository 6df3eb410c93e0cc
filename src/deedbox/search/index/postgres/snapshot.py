"""The searches of an index in PostgreSQL, in one snapshot: what one of them has read, the others do not read again."""

from collections.abc import Callable, Collection, Sequence

import numpy as np

from deedbox.kernel.db import Tx
from deedbox.kernel.traces import span
from deedbox.search import limits
from deedbox.search.index import ANYTHING, Candidate, Hit, Sieve, bits, bm25
from deedbox.search.index.analysis import forms, query_terms
from deedbox.search.index.bits import Floats
from deedbox.search.index.languages import LATIN, mark
from deedbox.search.index.postgres.postings import POSTING, ordinals
from deedbox.search.index.postgres.read_postings import Postings
from deedbox.search.index.postgres.store import chunks as chunk_rows
from deedbox.search.index.postgres.store import terms as term_rows
from deedbox.search.index.postgres.store.chunks import ChunkRow
from deedbox.search.index.postgres.store.indexes import IndexRow
from deedbox.search.index.postgres.word_list import PostgresWordList
from deedbox.search.index.postgres.word_scores import Mask, WordScores, groups
from deedbox.search.index.postgres.write import written
from deedbox.search.index.terms import number

_MARKS = {language: number(mark(language)) for language in LATIN}
"""The terms that tell in which language a chunk is."""


class PostgresSnapshot:
    """The searches of an index, as one transaction sees it. They are for a query, if it is known already."""

    def __init__(self, tx: Tx, index: IndexRow, query: str) -> None:
        self._tx = tx
        self._index = index
        self._query = query
        self._postings = Postings(tx, index)
        self._ranges: dict[frozenset[str], list[tuple[int, int]]] = {}

    def near(self, vector: Floats, top: int, only: Collection[str] | None = None) -> list[Hit]:
        """The nearest chunks by cosine, best first, ties by upload id and number; `only` of these, none lost."""
        asked_for = self._asked(vector)
        return [] if self._has_none(top, only) else list(self._near(asked_for, top, only).values())

    def words(self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING) -> list[Hit]:
        """The best chunks by BM25 that pass the sieve, best first, ties by upload id and number; `only` of these."""
        if self._has_none(top, only):
            return []
        said = self._said(query, top, only, sieve)
        rows = chunk_rows.names(self._tx, self._index, said, len(said))
        return sorted((Hit(upload_id, number_, said[ordinal]) for ordinal, upload_id, number_ in rows), key=_rank)

    def corrected(self, words: Collection[str], only: Collection[str] | None = None) -> dict[str, str]:
        """The words that were meant, of those that are in none of these uploads."""
        if self._has_none(len(words), only):
            return {}
        return self._word_list(self._spoken(" ".join(words)), only).corrected(words)

    def candidates(
        self, vector: Floats, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> list[Candidate]:
        """The hits of `near` and `words`, each chunk once, with the exact cosine of all; in no order."""
        asked_for = self._asked(vector)
        if self._has_none(top, only):
            return []
        with span("search by meaning"):
            found = self._near(asked_for, top, only)
        with span("search by words"):
            said = self._said(query, top, only, sieve)
        if others := said.keys() - found.keys():
            found |= _scored(chunk_rows.chunks(self._tx, self._index, others), asked_for)
        return [Candidate(hit.upload_id, hit.number, hit.score, said.get(ordinal)) for ordinal, hit in found.items()]

    def by_words(
        self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> Callable[[Floats], list[Candidate]]:
        """The candidates of a vector."""
        return lambda vector: self.candidates(vector, query, top, only, sieve)

    def _has_none(self, top: int, only: Collection[str] | None) -> bool:
        return self._index.chunks == 0 or top < 1 or (only is not None and not only)

    def _asked(self, vector: Floats) -> Floats:
        if np.shape(vector) != (self._index.dimensions,):
            raise ValueError(f"the index has {self._index.dimensions} dimensions, the query {np.shape(vector)}")
        asked_for: Floats = bits.unit(np.asarray(vector)[np.newaxis])[0]
        return asked_for

    def _near(self, asked_for: Floats, top: int, only: Collection[str] | None) -> dict[int, Hit]:
        """The nearest by their ordinals, best first."""
        index, text = self._index, written(asked_for)
        compared = index.chunks if only is None else sum(chunks for _, chunks in self._ranges_of(only))
        if index.graph and compared > limits.INDEX_EXACT_CHUNKS:
            found = chunk_rows.near_by_graph(self._tx, index, text, 2 * top, only)
        else:
            found = chunk_rows.near(self._tx, index, text, top + limits.NEAR_SPARE, only)
        best = sorted(_scored(found, asked_for).items(), key=lambda each: _rank(each[1]))
        return dict(best[:top])

    def _said(self, query: str, top: int, only: Collection[str] | None, sieve: Sieve) -> dict[int, float]:
        """The scores of the best by their words, by ordinal."""
        index, spoken = self._index, self._spoken(query)
        words = query_terms(query, spoken, self._word_list(spoken, only).begun)
        numbers = {term: number(term) for word in words for term in (*word.terms, *word.names)}
        lengths = self._postings.lengths(numbers.values())
        having = {term: lengths[known] // POSTING.itemsize for term, known in numbers.items()}
        weights = {numbers[term]: weight for term, weight in bm25.weights(index.chunks, words, having).items()}
        if not weights:
            return {}
        allowed = self._allowed(only)
        if sieve != ANYTHING:
            allowed = self._sieved(sieve, spoken, np.ones(index.next, np.bool_) if allowed is None else allowed)
        scores = WordScores(weights, index.words / max(1, index.chunks), index.next, allowed)
        postings = {known: lengths[known] // POSTING.itemsize for known in weights}
        left = sum(postings.values())
        for group in groups(postings):
            scores.take(group, self._postings.rows(group))
            left -= sum(postings[term] for term in group)
            reach = scores.within_reach(top)
            if left and reach is not None and len(reach) * limits.TERMS_ROW_POSTINGS <= left:
                scores.look_up(term_rows.terms(self._tx, index, reach.tolist()))
                break
        return self._cut(scores.best(top), top)

    def _spoken(self, query: str) -> list[str]:
        """The languages of the chunks besides English."""
        # One statement reads these and the lengths of the query's terms, which depend on the languages.
        words = query_terms(f"{self._query} {query}", LATIN)
        terms = {number(term) for word in words for term in (*word.terms, *word.names)}
        found = self._postings.lengths({*_MARKS.values(), *terms})
        return [language for language, known in _MARKS.items() if found[known]]

    def _word_list(self, spoken: list[str], only: Collection[str] | None) -> PostgresWordList:
        return PostgresWordList(self._tx, self._index, self._postings, spoken, self._allowed(only))

    def _sieved(self, sieve: Sieve, spoken: list[str], allowed: Mask) -> Mask:
        """Those of the allowed chunks that pass."""
        words = (*sieve.required, *sieve.excluded)
        self._postings.rows([number(term) for word in words for terms in forms(word, spoken) for term in terms])
        for word in sieve.required:
            for terms in forms(word, spoken):
                allowed = allowed & self._having(terms)
        for word in sieve.excluded:
            found = forms(word, spoken)
            # Of a run without spaces, a chunk may have some pairs and not the word: who reads the text decides.
            if len(found) == 1:
                allowed = allowed & ~self._having(found[0])
        return allowed

    def _having(self, terms: Sequence[str]) -> Mask:
        """Whether the chunk with each ordinal has any of the terms."""
        having = np.zeros(self._index.next, np.bool_)
        having[ordinals(self._postings.rows([number(term) for term in terms]))] = True
        return having

    def _allowed(self, only: Collection[str] | None) -> Mask | None:
        """Whether the chunk with each ordinal belongs to one of these uploads; None if all may."""
        if only is None:
            return None
        allowed = np.zeros(self._index.next, np.bool_)
        for begins, chunks in self._ranges_of(only):
            allowed[begins : begins + chunks] = True
        return allowed

    def _ranges_of(self, only: Collection[str]) -> list[tuple[int, int]]:
        """The first ordinal of each of these uploads, and how many chunks it has."""
        if (key := frozenset(only)) not in self._ranges:
            self._ranges[key] = chunk_rows.ranges(self._tx, self._index, only)
        return self._ranges[key]

    def _cut(self, found: list[tuple[float, int]], top: int) -> dict[int, float]:
        """The best of these by ordinal: of those that tie with the last, the first by upload and number."""
        if len(found) > top:
            last = min(score for score, _ in found)
            better = [each for each in found if each[0] > last]
            tied = [ordinal for score, ordinal in found if score == last]
            first = chunk_rows.names(self._tx, self._index, tied, top - len(better))
            found = better + [(last, ordinal) for ordinal, _, _ in first]
        return {ordinal: score for score, ordinal in found}


def _scored(found: list[ChunkRow], asked_for: Floats) -> dict[int, Hit]:
    """The chunks with their exact cosines, by ordinal."""
    # As pgvector sends a vector: two numbers of 16 bits, then the components.
    floats = np.frombuffer(b"".join(row.vector[4:] for row in found), ">f4").astype(np.float32)
    cosines = bits.cosines(asked_for, floats.reshape(len(found), len(asked_for))).tolist()
    return {row.ordinal: Hit(row.upload_id, row.number, score) for row, score in zip(found, cosines, strict=True)}


def _rank(hit: Hit) -> tuple[float, str, int]:
    return -hit.score, hit.upload_id, hit.number
