"""The signer's session: one document, one person, a cookie and no key."""

import base64
import binascii
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from litestar import Response, get, post, put
from litestar.params import FromPath, JSONBody, QueryParameter

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Received
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.stream import streamed
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, Forbidden, NotFound
from deedbox.signing import parties, sessions
from deedbox.signing.actions import expire, sign
from deedbox.signing.actions.decline import decline as decline_packet
from deedbox.signing.actions.enter import enter, packet_for
from deedbox.signing.actions.fill import fill
from deedbox.signing.actions.sign import SigningAct
from deedbox.signing.actions.turn import Circumstances
from deedbox.signing.actions.view import view
from deedbox.signing.desk import Desk, Office
from deedbox.signing.model import CONSENT, Document, Field, Packet, Party, Signature, Signer, first_page
from deedbox.signing.sessions import Session
from deedbox.signing.store import people, sealed
from deedbox.web.frame import context, cookies, openapi
from deedbox.web.frame.blob_response import file_response, page_number
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import PUBLIC, SIGNER, door
from deedbox.web.frame.head import GET_ONLY
from deedbox.web.frame.pages import HEADERS
from deedbox.web.signer.records import (
    Acted,
    CodeBody,
    CompleteBody,
    DeclineBody,
    Done,
    Drawn,
    SessionDocument,
    SessionFile,
    SessionParty,
    SessionRecord,
    SessionSigner,
    Typed,
    Uploaded,
    ValuesBody,
)

_SIGNER: dict[str, Any] = {**door(SIGNER), openapi.ALSO: (409,)}
_IMAGE_TYPES = ("data:image/png;base64,", "data:image/jpeg;base64,")


@get("/s/{token:str}", opt={**door(PUBLIC), GET_ONLY: True}, include_in_schema=False)
async def use_signing_link(request: AnyRequest, token: FromPath[str]) -> Response[None]:
    """Exchanges the token of a link for the signer's cookie; the token leaves the address."""
    deedbox = context.of(request).deedbox
    now = deedbox.clock.now()

    session = await deedbox.db.write(lambda tx: enter(deedbox.office, tx, token, now))
    cookie = cookies.made(request, "signer", session, limits.SIGNER_SESSION_SECONDS)
    headers = {"Location": "/sign", **HEADERS}
    return Response(None, status_code=303, headers=headers, cookies=[cookie], media_type="text/plain")


@get("/sign/session", opt=_SIGNER, summary="What there is to sign, and who signs", tags=["signer"])
async def signer_session(request: AnyRequest) -> SessionRecord:
    inside = await _inside(request, demand_code=False)
    if inside.signer.auth != "none" and not inside.session.checked:
        return _record(inside, needs="code", filled={})
    if inside.signer.status == "notified":
        seen = _seen(request, inside.signer)
        inside = inside.after(
            await _done(request, inside, lambda desk, packet: view(desk, packet, inside.signer.id, seen))
        )
    filled = await context.of(request).deedbox.db.read(lambda tx: people.values_of(tx, inside.signer.id))
    return _record(inside, needs=None, filled=filled)


@post("/sign/code", opt=_SIGNER, summary="Give the code", tags=["signer"], status_code=200)
async def give_code(request: AnyRequest, data: JSONBody[CodeBody]) -> Done:
    deedbox = context.of(request).deedbox
    signer = (await _inside(request, demand_code=False)).signer
    if signer.auth == "none":
        raise Conflict("This document asks for no code")
    now, token = deedbox.clock.now(), context.of(request).token.reveal()
    # Counted in a transaction of its own: an attempt counts also when it fails.
    await deedbox.db.write(lambda tx: sessions.count_try(tx, signer.id, now=now))
    if not await deedbox.db.write(lambda tx: sessions.check_code(tx, token, signer, data.code, now=now)):
        raise Forbidden("The code is wrong or too old")
    return Done()


