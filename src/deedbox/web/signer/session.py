"""The signer's session: one document, one person, a cookie and no key."""

import base64
import binascii
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get, post, put
from litestar.params import FromPath, JSONBody, QueryParameter

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Received
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.stream import streamed
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, Forbidden, NotFound
from deedbox.signing import acts, found, sessions
from deedbox.signing.acts import CONSENT, Circumstances, Signature
from deedbox.signing.document import Document, Party, Signer, first_page
from deedbox.signing.papers import store as papers
from deedbox.signing.people import store as people
from deedbox.signing.sessions import Session
from deedbox.web.frame import context, cookies, openapi
from deedbox.web.frame.blob_response import file_response, page_number
from deedbox.web.frame.context import AnyRequest, Context
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

    def exchange(tx: Tx) -> Any:
        session = sessions.exchange(tx, token, now=now)
        inside = sessions.current(tx, session.reveal(), now=now)
        document = found.find(tx, inside.workspace_id, inside.document_id)
        _, signer = found.signer_of(document, inside.signer_id)
        if signer.auth == "email_code" and document.status == "sent":
            deedbox.post.code(tx, document, signer, sessions.new_code(tx, signer.id, now=now), now=now)
            tx.on_commit(deedbox.jobs.wake)
        return session

    session = await deedbox.db.write(exchange)
    cookie = cookies.made(request, "signer", session, limits.SIGNER_SESSION_SECONDS)
    headers = {"Location": "/sign", **HEADERS}
    return Response(None, status_code=303, headers=headers, cookies=[cookie], media_type="text/plain")


@get("/sign/session", opt=_SIGNER, summary="What there is to sign, and who signs", tags=["signer"])
async def signer_session(request: AnyRequest) -> SessionRecord:
    here = context.of(request)
    session, document, party, signer = await _inside(request, demand_code=False)
    if signer.auth != "none" and not session.checked:
        return _record(document, party, signer, needs="code", filled={})
    if signer.status == "notified":
        now, seen = here.deedbox.clock.now(), _seen(request, signer)
        await here.deedbox.db.write(
            lambda tx: acts.view(tx, session.workspace_id, document.id, signer.id, seen, now=now)
        )
        session, document, party, signer = await _inside(request)
    filled = await here.deedbox.db.read(lambda tx: people.values_of(tx, signer.id))
    return _record(document, party, signer, needs=None, filled=filled)


