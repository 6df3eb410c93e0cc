# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call"
"""A program for the environment of the producers: `documents.py FOLDER` writes a document for each thing a library can
do, for search to read. What is not there, or cannot do a thing, is named on standard error."""

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.faults.producers import lease
from tests.faults.producers.libraries import Maker, write

MAKERS: list[tuple[str, str, Maker]] = []
ROWS = [row.split(",") for row in lease.ROWS.splitlines()]
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
_DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def makes(producer: str, name: str) -> Callable[[Maker], None]:
    return lambda maker: MAKERS.append((producer, name, maker))


@makes("python-docx", "clauses.docx")
def clauses(path: Path) -> None:
    """A form for numbers as lawyers use it: 7, 7.1, 7.2."""
    from docx import Document
    from docx.oxml import parse_xml

    document = Document()
    level = '<w:lvl w:ilvl="%d"><w:start w:val="%d"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%s"/></w:lvl>'
    levels = level % (0, 7, "%1.") + level % (1, 1, "%1.%2")
    numbers = document.part.numbering_part.element
    numbers.insert(0, parse_xml(f'<w:abstractNum {_WORD} w:abstractNumId="90">{levels}</w:abstractNum>'))
    numbers.append(parse_xml(f'<w:num {_WORD} w:numId="90"><w:abstractNumId w:val="90"/></w:num>'))
    document.add_heading("Terms", 1)
    for depth, text in ((0, "Rent"), (1, "The rent is 900 euros."), (1, "It is due on the first."), (0, "Notice")):
        paragraph = document.add_paragraph(text)
        place = f'<w:numPr {_WORD}><w:ilvl w:val="{depth}"/><w:numId w:val="90"/></w:numPr>'
        paragraph._p.get_or_add_pPr().append(parse_xml(place))
    document.save(path)


@makes("python-docx", "comments.docx")
def comments(path: Path) -> None:
    from docx import Document

    document = Document()
    run = document.add_paragraph("The deposit is one rent.").runs[0]
    document.add_comment(run, "Is it enough?", author="the clerk", initials="c")
    document.sections[0].header.paragraphs[0].text = "Lease 12"
    document.sections[0].footer.paragraphs[0].text = "Bergen"
    document.save(path)


@makes("python-docx", "table.docx")
def word_table(path: Path) -> None:
    from docx import Document

    document = Document()
    document.add_heading("Tenants", 1)
    table = document.add_table(len(ROWS), len(ROWS[0]), "Table Grid")
    for row, values in enumerate(ROWS):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    table.cell(1, 0).merge(table.cell(2, 0))
    document.add_paragraph("Both pay.")
    document.save(path)


@makes("python-docx", "fraction.docx")
def fraction(path: Path) -> None:
    from docx import Document
    from docx.oxml import parse_xml

    document = Document()
    paragraph = document.add_paragraph("Each pays ")
    part = "<m:r><m:t>%d</m:t></m:r>"
    paragraph._p.append(
        parse_xml(f"<m:oMath {_MATH}><m:f><m:num>{part % 2}</m:num><m:den>{part % 3}</m:den></m:f></m:oMath>")
    )
    paragraph.add_run(" of the rent.")
    document.save(path)


@makes("python-docx", "styles.docx")
def styles(path: Path) -> None:
    from docx import Document

    document = Document()
    document.add_heading("The lease", 0)
    for text, style in (
        ("Rent", "Heading 1"), ("by transfer", "List Number"), ("or in cash", "List Number"), ("Keys", "Heading 2"),
        ("two for the door", "List Bullet"), ("one for the cellar", "List Bullet"), ("Kept by the tenant.", "Quote"),
    ):  # fmt: skip
        document.add_paragraph(text, style)
    document.add_page_break()
    document.add_paragraph("The last page")
    document.save(path)


@makes("python-pptx", "slides.pptx")
def slides(path: Path) -> None:
    from pptx import Presentation

    deck = Presentation()
    for title, lines, notes in (
        ("Rent", "900 euros\non the first", "Speak of the deposit"),
        ("Notice", "Three months", ""),
    ):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = lines
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    deck.save(path)


