"""Query the indexed documents."""

import asyncio
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from litestar import Response, post
from litestar.params import JSONBody
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.collection import CollectionName
from deedbox.kernel.constraints import Constraints, never_with
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.search import conditions
from deedbox.search.conditions import Condition, Every
from deedbox.search.library import store
from deedbox.search.library.upload import MetadataValue
from deedbox.search.ocr import Box
from deedbox.search.query import best_passages as queries
from deedbox.search.query import facets
from deedbox.search.query import receipt as receipts
from deedbox.search.query.best_passages import Answered, Mode, Passage, Question
from deedbox.search.query.facets import Count, Facets
from deedbox.search.query.query_syntax import replace_words
from deedbox.search.query.receipt import ReceiptQuery
from deedbox.web import limits
from deedbox.web.api_search.filters import Field, QueryFilter, condition
from deedbox.web.http import context
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest, Context
from deedbox.web.http.once import once
from deedbox.web.http.openapi import ALSO
from deedbox.web.http.query import QUERY

_NOT_BLANK = "^[^\\x00]*[^\\s\\x00][^\\x00]*$"
DocId = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema=shared_limits.NO_NUL)]
QueryText = Annotated[
    str, Meta(extra_json_schema={"minLength": 1, "maxLength": shared_limits.QUERY_CHARS, "pattern": _NOT_BLANK})
]


class NewQuery(msgspec.Struct, forbid_unknown_fields=True):
    constraints: ClassVar[Constraints] = (never_with(["facets"], "receipt"),)

    query: QueryText
    """The question, in 1 to {QUERY_CHARS} characters. A "phrase" in quotes must stand in the passage, a -word or
    -"phrase" must not; word* stands for the {PREFIX_WORDS} words that begin so and are in most documents; filename:part
    and title:part must be part of the document's name or title, heading:part of the heading that the passage stands
    under; other signs are plain text."""
    top_k: Annotated[int, Meta(ge=1, le=shared_limits.TOP_K_MAX)] | None = None
    """How many passages; {TOP_K_DEFAULT} by default."""
    mode: Mode = "hybrid"
    """What decides: meaning and words, or one of them."""
    doc_ids: Annotated[list[DocId], Meta(min_length=1, max_length=limits.QUERY_DOC_IDS)] | None = None
    """Only these documents, each of which must exist."""
    collections: (
        Annotated[list[CollectionName], Meta(min_length=1, max_length=shared_limits.QUERY_COLLECTIONS)] | None
    ) = None
    """Only documents in one of these collections."""
    filter: QueryFilter | None = None
    """Only documents that are so."""
    offset: Annotated[int, Meta(ge=0, le=shared_limits.QUERY_OFFSET_MAX)] = 0
    """How many of the best to pass over."""
    group_by: Literal["document"] | None = None
    """The best passage of each document, instead of all passages."""
    min_relevance: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Only passages that are at least so relevant."""
    facets: Annotated[list[Field], Meta(min_length=1, max_length=limits.QUERY_FACETS)] | None = None
    """Counts the values of these fields in documents: `collection`, `media_type`, `status`, `source`, `signed`, or
    `metadata.` and a name."""
    facets_scope: Literal["hits", "all"] = "hits"
    """Which documents are counted. `hits`: those of the query's hits, on whichever page of the answer; of the best
    {DEEP_HITS} passages by meaning, and as many by words. `all`: each that `doc_ids`, `collections` and `filter` admit,
    indexed or not."""
    receipt: bool = False
    """Whether the answer is to come with a receipt; in the address, `receipt=true` says the same. Not with facets,
    which are counted of the present."""


class QueryWish(msgspec.Struct, frozen=True):
    receipt: bool = False
    """Whether the answer is to come with a receipt: a signed statement of what was asked and answered."""


class ChunkPlace(msgspec.Struct, frozen=True):
    doc_id: str
    """The document's id."""
    filename: str
    """The document's name."""
    chunk_index: int
    """The chunk's number in the document, from 0."""
    page: int | None
    """The page on which the chunk begins, where there are pages."""
    char_start: int
    """Where the chunk begins in the document's text."""
    char_end: int
    """Where the chunk ends in the document's text."""
    sha256: str
    """The hash of the file that the chunk was made from. After a PUT, that is the replaced file until the new one is
    indexed."""
    version: int
    """The version of the document that the chunk was made from: 1, and one more with each PUT."""
    heading: str | None
    """The heading under which it stands; null if none."""
    highlights: list[tuple[int, int]]
    """Where words of the query stand in the chunk's text: start and end."""
    signed: bool
    """Whether the file was sealed in this workspace, known by its bytes."""
    document_id: str | None
    """The document of the signing API whose sealed file it is; null for what was uploaded."""
    ocr: bool
    """Whether any of it was read by OCR from a picture of the page: letters may be misread."""
    boxes: list[Box] | UnsetType = UNSET
    """Where highlighted words stand on pages that were read by OCR; left out where `ocr` is false."""


class ResultDocument(msgspec.Struct, frozen=True):
    filename: str
    """Its name."""
    collection: str
    """The collection that it lies in."""
    metadata: dict[str, MetadataValue]
    """Values by name, as they were given."""
    signed: bool
    """Whether the file was sealed in this workspace, known by its bytes."""


class ResultChunk(msgspec.Struct, frozen=True):
    chunk_id: str
    """The chunk's id: the document's and its number."""
    text: str
    """The chunk's text."""
    score: float
    """Higher is better; comparable within one answer only."""
    metadata: ChunkPlace
    """Where the chunk stands."""
    relevance: float
    """From 0 to 1: how near it is in meaning, and how many of the query's words it has, whatever else was found."""
    document: ResultDocument
    """The document that it is of."""


class QueryAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    query: str
    """The question, without spaces around it."""
    count: int
    elapsed_ms: float
    """How long it took, in milliseconds."""
    results: list[ResultChunk]
    """The passages, best first."""
    reranked: bool | UnsetType = UNSET
    """Whether the server's reranker ordered them. False: it failed, there are more than {RERANK_PASSAGES}, or their
    texts decide which there are, and they stand as without it. Left out where there is none, or `mode` decides."""
    corrected: str | UnsetType = UNSET
    """The query as it was understood, where words of it are in no document: with the words that are most like these;
    and where no passage has its phrases: without their quotes. Left out where nothing was mended."""
    facets: dict[str, list[Count]] | UnsetType = UNSET
    """For each field that was asked for, its most frequent values; left out if none was."""
    receipt: str | UnsetType = UNSET
    """If it was asked for: a compact JWS, by the certificate that the workspace seals with, over the query, the state
    of the index and each result with the hash of its file. `deedbox verify` checks the whole answer with it."""
    receipt_timestamp: str | UnsetType = UNSET
    """A time-stamp token (RFC 3161) about the receipt, in base64."""


@post(
    "/query",
    opt={**requires("search:query"), QUERY: QueryWish, ALSO: (404, 409)},
    summary="Ask the indexed documents",
    tags=["search"],
    status_code=200,
)
async def ask(request: AnyRequest, data: JSONBody[NewQuery]) -> Response[QueryAnswer]:
    here = context.of(request)
    begun = stopwatch()
    if here.deadline is not None:
        here.deadline.reschedule(asyncio.get_running_loop().time() + shared_limits.QUERY_SECONDS)
    asked = question(data, here.holder)
    workspace = here.caller.workspace_id
    keyed = "idempotency-key" in request.headers
    if (proven := data.receipt or here.query.receipt) and data.facets:
        raise BadRequest("receipt: an answer with facets has none, because they are counted of the present. Ask twice.")
    count_of = Facets(tuple(data.facets), everywhere=data.facets_scope == "all") if data.facets else None
    found = await queries.answer_with_details(
        here.deedbox.search, here.reader, asked, counted=not keyed, count=count_of
    )
    made = answer_of(asked, found, round((stopwatch() - begun) * 1000, 3))
    if proven:
        made = await _with_receipt(here, ReceiptQuery(here.reader, asked, found), made)
    if not keyed:
        return Response(made)

    def count(tx: Tx) -> QueryAnswer:
        store.count_query(tx, workspace, 1)
        return made

    answer: Response[Any] = await once(request, count, status=200, repeatable=True)
    return answer


def answer_of(asked: Question, found: Answered, elapsed_ms: float) -> QueryAnswer:
    """What is answered; the same for the same question and findings, but for the time."""
    results = [result(passage) for passage in found.passages]
    reranked = UNSET if found.reranked is None else found.reranked
    corrected = replace_words(asked.text, found.corrected) if found.corrected else UNSET
    counts = UNSET if found.facets is None else found.facets
    return QueryAnswer(asked.text, len(results), elapsed_ms, results, reranked, corrected, counts)


async def _with_receipt(here: Context, asked: ReceiptQuery, made: QueryAnswer) -> QueryAnswer:
    deedbox, plain = here.deedbox, msgspec.to_builtins(made)
    proof = await receipts.issue(deedbox.db, deedbox.certificates, asked, plain, deedbox.clock.now())
    return msgspec.structs.replace(made, receipt=proof.receipt, receipt_timestamp=proof.timestamp)


def question(data: NewQuery, caller: str) -> Question:
    """What is asked, by whom."""
    text = data.query.strip()
    if not 1 <= len(text) <= shared_limits.QUERY_CHARS:
        raise BadRequest(f"query: it must have 1 to {shared_limits.QUERY_CHARS} characters")
    facets.check_fields(data.facets or [])
    return Question(
        text=text,
        top_k=data.top_k or shared_limits.TOP_K_DEFAULT,
        mode=data.mode,
        doc_ids=None if data.doc_ids is None else frozenset(data.doc_ids),
        condition=_condition(data),
        caller=caller,
        offset=data.offset,
        by_document=data.group_by is not None,
        min_relevance=data.min_relevance,
    )


def _condition(data: NewQuery) -> Condition | None:
    """What a document has to be; None if it may be anything."""
    within = [] if data.collections is None else [conditions.within(data.collections)]
    wanted = [] if data.filter is None else [condition(data.filter)]
    return Every((*within, *wanted)) if within or wanted else None


def result(passage: Passage) -> ResultChunk:
    """A passage as the API shows it."""
    upload, chunk = passage.upload, passage.chunk
    place = ChunkPlace(
        doc_id=upload.id,
        filename=upload.filename,
        chunk_index=chunk.number,
        page=chunk.page,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        sha256=upload.sha256,
        version=upload.revision,
        heading=chunk.heading,
        highlights=passage.highlights,
        signed=passage.signed,
        document_id=upload.document_id,
        ocr=chunk.ocr,
        boxes=passage.boxes if chunk.ocr else UNSET,
    )
    document = ResultDocument(upload.filename, upload.collection, dict(upload.metadata), passage.signed)
    return ResultChunk(passage.id, chunk.text, passage.score, place, passage.relevance, document)


ROUTES = [ask]
