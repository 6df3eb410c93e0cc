"""The signing page: what there is to sign, and a plain form that signs or declines without script."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest, DeedboxError, TooLarge
from deedbox.signing import show_if
from deedbox.signing.actions import attach, sign
from deedbox.signing.actions.approve import approve
from deedbox.signing.actions.decline import decline
from deedbox.signing.actions.delegate import Delegation, delegate
from deedbox.signing.actions.fill import fill
from deedbox.signing.actions.sign import SigningAct
from deedbox.signing.answers import answered, groups
from deedbox.signing.field_value import BY_HAND, printed, standing
from deedbox.signing.field_value import kept as kept_form
from deedbox.signing.model import Attachment, Field, Signature, consent
from deedbox.signing.store import people
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import SIGNER, door
from deedbox.web.frame.forms import form_of, text
from deedbox.web.frame.pages import go, page
from deedbox.web.frame.upload import Page
from deedbox.web.signer import attachments, embedding, screens, values
from deedbox.web.signer.inside import (
    Inside,
    acted,
    circumstances,
    code_again,
    done,
    give_code,
    inside,
    looked,
    outcome,
)
from deedbox.words import refusals
from deedbox.words.refusals import refused

_OWN = ("date", "name", "email")
"""Fields that are filled for the signer if they leave them empty."""


_LAST = ("sign", "approve", "decline", "delegate")
"""The acts with which a person's part is over."""


class FieldShown(NamedTuple):
    """A field of the form, what stands in its box, and of a day how the language says it.

    Radio buttons come as one, with all of their group; of each of those, the name that the form has for the group."""

    field: Field
    value: str
    said: str
    choices: Sequence["FieldShown"] = ()


