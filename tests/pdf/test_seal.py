"""A seal fits files of every shape, says what it was told, and stands before the programs of others."""

import asyncio
import hashlib
import io
from pathlib import Path
from typing import Any

import pikepdf
import pypdfium2
import pytest
from asn1crypto import x509 as asn1_x509
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.fields import MDPPerm
from pyhanko.sign.validation import async_validate_pdf_signature
from pyhanko.sign.validation.dss import DocumentSecurityStore
from pyhanko.sign.validation.settings import KeyUsageConstraints
from pyhanko_certvalidator import ValidationContext

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal import pades as seal
from deedbox.pdf.seal.pades import SealIdentity
from deedbox.pdf.verify.verify_pdf import verify
from tests.pdf import shapes
from tests.pdf.issued import NOW, end_entity, installation, keys, order, prepared, sealed
from tests.pdf.oracles import GOOD, cms_of, cms_verified, gap, pdfsig, qpdf, signed_bytes


def signature(pdf: bytes) -> Any:
    (found,) = PdfFileReader(io.BytesIO(pdf)).embedded_signatures
    return found


def status(pdf: bytes) -> Any:
    """pyHanko's full verdict, strict about the file, with our root as the only trust."""
    root = asn1_x509.Certificate.load(installation().root.der)
    signer, timestamper = (ValidationContext(trust_roots=[root], allow_fetching=False) for _ in range(2))
    checked = async_validate_pdf_signature(
        signature(pdf), signer, timestamper, key_usage_settings=KeyUsageConstraints(key_usage={"non_repudiation"})
    )
    return asyncio.run(checked)


def looks_of(pdf: bytes) -> list[bytes]:
    """The pixels of every page."""
    return [page.render(scale=0.5).to_pil().tobytes() for page in pypdfium2.PdfDocument(pdf)]


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_a_file_of_any_shape_is_sealed_and_every_judge_accepts_it(shape: str, tmp_path: Path) -> None:
    data = shapes.SHAPES[shape]()
    made = sealed(data)
    root = installation().root.der
    assert pdfsig(made, root, tmp_path) == GOOD
    assert qpdf(made, tmp_path) == ""
    assert cms_verified(cms_of(made), signed_bytes(made), [root], tmp_path) == "CMS Verification successful"
    verdict = status(made)
    assert verdict.bottom_line, verdict.pretty_print_details()
    assert verdict.coverage.name == "ENTIRE_FILE"
    assert verdict.timestamp_validity.trusted
    assert looks_of(made) == looks_of(data)
    assert verify(made, [root]).verdict == "authentic"


@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA 2048", "RSA 3072"])
def test_keys_of_every_kind_seal(kind: str, tmp_path: Path) -> None:
    made = installation()
    brought = end_entity(keys()[kind], made.issuing)
    identity = SealIdentity(brought.key, brought.der, [made.issuing.der, made.root.der])
    file = sealed(shapes.plain(), identity)
    assert pdfsig(file, made.root.der, tmp_path) == GOOD
    assert status(file).bottom_line
    assert verify(file, [made.root.der]).verdict == "authentic"


def test_the_seal_allows_no_change_and_names_document_and_audit_chain() -> None:
    file = sealed(
        shapes.plain(), document_id="doc_1", audit_head="ab" * 32, name="Größe", reason="Signed (by all)", location="\\"
    )
    found = signature(file)
    assert found.docmdp_level is MDPPerm.NO_CHANGES
    assert found.field_name == "Seal"
    dictionary = found.sig_object
    said = {"/Document": "doc_1", "/Part": "document", "/Audit": "ab" * 32, "/Timestamp": "own"}
    assert dictionary["/Deedbox"] == said
    assert (dictionary["/Name"], dictionary["/Reason"], dictionary["/Location"]) == ("Größe", "Signed (by all)", "\\")
    assert dictionary["/SubFilter"] == "/ETSI.CAdES.detached"
    assert dictionary["/M"] == NOW.strftime("D:%Y%m%d%H%M%SZ")


def test_what_is_needed_to_verify_is_in_the_sealed_revision() -> None:
    file = sealed(shapes.plain())
    reader = PdfFileReader(io.BytesIO(file))
    made = installation()
    store = DocumentSecurityStore.read_dss(reader)
    assert {one.dump() for one in store.load_certs()} >= {
        made.seal.der,
        made.issuing.der,
        made.root.der,
        made.timestamp_unit.der,
    }
    assert {crl.get_object().data for crl in store.crls} == set(made.crls)
    assert reader.xrefs.total_revisions == 2


