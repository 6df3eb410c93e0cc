"""An installed model, run in sandboxes on this machine: one for people who wait, one for documents."""

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import TimedOut, Unavailable
from deedbox.kernel.sandbox import SandboxCall, SandboxFailed, SandboxKind
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search import limits
from deedbox.search.embed import Role, recipe_name
from deedbox.search.embed.models import GRAPH, Model
from deedbox.search.embed.turns import EmbeddingTurns, Read, Share, WindowPart
from deedbox.search.library.upload import Chunk, Extraction

if TYPE_CHECKING:
    from deedbox.search.embed import Vectors

_INFERENCE = "deedbox.search.embed.inference"


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
        self._urgent_turns = EmbeddingTurns(partial(_called, self._urgent), _urgent_share)
        self._bulk_turns = EmbeddingTurns(partial(_called, self._bulk), _bulk_share)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    @property
    def recipe(self) -> str:
        model = self._model
        return recipe_name(model.name, model.fingerprint, self._size, self._overlap, model.prefixes)

    async def warm(self) -> None:
        """Loads the model for queries, so that the first one does not wait for it."""
        await self._urgent.warm()

    async def split(self, extraction: Extraction) -> list[Chunk]:
        """The text as chunks of the model's own tokens."""
        from deedbox.search.indexing.chunk import cut

        headings = [offset for offset, _ in extraction.headings]
        wanted = (self._size, self._overlap, self._model.prefixes.passage)
        found = await self._bulk.call(f"{_INFERENCE}:split", extraction.text, headings, *wanted)
        return await asyncio.to_thread(cut, extraction, found)

    async def embed(
        self, texts: Sequence[str], *, urgent: bool, caller: str = "", role: Role | None = None
    ) -> "Vectors":
        """A unit vector for each text: that of a long one is the mean of its windows."""
        import numpy as np

        turns = self._urgent_turns if urgent else self._bulk_turns
        before = self._model.prefixes.before(role)
        rows = await turns.vectors([before + text for text in texts], caller)
        return np.stack(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    async def close(self) -> None:
        await asyncio.gather(self._urgent.close(), self._bulk.close())


async def _called(sandbox: Sandbox, parts: Sequence[WindowPart]) -> list[Read]:
    # Half of a surrogate pair, as JSON can carry it, is no text that a tokenizer takes.
    clean = [part._replace(text=part.text.encode("utf-8", "replace").decode()) for part in parts]
    try:
        read: list[Read] = await sandbox.call(f"{_INFERENCE}:embed", clean)
    except SandboxFailed as failed:
        if failed.reason == "deadline":
            raise TimedOut("Request took too long") from failed
        raise Unavailable("The embedding model failed and was started again; try once more") from failed
    return read


def _urgent_share() -> Share:
    # Little at a time, so that the next caller's turn comes soon, but enough for every core.
    return Share(limits.EMBED_BATCH, limits.EMBED_WINDOWS_PER_CORE * cores())


def _bulk_share() -> Share:
    return Share(limits.EMBED_BULK_BATCH, limits.EMBED_BULK_BATCH)


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
        preload=(_INFERENCE,),
        setup=(SandboxCall(f"{_INFERENCE}:load", (str(place), model.fingerprint, model.window, threads, nice)),),
        memory_bytes=limits.EMBED_MEMORY_BYTES + 4 * graph_bytes + threads * limits.EMBED_THREAD_BYTES,
        cpu_seconds=seconds * threads,
        seconds=seconds,
        # It reads no files, only text, and a query should not wait for the model to be loaded again.
        calls=limits.EMBED_CALLS,
        idle_seconds=shared_limits.SANDBOX_IDLE_SECONDS if nice else None,
    )
