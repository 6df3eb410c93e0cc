"""An installed model, run in sandboxes on this machine: one for people who wait, one for documents."""

import asyncio
import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deedbox.kernel import limits
from deedbox.kernel.errors import TimedOut, Unavailable
from deedbox.kernel.sandbox import Call, SandboxFailed, SandboxKind
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search.embed import recipe_name
from deedbox.search.embed.models import GRAPH, Model
from deedbox.search.upload import Chunk, Extraction

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

        self._batches = _Batches(self._bulk)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    @property
    def recipe(self) -> str:
        return recipe_name(self.name, self._model.fingerprint, self._size, self._overlap)

    async def warm(self) -> None:
        """Loads the model for queries, so that the first one does not wait for it."""
        await self._urgent.warm()

    async def split(self, extraction: Extraction) -> list[Chunk]:
        """The text as chunks of the model's own tokens."""
        from deedbox.search.chunk import cut

        headings = [offset for offset, _ in extraction.headings]
        found = await self._bulk.call(f"{_INFERENCE}:split", extraction.text, headings, self._size, self._overlap)
        return await asyncio.to_thread(cut, extraction, found)

    async def embed(self, texts: Sequence[str], *, urgent: bool) -> "Vectors":
        """A unit vector for each text: those of a long one are the mean of its windows."""
        import numpy as np

        if urgent:
            # A call after the other, so that others get their turn between them.
            batches = [texts[first : first + limits.EMBED_BATCH] for first in range(0, len(texts), limits.EMBED_BATCH)]
            rows = b"".join([await _called(self._urgent, batch) for batch in batches])
        else:
            rows = await self._batches.rows(texts)
        return np.frombuffer(rows, "<f4").reshape(len(texts), self.dimensions)

    async def close(self) -> None:
        await asyncio.gather(self._urgent.close(), self._bulk.close())


class _Batches:
    """Embeds the texts of several small documents in one call, so that it keeps every core busy."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._waiting: deque[tuple[Sequence[str], asyncio.Future[bytes]]] = deque()
        self._working: asyncio.Task[None] | None = None

    async def rows(self, texts: Sequence[str]) -> bytes:
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append((texts, answer))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        while batch := self._next():
            texts = [text for some, _ in batch for text in some]
            try:
                rows = await self._in_calls(texts)
            except Exception as error:  # whatever it is, those who wait must hear of it
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            _hand_out(rows, len(rows) // max(1, len(texts)), batch)

    def _next(self) -> list[tuple[Sequence[str], asyncio.Future[bytes]]]:
        """The texts of those who still wait: as many as one call takes, or those of one who has more."""
        batch: list[tuple[Sequence[str], asyncio.Future[bytes]]] = []
        taken = 0
        while self._waiting and (not batch or taken + len(self._waiting[0][0]) <= limits.EMBED_BULK_BATCH):
            texts, answer = self._waiting.popleft()
            if not answer.done():
                batch.append((texts, answer))
                taken += len(texts)
        return batch

    async def _in_calls(self, texts: Sequence[str]) -> bytes:
        step = limits.EMBED_BULK_BATCH
        batches = [texts[first : first + step] for first in range(0, len(texts), step)]
        return b"".join([await _called(self._sandbox, batch) for batch in batches])


def _hand_out(rows: bytes, width: int, batch: Sequence[tuple[Sequence[str], "asyncio.Future[bytes]"]]) -> None:
    begin = 0
    for texts, answer in batch:
        end = begin + len(texts) * width
        if not answer.done():
            answer.set_result(rows[begin:end])
        begin = end


async def _called(sandbox: Sandbox, texts: Sequence[str]) -> bytes:
    # Half of a surrogate pair, as JSON can carry it, is no text that a tokenizer takes.
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    try:
        rows: bytes = await sandbox.call(f"{_INFERENCE}:embed", clean)
    except SandboxFailed as failed:
        if failed.reason == "deadline":
            raise TimedOut("Request took too long") from failed
        raise Unavailable("The embedding model failed and was started again; try once more") from failed
    return rows


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
        setup=(Call(f"{_INFERENCE}:load", (str(place), model.fingerprint, model.window, threads, nice)),),
        memory_bytes=limits.EMBED_MEMORY_BYTES + 4 * graph_bytes + threads * limits.EMBED_THREAD_BYTES,
        cpu_seconds=seconds * threads,
        seconds=seconds,
        # It reads no files, only text, and a query should not wait for the model to be loaded again.
        calls=limits.EMBED_CALLS,
        idle_seconds=limits.SANDBOX_IDLE_SECONDS if nice else None,
    )
