"""The text of tags is gone from the page, for the eye and for every program, and nothing else has moved."""

import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.marks.typeset import _compiler
from deedbox.pdf.pdf_sandbox import PdfSandbox
from tests.pdf.papers import add_page, drained, font, lines, paper, saved, shown, text_of

TAG = "{{signature:Buyer}}"
GROUND = b"0.7 0.9 0.6 rg 0 0 999 999 re f 0 g "
WAYS = {
    "one string": b"BT /F 12 Tf 60 400 Td (Before {{signature:Buyer}} after) Tj ET",
    "several strings": b"BT /F 12 Tf 60 400 Td (Before {{sig) Tj (nature:) Tj (Buyer}} after) Tj ET",
    "kerned": b"BT /F 12 Tf 60 400 Td [(Before {) -20 ({sign) 15 (ature:Bu) 30 (yer}}) -10 ( after)] TJ ET",
    "spaced": b"BT /F 12 Tf 1.5 Tc 4 Tw 80 Tz 60 400 Td (Before {{signature:Buyer}} after) Tj ET",
    "on the next line": b"BT /F 12 Tf 14 TL 60 414 Td (Before {{signature:Buyer}} after) ' ET",
    "on the next line, spaced": b'BT /F 12 Tf 14 TL 60 414 Td 3 1 (Before {{signature:Buyer}} after) " ET',
    "scaled": b"q 2 0 0 2 0 0 cm BT /F 1 Tf 6 0 0 6 30 200 Tm (Before {{signature:Buyer}} after) Tj ET Q",
    "turned": b"BT /F 12 Tf 0.8 0.6 -0.6 0.8 60 400 Tm (Before {{signature:Buyer}} after) Tj ET",
    "raised": b"BT /F 12 Tf 60 390 Td 5 Ts (Before {{signature:Buyer}} after) Tj ET",
    "bold by drawing twice": b"BT /F 12 Tf 60 400 Td ({{signature:Buyer}} after) Tj 0.4 0 Td"
    b" ({{signature:Buyer}} after) Tj ET",
    "over two lines": b"BT /F 12 Tf 14 TL 60 400 Td (Before {{signature:) Tj T* (Buyer}} after) Tj ET",
    "read aloud": b"/Span <</ActualText (Before {{signature:Buyer}} after)>> BDC BT /F 12 Tf 60 400 Td"
    b" (Before {{signature:Buyer}} after) Tj ET EMC",
    "unseen": b"BT /F 12 Tf 3 Tr 60 400 Td (Before {{signature:Buyer}} after) Tj ET",
}  # fmt: skip


def taken(data: bytes) -> bytes:
    made, known = drained(intake.take_in(data))
    assert [tag.text for tag in known.tags], "no tag was found"
    return made


def need_gone(made: bytes, folder: Path) -> None:
    """Neither library reads the tag, no string of the file has it."""
    assert not {"{", "signature", "Buyer"} & set(text_of(made).replace("{", " { ").split())
    with pikepdf.open(io.BytesIO(made)) as pdf:
        for thing in pdf.objects:
            content = thing.read_bytes() if isinstance(thing, pikepdf.Stream) else thing.unparse(resolved=True)
            assert b"{{" not in content
    if shutil.which("pdftotext"):
        (folder / "made.pdf").write_bytes(made)
        read = subprocess.run(["pdftotext", folder / "made.pdf", "-"], capture_output=True, check=True).stdout
        assert b"{{" not in read
        assert b"Buyer" not in read


def grey(data: bytes, number: int = 1) -> Any:
    return np.asarray(shown(data, number, 2.0).convert("L"), dtype=np.int16)


@pytest.mark.parametrize("way", WAYS)
def test_the_tag_goes_and_all_else_stays_where_it_is(way: str, tmp_path: Path) -> None:
    made = taken(paper(GROUND + WAYS[way]))
    need_gone(made, tmp_path)
    assert text_of(made).split() == (["after"] if "twice" in way else ["Before", "after"])
    before, after = grey(paper(GROUND + WAYS[way])), grey(made)
    changed = np.abs(before - after) > 40
    assert (after[changed] > before[changed]).all(), "something new is to be seen"


