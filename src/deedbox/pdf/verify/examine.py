"""Examines one signature of a PDF: its place, whether it is true and exact, its time, and the root that it leads to."""

import hashlib
from datetime import datetime

from asn1crypto import x509 as asn1
from cryptography import x509
from msgspec import Struct

from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal import gap
from deedbox.pdf.seal.gap import Gap
from deedbox.pdf.verify import report
from deedbox.pdf.verify import signed_data as cms
from deedbox.pdf.verify.signatures import PdfSignature
from deedbox.pdf.verify.signed_data import SignedData, Timestamp
from deedbox.pdf.verify.trust import Path, Trust, may_seal, may_timestamp

_SUB_FILTERS = {
    "seal": ("ETSI.CAdES.detached", "adbe.pkcs7.detached"),
    "timestamp": ("ETSI.RFC3161",),
}
_LEVELS = {(False, False): "B-B", (False, True): "B-B", (True, False): "B-T", (True, True): "B-LT"}


class Examined(Struct, kw_only=True):
    """The findings about one signature; `broken` says why it is none, or was changed."""

    signature: PdfSignature
    place: Gap | None = None
    signed: SignedData | None = None
    broken: str = ""
    timestamp: Timestamp | None = None
    at: datetime | None = None
    """The time-stamp's time, if the time-stamp is trusted."""
    path: Path = Path([])
    timestamp_path: Path = Path([])
    revoked: bool | None = None
    distrust: str = ""

    @property
    def trusted(self) -> bool:
        return bool(self.path) and not self.distrust

    def covers(self, pdf: bytes) -> bool:
        return self.place is not None and self.place.covered == len(pdf)


def examine(pdf: bytes, signature: PdfSignature, trust: Trust, now: datetime) -> Examined:
    """Everything about one signature, whatever is wrong with it."""
    result = Examined(signature=signature)
    try:
        with cms.translate_errors("The signature cannot be read."):
            _examine(pdf, result, trust, now)
    except BadRequest as error:
        result.broken = error.message
    return result


def _examine(pdf: bytes, result: Examined, trust: Trust, now: datetime) -> None:
    signature = result.signature
    result.place = place = gap.find(pdf, signature.byte_range)
    whole = gap.contents(pdf, place)
    digits = pdf[place.start + 1 : place.end - 1]
    if bytes.fromhex(digits.decode("ascii")) != signature.filled:
        raise BadRequest("The signature that a reader sees is not the one in the gap of the byte range.")
    result.signed = signed = cms.open_signed_data(whole)
    if signature.kind == "timestamp":
        _time_stamp(pdf, result, place, signed, trust)
    else:
        _seal(pdf, result, place, signed, trust, now)


def _seal(pdf: bytes, result: Examined, place: Gap, signed: SignedData, trust: Trust, now: datetime) -> None:
    result.timestamp = cms.timestamp(signed)
    digest = gap.digest(pdf, place, signed.algorithm) if signed.algorithm in cms.HASHES else b""
    if not cms.is_true(signed, digest, "data"):
        raise BadRequest("The signature does not match the file: different content was signed.")
    if result.timestamp is not None:
        _attached(result, result.timestamp, signed, trust)
    at = result.at or now
    _judge_path(result, signed, trust, at)
    if result.path and not may_seal(signed.signer.dump()):
        result.distrust = "Its certificate is not intended for signing documents."
    _demand_sound(result, signed, trust)


def _attached(result: Examined, timestamp: Timestamp, signed: SignedData, trust: Trust) -> None:
    signature: bytes = signed.signer_info["signature"].native
    if not cms.timestamp_is_true(timestamp, lambda name: hashlib.new(name, signature).digest()):
        raise BadRequest("The timestamp does not match the signature.")
    if trust.changed(_ders(timestamp.signed)):
        raise BadRequest("A certificate in the timestamp was changed.")
    result.timestamp_path = trust.path(
        timestamp.signed.signer.dump(), _ders(timestamp.signed), timestamp.at, of_timestamp=True
    )
    if _timestamp_trusted(timestamp, result.timestamp_path, trust):
        result.at = timestamp.at


def _time_stamp(pdf: bytes, result: Examined, place: Gap, signed: SignedData, trust: Trust) -> None:
    timestamp = cms.as_timestamp(signed)
    if not cms.timestamp_is_true(timestamp, lambda name: gap.digest(pdf, place, name)):
        raise BadRequest("The document timestamp does not match the file.")
    result.timestamp = timestamp
    _judge_path(result, signed, trust, timestamp.at)
    if result.path and not may_timestamp(signed.signer.dump()):
        result.distrust = "Its certificate is not intended for timestamps."
    if result.trusted and not result.revoked:
        result.at = timestamp.at
    _demand_sound(result, signed, trust)


def _timestamp_trusted(timestamp: Timestamp, path: Path, trust: Trust) -> bool:
    return bool(path) and may_timestamp(timestamp.signed.signer.dump()) and not trust.revoked(path, timestamp.at)


def _judge_path(result: Examined, signed: SignedData, trust: Trust, at: datetime) -> None:
    of_timestamp = result.signature.kind == "timestamp"
    result.path = trust.path(signed.signer.dump(), _ders(signed), at, of_timestamp=of_timestamp)
    result.distrust = result.path.reason
    result.revoked = trust.revoked(result.path, at) if result.path else None


def _demand_sound(result: Examined, signed: SignedData, trust: Trust) -> None:
    if trust.changed(_ders(signed)):
        raise BadRequest("A certificate in the signature was changed.")
    if result.trusted and result.signature.sub_filter not in _SUB_FILTERS[result.signature.kind]:
        raise BadRequest("The signature says that it is of another kind than it is.")


def _ders(signed: SignedData) -> list[bytes]:
    return [one.dump() for one in signed.certificates]


def describe(result: Examined, has_validation_data: bool) -> report.Signature | None:
    """The signature as a report shows it; None when not even its certificate can be read."""
    if result.signed is None:
        return None
    try:
        with cms.translate_errors("The signature cannot be read."):
            return _described(result, result.signed, has_validation_data)
    except BadRequest:
        return None


def _described(result: Examined, signed: SignedData, has_validation_data: bool) -> report.Signature:
    claimed = None if result.signature.kind == "timestamp" else cms.signed_time(signed)
    return report.Signature(
        signer=_common_name(signed.signer),
        certificate=_certificate(signed.signer),
        signing_time=_instant(claimed or result.signature.claimed_at),
        timestamp_time=_instant(result.timestamp.at) if result.timestamp is not None else None,
        level=_level(result, signed, has_validation_data),
        sub_filter=result.signature.sub_filter,
    )


def _level(result: Examined, signed: SignedData, has_validation_data: bool) -> str:
    if result.signature.kind == "timestamp":
        return "document time-stamp"
    if result.signature.sub_filter != "ETSI.CAdES.detached" or not cms.names_certificate(signed):
        return "CMS"
    return f"PAdES {_LEVELS[result.timestamp is not None, has_validation_data]}"


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
