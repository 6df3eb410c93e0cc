"""A seal that had to do without the configured authority's time-stamp gets it later, and stays the same seal.

The time-stamp is not under the signature: it takes the place of the server's own in the gap of the one revision, so the
file keeps its size, its seal and every signed byte. The file before stays stored and known: whoever has it, has an
authentic one. A second time-stamp beside the first would be refused by readers that expect one."""

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime, timedelta

import msgspec

from deedbox.authority.remote_timestamp import RemoteTimestamper, TimestampFailed
from deedbox.evidence import file as evidence
from deedbox.kernel import jobs
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.kernel.jobs import GiveUp, Work
from deedbox.pdf.seal import timestamp, timestamp_again
from deedbox.pdf.seal.timestamp_again import LastSeal
from deedbox.pdf.verify.report import VerificationReport
from deedbox.signing import limits
from deedbox.signing.action_context import SERVER, ActionContext, SigningServices, document_of
from deedbox.signing.completion import certify_packet, verify_sealed
from deedbox.signing.completion.certificate import Certified
from deedbox.signing.completion.certify import Certifier
from deedbox.signing.completion.seal import signed_evidence
from deedbox.signing.model import Document, Seal
from deedbox.signing.store import documents, sealed

UPGRADE_JOB = "upgrade_seal"


def plan(ctx: ActionContext, document: Document) -> None:
    """A degraded seal gets the time-stamp of the configured authority as soon as that gives one."""
    jobs.enqueue(
        ctx.tx,
        jobs.NewJob(
            UPGRADE_JOB,
            {"document_id": document.id},
            run_at=ctx.now + timedelta(seconds=limits.UPGRADE_FIRST_SECONDS),
            priority=jobs.BULK,
            max_attempts=limits.UPGRADE_ATTEMPTS,
            unique_key=f"{UPGRADE_JOB}:{document.id}",
            workspace_id=document.workspace_id,
        ),
        now=ctx.now,
    )


class _Degraded(msgspec.Struct, frozen=True):
    """A document whose seal is to be time-stamped again, with its sealed file and what that is bound to."""

    document: Document
    seal: Seal
    file: Blob
    evidence: Blob
    head: str


class _Made(msgspec.Struct, frozen=True):
    file: ReceivedBlob
    certificate: ReceivedBlob
    evidence: ReceivedBlob
    seal: Seal
    timestamped_at: str