def test_text_after_a_tag_keeps_its_place() -> None:
    data = paper(GROUND + WAYS["kerned"])
    before, after = grey(data), grey(taken(data))
    width = before.shape[1]
    tail = slice(int(width * 0.37), width)
    assert len(np.unique(before[:, tail])) > 1
    assert np.abs(before[:, tail] - after[:, tail]).max() <= 40


def test_coloured_ground_stays_coloured() -> None:
    data = paper(GROUND + b"BT /F 12 Tf 60 400 Td ({{signature:Buyer}}) Tj ET")
    assert len(np.unique(grey(taken(data)))) == 1


def test_a_form_that_is_drawn_often_loses_its_tag_everywhere(tmp_path: Path) -> None:
    with pikepdf.new() as pdf:
        form = pdf.make_stream(lines(f"Seen {TAG} here", x=0, y=0))
        form["/Type"], form["/Subtype"], form["/BBox"] = Name.XObject, Name.Form, Array([-9, -9, 400, 20])
        form["/Resources"] = Dictionary(Font=Dictionary(F=font()))
        for _ in range(2):
            page = add_page(pdf, b"q 1 0 0 1 60 600 cm /X Do Q q 1 0 0 1 90 300 cm /X Do Q")
            page.Resources["/XObject"] = Dictionary(X=form)
        data = saved(pdf)
    made, known = drained(intake.take_in(data))
    assert [tag.place.page for tag in known.tags] == [1, 1, 2, 2]
    need_gone(made, tmp_path)
    assert text_of(made, 2).split() == ["Seen", "here"] * 2


@pytest.mark.parametrize("role", ["Buyer", "Officer", "Käufer", "买方"])
def test_a_tag_in_a_font_with_two_bytes_for_each_letter_goes(role: str) -> None:
    source = '#set page(fill: rgb("#dfd"))\n#set text(font: ("Noto Sans", "Noto Sans CJK SC"))\n'
    source += f"Signed {{{{signature:{role}}}}} here, and the office flows."
    data = _compiler().compile(input={"main.typ": source.encode()}, format="pdf")  # type: ignore[type-var]
    assert isinstance(data, bytes)
    made, known = drained(intake.take_in(data))
    assert [tag.role for tag in known.tags] == [role]
    assert text_of(made).split() == ["Signed", "here,", "and", "the", "office", "flows."]
    assert np.abs(grey(data)[:, 600:] - grey(made)[:, 600:]).max() <= 40


def test_what_the_structure_says_of_the_text_has_no_tag_either(tmp_path: Path) -> None:
    with pikepdf.new() as pdf:
        add_page(pdf, WAYS["one string"])
        spoken = Dictionary(Type=Name.StructElem, S=Name.P, ActualText=f"Before {TAG} after", Alt=f"A line with {TAG}")
        pdf.Root["/StructTreeRoot"] = Dictionary(Type=Name.StructTreeRoot, K=Array([pdf.make_indirect(spoken)]))
        data = saved(pdf)
    made = taken(data)
    need_gone(made, tmp_path)
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert str(pdf.Root.StructTreeRoot.K[0].Alt) == "A line with"


