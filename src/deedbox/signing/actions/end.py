"""End: nobody can sign any more, or someone need not; whoever was invited hears of it."""

from deedbox.signing import attachments, parties
from deedbox.signing.action_context import ActionContext
from deedbox.signing.model import Packet


def end(ctx: ActionContext, before: Packet, ended: Packet, event: str, **told: object) -> Packet:
    """The packet, saved and announced; its documents have their last state already."""
    after = parties.cancel(ended)
    ctx.save(before, after)
    attachments.settle(ctx, before, after)
    for document in after.documents:
        ctx.emit(event, after, document, **told)
    invited = [signer for _, signer in before.signers() if signer.status in ("notified", "viewed", "signed")]
    ctx.notifier.ended(ctx.tx, after, invited, now=ctx.now)
    return after


def dismiss(ctx: ActionContext, before: Packet, after: Packet) -> None:
    """Tells those who had been invited and are not needed any more, because others of their party have signed."""
    asked = {signer.id for _, signer in before.signers() if signer.status in ("notified", "viewed")}
    for _, signer in after.signers():
        if signer.id in asked and signer.status == "canceled":
            ctx.notifier.not_needed(ctx.tx, after, signer, now=ctx.now)
