"""When everyone has signed: mark, seal, verify again, certify, store, complete. Whatever fails is tried again."""

from contextlib import AsyncExitStack
from datetime import datetime

import msgspec

from deedbox.evidence import file as evidence
from deedbox.kernel import jobs, limits
from deedbox.kernel.blobs import Blob, Received
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.blobs.stream import streamed
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import DeedboxError
from deedbox.kernel.jobs import Work
from deedbox.pdf.completion import Completion
from deedbox.pdf.report import Report
from deedbox.signing import states
from deedbox.signing.completion import facts, upgrade, verify_sealed
from deedbox.signing.completion.facts import Facts
from deedbox.signing.completion.marks import marks
from deedbox.signing.completion.seal import Sealer, SealRequest, signed_evidence
from deedbox.signing.desk import SERVER, Desk, Office, document_of
from deedbox.signing.model import Document, Seal
from deedbox.signing.store import audit, documents, sealed
from deedbox.signing.store.sealed import SealedFile

FINALIZE_JOB = "finalize"
_SEALING = "document.sealing"


class _Made(msgspec.Struct, frozen=True):
    """Everything that completing stores."""

    sealed: Received
    certificate: Received
    evidence: Received
    seal: Seal
    head: str


def plan(desk: Desk, document: Document) -> None:
    """The document is sealed before anything else is done."""
    jobs.enqueue(
        desk.tx,
        jobs.NewJob(
            FINALIZE_JOB,
            {"document_id": document.id},
            priority=jobs.URGENT,
            max_attempts=limits.FINALIZE_ATTEMPTS,
            unique_key=f"{FINALIZE_JOB}:{document.id}",
            workspace_id=document.workspace_id,
        ),
        now=desk.now,
    )


