"""A query and its best passages: the index proposes them, one ranking is made of words and meaning, the database
confirms them."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.kernel.traces import span
from deedbox.search import conditions, limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.chunks.store import AnsweringChunk
from deedbox.search.conditions import Condition
from deedbox.search.engine import NOTHING_INDEXED, Current, SearchEngine, Serving
from deedbox.search.index import Candidate, Hit, IndexUnusable, Legs
from deedbox.search.indexing.entries import name_of
from deedbox.search.library import library, store
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.upload import Chunk, LibraryUpload
from deedbox.search.ocr import Box
from deedbox.search.ocr import store as pages_store
from deedbox.search.query import facets, query_syntax
from deedbox.search.query.facets import Count, Facets
from deedbox.search.query.fusion import DENSE_WEIGHT, WORDS_WEIGHT, fuse
from deedbox.search.query.query_syntax import Wording
from deedbox.search.query.relevance import relevance
from deedbox.search.query.rerank import Reranker

if TYPE_CHECKING:
    from deedbox.search.index import Vector

T = TypeVar("T")
Mode: TypeAlias = Literal["hybrid", "semantic", "keyword"]


class Question(msgspec.Struct, frozen=True):
    text: str
    top_k: int = shared_limits.TOP_K_DEFAULT
    mode: Mode = "hybrid"
    doc_ids: frozenset[str] | None = None
    """Only these documents."""
    condition: Condition | None = None
    """Only documents that meet it."""
    offset: int = 0
    """So many of the best are passed over."""
    by_document: bool = False
    """The best passage of each document only."""
    min_relevance: float = 0.0
    """Only passages that are at least so relevant."""
    caller: str = ""
    """Who asks, and waits for the turn of nobody but others."""
    patient: bool = False
    """Waits for the index however much it lacks: for a command that has to build it itself."""


class Passage(msgspec.Struct, frozen=True):
    """A chunk of a document, as it was at the moment of the answer."""

    upload: LibraryUpload
    chunk: Chunk
    score: float
    relevance: float
    """From 0 to 1, whatever else was found."""
    highlights: list[tuple[int, int]]
    signed: bool = False
    """Whether the document's bytes were sealed in this workspace."""
    boxes: list[Box] = []
    """Where the highlights stand on pages that were read by OCR."""

    @property
    def id(self) -> str:
        return f"{self.upload.id}_chunk_{self.chunk.number}"


class Answered(msgspec.Struct, frozen=True):
    """An answer, and the state of the index that it comes from."""

    passages: list[Passage]
    recipe: str
    watermark: int
    reranked: bool | None
    """Whether a reranker gave them their order; None where none was to."""
    corrected: dict[str, str] = {}
    """Words of the question that occur nowhere, and those that were searched for instead; and so with phrases, in their
    quotes, that no passage has."""
    facets: dict[str, list[Count]] | None = None
    """The counts, if the caller asked for them."""


_Row: TypeAlias = tuple[Hit, LibraryUpload, Chunk]


class _Verified(msgspec.Struct, frozen=True):
    recipe: str
    watermark: int
    rows: list[_Row]
    signed: set[str]
    """The uploads among them that were sealed here."""
    complete: bool
    """No row is missing because its document has just changed."""
    reranked: bool | None = None
    corrected: dict[str, str] = {}
    facets: dict[str, list[Count]] | None = None
    to_count: list[_Row] = []
    """The hits whose documents are still to be counted, because their texts decide which of them count."""


class _Scope(NamedTuple):
    """Which uploads may answer, and which the reader sees; None for all."""

    only: frozenset[str] | None
    seen: frozenset[str] | None
    unknown: frozenset[str] = frozenset()
    """The documents that the question names and that do not exist for the reader."""


class _Hits(NamedTuple):
    """What the index finds at one moment."""

    best: list[Hit]
    """Best first, a few more than were asked for."""
    all: list[Hit]
    """Every hit, in no order, if their documents are to be counted."""
    corrected: dict[str, str]


