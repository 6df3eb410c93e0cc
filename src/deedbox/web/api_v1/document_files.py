"""The files of a document: as it was sent, as it was sealed, and what proves it."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.signing.action_context import document_of
from deedbox.signing.store import audit
from deedbox.web.http import context, document_files, openapi
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.blob_response import PICTURE, PictureQuery
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY

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
    return {**requires("documents:read"), openapi.ANSWERS: answers, openapi.ALSO: (*errors, 416)}


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
    return await document_files.original(request, document_id, context.of(request).query.position)


@get(
    "/api/v1/documents/{document_id:str}/signed",
    opt=file_opt(PDF, 409),
    summary="The sealed PDF",
    tags=["documents"],
)
async def sealed_file(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await document_files.serve_file(request, document_id, document_files.SEALED)


@get(
    "/api/v1/documents/{document_id:str}/certificate",
    opt=file_opt(PDF, 409),
    summary="The certificate of completion",
    tags=["documents"],
)
async def completion_certificate(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await document_files.serve_file(request, document_id, document_files.CERTIFICATE)


@get(
    "/api/v1/documents/{document_id:str}/evidence",
    opt=file_opt(_EVIDENCE, 409),
    summary="The evidence file",
    tags=["documents"],
)
async def evidence_file(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await document_files.serve_file(request, document_id, document_files.EVIDENCE)


@get(
    "/api/v1/documents/{document_id:str}/audit",
    opt={**requires("documents:read"), QUERY: AuditQuery},
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
        **requires("documents:read"),
        QUERY: PictureQuery,
        openapi.ANSWERS: PICTURE,
        openapi.ALSO: (409,),
    },
    summary="A page as a picture",
    tags=["documents"],
)
async def document_page_image(request: AnyRequest, document_id: FromPath[str], page: FromPath[str]) -> Response[Any]:
    """Of the sealed file once there is one, of what will be signed before that."""
    return await document_files.page_of_document(request, document_id, page)


ROUTES = [
    original_file,
    sealed_file,
    completion_certificate,
    evidence_file,
    audit_trail,
    document_page_image,
]
