"""Whether a stored file is what was sealed, by the file itself and by the records."""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

import msgspec

from deedbox.authority import Trusted
from deedbox.evidence import chain
from deedbox.evidence import file as evidence
from deedbox.evidence.chain import TrailEntry
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.blobs.stream import open_stream
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.threads import in_thread
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.verify import judge, sealed_form
from deedbox.pdf.verify import report as reports
from deedbox.pdf.verify.judge import Anchors
from deedbox.pdf.verify.report import Checks, VerificationReport
from deedbox.pdf.verify.sealed_form import SealedForm
from deedbox.signing import limits
from deedbox.signing.action_context import SigningServices
from deedbox.signing.model import Document
from deedbox.signing.store import audit, documents, sealed

T = TypeVar("T")

COMPLETED, RESTAMPED = "document.completed", "document.restamped"
"""The acts whose audit rows tell, in their detail, the hashes of the sealed file and of its certificate."""
PACKET_CERTIFIED = "packet.certified"
"""The act whose row tells, in the trail of each document of a packet, the hash of the certificate of all of them."""
SEALED_SHA256, CERTIFICATE_SHA256 = "sealed_sha256", "certificate_sha256"
_VERIFY = "deedbox.pdf.verify.verify_pdf:verify"
_REPLACED = (
    "The seal was created here, but this is not the file that was stored with it."
    " Part of its signature was replaced, such as the timestamp."
)


async def report(
    workshop: PdfSandbox, blobs: Blobs, file: Blob, trusted: Trusted, *, now: datetime
) -> VerificationReport:
    """What can be said of any file by itself: in a sandbox, since a stranger may have made it."""
    async with open_stream(blobs, file) as data:
        found = await workshop.run(_VERIFY, data, trusted.roots, trusted.crls, instant(now), trusted.timestamp_roots)
    return msgspec.convert(found, VerificationReport)


async def own_report(
    blobs: Blobs, file: Blob, base: Blob | None, trusted: Trusted, *, now: datetime
) -> VerificationReport:
    """The same of a file that was sealed here just now, of this base; it must be in the form of our seals.

    Not in a sandbox: of a stranger's bytes nothing is read but their hash, and the revision after them is read by the
    strict reader alone, which is ours and pure Python. The file is never held whole."""
    start = max(0, file.size_bytes - shared_limits.SEAL_TAIL_BYTES - shared_limits.KB)
    tail = b"".join([piece async for piece in blobs.open_range(file.location, start, file.size_bytes - start)])
    try:
        form = await _worked(len(tail), sealed_form.read, tail, start)
    except Malformed as error:
        return _altered(file, f"{error}.")
    digest, begins = await _hashed(_Stretches(blobs, file, tail, start), form, base)
    if not begins:
        return _altered(file, "The file does not begin with the one that was to be sealed.")
    anchors = Anchors(*trusted)
    return await _worked(len(tail), judge.seal_report, form, file.sha256, digest, anchors, now)


async def _worked(size: int, step: Callable[..., T], *given: object) -> T:
    """What the step gives. In a thread if it may be long: for a short one the loop would wait for the thread anyway."""
    return await in_thread(step, *given) if size > limits.SEAL_READ_AT_ONCE_BYTES else step(*given)


def _altered(file: Blob, reason: str) -> VerificationReport:
    return VerificationReport(verdict="altered", sha256=file.sha256, checks=Checks(intact=False), reasons=[reason])


class _Stretches(NamedTuple):
    """A stored file, whose end from `start` on is at hand."""

    blobs: Blobs
    file: Blob
    tail: bytes
    start: int

    async def read(self, begin: int, end: int) -> AsyncIterator[bytes]:
        split = min(end, max(begin, self.start))
        if begin < split:
            async for piece in self.blobs.open_range(self.file.location, begin, split - begin):
                yield piece
        yield self.tail[split - self.start : end - self.start] if split < end else b""


async def _hashed(file: _Stretches, form: SealedForm, base: Blob | None) -> tuple[bytes, bool]:
    """The SHA-256 of all that the signature is about, and whether the file begins with its base and nothing more."""
    found, begins = hashlib.sha256(), base is None
    if base is not None and form.base_bytes - base.size_bytes not in (0, 1):  # an end of line may be put between
        return b"", False
    cuts = [base.size_bytes] if base is not None else []
    for start, end in form.signed:
        stops = [*(cut for cut in cuts if start < cut < end), end]
        for stop in stops:
            async for piece in file.read(start, stop):
                found.update(piece)
            if base is not None and stop == base.size_bytes:
                begins = found.hexdigest() == base.sha256
            start = stop  # noqa: PLW2901 (the next stretch begins there)
    return found.digest(), begins


async def demand_authentic(
    services: SigningServices, file: Blob, base: Blob | None, document: Document, head: str
) -> VerificationReport:
    """The report on an authentic file of this document, with this head of its trail in its seal; raises on any other.

    Nothing is released that does not hold."""
    trusted = await services.certificates.trusted(document.workspace_id)
    found = await own_report(services.blobs, file, base, trusted, now=services.clock.now())
    if (found.verdict, found.document_id, found.chain_head) != ("authentic", document.id, head):
        reasons = "; ".join(found.reasons) or found.verdict
        raise ServiceError(f"The sealed file does not verify: {reasons}")
    return found


def as_evidence(file: Blob, found: VerificationReport) -> evidence.SealedFileEvidence:
    """The sealed file as the evidence names it."""
    timestamp_sha256 = found.seal_timestamp_sha256
    return evidence.SealedFileEvidence(
        sha256=file.sha256, size_bytes=file.size_bytes, timestamp_sha256=timestamp_sha256
    )


def sealed_hashes(trail: Sequence[TrailEntry]) -> list[str]:
    """The hashes of the sealed files that a document has had, the one in use last; each of them is authentic."""
    return _hashes(trail, SEALED_SHA256)


def with_records(tx: Tx, workspace_id: str | None, report: VerificationReport) -> VerificationReport:
    """The report with what the records say of the file; another workspace than this hears no word of the document.

    A seal that they know in a file that they do not know was tampered with, where no signature reaches."""
    sha256 = report.sealed_sha256 or report.sha256
    document_id = sealed.document_with(tx, sha256) or report.document_id
    trail = audit.trail(tx, document_id) if document_id is not None else []
    known = sha256 in _hashes(trail, SEALED_SHA256) + _hashes(trail, CERTIFICATE_SHA256)
    good = report.verdict in reports.GOOD
    if good and not known and sealed_hashes(trail):
        checks = msgspec.structs.replace(report.checks, known_to_us=False, intact=False)
        return msgspec.structs.replace(report, verdict="altered", checks=checks, reasons=[*report.reasons, _REPLACED])
    if workspace_id is not None and document_id and not documents.packet_of(tx, workspace_id, document_id):
        known = False
    if not known:
        document_id = None
    whole = None
    if document_id is not None and good:
        heads = {entry.hash for entry in trail}
        whole = chain.check(document_id, trail) is None and report.chain_head in heads
    told = known if good else None
    return reports.with_records(report, known_to_us=told, audit_chain=whole, document_id=document_id)


def _hashes(trail: Sequence[TrailEntry], kind: str) -> list[str]:
    rows = [entry.detail for entry in trail if entry.act in (COMPLETED, RESTAMPED, PACKET_CERTIFIED)]
    return [str(detail[kind]) for detail in rows if kind in detail]
