"""What a sender does with a document: send, void, remind, and a link to embed."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Response, post
from litestar.params import FromPath
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.signing.action_context import ActionContext, document_in
from deedbox.signing.actions.embed import embed
from deedbox.signing.actions.remind import remind
from deedbox.signing.actions.send import send
from deedbox.signing.actions.void import void
from deedbox.signing.model import Packet
from deedbox.signing.store.links import Voucher
from deedbox.web.api_v1.document_record import DocumentRecord, record
from deedbox.web.http import context, once
from deedbox.web.http.auth import requires
from deedbox.web.http.body import OPTIONAL_BODY
from deedbox.web.http.context import AnyRequest


class Reason(msgspec.Struct, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(max_length=limits.REASON_CHARS, extra_json_schema=limits.NO_NUL)] | None = None
    """Why, as the signers are told."""


class SigningLink(msgspec.Struct, frozen=True):
    url: str
    """Opens the document for this signer, once."""
    expires_at: str
    """When the link stops working."""


@post(
    "/api/v1/documents/{document_id:str}/send",
    opt=requires("documents:send"),
    summary="Send a draft to its signers",
    tags=["documents"],
    status_code=200,
)
async def send_document(request: AnyRequest, document_id: FromPath[str]) -> Response[DocumentRecord]:
    return await _moved(request, document_id, send)


@post(
    "/api/v1/documents/{document_id:str}/void",
    opt={**requires("documents:void"), OPTIONAL_BODY: Reason},
    summary="Void a document",
    tags=["documents"],
    status_code=200,
)
async def void_document(request: AnyRequest, document_id: FromPath[str]) -> Response[DocumentRecord]:
    given: Reason = context.of(request).body
    return await _moved(request, document_id, lambda ctx, packet: void(ctx, packet, given.reason))


@post(
    "/api/v1/documents/{document_id:str}/remind",
    opt=requires("documents:send"),
    summary="Remind those whose turn it is",
    tags=["documents"],
    status_code=200,
)
async def remind_signers(request: AnyRequest, document_id: FromPath[str]) -> Response[DocumentRecord]:
    return await _moved(request, document_id, remind)


@post(
    "/api/v1/documents/{document_id:str}/signers/{signer_id:str}/link",
    opt=requires("documents:embed"),
    summary="A link to embed: one signer, one document, for an hour",
    tags=["documents"],
    status_code=201,
)
async def signing_link(
    request: AnyRequest, document_id: FromPath[str], signer_id: FromPath[str]
) -> Response[SigningLink]:
    here = context.of(request)
    await here.packet_of(document_id)
    voucher = Voucher(here.caller.id, here.caller.name)

    def act(tx: Tx) -> SigningLink:
        with here.action(tx) as ctx:
            token, expires_at = embed(ctx, ctx.packet_of(document_id), signer_id, voucher)
        return SigningLink(f"{here.deedbox.address}/s/{token.reveal()}", expires_at)

    answer: Response[Any] = await once.once(request, once.Locking(act), status=201)
    return answer


async def _moved(
    request: AnyRequest, document_id: str, move: Callable[[ActionContext, Packet], Packet]
) -> Response[DocumentRecord]:
    """The answer to a move, made once; a document past its time has expired before it."""
    here = context.of(request)
    await here.packet_of(document_id)

    def act(tx: Tx) -> DocumentRecord:
        with here.action(tx) as ctx:
            packet = move(ctx, ctx.lone_packet_of(document_id))
        return record(packet, document_in(packet, document_id), archiving=here.deedbox.archive.is_on)

    answer: Response[Any] = await once.once(request, once.Locking(act), status=200)
    return answer


ROUTES = [send_document, void_document, remind_signers, signing_link]
