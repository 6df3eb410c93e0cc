"""The files of a document as responses, for programs and for people who are signed in alike."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from litestar import Response

from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.signing import states
from deedbox.signing.action_context import document_of, shown_packet
from deedbox.signing.actions import change_template
from deedbox.signing.model import Document, Packet, first_page
from deedbox.signing.packet_files import NamedFile, list_all
from deedbox.signing.store import documents, sealed
from deedbox.signing.store.sealed import SealedHashes
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.blob_response import file_response, page_number, page_picture
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.zip_response import zip_response

if TYPE_CHECKING:
    from deedbox.wiring import Installation

T = TypeVar("T")


class SealedFileKind(NamedTuple):
    """One of the files that sealing makes."""

    which: Callable[[SealedHashes], str]
    """Its hash."""
    name: str
    media_type: str


SEALED = SealedFileKind(lambda made: made.sha256, "{title}.pdf", "application/pdf")
CERTIFICATE = SealedFileKind(lambda made: made.certificate_sha256, "{title} - certificate.pdf", "application/pdf")
EVIDENCE = SealedFileKind(lambda made: made.evidence_sha256, "{title} - evidence.json", "application/json")


async def original(request: AnyRequest, document_id: str, wanted: int | str) -> Response[Any]:
    """The bytes of a file as they came; it is named by its position or its id."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[str, Blob]:
        _, document = document_of(tx, here.caller.workspace_id, document_id)
        found = [file for number, file in enumerate(document.files) if wanted in (number, file.id)]
        if not found:
            raise NotFound("The document has no such file")
        return found[0].name, blobs_store.demand(tx, found[0].sha256)

    name, blob = await here.deedbox.db.read(look)
    media_type = "application/pdf" if name.lower().endswith(".pdf") else "application/octet-stream"
    return await file_response(request, here.deedbox.blobs, blob, media_type, name)


async def serve_file(request: AnyRequest, document_id: str, wanted: SealedFileKind) -> Response[Any]:
    """One of the files that sealing has made; Conflict before. While it is being made, the answer waits a moment."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[str, Blob]:
        title, status = documents.title_and_status(tx, here.caller.workspace_id, document_id)
        found = sealed.find(tx, document_id)
        if found is None:
            refused = _BeingSealed if status == "finalizing" else Conflict
            raise refused(f"The document is not completed: it is {status}")
        return title, blobs_store.demand(tx, wanted.which(found))

    try:
        title, blob = await here.deedbox.db.read(look)
    except _BeingSealed:
        title, blob = await _awaited(here.deedbox, document_id, look)
    return await file_response(request, here.deedbox.blobs, blob, wanted.media_type, wanted.name.format(title=title))


class _BeingSealed(Conflict):
    """In a moment it would not be refused."""


async def _awaited(deedbox: "Installation", document_id: str, look: Callable[[Tx], T]) -> T:
    """What is found when the document is completed, or after a while."""
    with deedbox.awaited.completion_of(document_id) as completion:
        try:
            # Once more: it may have been completed before anyone listened.
            return await deedbox.db.read(look)
        except _BeingSealed:
            if completion is None:
                raise
            await completion.news(limits.SEAL_WAIT_SECONDS)
    return await deedbox.db.read(look)


async def page_of_document(request: AnyRequest, document_id: str, page: str) -> Response[Any]:
    """The page that `7.webp` names: of the sealed file once there is one, of what will be signed before that."""
    return await _picture(request, document_id, lambda _: _number(page))


async def page_of_file(request: AnyRequest, document_id: str, file_id: str, page: str) -> Response[Any]:
    """The same, the pages of each file counted from 1."""

    def position(document: Document) -> int:
        found = [file for file in document.files if file.id == file_id]
        if not found or _number(page) > found[0].pages:
            raise NotFound("There is no such page")
        return first_page(document, file_id) + _number(page)

    return await _picture(request, document_id, position)


async def page_of_template(request: AnyRequest, template_id: str, file_id: str, page: str) -> Response[Any]:
    """The page of a template's file, in the version that the query names, or the newest."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[int, Blob]:
        template = change_template.find(tx, here.caller.workspace_id, template_id, here.query.version or None)
        files, number = template.content.files, _number(page)
        at = next((at for at, file in enumerate(files) if file.id == file_id), None)
        if template.paper_sha256 is None:
            raise Conflict(f"The template is not ready: it is {template.status}")
        if at is None or number > files[at].pages:
            raise NotFound("There is no such page")
        return sum(file.pages for file in files[:at]) + number, blobs_store.demand(tx, template.paper_sha256)

    number, blob = await here.deedbox.db.read(look)
    return await page_picture(request, blob, number, here.query.width)


async def packet_zip(request: AnyRequest, packet_id: str) -> Response[Any]:
    """Everything that there is of a packet in one zip file."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[Packet, list[NamedFile]]:
        packet = shown_packet(tx, here.caller.workspace_id, packet_id)
        return packet, list_all(tx, packet)

    packet, files = await here.deedbox.db.read(look)
    return await zip_response(request, files, packet.title)


async def packet_certificate(request: AnyRequest, packet_id: str) -> Response[Any]:
    """The one certificate of all documents; Conflict before they are completed."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[Packet, Blob]:
        packet = shown_packet(tx, here.caller.workspace_id, packet_id)
        if packet.certificate_sha256 is None:
            raise Conflict(f"The packet is not completed: it is {packet.status}")
        return packet, blobs_store.demand(tx, packet.certificate_sha256)

    packet, blob = await here.deedbox.db.read(look)
    name = f"{packet.title} - certificate.pdf"
    return await file_response(request, here.deedbox.blobs, blob, "application/pdf", name)


async def _picture(request: AnyRequest, document_id: str, position: Callable[[Document], int]) -> Response[Any]:
    here = context.of(request)

    def look(tx: Tx) -> tuple[int, Blob]:
        _, document = document_of(tx, here.caller.workspace_id, document_id)
        number, found = position(document), sealed.find(tx, document.id)
        shown = found.sha256 if found else document.paper_sha256
        if shown is None:
            raise states.refusal(document.status)
        return number, blobs_store.demand(tx, shown)

    number, blob = await here.deedbox.db.read(look)
    return await page_picture(request, blob, number, here.query.width)


def _number(page: str) -> int:
    number = page_number(page)
    if number is None:
        raise NotFound("There is no such page")
    return number
