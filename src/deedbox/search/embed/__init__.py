"""An embedding model splits text into chunks by its own tokenizer, and makes vectors of text.

A recipe names how chunks and their vectors are made: chunks of another recipe are stale."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from deedbox.search.library.upload import Chunk, Extraction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


CHUNKER = 1
"""Grows when the same text is cut otherwise than before."""


Role: TypeAlias = Literal["query", "passage"]


class Prefixes(msgspec.Struct, frozen=True):
    """What stands before every question and every passage that a model reads, where it was trained so."""

    query: str = ""
    passage: str = ""

    def before(self, role: Role | None) -> str:
        return {"query": self.query, "passage": self.passage, None: ""}[role]


NO_PREFIXES = Prefixes()


def recipe_name(model: str, fingerprint: str, size: int, overlap: int, prefixes: Prefixes = NO_PREFIXES) -> str:
    if prefixes != NO_PREFIXES:
        said = msgspec.json.encode((fingerprint, prefixes))
        fingerprint = hashlib.sha256(said).hexdigest()
    return f"{model}@{fingerprint[:16]} chunks:{CHUNKER}/{size}/{overlap}"


def vectors_of(recipe: str) -> str:
    """The model's part of a recipe: vectors with the same one can be compared, however the text was cut."""
    return recipe.partition(" chunks:")[0]


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """The `embedding_model` of `/info`."""

    @property
    def dimensions(self) -> int: ...

    @property
    def recipe(self) -> str:
        """The name of the model, the chunker and their sizes."""

    async def warm(self) -> None:
        """Gets ready, so that the first query need not wait."""

    async def split(self, extraction: Extraction) -> list[Chunk]:
        """The text as chunks within the model's window: nothing lost, offsets exact."""

    async def embed(
        self, texts: Sequence[str], *, urgent: bool, caller: str = "", role: Role | None = None
    ) -> "Vectors":
        """One L2-normalised float32 row for each text, always the same for the same text in the same role; one without
        a role is read as it is. Urgent ones do not wait behind a document that is being indexed, nor a caller's behind
        all those of another."""

    async def close(self) -> None: ...
