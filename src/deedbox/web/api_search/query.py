"""Query the indexed documents."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Response, post
from litestar.params import JSONBody
from msgspec import Meta

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

_NOT_BLANK = "^[^\\x00]*[^\\s\\x00][^\\x00]*$"
DocId = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema=limits.NO_NUL)]
Text = Annotated[str, Meta(min_length=1, max_length=limits.FILENAME_CHARS, extra_json_schema=limits.NO_NUL)]
Moment = Annotated[datetime, Meta(tz=True)]


class QueryFilter(msgspec.Struct, forbid_unknown_fields=True):
    filename: Annotated[Text | None, Meta(description="Only documents of exactly this name.")] = None
    media_type: Annotated[Text | None, Meta(description="Only documents of this media type.")] = None
    created_after: Annotated[Moment | None, Meta(description="Only documents uploaded then or later.")] = None
    created_before: Annotated[Moment | None, Meta(description="Only documents uploaded earlier.")] = None
    signed: Annotated[bool | None, Meta(description="Only documents that were signed here, or only the others.")] = None


class NewQuery(msgspec.Struct, forbid_unknown_fields=True):
    query: Annotated[
        str,
        Meta(
            description=f"The question, in 1 to {limits.QUERY_CHARS} characters.",
            extra_json_schema={"minLength": 1, "maxLength": limits.QUERY_CHARS, "pattern": _NOT_BLANK},
        ),
    ]
    top_k: Annotated[
        Annotated[int, Meta(ge=1, le=limits.TOP_K_MAX)] | None,
        Meta(description=f"How many passages; {limits.TOP_K_DEFAULT} by default."),
    ] = None
    mode: Annotated[Mode, Meta(description="What decides: meaning and words, or one of them.")] = "hybrid"
    doc_ids: Annotated[
        Annotated[list[DocId], Meta(min_length=1, max_length=limits.QUERY_DOC_IDS)] | None,
        Meta(description="Only these documents."),
    ] = None
    filter: Annotated[QueryFilter | None, Meta(description="Only documents that are so.")] = None


class ChunkPlace(msgspec.Struct, frozen=True):
    doc_id: str
    filename: str
    chunk_index: int
    page: Annotated[int | None, Meta(description="The page on which the chunk begins, where there are pages.")]
    char_start: Annotated[int, Meta(description="Where the chunk begins in the document's text.")]
    char_end: int
    sha256: Annotated[str, Meta(description="The hash of the document's bytes.")]
    heading: str | None
    highlights: Annotated[
        list[tuple[int, int]], Meta(description="Where words of the query stand in the chunk's text: start and end.")
    ]


class ResultChunk(msgspec.Struct, frozen=True):
    chunk_id: str
    text: str
    score: Annotated[float, Meta(description="Higher is better; comparable within one answer only.")]
    metadata: ChunkPlace


class QueryAnswer(msgspec.Struct, frozen=True):
    query: str
    count: int
    elapsed_ms: float
    results: list[ResultChunk]


@post("/query", opt=door("search:query"), summary="Ask the indexed documents", tags=["search"], status_code=200)
async def ask(request: AnyRequest, data: JSONBody[NewQuery]) -> Response[QueryAnswer]:
    here = context.of(request)
    begun = stopwatch()
    if here.deadline is not None:
        here.deadline.reschedule(asyncio.get_running_loop().time() + limits.QUERY_SECONDS)
    question = _question(data, here.holder)
    workspace = here.caller.workspace_id
    keyed = "idempotency-key" in request.headers
    found = await queries.answer(here.deedbox.search, workspace, question, counted=not keyed)
    results = [_result(passage) for passage in found]
    made = QueryAnswer(question.text, len(results), round((stopwatch() - begun) * 1000, 3), results)
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
    )
    return ResultChunk(passage.id, chunk.text, passage.score, place)


ROUTES = [ask]
