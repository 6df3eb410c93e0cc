"""Void: the sender withdraws the packet."""

import msgspec

from deedbox.signing import parties, states
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions.end import end
from deedbox.signing.model import Packet, Void


def void(ctx: ActionContext, packet: Packet, reason: str | None) -> Packet:
    """The packet, withdrawn; only one that was sent is announced."""
    voided = [states.move(document, "void", ctx.at, void=Void(reason)) for document in packet.documents]
    for document in voided:
        ctx.record(document, "document.voided", {"reason": reason})
    over = msgspec.structs.replace(packet, documents=voided)
    if packet.first.status == "sent":
        return end(ctx, packet, over, "document.voided", reason=reason)
    after = parties.cancel(over)
    ctx.save(packet, after)
    return after
