"""The files of a packet: everything as a zip file, and the one certificate of all its documents."""

from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict
from deedbox.signing.desk import shown_packet
from deedbox.signing.model import Packet
from deedbox.web.api_v1.document_files import PDF, file_opt
from deedbox.web.frame import context, document_files, openapi
from deedbox.web.frame.blob_response import file_response
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door
from deedbox.web.frame.zip_response import ZIP_ANSWERS


@get(
    "/api/v1/packets/{packet_id:str}/zip",
    opt={**door("documents:read"), openapi.ANSWERS: ZIP_ANSWERS, openapi.ALSO: (413,)},
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
    here = context.of(request)

    def look(tx: Tx) -> tuple[Packet, Blob]:
        packet = shown_packet(tx, here.caller.workspace_id, packet_id)
        if packet.certificate_sha256 is None:
            raise Conflict(f"The packet is not completed: it is {packet.status}")
        return packet, blobs_store.demand(tx, packet.certificate_sha256)

    packet, blob = await here.deedbox.db.read(look)
    return await file_response(
        request, here.deedbox.blobs, blob, "application/pdf", f"{packet.title} - certificate.pdf"
    )


ROUTES = [packet_zip, packet_certificate]