@get(
    "/sign/files/{file_id:str}/pages/{page:str}",
    opt={
        **_SIGNER,
        openapi.ANSWERS: {"200": {"description": "The page", "content": {"image/webp": {"schema": {
            "type": "string", "format": "binary"}}}}},
    },
    summary="A page as a picture",
    tags=["signer"],
)  # fmt: skip
async def signer_page(
    request: AnyRequest,
    file_id: FromPath[str],
    page: FromPath[str],
    width: Annotated[int, QueryParameter(ge=100, le=limits.PAGE_WIDTH_MAX)] = limits.PAGE_IMAGE_WIDTH,
) -> Response[bytes]:
    deedbox = context.of(request).deedbox
    number, packet = page_number(page), (await _inside(request)).packet
    shown = [(document, file) for document in packet.documents for file in document.files if file.id == file_id]
    if number is None or not shown or number > shown[0][1].pages:
        raise NotFound("There is no such page")
    document = shown[0][0]
    blob = await deedbox.db.read(lambda tx: blobs_store.demand(tx, document.paper_sha256 or ""))
    async with streamed(deedbox.blobs, blob) as data:
        picture = await deedbox.workshop.render(data, first_page(document, file_id) + number, width)
    headers = {"Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}
    return Response(picture, media_type="image/webp", headers=headers)


@put("/sign/fields", opt=_SIGNER, summary="Keep what is filled in so far", tags=["signer"])
async def keep_fields(request: AnyRequest, data: JSONBody[ValuesBody]) -> Done:
    inside = await _inside(request)

    def keep(desk: Desk, packet: Packet) -> Packet:
        fill(desk, packet, inside.signer.id, data.values)
        return packet

    await _done(request, inside, keep)
    return Done()


@post(
    "/sign/complete",
    opt=_SIGNER,
    summary="Sign",
    tags=["signer"],
    status_code=200,
    request_max_body_size=limits.SIGNING_BODY_BYTES,
)
async def complete(request: AnyRequest, data: JSONBody[CompleteBody]) -> Acted:
    inside, office = await _inside(request), context.of(request).deedbox.office
    if not data.consent:
        raise BadRequest("You can sign only if you agree to sign electronically")
    async with AsyncExitStack() as held:
        signature, images = await _by_hand(office, data.signature, held)
        initials, more = await _by_hand(office, data.initials, held) if data.initials else (None, [])
        act = SigningAct(signature, data.values, _seen(request, inside.signer), initials, [*images, *more])
        signed = await _done(request, inside, lambda desk, packet: sign.sign(desk, packet, inside.signer.id, act))
    return Acted("signed", signed.first.status)


@post("/sign/decline", opt=_SIGNER, summary="Decline to sign", tags=["signer"], status_code=200)
async def decline(request: AnyRequest, data: JSONBody[DeclineBody]) -> Acted:
    inside = await _inside(request)
    seen = _seen(request, inside.signer)
    declined = await _done(
        request, inside, lambda desk, packet: decline_packet(desk, packet, inside.signer.id, data.reason, seen)
    )
    return Acted("declined", declined.first.status)


@get(
    "/sign/download",
    opt={
        **_SIGNER,
        openapi.ANSWERS: {"200": {"description": "The sealed PDF", "content": {"application/pdf": {"schema": {
            "type": "string", "format": "binary"}}}}},
        openapi.ALSO: (409, 416),
    },
    summary="The sealed file",
    tags=["signer"],
)  # fmt: skip
async def signer_download(request: AnyRequest) -> Response[Any]:
    deedbox = context.of(request).deedbox
    document = (await _inside(request)).packet.first
    blob = await deedbox.db.read(lambda tx: _sealed(tx, document))
    return await file_response(request, deedbox.blobs, blob, "application/pdf", f"{document.title}.pdf")


class Inside(NamedTuple):
    """Who is in, with what they have to sign as it is now."""

    session: Session
    packet: Packet
    party: Party
    signer: Signer

    def after(self, packet: Packet) -> "Inside":
        return Inside(self.session, packet, *parties.find_signer(packet, self.signer.id))


async def _inside(request: AnyRequest, *, demand_code: bool = True) -> Inside:
    """Who is in; a packet past its time expires at the first look."""
    office, session = context.of(request).deedbox.office, context.of(request).signer
    packet = await expire.current(office, await office.db.read(lambda tx: packet_for(tx, session)))
    party, signer = parties.find_signer(packet, session.signer_id)
    if demand_code:
        sessions.need_checked(session, signer.auth)
    return Inside(session, packet, party, signer)


async def _done(request: AnyRequest, inside: Inside, action: Callable[[Desk, Packet], Packet]) -> Packet:
    """The packet after the signer's act, which sees it as it is in the transaction."""
    office, session = context.of(request).deedbox.office, inside.session

    def act(tx: Tx) -> Packet:
        with office.desk(tx, session.workspace_id, session.signer_id) as desk:
            return action(desk, packet_for(tx, session))

    return await office.db.write(act)


def _record(inside: Inside, *, needs: Literal["code"] | None, filled: dict[str, str]) -> SessionRecord:
    packet, party, signer = inside.packet, inside.party, inside.signer
    document = packet.first
    shown: list[Document] = [] if needs else packet.documents
    fields: list[Field] = [field for one in shown for field in parties.own_fields(one, party, signer)]
    return SessionRecord(
        document=SessionDocument(document.id, document.title, document.status, None if needs else packet.message),
        signer=SessionSigner(signer.id, signer.name, signer.status),
        party=SessionParty(party.name, party.order),
        needs=needs,
        files=[SessionFile(file.id, file.name, file.pages) for one in shown for file in one.files],
        fields=[msgspec.structs.replace(field, value=field.value or filled.get(field.id)) for field in fields],
        consent_text=CONSENT,
    )


async def _by_hand(
    office: Office, given: Typed | Drawn | Uploaded, held: AsyncExitStack
) -> tuple[Signature, list[Received]]:
    """A signature or initials, with its stored picture if it was not typed."""
    if isinstance(given, Typed):
        return Signature("typed", text=given.text), []
    kind: Literal["drawn", "uploaded"] = "drawn" if isinstance(given, Drawn) else "uploaded"
    made, image = await held.enter_async_context(sign.image(office, kind, _picture(given.image)))
    return made, [image]


def _picture(url: str) -> bytes:
    """The bytes of a data URL."""
    head = next((head for head in _IMAGE_TYPES if url.startswith(head)), None)
    if head is None:
        raise BadRequest("The signature's image must be a data URL of a PNG or JPEG image")
    try:
        return base64.b64decode(url[len(head) :], validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest("The signature's image is not base64") from error


def _seen(request: AnyRequest, signer: Signer) -> Circumstances:
    client = request.scope.get("client")
    return Circumstances(
        address=client[0] if client else "unknown",
        user_agent=request.headers.get("user-agent", "")[: limits.USER_AGENT_CHARS],
        identity="link" if signer.auth == "none" else signer.auth,
    )


def _sealed(tx: Tx, document: Document) -> Blob:
    made = sealed.find(tx, document.id)
    if made is None:
        raise Conflict(f"The document is not completed yet: it is {document.status}")
    return blobs_store.demand(tx, made.sha256)


ROUTES = [
    use_signing_link,
    signer_session,
    give_code,
    signer_page,
    keep_fields,
    complete,
    decline,
    signer_download,
]
