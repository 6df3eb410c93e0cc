"""Enter: a signer follows their link."""

from datetime import datetime, timedelta

import msgspec

from deedbox import i18n
from deedbox.i18n.refusals import refusal
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound, TooManyRequests
from deedbox.signing import limits, parties, sessions
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.actions.turn import Circumstances
from deedbox.signing.model import Packet, Party, Signer, consent
from deedbox.signing.sessions import FreshCode, SignerSession, TriedCode
from deedbox.signing.store import documents, people
from deedbox.signing.store.links import Link


class Entrance(msgspec.Struct, frozen=True):
    """What a link leads to."""

    link: Link
    packet: Packet
    party: Party
    signer: Signer


class LinkOrigin(msgspec.Struct, frozen=True):
    """From where a link is opened."""

    address: str
    user_agent: str
    agreed: str | None = None
    """The language of the consent that was ticked on the opening page; None if it was not."""


def asks_consent(found: Entrance) -> bool:
    """Whether the opening page asks for consent: not before a code has shown who it is that agrees."""
    signer = found.signer
    at_work = found.packet.status == "sent" and signer.status in ("notified", "viewed")
    return at_work and signer.auth == "none" and signer.role != "cc"


def entrance(tx: Tx, token: str, now: datetime) -> Entrance:
    """What the link leads to, nothing changed; NotFound or Conflict say why it leads nowhere."""
    link = sessions.link(tx, token)
    place = people.place_of(tx, link.signer_id)
    packet = documents.packet(tx, *place) if place else None
    if packet is None:
        raise NotFound("The document does not exist any more")
    if sessions.is_spent(link, now):
        raise sessions.spent_link_error(packet.sender)
    ended = packet.ended_at
    if ended is not None and shown_until(ended) <= instant(now):
        raise refusal(Conflict, "link_ended", sender=packet.sender)
    return Entrance(link, packet, *parties.find_signer(packet, link.signer_id))


async def code_for(packet: Packet, signer: Signer) -> FreshCode | None:
    """A code to be mailed, where the sender wants one and there is something to open."""
    open_still = packet.status in ("sent", "finalizing", "completed")
    return await sessions.fresh_code() if signer.auth == "email_code" and open_still else None


def enter(
    services: SigningServices, tx: Tx, token: str, visit: LinkOrigin, now: datetime, code: FreshCode | None
) -> Secret:
    """A session for the link's token; where the sender wants one, the code is mailed."""
    if place := people.place_of(tx, sessions.link(tx, token).signer_id):
        documents.hold(tx, *place)
    found = entrance(tx, token, now)
    packet, signer = found.packet, found.signer
    with services.action(tx, packet.workspace_id, signer.id, now) as ctx:
        if not people.add_note(tx, signer.id, limits.SIGNER_ROWS):
            raise Conflict("This document was opened too often. Ask the sender to send it again.")
        opened = sessions.open_session(tx, token, found.link, packet.sender, now=now)
        detail = Circumstances(visit.address, visit.user_agent, found.link.kind, found.link.voucher).told()
        mailed = _mail_code(ctx, packet, signer, code)
        if signer.auth == "email_code":
            detail["code_mailed"] = mailed
        if visit.agreed and asks_consent(found):
            shown = visit.agreed if visit.agreed in i18n.LANGUAGES else signer.language
            detail["consent"] = agreed = consent(packet, msgspec.structs.replace(signer, language=shown))
            sessions.agree(tx, opened, agreed, now=now)
        for document in packet.documents:
            ctx.record(document, "signer.link_opened", detail)
    return opened


def mail_again(ctx: ActionContext, packet: Packet, signer_id: str, code: FreshCode, seen: Circumstances) -> None:
    """Mails another code, in place of the one before; refused a moment after that one."""
    _, signer = parties.find_signer(packet, signer_id)
    wait = sessions.code_wait(ctx.tx, signer_id, now=ctx.now)
    if not people.add_note(ctx.tx, signer_id, limits.SIGNER_ROWS) or not _mail_code(ctx, packet, signer, code):
        raise refusal(TooManyRequests, "code_soon", seconds=str(max(1, wait)))
    for document in packet.documents:
        ctx.record(document, "signer.code_mailed", seen.told())


def _mail_code(ctx: ActionContext, packet: Packet, signer: Signer, code: FreshCode | None) -> bool:
    """Whether the code is on its way: not where one was mailed a moment ago."""
    if code is None:
        return False
    if not ctx.notifier.delivers():
        raise Conflict("Your code cannot be mailed: the sender's mail server is not set up. Ask the sender.")
    kept = sessions.keep_code(ctx.tx, signer.id, code, now=ctx.now)
    if kept:
        ctx.notifier.code(ctx.tx, packet, signer, code.code, now=ctx.now)
    return kept


def try_code(
    ctx: ActionContext, packet: Packet, session: SignerSession, token: Secret, code: TriedCode, seen: Circumstances
) -> bool:
    """Whether this is the signer's code; the session is then as good as the signer. Either way the trail tells."""
    _, signer = parties.find_signer(packet, session.signer_id)
    right = sessions.check_code(ctx.tx, token.reveal(), signer, code, now=ctx.now)
    told = not session.checked if right else people.add_note(ctx.tx, signer.id, limits.SIGNER_VIEW_ROWS)
    if told:
        for document in packet.documents:
            detail = {**seen.told(), "auth": signer.auth}
            ctx.record(document, "signer.code_right" if right else "signer.code_wrong", detail)
    return right


def packet_for(tx: Tx, session: SignerSession) -> Packet:
    """What the signer who is in has to sign."""
    packet = documents.packet(tx, session.workspace_id, session.packet_id)
    if packet is None:
        raise NotFound("The document does not exist any more")
    return packet


def shown_until(ended: str) -> str:
    """Until when links show the outcome of a packet that ended then."""
    return instant(moment(ended) + timedelta(days=limits.ENDED_LINK_DAYS))