class Upgrade:
    def __init__(self, services: SigningServices, certifier: Certifier, remote: RemoteTimestamper | None) -> None:
        self._services, self._certifier, self._remote = services, certifier, remote
        self._blobs, self._clock = services.blobs, services.clock
        self._asking = asyncio.Lock()
        self._failed: tuple[datetime, TimestampFailed] | None = None

    async def run(self, work: Work) -> None:
        """The handler of upgrade jobs: TimestampFailed, and so another attempt, while the authority gives nothing."""
        workspace_id, document_id = work.named("document_id")
        found = await self._services.db.read(lambda tx: _degraded(tx, workspace_id, document_id))
        if found is None:
            return  # an attempt before this one has done it
        async with AsyncExitStack() as held:
            made = await self._made(found, held)

            def replace(tx: Tx) -> None:
                with self._services.action(tx, workspace_id) as ctx:
                    _replace(ctx, found, made)

            await work.finish(replace)

    async def _made(self, found: _Degraded, held: AsyncExitStack) -> _Made:
        try:
            gap = await self._gap(found.file)
            token = await self._token(gap.digest)
            digits = gap.with_timestamp(token)
        except BadRequest as error:  # the file will not be another one at the next attempt
            raise GiveUp(error.message) from error
        file = await self._written(found.file, gap, digits, held)
        report = await verify_sealed.demand_authentic(self._services, file.blob, None, found.document, found.head)
        # As for any seal with another authority's time-stamp: the file does not tell whether that was revoked.
        seal = msgspec.structs.replace(found.seal, level="B-T", timestamped=True, degraded=False)
        at = instant(timestamp.made_at(token))
        about = Certified(file.blob, seal, at, found.head)
        certificate = await self._certifier.certificate_again(found.document, about, held)
        proof = await self._proof(found, file.blob, report, held)
        return _Made(file, certificate, proof, seal, at)

    async def _proof(
        self, found: _Degraded, file: Blob, report: VerificationReport, held: AsyncExitStack
    ) -> ReceivedBlob:
        """The evidence file, which names the new file beside the one before, vouched for anew."""
        told = evidence.parse(await self._blobs.read(found.evidence.location, shared_limits.EVIDENCE_BYTES))
        files = [*told.seal.files, verify_sealed.as_evidence(file, report)]
        told = msgspec.structs.replace(told, seal=msgspec.structs.replace(told.seal, files=files))
        identity = await self._services.certificates.seal_identity(found.document.workspace_id)
        incoming = await held.enter_async_context(self._blobs.receive(shared_limits.EVIDENCE_BYTES))
        await incoming.write(await signed_evidence(told, identity))
        return await incoming.finish()

    async def _token(self, digest: bytes) -> bytes:
        """A token of the configured authority, which is left in peace for a while after it failed."""
        if self._remote is None:
            raise GiveUp("No timestamp authority is configured any more: the seal keeps the server's own timestamp.")
        rest = timedelta(seconds=limits.UPGRADE_REST_SECONDS)
        async with self._asking:  # one after the other, so that the second sees what the first was told
            if self._failed is not None and self._failed[0] <= self._clock.now() < self._failed[0] + rest:
                raise TimestampFailed(self._failed[1].message)
            try:
                token = await self._remote.token(digest)
            except TimestampFailed as failed:
                self._failed = self._clock.now(), failed
                raise
            self._failed = None
            return token

    async def _gap(self, file: Blob) -> LastSeal:
        before = max(0, file.size_bytes - shared_limits.SEAL_TAIL_BYTES)
        tail = [piece async for piece in self._blobs.open_range(file.location, before, file.size_bytes - before)]
        return timestamp_again.last_seal(b"".join(tail), before)

    async def _written(self, file: Blob, gap: LastSeal, digits: bytes, held: AsyncExitStack) -> ReceivedBlob:
        incoming = await held.enter_async_context(self._blobs.receive(file.size_bytes))
        async for piece in self._blobs.open_range(file.location, 0, gap.contents_at):
            await incoming.write(piece)
        await incoming.write(digits)
        end = gap.contents_at + gap.contents_length
        async for piece in self._blobs.open_range(file.location, end, file.size_bytes - end):
            await incoming.write(piece)
        return await incoming.finish()


def _degraded(tx: Tx, workspace_id: str, document_id: str) -> _Degraded | None:
    _, document = document_of(tx, workspace_id, document_id)
    kept = sealed.find(tx, document_id)
    if document.status != "completed" or document.seal is None or not document.seal.degraded or kept is None:
        return None
    file, proof = blobs.demand(tx, kept.sha256), blobs.demand(tx, kept.evidence_sha256)
    return _Degraded(document, document.seal, file, proof, kept.head)


def _replace(ctx: ActionContext, found: _Degraded, made: _Made) -> None:
    """Whoever looks sees the file, its certificate and the word on its seal change together.

    Those before stay stored: they were given out, and are what they were."""
    document = found.document
    received = [made.file, made.certificate, made.evidence]
    file, certificate, proof = blobs.adopt_all(ctx.tx, received, document.id, ctx.now)
    new = sealed.Restamped(file.sha256, certificate.sha256, proof.sha256)
    if not sealed.replace(ctx.tx, document.id, found.file.sha256, new):
        raise Conflict("The sealed file was replaced at this very moment")
    documents.change_document(ctx.tx, document, msgspec.structs.replace(document, seal=made.seal, updated_at=ctx.at))
    detail = {
        verify_sealed.SEALED_SHA256: file.sha256,
        verify_sealed.CERTIFICATE_SHA256: certificate.sha256,
        "replaced_sha256": found.file.sha256,
        "stamped_at": made.timestamped_at,
    }
    ctx.record(document, verify_sealed.RESTAMPED, detail, actor=SERVER)
    packet = ctx.packet_of(document.id)
    if packet.completed_at is not None:  # whose certificate names the file before
        certify_packet.plan(ctx, packet, cause=file.sha256)
