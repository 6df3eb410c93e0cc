"""Hand over: someone of the workspace gives a signer the device, and vouches for who that is."""

from deedbox.kernel.crypto import Secret
from deedbox.signing import sessions
from deedbox.signing.action_context import Desk
from deedbox.signing.actions.enter import Visit
from deedbox.signing.model import Packet
from deedbox.signing.store.links import Voucher


def hand_over(desk: Desk, packet: Packet, signer_id: str, host: Voucher, visit: Visit) -> Secret:
    """The token of a link that opens once, on this device; the trail names the host."""
    sessions.need_turn(packet, signer_id)
    token = sessions.new_link(desk.tx, signer_id, "in_person", now=desk.now, voucher=host)
    detail = {
        "signer": signer_id,
        "host": {"id": host.id, "name": host.name},
        "address": visit.address,
        "user_agent": visit.user_agent,
    }
    for document in packet.documents:
        desk.record(document, "signer.handed_over", detail)
    return token
