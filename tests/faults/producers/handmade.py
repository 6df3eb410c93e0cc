"""PDFs made object by object: what the specification allows and few programs write, and what must be refused."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Encryption, Name, Pdf, Permissions, String

from deedbox.pdf.intake import damage, signed_input
from deedbox.pdf.intake import take_in as intake
from tests.pdf.issued import sealed
from tests.pdf.papers import add_page, font, lines, paper, saved
from tests.pdf.shapes import SHAPES

_TEXT = lines("An agreement", "between two", "about a boat")
_BOXES: dict[str, dict[str, Any]] = {
    "plain": {},
    "media-off-origin": {"media": (100, 200, 500, 800)},
    "media-negative": {"media": (-100, 300, 295, 842)},
    "crop": {"CropBox": [40, 350, 500, 800]},
    "unit": {"UserUnit": 2.5},
    "crop-and-unit": {"CropBox": [30, 400, 400, 820], "UserUnit": 0.5},
    "all-boxes": {"CropBox": [30, 400, 400, 820], "TrimBox": [50, 420, 390, 800], "BleedBox": [0, 0, 400, 830]},
}


def handmade() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Names and how to make the files, all of which can be sealed."""
    for name, entries in _BOXES.items():
        for rotate in (0, 90, 180, 270):
            yield f"box-{name}-turned-{rotate}", partial(paper, _TEXT, _TEXT, Rotate=rotate, **entries)
    for name, shape in SHAPES.items():
        yield f"shape-{name}", shape
    for name, change in _CHANGES.items():
        yield name, partial(_changed, change, **_SAVED.get(name, {}))
    yield "tiny-page", partial(paper, _TEXT, media=(0, 0, 4, 4))
    yield "huge-page", partial(paper, _TEXT, media=(0, 0, 14_400, 14_400))
    yield "narrow-page", partial(paper, _TEXT, media=(0, 0, 2000, 12))
    yield "many-pages", partial(paper, *[lines(f"Page {number}") for number in range(700)])
    yield "mixed-sizes", _mixed_sizes
    for version in (2, 4, 6):
        yield f"owner-password-{version}", partial(_protected, version)


def _changed(change: Callable[[Pdf], object], **options: Any) -> bytes:
    with pikepdf.new() as pdf:
        for _ in range(2):
            add_page(pdf, _TEXT)
        change(pdf)
        return saved(pdf, **options)


def _protected(version: Any) -> bytes:
    forbidding = Permissions(extract=False, print_lowres=False, print_highres=False)
    newer = version >= 4
    safe = Encryption(user="", owner="o", R=version, aes=newer, metadata=newer, allow=forbidding)
    with pikepdf.new() as pdf:
        add_page(pdf, _TEXT)
        return saved(pdf, encryption=safe)


def _mixed_sizes() -> bytes:
    with pikepdf.new() as pdf:
        for number in range(1, 9):
            add_page(pdf, lines("A size", x=5, y=20), (0, 0, 60 * number, 900 / number), Rotate=90 * (number % 4))
        return saved(pdf)


