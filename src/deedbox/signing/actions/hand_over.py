"""Hand over: someone of the workspace gives a signer the device, and vouches for who that is."""

from deedbox.kernel.crypto import Secret
from deedbox.signing import sessions
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions.enter import LinkOrigin
from deedbox.signing.model import Packet
from deedbox.signing.store.links import Voucher


def hand_over(ctx: ActionContext, packet: Packet, signer_id: str, host: Voucher, visit: LinkOrigin) -> Secret:
    """The token of a link that opens once, on this device; the trail names the host."""
    sessions.need_turn(packet, signer_id)
    token = sessions.new_link(ctx.tx, signer_id, "in_person", now=ctx.now, voucher=host)
    detail = {
        "signer": signer_id,
        "host": {"id": host.id, "name": host.name},
        "address": visit.address,
        "user_agent": visit.user_agent,
    }
    for document in packet.documents:
        ctx.record(document, "signer.handed_over", detail)
    return token
