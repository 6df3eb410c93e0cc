"""When everyone has signed: stamp, seal, verify again, certify, store, complete. Whatever fails is tried again."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime

import msgspec

from deedbox.evidence import file as evidence
from deedbox.evidence.chain import Entry
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Blobs, Received
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.streaming import streamed
from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import DeedboxError, NotFound
from deedbox.kernel.jobs import GiveUp, Work
from deedbox.pdf.report import Report
from deedbox.pdf.workshop import Workshop
from deedbox.signing import audit, documents, showing, states, store
from deedbox.signing.acts import Signature
from deedbox.signing.certificates import Certificates
from deedbox.signing.document import Seal
from deedbox.signing.found import find
from deedbox.signing.post import Post
from deedbox.signing.sealing import Sealing, Wish
from deedbox.signing.showing import Facts

_VERIFY = "deedbox.pdf.verify:verify"
_SEALING = "document.sealing"


class _Made(msgspec.Struct, frozen=True):
    """Everything that completing stores."""

    sealed: Received
    certificate: Received
    evidence: Received
    seal: Seal
    head: str


class Finalizing:
    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        clock: Clock,
        workshop: Workshop,
        sealing: Sealing,
        certificates: Certificates,
        post: Post,
        address: Callable[[], str],
    ) -> None:
        self._db, self._blobs, self._clock = db, blobs, clock
        self._workshop, self._sealing, self._certificates = workshop, sealing, certificates
        self._post = post
        self._address = address

    async def run(self, work: Work) -> None:
        """The handler of finalize jobs."""
        workspace_id, document_id = work.job.workspace_id, work.job.payload.get("document_id")
        if workspace_id is None or not isinstance(document_id, str):
            raise GiveUp("The job does not say which document to finalize.")
        facts = await self._db.read(lambda tx: _facts(tx, workspace_id, document_id))
        if facts.document.status != "finalizing":
            return  # an attempt before this one has done it
        async with AsyncExitStack() as held:
            made = await self._made(facts, held)
            now = self._clock.now()
            await work.finish(lambda tx: self._complete(tx, workspace_id, document_id, made, now))

    async def _made(self, facts: Facts, held: AsyncExitStack) -> _Made:
        stamped = await self._stamped(facts, held)
        statement = showing.statement(facts, stamped.blob)
        now = self._clock.now()
        head = await self._db.write(lambda tx: _state(tx, facts.document.id, statement.sha256, now))
        facts = await self._db.read(lambda tx: _facts(tx, facts.workspace_id, facts.document.id))
        wish = Wish(document_id=facts.document.id, audit_head=head, name=facts.workspace_name)
        sealed = await held.enter_async_context(self._sealing.sealed(stamped.blob, facts.workspace_id, wish))
        identity = await self._certificates.seal_identity(facts.workspace_id)
        await self._verify(sealed.received.blob, facts.document.id, head, await self._certificates.anchors(identity))
        root = await self._certificates.root_pem()
        proof = await self._kept(evidence.encode(showing.evidence(statement, facts, head, identity, root)), held)
        certificate = await self._certificate(facts, sealed.received.blob, sealed.seal, head, held)
        return _Made(sealed.received, certificate, proof, sealed.seal, head)

    async def _stamped(self, facts: Facts, held: AsyncExitStack) -> Received:
        images = {}
        for signer_id, signature in facts.signatures.items():
            if signature.image_sha256 is not None:
                blob = await self._db.read(lambda tx, sha256=signature.image_sha256: _blob(tx, sha256))  # type: ignore[misc]
                images[signer_id] = await self._blobs.read(blob.location, limits.SIGNATURE_IMAGE_BYTES)
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with streamed(self._blobs, facts.prepared) as data:
            await self._workshop.stamp(data, showing.marks(facts, images), incoming.write)
        return await incoming.finish()

    async def _verify(self, sealed: Blob, document_id: str, head: str, roots: list[bytes]) -> None:
        """Raises unless what was made is what it should be: nothing is released that does not hold."""
        async with streamed(self._blobs, sealed) as data:
            found = await self._workshop.run(_VERIFY, data, roots, [], instant(self._clock.now()))
        report = msgspec.convert(found, Report)
        if (report.verdict, report.document_id, report.chain_head) != ("authentic", document_id, head):
            reasons = "; ".join(report.reasons) or report.verdict
            raise DeedboxError(f"The sealed file does not verify: {reasons}")

    async def _certificate(self, facts: Facts, sealed: Blob, seal: Seal, head: str, held: AsyncExitStack) -> Received:
        completion = showing.completion(facts, sealed, seal, head, self._address(), instant(self._clock.now()))
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with streamed(self._blobs, sealed) as data:
            await self._workshop.certificate(data, completion, incoming.write)
        return await incoming.finish()

    async def _kept(self, content: bytes, held: AsyncExitStack) -> Received:
        incoming = await held.enter_async_context(self._blobs.receive(limits.EVIDENCE_BYTES))
        await incoming.write(content)
        return await incoming.finish()

    def _complete(self, tx: Tx, workspace_id: str, document_id: str, made: _Made, now: datetime) -> None:
        document = find(tx, workspace_id, document_id)
        owner = document_id
        sealed = blobs_store.adopt(tx, made.sealed, owner, now)
        certificate = blobs_store.adopt(tx, made.certificate, owner, now)
        proof = blobs_store.adopt(tx, made.evidence, owner, now)
        changes = {
            "status": states.after(document.status, "complete"),
            "completed_at": instant(now),
            "seal": msgspec.json.encode(made.seal).decode(),
        }
        if not store.change_document(tx, document_id, "finalizing", changes, now=instant(now)):
            raise states.refusal(find(tx, workspace_id, document_id).status)
        store.keep_sealed(
            tx,
            {
                "document_id": document_id,
                "sha256": sealed.sha256,
                "size_bytes": sealed.size_bytes,
                "certificate_sha256": certificate.sha256,
                "evidence_sha256": proof.sha256,
                "head": made.head,
                "sealed_at": instant(now),
            },
        )
        audit.record(tx, document_id, "document.completed", audit.SERVER, {"sealed_sha256": sealed.sha256}, now=now)
        completed = find(tx, workspace_id, document_id)
        documents.emit(tx, workspace_id, "document.completed", completed, {"sha256": sealed.sha256}, now=now)
        for party in completed.parties:
            for signer in party.signers:
                if signer.status == "signed":
                    self._post.completed(tx, completed, signer, sealed.sha256, now=now)


def _facts(tx: Tx, workspace_id: str, document_id: str) -> Facts:
    document = find(tx, workspace_id, document_id)
    _, prepared_sha256, covers = store.prepared(tx, document_id)[0]
    return Facts(
        workspace_id=workspace_id,
        workspace_name=store.workspace_name(tx, workspace_id),
        document=document,
        prepared=_blob(tx, prepared_sha256),
        covers=covers,
        signatures={
            signer_id: msgspec.json.decode(text, type=Signature)
            for signer_id, text in store.signatures(tx, document_id).items()
        },
        trail=audit.trail(tx, document_id),
    )


def _state(tx: Tx, document_id: str, statement_sha256: str, now: datetime) -> str:
    """The head of the trail, whose last row says what is to be sealed; an attempt before may have written it."""
    trail: list[Entry] = audit.trail(tx, document_id)
    if trail[-1].act == _SEALING and trail[-1].detail.get(evidence.STATEMENT) == statement_sha256:
        return trail[-1].hash
    detail = {evidence.STATEMENT: statement_sha256}
    return audit.record(tx, document_id, _SEALING, audit.SERVER, detail, now=now).hash


def _blob(tx: Tx, sha256: str) -> Blob:
    blob = blobs_store.find(tx, sha256)
    if blob is None:
        raise NotFound("A file of this document is no longer stored")
    return blob
