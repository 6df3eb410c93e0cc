"""What becomes of PDFs from outside: taken in whole, or refused by name."""

import io
import random
import re
from typing import Any

import msgspec
import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake import damage, signed_input
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.intake.signed_input import IntakeTerms
from tests.pdf import shapes
from tests.pdf.papers import add_page, drained, lines, paper, saved, scribble, shown, text_of
from tests.pdf.shapes import assembled, stream


def refusal(data: bytes, terms: IntakeTerms | None = None) -> str:
    with pytest.raises(BadRequest) as refused:
        drained(intake.take_in(data, terms))
    return refused.value.message


def signed(**entries: Any) -> bytes:
    """A file with a field for a signature, and what is put into it."""
    with pikepdf.new() as pdf:
        page = add_page(pdf, lines("Signed"))
        usual = {"FT": Name.Sig, "T": "Seal", "Rect": Array([0, 0, 0, 0])}
        field = pdf.make_indirect(Dictionary(Type=Name.Annot, Subtype=Name.Widget, **{**usual, **entries}))
        page["/Annots"] = Array([field])
        pdf.Root["/AcroForm"] = Dictionary(Fields=Array([field]), SigFlags=3)
        return saved(pdf)


def test_a_plain_file_comes_back_with_its_pages_as_they_are_displayed() -> None:
    made, known = drained(intake.take_in(paper(lines("One"), lines("Two"), Rotate=90)))
    assert [(page.width, page.height) for page in known.pages] == [(842, 595), (842, 595)]
    assert (known.tags, known.removed, known.repaired) == ((), (), False)
    assert "Two" in text_of(made, 2)


def test_the_same_file_becomes_the_same_bytes() -> None:
    data = paper(lines("One"))
    assert drained(intake.take_in(data))[0] == drained(intake.take_in(data))[0]


def test_what_was_taken_in_can_be_taken_in_again_unchanged_in_its_look() -> None:
    once, known = drained(intake.take_in(paper(lines("One {{date:Buyer}}"))))
    twice, again = drained(intake.take_in(once))
    assert again == msgspec.structs.replace(known, tags=())
    assert shown(once).tobytes() == shown(twice).tobytes()


def test_a_file_with_junk_before_its_header_is_taken() -> None:
    made, known = drained(intake.take_in(b"Content-Type: application/pdf\r\n\r\n" + paper(lines("One"))))
    assert len(known.pages) == 1
    assert made.startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (scribble(), "a PNG image"),
        (scribble(mode="RGB", kind="JPEG"), "a JPEG image"),
        (b"PK\x03\x04" + bytes(99), "a ZIP file"),
        (b"<!DOCTYPE html><p>", "an HTML page"),
    ],
)
def test_another_kind_of_file_is_refused_with_what_it_is(data: bytes, what: str) -> None:
    assert refusal(data).startswith(f"This file is not a PDF: it is {what}")


def test_bytes_of_no_known_kind_are_refused_as_no_pdf() -> None:
    assert refusal(b"hello") == intake.NOT_A_PDF
    assert refusal(b"") == "This file is empty"


def locked(user: str, version: int = 6, owner: str = "owner", content: bytes = b"") -> bytes:
    with pikepdf.open(io.BytesIO(content or paper(lines("A secret clause")))) as pdf:
        safe = pikepdf.Encryption(owner=owner, user=user, R=version, aes=version >= 4, metadata=version >= 4)  # type: ignore[arg-type]
        return saved(pdf, encryption=safe)


@pytest.mark.parametrize("version", [2, 3, 4, 6])
def test_a_protected_file_that_opens_without_a_password_is_taken_and_its_protection_named(version: int) -> None:
    made, known = drained(intake.take_in(locked("", version)))
    assert "A secret clause" in text_of(made)
    assert known.removed == (intake.PROTECTION,)
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert not pdf.is_encrypted


@pytest.mark.parametrize("version", [2, 3, 4, 6])
@pytest.mark.parametrize("password", ["schlüssel", "owner"])
def test_a_locked_file_is_opened_by_either_of_its_passwords(version: int, password: str) -> None:
    made, known = drained(intake.take_in(locked("schlüssel", version), IntakeTerms(password=password)))
    assert "A secret clause" in text_of(made)
    assert known.removed == (intake.PROTECTION,)


