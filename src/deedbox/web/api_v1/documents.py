"""Documents sent to be signed: made, shown, changed, and deleted while they are drafts."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.mailbox import checked_address
from deedbox.signing import documents, drafts, found, preparing, states
from deedbox.signing.document import Document
from deedbox.signing.intake import Original
from deedbox.signing.wishes import NewField, NewFile, NewParty, Paper
from deedbox.web.api_v1.new_document import (
    Email,
    MessageBody,
    Metadata,
    NewDocumentBody,
    NewFieldBody,
    NewPartyBody,
    RemindersBody,
    parties_wish,
)
from deedbox.web.frame import context, form, moments, once, openapi, upload
from deedbox.web.frame.body import READS, decoded
from deedbox.web.frame.context import AnyRequest, Context
from deedbox.web.frame.doors import door


class Asked(NamedTuple):
    """A request for a document, its files stored."""

    body: NewDocumentBody
    files: list[NewFile]
    content: bytes
    """What tells this request from another with the same Idempotency-Key."""


class SignerChange(msgspec.Struct, forbid_unknown_fields=True):
    id: Annotated[str, Meta(max_length=limits.CURSOR_CHARS, extra_json_schema={"pattern": openapi.NO_NUL})]
    email: Email


class DocumentChange(msgspec.Struct, forbid_unknown_fields=True):
    """What is given is changed; the rest stays. After sending, only expiry, reminders, metadata and addresses are."""

    title: (
        Annotated[str, Meta(min_length=1, max_length=limits.TITLE_CHARS, extra_json_schema={"pattern": openapi.NO_NUL})]
        | UnsetType
    ) = UNSET
    metadata: Metadata | UnsetType = UNSET
    expires_at: Annotated[datetime, Meta(tz=True)] | UnsetType | None = UNSET
    reminders: RemindersBody | UnsetType | None = UNSET
    signers: Annotated[
        list[SignerChange],
        Meta(max_length=limits.DOCUMENT_SIGNERS, description="Corrected e-mail addresses of signers who are known."),
    ] = []
    message: MessageBody | UnsetType | None = UNSET
    parties: Annotated[
        Annotated[list[NewPartyBody], Meta(max_length=limits.DOCUMENT_PARTIES)] | UnsetType,
        Meta(description="Take the place of all parties of a draft."),
    ] = UNSET
    fields: Annotated[
        Annotated[list[NewFieldBody], Meta(max_length=limits.DOCUMENT_FIELDS)] | UnsetType,
        Meta(description="Take the place of the fields that were asked for; text tags in the files stay."),
    ] = UNSET


@post(
    "/api/v1/documents",
    opt={**door("documents:write"), READS: NewDocumentBody, form.FORM: upload.DOCUMENT_WITH_FILES},
    summary="Create a document, and send it if asked to",
    tags=["documents"],
    status_code=201,
    request_max_body_size=None,
)
async def create_document(request: AnyRequest) -> Response[Document]:
    """A Word document or an HTML page is converted in the background: until then the document is `processing`."""
    here = context.of(request)
    with once.claimed(request):
        async with _asked_for(request) as asked, AsyncExitStack() as held:
            body = asked.body
            if body.send:
                here.caller.need("documents:send")
            now, workspace, actor = here.deedbox.clock.now(), here.caller.workspace_id, here.caller.id
            wish = body.wish(asked.files, now)
            originals = [Original(file.name, file.original.blob) for file in asked.files]
            paper: Paper | None = None
            if not await here.deedbox.intake.takes_long(originals):
                made = here.deedbox.intake.paper(originals, wish.parties, wish.fields)
                paper = await held.enter_async_context(made)

            def create(tx: Tx) -> Document:
                tx.on_commit(here.deedbox.jobs.wake)
                made = drafts.create(tx, workspace, wish, paper, actor, now=now)
                if paper is None:
                    preparing.plan(tx, workspace, made.id, actor, send=body.send, now=now)
                elif body.send:
                    return documents.send(tx, workspace, made.id, actor, here.deedbox.post, now=now)
                return made

            answer: Response[Any] = await once.kept(request, create, status=201, content=asked.content)
            return answer


@get("/api/v1/documents/{document_id:str}", opt=door("documents:read"), summary="One document", tags=["documents"])
async def show_signing_document(request: AnyRequest, document_id: FromPath[str]) -> Document:
    here = context.of(request)
    return await here.deedbox.timers.current(here.caller.workspace_id, document_id)


@patch(
    "/api/v1/documents/{document_id:str}",
    opt=door("documents:write"),
    summary="Change a document",
    tags=["documents"],
)
async def change_document(request: AnyRequest, document_id: FromPath[str], data: JSONBody[DocumentChange]) -> Document:
    here = context.of(request)
    now, workspace, actor = here.deedbox.clock.now(), here.caller.workspace_id, here.caller.id
    changes = _changes(data, now)
    if not changes and not data.signers and data.parties is UNSET and data.fields is UNSET:
        raise BadRequest("Nothing is to be changed")
    before = await here.deedbox.timers.current(workspace, document_id)
    async with AsyncExitStack() as held:
        parties = parties_wish(data.parties, []) if data.parties is not UNSET else None
        fields = [field.wish() for field in data.fields] if data.fields is not UNSET else None
        paper = await _another_paper(here, before, parties, fields, held) if (parties, fields) != (None, None) else None

        def change(tx: Tx) -> Document:
            if before.status != "draft" and (fixed := _DRAFTS_ONLY & changes.keys()):
                raise BadRequest(f"After sending, the {min(fixed)} cannot be changed")
            documents.amend(tx, workspace, document_id, changes, actor, now=now)
            if paper is not None:
                drafts.edit(tx, workspace, before, parties, fields, paper, actor, now=now)
            for one in data.signers:
                documents.correct_email(
                    tx,
                    workspace,
                    document_id,
                    one.id,
                    checked_address(one.email).lower(),
                    actor,
                    here.deedbox.post,
                    now=now,
                )
            tx.on_commit(here.deedbox.jobs.wake)
            return found.find(tx, workspace, document_id)

        return await here.deedbox.db.write(change)


@delete(
    "/api/v1/documents/{document_id:str}", opt=door("documents:write"), summary="Delete a draft", tags=["documents"]
)
async def delete_draft(request: AnyRequest, document_id: FromPath[str]) -> None:
    here = context.of(request)
    now = here.deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: drafts.delete(tx, here.caller.workspace_id, document_id, now=now))


async def _another_paper(
    here: Context,
    draft: Document,
    parties: list[NewParty] | None,
    fields: list[NewField] | None,
    held: AsyncExitStack,
) -> Paper:
    """The paper of a draft for other parties or fields, made from its files once more."""
    states.after(draft.status, "edit")
    originals = await here.deedbox.db.read(lambda tx: preparing.originals(tx, draft))
    if fields is None:
        fields = await here.deedbox.db.read(lambda tx: drafts.wished_fields(tx, draft.id))
    made = here.deedbox.intake.paper(originals, draft.parties if parties is None else parties, fields)
    return await held.enter_async_context(made)


@asynccontextmanager
async def _asked_for(request: AnyRequest) -> AsyncIterator[Asked]:
    deedbox = context.of(request).deedbox
    async with AsyncExitStack() as held:
        if form.is_form(request):
            given = await held.enter_async_context(upload.document_form(request, deedbox.blobs))
            body = await decoded(request, NewDocumentBody, given.document)
            if body.sources():
                raise BadRequest("In a form, files come as parts named file")
            files = [NewFile(part.filename, part.received) for part in given.parts]
            content = given.document + b"".join(file.original.blob.sha256.encode() for file in files)
        else:
            content = await upload.document_json(request)
            body = await decoded(request, NewDocumentBody, content)
            files = []
            for source in body.sources():
                kept = upload.stored(deedbox.blobs, source.content(), limits.DOCUMENT_FILE_BYTES)
                files.append(NewFile(form.clean(source.name), await held.enter_async_context(kept)))
        if not files:
            raise BadRequest("The document needs a file")
        yield Asked(body, files, content)


_DRAFTS_ONLY = {"title", "message"}


def _changes(data: DocumentChange, now: datetime) -> dict[str, Value]:
    changes: dict[str, Value] = {}
    if data.title is not UNSET:
        changes |= {"title": data.title, "title_folded": documents.folded(data.title)}
    if data.metadata is not UNSET:
        changes["metadata"] = msgspec.json.encode(data.metadata).decode()
    if data.expires_at is not UNSET:
        expires = moments.in_utc("expires_at", data.expires_at)
        if expires is not None and expires <= now:
            raise BadRequest("expires_at must lie ahead")
        changes["expires_at"] = instant(expires) if expires else None
    if data.reminders is not UNSET:
        changes["reminders"] = msgspec.json.encode(data.reminders.wish()).decode() if data.reminders else None
    if data.message is not UNSET:
        changes["message"] = msgspec.json.encode(data.message.wish()).decode() if data.message else None
    return changes


ROUTES = [create_document, show_signing_document, change_document, delete_draft]
