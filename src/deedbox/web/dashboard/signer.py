"""One person of a document or packet: correct them, make a link for them, or hand over this device."""

from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from deedbox import i18n
from deedbox.accounts import people
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, ServiceError
from deedbox.signing import parties, sessions
from deedbox.signing.actions.correct import correct
from deedbox.signing.actions.embed import embed
from deedbox.signing.actions.enter import LinkOrigin, code_for, enter
from deedbox.signing.actions.hand_over import hand_over
from deedbox.signing.field_size import NameTooLong
from deedbox.signing.new_document import Email, Language, Name, SignerChange
from deedbox.signing.store.links import Voucher
from deedbox.web import limits
from deedbox.web.dashboard import document_status, subject
from deedbox.web.http import context, cookies, page_forms
from deedbox.web.http.app_pages import app_page, refusal_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest, origin
from deedbox.web.http.page_forms import form_of, text
from deedbox.web.http.pages import go

_PLACE = "/signers/{signer_id:str}"
_CORRECTED = ("name", "email", "language")


class Correction(msgspec.Struct, frozen=True):
    """Someone as they should have been."""

    name: Name
    email: Email
    language: Language


@get(subject.paths(_PLACE), opt=person("documents:read"), include_in_schema=False)
async def signer_page(request: AnyRequest, subject_id: FromPath[str], signer_id: FromPath[str]) -> Response[Any]:
    return await _page(request, subject_id, signer_id)


@post(
    subject.paths(_PLACE),
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def correct_signer(request: AnyRequest, subject_id: FromPath[str], signer_id: FromPath[str]) -> Response[Any]:
    """Another name, address or language for someone who has not acted."""
    here, form, of = context.of(request), await form_of(request), subject.of(request, subject_id)

    try:
        with page_forms.send_once(request, form) as sent:
            if before := await sent.before():
                return go(before)
            right = page_forms.read_struct(form, Correction)
            wanted = SignerChange(name=right.name.strip(), email=right.email.strip(), language=right.language)

            def act(tx: Tx) -> str:
                email, name = page_forms.beside("email", BadRequest), page_forms.beside("name", NameTooLong)
                with here.action(tx) as ctx, email, name:
                    correct(ctx, of.packet(ctx), signer_id, wanted)
                return f"{of.path}?done=corrected"

            await of.seen(request)
            return go(await sent.once(act))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, subject_id, signer_id, error, typed=_given(form))


@post(subject.paths(f"{_PLACE}/link"), opt=person("documents:embed"), include_in_schema=False)
async def make_link(request: AnyRequest, subject_id: FromPath[str], signer_id: FromPath[str]) -> Response[Any]:
    """A link for this person, shown once: the answer is the page itself, and no address holds it."""
    here, of = context.of(request), subject.of(request, subject_id)
    voucher = Voucher(here.caller.id, here.caller.name)

    def act(tx: Tx) -> tuple[str, str]:
        with here.action(tx) as ctx:
            token, expires_at = embed(ctx, of.packet(ctx), signer_id, voucher)
        return f"{here.deedbox.address}/s/{token.reveal()}", expires_at

    try:
        await of.seen(request)
        link = await here.deedbox.db.write(act)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, subject_id, signer_id, error)
    return await _page(request, subject_id, signer_id, link=link)


@post(subject.paths(f"{_PLACE}/in-person"), opt=person("documents:send"), include_in_schema=False)
async def sign_in_person(request: AnyRequest, subject_id: FromPath[str], signer_id: FromPath[str]) -> Response[Any]:
    """Opens the signer's session on this device, and ends the host's own: the signer holds the device from now on."""
    here, of = context.of(request), subject.of(request, subject_id)
    services, host, now = here.deedbox.services, here.person, here.deedbox.clock.now()
    visit = LinkOrigin(*origin(request))
    try:
        packet = await of.seen(request)
        code = await code_for(packet, parties.find_signer(packet, signer_id)[1])
        if host.name == people.UNNAMED:
            raise Conflict(WORDS["hand_over_unnamed"])

        def act(tx: Tx) -> Secret:
            with services.action(tx, host.workspace_id, host.person_id, now) as ctx:
                by = Voucher(host.person_id, host.name)
                token = hand_over(ctx, of.packet(ctx), signer_id, by, visit)
            people.close_session(tx, here.token.reveal())
            return enter(services, tx, token.reveal(), visit, now, code)

        session = await here.deedbox.db.write(act)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, subject_id, signer_id, error)
    seconds = sessions.session_seconds("in_person")
    signed_in = cookies.create_cookie(request, cookies.of_signer(signer_id), session, seconds)
    return go(f"/sign/{signer_id}", signed_in, cookies.create_cookie(request, cookies.PERSON, None, 0))


async def _page(
    request: AnyRequest,
    subject_id: str,
    signer_id: str,
    error: ServiceError | None = None,
    **more: Any,
) -> Response[Any]:
    """The person's page, with what was typed, or the link that was made."""
    of = subject.of(request, subject_id)
    try:
        packet = await of.seen(request)
        parties.find_signer(packet, signer_id)
    except ServiceError as missing:
        return refusal_page(request, missing)
    who = next(one for one in document_status.people(packet) if one.signer.id == signer_id)
    values: Mapping[str, Any] = {"typed": {name: getattr(who.signer, name) for name in _CORRECTED}, "link": None}
    return app_page(
        request,
        "dashboard/signer.html",
        error=error,
        packet=packet,
        of=of,
        who=who,
        unnamed=context.of(request).person.name == people.UNNAMED,
        turn=any(one.id == signer_id for one in parties.waiting_for(packet)),
        languages=i18n.NAMES,
        once=page_forms.new_once(),
        **{**values, **more},
    )


def _given(form: Any) -> dict[str, str]:
    return {name: text(form, name).strip() for name in _CORRECTED}


ROUTES: list[Any] = [signer_page, correct_signer, make_link, sign_in_person]
