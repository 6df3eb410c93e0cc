"""The strict reader: it reads what our writer writes, and nothing else."""

import io
import random
import subprocess
from pathlib import Path

import pikepdf
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.seal import cms, low_s
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.verify import sealed_form, syntax
from deedbox.pdf.verify.verify_pdf import verify
from tests.pdf import shapes
from tests.pdf.issued import NOW, end_entity, installation, keys, order, prepared, sealed
from tests.pdf.oracles import need
from tests.pdf.papers import drained


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_it_reads_the_seal_of_a_file_of_any_shape_whole_or_by_its_end(shape: str) -> None:
    made = sealed(shapes.SHAPES[shape](), document_id="doc_1", audit_head="ab" * 32, name="Größe", reason="(yes)")
    form = sealed_form.read(made)
    told = form.order
    assert (told.document_id, told.audit_head, told.name, told.reason) == ("doc_1", "ab" * 32, "Größe", "(yes)")
    assert (told.signed_at, told.timestamp, told.crls) == (NOW, "own", installation().crls)
    assert form.signed[1][1] == len(made)
    cut = form.base_bytes - 100
    assert sealed_form.read(made[cut:], cut)[:6] == form[:6]


def test_a_text_of_any_byte_is_read_as_the_library_writes_it() -> None:
    """It writes short texts with few of such bytes in brackets, and the others in digits."""
    for byte in range(256):
        for text in (b"%b", b"in the middle %b of a text", b"before a digit %b7"):
            whole = text % bytes([byte])
            written = pikepdf.String(whole).unparse()
            assert syntax.value_at(written, 0) == (whole, len(written)), written


def test_a_file_with_any_identifier_can_be_sealed() -> None:
    """Programs choose one at random; one in 150,000 holds the byte that a strict reader refused."""
    with pikepdf.open(io.BytesIO(shapes.plain())) as pdf:
        pdf.trailer["/ID"] = pikepdf.Array([pikepdf.String(b'\\"T[\xa0#^Nz/|*SMsN'), pikepdf.String(b"0" * 16)])
        made = io.BytesIO()
        pdf.save(made)
    given, _ = drained(intake.take_in(made.getvalue()))
    assert sealed_form.read(sealed(given)).size_bytes > len(given)


def test_what_is_put_into_the_revision_by_a_sandbox_is_refused() -> None:
    """As if it had been taken over: whatever it writes would be signed."""
    pieces, place = prepared(shapes.plain(), order(installation().identity))
    whole = b"".join(pieces)
    filled = whole[: place.contents_at] + b"3000" + whole[place.contents_at + 4 :]
    assert sealed_form.read(filled).cms_der == b"\x30\x00"
    start = sealed_form.read(filled).base_bytes
    refused = 0
    for old, new in [
        (b" obj\n<< ", b" obj\n<<\x0b"), (b"/SigFlags 3", b"/SigFlags 1"), (b"/P 1 /V", b"/P 2 /V"),
        (b"/F 132", b"/F 128"), (b"/Type /DSS", b"/Type /DSX"), (b"/Rect [0 0 0 0]", b"/Rect [0 0 9 9]"),
        (b"/Perms <<", b"/Permz <<"), (b" 00000 n ", b" 00001 n "), (b"trailer\n", b"trailer "),
        (b"/Timestamp (own)", b"/Timestamp (old)"), (b"endobj\n", b"endobj "), (b"%%EOF\n", b"%%EOF "),
    ]:  # fmt: skip
        changed = filled[:start] + filled[start:].replace(old, new, 1)
        assert changed != filled, old
        with pytest.raises(Malformed):
            sealed_form.read(changed)
        refused += 1
    assert refused == 12


def test_no_byte_of_a_seal_can_be_another_whatever_it_is() -> None:
    made, chance = sealed(shapes.plain()), random.Random(3)
    form = sealed_form.read(made)
    room = made.rindex(b"/ByteRange") + 40  # which general readers cannot read when it is spoilt
    for at in [room, *(chance.randrange(form.base_bytes, len(made)) for _ in range(150))]:
        changed = made[:at] + bytes([made[at] ^ 1 << chance.randrange(8)]) + made[at + 1 :]
        assert verify(changed, [installation().root.der]).verdict == "altered", at


