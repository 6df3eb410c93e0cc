"""Packets of documents that are signed together: made, shown, changed, and deleted while they are drafts."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from typing import Annotated, Any, ClassVar, NamedTuple

from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.constraints import Constraints
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.kernel.redacted import Redacted
from deedbox.signing.actions.change_packet import prepare as prepared_change
from deedbox.signing.actions.change_packet import refuse_at_once
from deedbox.signing.actions.create_packet import prepare as prepared_packet
from deedbox.signing.actions.delete import delete as delete_drafts
from deedbox.signing.model import Packet
from deedbox.signing.new_document import FilePassword, NewFile
from deedbox.signing.new_packet import NewPacket, NewPacketDocument, PacketChange
from deedbox.web.api_v1.new_files import FILES_OR_TEMPLATE, FileName, NewFileBody, store_file
from deedbox.web.api_v1.packet_record import PacketRecord, packet_record
from deedbox.web.http import context, multipart, once, openapi, upload, write_back
from deedbox.web.http.auth import requires
from deedbox.web.http.body import READS, decode_as, need_json
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.write_back import WRITES


class NewPacketDocumentBody(NewPacketDocument, frozen=True, forbid_unknown_fields=True, kw_only=True):
    constraints: ClassVar[Constraints] = (FILES_OR_TEMPLATE, *NewPacketDocument.constraints)

    file: NewFileBody | None = None
    """The one file of the document."""
    files: Annotated[Sequence[NewFileBody], Meta(max_length=limits.DOCUMENT_FILES)] = []
    """The files of the document, if it has several; they are signed as one."""

    def sources(self) -> Sequence[NewFileBody]:
        """The files that the body itself carries."""
        return [self.file] if self.file is not None else self.files


class NewPacketBody(NewPacket, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new packet in JSON; its files come with it, or as parts of a form."""

    documents: Annotated[Sequence[NewPacketDocumentBody], Meta(min_length=1, max_length=limits.PACKET_DOCUMENTS)]
    """What is signed together, in the order in which it is shown."""


class PartName(Redacted, frozen=True, forbid_unknown_fields=True):
    """The part of the form that is a file of the document."""

    name: FileName
    """The name of the part's file."""
    password: FilePassword | None = None
    """Opens a PDF that is locked. It is used once and kept nowhere."""


class FormPacketDocument(NewPacketDocument, frozen=True, forbid_unknown_fields=True, kw_only=True):
    files: Annotated[Sequence[PartName], Meta(max_length=limits.DOCUMENT_FILES)] = []
    """The parts that are its files, by their names. Where no document names any, each has one, in their order."""


