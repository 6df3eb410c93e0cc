"""The files of a packet: everything as a zip file, and the one certificate of all its documents."""

from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from deedbox.web.api_v1.document_files import PDF, file_opt
from deedbox.web.http import document_files, openapi
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.zip_response import ZIP_ANSWERS


@get(
    "/api/v1/packets/{packet_id:str}/zip",
    opt={**requires("documents:read"), openapi.ANSWERS: ZIP_ANSWERS, openapi.ALSO: (413,)},
    summary="Everything in one zip file",
    tags=["packets"],
)
async def packet_zip(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """A folder for each document with its originals and, once it is sealed, the sealed PDF, its certificate of
    completion and its evidence; beside them the certificate of the whole packet. Until then, what there is."""
    return await document_files.packet_zip(request, packet_id)


@get(
    "/api/v1/packets/{packet_id:str}/certificate",
    opt=file_opt(PDF, 409),
    summary="The certificate of completion of all documents",
    tags=["packets"],
)
async def packet_certificate(request: AnyRequest, packet_id: FromPath[str]) -> Response[Any]:
    """It lists the documents with their hashes and everyone who signed once, and is sealed like each document's."""
    return await document_files.packet_certificate(request, packet_id)


ROUTES = [packet_zip, packet_certificate]
