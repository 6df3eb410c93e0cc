"""The facts on a certificate of completion: plain values, given by whoever holds the evidence."""

from typing import Literal, TypeAlias

from msgspec import Struct

Identity: TypeAlias = Literal["none", "mailed_link", "embedded_link", "email_code", "access_code"]


class CertifiedFile(Struct, frozen=True):
    name: str
    pages: int
    original_sha256: str
    signed_sha256: str = ""


class CertifiedSigner(Struct, frozen=True):
    """Times are RFC 3339 in UTC, as the API shows them; an empty one is left out."""

    id: str
    name: str
    email: str
    party: str = ""
    identity: Identity = "none"
    vouched_by: str = ""
    """Of an embedded link: the key that made it."""
    status: str = "signed"
    notified_at: str = ""
    viewed_at: str = ""
    consented_at: str = ""
    signed_at: str = ""
    address: str = ""
    user_agent: str = ""
    signature_text: str = ""
    signature_image: bytes = b""
    """PNG, as `images.signature` makes it; it is shown instead of the text."""


class CertifiedEvent(Struct, frozen=True):
    at: str
    kind: str
    actor: str = ""
    detail: str = ""
    address: str = ""
    hash: str = ""


class Completion(Struct, frozen=True):
    title: str
    document_id: str
    verification_code: str
    verification_url: str
    completed_at: str
    files: tuple[CertifiedFile, ...]
    signers: tuple[CertifiedSigner, ...]
    events: tuple[CertifiedEvent, ...]
    chain_head: str
    language: str = "en"
    sender_name: str = ""
    workspace: str = ""
    created_at: str = ""
    sent_at: str = ""
    seal_level: str = ""
    seal_certificate: str = ""
    """The SHA-256 fingerprint of the certificate that seals the document."""
    seal_timestamp: str = ""
