"""A hand-written CMS is what pyHanko's own builder writes, and openssl verifies it."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest
from asn1crypto import cms as asn1_cms
from asn1crypto import keys as asn1_keys
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from pyhanko.sign import signers
from pyhanko.sign.ades.api import CAdESSignedAttrSpec
from pyhanko.sign.signers.pdf_cms import PdfCMSSignedAttributes
from pyhanko_certvalidator.registry import SimpleCertificateStore

from deedbox.authority.issue import Issued
from deedbox.pdf.seal import cms, der
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.der import Malformed
from tests.pdf.issued import NOW, end_entity, installation, keys
from tests.pdf.oracles import cms_verified

CONTENT = b"What was agreed"
EMPTY = der.sequence(cms.SIGNED_DATA, der.explicit(0, der.sequence()))
DIGEST = hashlib.sha256(CONTENT).digest()


def signer(issued: Issued | None = None) -> CmsSigner:
    made = installation()
    who = issued or made.seal
    return CmsSigner(who.key, who.der, [made.issuing.der, made.root.der])


def parsed(cms_der: bytes) -> Any:
    info = asn1_cms.ContentInfo.load(cms_der, strict=True)
    assert info["content_type"].native == "signed_data"
    return info["content"]


def attributes(signed_data: Any) -> dict[str, bytes]:
    (one,) = signed_data["signer_infos"]
    return {attribute["type"].native: attribute["values"].dump() for attribute in one["signed_attrs"]}


def from_pyhanko(issued: Issued) -> bytes:
    """The same signature by the library's own builder."""
    made = installation()
    registry = SimpleCertificateStore()  # type: ignore[no-untyped-call]
    registry.register_multiple([asn1_x509.Certificate.load(made.issuing.der)])
    simple = signers.SimpleSigner(
        asn1_x509.Certificate.load(issued.der), asn1_keys.PrivateKeyInfo.load(issued.key_der), registry
    )
    settings = PdfCMSSignedAttributes(cades_signed_attrs=CAdESSignedAttrSpec())
    built = simple.async_sign(DIGEST, "sha256", use_pades=True, signed_attr_settings=settings)
    return bytes(asyncio.run(built).dump())


@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA 2048", "RSA 3072"])
def test_openssl_verifies_a_signature_with_each_kind_of_key(kind: str, tmp_path: Path) -> None:
    made = installation()
    brought = end_entity(keys()[kind], made.issuing)
    written = signer(brought).signed_data(cms.DATA, None, DIGEST)
    assert cms_verified(written, CONTENT, [made.root.der], tmp_path) == "CMS Verification successful"
    assert "successful" not in cms_verified(written, CONTENT + b"!", [made.root.der], tmp_path)


@pytest.mark.parametrize("kind", ["P-256", "RSA 2048"])
def test_a_signature_has_the_fields_that_pyhanko_gives_it(kind: str) -> None:
    brought = end_entity(keys()[kind], installation().issuing)
    ours, theirs = parsed(signer(brought).signed_data(cms.DATA, None, DIGEST)), parsed(from_pyhanko(brought))
    assert ours["version"].native == theirs["version"].native
    assert ours["encap_content_info"].dump() == theirs["encap_content_info"].dump()
    assert ours["digest_algorithms"].native == theirs["digest_algorithms"].native
    assert {one.chosen.dump() for one in ours["certificates"]} == {one.chosen.dump() for one in theirs["certificates"]}
    (one,), (other,) = ours["signer_infos"], theirs["signer_infos"]
    for field in ("version", "sid"):
        assert one[field].dump() == other[field].dump()
    for field in ("digest_algorithm", "signature_algorithm"):
        assert one[field]["algorithm"].native == other[field]["algorithm"].native
    mine, library = attributes(ours), attributes(theirs)
    assert {name: mine[name] for name in ("content_type", "message_digest")} == {
        name: library[name] for name in ("content_type", "message_digest")
    }
    assert set(mine) == {"content_type", "message_digest", "signing_certificate_v2"}
    assert mine["signing_certificate_v2"] == library["signing_certificate_v2"]


