"""A whole authority for tests, and files sealed under it as the server seals them."""

import functools
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from deedbox.authority import issue
from deedbox.authority.issue import Addresses, Issued
from deedbox.pdf.seal import pades as seal
from deedbox.pdf.seal.cms import CmsSigner, PrivateKey
from deedbox.pdf.seal.pades import PreparedSeal, SealIdentity, SealParameters
from deedbox.pdf.seal.timestamp import Timestamper
from tests.pdf.pki import SEALING

# The programs that judge take no clock in hand: what they are shown must be good now.
NOW = datetime.now(UTC).replace(microsecond=0)
AT = Addresses("http://127.0.0.1:9/crl/a.crl", "http://127.0.0.1:9/ca/a.cer")


class Installation(NamedTuple):
    root: Issued
    issuing: Issued
    timestamp_unit: Issued
    seal: Issued
    crls: list[bytes]

    @property
    def identity(self) -> SealIdentity:
        return SealIdentity(self.seal.key, self.seal.der, [self.issuing.der, self.root.der], self.crls)

    @property
    def timestamper(self) -> Timestamper:
        return Timestamper(CmsSigner(self.timestamp_unit.key, self.timestamp_unit.der, [self.root.der]), self.crls[:1])


@functools.cache
def installation() -> Installation:
    root = issue.make_root("Test", now=NOW)
    issuing = issue.issue_intermediate(root, "Test", AT, now=NOW)
    timestamp_unit = issue.make_timestamp_unit(root, "Test", AT, now=NOW)
    crls = [
        issue.make_crl(root, [], 1, issue.ROOT_CRL_LIFE, now=NOW),
        issue.make_crl(issuing, [], 1, issue.ISSUING_CRL_LIFE, now=NOW),
    ]
    return Installation(root, issuing, timestamp_unit, issue.make_seal(issuing, "Acme", AT, now=NOW), crls)


def end_entity(
    key: PrivateKey, issuer: Issued, name: str = "Other", *usages: x509.ObjectIdentifier, **changes: bool
) -> Issued:
    """A certificate for a key of any kind, as another authority could issue it."""
    usage = {
        "digital_signature": True, "content_commitment": True, "key_cert_sign": False, "crl_sign": False,
        "key_encipherment": False, "data_encipherment": False, "key_agreement": False, "encipher_only": False,
        "decipher_only": False, **changes,
    }  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=30))
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()), critical=False)
        .add_extension(x509.ExtendedKeyUsage(usages or SEALING), critical=False)
    )
    return Issued(key, builder.sign(issuer.key, hashes.SHA256()))


@functools.cache
def keys() -> dict[str, PrivateKey]:
    return {
        "P-256": ec.generate_private_key(ec.SECP256R1()),
        "P-384": ec.generate_private_key(ec.SECP384R1()),
        "RSA 2048": rsa.generate_private_key(65537, 2048),
        "RSA 3072": rsa.generate_private_key(65537, 3072),
    }


def order(identity: SealIdentity, **changes: object) -> SealParameters:
    made = installation()
    certificates = [identity.certificate_der, *identity.chain_ders, made.timestamp_unit.der]
    room = seal.room_for(identity, made.timestamper.most_bytes)
    wish = {"room": room, "signed_at": NOW, "certificates": certificates, "crls": made.crls, **changes}
    return SealParameters(**wish)  # type: ignore[arg-type]


def prepared(data: bytes, wish: SealParameters) -> tuple[list[bytes], PreparedSeal]:
    """What `prepare` yields and what it returns."""
    pieces, steps = [], seal.prepare(data, wish)
    while True:
        try:
            pieces.append(next(steps))
        except StopIteration as end:
            return pieces, end.value


def sealed(data: bytes, identity: SealIdentity | None = None, **changes: object) -> bytes:
    """The file with its seal, as the server makes it."""
    who = identity or installation().identity
    pieces, place = prepared(data, order(who, **changes))
    cms_der = seal.cms_for(place.digest, who, installation().timestamper, NOW)
    file = bytearray(b"".join(pieces))
    file[place.contents_at : place.contents_at + place.contents_length] = seal.hex_contents(place, cms_der)
    return bytes(file)
