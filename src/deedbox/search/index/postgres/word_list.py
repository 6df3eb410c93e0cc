"""The words of an index as they are written, folded and not stemmed; each upload has them with its first chunk."""

from collections.abc import Collection, Iterable, Mapping

from deedbox.kernel.db import Tx
from deedbox.search import limits
from deedbox.search.index import spelling
from deedbox.search.index.analysis import plain, query_terms
from deedbox.search.index.postgres.postings import POSTING, ordinals
from deedbox.search.index.postgres.read_postings import Postings
from deedbox.search.index.postgres.store import words as word_rows
from deedbox.search.index.postgres.store.indexes import IndexRow
from deedbox.search.index.postgres.word_scores import Mask
from deedbox.search.index.terms import number


class PostgresWordList:
    """The words at one moment, of those uploads whose chunks are allowed; of all, if it is not said which."""

    def __init__(self, tx: Tx, index: IndexRow, postings: Postings, spoken: list[str], allowed: Mask | None) -> None:
        self._tx, self._index, self._postings = tx, index, postings
        self._spoken, self._allowed = spoken, allowed

    def begun(self, start: str) -> list[str]:
        """The words that begin so: those that most uploads have, then by the alphabet."""
        found = self._counts(word_rows.find_by_prefix(self._tx, self._index, start))
        known = sorted((word for word in found if found[word]), key=lambda word: (-found[word], word))
        return known[: limits.PREFIX_WORDS]

    def corrected(self, words: Collection[str]) -> dict[str, str]:
        """The words that were meant, of those that occur nowhere."""
        numbers = {word: self._numbers(word) for word in words}
        wanted = {each for found in numbers.values() for each in found}
        known = {term for term, length in self._postings.lengths(wanted).items() if length}
        if self._allowed is not None:  # all at once: who may see a word is told by its postings
            doubtful = [word for word in words if spelling.is_doubtful(plain(word).strip())]
            self._postings.rows({each for word in doubtful for each in known & numbers[word]})
        return spelling.correct(words, lambda word: self._knows(known & self._numbers(word)), self._alike)

    def _alike(self, word: str, most: int) -> dict[str, int]:
        """The words that differ from this one in so few letters, and how many uploads have each."""
        perhaps = word_rows.perhaps_alike(self._tx, self._index, word, most)
        return self._counts({each: perhaps[each] for each in spelling.alike(word, perhaps, most)})

    def _numbers(self, word: str) -> set[int]:
        """The terms of the word, in texts and in names."""
        return {number(term) for each in query_terms(word, self._spoken) for term in (*each.terms, *each.names)}

    def _knows(self, known: Iterable[int]) -> bool:
        """Whether an upload has one of these terms, which the index has."""
        if self._allowed is None:
            return any(True for _ in known)
        return bool(self._allowed[ordinals(self._postings.rows(known))].any())

    def _counts(self, ids: Mapping[str, int]) -> dict[str, int]:
        """How many uploads have each of these words."""
        terms = [-id_ for id_ in ids.values()]
        if not terms:
            return {}
        if self._allowed is None:
            found = self._postings.lengths(terms)
            return {word: found[-id_] // POSTING.itemsize for word, id_ in ids.items()}
        having = dict.fromkeys(terms, 0)
        for row in self._postings.rows(terms):
            having[row[0]] += int(self._allowed[ordinals([row])].sum())
        return {word: having[-id_] for word, id_ in ids.items()}
