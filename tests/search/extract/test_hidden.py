"""Text that a file holds and does not show is left out and counted; numbers of workbooks read as they are displayed."""

import pytest

from deedbox.search.extract import Extractor, extract
from deedbox.search.extract.number_format import shown
from tests.search.extract import pdfs
from tests.search.extract.words import archive, docx, paragraph, relations

_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_BLACK, _WHITE = b" 0 g ", b" 1 1 1 rg "


def found(data: bytes, kind: str) -> tuple[str, int]:
    """The words that are read, and how many characters were left out."""
    extraction = extract(data, kind)
    return " ".join(extraction.text.split()), extraction.hidden


def run(text: str, settings: str = "") -> str:
    return f"<w:r><w:rPr>{settings}</w:rPr><w:t>{text}</w:t></w:r>"


@pytest.mark.parametrize(
    ("settings", "hidden"),
    [("<w:vanish/>", 6), ('<w:vanish w:val="0"/>', 0), ('<w:rStyle w:val="secret"/>', 6), ("<w:b/>", 0)],
)
def test_hidden_runs_of_word_are_left_out_and_counted(settings: str, hidden: int) -> None:
    styles = '<w:style w:type="character" w:styleId="secret"><w:rPr><w:vanish/></w:rPr></w:style>'
    body = f"<w:p>{run('Rent ')}{run('secret', settings)}{run(' due')}</w:p>"
    assert found(docx(body, styles), "docx") == ("Rent due" if hidden else "Rent secret due", hidden)


def test_paragraphs_in_a_hidden_style_of_word_are_left_out() -> None:
    styles = '<w:style w:type="paragraph" w:styleId="note"><w:rPr><w:vanish/></w:rPr></w:style>'
    assert found(docx(paragraph("secret", "note") + paragraph("Rent"), styles), "docx") == ("Rent", 6)
    table = f"<w:tbl><w:tr><w:tc>{paragraph('secret', 'note')}</w:tc><w:tc>{paragraph('Rent')}</w:tc></w:tr></w:tbl>"
    assert found(docx(table, styles), "docx") == ("| Rent", 6)


HIDES, SHOWS = "<w:vanish/>", '<w:vanish w:val="0"/>'


def style(name: str, settings: str = "", based_on: str = "", kind: str = "paragraph", more: str = "") -> str:
    above = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    return f'<w:style w:type="{kind}" w:styleId="{name}" {more}>{above}<w:rPr>{settings}</w:rPr></w:style>'


def styled(paragraph_style: str = "", run_style: str = "", settings: str = "") -> str:
    named = f'<w:rStyle w:val="{run_style}"/>' if run_style else ""
    place = f'<w:pPr><w:pStyle w:val="{paragraph_style}"/></w:pPr>' if paragraph_style else ""
    return f"<w:p>{place}{run('secret', named + settings)}</w:p><w:p>{run('Rent', SHOWS)}</w:p>"


DEFAULT = 'w:default="1"'
DEFAULTS = "<w:docDefaults><w:rPrDefault><w:rPr><w:vanish/></w:rPr></w:rPrDefault></w:docDefaults>"
CHAIN = "".join(style(f"s{at}", based_on=f"s{at - 1}" if at else "p") for at in range(30))


@pytest.mark.parametrize(
    ("styles", "body", "hidden"),
    [
        (style("p", HIDES) + style("c", based_on="p"), styled("c"), True),
        (style("p", HIDES) + style("c", SHOWS, "p"), styled("c"), False),
        (style("p", HIDES) + CHAIN, styled("s29"), True),
        (style("p", based_on="c") + style("c", based_on="p"), styled("c"), False),
        (style("p", HIDES, kind="character") + style("c", "", "p", "character"), styled("", "c"), True),
        (style("p", HIDES, kind="character") + style("c", SHOWS, "p", "character"), styled("", "c"), False),
        (style("p", HIDES), styled("p", settings=SHOWS), False),
        (style("p", HIDES) + style("c", "<w:b/>", kind="character"), styled("p", "c"), True),
        (style("p", HIDES) + style("c", HIDES, kind="character"), styled("p", "c"), False),
        (style("p", HIDES) + style("c", HIDES, kind="character"), styled("p", "c", HIDES), True),
        (style("c", HIDES, kind="character"), styled("", "c", SHOWS), False),
        (style("Normal", HIDES, more=DEFAULT), styled(), True),
        (style("Normal", HIDES, more=DEFAULT), styled("unknown"), True),
        (style("Normal", HIDES, more=DEFAULT) + style("p"), styled("p"), False),
        (style("c", HIDES, kind="character", more=DEFAULT), styled(), True),
        (DEFAULTS, styled(), True),
        (DEFAULTS + style("p", SHOWS), styled("p"), False),
        ("", styled(settings="<w:specVanish/>"), True),
        (style("p", "<w:specVanish/>"), styled("p"), True),
    ],
)
def test_hidden_text_of_word_follows_its_styles(styles: str, body: str, hidden: bool) -> None:
    assert found(docx(body, styles), "docx") == (("Rent", 6) if hidden else ("secret Rent", 0))


