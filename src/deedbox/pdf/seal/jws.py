"""A compact JWS (RFC 7515) by a certificate that seals, and the judgement on one with its time-stamp: for receipts.

The protected header carries the certificates (`x5c`, the signer's first, without the root) and the revocation lists
that cover them, all under the signature; the time-stamp is about the whole JWS, and stands beside it."""

import hashlib
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.pdf import limits
from deedbox.pdf.seal import cms, der, timestamp
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.seal.pades import SealIdentity
from deedbox.pdf.seal.timestamp import TimestampToken
from deedbox.pdf.verify.judge import Anchors, check, describe, digests_of
from deedbox.pdf.verify.report import Checks, VerificationReport, overall_verdict

_COORDINATE = 32
"""The bytes of each of the two numbers that an ES256 signature is."""
_encode = msgspec.json.Encoder(order="deterministic").encode


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    alg: str
    crls: list[str]
    typ: str
    x5c: list[str]


_HEADER = msgspec.json.Decoder(_Header)


class SignedPayload(NamedTuple):
    """What a true JWS holds; certificates and lists in DER."""

    payload: bytes
    signer: bytes
    certificates: list[bytes]
    crls: list[bytes]


class JudgedJws(NamedTuple):
    report: VerificationReport
    payload: bytes | None
    """What was signed; None where the signature does not hold."""
    at: datetime | None
    """When, as the time-stamp says."""


def sign(payload: bytes, typ: str, identity: SealIdentity, crls: Sequence[bytes]) -> str:
    """The compact JWS; Conflict if there is no algorithm of JWS for the seal's key."""
    public = identity.key.public_key()
    algorithm = _algorithm(public)
    if algorithm is None:
        raise Conflict("The workspace's seal certificate cannot sign receipts: its key is neither of P-256 nor of RSA.")
    x5c = [identity.certificate_der, *(one for one in identity.chain_ders if not cms.is_root(one))]
    header = _Header(algorithm, [_base64(one) for one in dict.fromkeys(crls)], typ, list(map(_base64, x5c)))
    said = f"{_url(_encode(header))}.{_url(payload)}"
    signature = identity.signer.sign(said.encode())
    return f"{said}.{_url(_raw(signature) if isinstance(public, ec.EllipticCurvePublicKey) else signature)}"


def read(compact: str, typ: str) -> SignedPayload:
    """What a JWS of this type says, if its signature is true; Malformed if one character could be another."""
    if len(compact) > limits.RECEIPT_BYTES or compact.count(".") != 2:
        raise Malformed("The receipt is no compact JWS")
    said, _, last = compact.rpartition(".")
    first, _, middle = said.partition(".")
    header = _header(_unurl(first))
    if header.typ != typ:
        raise Malformed(f"The JWS is a {header.typ!r}, and not a {typ!r}")
    if not header.x5c:
        raise Malformed("The receipt names no certificate")
    certificates = [_unbase64(one) for one in header.x5c]
    public = cms.public_key_of(certificates[0])
    if header.alg != _algorithm(public):
        raise Malformed("The receipt names another algorithm than that of its certificate's key")
    signature = _unurl(last)
    if isinstance(public, ec.EllipticCurvePublicKey):
        signature = _der(signature)
    cms.check_signature(certificates[0], signature, said.encode())
    return SignedPayload(_unurl(middle), certificates[0], certificates, [_unbase64(one) for one in header.crls])


def digest(compact: str) -> bytes:
    """What a time-stamp of the JWS has to be made for."""
    return hashlib.sha256(compact.encode()).digest()


def judge(compact: str, token: str, typ: str, anchors: Anchors, now: datetime) -> JudgedJws:
    """The judgement on a JWS and its time-stamp in base64, which must be of the unit under the same authority."""
    sha256 = hashlib.sha256(compact.encode()).hexdigest()
    try:
        held = read(compact, typ)
        stamp = timestamp.read(_unbase64(token), digests_of(compact.encode()))
        if not stamp.is_own:
            raise Malformed("The timestamp was replaced: it is not one of the server's own")
    except (ValueError, BadRequest) as error:
        why = error.message if isinstance(error, BadRequest) else f"{error}."
        return JudgedJws(
            VerificationReport(verdict="altered", sha256=sha256, checks=Checks(intact=False), reasons=[why]), None, None
        )
    trust = anchors.with_data([*held.certificates, *stamp.certificates], held.crls)
    checks, reasons = check(held.signer, held.certificates, stamp, trust, now)
    report = VerificationReport(verdict=overall_verdict(checks), sha256=sha256, checks=checks, reasons=reasons)
    report.signatures = [_described(held, stamp)]
    return JudgedJws(report, held.payload, stamp.at)


def _described(held: SignedPayload, stamp: TimestampToken) -> Any:
    return describe(held.signer, "JWS with timestamp", None, stamp.at, stamp)


def _algorithm(key: object) -> str | None:
    """What JWS calls a signature of this key; None if it has no name for it."""
    if isinstance(key, rsa.RSAPublicKey):
        return "RS256"
    is_p256 = isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name == "secp256r1"
    return "ES256" if is_p256 else None


def _raw(signature: bytes) -> bytes:
    r, s = decode_dss_signature(signature)
    return r.to_bytes(_COORDINATE, "big") + s.to_bytes(_COORDINATE, "big")


def _der(raw: bytes) -> bytes:
    if len(raw) != 2 * _COORDINATE:
        raise Malformed("The signature is not one of ES256")
    numbers = (int.from_bytes(half, "big") for half in (raw[:_COORDINATE], raw[_COORDINATE:]))
    return der.sequence(*map(der.integer, numbers))


def _header(data: bytes) -> _Header:
    try:
        header = _HEADER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed("The receipt's header cannot be read") from error
    if _encode(header) != data:
        raise Malformed("The receipt's header is not written as Deedbox writes it")
    return header


def _url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _unurl(text: str) -> bytes:
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as error:
        raise Malformed("The receipt is no compact JWS") from error
    if _url(data) != text:  # other characters, or other bits behind the last byte
        raise Malformed("The receipt is no compact JWS")
    return data


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _unbase64(text: str) -> bytes:
    try:
        data = b64decode(text, validate=True)
    except ValueError as error:
        raise Malformed("What should be base64 is not") from error
    if _base64(data) != text:
        raise Malformed("What should be base64 is not")
    return data
