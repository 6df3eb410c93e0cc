"""Embedding documents: each is parsed, chunked and embedded, several at a time, with the progress noted on the job."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.jobs import LeaseLost, Work
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import SearchEngine, Serving
from deedbox.search.indexing.scans import Scans
from deedbox.search.library.library import TextCache
from deedbox.search.library.upload import Chunk, LibraryUpload

Phase: TypeAlias = Literal["", "parsing", "reading", "chunking", "embedding", "writing"]
Pages: TypeAlias = tuple[int, int]
"""How many scanned pages of a document are read, of how many."""
EmbeddedChunks: TypeAlias = Sequence[tuple[Chunk, bytes]]
"""Each chunk with its vector: float32, little-endian."""


class DocumentRun(ABC):
    """One job's run over many documents. Index runs and renewals differ in what they do with the chunks."""

    def __init__(self, engine: SearchEngine, texts: TextCache, work: Work, workspace_id: str) -> None:
        self._engine = engine
        self._db = engine.db
        self._texts = texts
        self._scans = Scans(engine.db, texts)
        self._work = work
        self._workspace_id = workspace_id
        self._done = self._total = 0
        self._reported = 0.0

    @abstractmethod
    async def _document(self, doc_id: str) -> None:
        """Does all that is to be done with one document."""

    @abstractmethod
    async def _serving(self) -> Serving:
        """The recipe and embedder whose index follows the run."""

    @abstractmethod
    def _note(self, doc_id: str, phase: Phase, pages: Pages | None) -> str:
        """The note of the job's progress while a document is in a phase."""

    async def _each(self, doc_ids: Sequence[str]) -> None:
        """Goes through the documents; the first failure that is no document's own ends the run, as that failure."""
        self._total = len(doc_ids)
        waiting = iter(doc_ids)
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(limits.INDEX_PARALLEL, len(doc_ids))):
                    workers.create_task(self._work_through(waiting))
        except* (LeaseLost, ServiceError) as errors:
            raise errors.exceptions[0] from None

    async def _work_through(self, waiting: Iterator[str]) -> None:
        for doc_id in waiting:
            await self._document(doc_id)
            self._done += 1
            if self._done % limits.INDEX_FOLLOW_DOCUMENTS == 0:
                await self._engine.follow(self._workspace_id, await self._serving())

    async def _embed(self, upload: LibraryUpload, serving: Serving) -> EmbeddedChunks | None:
        """The upload's chunks, none when it has no text; None when the recipe has chunks of its content already."""
        if await self._db.read(lambda tx: chunk_store.chunk_set(tx, upload, serving.recipe)) is not None:
            return None
        await self._report(upload.id, "parsing")
        extraction = await self._scans.read(
            upload,
            await self._texts.text(upload),
            lambda read, scanned: self._report(upload.id, "reading", (read, scanned)),
        )
        if not extraction.text.strip():
            return []
        await self._report(upload.id, "chunking")
        chunks = await serving.embedder.split(extraction)
        embedded: list[tuple[Chunk, bytes]] = []
        for start in range(0, len(chunks), limits.EMBED_BULK_BATCH):
            await self._report(upload.id, "embedding")
            batch = chunks[start : start + limits.EMBED_BULK_BATCH]
            texts = [chunk.text for chunk in batch]
            vectors = await serving.embedder.embed(texts, urgent=False, caller=self._workspace_id, role="passage")
            embedded += [(chunk, vector.tobytes()) for chunk, vector in zip(batch, vectors.astype("<f4"), strict=True)]
        return embedded

    async def _report(self, doc_id: str, phase: Phase, pages: Pages | None = None) -> None:
        # Each report is a write: now and then is enough to look at, and to notice that the job was cancelled.
        if stopwatch() - self._reported >= shared_limits.PROGRESS_SECONDS:
            await self._progress(self._note(doc_id, phase, pages))

    async def _progress(self, note: str) -> None:
        self._reported = stopwatch()
        await self._work.progress(self._done, self._total, note)
