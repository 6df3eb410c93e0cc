"""The signer's session for programs and scripts: one person and what they sign, a cookie and no key."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any

import msgspec
from litestar import Response, get, post, put
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Meta, UnsetType

from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.crypto import sha256
from deedbox.kernel.errors import BadRequest, Conflict, NotFound
from deedbox.signing.actions import sign
from deedbox.signing.actions.approve import approve
from deedbox.signing.actions.decline import decline as decline_packet
from deedbox.signing.actions.delegate import Delegation
from deedbox.signing.actions.delegate import delegate as delegate_packet
from deedbox.signing.actions.fill import fill
from deedbox.signing.actions.sign import SigningAct
from deedbox.signing.actions.view import view_page
from deedbox.signing.field_value import current_value
from deedbox.signing.model import Attachment, consent, first_page
from deedbox.signing.packet_files import for_signers
from deedbox.signing.store import links, people, sealed
from deedbox.web import limits
from deedbox.web.http import context, openapi
from deedbox.web.http.auth import SIGNER, requires
from deedbox.web.http.blob_response import PICTURE, PictureQuery, file_response, page_number, page_picture
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY
from deedbox.web.http.zip_response import zip_response
from deedbox.web.signer import attachments, by_hand, values
from deedbox.web.signer.inside import (
    Inside,
    circumstances,
    done,
    give_code,
    in_context,
    inside,
    load_viewer,
    outcome,
    require_seal,
    run_action,
)
from deedbox.web.signer.records import (
    Acted,
    CodeBody,
    CompleteBody,
    DeclineBody,
    Done,
    SessionDocument,
    SessionFile,
    SessionPacket,
    SessionPacketDocument,
    SessionParty,
    SessionRecord,
    SessionSigner,
    ValuesBody,
)

_SIGNER: dict[str, Any] = {**requires(SIGNER), openapi.ALSO: (409,)}


class DownloadQuery(msgspec.Struct, frozen=True):
    document: (
        Annotated[
            str, Meta(min_length=1, max_length=shared_limits.CURSOR_CHARS, extra_json_schema=shared_limits.NO_NUL)
        ]
        | UnsetType
    ) = UNSET
    """Only this document of the packet."""


@get("/sign/{signer_id:str}/session", opt=_SIGNER, summary="What there is to sign, and who signs", tags=["signer"])
async def signer_session(request: AnyRequest, signer_id: FromPath[str]) -> SessionRecord:
    who = await load_viewer(request)
    deedbox = context.of(request).deedbox
    filled = await deedbox.db.read(lambda tx: people.values_of(tx, signer_id)) if who.is_shown else {}
    attached = await attachments.list_shown(request, who) if who.is_shown else []
    found = outcome(who.packet, who.signer, deedbox.clock.now())
    return _record(who, filled, attached, found.said if found else None)


@post("/sign/{signer_id:str}/code", opt=_SIGNER, summary="Give the code", tags=["signer"], status_code=200)
async def code(request: AnyRequest, signer_id: FromPath[str], data: JSONBody[CodeBody]) -> Done:  # noqa: ARG001
    await give_code(request, data.code)
    return Done()


@get(
    "/sign/{signer_id:str}/files/{file_id:str}/pages/{page:str}",
    opt={
        **_SIGNER,
        QUERY: PictureQuery,
        openapi.ANSWERS: PICTURE,
    },
    summary="A page as a picture",
    tags=["signer"],
)  # fmt: skip
async def signer_page(
    request: AnyRequest, signer_id: FromPath[str], file_id: FromPath[str], page: FromPath[str]
) -> Response[Any]:
    deedbox, token = context.of(request).deedbox, context.of(request).token
    number, who = page_number(page), await inside(request)
    if not who.is_shown:
        raise refusal(Conflict, "pages_over")
    shown = [(document, file) for document in who.packet.documents for file in document.files if file.id == file_id]
    if number is None or not shown or number > shown[0][1].pages:
        raise NotFound("There is no such page")
    document, at = shown[0][0], (file_id, number)
    hashed = sha256(token.reveal())
    blob, known = await deedbox.db.read(
        lambda tx: (blobs_store.demand(tx, document.paper_sha256 or ""), links.has_viewed_page(tx, hashed, *at))
    )
    position, width = first_page(document, file_id) + number, context.of(request).query.width
    picture = await page_picture(request, blob, position, width)
    if not who.session.viewed:
        await load_viewer(request)
    if not known:
        seen = circumstances(request, who)
        await in_context(request, who, lambda ctx: view_page(ctx, document, signer_id, token, at, seen))
    return picture


@put("/sign/{signer_id:str}/fields", opt=_SIGNER, summary="Keep what is filled in so far", tags=["signer"])
async def keep_fields(request: AnyRequest, signer_id: FromPath[str], data: JSONBody[ValuesBody]) -> Done:
    who = await inside(request)
    given = values.sent(who.fields, data.values, who.signer.language)
    await done(request, who, lambda ctx, packet: fill(ctx, packet, signer_id, given))
    return Done()


@post(
    "/sign/{signer_id:str}/complete",
    opt=_SIGNER,
    summary="Sign, or approve",
    tags=["signer"],
    status_code=200,
    request_max_body_size=limits.SIGNING_BODY_BYTES,
)
async def complete(request: AnyRequest, signer_id: FromPath[str], data: JSONBody[CompleteBody]) -> Acted:
    who, services = await inside(request), context.of(request).deedbox.services
    if not data.consent:
        raise refusal(BadRequest, "consent_approver" if who.signer.role == "approver" else "consent")
    if data.signature is None:
        seen = circumstances(request, who)
        approved = await run_action(request, who, lambda ctx, packet: approve(ctx, packet, signer_id, seen))
        return Acted("approved", approved.status)
    given = values.sent(who.fields, data.values, who.signer.language)
    async with AsyncExitStack() as held:
        signature, images = await by_hand.store_mark(services, data.signature, held)
        initials, more = await by_hand.store_mark(services, data.initials, held) if data.initials else (None, [])
        act = SigningAct(signature, given, circumstances(request, who), initials, [*images, *more])
        signed = await run_action(request, who, lambda ctx, packet: sign.sign(ctx, packet, signer_id, act))
    return Acted("signed", signed.status)


@post(
    "/sign/{signer_id:str}/decline",
    opt=_SIGNER,
    summary="Decline to sign",
    tags=["signer"],
    status_code=200,
)
async def decline(request: AnyRequest, signer_id: FromPath[str], data: JSONBody[DeclineBody]) -> Acted:
    who = await inside(request)
    seen = circumstances(request, who)
    declined = await run_action(
        request, who, lambda ctx, packet: decline_packet(ctx, packet, signer_id, data.reason, seen)
    )
    return Acted("declined", declined.status)


@post(
    "/sign/{signer_id:str}/delegate",
    opt=_SIGNER,
    summary="Pass it on to someone else, where the sender allows it",
    tags=["signer"],
    status_code=200,
)
async def delegate(request: AnyRequest, signer_id: FromPath[str], data: JSONBody[Delegation]) -> Acted:
    who = await inside(request)
    seen = circumstances(request, who)
    after = await run_action(request, who, lambda ctx, packet: delegate_packet(ctx, packet, signer_id, data, seen))
    return Acted("delegated", after.status)


@get(
    "/sign/{signer_id:str}/download",
    opt={
        **_SIGNER,
        QUERY: DownloadQuery,
        openapi.ANSWERS: {"200": {"description": "The sealed PDF, or of a packet the zip file", "content": {
            "application/pdf": {"schema": {"type": "string", "format": "binary"}},
            "application/zip": {"schema": {"type": "string", "format": "binary"}}}}},
        openapi.ALSO: (409, 413, 416),
    },
    summary="The sealed file, or those of a packet",
    tags=["signer"],
)  # fmt: skip
async def signer_download(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:  # noqa: ARG001
    """Of a packet, a zip file of all sealed files and certificates; with `document`, one sealed file."""
    deedbox, who = context.of(request).deedbox, await inside(request)
    wanted = context.of(request).query.document or None
    require_seal(who)
    if wanted is None and not who.packet.lone:
        files = await deedbox.db.read(lambda tx: for_signers(tx, who.packet))
        return await zip_response(request, files, who.packet.title)
    found = [one for one in who.packet.documents if wanted in (None, one.id)]
    if not found:
        raise NotFound("There is no such document")
    blob = await deedbox.db.read(lambda tx: blobs_store.demand(tx, sealed.demand(tx, found[0].id).sha256))
    return await file_response(request, deedbox.blobs, blob, "application/pdf", f"{found[0].title}.pdf")


def _record(
    who: Inside, filled: Mapping[str, str], attached: Sequence[Attachment], outcome: str | None
) -> SessionRecord:
    packet, party, signer = who.packet, who.party, who.signer
    document, shown = packet.first, packet.documents if who.is_shown else []
    fields = who.possible_fields if who.is_shown else []
    given = {**filled, **{one.field_id: one.sha256 for one in attached if one.signer_id == signer.id}}
    return SessionRecord(
        document=SessionDocument(document.id, document.title, document.status, packet.message if shown else None),
        signer=SessionSigner(signer.id, signer.name, signer.status, signer.role, who.can_delegate),
        party=SessionParty(party.name, party.order),
        needs=who.needs,
        files=[SessionFile(file.id, file.name, file.pages, file.sizes) for one in shown for file in one.files],
        fields=[msgspec.structs.replace(field, value=current_value(field, given)) for field in fields],
        attachments=[attachments.shown(one) for one in attached],
        consent_text=consent(packet, signer),
        outcome=outcome,
        packet=None if packet.lone else _packet(who),
    )


def _packet(who: Inside) -> SessionPacket:
    packet, shown = who.packet, who.is_shown
    documents = [
        SessionPacketDocument(
            one.id, one.title, one.status, [file.id for file in one.files] if shown else [], who.only_reads(one)
        )
        for one in packet.documents
    ]
    return SessionPacket(packet.id, packet.title, packet.status, documents)


ROUTES = [
    signer_session,
    code,
    signer_page,
    keep_fields,
    complete,
    decline,
    delegate,
    signer_download,
    *attachments.ROUTES,
    *by_hand.ROUTES,
]
