"""A query and its best passages: the index proposes them, one ranking is made of words and meaning, the database
confirms them."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.kernel.traces import span
from deedbox.search import library, store
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import NOTHING_INDEXED, SearchEngine, Serving
from deedbox.search.index import Candidate, Hit, Index, IndexUnusable
from deedbox.search.reader import Reader
from deedbox.search.rerank import Reranker
from deedbox.search.upload import Chunk, Upload

if TYPE_CHECKING:
    from deedbox.search.index import Vector

Mode: TypeAlias = Literal["hybrid", "semantic", "keyword"]
DENSE_WEIGHT = 0.55
WORDS_WEIGHT = 0.45


class Question(msgspec.Struct, frozen=True):
    text: str
    top_k: int = limits.TOP_K_DEFAULT
    mode: Mode = "hybrid"
    doc_ids: frozenset[str] | None = None
    """Only these documents."""
    conditions: Mapping[str, Value] = {}
    """Only documents that meet these conditions; the names are those of `store.matching`."""
    caller: str = ""
    """Who asks, and waits for the turn of nobody but others."""
    patient: bool = False
    """Waits for the index however much it lacks: for a command that has to build it itself."""


class Passage(msgspec.Struct, frozen=True):
    """A chunk of a document, as it was at the moment of the answer."""

    upload: Upload
    chunk: Chunk
    score: float
    highlights: list[tuple[int, int]]
    signed: bool = False
    """Whether the document's bytes were sealed in this workspace."""
    reranked: bool | None = None
    """Whether a reranker gave it its place; None where none was to."""

    @property
    def id(self) -> str:
        return f"{self.upload.id}_chunk_{self.chunk.number}"


_Row: TypeAlias = tuple[Hit, Upload, Chunk]


class _Verified(msgspec.Struct, frozen=True):
    rows: list[_Row]
    signed: set[str]
    """The uploads among them that were sealed here."""
    complete: bool
    """No row is missing because its document has just changed."""
    reranked: bool | None = None


async def answer(engine: SearchEngine, reader: Reader, question: Question, *, counted: bool = True) -> list[Passage]:
    """The best passages, best first, each as it is in the database now; the query is counted durably, or not at all."""
    search, begun, workspace_id = _Search(engine, reader, question), stopwatch(), reader.workspace_id
    await search.begin()
    # Saved while the index is searched: the answer waits for the commit, but seldom longer than for the search.
    counting = asyncio.create_task(_count(engine, workspace_id)) if counted else None
    try:
        found = await search.best()
        engine.times.add(workspace_id, stopwatch() - begun)
        return found
    finally:
        if counting is not None:
            await counting


async def _count(engine: SearchEngine, workspace_id: str) -> None:
    # Read committed: many at once add to the one number in turn, instead of failing and trying again.
    await engine.db.write(lambda tx: store.count_query(tx, workspace_id, 1), isolation="read committed")


class _Search:
    """One query on its way to its answer."""

    def __init__(self, engine: SearchEngine, reader: Reader, question: Question) -> None:
        self._engine = engine
        self._reader = reader
        self._workspace_id = reader.workspace_id
        self._question = question
        self._vectors: dict[str, Vector] = {}

    async def begin(self) -> None:
        """Refuses the query if nothing is indexed or a document that it names does not exist, and embeds it."""
        serving = await self._engine.serving(self._workspace_id)
        index = await self._engine.index(self._workspace_id, serving, patient=self._question.patient)
        if index.size == 0:
            raise BadRequest(NOTHING_INDEXED)
        if (wanted := self._question.doc_ids) is not None:
            await self._engine.db.read(lambda tx: library.need_all(tx, self._reader, wanted))
        await self._vector(serving)

    async def best(self) -> list[Passage]:
        for attempt in range(limits.QUERY_TRIES):
            found = await self._look_up()
            if found is not None and (found.complete or attempt == limits.QUERY_TRIES - 1):
                found = await self._reranked(found)
                with span("highlights"):
                    return await asyncio.to_thread(_highlighted, found, self._question.text)
        raise Unavailable("The index is being made anew. Try again in a moment.")

    async def _vector(self, serving: Serving) -> "Vector | None":
        """The query as the serving model sees it, embedded once; None where only words count."""
        if self._question.mode == "keyword":
            return None
        if serving.recipe not in self._vectors:
            with span("embed the query"):
                text, caller = self._question.text, self._question.caller
                vectors = await serving.embedder.embed([text], urgent=True, caller=caller, role="query")
            self._vectors[serving.recipe] = vectors[0]
        return self._vectors[serving.recipe]

    async def _look_up(self) -> _Verified | None:
        """The hits of the index with their rows; None when the index cannot be read."""
        place, reader, question = self._workspace_id, self._reader, self._question
        serving = await self._engine.serving(place)
        index = await self._engine.index(place, serving, patient=question.patient)
        vector, mark = await self._vector(serving), index.watermark
        only = await self._engine.db.read(lambda tx: _scope(tx, reader, question))
        try:
            hits = await asyncio.to_thread(_hits, index, question, vector, only)
        except IndexUnusable:
            self._engine.workspace_index(place, serving).distrust()
            return None
        most = max(question.top_k, limits.RERANK_PASSAGES) if self._reranker else question.top_k
        return await self._engine.db.read(lambda tx: _verified(tx, reader, serving.recipe, hits, most, mark))

    @property
    def _reranker(self) -> Reranker | None:
        """The one that has the last word; none where the question says what decides."""
        return self._engine.reranker if self._question.mode == "hybrid" else None

    async def _reranked(self, found: _Verified) -> _Verified:
        """The rows in the reranker's order; as they are, and so marked, if it gives none."""
        if self._reranker is None:
            return found
        scores, most = None, self._question.top_k
        if len(found.rows) <= limits.RERANK_PASSAGES:
            with span("rerank"):
                scores = await self._reranker.scores(self._question.text, [chunk.text for _, _, chunk in found.rows])
        rows = found.rows if scores is None else _by_score(found.rows, scores)
        return msgspec.structs.replace(found, rows=rows[:most], reranked=scores is not None)


