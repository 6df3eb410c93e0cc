"""The signing page: what there is to sign, and a plain form that signs or declines without script."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.exceptions import ClientException
from litestar.params import FromPath
from msgspec.structs import replace

from deedbox import i18n
from deedbox.i18n import refusals
from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest, ServiceError, TooLarge
from deedbox.signing import sessions
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import attach, sign
from deedbox.signing.actions.approve import approve
from deedbox.signing.actions.decline import decline
from deedbox.signing.actions.delegate import Delegation, delegate
from deedbox.signing.actions.fill import fill
from deedbox.signing.actions.sign import SigningAct
from deedbox.signing.field_value import BY_HAND
from deedbox.signing.model import Packet, consent
from deedbox.signing.store import people
from deedbox.signing.store.links import Unsigned
from deedbox.web import limits
from deedbox.web.http import context, live
from deedbox.web.http.auth import SIGNER, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import form_of, text
from deedbox.web.http.pages import go
from deedbox.web.http.upload import UploadPage
from deedbox.web.signer import attachments, by_hand, paper, screens, steps
from deedbox.web.signer import text as read_text
from deedbox.web.signer.inside import (
    Inside,
    circumstances,
    code_again,
    done,
    give_code,
    in_context,
    inside,
    load_viewer,
    outcome,
    run_action,
)
from deedbox.web.signer.records import Drawn, Typed, UploadedMark
from deedbox.web.signer.sheet import given_by, sheet

_STROKES = msgspec.json.Decoder(dict[str, Any])

_LAST = ("sign", "approve", "decline", "delegate")
"""The acts with which a person's part is over."""
_FILLED = ("sign", "approve", "keep")
"""The acts that send the fields."""
_ByHand: TypeAlias = Typed | Drawn | UploadedMark


