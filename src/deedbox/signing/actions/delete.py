"""Delete: a draft, or what could not be converted, leaves nothing behind."""

from deedbox.kernel.blobs import store as blobs
from deedbox.signing import states
from deedbox.signing.action_context import Desk
from deedbox.signing.model import Packet
from deedbox.signing.store import documents


def delete(desk: Desk, packet: Packet) -> None:
    for document in packet.documents:
        states.after(document.status, "delete")
        for sha256 in {document.paper_sha256, *(file.sha256 for file in document.files)} - {None}:
            blobs.release(desk.tx, sha256 or "", document.id, desk.now)
    if not documents.drop(desk.tx, packet):
        raise states.refusal("sent")
