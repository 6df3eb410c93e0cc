"""Approve: someone agrees to all documents of the packet, and leaves no mark on them."""

import msgspec

from deedbox.i18n.refusals import refusal
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing import parties, states
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import sign
from deedbox.signing.actions.turn import Circumstances, at_turn, signer_payload
from deedbox.signing.model import Packet


def approve(ctx: ActionContext, packet: Packet, signer_id: str, seen: Circumstances) -> Packet:
    """The packet with the approval in it, which the party's rule counts like a signature."""
    party, signer = at_turn(packet, signer_id, ctx.now)
    if signer.role != "approver":
        raise refusal(BadRequest, "no_signature")
    if not seen.viewed:
        raise refusal(Conflict, "not_shown")
    documents = [states.move(document, "approve", ctx.at) for document in packet.documents]
    approved = parties.with_signer(
        msgspec.structs.replace(packet, documents=documents),
        signer_id,
        status="signed",
        signed_at=ctx.at,
        identity=seen.identity,
    )
    after, completed = sign.followed_up(ctx, packet, approved, party.id)
    for document in packet.documents:
        detail = {
            **seen.told(),
            **seen.consented(packet, signer),
            "files": {file.id: file.sha256 for file in document.files},
            "prepared": document.paper_sha256,
        }
        ctx.record(document, "signer.approved", detail, actor=signer_id)
        ctx.emit("document.approved", packet, document, signer=signer_payload(signer))
    if completed is not None:
        sign.announce(ctx, packet, after, completed)
    return after
