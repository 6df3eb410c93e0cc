"""CMS SignedData as PAdES and RFC 3161 want it, written by hand: ten times as fast as building it from objects."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from deedbox.kernel import limits
from deedbox.pdf.seal import der, low_s
from deedbox.pdf.seal.der import Item, Malformed

PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

DATA = der.oid("1.2.840.113549.1.7.1")
SIGNED_DATA = der.oid("1.2.840.113549.1.7.2")
CONTENT_TYPE = der.oid("1.2.840.113549.1.9.3")
MESSAGE_DIGEST = der.oid("1.2.840.113549.1.9.4")
_SIGNING_CERTIFICATE = der.oid("1.2.840.113549.1.9.16.2.12")
SIGNING_CERTIFICATE_V2 = der.oid("1.2.840.113549.1.9.16.2.47")
TIMESTAMP_TOKEN = der.oid("1.2.840.113549.1.9.16.2.14")
SHA256 = der.sequence(der.oid("2.16.840.1.101.3.4.2.1"))
_ECDSA_SHA256 = der.sequence(der.oid("1.2.840.10045.4.3.2"))
_RSA_SHA256 = der.sequence(der.oid("1.2.840.113549.1.1.11"), der.tag_value(der.NULL))
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


class CmsSigner:
    """A private key with its certificate, and what every signature with it has in common."""

    def __init__(self, key: PrivateKey | DistantKey, certificate_der: bytes, chain_ders: Sequence[bytes] = ()) -> None:
        self._key = key
        self.certificate_der = certificate_der
        self.chain_ders = tuple(chain_ders)
        self._id = issuer_and_serial(certificate_der)
        self._certificate_attribute = _signing_certificate(certificate_der)
        self._public = public = key.public_key()
        self._algorithm = _algorithm(public)
        # Whoever verifies brings the root: one that comes with the signature proves nothing.
        carried = {certificate_der, *(one for one in self.chain_ders if not is_root(one))}
        self._certificates = _carried(carried)
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
        return _attributes(content_type, digest, self._certificate_attribute)

    def sign(self, data: bytes) -> bytes:
        """The signature, if of ECDSA with the smaller s."""
        return low_s.normalize(self._signed(data), self._public)

    def _signed(self, data: bytes) -> bytes:
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
        held = self._certificates if certificates else b""
        signer = _signer_info(self._id, attributes, self._algorithm, signature, unsigned)
        return _content_info(content_type, content, held, signer)


def _algorithm(key: object) -> bytes:
    return _ECDSA_SHA256 if isinstance(key, ec.EllipticCurvePublicKey) else _RSA_SHA256


def carried_by(signer: bytes, certificates: Sequence[bytes]) -> set[bytes]:
    """Return the certificates that a signature holds: the signer's and its issuers' among these, without the root."""
    if signer not in certificates:
        raise Malformed("The certificate of the signature is not one of those that it is about")
    chain = [signer]
    while not is_root(chain[-1]):
        issuer = _named(chain[-1])[1]
        above = next((one for one in certificates if subject(one) == issuer and one not in chain), None)
        if above is None:
            break
        chain.append(above)
    return {signer, *(one for one in chain if not is_root(one))}


def _carried(certificates: Iterable[bytes]) -> bytes:
    return der.explicit(0, *sorted(certificates))


def _attributes(content_type: bytes, digest: bytes, certificate_attribute: bytes) -> bytes:
    return der.set_of(
        der.sequence(CONTENT_TYPE, der.set_of(content_type)),
        der.sequence(MESSAGE_DIGEST, der.set_of(der.octets(digest))),
        certificate_attribute,
    )


def _signer_info(name: bytes, attributes: bytes, algorithm: bytes, signature: bytes, unsigned: bytes) -> bytes:
    return der.sequence(
        der.integer(1),
        name,
        SHA256,
        b"\xa0" + attributes[1:],  # the same set, under the tag that it has inside
        algorithm,
        der.octets(signature),
        unsigned,
    )


def _content_info(content_type: bytes, content: bytes | None, certificates: bytes, signer: bytes) -> bytes:
    held = der.explicit(0, der.octets(content)) if content is not None else b""
    signed = der.sequence(
        der.integer(1 if content_type == DATA else 3),
        der.set_of(SHA256),
        der.sequence(content_type, held),
        certificates,
        der.set_of(signer),
    )
    return der.sequence(SIGNED_DATA, der.explicit(0, signed))


class Own(NamedTuple):
    """A SignedData byte for byte as a Signer writes it, and true: its signer's key signed its attributes."""

    content_type: bytes
    content: bytes | None
    digest: bytes
    """What was signed has this SHA-256."""
    signer: bytes
    certificates: list[bytes]
    signature: bytes
    token: bytes | None
    """Its time-stamp."""


