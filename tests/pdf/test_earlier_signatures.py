# mypy: disable-error-code="no-untyped-call"
"""The signatures that a file brings along: checked, named, and then only their looks are left."""

import io
from collections.abc import Callable

import pikepdf
import pytest
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import fields, signers
from pyhanko.stamp import TextStampStyle
from pyhanko_certvalidator.registry import SimpleCertificateStore

from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake import earlier_signatures
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.intake.signed_input import IntakeTerms
from deedbox.pdf.seal import gap
from tests.pdf.annotated import WORD, annotation, text_field
from tests.pdf.papers import drained, lines, paper, saved, shown, text_of
from tests.pdf.pki import Authority
from tests.pdf.sealed import SIGNED, archived, document, sealed, updated
from tests.pdf.test_intake import locked

NOW = instant(SIGNED)
FLATTEN = IntakeTerms(signed_input="flatten")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def visibly_signed(authority: Authority, data: bytes = b"", password: str | None = None) -> bytes:
    """Signed as a desktop program does it: a box on the page that says who."""
    holder = authority.seal
    writer = IncrementalPdfFileWriter(io.BytesIO(data or paper(lines("A contract"))))
    if password is not None:
        writer.encrypt(password)
    fields.append_signature_field(writer, fields.SigFieldSpec("Tenant", box=(60, 100, 260, 160)))
    signer = signers.PdfSigner(
        signers.PdfSignatureMetadata(field_name="Tenant"),
        signers.SimpleSigner(holder.asn1, holder.asn1_key, SimpleCertificateStore()),
        stamp_style=TextStampStyle(stamp_text=f"{WORD} %(signer)s"),
    )
    return bytes(signer.sign_pdf(writer).getvalue())


def test_a_signature_is_named_with_its_signer_its_times_and_what_it_covers(authority: Authority) -> None:
    [found] = earlier_signatures.signatures(sealed(authority, document()), NOW)
    assert (found.kind, found.valid, found.covers_entire_file, found.problem) == ("signature", True, True, None)
    assert found.signer == authority.seal.asn1.subject.native["common_name"]
    assert authority.issuing.asn1.subject.native["common_name"] in found.issuer
    assert found.timestamped_at == instant(SIGNED)


def test_a_signature_about_an_earlier_state_says_so(authority: Authority) -> None:
    first, second = earlier_signatures.signatures(archived(authority, sealed(authority, document())), NOW)
    assert (first.kind, first.covers_entire_file, first.valid) == ("signature", False, True)
    assert (second.kind, second.covers_entire_file, second.valid) == ("timestamp", True, True)


def test_a_change_after_a_signature_that_forbids_it_makes_it_invalid(authority: Authority) -> None:
    [found] = earlier_signatures.signatures(updated(sealed(authority, document())), NOW)
    assert (found.covers_entire_file, found.valid) == (False, False)
    assert found.problem


def test_a_file_changed_under_its_signature_says_that_it_is_not_valid(authority: Authority) -> None:
    data = sealed(authority, document())
    [found] = earlier_signatures.signatures(data.replace(b"595 842", b"595 843"), NOW)
    assert (found.valid, found.problem is not None) == (False, True)


def test_signatures_that_cannot_be_read_are_a_reason_to_refuse() -> None:
    with pytest.raises(BadRequest, match="its signatures cannot be checked"):
        earlier_signatures.signatures(paper(), NOW)
    with pytest.raises(BadRequest, match="its signatures cannot be checked"):
        earlier_signatures.signatures(locked("secret"), NOW)


def _swap(data: bytes, old: bytes, new: bytes) -> bytes:
    """The same file, to the byte, but for this."""
    assert old in data
    return data.replace(old, new.ljust(len(old)))


def _digits(data: bytes, new: bytes) -> bytes:
    """The file with another signature in the gap of its byte range, which ends in zeros."""
    place = gap.find(data, gap.traces(data)[0])
    return data[: place.start + 1] + new.ljust(place.end - place.start - 2, b"0") + data[place.end - 1 :]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: _swap(data, b"/adbe.pkcs7.detached", b"/adbe.x509.rsa_sha1"), "the old form adbe.x509.rsa_sha1"),
        (lambda data: _swap(data, b"/adbe.pkcs7.detached", b"/adbe.pkcs7.sha1"), "the old form adbe.pkcs7.sha1"),
        (lambda data: _digits(data, b"04820100" + b"ab" * 256), "could not be checked"),
        (lambda data: _digits(data, b""), "could not be checked"),
        (lambda data: _swap(data, b"/T (Tenant)", b"/Q (Tenant)"), "no form field with a name"),
        (lambda data: _swap(data, b"/ByteRange", b"/ByteRongs"), "could not be checked"),
        (lambda data: b"junk\n" + data, "could not be checked"),
        (lambda data: _swap(data, b"startxref\n", b"startxxxx\n"), "could not be checked"),
    ],
)
def test_a_signature_that_cannot_be_checked_is_named_with_the_reason(
    authority: Authority, change: Callable[[bytes], bytes], problem: str
) -> None:
    data = change(visibly_signed(authority))
    made, known = drained(intake.take_in(data, FLATTEN))
    [found] = earlier_signatures.signatures(data, NOW)
    assert (known.signed, WORD in text_of(made), found.valid) == (True, True, False)
    assert problem in (found.problem or "")