class _Begun(NamedTuple):
    """A search that has looked up the words, if that is possible before the vector is known."""

    serving: Serving
    mark: int
    """A change that the index has, and that was durable when the scope was read."""
    finish: "Callable[[Vector | None], _Hits]"
    vector: "Vector | None"


async def answer(
    engine: SearchEngine, reader: SearchReader, question: Question, *, counted: bool = True
) -> list[Passage]:
    """The best passages, best first, each as it is in the database now; the query is counted durably, or not at all."""
    return (await answer_with_details(engine, reader, question, counted=counted)).passages


async def answer_with_details(
    engine: SearchEngine, reader: SearchReader, question: Question, *, counted: bool = True, count: Facets | None = None
) -> Answered:
    """The same, with what a receipt tells of the index, and with the facets to count."""
    search, begun, workspace_id = _Search(engine, reader, question, count), stopwatch(), reader.workspace_id
    await search.begin()
    # Saved while the question is embedded and searched for: the answer seldom waits longer for the commit.
    counting = asyncio.create_task(_count(engine, workspace_id, 1)) if counted else None
    try:
        found = await search.best()
        engine.times.add(workspace_id, stopwatch() - begun)
        return found
    except Exception:
        if counting is not None:
            await counting
            await _count(engine, workspace_id, -1)
        raise
    finally:
        if counting is not None:
            await counting


async def _count(engine: SearchEngine, workspace_id: str, queries: int) -> None:
    # Read committed: many at once add to the one number in turn, instead of failing and trying again.
    await engine.db.write(lambda tx: store.count_query(tx, workspace_id, queries), isolation="read committed")


