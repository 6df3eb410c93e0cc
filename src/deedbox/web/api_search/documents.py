"""Documents to be searched: upload, list, show, file, replace, delete."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, Literal, cast

import msgspec
from litestar import Response, delete, get, patch, post, put
from litestar.params import FromPath, JSONBody
from litestar.response import Stream as StreamedResponse
from msgspec import UNSET, UnsetType

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.collection import CollectionName
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.kinds import kind_of
from deedbox.search.library import library
from deedbox.search.library.filing import Filing, FilingChange
from deedbox.search.library.library import ParsedFile
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.store import UploadSummary
from deedbox.search.library.upload import LibraryUpload, MetadataValue, Status
from deedbox.search.ocr import COMMAND
from deedbox.web import limits
from deedbox.web.http import body, context, multipart, once, openapi, upload, write_back
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.blob_response import join, patiently
from deedbox.web.http.context import AnyRequest, Context
from deedbox.web.http.cursor import Limit
from deedbox.web.http.query import QUERY
from deedbox.web.http.upload import Beside, FormPart
from deedbox.web.http.write_back import WRITES

_encode = msgspec.json.Encoder().encode


class UploadRecord(msgspec.Struct, frozen=True):
    doc_id: str
    """The document's id."""
    filename: str
    """The name that it came with."""
    size_bytes: int
    """How many bytes came."""
    text_length: int
    """Characters of the extracted text; 0 for a signed document that was not read yet."""
    hidden_length: int
    """Characters that the file holds and does not show, such as hidden rows or white text; they are not indexed."""
    status: Status
    """Whether it answers queries yet."""
    error: str | None
    """Why indexing failed."""
    sha256: str
    """The SHA-256 of the bytes."""
    version: int
    """1, and one more with each PUT."""
    media_type: str
    """What kind of file it is."""
    pages: int | None
    """Null where the format has no pages."""
    chunks: int
    """Chunks that answer queries now."""
    created_at: str
    """When it was uploaded."""
    indexed_at: str | None
    """When it was last indexed; null: never."""
    stale: bool
    """Whether its chunks were made by another model or chunker."""
    document_id: str | None
    """The document of the signing API whose sealed file it is; null for what was uploaded."""
    collection: str
    """The collection that it lies in."""
    metadata: dict[str, MetadataValue]
    """Values by name, as they were given."""


class LibraryQuery(msgspec.Struct, frozen=True):
    limit: Limit | UnsetType = UNSET
    """How many to show at most; without it, all."""
    cursor: Annotated[str, cursors.of("upl")] | UnsetType = UNSET
    collection: CollectionName | UnsetType = UNSET
    """Only those in this collection."""


class DocumentList(msgspec.Struct, frozen=True):
    documents: list[UploadRecord]
    """The documents, oldest first."""
    count: int
    has_more: bool
    next_cursor: str | None


class Uploaded(msgspec.Struct, frozen=True):
    status: Literal["success"]
    doc_id: str
    """The document's id."""
    filename: str
    """The name that it came with, made clean."""
    size_bytes: int
    """How many bytes came."""
    text_length: int
    """Characters of the extracted text."""
    message: str
    """What to do next."""


_FORM: dict[str, Any] = {
    "opt": {**requires("search:write"), multipart.FORM: upload.ONE_FILE},
    "tags": ["search"],
    "status_code": 200,
    "request_max_body_size": None,
}
"""The body is bounded while it is read, with a message of its own."""
_FILED_FORM: dict[str, Any] = {
    **upload.ONE_FILE,
    "schema": {
        **upload.ONE_FILE["schema"],
        "properties": {
            **upload.ONE_FILE["schema"]["properties"],
            "collection": {
                "type": "string",
                "minLength": 1,
                "maxLength": shared_limits.COLLECTION_CHARS,
                "pattern": shared_limits.COLLECTION_PATTERN,
                "description": "The collection to put it into; by default `default`, or the first of the key's own"
                " where that is not among them.",
            },
            "metadata": {
                "type": "string",
                "maxLength": limits.SIGNING_FORM_BYTES,
                "description": f"A JSON object of at most {shared_limits.UPLOAD_VALUES} values by name: "
                "texts, ISO dates,"
                ' numbers, true or false, such as `{"year": 2026, "kind": "lease"}`.',
            },
        },
    },
}


