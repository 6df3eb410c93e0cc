"""A throw-away certificate authority, shaped like the real one: root → issuing → seal, root → time-stamp unit."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

from asn1crypto import crl, keys
from asn1crypto import x509 as asn1
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from deedbox.pdf.verify.trust import DOCUMENT_SIGNING

DER = serialization.Encoding.DER
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
YEAR = timedelta(days=365)
SEALING = (DOCUMENT_SIGNING, ExtendedKeyUsageOID.EMAIL_PROTECTION)
ISSUED = datetime(2026, 1, 1, tzinfo=UTC)


class Holder:
    """A certificate and its key."""

    def __init__(self, certificate: x509.Certificate, key: Key) -> None:
        self.certificate = certificate
        self.key = key
        self.der = certificate.public_bytes(DER)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")

    @property
    def asn1(self) -> asn1.Certificate:
        return asn1.Certificate.load(self.der)

    @property
    def asn1_key(self) -> keys.PrivateKeyInfo:
        plain = self.key.private_bytes(DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return keys.PrivateKeyInfo.load(plain)


def issue(
    name: str,
    issuer: Holder | None = None,
    *,
    ca: bool = False,
    usages: Sequence[x509.ObjectIdentifier] = (),
    begins: datetime = ISSUED,
    ends: datetime = ISSUED + 10 * YEAR,
    with_rsa: bool = False,
) -> Holder:
    """A new certificate; without an issuer it signs itself."""
    key: Key = rsa.generate_private_key(65537, 2048) if with_rsa else ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signing_key = issuer.key if issuer else key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca, None), critical=True)
        .add_extension(key_usage(ca), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
    )
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=True)
    return Holder(builder.sign(signing_key, hashes.SHA256()), key)


def key_usage(ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(not ca, not ca, False, False, False, ca, ca, False, False)


def revocation_list(
    issuer: Holder,
    revoked: Sequence[tuple[Holder, datetime, x509.ReasonFlags | None]] = (),
    *,
    at: datetime = ISSUED + timedelta(days=1),
) -> bytes:
    """A CRL in DER."""
    builder = x509.CertificateRevocationListBuilder().issuer_name(issuer.certificate.subject)
    builder = builder.last_update(at).next_update(at + YEAR)
    for holder, when, reason in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(holder.certificate.serial_number).revocation_date(when)
        if reason is not None:
            entry = entry.add_extension(x509.CRLReason(reason), critical=False)
        builder = builder.add_revoked_certificate(entry.build())
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()), critical=False
    ).add_extension(x509.CRLNumber(1), critical=False)
    return builder.sign(issuer.key, hashes.SHA256()).public_bytes(DER)


class Authority:
    """Everything an installation has; another one makes what is foreign to it."""

    def __init__(self, name: str = "Test", *, ends: datetime = ISSUED + 10 * YEAR) -> None:
        self.root = issue(f"{name} Root", ca=True, ends=ISSUED + 20 * YEAR)
        self.issuing = issue(f"{name} Issuing", self.root, ca=True, ends=ISSUED + 15 * YEAR)
        self.seal = issue(f"{name} Seal", self.issuing, ends=ends, usages=SEALING)
        # pyHanko's time-stamper for tests knows only RSA.
        self.timestamper = issue(f"{name} Time", self.root, usages=[ExtendedKeyUsageOID.TIME_STAMPING], with_rsa=True)

    @cached_property
    def crls(self) -> list[bytes]:
        return [revocation_list(self.root), revocation_list(self.issuing)]

    @property
    def asn1_crls(self) -> list[crl.CertificateList]:
        return [crl.CertificateList.load(one) for one in self.crls]

    @property
    def roots(self) -> list[bytes]:
        return [self.root.der]