class FormPacketBody(NewPacket, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new packet in a form, whose files are parts of their own."""

    documents: Annotated[Sequence[FormPacketDocument], Meta(min_length=1, max_length=limits.PACKET_DOCUMENTS)]
    """What is signed together, in the order in which it is shown."""

    def received(self, parts: Sequence[upload.FormPart]) -> list[list[NewFile]]:
        """The parts as files of each document; BadRequest unless each part is a file of exactly one."""
        if not any(document.files for document in self.documents):
            return self._in_order(parts)
        by_name = {part.filename: part for part in parts}
        wanted = [multipart.clean(file.name) for document in self.documents for file in document.files]
        for name in [*wanted, *by_name]:
            times, named = sum(part.filename == name for part in parts), wanted.count(name)
            if (times, named) != (1, 1):
                raise BadRequest(
                    f"{name}: {times} parts `file` have that name, and {named} documents name it in their `files`; it"
                    " must be one each"
                )
        return [
            [
                NewFile(name, by_name[name].received, Secret(file.password) if file.password else None)
                for file in document.files
                for name in [multipart.clean(file.name)]
            ]
            for document in self.documents
        ]

    def _in_order(self, parts: Sequence[upload.FormPart]) -> list[list[NewFile]]:
        """A part for each document that is not made from a template."""
        needing = sum(document.template_id is None for document in self.documents)
        if len(parts) != needing:
            raise BadRequest(
                f"The form has {len(parts)} parts `file` for {needing} documents. Send one for each, in their order, or"
                " name in `files` of each document the parts that are its files."
            )
        rest = iter(parts)
        return [
            [] if document.template_id else [NewFile(part.filename, part.received) for part in islice(rest, 1)]
            for document in self.documents
        ]


class PacketRequest(NamedTuple):
    """A request for a packet, its files stored."""

    new: NewPacket
    files: list[list[NewFile]]
    content: bytes
    """What tells this request from another with the same Idempotency-Key."""


@post(
    "/api/v1/packets",
    opt={
        **requires("documents:send"),
        READS: NewPacketBody,
        multipart.FORM: upload.PACKET_WITH_FILES,
        openapi.ALSO: (404,),
        openapi.MAKES: {
            "packet_id": "/id",
            "document_id": "/documents/0/id",
            "signer_id": "/parties/0/signers/0/id",
            "file_id": "/documents/0/files/0/id",
        },
    },
    summary="Create a packet of documents, and send it if asked to",
    tags=["packets"],
    status_code=201,
    request_max_body_size=None,
)
async def create_packet(request: AnyRequest) -> Response[PacketRecord]:
    """The people sign all documents with one link, one consent and one act. Word documents and HTML pages are converted
    in the background: until the last of them the packet is `processing`."""
    here = context.of(request)
    with once.claim(request):
        async with _asked_for(request) as (new, files, content):
            services, preparation = here.deedbox.services, here.deedbox.paper_mill
            async with prepared_packet(services, preparation, new, files) as make:

                def act(tx: Tx) -> PacketRecord:
                    with here.action(tx) as ctx:
                        return _record(request, make(ctx))

                answer: Response[Any] = await once.claim_once(request, act, status=201, content=content)
                return answer


@get("/api/v1/packets/{packet_id:str}", opt=requires("documents:read"), summary="One packet", tags=["packets"])
async def get_packet(request: AnyRequest, packet_id: FromPath[str]) -> PacketRecord:
    return _record(request, await context.of(request).packet(packet_id))


@patch(
    "/api/v1/packets/{packet_id:str}",
    opt={**requires("documents:send"), WRITES: (PacketChange, PacketRecord)},
    summary="Change a packet",
    tags=["packets"],
)
async def change_packet(request: AnyRequest, packet_id: FromPath[str], data: JSONBody[dict[str, Any]]) -> PacketRecord:
    """What is given as it is changes nothing, so that the whole record can be sent back. Titles, metadata and fields of
    a document are changed at the document."""
    here = context.of(request)
    write_back.check(data, PacketChange, PacketRecord)
    try:
        shown = _record(request, await here.packet(packet_id))
    except NotFound:
        refuse_at_once(here.deedbox.services, write_back.as_new(data, PacketChange, PacketRecord))
        raise
    wanted = write_back.changes(data, shown, PacketChange)
    if wanted is None:
        return shown
    services, preparation, workspace_id = here.deedbox.services, here.deedbox.paper_mill, here.caller.workspace_id
    async with prepared_change(services, preparation, workspace_id, packet_id, wanted) as make:

        def act(tx: Tx) -> Packet:
            with here.action(tx) as ctx:
                return make(ctx)

        return _record(request, await services.db.write(act))


@delete(
    "/api/v1/packets/{packet_id:str}",
    opt=requires("documents:send"),
    summary="Delete a draft, or what could not be converted, with all its documents",
    tags=["packets"],
)
async def delete_packet(request: AnyRequest, packet_id: FromPath[str]) -> None:
    here = context.of(request)

    def act(tx: Tx) -> None:
        with here.action(tx) as ctx:
            delete_drafts(ctx, ctx.packet(packet_id))

    await here.deedbox.db.write(act)


def _record(request: AnyRequest, packet: Packet) -> PacketRecord:
    return packet_record(packet, archiving=context.of(request).deedbox.archive.is_on)


@asynccontextmanager
async def _asked_for(request: AnyRequest) -> AsyncIterator[PacketRequest]:
    blobs = context.of(request).deedbox.blobs
    async with AsyncExitStack() as held:
        if multipart.is_form(request):
            given = await held.enter_async_context(upload.document_form(request, blobs, limits.PACKET_FILES))
            new = await decode_as(request, FormPacketBody, given.document)
            content = given.document + b"".join(part.received.blob.sha256.encode() for part in given.parts)
            yield PacketRequest(new, new.received(given.parts), content)
            return
        need_json(request)
        content = await upload.document_json(request)
        body = await decode_as(request, NewPacketBody, content)
        sources = [document.sources() for document in body.documents]
        if sum(map(len, sources)) > limits.PACKET_FILES:
            raise BadRequest(f"A packet has at most {limits.PACKET_FILES} files")
        yield PacketRequest(body, [[await store_file(blobs, one, held) for one in files] for files in sources], content)


ROUTES = [create_packet, get_packet, change_packet, delete_packet]
