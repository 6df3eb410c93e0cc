"""When everyone has signed: stamp, seal, verify again, certify, store, complete. Whatever fails is tried again."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime

import msgspec

from deedbox.authority import Certificates
from deedbox.authority.remote_timestamp import plan_upgrade
from deedbox.evidence import file as evidence
from deedbox.evidence.chain import Entry
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Blobs, Received
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.stream import streamed
from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import DeedboxError, NotFound
from deedbox.kernel.jobs import Work
from deedbox.pdf.completion import Completion
from deedbox.pdf.workshop import Workshop
from deedbox.signing import audit, documents, proving, showing, states, store
from deedbox.signing.acts import Signature
from deedbox.signing.document import Seal
from deedbox.signing.found import find
from deedbox.signing.papers import store as papers
from deedbox.signing.people import store as people
from deedbox.signing.post import Post
from deedbox.signing.sealing import Sealing, Wish
from deedbox.signing.showing import Facts

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
        workspace_id, document_id = work.named("document_id")
        facts = await self._db.read(lambda tx: _facts(tx, workspace_id, document_id))
        if facts.document.status != "finalizing":
            return  # an attempt before this one has done it
        try:
            async with AsyncExitStack() as held:
                made = await self._made(facts, held)
                now = self._clock.now()
                await work.finish(lambda tx: self._complete(tx, workspace_id, document_id, made, now))
        except Exception as error:  # whatever it is, the sender sees that it happened; the job is tried again
            told = error.message if isinstance(error, DeedboxError) else "The server's log says why"
            await self._db.write(lambda tx: store.note_error(tx, document_id, f"Sealing has failed so far: {told}"))
            raise

    async def _made(self, facts: Facts, held: AsyncExitStack) -> _Made:
        stamped = await self._stamped(facts, held)
        statement = showing.statement(facts, stamped.blob)
        now = self._clock.now()
        head = await self._db.write(lambda tx: _state(tx, facts.document.id, statement.sha256, now))
        facts = await self._db.read(lambda tx: _facts(tx, facts.workspace_id, facts.document.id))
        demand = await self._db.read(lambda tx: store.demands_timestamp(tx, facts.document.id))
        wish = Wish(document_id=facts.document.id, audit_head=head, name=facts.workspace_name, demand_timestamp=demand)
        sealed = await held.enter_async_context(self._sealing.sealed(stamped.blob, facts.workspace_id, wish))
        identity = await self._certificates.seal_identity(facts.workspace_id)
        await self._verify(sealed.received.blob, facts, head)
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

    async def _verify(self, sealed: Blob, facts: Facts, head: str) -> None:
        """Raises unless what was made is what it should be: nothing is released that does not hold."""
        trusted = await self._certificates.trusted(facts.workspace_id)
        found = await proving.report(self._workshop, self._blobs, sealed, trusted, now=self._clock.now())
        proving.demand_authentic(found, facts.document.id, head)

    async def certified(
        self, workspace_id: str, document_id: str, sealed: Blob, seal: Seal, stamped_at: str, held: AsyncExitStack
    ) -> Received:
        """The certificate of a document that is completed, for this sealed file of it."""
        facts, head = await self._db.read(
            lambda tx: (_facts(tx, workspace_id, document_id), papers.sealed_head(tx, document_id))
        )
        rows = [entry.hash for entry in facts.trail].index(head) + 1
        facts = msgspec.structs.replace(facts, trail=facts.trail[:rows])
        at = facts.document.completed_at or stamped_at
        completion = showing.completion(facts, sealed, seal, head, self._address(), at)
        return await self._printed(msgspec.structs.replace(completion, seal_timestamp=stamped_at), sealed, held)

    async def _certificate(self, facts: Facts, sealed: Blob, seal: Seal, head: str, held: AsyncExitStack) -> Received:
        completion = showing.completion(facts, sealed, seal, head, self._address(), instant(self._clock.now()))
        return await self._printed(completion, sealed, held)

    async def _printed(self, completion: Completion, sealed: Blob, held: AsyncExitStack) -> Received:
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
            "error": None,
        }
        if not store.change_document(tx, document_id, "finalizing", changes, now=instant(now)):
            raise states.refusal(find(tx, workspace_id, document_id).status)
        papers.keep_sealed(
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
        audit.record(tx, document_id, proving.COMPLETED, audit.SERVER, {proving.SEALED: sealed.sha256}, now=now)
        if made.seal.degraded:
            plan_upgrade(tx, workspace_id, document_id, now=now)
        completed = find(tx, workspace_id, document_id)
        documents.emit(tx, workspace_id, "document.completed", completed, {"sha256": sealed.sha256}, now=now)
        for party in completed.parties:
            for signer in party.signers:
                if signer.status == "signed":
                    self._post.completed(tx, completed, signer, sealed.sha256, now=now)


def _facts(tx: Tx, workspace_id: str, document_id: str) -> Facts:
    document = find(tx, workspace_id, document_id)
    paper = papers.paper(tx, document_id)
    if paper is None:
        raise NotFound("The document has no file")
    return Facts(
        workspace_id=workspace_id,
        workspace_name=store.workspace_name(tx, workspace_id),
        document=document,
        prepared=_blob(tx, paper),
        covers=papers.covers(tx, document_id),
        signatures={
            signer_id: msgspec.json.decode(text, type=Signature)
            for signer_id, text in people.signatures(tx, document_id).items()
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