@makes("python-pptx", "table.pptx")
def slide_table(path: Path) -> None:
    from pptx import Presentation
    from pptx.util import Cm

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Tenants"
    table = slide.shapes.add_table(len(ROWS), len(ROWS[0]), Cm(2), Cm(5), Cm(20), Cm(6)).table
    for row, values in enumerate(ROWS):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    deck.save(path)


@makes("python-pptx", "groups.pptx")
def groups(path: Path) -> None:
    from pptx import Presentation
    from pptx.util import Cm

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    for number, text in enumerate(("Seller", "Buyer")):
        group.shapes.add_textbox(Cm(2 + 8 * number), Cm(3), Cm(6), Cm(2)).text_frame.text = text
    slide.shapes.add_textbox(Cm(2), Cm(9), Cm(6), Cm(2)).text_frame.text = "The boat goes\nfrom one to the other"
    deck.save(path)


@makes("python-pptx", "chart.pptx")
def chart(path: Path) -> None:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Cm

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Payments"
    data = CategoryChartData()
    data.categories = ["May", "June"]
    data.add_series("Paid", (900, 850))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Cm(2), Cm(5), Cm(15), Cm(9), data)
    deck.save(path)


@makes("python-pptx", "smartart.pptx")
def smartart(path: Path) -> None:
    """A diagram as PowerPoint keeps it: its points in a part of their own."""
    from pptx import Presentation
    from pptx.opc.package import Part
    from pptx.opc.packuri import PackURI

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "The way of the boat"
    point = '<dgm:pt modelId="%d"><dgm:t><a:bodyPr/><a:p><a:r><a:t>%s</a:t></a:r></a:p></dgm:t></dgm:pt>'
    points = "".join(point % pair for pair in enumerate(("Seller", "Broker", "Buyer")))
    model = (
        f'<dgm:dataModel xmlns:dgm="{_DIAGRAM}" xmlns:a="{_DRAWING}"><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>'
    )
    kind = "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml"
    part = Part(PackURI("/ppt/diagrams/data1.xml"), kind, slide.part.package, model.encode())
    slide.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData")
    deck.save(path)


@makes("openpyxl", "sheets.xlsx")
def sheets(path: Path) -> None:
    from datetime import UTC, date, datetime, time

    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Tenants"
    for row in (["Name", "Since", "Rent", "Paid"], ["Ada", date(2024, 5, 1), 900.5, True], ["Alan", None, 850, False]):
        book.active.append(row)
    times = book.create_sheet("Times")
    for moment in (["Opened", "Hour"], [datetime(2026, 5, 1, 9, 30, tzinfo=UTC).replace(tzinfo=None), time(17, 15)]):
        times.append(moment)
    book.create_sheet("Empty")
    book.save(path)


