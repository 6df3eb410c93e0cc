"""The files of a document for people who are signed in: pictures of its pages, and downloads."""

from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from deedbox.web.http import context, document_files
from deedbox.web.http.auth import person
from deedbox.web.http.blob_response import PictureQuery
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY


@get(
    "/app/documents/{document_id:str}/files/{file_id:str}/pages/{page:str}",
    opt={**person("documents:read"), QUERY: PictureQuery},
    include_in_schema=False,
)
async def page_of_file(
    request: AnyRequest, document_id: FromPath[str], file_id: FromPath[str], page: FromPath[str]
) -> Response[Any]:
    """The page of the file that `7.webp` names; sealed once the document is."""
    return await document_files.page_of_file(request, document_id, file_id, page)


@get("/app/documents/{document_id:str}/files/{file_id:str}", opt=person("documents:read"), include_in_schema=False)
async def original(request: AnyRequest, document_id: FromPath[str], file_id: FromPath[str]) -> Response[Any]:
    """The file as it came."""
    return await document_files.original(request, document_id, file_id)


@get("/app/documents/{document_id:str}/signed.pdf", opt=person("documents:read"), include_in_schema=False)
async def get_sealed_file(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await document_files.serve_file(request, document_id, document_files.SEALED)


@get("/app/documents/{document_id:str}/certificate.pdf", opt=person("documents:read"), include_in_schema=False)
async def certificate(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await document_files.serve_file(request, document_id, document_files.CERTIFICATE)


@get("/app/documents/{document_id:str}/evidence.json", opt=person("documents:read"), include_in_schema=False)
async def evidence(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await document_files.serve_file(request, document_id, document_files.EVIDENCE)


@get("/app/documents/{document_id:str}/packet.zip", opt=person("documents:read"), include_in_schema=False)
async def packet(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Everything of the packet that the document lies in; a lone document has none."""
    found = await context.of(request).packet_of(document_id)
    return await document_files.packet_zip(request, found.id)


ROUTES: list[Any] = [page_of_file, original, get_sealed_file, certificate, evidence, packet]