def test_a_certified_file_without_a_field_names_its_signature(authority: Authority) -> None:
    with pikepdf.open(io.BytesIO(visibly_signed(authority))) as pdf:
        pdf.Root["/Perms"] = pikepdf.Dictionary(DocMDP=pdf.Root.AcroForm.Fields[0].V)
        del pdf.Root["/AcroForm"]
        data = saved(pdf)
    assert drained(intake.take_in(data, FLATTEN))[1].signed
    assert [found.valid for found in earlier_signatures.signatures(data, NOW)] == [False]


def test_a_signed_file_is_refused_unless_it_is_to_be_flattened(authority: Authority) -> None:
    with pytest.raises(BadRequest, match="already signed"):
        drained(intake.take_in(visibly_signed(authority)))


def test_the_look_of_a_signature_becomes_part_of_the_page_and_the_signature_is_gone(authority: Authority) -> None:
    data = visibly_signed(authority)
    made, known = drained(intake.take_in(data, FLATTEN))
    assert known.signed
    assert WORD in text_of(made)
    before, after = (shown(one).crop((60, 842 - 160, 260, 842 - 100)) for one in (data, made))
    dark = [sum(value < 128 for value in image.convert("L").tobytes()) for image in (before, after)]
    assert dark[1] >= 0.8 * dark[0] > 50
    assert gap.traces(made) == []
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert "/AcroForm" not in pdf.Root
        assert not any(b"/ByteRange" in one.unparse(resolved=True) for one in pdf.objects if not isinstance(one, int))


def test_a_signature_that_the_structure_of_a_page_leads_to_does_not_stay(authority: Authority) -> None:
    with pikepdf.open(io.BytesIO(visibly_signed(authority))) as pdf:
        tied = pikepdf.Dictionary(Type=pikepdf.Name.OBJR, Obj=pdf.pages[0].obj.Annots[0])
        pdf.Root["/StructTreeRoot"] = pikepdf.Dictionary(K=pikepdf.Dictionary(S=pikepdf.Name.Form, K=tied))
        data = io.BytesIO()
        pdf.save(data)
    made, _ = drained(intake.take_in(data.getvalue(), FLATTEN))
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert not any(b"/ByteRange" in one.unparse(resolved=True) for one in pdf.objects if not isinstance(one, int))


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("password", ["", "secret"])
def test_the_signatures_of_a_locked_file_are_checked_too(authority: Authority, version: int, password: str) -> None:
    data = visibly_signed(authority, locked(password, version), password)
    [found] = earlier_signatures.signatures(data, NOW, password or None)
    assert (found.valid, found.covers_entire_file) == (True, True)
    made, known = drained(intake.take_in(data, IntakeTerms(password or None, "flatten")))
    assert (known.signed, WORD in text_of(made)) == (True, True)
    with pytest.raises(BadRequest, match="is encrypted"):
        earlier_signatures.signatures(data, NOW, "guess")


def test_a_signature_keeps_its_look_in_a_form_that_viewers_are_to_draw_anew(authority: Authority) -> None:
    with pikepdf.open(io.BytesIO(visibly_signed(authority))) as pdf:
        pdf.Root.AcroForm["/NeedAppearances"] = True
        field = annotation("Widget", Rect=[300, 100, 400, 130], **text_field("Bergen"))
        pdf.pages[0].obj.Annots.append(pdf.make_indirect(field))
        made, _ = drained(intake.take_in(saved(pdf), FLATTEN))
    assert (WORD in text_of(made), "Bergen" in text_of(made)) == (True, True)


def test_a_file_without_signatures_is_taken_as_ever() -> None:
    given = paper()  # once: the file's own number is of the moment in which it is made
    assert drained(intake.take_in(given, FLATTEN)) == drained(intake.take_in(given))
