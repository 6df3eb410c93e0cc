"""View: the signer has the documents before them."""

from deedbox.kernel.crypto import Secret, sha256
from deedbox.signing import limits, parties
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions.turn import Circumstances, is_shown
from deedbox.signing.model import Document, Packet
from deedbox.signing.store import links, people

_TEXT = 0
"""Stands for the text of a document, which is no page."""


def view(ctx: ActionContext, packet: Packet, signer_id: str, session: Secret, seen: Circumstances) -> Packet:
    """The packet, with the first view of this session noted; later ones change nothing."""
    _, signer = parties.find_signer(packet, signer_id)
    if not is_shown(packet, signer) or not links.record_view(ctx.tx, sha256(session.reveal()), ctx.at):
        return packet
    after = packet
    if signer.status == "notified":
        after = parties.with_signer(packet, signer_id, status="viewed", viewed_at=ctx.at)
        ctx.save(packet, after)
    for document in after.documents:
        ctx.record(document, "signer.viewed", seen.told(), actor=signer_id)
    return after


def view_text(
    ctx: ActionContext, document: Document, signer_id: str, session: Secret, shown: str, address: str
) -> None:
    """Notes that the session was shown the text of the document, by its hash, unless it has been before.

    It claims no page: text is not what they look like."""
    if links.add_page_view(ctx.tx, sha256(session.reveal()), document.id, _TEXT) and people.add_note(
        ctx.tx, signer_id, limits.SIGNER_VIEW_ROWS
    ):
        detail = {"address": address, "prepared": document.paper_sha256, "text_sha256": shown}
        ctx.record(document, "signer.text_viewed", detail, actor=signer_id)


def view_page(
    ctx: ActionContext, document: Document, signer_id: str, session: Secret, page: tuple[str, int], seen: Circumstances
) -> None:
    """Notes that the session was served this page of a file, unless it has been before.

    A signer's rows are bounded: beyond that, pages are served and nothing is claimed of them."""
    if links.add_page_view(ctx.tx, sha256(session.reveal()), *page) and people.add_note(
        ctx.tx, signer_id, limits.SIGNER_VIEW_ROWS
    ):
        file_id, number = page
        # What else is known of the session stands in the row of its opening: there may be many pages.
        detail = {"address": seen.address, "file": file_id, "page": number, "prepared": document.paper_sha256}
        ctx.record(document, "signer.page_viewed", detail, actor=signer_id)
