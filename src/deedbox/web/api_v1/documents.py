"""Documents sent to be signed: made, shown, changed, sent, voided."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import parse_qsl, urlencode

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest
from deedbox.signing import documents, drafts, found, sessions
from deedbox.signing.document import Document, Filter, Status
from deedbox.signing.drafts import NewField, TakenFile
from deedbox.web import context, moments, multipart, once, openapi, received
from deedbox.web import cursor as cursors
from deedbox.web.api_v1.new_document import Email, Metadata, NewDocumentBody, RemindersBody
from deedbox.web.context import AnyRequest, Context
from deedbox.web.permission import OPTIONAL_BODY, READS, check_body, scope


class DocumentPage(msgspec.Struct, frozen=True):
    documents: list[Document]
    count: int
    has_more: bool
    next_cursor: str | None


Text = Annotated[
    str | None, QueryParameter(min_length=1, max_length=limits.FILTER_CHARS, schema_extra={"pattern": openapi.NO_NUL})
]
Moment = Annotated[str | None, QueryParameter(schema_extra={"format": "date-time"})]
# Text with a pattern, because the framework would take `null` for no value at all.
OneStatus = Annotated[
    str | None, QueryParameter(pattern=f"^({'|'.join(get_args(Status))})$", schema_extra={"enum": [*get_args(Status)]})
]


@get("/api/v1/documents", opt=scope("documents:read"), summary="List documents by age", tags=["documents"])
async def list_documents(
    request: AnyRequest,
    status: OneStatus = None,
    q: Text = None,
    packet_id: Text = None,
    bulk_send_id: Text = None,
    template_id: Text = None,
    external_id: Text = None,
    signer_email: Text = None,
    created_after: Moment = None,
    created_before: Moment = None,
    limit: Annotated[int, QueryParameter(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT,
    cursor: Annotated[str | None, cursors.parameter("doc")] = None,
    order: FromQuery[Literal["asc", "desc"]] = "desc",
) -> DocumentPage:
    here = context.of(request)
    cursors.check(cursor, "doc")
    wanted = Filter(
        status=cast(Status | None, status),
        q=q,
        packet_id=packet_id,
        bulk_send_id=bulk_send_id,
        template_id=template_id,
        external_id=external_id,
        signer_email=signer_email.lower() if signer_email else None,
        created_after=_instant("created_after", created_after),
        created_before=_instant("created_before", created_before),
    )
    workspace = here.caller.workspace_id
    found = await here.deedbox.db.read(
        lambda tx: documents.page(tx, workspace, wanted, limit=limit + 1, cursor=cursor, newest_first=order == "desc")
    )
    shown = found[:limit]
    following = shown[-1].id if len(found) > limit else None
    if following:
        here.headers.append((b"link", _next_link(request, following).encode()))
    return DocumentPage(shown, len(shown), following is not None, following)


def _instant(name: str, text: str | None) -> str | None:
    moment = moments.parsed(name, text)
    return instant(moment) if moment else None


def _next_link(request: AnyRequest, cursor: str) -> str:
    query = [(name, value) for name, value in parse_qsl(request.scope["query_string"].decode()) if name != "cursor"]
    return f'<{request.scope["path"]}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'


class Reason(msgspec.Struct, forbid_unknown_fields=True):
    reason: (
        Annotated[str, Meta(max_length=limits.REASON_CHARS, extra_json_schema={"pattern": openapi.NO_NUL})] | None
    ) = None


class SignerChange(msgspec.Struct, forbid_unknown_fields=True):
    id: Annotated[str, Meta(max_length=limits.CURSOR_CHARS, extra_json_schema={"pattern": openapi.NO_NUL})]
    email: Email


class DocumentChange(msgspec.Struct, forbid_unknown_fields=True):
    """What is given is changed; the rest stays. After sending, the title is fixed."""

    title: (
        Annotated[str, Meta(min_length=1, max_length=limits.TITLE_CHARS, extra_json_schema={"pattern": openapi.NO_NUL})]
        | UnsetType
    ) = UNSET
    metadata: Metadata | UnsetType = UNSET
    expires_at: Annotated[datetime, Meta(tz=True)] | UnsetType | None = UNSET
    reminders: RemindersBody | UnsetType | None = UNSET
    signers: Annotated[list[SignerChange], Meta(max_length=limits.DOCUMENT_SIGNERS)] = []


class SigningLink(msgspec.Struct, frozen=True):
    url: Annotated[str, Meta(description="Opens the document for this signer, once.")]
    expires_at: str


@post(
    "/api/v1/documents",
    opt={**scope("documents:write"), READS: NewDocumentBody, multipart.OPTION: received.FORM},
    summary="Create a document, and send it if asked to",
    tags=["documents"],
    status_code=201,
    request_max_body_size=None,
)
async def create_document(request: AnyRequest) -> Response[Document]:
    here = context.of(request)
    with once.claimed(request):
        async with _asked_for(request) as (body, files, content):
            if body.send:
                here.caller.need("documents:send")
            now, workspace, actor = here.deedbox.clock.now(), here.caller.workspace_id, here.caller.id
            wish = body.wish(files, now)

            def create(tx: Tx) -> Document:
                made = drafts.create(tx, workspace, wish, actor, now=now)
                if not body.send:
                    return made
                tx.on_commit(here.deedbox.jobs.wake)
                return documents.send(tx, workspace, made.id, actor, here.deedbox.post, now=now)

            answer: Response[Any] = await once.kept(request, create, status=201, content=content)
            return answer


@get("/api/v1/documents/{document_id:str}", opt=scope("documents:read"), summary="One document", tags=["documents"])
async def show_signing_document(request: AnyRequest, document_id: FromPath[str]) -> Document:
    return await _current(context.of(request), document_id)


@patch(
    "/api/v1/documents/{document_id:str}",
    opt=scope("documents:write"),
    summary="Change a document",
    tags=["documents"],
)
async def change_document(request: AnyRequest, document_id: FromPath[str], data: JSONBody[DocumentChange]) -> Document:
    here = context.of(request)
    now, workspace, actor = here.deedbox.clock.now(), here.caller.workspace_id, here.caller.id
    changes = _changes(data, now)
    if not changes and not data.signers:
        raise BadRequest("Nothing is to be changed")
    await _current(here, document_id)

    def change(tx: Tx) -> Document:
        if "title" in changes and found.find(tx, workspace, document_id).status != "draft":
            raise BadRequest("The title cannot be changed after sending")
        documents.amend(tx, workspace, document_id, changes, actor, now=now)
        for one in data.signers:
            documents.correct_email(
                tx, workspace, document_id, one.id, one.email.lower(), actor, here.deedbox.post, now=now
            )
        tx.on_commit(here.deedbox.jobs.wake)
        return found.find(tx, workspace, document_id)

    return await here.deedbox.db.write(change)


@delete(
    "/api/v1/documents/{document_id:str}", opt=scope("documents:write"), summary="Delete a draft", tags=["documents"]
)
async def delete_draft(request: AnyRequest, document_id: FromPath[str]) -> None:
    here = context.of(request)
    now = here.deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: drafts.delete(tx, here.caller.workspace_id, document_id, now=now))


@post(
    "/api/v1/documents/{document_id:str}/send",
    opt=scope("documents:send"),
    summary="Send a draft to its signers",
    tags=["documents"],
    status_code=200,
)
async def send_document(request: AnyRequest, document_id: FromPath[str]) -> Response[Document]:
    here = context.of(request)
    now, workspace, actor = here.deedbox.clock.now(), here.caller.workspace_id, here.caller.id

    def send(tx: Tx) -> Document:
        tx.on_commit(here.deedbox.jobs.wake)
        return documents.send(tx, workspace, document_id, actor, here.deedbox.post, now=now)

    answer: Response[Any] = await once.once(request, send, status=200)
    return answer


@post(
    "/api/v1/documents/{document_id:str}/void",
    opt={**scope("documents:void"), OPTIONAL_BODY: Reason},
    summary="Void a document",
    tags=["documents"],
    status_code=200,
)
async def void_document(request: AnyRequest, document_id: FromPath[str]) -> Response[Document]:
    here = context.of(request)
    body = await request.body()
    reason = msgspec.json.decode(body, type=Reason).reason if body else None
    now, workspace, actor = here.deedbox.clock.now(), here.caller.workspace_id, here.caller.id
    await _current(here, document_id)

    def void(tx: Tx) -> Document:
        tx.on_commit(here.deedbox.jobs.wake)
        return documents.void(tx, workspace, document_id, reason, actor, here.deedbox.post, now=now)

    answer: Response[Any] = await once.once(request, void, status=200)
    return answer


@post(
    "/api/v1/documents/{document_id:str}/remind",
    opt=scope("documents:send"),
    summary="Remind those whose turn it is",
    tags=["documents"],
    status_code=200,
)
async def remind_signers(request: AnyRequest, document_id: FromPath[str]) -> Response[Document]:
    here = context.of(request)
    now, workspace, actor = here.deedbox.clock.now(), here.caller.workspace_id, here.caller.id
    await _current(here, document_id)

    def remind(tx: Tx) -> Document:
        tx.on_commit(here.deedbox.jobs.wake)
        return documents.remind(tx, workspace, document_id, actor, here.deedbox.post, now=now)

    answer: Response[Any] = await once.once(request, remind, status=200)
    return answer


@post(
    "/api/v1/documents/{document_id:str}/signers/{signer_id:str}/link",
    opt=scope("documents:send"),
    summary="A link to embed: one signer, one document, for an hour",
    tags=["documents"],
    status_code=201,
)
async def signing_link(
    request: AnyRequest, document_id: FromPath[str], signer_id: FromPath[str]
) -> Response[SigningLink]:
    here = context.of(request)
    now, workspace = here.deedbox.clock.now(), here.caller.workspace_id
    await _current(here, document_id)

    def link(tx: Tx) -> SigningLink:
        document = found.find(tx, workspace, document_id)
        token, expires_at = sessions.embedded_link(tx, document, signer_id, now=now)
        return SigningLink(f"{here.deedbox.address}/s/{token.reveal()}", expires_at)

    answer: Response[Any] = await once.once(request, link, status=201)
    return answer


async def _current(here: Context, document_id: str) -> Document:
    """The document as it is now: one past its time expires at the first look."""
    deedbox, workspace, now = here.deedbox, here.caller.workspace_id, here.deedbox.clock.now()
    document = await deedbox.db.read(lambda tx: found.find(tx, workspace, document_id))
    if documents.is_due(document, now):
        await deedbox.db.write(lambda tx: documents.expire(tx, workspace, document_id, deedbox.post, now=now))
        document = await deedbox.db.read(lambda tx: found.find(tx, workspace, document_id))
    return document


@asynccontextmanager
async def _asked_for(request: AnyRequest) -> AsyncIterator[tuple[NewDocumentBody, list[TakenFile], bytes]]:
    """The body, its files taken in, and what tells this request from another with the same Idempotency-Key."""
    deedbox = context.of(request).deedbox
    async with AsyncExitStack() as held:
        if received.is_form(request):
            form = await held.enter_async_context(received.form(request, deedbox.blobs))
            body = check_body(NewDocumentBody, form.document)
            if body.sources():
                raise BadRequest("In a form, files come as parts named file")
            parts = form.parts
            content = form.document + b"".join(part.received.blob.sha256.encode() for part in parts)
        else:
            content = await received.json_body(request)
            body = check_body(NewDocumentBody, content)
            parts = []
            for source in body.sources():
                kept = received.stored(deedbox.blobs, source.content(), limits.DOCUMENT_FILE_BYTES)
                parts.append(received.Part(multipart.clean(source.name), await held.enter_async_context(kept)))
        if not parts:
            raise BadRequest("The document needs a file")
        if len(parts) > 1:
            raise BadRequest("A document has one file; send several documents, or join the files before")
        parties, fields = body.parties_wish(), [field.wish() for field in body.fields]

        def without_field(tags: Sequence[NewField]) -> int:
            return drafts.without_field(parties, [*fields, *tags])

        [part] = parts
        taken = await held.enter_async_context(deedbox.intake.taken(part.filename, part.received, without_field))
        yield body, [taken], content


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
    return changes


ROUTES = [
    list_documents,
    create_document,
    show_signing_document,
    change_document,
    delete_draft,
    send_document,
    void_document,
    remind_signers,
    signing_link,
]
