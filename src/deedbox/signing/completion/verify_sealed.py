"""Whether a stored file is what was sealed, found out in a sandbox; and which files a document's seal was given to."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from deedbox.authority import Trusted
from deedbox.evidence.chain import Entry
from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.blobs.stream import streamed
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import DeedboxError
from deedbox.pdf.report import Report
from deedbox.pdf.workshop import Workshop
from deedbox.signing.desk import Office
from deedbox.signing.model import Document

COMPLETED, RESTAMPED = "document.completed", "document.restamped"
"""The acts whose audit rows tell, under SEALED_SHA256 in their detail, the hash of the sealed file."""
SEALED_SHA256 = "sealed_sha256"
_VERIFY = "deedbox.pdf.verify:verify"


async def report(workshop: Workshop, blobs: Blobs, file: Blob, trusted: Trusted, *, now: datetime) -> Report:
    """What can be said of the file by itself."""
    async with streamed(blobs, file) as data:
        found = await workshop.run(_VERIFY, data, trusted.roots, trusted.crls, instant(now), trusted.timestamp_roots)
    return msgspec.convert(found, Report)


async def demand_authentic(office: Office, file: Blob, document: Document, head: str) -> None:
    """Raises unless the file is an authentic one of this document, with this head of its trail in its seal.

    Nothing is released that does not hold."""
    trusted = await office.certificates.trusted(document.workspace_id)
    found = await report(office.workshop, office.blobs, file, trusted, now=office.clock.now())
    if (found.verdict, found.document_id, found.chain_head) != ("authentic", document.id, head):
        reasons = "; ".join(found.reasons) or found.verdict
        raise DeedboxError(f"The sealed file does not verify: {reasons}")


def sealed_hashes(trail: Sequence[Entry]) -> list[str]:
    """The hashes of the sealed files that a document has had, the one in use last; each of them is authentic."""
    return [str(entry.detail[SEALED_SHA256]) for entry in trail if entry.act in (COMPLETED, RESTAMPED)]
