"""A certificate that the workspace brings: used as it is, or refused by name."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID

from deedbox.authority import Certificates, limits
from deedbox.authority.issue import Issued
from deedbox.kernel.crypto import Secret, ValueCipher
from deedbox.kernel.db import Database
from deedbox.kernel.errors import BadRequest, Conflict, NotFound
from deedbox.pdf.seal.cms import PrivateKey
from tests.authority.test_certificates import BASE, certificates, ring, workspace
from tests.conftest import HandClock
from tests.pdf import issued as foreign
from tests.pdf.pki import SEALING

__all__ = ["certificates", "ring", "workspace"]

pytestmark = pytest.mark.anyio


def packed(key: object, certificate: x509.Certificate | None, others: list[x509.Certificate] | None = None) -> bytes:
    encryption = serialization.BestAvailableEncryption(b"word")
    return pkcs12.serialize_key_and_certificates(b"seal", key, certificate, others, encryption)  # type: ignore[arg-type]


def brought(key: PrivateKey, **usage: bool) -> Issued:
    return foreign.end_entity(key, foreign.installation().issuing, "Other", **usage)


def above() -> list[x509.Certificate]:
    made = foreign.installation()
    return [made.root.certificate, made.issuing.certificate]


@pytest.fixture
def today(clock: HandClock) -> None:
    clock.time = foreign.NOW


@pytest.mark.usefixtures("today")
@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA 2048"])
async def test_a_workspace_seals_with_the_certificate_that_it_brought(
    certificates: Certificates, db: Database, ring: Path, clock: HandClock, workspace: str, kind: str
) -> None:
    ours = await certificates.seal_identity(workspace)
    own = brought(foreign.keys()[kind])
    shown = await certificates.use_pkcs12(workspace, packed(own.key, own.certificate, above()), Secret("word"))
    assert (shown.brought, shown.status) == (True, "in use")
    for process in (certificates, Certificates(db, ValueCipher(ring), clock, BASE)):
        identity = await process.seal_identity(workspace)
        assert identity.certificate_der == own.der
        assert identity.chain_ders == (foreign.installation().issuing.der, foreign.installation().root.der)
        assert identity.crl_ders == ()
        assert identity.key.public_key() == own.key.public_key()
    assert (await certificates.renew_seal(workspace)).fingerprint not in (ours.fingerprint, identity.fingerprint)
    assert (await certificates.seal_identity(workspace)).crl_ders


@pytest.mark.usefixtures("today")
async def test_a_brought_certificate_that_has_ended_is_named_and_never_replaced_in_silence(
    certificates: Certificates, clock: HandClock, workspace: str
) -> None:
    own = brought(foreign.keys()["P-256"])
    shown = await certificates.use_pkcs12(workspace, packed(own.key, own.certificate, above()), Secret("word"))
    with pytest.raises(Conflict, match="only its issuer"):
        await certificates.revoke(shown.id)
    clock.forward(31 * 86_400)
    with pytest.raises(Conflict, match="ended"):
        await certificates.seal_identity(workspace)


_REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "no PKCS 12": (lambda: b"nothing", "damaged"),
    "too large": (lambda: bytes(limits.PKCS12_BYTES + 1), "larger"),
    "RSA 1024": (lambda: _pack(brought(rsa.generate_private_key(65537, 1024))), "at least 2048"),
    "P-521": (lambda: _pack(brought(ec.generate_private_key(ec.SECP521R1()))), "P-256 or P-384"),
    "Ed25519": (lambda: _pack(brought(ed25519.Ed25519PrivateKey.generate())), "P-256 or P-384"),  # type: ignore[arg-type]
    "usage": (lambda: _pack(_own(digital_signature=False, content_commitment=False, key_agreement=True)), "key usage"),
    "no key": (lambda: packed(None, _own().certificate, above()), "must hold a private key"),
    "no issuers": (lambda: packed(_own().key, _own().certificate, None), "issuers"),
    "a server's usage": (lambda: _pack(_own_usage(ExtendedKeyUsageOID.SERVER_AUTH)), "document signing"),
    "a usage too many": (lambda: _pack(_own_usage(*SEALING, ExtendedKeyUsageOID.CLIENT_AUTH)), "document signing"),
    "an authority": (lambda: _pack(foreign.installation().issuing), "authority"),
    "wrong issuer": (lambda: packed(_own().key, _own().certificate, [_impostor().certificate]), "did not issue"),
}


def _own(**usage: bool) -> Issued:
    return brought(foreign.keys()["P-256"], **usage)


def _own_usage(*usages: x509.ObjectIdentifier) -> Issued:
    return foreign.end_entity(foreign.keys()["P-256"], foreign.installation().issuing, "Other", *usages)


def _pack(issued: Issued) -> bytes:
    return packed(issued.key, issued.certificate, above())


def _impostor() -> Issued:
    """Another authority under the name of the one that issued."""
    made = foreign.installation()
    impostor = Issued(made.seal.key, made.issuing.certificate)
    builder = (
        x509.CertificateBuilder()
        .subject_name(made.issuing.certificate.subject)
        .issuer_name(made.root.certificate.subject)
        .public_key(impostor.key.public_key())
        .serial_number(7)
        .not_valid_before(foreign.NOW - timedelta(days=1))
        .not_valid_after(foreign.NOW + timedelta(days=30))
    )
    return Issued(impostor.key, builder.sign(made.seal.key, hashes.SHA256()))


@pytest.mark.usefixtures("today")
@pytest.mark.parametrize("case", _REFUSED)
@pytest.mark.one_database
async def test_what_would_not_seal_well_is_refused_by_name_and_ours_stays(
    certificates: Certificates, workspace: str, case: str
) -> None:
    make, reason = _REFUSED[case]
    ours = await certificates.seal_identity(workspace)
    with pytest.raises(BadRequest, match=reason):
        await certificates.use_pkcs12(workspace, make(), Secret("word"))
    assert (await certificates.seal_identity(workspace)).fingerprint == ours.fingerprint


@pytest.mark.usefixtures("today")
async def test_a_wrong_password_an_ended_certificate_and_another_workspace_are_refused(
    certificates: Certificates, clock: HandClock, workspace: str
) -> None:
    file = _pack(_own())
    with pytest.raises(BadRequest, match="password is wrong"):
        await certificates.use_pkcs12(workspace, file, Secret("other"))
    with pytest.raises(NotFound):
        await certificates.use_pkcs12("wsp_none", file, Secret("word"))
    clock.forward(31 * 86_400)
    with pytest.raises(BadRequest, match="ended"):
        await certificates.use_pkcs12(workspace, file, Secret("word"))
