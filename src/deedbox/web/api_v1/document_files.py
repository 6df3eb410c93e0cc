"""The files of a document: as it was sent, as it was sealed, and what proves it."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath, QueryParameter
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.signing import states
from deedbox.signing.desk import document_of
from deedbox.signing.model import Document
from deedbox.signing.store import audit, sealed
from deedbox.signing.store.sealed import SealedFile
from deedbox.web.frame import context, openapi
from deedbox.web.frame.blob_response import file_response, page_number, page_picture
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_PDF = {"application/pdf": _BINARY}


def _file_opt(content: dict[str, Any], *errors: int) -> dict[str, Any]:
    answers = {
        "200": {"description": "The file", "content": content},
        "206": {"description": "The bytes in the Range asked for", "content": content},
        "304": {"description": "The caller has this content: If-None-Match names its ETag"},
    }
    return {**door("documents:read"), openapi.ANSWERS: answers, openapi.ALSO: (*errors, 416)}


class AuditEntry(msgspec.Struct, frozen=True):
    number: int
    at: str
    act: str
    actor: Annotated[str, Meta(description="A key, a signer, or `server`.")]
    detail: dict[str, Any]
    hash: Annotated[str, Meta(description="SHA-256 over the hash before it and this row.")]


class AuditTrail(msgspec.Struct, frozen=True):
    audit: list[AuditEntry]
    count: int


@get(
    "/api/v1/documents/{document_id:str}/file",
    opt=_file_opt({"application/octet-stream": _BINARY, **_PDF}),
    summary="The original bytes",
    tags=["documents"],
)
async def original_file(
    request: AnyRequest,
    document_id: FromPath[str],
    position: Annotated[int, QueryParameter(ge=0, le=limits.DOCUMENT_FILES - 1)] = 0,
) -> Response[Any]:
    here = context.of(request)

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
    opt=_file_opt(_PDF, 409),
    summary="The sealed PDF",
    tags=["documents"],
)
async def sealed_file(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await _made(request, document_id, lambda made: made.sha256, "{title}.pdf")


@get(
    "/api/v1/documents/{document_id:str}/certificate",
    opt=_file_opt(_PDF, 409),
    summary="The certificate of completion",
    tags=["documents"],
)
async def completion_certificate(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await _made(request, document_id, lambda made: made.certificate_sha256, "{title} - certificate.pdf")


@get(
    "/api/v1/documents/{document_id:str}/evidence",
    opt=_file_opt({"application/json": _BINARY}, 409),
    summary="The evidence file",
    tags=["documents"],
)
async def evidence_file(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await _made(request, document_id, lambda made: made.evidence_sha256, "{title} - evidence.json")


@get(
    "/api/v1/documents/{document_id:str}/audit",
    opt=door("documents:read"),
    summary="The audit trail",
    tags=["documents"],
)
async def audit_trail(request: AnyRequest, document_id: FromPath[str]) -> AuditTrail:
    here = context.of(request)

    def look(tx: Tx) -> list[AuditEntry]:
        document_of(tx, here.caller.workspace_id, document_id)
        return [
            AuditEntry(one.number, one.at, one.act, one.actor, dict(one.detail), one.hash)
            for one in audit.trail(tx, document_id)
        ]

    entries = await here.deedbox.db.read(look)
    return AuditTrail(entries, len(entries))


@get(
    "/api/v1/documents/{document_id:str}/pages/{page:str}",
    opt={
        **door("documents:read"),
        openapi.ANSWERS: {"200": {"description": "The page", "content": {"image/webp": _BINARY}}},
        openapi.ALSO: (409,),
    },
    summary="A page as a picture",
    tags=["documents"],
)
async def document_page_image(
    request: AnyRequest,
    document_id: FromPath[str],
    page: FromPath[str],
    width: Annotated[int, QueryParameter(ge=100, le=limits.PAGE_WIDTH_MAX)] = limits.PAGE_IMAGE_WIDTH,
) -> Response[bytes]:
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
    picture = await page_picture(request, blob, number, width)
    headers = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(picture, media_type="image/webp", headers=headers)


async def _made(request: AnyRequest, document_id: str, which: Callable[[SealedFile], str], name: str) -> Response[Any]:
    """One of the files that sealing has made."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[Document, Blob]:
        _, document = document_of(tx, here.caller.workspace_id, document_id)
        made = sealed.find(tx, document.id)
        if made is None:
            raise Conflict(f"The document is not completed: it is {document.status}")
        return document, blobs_store.demand(tx, which(made))

    document, blob = await here.deedbox.db.read(look)
    media_type = "application/json" if name.endswith(".json") else "application/pdf"
    return await file_response(request, here.deedbox.blobs, blob, media_type, name.format(title=document.title))


ROUTES = [
    original_file,
    sealed_file,
    completion_certificate,
    evidence_file,
    audit_trail,
    document_page_image,
]
