"""Answers from the indexed documents: each sentence with its citations, and whether they support it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypeVar

import msgspec
from litestar import Response, post
from litestar.params import JSONBody
from litestar.response import ServerSentEvent, ServerSentEventMessage
from msgspec import Meta

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.collection import CollectionName
from deedbox.kernel.errors import ServiceError
from deedbox.search.answers.draft import AnswerDraft, DraftedAnswer
from deedbox.search.answers.support import Sentence
from deedbox.search.query.best_passages import Mode
from deedbox.web import limits
from deedbox.web.api_search.filters import QueryFilter
from deedbox.web.api_search.query import DocId, NewQuery, QueryText, ResultChunk, question, result
from deedbox.web.http import context
from deedbox.web.http.auth import Requirement, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.openapi import ALSO, ANSWERS

T = TypeVar("T")
_STREAM = "text/event-stream"
_ASKS = Requirement("key", scope="search:query", repeats=True)
"""A model that is asked twice may write two answers, and a stream is not kept."""


class NewAnswer(msgspec.Struct, forbid_unknown_fields=True):
    query: QueryText
    """The question, in 1 to {QUERY_CHARS} characters."""
    top_k: Annotated[int, Meta(ge=1, le=shared_limits.ANSWER_PASSAGES_MAX)] | None = None
    """How many passages the answer may be written from; {ANSWER_PASSAGES} by default."""
    mode: Mode = "hybrid"
    """What decides which passages: meaning and words, or one of them."""
    doc_ids: Annotated[list[DocId], Meta(min_length=1, max_length=limits.QUERY_DOC_IDS)] | None = None
    """Only these documents, each of which must exist."""
    collections: (
        Annotated[list[CollectionName], Meta(min_length=1, max_length=shared_limits.QUERY_COLLECTIONS)] | None
    ) = None
    """Only documents in one of these collections."""
    filter: QueryFilter | None = None
    """Only documents that are so."""
    stream: bool = False
    """Whether the answer comes as server-sent events, sentence by sentence; so too with `Accept: text/event-stream`."""


class AnswerRecord(msgspec.Struct, frozen=True):
    query: str
    """The question, without spaces around it."""
    answer: str
    """The sentences with their citations; `[unsupported]` stands after each that may be invented."""
    found: bool
    """Whether a sentence is supported; if not, `answer` says that it is not in these documents."""
    complete: bool
    """False if the model was cut off."""
    model: str | None
    """The model that wrote it; null if the sentences are taken from the passages."""
    sentences: list[Sentence]
    """The answer, sentence by sentence."""
    passages: list[ResultChunk]
    """What it was written from, best first: `[1]` is the first."""
    elapsed_ms: float
    """How long it took, in milliseconds."""


_EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": ["passages", "sentence", "end", "error"], "description": "What comes."},
        "data": {
            "type": "string",
            "description": "In JSON: passages and model, a sentence, the whole answer, or why not.",
        },
    },
    "required": ["event", "data"],
}
_ANSWERS = {
    "200": {
        "description": "The answer; as events `passages`, then `sentence` for each, at last `end` or `error`",
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/AnswerRecord"}},
            _STREAM: {"schema": _EVENT, "example": {"event": "sentence", "data": "{…}"}},
        },
    }
}


@post(
    "/answer",
    opt={**requires(_ASKS), ALSO: (404, 502), ANSWERS: _ANSWERS},
    summary="An answer from the indexed documents, with citations that are checked",
    tags=["search"],
    status_code=200,
)
async def answer(request: AnyRequest, data: JSONBody[NewAnswer]) -> Response[AnswerRecord]:
    """With `stream` as server-sent events: `passages`, then `sentence` for each, at last `end` with the whole answer,
    or `error`."""
    here, begun = context.of(request), stopwatch()
    here.take_time(shared_limits.QUERY_SECONDS + shared_limits.ANSWER_SECONDS)
    wanted = NewQuery(
        data.query,
        data.top_k or limits.ANSWER_PASSAGES,
        data.mode,
        data.doc_ids,
        collections=data.collections,
        filter=data.filter,
    )
    asked = question(wanted, here.holder)
    draft = await here.deedbox.answers.draft(here.reader, asked)
    streamed = data.stream or _STREAM in request.headers.get("accept", "")
    try:
        if streamed:
            await context.unless_gone(request, draft.begun(limits.ANSWER_HEAD_SECONDS))
            events: Response[Any] = ServerSentEvent(_events(draft, asked.text, begun))
            return events
        written = await context.unless_gone(request, draft.finished())
        return Response(_record(written, asked.text, begun))
    except BaseException:
        draft.give_up()
        raise


async def _events(draft: AnswerDraft, query: str, begun: float) -> AsyncIterator[ServerSentEventMessage]:
    """The answer as it comes; a comment now and then, so that no proxy hangs up."""
    try:
        yield _event("passages", {"model": draft.model, "passages": [result(each) for each in draft.passages]})
        while True:
            try:
                async with asyncio.timeout(limits.ANSWER_HEARTBEAT_SECONDS):
                    sentence = await draft.next()
            except TimeoutError:
                yield ServerSentEventMessage(data=None, comment="still writing")
                continue
            if sentence is None:
                break
            yield _event("sentence", sentence)
        yield _event("end", _record(draft.answer, query, begun))
    except ServiceError as error:
        yield _event("error", {"error": error.message, "code": error.code})
    finally:
        draft.give_up()


def _event(name: str, data: Any) -> ServerSentEventMessage:
    return ServerSentEventMessage(data=msgspec.json.encode(data).decode(), event=name)


def _record(written: DraftedAnswer, query: str, begun: float) -> AnswerRecord:
    return AnswerRecord(
        query=query,
        answer=written.text,
        found=written.found,
        complete=written.complete,
        model=written.model,
        sentences=written.sentences,
        passages=[result(each) for each in written.passages],
        elapsed_ms=round((stopwatch() - begun) * 1000, 3),
    )


ROUTES = [answer]