class _Search:
    """One query on its way to its answer."""

    def __init__(self, engine: SearchEngine, reader: SearchReader, question: Question, count: Facets | None) -> None:
        self._engine = engine
        self._reader = reader
        self._workspace_id = reader.workspace_id
        self._question = question
        self._count = count
        self._wording = query_syntax.read(question.text)
        self._first: Current[_Scope] | None = None

    async def begin(self) -> None:
        """Refuses the query if nothing is indexed or a document that it names does not exist."""
        current = await self._current()
        if current.index.size == 0:
            raise BadRequest(NOTHING_INDEXED)
        library.need_none(current.found.unknown)
        self._first = current

    async def best(self) -> Answered:
        found = await self._reranked(await self._meant())
        with span("highlights"):
            passages = await self._with_boxes(await asyncio.to_thread(self._passages, found))
        counts = await self._counted(found) if found.to_count else found.facets
        return Answered(passages, found.recipe, found.watermark, found.reranked, found.corrected, counts)

    async def _counted(self, found: _Verified) -> dict[str, list[Count]] | None:
        """The facets over the hits whose texts are wanted."""
        if (count := self._count) is None:
            return None
        wanted = await asyncio.to_thread(self._relevant, found.to_count, found)
        ids = {passage.upload.id for passage in wanted}
        return await self._engine.db.read_aside(
            lambda tx: facets.counts(tx, self._reader, self._question.condition, ids, count.fields)
        )

    async def _meant(self) -> _Verified:
        found = await self._found()
        if not found.rows and (loosened := self._wording.loosened):
            # No passage has the phrases: they are asked as the words they are of.
            meant = {f'"{phrase}"': phrase for phrase in self._wording.phrases}
            self._wording = loosened
            found = await self._found()
            found = msgspec.structs.replace(found, corrected=found.corrected | meant if found.rows else {})
        return found

    async def _found(self) -> _Verified:
        for attempt in range(limits.QUERY_TRIES):
            current, self._first = self._first or await self._current(), None
            begun = await self._begun(current)
            found = await self._look_up(begun) if begun else None
            if found is not None and (found.complete or attempt == limits.QUERY_TRIES - 1):
                return found
        raise Unavailable("The index is being rebuilt. Try again in a moment.")

    async def _current(self) -> Current[_Scope]:
        """The index, and who may answer from it: read again for each attempt, and never kept for another query."""
        question, words, reader = self._question, self._wording, self._reader

        def scope(tx: Tx, recipe: str) -> _Scope:
            return _scope(tx, reader, question, words, recipe)

        return await self._engine.current(self._workspace_id, scope, patient=question.patient)

    async def _begun(self, current: Current[_Scope]) -> _Begun | None:
        """A search of the index, whose words are looked up while the query is embedded; None when the index cannot be
        read."""
        question, words, scope = self._question, self._wording, current.found
        counts = self._count is not None and not self._count.everywhere

        def prepare(legs: Legs) -> "Callable[[Vector | None], _Hits]":
            return _prepared(legs, question, words, scope, counts=counts)

        looking = asyncio.to_thread(current.index.search, words.text, prepare)
        try:
            vector, finish = await asyncio.gather(self._vector(current.serving), looking)
        except IndexUnusable:
            self._distrust(current.serving)
            return None
        return _Begun(current.serving, current.mark, finish, vector)

    async def _vector(self, serving: Serving) -> "Vector | None":
        """The query as the serving model sees it; None where only words count."""
        if self._question.mode == "keyword":
            return None
        text, caller, recipe = self._wording.meaning, self._question.caller, serving.recipe

        async def embed() -> "Vector":
            with span("embed the query"):
                vectors = await serving.embedder.embed([text], urgent=True, caller=caller, role="query")
                return cast("Vector", vectors[0])

        return await self._engine.known_questions.vector(self._workspace_id, recipe, text, embed)

    async def _look_up(self, begun: _Begun) -> _Verified | None:
        """The hits of the index with their rows; None when the index cannot be read."""
        question, serving = self._question, begun.serving
        try:
            found = await asyncio.to_thread(begun.finish, begun.vector)
        except IndexUnusable:
            self._distrust(serving)
            return None
        hits = found.best
        if not self._chooses_by_text:
            hits = _grouped(hits, lambda hit: hit.upload_id, question)
            hits = hits if self._reranker else hits[question.offset :]
        found = found._replace(best=hits)
        read = self._engine.db.read_aside if self._count else self._engine.db.read
        return await read(lambda tx: self._verified(tx, serving.recipe, found, begun.mark))

    def _distrust(self, serving: Serving) -> None:
        self._engine.workspace_index(self._workspace_id, serving).distrust()

    def _verified(self, tx: Tx, recipe: str, found: _Hits, mark: int) -> _Verified:
        # In the snapshot that the rows are read from, a document must be as it was when the index saw it:
        # so neither deleted nor replaced text can be answered, and no score belongs to another text.
        most = self._rows_wanted(found.best)
        rows, signed, complete = self._rows(tx, recipe, found.best, mark, most)
        counts, to_count = None, list[_Row]()
        if (count := self._count) is not None:
            if count.everywhere:
                only = self._question.doc_ids
            elif self._counts_by_text:
                to_count, _, whole = self._rows(tx, recipe, found.all, mark, len(found.all))
                only, complete = frozenset(), complete and whole
            else:
                changed = chunk_store.changed_after(tx, self._workspace_id, recipe, mark)
                only = frozenset(hit.upload_id for hit in found.all)
                only, complete = only - changed, complete and only.isdisjoint(changed)
            counts = facets.counts(tx, self._reader, self._question.condition, only, count.fields)
        return _Verified(
            recipe, mark, rows, signed, complete=complete, corrected=found.corrected, facets=counts, to_count=to_count
        )

    def _rows(
        self, tx: Tx, recipe: str, hits: Sequence[Hit], mark: int, most: int
    ) -> tuple[list[_Row], set[str], bool]:
        """The hits with their uploads and chunks, which of the uploads were sealed here, and whether none is missing
        because its document has just changed."""
        rows, signed, complete = list[_Row](), set[str](), True
        for hit, current in _rows_of(tx, self._reader, recipe, hits, mark, max(1, min(most, limits.QUERY_ROWS))):
            # A document may have come in since it was asked whether there are any.
            if current is None or not self._reader.sees(current.upload):
                complete = False
            elif self._wording.admits(current.chunk.text, current.chunk.heading):
                rows.append((hit, current.upload, current.chunk))
                if current.sealed:
                    signed.add(current.upload.id)
            if len(rows) == most:
                break
        return rows, signed, complete or len(rows) == most

    def _rows_wanted(self, hits: Sequence[Hit]) -> int:
        question = self._question
        if self._chooses_by_text:
            return len(hits)
        return max(question.offset + question.top_k, limits.RERANK_PASSAGES) if self._reranker else question.top_k

    @property
    def _chooses_by_text(self) -> bool:
        """Whether texts decide which passages are there, before some of these are passed over or stand for others."""
        question = self._question
        return question.min_relevance > 0 or (self._wording.sifts and (question.offset > 0 or question.by_document))

    @property
    def _counts_by_text(self) -> bool:
        """Whether texts decide which documents are counted."""
        return self._question.min_relevance > 0 or self._wording.sifts

    @property
    def _reranker(self) -> Reranker | None:
        """The one that has the last word; none where the question says what decides."""
        return self._engine.reranker if self._question.mode == "hybrid" else None

    async def _reranked(self, found: _Verified) -> _Verified:
        """The rows in the reranker's order; as they are, and so marked, if it gives none."""
        if self._reranker is None:
            return found
        if self._chooses_by_text:
            return msgspec.structs.replace(found, reranked=False)
        scores, first = None, self._question.offset
        if len(found.rows) <= limits.RERANK_PASSAGES:
            with span("rerank"):
                scores = await self._reranker.scores(self._wording.meaning, [chunk.text for _, _, chunk in found.rows])
        rows = found.rows if scores is None else _by_score(found.rows, scores)
        rows = rows[first : first + self._question.top_k]
        return msgspec.structs.replace(found, rows=rows, reranked=scores is not None)

    async def _with_boxes(self, passages: list[Passage]) -> list[Passage]:
        if not any(passage.chunk.ocr for passage in passages):
            return passages

        def boxed(tx: Tx, passage: Passage) -> Passage:
            found = pages_store.boxes(tx, passage.upload, passage.chunk, passage.highlights)
            return msgspec.structs.replace(passage, boxes=found)

        return await self._engine.db.read(lambda tx: [boxed(tx, one) if one.chunk.ocr else one for one in passages])

    def _passages(self, found: _Verified) -> list[Passage]:
        question, passages = self._question, self._relevant(found.rows, found)
        if self._chooses_by_text:
            passages = _grouped(passages, lambda passage: passage.upload.id, question)
            passages = passages[question.offset : question.offset + question.top_k]
        return passages

    def _relevant(self, rows: Sequence[_Row], found: _Verified) -> list[Passage]:
        """The rows as passages, without those that are not relevant enough."""
        from deedbox.search.index.analysis import Marker

        question, marker = self._question, Marker(self._wording.corrected(found.corrected).text)
        passages = list[Passage]()
        for hit, upload, chunk in rows:
            share, spans = marker.marks(chunk.text, name_of(upload.filename) if chunk.number == 0 else "")
            said = None if question.mode == "semantic" else share
            how = relevance(hit, said, dense=DENSE_WEIGHT, words=WORDS_WEIGHT)
            if how >= question.min_relevance:
                passages.append(Passage(upload, chunk, hit.score, how, spans, signed=upload.id in found.signed))
        return passages


