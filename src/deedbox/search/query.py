"""A question, and the passages that answer it best."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.search import fusion, store
from deedbox.search.engine import SearchEngine
from deedbox.search.index import Hit, Index, IndexUnusable
from deedbox.search.upload import Chunk, Upload

if TYPE_CHECKING:
    from deedbox.search.index import Vector

Mode: TypeAlias = Literal["hybrid", "semantic", "keyword"]
NOTHING_INDEXED = "No documents indexed. Call /documents/index first."


class Question(msgspec.Struct, frozen=True):
    text: str
    top_k: int = limits.TOP_K_DEFAULT
    mode: Mode = "hybrid"
    doc_ids: frozenset[str] | None = None
    """Only these documents."""
    conditions: Mapping[str, Value] = {}
    """Only documents that are so; the names are those of `store.matching`."""


class Passage(msgspec.Struct, frozen=True):
    """A chunk of a document, as it was at the moment of the answer."""

    upload: Upload
    chunk: Chunk
    score: float
    highlights: list[tuple[int, int]]

    @property
    def id(self) -> str:
        return f"{self.upload.id}_chunk_{self.chunk.number}"


_Row: TypeAlias = tuple[Hit, Upload, Chunk]


class _Found(msgspec.Struct, frozen=True):
    rows: list[_Row]
    complete: bool
    """Whether no document changed so that there are fewer rows than there should be."""


async def answer(engine: SearchEngine, workspace_id: str, question: Question, *, counted: bool = True) -> list[Passage]:
    """The passages that answer best, best first, each as it is in the database now; counted durably, or not at all."""
    embedder = engine.need_embedder()
    index = await engine.index(workspace_id)
    if index.size == 0:
        raise BadRequest(NOTHING_INDEXED)
    vector = None
    if question.mode != "keyword":
        vector = (await embedder.embed([question.text], urgent=True))[0]
    # Saved while the index is searched: the answer waits for the commit, but seldom longer than for the search.
    counting = asyncio.create_task(_count(engine, workspace_id)) if counted else None
    try:
        return await _best(engine, workspace_id, question, vector)
    finally:
        if counting is not None:
            await counting


async def _count(engine: SearchEngine, workspace_id: str) -> None:
    # Read committed: many at once add to the one number in turn, instead of failing and trying again.
    await engine.db.write(lambda tx: store.count_query(tx, workspace_id, 1), isolation="read committed")


async def _best(engine: SearchEngine, workspace_id: str, question: Question, vector: "Vector | None") -> list[Passage]:
    for attempt in range(limits.QUERY_TRIES):
        found = await _found(engine, workspace_id, question, vector)
        if found is not None and (found.complete or attempt == limits.QUERY_TRIES - 1):
            return await asyncio.to_thread(_highlighted, found.rows, question.text)
    raise Unavailable("The index is being made anew. Try again in a moment.")


async def _found(
    engine: SearchEngine, workspace_id: str, question: Question, vector: "Vector | None"
) -> "_Found | None":
    """What the index finds, with the rows it stands for; None when the index cannot be read."""
    index = await engine.index(workspace_id)
    mark = index.watermark
    only = await engine.db.read(lambda tx: _scope(tx, workspace_id, question))
    try:
        hits = await asyncio.to_thread(_hits, index, question, vector, only)
    except IndexUnusable:
        engine.shelf(workspace_id).distrust()
        return None
    return await engine.db.read(lambda tx: _verified(tx, workspace_id, hits, question.top_k, mark))


def _scope(tx: Tx, workspace_id: str, question: Question) -> frozenset[str] | None:
    if not question.conditions:
        return question.doc_ids
    found = frozenset(store.matching(tx, workspace_id, question.conditions))
    return found if question.doc_ids is None else found & question.doc_ids


def _hits(index: Index, question: Question, vector: "Vector | None", only: frozenset[str] | None) -> list[Hit]:
    """Best first, a few more than were asked for."""
    if only is not None and not only:
        return []
    top = max(limits.LEG_CANDIDATES, question.top_k + limits.QUERY_SPARE_HITS)
    if vector is None:
        return index.words(question.text, top, only)
    dense = index.near(vector, top, only)
    return dense if question.mode == "semantic" else fusion.fused(dense, index.words(question.text, top, only), top)


def _verified(tx: Tx, workspace_id: str, hits: Sequence[Hit], most: int, mark: int) -> "_Found":
    # In the snapshot that the rows are read from, a document must be as it was when the index saw it:
    # so neither deleted nor replaced text can be answered, and no score belongs to another text.
    rows: list[_Row] = []
    for hit in hits:
        current = store.unchanged_chunk(tx, workspace_id, hit.upload_id, hit.number, mark)
        if current is not None:
            rows.append((hit, *current))
        if len(rows) == most:
            break
    return _Found(rows, complete=len(rows) == min(most, len(hits)))


def _highlighted(found: Sequence[_Row], text: str) -> list[Passage]:
    from deedbox.search.index.analysis import highlights

    return [Passage(upload, chunk, hit.score, highlights(chunk.text, text)) for hit, upload, chunk in found]
