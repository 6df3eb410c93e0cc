"""Presentations, workbooks, OpenDocument and RTF texts and books, as the programs that write them leave them."""

import io
import zipfile
from pathlib import Path

import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import Extractor, extract
from deedbox.search.library.upload import Extraction
from tests.search.extract.words import archive, docx, paragraph, relations

FILES = Path(__file__).parent / "files"
TABLE = "Month | Paid\nMay | 900\nJune | 850"


def read(name: str) -> Extraction:
    return extract((FILES / name).read_bytes(), name.rpartition(".")[2])


def titles(found: Extraction) -> list[str]:
    """Each heading, which must stand where it is said to be."""
    assert all(found.text.startswith(title, offset) for offset, title in found.headings)
    return [title for _, title in found.headings]


def without(name: str, part: str) -> bytes:
    """The file without one of its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(FILES / name) as source, zipfile.ZipFile(out, "w") as file:
        for entry in source.infolist():
            if entry.filename != part:
                file.writestr(entry.filename, source.read(entry))
    return out.getvalue()


@pytest.mark.parametrize("name", ["python-pptx.pptx", "libreoffice.pptx"])
def test_slides_are_pages_with_titles_tables_and_notes(name: str) -> None:
    found = read(name)
    first = "The lease\nRent on the first\nNotice of three months\nSpeak of the deposit\n"
    assert found.text == f"{first}Payments\nMonth | Paid\nMay | 900\n"
    assert found.page_starts == [0, len(first)]
    assert titles(found) == ["The lease", "Payments"]


def test_sheets_are_pages_and_rows_carry_the_names_of_their_columns() -> None:
    found = read("openpyxl.xlsx")
    assert found.text == (
        "Tenants\nName | Since | Rent | Paid\nName: Ada | Since: 2024-05-01 | Rent: 900.5 | Paid: true\n"
        "Name: Alan | Since: 2025-06-01 | Rent: 850 | Paid: false\n\nTotals\nSum | 1750.5\n\n"
    )
    assert found.page_starts == [0, found.text.index("Totals")]
    assert titles(found) == ["Tenants", "Totals"]


@pytest.mark.parametrize("name", ["libreoffice.xlsx", "libreoffice.ods"])
def test_workbooks_of_either_format_read_the_same(name: str) -> None:
    found = read(name)
    assert found.text == (
        "tenants\nName | Rent | Since\nName: Ada | Rent: 900.5 | Since: 2024-05-01\n"
        "Name: Alan | Rent: 850 | Since: 2025-06-01\n\n"
    )
    assert (found.page_starts, titles(found)) == ([0], ["tenants"])


@pytest.mark.parametrize("name", ["pandoc.odt", "libreoffice.odt"])
def test_an_opendocument_text_keeps_headings_lists_tables_and_notes(name: str) -> None:
    found = read(name)
    assert found.text == (
        "The lease\n\nRent\n\nThe tenant pays 900 euros on the first day of the month.\n\nNot on Sundays.\n\n"
        f"by transfer\nor in cash\n{TABLE}\n\nNotice\n\nGröße – the délai is three months."
    )
    assert titles(found) == ["Rent", "Notice"]


@pytest.mark.parametrize("name", ["pandoc.rtf", "libreoffice.rtf"])
def test_an_rtf_document_keeps_its_letters_and_the_rows_of_its_tables(name: str) -> None:
    text = read(name).text
    assert "The tenant pays 900 euros on the first day of the month." in text
    assert TABLE in text
    assert "Größe – the délai is three months." in text


def test_chapters_of_a_book_are_pages() -> None:
    found = read("pandoc.epub")
    assert titles(found) == ["The lease", "Rent", "Notice"]
    assert found.page_starts == [found.text.index(title) for title in titles(found)]
    assert TABLE in found.text
    assert "ch001.xhtml" not in found.text


@pytest.mark.parametrize("kind", ["pptx", "xlsx", "ods", "odt", "epub"])
def test_one_package_is_not_taken_for_another(kind: str) -> None:
    with pytest.raises(BadRequest, match=f"^The file is named .{kind} but its content is a ZIP archive that is not"):
        extract(archive({"a.txt": "hello"}), kind)
    with pytest.raises(BadRequest, match=f"^(The file is named .{kind} but|This workbook is damaged)"):
        extract(docx(paragraph("hello")), kind)


@pytest.mark.parametrize(
    ("name", "part"),
    [("pandoc.epub", "META-INF/container.xml"), ("openpyxl.xlsx", "xl/worksheets/sheet1.xml")],
)
@pytest.mark.anyio
async def test_a_package_that_lacks_a_part_is_refused_by_name(name: str, part: str, extractor: Extractor) -> None:
    with pytest.raises(BadRequest, match=r"^This \w+ is damaged and cannot be read"):
        await extractor.extract(without(name, part), name.rpartition(".")[2])


@pytest.mark.parametrize("kind", ["pptx", "xlsx"])
def test_old_office_files_are_refused_by_name(kind: str) -> None:
    with pytest.raises(BadRequest, match=rf"^This is an Office file of the old kind \(.{kind[:3]}\)"):
        extract(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), kind)


def test_entities_in_a_slide_are_refused() -> None:
    trap = '<!DOCTYPE p [<!ENTITY a "ha">]><p:presentation xmlns:p="urn:presentationml">&a;</p:presentation>'
    parts = {"_rels/.rels": relations(officeDocument="ppt/presentation.xml"), "ppt/presentation.xml": trap}
    with pytest.raises(BadRequest, match=r"^This presentation is damaged"):
        extract(archive({**parts}), "pptx")


def test_a_locked_book_is_refused_by_name() -> None:
    out = io.BytesIO((FILES / "pandoc.epub").read_bytes())
    with zipfile.ZipFile(out, "a") as book:
        chapter = next(entry for entry in book.namelist() if entry.endswith("ch001.xhtml"))
        lock = f'<encryption><EncryptedData><CipherReference URI="{chapter}"/></EncryptedData></encryption>'
        book.writestr("META-INF/encryption.xml", lock)
    with pytest.raises(BadRequest, match=r"^This book is protected against copying"):
        extract(out.getvalue(), "epub")


def test_a_part_that_unpacks_to_much_is_refused() -> None:
    out = io.BytesIO((FILES / "libreoffice.ods").read_bytes())
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("bomb.xml", bytes(20_000_000))
    with pytest.raises(BadRequest, match=r"^This workbook unpacks to more than is allowed$"):
        extract(out.getvalue(), "ods")
