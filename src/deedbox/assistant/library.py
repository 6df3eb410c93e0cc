"""Tools for the library: search it, read in it, list it."""

from typing import Annotated, Any, Literal

import msgspec

from deedbox.assistant import limits
from deedbox.assistant.api import Api, answer, get, post
from deedbox.assistant.tool import Cursor, LibraryId, Limit, Tool, ToolOutcome, describe
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.collection import CollectionName

_FILTER = (
    'Only documents that are so: flat fields such as {"filename": "lease.pdf", "signed": true}, comparisons such as'
    ' {"field": "metadata.year", "op": "gte", "value": 2024} (eq, ne, in, gt, gte, lt, lte, exists), joined with'
    ' {"and": […]}, {"or": […]}, {"not": …}.'
)


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, describe("The question, or words.", min_length=1, max_length=shared_limits.QUERY_CHARS)]
    top_k: Annotated[int, describe("How many passages.", ge=1, le=limits.TOOL_PASSAGES)] = limits.TOOL_PASSAGES_DEFAULT
    collections: (
        Annotated[
            list[CollectionName], describe("Only these.", min_length=1, max_length=shared_limits.QUERY_COLLECTIONS)
        ]
        | None
    ) = None
    filter: Annotated[dict[str, Any], describe(_FILTER)] | None = None
    mode: Annotated[Literal["hybrid", "semantic", "keyword"], describe("What decides: meaning, words, or both.")] = (
        "hybrid"
    )


class PassageSummary(msgspec.Struct, frozen=True):
    doc_id: str
    filename: str
    passage: Annotated[int, describe("Its number in the document, from 0.")]
    page: int | None
    heading: str | None
    text: str
    relevance: Annotated[float, describe("From 0 to 1.")]
    collection: str
    signed: Annotated[bool, describe("Whether the file was sealed here.")]
    document_id: Annotated[str | None, describe("The signed document whose sealed file it is.")]


class SearchAnswer(msgspec.Struct, frozen=True):
    passages: list[PassageSummary]


class _Place(msgspec.Struct):
    doc_id: str
    filename: str
    chunk_index: int
    page: int | None
    heading: str | None
    signed: bool
    document_id: str | None


class _Lies(msgspec.Struct):
    collection: str


class _Result(msgspec.Struct):
    text: str
    relevance: float
    metadata: _Place
    document: _Lies


class _Results(msgspec.Struct):
    results: list[_Result]


async def search(api: Api, wanted: Search) -> ToolOutcome:
    given = {name: value for name, value in msgspec.structs.asdict(wanted).items() if value is not None}
    heard = await answer(api, post("/query", given), _Results)
    found = SearchAnswer([_passage(result) for result in heard.results])
    lines = [f"{number}. {_where(one)}" for number, one in enumerate(found.passages, 1)]
    said = "\n".join([f"{len(lines)} passages, best first:", *lines]) if lines else "No results found."
    return ToolOutcome(found, said, [_shown(one.filename, one.heading, one.text) for one in found.passages])


def _passage(result: _Result) -> PassageSummary:
    place = result.metadata
    return PassageSummary(
        doc_id=place.doc_id,
        filename=place.filename,
        passage=place.chunk_index,
        page=place.page,
        heading=place.heading,
        text=result.text,
        relevance=result.relevance,
        collection=result.document.collection,
        signed=place.signed,
        document_id=place.document_id,
    )


def _where(found: PassageSummary) -> str:
    page = "" if found.page is None else f", page {found.page}"
    signed = ", signed" if found.signed else ""
    return f"{found.doc_id}, passage {found.passage}{page}{signed}, relevance {found.relevance:.2f}"


def _shown(filename: str, heading: str | None, text: str) -> str:
    return f"{filename} – {heading}\n{text}" if heading else f"{filename}\n{text}"


class ReadPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    doc_id: LibraryId
    page: Annotated[int, describe("The page, from 1.", ge=1, le=shared_limits.TEXT_PAGE_MAX)]
    start: Annotated[int, describe("How many characters to pass over.", ge=0, le=shared_limits.EXTRACTED_CHARS)] = 0


class PageTextAnswer(msgspec.Struct, frozen=True):
    doc_id: str
    page: int
    text: str
    next_start: Annotated[int | None, describe("Where the page goes on; null at its end.")]


