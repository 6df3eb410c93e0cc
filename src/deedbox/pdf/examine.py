"""One signature of a PDF examined: its place, its truth, its exactness, its time, and whom its certificate leads to."""

import hashlib
from datetime import datetime

from asn1crypto import x509 as asn1
from cryptography import x509
from msgspec import Struct

from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import hole, report
from deedbox.pdf import signed_data as cms
from deedbox.pdf.hole import Hole
from deedbox.pdf.signatures import Found
from deedbox.pdf.signed_data import Envelope, Stamp
from deedbox.pdf.timestamp import POLICY
from deedbox.pdf.trust import Path, Trust, may_seal, may_stamp

_SUB_FILTERS = {
    "seal": ("ETSI.CAdES.detached", "adbe.pkcs7.detached"),
    "time-stamp": ("ETSI.RFC3161",),
}
_LEVELS = {(False, False): "B-B", (False, True): "B-B", (True, False): "B-T", (True, True): "B-LT"}


class Examined(Struct, kw_only=True):
    """What is true of a signature; `broken` is why it is none, or one that was changed."""

    found: Found
    place: Hole | None = None
    envelope: Envelope | None = None
    broken: str = ""
    stamp: Stamp | None = None
    at: datetime | None = None
    """The time-stamp's time, if the time-stamp is trusted."""
    path: Path = Path([])
    stamp_path: Path = Path([])
    revoked: bool | None = None
    distrust: str = ""

    @property
    def trusted(self) -> bool:
        return bool(self.path) and not self.distrust

    def covers(self, pdf: bytes) -> bool:
        return self.place is not None and self.place.covered == len(pdf)


def examined(pdf: bytes, found: Found, trust: Trust, now: datetime) -> Examined:
    """Everything about one signature, whatever is wrong with it."""
    result = Examined(found=found)
    try:
        with cms.reading("The signature cannot be read."):
            _examine(pdf, result, trust, now)
    except BadRequest as error:
        result.broken = error.message
    return result


def _examine(pdf: bytes, result: Examined, trust: Trust, now: datetime) -> None:
    found = result.found
    result.place = place = hole.hole(pdf, found.byte_range)
    whole = hole.contents(pdf, place)
    digits = pdf[place.start + 1 : place.end - 1]
    if bytes.fromhex(digits.decode("ascii")) != found.filled:
        raise BadRequest("The signature that a reader sees is not the one in the gap of the byte range.")
    result.envelope = envelope = cms.opened(whole)
    if found.kind == "time-stamp":
        _time_stamp(pdf, result, place, envelope, trust)
    else:
        _seal(pdf, result, place, envelope, trust, now)
    # Others write them in capitals, and all alike; whoever signs as Deedbox does, signs as it writes.
    if found.document_id is not None and digits != digits.lower():
        raise BadRequest("The digits of the signature are not written as a seal writes them.")


def _seal(pdf: bytes, result: Examined, place: Hole, envelope: Envelope, trust: Trust, now: datetime) -> None:
    result.stamp = cms.stamp(envelope)
    digest = hole.digest(pdf, place, envelope.algorithm) if envelope.algorithm in cms.HASHES else b""
    if not cms.is_true(envelope, digest, "data"):
        raise BadRequest("The signature does not fit the file: what was signed is not what is here.")
    if result.stamp is not None:
        _attached(result, result.stamp, envelope, trust)
    at = result.at or now
    _judge_path(result, envelope, trust, at)
    if result.path and not may_seal(envelope.signer):
        result.distrust = "Its certificate is not one for signing documents."
    _demand_exact(result, envelope, trust)


def _attached(result: Examined, stamp: Stamp, envelope: Envelope, trust: Trust) -> None:
    signature: bytes = envelope.info["signature"].native
    if not cms.stamp_is_true(stamp, lambda name: hashlib.new(name, signature).digest()):
        raise BadRequest("The time-stamp does not fit the signature.")
    if trust.changed(stamp.envelope.certificates):
        raise BadRequest("A certificate in the time-stamp was changed.")
    result.stamp_path = trust.path(stamp.envelope.signer, stamp.envelope.certificates, stamp.at, stamps=True)
    if _stamp_trusted(stamp, result.stamp_path, trust):
        result.at = stamp.at


