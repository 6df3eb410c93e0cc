"""Checks a certificate from outside that a workspace wants to seal with, and the chain above it."""

from collections.abc import Sequence
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from deedbox.authority import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.verify.trust import has_sealing_usage

_RSA_BITS = (2048, 8192)
_CURVES = (ec.SECP256R1, ec.SECP384R1)


def check_certificate(certificate: x509.Certificate, now: datetime) -> None:
    """BadRequest unless the certificate is good now, for a key and a use that seals have."""
    _check_key(certificate.public_key())
    if not certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc:
        raise BadRequest("The certificate has ended, or has not begun yet")
    try:
        extensions = certificate.extensions
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise BadRequest("The certificate has extensions that cannot be read") from error
    for extension in extensions:
        value = extension.value
        if isinstance(value, x509.KeyUsage) and not (value.digital_signature or value.content_commitment):
            raise BadRequest("The certificate's key usage allows neither digital signatures nor non-repudiation")
        if isinstance(value, x509.BasicConstraints) and value.ca:
            raise BadRequest("The certificate is that of an authority; bring one that the authority has issued")
    if not has_sealing_usage(certificate):
        raise BadRequest(
            "The certificate's extended key usage must name document signing (1.3.6.1.5.5.7.3.36), and nothing else"
            " but e-mail protection: verifiers reject any other seal. Ask the authority for such a certificate"
        )


def chain(certificate: x509.Certificate, others: Sequence[x509.Certificate], where: str) -> list[bytes]:
    """The way up from the certificate, as far as the others go; what is not on it is left out."""
    above_it: list[x509.Certificate] = []
    below, left = certificate, list(others)
    while below.issuer != below.subject and len(above_it) < limits.PKCS12_CERTIFICATES:
        above = next((one for one in left if one.subject == below.issuer), None)
        if above is None:
            break
        _check_issued(below, above, where)
        left.remove(above)
        above_it.append(above)
        below = above
    if not above_it and certificate.issuer != certificate.subject:
        raise BadRequest(f"{where} must also hold the certificates of the issuers, up to the root")
    return [one.public_bytes(Encoding.DER) for one in above_it]


def _check_key(key: object) -> None:
    fits = isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, _CURVES)
    if not fits and not (isinstance(key, rsa.RSAPublicKey) and _RSA_BITS[0] <= key.key_size <= _RSA_BITS[1]):
        raise BadRequest("The key must be EC on the curve P-256 or P-384, or RSA with at least 2048 bits")


def _check_issued(below: x509.Certificate, above: x509.Certificate, where: str) -> None:
    try:
        below.verify_directly_issued_by(above)
    except (ValueError, TypeError, InvalidSignature) as error:
        raise BadRequest(f"The certificates of {where[0].lower()}{where[1:]} did not issue each other") from error
