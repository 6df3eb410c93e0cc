"""What a sender does with a document: send, void, remind, and a link to embed."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Response, post
from litestar.params import FromPath
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.signing import documents, found, sessions
from deedbox.signing.document import Document
from deedbox.web.frame import context, once, openapi
from deedbox.web.frame.body import OPTIONAL_BODY
from deedbox.web.frame.context import AnyRequest, Context
from deedbox.web.frame.doors import door


class Reason(msgspec.Struct, forbid_unknown_fields=True):
    reason: (
        Annotated[str, Meta(max_length=limits.REASON_CHARS, extra_json_schema={"pattern": openapi.NO_NUL})] | None
    ) = None


class SigningLink(msgspec.Struct, frozen=True):
    url: Annotated[str, Meta(description="Opens the document for this signer, once.")]
    expires_at: str


@post(
    "/api/v1/documents/{document_id:str}/send",
    opt=door("documents:send"),
    summary="Send a draft to its signers",
    tags=["documents"],
    status_code=200,
)
async def send_document(request: AnyRequest, document_id: FromPath[str]) -> Response[Document]:
    def send(here: Context, tx: Tx, now: datetime) -> Document:
        caller = here.caller
        return documents.send(tx, caller.workspace_id, document_id, caller.id, here.deedbox.post, now=now)

    return await _moved(request, document_id, send)


@post(
    "/api/v1/documents/{document_id:str}/void",
    opt={**door("documents:void"), OPTIONAL_BODY: Reason},
    summary="Void a document",
    tags=["documents"],
    status_code=200,
)
async def void_document(request: AnyRequest, document_id: FromPath[str]) -> Response[Document]:
    given: Reason = context.of(request).body

    def void(here: Context, tx: Tx, now: datetime) -> Document:
        caller = here.caller
        return documents.void(tx, caller.workspace_id, document_id, given.reason, caller.id, here.deedbox.post, now=now)

    return await _moved(request, document_id, void)


@post(
    "/api/v1/documents/{document_id:str}/remind",
    opt=door("documents:send"),
    summary="Remind those whose turn it is",
    tags=["documents"],
    status_code=200,
)
async def remind_signers(request: AnyRequest, document_id: FromPath[str]) -> Response[Document]:
    def remind(here: Context, tx: Tx, now: datetime) -> Document:
        caller = here.caller
        return documents.remind(tx, caller.workspace_id, document_id, caller.id, here.deedbox.post, now=now)

    return await _moved(request, document_id, remind)


@post(
    "/api/v1/documents/{document_id:str}/signers/{signer_id:str}/link",
    opt=door("documents:send"),
    summary="A link to embed: one signer, one document, for an hour",
    tags=["documents"],
    status_code=201,
)
async def signing_link(
    request: AnyRequest, document_id: FromPath[str], signer_id: FromPath[str]
) -> Response[SigningLink]:
    def link(here: Context, tx: Tx, now: datetime) -> SigningLink:
        document = found.find(tx, here.caller.workspace_id, document_id)
        token, expires_at = sessions.embedded_link(tx, document, signer_id, now=now)
        return SigningLink(f"{here.deedbox.address}/s/{token.reveal()}", expires_at)

    return await _moved(request, document_id, link, status=201)


async def _moved(
    request: AnyRequest,
    document_id: str,
    move: Callable[[Context, Tx, datetime], msgspec.Struct],
    *,
    status: int = 200,
) -> Response[Any]:
    """The answer to a move, made once; a document past its time has expired before it."""
    here = context.of(request)
    now = here.deedbox.clock.now()
    await here.deedbox.timers.current(here.caller.workspace_id, document_id)

    def act(tx: Tx) -> msgspec.Struct:
        tx.on_commit(here.deedbox.jobs.wake)
        return move(here, tx, now)

    return await once.once(request, act, status=status)


ROUTES = [send_document, void_document, remind_signers, signing_link]