async def read_page(api: Api, wanted: ReadPage) -> ToolOutcome:
    content = await api.ask(get(f"/documents/{wanted.doc_id}/text", page=wanted.page))
    text, end = content.decode(), wanted.start + limits.TOOL_PAGE_CHARS
    more = end if end < len(text) else None
    told = PageTextAnswer(wanted.doc_id, wanted.page, text[wanted.start : end], more)
    said = f"Page {wanted.page} of {wanted.doc_id}" + ("." if more is None else f"; it goes on at start {more}.")
    return ToolOutcome(told, said, [told.text])


class ReadPassages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    doc_id: LibraryId
    first: Annotated[
        int, describe("The number of the first passage, from 0.", ge=0, le=shared_limits.TEXT_PAGE_MAX)
    ] = 0
    count: Annotated[int, describe("How many.", ge=1, le=limits.TOOL_PASSAGES)] = limits.TOOL_PASSAGES_DEFAULT


class TextPart(msgspec.Struct, frozen=True):
    passage: Annotated[int, describe("Its number in the document, from 0.")]
    page: int | None
    heading: str | None
    text: str


class TextParts(msgspec.Struct, frozen=True):
    doc_id: str
    passages: list[TextPart]
    next_first: Annotated[int | None, describe("Where the document goes on; null at its end.")]


class _Chunk(msgspec.Struct):
    chunk_index: int
    page: int | None
    heading: str | None
    text: str


class _Chunks(msgspec.Struct):
    chunks: list[_Chunk]
    has_more: bool


async def read_passages(api: Api, wanted: ReadPassages) -> ToolOutcome:
    # A cursor of this list is the number of the last one shown.
    after = str(wanted.first - 1) if wanted.first else None
    heard = await answer(api, get(f"/documents/{wanted.doc_id}/chunks", limit=wanted.count, cursor=after), _Chunks)
    parts = [TextPart(one.chunk_index, one.page, one.heading, one.text) for one in heard.chunks]
    following = parts[-1].passage + 1 if heard.has_more else None
    numbers = f"passages {parts[0].passage} to {parts[-1].passage}" if parts else "no passages (is it indexed?)"
    said = f"{numbers} of {wanted.doc_id}" + ("." if following is None else f"; the next is {following}.")
    shown = [one.text if one.heading is None else f"{one.heading}\n{one.text}" for one in parts]
    return ToolOutcome(TextParts(wanted.doc_id, parts, following), said, shown)


class ListDocuments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Limit = limits.TOOL_ITEMS_DEFAULT
    cursor: Cursor | None = None
    collection: Annotated[CollectionName, describe("Only those in this collection.")] | None = None


class Listed(msgspec.Struct, frozen=True):
    doc_id: str
    filename: str
    collection: str
    status: Annotated[str, describe("uploaded, indexing, indexed or failed.")]
    pages: int | None
    chunks: Annotated[int, describe("Passages that answer queries.")]
    created_at: str
    document_id: Annotated[str | None, describe("The signed document whose sealed file it is.")]
    metadata: dict[str, Any]


class Documents(msgspec.Struct, frozen=True):
    documents: list[Listed]
    next_cursor: str | None


async def list_documents(api: Api, wanted: ListDocuments) -> ToolOutcome:
    asked = get("/documents", limit=wanted.limit, cursor=wanted.cursor, collection=wanted.collection)
    heard = await answer(api, asked, Documents)
    lines = [f"{one.doc_id} {one.status}: {one.filename}" for one in heard.documents]
    said = f"{len(lines)} documents, oldest first" + ("." if heard.next_cursor is None else "; there are more.")
    return ToolOutcome(heard, said, ["\n".join(lines)] if lines else [])


TOOLS = [
    Tool(
        "search",
        "Search the documents",
        "Finds the passages of the library that answer a question best, with their document, page and relevance."
        ' A "phrase" in quotes must stand in the passage, a -word must not.',
        "search:query",
        Search,
        SearchAnswer,
        search,
    ),
    Tool(
        "read_page",
        "Read a page",
        "The text of one page of a document of the library. Formats without pages are read with read_passages.",
        "search:read",
        ReadPage,
        PageTextAnswer,
        read_page,
    ),
    Tool(
        "read_passages",
        "Read passages",
        "Passages of a document of the library in their order, for example those around one that search found."
        " Neighbours overlap a little.",
        "search:read",
        ReadPassages,
        TextParts,
        read_passages,
    ),
    Tool(
        "list_documents",
        "List the documents",
        "Documents of the library, oldest first, page by page.",
        "search:read",
        ListDocuments,
        Documents,
        list_documents,
    ),
]
