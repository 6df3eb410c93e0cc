"""Embed: the sender's system gets a link for a signer, for whom its key vouches."""

from deedbox.kernel.clock import Instant
from deedbox.kernel.crypto import Secret
from deedbox.signing import sessions
from deedbox.signing.action_context import ActionContext
from deedbox.signing.model import Packet
from deedbox.signing.store.links import Voucher


def embed(ctx: ActionContext, packet: Packet, signer_id: str, voucher: Voucher) -> tuple[Secret, Instant]:
    """The token of a link that opens once, and when it ends; the trail names the key."""
    token, expires_at = sessions.embedded_link(ctx.tx, packet, signer_id, voucher, now=ctx.now)
    key = {"id": voucher.id, "name": voucher.name}
    for document in packet.documents:
        ctx.record(document, "signer.link_made", {"signer": signer_id, "key": key, "expires_at": expires_at})
    return token, expires_at