def own(content_info: bytes) -> Own:
    """What a SignedData says that a Signer wrote; Malformed if one byte could have been written by anything else."""
    read, attributes, key = _own_form(content_info)
    _demand_true(key, read.signature, attributes, hashes.SHA256())
    return read


def check_signature(certificate: bytes, signature: bytes, data: bytes) -> None:
    """Malformed unless the certificate's key has signed the data, and a Signer would write the signature so."""
    key = public_key_of(certificate)
    _demand_smaller(signature, key)
    _demand_true(key, signature, data, hashes.SHA256())


def _demand_smaller(signature: bytes, key: object) -> None:
    if low_s.normalize(signature, key) != signature:
        raise Malformed("The signature is the other one of the two that ECDSA has for everything")


def demand_own_form(content_info: bytes) -> None:
    """Malformed if what is `verified` already was written by anything else than a Signer."""
    _own_form(content_info)


def _own_form(content_info: bytes) -> tuple[Own, bytes, object]:
    """What a SignedData in the form of a Signer says, its signed attributes, and whose key is to have signed them."""
    try:
        read = _own(content_info)
    except (IndexError, ValueError) as error:  # too few values to unpack, among others
        raise Malformed(str(error) if isinstance(error, Malformed) else "This is no SignedData") from error
    key, attributes = (
        public_key_of(read.signer),
        _attributes(read.content_type, read.digest, _signing_certificate(read.signer)),
    )
    unsigned = timestamp_attribute(read.token) if read.token is not None else b""
    signer = _signer_info(issuer_and_serial(read.signer), attributes, _algorithm(key), read.signature, unsigned)
    if content_info != _content_info(read.content_type, read.content, _carried(set(read.certificates)), signer):
        raise Malformed("The signature is not written as Deedbox writes signatures")
    _demand_smaller(read.signature, key)
    return read, attributes, key


def _own(content_info: bytes) -> Own:
    _, parts, signer = _parted(content_info)
    content_type, *held = der.children(parts[2].whole)
    content = der.children(held[0].whole, 0xA0)[0].content if held else None
    certificates = [one.whole for one in der.items(parts[3].content)]
    owner = next((one for one in certificates if issuer_and_serial(one) == signer[1].whole), None)
    digest = next(
        (one.content for name, value in map(_attribute, der.items(signer[3].content)) if name == MESSAGE_DIGEST
         for one in der.items(value)), None
    )  # fmt: skip
    if owner is None or digest is None:
        raise Malformed("The signature names no certificate that it holds, or signs nothing")
    if content is not None and hashlib.sha256(content).digest() != digest:
        raise Malformed("The signature is about something else")
    token = None
    if len(signer) == 7:
        (attribute,) = der.items(signer[6].content)
        (token_item,) = der.items(_attribute(attribute)[1])
        token = token_item.whole
    return Own(content_type.whole, content, digest, owner, certificates, signer[5].content, token)


def _attribute(item: Item) -> tuple[bytes, bytes]:
    """Name and values, one after the other, of an attribute."""
    name, values = der.children(item.whole)
    return name.whole, values.content


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


def normalize_signed_data(content_info: bytes, signer_der: bytes) -> bytes:
    """Another authority's SignedData without what nobody signed and with the smaller s: it is as true as before."""
    name, parts, signer = _parted(content_info)
    signature = low_s.normalize(signer[5].content, public_key_of(signer_der))
    signers = der.set_of(der.sequence(*(one.whole for one in signer[:5]), der.octets(signature)))
    signed = der.sequence(*(one.whole for one in parts[:-1]), signers)
    return der.sequence(name.whole, der.explicit(0, signed))


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


def is_root(certificate_der: bytes) -> bool:
    _, issuer, owner = _named(certificate_der)
    return issuer == owner


