"""When every document of a packet is sealed: one certificate for all of them, and the packet is complete."""

from contextlib import AsyncExitStack
from datetime import datetime

import msgspec

from deedbox.kernel import jobs
from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, ServiceError
from deedbox.kernel.jobs import Work
from deedbox.signing import limits, parties
from deedbox.signing.action_context import SERVER, ActionContext, SigningServices, shown_packet
from deedbox.signing.completion import facts, verify_sealed
from deedbox.signing.completion.announce import announce
from deedbox.signing.completion.certify import Certifier
from deedbox.signing.completion.facts import Facts
from deedbox.signing.model import Packet
from deedbox.signing.notifier import SealedDocument
from deedbox.signing.store import documents, sealed
from deedbox.signing.store.sealed import SealedHashes

CERTIFY_PACKET_JOB = "certify_packet"


class SealedPacket(msgspec.Struct, frozen=True):
    """A packet whose documents are all sealed, with the facts of each and the files that it left."""

    packet: Packet
    documents: list[tuple[Facts, SealedHashes]]


def plan(ctx: ActionContext, packet: Packet, cause: str = "completed") -> None:
    """The certificate of the whole packet is made, or made anew for another cause, before anything else is done."""
    jobs.enqueue(
        ctx.tx,
        jobs.NewJob(
            CERTIFY_PACKET_JOB,
            {"packet_id": packet.id},
            priority=jobs.URGENT,
            max_attempts=limits.FINALIZE_ATTEMPTS,
            unique_key=f"{CERTIFY_PACKET_JOB}:{packet.id}:{cause}",
            workspace_id=packet.workspace_id,
        ),
        now=ctx.now,
    )


def reason_of(error: Exception) -> str:
    """What the sender is told of a failure."""
    return error.message if isinstance(error, ServiceError) else "The server's log says why"


class PacketCertification:
    def __init__(self, services: SigningServices, certifier: Certifier) -> None:
        self._services, self._certifier = services, certifier

    async def run(self, work: Work) -> None:
        """The handler of certify_packet jobs."""
        workspace_id, packet_id = work.named("packet_id")
        known = await self._services.db.read(lambda tx: gather(tx, workspace_id, packet_id))
        try:
            await self._certify(work, known)
        except Exception as error:  # whatever it is, the sender sees that it happened; the job is tried again
            told = f"Certifying has failed so far: {reason_of(error)}"
            await self._services.db.write(lambda tx: documents.note_packet_error(tx, packet_id, told))
            raise

    async def _certify(self, work: Work, known: SealedPacket) -> None:
        at = self._services.clock.now()
        async with AsyncExitStack() as held:
            completed_at = known.packet.completed_at or instant(at)
            made = await self._certifier.packet_certificate(known.packet, known.documents, completed_at, held)
            await work.finish(lambda tx: self._complete(tx, known, made, at))

    def _complete(self, tx: Tx, known: SealedPacket, made: ReceivedBlob, at: datetime) -> None:
        with self._services.action(tx, known.packet.workspace_id, now=at) as ctx:
            complete(ctx, known, made)


def gather(tx: Tx, workspace_id: str, packet_id: str) -> SealedPacket:
    """The packet with the facts that are in the seals of its documents."""
    packet, found = shown_packet(tx, workspace_id, packet_id), []
    for document in packet.documents:
        made = sealed.demand(tx, document.id)
        found.append((facts.up_to(facts.gather(tx, workspace_id, document.id), made.head), made))
    return SealedPacket(packet, found)


def complete(ctx: ActionContext, known: SealedPacket, made: ReceivedBlob) -> Packet:
    """The packet with its certificate; the first one completes it, and everyone is told once."""
    before = ctx.packet(known.packet.id)
    if [sealed.demand(ctx.tx, one.id) for one in before.documents] != [left for _, left in known.documents]:
        raise Conflict("A seal got a new timestamp at the same time")  # and the certificate is made again
    certificate = blobs.adopt(ctx.tx, made, before.id, ctx.now)
    first = before.completed_at is None
    completed_at = before.completed_at or ctx.at
    made_now = {"completed_at": completed_at, "certificate_sha256": certificate.sha256, "error": None}
    after = msgspec.structs.replace(before, **made_now)
    after = parties.complete_copies(after, ctx.at) if first else after
    documents.change(ctx.tx, before, after)
    sealed.recognise(ctx.tx, before.first.id, certificate.sha256)
    for document in after.documents:
        detail = {verify_sealed.CERTIFICATE_SHA256: certificate.sha256}
        ctx.record(document, verify_sealed.PACKET_CERTIFIED, detail, actor=SERVER)
    if first:
        ctx.emit_packet("packet.completed", after)
        hashes = [(one.sha256, one.certificate_sha256) for _, one in known.documents]
        announce(ctx, after, [SealedDocument(one, *left) for one, left in zip(after.documents, hashes, strict=True)])
    return after
