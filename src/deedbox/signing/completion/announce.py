"""Announce: everyone who signed or gets a copy gets what was sealed, once for the whole packet."""

from collections.abc import Sequence

from deedbox.signing import sessions
from deedbox.signing.action_context import ActionContext
from deedbox.signing.model import Packet
from deedbox.signing.notifier import SealedDocument, SealedFiles


def announce(ctx: ActionContext, packet: Packet, sealed: Sequence[SealedDocument]) -> None:
    """Tells those who signed or get a copy, each with a link of their own, and the sender."""
    heard = [signer.id for _, signer in packet.signers() if signer.status == "signed" or signer.role == "cc"]
    tokens = {signer_id: sessions.link_by_mail(ctx.tx, signer_id, ctx.notifier, now=ctx.now) for signer_id in heard}
    files = SealedFiles(sealed, tokens, packet.certificate_sha256)
    ctx.notifier.completed(ctx.tx, packet, files, now=ctx.now)
