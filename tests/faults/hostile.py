"""Files that mean harm: bombs made by hand, and real files of every kind with something broken in each."""

import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, islice, pairwise

from msgspec import Struct

from tests.search.extract import pdfs, words
from tests.search.extract.test_office import FILES


class Hostile(Struct, frozen=True):
    """A file, and what was done to it."""

    filename: str
    data: bytes
    deed: str


STALLER = "forms that draw forms"
CRASHER = "content that unpacks to gigabytes"


def files(count: int, seed: int) -> Iterator[Hostile]:
    """The hand-made files, then mutants of real ones; the same files for the same seed."""
    made = list(islice(handmade(), count))
    yield from made
    luck = random.Random(seed)
    real = list(originals().items())
    for number in range(max(0, count - len(made))):
        kind, data = luck.choice(real)
        deed, change = luck.choice(list(MUTATIONS.items()))
        extension = kind if luck.random() < 0.9 else luck.choice(real)[0]
        yield Hostile(f"{number}.{extension}", change(luck, data, luck.choice(real)[1]), f"{kind}, {deed}")


# mutants


def _flip(luck: random.Random, data: bytes, _other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(luck.choice((1, 1, 3, 10, 50))):
        changed[luck.randrange(len(changed))] ^= 1 << luck.randrange(8)
    return bytes(changed)


def _truncate(luck: random.Random, data: bytes, _: bytes) -> bytes:
    return data[: luck.randrange(len(data))]


def _splice(luck: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: luck.randrange(len(data))] + other[luck.randrange(len(other)) :]


def _swap_header(luck: random.Random, data: bytes, other: bytes) -> bytes:
    size = luck.choice((4, 8, 64))
    return other[:size] + data[size:]


def _blank(luck: random.Random, data: bytes, _: bytes) -> bytes:
    at, size = luck.randrange(len(data)), luck.choice((1, 16, 400))
    return data[:at] + luck.choice((b"\x00", b"\xff", b"9"))[:1] * size + data[at + size :]


def _repeat(luck: random.Random, data: bytes, _: bytes) -> bytes:
    at, size = luck.randrange(len(data)), luck.choice((8, 100, 1000))
    return data[:at] + data[at : at + size] * luck.choice((2, 50, 2000)) + data[at:]


def _number(luck: random.Random, data: bytes, _: bytes) -> bytes:
    """Another value in one of its four-byte fields, or in one of its written numbers."""
    at = luck.randrange(max(1, len(data) - 4))
    value = luck.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF))
    written = str(value).encode()
    digits = [place for place in range(len(data)) if data[place : place + 1].isdigit()]
    if digits and luck.random() < 0.5:
        place = luck.choice(digits)
        return data[:place] + written + data[place + 1 :]
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


MUTATIONS: dict[str, Callable[[random.Random, bytes, bytes], bytes]] = {
    "bits flipped": _flip,
    "cut off": _truncate,
    "spliced": _splice,
    "another's head": _swap_header,
    "overwritten": _blank,
    "a part repeated": _repeat,
    "a number changed": _number,
}

OFFICE = {"pptx": "python-pptx", "xlsx": "openpyxl", "ods": "libreoffice", "odt": "pandoc", "epub": "pandoc"}


