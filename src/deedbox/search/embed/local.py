"""An installed model, run in sandboxes on this machine: one for people who wait, one for documents."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deedbox.kernel import limits
from deedbox.kernel.errors import TimedOut, Unavailable
from deedbox.kernel.sandbox import Call, SandboxFailed, SandboxKind
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search import recipe
from deedbox.search.embed.models import GRAPH, Model
from deedbox.search.upload import Chunk, Extraction

if TYPE_CHECKING:
    from deedbox.search.embed import Vectors

_ENGINE = "deedbox.search.embed.engine"


class LocalEmbedder:
    """Texts of people have a process of their own, which starts with `warm` or the first of them. That for documents
    starts with the first document, and yields the cores to everything else."""

    def __init__(self, folder: Path, model: Model, *, size: int, overlap: int) -> None:
        self._model = model
        self._size = size
        self._overlap = overlap
        self._urgent = Sandbox(_kind("embed", folder, model, nice=0, seconds=limits.EMBED_SECONDS))
        self._bulk = Sandbox(
            _kind("embed-bulk", folder, model, nice=limits.EMBED_NICE, seconds=limits.EMBED_BULK_SECONDS)
        )

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    @property
    def recipe(self) -> str:
        return recipe.named(self.name, self._model.fingerprint, self._size, self._overlap)

    async def warm(self) -> None:
        """Loads the model for queries, so that the first one does not wait for it."""
        await self._urgent.warm()

    async def split(self, extraction: Extraction) -> list[Chunk]:
        """The text as chunks of the model's own tokens."""
        from deedbox.search.chunk import cut

        headings = [offset for offset, _ in extraction.headings]
        found = await self._bulk.call(f"{_ENGINE}:split", extraction.text, headings, self._size, self._overlap)
        return await asyncio.to_thread(cut, extraction, found)

    async def embed(self, texts: Sequence[str], *, urgent: bool) -> "Vectors":
        """A unit vector for each text: those of a long one are the mean of its windows."""
        import numpy as np

        sandbox, step = (self._urgent, limits.EMBED_BATCH) if urgent else (self._bulk, limits.EMBED_BULK_BATCH)
        rows = bytearray()
        # A call after the other, so that others get their turn between them.
        for first in range(0, len(texts), step):
            rows += await self._called(sandbox, texts[first : first + step])
        return np.frombuffer(rows, "<f4").reshape(len(texts), self.dimensions)

    async def _called(self, sandbox: Sandbox, texts: Sequence[str]) -> bytes:
        # Half of a surrogate pair, as JSON can carry it, is no text that a tokenizer takes.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        try:
            rows: bytes = await sandbox.call(f"{_ENGINE}:embed", clean)
        except SandboxFailed as failed:
            if failed.reason == "deadline":
                raise TimedOut("Request took too long") from failed
            raise Unavailable("The embedding model failed and was started again; try once more") from failed
        return rows

    async def close(self) -> None:
        await asyncio.gather(self._urgent.close(), self._bulk.close())


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _kind(name: str, folder: Path, model: Model, *, nice: int, seconds: int) -> SandboxKind:
    place = (folder / model.name).resolve()
    threads = cores()
    # Loading holds the graph as a file, as it is parsed and as it is packed for the processor.
    graph_bytes = (place / GRAPH).stat().st_size
    return SandboxKind(
        name=name,
        preload=(_ENGINE,),
        setup=(Call(f"{_ENGINE}:load", (str(place), model.fingerprint, model.window, threads, nice)),),
        memory_bytes=limits.EMBED_MEMORY_BYTES + 4 * graph_bytes + threads * limits.EMBED_THREAD_BYTES,
        cpu_seconds=seconds * threads,
        seconds=seconds,
    )