def workbook(*sheets: tuple[str, str, str], formats: tuple[str, ...] = ()) -> bytes:
    """A workbook of sheets with a name, attributes and rows; cells name the formats by number from 1."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{at}" r:id="s{at}" {state}/>' for at, (name, state, _) in enumerate(sheets, 1)
    )
    codes = "".join(f"<numFmt numFmtId='{at}' formatCode='{code}'/>" for at, code in enumerate(formats, 200))
    styles = "<xf numFmtId='0'/>" + "".join(f"<xf numFmtId='{200 + at}'/>" for at in range(len(formats)))
    targets = "".join(
        f'<Relationship Id="s{at}" Type="{_TYPES}/worksheet" Target="sheet{at}.xml"/>'
        for at in range(1, len(sheets) + 1)
    )
    links = f'<Relationship Id="x" Type="{_TYPES}/styles" Target="styles.xml"/>{targets}'
    namespace = "http://schemas.openxmlformats.org/package/2006/relationships"
    return archive(
        {
            "_rels/.rels": relations(officeDocument="xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook xmlns="{_SHEETS}" xmlns:r="{_TYPES}"><sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{namespace}">{links}</Relationships>',
            "xl/styles.xml": f'<styleSheet xmlns="{_SHEETS}"><numFmts>{codes}</numFmts><cellXfs>{styles}</cellXfs>'
            "</styleSheet>",
        }
        | {
            f"xl/sheet{at}.xml": f'<worksheet xmlns="{_SHEETS}">{rows}</worksheet>'
            for at, (_, _, rows) in enumerate(sheets, 1)
        }
    )


def row(*values: str, attributes: str = "") -> str:
    cells = "".join(
        f'<c t="inlineStr"><is><t>{value}</t></is></c>' if not value.startswith("<") else value for value in values
    )
    return f"<row {attributes}>{cells}</row>"


def test_hidden_sheets_rows_and_columns_are_left_out() -> None:
    rows = row("Name", "Rent", "Salary") + row("Ada", "900", "77") + row("Bob", "850", "88", attributes='hidden="1"')
    columns = '<cols><col min="3" max="3" hidden="1"/></cols>'
    data = workbook(
        ("Tenants", "", f"{columns}<sheetData>{rows}</sheetData>"),
        ("Secret", 'state="hidden"', f"<sheetData>{row('code')}</sheetData>"),
        ("Deep", 'state="veryHidden"', f"<sheetData>{row('key')}</sheetData>"),
    )
    text, hidden = found(data, "xlsx")
    assert text == "Tenants Name | Rent Name: Ada | Rent: 900"
    assert hidden == len("Salary77") + len("Bob85088") + len("Secretcode") + len("Deepkey")


def test_numbers_of_a_workbook_read_as_they_are_displayed() -> None:
    values = [f'<c s="{at}"><v>{value}</v></c>' for at, value in ((1, 0.075), (2, 1234.5), (3, 45413), (0, 0.1 + 0.2))]
    rows = row("Share", "Rent", "Since", "Rate") + row(*values)
    data = workbook(
        ("Rents", "", f"<sheetData>{rows}</sheetData>"), formats=("0.0 %", '#,##0.00\\ "€"', "dd\\.mm\\.yyyy")
    )
    told = "Share: 7.5 % | Rent: 1,234.50 € | Since: 2024-05-01 | Rate: 0.3"
    assert found(data, "xlsx")[0] == f"Rents Share | Rent | Since | Rate {told}"


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.5, "0%", "50%"), (-5, "$#,##0.00", "-$5.00"), (-5, "0_);[Red]\\(0\\)", "(5)"), (7, "000", "007"),
        (1234567, '#,##0.0,,"M"', "1.2M"), (0, '0;-0;"none"', "none"),
        (1.5, "[h]:mm", "36:00:00"), (0.5, "h:mm", "12:00:00"),
        (45413.5, "d/m/yy h:mm", "2024-05-01 12:00:00"), (1e20, "0", "1e+20"), (2.5, "# ?/?", "2.5"),
        (1.005, "0.##", "1.01"),
        (3, "General", "3"), (-1, "d/m/yy", "-1"), (5, "", "5"), (12, "@", "12"), (1234, "#,##0 [$€-407]", "1,234 €"),
    ],
)  # fmt: skip
def test_a_number_is_shown_as_its_format_says(value: float, code: str, text: str) -> None:
    assert shown(float(value), code) == text


def test_hidden_slides_and_shapes_are_left_out() -> None:
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/main"
    main = "http://schemas.openxmlformats.org/presentationml/2006/main"

    def slide(text: str, attributes: str = "", shape: str = "") -> str:
        words = "<p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody>"
        spoken = "<p:sp><p:nvSpPr><p:cNvPr id='1' {}/></p:nvSpPr>" + words + "</p:sp>"
        shapes = spoken.format("", text) + (spoken.format("hidden='1'", shape) if shape else "")
        return f'<p:sld xmlns:p="{main}" xmlns:a="{drawing}" {attributes}><p:cSld>{shapes}</p:cSld></p:sld>'

    slides = [slide("Rent", shape="secret"), slide("hidden slide", 'show="0"'), slide("Deposit")]
    ids = "".join(f'<p:sldId id="{at}" r:id="slide_{at}"/>' for at in range(3))
    data = archive(
        {
            "_rels/.rels": relations(officeDocument="ppt/presentation.xml"),
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{main}" xmlns:r="{_TYPES}">{ids}</p:presentation>',
            "ppt/_rels/presentation.xml.rels": relations(**{f"slide_{at}": f"s{at}.xml" for at in range(3)}),
        }
        | {f"ppt/s{at}.xml": text for at, text in enumerate(slides)}
    )
    assert found(data, "pptx") == ("Rent Deposit", len("secret") + len("hidden slide"))
    assert len(extract(data, "pptx").page_starts or []) == 2


@pytest.mark.parametrize(
    ("content", "text", "hidden"),
    [
        (_BLACK + pdfs.lines("Rent") + b" 3 Tr " + pdfs.lines("secret", top=500), "Rent", 6),
        (_BLACK + pdfs.lines("Rent") + _WHITE + pdfs.lines("secret", top=500), "Rent", 6),
        (b"0.2 g 50 480 400 60 re f " + _WHITE + pdfs.lines("White on dark", top=500), "White on dark", 0),
        (_WHITE + b"50 480 400 60 re f " + pdfs.lines("secret", top=500) + _BLACK + pdfs.lines("Rent"), "Rent", 6),
        (b"2 Tr " + _WHITE + b"0 G " + pdfs.lines("Outlined"), "Outlined", 0),
        (b"0.5 g " + pdfs.lines("Grey"), "Grey", 0),
        (b"1 g 1 G 2 Tr " + pdfs.lines("secret"), "", 6),
        (b"1 G 1 Tr " + pdfs.lines("secret"), "", 6),
        (b"1 g 0 G 1 Tr " + pdfs.lines("Outlined"), "Outlined", 0),
        (b"0 g 1 G 1 Tr " + pdfs.lines("secret"), "", 6),
        (b"0 g 1 G 2 Tr " + pdfs.lines("Filled"), "Filled", 0),
        (b"1 g 6 Tr 1 G " + pdfs.lines("secret"), "", 6),
        (b"0.97 g " + pdfs.lines("secret"), "", 6),
        (b"0.97 g 0.96 0.97 0.98 RG 2 Tr " + pdfs.lines("secret"), "", 6),
        (b"0.85 g " + pdfs.lines("Pale caption"), "Pale caption", 0),
        (b"0.9 g 50 480 400 60 re f 0.88 g " + pdfs.lines("secret", top=500), "", 6),
        (b"0 g 50 480 400 60 re f " + pdfs.lines("secret", top=500), "", 6),
        (b"0 g 50 480 30 60 re f " + pdfs.lines("Beyond the box", top=500), "Beyond the box", 0),
        (b"0 g 50 480 m 400 480 l 50 600 l f " + pdfs.lines("No box", top=500), "No box", 0),
        (b"0 g 50 480 400 60 re f 1 g 50 480 400 60 re f " + pdfs.lines("secret", top=500), "", 6),
        (b"1 g 50 480 400 60 re f 0 g 50 480 400 60 re f 1 g " + pdfs.lines("On black", top=500), "On black", 0),
        (b"0 g 50 498 400 1 re f " + pdfs.lines("Underlined", top=500), "Underlined", 0),
    ],
)
def test_text_of_a_pdf_that_nobody_sees_is_left_out(content: bytes, text: str, hidden: int) -> None:
    assert found(pdfs.paged(content), "pdf") == (text, hidden)


def test_the_text_below_the_picture_of_a_scan_stays() -> None:
    image = pdfs.stream(
        b"\x99", b"/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray"
    )
    content = b"q 612 0 0 792 0 0 cm /I Do Q 3 Tr " + pdfs.lines("Scanned words")
    page = b"/Resources<</Font<</F1 3 0 R>>/XObject<</I 6 0 R>>>>"
    assert found(pdfs.paged(content, page=page, more=[image]), "pdf") == ("Scanned words", 0)


def test_hidden_text_in_a_form_of_a_pdf_is_left_out() -> None:
    form = pdfs.form(b"3 Tr BT /F1 12 Tf (secret) Tj ET")
    page = b"/Resources<</Font<</F1 3 0 R>>/XObject<</X 6 0 R>>>>"
    data = pdfs.paged(pdfs.lines("Rent") + b" q /X Do Q", page=page, more=[form])
    assert found(data, "pdf") == ("Rent", 6)


_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_NAMES = " ".join(f'xmlns:{name}="{_ODF}:{name}:1.0"' for name in ("office", "style", "text", "table"))
NONE, SHOWN = '<style:text-properties text:display="none"/>', '<style:text-properties text:display="true"/>'


def open_document(body: str, kind: str, automatic: str = "", common: str = "") -> bytes:
    """An OpenDocument text or spreadsheet with automatic and common styles."""

    def part(name: str, content: str) -> str:
        return f"<office:{name} {_NAMES}>{content}</office:{name}>"

    content = f"<office:automatic-styles>{automatic}</office:automatic-styles>"
    content += f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return archive(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "META-INF/manifest.xml": f'<m:manifest xmlns:m="{_ODF}:manifest:1.0"/>',
            "content.xml": part("document-content", content),
            "styles.xml": part("document-styles", f"<office:styles>{common}</office:styles>"),
        }
    )


def odf_style(name: str, settings: str = "", parent: str = "", family: str = "paragraph") -> str:
    above = f'style:parent-style-name="{parent}"' if parent else ""
    return f'<style:style style:name="{name}" style:family="{family}" {above}>{settings}</style:style>'


HIDDEN_SPAN = odf_style("h", NONE, family="text")


@pytest.mark.parametrize(
    ("body", "automatic", "common", "hidden"),
    [
        ('<text:p text:style-name="h">secret</text:p>', odf_style("h", NONE), "", True),
        ('<text:h text:style-name="h">secret</text:h>', "", odf_style("h", NONE), True),
        ('<text:p text:style-name="a">secret</text:p>', odf_style("a", parent="h"), odf_style("h", NONE), True),
        ('<text:p text:style-name="a">secret</text:p>', odf_style("a", SHOWN, "h"), odf_style("h", NONE), False),
        ('<text:p><text:span text:style-name="h">secret</text:span></text:p>', HIDDEN_SPAN, "", True),
        (
            '<text:p text:style-name="h"><text:span text:style-name="s">secret</text:span></text:p>',
            odf_style("h", NONE) + odf_style("s", SHOWN, family="text"),
            "",
            False,
        ),
        ('<text:section text:display="none"><text:p>secret</text:p></text:section>', "", "", True),
        ('<text:p><text:hidden-text text:is-hidden="true">secret</text:hidden-text></text:p>', "", "", True),
        ('<text:p text:style-name="a">secret</text:p>', odf_style("a", parent="a"), odf_style("h", NONE), False),
        (
            "<text:p>secret</text:p>",
            "",
            f'<style:default-style style:family="paragraph">{NONE}</style:default-style>',
            True,
        ),
    ],
)
def test_hidden_text_of_opendocument_is_left_out(body: str, automatic: str, common: str, hidden: bool) -> None:
    shown = '<text:p text:style-name="shown">Rent</text:p>'
    data = open_document(f"{body}{shown}", "text", automatic + odf_style("shown", SHOWN), common)
    assert found(data, "odt") == (("Rent", 6) if hidden else ("secret Rent", 0))


def cells(*values: str, attributes: str = "") -> str:
    written = (f'<table:table-cell office:value-type="string">{value}</table:table-cell>' for value in values)
    return f"<table:table-row {attributes}>{''.join(written)}</table:table-row>"


def test_hidden_rows_columns_sheets_and_texts_of_ods_are_left_out() -> None:
    def words(*texts: str) -> list[str]:
        return [f"<text:p>{text}</text:p>" for text in texts]

    hides, filtered = 'table:visibility="collapse"', 'table:visibility="filter" table:number-rows-repeated="2"'
    columns = (
        '<table:table-column table:number-columns-repeated="2"/>'
        f'<table:table-column {hides} table:number-columns-repeated="2"/><table:table-column/>'
    )
    twice = 'office:value-type="string" table:number-columns-repeated="2"'
    spans = cells(*words("Cyd")).replace(
        "</table:table-row>", f"<table:table-cell {twice}><text:p>x</text:p></table:table-cell></table:table-row>"
    )
    secret = '<text:p><text:span text:style-name="h">secret</text:span>Dan</text:p>'
    table = (
        f'<table:table table:name="Tenants">{columns}<table:table-header-rows>'
        f"{cells(*words('Name', 'Rent', 'Salary', 'Tax', 'Town'))}</table:table-header-rows>"
        f"{cells(*words('Ada', '900', '77', '7', 'Rome'))}{cells(*words('Bob', '850'), attributes=hides)}"
        f"<table:table-row-group>{cells(*words('Eve'), attributes=filtered)}</table:table-row-group>"
        f"{spans}{cells(secret, *words('1'))}</table:table>"
        f'<table:table table:name="Away" table:style-name="off">{cells(*words("code"))}</table:table>'
    )
    off = '<style:table-properties table:display="false"/>'
    data = open_document(table, "spreadsheet", HIDDEN_SPAN + odf_style("off", off, family="table"))
    text, hidden = found(data, "ods")
    rows = "Name: Ada | Rent: 900 | Town: Rome Name: Cyd | Rent: x Name: Dan | Rent: 1"
    assert text == f"Tenants Name | Rent | Town {rows}"
    left_out = ["Salary", "Tax", "77", "7", "Bob", "850", "Eve", "Eve", "x", "secret", "Away", "code"]
    assert hidden == len("".join(left_out))


@pytest.mark.parametrize(
    ("content", "text", "hidden"),
    [
        (r"{\v secret}Rent", "Rent", 6),
        (r"\v secret\v0 Rent", "Rent", 6),
        (r"\v secret\plain Rent", "Rent", 6),
        (r"{\v1 s{\b ec}r\'e9\u8364?}Rent", "Rent", 6),
        (r"{\v a\par b}Rent", "Rent", 2),
        (r"{\v {\v0 Rent}}\viewkind4 ", "Rent", 0),
        (r"{\stylesheet{\s1\v Secret;}}Rent", "Rent", 0),
        (r"{\*\bkmkstart\v x}Rent", "Rent", 0),
        (r"{\uc2\v \u8364??a}Rent", "Rent", 2),
    ],
)
def test_hidden_text_of_rtf_is_left_out(content: str, text: str, hidden: int) -> None:
    assert found(rf"{{\rtf1\ansi {content}}}".encode(), "rtf") == (text, hidden)


@pytest.mark.parametrize(
    "page",
    [
        "<p>Rent</p><p hidden>secret</p>",
        "<p>Rent</p><p style='display: none'>secret</p>",
        "<p>Rent</p><p style='color:red;opacity:0'>secret</p>",
        "<p>Rent</p><p style='font-size:0px'>secret</p>",
        "<p>Rent</p><p style='position:absolute;left:-9999px'>secret</p>",
        "<p>Rent</p><p style='height:0;overflow:hidden'>secret</p>",
        "<p>Rent</p><p style='max-height: 0px; overflow-y: hidden'>secret</p>",
        "<p>Rent</p><p style='width:0;overflow:hidden'>secret</p>",
        "<p>Rent</p><p style='max-width:0em;overflow:clip'>secret</p>",
        "<style>.x{overflow:hidden;height:0 !important}</style><p>Rent</p><p class=x>secret</p>",
        "<p>Rent</p><p style='transform:scale(0)'>secret</p>",
        "<p>Rent</p><p style='transform: rotate(9deg) scale(1, 0)'>secret</p>",
        "<p>Rent</p><p style='transform:scaleY(0)'>secret</p>",
        "<p>Rent</p><p style='scale: 0'>secret</p>",
        "<p>Rent</p><p style='color:#fff'>secret</p>",
        "<p>Rent</p><p style='color:white;background:#fefefe'>secret</p>",
        "<p>Rent</p><p style='color: rgb(247, 247, 247)'>secret</p>",
        "<p>Rent</p><p style='color:rgba(0,0,0,0.02)'>secret</p>",
        "<p>Rent</p><p style='color:transparent'>secret</p>",
        "<p>Rent</p><p><font color=white>secret</font></p>",
        "<p>Rent</p><div style='background-color:#123'><p style='color:#112233'>secret</p></div>",
        "<style>.x{color:#FFF}</style><p>Rent</p><p class=x><b>secret</b></p>",
        "<style>p{color:#000} p.x{color:#fff} .x{color:#333}</style><p>Rent</p><p class=x>secret</p>",
        "<style>body{background:#222;color:#eee} .x{color:#222}</style><p>Rent</p><p class=x>secret</p>",
        "<body bgcolor=black text=white><p>Rent</p><p style='color:black'>secret</p>",
        "<p>Rent</p><table bgcolor='#000000'><tr><td style='color:black'>secret</table>",
        "<style>/* .a{} */ p.x, .y {color: red; display:none}</style><p>Rent</p><p class=x>secret</p>",
        "<style>@import 'a.css'; @media print {.z{color:red} p{}} #x{visibility:hidden}</style><p>Rent<p id=x>secret",
    ],
)
def test_text_that_css_hides_is_left_out_and_counted(page: str) -> None:
    assert found(page.encode(), "html") == ("Rent", 6)


@pytest.mark.parametrize(
    "page",
    [
        "<style>@media print {p{display:none}}</style><p>Rent</p>",
        "<style>body{visibility:hidden} * {opacity:0}</style><p>Rent</p>",
        "<p style='opacity:0.5'>Rent</p>",
        "<p style='font-size:0.9em;margin-left:-20px'>Rent</p>",
        "<style>p:::x{display:none}</style><p>Rent</p>",
        "<p style='height:0'>Rent</p>",
        "<p style='overflow:hidden;height:auto;max-width:none'>Rent</p>",
        "<p style='overflow:hidden;height:10px'>Rent</p>",
        "<p style='overflow:hidden;height:0;padding-bottom:56%'>Rent</p>",
        "<p style='overflow:hidden;min-width:0'>Rent</p>",
        "<p style='transform:scale(0.5)'>Rent</p>",
        "<p style='transform:scale(1, 0.5)'>Rent</p>",
        "<p style='scale:1'>Rent</p>",
        "<p style='color:#ccc'>Rent</p>",
        "<p style='background:#000'><span style='color:#fff'>Rent</span></p>",
        "<style>.hero{background:url(a.png)} .hero p{color:#fff}</style><div class=hero><p>Rent</p></div>",
        "<div style='background:linear-gradient(red,blue);color:#fff'>Rent</div>",
        "<div style='position:relative'><img src=a><p style='position:absolute;color:#fff'>Rent</p></div>",
        "<style>.o{position:absolute}</style><div><i class=o></i><p style='color:#fff'>Rent</p></div>",
        "<link rel=stylesheet href=a.css><p style='color:#fff'>Rent</p>",
        "<p style='color:#fff;text-shadow:0 0 2px #000'>Rent</p>",
        "<style>p{color:#fff} p.x{color:#000}</style><p class=x>Rent</p>",
        "<style>a:hover{color:#fff}</style><a href=b>Rent</a>",
        "<div style='color:#fff'><a href=b>Rent</a></div>",
        "<button style='color:#fff'>Rent</button>",
        "<p style='color:var(--x);background:#fff'>Rent</p>",
        "<p style='border-color:#fff;background-color:#fff'>Rent</p>",
        "<p style='color:#000 !important;color:#fff'>Rent</p>",
    ],
)
def test_text_that_css_shows_somewhere_stays(page: str) -> None:
    assert found(page.encode(), "html") == ("Rent", 0)


@pytest.mark.anyio
async def test_what_is_left_out_is_told_with_the_text(extractor: Extractor) -> None:
    inner = b"<p>Rent</p><p hidden>secret</p>"
    assert (await extractor.extract(archive({"a.html": inner, "b.html": inner}), "zip")).hidden == 12
