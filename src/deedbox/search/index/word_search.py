"""The best chunks by their words: tantivy finds them, and their BM25 is reckoned from the chunks that can be found.

tantivy's own statistics count chunks that are gone until it merges them away, so its scores, and which chunks are the
best by them, depend on how the index grew. Here its scores only bound those of the chunks that it did not name."""

import threading
from collections.abc import Collection, Sequence
from functools import cached_property, partial
from typing import Protocol

import msgspec
import numpy as np
import tantivy
from tantivy import Occur, Query

from deedbox.search import limits
from deedbox.search.index import ANYTHING, Sieve, bm25, spelling
from deedbox.search.index.analysis import forms, query_terms
from deedbox.search.index.languages import LATIN, mark
from deedbox.search.index.terms import Counts, Numbers, number
from deedbox.search.index.word_list import WordList
from deedbox.search.index.words import readable, schema

Match = tuple[float, int, int]
"""Score, ordinal of the upload, number of the chunk."""

_ROUNDING = 1 + 1e-5
"""More than what tantivy loses by reckoning in float32."""
_SHORT = 0.02
"""By so much its weights of a query may fall short: to correct them makes it slower than to look at more chunks."""
_FIRST_HITS = 8
_LOOSE = 0.75
"""Where a term, a stop word, weighs less than this share of what tantivy gives it, to look at more chunks is slower."""


class Chunks(Protocol):
    """The chunks that can be found."""

    def __len__(self) -> int: ...

    @property
    def words(self) -> int:
        """The number of terms of all chunks together."""

    def said(self, uploads: Numbers, numbers: Numbers, wanted: Numbers) -> tuple[Counts, Numbers]:
        """How often each of these chunks has each of the wanted terms, and how many terms it has in all."""


