"""The interface of an embedding model: it splits text into chunks by its own tokenizer, and makes vectors of text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from deedbox.search.upload import Chunk, Extraction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """What `/info` shows as `embedding_model`."""

    @property
    def dimensions(self) -> int: ...

    @property
    def recipe(self) -> str:
        """Names the model, the chunker and their sizes: chunks of another recipe are stale."""

    async def warm(self) -> None:
        """Gets ready, so that the first query need not wait."""

    async def split(self, extraction: Extraction) -> list[Chunk]:
        """The text as chunks within the model's window: nothing lost, offsets exact."""

    async def embed(self, texts: Sequence[str], *, urgent: bool) -> "Vectors":
        """One L2-normalised float32 row for each text, always the same for the same text; urgent ones do not wait
        behind a document that is being indexed."""

    async def close(self) -> None: ...
