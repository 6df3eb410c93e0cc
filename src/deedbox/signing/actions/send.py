"""Send: the packet is on its way to the parties that sign first."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.signing import parties, sessions, states
from deedbox.signing.action_context import SERVER, ActionContext
from deedbox.signing.actions import expire, remind
from deedbox.signing.model import Packet, Party
from deedbox.signing.new_document import NewParty
from deedbox.signing.notifier import Notifier
from deedbox.signing.store import documents


def send(ctx: ActionContext, packet: Packet) -> Packet:
    """The packet as it is sent, and everyone told whose turn it is."""
    need_mail_for_codes(packet.parties, ctx.notifier)
    packet = documents.take_sender(ctx.tx, packet)
    after = as_sent(packet, ctx.now)
    ctx.save(packet, after)
    announce(ctx, packet, after)
    return after


def need_mail_for_codes(parties: Sequence[NewParty | Party], notifier: Notifier) -> None:
    """BadRequest if a code is to be mailed and no mail leaves this server: nobody could ever sign."""
    coded = [signer for party in parties for signer in party.signers if signer.auth == "email_code"]
    if coded and not notifier.delivers():
        raise BadRequest(
            f"{coded[0].email}: auth email_code needs a mail server, and this server has none. Set DEEDBOX_SMTP_URL and"
            " DEEDBOX_MAIL_FROM, or use auth access_code."
        )


def as_sent(packet: Packet, now: datetime) -> Packet:
    """The packet as sending leaves it; nothing is written and nobody told. BadRequest if it cannot be sent."""
    at = instant(now)
    if packet.expires_at is None and packet.expires_after_hours is not None:
        end = now + timedelta(hours=packet.expires_after_hours)
        packet = msgspec.structs.replace(packet, expires_at=instant(end))
    sent = [states.move(document, "send", at) for document in packet.documents]
    if not any(parties.counting_signers(party) for party in packet.parties):
        raise BadRequest(
            "The document has no signers: add someone who signs or approves it, in addition to people with a copy"
        )
    if packet.expires_at is not None and packet.expires_at <= at:
        raise BadRequest("The document's expires_at lies in the past")
    need_signatures(packet)
    return parties.release(msgspec.structs.replace(packet, documents=sent), at)


def need_signatures(packet: Packet) -> None:
    """BadRequest if someone who signs would leave no signature in any document of the packet."""
    if all(document.asks_all for document in packet.documents):
        return
    fields = [field for document in packet.documents for field in document.fields if field.type == "signature"]
    signing = [(party, signer) for party, signer in packet.signers() if signer.role == "signer"]
    for party, signer in signing:
        if not any(field.signer_id == signer.id or field.party_id == party.id for field in fields):
            raise BadRequest(
                f"{signer.name} has no signature field in any document of the packet. Give one, or leave `fields` out"
                " of a document that everyone signs."
            )


def announce(ctx: ActionContext, before: Packet, sent: Packet) -> None:
    """What sending leads to: the trail, the events, the invitations and the timers."""
    ctx.emit_packet("packet.sent", sent)
    for document in sent.documents:
        ctx.record(document, "document.sent", {})
        ctx.emit("document.sent", sent, document)
    for party in sent.parties:
        if party.status == "completed":  # its people only get a copy
            emit_party_end(ctx, before, sent, party)
    invite(ctx, before, sent)
    expire.plan(ctx, sent)


def emit_party_end(ctx: ActionContext, before: Packet, after: Packet, party: Party) -> None:
    """The rows and, where the sender has named the party, the events that say that it is complete."""
    for document in after.documents:
        ctx.record(document, "party.completed", {"party": party.id}, actor=SERVER)
    if party.declared:
        told = {"id": party.id, "name": party.name, "order": party.order}
        ctx.emit_for_all("party.completed", before, party=told)


def invite(ctx: ActionContext, before: Packet, released: Packet) -> None:
    """Tells the signers whose turn it has become; from then on they are reminded."""
    waiting = {signer.id for _, signer in before.signers() if signer.status == "waiting"}
    for _, signer in released.signers():
        if signer.status == "notified" and signer.id in waiting:
            for document in released.documents:
                detail = {"signer": signer.id, "email": signer.email, "mailed": ctx.notifier.delivers()}
                ctx.record(document, "signer.invited", detail, actor=SERVER)
            token = sessions.link_by_mail(ctx.tx, signer.id, ctx.notifier, now=ctx.now)
            ctx.notifier.invite(ctx.tx, released, signer, token, now=ctx.now)
    remind.plan(ctx, released)