class WordSearch:
    """The words of an index at one moment."""

    def __init__(self, searcher: tantivy.Searcher, chunks: Chunks, uploads: int) -> None:
        self._searcher, self._chunks, self._uploads = searcher, chunks, uploads
        self._schema = schema()
        self._list = WordList(searcher)
        self._average = chunks.words / max(1, len(chunks))
        self._statistics: _Statistics | None = None
        self._counted: dict[str, int] = {}
        self._counting = threading.Lock()

    @property
    def size(self) -> int:
        """The number of chunks that the word index has."""
        return self._searcher.num_docs

    def beside(self, chunks: Chunks) -> "WordSearch":
        """The same words beside the same chunks, which lie elsewhere now."""
        return WordSearch(self._searcher, chunks, self._uploads)

    def best(self, query: str, top: int, only: Collection[int] | None = None, sieve: Sieve = ANYTHING) -> list[Match]:
        """The best chunks that pass the sieve, best first: `top` of them and those that tie with the last; `only` of
        these ordinals."""
        with readable():
            weights = self._weights(query, only)
            if not weights:
                return []
            (wanted, short), limit = self._query(weights), top + limits.TIED_HITS
            if sieve != ANYTHING:
                wanted = self._sieved(wanted, sieve)
            if only is not None and max(limits.FILTER_UPLOADS, self._uploads // 20) < len(only):
                # Of many uploads, most hits are wanted: asking for more of them is cheaper than a filter.
                limit = limit * self._uploads // len(only)
            elif only is not None:
                wanted, only = _filtered(self._schema, wanted, only), None
            while True:
                limit = min(limit, self.size + 1)
                found = self._found(wanted, limit)
                scored = self._scored([match for match in found if only is None or match[1] in only], weights)
                last = scored[top - 1][0] if len(scored) >= top else 0.0
                if len(found) < limit or self._at_most(found[-1][0], short) < last:
                    return [match for match in scored if match[0] >= last]
                limit *= 2

    def corrected(self, words: Collection[str], only: Collection[int] | None = None) -> dict[str, str]:
        """The words that were meant, of those that occur nowhere in uploads with these ordinals."""
        with readable():
            alike = partial(self._list.alike, only=only)
            return spelling.correct(words, lambda word: self._knows(word, only), alike)

    def _weights(self, query: str, only: Collection[int] | None) -> dict[str, float]:
        """The weights of the query's terms; those that no chunk has are left out."""
        words = query_terms(query, self._spoken, partial(self._list.begun, only=only))
        having = {term: self._frequency(term) for word in words for term in (*word.terms, *word.names)}
        return bm25.weights(len(self._chunks), words, having)

    def _knows(self, word: str, only: Collection[int] | None) -> bool:
        """Whether one of these uploads has the word, in any inflection."""
        terms = [term for each in query_terms(word, self._spoken) for term in (*each.terms, *each.names)]
        if only is None:
            return any(map(self._frequency, terms))
        wanted, limit = self._any(terms), _FIRST_HITS
        while True:
            found = self._found(wanted, limit)
            if any(only is None or upload in only for _, upload, _ in found):
                return True
            if len(found) < limit:
                return False
            limit *= 4

    @cached_property
    def _spoken(self) -> list[str]:
        """The languages of the chunks beside English."""
        return [each for each in LATIN if self._searcher.doc_freq("body", mark(each))]

    def _frequency(self, term: str) -> int:
        """How many of the chunks that can be found have the term."""
        stored = self._searcher.doc_freq("body", term)
        if not stored or self._engine(term).chunks == self.size:
            return stored
        # Frequent terms take long to count, and are asked for again.
        if term not in self._counted:
            asked = Query.const_score_query(Query.term_query(self._schema, "body", term, "basic"), 0.0)
            count = int(self._searcher.search(asked, 1, count=True).count or 0)  # type: ignore[attr-defined]
            with self._counting:
                if len(self._counted) >= limits.COUNTED_TERMS:
                    self._counted = {}
                self._counted[term] = count
            return count
        return self._counted.get(term, 0)

    def _engine(self, term: str) -> "_Statistics":
        """What tantivy scores with: it tells when it explains a score, so it takes a term that a chunk has."""
        if self._statistics is None:
            asked = Query.term_query(self._schema, "body", term, "freq")
            hits = self._searcher.search(asked, 1, count=False).hits
            if not hits:
                return _Statistics(-1, 1)  # not known yet, but other than without chunks that are gone
            self._statistics = _explained(asked.explain(self._searcher, hits[0][1]).to_json())
        return self._statistics

    def _query(self, weights: dict[str, float]) -> tuple[Query, float]:
        """Any of the terms, and how much less than by their true weights tantivy may score a chunk."""
        theirs = {
            term: bm25.weight(self._engine(term).chunks, self._searcher.doc_freq("body", term)) for term in weights
        }
        short = sum(max(0.0, weight - theirs[term]) for term, weight in weights.items())
        boosted = short > _SHORT or any(weight < _LOOSE * theirs[term] for term, weight in weights.items())
        clauses = []
        for term, weight in weights.items():
            clause = Query.term_query(self._schema, "body", term, "freq")
            clauses.append((Occur.Should, Query.boost_query(clause, weight / theirs[term]) if boosted else clause))
        return Query.boolean_query(clauses), 0.0 if boosted else short

    def _sieved(self, wanted: Query, sieve: Sieve) -> Query:
        clauses = [(Occur.Must, wanted)]
        clauses += [(Occur.Must, self._any(terms)) for word in sieve.required for terms in forms(word, self._spoken)]
        for word in sieve.excluded:
            found = forms(word, self._spoken)
            # Of a run without spaces, a chunk may have some pairs and not the word: who reads the text decides.
            if len(found) == 1:
                clauses.append((Occur.MustNot, self._any(found[0])))
        return Query.boolean_query(clauses)

    def _any(self, terms: Sequence[str]) -> Query:
        """Any of the terms, which scores nothing."""
        clauses = [(Occur.Should, Query.term_query(self._schema, "body", term, "basic")) for term in terms]
        return Query.const_score_query(Query.boolean_query(clauses), 0.0)

    def _found(self, asked: Query, limit: int) -> list[Match]:
        """The best as tantivy scores them."""
        hits = self._searcher.search(asked, limit, count=False).hits
        places = [place for _, place in hits]
        uploads = self._searcher.fast_field_values("upload", places)
        numbers = self._searcher.fast_field_values("number", places)
        return [
            (score, int(upload or 0), int(number_ or 0))
            for (score, _), upload, number_ in zip(hits, uploads, numbers, strict=True)
        ]

    def _at_most(self, found: float, short: float) -> float:
        """The highest score of any chunk that tantivy does not rank above one to which it gave this score."""
        # Where tantivy's average is too short, it is too hard on length: by no more than the averages differ.
        harder = 1.0 if self._statistics is None else max(1.0, self._average / self._statistics.average)
        return round((found + short) * harder * _ROUNDING, bm25.SCORE_DIGITS)

    def _scored(self, found: list[Match], weights: dict[str, float]) -> list[Match]:
        """The same chunks with their true scores, best first."""
        uploads, numbers = np.array([match[1:] for match in found], np.uint32).reshape(-1, 2).T
        counts, lengths = self._chunks.said(uploads, numbers, np.array([number(term) for term in weights], np.uint32))
        damping = bm25.length_factor(bm25.LENGTHS[bm25.length_codes(lengths)], self._average)
        scores = np.zeros(len(found))
        for count, weight in zip(counts.T, weights.values(), strict=True):
            scores += weight * (count / (count + damping))
        rounded = [round(score, bm25.SCORE_DIGITS) for score in scores.tolist()]
        return sorted(zip(rounded, uploads.tolist(), numbers.tolist(), strict=True), reverse=True)


class _Statistics(msgspec.Struct, frozen=True):
    chunks: int
    average: float
    """How many terms a chunk has."""


class _Explanation(msgspec.Struct):
    value: float
    description: str
    details: list["_Explanation"] = []


_EXPLANATION = msgspec.json.Decoder(_Explanation)


def _explained(explanation: str) -> _Statistics:
    values: dict[str, float] = {}
    parts = [_EXPLANATION.decode(explanation)]
    while parts:
        part = parts.pop()
        values[part.description.partition(",")[0]] = part.value
        parts += part.details
    return _Statistics(int(values["N"]), values["avgdl"])


def _filtered(schema_: tantivy.Schema, asked: Query, only: Collection[int]) -> Query:
    # The filter scores nothing, or it would add to the score of every hit.
    allowed = Query.const_score_query(Query.term_set_query(schema_, "upload", list(only)), 0.0)
    return Query.boolean_query([(Occur.Must, allowed), (Occur.Must, asked)])