@get("/sign/{signer_id:str}", opt=requires(SIGNER), include_in_schema=False)
async def signing_page(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:  # noqa: ARG001
    if live.is_state_check(request):
        who = await inside(request, demand_code=False)
        return live.still(request, screens.choose_screen(who, context.of(request).deedbox.clock.now()))
    return await _page(request)


@post(
    "/sign/{signer_id:str}",
    opt=requires(SIGNER),
    include_in_schema=False,
    request_max_body_size=limits.SIGNING_BODY_BYTES,  # a photo of a signature may be in it
)
async def act_on_page(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:
    """Does what the pressed button says; what cannot be done is said on the page, with all that was typed."""
    form = None
    try:
        form = await _form(request)
        await _act(request, signer_id, form)
    except ServiceError as error:
        if error.status >= 500 or (form is None and not error.sayings):
            raise
        return await _page(request, error=error, typed=form)
    if context.of(request).signer.link == "in_person" and text(form, "act") in _LAST:
        return await _page(request, over=True)  # shown once: who gets the device next is not let in
    return go(f"/sign/{signer_id}")


@post(
    "/sign/{signer_id:str}/attachments/{field_id:str}/upload",
    opt=requires(SIGNER),
    include_in_schema=False,
    request_max_body_size=None,
)
async def attach_on_page(request: AnyRequest, signer_id: FromPath[str], field_id: FromPath[str]) -> Response[Any]:
    """Takes the file of the form and keeps what is typed beside it; what cannot be taken is said on the page."""
    sent = UploadPage(f"{field_id}-file")
    try:
        await attachments.store_attachment(request, field_id, sent)
        await _keep(request, await inside(request), sent.typed())
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, error=error, typed={**sent.typed(), "act": "keep"} if sent.typed() else None)
    return go(f"/sign/{signer_id}")


async def _form(request: AnyRequest) -> FormMultiDict:
    try:
        return await form_of(request)
    except ClientException as error:
        if error.status_code != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise
        # Nothing but a photo makes it so large.
        raise refusal(TooLarge, by_hand.UNUSABLE.name, **by_hand.UNUSABLE.values) from error


async def _act(request: AnyRequest, signer_id: str, form: FormMultiDict) -> None:
    act, language = text(form, "act"), text(form, "language")
    if act == "code":
        await give_code(request, _bounded(form, "code", shared_limits.ACCESS_CODE_CHARS))
        return
    if act == "code_again":
        await code_again(request)
        return
    who = await inside(request)
    seen = circumstances(request, who)
    if language in i18n.LANGUAGES:
        await _speak(request, who, language)
        if "signature" in form:  # with the button came all that is filled in
            await _keep(request, who, form)
    elif act == "decline":
        reason = _bounded(form, "reason", shared_limits.REASON_CHARS) or None
        await run_action(request, who, lambda ctx, packet: decline(ctx, packet, signer_id, reason, seen))
    elif act == "begin":
        await load_viewer(request)
    elif act == "keep":
        await _keep(request, who, form)
    elif field_id := text(form, "detach"):
        await done(request, who, lambda ctx, packet: attach.remove(ctx, packet, signer_id, field_id))
        await _keep(request, who, form)
    elif act == "delegate":
        to = _delegation(form)
        await run_action(request, who, lambda ctx, packet: delegate(ctx, packet, signer_id, to, seen))
    elif act in ("approve", "sign"):
        await _finish(request, who, form)
    else:
        raise refusal(BadRequest, "no_act")


async def _speak(request: AnyRequest, who: Inside, language: str) -> None:
    """Goes on in this language, in the answer to this request too."""
    here = context.of(request)
    token = here.token.reveal()
    await in_context(request, who, lambda ctx: sessions.speak(ctx.tx, token, language))
    here.enter(replace(who.session, language=language), here.token)


async def _finish(request: AnyRequest, who: Inside, form: FormMultiDict) -> None:
    """Signs or approves all documents in one act."""
    approves, signer_id, ticked = text(form, "act") == "approve", who.signer.id, text(form, "consent")
    seen = circumstances(request, who)
    if not _agreed(who, form):
        raise refusal(BadRequest, "consent_approver" if approves else "consent")
    if ticked in i18n.LANGUAGES:  # that of the sentence as it was shown: another tab may have chosen another since
        seen = msgspec.structs.replace(seen, language=ticked)
    if approves:
        await run_action(request, who, lambda ctx, packet: approve(ctx, packet, signer_id, seen))
        return
    services, given = context.of(request).deedbox.services, given_by(who, form)
    async with AsyncExitStack() as held:
        signature, images = await by_hand.store_mark(services, _by_hand(form, "signature"), held)
        initials, more = None, list[ReceivedBlob]()
        if "initials" in form:
            initials, more = await by_hand.store_mark(services, _by_hand(form, "initials"), held)
        how = SigningAct(signature, given, seen, initials, [*images, *more])
        await run_action(request, who, lambda ctx, packet: sign.sign(ctx, packet, signer_id, how))


def _by_hand(form: FormMultiDict, mark: str) -> _ByHand:
    """The signature or the initials of the form, typed unless its script says otherwise; BadRequest without one."""
    kind = text(form, f"{mark}-kind") or "typed"
    given: dict[str, Any] = {"kind": kind}
    try:
        if kind == "typed":
            given["text"] = _bounded(form, mark, shared_limits.SIGNER_NAME_CHARS)
            given["hand"] = text(form, f"{mark}-hand") or "dancing"
        elif kind == "drawn":
            given |= _STROKES.decode(text(form, f"{mark}-strokes"))
        else:
            given["image"] = text(form, f"{mark}-image")
        made: _ByHand = msgspec.convert(given, _ByHand)
        return made
    except msgspec.MsgspecError as error:
        raise refusal(BadRequest, "no_signature") from error


def _agreed(who: Inside, form: FormMultiDict) -> bool:
    """Whether they agreed to sign electronically: now, or on the opening page."""
    return who.session.consent is not None or bool(text(form, "consent"))


async def _keep(request: AnyRequest, who: Inside, form: Mapping[str, Any]) -> None:
    """Keeps what is filled in and, for the page that follows, the signature and the tick that are not signed yet."""
    given, token = given_by(who, form), context.of(request).token.reveal()
    unsigned = _unsigned(form)

    def keep(ctx: ActionContext, packet: Packet) -> None:
        fill(ctx, packet, who.signer.id, given)
        sessions.store_unsigned(ctx.tx, token, unsigned)

    await done(request, who, keep)


def _unsigned(form: Mapping[str, Any]) -> Unsigned:
    typed = {
        name: str(form[name]).replace("\0", "")[: shared_limits.SIGNER_NAME_CHARS] for name in BY_HAND if name in form
    }
    return Unsigned(consents=bool(form.get("consent")), **typed)


def _delegation(form: FormMultiDict) -> Delegation:
    """To whom the form passes it on; BadRequest where name or address are missing or too long."""
    reason = _bounded(form, "reason", shared_limits.REASON_CHARS) or None
    given = {"name": text(form, "name").strip(), "email": text(form, "email").strip(), "reason": reason}
    try:
        return msgspec.convert(given, Delegation)
    except msgspec.ValidationError as error:
        raise refusal(BadRequest, "delegation") from error


def _bounded(form: FormMultiDict, name: str, most: int) -> str:
    given = text(form, name).strip()
    if len(given) > most:
        raise refusal(TooLarge, "too_long", most=str(most))
    return given


async def _page(
    request: AnyRequest,
    *,
    error: ServiceError | None = None,
    typed: Mapping[str, Any] | None = None,
    over: bool = False,
) -> Response[Any]:
    """The screen for where the signer stands: the code, what became of it (only that when `over`), or the document."""
    who = await inside(request, demand_code=False)
    if screens.is_handed_over(who):
        return await screens.handed_over(request, who)
    who = await load_viewer(request)
    said = outcome(who.packet, who.signer, context.of(request).deedbox.clock.now())
    if screens.asks_code(who, said):
        return await screens.code(request, who, error)
    if said is not None:
        return await screens.show_end(request, who, said, error, over=over)
    if error is not None and typed is not None and typed.get("act") in screens.WAYS_OUT:
        return await screens.way_out(request, str(typed["act"]), who, error, typed)
    return await _signing(request, who, error, typed)


def _typed_before(who: Inside) -> dict[str, str]:
    """What stood in the form of the page before, as the form would send it."""
    unsigned = who.session.unsigned
    by_hand = {"signature": unsigned.signature, "initials": unsigned.initials}
    ticked = {"consent": who.signer.language} if unsigned.consents else {}
    return {**ticked, **{name: value for name, value in by_hand.items() if value is not None}}


async def _signing(
    request: AnyRequest, who: Inside, error: ServiceError | None, typed: Mapping[str, Any] | None
) -> Response[Any]:
    """What there is to sign, with all that was typed."""
    deedbox, packet, signer = context.of(request).deedbox, who.packet, who.signer
    kept = await deedbox.db.read(lambda tx: people.values_of(tx, signer.id)) if who.is_shown else {}
    files = await attachments.list_shown(request, who) if who.is_shown else []
    # The form for a code sends no fields: these stand as they were.
    sent = typed is not None and (typed.get("act") in _FILLED or typed.get("detach") or typed.get("language"))
    written = typed if sent else None
    filled_in = sheet(who, kept, files, written, instant(deedbox.clock.now()))
    return await screens.screen(
        request,
        "signer/page.html",
        who,
        error,
        languages=i18n.NAMES,
        locale=i18n.tag(signer.language),
        can_delegate=who.can_delegate,
        only_reads=who.only_reads,
        steps=list(steps.steps(who, filled_in, files)),
        marks=steps.marks(who, filled_in),
        others=steps.others(who, filled_in),
        own=filled_in.own,
        depends=any(field.show_if for field in who.possible_fields),
        files=files,
        names={one.id: one.name for _, one in packet.signers()},
        most=limits.ATTACHMENT_BYTES // shared_limits.MB,
        most_photo=shared_limits.SIGNATURE_IMAGE_BYTES,
        most_pixels=shared_limits.SIGNATURE_IMAGE_PIXELS,
        typed=typed if typed is not None else _typed_before(who),
        resumed=bool(kept or written),
        shared=who.session.link == "in_person",
        said=steps.script_words(signer.language, signer.role),
        consent="" if who.session.consent else consent(packet, signer),
        agreed=who.session.consent.text if who.session.consent else "",
        wrong=refusals.beside(error, signer.language) if error else {},
    )


ROUTES: list[Any] = [signing_page, act_on_page, attach_on_page, *screens.ROUTES, *paper.ROUTES, *read_text.ROUTES]