def refused() -> Iterator[tuple[str, bytes, str]]:
    """Names, files, and the words with which each must be refused."""
    with pikepdf.new() as pdf:
        add_page(pdf, _TEXT)
        for locked in (
            Encryption(user="u", owner="o", R=2, aes=False, metadata=False),
            Encryption(user="u", owner="o", R=4),
            Encryption(user="u", owner="o", R=6),
        ):
            yield f"user-password-{locked.R}", saved(pdf, encryption=locked), signed_input.LOCKED
        pdf.Root["/Collection"] = Dictionary(Type=Name.Collection)
        yield "portfolio", saved(pdf), intake.PORTFOLIO
        del pdf.Root["/Collection"]
        pdf.Root["/AcroForm"] = Dictionary(Fields=Array([]), XFA=pdf.make_stream(b"<xdp/>"))
        yield "dynamic-form", saved(pdf), intake.XFA
    with pikepdf.new() as pdf:
        yield "no-pages", saved(pdf), intake.NO_PAGES
    plain = paper(_TEXT)
    yield "signed", sealed(plain), intake.SIGNED
    yield "cut-off", plain[: len(plain) // 2], damage.DAMAGED
    yield "picture", b"\x89PNG\r\n\x1a\n" + bytes(50), f"{intake.NOT_A_PDF}: it is a PNG image"
    yield "empty", b"", "This file is empty"


def _field(pdf: Pdf, page: Any, **entries: Any) -> Any:
    widget = Dictionary(Type=Name.Annot, Subtype=Name.Widget, F=4, DA=String("/F 11 Tf 0 g"), **entries)
    made = pdf.make_indirect(widget)
    page["/Annots"] = Array([*(page.get("/Annots") or []), made])
    return made


def _form(pdf: Pdf, fields: list[Any], **entries: Any) -> None:
    resources = Dictionary(Font=Dictionary(F=pdf.make_indirect(font())))
    pdf.Root["/AcroForm"] = Dictionary(Fields=Array(fields), DR=resources, DA=String("/F 11 Tf 0 g"), **entries)


def _form_without_appearances(pdf: Pdf) -> None:
    page = pdf.pages[0].obj
    fields = [
        _field(pdf, page, FT=Name.Tx, T="city", V="Bergen", Rect=[60, 500, 260, 520]),
        _field(pdf, page, FT=Name.Ch, T="way", V="post", Opt=Array(["post"]), Ff=1 << 17, Rect=[60, 460, 200, 480]),
        _field(pdf, page, FT=Name.Btn, T="agreed", V=Name.Yes, AS=Name.Yes, Rect=[60, 420, 75, 435]),
    ]  # fmt: skip
    _form(pdf, fields, NeedAppearances=True)


def _form_with_appearances(pdf: Pdf) -> None:
    page = pdf.pages[0].obj
    face = Dictionary(Type=Name.XObject, Subtype=Name.Form, BBox=[0, 0, 200, 20], Resources=Dictionary(
        Font=Dictionary(F=pdf.make_indirect(font()))))  # fmt: skip
    stream = pdf.make_stream(b"/Tx BMC q BT /F 11 Tf 2 5 Td (Bergen) Tj ET Q EMC", face)
    _form(pdf, [_field(pdf, page, FT=Name.Tx, T="city", V="Bergen", Rect=[60, 500, 260, 520], AP=Dictionary(N=stream))])


def _form_with_groups(pdf: Pdf) -> None:
    page = pdf.pages[1].obj
    group = pdf.make_indirect(Dictionary(FT=Name.Tx, T="person", V="Ana"))
    kids = [_field(pdf, page, Parent=group, Rect=[60, 500 - 40 * row, 260, 520 - 40 * row]) for row in range(2)]
    group["/Kids"] = Array(kids)
    _form(pdf, [group], NeedAppearances=True)


def _form_not_yet_signed(pdf: Pdf) -> None:
    _form(pdf, [_field(pdf, pdf.pages[0].obj, FT=Name.Sig, T="sign here", Rect=[60, 500, 260, 540])], SigFlags=1)


def _form_with_xfa_copy(pdf: Pdf) -> None:
    _form_with_appearances(pdf)
    pdf.Root.AcroForm["/XFA"] = pdf.make_stream(b"<xdp/>")


def _annotations(pdf: Pdf) -> None:
    page = pdf.pages[0].obj
    kinds: dict[str, dict[str, Any]] = {
        "Highlight": {"QuadPoints": [60, 590, 260, 590, 60, 560, 260, 560], "C": [1, 1, 0]},
        "Square": {"C": [1, 0, 0], "IC": [0, 1, 0]},
        "Line": {"L": [60, 445, 260, 465], "C": [0, 0, 1]},
        "Ink": {"InkList": [[60, 385, 90, 405, 160, 390]], "C": [0, 0, 0]},
        "Text": {"Contents": "A note", "Open": True},
        "FreeText": {"Contents": "Free", "DA": String("/F 12 Tf 0 g")},
        "Stamp": {"Name": Name.Draft},
        "Link": {"A": Dictionary(S=Name.URI, URI=String("https://mail.example/"))},
    }
    for row, (kind, more) in enumerate(kinds.items()):
        top = 560 - 60 * row
        entry = Dictionary(Type=Name.Annot, Subtype=Name("/" + kind), Rect=[60, top, 260, top + 30], F=4, **more)
        page["/Annots"] = Array([*(page.get("/Annots") or []), pdf.make_indirect(entry)])


def _layers(pdf: Pdf) -> None:
    groups = [pdf.make_indirect(Dictionary(Type=Name.OCG, Name=String(f"Layer {n}"))) for n in range(3)]
    properties = Dictionary({f"/L{n}": group for n, group in enumerate(groups)})
    for page in pdf.pages:
        page.obj.Resources["/Properties"] = properties
        page.contents_add(
            pdf.make_stream(
                b" ".join(b"/OC /L%d BDC %d 300 100 100 re f EMC" % (n, 60 + 150 * n) for n in range(3))
            )
        )  # fmt: skip
    order = Array(groups)
    pdf.Root["/OCProperties"] = Dictionary(
        OCGs=order, D=Dictionary(ON=Array(groups[:2]), OFF=Array(groups[2:]), Order=order)
    )


def _transparency(pdf: Pdf) -> None:
    page = pdf.pages[0]
    mask = pdf.make_stream(
        b"0 g 0 0 300 300 re f 1 g 100 100 100 100 re f",
        Dictionary(Type=Name.XObject, Subtype=Name.Form, BBox=[0, 0, 300, 300],
                   Group=Dictionary(S=Name.Transparency, CS=Name.DeviceGray)),
    )  # fmt: skip
    states = {
        "/A": Dictionary(ca=0.4, CA=0.5), "/M": Dictionary(BM=Name.Multiply),
        "/S": Dictionary(SMask=Dictionary(S=Name.Luminosity, G=mask)),
    }  # fmt: skip
    page.obj.Resources["/ExtGState"] = Dictionary(states)
    page.obj["/Group"] = Dictionary(S=Name.Transparency, CS=Name.DeviceCMYK, I=True, K=True)
    page.contents_add(
        pdf.make_stream(b"/A gs 1 0 0 rg 50 50 300 300 re f /M gs 0 1 1 0 k 90 90 300 300 re f /S gs 0 0 600 600 re f")
    )


def _state_left_behind(pdf: Pdf) -> None:
    page = pdf.pages[0]
    page.contents_add(pdf.make_stream(b"q q 0.3 0 0 0.3 40 40 cm 1 0 0 rg 0 0 50 50 re W n q BT /F 9 Tf"))
    pdf.pages[1].contents_add(pdf.make_stream(b"Q Q Q 2 0 0 2 0 0 cm"), prepend=True)


def _split_content(pdf: Pdf) -> None:
    page = pdf.pages[0].obj
    whole = page.Contents.read_bytes()
    cuts = [whole[:20], b"", whole[20:], b"\nq", b"0 0 1 rg 9 9 40 40 re", b"f Q"]
    page["/Contents"] = Array([pdf.make_stream(piece) for piece in cuts])


def _no_content(pdf: Pdf) -> None:
    del pdf.pages[0].obj["/Contents"]
    del pdf.pages[0].obj["/Resources"]
    pdf.pages[1].obj["/Contents"] = Array([])


def _one_page_twice(pdf: Pdf) -> None:
    pdf.pages.append(pdf.pages[0])
    pdf.pages.append(pdf.pages[0])


def _shared_content(pdf: Pdf) -> None:
    first, second = (page.obj for page in pdf.pages)
    second["/Contents"], second["/Resources"] = first.Contents, first.Resources
    first["/Resources"] = second["/Resources"] = pdf.make_indirect(first.Resources)


def _deep_tree(pdf: Pdf) -> None:
    root = pdf.Root.Pages
    kids, node = root.Kids, root
    for depth in range(6):
        inner = pdf.make_indirect(Dictionary(Type=Name.Pages, Parent=node, Count=2, Kids=Array([])))
        node["/Kids"] = Array([inner])
        if depth == 2:
            inner["/Rotate"], inner["/CropBox"] = 90, Array([20, 300, 500, 800])
        node = inner
    node["/Kids"] = kids
    for page in kids:
        page["/Parent"] = node


def _tagged(pdf: Pdf) -> None:
    root = pdf.make_indirect(Dictionary(Type=Name.StructTreeRoot))
    element = pdf.make_indirect(Dictionary(Type=Name.StructElem, S=Name.P, P=root, Pg=pdf.pages[0].obj, K=0))
    root["/K"], root["/ParentTree"] = element, Dictionary(Nums=Array([0, Array([element])]))
    page = pdf.pages[0]
    page.obj["/StructParents"] = 0
    page.obj["/Contents"] = pdf.make_stream(b"/P << /MCID 0 >> BDC " + _TEXT + b" EMC")
    pdf.Root["/StructTreeRoot"], pdf.Root["/MarkInfo"] = root, Dictionary(Marked=True)
    pdf.Root["/Lang"] = String("en")


def _attachments(pdf: Pdf) -> None:
    pdf.attachments["rows.csv"] = b"a;b\n"
    pdf.Root["/AF"] = Array([pdf.attachments["rows.csv"].obj])
    pdf.Root["/PageMode"] = Name.UseAttachments


def _outlines(pdf: Pdf) -> None:
    with pdf.open_outline() as outline:
        outline.root += [pikepdf.OutlineItem(f"Part {number}", number % 2) for number in range(40)]
    pdf.Root["/PageLabels"] = Dictionary(Nums=Array([0, Dictionary(S=Name.r), 1, Dictionary(S=Name.D, P=String("A-"))]))
    pdf.Root["/Names"] = Dictionary(Dests=Dictionary(Names=Array([String("end"), Array([pdf.pages[1].obj, Name.Fit])])))


def _scripts(pdf: Pdf) -> None:
    script = Dictionary(S=Name.JavaScript, JS=String("this.print()"))
    pdf.Root["/OpenAction"] = script
    pdf.Root["/Names"] = Dictionary(JavaScript=Dictionary(Names=Array([String("a"), script])))
    pdf.pages[0].obj["/AA"] = Dictionary(O=script)


def _inline_image(pdf: Pdf) -> None:
    drawn = b"q 90 0 0 90 60 300 cm BI /W 4 /H 4 /BPC 8 /CS /G ID " + bytes(range(0, 256, 16)) + b"\nEI Q"
    pdf.pages[0].contents_add(pdf.make_stream(drawn))


def _shadings(pdf: Pdf) -> None:
    shade = Dictionary(
        ShadingType=2, ColorSpace=Name.DeviceRGB, Coords=[0, 0, 300, 0], Extend=[True, True],
        Function=Dictionary(FunctionType=2, Domain=[0, 1], C0=[1, 0, 0], C1=[0, 0, 1], N=1),
    )  # fmt: skip
    tile = pdf.make_stream(b"0 0 5 5 re f", Dictionary(
        Type=Name.Pattern, PatternType=1, PaintType=1, TilingType=1, BBox=[0, 0, 10, 10], XStep=10, YStep=10,
        Resources=Dictionary()))  # fmt: skip
    resources = pdf.pages[0].obj.Resources
    resources["/Shading"], resources["/Pattern"] = Dictionary(S=shade), Dictionary(T=tile)
    pdf.pages[0].contents_add(pdf.make_stream(b"q 50 50 200 200 re W n /S sh Q /Pattern cs /T scn 300 50 200 200 re f"))


def _type_3_font(pdf: Pdf) -> None:
    glyph = pdf.make_stream(b"800 0 0 0 750 750 d1 0 0 750 750 re f")
    made = Dictionary(
        Type=Name.Font, Subtype=Name.Type3, FontBBox=[0, 0, 750, 750], FontMatrix=[0.001, 0, 0, 0.001, 0, 0],
        CharProcs=Dictionary(sq=glyph), FirstChar=97, LastChar=97, Widths=[1000], Resources=Dictionary(),
        Encoding=Dictionary(Type=Name.Encoding, Differences=Array([97, Name.sq])),
    )  # fmt: skip
    pdf.pages[0].obj.Resources.Font["/T3"] = made
    pdf.pages[0].contents_add(pdf.make_stream(b"BT /T3 40 Tf 60 300 Td (aaa) Tj ET"))


def _odd_entries(pdf: Pdf) -> None:
    page = pdf.pages[0].obj
    page["/Rotate"], page["/MediaBox"] = -270, pdf.make_indirect(Array([595.0, 0, 0, 842.5]))
    page["/Annots"], page["/Thumb"] = Array([]), Dictionary()
    pdf.pages[1].obj["/Rotate"] = 450
    pdf.pages[1].obj["/CropBox"] = Array([-500, -500, 5000, 5000])


def _names_taken(pdf: Pdf) -> None:
    form = pdf.make_stream(b"0 0 40 40 re f", Dictionary(Type=Name.XObject, Subtype=Name.Form, BBox=[0, 0, 40, 40]))
    for page in pdf.pages:
        page.obj.Resources["/XObject"] = Dictionary({"/DeedboxMarks": form})
        page.contents_add(pdf.make_stream(b"/DeedboxMarks Do"))


def _large_image(pdf: Pdf) -> None:
    from random import Random

    image = pdf.make_stream(Random(4).randbytes(1500 * 2000 * 3), Dictionary(
        Type=Name.XObject, Subtype=Name.Image, Width=1500, Height=2000, ColorSpace=Name.DeviceRGB,
        BitsPerComponent=8))  # fmt: skip
    pdf.pages[1].obj.Resources["/XObject"] = Dictionary(I=image)
    pdf.pages[1].contents_add(pdf.make_stream(b"q 300 0 0 400 60 100 cm /I Do Q"))


_CHANGES: dict[str, Callable[[Pdf], object]] = {
    made.__name__[1:].replace("_", "-"): made
    for made in (
        _form_without_appearances, _form_with_appearances, _form_with_groups, _form_not_yet_signed, _form_with_xfa_copy,
        _annotations, _layers, _transparency, _state_left_behind, _split_content, _no_content, _one_page_twice,
        _shared_content, _deep_tree, _tagged, _attachments, _outlines, _scripts, _inline_image, _shadings,
        _type_3_font, _odd_entries, _names_taken, _large_image,
    )
}  # fmt: skip
_SAVED: dict[str, dict[str, Any]] = {
    "tagged": {"force_version": "2.0"}, "split-content": {"force_version": "1.0"}, "outlines": {"linearize": True},
}  # fmt: skip
