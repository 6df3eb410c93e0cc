"""Void: the sender withdraws the packet."""

import msgspec

from deedbox.signing import parties, states
from deedbox.signing.action_context import Desk
from deedbox.signing.actions.end import end
from deedbox.signing.model import Packet, Void


def void(desk: Desk, packet: Packet, reason: str | None) -> Packet:
    """The packet, withdrawn; only one that was sent is announced."""
    voided = [states.moved(document, "void", desk.at, void=Void(reason)) for document in packet.documents]
    for document in voided:
        desk.record(document, "document.voided", {"reason": reason})
    over = msgspec.structs.replace(packet, documents=voided)
    if packet.first.status == "sent":
        return end(desk, packet, over, "document.voided", reason=reason)
    after = parties.canceled(over)
    desk.save(packet, after)
    return after
