"""A converted file in which boxes stand for characters is refused, and the reason names their script."""

import struct
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.intake.signed_input import IntakeTerms
from tests.pdf.papers import add_page, drained, font, lines, saved, text_of

BOX, LETTER = b"\0\1a box", b"\0\1a letter"
MALAYALAM, CHECK_MARK = "0d15", "2705"


def converted(*fonts: Any) -> bytes:
    """A page whose resources hold the fonts, as a converter wrote it."""
    with pikepdf.new() as pdf:
        page = add_page(pdf, lines("A contract"))
        for number, make in enumerate(fonts):
            page.Resources.Font[f"/X{number}"] = pdf.make_indirect(make(pdf))
        made, _ = drained(intake.take_in(saved(pdf), IntakeTerms(converted=True)))
        return made


def meanings(pdf: pikepdf.Pdf, **codes: str) -> Any:
    rows = " ".join(f"<{code.removeprefix('x')}> <{meaning}>" for code, meaning in codes.items())
    return pdf.make_stream(
        f"begincmap <0000> <ffff> endcodespacerange {len(codes)} beginbfchar {rows} endbfchar endcmap".encode()
    )


def true_type(*outlines: bytes) -> bytes:
    """A font with these glyphs, each with the code of its number."""
    places = [sum(map(len, outlines[:number])) for number in range(len(outlines) + 1)]
    tables = {
        b"cmap": struct.pack(">HHHHI", 0, 1, 1, 0, 12)
        + struct.pack(">HHH", 0, 262, 0)
        + bytes(range(len(outlines))).ljust(256, b"\0"),
        b"glyf": b"".join(outlines),
        b"head": bytes(50) + struct.pack(">hh", 1, 0),
        b"loca": struct.pack(f">{len(places)}I", *places),
    }
    head, body = struct.pack(">IHHHH", 0x00010000, len(tables), 0, 0, 0), b""
    for tag, table in tables.items():
        head += struct.pack(">4sIII", tag, 0, 12 + 16 * len(tables) + len(body), len(table))
        body += table
    return head + body


def by_office(*outlines: bytes, meaning: str = MALAYALAM) -> Any:
    """As LibreOffice embeds a TrueType font: the box is among its glyphs once more if a text shows it."""

    def make(pdf: pikepdf.Pdf) -> Dictionary:
        described = Dictionary(Type=Name.FontDescriptor, FontFile2=pdf.make_stream(true_type(*outlines)))
        codes = meanings(pdf, x01="0041", x02=meaning)
        return Dictionary(
            Type=Name.Font, Subtype=Name.TrueType, BaseFont=Name.A, FontDescriptor=described, ToUnicode=codes
        )

    return make


def by_office_type_1(pdf: pikepdf.Pdf) -> Dictionary:
    program = b"%!FontType1-1.0: A\n0 1 255 {1 index exch /.notdef put} for\ndup 1 /A put\ndup 2 /.notdef put\neexec"
    described = Dictionary(Type=Name.FontDescriptor, FontFile=pdf.make_stream(program))
    codes = meanings(pdf, x01="0041", x02=MALAYALAM)
    return Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.A, FontDescriptor=described, ToUnicode=codes)


def by_weasyprint(pdf: pikepdf.Pdf) -> Dictionary:
    encoding = pdf.make_stream(b"begincmap 2 begincidchar <0024> 36 <0dc8> 0 endcidchar endcmap")
    below = Dictionary(Type=Name.Font, Subtype=Name.CIDFontType2, BaseFont=Name.A, CIDToGIDMap=Name.Identity)
    return Dictionary(
        Type=Name.Font, Subtype=Name.Type0, BaseFont=Name.A, Encoding=encoding, DescendantFonts=Array([below]),
        ToUnicode=meanings(pdf, x0024="0041", x0dc8=MALAYALAM),
    )  # fmt: skip


@pytest.mark.parametrize("make", [by_office(BOX, LETTER, BOX), by_office_type_1, by_weasyprint])
def test_a_box_in_place_of_a_letter_is_refused_with_the_script(make: Any) -> None:
    with pytest.raises(BadRequest, match="no font here for the text in Malayalam in this file"):
        converted(make)


def test_a_symbol_without_a_font_is_refused_by_its_name() -> None:
    with pytest.raises(BadRequest, match="no font here for WHITE HEAVY CHECK MARK"):
        converted(by_office(BOX, LETTER, BOX, meaning=CHECK_MARK))


@pytest.mark.parametrize("outlines", [(BOX, LETTER, LETTER + b"2"), (b"", LETTER, b""), (BOX, LETTER)])
def test_fonts_that_show_no_box_are_accepted(outlines: tuple[bytes, ...]) -> None:
    assert "A contract" in text_of(converted(by_office(*outlines), lambda _: font()))


def test_a_pdf_from_a_person_is_taken_as_it_looks() -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, lines("A contract"))
        page.Resources.Font["/X"] = by_office(BOX, LETTER, BOX)(pdf)
        assert "A contract" in text_of(drained(intake.take_in(saved(pdf)))[0])
