"""The screens beside the signing screen: the code before it, the two ways out, and what became of the document."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from deedbox import i18n
from deedbox.i18n import refusals
from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits
from deedbox.kernel.clock import moment
from deedbox.kernel.errors import Conflict, ServiceError
from deedbox.signing import parties, sessions
from deedbox.web.http import brand, context
from deedbox.web.http.auth import SIGNER, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go, long_page
from deedbox.web.signer import attachments, embedding
from deedbox.web.signer.inside import Inside, SignerOutcome, inside, may_have_it, outcome

WAYS_OUT = ("decline", "delegate")
"""The acts that have a screen of their own."""
_GOOD = ("signed", "approved", "finalizing", "completed")
"""Outcomes with which the signer's part is done."""


def asks_code(who: Inside, outcome: SignerOutcome | None) -> bool:
    """Whether the code comes first: before the document, and before all that is told once it is signed."""
    return who.needs is not None and (outcome is None or outcome.name in _GOOD)


def choose_screen(who: Inside, now: datetime) -> str:
    """Which screen the signing page shows: the code, the document, or what became of it."""
    said = outcome(who.packet, who.signer, now)
    return "code" if asks_code(who, said) else said.name if said else "open"


def is_handed_over(who: Inside) -> bool:
    """Whether the signer was given the device of someone else, and has not begun yet."""
    return who.session.link == "in_person" and who.is_shown and not who.session.viewed


async def handed_over(request: AnyRequest, who: Inside) -> Response[Any]:
    """Who is asked to sign, and who gives them the device: shown before the document is."""
    return await screen(request, "signer/handed.html", who, None)


def _parts(who: Inside) -> int:
    """How many pages and fields there are to show."""
    return sum(len(one.fields) + sum(file.pages for file in one.files) for one in who.packet.documents)


async def code(request: AnyRequest, who: Inside, error: ServiceError | None) -> Response[Any]:
    """Asks for the code that the sender wants."""
    deedbox = context.of(request).deedbox
    now, signer_id = deedbox.clock.now(), who.signer.id
    wait, left = await deedbox.db.read(
        lambda tx: (sessions.code_wait(tx, signer_id, now=now), sessions.tries_left(tx, signer_id, now=now))
    )
    return await screen(
        request,
        "signer/code.html",
        who,
        error,
        mailbox=_hinted(who.signer.email),
        wait=wait,
        left=left,
        locked=i18n.of_use(who.signer.language, "refusal")["code_tries"],
        most=limits.SIGNER_CODE_TRIES,
        minutes=limits.SIGNER_CODE_SECONDS // 60,
    )


@get("/sign/{signer_id:str}/ways/decline", opt=requires(SIGNER), include_in_schema=False)
async def decline_page(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:
    """What follows when they do not sign, and where to say why."""
    return await _asked(request, signer_id, "decline")


@get("/sign/{signer_id:str}/ways/delegate", opt=requires(SIGNER), include_in_schema=False)
async def delegate_page(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:
    """To whom they pass it on, where the sender allows it."""
    return await _asked(request, signer_id, "delegate")


async def _asked(request: AnyRequest, signer_id: str, way: str) -> Response[Any]:
    """The screen of this way out; the signing page where there is none to go, which says why."""
    who = await inside(request, demand_code=False)
    if who.needs or outcome(who.packet, who.signer, context.of(request).deedbox.clock.now()):
        return go(f"/sign/{signer_id}")
    if way == "delegate" and not who.can_delegate:
        raise refusal(Conflict, "no_delegation")
    return await way_out(request, way, who, None, {})


async def way_out(
    request: AnyRequest, way: str, who: Inside, error: ServiceError | None, typed: Mapping[str, Any]
) -> Response[Any]:
    """The screen on which someone declines or passes it on, with all that was typed."""
    ends = parties.would_end(who.packet, who.signer.id)
    return await screen(request, f"signer/{way}.html", who, error, typed=typed, ends=ends)


async def show_end(
    request: AnyRequest, who: Inside, found: SignerOutcome, error: ServiceError | None, *, over: bool
) -> Response[Any]:
    """What became of it; on a device that goes to someone else (`over`), nothing but that."""
    signer, packet, shown = who.signer, who.packet, who.is_shown and not over
    done = found.name in _GOOD and may_have_it(signer)
    return await screen(
        request,
        "signer/done.html" if done else "signer/closed.html",
        who,
        error,
        outcome=found,
        shown=shown,
        files=await attachments.list_shown(request, who) if shown else [],
        names={one.id: one.name for _, one in packet.signers()},
        next_names=[one.name for one in parties.waiting_for(packet)],
        signed_at=_written(who, signer.signed_at),
        can_download=not over and found.name == "completed" and not who.needs,
        only_reads=who.only_reads,
        reason=None if who.needs else _reason(who, found),
        over=over,
        **({"standing": ""} if over or done else {}),  # that page has live parts itself, or its session has ended
    )


def _reason(who: Inside, found: SignerOutcome) -> str | None:
    """Why it ended, in the words of whoever ended it."""
    if found.name == "you_declined":
        return who.signer.decline_reason
    ended = {"voided": who.packet.first.void, "declined": who.packet.first.decline}.get(found.name)
    return ended.reason if ended else None


def _hinted(email: str) -> str:
    """The address as its owner knows it, and as nobody else learns it: a***@example.com."""
    name, _, domain = email.rpartition("@")
    return f"{name[:1]}***@{domain}"


def _written(who: Inside, at: str | None) -> str:
    return i18n.moment(who.signer.language, moment(at), who.signer.time_zone) if at else ""


def watch_context(request: AnyRequest, who: Inside) -> dict[str, Any]:
    """What a page needs in order to notice that it is no longer the one to show."""
    now = context.of(request).deedbox.clock.now()
    return {"standing": choose_screen(who, now), "standing_at": f"/sign/{who.signer.id}"}


async def screen(
    request: AnyRequest, template: str, who: Inside, error: ServiceError | None, **values: Any
) -> Response[Any]:
    """A page of the signer's, in the workspace's colours; a screen that was refused says why."""
    values = {**watch_context(request, who), **values}
    return await long_page(
        _parts(who),
        template,
        request=request,
        brand=await brand.of(request, who.packet.workspace_id),
        **embedding.shown(who),
        status=error.status if error else 200,
        headers=error.headers if error else {},
        language=who.signer.language,
        packet=who.packet,
        signer=who.signer,
        host=who.session.voucher.name if who.session.link == "in_person" and who.session.voucher else "",
        error=refusals.said(error, who.signer.language) if error else "",
        **values,
    )


ROUTES: list[Any] = [decline_page, delegate_page]