class Finalize:
    def __init__(self, office: Office, sealer: Sealer) -> None:
        self._office, self._sealer = office, sealer
        self._db, self._blobs, self._clock = office.db, office.blobs, office.clock

    async def run(self, work: Work) -> None:
        """The handler of finalize jobs."""
        workspace_id, document_id = work.named("document_id")
        known = await self._db.read(lambda tx: facts.gathered(tx, workspace_id, document_id))
        if known.document.status != "finalizing":
            return  # an attempt before this one has done it
        try:
            async with AsyncExitStack() as held:
                made = await self._made(known, held)
                now = self._clock.now()
                await work.finish(lambda tx: self._complete(tx, known.document, made, now))
        except Exception as error:  # whatever it is, the sender sees that it happened; the job is tried again
            told = error.message if isinstance(error, DeedboxError) else "The server's log says why"
            await self._db.write(lambda tx: documents.note_error(tx, document_id, f"Sealing has failed so far: {told}"))
            raise

    async def _made(self, known: Facts, held: AsyncExitStack) -> _Made:
        document = known.document
        marked = await self._marked(known, held)
        statement = facts.statement(known, marked.blob)
        head = await self._db.write(lambda tx: self._state(tx, document, statement.sha256))
        known = await self._db.read(lambda tx: facts.gathered(tx, document.workspace_id, document.id))
        request = SealRequest(
            document_id=document.id,
            audit_head=head,
            name=known.workspace_name,
            demand_timestamp=document.require_timestamp,
        )
        made = await held.enter_async_context(self._sealer.sealed(marked.blob, document.workspace_id, request))
        certificates = self._office.certificates
        identity = await certificates.seal_identity(document.workspace_id)
        report = await self._verify(made.received.blob, marked.blob, document, head)
        known = facts.up_to(known, head)
        told = facts.evidence(
            statement, known, [verify_sealed.named(made.received.blob, report)], identity, await certificates.root_pem()
        )
        proof = await self._kept(await signed_evidence(told, identity), held)
        at = instant(self._clock.now())
        completion = facts.completion(known, made.received.blob, made.seal, head, self._office.address(), at)
        certificate = await self._printed(completion, made.received.blob, held)
        return _Made(made.received, certificate, proof, made.seal, head)

    async def _marked(self, known: Facts, held: AsyncExitStack) -> Received:
        """The paper with every mark on its pages."""
        images = {}
        for _, signer in known.packet.signers():
            if signer.signature is not None and (sha256 := signer.signature.image_sha256) is not None:
                blob = await self._db.read(lambda tx, sha256=sha256: blobs.demand(tx, sha256))  # type: ignore[misc]
                images[signer.id] = await self._blobs.read(blob.location, limits.SIGNATURE_IMAGE_BYTES)
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with streamed(self._blobs, known.paper) as data:
            await self._office.workshop.mark(data, marks(known, images), incoming.write)
        return await incoming.finish()

    async def _verify(self, made: Blob, marked: Blob, document: Document, head: str) -> Report:
        """Raises unless what was made is what it should be: nothing is released that does not hold."""
        trusted = await self._office.certificates.trusted(document.workspace_id)
        found = await verify_sealed.own_report(self._blobs, made, marked, trusted, now=self._clock.now())
        verify_sealed.demand_authentic(found, document.id, head)
        return found

    async def certified(
        self, document: Document, made: Blob, seal: Seal, timestamped_at: str, held: AsyncExitStack
    ) -> Received:
        """The certificate of a document that is completed, for this sealed file of it."""
        known, kept = await self._db.read(
            lambda tx: (facts.gathered(tx, document.workspace_id, document.id), sealed.find(tx, document.id))
        )
        head = kept.head if kept else ""
        known = facts.up_to(known, head)
        at = known.document.completed_at or timestamped_at
        completion = facts.completion(known, made, seal, head, self._office.address(), at)
        return await self._printed(msgspec.structs.replace(completion, seal_timestamp=timestamped_at), made, held)

    async def _printed(self, completion: Completion, made: Blob, held: AsyncExitStack) -> Received:
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with streamed(self._blobs, made) as data:
            await self._office.workshop.certificate(data, completion, incoming.write)
        return await incoming.finish()

    async def _kept(self, content: bytes, held: AsyncExitStack) -> Received:
        incoming = await held.enter_async_context(self._blobs.receive(limits.EVIDENCE_BYTES))
        await incoming.write(content)
        return await incoming.finish()

    def _state(self, tx: Tx, document: Document, statement_sha256: str) -> str:
        """The head of the trail, whose last row says what is to be sealed; an attempt before may have written it."""
        last = audit.trail(tx, document.id)[-1]
        if last.act == _SEALING and last.detail.get(evidence.STATEMENT) == statement_sha256:
            return last.hash
        with self._office.desk(tx, document.workspace_id) as desk:
            return desk.record(document, _SEALING, {evidence.STATEMENT: statement_sha256}, actor=SERVER).hash

    def _complete(self, tx: Tx, document: Document, made: _Made, now: datetime) -> None:
        with self._office.desk(tx, document.workspace_id, now=now) as desk:
            complete(desk, document.id, made)


def complete(desk: Desk, document_id: str, made: _Made) -> Document:
    """The document, completed: its files are stored, and everyone who signed is told."""
    packet, document = document_of(desk.tx, desk.workspace_id, document_id)
    completed = states.moved(document, "complete", desk.at, seal=made.seal, error=None)
    documents.change_document(desk.tx, document, completed)
    received = [made.sealed, made.certificate, made.evidence]
    file, certificate, proof = blobs.adopt_all(desk.tx, received, document_id, desk.now)
    stored = SealedFile(file.sha256, file.size_bytes, certificate.sha256, proof.sha256, made.head, desk.at)
    sealed.keep(desk.tx, document_id, stored)
    hashes = {
        verify_sealed.SEALED_SHA256: file.sha256,
        verify_sealed.CERTIFICATE_SHA256: certificate.sha256,
    }
    desk.record(completed, verify_sealed.COMPLETED, hashes, actor=SERVER)
    if made.seal.degraded:
        upgrade.plan(desk, completed)
    desk.emit("document.completed", packet, completed, sha256=file.sha256)
    for _, signer in packet.signers():
        if signer.status == "signed":
            desk.notifier.completed(desk.tx, packet, completed, signer, file.sha256, now=desk.now)
    return completed