def originals() -> dict[str, bytes]:
    """One real file of each kind, with every feature that its reader knows."""
    prose = "The lessee pays the rent on the first day of the month, and every – délai – is counted in days. "
    field = b"<</Type/Annot/Subtype/Widget/FT/Tx/T(n)/V(Ada)/Rect[72 500 372 520]/F 4/DA(/F1 12 Tf 0 g)>>"
    outline = [
        b"<</Type/Outlines/First 10 0 R/Last 10 0 R/Count 1>>",
        b"<</Title(Lease)/Parent 9 0 R/Dest[4 0 R/Fit]>>",
    ]
    catalog = b"/AcroForm<</Fields[8 0 R]/DA(/F1 12 Tf 0 g)/DR<</Font<</F1 3 0 R>>>>>>/Outlines 9 0 R"
    pages = (pdfs.lines("Lease", prose[:60], "termi-", "nation"), pdfs.lines(prose[:50]))
    style = '<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style>'
    table = "<w:tbl>" + words.row(words.paragraph("a"), words.paragraph("b")) * 20 + "</w:tbl>"
    body = (words.paragraph("Lease", "H") + words.paragraph(prose) + table) * 5
    page = f"<title>Lease</title><h1>Lease</h1><p>{prose}<ul><li>one<li>two</ul><table><tr><td>a<td>b</table>&euro;"
    return {
        "pdf": pdfs.paged(*pages, catalog=catalog, page=b"/Annots[8 0 R]", more=[field, *outline]),
        "docx": words.docx(body, style, footnotes=words.paragraph(prose), header_1=words.paragraph("Head")),
        "html": (page * 10).encode("cp1252"),
        "md": (f"---\ntitle: x\n---\n# Lease\n\n{prose}\n\nTerm\n----\n```\n# no\n```\n" * 10).encode(),
        "csv": ("name,note\n" + f'Ada,"{prose}"\n' * 20).encode(),
        "txt": (prose * 20).encode("utf-16"),
        **{name: (FILES / f"{maker}.{name}").read_bytes() for name, maker in OFFICE.items()},
        "eml": f"From: a@example.com\nSubject: =?utf-8?Q?=C3=A9?=\nContent-Type: text/plain\n\n{prose * 9}".encode(),
        "zip": words.archive(
            {"a.txt": prose, "b.docx": words.docx(body, style), "c.zip": words.archive({"d.md": page})}
        ),
        "tsv": ("name\tnote\n" + f"Ada\t{prose}\n" * 20).encode(),
        "json": json.dumps([{"name": "Ada", "notes": [prose, {"paid": 1.5, "on": None}]}] * 20).encode(),
        "xml": f'<?xml version="1.0"?><a b="c">{f"<title>Lease</title><p>{prose}<b>due</b></p>" * 20}</a>'.encode(),
        "py": (f'def lease():\n    """{prose}"""\n' * 20).encode(),
    }


# made by hand


def handmade() -> Iterator[Hostile]:
    """One after the other, because some take their time to be made."""
    yield from chain(_pdf_traps(), _word_traps(), _page_traps(), _text_traps(), _enclosing_traps())


def _pdf_traps() -> Iterator[Hostile]:
    yield Hostile("forms.pdf", _forms(levels=30, times=10), STALLER)
    yield Hostile("bomb.pdf", _content_bomb(), CRASHER)
    yield Hostile("loop.pdf", _one_page(page=b"/Kids[2 0 R 2 0 R]/Count 9"), "a page tree that contains itself")
    yield Hostile("count.pdf", pdfs.assembled([_CATALOG, b"<</Type/Pages/Kids[]/Count 2000000000>>"]), "a false count")
    yield Hostile("deep.pdf", pdfs.assembled([_CATALOG, b"[" * 200_000 + b"]" * 200_000]), "arrays in arrays")
    yield Hostile("image.pdf", _one_page(content=b"/I Do", image=True), "an image of a billion points")
    yield Hostile("predictor.pdf", _predictor(), "a predictor with absurd columns")
    yield Hostile("objects.pdf", _object_stream(), "a stream of objects that unpacks to much")
    yield Hostile("outline.pdf", _outline_loop(), "bookmarks in a circle")
    yield Hostile("secret.pdf", pdfs.encrypted("hidden", "swordfish"), "encrypted")
    yield Hostile("empty.pdf", b"", "empty")
    yield Hostile("image.pdf", b"\x89PNG\r\n\x1a\n" + bytes(1000), "an image named .pdf")


_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"


def _one_page(content: bytes = b"", page: bytes = b"/Kids[3 0 R]/Count 1", *, image: bool = False) -> bytes:
    resources = b"<</XObject<</I 5 0 R>>>>" if image else b"<<>>"
    size = b"/Type/XObject/Subtype/Image/Width 65000/Height 65000/BitsPerComponent 8/ColorSpace/DeviceRGB"
    return pdfs.assembled(
        [
            _CATALOG,
            b"<</Type/Pages%b>>" % page,
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources %b>>" % resources,
            pdfs.stream(content),
            pdfs.stream(zlib.compress(bytes(10_000_000)), size + b"/Filter/FlateDecode"),
        ]
    )


def _forms(levels: int, times: int) -> bytes:
    """Each form draws the next several times: the last would be drawn times ** levels times."""
    forms = [
        pdfs.stream(
            b"/X Do " * times,
            b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>" % (number + 1),
        )
        for number in range(4, 4 + levels)
    ]
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>"
    return pdfs.assembled(
        [_CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page, *forms, pdfs.stream(pdfs.lines("x"))]
    )


