"""Signing in person: someone who is signed in hands the device to a signer who is there."""

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from deedbox.accounts import people
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, DeedboxError
from deedbox.signing import parties, sessions
from deedbox.signing.actions import expire
from deedbox.signing.actions.enter import Visit, code_for, enter
from deedbox.signing.actions.hand_over import hand_over
from deedbox.signing.model import Packet
from deedbox.signing.store.links import Voucher
from deedbox.web.frame import context, cookies
from deedbox.web.frame.app_pages import app_page, refused
from deedbox.web.frame.context import AnyRequest, origin
from deedbox.web.frame.doors import person
from deedbox.web.frame.pages import go

_NO_NAME = (
    "You have no name yet, and the evidence names who hands over the device. Choose one on the account page, then come"
    " back."
)


@get("/app/documents/{document_id:str}", opt=person("documents:read"), include_in_schema=False)
async def document_page(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """The document's people, and a button for each whose turn it is."""
    try:
        return _page(request, await _packet(request, document_id), document_id)
    except DeedboxError as error:
        return refused(request, error)


@post(
    "/app/documents/{document_id:str}/signers/{signer_id:str}/in-person",
    opt=person("documents:send"),
    include_in_schema=False,
)
async def sign_in_person(request: AnyRequest, document_id: FromPath[str], signer_id: FromPath[str]) -> Response[Any]:
    """Opens the signer's session on this device, and ends the host's own: the signer holds the device from now on."""
    here = context.of(request)
    try:
        packet = await _packet(request, document_id)
        _, signer = parties.find_signer(packet, signer_id)
    except DeedboxError as error:
        return refused(request, error)
    office, host, now = here.deedbox.office, here.person, here.deedbox.clock.now()
    code, visit = await code_for(packet, signer), Visit(*origin(request))

    if host.name == people.UNNAMED:
        return _page(request, packet, document_id, Conflict(_NO_NAME))

    def act(tx: Tx) -> Secret:
        with office.desk(tx, host.workspace_id, host.person_id, now) as desk:
            token = hand_over(desk, desk.packet_of(document_id), signer_id, Voucher(host.person_id, host.name), visit)
        people.close_session(tx, here.token.reveal())
        return enter(office, tx, token.reveal(), visit, now, code)

    try:
        session = await here.deedbox.db.write(act)
    except DeedboxError as error:
        return _page(request, packet, document_id, error)
    seconds = sessions.session_seconds("in_person")
    signed_in = cookies.made(request, cookies.of_signer(signer_id), session, seconds)
    return go(f"/sign/{signer_id}", signed_in, cookies.made(request, cookies.PERSON, None, 0))


async def _packet(request: AnyRequest, document_id: str) -> Packet:
    here = context.of(request)
    office = here.deedbox.office
    return await expire.current(office, await office.packet_of(here.person.workspace_id, document_id))


def _page(request: AnyRequest, packet: Packet, document_id: str, error: DeedboxError | None = None) -> Response[Any]:
    return app_page(
        request,
        "dashboard/document.html",
        error=error,
        packet=packet,
        document_id=document_id,
        waiting=[*parties.waiting_for(packet)],
    )


ROUTES: list[Any] = [document_page, sign_in_person]
