"""The signing link: to look at it changes nothing, to press its button opens a session."""

from collections.abc import Sequence
from typing import Any, cast

from litestar import Response, get, post
from litestar.params import FromPath

from deedbox import i18n
from deedbox.kernel import limits
from deedbox.kernel.clock import moment
from deedbox.signing import parties
from deedbox.signing.actions import expire
from deedbox.signing.actions.enter import Entrance, LinkOrigin, asks_consent, code_for, enter, entrance
from deedbox.signing.field_value import BY_HAND
from deedbox.signing.model import Field, consent
from deedbox.web.http import brand, context, cookies
from deedbox.web.http.auth import LINK, requires
from deedbox.web.http.context import AnyRequest, origin
from deedbox.web.http.head import GET_ONLY, Scope
from deedbox.web.http.page_forms import form_of, text
from deedbox.web.http.pages import go, names_html, page
from deedbox.web.signer.inside import outcome
from deedbox.web.signer.sheet import OWN


@get("/s/{token:str}", opt={**requires(LINK), GET_ONLY: True}, include_in_schema=False)
async def follow_link(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    """The opening page for a browser; whoever does not ask for HTML is let in at once."""
    if not names_html(cast(Scope, request.scope)):
        return await _opened(request, token, agreed=None)
    deedbox = context.of(request).deedbox
    found = await deedbox.db.read(lambda tx: entrance(tx, token, deedbox.clock.now()))
    return await _opening_page(request, found, token)


@post("/s/{token:str}", opt=requires(LINK), include_in_schema=False)
async def open_link(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    """Opens a session; the token leaves the address."""
    return await _opened(request, token, agreed=text(await form_of(request), "consent") or None)


async def _opened(request: AnyRequest, token: str, *, agreed: str | None) -> Response[Any]:
    deedbox = context.of(request).deedbox
    now, visit = deedbox.clock.now(), LinkOrigin(*origin(request), agreed=agreed)
    found = await deedbox.db.read(lambda tx: entrance(tx, token, now))
    await expire.current(deedbox.services, found.packet)
    code = await code_for(found.packet, found.signer)
    session = await deedbox.db.write(
        lambda tx: enter(deedbox.services, tx, token, visit, now, code),
        isolation="read committed",
    )
    signer_id = found.signer.id
    # Longer than the session: whoever comes back too late is told whose document it was.
    seconds = limits.SIGNER_SESSION_SECONDS + limits.SIGNER_SESSION_TOLD_SECONDS
    in_frame = bool(context.of(request).frames) and cookies.asked_from_frame(cast(Scope, request.scope))
    name = cookies.of_signer(signer_id, in_frame=in_frame)
    cookie = cookies.create_cookie(request, name, session, seconds, in_frame=in_frame)
    return go(f"/sign/{signer_id}", cookie)


async def _opening_page(request: AnyRequest, found: Entrance, token: str) -> Response[Any]:
    """Who asks for what, and until when; what has to be filled in is told once it is known who asks."""
    packet, signer = found.packet, found.signer
    own = [field for document in packet.documents for field in parties.own_fields(document, found.party, signer)]
    own = [field for field in own if not field.read_only and signer.auth == "none"]
    return page(
        "signer/opening.html",
        frames=context.of(request).frames,
        brand=await brand.of(request, packet.workspace_id),
        language=signer.language,
        token=token,
        packet=packet,
        signer=signer,
        pages=sum(file.pages for document in packet.documents for file in document.files),
        to_fill=_to_fill(own),
        to_sign=sum(field.type in BY_HAND for field in own),
        sign_by=i18n.moment(signer.language, moment(packet.expires_at), signer.time_zone) if packet.expires_at else "",
        consent=consent(packet, signer) if asks_consent(found) else "",
        outcome=outcome(packet, signer, context.of(request).deedbox.clock.now()),
    )


def _to_fill(fields: Sequence[Field]) -> int:
    """How many answers this person must give: radio buttons of a group are one, and some fields fill themselves."""
    must = [one for one in fields if one.required and one.type not in BY_HAND and one.type not in OWN]
    return len({(one.file_id, one.group) if one.is_button else one.id for one in must if not one.show_if})


ROUTES: list[Any] = [follow_link, open_link]