@pytest.mark.parametrize("words", [[], ["--linearize"], ["--object-streams=generate"], ["--qdf"]])
def test_a_file_saved_anew_is_altered_and_told_what_to_do(words: list[str], tmp_path: Path) -> None:
    need("qpdf")
    (tmp_path / "in.pdf").write_bytes(sealed(shapes.plain(), document_id="doc_1"))
    subprocess.run(["qpdf", *words, "in.pdf", "out.pdf"], cwd=tmp_path, check=True)
    report = verify((tmp_path / "out.pdf").read_bytes(), [installation().root.der])
    assert (report.verdict, report.document_id) == ("altered", None)
    assert any("may be unchanged" in reason and "share only that file" in reason for reason in report.reasons)


def test_a_file_saved_anew_by_the_library_is_altered_too() -> None:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(sealed(shapes.plain(), document_id="doc_1"))) as pdf:
        pdf.save(out, static_id=True)
    assert verify(out.getvalue(), [installation().root.der]).verdict == "altered"


@pytest.mark.parametrize(
    "text",
    [b"<< /A 1 /A 2 >>", b"<</A 1 >>", b"<< /A  1 >>", b"<< /A\x0b1 >>", b"<< /A 1 %x\n>>", b"[1  2]", b"[1\t2]",
     b"<0aB1>", b"<0 a>", b"(a(b)c)", b"(\\q)", b"(a\rb)", b"/A#61", b"--1", b"1 0 r", b"<< 1 /A >>",
     b"01 0 R ", b"[" * 99],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_no_value(text: bytes) -> None:
    try:
        value, end = syntax.value_at(text + b" ", 0)
    except Malformed:
        return
    assert end != len(text), value


def test_values_are_read_as_they_are_written() -> None:
    text = b"<< /A#20B [1 -2.5 3 0 R] /C (a\\(b\\051) /D <feff0041>\n/E << >> /F true /G null /H [ /I ] >>"
    value, end = syntax.value_at(text, 0)
    assert end == len(text)
    assert value["A B"][2] == syntax.ObjectReference(3, 0)
    assert value["A B"][:2] == [syntax.number(1), syntax.Number("-2.5")]
    assert (value["C"], syntax.text(value["D"]), value["E"], value["F"], value["G"]) == (b"a(b)", "A", {}, True, None)
    assert value["H"] == ["I"]


def test_what_viewers_may_read_otherwise_is_not_the_same() -> None:
    """A page that was written again with 90.0 for 90, or true for 1, was shown turned, or with other colours."""
    alike = [(b"90", b"90.0"), (b"1", b"true"), (b"0", b"false"), (b"600", b"0600"), (b"1", b"+1"), (b"/90", b"90")]
    for one, other in alike:
        assert syntax.value_at(one, 0)[0] != syntax.value_at(other, 0)[0], (one, other)


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_of_two_signatures_only_the_one_with_the_smaller_s_is_written(curve: ec.EllipticCurve) -> None:
    key = ec.generate_private_key(curve)
    public, changed = key.public_key(), 0
    for number in range(64):
        content = b"%d" % number
        signature = key.sign(content, ec.ECDSA(hashes.SHA256()))
        lower = low_s.normalize(signature, public)
        public.verify(lower, content, ec.ECDSA(hashes.SHA256()))
        assert utils.decode_dss_signature(lower)[1] <= utils.decode_dss_signature(signature)[1]
        changed += lower != signature
    assert 0 < changed < 64


@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA 2048"])
def test_a_signature_as_ours_is_read_and_one_with_any_other_byte_is_not(kind: str) -> None:
    one = end_entity(keys()[kind], installation().issuing)
    signer = cms.CmsSigner(one.key, one.der, [installation().issuing.der])
    whole, chance = signer.signed_data(cms.DATA, None, bytes(32)), random.Random(5)
    read = cms.own(whole)
    assert (read.digest, read.signer, read.token) == (bytes(32), one.der, None)
    unseen = 0
    for _ in range(200):
        at = chance.randrange(len(whole))
        changed = whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :]
        try:
            # Only a certificate above the signer's can differ here; the seal holds it to the one under its signature.
            unseen += cms.own(changed).certificates == read.certificates
        except Malformed:
            continue
    assert unseen == 0