@makes("openpyxl", "merged.xlsx")
def merged(path: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.comments import Comment

    book = Workbook()
    sheet = book.active
    sheet.title = "Boats"
    sheet["A1"] = "Boats of 2026"
    sheet.merge_cells("A1:C1")
    sheet.append(["Boat", "Price", "Share"])
    sheet.append(["Heron", 900, 0.25])
    sheet["C3"].number_format = "0%"
    sheet["B3"].comment = Comment("before tax", "the clerk")
    sheet["B4"] = "=SUM(B3:B3)"
    book.save(path)


@makes("odfpy", "text.odt")
def opendocument_text(path: Path) -> None:
    from odf.opendocument import OpenDocumentText
    from odf.table import Table, TableCell, TableColumn, TableRow
    from odf.text import H, List, ListItem, Note, NoteBody, NoteCitation, P, Tab

    document = OpenDocumentText()
    document.text.addElement(H(outlinelevel=1, text="Rent"))
    paragraph = P(text="The tenant pays 900 euros")
    note = Note(noteclass="footnote")
    note.addElement(NoteCitation(text="1"))
    body = NoteBody()
    body.addElement(P(text="Not on Sundays."))
    note.addElement(body)
    paragraph.addElement(note)
    paragraph.addElement(Tab())
    paragraph.addText("in one sum.")
    document.text.addElement(paragraph)
    bullets = List()
    for text in ("by transfer", "or in cash"):
        item = ListItem()
        item.addElement(P(text=text))
        bullets.addElement(item)
    document.text.addElement(bullets)
    table = Table(name="Tenants")
    table.addElement(TableColumn(numbercolumnsrepeated=4))
    for values in ROWS:
        row = TableRow()
        for value in values:
            cell = TableCell()
            cell.addElement(P(text=value))
            row.addElement(cell)
        table.addElement(row)
    document.text.addElement(table)
    document.save(path)


@makes("odfpy", "sheets.ods")
def opendocument_sheets(path: Path) -> None:
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document = OpenDocumentSpreadsheet()
    for name, rows in (("Tenants", ROWS), ("Keys", [["Door", "Keys"], ["cellar", "1"]])):
        table = Table(name=name)
        for values in rows:
            row = TableRow()
            for value in values:
                number = value.replace(".", "").isdigit()
                cell = TableCell(valuetype="float", value=value) if number else TableCell(valuetype="string")
                cell.addElement(P(text=value))
                row.addElement(cell)
            table.addElement(row)
        document.spreadsheet.addElement(table)
    document.save(path)


@makes("ebooklib", "book.epub")
def book(path: Path) -> None:
    from ebooklib import epub

    made = epub.EpubBook()
    made.set_identifier("lease")
    made.set_title("The lease")
    made.set_language("en")
    chapters = []
    for number, (title, body) in enumerate((("Rent", f"<table>{lease.TABLE}</table>"), ("Notice", lease.NUMBERED)), 1):
        chapter = epub.EpubHtml(title=title, file_name=f"chapter{number}.xhtml", lang="en")
        chapter.content = f"<h1>{title}</h1><p>Chapter {number}.</p>{body}"
        made.add_item(chapter)
        chapters.append(chapter)
    made.toc = chapters
    made.add_item(epub.EpubNcx())
    made.add_item(epub.EpubNav())
    made.spine = ["nav", *chapters]
    epub.write_epub(str(path), made)


def _printed(name: str, text: str) -> None:
    @makes("weasyprint", f"{name}.pdf")
    def printed(path: Path) -> None:
        from weasyprint import HTML

        HTML(string=text).write_pdf(path, presentational_hints=True)


for _name, _text in (
    ("table", lease.HTML_TABLE), ("framed", lease.HTML_FRAMED), ("parties", lease.HTML_PARTIES),
    ("spans", lease.HTML_SPANS), ("headings", lease.HTML_HEADINGS), ("hyphens", lease.HTML_HYPHENS),
):  # fmt: skip
    _printed(_name, _text)


def _flowed(name: str, rows: int, *commands: tuple[object, ...], repeat: int = 0) -> None:
    @makes("reportlab", f"{name}.pdf")
    def flowed(path: Path) -> None:
        from reportlab.lib.colors import black
        from reportlab.lib.styles import getSampleStyleSheet
        from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table

        styles = getSampleStyleSheet()
        data = [["No", "Boat", "Price"], *([str(n), f"Boat {n}", f"{n * 110}.00"] for n in range(1, rows + 1))]
        named = [
            (*command, black) if command[0] in ("GRID", "INNERGRID", "BOX", "LINEBELOW") else command
            for command in commands
        ]
        table = Table(data, colWidths=(40, 200, 100), style=named, repeatRows=repeat)
        story = [Paragraph("Boats", styles["Title"]), table, Spacer(1, 20), Paragraph(lease.LONG, styles["Normal"])]
        SimpleDocTemplate(str(path), invariant=1).build(story)


_ALL = ((0, 0), (-1, -1))
_flowed("grid", 4, ("GRID", *_ALL, 0.5))
_flowed("inner", 4, ("INNERGRID", *_ALL, 0.5))
_flowed("over-pages", 60, ("GRID", *_ALL, 0.5))
_flowed("over-pages-repeated", 60, ("GRID", *_ALL, 0.5), repeat=1)
_flowed("below-only", 4, ("LINEBELOW", *_ALL, 0.5))


@makes("fpdf2", "table.pdf")
def fpdf2(path: Path) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=12)
    with pdf.table() as table:
        for values in ROWS:
            row = table.row()
            for value in values:
                row.cell(value)
    pdf.output(str(path))


if __name__ == "__main__":
    write(MAKERS, Path(sys.argv[1]), "")
