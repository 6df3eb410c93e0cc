"""What the producers are given to make PDFs of: the same few texts in the languages that they read."""

TITLE = "Agreement on the sale of a boat"
PARAGRAPH = (
    "The seller transfers the boat with everything that belongs to it, and the buyer takes it over as it lies. "
    "Both have seen it. The price is due on the day of the handing over, in one sum, without deduction."
)
SCRIPTS = {
    "latin": "Überprüfung, façade, Łódź, Nguyễn Thị Ánh",
    "greek": "Η συμφωνία ισχύει από σήμερα",
    "cyrillic": "Настоящий договор вступает в силу",
    "hebrew": "החוזה נכנס לתוקף היום",
    "arabic": "يسري هذا العقد من اليوم",
    "devanagari": "यह अनुबंध आज से लागू है",
    "chinese": "本合同自今日起生效",
    "japanese": "本契約は本日より有効です",
    "korean": "이 계약은 오늘부터 유효합니다",
    "thai": "สัญญานี้มีผลตั้งแต่วันนี้",
}

SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300" viewBox="0 0 400 300">
<defs><linearGradient id="g"><stop offset="0" stop-color="#123"/><stop offset="1" stop-color="#fb4"/></linearGradient>
<filter id="f"><feGaussianBlur stdDeviation="3"/></filter></defs>
<rect x="20" y="20" width="200" height="120" fill="url(#g)" opacity="0.7"/>
<circle cx="240" cy="150" r="70" fill="#083" fill-opacity="0.5" stroke="#000"/>
<circle cx="90" cy="230" r="30" fill="#806" filter="url(#f)"/>
<text x="30" y="280" font-size="20" font-family="sans-serif">Agreement on a boat</text></svg>"""


def html(style: str = "", body: str = "", language: str = "en") -> str:
    """A page with headings, a table, a link and whatever else is asked for."""
    rows = "".join(f"<tr><td>{number}</td><td>Instalment</td><td>{number * 110}.00</td></tr>" for number in range(1, 6))
    return (
        f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{TITLE}</title>'
        f"<style>td {{ border: 1px solid #999 }} {style}</style></head><body><h1>{TITLE}</h1><p>{PARAGRAPH}</p>"
        f'<table>{rows}</table><h2>Place</h2><p>See <a href="https://mail.example/terms">the terms</a>.</p>{body}'
        "</body></html>"
    )


def scripts_html() -> str:
    return "".join(
        f'<p lang="{name}" dir="{"rtl" if name in ("arabic", "hebrew") else "ltr"}">{text}</p>'
        for name, text in SCRIPTS.items()
    )


FORM_HTML = (
    '<form><p>Name <input name="name" value="Ana"></p><p>Agreed <input type="checkbox" name="agreed" checked></p>'
    '<p><select name="s"><option>One</option><option selected>Two</option></select></p>'
    '<p><textarea name="t">Two lines\nof text</textarea></p></form>'
)
LONG_HTML = "".join(f"<h2>Clause {number}</h2>" + f"<p>{PARAGRAPH}</p>" * 6 for number in range(1, 30))


def latex(preamble: str = "", body: str = "", options: str = "a4paper") -> str:
    return (
        rf"\documentclass[{options}]{{article}}{preamble}\title{{{TITLE}}}\begin{{document}}\maketitle"
        rf"\section{{Price}} {PARAGRAPH} \[ \int_0^1 x^2\,dx = \frac13 \] \section{{Place}} {PARAGRAPH} {body}"
        r"\end{document}"
    )


TROFF = f""".TH AGREEMENT 7
.SH NAME
{TITLE}
.SH PRICE
{PARAGRAPH}
.PP
.B Both
sign below.
"""

POSTSCRIPT = f"""%!PS-Adobe-3.0
%%Pages: 2
/Helvetica findfont 18 scalefont setfont 72 700 moveto ({TITLE}) show
0.5 setgray 72 500 200 100 rectfill showpage
<< /PageSize [842 595] >> setpagedevice
/Times-Roman findfont 12 scalefont setfont 72 400 moveto (The second page lies across) show
gsave 300 200 translate 30 rotate 0 0 1 setrgbcolor 0 0 100 60 rectstroke grestore showpage
"""

FLAT_TEXT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"
 office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text">
<office:automatic-styles><style:page-layout style:name="P"><style:page-layout-properties fo:page-width="%(width)s"
 fo:page-height="%(height)s" fo:margin="2cm"/></style:page-layout>
<style:style style:name="B" style:family="paragraph"><style:paragraph-properties fo:break-before="page"/></style:style>
</office:automatic-styles>
<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="P"/></office:master-styles>
<office:body><office:text><text:h text:outline-level="1">%(title)s</text:h><text:p>%(text)s</text:p>
<text:p><text:a xlink:href="https://mail.example/">A link</text:a></text:p>
%(more)s<text:p text:style-name="B">The last page</text:p></office:text></office:body></office:document>
"""

FLAT_SLIDES = """<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
 xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
 office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.%(kind)s">
<office:body><office:%(kind)s><draw:page draw:name="one"><draw:frame svg:x="2cm" svg:y="2cm" svg:width="15cm"
 svg:height="3cm"><draw:text-box><text:p>%(title)s</text:p></draw:text-box></draw:frame></draw:page>
<draw:page draw:name="two"><draw:ellipse svg:x="3cm" svg:y="3cm" svg:width="8cm" svg:height="5cm"/></draw:page>
</office:%(kind)s></office:body></office:document>
"""

FO = """<?xml version="1.0" encoding="UTF-8"?><fo:root xmlns:fo="http://www.w3.org/1999/XSL/Format">
<fo:layout-master-set><fo:simple-page-master master-name="p" page-width="21cm" page-height="29.7cm" margin="2cm">
<fo:region-body/></fo:simple-page-master></fo:layout-master-set>
<fo:page-sequence master-reference="p"><fo:flow flow-name="xsl-region-body"><fo:block font-size="18pt">%s</fo:block>
<fo:block>%s</fo:block><fo:block break-before="page">The last page</fo:block></fo:flow></fo:page-sequence></fo:root>
"""
