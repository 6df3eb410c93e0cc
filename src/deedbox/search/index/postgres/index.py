"""One index in PostgreSQL: its searches, and its builds."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Unavailable
from deedbox.search import limits
from deedbox.search.index import ANYTHING, Candidate, Hit, IndexChange, IndexUnusable, Legs, Place, Sieve
from deedbox.search.index.bits import Floats
from deedbox.search.index.postgres.graphs import Graphs
from deedbox.search.index.postgres.snapshot import PostgresSnapshot
from deedbox.search.index.postgres.store import indexes as index_rows
from deedbox.search.index.postgres.store.indexes import IndexRow
from deedbox.search.index.postgres.write import write

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

    def apply(self, changes: Iterable[IndexChange], watermark: int, since: int | None = None) -> None:
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
        return self._in_snapshot(lambda legs: legs.near(vector, top, only))

    def words(self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING) -> list[Hit]:
        """The best chunks by BM25 that pass the sieve, best first, ties by upload id and number; `only` of these."""
        return self._in_snapshot(lambda legs: legs.words(query, top, only, sieve))

    def corrected(self, words: Collection[str], only: Collection[str] | None = None) -> dict[str, str]:
        """The words that were meant, of those that are in none of these uploads."""
        return self._in_snapshot(lambda legs: legs.corrected(words, only))

    def candidates(
        self, vector: Floats, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> list[Candidate]:
        """The hits of `near` and `words` at one moment, each chunk once, with the exact cosine of all; in no order."""
        return self._in_snapshot(lambda legs: legs.candidates(vector, query, top, only, sieve))

    def by_words(
        self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> Callable[[Floats], list[Candidate]]:
        """The candidates of a vector that is not known yet; both legs then, in one snapshot."""
        return lambda vector: self.candidates(vector, query, top, only, sieve)

    def search(
        self, query: str, prepare: Callable[[Legs], Callable[[Floats | None], T]]
    ) -> Callable[[Floats | None], T]:
        """What `prepare` returns: it runs once the vector is known, and reads everything in one snapshot."""
        return lambda vector: self._in_snapshot(lambda legs: prepare(legs)(vector), query)

    def close(self) -> None:
        """Nothing of it is open."""

    def _in_snapshot(self, search: Callable[[Legs], T], query: str = "") -> T:
        mark = self.watermark

        def run(tx: Tx) -> T:
            index = index_rows.find(tx, self._place)
            if (index.watermark if index else 0) < mark:
                raise Unavailable("The index is being rebuilt. Try again in a moment.")
            return search(PostgresSnapshot(tx, index or index_rows.empty(self._dimensions), query))

        return self._db.read_here(run)

    def _written(self, batch: list[IndexChange], since: int, watermark: int) -> bool:
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


def _batches(changes: Iterable[IndexChange]) -> Iterator[tuple[list[IndexChange], bool]]:
    """The changes in batches of a bounded number of chunks, at least one, and whether another follows."""
    batch: list[IndexChange] = []
    size = 0
    for change in changes:
        if batch and size + len(change.entries) > limits.INDEX_WRITE_CHUNKS:
            yield batch, True
            batch, size = [], 0
        batch.append(change)
        size += max(1, len(change.entries))
    yield batch, False
