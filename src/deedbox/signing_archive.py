"""What is archived of documents: here the signing side meets the archive, without either knowing the other."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from deedbox.archive import PUSH_JOB, ROUND_JOB, Pushing, Rounds, targets
from deedbox.archive.fetch import Fetching
from deedbox.archive.overview import Catching
from deedbox.archive.package import CERTIFICATE, EVIDENCE, SEALED, Bag, Piece, original_path
from deedbox.archive.receipt import Archived
from deedbox.archive.records import Anchors
from deedbox.archive.targets import Target
from deedbox.authority import Certificates
from deedbox.authority.remote_timestamp import RemoteTimestamper
from deedbox.kernel import outbox
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import NotFound, SetupError
from deedbox.kernel.jobs import Handler
from deedbox.kernel.settings import Settings
from deedbox.pdf.workshop import Workshop
from deedbox.signing import store
from deedbox.signing.document import Archive, ArchiveReceipt
from deedbox.signing.papers import store as papers

if TYPE_CHECKING:
    from deedbox.archive.verify import Verifying
    from deedbox.kernel.egress import Egress

_COMPLETED = "document.completed"


class DocumentRecords:
    """The documents, as the archive sees them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def bag(self, tx: Tx, workspace_id: str, document_id: str) -> Bag | None:
        document, made = store.document(tx, workspace_id, document_id), papers.sealed(tx, document_id)
        if document is None or made is None:
            return None
        named = list(zip((SEALED, CERTIFICATE, EVIDENCE), made, strict=True))
        named += [(original_path(file.position, file.name), file.sha256) for file in document.files]
        pieces = [Piece(path, sha256, _kept(tx, sha256, document_id)) for path, sha256 in named]
        return Bag(
            document_id=document_id,
            workspace_id=workspace_id,
            workspace_name=store.workspace_name(tx, workspace_id),
            title=document.title,
            completed_at=document.completed_at or document.updated_at,
            pieces=pieces,
        )

    def release(self, tx: Tx, bag: Bag) -> None:
        for piece in bag.pieces:
            blobs_store.release(tx, piece.sha256, _owner(bag.document_id), self._clock.now())

    def show(self, tx: Tx, standing: Archived) -> None:
        receipt = msgspec.json.decode(standing.receipt, type=ArchiveReceipt) if standing.receipt else None
        shown = Archive(standing.status, standing.attempts, standing.archived_at, receipt, standing.error)
        store.note_archive(tx, standing.document_id, msgspec.json.encode(shown).decode())

    def missed(self, tx: Tx, after: tuple[str, str], most: int) -> list[tuple[str, str, str]]:
        return store.never_archived(tx, after, most)


class SigningAuthority:
    """Time-stamps as seals get them, and what seals are believed by."""

    def __init__(self, certificates: Certificates, clock: Clock, remote: RemoteTimestamper | None) -> None:
        self._certificates, self._clock, self._remote = certificates, clock, remote

    async def token(self, digest: bytes) -> bytes:
        """From the configured authority, TimestampFailed if that gives none; else from the installation's own."""
        return await (self.own_token(digest) if self._remote is None else self._remote.token(digest))

    async def own_token(self, digest: bytes) -> bytes:
        return (await self._certificates.timestamper()).token(digest, self._clock.now())

    async def trusted(self, workspace_id: str | None) -> Anchors:
        """Without a workspace, the installation's own roots."""
        return Anchors(*await self._certificates.trusted(workspace_id or ""))


class Archiving:
    """The archive of an installation, which reacts to completed documents until it is closed."""

    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        clock: Clock,
        settings: Settings,
        workshop: Workshop,
        authority: SigningAuthority,
        egress: "Callable[[], Egress]",
        wake: Callable[[], None],
    ) -> None:
        self._db, self._clock, self._settings, self._workshop = db, clock, settings, workshop
        self._authority, self._egress = authority, egress
        self._target: Target | None = None
        self.records = DocumentRecords(clock)
        self.pushing = Pushing(
            db,
            blobs,
            clock,
            workshop,
            self.records,
            settings.service_ecosystem_key,
            lambda: self.target,
            settings.data_dir,
            wake=wake,
        )
        self.catching = Catching(db, clock, self.pushing, self.records)
        self.rounds = Rounds(db, clock, self.pushing, self.catching, authority, lambda: self.target)
        self.fetching = Fetching()
        outbox.react(db, _COMPLETED, self.pushing.react)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {PUSH_JOB: self.pushing.run, ROUND_JOB: self.rounds.run}

    @property
    def target(self) -> Target:
        """Where packages are pushed to; made when it is first needed, and only where there is a key for it."""
        key = self._settings.service_ecosystem_key
        if key is None:
            raise SetupError("There is no archive without its key.", "Set SERVICE_ECOSYSTEM_KEY.")
        if self._target is None:
            self._target = targets.chosen(self._settings, key, self._egress, self._clock)
        return self._target

    def verifying(self) -> "Verifying":
        """Who checks what the archive has; SetupError without the key."""
        from deedbox.archive.verify import Verifying

        target, key = self.target, self.pushing.key
        assert key is not None  # noqa: S101 (there is a target)
        folder = self._settings.data_dir
        return Verifying(self._db, self._clock, self._workshop, self._authority, key, target, folder)

    async def start(self) -> None:
        """Begins the daily rounds of a server, if there is a key."""
        if self.pushing.key is not None:
            await self._db.write(self.rounds.plan_first)

    async def close(self) -> None:
        if self._target is not None:
            await self._target.close()


def _kept(tx: Tx, sha256: str, document_id: str) -> int:
    """The size of a file that stays stored for the archive."""
    try:
        return blobs_store.refer(tx, sha256, _owner(document_id)).size_bytes
    except NotFound:
        return 0  # a file that is lost must not keep the document from being completed: the push will say so


def _owner(document_id: str) -> str:
    return f"archive:{document_id}"
