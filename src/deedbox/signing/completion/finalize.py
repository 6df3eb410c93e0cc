"""When everyone has signed: mark, seal, verify again, certify, store, complete. Whatever fails is tried again."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import datetime

import msgspec

from deedbox.evidence import file as evidence
from deedbox.evidence.chain import TrailEntry
from deedbox.kernel import jobs
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.blobs.stream import open_stream
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.jobs import Work
from deedbox.signing import limits, parties, states
from deedbox.signing.action_context import SERVER, ActionContext, SigningServices, document_in
from deedbox.signing.completion import certify_packet, facts, upgrade, verify_sealed
from deedbox.signing.completion.announce import announce
from deedbox.signing.completion.certificate import Certified
from deedbox.signing.completion.certify import Certifier
from deedbox.signing.completion.facts import Facts
from deedbox.signing.completion.marks import marks
from deedbox.signing.completion.seal import Sealer, SealRequest, signed_evidence
from deedbox.signing.model import Document, Seal
from deedbox.signing.notifier import SealedDocument
from deedbox.signing.preparation.join import join
from deedbox.signing.store import audit, documents, sealed
from deedbox.signing.store.sealed import SealedHashes

FINALIZE_JOB = "finalize"
_SEALING = "document.sealing"


class _Made(msgspec.Struct, frozen=True):
    """Everything that completing stores."""

    sealed: ReceivedBlob
    certificate: ReceivedBlob
    evidence: ReceivedBlob
    seal: Seal
    head: str
    at: datetime
    """The time of completion that the certificate tells, and so the record too."""


def plan(ctx: ActionContext, document: Document) -> None:
    """The document is sealed before anything else is done."""
    jobs.enqueue(
        ctx.tx,
        jobs.NewJob(
            FINALIZE_JOB,
            {"document_id": document.id},
            priority=jobs.URGENT,
            max_attempts=limits.FINALIZE_ATTEMPTS,
            unique_key=f"{FINALIZE_JOB}:{document.id}",
            workspace_id=document.workspace_id,
        ),
        now=ctx.now,
    )


class Finalize:
    def __init__(self, services: SigningServices, sealer: Sealer, certifier: Certifier) -> None:
        self._services, self._sealer, self._certifier = services, sealer, certifier
        self._db, self._blobs, self._clock = services.db, services.blobs, services.clock

    async def run(self, work: Work) -> None:
        """The handler of finalize jobs."""
        workspace_id, document_id = work.named("document_id")
        known = await self._db.read(lambda tx: facts.gather(tx, workspace_id, document_id))
        if known.document.status != "finalizing":
            return  # an attempt before this one has done it
        try:
            async with AsyncExitStack() as held:
                made = await self._made(known, held)
                await work.finish(
                    lambda tx: self._complete(tx, known.document, made),
                    isolation="read committed",
                )
        except Exception as error:  # whatever it is, the sender sees that it happened; the job is tried again
            told = f"Sealing has failed so far: {certify_packet.reason_of(error)}"
            await self._db.write(
                lambda tx: documents.note_error(tx, document_id, told),
                isolation="read committed",
            )
            raise

    async def _made(self, known: Facts, held: AsyncExitStack) -> _Made:
        document = known.document
        images = await self._certifier.images(known)
        marked = await self._marked(known, images, held)
        statement = facts.statement(known, marked)
        trail = await self._db.write(
            lambda tx: self._state(tx, document, statement.sha256),
            isolation="read committed",
        )
        known, head = msgspec.structs.replace(known, trail=trail), trail[-1].hash
        request = SealRequest(
            document_id=document.id,
            audit_head=head,
            name=known.brand.name,
            demand_timestamp=document.require_timestamp,
        )
        made = await held.enter_async_context(self._sealer.sealed(marked, document.workspace_id, request))
        report = await verify_sealed.demand_authentic(self._services, made.received.blob, marked, document, head)
        root = await self._services.certificates.root_pem()
        told = facts.evidence(
            statement, known, [verify_sealed.as_evidence(made.received.blob, report)], made.identity, root
        )
        proof = await self._kept(await signed_evidence(told, made.identity), held)
        at = self._clock.now()
        about = Certified(made.received.blob, made.seal, report.signatures[0].timestamp_time or "", head)
        certificate = await self._certifier.certificate(known, about, images, instant(at), held)
        return _Made(made.received, certificate, proof, made.seal, head, at)

    async def _marked(self, known: Facts, images: Mapping[str, bytes], held: AsyncExitStack) -> Blob:
        """The paper with every mark on its pages."""
        paper = await self._joined(known, held) if known.attached else known.paper
        incoming = await held.enter_async_context(self._blobs.receive(shared_limits.PREPARED_FILE_BYTES))
        async with open_stream(self._blobs, paper) as data:
            await self._services.workshop.mark(data, marks(known, images), incoming.write)
        return await incoming.lend()

    async def _joined(self, known: Facts, held: AsyncExitStack) -> Blob:
        """The paper with what the signers have attached behind it: its own pages keep their numbers."""
        incoming = await held.enter_async_context(self._blobs.receive(shared_limits.PREPARED_FILE_BYTES))
        await join(self._blobs, self._services.workshop, [known.paper, *known.attached], incoming.write)
        return await incoming.lend()

    async def _kept(self, content: bytes, held: AsyncExitStack) -> ReceivedBlob:
        incoming = await held.enter_async_context(self._blobs.receive(shared_limits.EVIDENCE_BYTES))
        await incoming.write(content)
        return await incoming.finish()

    def _state(self, tx: Tx, document: Document, statement_sha256: str) -> list[TrailEntry]:
        """The trail, whose last row says what is to be sealed; an attempt before may have written it."""
        documents.hold(tx, document.workspace_id, document.packet_id)
        trail = audit.trail(tx, document.id)
        if trail[-1].act == _SEALING and trail[-1].detail.get(evidence.STATEMENT) == statement_sha256:
            return trail
        with self._services.action(tx, document.workspace_id) as ctx:
            return [*trail, ctx.record(document, _SEALING, {evidence.STATEMENT: statement_sha256}, actor=SERVER)]

    def _complete(self, tx: Tx, document: Document, made: _Made) -> None:
        with self._services.action(tx, document.workspace_id, now=made.at) as ctx:
            complete(ctx, document.id, made)


def complete(ctx: ActionContext, document_id: str, made: _Made) -> Document:
    """The document, completed: its files are stored, and everyone is told, or the last of a packet certifies it."""
    packet = ctx.packet_of(document_id)
    document = document_in(packet, document_id)
    completed = states.move(document, "complete", ctx.at, seal=made.seal, error=None)
    after = packet.with_document(completed)
    if packet.lone:
        after = parties.complete_copies(after, ctx.at)
    ctx.save(packet, after)
    received = [made.sealed, made.certificate, made.evidence]
    file, certificate, proof = blobs.adopt_all(ctx.tx, received, document_id, ctx.now)
    stored = SealedHashes(file.sha256, file.size_bytes, certificate.sha256, proof.sha256, made.head, ctx.at)
    sealed.keep(ctx.tx, document_id, stored)
    hashes = {
        verify_sealed.SEALED_SHA256: file.sha256,
        verify_sealed.CERTIFICATE_SHA256: certificate.sha256,
    }
    ctx.record(completed, verify_sealed.COMPLETED, hashes, actor=SERVER)
    if made.seal.degraded:
        upgrade.plan(ctx, completed)
    ctx.emit("document.completed", packet, completed, sha256=file.sha256)
    if packet.lone:
        announce(ctx, after, [SealedDocument(completed, file.sha256, certificate.sha256)])
    elif all(one.status == "completed" for one in after.documents):
        certify_packet.plan(ctx, after)
    return completed
