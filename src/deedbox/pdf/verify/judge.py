"""The judgement on a seal in its one form: whether it is true and ours to the last byte, when it was made, by whom.

By `cryptography` alone, so that it may run in the server itself before a sealed file is released."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from cryptography import x509
from msgspec import Struct

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal import cms, timestamp
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.seal.timestamp import TimestampToken
from deedbox.pdf.verify.report import Certificate, Checks, Signature, VerificationReport, overall_verdict
from deedbox.pdf.verify.sealed_form import SealedForm
from deedbox.pdf.verify.trust import Path, Trust, load_certificate, may_seal, may_timestamp

_LEVELS = {(False, False): "B-B", (False, True): "B-B", (True, False): "B-T", (True, True): "B-LT"}


class Anchors(Struct, frozen=True):
    """What is trusted: roots, revocation lists, and roots that are trusted for time-stamps only, in DER."""

    roots: Sequence[bytes]
    crls: Sequence[bytes] = ()
    timestamp_roots: Sequence[bytes] = ()

    def with_data(self, certificates: Iterable[bytes], crls: Iterable[bytes]) -> Trust:
        """The same, with the certificates and lists that a file brings along."""
        return Trust(self.roots, certificates, [*self.crls, *crls], self.timestamp_roots)


class _Seal(Struct, frozen=True):
    """A seal that is true, with its time-stamp."""

    signed: cms.Own
    token: TimestampToken | None


def seal_report(form: SealedForm, sha256: str, digest: bytes, anchors: Anchors, now: datetime) -> VerificationReport:
    """The report on a sealed file by its form and the SHA-256 of all that its signature is about."""
    trust = anchors.with_data(form.order.certificates, form.order.crls)
    try:
        seal = _true(form, digest)
    except (Malformed, BadRequest) as error:
        why = f"Seal: {error}." if isinstance(error, Malformed) else error.message
        checks = Checks(intact=False, covers_entire_file=True)
        return VerificationReport(verdict="altered", sha256=sha256, checks=checks, reasons=[why])
    checks, reasons = check(seal.signed.signer, seal.signed.certificates, seal.token, trust, now)
    report = VerificationReport(
        verdict=overall_verdict(checks), sha256=sha256, checks=checks, signatures=[_described(form, seal)]
    )
    report.reasons = reasons
    if report.verdict == "authentic":
        _name(report, form, seal)
    return report


def check(
    signer: bytes, certificates: Sequence[bytes], token: TimestampToken | None, trust: Trust, now: datetime
) -> tuple[Checks, list[str]]:
    """What is to be thought of a true signature, about all there is, at the time of its time-stamp, or else now."""
    at = _believed(token, trust)
    path = trust.path(signer, certificates, at or now)
    distrust = path.reason or ("" if may_seal(signer) else "Its certificate is not intended for signing documents.")
    revoked = trust.revoked(path, at or now) if path else None
    checks = Checks(
        intact=True,
        covers_entire_file=True,
        modifications_allowed=True,
        trusted=not distrust,
        revocation=None if revoked is None else not revoked,
        timestamp=True if at is not None else None,
    )
    return checks, list(_reasons(checks, distrust, token))


def _true(form: SealedForm, digest: bytes) -> _Seal:
    """The seal, if it fits the file and no byte of it could be another; Malformed says why not."""
    signed = cms.own(form.cms_der)
    if (signed.content_type, signed.content, signed.digest) != (cms.DATA, None, digest):
        raise Malformed("The signature does not match the file: different content was signed")
    # Of an authority's signature under a certificate there are two as well: only those under the seal are taken.
    if set(signed.certificates) != cms.carried_by(signed.signer, form.order.certificates):
        raise Malformed("The signature does not hold exactly the certificates that it was made with")
    return _Seal(signed, _token(form, signed))


def _token(form: SealedForm, signed: cms.Own) -> TimestampToken | None:
    expected, order = form.order.timestamp, form.order
    if (signed.token is None) != (expected == "none"):
        told = "the seal says that it has none" if signed.token is not None else "the seal says that it has one"
        raise Malformed(f"The timestamp was {'added' if signed.token is not None else 'removed'}: {told}")
    if signed.token is None:
        return None
    token = timestamp.read(signed.token, digests_of(signed.signature))
    if token.signer in order.certificates:
        carried = cms.carried_by(token.signer, order.certificates)
        if not token.is_own or set(token.certificates) != carried or token.at != order.signed_at:
            raise Malformed("The timestamp is not the one created when the file was sealed")
    elif expected == "own":
        raise Malformed("The timestamp was replaced: the seal says that it has one of the server's own")
    elif token.at < order.signed_at - timedelta(seconds=limits.TSA_SKEW_SECONDS):
        raise Malformed("The timestamp is older than the seal")
    return token


def digests_of(content: bytes) -> Callable[[str], bytes]:
    """The digest of the content, by the name of the hash."""
    return lambda name: hashlib.new(name, content).digest()


def _believed(token: TimestampToken | None, trust: Trust) -> datetime | None:
    return token.at if token is not None and token_path(token, trust) else None


def token_path(token: TimestampToken, trust: Trust) -> Path:
    """The way to a root that is trusted to tell the time; empty, with a reason, when there is none."""
    path = trust.path(token.signer, token.certificates, token.at, of_timestamp=True)
    if path and not may_timestamp(token.signer):
        return Path([], "Its certificate is not intended for timestamps.")
    return Path([], "A certificate of it was revoked.") if path and trust.revoked(path, token.at) else path


def _reasons(checks: Checks, distrust: str, token: TimestampToken | None) -> Iterable[str]:
    if distrust:
        yield f"Seal: {distrust}"
    if checks.revocation is False:
        yield "A certificate of the seal was revoked before the seal was created."
    if token is not None and checks.timestamp is None:
        yield "The timestamp comes from an authority that this server does not trust."


def _name(report: VerificationReport, form: SealedForm, seal: _Seal) -> None:
    report.document_id, report.chain_head = form.order.document_id or None, form.order.audit_head or None
    report.part, report.sealed_sha256 = form.order.part, report.sha256
    report.seal_sha256 = hashlib.sha256(seal.signed.signer).hexdigest()
    if seal.signed.token is not None:
        report.seal_timestamp_sha256 = hashlib.sha256(seal.signed.token).hexdigest()


def _described(form: SealedForm, seal: _Seal) -> Signature:
    level = _LEVELS[seal.token is not None, bool(form.order.crls)]
    return describe(seal.signed.signer, f"PAdES {level}", "ETSI.CAdES.detached", form.order.signed_at, seal.token)


def describe(
    signer: bytes, level: str, sub_filter: str | None, claimed_at: datetime | None, token: TimestampToken | None
) -> Signature:
    """A signature as a report shows it."""
    name, certificate = _shown(signer)
    return Signature(
        signer=name,
        certificate=certificate,
        signing_time=instant(claimed_at) if claimed_at else None,
        timestamp_time=instant(token.at) if token else None,
        level=level,
        sub_filter=sub_filter,
    )


@lru_cache(maxsize=limits.SEAL_IDENTITIES)
def _shown(signer: bytes) -> tuple[str, Certificate]:
    """The name on a certificate, and what a report tells of it."""
    certificate = load_certificate(signer)
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    told = Certificate(
        subject=certificate.subject.rfc4514_string(),
        issuer=certificate.issuer.rfc4514_string(),
        serial=f"{certificate.serial_number:x}",
        not_after=instant(certificate.not_valid_after_utc),
    )
    return str(names[0].value) if names else told.subject, told
