"""Documents sent to be signed: made, shown, changed, and deleted while they are drafts."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Any, NamedTuple, TypeAlias

from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Meta

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.discreet import Discreet
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.signing.actions import change, create
from deedbox.signing.actions.delete import delete as delete_packet
from deedbox.signing.desk import document_in
from deedbox.signing.model import Packet
from deedbox.signing.new_document import DocumentChange, FilePassword, NewDocument, NewFile
from deedbox.web.api_v1.document_record import DocumentRecord, record
from deedbox.web.frame import context, form, once, openapi, upload, write_back
from deedbox.web.frame.body import READS, decoded, need_json
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door
from deedbox.web.frame.write_back import WRITES

FileName: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=limits.FILENAME_CHARS, extra_json_schema=limits.NO_NUL)
]


class NewFileBody(Discreet, frozen=True, forbid_unknown_fields=True):
    name: FileName
    """The file's name; its extension says what it is."""
    content_base64: Annotated[str, Meta(min_length=4, max_length=limits.DOCUMENT_JSON_BYTES)]
    """The bytes of the file, in base64."""
    password: FilePassword | None = None
    """Opens a PDF that is locked. It is used once and kept nowhere."""


class NewDocumentBody(NewDocument, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new document in JSON; its files come with it, or as parts of a form."""

    file: NewFileBody | None = None
    """The one file of the document."""
    files: Annotated[Sequence[NewFileBody], Meta(max_length=limits.DOCUMENT_FILES)] = []
    """The files of the document, if it has several; they are signed as one."""

    def sources(self) -> Sequence[NewFileBody]:
        """The files that the body itself carries."""
        return one_or_several(self.file, self.files)


class NamedPassword(Discreet, frozen=True, forbid_unknown_fields=True):
    """The password of the part with this file name."""

    name: FileName
    """The name of the part's file."""
    password: FilePassword
    """Opens a PDF that is locked. It is used once and kept nowhere."""


class FormDocumentBody(NewDocument, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new document in a form, whose files are parts of their own; `files` names those that are locked."""

    files: Annotated[Sequence[NamedPassword], Meta(max_length=limits.DOCUMENT_FILES)] = []
    """The parts that are locked, each with its password."""

    def received(self, parts: Sequence[upload.Part]) -> list[NewFile]:
        """The parts as files, each with its password."""
        passwords = {form.clean(one.name): Secret(one.password) for one in self.files}
        names = [part.filename for part in parts]
        for name in passwords:
            if names.count(name) != 1:
                raise BadRequest(
                    f"{name}: a password is given for it, but {names.count(name)} parts `file` have that name"
                )
        return [NewFile(part.filename, part.received, passwords.get(part.filename)) for part in parts]


_MAKES = {
    "document_id": "/id",
    "signer_id": "/parties/0/signers/0/id",
    "file_id": "/files/0/id",
    "field_id": "/fields/0/id",
    "code": "/verification_code",
}
"""The ids that the answer gives, by the names that paths have for them."""


class Asked(NamedTuple):
    """A request for a document, its files stored."""

    new: NewDocument
    files: list[NewFile]
    content: bytes
    """What tells this request from another with the same Idempotency-Key."""


@post(
    "/api/v1/documents",
    opt={
        **door("documents:write"),
        READS: NewDocumentBody,
        form.FORM: upload.DOCUMENT_WITH_FILES,
        openapi.MAKES: _MAKES,
    },
    summary="Create a document, and send it if asked to",
    tags=["documents"],
    status_code=201,
    request_max_body_size=None,
)
async def create_document(request: AnyRequest) -> Response[DocumentRecord]:
    """A Word document or an HTML page is converted in the background: until then the document is `processing`."""
    here = context.of(request)
    with once.claimed(request):
        async with _asked_for(request) as asked:
            if asked.new.send:
                here.caller.need("documents:send")
            async with create.prepared(here.deedbox.office, here.deedbox.paper_mill, asked.new, asked.files) as make:

                def act(tx: Tx) -> DocumentRecord:
                    with here.desk(tx) as desk:
                        packet = make(desk)
                    return record(packet, packet.first, archiving=here.deedbox.archive.is_on)

                answer: Response[Any] = await once.kept(request, act, status=201, content=asked.content)
                return answer


@get("/api/v1/documents/{document_id:str}", opt=door("documents:read"), summary="One document", tags=["documents"])
async def show_signing_document(request: AnyRequest, document_id: FromPath[str]) -> DocumentRecord:
    here = context.of(request)
    packet = await here.packet_of(document_id)
    return record(packet, document_in(packet, document_id), archiving=here.deedbox.archive.is_on)


@patch(
    "/api/v1/documents/{document_id:str}",
    opt={**door("documents:write"), WRITES: (DocumentChange, DocumentRecord)},
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
        change.refuse_at_once(here.deedbox.office, write_back.as_new(data, DocumentChange, DocumentRecord))
        raise
    shown = record(before, document_in(before, document_id), archiving=here.deedbox.archive.is_on)
    wanted = write_back.changes(data, shown, DocumentChange)
    if wanted is None:
        return shown
    if before.first.status == "sent" and (wanted.signers or wanted.parties is not UNSET):
        here.caller.need("documents:send")  # who is asked to sign is the sender's to say
    office, mill, workspace_id = here.deedbox.office, here.deedbox.paper_mill, here.caller.workspace_id
    async with change.prepared(office, mill, workspace_id, document_id, wanted) as make:

        def act(tx: Tx) -> Packet:
            with here.desk(tx) as desk:
                return make(desk)

        after = await office.db.write(act)
    return record(after, document_in(after, document_id), archiving=here.deedbox.archive.is_on)


@delete(
    "/api/v1/documents/{document_id:str}", opt=door("documents:write"), summary="Delete a draft", tags=["documents"]
)
async def delete_draft(request: AnyRequest, document_id: FromPath[str]) -> None:
    here = context.of(request)

    def act(tx: Tx) -> None:
        with here.desk(tx) as desk:
            delete_packet(desk, desk.lone_packet_of(document_id))

    await here.deedbox.db.write(act)


@asynccontextmanager
async def _asked_for(request: AnyRequest) -> AsyncIterator[Asked]:
    deedbox = context.of(request).deedbox
    async with AsyncExitStack() as held:
        if form.is_form(request):
            given = await held.enter_async_context(upload.document_form(request, deedbox.blobs))
            new = await decoded(request, FormDocumentBody, given.document)
            files = new.received(given.parts)
            content = given.document + b"".join(file.original.blob.sha256.encode() for file in files)
            yield Asked(new, files, content)
            return
        need_json(request)
        content = await upload.document_json(request)
        body = await decoded(request, NewDocumentBody, content)
        yield Asked(body, await received_files(deedbox.blobs, body.sources(), held), content)


def one_or_several(file: NewFileBody | None, files: Sequence[NewFileBody]) -> Sequence[NewFileBody]:
    """The files of a document, given as one or as several; BadRequest for both."""
    if file is not None and files:
        raise BadRequest("Give file or files, not both")
    return [file] if file is not None else files


async def received_files(blobs: Blobs, sources: Sequence[NewFileBody], held: AsyncExitStack) -> list[NewFile]:
    """Files that came in JSON, stored and to be adopted while they are held."""
    files = []
    for source in sources:
        kept = upload.stored(blobs, source.content_base64, limits.DOCUMENT_FILE_BYTES)
        try:
            received = await held.enter_async_context(kept)
        except ValueError as error:
            raise BadRequest(f"{source.name}: content_base64 is not base64") from error
        password = Secret(source.password) if source.password else None
        files.append(NewFile(form.clean(source.name), received, password))
    return files


ROUTES = [create_document, show_signing_document, change_document, delete_draft]
