"""The postings of an index in PostgreSQL, for the searches of one transaction: none is read twice."""

from collections.abc import Iterable

from deedbox.kernel.db import Row, Tx
from deedbox.search.index.postgres.store import postings as posting_rows
from deedbox.search.index.postgres.store.indexes import IndexRow


class Postings:
    """The postings of an index, each read once."""

    def __init__(self, tx: Tx, index: IndexRow) -> None:
        self._tx, self._index = tx, index
        self._lengths: dict[int, int] = {}
        self._rows: dict[int, list[Row]] = {}

    def lengths(self, terms: Iterable[int]) -> dict[int, int]:
        """How many bytes the postings of each of these terms take; 0 for a term that no chunk has."""
        wanted = set(terms)
        if missing := wanted - self._lengths.keys():
            found = posting_rows.posting_bytes(self._tx, self._index, missing)
            self._lengths |= {term: found.get(term, 0) for term in missing}
        return {term: self._lengths[term] for term in wanted}

    def rows(self, terms: Iterable[int]) -> list[Row]:
        """Term, block and postings of each of these terms."""
        wanted = list(dict.fromkeys(terms))
        if missing := [term for term in wanted if term not in self._rows and self._lengths.get(term) != 0]:
            self._rows |= {term: [] for term in missing}
            for row in posting_rows.postings(self._tx, self._index, missing):
                self._rows[row[0]].append(row)
        return [row for term in wanted for row in self._rows.get(term, [])]
