"""The chunks of documents with their vectors: parse, chunk, embed, several documents at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Literal, TypeAlias

from deedbox.kernel import limits
from deedbox.kernel.errors import DeedboxError
from deedbox.kernel.jobs import LeaseLost
from deedbox.search.embed import Embedder
from deedbox.search.text_cache import Reading
from deedbox.search.upload import Chunk, Upload

Phase: TypeAlias = Literal["", "parsing", "chunking", "embedding", "writing"]
Report: TypeAlias = Callable[[Phase], Awaitable[None]]
Made: TypeAlias = Sequence[tuple[Chunk, bytes]]


async def made(reading: Reading, embedder: Embedder, upload: Upload, report: Report) -> Made:
    """Every chunk with its vector (float32, little-endian); none when there is no text."""
    await report("parsing")
    extraction = await reading.text(upload)
    if not extraction.text.strip():
        return []
    await report("chunking")
    chunks = await embedder.split(extraction)
    found: list[tuple[Chunk, bytes]] = []
    for start in range(0, len(chunks), limits.EMBED_BULK_BATCH):
        await report("embedding")
        batch = chunks[start : start + limits.EMBED_BULK_BATCH]
        vectors = await embedder.embed([chunk.text for chunk in batch], urgent=False)
        found += [(chunk, vector.tobytes()) for chunk, vector in zip(batch, vectors.astype("<f4"), strict=True)]
    return found


async def several(doc_ids: Sequence[str], one: Callable[[str], Awaitable[None]]) -> None:
    """Does it for each document; the first failure ends it, as that failure."""
    waiting = iter(doc_ids)
    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(limits.INDEX_PARALLEL, len(doc_ids))):
                workers.create_task(_work_through(waiting, one))
    except* (LeaseLost, DeedboxError) as errors:
        raise errors.exceptions[0] from None


async def _work_through(waiting: Iterator[str], one: Callable[[str], Awaitable[None]]) -> None:
    for doc_id in waiting:
        await one(doc_id)
