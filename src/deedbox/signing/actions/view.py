"""View: the signer has the documents before them."""

from deedbox.signing import parties
from deedbox.signing.actions.turn import Circumstances
from deedbox.signing.desk import Desk
from deedbox.signing.model import Packet


def view(desk: Desk, packet: Packet, signer_id: str, seen: Circumstances) -> Packet:
    """The packet, with the first view noted; later ones change nothing."""
    _, signer = parties.find_signer(packet, signer_id)
    if packet.first.status != "sent" or signer.status != "notified":
        return packet
    after = parties.with_signer(packet, signer_id, status="viewed", viewed_at=desk.at)
    desk.save(packet, after)
    for document in after.documents:
        desk.record(document, "signer.viewed", seen.told(), actor=signer_id)
    return after