@post(
    "/documents/upload",
    summary="Upload and parse a document",
    **{**_FORM, "opt": {**_FORM["opt"], multipart.FORM: _FILED_FORM, openapi.MAKES: {"doc_id": "/doc_id"}}},
)
async def upload_document(request: AnyRequest) -> Response[Uploaded]:
    here = context.of(request)
    workspace, now = here.caller.workspace_id, here.deedbox.clock.now()
    beside = Beside("collection", "metadata")
    with once.claim(request):
        async with upload.one_file(request, here.deedbox.blobs, kind_of, page=beside) as part:
            filing = _filing(beside, here.reader)
            content = f"{part.received.blob.sha256}\n{part.filename}\n".encode() + _encode(filing)
            async with _parsed(here, part) as file:

                def add(tx: Tx) -> Uploaded:
                    reads = here.deedbox.ingest.texts.reads_pictures
                    return _uploaded(library.add(tx, workspace, file, filing, now=now), reads)

                answer: Response[Any] = await once.claim_once(request, add, status=200, content=content)
                return answer


def _filing(beside: Beside, reader: SearchReader) -> Filing:
    """What the form says of where the document belongs; Forbidden if the reader can put nothing there."""
    given: dict[str, Any] = {"collection": reader.collection}
    if (collection := beside.text("collection")) is not None:
        given["collection"] = collection
    if (metadata := beside.text("metadata")) is not None:
        try:
            given["metadata"] = msgspec.json.decode(metadata)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadRequest("metadata: it is not a JSON object") from error
    filing = body.of_kind(Filing, given)
    reader.need(filing.collection)
    library.need_open(filing.collection)
    return filing


@get(
    "/documents",
    opt={**requires("search:read"), QUERY: LibraryQuery},
    summary="List all documents, oldest first, or a page of them",
    tags=["search"],
)
async def list_uploads(request: AnyRequest) -> Response[DocumentList]:
    here = context.of(request)
    asked: LibraryQuery = here.query
    reader, after, recipe = here.reader, asked.cursor or None, here.deedbox.search.recipe
    collection = asked.collection or None
    if asked.limit is UNSET:
        pieces = _in_pieces(here, after, collection)
        # Asked for here, so that what fails at once is an error and not half an answer.
        first = await anext(pieces)
        each, in_all = limits.DOWNLOAD_STALL_SECONDS, limits.DOWNLOAD_SECONDS
        told = patiently(here, join(first, pieces), each=each, in_all=in_all)
        return cast(Response[DocumentList], StreamedResponse(told, media_type="application/json"))
    limit = asked.limit
    found = await here.deedbox.db.read(lambda tx: library.page(tx, reader, after, limit + 1, collection))
    records = [_record(one, recipe) for one in found]
    return Response(DocumentList(*cursors.page(records, limit, lambda document: document.doc_id)))


async def _in_pieces(here: Context, after: str | None, collection: str | None) -> AsyncIterator[bytes]:
    """Every document after this one, as the JSON of a list that is never held as a whole."""
    reader, recipe = here.reader, here.deedbox.search.recipe

    def batch(tx: Tx) -> list[UploadSummary]:
        return library.page(tx, reader, after, shared_limits.LIST_BATCH, collection)

    begun, count = _encode(DocumentList([], 0, False, None)).partition(b"]")[0], 0
    while found := await here.deedbox.db.read_aside(batch):
        yield begun + b",".join(_encode(_record(one, recipe)) for one in found)
        await asyncio.sleep(0)  # a read may take no turn of the loop, and a caller who is fast none either
        begun, count, after = b",", count + len(found), found[-1].upload.id
    end = b"]" + _encode(DocumentList([], count, False, None)).partition(b"]")[2]
    yield end if count else begun + end


@get("/documents/{doc_id:str}", opt=requires("search:read"), summary="One document's record", tags=["search"])
async def show_document(request: AnyRequest, doc_id: FromPath[str]) -> UploadRecord:
    here = context.of(request)
    found = await here.deedbox.db.read(lambda tx: library.find(tx, here.reader, doc_id))
    return _record(found, here.deedbox.search.recipe)


