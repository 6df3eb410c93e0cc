"""A certificate that a workspace brings, with its key: read, and refused by name if seals with it would not hold."""

from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.authority import Issued
from deedbox.pdf.cms import PrivateKey

_RSA_BITS = (2048, 8192)
_CURVES = (ec.SECP256R1, ec.SECP384R1)


def read(data: bytes, password: Secret | None, *, now: datetime) -> tuple[Issued, list[bytes]]:
    """The key with its certificate, and the certificates above it, nearest first; BadRequest says what is wrong."""
    if len(data) > limits.PKCS12_BYTES:
        raise BadRequest(f"The PKCS #12 file is larger than {limits.PKCS12_BYTES // limits.KB} KB")
    secret = password.reveal().encode() if password is not None else None
    try:
        key, certificate, others = pkcs12.load_key_and_certificates(data, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadRequest("The PKCS #12 file cannot be opened: it is damaged, or the password is wrong") from error
    if key is None or certificate is None:
        raise BadRequest("The PKCS #12 file must hold a private key and its certificate")
    _check_certificate(certificate, now)
    return Issued(_sealing_key(key), certificate), _chain(certificate, others)


def _sealing_key(key: object) -> PrivateKey:
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, _CURVES):
        return key
    if isinstance(key, rsa.RSAPrivateKey) and _RSA_BITS[0] <= key.key_size <= _RSA_BITS[1]:
        return key
    raise BadRequest("The key must be EC on the curve P-256 or P-384, or RSA with at least 2048 bits")


def _check_certificate(certificate: x509.Certificate, now: datetime) -> None:
    if not certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc:
        raise BadRequest("The certificate has ended, or has not begun yet")
    try:
        extensions = certificate.extensions
    except ValueError as error:
        raise BadRequest("The certificate has extensions that cannot be read") from error
    for extension in extensions:
        value = extension.value
        if isinstance(value, x509.KeyUsage) and not (value.digital_signature or value.content_commitment):
            raise BadRequest("The certificate's key usage allows neither digital signatures nor non-repudiation")
        if isinstance(value, x509.BasicConstraints) and value.ca:
            raise BadRequest("The certificate is that of an authority; bring one that the authority has issued")


def _chain(certificate: x509.Certificate, others: list[x509.Certificate]) -> list[bytes]:
    """The way up from the certificate, as far as the file goes; what is not on it is left out."""
    chain: list[x509.Certificate] = []
    below, left = certificate, list(others)
    while below.issuer != below.subject and len(chain) < limits.PKCS12_CERTIFICATES:
        above = next((one for one in left if one.subject == below.issuer), None)
        if above is None:
            break
        _check_issued(below, above)
        left.remove(above)
        chain.append(above)
        below = above
    if not chain and certificate.issuer != certificate.subject:
        raise BadRequest("The PKCS #12 file must also hold the certificates of the issuers, up to the root")
    return [one.public_bytes(Encoding.DER) for one in chain]


def _check_issued(below: x509.Certificate, above: x509.Certificate) -> None:
    try:
        below.verify_directly_issued_by(above)
    except (ValueError, TypeError, InvalidSignature) as error:
        raise BadRequest("The certificates in the PKCS #12 file did not issue each other") from error
