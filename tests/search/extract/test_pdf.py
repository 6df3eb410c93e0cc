"""PDF: what a reader sees is what is found, page by page; what cannot be read says why."""

import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.search.extract import Extractor, pdf
from deedbox.search.limits import PDF_PAGES
from tests.search.extract.pdfs import assembled, encrypted, form, lines, paged, stream

FILES = Path(__file__).parent / "files"


def test_pages_are_kept_apart_and_each_offset_is_where_its_page_begins() -> None:
    found = pdf.read(paged(lines("First page", "more"), lines("Second page"), lines("Third page")))
    assert found.page_starts is not None
    bounds = [*found.page_starts, len(found.text)]
    pages = [found.text[start:end] for start, end in pairwise(bounds)]
    assert pages == ["First page\nmore\n", "Second page\n", "Third page\n"]


def test_a_page_without_text_has_its_place_all_the_same() -> None:
    found = pdf.read(paged(lines("one"), b"", lines("three")))
    assert (found.text, found.page_starts) == ("one\nthree\n", [0, 4, 4])


def test_a_scan_has_no_text_and_is_no_error() -> None:
    found = pdf.read(paged(b"0 0 100 100 re f", b""))
    assert (found.text, found.page_starts, found.headings) == ("", [0, 0], [])


def test_a_word_that_a_line_end_parts_is_joined_and_a_hyphenated_name_keeps_its_hyphen() -> None:
    found = pdf.read(paged(lines("the termi-", "nation of the Rhine-", "Westphalia lease")))
    assert found.text == "the termination of the Rhine-Westphalia lease\n"


def test_a_word_that_has_a_hyphen_elsewhere_keeps_it_at_the_end_of_a_line() -> None:
    found = pdf.read(paged(lines("a dual-", "encoder and its termi-", "nation"), lines("The Dual-encoder")))
    assert found.text == "a dual-encoder and its termination\nThe Dual-encoder\n"


def test_a_hyphen_that_browsers_write_at_the_end_of_a_line_goes_too() -> None:
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Differences[1/uni2010]>>>>"
    parted = b"BT /F1 12 Tf 20 100 Td (effi\\001) Tj 0 -16 Td (cient, non\\001) Tj 0 -16 Td (2026) Tj ET"
    found = pdf.read(paged(parted, page=b"/Resources<</Font<</F1 6 0 R>>>>", more=[font]))
    assert found.text == "efficient, non\u2010\n2026\n"


def test_joined_letters_are_the_letters_that_they_join() -> None:
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Differences[1/uniFB03/fl/uniFB00]>>>>"
    joined = paged(b"BT /F1 12 Tf 20 100 Td <010203> Tj ET", page=b"/Resources<</Font<</F1 6 0 R>>>>", more=[font])
    assert pdf.read(joined).text == "ffiflff\n"


def test_lines_that_run_from_right_to_left_are_in_reading_order() -> None:
    """Chromium writes letters where they stand, without spaces, and one glyph for lam and alef."""
    assert pdf.read((FILES / "chromium-arabic.pdf").read_bytes()).text.split("\n") == [
        "عقد إيجار رقم 2026/17",
        "لا يجوز للمستأجر إلغاء العقد إلا بموافقة المؤجر. الاسم: سلام. الآن والأمر.",
        "يدفع المستأجر مبلغ 1,250.50 يورو شهرياً إلى شركة Harbour Ltd قبل يوم ٥ من كل شهر.",
        "الشهر المبلغ",
        "مايو 900",
        "The word سلام means peace and 3 others.",
        "שלום עולם, חוזה שכירות 12.5% בתוקף",
        "",
    ]


def test_letters_beyond_ascii_come_through() -> None:
    assert pdf.read(paged(lines("Größe: 5 € für façade"))).text == "Größe: 5 € für façade\n"


def form_file(field: bytes, appearance: bytes, *, acroform: bool = True) -> bytes:
    """One page with an annotation as object 6, whose appearance is object 7."""
    catalog = b"/AcroForm<</Fields[6 0 R]/DA(/F1 12 Tf 0 g)/DR<</Font<</F1 3 0 R>>>>>>" if acroform else b""
    annotation = b"<</Type/Annot/Rect[72 500 372 520]/F 4%b>>" % field
    return paged(lines("The form"), catalog=catalog, page=b"/Annots[6 0 R]", more=[annotation, form(appearance)])


def test_the_value_of_a_form_field_is_found_with_and_without_an_appearance() -> None:
    field = b"/Subtype/Widget/FT/Tx/T(name)/DA(/F1 12 Tf 0 g)/V(Ada L.)"
    bare = pdf.read(form_file(field, b""))
    drawn = pdf.read(form_file(field + b"/AP<</N 7 0 R>>", b"BT /F1 12 Tf 2 2 Td (Ada L.) Tj ET"))
    assert bare.text == drawn.text == "The form\nAda L.\n"


def test_the_appearance_of_a_signature_is_found() -> None:
    field = b"/Subtype/Widget/FT/Sig/T(seal)/AP<</N 7 0 R>>"
    found = pdf.read(form_file(field, b"BT /F1 12 Tf 2 2 Td (Digitally signed) Tj ET"))
    assert found.text == "The form\nDigitally signed\n"


