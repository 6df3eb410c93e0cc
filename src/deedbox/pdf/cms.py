"""CMS SignedData as PAdES and RFC 3161 want it, written by hand: ten times as fast as building it from objects."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from deedbox.pdf import der
from deedbox.pdf.der import Item, Malformed

PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

DATA = der.oid("1.2.840.113549.1.7.1")
SIGNED_DATA = der.oid("1.2.840.113549.1.7.2")
CONTENT_TYPE = der.oid("1.2.840.113549.1.9.3")
MESSAGE_DIGEST = der.oid("1.2.840.113549.1.9.4")
SIGNING_CERTIFICATE_V2 = der.oid("1.2.840.113549.1.9.16.2.47")
TIMESTAMP_TOKEN = der.oid("1.2.840.113549.1.9.16.2.14")
SHA256 = der.sequence(der.oid("2.16.840.1.101.3.4.2.1"))
_ECDSA_SHA256 = der.sequence(der.oid("1.2.840.10045.4.3.2"))
_RSA_SHA256 = der.sequence(der.oid("1.2.840.113549.1.1.11"), der.tagged(der.NULL))
_HASHES: dict[bytes, hashes.HashAlgorithm] = {
    der.oid("2.16.840.1.101.3.4.2.1"): hashes.SHA256(),
    der.oid("2.16.840.1.101.3.4.2.2"): hashes.SHA384(),
    der.oid("2.16.840.1.101.3.4.2.3"): hashes.SHA512(),
}
_ECDSA = ec.ECDSA(hashes.SHA256())
_PKCS1 = padding.PKCS1v15()
_SIGNER_TAGS: tuple[tuple[int, int, list[int]], ...] = ((0xA0, der.OCTETS, []), (0xA0, der.OCTETS, [0xA1]))
"""Of signed attributes, signature and, if there are any, unsigned attributes."""
_FRAME_BYTES = 1024
"""More than all that is neither certificate, signature nor token."""


class DistantKey(Protocol):
    """A private key that is elsewhere, in a token for example: it signs, and never comes out."""

    def public_key(self) -> PublicKey: ...

    def sign_sha256(self, data: bytes) -> bytes:
        """An ECDSA signature in DER, or one of RSA with PKCS #1 v1.5, each with SHA-256."""


class Signer:
    """A private key with its certificate, and what every signature with it has in common."""

    def __init__(self, key: PrivateKey | DistantKey, certificate_der: bytes, chain_ders: Sequence[bytes] = ()) -> None:
        self._key = key
        self.certificate_der = certificate_der
        self.chain_ders = tuple(chain_ders)
        self._id = issuer_and_serial(certificate_der)
        self._certificate_attribute = _signing_certificate(certificate_der)
        public = key.public_key()
        self._algorithm = _ECDSA_SHA256 if isinstance(public, ec.EllipticCurvePublicKey) else _RSA_SHA256
        # Whoever verifies brings the root: one that comes with the signature proves nothing.
        carried = {certificate_der, *(one for one in self.chain_ders if not is_self_issued(one))}
        self._certificates = der.explicit(0, *sorted(carried))
        # An ECDSA signature is two integers of the size of the curve, each with its head and perhaps a sign byte.
        bits = public.key_size
        self._signature_bytes = bits // 4 + 16 if self._algorithm is _ECDSA_SHA256 else bits // 8

    @property
    def most_bytes(self) -> int:
        """A size that no signature without time-stamp exceeds: ECDSA signatures vary in length."""
        return _FRAME_BYTES + len(self._certificates) + len(self._id) + self._signature_bytes

    def signed_data(
        self,
        content_type: bytes,
        content: bytes | None,
        digest: bytes,
        *,
        certificates: bool = True,
        timestamp: Callable[[bytes], bytes] | None = None,
    ) -> bytes:
        """A ContentInfo that signs the digest of a content, which it holds if the content is given.

        `timestamp` makes a time-stamp token for the SHA-256 of the signature."""
        attributes = self.attributes(content_type, digest)
        signature = self.sign(attributes)
        unsigned = b""
        if timestamp is not None:
            unsigned = timestamp_attribute(timestamp(hashlib.sha256(signature).digest()))
        return self.assembled(content_type, content, attributes, signature, unsigned, certificates=certificates)

    def attributes(self, content_type: bytes, digest: bytes) -> bytes:
        """The signed attributes, as a SET OF: what the key signs."""
        return der.set_of(
            der.sequence(CONTENT_TYPE, der.set_of(content_type)),
            der.sequence(MESSAGE_DIGEST, der.set_of(der.octets(digest))),
            self._certificate_attribute,
        )

    def sign(self, data: bytes) -> bytes:
        if isinstance(self._key, ec.EllipticCurvePrivateKey):
            return self._key.sign(data, _ECDSA)
        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(data, _PKCS1, hashes.SHA256())
        return self._key.sign_sha256(data)

    def assembled(
        self,
        content_type: bytes,
        content: bytes | None,
        attributes: bytes,
        signature: bytes,
        unsigned: bytes = b"",
        *,
        certificates: bool = True,
    ) -> bytes:
        signer = der.sequence(
            der.integer(1),
            self._id,
            SHA256,
            b"\xa0" + attributes[1:],  # the same set, under the tag that it has inside
            self._algorithm,
            der.octets(signature),
            unsigned,
        )
        held = der.explicit(0, der.octets(content)) if content is not None else b""
        signed = der.sequence(
            der.integer(1 if content_type == DATA else 3),
            der.set_of(SHA256),
            der.sequence(content_type, held),
            self._certificates if certificates else b"",
            der.set_of(signer),
        )
        return der.sequence(SIGNED_DATA, der.explicit(0, signed))


