"""The service's name and model, and how much a workspace holds."""

from typing import Literal

import msgspec
from litestar import get

from deedbox import VERSION
from deedbox.search.library import library
from deedbox.web.http import context
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest

RANKING = "hybrid-bm25-dense-v1"
"""The engine that ranks: another name when the same index and query may be ranked otherwise."""
NO_MODEL = "none"


class Info(msgspec.Struct, frozen=True):
    name: Literal["deedbox"]
    version: str
    """The version of the server."""
    embedding_model: str
    """`none` until a model is installed."""
    embedding_dimensions: int
    """Components of a vector; 0 until a model is installed."""
    model: str
    """The engine that ranks."""
    chunk_size: int
    """In tokens of the embedding model."""
    chunk_overlap: int
    """In tokens of the embedding model."""


class StatsRecord(msgspec.Struct, frozen=True):
    documents: int
    """Documents of the workspace that are there for the key."""
    chunks: int
    """Chunks of those that are indexed."""
    queries: int
    """Queries that were answered so far."""
    storage_bytes: int
    """Bytes of the files, and of the index if all of it is there for the key."""
    index_size: int
    """Vectors that answer queries."""


@get("/info", opt=requires("search:read"), summary="What the service is", tags=["search"])
async def info(request: AnyRequest) -> Info:
    deedbox = context.of(request).deedbox
    embedder = deedbox.search.embedders.current
    return Info(
        name="deedbox",
        version=VERSION,
        embedding_model=embedder.name if embedder else NO_MODEL,
        embedding_dimensions=embedder.dimensions if embedder else 0,
        model=RANKING,
        chunk_size=deedbox.settings.chunk_size,
        chunk_overlap=deedbox.settings.chunk_overlap,
    )


@get("/stats", opt=requires("search:read"), summary="How much the workspace holds", tags=["search"])
async def stats(request: AnyRequest) -> StatsRecord:
    here = context.of(request)
    reader = here.reader
    counted = await here.deedbox.db.read_aside(lambda tx: library.stats(tx, reader))
    # What an index takes up is not told of a part of it.
    index_bytes = await here.deedbox.search.index_bytes(reader.workspace_id) if counted.whole else 0
    return StatsRecord(
        documents=counted.documents,
        chunks=counted.chunks,
        queries=counted.queries,
        storage_bytes=counted.stored_bytes + index_bytes,
        index_size=counted.chunks,
    )


ROUTES = [info, stats]
