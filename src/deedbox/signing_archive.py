"""The archive of documents: signing meets the archive here, without either knowing the other."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from deedbox.archive.archive import ArchiveService
from deedbox.archive.backfill import Backfill
from deedbox.archive.daily_roots import ROOTS_JOB, DailyRoots
from deedbox.archive.fetch import Downloads
from deedbox.archive.package import CERTIFICATE_PDF, EVIDENCE_JSON, SEALED_PDF, Bag, PackageFile, original_path
from deedbox.archive.push import PUSH_JOB, Push
from deedbox.archive.receipt import ArchiveRow
from deedbox.archive.records import SealAnchors
from deedbox.archive.targets import ArchiveTarget
from deedbox.authority import Certificates
from deedbox.authority.remote_timestamp import RemoteTimestamper
from deedbox.kernel import outbox
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import LostFile
from deedbox.kernel.jobs import Handler
from deedbox.signing import model
from deedbox.signing.action_context import document_in
from deedbox.signing.model import ArchiveReceipt
from deedbox.signing.store import documents, sealed

if TYPE_CHECKING:
    from deedbox.archive.verify import ArchiveVerification

_COMPLETED = "document.completed"


class DocumentRecords:
    """The documents, as the archive sees them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def bag(self, tx: Tx, workspace_id: str, document_id: str) -> Bag | None:
        packet, made = documents.packet_of(tx, workspace_id, document_id), sealed.find(tx, document_id)
        if packet is None or made is None:
            return None
        document = document_in(packet, document_id)
        named = [
            (SEALED_PDF, made.sha256),
            (CERTIFICATE_PDF, made.certificate_sha256),
            (EVIDENCE_JSON, made.evidence_sha256),
            *((original_path(number, file.name), file.sha256) for number, file in enumerate(document.files)),
        ]
        pieces = [PackageFile(path, sha256, _kept(tx, sha256, document_id)) for path, sha256 in named]
        return Bag(
            document_id=document_id,
            workspace_id=workspace_id,
            workspace_name=documents.brand(tx, workspace_id).name,
            title=document.title,
            completed_at=document.completed_at or document.updated_at,
            pieces=pieces,
        )

    def release(self, tx: Tx, bag: Bag) -> None:
        for piece in bag.pieces:
            blobs_store.release(tx, piece.sha256, _owner(bag.document_id), self._clock.now())

    def show(self, tx: Tx, standing: ArchiveRow) -> None:
        receipt = msgspec.convert(standing.receipt, ArchiveReceipt, from_attributes=True) if standing.receipt else None
        shown = model.Archive(standing.status, standing.attempts, standing.archived_at, receipt, standing.error)
        documents.note_archive(tx, standing.document_id, shown)

    def missed(self, tx: Tx, after: tuple[str, str], most: int) -> list[tuple[str, str, str]]:
        return documents.list_without_archive(tx, after, most)


class SigningAuthority:
    """The time-stamps that seals get, and the anchors that seals are judged by."""

    def __init__(self, certificates: Certificates, clock: Clock, remote: RemoteTimestamper | None) -> None:
        self._certificates, self._clock, self._remote = certificates, clock, remote

    async def token(self, digest: bytes) -> bytes:
        """From the configured authority, TimestampFailed if that gives none; else from the installation's own."""
        return await (self.own_token(digest) if self._remote is None else self._remote.token(digest))

    async def own_token(self, digest: bytes) -> bytes:
        return (await self._certificates.timestamper()).token(digest, self._clock.now())

    async def trusted(self, workspace_id: str | None) -> SealAnchors:
        """Without a workspace, the installation's own roots."""
        return SealAnchors(*await self._certificates.trusted(workspace_id or ""))


class DocumentArchiver:
    """The archive of an installation's documents. It reacts to their completion until it is closed."""

    def __init__(self, archive: ArchiveService) -> None:
        self._archive = archive
        self.push = Push(archive)
        self.backfill = Backfill(archive, self.push)
        self.daily_roots = DailyRoots(archive, self.push, self.backfill)
        self.downloads = Downloads()
        outbox.react(archive.db, _COMPLETED, self.push.react)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {PUSH_JOB: self.push.run, ROOTS_JOB: self.daily_roots.run}

    @property
    def is_on(self) -> bool:
        """Whether there is a key: every completed document is pushed then."""
        return self.push.key is not None

    @property
    def target(self) -> ArchiveTarget:
        """Where packages are pushed to; SetupError without the key."""
        return self._archive.target

    def verification(self) -> "ArchiveVerification":
        """A look at all that the archive has; SetupError without the key."""
        from deedbox.archive.verify import ArchiveVerification

        target, key = self.target, self.push.key
        assert key is not None  # noqa: S101 (there is a target)
        return ArchiveVerification(self._archive, target, key)

    async def start(self) -> None:
        """Begins the daily rounds of a server, if there is a key."""
        if self.is_on:
            await self._archive.db.write(self.daily_roots.plan_first)

    async def close(self) -> None:
        await self._archive.close()


def _kept(tx: Tx, sha256: str, document_id: str) -> int:
    """The size of a file that stays stored for the archive."""
    try:
        return blobs_store.refer(tx, sha256, _owner(document_id)).size_bytes
    except LostFile:
        return 0  # a file that is lost must not keep the document from being completed: the push will say so


def _owner(document_id: str) -> str:
    return f"archive:{document_id}"