def _scope(tx: Tx, reader: SearchReader, question: Question, words: Wording, recipe: str) -> _Scope:
    only, seen, unknown = question.doc_ids, None, frozenset[str]()
    if only is not None:
        unknown = only - store.known(tx, reader, only)
    if not reader.sees_all and store.hides(tx, reader):
        there = store.check_uploads(tx, reader, question.condition or conditions.ANY)
        seen = frozenset(there)
        only = _within(only, [upload_id for upload_id, meets in there.items() if meets])
    elif question.condition is not None:
        only = _within(only, store.find_by_condition(tx, reader, question.condition))
    if names := [part for field, part in words.fields if field == "filename"]:
        only = _within(only, store.find_by_name(tx, reader, names))
    for field, part in words.fields:
        if field != "filename":
            only = _within(only, chunk_store.find_by_title(tx, reader.workspace_id, recipe, field, part))
    return _Scope(only, seen, unknown)


def _rows_of(
    tx: Tx, reader: SearchReader, recipe: str, hits: Sequence[Hit], mark: int, at_once: int
) -> Iterator[tuple[Hit, AnsweringChunk | None]]:
    """Each hit with its upload and chunk, if they are as the index saw them."""
    for begin in range(0, len(hits), at_once):
        some = hits[begin : begin + at_once]
        places = [(hit.upload_id, hit.number) for hit in some]
        found = chunk_store.unchanged_chunks(tx, reader.workspace_id, recipe, places, mark)
        yield from ((hit, found.get(place)) for hit, place in zip(some, places, strict=True))