def from_the_file_alone(pdf: bytes) -> bool:
    """pyHanko's verdict at the time of the time-stamp, without any look-up, each certificate's revocation checked."""
    root = asn1_x509.Certificate.load(installation().root.der)
    kept = DocumentSecurityStore.read_dss(PdfFileReader(io.BytesIO(pdf)))
    trust = {"trust_roots": [root], "allow_fetching": False, "revocation_mode": "require", "moment": NOW}
    signer, timestamper = (kept.as_validation_context(dict(trust)) for _ in range(2))
    return bool(asyncio.run(async_validate_pdf_signature(signature(pdf), signer, timestamper)).bottom_line)


def test_the_file_alone_proves_that_nothing_was_revoked_when_it_was_sealed() -> None:
    assert from_the_file_alone(sealed(shapes.form()))
    assert not from_the_file_alone(sealed(shapes.form(), crls=installation().crls[:1]))
    assert not from_the_file_alone(sealed(shapes.form(), crls=[]))


def test_a_field_that_is_called_seal_keeps_its_name_and_the_seal_gets_another() -> None:
    file = sealed(shapes.form_with_a_field_called_seal())
    assert signature(file).field_name == "Seal 3"
    with pikepdf.open(io.BytesIO(file)) as pdf:
        names = [str(field.T) for field in pdf.Root.AcroForm.Fields]
    assert names == ["Seal", "Seal 2", "Seal 3"]


def test_the_bytes_of_a_sound_file_stay_what_they_are_before_the_seal() -> None:
    for shape in (shapes.plain(), shapes.object_streams(), shapes.form()):
        assert sealed(shape).startswith(shape)


def test_what_an_earlier_revision_hid_does_not_come_under_the_seal() -> None:
    data = shapes.two_revisions()
    assert b"9 9 l" in data
    assert b"9 9 l" not in sealed(data)


def test_the_last_piece_begins_with_the_gap_and_the_digest_is_of_all_else() -> None:
    wish = order(installation().identity)
    pieces, place = prepared(shapes.plain(), wish)
    whole = b"".join(pieces)
    assert len(whole) == place.size
    assert sum(map(len, pieces[:-1])) == place.contents_at - 1
    assert pieces[-1].startswith(b"<" + b"0" * place.contents_length + b">")
    begin, size, after, rest = place.byte_range
    assert (begin, size, after, rest) == (0, place.contents_at - 1, place.size - rest, place.size - after)
    assert hashlib.sha256(whole[:size] + whole[after:]).digest() == place.digest


def test_the_room_is_enough_for_every_length_that_a_signature_can_have() -> None:
    made = installation()
    for kind in ("P-256", "P-384", "RSA 3072"):
        brought = end_entity(keys()[kind], made.issuing)
        identity = SealIdentity(brought.key, brought.der, [made.issuing.der])
        room = seal.room_for(identity, made.timestamper.most_bytes)
        sizes = {len(seal.cms_for(bytes(32), identity, made.timestamper, NOW)) for _ in range(200)}
        assert max(sizes) <= room
        assert kind.startswith("RSA") or len(sizes) > 1


def test_a_signature_that_does_not_fit_is_refused_and_never_cut() -> None:
    _, place = prepared(shapes.plain(), order(installation().identity, room=100))
    with pytest.raises(BadRequest, match="room for 100"):
        seal.hex_contents(place, bytes(101))
    assert seal.hex_contents(place, bytes(100)) == b"00" * 100


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a PDF"),
        (b"%PDF-1.4 nothing here", "not a PDF"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a PDF"),
    ],
)
def test_what_is_no_pdf_is_refused_by_name(data: bytes, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        prepared(data, order(installation().identity))


@pytest.mark.parametrize("user", ["", "secret"])
def test_an_encrypted_file_is_refused_by_name(user: str) -> None:
    out = io.BytesIO()
    encryption = pikepdf.Encryption(owner="owner", user=user)
    pikepdf.open(io.BytesIO(shapes.plain())).save(out, encryption=encryption)
    with pytest.raises(BadRequest, match="encrypted"):
        prepared(out.getvalue(), order(installation().identity))


def test_a_file_without_pages_is_refused_by_name() -> None:
    out = io.BytesIO()
    pikepdf.new().save(out)
    with pytest.raises(BadRequest, match="no pages"):
        prepared(out.getvalue(), order(installation().identity))


def test_a_sealed_file_is_not_sealed_again() -> None:
    with pytest.raises(BadRequest, match="signed already"):
        sealed(sealed(shapes.form()))


def test_one_changed_byte_of_all_that_is_signed_breaks_the_seal(tmp_path: Path) -> None:
    file = sealed(shapes.plain())
    start, end = gap(file)
    for place in [*range(20, start, start // 9), *range(end + 1, len(file) - 10, 70)]:
        altered = bytearray(file)
        altered[place] ^= 1
        assert pdfsig(bytes(altered), installation().root.der, tmp_path) != GOOD, place
