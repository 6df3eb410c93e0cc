"""A completed document, for certificates."""

import hashlib
from typing import Any

from deedbox.pdf.marks.certificate_facts import (
    CertifiedEvent,
    CertifiedFile,
    CertifiedSigner,
    CompletionCertificate,
    LabeledText,
)
from tests.pdf.papers import scribble


def digest(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()


def signer(number: int, name: str, **more: Any) -> CertifiedSigner:
    told: dict[str, Any] = {
        "id": f"sgn_{number:026}",
        "name": name,
        "email": f"signer{number}@mail.example",
        "party": "Buyer",
        "identity": "Personal link sent to the email address",
        "steps": (
            LabeledText("Invited", "14 November 2026, 10:00:00 CET (09:00:00 UTC)"),
            LabeledText("Opened", "14 November 2026, 11:00:00 CET (10:00:00 UTC)"),
        ),
        "signed_at": "15 November 2026, 09:59:12 CET (08:59:12 UTC)",
        "address": "203.0.113.7",
        "user_agent": "Mozilla/5.0 (X11; Linux x86_64)",
        "consent": "I agree to sign electronically.",
        "values": (LabeledText("Delivery date", "2026-12-01"), LabeledText("Checkbox", "Yes")),
    }
    return CertifiedSigner(**(told | (more or {"signature_text": name})))


def completion(*names: str, **more: Any) -> CompletionCertificate:
    signers = tuple(signer(number, name) for number, name in enumerate(names)) or (
        signer(0, "Ana María", signature_image=scribble()),
    )
    events = tuple(
        CertifiedEvent("2026-11-15 08:59:12", "signer.signed", one.name, "Typed", "203.0.113.7", digest(one.id))
        for one in signers
    )
    told: dict[str, Any] = {
        "title": "Purchase agreement",
        "document_id": "doc_01JCQ4ZK8W3YV5T7N9M2B4D6F8",
        "verification_code": "7QKD-M4X2-9TPW",
        "verification_url": "https://sign.example/verify/7QKD-M4X2-9TPW",
        "made_at": "2026-11-15T09:00:02Z",
        "completed_at": "15 November 2026, 09:00:02 UTC",
        "files": (CertifiedFile("agreement.pdf", 5, digest("original"), digest("signed")),),
        "signers": signers,
        "events": (CertifiedEvent("2026-11-14 08:00:00", "document.created", "Clara", hash=digest("a")), *events),
        "chain_head": digest("head"),
        "seal_certificate": digest("certificate"),
    }
    return CompletionCertificate(**(told | more))
