"""Documents sent to be signed: made, shown, changed, and deleted while they are drafts."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar

from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Meta

from deedbox.kernel import limits
from deedbox.kernel.constraints import Constraints
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.signing.action_context import ActionContext, document_in
from deedbox.signing.actions import change, create, create_from_template
from deedbox.signing.actions.delete import delete as delete_packet
from deedbox.signing.model import Packet
from deedbox.signing.new_document import DocumentChange, NewDocument
from deedbox.web.api_v1.document_record import DocumentRecord, record
from deedbox.web.api_v1.new_files import FILES_OR_TEMPLATE, NamedPassword, NewFileBody, asked_for
from deedbox.web.http import context, multipart, once, openapi, upload, write_back
from deedbox.web.http.auth import requires
from deedbox.web.http.body import READS
from deedbox.web.http.context import AnyRequest, Context
from deedbox.web.http.write_back import WRITES


class NewDocumentBody(NewDocument, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new document in JSON; its files come with it, or as parts of a form."""

    constraints: ClassVar[Constraints] = (FILES_OR_TEMPLATE, *NewDocument.constraints)

    file: NewFileBody | None = None
    """The one file of the document."""
    files: Annotated[Sequence[NewFileBody], Meta(max_length=limits.DOCUMENT_FILES)] = []
    """The files of the document, if it has several; they are signed as one."""


class FormDocumentBody(NewDocument, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new document in a form, whose files are parts of their own; `files` names those that are locked."""

    files: Annotated[Sequence[NamedPassword], Meta(max_length=limits.DOCUMENT_FILES)] = []
    """The parts that are locked, each with its password."""


_MAKES = {
    "document_id": "/id",
    "signer_id": "/parties/0/signers/0/id",
    "file_id": "/files/0/id",
    "field_id": "/fields/0/id",
    "code": "/verification_code",
}
"""The ids that the answer gives, by the names that paths have for them."""


@post(
    "/api/v1/documents",
    opt={
        **requires("documents:write"),
        READS: NewDocumentBody,
        multipart.FORM: upload.DOCUMENT_WITH_FILES,
        openapi.MAKES: _MAKES,
        openapi.ALSO: (404,),
    },
    summary="Create a document, and send it if asked to",
    tags=["documents"],
    status_code=201,
    request_max_body_size=None,
)
async def create_document(request: AnyRequest) -> Response[DocumentRecord]:
    """A Word document or an HTML page is converted in the background: until then the document is `processing`."""
    here = context.of(request)
    with once.claim(request):
        async with asked_for(request, NewDocumentBody, FormDocumentBody) as asked:
            if asked.new.send:
                here.caller.need("documents:send")
            if asked.new.template_id is not None and asked.files:
                raise BadRequest("Give a file or a template_id, not both")
            services, preparation, new = here.deedbox.services, here.deedbox.paper_mill, asked.new
            making = create.prepare(services, preparation, new, asked.files)
            if new.template_id is not None:
                making = create_from_template.prepare(services, create_from_template.wanted_of(new))
            async with making as make:
                answer: Response[Any] = await once.claim_once(
                    request, once.Locking(_made(here, make)), status=201, content=asked.content
                )
                return answer


@get("/api/v1/documents/{document_id:str}", opt=requires("documents:read"), summary="One document", tags=["documents"])
async def get_document(request: AnyRequest, document_id: FromPath[str]) -> DocumentRecord:
    here = context.of(request)
    packet = await here.packet_of(document_id)
    return record(packet, document_in(packet, document_id), archiving=here.deedbox.archive.is_on)


@patch(
    "/api/v1/documents/{document_id:str}",
    opt={**requires("documents:write"), WRITES: (DocumentChange, DocumentRecord)},
    summary="Change a document",
    tags=["documents"],
)
async def change_document(
    request: AnyRequest, document_id: FromPath[str], data: JSONBody[dict[str, Any]]
) -> DocumentRecord:
    """What is given as it is changes nothing, so that the whole record can be sent back."""
    here = context.of(request)
    write_back.check(data, DocumentChange, DocumentRecord)
    try:
        before = await here.packet_of(document_id)
    except NotFound:
        change.refuse_at_once(here.deedbox.services, write_back.as_new(data, DocumentChange, DocumentRecord))
        raise
    shown = record(before, document_in(before, document_id), archiving=here.deedbox.archive.is_on)
    wanted = write_back.changes(data, shown, DocumentChange)
    if wanted is None:
        return shown
    _need_sender(here, before, wanted)
    services, preparation, workspace_id = here.deedbox.services, here.deedbox.paper_mill, here.caller.workspace_id
    async with change.prepare(services, preparation, workspace_id, document_id, wanted) as make:

        def act(tx: Tx) -> Packet:
            with here.action(tx) as ctx:
                _need_sender(here, ctx.packet_of(document_id), wanted)  # it may have been sent meanwhile
                return make(ctx)

        after = await services.db.write(act)
    return record(after, document_in(after, document_id), archiving=here.deedbox.archive.is_on)


@delete(
    "/api/v1/documents/{document_id:str}",
    opt=requires("documents:write"),
    summary="Delete a draft, or what could not be converted",
    tags=["documents"],
)
async def delete_draft(request: AnyRequest, document_id: FromPath[str]) -> None:
    here = context.of(request)

    def act(tx: Tx) -> None:
        with here.action(tx) as ctx:
            delete_packet(ctx, ctx.lone_packet_of(document_id))

    await here.deedbox.db.write(act)


def _need_sender(here: Context, packet: Packet, wanted: DocumentChange) -> None:
    """Forbidden unless the caller may send: who is asked to sign what is sent already is the sender's to say."""
    if packet.first.status == "sent" and (wanted.signers or wanted.parties is not UNSET):
        here.caller.need("documents:send")


def _made(here: Context, make: Callable[[ActionContext], Packet]) -> Callable[[Tx], DocumentRecord]:
    def act(tx: Tx) -> DocumentRecord:
        with here.action(tx) as ctx:
            packet = make(ctx)
        return record(packet, packet.first, archiving=here.deedbox.archive.is_on)

    return act


ROUTES = [create_document, get_document, change_document, delete_draft]
