"""Issues an installation's certificates, root → issuing → a workspace's seal and root → time-stamp unit, and CRLs."""

import hashlib
import stringprep
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

from deedbox.pdf.seal.cms import PrivateKey
from deedbox.pdf.verify.trust import DOCUMENT_SIGNING

ROOT_LIFE = timedelta(days=20 * 365)
ISSUING_LIFE = timedelta(days=10 * 365)
TIMESTAMP_UNIT_LIFE = timedelta(days=10 * 365)
SEAL_LIFE = timedelta(days=825)
ROOT_CRL_LIFE = timedelta(days=365)
ISSUING_CRL_LIFE = timedelta(days=7)
_NAME_BYTES = 64
"""What X.520 allows in a common name and in an organization's name."""
_EARLIER = timedelta(hours=1)
"""Certificates and CRLs begin before they are made, because clocks differ."""


class Issued(NamedTuple):
    """A certificate with its private key."""

    key: PrivateKey
    certificate: x509.Certificate

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def key_der(self) -> bytes:
        """The private key in PKCS #8, in clear: to be sealed before it is stored."""
        return self.key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


class Addresses(NamedTuple):
    """Where a certificate's issuer publishes its CRL and its own certificate."""

    crl: str
    certificate: str


class Revoked(NamedTuple):
    serial: int
    at: datetime
    reason: x509.ReasonFlags


def make_root(organization: str, *, now: datetime) -> Issued:
    key = _new_key()
    # The end of the key's fingerprint tells one installation's root from another's in a list of trusted roots.
    name = _name(f"Deedbox Root {_fingerprint(key)}", organization)
    builder = _begun(name, name, key, key.public_key(), now, now + ROOT_LIFE)
    return Issued(key, _authority(builder, path_length=1).sign(key, hashes.SHA256()))


def issue_intermediate(root: Issued, organization: str, addresses: Addresses | None, *, now: datetime) -> Issued:
    key = _new_key()
    name = _name(f"Deedbox Document Issuing {_fingerprint(key)}", organization)
    builder = _issued(name, key, root, ISSUING_LIFE, addresses, now)
    return Issued(key, _authority(builder, path_length=0).sign(root.key, hashes.SHA256()))


def make_timestamp_unit(root: Issued, organization: str, addresses: Addresses | None, *, now: datetime) -> Issued:
    """A time-stamp unit: its certificate is good for nothing else."""
    key = _new_key()
    name = _name(f"Deedbox Time-Stamp Unit {_fingerprint(key)}", organization)
    builder = _end(_issued(name, key, root, TIMESTAMP_UNIT_LIFE, addresses, now))
    only = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
    return Issued(key, builder.add_extension(only, critical=True).sign(root.key, hashes.SHA256()))


def make_seal(issuing: Issued, workspace: str, addresses: Addresses | None, *, now: datetime) -> Issued:
    """What a workspace seals its documents with."""
    key = _new_key()
    name = _name(f"{_cut(workspace, _NAME_BYTES - 14)} document seal", workspace)
    builder = _end(_issued(name, key, issuing, SEAL_LIFE, addresses, now))
    # Readers on NSS, poppler's pdfsig among them, know the younger usage not yet and look for that of signed mail.
    usage = x509.ExtendedKeyUsage([DOCUMENT_SIGNING, ExtendedKeyUsageOID.EMAIL_PROTECTION])
    return Issued(key, builder.add_extension(usage, critical=False).sign(issuing.key, hashes.SHA256()))


def make_crl(issuer: Issued, revoked: Iterable[Revoked], number: int, life: timedelta, *, now: datetime) -> bytes:
    """The list of what the issuer has revoked, in DER, good until `now + life`."""
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(issuer.certificate.subject)
        .last_update(_whole(now - _EARLIER))
        .next_update(_whole(now + life))
        .add_extension(x509.CRLNumber(number), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()), critical=False)
    )
    for one in revoked:
        builder = builder.add_revoked_certificate(_entry(one))
    return builder.sign(issuer.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def load_key(key_der: bytes) -> PrivateKey:
    """The key that `Issued.key_der` wrote down; TypeError if it is of a kind that does not sign here."""
    # Our own key comes from a sealed column: checking RSA primes again would cost more than signing.
    key = serialization.load_der_private_key(key_der, None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(key, PrivateKey):
        raise TypeError("The stored private key is neither an EC nor an RSA key")
    return key


def pem(certificate_ders: Sequence[bytes]) -> bytes:
    loaded = [x509.load_der_x509_certificate(der) for der in certificate_ders]
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in loaded)


def fingerprint(certificate_der: bytes) -> str:
    """The SHA-256 of the certificate, in hex: how people and records name it."""
    return hashlib.sha256(certificate_der).hexdigest()


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _fingerprint(key: PrivateKey) -> str:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key()).digest[-4:].hex()


def _name(common: str, organization: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _one_way(_cut(organization, _NAME_BYTES))),
            x509.NameAttribute(NameOID.COMMON_NAME, _one_way(_cut(common, _NAME_BYTES))),
        ]
    )


def _one_way(text: str) -> str:
    """As much of the text as a name may hold whose letters run in one direction only, as RFC 4518 demands.

    Of a mixture that is what runs from left to right; verifiers cannot compare a name that mixes them."""
    right = [at for at, letter in enumerate(text) if stringprep.in_table_d1(letter)]
    if not right:
        return text
    if any(stringprep.in_table_d2(letter) for letter in text):
        return " ".join("".join(letter for letter in text if not stringprep.in_table_d1(letter)).split()) or "-"
    return text[right[0] : right[-1] + 1]


def _cut(text: str, size: int) -> str:
    """As much of the text as fits; a hyphen where there is none, because a name must not be empty."""
    return text.encode()[:size].decode(errors="ignore").strip() or "-"


def _issued(
    name: x509.Name, key: PrivateKey, issuer: Issued, life: timedelta, addresses: Addresses | None, now: datetime
) -> x509.CertificateBuilder:
    # What outlives its issuer cannot be verified to its end.
    until = min(now + life, issuer.certificate.not_valid_after_utc)
    builder = _begun(name, issuer.certificate.subject, key, issuer.key.public_key(), now, until)
    if addresses is None:
        return builder
    crl = x509.DistributionPoint([x509.UniformResourceIdentifier(addresses.crl)], None, None, None)
    certificate = x509.AccessDescription(
        AuthorityInformationAccessOID.CA_ISSUERS, x509.UniformResourceIdentifier(addresses.certificate)
    )
    return builder.add_extension(x509.CRLDistributionPoints([crl]), critical=False).add_extension(
        x509.AuthorityInformationAccess([certificate]), critical=False
    )


def _begun(
    subject: x509.Name,
    issuer: x509.Name,
    key: PrivateKey,
    issuer_key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    now: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_whole(now - _EARLIER))
        .not_valid_after(_whole(until))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority, critical=False)
    )


def _authority(builder: x509.CertificateBuilder, path_length: int) -> x509.CertificateBuilder:
    return builder.add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True).add_extension(
        _usage(signs_certificates=True), critical=True
    )


def _end(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    return builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True).add_extension(
        _usage(signs_certificates=False), critical=True
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _entry(revoked: Revoked) -> x509.RevokedCertificate:
    entry = x509.RevokedCertificateBuilder().serial_number(revoked.serial).revocation_date(_whole(revoked.at))
    if revoked.reason is not x509.ReasonFlags.unspecified:  # which RFC 5280 wants left out
        entry = entry.add_extension(x509.CRLReason(revoked.reason), critical=False)
    return entry.build()


def _whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
