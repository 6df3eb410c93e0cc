"""Decline: a signer does not want to sign, which ends the packet unless their party can do without them."""

import msgspec

from deedbox.signing import parties, states
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions.end import end
from deedbox.signing.actions.turn import Circumstances, at_turn, signer_payload
from deedbox.signing.model import Decline, Packet

_EVENT = "document.declined"


def decline(ctx: ActionContext, packet: Packet, signer_id: str, reason: str | None, seen: Circumstances) -> Packet:
    _, signer = at_turn(packet, signer_id, ctx.now)
    declined = parties.with_signer(
        packet,
        signer_id,
        status="declined",
        declined_at=ctx.at,
        decline_reason=reason,
        identity=seen.identity,
    )
    for document in packet.documents:
        ctx.record(document, "signer.declined", {"reason": reason, **seen.told()}, actor=signer_id)
    party, _ = parties.find_signer(declined, signer_id)
    told = {"signer": signer_payload(signer), "reason": reason}
    if not parties.ends_the_document(party):
        ctx.save(packet, declined)
        for document in declined.documents:
            ctx.emit(_EVENT, declined, document, **told, final=False)
        ctx.notifier.declined(ctx.tx, declined, signer, now=ctx.now)
        return declined
    over = [
        states.move(document, "decline", ctx.at, decline=Decline(signer_id, reason)) for document in packet.documents
    ]
    ended = parties.with_party(msgspec.structs.replace(declined, documents=over), party.id, status="declined")
    after = end(ctx, packet, ended, _EVENT, **told, final=True)
    ctx.emit_packet("packet.declined", after, document_id=after.first.id, **told)
    return after