def test_the_signed_attributes_stand_in_the_order_that_der_demands() -> None:
    (one,) = parsed(signer().signed_data(cms.DATA, None, DIGEST))["signer_infos"]
    encoded = [attribute.dump() for attribute in one["signed_attrs"]]
    assert encoded == sorted(encoded)


def test_the_certificates_are_carried_but_for_the_root() -> None:
    made = installation()
    data = parsed(signer().signed_data(cms.DATA, None, DIGEST))
    assert {one.chosen.dump() for one in data["certificates"]} == {made.seal.der, made.issuing.der}
    bare = parsed(signer().signed_data(cms.DATA, None, DIGEST, certificates=False))
    assert not bare["certificates"]


def test_a_time_stamp_of_the_signature_goes_into_the_unsigned_attributes() -> None:
    made, digests = installation(), []

    def timestamp(digest: bytes) -> bytes:
        digests.append(digest)
        return made.timestamper.token(digest, NOW)

    (one,) = parsed(signer().signed_data(cms.DATA, None, DIGEST, timestamp=timestamp))["signer_infos"]
    assert digests == [hashlib.sha256(one["signature"].native).digest()]
    (attribute,) = one["unsigned_attrs"]
    assert attribute["type"].native == "signature_time_stamp_token"
    info = attribute["values"][0]["content"]["encap_content_info"]["content"].parsed
    assert info["message_imprint"]["hashed_message"].native == digests[0]


def test_the_most_bytes_are_never_exceeded() -> None:
    for key in keys().values():
        one = signer(end_entity(key, installation().issuing))
        assert max(len(one.signed_data(cms.DATA, None, DIGEST)) for _ in range(50)) <= one.most_bytes


def test_a_certificate_is_named_by_the_bytes_that_stand_in_it() -> None:
    for der_bytes in (installation().seal.der, installation().root.der):
        known = asn1_x509.Certificate.load(der_bytes)
        name = asn1_cms.IssuerAndSerialNumber({"issuer": known.issuer, "serial_number": known.serial_number})
        assert cms.issuer_and_serial(der_bytes) == name.dump()
        assert cms.subject(der_bytes) == x509.load_der_x509_certificate(der_bytes).subject.public_bytes()
    assert cms.is_root(installation().root.der)
    assert not cms.is_root(installation().issuing.der)


@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA 2048"])
def test_what_a_signed_data_holds_is_given_out_only_if_its_signature_is_good(kind: str) -> None:
    one = signer(end_entity(keys()[kind], installation().issuing))
    good = one.signed_data(cms.SIGNED_DATA, CONTENT, DIGEST)
    assert cms.verify_signed_data(good)[:3] == (cms.SIGNED_DATA, CONTENT, one.certificate_der)
    with pytest.raises(Malformed, match="something else"):
        cms.verify_signed_data(good.replace(CONTENT, CONTENT[:-1] + b"?"))
    with pytest.raises(Malformed, match="something else"):
        cms.verify_signed_data(one.signed_data(cms.SIGNED_DATA, CONTENT, bytes(32)))
    with pytest.raises(Malformed, match="missing"):
        cms.verify_signed_data(one.signed_data(cms.SIGNED_DATA, CONTENT, DIGEST, certificates=False))
    forged = one.assembled(cms.SIGNED_DATA, CONTENT, one.attributes(cms.SIGNED_DATA, DIGEST), one.sign(b"other"))
    with pytest.raises(Malformed, match="not that of its certificate"):
        cms.verify_signed_data(forged)


def test_what_is_no_signed_data_is_refused() -> None:
    for wrong in (b"", der.sequence(cms.DATA, der.explicit(0, der.octets(b"x"))), der.integer(1), EMPTY):
        with pytest.raises(Malformed):
            cms.verify_signed_data(wrong)