@pytest.mark.parametrize("version", [2, 3, 4, 6])
def test_a_locked_file_is_refused_without_its_password_and_with_another(version: int) -> None:
    data = locked("secret", version)
    assert refusal(data) == signed_input.LOCKED
    assert refusal(data, IntakeTerms(password="guess")) == signed_input.NOT_OPENED
    assert "guess" not in refusal(data, IntakeTerms(password="guess"))


def test_a_password_that_no_file_asks_for_does_no_harm() -> None:
    given = paper()  # once: the file's own number is of the moment in which it is made
    assert drained(intake.take_in(given, IntakeTerms(password="x"))) == drained(intake.take_in(given))


def test_a_form_in_a_locked_file_is_drawn() -> None:
    with pikepdf.open(io.BytesIO(signed(FT=Name.Tx, V="Bergen", Rect=Array([60, 600, 200, 620])))) as pdf:
        made, _ = drained(intake.take_in(locked("secret", 4, content=saved(pdf)), IntakeTerms(password="secret")))
    assert "Bergen" in text_of(made)


def test_a_signed_file_is_refused_and_one_with_an_empty_signature_field_is_not() -> None:
    assert refusal(signed(V=Dictionary(Type=Name.Sig, Contents=pikepdf.String(bytes(9))))) == intake.SIGNED
    _, known = drained(intake.take_in(signed()))
    assert len(known.pages) == 1


def test_a_signature_deep_in_a_group_of_fields_is_seen() -> None:
    with pikepdf.new() as pdf:
        add_page(pdf, b"")
        leaf = pdf.make_indirect(Dictionary(T="leaf", V=Dictionary(Type=Name.Sig)))
        group = pdf.make_indirect(Dictionary(T="group", FT=Name.Sig, Kids=Array([leaf])))
        leaf["/Parent"] = group
        pdf.Root["/AcroForm"] = Dictionary(Fields=Array([group]))
        assert refusal(saved(pdf)) == intake.SIGNED


def test_a_certified_file_is_refused_though_its_form_hides_the_signature() -> None:
    with pikepdf.open(io.BytesIO(paper())) as pdf:
        pdf.Root["/Perms"] = Dictionary(DocMDP=Dictionary(Type=Name.Sig))
        assert refusal(saved(pdf)) == intake.SIGNED


def test_a_file_without_pages_is_refused() -> None:
    with pikepdf.new() as pdf:
        assert refusal(saved(pdf)) == intake.NO_PAGES


def test_a_file_of_two_thousand_pages_is_taken_with_the_tags_at_its_ends() -> None:
    with pikepdf.new() as pdf:
        for number in range(2000):
            add_page(pdf, lines("{{initials:Buyer}}" if number in (0, 1999) else f"Page {number}"))
        data = saved(pdf)
    _, known = drained(intake.take_in(data))
    assert len(known.pages) == 2000
    assert [tag.place.page for tag in known.tags] == [1, 2000]


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_PAGES", 2)
    assert refusal(paper(b"", b"", b"")) == intake.TOO_MANY_PAGES


def test_too_many_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_FILE_BYTES", 100)
    assert refusal(paper()) == intake.TOO_LARGE


def test_a_file_of_fifty_megabytes_is_taken() -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, lines("Large"))
        noise = random.Random(1).randbytes(10 * limits.MB - 5000)
        for number in range(5):
            image = pdf.make_stream(noise + bytes([number]))
            page.Resources[f"/X{number}"] = image
        data = saved(pdf, compress_streams=False)
    assert 49 * limits.MB < len(data) <= 50 * limits.MB
    made, _ = drained(intake.take_in(data))
    assert "Large" in text_of(made)


def test_a_page_too_small_to_sign_is_refused_with_its_number() -> None:
    with pikepdf.new() as pdf:
        add_page(pdf, b"")
        add_page(pdf, b"", (0, 0, 1, 1))
        assert refusal(saved(pdf)).startswith("Page 2 of this PDF is 1 × 1 points")