def _scope(tx: Tx, reader: Reader, question: Question) -> frozenset[str] | None:
    if not question.conditions and not store.hides(tx, reader):
        return question.doc_ids
    found = frozenset(store.matching(tx, reader, question.conditions))
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
    return fused(index.candidates(vector, question.text, top, only), top)


def fused(candidates: Sequence[Candidate], asked: int = limits.LEG_CANDIDATES) -> list[Hit]:
    """One ranking of two, best first: each leg was asked for so many candidates.

    BM25 and cosine have no common scale, so a score counts by its distance from the mean, in standard deviations."""
    unlisted = _unlisted([each.bm25 for each in candidates if each.bm25 is not None], asked)
    near = _z_scores([each.cosine for each in candidates])
    said = _z_scores([unlisted if each.bm25 is None else each.bm25 for each in candidates])
    # By the negative, so that what scores the same stands in the order of upload and chunk.
    ranked = sorted(
        (-DENSE_WEIGHT * cosine - WORDS_WEIGHT * bm25, each.upload_id, each.number)
        for each, cosine, bm25 in zip(candidates, near, said, strict=True)
    )
    return [Hit(upload_id, number, -score) for score, upload_id, number in ranked]


def _unlisted(listed: Sequence[float], asked: int) -> float:
    """The BM25 score of a chunk that is not among the best by its words."""
    # If the list is whole, it has none of the words. If not, its score lies anywhere between that and the least.
    return min(listed) / 2 if len(listed) >= asked else 0.0


def _z_scores(scores: Sequence[float]) -> list[float]:
    """How many standard deviations each score lies above the mean; 0 where all are the same."""
    if not scores:
        return []
    # Exact sums: they do not depend on the order in which the chunks came.
    mean = math.fsum(scores) / len(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    # A spread that is only rounding would blow up differences that mean nothing.
    if spread <= 1e-9 * max(1.0, abs(mean)):
        return [0.0] * len(scores)
    return [(score - mean) / spread for score in scores]


def _verified(tx: Tx, reader: Reader, recipe: str, hits: Sequence[Hit], most: int, mark: int) -> _Verified:
    # In the snapshot that the rows are read from, a document must be as it was when the index saw it:
    # so neither deleted nor replaced text can be answered, and no score belongs to another text.
    rows: list[_Row] = []
    for hit in hits:
        current = chunk_store.unchanged_chunk(tx, reader.workspace_id, recipe, hit.upload_id, hit.number, mark)
        # A document may have come in since it was asked whether there are any.
        if current is not None and reader.sees(current[0]):
            rows.append((hit, *current))
        if len(rows) == most:
            break
    signed = store.sealed(tx, reader.workspace_id, {upload.id for _, upload, _ in rows})
    return _Verified(rows, signed, complete=len(rows) == min(most, len(hits)))


def _by_score(rows: Sequence[_Row], scores: Sequence[float]) -> list[_Row]:
    placed = [
        (msgspec.structs.replace(hit, score=score), upload, chunk)
        for (hit, upload, chunk), score in zip(rows, scores, strict=True)
    ]
    return sorted(placed, key=lambda row: (-row[0].score, row[0].upload_id, row[0].number))


def _highlighted(found: _Verified, text: str) -> list[Passage]:
    from deedbox.search.index.analysis import highlights

    return [
        Passage(
            upload,
            chunk,
            hit.score,
            highlights(chunk.text, text),
            signed=upload.id in found.signed,
            reranked=found.reranked,
        )
        for hit, upload, chunk in found.rows
    ]
