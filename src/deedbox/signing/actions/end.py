"""End: nobody can sign any more, or someone need not; whoever was invited hears of it."""

from deedbox.signing import attachments, parties
from deedbox.signing.action_context import Desk
from deedbox.signing.model import Packet


def end(desk: Desk, before: Packet, ended: Packet, event: str, **told: object) -> Packet:
    """The packet, saved and announced; its documents have their last state already."""
    after = parties.canceled(ended)
    desk.save(before, after)
    attachments.settle(desk, before, after)
    for document in after.documents:
        desk.emit(event, after, document, **told)
    invited = [signer for _, signer in before.signers() if signer.status in ("notified", "viewed", "signed")]
    desk.notifier.ended(desk.tx, after, invited, now=desk.now)
    return after


def dismiss(desk: Desk, before: Packet, after: Packet) -> None:
    """Tells those who had been invited and are not needed any more, because others of their party have signed."""
    asked = {signer.id for _, signer in before.signers() if signer.status in ("notified", "viewed")}
    for _, signer in after.signers():
        if signer.id in asked and signer.status == "canceled":
            desk.notifier.not_needed(desk.tx, after, signer, now=desk.now)
