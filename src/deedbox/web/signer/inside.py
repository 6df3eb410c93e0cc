"""Who is in, what they see, and how they act: shared by the page and the routes for programs."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from deedbox import i18n
from deedbox.i18n.refusals import refusal
from deedbox.kernel.clock import moment
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, Forbidden, TooManyRequests
from deedbox.signing import parties, sessions, show_if
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import expire
from deedbox.signing.actions.enter import code_for, mail_again, packet_for, shown_until, try_code
from deedbox.signing.actions.turn import Circumstances, is_shown
from deedbox.signing.actions.view import view
from deedbox.signing.answers import settled_field_ids
from deedbox.signing.model import Document, Field, Packet, Party, Signer
from deedbox.signing.sessions import SignerSession
from deedbox.signing.store import documents
from deedbox.web.http import context, framing
from deedbox.web.http.context import AnyRequest, origin

T = TypeVar("T")


class Inside(NamedTuple):
    """Who is in, with what they have to sign as it is now."""

    session: SignerSession
    packet: Packet
    party: Party
    signer: Signer
    sites: Sequence[str] = ()
    """That may show them this in a frame."""

    @classmethod
    def of(cls, session: SignerSession, packet: Packet, sites: Sequence[str] = ()) -> "Inside":
        """The person of the session, who is spoken to in the language that they have chosen."""
        party, signer = parties.find_signer(packet, session.signer_id)
        return cls(session, packet, party, replace(signer, language=session.language or signer.language), sites)

    def after(self, packet: Packet) -> "Inside":
        return Inside.of(self.session, packet, self.sites)

    @property
    def needs(self) -> Literal["code"] | None:
        """What has to be given before anything is shown."""
        return "code" if self.signer.auth != "none" and not self.session.checked else None

    @property
    def fields(self) -> list[Field]:
        """The fields that this person fills, in all documents; what a colleague has signed with is only read."""
        return [
            replace(field, read_only=True) if field.id in done else field
            for one in self.packet.documents
            for done in [settled_field_ids(one)]
            for field in parties.own_fields(one, self.party, self.signer)
        ]

    def only_reads(self, document: Document) -> bool:
        """Whether this person has nothing to fill in the document."""
        return parties.only_reads(document, self.party, self.signer)

    @property
    def possible_fields(self) -> list[Field]:
        """Those of them that what others have filled in does not hide."""
        own = {field.id for field in self.fields} - {
            one for each in self.packet.documents for one in settled_field_ids(each)
        }
        shown = {one for document in self.packet.documents for one in show_if.possible(document.fields, own)}
        return [field for field in self.fields if field.id in shown]

    @property
    def can_delegate(self) -> bool:
        """Whether they may pass it on now."""
        return self.signer.delegation and self.is_shown and self.signer.status != "signed"

    @property
    def is_shown(self) -> bool:
        """Whether the documents are shown: not before the code, and not after the end."""
        return not self.needs and is_shown(self.packet, self.signer)


class SignerOutcome(NamedTuple):
    """What became of it for this signer."""

    name: str
    said: str
    """In the signer's language."""


async def inside(request: AnyRequest, *, demand_code: bool = True) -> Inside:
    """Who is in; a packet past its time expires at the first look."""
    services, session = context.of(request).deedbox.services, context.of(request).signer
    seen, sites = await services.db.read(
        lambda tx: (packet_for(tx, session), framing.sites(tx, session.link, session.workspace_id))
    )
    context.of(request).frames = sites
    found = Inside.of(session, await expire.current(services, seen), sites)
    context.of(request).language = found.signer.language
    if demand_code:
        sessions.require_code(session, found.signer.auth)
    return found


async def load_viewer(request: AnyRequest) -> Inside:
    """Who is in; that they were shown the documents is noted, if they were."""
    found = await inside(request, demand_code=False)
    if not found.is_shown or found.session.viewed:
        return found
    token, seen = context.of(request).token, circumstances(request, found)
    return found.after(await done(request, found, lambda ctx, packet: view(ctx, packet, found.signer.id, token, seen)))


async def done(request: AnyRequest, who: Inside, action: Callable[[ActionContext, Packet], T]) -> T:
    """What the signer's act gives, which sees the packet as it is in the transaction."""
    return await in_context(request, who, lambda ctx: action(ctx, packet_for(ctx.tx, who.session)))


async def run_action(request: AnyRequest, who: Inside, action: Callable[[ActionContext, Packet], Packet]) -> Packet:
    """The packet after the signer's last act; on a device that was handed over, the session ends with it."""
    token = context.of(request).token.reveal()

    def last(ctx: ActionContext, packet: Packet) -> Packet:
        after = action(ctx, packet)
        if who.session.link == "in_person":
            sessions.close(ctx.tx, token, now=ctx.now)
        return after

    return await done(request, who, last)


