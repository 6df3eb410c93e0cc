"""The rehearsal of a paper: marks, seal and verification, tried out on it before anyone is asked to sign."""

from collections.abc import Sequence

from deedbox.authority import Trusted, issue
from deedbox.authority.issue import Addresses
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.blobs.stream import open_stream
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.marks.marks import Mark, Marks, PageRect
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.pades import SealIdentity
from deedbox.pdf.seal.timestamp import Timestamper
from deedbox.signing.completion import verify_sealed
from deedbox.signing.completion.seal import Sealer, SealRequest
from deedbox.signing.new_document import NewField
from deedbox.signing.preparation import PreparedDocument
from deedbox.signing.preparation.join import join
from deedbox.signing.store import documents

_NOWHERE = Addresses("http://rehearsal.invalid/crl", "http://rehearsal.invalid/ca")
_REQUEST = SealRequest(document_id="rehearsal", audit_head="0" * 64, name="Rehearsal")


class Rehearsal:
    def __init__(self, db: Database, blobs: Blobs, clock: Clock, workshop: PdfSandbox) -> None:
        self._db, self._blobs, self._clock, self._workshop = db, blobs, clock, workshop
        self._stage = _Stage(clock)
        self._sealer = Sealer(blobs, workshop, self._stage, clock)

    async def check(self, paper: PreparedDocument, fields: Sequence[NewField]) -> None:
        """Raises BadRequest if the paper, with marks where its fields lie, cannot be sealed so that the seal holds."""
        sha256 = paper.pdf.blob.sha256
        if await self._db.read(lambda tx: documents.is_paper(tx, sha256)):
            return  # another document has shown that it can
        async with self._blobs.receive(limits.PREPARED_FILE_BYTES) as incoming:
            async with open_stream(self._blobs, paper.pdf.blob) as data:
                await self._workshop.mark(data, _marks(paper, fields), incoming.write)
            await self._seal(await incoming.lend())

    async def check_joined(self, files: Sequence[Blob]) -> None:
        """Raises BadRequest if a paper that was rehearsed before cannot be sealed with these files behind it."""
        async with self._blobs.receive(limits.PREPARED_FILE_BYTES) as incoming:
            await join(self._blobs, self._workshop, files, incoming.write)
            await self._seal(await incoming.lend())

    async def _seal(self, marked: Blob) -> None:
        async with self._sealer.sealed(marked, "", _REQUEST) as sealed:
            trusted, now = Trusted(self._stage.roots, [], []), self._clock.now()
            report = await verify_sealed.own_report(self._blobs, sealed.received.blob, marked, trusted, now=now)
        if report.verdict != "authentic":
            reasons = "; ".join(report.reasons) or report.verdict
            raise BadRequest(f"This file cannot be sealed so that the seal holds: {reasons}. Print it into a new PDF.")


class _Stage:
    """Certificates that nobody trusts, made for the rehearsals of this process: what they seal is thrown away."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._made: tuple[SealIdentity, Timestamper] | None = None
        self._until = clock.now()

    @property
    def roots(self) -> list[bytes]:
        return [self._identity().chain_ders[-1]]

    async def seal_identity(self, workspace_id: str) -> SealIdentity:  # noqa: ARG002 (the same for all)
        return self._identity()

    async def timestamper(self) -> Timestamper:
        return self._cast()[1]

    def _identity(self) -> SealIdentity:
        return self._cast()[0]

    def _cast(self) -> tuple[SealIdentity, Timestamper]:
        now = self._clock.now()
        if self._made is None or now >= self._until:
            root = issue.make_root("Rehearsal", now=now)
            issuing = issue.issue_intermediate(root, "Rehearsal", _NOWHERE, now=now)
            timestamp_unit = issue.make_timestamp_unit(root, "Rehearsal", _NOWHERE, now=now)
            seal = issue.make_seal(issuing, "Rehearsal", _NOWHERE, now=now)
            crls = [
                issue.make_crl(root, [], 1, issue.ROOT_CRL_LIFE, now=now),
                issue.make_crl(issuing, [], 1, issue.ISSUING_CRL_LIFE, now=now),
            ]
            self._until = now + issue.ISSUING_CRL_LIFE / 2
            identity = SealIdentity(seal.key, seal.der, [issuing.der, root.der], crls)
            self._made = identity, Timestamper(CmsSigner(timestamp_unit.key, timestamp_unit.der, [root.der]), crls[:1])
        return self._made


def _marks(paper: PreparedDocument, fields: Sequence[NewField]) -> Marks:
    """A mark in every field that lies on a page; one that does not is refused where fields are placed."""
    before = [sum(len(file.sizes) for file in paper.files[:number]) for number in range(len(paper.files))]
    wanted = [*fields, *paper.tags]
    marks = [
        Mark(
            field.type,
            PageRect(before[field.file_number] + field.page, field.x, field.y, field.w, field.h),
            text="Rehearsal",
        )
        for field in wanted
        if field.file_number < len(paper.files) and field.page <= len(paper.files[field.file_number].sizes)
    ]
    return Marks(tuple(marks[: limits.DOCUMENT_FIELDS]))