def test_a_text_note_on_the_page_is_found_in_a_file_without_a_form() -> None:
    field = b"/Subtype/FreeText/Contents(x)/AP<</N 7 0 R>>"
    found = pdf.read(form_file(field, b"BT /F1 12 Tf 2 2 Td (Approved) Tj ET", acroform=False))
    assert found.text == "The form\nApproved\n"


def test_a_hidden_field_is_not_found() -> None:
    field = b"/Subtype/Widget/FT/Tx/T(name)/V(secret)/F 2/AP<</N 7 0 R>>"
    data = form_file(field, b"BT /F1 12 Tf 2 2 Td (secret) Tj ET").replace(b"/F 4/Subtype", b"/Subtype")
    assert pdf.read(data).text == "The form\n"


def test_lines_that_bookmarks_name_are_headings_at_their_offsets() -> None:
    outline = [
        b"<</Type/Outlines/First 9 0 R/Last 10 0 R/Count 2>>",
        b"<</Title(Scope)/Parent 8 0 R/Next 10 0 R/Dest[4 0 R/Fit]>>",
        b"<</Title(2. Payment)/Parent 8 0 R/Prev 9 0 R/Dest[6 0 R/Fit]>>",
    ]
    pages = (lines("1. Scope", "The scope is wide"), lines("Payment", "is due"))
    found = pdf.read(paged(*pages, catalog=b"/Outlines 8 0 R", more=outline))
    assert found.headings == [(0, "1. Scope"), (27, "Payment")]
    assert found.text[27:].startswith("Payment")


def test_without_bookmarks_lines_in_larger_letters_are_headings() -> None:
    def large(text: str, top: int, size: int) -> bytes:
        return lines(text, top=top).replace(b"/F1 12 Tf", b"/F1 %d Tf" % size)

    body = lines(*["The tenant pays the rent on the first day of each month."] * 8, top=600)
    first = large("Lease", 760, 24) + b" " + large("1. Rent", 700, 16) + b" " + body
    found = pdf.read(paged(first, large("2. Notice", 700, 16) + b" " + body))
    assert [title for _, title in found.headings] == ["Lease", "1. Rent", "2. Notice"]
    assert all(found.text.startswith(title, offset) for offset, title in found.headings)


def test_where_much_is_in_large_letters_none_of_it_is_a_heading() -> None:
    large = lines(*["WE ASK ALL TENANTS TO CLOSE THE DOOR"] * 4).replace(b"/F1 12 Tf", b"/F1 30 Tf")
    assert (
        pdf.read(
            paged(large + b" " + lines(*["small print, and more of it than there is of the rest"] * 9, top=300))
        ).headings
        == []
    )


def test_a_file_under_a_password_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match=r"^This PDF is encrypted. Remove its password and upload it again.$"):
        pdf.read(encrypted("top secret", "swordfish"))


def test_a_file_that_any_reader_opens_without_a_password_is_read() -> None:
    assert pdf.read(encrypted("open to all", "")).text == "open to all\n"


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n",
        b"%PDF-1.7\n" + bytes(range(256)) * 8,
        paged(lines("x"))[:60],
        assembled([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[9 0 R]/Count 1>>"]),
    ],
)
def test_a_damaged_file_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^This PDF is damaged and cannot be read"):
        pdf.read(data)


def test_a_file_without_pages_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match="This PDF has no pages"):
        pdf.read(assembled([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 0>>"]))


def test_a_file_whose_table_of_objects_is_lost_is_still_read() -> None:
    whole = paged(lines("still here"))
    cut = whole[: whole.index(b"xref\n")] + whole[whole.index(b"trailer") : whole.index(b"startxref")]
    assert pdf.read(cut).text == "still here\n"


def test_a_damaged_page_does_not_take_the_others_with_it() -> None:
    whole = paged(lines("one"), lines("two"))
    found = pdf.read(whole.replace(b"/Kids[4 0 R 6 0 R]", b"/Kids[9 0 R 6 0 R]"))
    assert (found.text, found.page_starts) == ("two\n", [0, 0])


def test_a_file_that_claims_too_many_pages_is_refused_by_name() -> None:
    many = assembled([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 1000000>>"])
    with pytest.raises(BadRequest, match=f"more than {PDF_PAGES:,} pages"):
        pdf.read(many)


def test_more_text_than_the_limit_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deedbox.search.extract.text.EXTRACTED_CHARS", 10)
    with pytest.raises(BadRequest, match="characters of text"):
        pdf.read(paged(lines("longer than ten characters")))


@pytest.mark.anyio
async def test_a_stream_that_unpacks_to_gigabytes_fails_alone(extractor: Extractor) -> None:
    packed = zlib.compress(zlib.compress(b"(x) Tj " * 4_000_000, 9), 9)
    bomb = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents[%b]>>" % (b"4 0 R " * 100),
        stream(packed, b"/Filter[/FlateDecode/FlateDecode]"),
    ]
    with pytest.raises((SandboxFailed, Unavailable)):  # on a busy machine its time is over before its computing is
        await extractor.extract(assembled(bomb), "pdf")
    assert (await extractor.extract(paged(lines("next")), "pdf")).text == "next\n"
