"""A seal that had to do without the configured authority's time-stamp gets it later, and stays the same seal.

The time-stamp is not under the signature: it takes the place of the server's own in the gap of the one revision, so the
file keeps its size, its seal and every signed byte. The file before stays stored and known: whoever has it, has an
authentic one. A second time-stamp beside the first would be refused by readers that expect one."""

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from deedbox.authority import Certificates
from deedbox.authority.remote_timestamp import RemoteTimestamper, TimestampFailed
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Blobs, Received
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest, Conflict, NotFound
from deedbox.kernel.jobs import GiveUp, Work
from deedbox.pdf import timestamp, timestamp_again
from deedbox.pdf.timestamp_again import Gap
from deedbox.pdf.workshop import Workshop
from deedbox.signing import audit, proving, store
from deedbox.signing.document import Document, Seal, decoded
from deedbox.signing.found import find
from deedbox.signing.papers import store as papers


class Certifier(Protocol):
    """Who makes certificates of completion."""

    async def certified(
        self, workspace_id: str, document_id: str, sealed: Blob, seal: Seal, stamped_at: str, held: AsyncExitStack
    ) -> Received:
        """The certificate of a document that is completed, for this sealed file of it."""


class _Degraded(msgspec.Struct, frozen=True):
    """A document whose seal is to be stamped again, with its sealed file and what that is bound to."""

    document: Document
    seal: Seal
    file: Blob
    head: str


class _Made(msgspec.Struct, frozen=True):
    file: Received
    certificate: Received
    seal: Seal
    stamped_at: str


class Upgrading:
    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        clock: Clock,
        workshop: Workshop,
        certificates: Certificates,
        certifier: Certifier,
        remote: RemoteTimestamper | None,
    ) -> None:
        self._db, self._blobs, self._clock, self._workshop = db, blobs, clock, workshop
        self._certificates, self._certifier, self._remote = certificates, certifier, remote
        self._asking = asyncio.Lock()
        self._failed: tuple[datetime, TimestampFailed] | None = None

    async def run(self, work: Work) -> None:
        """The handler of upgrade jobs: TimestampFailed, and so another attempt, while the authority gives nothing."""
        workspace_id, document_id = work.named("document_id")
        found = await self._db.read(lambda tx: _degraded(tx, workspace_id, document_id))
        if found is None:
            return  # an attempt before this one has done it
        async with AsyncExitStack() as held:
            made = await self._made(workspace_id, found, held)
            now = self._clock.now()
            await work.finish(lambda tx: _replace(tx, found, made, now))

    async def _made(self, workspace_id: str, found: _Degraded, held: AsyncExitStack) -> _Made:
        try:
            gap = await self._gap(found.file)
            token = await self._token(gap.digest)
            digits = gap.restamped(token)
        except BadRequest as error:  # the file will not be another one at the next attempt
            raise GiveUp(error.message) from error
        file = await self._written(found.file, gap, digits, held)
        trusted = await self._certificates.trusted(workspace_id)
        report = await proving.report(self._workshop, self._blobs, file.blob, trusted, now=self._clock.now())
        proving.demand_authentic(report, found.document.id, found.head)
        # As for any seal with another authority's time-stamp: the file does not tell whether that was revoked.
        seal = msgspec.structs.replace(found.seal, level="B-T", timestamped=True, degraded=False)
        stamped_at = instant(timestamp.made_at(token))
        certificate = await self._certifier.certified(
            workspace_id, found.document.id, file.blob, seal, stamped_at, held
        )
        return _Made(file, certificate, seal, stamped_at)

    async def _token(self, digest: bytes) -> bytes:
        """A token of the configured authority, which is left in peace for a while after it failed."""
        if self._remote is None:
            raise GiveUp("No time-stamp authority is configured any more: the seal keeps the server's own time-stamp.")
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

    async def _gap(self, file: Blob) -> Gap:
        before = max(0, file.size_bytes - limits.SEAL_TAIL_BYTES)
        tail = [piece async for piece in self._blobs.open_range(file.location, before, file.size_bytes - before)]
        return timestamp_again.gap_in(b"".join(tail), before)

    async def _written(self, file: Blob, gap: Gap, digits: bytes, held: AsyncExitStack) -> Received:
        incoming = await held.enter_async_context(self._blobs.receive(file.size_bytes))
        async for piece in self._blobs.open_range(file.location, 0, gap.contents_at):
            await incoming.write(piece)
        await incoming.write(digits)
        end = gap.contents_at + gap.contents_length
        async for piece in self._blobs.open_range(file.location, end, file.size_bytes - end):
            await incoming.write(piece)
        return await incoming.finish()


def _degraded(tx: Tx, workspace_id: str, document_id: str) -> _Degraded | None:
    document = find(tx, workspace_id, document_id)
    seal = decoded(document.seal, Seal)
    made = papers.sealed(tx, document_id)
    if document.status != "completed" or seal is None or not seal.degraded or made is None:
        return None
    file = blobs_store.find(tx, made[0])
    if file is None:
        raise NotFound("The sealed file of this document is no longer stored")
    return _Degraded(document, seal, file, papers.sealed_head(tx, document_id))


def _replace(tx: Tx, found: _Degraded, made: _Made, now: datetime) -> None:
    """Whoever looks sees the file, its certificate and the word on its seal change together.

    Those before stay stored: they were given out, and are what they were."""
    document_id = found.document.id
    file = blobs_store.adopt(tx, made.file, document_id, now)
    certificate = blobs_store.adopt(tx, made.certificate, document_id, now)
    if not papers.replace_sealed(tx, document_id, found.file.sha256, file.sha256, certificate.sha256):
        raise Conflict("The sealed file was replaced at this very moment")
    changes = {"seal": msgspec.json.encode(made.seal).decode()}
    if not store.change_document(tx, document_id, "completed", changes, now=instant(now)):
        raise Conflict("The document was changed at this very moment")
    detail = {proving.SEALED: file.sha256, "replaced_sha256": found.file.sha256, "stamped_at": made.stamped_at}
    audit.record(tx, document_id, proving.RESTAMPED, audit.SERVER, detail, now=now)
