"""The report of a verification: each check, and the verdict, which follows from the checks alone."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

Verdict: TypeAlias = Literal["authentic", "extended", "altered", "unrecognised", "unsigned", "unexplained"]

GOOD: tuple[Verdict, ...] = ("authentic", "extended")
"""The verdicts on a file whose seal holds."""
NOT_PDF = "The file is not a PDF."
"""The reason for a file that does not even begin as PDFs do."""
_WHOLE = ("intact", "covers_entire_file", "modifications_allowed")


class Checks(Struct, kw_only=True):
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


class Signature(Struct, kw_only=True):
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


class VerificationReport(Struct, kw_only=True):
    verdict: Verdict
    document_id: str | None = None
    sha256: str
    checks: Checks
    signatures: list[Signature] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why the verdict is not `authentic` or `extended`, in sentences."""
    part: Literal["document", "certificate"] | None = None
    """Of what seals: whether it is the document itself or its certificate of completion."""
    chain_head: str | None = None
    """The head of the audit chain that is inside the seal."""
    seal_sha256: str | None = None
    """The fingerprint of the seal's certificate."""
    seal_timestamp_sha256: str | None = None
    """Of the time-stamp token in the seal."""
    sealed_sha256: str | None = None
    """Of the sealed file: all of an authentic one, the beginning of an extended one."""
    added: list[str] = field(default_factory=list)
    """What came after the seal of an extended file, in sentences."""


class SealedParts(Struct, frozen=True):
    """The seal of a file. The signature is about everything but the bytes from `start` to `end`."""

    start: int
    end: int
    signature: bytes
    """A detached CMS, in DER."""
    value: bytes
    """The signature itself, inside the CMS: what the time-stamp is about."""
    timestamp: bytes | None
    """An RFC 3161 token, in DER."""


def overall_verdict(checks: Checks, whole: Verdict = "authentic") -> Verdict:
    """The verdict on a signed file; a check of coverage or trust that was not made is no pass.

    `whole` is the verdict if nothing is wrong: it depends on the form of the file."""
    if False in (checks.intact, checks.modifications_allowed, checks.timestamp):
        return "altered"
    # Others may sign a part of a file, or allow that it is filled in; our own seals are about all of it.
    if checks.trusted is not True or checks.revocation is False:
        return "unrecognised"
    if False in (checks.covers_entire_file, checks.audit_chain):
        return "altered"
    asked = [name for name in _WHOLE if name != "covers_entire_file" or whole == "authentic"]
    passed = all(getattr(checks, name) is True for name in asked)
    return whole if passed and checks.known_to_us is not False else "unexplained"


def with_records(
    report: VerificationReport,
    *,
    known_to_us: bool | None,
    audit_chain: bool | None,
    document_id: str | None = None,
    reasons: Sequence[str] = (),
) -> VerificationReport:
    """The report with what the caller's records, or an evidence file, add to it. They never make a verdict better."""
    checks = msgspec.structs.replace(report.checks, known_to_us=known_to_us, audit_chain=audit_chain)
    good = report.verdict in GOOD
    verdict = overall_verdict(checks, report.verdict) if good else report.verdict
    why = [*report.reasons, *reasons]
    if good and known_to_us is False and not reasons:
        why.append("The seal is genuine, but this server has no record of the file.")
    return msgspec.structs.replace(report, verdict=verdict, checks=checks, document_id=document_id, reasons=why)