async def in_context(request: AnyRequest, who: Inside, action: Callable[[ActionContext], T]) -> T:
    """What the action gives at the signer's transaction; the session must last until then."""
    here = context.of(request)
    services, session, token = here.deedbox.services, who.session, here.token.reveal()

    def act(tx: Tx) -> T:
        documents.hold(tx, session.workspace_id, session.packet_id)
        with services.action(tx, session.workspace_id, session.signer_id) as ctx:
            sessions.current(tx, token, now=ctx.now)
            return action(ctx)

    return await services.db.write(act, isolation="read committed")


async def give_code(request: AnyRequest, code: str) -> None:
    """The session is as good as the signer from now on; Forbidden if it is not their code."""
    who, here = await inside(request, demand_code=False), context.of(request)
    if who.signer.auth == "none":
        raise refusal(Conflict, "code_not_asked")
    now, seen = here.deedbox.clock.now(), circumstances(request, who)
    # Counted in a transaction of its own: an attempt counts also when it fails.
    await here.deedbox.db.write(lambda tx: sessions.count_try(tx, who.signer.id, now=now), isolation="read committed")
    expected = await here.deedbox.db.read(lambda tx: sessions.code_hash(tx, who.signer, now=now))
    # What is copied from a mail may come with the spaces around and between its digits.
    tried = await sessions.try_code(expected, "".join(code.split()) if who.signer.auth == "email_code" else code)
    if not await done(request, who, lambda ctx, packet: try_code(ctx, packet, who.session, here.token, tried, seen)):
        left = await here.deedbox.db.read(lambda tx: sessions.tries_left(tx, who.signer.id, now=now))
        raise refusal(Forbidden, "code_wrong" if expected else "code_old", left=str(left))


async def code_again(request: AnyRequest) -> None:
    """Another code is on its way to the signer's mailbox; TooManyRequests a moment after the last."""
    who = await inside(request, demand_code=False)
    db, now = context.of(request).deedbox.db, context.of(request).deedbox.clock.now()
    # Looked at first: to make a code takes the time of a slow hash.
    if wait := await db.read(lambda tx: sessions.code_wait(tx, who.signer.id, now=now)):
        raise refusal(TooManyRequests, "code_soon", seconds=str(wait))
    code = await code_for(who.packet, who.signer)
    if code is None:
        raise refusal(Conflict, "code_not_asked")
    seen = circumstances(request, who)
    await done(request, who, lambda ctx, packet: mail_again(ctx, packet, who.signer.id, code, seen))


def circumstances(request: AnyRequest, who: Inside) -> Circumstances:
    session = who.session
    return Circumstances(
        *origin(request),
        link=session.link,
        voucher=session.voucher,
        identity=None if who.needs else session.identity(who.signer.auth),
        viewed=session.viewed,
        consent=session.consent,
        language=session.language,
    )


def outcome(packet: Packet, signer: Signer, now: datetime) -> SignerOutcome | None:
    """What became of it, in the signer's language; None while they can still sign."""
    name = _outcome(packet, signer, now)
    if name is None:
        return None
    told = {"sender": packet.sender}
    if name == "delegated":
        told["other"] = parties.find_signer(packet, signer.delegated_to or "")[1].name
    elif name == "completed":
        told["date"] = i18n.date(signer.language, moment(shown_until(packet.ended_at or "")))
    elif name == "expired":
        told["moment"] = i18n.moment(signer.language, moment(packet.expires_at or ""), signer.time_zone)
    elif name == "declined":
        told["signer"] = _who_declined(packet)
    return SignerOutcome(name, i18n.of_use(signer.language, "page")[f"outcome_{name}"].format(**told))


def _outcome(packet: Packet, signer: Signer, now: datetime) -> str | None:
    """The name of what became of it."""
    status = "expired" if expire.is_due(packet, now) else packet.status
    if signer.delegated_to is not None:
        return "delegated"
    if signer.status == "canceled" and status in ("sent", "finalizing", "completed"):
        return "not_needed"
    if signer.status == "declined":
        return "you_declined"
    if status in ("completed", "expired", "declined", "voided", "finalizing"):
        return status
    if signer.status == "signed":
        return "approved" if signer.role == "approver" else "signed"
    if signer.role == "cc":
        return "copy"
    return "not_your_turn" if signer.status == "waiting" else None


def require_seal(who: Inside) -> None:
    """Conflict unless everything is sealed and this person has signed it or gets a copy."""
    if who.packet.status != "completed":
        raise refusal(Conflict, "not_completed")
    if not may_have_it(who.signer):
        raise refusal(Conflict, "not_for_you")


def may_have_it(signer: Signer) -> bool:
    """Whether the sealed file is for this person."""
    return signer.status == "signed" or signer.role == "cc"


def _who_declined(packet: Packet) -> str:
    decline = packet.first.decline
    names = {signer.id: signer.name for _, signer in packet.signers()}
    return names.get(decline.signer_id, "") if decline else ""
