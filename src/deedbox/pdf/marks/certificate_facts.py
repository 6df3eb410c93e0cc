"""The facts on a certificate of completion: plain values and sentences, given by whoever holds the evidence.

Times are written out for the reader: only the server's process can tell the time in everyone's zone."""

from typing import NamedTuple

from msgspec import Struct

from deedbox.pdf.marks.fonts import Hand


class CertifiedFile(Struct, frozen=True):
    name: str
    pages: int
    original_sha256: str
    signed_sha256: str = ""
    signatures: tuple[str, ...] = ()
    """Those that it held when it came, each in a sentence."""


class LabeledText(NamedTuple):
    """A label and what stands beside it."""

    label: str
    text: str


class CertifiedSigner(Struct, frozen=True):
    """What is empty is left out."""

    id: str
    name: str
    email: str
    party: str = ""
    role: str = ""
    """What the person was asked for, unless it was to sign; whose place they took, and who took theirs."""
    identity: str = ""
    """A sentence: how it was made sure who signed."""
    status: str = "signed"
    steps: tuple[LabeledText, ...] = ()
    """What the signer did before, and when."""
    signed_at: str = ""
    address: str = ""
    user_agent: str = ""
    consent: str = ""
    """What the signer agreed to, in the words that were shown."""
    values: tuple[LabeledText, ...] = ()
    """What the signer filled in, by the labels of the fields."""
    signature_text: str = ""
    signature_image: bytes = b""
    """PNG, as `images.signature` makes it, or strokes, as `strokes.kept` does; it is shown instead of the text."""
    signature_hand: Hand = "dancing"
    """In which the text is written."""


class CertifiedEvent(Struct, frozen=True):
    at: str
    kind: str
    actor: str = ""
    detail: str = ""
    address: str = ""
    hash: str = ""


class CertifiedDocument(Struct, frozen=True):
    """A document of a packet, with what proves it by itself."""

    title: str
    id: str
    verification_code: str
    verification_url: str
    files: tuple[CertifiedFile, ...]
    chain_head: str
    seal_level: str
    seal_timestamp: str = ""


class CompletionCertificate(Struct, frozen=True):
    title: str
    document_id: str
    verification_code: str
    verification_url: str
    made_at: str
    """RFC 3339, for the file's own properties; the other times are for people."""
    completed_at: str
    files: tuple[CertifiedFile, ...]
    signers: tuple[CertifiedSigner, ...]
    events: tuple[CertifiedEvent, ...]
    chain_head: str
    more_events: int = 0
    """How many rows the audit trail has that are not shown."""
    language: str = "en"
    sender_name: str = ""
    workspace: str = ""
    logo: bytes = b""
    """PNG, as `logo.logo` makes it; empty without one."""
    accent: str = ""
    """The workspace's colour, on which white can be read; empty for ours."""
    created_at: str = ""
    sent_at: str = ""
    seal_level: str = ""
    seal_certificate: str = ""
    """The SHA-256 fingerprint of the certificate that seals the document."""
    seal_timestamp: str = ""
    documents: tuple[CertifiedDocument, ...] = ()
    """Those of a packet, which has no code, no files, no head and no trail of its own."""
