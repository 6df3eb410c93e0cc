"""Word documents: text in reading order, headings by style in any language, and archives that are traps."""

import io
import struct
import zipfile

import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import Extractor, docx, extract
from deedbox.search.limits import PACKAGE_ENTRIES
from tests.search.extract.words import STRICT, archive, paragraph, part, relations, row
from tests.search.extract.words import docx as word

HEADING = '<w:style w:type="paragraph" w:styleId="{id}"><w:name w:val="{name}"/>{more}</w:style>'


def test_paragraphs_stand_apart_and_runs_do_not() -> None:
    split = "<w:p><w:r><w:t>Agree</w:t></w:r><w:r><w:t>ment</w:t></w:r></w:p>"
    assert docx.read(word(split + paragraph("Second"))).text == "Agreement\n\nSecond"


def test_a_table_gives_one_line_a_row_with_its_cells_parted() -> None:
    table = "<w:tbl>" + row(paragraph("Item"), paragraph("Price"))
    table += row(paragraph("Rent") + paragraph("monthly"), paragraph("900")) + "</w:tbl>"
    found = docx.read(word(paragraph("Before") + table + paragraph("After")))
    assert found.text == "Before\n\nItem | Price\nRent monthly | 900\n\nAfter"


def test_a_table_within_a_cell_stays_in_its_row() -> None:
    inner = "<w:tbl>" + row(paragraph("a"), paragraph("b")) + "</w:tbl>"
    found = docx.read(word("<w:tbl>" + row(inner, paragraph("c")) + "</w:tbl>"))
    assert found.text == "a | b | c"


def test_items_of_a_list_stand_on_lines_that_follow_each_other() -> None:
    number = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    body = (
        paragraph("The parties:") + paragraph("the lessor", settings=number) + paragraph("the lessee", settings=number)
    )
    assert docx.read(word(body)).text == "The parties:\n\nthe lessor\nthe lessee"


def test_headings_are_known_by_what_their_style_is_called_not_by_its_id() -> None:
    styles = HEADING.format(id="berschrift1", name="heading 1", more="") + HEADING.format(
        id="Titel", name="Title", more=""
    )
    body = paragraph("Vertrag", "Titel") + paragraph("Miete", "berschrift1") + paragraph("Text", "Standard")
    found = docx.read(word(body, styles))
    assert found.headings == [(0, "Vertrag"), (9, "Miete")]
    assert found.text[9:].startswith("Miete")


def test_headings_are_known_by_outline_level_and_by_the_style_they_are_based_on() -> None:
    styles = (
        HEADING.format(id="A", name="Clause", more='<w:pPr><w:outlineLvl w:val="1"/></w:pPr>')
        + HEADING.format(id="B", name="Clause red", more='<w:basedOn w:val="A"/>')
        + HEADING.format(id="C", name="Loop", more='<w:basedOn w:val="C"/>')
    )
    direct = paragraph("Third", settings='<w:outlineLvl w:val="0"/>')
    body = paragraph("First", "A") + paragraph("Second", "B") + direct + paragraph("No heading", "C")
    assert [title for _, title in docx.read(word(body, styles)).headings] == ["First", "Second", "Third"]


def test_a_paragraph_in_a_heading_style_that_says_it_is_body_text_is_no_heading() -> None:
    styles = HEADING.format(id="H", name="heading 2", more="")
    body = paragraph("Not one", "H", '<w:outlineLvl w:val="9"/>') + paragraph("One", "H")
    assert [title for _, title in docx.read(word(body, styles)).headings] == ["One"]


def test_a_heading_that_was_another_style_before_a_tracked_change_counts_as_it_is_now() -> None:
    styles = HEADING.format(id="H", name="heading 1", more="")
    change = '<w:pPrChange w:id="1"><w:pPr><w:pStyle w:val="H"/></w:pPr></w:pPrChange>'
    assert docx.read(word(paragraph("Plain now", settings=change), styles)).headings == []


def test_notes_headers_and_footers_follow_the_body_and_a_repeated_header_is_said_once() -> None:
    found = docx.read(
        word(
            paragraph("Body"),
            footnotes=f'<w:footnote w:id="1">{paragraph("A footnote")}</w:footnote>',
            endnotes=f'<w:endnote w:id="1">{paragraph("An endnote")}</w:endnote>',
            header_1=paragraph("Letterhead"),
            header_2=paragraph("Letterhead"),
            footer_1=paragraph("Page foot"),
        )
    )
    assert found.text == "Body\n\nA footnote\n\nAn endnote\n\nLetterhead\n\nPage foot"


def test_deleted_and_moved_text_is_gone_and_inserted_text_is_there() -> None:
    body = (
        "<w:p><w:r><w:t>Keep </w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>moved away</w:t></w:r></w:moveFrom></w:p>"
    )
    assert docx.read(word(body)).text == "Keep new"


def test_a_text_box_is_read_once_though_it_stands_in_the_file_twice() -> None:
    box = "<w:txbxContent>" + paragraph("In the box") + "</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>Around</w:t></w:r><w:r><mc:AlternateContent>"
        f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    assert docx.read(word(body)).text == "In the box\n\nAround"


def test_tabs_breaks_and_fixed_hyphens_are_characters_and_tab_stops_are_not() -> None:
    body = (
        '<w:p><w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t>'
        "<w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>"
    )
    assert docx.read(word(body)).text == "a\tb\nc-d"


