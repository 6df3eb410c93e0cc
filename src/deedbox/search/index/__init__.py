"""The interface of an index: derived from the database, one per workspace and recipe, rebuilt at any time.

This module is light; `local` and `postgres` import numpy, faiss and tantivy, so the server loads them when it first
needs an index."""

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import msgspec

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ErrorCode, ServiceError, Unavailable
from deedbox.search import limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

T = TypeVar("T")

FORMAT = 6
"""Of the files; part of a folder's name, so that two versions beside each other have an index each."""
ANALYSIS = 3
"""Grows, with the format of the files, when the same text gives other terms than before."""
Place: TypeAlias = tuple[str, str]
"""A workspace and a recipe, which have one index."""


class IndexUnusable(ServiceError):
    """The stored index is corrupt, or of another recipe, dimension or format: discard it and build it anew."""


class IndexWarming(Unavailable):
    """The index lacks so much that a question does not wait until it is built."""

    code = ErrorCode.INDEX_WARMING
    retry_after = limits.INDEX_RETRY_SECONDS

    def __init__(self, percent: int) -> None:
        super().__init__(f"The search index is being built: {percent} % are done. Try again in a moment.")


class ChunkEntry(msgspec.Struct, frozen=True):
    """One chunk, as an index keeps it."""

    number: int
    text: str
    vector: bytes
    """float32, little-endian, L2-normalised."""
    name: str = ""
    """Of the document, with its first chunk."""


class Sieve(msgspec.Struct, frozen=True):
    """Words that a chunk must have, all of them, and words of which it must have none."""

    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


ANYTHING = Sieve()


class IndexChange(msgspec.Struct, frozen=True):
    """All the entries of an upload, in place of those it had; none at all when it was deleted."""

    upload_id: str
    entries: list[ChunkEntry]
    number: int = 0
    """Its number in the log; 0 if it has none."""


class Hit(msgspec.Struct, frozen=True):
    upload_id: str
    number: int
    score: float
    """Cosine for the dense leg, BM25 for the words; higher is better."""
    cosine: float | None = None
    """Where the score is made of more than one."""


class Candidate(msgspec.Struct, frozen=True):
    """A chunk that is among the best by its cosine or by its words."""

    upload_id: str
    number: int
    cosine: float
    bm25: float | None
    """None when it is not among the best by its words."""


class Legs(Protocol):
    """The searches of an index."""

    def near(self, vector: "Vector", top: int, only: Collection[str] | None = None) -> list[Hit]:
        """The nearest chunks by cosine, best first, ties by upload id and number; `only` of these, none lost."""

    def words(self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING) -> list[Hit]:
        """The best chunks by BM25 that pass the sieve, best first, ties by upload id and number; `only` of these, none
        lost. `word*` stands for the words that begin so and are in most of these uploads."""

    def corrected(self, words: Collection[str], only: Collection[str] | None = None) -> dict[str, str]:
        """The words that were meant: for those that are in none of these uploads, in no inflection, the one of theirs
        that is most alike, then in most of them, then first by the alphabet; nothing where none is alike."""

    def candidates(
        self, vector: "Vector", query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> list[Candidate]:
        """The hits of `near`, which pass no sieve, and of `words` at one moment, each chunk once, with the exact cosine
        of all; in no order."""

    def by_words(
        self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> "Callable[[Vector], list[Candidate]]":
        """The candidates of a vector that is not known yet; the words may be looked up before it is."""


class Index(Legs, Protocol):
    """Synchronous and thread-safe: callers run it in a thread. Searches may run while changes are applied.

    Any number may have it open, and one of them writes it."""

    @property
    def identity(self) -> str:
        """By which all who have this index open know it; one that is begun anew has another, a new one none."""

    @property
    def writes(self) -> bool:
        """Whether this is the one that writes the index."""

    def claim(self) -> bool:
        """Whether this is the one that writes the index: from now on, if no other is. If another is, searches see
        what that one has written by now."""

    @property
    def watermark(self) -> int:
        """The number of the last change of the log that is durably in this index; 0 for an empty one."""

    @property
    def size(self) -> int:
        """The number of vectors that can be found."""

    @property
    def size_bytes(self) -> int: ...

    def look(self, tx: Tx) -> None:
        """Sees how far others have brought the index, where that stands in the database."""

    def apply(self, changes: Iterable[IndexChange], watermark: int, since: int | None = None) -> None:
        """Makes the changes visible to the next search, and durable together with the new watermark.

        `since` is the watermark that they follow: where another process has moved it meanwhile, nothing is done."""

    def search(
        self, query: str, prepare: "Callable[[Legs], Callable[[Vector | None], T]]"
    ) -> "Callable[[Vector | None], T]":
        """What `prepare` returns, which takes the query's vector: all that it searches for is read together.

        An index on this machine looks up the words at once, before the vector is known; one in a database looks up
        everything in one snapshot once it is."""

    def discard(self) -> None:
        """Leaves nothing of the index, and closes it; for the one that writes it."""

    def close(self) -> None: ...


class Indexes(Protocol):
    """Where the indexes of all workspaces are kept. Synchronous, as an index is: callers run it in a thread."""

    def open(self, place: Place, dimensions: int) -> Index:
        """The index of the place, empty if there is none; IndexUnusable when it has to be discarded first."""

    def watermark(self, place: Place, dimensions: int) -> int:
        """How far the stored index goes, without opening it; 0 when it must be rebuilt."""

    def discard(self, place: Place) -> None:
        """Removes an index that is not open here; one that another process writes stays."""

    def size_bytes(self, workspace_id: str) -> int:
        """The room that the workspace's indexes take."""

    def close(self) -> None: ...
