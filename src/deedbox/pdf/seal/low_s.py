"""ECDSA signatures in the one form that is written and accepted here.

Of every signature (r, s) the pair (r, n - s) is one too: whoever has a file could write it in place of the other. So
only that with the smaller s is written, and no other is taken for ours."""

from cryptography.hazmat.primitives.asymmetric import ec, utils

from deedbox.pdf.seal import der
from deedbox.pdf.seal.der import Malformed

_ORDERS = {
    "secp256r1": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    "secp384r1": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
    "secp521r1": 0x1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFA51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409,  # noqa: E501
}  # fmt: skip
"""The n of the curves that seals may use, and of those that time-stamp authorities do."""


def normalize(signature: bytes, key: object) -> bytes:
    """The same signature with the smaller s; one of another kind of key, or on another curve, as it is."""
    order = _ORDERS.get(key.curve.name) if isinstance(key, ec.EllipticCurvePublicKey) else None
    if order is None:
        return signature
    try:
        r, s = utils.decode_dss_signature(signature)
    except ValueError as error:
        raise Malformed("The signature is not one of ECDSA") from error
    return der.sequence(der.integer(r), der.integer(min(s, order - s)))