def _time_stamp(pdf: bytes, result: Examined, place: Hole, envelope: Envelope, trust: Trust) -> None:
    stamp = cms.as_stamp(envelope)
    if not cms.stamp_is_true(stamp, lambda name: hole.digest(pdf, place, name)):
        raise BadRequest("The document's time-stamp does not fit the file.")
    result.stamp = stamp
    _judge_path(result, envelope, trust, stamp.at)
    if result.path and not may_stamp(envelope.signer):
        result.distrust = "Its certificate is not one for time-stamps."
    if result.trusted and not result.revoked:
        result.at = stamp.at
    _demand_exact(result, envelope, trust)


def _stamp_trusted(stamp: Stamp, path: Path, trust: Trust) -> bool:
    return bool(path) and may_stamp(stamp.envelope.signer) and not trust.revoked(path, stamp.at)


def _judge_path(result: Examined, envelope: Envelope, trust: Trust, at: datetime) -> None:
    stamps = result.found.kind == "time-stamp"
    result.path = trust.path(envelope.signer, envelope.certificates, at, stamps=stamps)
    result.distrust = result.path.reason
    result.revoked = trust.revoked(result.path, at) if result.path else None


def _demand_exact(result: Examined, envelope: Envelope, trust: Trust) -> None:
    """Others may write a signature in many ways; in one that is to be believed no byte may be free to change."""
    if trust.changed(envelope.certificates):
        raise BadRequest("A certificate in the signature was changed.")
    if not result.trusted:
        return
    if result.found.sub_filter not in _SUB_FILTERS[result.found.kind]:
        raise BadRequest("The signature says that it is of another kind than it is.")
    exact = [envelope]
    # Another authority's time-stamp may be written in another way, and leave out what it comes from.
    if result.stamp is not None and result.stamp_path and result.stamp.policy == POLICY:
        exact.append(result.stamp.envelope)
    if not all(cms.is_exact(one) and trust.tied(one.certificates) for one in exact):
        raise BadRequest("The signature holds something that it does not protect.")


def described(result: Examined, has_validation_data: bool) -> report.Signature | None:
    """The signature as a report shows it; None when not even its certificate can be read."""
    if result.envelope is None:
        return None
    try:
        with cms.reading("The signature cannot be read."):
            return _described(result, result.envelope, has_validation_data)
    except BadRequest:
        return None


def _described(result: Examined, envelope: Envelope, has_validation_data: bool) -> report.Signature:
    claimed = None if result.found.kind == "time-stamp" else cms.signed_time(envelope)
    return report.Signature(
        signer=_common_name(envelope.signer),
        certificate=_certificate(envelope.signer),
        signing_time=_instant(claimed or result.found.claimed_at),
        timestamp_time=_instant(result.stamp.at) if result.stamp is not None else None,
        level=_level(result, envelope, has_validation_data),
        sub_filter=result.found.sub_filter,
    )


def _level(result: Examined, envelope: Envelope, has_validation_data: bool) -> str:
    if result.found.kind == "time-stamp":
        return "document time-stamp"
    if result.found.sub_filter != "ETSI.CAdES.detached" or not cms.names_certificate(envelope):
        return "CMS"
    return f"PAdES {_LEVELS[result.stamp is not None, has_validation_data]}"


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None or moment.tzinfo is None else instant(moment)


def _certificate(certificate: asn1.Certificate) -> report.Certificate:
    loaded = x509.load_der_x509_certificate(certificate.dump())
    return report.Certificate(
        subject=loaded.subject.rfc4514_string(),
        issuer=loaded.issuer.rfc4514_string(),
        serial=f"{loaded.serial_number:x}",
        not_after=instant(loaded.not_valid_after_utc),
    )


def _common_name(certificate: asn1.Certificate) -> str:
    name = certificate.subject.native.get("common_name")
    return name if isinstance(name, str) else str(certificate.subject.human_friendly)
