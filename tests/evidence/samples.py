"""An evidence file as a finished document has it."""

import hashlib
from collections.abc import Sequence

from deedbox.evidence import chain, file
from deedbox.evidence.file import (
    Bytes,
    ConsentEvidence,
    DocumentEvidence,
    Evidence,
    MarkEvidence,
    OriginalEvidence,
    PartyEvidence,
    SealEvidence,
    SignerEvidence,
)
from deedbox.kernel.clock import Instant

DOCUMENT = "doc_01JD0000000000000000000001"
CONSENT = "I agree to sign this document electronically."


def sha256(data: bytes | str) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def evidence(marked: bytes = b"%PDF-marked", *, pem: Sequence[str] = (), root: str = "") -> Evidence:
    """Whole and true for a PDF that begins with the marked bytes."""
    document = DocumentEvidence(
        id=DOCUMENT,
        title="Mietvertrag für Zoë",
        originals=[OriginalEvidence(id="fil_1", name="lease.pdf", sha256=sha256(b"original"), size_bytes=8)],
        prepared=Bytes(sha256=sha256(b"prepared"), size_bytes=8),
        marked=Bytes(sha256=sha256(marked), size_bytes=len(marked)),
    )
    parties = [PartyEvidence(id="pty_1", name="Tenant", order=1, rule="all", quorum=None, status="completed")]
    signers = [_signer(f"sgn_{number}") for number in (1, 2)]
    rows: list[tuple[str, str, dict[str, object]]] = [
        ("document.created", "key_1", {}),
        ("document.sent", "key_1", {"signers": 2}),
        ("signer.signed", "sgn_1", {"sha256": sha256(b"prepared")}),
        ("signer.signed", "sgn_2", {"sha256": sha256(b"prepared")}),
        ("document.sealing", "server", {file.STATEMENT: file.statement_sha256(document, parties, signers)}),
    ]
    entries: list[chain.TrailEntry] = []
    before = chain.genesis(DOCUMENT)
    for number, (act, actor, detail) in enumerate(rows, 1):
        at = Instant(f"2026-03-01T12:00:{number:02}Z")
        entries.append(chain.next_entry(before, number, at, act, actor, detail))
        before = entries[-1].hash
    return Evidence(
        format=file.FORMAT, document=document, parties=parties, signers=signers, audit=entries, head=before,
        seal=SealEvidence(files=[], certificates=list(pem), root=root),
        signature="",
    )  # fmt: skip


def _signer(name: str) -> SignerEvidence:
    return SignerEvidence(
        id=name,
        party_id="pty_1",
        name="山田 花子",
        email="signer@example.com",
        role="signer",
        status="signed",
        delegated_to=None,
        consent=ConsentEvidence(text=CONSENT, sha256=sha256(CONSENT), at=Instant("2026-03-01T12:00:02Z")),
        marks=[MarkEvidence(field_id="fld_1", kind="drawn", text=None, image_sha256=sha256(b"image"))],
        values={"fld_2": "2026-03-01"},
        identity="email_code",
        vouched_by=None,
        hosted_by=None,
        seen_pages=[1],
        seen_sha256=sha256(b"prepared"),
        signed_sha256=sha256(b"prepared"),
        address="192.0.2.7",
        user_agent="Mozilla/5.0",
        signed_at=Instant("2026-03-01T12:00:03Z"),
    )
