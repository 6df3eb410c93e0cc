"""The content of a document: its bytes, its text, its chunks and pictures of its pages."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from litestar.response import Stream as StreamedResponse
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.search.extract.kinds import KINDS
from deedbox.search.library import library
from deedbox.search.library.upload import Chunk, LibraryUpload
from deedbox.web.http import context, openapi
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.blob_response import PICTURE, file_response, page_number, page_picture
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY


def _opt(answers: dict[str, Any], *errors: int) -> dict[str, Any]:
    """The options of a route whose answers cannot be described from its code."""
    return {**requires("search:read"), openapi.ANSWERS: answers, openapi.ALSO: errors}


_BINARY = {"schema": {"type": "string", "format": "binary"}}
_NOT_MODIFIED = {"304": {"description": "The caller has this content: If-None-Match names its ETag"}}
_FILE = {kind.media_type: {**_BINARY} for kind in KINDS.values()}


class ChunkRecord(msgspec.Struct, frozen=True):
    chunk_id: str
    """The chunk's id: the document's and its number."""
    chunk_index: int
    """The chunk's number in the document, from 0."""
    text: str
    """The chunk's text."""
    char_start: int
    """Where the chunk begins in the document's text."""
    char_end: int
    """Where the chunk ends in the document's text."""
    page: int | None
    """The page on which the chunk begins; null where the format has no pages."""
    heading: str | None
    """The heading under which it stands; null if none."""
    ocr: bool
    """Whether any of it was read by OCR from a picture of the page: letters may be misread."""


_Sha256 = Annotated[str, Meta(min_length=64, max_length=64, pattern="^[0-9a-f]{64}$")]


class VersionQuery(msgspec.Struct, frozen=True):
    sha256: _Sha256 | UnsetType = UNSET
    """The hash of the file, as results name it. After a PUT the replaced file answers queries, and can be named here,
    until the new one is indexed. The new one unless given."""


class PageImageQuery(msgspec.Struct, frozen=True):
    sha256: _Sha256 | UnsetType = UNSET
    """The hash of the file, as results name it. The file that answers queries unless given: after a PUT, the replaced
    one until the new one is indexed."""


class TextQuery(VersionQuery, frozen=True):
    page: Annotated[int, Meta(ge=1, le=limits.TEXT_PAGE_MAX)] | UnsetType = UNSET
    """Only what stands on this page, from 1; all of it unless given."""


class ChunkQuery(PageQuery, frozen=True, kw_only=True):
    cursor: Annotated[str, cursors.number()] | UnsetType = UNSET


class ChunkPage(msgspec.Struct, frozen=True):
    chunks: list[ChunkRecord]
    """The chunks, in their order."""
    count: int
    has_more: bool
    next_cursor: str | None


@get(
    "/documents/{doc_id:str}/content",
    opt={
        **_opt(
            {
                "200": {"description": "The original bytes", "content": _FILE},
                "206": {"description": "The bytes in the Range asked for", "content": _FILE},
                **_NOT_MODIFIED,
            },
            416,
        ),
        QUERY: VersionQuery,
    },
    summary="The original bytes",
    tags=["search"],
)
async def document_content(request: AnyRequest, doc_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    deedbox, sha256 = here.deedbox, here.query.sha256 or None
    upload, blob = await deedbox.db.read(lambda tx: library.content(tx, here.reader, doc_id, sha256))
    return await file_response(request, deedbox.blobs, blob, upload.media_type, upload.filename)


@get(
    "/documents/{doc_id:str}/text",
    opt={
        **_opt({"200": {"description": "The extracted text", "content": {"text/plain": _BINARY}}}),
        QUERY: TextQuery,
    },
    summary="The extracted text, or that of a page",
    tags=["search"],
)
async def document_text(request: AnyRequest, doc_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    found = await here.deedbox.db.read(lambda tx: library.version(tx, here.reader, doc_id, here.query.sha256 or None))
    texts, plain = here.deedbox.ingest.texts, {"X-Content-Type-Options": "nosniff"}
    if here.query.page:
        return Response(await texts.page(found, here.query.page), headers=plain, media_type="text/plain")
    size, pieces = await texts.stream(found)
    return StreamedResponse(pieces, headers={**plain, "Content-Length": str(size)}, media_type="text/plain")


@get(
    "/documents/{doc_id:str}/chunks",
    opt={**requires("search:read"), QUERY: ChunkQuery},
    summary="The chunks that answer queries for the document",
    tags=["search"],
)
async def document_chunks(request: AnyRequest, doc_id: FromPath[str]) -> ChunkPage:
    here = context.of(request)
    reader, asked = here.reader, here.query
    after, most = int(asked.start) if asked.start else None, asked.limit + 1
    found = await here.deedbox.db.read(lambda tx: library.chunks(tx, reader, doc_id, after, most))
    records = [_chunk(doc_id, chunk) for chunk in found]
    return ChunkPage(*cursors.page(records, asked.limit, lambda chunk: str(chunk.chunk_index)))


@get(
    "/documents/{doc_id:str}/pages/{page:str}",
    opt={**_opt(PICTURE), QUERY: PageImageQuery},
    summary="A page of a PDF as an image; `page` is its number and `.webp`",
    tags=["search"],
)
async def page_image(request: AnyRequest, doc_id: FromPath[str], page: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    number = page_number(page)

    def find(tx: Tx) -> tuple[LibraryUpload, Blob]:
        sha256 = here.query.sha256 or library.answering_file(tx, here.reader, doc_id).sha256
        return library.content(tx, here.reader, doc_id, sha256)

    upload, blob = await here.deedbox.db.read(find)
    if upload.media_type != KINDS["pdf"].media_type:
        raise NotFound("Only PDF documents have page images, and this is none")
    if number is None or number > (upload.pages or 0):
        raise NotFound(f"The document has no such page: it has {upload.pages or 0}, from 1.webp on")
    return await page_picture(request, blob, number)


def _chunk(doc_id: str, chunk: Chunk) -> ChunkRecord:
    return ChunkRecord(
        chunk_id=f"{doc_id}_chunk_{chunk.number}",
        chunk_index=chunk.number,
        text=chunk.text,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        page=chunk.page,
        heading=chunk.heading,
        ocr=chunk.ocr,
    )


ROUTES = [document_content, document_text, document_chunks, page_image]