def test_a_page_whose_letters_are_drawings_loses_its_tag() -> None:
    with pikepdf.new() as pdf:
        drawn = {f"/g{code}": pdf.make_stream(b"600 0 0 0 500 700 d1 0 0 500 700 re f") for code in range(32, 126)}
        names = Array([32, *[Name(f"/g{code}") for code in range(32, 126)]])
        mapped = "".join(f"<{code:02x}> <{code:04x}>\n" for code in range(32, 126))
        cmap = f"1 begincodespacerange <00> <ff> endcodespacerange 94 beginbfchar {mapped} endbfchar"
        page = add_page(pdf, WAYS["one string"])
        page.Resources.Font["/F"] = Dictionary(
            Type=Name.Font, Subtype=Name.Type3, FontBBox=[0, 0, 600, 700], FontMatrix=[0.001, 0, 0, 0.001, 0, 0],
            CharProcs=Dictionary(drawn), Encoding=Dictionary(Type=Name.Encoding, Differences=names), FirstChar=32,
            LastChar=125, Widths=[600] * 94, ToUnicode=pdf.make_stream(cmap.encode()),
        )  # fmt: skip
        made = taken(saved(pdf))
    assert text_of(made).split() == ["Before", "after"]


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"BT /F 12 Tf 7 Tr 60 400 Td (Before {{signature:Buyer}} after) Tj ET", None),
        ("BT /F 12 Tf 60 400 Td <" + TAG.encode("utf-16-be").hex() + "> Tj ET", "/UniGB-UCS2-H"),
    ],
    ids=["letters that clip", "a table of codes that is not in the file"],
)
def test_a_tag_that_cannot_be_taken_out_is_refused_by_name(content: bytes | str, encoding: str | None) -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, content if isinstance(content, bytes) else content.encode())
        if encoding:
            system = Dictionary(Registry=pikepdf.String("Adobe"), Ordering=pikepdf.String("GB1"), Supplement=4)
            inner = Dictionary(
                Type=Name.Font, Subtype=Name.CIDFontType0, BaseFont=Name("/STSong"), CIDSystemInfo=system, W=[1, [500]]
            )
            page.Resources.Font["/F"] = Dictionary(
                Type=Name.Font, Subtype=Name.Type0, BaseFont=Name("/STSong"), Encoding=Name(encoding),
                DescendantFonts=Array([pdf.make_indirect(inner)]),
            )  # fmt: skip
        data = saved(pdf)
    with pytest.raises(BadRequest, match=r"The text tag \{\{signature:Buyer\}\} on page 1 cannot be taken out"):
        drained(intake.take_in(data))


def test_a_file_without_tags_is_not_touched() -> None:
    data = paper(lines("Nothing {{to}} see"))
    made, known = drained(intake.take_in(data))
    assert (known.tags, text_of(made)) == ((), "Nothing {{to}} see")


def test_a_thousand_tags_on_a_page_are_all_taken_out() -> None:
    rows = [f"1 0 0 1 {20 + at % 10 * 55} {830 - at // 10 * 8} Tm ({{{{text:B:l{at}}}}} etc) Tj" for at in range(1000)]
    made, known = drained(intake.take_in(paper(f"BT /F 2 Tf {' '.join(rows)} ET".encode())))
    assert (len(known.tags), "{{" in text_of(made)) == (1000, False)


def test_the_same_file_is_taken_in_to_the_same_bytes() -> None:
    data = paper(GROUND + WAYS["kerned"])
    assert taken(data) == taken(data)


@pytest.mark.anyio
async def test_a_sandbox_has_all_it_needs_to_take_tags_out() -> None:
    """Also for what is not in the file: the widths of fonts that every viewer has, in either of their encodings."""
    made = bytearray()

    async def write(piece: bytes) -> None:
        made.extend(piece)

    with pikepdf.new() as pdf:
        for name in ("Times-Italic", "Courier-Bold", "Helvetica"):
            page = add_page(pdf, lines(f"Before {TAG} after"))
            page.Resources.Font["/F"] = Dictionary(
                Type=Name.Font, Subtype=Name.Type1, BaseFont=Name(f"/{name}"), Encoding=Name.MacRomanEncoding
            )
        data = saved(pdf)
    workshop = PdfSandbox(1)
    try:
        known = await workshop.take_in(data, write)
    finally:
        await workshop.close()
    assert len(known.tags) == 3
    assert [text_of(bytes(made), number).split() for number in (1, 2, 3)] == [["Before", "after"]] * 3
