"""Query the indexed documents."""

import asyncio
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, post
from litestar.params import JSONBody
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.clock import instant, stopwatch
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest
from deedbox.search import query as queries
from deedbox.search import store
from deedbox.search.query import Mode, Passage, Question
from deedbox.web.frame import context, moments
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door
from deedbox.web.frame.once import once
from deedbox.web.frame.openapi import ALSO

_NOT_BLANK = "^[^\\x00]*[^\\s\\x00][^\\x00]*$"
DocId = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema=limits.NO_NUL)]
Text = Annotated[str, Meta(min_length=1, max_length=limits.FILENAME_CHARS, extra_json_schema=limits.NO_NUL)]
Moment = Annotated[datetime, Meta(tz=True)]


class QueryFilter(msgspec.Struct, forbid_unknown_fields=True):
    filename: Text | None = None
    """Only documents of exactly this name."""
    media_type: Text | None = None
    """Only documents of this media type."""
    created_after: Moment | None = None
    """Only documents uploaded then or later."""
    created_before: Moment | None = None
    """Only documents uploaded earlier."""
    signed: bool | None = None
    """Only files and certificates that were sealed in this workspace, known by their bytes; or only the others."""
    signer: Text | None = None
    """Only documents that this e-mail address was asked to sign, and that are completed."""
    source: Literal["upload", "document"] | None = None
    """Only what was uploaded, or only documents of the signing API."""


class NewQuery(msgspec.Struct, forbid_unknown_fields=True):
    query: Annotated[
        str, Meta(extra_json_schema={"minLength": 1, "maxLength": limits.QUERY_CHARS, "pattern": _NOT_BLANK})
    ]
    """The question, in 1 to {QUERY_CHARS} characters."""
    top_k: Annotated[int, Meta(ge=1, le=limits.TOP_K_MAX)] | None = None
    """How many passages; {TOP_K_DEFAULT} by default."""
    mode: Mode = "hybrid"
    """What decides: meaning and words, or one of them."""
    doc_ids: Annotated[list[DocId], Meta(min_length=1, max_length=limits.QUERY_DOC_IDS)] | None = None
    """Only these documents, each of which must exist."""
    filter: QueryFilter | None = None
    """Only documents that are so."""


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
    """The hash of the document's bytes."""
    heading: str | None
    """The heading under which it stands; null if none."""
    highlights: list[tuple[int, int]]
    """Where words of the query stand in the chunk's text: start and end."""
    signed: bool
    """Whether the file was sealed in this workspace, known by its bytes."""
    document_id: str | None
    """The document of the signing API whose sealed file it is; null for what was uploaded."""


class ResultChunk(msgspec.Struct, frozen=True):
    chunk_id: str
    """The chunk's id: the document's and its number."""
    text: str
    """The chunk's text."""
    score: float
    """Higher is better; comparable within one answer only."""
    metadata: ChunkPlace
    """Where the chunk stands."""


class QueryAnswer(msgspec.Struct, frozen=True):
    query: str
    """The question, without spaces around it."""
    count: int
    elapsed_ms: float
    """How long it took, in milliseconds."""
    results: list[ResultChunk]
    """The passages, best first."""
    reranked: bool | UnsetType = UNSET
    """Whether the server's reranker ordered them. False: it failed, or there are more than {RERANK_PASSAGES}, and they
    stand as without it. Left out where there is none, or `mode` says what decides."""


@post(
    "/query",
    opt={**door("search:query"), ALSO: (404,)},
    summary="Ask the indexed documents",
    tags=["search"],
    status_code=200,
)
async def ask(request: AnyRequest, data: JSONBody[NewQuery]) -> Response[QueryAnswer]:
    here = context.of(request)
    begun = stopwatch()
    if here.deadline is not None:
        here.deadline.reschedule(asyncio.get_running_loop().time() + limits.QUERY_SECONDS)
    question = _question(data, here.holder)
    workspace = here.caller.workspace_id
    keyed = "idempotency-key" in request.headers
    found = await queries.answer(here.deedbox.search, here.reader, question, counted=not keyed)
    results = [_result(passage) for passage in found]
    reranked = UNSET if not found or found[0].reranked is None else found[0].reranked
    made = QueryAnswer(question.text, len(results), round((stopwatch() - begun) * 1000, 3), results, reranked)
    if not keyed:
        return Response(made)

    def count(tx: Tx) -> QueryAnswer:
        store.count_query(tx, workspace, 1)
        return made

    answer: Response[Any] = await once(request, count, status=200, repeatable=True)
    return answer


def _question(data: NewQuery, caller: str) -> Question:
    text = data.query.strip()
    if not 1 <= len(text) <= limits.QUERY_CHARS:
        raise BadRequest(f"query: it must have 1 to {limits.QUERY_CHARS} characters")
    return Question(
        text=text,
        top_k=data.top_k or limits.TOP_K_DEFAULT,
        mode=data.mode,
        doc_ids=None if data.doc_ids is None else frozenset(data.doc_ids),
        conditions=_conditions(data.filter or QueryFilter()),
        caller=caller,
    )


def _conditions(wanted: QueryFilter) -> dict[str, Value]:
    named: dict[str, Value] = {
        "filename": wanted.filename,
        "media_type": wanted.media_type,
        "created_after": _instant("filter.created_after", wanted.created_after),
        "created_before": _instant("filter.created_before", wanted.created_before),
        "signed": None if wanted.signed is None else int(wanted.signed),
        "signer": None if wanted.signer is None else wanted.signer.strip().lower(),
        "of_document": None if wanted.source is None else int(wanted.source == "document"),
    }
    return {name: value for name, value in named.items() if value is not None}


def _instant(name: str, moment: datetime | None) -> str | None:
    known = moments.in_utc(name, moment)
    return None if known is None else instant(known)


def _result(passage: Passage) -> ResultChunk:
    upload, chunk = passage.upload, passage.chunk
    place = ChunkPlace(
        doc_id=upload.id,
        filename=upload.filename,
        chunk_index=chunk.number,
        page=chunk.page,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        sha256=upload.sha256,
        heading=chunk.heading,
        highlights=passage.highlights,
        signed=passage.signed,
        document_id=upload.document_id,
    )
    return ResultChunk(passage.id, chunk.text, passage.score, place)


ROUTES = [ask]