@patch(
    "/documents/{doc_id:str}",
    opt={**requires("search:write"), WRITES: (FilingChange, UploadRecord)},
    summary="Change a document's name, collection or metadata",
    tags=["search"],
)
async def file_document(request: AnyRequest, doc_id: FromPath[str], data: JSONBody[dict[str, Any]]) -> UploadRecord:
    """Nothing is read or indexed again: the very next query knows it."""
    here = context.of(request)
    reader, recipe = here.reader, here.deedbox.search.recipe
    write_back.check(data, FilingChange, UploadRecord)

    def change(tx: Tx) -> UploadRecord:
        shown = _record(library.find(tx, reader, doc_id), recipe)
        wanted = write_back.changes(data, shown, FilingChange)
        return shown if wanted is None else _record(library.file(tx, reader, doc_id, _named(wanted)), recipe)

    return await here.deedbox.db.write(change)


def _named(wanted: FilingChange) -> FilingChange:
    """With the name made clean, as that of an upload is."""
    if wanted.filename is UNSET:
        return wanted
    return msgspec.structs.replace(wanted, filename=multipart.clean(wanted.filename))


@put(
    "/documents/{doc_id:str}",
    summary="Replace a document's content",
    **{**_FORM, "opt": {**_FORM["opt"], openapi.ALSO: (409,)}},
)
async def replace_document(request: AnyRequest, doc_id: FromPath[str]) -> Uploaded:
    """The old chunks answer until the new content is indexed. The sealed file of a document stays: 409."""
    here = context.of(request)
    deedbox, reader, now = here.deedbox, here.reader, here.deedbox.clock.now()
    multipart.need_form(request)
    await deedbox.db.read(lambda tx: library.replaceable(tx, reader, doc_id))  # if not, refused unread
    async with upload.one_file(request, deedbox.blobs, kind_of) as part, _parsed(here, part) as file:
        reads = deedbox.ingest.texts.reads_pictures
        return _uploaded(await deedbox.db.write(lambda tx: library.replace(tx, reader, doc_id, file, now=now)), reads)


@delete(
    "/documents/{doc_id:str}",
    opt=requires("search:write"),
    summary="Delete a document, its text and its chunks",
    tags=["search"],
)
async def delete_document(request: AnyRequest, doc_id: FromPath[str]) -> None:
    here = context.of(request)
    now = here.deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: library.remove(tx, here.reader, doc_id, now=now))


def _parsed(here: Context, part: FormPart) -> AbstractAsyncContextManager[ParsedFile]:
    texts = here.deedbox.ingest.texts
    return texts.parsed(here.caller.workspace_id, part.filename, kind_of(part.filename), part.received)


def _uploaded(upload: LibraryUpload, reads_pictures: bool) -> Uploaded:
    message = "Document uploaded and parsed. Call POST /documents/index to build the search index."
    if not upload.text_length and upload.pages and reads_pictures:
        message = "Document uploaded. It has no text but what its pictures show, which POST /documents/index reads."
    elif not upload.text_length:
        message = "Document uploaded, but no text was found in it (it may be a scan), so it cannot be indexed."
        if upload.pages:
            message += f" Scans are read where OCR is installed: {COMMAND}"
    return Uploaded("success", upload.id, upload.filename, upload.size_bytes, upload.text_length, message)


def _record(described: UploadSummary, recipe: str | None) -> UploadRecord:
    upload = described.upload
    return UploadRecord(
        doc_id=upload.id,
        filename=upload.filename,
        size_bytes=upload.size_bytes,
        text_length=upload.text_length,
        hidden_length=upload.hidden_length,
        status=upload.status,
        error=upload.error,
        sha256=upload.sha256,
        version=upload.revision,
        media_type=upload.media_type,
        pages=upload.pages,
        chunks=described.chunks,
        created_at=upload.created_at,
        indexed_at=upload.indexed_at,
        stale=described.recipe is not None and recipe is not None and described.recipe != recipe,
        document_id=upload.document_id,
        collection=upload.collection,
        metadata=dict(upload.metadata),
    )


ROUTES = [upload_document, list_uploads, show_document, file_document, replace_document, delete_document]