def timestamp_attribute(token: bytes) -> bytes:
    """The unsigned attributes of a signature with this token."""
    return der.explicit(1, der.sequence(TIMESTAMP_TOKEN, der.set_of(token)))


def signature_in(content_info: bytes) -> bytes:
    """The signature of a SignedData's one signer: what a time-stamp is made for; Malformed if there is not one."""
    return _parted(content_info)[2][5].content


def with_timestamp(content_info: bytes, token: bytes) -> bytes:
    """The same signature with this token in place of the one that it has, if any."""
    name, parts, signer = _parted(content_info)
    kept = [one.whole for one in signer[:6]]
    signed = [one.whole for one in parts[:-1]]
    signers = der.set_of(der.sequence(*kept, timestamp_attribute(token)))
    return der.sequence(name.whole, der.explicit(0, der.sequence(*signed, signers)))


def _parted(content_info: bytes) -> tuple[Item, list[Item], list[Item]]:
    """Name, parts and the one signer's parts of a SignedData whose signer has signed attributes."""
    try:
        name, wrapped = der.children(content_info)
        (signed,) = der.children(wrapped.whole, 0xA0)
        parts = der.children(signed.whole)
        (signer,) = der.children(parts[-1].whole, der.SET)
        told = der.children(signer.whole)
    except (IndexError, ValueError) as error:  # too few or too many values to unpack, among others
        raise Malformed("This is no SignedData with one signer") from error
    tags = [one.tag for one in told]
    if name.whole != SIGNED_DATA or len(tags) not in (6, 7) or (tags[3], tags[5], tags[6:]) not in _SIGNER_TAGS:
        raise Malformed("This is no SignedData with one signer")
    return name, parts, told


def issuer_and_serial(certificate_der: bytes) -> bytes:
    """How a CMS names the certificate: the bytes of the issuer's name as they stand in it, and the serial number."""
    serial, issuer, _ = _named(certificate_der)
    return der.sequence(issuer, serial)


def subject(certificate_der: bytes) -> bytes:
    """The name of the certificate's owner, as it stands in it."""
    return _named(certificate_der)[2]


def is_self_issued(certificate_der: bytes) -> bool:
    _, issuer, owner = _named(certificate_der)
    return issuer == owner


def _named(certificate_der: bytes) -> tuple[bytes, bytes, bytes]:
    """Serial number, issuer and subject of a certificate, byte for byte."""
    body = der.children(der.children(certificate_der)[0].whole)
    fields = body[1:] if body[0].tag == 0xA0 else body
    return fields[0].whole, fields[2].whole, fields[4].whole


def _signing_certificate(certificate_der: bytes) -> bytes:
    """The ESSCertIDv2 attribute: the certificate's SHA-256, so that no other can take its place."""
    serial, issuer, _ = _named(certificate_der)
    name = der.sequence(der.sequence(der.explicit(4, issuer)), serial)
    cert_id = der.sequence(der.octets(hashlib.sha256(certificate_der).digest()), name)
    return der.sequence(SIGNING_CERTIFICATE_V2, der.set_of(der.sequence(der.sequence(cert_id))))


def verified_content(content_info: bytes) -> tuple[bytes, bytes]:
    """Type and bytes of what a SignedData holds, if a certificate that it carries has signed them; else Malformed."""
    try:
        return _verified(content_info)
    except (IndexError, ValueError) as error:  # too few values to unpack, among others
        raise Malformed(str(error) if isinstance(error, Malformed) else "This is no SignedData") from error


def _verified(content_info: bytes) -> tuple[bytes, bytes]:
    name, wrapped = der.children(content_info)
    if name.whole != SIGNED_DATA:
        raise Malformed("This is no SignedData")
    parts = der.children(der.children(wrapped.whole, 0xA0)[0].whole)
    content_type, held = der.children(parts[2].whole)
    content = der.children(held.whole, 0xA0)[0].content
    carried = next((der.items(part.content) for part in parts[3:] if part.tag == 0xA0), [])
    signers = der.children(parts[-1].whole, der.SET)
    if len(signers) != 1:
        raise Malformed("There is not exactly one signature")
    _check_signature(signers[0].whole, content, [one.whole for one in carried])
    return content_type.whole, content


def _check_signature(signer_info: bytes, content: bytes, certificates: list[bytes]) -> None:
    _, signer_id, algorithm, attributes, _, signature, *_ = der.children(signer_info)
    chosen = _HASHES.get(der.children(algorithm.whole)[0].whole)
    owner = next((one for one in certificates if issuer_and_serial(one) == signer_id.whole), None)
    if chosen is None or owner is None or attributes.tag != 0xA0:
        raise Malformed("The signature is of a kind that is not known here, or its certificate is missing")
    digest = hashes.Hash(chosen)
    digest.update(content)
    if der.sequence(MESSAGE_DIGEST, der.set_of(der.octets(digest.finalize()))) not in [
        one.whole for one in der.items(attributes.content)
    ]:
        raise Malformed("The signature is about something else")
    key = _public_key(owner)
    signed = b"\x31" + attributes.whole[1:]
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature.content, signed, ec.ECDSA(chosen))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature.content, signed, _PKCS1, chosen)
        else:
            raise Malformed("The signature is of a kind that is not known here")
    except InvalidSignature as error:
        raise Malformed("The signature is not that of its certificate") from error


def _public_key(certificate_der: bytes) -> object:
    try:
        return x509.load_der_x509_certificate(certificate_der).public_key()
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise Malformed("The certificate of the signature cannot be read") from error
