"""The numbers that Word writes by itself: who searches for "7.2" finds the clause."""

from pathlib import Path

import pytest

from deedbox.search.extract import docx
from tests.search.extract.words import docx as word
from tests.search.extract.words import paragraph

FILES = Path(__file__).parent / "files"
LEVEL = '<w:lvl w:ilvl="{0}"><w:start w:val="{3}"/><w:numFmt w:val="{1}"/>{4}<w:lvlText w:val="{2}"/></w:lvl>'


def form(*levels: tuple[str, str], name: str = "0", start: str = "1", more: str = "") -> str:
    """The form of a list: the kind and the text of each level."""
    written = "".join(LEVEL.format(at, kind, text, start, more) for at, (kind, text) in enumerate(levels))
    return f'<w:abstractNum w:abstractNumId="{name}">{written}</w:abstractNum>'


def listed(name: str, form_name: str = "0", more: str = "") -> str:
    return f'<w:num w:numId="{name}"><w:abstractNumId w:val="{form_name}"/>{more}</w:num>'


def item(text: str, level: int = 0, name: str = "1") -> str:
    return paragraph(text, settings=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{name}"/></w:numPr>')


def lines(body: str, numbering: str, styles: str = "") -> list[str]:
    return [line for line in docx.read(word(body, styles, numbering=numbering)).text.split("\n") if line]


LEGAL = form(("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"), ("lowerRoman", "%4."))


def test_clauses_are_counted_within_each_other() -> None:
    body = (
        item("Parties") + item("Rent") + item("Due", 1) + item("monthly", 2) + item("in advance", 2)
        + item("never late", 3) + item("Deposit", 1) + paragraph("Between") + item("Notice") + item("Written", 1)
    )  # fmt: skip
    assert lines(body, LEGAL + listed("1")) == [
        "1. Parties", "2. Rent", "2.1 Due", "(a) monthly", "(b) in advance", "i. never late", "2.2 Deposit", "Between",
        "3. Notice", "3.1 Written",
    ]  # fmt: skip


def test_headings_carry_the_numbers_of_their_styles() -> None:
    head = '<w:style w:type="paragraph" w:styleId="{0}"><w:name w:val="heading {1}"/>{3}<w:pPr>{2}</w:pPr></w:style>'
    own = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr>'
    styles = (
        head.format("H1", 1, own.format(0), "")
        + head.format("H2", 2, own.format(1), "")
        + head.format("H2red", 2, "", '<w:basedOn w:val="H2"/>')
    )
    plain = '<w:numPr><w:numId w:val="0"/></w:numPr>'
    body = paragraph("Term", "H1") + paragraph("Notice", "H2") + paragraph("Cause", "H2red")
    body += paragraph("Annex", "H1", plain) + paragraph("Law", "H1")
    found = docx.read(word(body, styles, numbering=LEGAL + listed("1")))
    assert [title for _, title in found.headings] == ["1. Term", "1.1 Notice", "1.2 Cause", "Annex", "2. Law"]
    assert all(found.text.startswith(title, offset) for offset, title in found.headings)


def test_a_level_is_known_by_the_style_that_the_list_names() -> None:
    linked = '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:pStyle w:val="Sub"/><w:lvlText w:val="%1.%2"/></w:lvl>'
    numbering = f'<w:abstractNum w:abstractNumId="0">{linked}</w:abstractNum>' + listed("1")
    style = (
        '<w:style w:type="paragraph" w:styleId="Sub"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    assert lines(paragraph("Cause", "Sub"), numbering, style) == ["1.1 Cause"]


def test_two_lists_of_one_form_count_on_unless_one_begins_anew() -> None:
    anew = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    numbering = LEGAL + listed("1") + listed("2") + listed("3", more=anew)
    body = item("a") + item("b", name="2") + item("c", name="3") + item("d", name="3") + item("e")
    assert lines(body, numbering) == ["1. a", "2. b", "1. c", "2. d", "3. e"]


def test_roman_letters_zeros_and_legal_numbers_are_written_as_word_writes_them() -> None:
    mixed = form(("upperRoman", "Article %1"), ("decimal", "%1.%2"), ("decimalZero", "%3"), ("upperLetter", "%4)"))
    body = item("One") + item("two", 1) + item("three", 2) + item("four", 3)
    assert lines(body, mixed + listed("1")) == ["Article I One", "I.1 two", "01 three", "A) four"]
    legal = form(("upperRoman", "%1."), ("decimal", "%1.%2"), more="<w:isLgl/>")
    assert lines(item("One") + item("two", 1), legal + listed("1"))[1] == "1.1 two"


def test_bullets_and_unknown_lists_are_no_numbers() -> None:
    assert lines(item("point"), form(("bullet", "•")) + listed("1")) == ["point"]
    assert lines(item("point", name="7"), LEGAL + listed("1")) == ["point"]


@pytest.mark.parametrize("kind", ["lowerLetter", "upperRoman", "decimal"])
def test_a_hostile_count_stays_short(kind: str) -> None:
    numbering = form((kind, "%1." * 10), start="999999") + listed("1")
    assert len(lines(item("text"), numbering)[0]) < 80
    assert lines(item("text"), form((kind, "%1." * 1000)) + listed("1")) == ["text"]


@pytest.mark.parametrize("name", ["pandoc-lists.docx", "libreoffice-lists.docx"])
def test_lists_of_real_programs_carry_their_numbers(name: str) -> None:
    text = docx.read((FILES / name).read_bytes()).text
    assert "1. Parties\n2. Rent\na. The rent is due monthly.\nb. It rises" in text
    assert "3. Termination\n\nBetween" in text
    assert "4. Notices\n5. Law\n" in text


def test_fractions_comments_and_diagrams_are_read() -> None:
    half = "<w:p><w:r><w:t>Rises by </w:t></w:r><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2"
    half += "</m:t></m:r></m:den></m:f></m:oMath></w:p>"
    body = half.replace("<m:oMath>", '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">')
    said = f'<w:comment w:id="0" w:author="A">{paragraph("Is this fair?")}</w:comment>'
    diagram = (
        '<w:pt xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:p><a:r><a:t>Sign</a:t></a:r></a:p>'
    )
    diagram += "<a:p><a:r><a:t>Pay</a:t></a:r></a:p></w:pt>"
    found = docx.read(word(body, comments=said, diagramData=diagram)).text
    assert found == "Rises by 1/2\n\nSign\nPay\n\nIs this fair?"
