"""End: nobody can sign any more, and whoever was invited hears of it."""

from deedbox.signing import parties
from deedbox.signing.desk import Desk
from deedbox.signing.model import Packet


def end(desk: Desk, before: Packet, ended: Packet, event: str, **told: object) -> Packet:
    """The packet, saved and announced; its documents have their last state already."""
    after = parties.canceled(ended)
    desk.save(before, after)
    for document in after.documents:
        desk.emit(event, after, document, **told)
    for _, signer in before.signers():
        if signer.status in ("notified", "viewed", "signed"):
            desk.notifier.ended(desk.tx, after, signer, now=desk.now)
    return after