@post("/sign/code", opt=_SIGNER, summary="Give the code", tags=["signer"], status_code=200)
async def give_code(request: AnyRequest, data: JSONBody[CodeBody]) -> Done:
    deedbox = context.of(request).deedbox
    session, _, _, signer = await _inside(request, demand_code=False)
    if signer.auth == "none":
        raise Conflict("This document asks for no code")
    now, token = deedbox.clock.now(), context.of(request).token.reveal()
    # Counted in a transaction of its own: an attempt counts also when it fails.
    await deedbox.db.write(lambda tx: sessions.count_try(tx, signer.id, now=now))
    if not await deedbox.db.write(lambda tx: sessions.check_code(tx, token, session, data.code, now=now)):
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
    _, document, _, _ = await _inside(request)
    number = page_number(page)
    if number is None:
        raise NotFound("There is no such page")
    file = next((file for file in document.files if file.id == file_id), None)
    if file is None or number > file.pages:
        raise NotFound("There is no such page")
    blob = await deedbox.db.read(lambda tx: _paper(tx, document.id))
    async with streamed(deedbox.blobs, blob) as data:
        picture = await deedbox.workshop.render(data, first_page(document, file_id) + number, width)
    headers = {"Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}
    return Response(picture, media_type="image/webp", headers=headers)


@put("/sign/fields", opt=_SIGNER, summary="Keep what is filled in so far", tags=["signer"])
async def keep_fields(request: AnyRequest, data: JSONBody[ValuesBody]) -> Done:
    deedbox = context.of(request).deedbox
    session, document, _, signer = await _inside(request)
    now = deedbox.clock.now()
    await deedbox.db.write(lambda tx: acts.fill(tx, session.workspace_id, document.id, signer.id, data.values, now=now))
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
    here = context.of(request)
    session, document, _, signer = await _inside(request)
    if not data.consent:
        raise BadRequest("You can sign only if you agree to sign electronically")
    async with AsyncExitStack() as held:
        signature, image = await _signature(here, data.signature, held)
        now, seen = here.deedbox.clock.now(), _seen(request, signer)

        def sign(tx: Tx) -> Document:
            if image is not None:
                blobs_store.adopt(tx, image, document.id, now)
            tx.on_commit(here.deedbox.jobs.wake)
            return acts.sign(
                tx, session.workspace_id, document.id, signer.id, signature, data.values, seen, here.deedbox.post,
                now=now,
            )  # fmt: skip

        signed = await here.deedbox.db.write(sign)
    return Acted("signed", signed.status)


@post("/sign/decline", opt=_SIGNER, summary="Decline to sign", tags=["signer"], status_code=200)
async def decline(request: AnyRequest, data: JSONBody[DeclineBody]) -> Acted:
    here = context.of(request)
    session, document, _, signer = await _inside(request)
    now, seen = here.deedbox.clock.now(), _seen(request, signer)

    def act(tx: Tx) -> Document:
        tx.on_commit(here.deedbox.jobs.wake)
        return acts.decline(
            tx, session.workspace_id, document.id, signer.id, data.reason, seen, here.deedbox.post, now=now
        )

    return Acted("declined", (await here.deedbox.db.write(act)).status)


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
    _, document, _, _ = await _inside(request)
    blob = await deedbox.db.read(lambda tx: _sealed(tx, document))
    return await file_response(request, deedbox.blobs, blob, "application/pdf", f"{document.title}.pdf")


async def _inside(request: AnyRequest, *, demand_code: bool = True) -> tuple[Session, Document, Party, Signer]:
    """Who is in, with the document as it is now; one past its time expires at the first look."""
    deedbox = context.of(request).deedbox
    session = context.of(request).signer
    document = await deedbox.timers.current(session.workspace_id, session.document_id)
    party, signer = found.signer_of(document, session.signer_id)
    if demand_code:
        sessions.need_checked(session, signer.auth)
    return session, document, party, signer


def _record(
    document: Document, party: Party, signer: Signer, *, needs: Literal["code"] | None, filled: dict[str, str]
) -> SessionRecord:
    fields = [] if needs else acts.own_fields(document, party, signer)
    return SessionRecord(
        document=SessionDocument(document.id, document.title, document.status, None if needs else document.message),
        signer=SessionSigner(signer.id, signer.name, signer.status),
        party=SessionParty(party.name, party.order),
        needs=needs,
        files=[] if needs else [SessionFile(file.id, file.name, file.pages) for file in document.files],
        fields=[msgspec.structs.replace(field, value=field.value or filled.get(field.id)) for field in fields],
        consent_text=CONSENT,
    )


async def _signature(
    here: Context, given: Typed | Drawn | Uploaded, held: AsyncExitStack
) -> tuple[Signature, Received | None]:
    """How the signer signs, and the image, written anew, that is to be kept."""
    if isinstance(given, Typed):
        return Signature("typed", text=given.text), None
    head = next((head for head in _IMAGE_TYPES if given.image.startswith(head)), None)
    if head is None:
        raise BadRequest("The signature's image must be a data URL of a PNG or JPEG image")
    try:
        data = base64.b64decode(given.image[len(head) :], validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest("The signature's image is not base64") from error
    picture = await here.deedbox.workshop.signature_image(data)
    incoming = await held.enter_async_context(here.deedbox.blobs.receive(limits.SIGNATURE_IMAGE_BYTES))
    await incoming.write(picture)
    received = await incoming.finish()
    kind: Literal["drawn", "uploaded"] = "drawn" if isinstance(given, Drawn) else "uploaded"
    return Signature(kind, image_sha256=received.blob.sha256), received


def _seen(request: AnyRequest, signer: Signer) -> Circumstances:
    client = request.scope.get("client")
    return Circumstances(
        address=client[0] if client else "unknown",
        user_agent=request.headers.get("user-agent", "")[: limits.USER_AGENT_CHARS],
        identity="link" if signer.auth == "none" else signer.auth,
    )


def _paper(tx: Tx, document_id: str) -> Blob:
    sha256 = papers.paper(tx, document_id)
    blob = blobs_store.find(tx, sha256) if sha256 else None
    if blob is None:
        raise NotFound("There is no such file")
    return blob


def _sealed(tx: Tx, document: Document) -> Blob:
    made = papers.sealed(tx, document.id)
    blob = blobs_store.find(tx, made[0]) if made else None
    if blob is None:
        raise Conflict(f"The document is not completed yet: it is {document.status}")
    return blob


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
