# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `verification`."""

from msgspec import Struct


class Checks(Struct, frozen=True, kw_only=True):
    """Each true, false, or null where it was not asked or there is nothing to ask it of."""

    known_to_us: bool | None = None
    """This very file is the one that was sealed, by our records or by the evidence file."""
    intact: bool | None = None
    """Every signature fits the bytes that it is about, and has the form that a signature must have."""
    covers_entire_file: bool | None = None
    """The seal, or a document time-stamp after it, is about every byte of the file; null if data came last."""
    modifications_allowed: bool | None = None
    """Nothing was added after the seal except data that keeps it verifiable."""
    trusted: bool | None = None
    """The seal's certificate, at the time of sealing, leads to a root that is trusted here."""
    revocation: bool | None = None
    """No certificate was revoked at that time."""
    timestamp: bool | None = None
    """The time comes from a trusted time-stamp; null when there is no time-stamp."""
    audit_chain: bool | None = None
    """The audit trail is whole and is the one that was sealed."""


class Certificate(Struct, frozen=True, kw_only=True):
    subject: str
    """Whom it names."""
    issuer: str
    """Who issued it."""
    serial: str
    """Its serial number, in hexadecimal."""
    not_after: str
    """When it ends."""


class Signature(Struct, frozen=True, kw_only=True):
    signer: str
    """The name in the signer's certificate."""
    certificate: Certificate
    """The certificate that made the signature."""
    signing_time: str | None
    """As the signer says."""
    timestamp_time: str | None
    """As the time-stamp says."""
    level: str
    """The PAdES level, or what else it is."""
    sub_filter: str | None
    """The form of the signature as the PDF names it."""


class Verification(Struct, frozen=True, kw_only=True):
    verdict: str
    """What the file is, judged by the checks."""
    document_id: str | None
    """The document that was sealed; null if none of this workspace was."""
    part: str | None
    """Whether the file is the sealed document itself or its certificate of completion."""
    sha256: str
    """The SHA-256 of the file that was sent."""
    checks: Checks
    """Each check that was made."""
    signatures: list[Signature]
    """The signatures in the file."""
    reasons: list[str]
    """Why the verdict is not `authentic` or `extended`."""
    added: list[str]
    """What came after the seal of an `extended` file."""


class VouchedSigner(Struct, frozen=True, kw_only=True):
    name: str
    """The signer's name."""
    role: str
    """Whether the person signs or approves."""
    party: str
    """The party's name."""
    status: str
    """How far this person is; `shown` if the person signed others of the packet and had nothing to sign in this
    one."""
    signed_at: str | None
    """When the person signed; null until then."""


class Vouched(Struct, frozen=True, kw_only=True):
    """What a verification code stands for: enough to recognise the document, and no address of anyone."""

    code: str
    """The code that was asked for."""
    title: str
    """What the document is called."""
    status: str
    """Where it stands in its life."""
    completed_at: str | None
    """When it was sealed; null until then."""
    sha256: str | None
    """Of the sealed file."""
    earlier_sha256: list[str]
    """Of the same before it got another time-stamp: such a file is authentic too."""
    signers: list[VouchedSigner]
    """Who signs or approves it."""
