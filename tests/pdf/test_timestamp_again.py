"""A sealed file gets another time-stamp: every judge sees the new one, and no signed byte is another."""

import hashlib
import io
import random
from datetime import timedelta
from pathlib import Path

import pytest
from asn1crypto import cms as asn1_cms
from asn1crypto import x509
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.validation import validate_pdf_signature
from pyhanko_certvalidator import ValidationContext

from deedbox.authority import issue
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal import cms, der, timestamp, timestamp_again
from deedbox.pdf.seal import pades as seal
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.seal.timestamp import Timestamper
from deedbox.pdf.verify.verify_pdf import verify
from tests.pdf import shapes
from tests.pdf.issued import NOW, installation, order, prepared, sealed
from tests.pdf.oracles import GOOD, cms_of, cms_verified, gap, pdfsig, qpdf, said, signed_bytes

LATER = NOW + timedelta(hours=5)
SHAPES = ["plain", "object_streams", "form", "linearised", "hybrid"]


def elsewhere() -> tuple[bytes, Timestamper]:
    """The root of another authority, and its time-stamp unit."""
    root = issue.make_root("Elsewhere", now=NOW)
    unit = issue.make_timestamp_unit(root, "Elsewhere", None, now=NOW)
    return root.der, Timestamper(CmsSigner(unit.key, unit.der, [root.der]))


def roomy(data: bytes) -> bytes:
    """The file sealed with a time-stamp of its own while another authority is configured, with room for its token."""
    return sealed(data, room=12_000, timestamp="any")


def stamped_again(pdf: bytes, unit: Timestamper, tail_bytes: int = 100_000) -> bytes:
    tail = pdf[-tail_bytes:]
    found = timestamp_again.last_seal(tail, len(pdf) - len(tail))
    digits = found.with_timestamp(unit.token(found.digest, LATER))
    return pdf[: found.contents_at] + digits + pdf[found.contents_at + found.contents_length :]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_judge_accepts_the_file_with_its_new_time_stamp(shape: str, tmp_path: Path) -> None:
    before = roomy(shapes.SHAPES[shape]())
    _, unit = elsewhere()
    after = stamped_again(before, unit)
    root = installation().root.der
    assert pdfsig(after, root, tmp_path) == GOOD
    assert qpdf(after, tmp_path) == ""
    assert cms_verified(cms_of(after), signed_bytes(after), [root], tmp_path) == "CMS Verification successful"
    for file in (before, after):
        assert verify(file, [root]).verdict == "authentic"


def test_only_digits_in_the_gap_change() -> None:
    before = roomy(shapes.plain())
    after = stamped_again(before, elsewhere()[1])
    assert after != before
    assert signed_bytes(after) == signed_bytes(before)
    assert gap(after) == gap(before)


def test_the_new_time_stamp_is_the_only_one_and_its_authority_can_be_trusted(tmp_path: Path) -> None:
    root, unit = elsewhere()
    after = stamped_again(roomy(shapes.plain()), unit)
    (signer,) = asn1_cms.ContentInfo.load(cms_of(after), strict=True)["content"]["signer_infos"]
    (attribute,) = signer["unsigned_attrs"]
    (token,) = attribute["values"]
    (tmp_path / "token.der").write_bytes(token.dump())
    (tmp_path / "signature.bin").write_bytes(signer["signature"].native)
    (tmp_path / "root.pem").write_bytes(issue.pem([root]))
    words = ["-token_in", "-in", "token.der", "-data", "signature.bin", "-CAfile", "root.pem"]
    assert "Verification: OK" in said("openssl", "ts", "-verify", *words, folder=tmp_path)
    report = verify(after, [installation().root.der, root])
    assert (report.verdict, report.checks.timestamp) == ("authentic", True)
    assert report.signatures[0].timestamp_time == instant(LATER)
    assert timestamp.made_at(token.dump()) == LATER.replace(microsecond=0)


def test_a_root_for_time_stamps_vouches_for_the_time_and_for_nothing_else() -> None:
    root, unit = elsewhere()
    own = installation().root.der
    after = stamped_again(roomy(shapes.plain()), unit)
    years_later = instant(NOW + timedelta(days=3 * 365))
    assert verify(after, [own], now=years_later).verdict == "unrecognised"
    report = verify(after, [own], now=years_later, timestamp_roots=[root])
    assert (report.verdict, report.checks.timestamp, report.reasons) == ("authentic", True, [])
    assert verify(after, [root], timestamp_roots=[own]).verdict == "unrecognised"


def test_stock_pyhanko_believes_the_new_time_stamp() -> None:
    root, unit = elsewhere()
    after = stamped_again(roomy(shapes.plain()), unit)
    (signature,) = PdfFileReader(io.BytesIO(after)).embedded_signatures
    roots = [x509.Certificate.load(one) for one in (root, installation().root.der)]
    status = validate_pdf_signature(signature, ValidationContext(trust_roots=roots, moment=LATER))
    assert status.bottom_line
    assert status.timestamp_validity is not None
    assert status.timestamp_validity.timestamp == LATER.replace(microsecond=0)


