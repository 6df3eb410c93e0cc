"""The words of an index as they are written, folded and not stemmed; each upload has them with its first chunk."""

from collections.abc import Collection

import tantivy
from tantivy import Occur, Query

from deedbox.search import limits
from deedbox.search.index import spelling
from deedbox.search.index.words import schema

_HITS = 8


class WordList:
    """The words at one moment. Uploads are known by their ordinals; all, if it is not said which."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher, self._schema = searcher, schema()

    def begun(self, start: str, only: Collection[int] | None) -> list[str]:
        """The words that begin so: those that most of these uploads have, then by the alphabet."""
        found = self._searcher.terms_with_prefix("said", start, self._among(only))
        return [word for word, _ in sorted(found, key=lambda each: (-each[1], each[0]))[: limits.PREFIX_WORDS]]

    def alike(self, word: str, most: int, only: Collection[int] | None) -> dict[str, int]:
        """The words that differ from this one in so few letters, and how many of these uploads have each."""
        alike: list[str] = []
        wanted = Query.fuzzy_term_query(self._schema, "said", word, most, transposition_cost_one=True)
        while True:
            # A hit tells the upload and not the word: each round leaves out the words that are found.
            clauses = [(Occur.Must, wanted), *((Occur.MustNot, self._saying(each)) for each in alike)]
            hits = self._searcher.search(Query.boolean_query(clauses), _HITS, count=False).hits
            words = {each for _, place in hits for each in self._words(place)}
            new = spelling.alike(word, words.difference(alike), most)
            if not new:
                return {each: self._count(each, only) for each in alike}
            alike += new

    def _words(self, place: tantivy.DocAddress) -> list[str]:
        return str(self._searcher.doc(place).get_first("said")).split()

    def _count(self, word: str, only: Collection[int] | None) -> int:
        clauses = [(Occur.Must, self._saying(word)), (Occur.Must, self._among(only))]
        found = self._searcher.search(Query.boolean_query(clauses), 1, count=True)
        return int(found.count or 0)  # type: ignore[attr-defined]

    def _saying(self, word: str) -> Query:
        return Query.term_query(self._schema, "said", word, "basic")

    def _among(self, only: Collection[int] | None) -> Query:
        return Query.all_query() if only is None else Query.term_set_query(self._schema, "upload", list(only))
