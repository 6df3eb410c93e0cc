"""Search for people: one box, passages beside the page on which they stand, all in the address."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from litestar import Response, get
from msgspec import Meta

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import ErrorCode, ServiceError
from deedbox.pdf.render.lines import TextLine, kept_pages
from deedbox.search.conditions import Condition, Every, Op, compare
from deedbox.search.engine import NOTHING_INDEXED
from deedbox.search.extract.kinds import KINDS
from deedbox.search.library import library
from deedbox.search.ocr import store as pages_store
from deedbox.search.query import best_passages as queries
from deedbox.search.query.best_passages import Answered, Passage, Question
from deedbox.search.query.excerpt import ExcerptPiece, excerpt, pieces
from deedbox.search.query.on_page import lines_of
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY

_FILTERS = ("source", "signed", "signer", "type", "from_day", "to_day", "mode")
Day = Annotated[str, Meta(pattern="^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]


class SearchQuery(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=shared_limits.QUERY_CHARS)] = ""
    source: Literal["", "upload", "document"] = ""
    signed: Literal["", "yes", "no"] = ""
    signer: Annotated[str, Meta(max_length=shared_limits.EMAIL_CHARS)] = ""
    type: Annotated[str, Meta(pattern=f"^({'|'.join(KINDS)})?$")] = ""
    from_day: Day = ""
    to_day: Day = ""
    mode: Literal["", "keyword"] = ""
    passage: Annotated[str, Meta(max_length=limits.PASSAGE_ID_CHARS)] = ""

    @property
    def text(self) -> str:
        return self.q.replace("\0", "").strip()

    @property
    def filters(self) -> dict[str, str]:
        return {name: value for name in _FILTERS if (value := getattr(self, name))}

    def path(self, *, without: str = "", **more: str) -> str:
        """The address of the same question, without one filter or with something more."""
        kept = {name: value for name, value in self.filters.items() if name != without}
        return f"/app/search?{urlencode({'q': self.text, **kept, **more})}"


class FoundPassage(msgspec.Struct, frozen=True):
    """A passage in the list."""

    passage: Passage
    shown: list[ExcerptPiece]
    path: str


class PassagePage(msgspec.Struct, frozen=True):
    """A page of a PDF with the lines of the passage."""

    number: int
    lines: list[TextLine]


class PassageView(msgspec.Struct, frozen=True):
    """The passage that is chosen, where it stands: on pages, or in the text around it."""

    passage: Passage
    text: list[ExcerptPiece]
    sheets: list[PassagePage] = []
    before: str = ""
    after: str = ""


@get("/app/search", opt={**person("search:query"), QUERY: SearchQuery}, include_in_schema=False)
async def search_page(request: AnyRequest) -> Response[Any]:
    asked: SearchQuery = context.of(request).query
    if not asked.text:
        has_model = context.of(request).deedbox.search.embedders.current is not None
        return _page(request, asked, why="" if has_model else "model")
    try:
        found = await _answer(request, asked)
    except ServiceError as error:
        if error.code is ErrorCode.MODEL_MISSING:
            return _page(request, asked, why="model")
        if error.code is ErrorCode.INDEX_WARMING:
            return _page(request, asked, why="warming")
        if error.message == NOTHING_INDEXED:
            return _page(request, asked, why="nothing")
        if error.status >= 500:
            raise
        return _page(request, asked, error=error)
    passages = found.passages
    chosen = next((one for one in passages if one.id == asked.passage), passages[0] if passages else None)
    view = await _view(request, chosen) if chosen else None
    return _page(request, asked, found=found, view=view)


async def _answer(request: AnyRequest, asked: SearchQuery) -> Answered:
    """The same as `POST /query`, with its limit of time."""
    here = context.of(request)
    if here.deadline is not None:
        here.deadline.reschedule(asyncio.get_running_loop().time() + shared_limits.QUERY_SECONDS)
    question = Question(
        text=asked.text,
        top_k=limits.SEARCH_PAGE_PASSAGES,
        mode="keyword" if asked.mode else "hybrid",
        condition=_condition(asked),
        caller=here.holder,
    )
    # Whoever only looks at another passage of the same answer has asked once.
    return await queries.answer_with_details(here.deedbox.search, here.reader, question, counted=not asked.passage)


def _condition(asked: SearchQuery) -> Condition | None:
    wanted: list[tuple[str, Op, bool | str | None]] = [
        ("source", "eq", asked.source or None),
        ("signed", "eq", asked.signed == "yes" if asked.signed else None),
        ("signer", "eq", asked.signer.strip() or None),
        ("media_type", "eq", KINDS[asked.type].media_type if asked.type else None),
        ("created_at", "gte", _midnight(asked.from_day)),
        ("created_at", "lt", _midnight(asked.to_day, after=True)),
    ]
    compared = [compare(field, op, value) for field, op, value in wanted if value is not None]
    return Every(tuple(compared)) if compared else None


def _midnight(day: str, *, after: bool = False) -> str | None:
    """When the day begins, or ends; None for what is no day."""
    try:
        known = date.fromisoformat(day)
        begins = datetime(known.year, known.month, known.day, tzinfo=UTC)
        return instant(begins + timedelta(days=1) if after else begins)
    except (ValueError, OverflowError):
        return None


async def _view(request: AnyRequest, passage: Passage) -> PassageView:
    text = pieces(passage.chunk.text, passage.highlights)
    if passage.chunk.page is not None and passage.upload.media_type == library.PDF.media_type:
        return PassageView(passage, text, sheets=await _sheets(request, passage, passage.chunk.page))
    told = (await context.of(request).deedbox.ingest.texts.text(passage.upload)).text
    start, end = passage.chunk.char_start, passage.chunk.char_end
    around = limits.SEARCH_TEXT_AROUND
    return PassageView(passage, text, before=told[max(0, start - around) : start], after=told[end : end + around])


async def _sheets(request: AnyRequest, passage: Passage, first: int) -> list[PassagePage]:
    """The page on which the passage begins, and the next if it goes on there."""
    deedbox = context.of(request).deedbox
    blob = await deedbox.db.read(lambda tx: blobs_store.find(tx, passage.upload.sha256))
    try:
        read = await deedbox.pictures.text(blob) if blob else b"[]"
    except ServiceError:
        read = b"[]"  # the page is shown all the same
    lines = await asyncio.to_thread(kept_pages, read)
    pages = {
        number: lines_of(passage.chunk.text, lines[number - 1]) for number in (first, first + 1) if number <= len(lines)
    }
    if passage.chunk.ocr:
        for box in await deedbox.db.read(lambda tx: pages_store.boxes(tx, passage.upload, passage.chunk)):
            pages.setdefault(box.page, []).append(TextLine("", box.left, box.top, box.right, box.bottom))
    return [
        PassagePage(number, pages.get(number, []))
        for number in (first, first + 1)
        if number == first or pages.get(number)
    ]


def _page(
    request: AnyRequest,
    asked: SearchQuery,
    *,
    found: Answered | None = None,
    view: PassageView | None = None,
    why: str = "",
    error: ServiceError | None = None,
) -> Response[Any]:
    return app_page(
        request,
        "dashboard/search.html",
        error=error,
        asked=asked,
        found=None if found is None else [_found(asked, one) for one in found.passages],
        corrected=found.corrected if found else {},
        view=view,
        why=why,
        types=list(KINDS),
        asked_body=_body(asked),
    )


def _found(asked: SearchQuery, passage: Passage) -> FoundPassage:
    return FoundPassage(passage, excerpt(passage.chunk.text, passage.highlights), asked.path(passage=passage.id))


def _body(asked: SearchQuery) -> str:
    """What asks the API the same."""
    wanted: dict[str, Any] = {"query": asked.text or "…", "top_k": limits.SEARCH_PAGE_PASSAGES}
    if asked.mode:
        wanted["mode"] = asked.mode
    narrowed: dict[str, Any] = {"source": asked.source, "signer": asked.signer.strip()}
    narrowed["media_type"] = KINDS[asked.type].media_type if asked.type else ""
    narrowed["created_after"], narrowed["created_before"] = (
        _midnight(asked.from_day),
        _midnight(asked.to_day, after=True),
    )
    kept = {name: value for name, value in narrowed.items() if value}
    if asked.signed:
        kept["signed"] = asked.signed == "yes"
    if kept:
        wanted["filter"] = kept
    return msgspec.json.encode(wanted).decode().replace("'", "'\\''")


ROUTES = [search_page]
