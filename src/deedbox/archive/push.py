"""Every completed document is pushed to the archive by itself, again and again until it is there, and once."""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from deedbox.archive import check, package, store
from deedbox.archive.build import Building, Package
from deedbox.archive.package import Bag, ManifestKey
from deedbox.archive.receipt import Archived, Receipt
from deedbox.archive.records import Records
from deedbox.archive.spool import spool
from deedbox.archive.targets import Kept, Taken, Target
from deedbox.kernel import jobs, limits, log
from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.stream import streamed
from deedbox.kernel.clock import Clock, instant, moment
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest, DeedboxError, NotFound
from deedbox.kernel.jobs import Work
from deedbox.kernel.outbox import Event
from deedbox.pdf.report import Parts
from deedbox.pdf.workshop import Workshop

PUSH_JOB = "archive"


class Pushing:
    """Without a key it does nothing, and nothing fails."""

    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        clock: Clock,
        workshop: Workshop,
        records: Records,
        key: Secret | None,
        target: Callable[[], Target],
        folder: Path,
        *,
        wake: Callable[[], None],
    ) -> None:
        self._db, self._blobs, self._clock, self._workshop = db, blobs, clock, workshop
        self._records, self._target, self._folder, self._wake = records, target, folder, wake
        self.key = ManifestKey(key) if key is not None else None
        self._told = False
        """Whether the log has that the key is missing: there may be any number of jobs to put off."""
        self._building = Building(blobs, self._blob, folder)

    def react(self, tx: Tx, event: Event) -> None:
        """The reaction to `document.completed`, in its transaction."""
        if self.key is not None:
            self.plan(tx, event.workspace_id, event.subject_id, now=moment(event.created_at))

    def plan(self, tx: Tx, workspace_id: str, document_id: str, *, now: datetime) -> bool:
        """Whether the document is to be archived from now on; False if it was before, or has nothing to archive."""
        if store.find(tx, document_id) is not None:
            return False
        bag = self._records.bag(tx, workspace_id, document_id)
        if bag is None:
            return False
        store.add(tx, document_id, workspace_id, msgspec.json.encode(bag).decode(), instant(now))
        self._show(tx, document_id)
        self._enqueue(tx, workspace_id, document_id, now, now)
        return True

    def retry(self, tx: Tx, row: Archived, *, now: datetime) -> None:
        """Has the document pushed at once instead of when its time comes."""
        store.wait_again(tx, row.document_id)
        self._show(tx, row.document_id)
        jobs.cancel(tx, _key(row.document_id))
        self._enqueue(tx, row.workspace_id, row.document_id, now, now)

    def resume(self, tx: Tx, row: Archived, *, now: datetime) -> None:
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
        bag = msgspec.json.decode(row.bag, type=Bag)
        try:
            receipt = await self._pushed(bag, self.key)
        except Exception as error:  # whatever it is, it is shown on the document, and tried again until it succeeds
            await work.finish(self._failure(row, error))
            return
        await work.finish(lambda tx: self._settle(tx, bag, receipt))

    async def put_off(self, work: Work) -> None:
        """For a process that has the key: another one, or this one once it is given back."""
        if not self._told:
            log.warning("the archive waits: this process has not got its key", job=work.job.id, kind=work.job.kind)
            self._told = True
        await work.put_off(self._clock.now() + timedelta(seconds=limits.ARCHIVE_KEYLESS_SECONDS))

    async def _pushed(self, bag: Bag, key: ManifestKey) -> Receipt:
        async with self._building.built(bag, await self._token(bag), key) as made:
            target = self._target()
            try:
                kept, sha256, size_bytes, key_id = (
                    await target.put(made.name, made.held, package.MEDIA_TYPE),
                    made.held.sha256,
                    made.held.size_bytes,
                    key.id,
                )
            except Taken as taken:
                kept, sha256, size_bytes, key_id = await self._same(target, bag, made, key, taken)
        return Receipt(
            location=target.location(made.name),
            sha256=sha256,
            size_bytes=size_bytes,
            manifest_sha256=made.manifest_sha256,
            archived_at=instant(self._clock.now()),
            version=kept.version,
            etag=kept.etag,
            answer=kept.answer,
            key_id=key_id,
        )

    async def _same(
        self, target: Target, bag: Bag, made: Package, key: ManifestKey, taken: Taken
    ) -> tuple[Kept, str, int, str]:
        """What lies under the name, if it is this package, of an attempt whose end was not seen; Taken if not."""
        async with spool(self._folder) as out:
            await target.fetch(made.name, out.write)
            found = await out.finish()
            try:
                inside = await asyncio.to_thread(check.contents, found.file, found.size_bytes, bag.document_id, key)
            except BadRequest as error:
                raise Taken(f"{taken.message}: {error.message}") from error
            if inside.manifest_sha256 != made.manifest_sha256:
                raise Taken(f"{taken.message}: it has another manifest, {inside.manifest_sha256}")
            return await target.confirm(made.name, found), found.sha256, found.size_bytes, inside.key_id

    async def _token(self, bag: Bag) -> bytes | None:
        """The time-stamp of the seal, as it stands in the sealed file."""
        sealed = next(piece for piece in bag.pieces if piece.path == package.SEALED)
        blob = await self._blob(sealed.sha256)
        if blob is None:
            raise NotFound("The sealed file is no longer stored")
        async with streamed(self._blobs, blob) as data:
            found = await self._workshop.run("deedbox.pdf.parts:parts", data)
        return msgspec.convert(found, Parts).timestamp

    async def _blob(self, sha256: str) -> Blob | None:
        return await self._db.read(lambda tx: blobs_store.find(tx, sha256))

    def _settle(self, tx: Tx, bag: Bag, receipt: Receipt) -> None:
        text = msgspec.json.encode(receipt).decode()
        store.note_archived(tx, bag.document_id, text, receipt.archived_at)
        self._records.release(tx, bag)
        self._show(tx, bag.document_id)

    def _failure(self, row: Archived, error: Exception) -> Callable[[Tx], None]:
        told = error.message if isinstance(error, DeedboxError) else "The server's log says why"
        reason = log.redacted(told)[: limits.ARCHIVE_ERROR_CHARS]
        log.warning(
            "a document was not archived and will be tried again",
            document=row.document_id,
            attempt=row.attempts,
            reason=reason,
            error=None if isinstance(error, DeedboxError) else f"{type(error).__name__}: {error}",
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
            self._records.show(tx, row)

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
        tx.on_commit(self._wake)


def delay(attempts: int) -> float:
    """Seconds until the next attempt after so many: as for webhooks, and from then on once a day."""
    waits = limits.WEBHOOK_RETRY_SECONDS
    base = waits[min(attempts, len(waits) - 1)]
    return base * random.uniform(1 - limits.WEBHOOK_JITTER, 1 + limits.WEBHOOK_JITTER)  # noqa: S311 (no secret)


def _key(document_id: str) -> str:
    return f"{PUSH_JOB}:{document_id}"