def test_it_can_be_done_again() -> None:
    once = stamped_again(roomy(shapes.plain()), elsewhere()[1])
    root, unit = elsewhere()
    twice = stamped_again(once, unit)
    assert verify(twice, [installation().root.der], timestamp_roots=[root]).checks.timestamp is True


def test_a_later_time_stamp_of_our_own_unit_is_no_way_to_move_the_time() -> None:
    for pdf in (roomy(shapes.plain()), sealed(shapes.plain())):
        assert verify(pdf, [installation().root.der]).verdict == "authentic"
        report = verify(stamped_again(pdf, installation().timestamper), [installation().root.der])
        assert (report.verdict, report.reasons) == (
            "altered",
            ["Seal: The timestamp is not the one created when the file was sealed."],
        )


def test_a_seal_that_says_it_has_our_own_time_stamp_takes_no_other() -> None:
    root, unit = elsewhere()
    report = verify(stamped_again(sealed(shapes.plain(), room=12_000), unit), [installation().root.der, root])
    assert report.verdict == "altered"
    assert "replaced" in report.reasons[0]


def test_a_time_stamp_that_is_missing_shows_until_there_is_one() -> None:
    made, (root, unit) = installation(), elsewhere()
    pieces, place = prepared(shapes.plain(), order(made.identity, timestamp="any"))
    bare = bytearray(b"".join(pieces))
    cms_der = seal.cms_for(place.digest, made.identity, None, NOW)
    bare[place.contents_at : place.contents_at + place.contents_length] = seal.hex_contents(place, cms_der)
    stripped = verify(bytes(bare), [made.root.der])
    assert (stripped.verdict, "removed" in stripped.reasons[0]) == ("altered", True)
    report = verify(stamped_again(bytes(bare), unit), [made.root.der], timestamp_roots=[root])
    assert (report.verdict, report.checks.timestamp) == ("authentic", True)


def test_a_time_stamp_too_large_for_the_gap_is_refused() -> None:
    pdf = sealed(shapes.plain())
    found = timestamp_again.last_seal(pdf, 0)
    with pytest.raises(BadRequest, match="larger than the space"):
        found.with_timestamp(bytes(found.contents_length))


def test_the_gap_is_found_however_much_of_the_end_is_shown_if_only_enough() -> None:
    pdf = roomy(shapes.plain())
    whole = timestamp_again.last_seal(pdf, 0)
    assert (whole.contents_at, whole.contents_at + whole.contents_length) == gap(pdf)
    start = pdf.rindex(b"/ByteRange")
    assert timestamp_again.last_seal(pdf[start:], start) == whole
    with pytest.raises(BadRequest, match="does not end with a seal"):
        timestamp_again.last_seal(pdf[start + 1 :], start + 1)


def test_a_file_that_grew_after_its_seal_or_has_none_is_refused() -> None:
    pdf = roomy(shapes.plain())
    for other in (pdf + b"\n", shapes.plain(), b"", b"/ByteRange [0 1 2 3]"):
        with pytest.raises(BadRequest, match="does not end with a seal"):
            timestamp_again.last_seal(other, 0)


def test_what_looks_like_a_byte_range_in_the_document_does_not_mislead() -> None:
    pdf = roomy(shapes.plain())
    decoy = b"/ByteRange [0 4 8 %d]" % (len(pdf) - 8)
    tail = pdf + decoy
    with pytest.raises(BadRequest, match="does not end with a seal"):
        timestamp_again.last_seal(tail, 0)
    in_front = roomy(shapes.plain() + b"%" + decoy + b"\n")
    assert gap(in_front)[0] == timestamp_again.last_seal(in_front, 0).contents_at


def test_what_is_no_signature_is_refused_whatever_its_bytes() -> None:
    whole = cms_of(roomy(shapes.plain()))
    token = installation().timestamper.token(hashlib.sha256(b"").digest(), NOW)
    assert cms.signature_in(cms.with_timestamp(whole, token)) == cms.signature_in(whole)
    several = der.sequence(cms.SIGNED_DATA, der.explicit(0, der.sequence(der.integer(1), der.set_of(b"", b""))))
    for bad in (b"", b"\x30\x00", several, whole[:-1], der.sequence(cms.DATA, der.explicit(0, der.sequence()))):
        with pytest.raises(Malformed):
            cms.signature_in(bad)
    chance = random.Random(7)
    for _ in range(300):
        harmed = bytearray(whole)
        harmed[chance.randrange(len(harmed))] ^= 1 << chance.randrange(8)
        try:
            cms.with_timestamp(bytes(harmed), token)
        except Malformed:
            continue


def test_a_token_tells_its_time_only_if_it_is_one() -> None:
    token = installation().timestamper.token(hashlib.sha256(b"").digest(), NOW)
    assert timestamp.made_at(token) == NOW.replace(microsecond=0)
    for bad in (b"", token[:-1], cms_of(roomy(shapes.plain()))):
        with pytest.raises(Malformed):
            timestamp.made_at(bad)
