"""Approve: someone agrees to all documents of the packet, and leaves no mark on them."""

import msgspec

from deedbox.i18n.refusals import refused
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing import parties, states
from deedbox.signing.action_context import Desk
from deedbox.signing.actions import sign
from deedbox.signing.actions.turn import Circumstances, at_turn, signer_told
from deedbox.signing.model import Packet


def approve(desk: Desk, packet: Packet, signer_id: str, seen: Circumstances) -> Packet:
    """The packet with the approval in it, which the party's rule counts like a signature."""
    party, signer = at_turn(packet, signer_id, desk.now)
    if signer.role != "approver":
        raise refused(BadRequest, "no_signature")
    if not seen.viewed:
        raise refused(Conflict, "not_shown")
    documents = [states.moved(document, "approve", desk.at) for document in packet.documents]
    approved = parties.with_signer(
        msgspec.structs.replace(packet, documents=documents),
        signer_id,
        status="signed",
        signed_at=desk.at,
        identity=seen.identity,
    )
    after, completed = sign.followed_up(desk, packet, approved, party.id)
    for document in packet.documents:
        detail = {
            **seen.told(),
            **seen.consented(packet, signer),
            "files": {file.id: file.sha256 for file in document.files},
            "prepared": document.paper_sha256,
        }
        desk.record(document, "signer.approved", detail, actor=signer_id)
        desk.emit("document.approved", packet, document, signer=signer_told(signer))
    if completed is not None:
        sign.announce(desk, packet, after, completed)
    return after