def test_the_code_of_a_field_is_left_out_and_its_result_is_read() -> None:
    body = "<w:p><w:r><w:instrText>PAGEREF x</w:instrText></w:r><w:r><w:t>17</w:t></w:r></w:p>"
    assert docx.read(word(body)).text == "17"


def test_the_strict_namespace_is_read_like_the_usual_one() -> None:
    styles = HEADING.format(id="H", name="heading 1", more="")
    found = docx.read(word(paragraph("Strict", "H"), styles, namespace=STRICT))
    assert (found.text, found.headings) == ("Strict", [(0, "Strict")])


def test_the_body_is_found_where_the_relations_say_it_is() -> None:
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations(officeDocument="/doc/main.xml"),
        "doc/main.xml": part("document", f"<w:body>{paragraph('Elsewhere')}</w:body>"),
        "doc/_rels/main.xml.rels": relations(footnotes="../notes/n.xml"),
        "notes/n.xml": part("footnotes", paragraph("Noted")),
    }
    assert docx.read(archive(parts)).text == "Elsewhere\n\nNoted"


def test_a_file_with_only_a_body_is_read() -> None:
    found = docx.read(archive({"word/document.xml": part("document", paragraph("Bare"))}))
    assert (found.text, found.page_starts, found.headings) == ("Bare", None, [])


def test_a_part_in_utf_16_is_read() -> None:
    xml = part("document", paragraph("Größe")).replace("UTF-8", "UTF-16")
    assert docx.read(archive({"word/document.xml": xml.encode("utf-16")})).text == "Größe"


def test_a_document_without_text_is_no_error() -> None:
    assert docx.read(word("<w:p/>")).text == ""


@pytest.mark.parametrize(
    "parts",
    [
        {"notes.txt": "hello"},
        {"_rels/.rels": relations(officeDocument="xl/workbook.xml"), "xl/workbook.xml": "<workbook xmlns='urn:x'/>"},
        {"word/document.xml": "<html xmlns='urn:x'><p>hello</p></html>"},
    ],
)
def test_an_archive_that_is_no_word_document_is_refused_by_name(parts: dict[str, str | bytes]) -> None:
    with pytest.raises(BadRequest, match=r"^The file is named .docx but its content is .*not a Word document$"):
        docx.read(archive(parts))


@pytest.mark.parametrize(
    "data",
    [
        word(paragraph("x"))[:200],
        word(paragraph("x"))[:-40],
        archive({"word/document.xml": part("document", "<w:p>")}),
        archive({"word/document.xml": b"\x00\x01\x02"}),
        word(paragraph("x" * 5000)).replace(b"PK\x03\x04", b"PK\x03\x05"),
    ],
)
def test_a_damaged_archive_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^This Word document is damaged and cannot be read"):
        docx.read(data)


def test_old_and_encrypted_office_files_are_refused_by_name() -> None:
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    with pytest.raises(BadRequest, match=r"of the old kind \(.doc\). Save it as .docx"):
        extract(old, "docx")
    with pytest.raises(BadRequest, match=r"^This Word document is encrypted. Remove its password"):
        extract(old + "EncryptedPackage".encode("utf-16-le"), "docx")


def test_an_encrypted_entry_is_refused_by_name() -> None:
    data = bytearray(archive({"word/document.xml": part("document", paragraph("x"))}))
    directory = data.index(b"PK\x01\x02")
    data[directory + 8 : directory + 10] = struct.pack("<H", 1)
    with pytest.raises(BadRequest, match=r"^This Word document is encrypted"):
        docx.read(bytes(data))


def test_a_part_that_unpacks_to_too_much_is_refused_before_it_is_unpacked() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b" " * 20_000_000)
    with pytest.raises(BadRequest, match="unpacks to more than is allowed"):
        docx.read(out.getvalue())


def test_a_part_that_lies_about_its_size_is_damaged() -> None:
    data = bytearray(archive({"word/document.xml": part("document", paragraph("x" * 100_000))}))
    directory = data.index(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = struct.pack("<I", 50)
    with pytest.raises(BadRequest, match="damaged"):
        docx.read(bytes(data))


def test_an_archive_of_very_many_entries_is_refused_before_its_directory_is_read() -> None:
    with pytest.raises(BadRequest, match="unpacks to more than is allowed"):
        docx.read(b"PK\x03\x04" + b"PK\x01\x02" * (PACKAGE_ENTRIES + 1))


def laughs(where: str) -> bytes:
    entities = '<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    )
    xml = f'<!DOCTYPE w [{entities}]><w:document xmlns:w="urn:wordprocessingml">{where}</w:document>'
    return archive({"word/document.xml": xml})


@pytest.mark.parametrize("where", ["<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", '<w:p a="&j;"/>'])
@pytest.mark.anyio
async def test_entities_that_multiply_are_refused_by_name(where: str, extractor: Extractor) -> None:
    with pytest.raises(BadRequest, match="damaged"):
        await extractor.extract(laughs(where), "docx")
    assert (await extractor.extract(word(paragraph("next")), "docx")).text == "next"


def test_an_entity_that_names_a_file_reads_nothing() -> None:
    xml = '<!DOCTYPE w [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + part(
        "document", "<w:p><w:r><w:t>&f;</w:t></w:r></w:p>"
    )
    with pytest.raises(BadRequest, match="damaged"):
        docx.read(
            archive({"word/document.xml": xml.replace('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n', "")})
        )
