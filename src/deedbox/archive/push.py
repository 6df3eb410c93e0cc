"""Push completed documents to the archive: each by itself, again and again until it is there, and once."""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from deedbox.archive import check, limits, package, store
from deedbox.archive.archive import ArchiveService
from deedbox.archive.build import BuiltPackage, PackageBuilder
from deedbox.archive.package import Bag, ManifestKey
from deedbox.archive.receipt import ArchiveRow, PackageReceipt
from deedbox.archive.spool import SpooledFile, spool
from deedbox.archive.targets import ArchiveTarget, NameTaken, PutResult
from deedbox.kernel import jobs, log
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.stream import open_stream
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, LostFile, ServiceError
from deedbox.kernel.jobs import Work
from deedbox.kernel.outbox import Event
from deedbox.pdf.verify.report import SealedParts

PUSH_JOB = "archive"


class Push:
    """Plans and makes the pushes. Without a key it does nothing, and nothing fails."""

    def __init__(self, archive: ArchiveService) -> None:
        self._archive = archive
        self._db, self._clock = archive.db, archive.clock
        self.key = archive.key
        self._warned = False
        """The log has that the key is missing: there may be any number of jobs to put off."""
        self._builder = PackageBuilder(archive.blobs, self._blob, archive.folder)

    def react(self, tx: Tx, events: Sequence[Event]) -> None:
        """The reaction to `document.completed`, in its transaction."""
        for event in events if self.key is not None else ():
            self.plan(tx, event.workspace_id, event.subject_id, now=moment(event.created_at))

    def plan(self, tx: Tx, workspace_id: str, document_id: str, *, now: datetime) -> bool:
        """Whether the document is to be archived from now on; False if it was before, or has nothing to archive."""
        if store.find(tx, document_id) is not None:
            return False
        bag = self._archive.records.bag(tx, workspace_id, document_id)
        if bag is None:
            return False
        store.add(tx, bag, instant(now))
        self._show(tx, document_id)
        self._enqueue(tx, workspace_id, document_id, now, now)
        return True

    def retry(self, tx: Tx, row: ArchiveRow, *, now: datetime) -> None:
        """Has the document pushed at once instead of when its time comes."""
        store.wait_again(tx, row.document_id)
        self._show(tx, row.document_id)
        jobs.cancel(tx, _key(row.document_id))
        self._enqueue(tx, row.workspace_id, row.document_id, now, now)

    def resume(self, tx: Tx, row: ArchiveRow, *, now: datetime) -> None:
        """Sees to it that the document has a job; one that waits for its time goes on waiting."""
        self._enqueue(tx, row.workspace_id, row.document_id, now, now)

    async def run(self, work: Work) -> None:
        """The handler of archive jobs: one attempt, and if that fails the next is planned."""
        _, document_id = work.named("document_id")
        if self.key is None:
            await self.put_off(work)
            return
        began = instant(self._clock.now())
        row = await self._db.write(lambda tx: store.begin(tx, document_id, began))
        if row is None:
            return
        try:
            receipt = await self._pushed(row.bag, self.key)
        except Exception as error:  # whatever it is, it is shown on the document, and tried again until it succeeds
            await work.finish(self._failure(row, error))
            return
        await work.finish(lambda tx: self._settle(tx, row.bag, receipt))

    async def put_off(self, work: Work) -> None:
        """For a process that has the key: another one, or this one once it is given back."""
        if not self._warned:
            log.warning("the archive waits: this process has not got its key", job=work.job.id, kind=work.job.kind)
            self._warned = True
        await work.put_off(self._clock.now() + timedelta(seconds=limits.ARCHIVE_KEYLESS_SECONDS))

    async def _pushed(self, bag: Bag, key: ManifestKey) -> PackageReceipt:
        async with self._builder.package(bag, await self._token(bag), key) as made:
            target = self._archive.target
            try:
                put = await target.put(made.name, made.file, package.MEDIA_TYPE)
                return self._receipt(made, made.file, put, key.id)
            except NameTaken as taken:
                return await self._receipt_of_same(target, bag, made, key, taken)

    def _receipt(self, made: BuiltPackage, file: SpooledFile, put: PutResult, key_id: str) -> PackageReceipt:
        return PackageReceipt(
            location=self._archive.target.location(made.name),
            sha256=file.sha256,
            size_bytes=file.size_bytes,
            manifest_sha256=made.manifest_sha256,
            archived_at=instant(self._clock.now()),
            version=put.version,
            etag=put.etag,
            answer=put.answer,
            key_id=key_id,
        )

    async def _receipt_of_same(
        self, target: ArchiveTarget, bag: Bag, made: BuiltPackage, key: ManifestKey, taken: NameTaken
    ) -> PackageReceipt:
        """The receipt of this very package, pushed by an attempt whose end was not seen; NameTaken if it is another."""
        async with spool(self._archive.folder) as out:
            await target.fetch(made.name, out.write)
            found = await out.finish()
            try:
                inside = await asyncio.to_thread(check.contents, found.file, found.size_bytes, bag.document_id, key)
            except BadRequest as error:
                raise NameTaken(f"{taken.message}: {error.message}") from error
            if inside.manifest_sha256 != made.manifest_sha256:
                raise NameTaken(f"{taken.message}: it has another manifest, {inside.manifest_sha256}")
            return self._receipt(made, found, await target.confirm(made.name, found), inside.key_id)

    async def _token(self, bag: Bag) -> bytes | None:
        """The time-stamp of the seal, as it stands in the sealed file."""
        sealed = next(piece for piece in bag.pieces if piece.path == package.SEALED_PDF)
        blob = await self._blob(sealed.sha256)
        if blob is None:
            raise LostFile(sealed.sha256)
        async with open_stream(self._archive.blobs, blob) as data:
            found = await self._archive.workshop.run("deedbox.pdf.verify.parts:parts", data)
        return msgspec.convert(found, SealedParts).timestamp

    async def _blob(self, sha256: str) -> Blob | None:
        return await self._db.read(lambda tx: blobs_store.find(tx, sha256))

    def _settle(self, tx: Tx, bag: Bag, receipt: PackageReceipt) -> None:
        store.mark_complete(tx, bag.document_id, receipt)
        self._archive.records.release(tx, bag)
        self._show(tx, bag.document_id)

    def _failure(self, row: ArchiveRow, error: Exception) -> Callable[[Tx], None]:
        told = error.message if isinstance(error, ServiceError) else "The server's log says why"
        reason = log.redact(told)[: limits.ARCHIVE_ERROR_CHARS]
        log.warning(
            "a document was not archived and will be tried again",
            document=row.document_id,
            attempt=row.attempts,
            reason=reason,
            error=None if isinstance(error, ServiceError) else f"{type(error).__name__}: {error}",
        )
        now = self._clock.now()
        due = now + timedelta(seconds=delay(row.attempts))

        def note(tx: Tx) -> None:
            store.note_failure(tx, row.document_id, reason)
            self._show(tx, row.document_id)
            self._enqueue(tx, row.workspace_id, row.document_id, now, due)

        return note

    def _show(self, tx: Tx, document_id: str) -> None:
        row = store.find(tx, document_id)
        if row is not None:
            self._archive.records.show(tx, row)

    def _enqueue(self, tx: Tx, workspace_id: str, document_id: str, now: datetime, due: datetime) -> None:
        jobs.enqueue(
            tx,
            jobs.NewJob(
                PUSH_JOB,
                {"document_id": document_id},
                run_at=due,
                priority=jobs.BULK,
                unique_key=_key(document_id),
                workspace_id=workspace_id,
                max_attempts=limits.ARCHIVE_CRASHES,
            ),
            now=now,
        )


def delay(attempts: int) -> float:
    """Seconds until the next attempt after so many: as for webhooks, and from then on once a day."""
    waits = shared_limits.WEBHOOK_RETRY_SECONDS
    base = waits[min(attempts, len(waits) - 1)]
    return base * random.uniform(1 - shared_limits.WEBHOOK_JITTER, 1 + shared_limits.WEBHOOK_JITTER)  # noqa: S311 (no secret)


def _key(document_id: str) -> str:
    return f"{PUSH_JOB}:{document_id}"