def _within(found: frozenset[str] | None, others: Collection[str]) -> frozenset[str]:
    return frozenset(others) if found is None else found.intersection(others)


def _prepared(
    legs: Legs, question: Question, words: Wording, scope: _Scope, *, counts: bool
) -> "Callable[[Vector | None], _Hits]":
    """Looks up the words, as they were meant. A word counts as known where the reader sees it: else a correction would
    tell what stands in other documents."""
    corrected = dict[str, str]()
    if question.mode != "semantic" and (doubtful := words.doubtful):
        corrected = legs.corrected(doubtful, scope.seen)
    words = words.corrected(corrected)
    top = _depth(question, words)
    finish = _leg(legs, question, words, scope.only, top)

    def hits(vector: "Vector | None") -> _Hits:
        best = finish(vector)
        if not counts or top == limits.DEEP_HITS or len(best) < top:  # fewer than were asked for are all there are
            return _Hits(best, best, corrected)
        return _Hits(best, _leg(legs, question, words, scope.only, limits.DEEP_HITS, ranked=False)(vector), corrected)

    return hits


def _depth(question: Question, words: Wording) -> int:
    """How many of the best by words, and by meaning, the ranking is made of."""
    # Of what is sifted later, more are needed.
    least = limits.SIFTED_CANDIDATES if words.sifts else limits.LEG_CANDIDATES
    top = max(least, question.offset + question.top_k + limits.QUERY_SPARE_HITS)
    if question.by_document or (question.offset and top > limits.LEG_CANDIDATES):
        return limits.DEEP_HITS  # the ranking depends on how many candidates it has
    return top


def _leg(
    legs: Legs, question: Question, words: Wording, only: frozenset[str] | None, top: int, *, ranked: bool = True
) -> "Callable[[Vector | None], list[Hit]]":
    """Given the query's vector: the hits among the best `top` of each leg; best first, unless they need no order."""
    if only is not None and not only:
        return lambda _: []
    if question.mode == "keyword":
        hits = legs.words(words.text, top, only, words.sieve)
        return lambda _: hits
    if question.mode == "semantic" and not words.sifts:
        return lambda vector: legs.near(_known(vector), top, only)
    finish = legs.by_words(words.text, top, only, words.sieve)
    if question.mode == "semantic":
        return lambda vector: _by_meaning(finish(_known(vector)))
    if not ranked:
        return lambda vector: [Hit(one.upload_id, one.number, one.cosine, one.cosine) for one in finish(_known(vector))]
    return lambda vector: fuse(finish(_known(vector)), top)


def _known(vector: "Vector | None") -> "Vector":
    assert vector is not None  # noqa: S101 (only a query by keyword has none)
    return vector


def _by_meaning(candidates: Sequence[Candidate]) -> list[Hit]:
    hits = [Hit(each.upload_id, each.number, each.cosine) for each in candidates]
    return sorted(hits, key=lambda hit: (-hit.score, hit.upload_id, hit.number))


def _grouped(found: list[T], document_of: Callable[[T], str], question: Question) -> list[T]:
    """What was found, best first; of each document the best only, if that is asked for."""
    if not question.by_document:
        return found
    best: dict[str, T] = {}
    for each in found:
        best.setdefault(document_of(each), each)
    return list(best.values())


def _by_score(rows: Sequence[_Row], scores: Sequence[float]) -> list[_Row]:
    placed = [
        (msgspec.structs.replace(hit, score=score), upload, chunk)
        for (hit, upload, chunk), score in zip(rows, scores, strict=True)
    ]
    return sorted(placed, key=lambda row: (-row[0].score, row[0].upload_id, row[0].number))