@get("/sign/{signer_id:str}", opt=door(SIGNER), include_in_schema=False)
async def signing_page(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:  # noqa: ARG001
    return await _page(request)


@post(
    "/sign/{signer_id:str}",
    opt=door(SIGNER),
    include_in_schema=False,
    request_max_body_size=limits.SIGNING_FORM_BYTES,
)
async def act_on_page(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:
    """Does what the pressed button says; what cannot be done is said on the page, with all that was typed."""
    form = await form_of(request)
    try:
        await _act(request, signer_id, form)
    except DeedboxError as error:
        if error.status >= 500:
            raise
        return await _page(request, error=error, typed=form)
    if context.of(request).signer.link == "in_person" and text(form, "act") in _LAST:
        return await _page(request, over=True)  # shown once: who gets the device next is not let in
    return go(f"/sign/{signer_id}")


@post(
    "/sign/{signer_id:str}/attachments/{field_id:str}/upload",
    opt=door(SIGNER),
    include_in_schema=False,
    request_max_body_size=None,
)
async def attach_on_page(request: AnyRequest, signer_id: FromPath[str], field_id: FromPath[str]) -> Response[Any]:
    """Takes the file of the form and keeps what is typed beside it; what cannot be taken is said on the page."""
    sent = Page(f"{field_id}-file")
    try:
        await attachments.taken(request, field_id, sent)
        await _keep(request, await inside(request), sent.typed())
    except DeedboxError as error:
        if error.status >= 500:
            raise
        return await _page(request, error=error, typed={**sent.typed(), "act": "keep"} if sent.typed() else None)
    return go(f"/sign/{signer_id}")


async def _act(request: AnyRequest, signer_id: str, form: FormMultiDict) -> None:
    act = text(form, "act")
    if act == "code":
        await give_code(request, _bounded(form, "code", limits.ACCESS_CODE_CHARS))
        return
    if act == "code_again":
        await code_again(request)
        return
    who = await inside(request)
    seen = circumstances(request, who)
    if act == "decline":
        reason = _bounded(form, "reason", limits.REASON_CHARS) or None
        await acted(request, who, lambda desk, packet: decline(desk, packet, signer_id, reason, seen))
    elif act == "keep":
        await _keep(request, who, form)
    elif field_id := text(form, "detach"):
        await done(request, who, lambda desk, packet: attach.remove(desk, packet, signer_id, field_id))
        await _keep(request, who, form)
    elif act == "delegate":
        to = _delegation(form)
        await acted(request, who, lambda desk, packet: delegate(desk, packet, signer_id, to, seen))
    elif act == "approve":
        if not _agreed(who, form):
            raise refused(BadRequest, "consent_approver")
        await acted(request, who, lambda desk, packet: approve(desk, packet, signer_id, seen))
    elif act == "sign":
        if not _agreed(who, form):
            raise refused(BadRequest, "consent")
        signature = Signature("typed", text=_bounded(form, "signature", limits.SIGNER_NAME_CHARS))
        if not signature.text:
            raise refused(BadRequest, "no_signature")
        how = SigningAct(signature, _values(who, form), seen)
        await acted(request, who, lambda desk, packet: sign.sign(desk, packet, signer_id, how))
    else:
        raise refused(BadRequest, "no_act")


def _agreed(who: Inside, form: FormMultiDict) -> bool:
    """Whether they agreed to sign electronically: now, or on the opening page."""
    return who.session.consent is not None or bool(text(form, "consent"))


async def _keep(request: AnyRequest, who: Inside, form: Mapping[str, Any]) -> None:
    given = _values(who, form)
    await done(request, who, lambda desk, packet: fill(desk, packet, who.signer.id, given))


def _delegation(form: FormMultiDict) -> Delegation:
    """To whom the form passes it on; BadRequest where name or address are missing or too long."""
    reason = _bounded(form, "reason", limits.REASON_CHARS) or None
    given = {"name": text(form, "name").strip(), "email": text(form, "email").strip(), "reason": reason}
    try:
        return msgspec.convert(given, Delegation)
    except msgspec.ValidationError as error:
        raise refused(BadRequest, "delegation") from error


def _values(who: Inside, form: Mapping[str, Any]) -> dict[str, str]:
    """What the form says of each field that is filled by hand; an unticked box is not sent by browsers."""
    given = {}
    fields = [field for field in _fields(who) if not field.read_only and field.type != "attachment"]
    for field in fields:
        if field.type == "checkbox" and (field.show_if is None or f"{field.id}-shown" in form):
            given[field.id] = "true" if form.get(field.id) else "false"
        elif field.id in form:
            given[field.id] = str(form[field.id]).replace("\0", "").strip()
    for group in groups(fields).values():
        if form.get(_group_name(group)) in {field.id for field in group}:
            given[str(form[_group_name(group)])] = "true"
    return values.typed(fields, given, who.signer.language)


def _group_name(group: Sequence[Field]) -> str:
    """Under which the form sends the id of the chosen radio button."""
    return f"{group[0].id}-group"


def _fields(who: Inside) -> list[Field]:
    return [field for field in who.fields if field.type not in BY_HAND]


def _bounded(form: FormMultiDict, name: str, most: int) -> str:
    given = text(form, name).strip()
    if len(given) > most:
        raise refused(TooLarge, "too_long", most=str(most))
    return given


def _shown(field: Field, stands: str, typed: Mapping[str, Any] | None, language: str) -> FieldShown:
    """What stands in the field's box: what was typed, else what is kept or offered, numbers as the language writes."""
    value = stands
    if typed is not None and not field.read_only:
        value = str(typed.get(field.id, ""))
    elif field.type == "number" or (field.read_only and field.type == "date"):
        value = printed(field.type, value, language)
    said = printed(field.type, value, language)
    return FieldShown(field, value, said if field.type == "date" and said != value else "")


def _form(
    who: Inside, kept: Mapping[str, str], files: Sequence[Attachment], typed: Mapping[str, Any] | None, now: str
) -> list[FieldShown]:
    """The fields that are shown to the signer, by what they have kept, typed and given."""
    given = _values(who, typed) if typed is not None else {}
    own = {field.id: field for field in _fields(who)}
    filled = {
        **kept,
        **{field_id: kept_form(own[field_id], value) for field_id, value in given.items()},
        **{one.field_id: one.sha256 for one in files if one.signer_id == who.signer.id},
    }
    stand: dict[str, str] = {}
    for document in who.packet.documents:
        fields = answered(document, who.party, who.signer, filled, now)
        shown = show_if.shown(fields)
        stand |= {field.id: field.value or "" for field in fields if field.id in shown}
    buttons = {group[0].id: group for group in groups([one for one in own.values() if one.id in stand]).values()}
    names = {one.id: _group_name(group) for group in groups(list(own.values())).values() for one in group}
    rows = []
    for field in own.values():
        # What is filled in for those who leave it empty is not theirs yet.
        offered = field.read_only or field.type not in _OWN or standing(field, filled) or field.default
        if field.id in buttons:
            choices = [FieldShown(one, stand[one.id], names[one.id]) for one in buttons[field.id]]
            rows.append(FieldShown(field, "", "", choices))
        elif field.id in stand and field.type != "radio":
            rows.append(_shown(field, stand[field.id] if offered else "", typed, who.signer.language))
    return rows


async def _page(
    request: AnyRequest,
    *,
    error: DeedboxError | None = None,
    typed: Mapping[str, Any] | None = None,
    over: bool = False,
) -> Response[Any]:
    """The screen for where the signer stands: the code, what became of it (only that when `over`), or the document."""
    who = await looked(request)
    said = outcome(who.packet, who.signer, context.of(request).deedbox.clock.now())
    if screens.asks_code(who, said):
        return await screens.code(request, who, error)
    if said is not None:
        return await screens.ended(request, who, said, error, over=over)
    if error is not None and typed is not None and typed.get("act") in screens.WAYS_OUT:
        return screens.way_out(str(typed["act"]), who, error, typed)
    return await _signing(request, who, error, typed)


async def _signing(
    request: AnyRequest, who: Inside, error: DeedboxError | None, typed: Mapping[str, Any] | None
) -> Response[Any]:
    """What there is to sign, with all that was typed."""
    deedbox, packet, signer = context.of(request).deedbox, who.packet, who.signer
    kept = await deedbox.db.read(lambda tx: people.values_of(tx, signer.id)) if who.is_shown else {}
    files = await attachments.seen(request, who) if who.is_shown else []
    # The form for a code sends no fields: these stand as they were.
    written = typed if typed is not None and (typed.get("act") in ("sign", "keep") or typed.get("detach")) else None
    fields = _form(who, kept, files, written, instant(deedbox.clock.now())) if who.is_shown else []
    return page(
        "signer/page.html",
        **embedding.shown(who),
        status=error.status if error else 200,
        headers=error.headers if error else {},
        language=signer.language,
        packet=packet,
        signer=signer,
        shown=who.is_shown,
        can_sign=who.is_shown,
        can_delegate=who.can_delegate,
        only_reads=who.only_reads,
        fields=fields,
        depends=any(field.show_if for field in _fields(who)),
        files=files,
        names={one.id: one.name for _, one in packet.signers()},
        most=limits.ATTACHMENT_BYTES // limits.MB,
        own=_OWN,
        typed=typed or {},
        consent="" if who.session.consent else consent(packet, signer),
        error=refusals.said(error, signer.language) if error else "",
        wrong=refusals.beside(error, signer.language) if error else {},
    )


ROUTES: list[Any] = [signing_page, act_on_page, attach_on_page, *screens.ROUTES]
