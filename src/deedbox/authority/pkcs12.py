"""A certificate that a workspace brings, with its key, in a PKCS #12 file."""

from datetime import datetime

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import pkcs12

from deedbox.authority import limits, outside_certificate
from deedbox.authority.issue import Issued
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal.cms import PrivateKey


def read(data: bytes, password: Secret | None, *, now: datetime) -> tuple[Issued, list[bytes]]:
    """The key with its certificate, and the certificates above it, nearest first; BadRequest says what is wrong."""
    if len(data) > limits.PKCS12_BYTES:
        raise BadRequest(f"The PKCS #12 file is larger than {limits.PKCS12_BYTES // shared_limits.KB} KB")
    secret = password.reveal().encode() if password is not None else None
    try:
        key, certificate, others = pkcs12.load_key_and_certificates(data, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadRequest("The PKCS #12 file cannot be opened: it is damaged, or the password is wrong") from error
    if key is None or certificate is None:
        raise BadRequest("The PKCS #12 file must hold a private key and its certificate")
    outside_certificate.check_certificate(certificate, now)
    if not isinstance(key, PrivateKey):
        raise BadRequest("The key must be EC on the curve P-256 or P-384, or RSA with at least 2048 bits")
    return Issued(key, certificate), outside_certificate.chain(certificate, others, "The PKCS #12 file")
