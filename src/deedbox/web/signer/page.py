"""The signing page: what there is to sign, and a plain form that signs or declines without script."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, DeedboxError, TooLarge
from deedbox.signing.actions import sign
from deedbox.signing.actions.approve import approve
from deedbox.signing.actions.decline import decline
from deedbox.signing.actions.delegate import Delegation, delegate
from deedbox.signing.actions.sign import SigningAct
from deedbox.signing.field_value import BY_HAND, printed, standing
from deedbox.signing.model import Field, Signature, consent
from deedbox.signing.store import people
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import SIGNER, door
from deedbox.web.frame.forms import form_of, text
from deedbox.web.frame.pages import go, page
from deedbox.web.signer import values
from deedbox.web.signer.inside import Inside, circumstances, done, give_code, inside, looked, may_have_it, outcome
from deedbox.words import refusals
from deedbox.words.refusals import refused

_OWN = ("date", "name", "email")
"""Fields that are filled for the signer if they leave them empty."""


class FieldShown(NamedTuple):
    """A field of the form, what stands in its box, and of a day how the language says it."""

    field: Field
    value: str
    said: str


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
    return go(f"/sign/{signer_id}")


async def _act(request: AnyRequest, signer_id: str, form: FormMultiDict) -> None:
    act = text(form, "act")
    if act == "code":
        await give_code(request, _bounded(form, "code", limits.ACCESS_CODE_CHARS))
        return
    who = await inside(request)
    seen = circumstances(request, who)
    if act == "decline":
        reason = _bounded(form, "reason", limits.REASON_CHARS) or None
        await done(request, who, lambda desk, packet: decline(desk, packet, signer_id, reason, seen))
    elif act == "delegate":
        to = _delegation(form)
        await done(request, who, lambda desk, packet: delegate(desk, packet, signer_id, to, seen))
    elif act == "approve":
        if not text(form, "consent"):
            raise refused(BadRequest, "consent_approver")
        await done(request, who, lambda desk, packet: approve(desk, packet, signer_id, seen))
    elif act == "sign":
        if not text(form, "consent"):
            raise refused(BadRequest, "consent")
        signature = Signature("typed", text=_bounded(form, "signature", limits.SIGNER_NAME_CHARS))
        if not signature.text:
            raise refused(BadRequest, "no_signature")
        how = SigningAct(signature, _values(who, form), seen)
        await done(request, who, lambda desk, packet: sign.sign(desk, packet, signer_id, how))
    else:
        raise refused(BadRequest, "no_act")


def _delegation(form: FormMultiDict) -> Delegation:
    """To whom the form passes it on; BadRequest where name or address are missing or too long."""
    reason = _bounded(form, "reason", limits.REASON_CHARS) or None
    given = {"name": text(form, "name").strip(), "email": text(form, "email").strip(), "reason": reason}
    try:
        return msgspec.convert(given, Delegation)
    except msgspec.ValidationError as error:
        raise refused(BadRequest, "delegation") from error


def _values(who: Inside, form: FormMultiDict) -> dict[str, str]:
    """What the form says of each field that is filled by hand; an unticked box is not sent by browsers."""
    given = {}
    for field in _fields(who):
        if field.type == "checkbox":
            given[field.id] = "true" if text(form, field.id) else "false"
        elif field.id in form:
            given[field.id] = text(form, field.id).strip()
    return values.typed(_fields(who), given, who.signer.language)


def _fields(who: Inside) -> list[Field]:
    return [field for field in who.fields if field.type not in BY_HAND]


def _bounded(form: FormMultiDict, name: str, most: int) -> str:
    given = text(form, name).strip()
    if len(given) > most:
        raise refused(TooLarge, "too_long", most=str(most))
    return given


def _shown(field: Field, kept: Mapping[str, str], typed: Mapping[str, Any] | None, language: str) -> FieldShown:
    """What stands in the field's box: what was typed, else what is kept or offered, numbers as the language writes."""
    stands = standing(field, kept)
    value = (field.default or "") if stands is None else stands
    if typed is not None:
        value = str(typed.get(field.id, ""))
    elif field.type == "number":
        value = printed(field.type, value, language)
    said = printed(field.type, value, language)
    return FieldShown(field, value, said if field.type == "date" and said != value else "")


async def _page(
    request: AnyRequest, *, error: DeedboxError | None = None, typed: Mapping[str, Any] | None = None
) -> Response[Any]:
    who, deedbox = await looked(request), context.of(request).deedbox
    packet, signer = who.packet, who.signer
    kept = await deedbox.db.read(lambda tx: people.values_of(tx, signer.id)) if who.is_shown else {}
    said = outcome(packet, signer, deedbox.clock.now())
    # The forms for a code and for a decline send no fields: these stand as they were.
    written = typed if typed is not None and typed.get("act") == "sign" else None
    return page(
        "signer/page.html",
        status=error.status if error else 200,
        headers=error.headers if error else {},
        language=signer.language,
        packet=packet,
        signer=signer,
        needs=who.needs,
        outcome=said,
        shown=who.is_shown,
        can_sign=who.is_shown and said is None,
        can_delegate=who.can_delegate,
        can_download=packet.status == "completed" and may_have_it(signer) and not who.needs,
        only_reads=who.only_reads,
        fields=[_shown(field, kept, written, signer.language) for field in _fields(who)] if who.is_shown else [],
        own=_OWN,
        typed=typed or {},
        consent=consent(signer.language, signer.role),
        error=refusals.said(error, signer.language) if error else "",
        wrong=refusals.beside(error, signer.language) if error else {},
    )


ROUTES: list[Any] = [signing_page, act_on_page]
