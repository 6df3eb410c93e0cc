"""Delete: a draft, or what could not be converted, leaves nothing behind."""

from deedbox.kernel.blobs import store as blobs
from deedbox.signing import states
from deedbox.signing.action_context import ActionContext
from deedbox.signing.model import Packet
from deedbox.signing.store import documents


def delete(ctx: ActionContext, packet: Packet) -> None:
    for document in packet.documents:
        states.after(document.status, "delete")
        for sha256 in {document.paper_sha256, *(file.sha256 for file in document.files)} - {None}:
            blobs.release(ctx.tx, sha256 or "", document.id, ctx.now)
    if not documents.drop(ctx.tx, packet):
        raise states.refusal("sent")