def _content_bomb() -> bytes:
    packed = zlib.compress(zlib.compress(b"(x) Tj " * 4_000_000, 9), 9)
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents[%b]>>" % (b"4 0 R " * 150)
    content = pdfs.stream(packed, b"/Filter[/FlateDecode/FlateDecode]")
    return pdfs.assembled([_CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page, content])


def _predictor() -> bytes:
    absurd = b"/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 2147483647/Colors 32/BitsPerComponent 16>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>"
    content = pdfs.stream(zlib.compress(b"x" * 1000), absurd)
    return pdfs.assembled([_CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page, content])


def _object_stream() -> bytes:
    packed = zlib.compress(b"3 0 " + b"<</A 1>> " * 10_000_000, 9)
    held = pdfs.stream(packed, b"/Type/ObjStm/N 10000000/First 4/Filter/FlateDecode")
    return pdfs.assembled([_CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", held])


def _outline_loop() -> bytes:
    item = b"<</Title(round)/Parent 6 0 R/Next 7 0 R/Prev 7 0 R/First 7 0 R/Last 7 0 R/Dest[4 0 R/Fit]>>"
    root = b"<</Type/Outlines/First 7 0 R/Last 7 0 R/Count 1>>"
    return pdfs.paged(pdfs.lines("round"), catalog=b"/Outlines 6 0 R", more=[root, item])


def _word_traps() -> Iterator[Hostile]:
    yield Hostile("bomb.docx", _archive(b" " * 200_000_000), "a part that unpacks to much")
    yield Hostile("dense.docx", _archive(_repeated(400_000)), "a body of a million elements")
    yield Hostile("deep.docx", _archive(b"<w:tbl><w:tr><w:tc>" * 50_000), "tables in tables")
    yield Hostile("laughs.docx", _archive(_laughs()), "entities that multiply")
    yield Hostile(
        "file.docx", _archive(b'<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>'), "a file's entity"
    )
    yield Hostile(
        "attributes.docx", _archive(b"<a %b/>" % b" ".join(b'a%d=""' % n for n in range(200_000))), "attributes"
    )
    yield Hostile("many.docx", _many_entries(30_000), "very many entries")
    yield Hostile("plain.docx", words.archive({"a.txt": "hello"}), "a ZIP archive named .docx")
    yield Hostile("sheet.docx", words.archive({"word/document.xml": "<workbook/>"}), "a sheet named .docx")
    yield Hostile("old.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(5000), "an old Word file")
    yield Hostile("empty.docx", b"", "empty")
    yield Hostile("tail.docx", words.docx(words.paragraph("x")) + b"PK\x05\x06" + b"\xff" * 18, "a false directory")


def _archive(document: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", document)
    return out.getvalue()


def _repeated(times: int) -> bytes:
    luck = random.Random(times)
    paragraphs = (words.paragraph(str(luck.random())) for _ in range(times // 20))
    return words.part("document", "<w:body>" + "".join(paragraphs) * 4 + "</w:body>").encode()


def _laughs() -> bytes:
    names = "abcdefghij"
    entities = b'<!ENTITY a "ha">' + b"".join(
        b'<!ENTITY %b "%b">' % (name.encode(), b"&%b;" % before.encode() * 10) for before, name in pairwise(names)
    )
    return b'<!DOCTYPE d [%b]><w:document xmlns:w="urn:wordprocessingml"><w:p a="&j;"/></w:document>' % entities


def _many_entries(count: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for number in range(count):
            file.writestr(str(number), b"")
    return out.getvalue()


def _page_traps() -> Iterator[Hostile]:
    deep = {"div": "<div>", "formatting": "<b><i><u>", "tables": "<table><tr><td>", "unknown": "<a-b>"}
    for name, tags in deep.items():
        yield Hostile(f"{name}.html", tags.encode() * 300_000, f"{name} nested without end")
    yield Hostile("sloppy.html", b"<p><a href=x><b><font size=2>text</p>" * 50_000, "formatting that is never closed")
    yield Hostile("attributes.html", b"<p %b>" % b" ".join(b"a%d=1" % n for n in range(100_000)), "attributes")
    yield Hostile("quoted.html", b'<p x=">" %b>' % b" ".join(b"a%d=1" % n for n in range(100_000)), "hidden attributes")
    yield Hostile("open.html", b"<!--" * 500_000, "comments that never end")
    yield Hostile("entities.html", b"&" * 3_000_000 + b"&NotEqualTilde;" * 100_000, "entities")
    yield Hostile("select.html", b"<select><option>" * 200_000, "options in options")
    yield Hostile("frames.html", b"<svg><foreignObject><math><mi>" * 100_000, "namespaces in namespaces")


def _text_traps() -> Iterator[Hostile]:
    yield Hostile("program.txt", b"MZ\x90\x00\x03\x00" + bytes(5000), "a program named .txt")
    yield Hostile("zeros.txt", bytes(1_000_000), "zeros")
    yield Hostile("noise.txt", random.Random(7).randbytes(1_000_000), "noise")
    yield Hostile("long.txt", b"word " * 5_000_000, "a very long text")
    yield Hostile("unknown.txt", b"\xe9\x81 \xfe" * 2_000_000, "no known charset")
    yield Hostile("surrogates.txt", b"\xff\xfe" + b"\x00\xd8a\x00" * 200_000, "halves of characters")
    yield Hostile("fences.md", b"```\n" * 2_000_000, "fences")
    yield Hostile("rules.md", b"a\n---\n# " + b"#" * 5_000_000, "number signs")
    yield Hostile("spaces.md", (b" " * 1000 + b"\n") * 5000 + b"#" + b" \t" * 1_000_000 + b"x", "spaces")
    yield Hostile("field.csv", b'a,b\n"' + b"x" * 5_000_000, "a field without end")
    yield Hostile("quotes.csv", b'"' * 5_000_001, "quotation marks")
    yield Hostile("commas.csv", b"," * 10_000_000, "very many columns")
    yield Hostile("rows.csv", b"a,b\n" + b"1,2\n" * 2_000_000, "very many rows")
    yield Hostile("empty.md", b"", "empty")
    yield Hostile("tabs.tsv", b"\t" * 10_000_000, "very many columns")
    yield Hostile("deep.json", b"[" * 5_000_000, "lists in lists")
    yield Hostile("digits.json", b"9" * 5_000_000, "a number without end")
    yield Hostile("records.json", b"[" + b'{"a":1},' * 2_000_000 + b"{}]", "very many records")
    yield Hostile("laughs.xml", _laughs(), "entities that multiply")
    yield Hostile("deep.xml", b"<a>" * 1_000_000, "elements in elements")
    yield Hostile("many.xml", b"<a>" + b"<b c='d'>e</b>" * 1_000_000 + b"</a>", "very many elements")
    yield Hostile("blob.py", random.Random(8).randbytes(1_000_000), "noise named as source code")


def _enclosing_traps() -> Iterator[Hostile]:
    yield Hostile("zeros.zip", words.archive({"a.txt": bytes(100_000_000)}), "an archive that unpacks to much")
    yield Hostile("many.zip", _many_entries(30_000), "very many files")
    inner = words.archive({"a.txt": "x" * 1000})
    for _ in range(6):
        inner = words.archive({f"{number}.zip": inner for number in range(10)})
    yield Hostile("nested.zip", inner, "archives in archives, ten in each")
    yield Hostile(
        "parts.eml", b"Subject: a\nContent-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\n" * 300_000, "parts"
    )
    deep = b"".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (n, n) for n in range(5000))
    yield Hostile("deep.eml", b"Subject: a\n" + deep, "parts in parts")
    yield Hostile("words.eml", b"Subject: " + b"=?utf-8?Q?a?= " * 200_000 + b"\n\nx", "a head without end")
    yield Hostile("groups.rtf", b"{\\rtf1 " + b"{" * 2_000_000, "groups in groups")
    yield Hostile("words.rtf", b"{\\rtf1 " + b"\\u8364?" * 1_000_000 + b"}", "very many characters by number")
    yield Hostile("far.xlsx", _far_cell(), "a sheet of seventeen billion cells")


def _far_cell() -> bytes:
    """A workbook whose last cell is the last that a sheet can have."""
    out = io.BytesIO()
    cell = '<row r="{0}"><c r="{1}{0}"><v>1</v></c></row>'
    with zipfile.ZipFile(FILES / "openpyxl.xlsx") as source, zipfile.ZipFile(out, "w") as file:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename == "xl/worksheets/sheet1.xml":
                rows = (cell.format(1, "A") + cell.format(1_048_576, "XFD")).encode()
                data = b"%b<sheetData>%b</sheetData></worksheet>" % (data.partition(b"<sheetViews>")[0], rows)
            file.writestr(entry.filename, data)
    return out.getvalue()
