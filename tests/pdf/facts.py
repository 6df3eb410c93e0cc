"""A completed document, for certificates."""

import hashlib
from typing import Any

from deedbox.pdf.completion import CertifiedEvent, CertifiedFile, CertifiedSigner, Completion
from tests.pdf.papers import scribble


def digest(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()


def signer(number: int, name: str, **more: Any) -> CertifiedSigner:
    return CertifiedSigner(
        id=f"sgn_{number:026}",
        name=name,
        email=f"signer{number}@mail.example",
        party=more.pop("party", "Buyer"),
        identity="mailed_link",
        notified_at="2026-11-14T09:00:00Z",
        viewed_at="2026-11-14T10:00:00Z",
        consented_at="2026-11-15T08:58:40Z",
        signed_at="2026-11-15T08:59:12Z",
        address="203.0.113.7",
        user_agent="Mozilla/5.0 (X11; Linux x86_64)",
        **(more or {"signature_text": name}),
    )


def completion(*names: str, **more: Any) -> Completion:
    signers = tuple(signer(number, name) for number, name in enumerate(names)) or (
        signer(0, "Ana María", signature_image=scribble()),
    )
    events = tuple(
        CertifiedEvent("2026-11-15T08:59:12Z", "signer.signed", one.name, "Typed", "203.0.113.7", digest(one.id))
        for one in signers
    )
    told: dict[str, Any] = {
        "title": "Purchase agreement",
        "document_id": "doc_01JCQ4ZK8W3YV5T7N9M2B4D6F8",
        "verification_code": "7QKD-M4X2-9TPW",
        "verification_url": "https://sign.example/verify/7QKD-M4X2-9TPW",
        "completed_at": "2026-11-15T09:00:02Z",
        "files": (CertifiedFile("agreement.pdf", 5, digest("original"), digest("signed")),),
        "signers": signers,
        "events": (CertifiedEvent("2026-11-14T08:00:00Z", "document.created", "Clara", hash=digest("a")), *events),
        "chain_head": digest("head"),
        "seal_certificate": digest("certificate"),
    }
    return Completion(**(told | more))
