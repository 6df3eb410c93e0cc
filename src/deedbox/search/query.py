"""A question, and the passages that answer it best."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.search import fusion, store
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import NOTHING_INDEXED, Answering, SearchEngine
from deedbox.search.index import Hit, Index, IndexUnusable
from deedbox.search.upload import Chunk, Upload

if TYPE_CHECKING:
    from deedbox.search.index import Vector

Mode: TypeAlias = Literal["hybrid", "semantic", "keyword"]


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
    asking = _Asking(engine, workspace_id, question)
    await asking.begin()
    # Saved while the index is searched: the answer waits for the commit, but seldom longer than for the search.
    counting = asyncio.create_task(_count(engine, workspace_id)) if counted else None
    try:
        return await asking.best()
    finally:
        if counting is not None:
            await counting


async def _count(engine: SearchEngine, workspace_id: str) -> None:
    # Read committed: many at once add to the one number in turn, instead of failing and trying again.
    await engine.db.write(lambda tx: store.count_query(tx, workspace_id, 1), isolation="read committed")


class _Asking:
    """One question on its way to its answer."""

    def __init__(self, engine: SearchEngine, workspace_id: str, question: Question) -> None:
        self._engine = engine
        self._workspace_id = workspace_id
        self._question = question
        self._vectors: dict[str, Vector] = {}

    async def begin(self) -> None:
        """Refuses the question if there is nothing to be asked, and makes its vector."""
        answering = await self._engine.answering(self._workspace_id)
        if (await self._engine.index(self._workspace_id, answering)).size == 0:
            raise BadRequest(NOTHING_INDEXED)
        await self._vector(answering)

    async def best(self) -> list[Passage]:
        for attempt in range(limits.QUERY_TRIES):
            found = await self._found()
            if found is not None and (found.complete or attempt == limits.QUERY_TRIES - 1):
                return await asyncio.to_thread(_highlighted, found.rows, self._question.text)
        raise Unavailable("The index is being made anew. Try again in a moment.")

    async def _vector(self, answering: Answering) -> "Vector | None":
        """The question as the model sees it whose vectors answer now: seldom another than at the last look."""
        if self._question.mode == "keyword":
            return None
        if answering.recipe not in self._vectors:
            vectors = await answering.embedder.embed([self._question.text], urgent=True)
            self._vectors[answering.recipe] = vectors[0]
        return self._vectors[answering.recipe]

    async def _found(self) -> "_Found | None":
        """What the index finds, with the rows it stands for; None when the index cannot be read."""
        place, question = self._workspace_id, self._question
        answering = await self._engine.answering(place)
        index = await self._engine.index(place, answering)
        vector, mark = await self._vector(answering), index.watermark
        only = await self._engine.db.read(lambda tx: _scope(tx, place, question))
        try:
            hits = await asyncio.to_thread(_hits, index, question, vector, only)
        except IndexUnusable:
            self._engine.shelf(place, answering).distrust()
            return None
        return await self._engine.db.read(lambda tx: _verified(tx, place, answering.recipe, hits, question.top_k, mark))


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
    if question.mode == "semantic":
        return index.near(vector, top, only)
    return fusion.fused(index.candidates(vector, question.text, top, only), top)


def _verified(tx: Tx, workspace_id: str, recipe: str, hits: Sequence[Hit], most: int, mark: int) -> "_Found":
    # In the snapshot that the rows are read from, a document must be as it was when the index saw it:
    # so neither deleted nor replaced text can be answered, and no score belongs to another text.
    rows: list[_Row] = []
    for hit in hits:
        current = chunk_store.unchanged_chunk(tx, workspace_id, recipe, hit.upload_id, hit.number, mark)
        if current is not None:
            rows.append((hit, *current))
        if len(rows) == most:
            break
    return _Found(rows, complete=len(rows) == min(most, len(hits)))


def _highlighted(found: Sequence[_Row], text: str) -> list[Passage]:
    from deedbox.search.index.analysis import highlights

    return [Passage(upload, chunk, hit.score, highlights(chunk.text, text)) for hit, upload, chunk in found]
