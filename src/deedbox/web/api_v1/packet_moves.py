"""What a sender does with a packet: send, void, remind, and a link to embed."""

from collections.abc import Callable
from typing import Any

from litestar import Response, post
from litestar.params import FromPath

from deedbox.kernel.db import Tx
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions.embed import embed
from deedbox.signing.actions.remind import remind
from deedbox.signing.actions.send import send
from deedbox.signing.actions.void import void
from deedbox.signing.model import Packet
from deedbox.signing.store.links import Voucher
from deedbox.web.api_v1.document_moves import Reason, SigningLink
from deedbox.web.api_v1.packet_record import PacketRecord, packet_record
from deedbox.web.http import context, once
from deedbox.web.http.auth import requires
from deedbox.web.http.body import OPTIONAL_BODY
from deedbox.web.http.context import AnyRequest


@post(
    "/api/v1/packets/{packet_id:str}/send",
    opt=requires("documents:send"),
    summary="Send a draft to its signers",
    tags=["packets"],
    status_code=200,
)
async def send_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[PacketRecord]:
    return await _moved(request, packet_id, send)


@post(
    "/api/v1/packets/{packet_id:str}/void",
    opt={**requires("documents:void"), OPTIONAL_BODY: Reason},
    summary="Void a packet with all its documents",
    tags=["packets"],
    status_code=200,
)
async def void_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[PacketRecord]:
    given: Reason = context.of(request).body
    return await _moved(request, packet_id, lambda ctx, packet: void(ctx, packet, given.reason))


@post(
    "/api/v1/packets/{packet_id:str}/remind",
    opt=requires("documents:send"),
    summary="Remind those whose turn it is",
    tags=["packets"],
    status_code=200,
)
async def remind_packet(request: AnyRequest, packet_id: FromPath[str]) -> Response[PacketRecord]:
    return await _moved(request, packet_id, remind)


@post(
    "/api/v1/packets/{packet_id:str}/signers/{signer_id:str}/link",
    opt=requires("documents:embed"),
    summary="A link to embed: one signer, all documents, for an hour",
    tags=["packets"],
    status_code=201,
)
async def packet_link(request: AnyRequest, packet_id: FromPath[str], signer_id: FromPath[str]) -> Response[SigningLink]:
    here = context.of(request)
    await here.packet(packet_id)
    voucher = Voucher(here.caller.id, here.caller.name)

    def act(tx: Tx) -> SigningLink:
        with here.action(tx) as ctx:
            token, expires_at = embed(ctx, ctx.packet(packet_id), signer_id, voucher)
        return SigningLink(f"{here.deedbox.address}/s/{token.reveal()}", expires_at)

    answer: Response[Any] = await once.once(request, act, status=201)
    return answer


async def _moved(
    request: AnyRequest, packet_id: str, move: Callable[[ActionContext, Packet], Packet]
) -> Response[PacketRecord]:
    """The answer to a move, made once; a packet past its time has expired before it."""
    here = context.of(request)
    await here.packet(packet_id)

    def act(tx: Tx) -> PacketRecord:
        with here.action(tx) as ctx:
            packet = move(ctx, ctx.packet(packet_id))
        return packet_record(packet, archiving=here.deedbox.archive.is_on)

    answer: Response[Any] = await once.once(request, act, status=200)
    return answer


ROUTES = [send_packet, void_packet, remind_packet, packet_link]