def test_boxes_on_which_viewers_disagree_are_written_as_they_are_understood() -> None:
    with pikepdf.new() as pdf:
        add_page(pdf, b"", (0, 0, 400, 600), CropBox=Array([10, 10, 10, 10]), Rotate=-90, UserUnit=0)
        add_page(pdf, b"", (400, 600, 0, 0), CropBox=Array([-50, 100, 900, 500]), Rotate=45)
        add_page(pdf, b"", (0, 0, 0, 0), Rotate=Name.Left)
        made, known = drained(intake.take_in(saved(pdf)))
    assert [(page.width, page.height) for page in known.pages] == [(600, 400), (400, 400), (612, 792)]
    with pikepdf.open(io.BytesIO(made)) as pdf:
        pages = [page.obj for page in pdf.pages]
        boxes = [[float(edge) for edge in page.get("/CropBox", page.MediaBox)] for page in pages]
        assert boxes == [[0, 0, 400, 600], [0, 100, 400, 500], [0, 0, 612, 792]]
        assert [int(page.Rotate) for page in pages] == [270, 0, 0]
        assert "/UserUnit" not in pages[0]


@pytest.mark.parametrize("mode", [pikepdf.ObjectStreamMode.disable, pikepdf.ObjectStreamMode.generate])
def test_a_file_cut_off_anywhere_loses_nothing_or_is_refused(mode: pikepdf.ObjectStreamMode) -> None:
    with pikepdf.open(io.BytesIO(paper(*(lines(f"Clause {n}") for n in range(4))))) as pdf:
        data = saved(pdf, object_stream_mode=mode)
    taken = 0
    for end in [*range(9, len(data), 41), len(data) - 3]:
        try:
            made, known = drained(intake.take_in(data[:end]))
        except BadRequest:
            continue
        taken += 1
        assert len(known.pages) == 4
        assert all(f"Clause {n}" in text_of(made, n + 1) for n in range(4))
    assert taken > 0
    assert refusal(data[: len(data) // 2]) in (damage.DAMAGED, intake.NO_PAGES)


def test_a_file_whose_table_of_objects_is_wrong_is_repaired() -> None:
    with pikepdf.open(io.BytesIO(paper(lines("Whole")))) as pdf:
        data = saved(pdf, object_stream_mode=pikepdf.ObjectStreamMode.disable)
    made, _ = drained(intake.take_in(data.replace(b"startxref\n", b"startxref\n9")))
    assert "Whole" in text_of(made)


def test_a_trailer_without_size_gets_one() -> None:
    with pikepdf.open(io.BytesIO(paper(lines("Whole")))) as pdf:
        data = saved(pdf, object_stream_mode=pikepdf.ObjectStreamMode.disable)
    assert b"/Size" in data
    made, _ = drained(intake.take_in(data.replace(b"/Size", b"/Xize")))
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert int(pdf.trailer["/Size"]) > 1


def test_damage_in_the_middle_is_mended_or_refused_and_nothing_else() -> None:
    chance = random.Random(7)
    data = paper(lines("Clause 1"), lines("Clause 2"))
    outcomes = set()
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(chance.choice((1, 5, 30))):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        try:
            drained(intake.take_in(bytes(broken)))
            outcomes.add("taken")
        except BadRequest:
            outcomes.add("refused")
    assert outcomes == {"taken", "refused"}


@pytest.mark.parametrize("size", [1, 5, 999])
def test_a_wrong_count_of_objects_loses_nothing(size: int) -> None:
    """A reference to nothing is no loss where the table of objects can be read."""
    whole = assembled({
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /PieceInfo 77 0 R >>",
        4: stream(b"0 0 m 9 9 l S"),
    })  # fmt: skip
    _, known = drained(intake.take_in(re.sub(rb"/Size \d+", b"/Size %d" % size, whole)))
    assert len(known.pages) == 1


def test_a_missing_part_of_a_damaged_file_is_named() -> None:
    damaged = shapes.wrong_table().replace(b"/Contents", b"/PieceInfo 77 0 R /Contents")
    assert "object 77" in refusal(damaged)


def test_a_page_missing_from_an_object_stream_is_a_reason_to_refuse() -> None:
    packed = shapes.object_streams()
    [count] = re.findall(rb"/N (\d+)", packed)
    assert "not in the file" in refusal(packed.replace(b"/N " + count, b"/N %d" % (int(count) - 1)))


@pytest.mark.parametrize("count", [-1, 0, 1, 9, 100_000])
def test_a_wrong_count_of_pages_is_put_right(count: int) -> None:
    made, known = drained(intake.take_in(shapes.plain().replace(b"/Count 2", b"/Count %d" % count)))
    assert (len(known.pages), text_of(made, 2)) == (2, "Page 2")