@lru_cache(maxsize=limits.SEAL_IDENTITIES)  # one certificate seals many files, and each file names it many times
def _named(certificate_der: bytes) -> tuple[bytes, bytes, bytes]:
    """Serial number, issuer and subject of a certificate, byte for byte."""
    body = der.children(der.children(certificate_der)[0].whole)
    fields = body[1:] if body and body[0].tag == 0xA0 else body
    if len(fields) < 5:
        raise Malformed("A certificate cannot be read")
    return fields[0].whole, fields[2].whole, fields[4].whole


@lru_cache(maxsize=limits.SEAL_IDENTITIES)
def _signing_certificate(certificate_der: bytes) -> bytes:
    """The ESSCertIDv2 attribute: the certificate's SHA-256, so that no other can take its place."""
    serial, issuer, _ = _named(certificate_der)
    name = der.sequence(der.sequence(der.explicit(4, issuer)), serial)
    cert_id = der.sequence(der.octets(hashlib.sha256(certificate_der).digest()), name)
    return der.sequence(SIGNING_CERTIFICATE_V2, der.set_of(der.sequence(der.sequence(cert_id))))


class Verified(NamedTuple):
    """What a SignedData holds, and the certificate whose key signed it, with the others that it carries."""

    content_type: bytes
    content: bytes
    signer: bytes
    certificates: list[bytes]


def verify_signed_data(content_info: bytes) -> Verified:
    """What a SignedData of any writer holds, if a certificate that it carries has signed it; else Malformed."""
    try:
        return _verified(content_info)
    except (IndexError, ValueError) as error:  # too few values to unpack, among others
        raise Malformed(str(error) if isinstance(error, Malformed) else "This is no SignedData") from error


def _verified(content_info: bytes) -> Verified:
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
    certificates = [one.whole for one in carried]
    owner = _check_signature(signers[0].whole, content_type.whole, content, certificates)
    return Verified(content_type.whole, content, owner, certificates)


def _check_signature(signer_info: bytes, content_type: bytes, content: bytes, certificates: list[bytes]) -> bytes:
    """The certificate whose key signed the content."""
    _, signer_id, algorithm, attributes, _, signature, *_ = der.children(signer_info)
    chosen = _HASHES.get(der.children(algorithm.whole)[0].whole)
    owner = next((one for one in certificates if issuer_and_serial(one) == signer_id.whole), None)
    if chosen is None or owner is None or attributes.tag != 0xA0:
        raise Malformed("The signature is of a kind that is not known here, or its certificate is missing")
    digest = hashes.Hash(chosen)
    digest.update(content)
    told = dict(_attribute(one) for one in der.items(attributes.content))
    about = told.get(MESSAGE_DIGEST), told.get(CONTENT_TYPE)
    if about != (der.octets(digest.finalize()), content_type):
        raise Malformed("The signature is about something else")
    if not _names_certificate(told, owner):
        raise Malformed("The signature was created with a different certificate from the one it contains")
    _demand_true(public_key_of(owner), signature.content, b"\x31" + attributes.whole[1:], chosen)
    return owner


def _names_certificate(attributes: dict[bytes, bytes], owner: bytes) -> bool:
    """Whether the attribute that says which certificate it is, which RFC 3161 demands, names this one."""
    named = attributes.get(SIGNING_CERTIFICATE_V2) or attributes.get(_SIGNING_CERTIFICATE) or b""
    return any(hashlib.new(name, owner).digest() in named for name in ("sha1", "sha256", "sha384", "sha512"))


def _demand_true(key: object, signature: bytes, signed: bytes, chosen: hashes.HashAlgorithm) -> None:
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, signed, ec.ECDSA(chosen))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, signed, _PKCS1, chosen)
        else:
            raise Malformed("The signature is of a kind that is not known here")
    except InvalidSignature as error:
        raise Malformed("The signature is not that of its certificate") from error


@lru_cache(maxsize=limits.SEAL_IDENTITIES)
def public_key_of(certificate_der: bytes) -> object:
    """The key of a certificate; Malformed if it cannot be read."""
    try:
        return x509.load_der_x509_certificate(certificate_der).public_key()
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise Malformed("The certificate of the signature cannot be read") from error
