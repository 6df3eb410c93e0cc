"""The files of a document: as it was sent, as it was sealed, and what proves it."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.signing import states
from deedbox.signing.desk import document_of
from deedbox.signing.store import audit, documents, sealed
from deedbox.signing.store.sealed import SealedFile
from deedbox.web.frame import context, openapi
from deedbox.web.frame import cursor as cursors
from deedbox.web.frame.blob_response import PICTURE, PictureQuery, file_response, page_number, page_picture
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.cursor import PageQuery
from deedbox.web.frame.doors import door
from deedbox.web.frame.query import QUERY

_BINARY = {"schema": {"type": "string", "format": "binary"}}
PDF = {"application/pdf": _BINARY}
_EVIDENCE = {"application/json": {"schema": {"type": "object"}, "example": {"format": "deedbox-evidence/1"}}}


def file_opt(content: dict[str, Any], *errors: int) -> dict[str, Any]:
    """The `opt` of a route that gives a stored file."""
    answers = {
        "200": {"description": "The file", "content": content},
        "206": {"description": "The bytes in the Range asked for", "content": content},
        "304": {"description": "The caller has this content: If-None-Match names its ETag"},
    }
    return {**door("documents:read"), openapi.ANSWERS: answers, openapi.ALSO: (*errors, 416)}


class AuditEntry(msgspec.Struct, frozen=True):
    number: int
    """The row's number in the trail, from 1."""
    at: str
    """When it happened."""
    act: str
    """What happened."""
    actor: str
    """A key, a signer, or `server`."""
    detail: dict[str, Any]
    """What is known of it, such as an address or a device."""
    hash: str
    """SHA-256 over the hash before it and this row."""


class FileQuery(msgspec.Struct, frozen=True):
    position: Annotated[int, Meta(ge=0, le=limits.DOCUMENT_FILES - 1)] = 0
    """Which of the files, from 0."""


class AuditQuery(PageQuery, frozen=True, kw_only=True):
    cursor: Annotated[str, cursors.number()] | UnsetType = UNSET


class AuditTrail(msgspec.Struct, frozen=True):
    audit: list[AuditEntry]
    """The rows, oldest first."""
    count: int
    has_more: bool
    next_cursor: str | None


@get(
    "/api/v1/documents/{document_id:str}/file",
    opt={**file_opt({"application/octet-stream": _BINARY, **PDF}), QUERY: FileQuery},
    summary="The original bytes",
    tags=["documents"],
)
async def original_file(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    position = here.query.position

    def look(tx: Tx) -> tuple[str, Blob]:
        _, document = document_of(tx, here.caller.workspace_id, document_id)
        if position >= len(document.files):
            raise NotFound("The document has no such file")
        file = document.files[position]
        return file.name, blobs_store.demand(tx, file.sha256)

    name, blob = await here.deedbox.db.read(look)
    media_type = "application/pdf" if name.lower().endswith(".pdf") else "application/octet-stream"
    return await file_response(request, here.deedbox.blobs, blob, media_type, name)


@get(
    "/api/v1/documents/{document_id:str}/signed",
    opt=file_opt(PDF, 409),
    summary="The sealed PDF",
    tags=["documents"],
)
async def sealed_file(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await _made(request, document_id, lambda made: made.sha256, "{title}.pdf")


@get(
    "/api/v1/documents/{document_id:str}/certificate",
    opt=file_opt(PDF, 409),
    summary="The certificate of completion",
    tags=["documents"],
)
async def completion_certificate(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await _made(request, document_id, lambda made: made.certificate_sha256, "{title} - certificate.pdf")


@get(
    "/api/v1/documents/{document_id:str}/evidence",
    opt=file_opt(_EVIDENCE, 409),
    summary="The evidence file",
    tags=["documents"],
)
async def evidence_file(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await _made(request, document_id, lambda made: made.evidence_sha256, "{title} - evidence.json")


@get(
    "/api/v1/documents/{document_id:str}/audit",
    opt={**door("documents:read"), QUERY: AuditQuery},
    summary="The audit trail, oldest row first",
    tags=["documents"],
)
async def audit_trail(request: AnyRequest, document_id: FromPath[str]) -> AuditTrail:
    here = context.of(request)
    asked: AuditQuery = here.query

    def look(tx: Tx) -> list[AuditEntry]:
        document_of(tx, here.caller.workspace_id, document_id)
        return [
            AuditEntry(one.number, one.at, one.act, one.actor, dict(one.detail), one.hash)
            for one in audit.page(tx, document_id, int(asked.start or 0), asked.limit + 1)
        ]

    entries = await here.deedbox.db.read(look)
    return AuditTrail(*cursors.page(entries, asked.limit, lambda entry: str(entry.number)))


@get(
    "/api/v1/documents/{document_id:str}/pages/{page:str}",
    opt={
        **door("documents:read"),
        QUERY: PictureQuery,
        openapi.ANSWERS: PICTURE,
        openapi.ALSO: (409,),
    },
    summary="A page as a picture",
    tags=["documents"],
)
async def document_page_image(request: AnyRequest, document_id: FromPath[str], page: FromPath[str]) -> Response[Any]:
    """Of the sealed file once there is one, of what will be signed before that."""
    here = context.of(request)
    number = page_number(page)
    if number is None:
        raise NotFound("There is no such page")

    def look(tx: Tx) -> Blob:
        _, document = document_of(tx, here.caller.workspace_id, document_id)
        made = sealed.find(tx, document.id)
        shown = made.sha256 if made else document.paper_sha256
        if shown is None:
            raise states.refusal(document.status)
        return blobs_store.demand(tx, shown)

    blob = await here.deedbox.db.read(look)
    return await page_picture(request, blob, number, here.query.width)


async def _made(request: AnyRequest, document_id: str, which: Callable[[SealedFile], str], name: str) -> Response[Any]:
    """One of the files that sealing has made."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[str, Blob]:
        title, status = documents.title_and_status(tx, here.caller.workspace_id, document_id)
        made = sealed.find(tx, document_id)
        if made is None:
            raise Conflict(f"The document is not completed: it is {status}")
        return title, blobs_store.demand(tx, which(made))

    title, blob = await here.deedbox.db.read(look)
    media_type = "application/json" if name.endswith(".json") else "application/pdf"
    return await file_response(request, here.deedbox.blobs, blob, media_type, name.format(title=title))


ROUTES = [
    original_file,
    sealed_file,
    completion_certificate,
    evidence_file,
    audit_trail,
    document_page_image,
]
