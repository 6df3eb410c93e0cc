"""Certificates and CRLs that openssl verifies, each good for its own purpose only."""

from datetime import timedelta
from pathlib import Path

import asn1crypto.x509
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from deedbox.authority import issue
from deedbox.authority.issue import Issued, Revoked
from deedbox.pdf.verify.trust import DOCUMENT_SIGNING
from tests.pdf.issued import AT, NOW, installation
from tests.pdf.oracles import run, said


def extension(issued: Issued, kind: type[x509.ExtensionType]) -> x509.Extension[x509.ExtensionType]:
    return issued.certificate.extensions.get_extension_for_class(kind)


def crl_pem(crl: bytes) -> bytes:
    return x509.load_der_x509_crl(crl).public_bytes(Encoding.PEM)


def verified(folder: Path, issued: Issued, purpose: str, crls: list[bytes]) -> str:
    """What openssl says of the certificate, with every issuer's CRL checked."""
    made = installation()
    (folder / "root.pem").write_bytes(issue.pem([made.root.der]) + b"".join(map(crl_pem, crls)))
    (folder / "issuing.pem").write_bytes(issue.pem([made.issuing.der]))
    (folder / "one.pem").write_bytes(issue.pem([issued.der]))
    words = ["-CAfile", "root.pem", "-untrusted", "issuing.pem", "-crl_check_all", "-x509_strict", "-purpose", purpose]
    done = run("openssl", "verify", *words, "one.pem", folder=folder)
    return done.stdout + done.stderr


def test_openssl_verifies_seal_and_time_stamp_unit_with_their_crls(tmp_path: Path) -> None:
    made = installation()
    assert verified(tmp_path, made.seal, "smimesign", made.crls) == "one.pem: OK\n"
    assert verified(tmp_path, made.timestamp_unit, "timestampsign", made.crls) == "one.pem: OK\n"


def test_a_seal_cannot_stamp_time_and_a_unit_cannot_sign_mail(tmp_path: Path) -> None:
    made = installation()
    assert "unsuitable certificate purpose" in verified(tmp_path, made.seal, "timestampsign", made.crls)
    assert "unsuitable certificate purpose" in verified(tmp_path, made.timestamp_unit, "smimesign", made.crls)


def test_a_revoked_seal_is_refused_from_the_next_crl_on(tmp_path: Path) -> None:
    made = installation()
    gone = Revoked(made.seal.certificate.serial_number, NOW, x509.ReasonFlags.key_compromise)
    crl = issue.make_crl(made.issuing, [gone], 2, issue.ISSUING_CRL_LIFE, now=NOW)
    assert "certificate revoked" in verified(tmp_path, made.seal, "smimesign", [made.crls[0], crl])
    (tmp_path / "crl").write_bytes(crl)
    text = said("openssl", "crl", "-inform", "DER", "-in", "crl", "-noout", "-text", folder=tmp_path)
    assert "Key Compromise" in text
    assert f"{gone.serial:X}" in text


def test_each_certificate_lives_as_long_as_its_kind_does() -> None:
    made = installation()
    lives = [
        one.certificate.not_valid_after_utc - NOW for one in (made.root, made.issuing, made.timestamp_unit, made.seal)
    ]
    assert lives == [timedelta(days=7300), timedelta(days=3650), timedelta(days=3650), timedelta(days=825)]


def test_nothing_outlives_its_issuer() -> None:
    made = installation()
    late = made.issuing.certificate.not_valid_after_utc - timedelta(days=10)
    seal = issue.make_seal(made.issuing, "Acme", None, now=late)
    assert seal.certificate.not_valid_after_utc == made.issuing.certificate.not_valid_after_utc


def test_a_time_stamp_unit_has_its_purpose_marked_as_critical_and_no_other() -> None:
    found = extension(installation().timestamp_unit, x509.ExtendedKeyUsage)
    assert found.critical
    assert found.value == x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])


def test_a_seal_is_for_signing_documents() -> None:
    usage = extension(installation().seal, x509.KeyUsage).value
    assert isinstance(usage, x509.KeyUsage)
    assert usage.content_commitment
    assert not usage.key_cert_sign
    purposes = extension(installation().seal, x509.ExtendedKeyUsage).value
    assert isinstance(purposes, x509.ExtendedKeyUsage)
    assert DOCUMENT_SIGNING in purposes


def test_an_issuing_authority_can_make_no_authority_below_it() -> None:
    assert extension(installation().issuing, x509.BasicConstraints).value == x509.BasicConstraints(True, 0)
    assert extension(installation().root, x509.BasicConstraints).value == x509.BasicConstraints(True, 1)


def test_a_certificate_says_where_its_issuer_publishes() -> None:
    for issued in (installation().seal, installation().issuing, installation().timestamp_unit):
        points = extension(issued, x509.CRLDistributionPoints).value
        access = extension(issued, x509.AuthorityInformationAccess).value
        assert isinstance(points, x509.CRLDistributionPoints)
        assert isinstance(access, x509.AuthorityInformationAccess)
        assert [name.value for name in points[0].full_name or ()] == [AT.crl]
        assert [one.access_location.value for one in access] == [AT.certificate]


def test_without_an_address_nothing_is_said_of_one() -> None:
    issued = issue.make_seal(installation().issuing, "Acme", None, now=NOW)
    with pytest.raises(x509.ExtensionNotFound):
        extension(issued, x509.CRLDistributionPoints)


@pytest.mark.parametrize("name", ["", " ", "Ä" * 100, "株式会社" * 30, "a\u0300" * 70])
def test_a_workspace_may_have_any_name(name: str) -> None:
    subject = issue.make_seal(installation().issuing, name, None, now=NOW).certificate.subject
    for attribute in subject:
        assert 1 <= len(str(attribute.value).encode()) <= 64
    assert "document seal" in subject.rfc4514_string()


def test_a_key_comes_back_from_how_it_is_kept() -> None:
    seal = installation().seal
    assert issue.load_key(seal.key_der).public_key() == seal.key.public_key()
    with pytest.raises(ValueError):
        issue.load_key(b"nothing")


def test_a_fingerprint_is_the_one_that_openssl_prints(tmp_path: Path) -> None:
    root = installation().root.der
    (tmp_path / "root.pem").write_bytes(issue.pem([root]))
    text = said("openssl", "x509", "-in", "root.pem", "-noout", "-fingerprint", "-sha256", folder=tmp_path)
    assert text.strip().split("=")[1].replace(":", "").lower() == issue.fingerprint(root)


@pytest.mark.parametrize(
    ("workspace", "organization", "common"),
    [
        ("Harbour Ltd", "Harbour Ltd", "Harbour Ltd document seal"),
        ("港湾株式会社", "港湾株式会社", "港湾株式会社 document seal"),
        ("شركة الميناء", "شركة الميناء", "document seal"),
        ("شركة 5", "شركة", "5 document seal"),
        ("נמל Harbour", "Harbour", "Harbour document seal"),
    ],
)
def test_a_workspace_s_name_is_one_that_verifiers_can_compare(workspace: str, organization: str, common: str) -> None:
    made = issue.make_seal(installation().issuing, workspace, None, now=NOW)
    subject = asn1crypto.x509.Certificate.load(made.der).subject
    assert subject.hashable, "a name that mixes directions raises here"
    assert (subject.native["organization_name"], subject.native["common_name"]) == (organization, common)
