# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call"
"""A program for the environment of the producers: `libraries.py FOLDER` writes a PDF for each thing a library can do.

It has nothing of Deedbox but the texts, and the environment has nothing that Deedbox needs. A library that is not
there, or cannot do a thing, is named on standard error.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.faults.producers import sources

FAILED = "not made: "
Maker = Callable[[Path], object]
MAKERS: list[tuple[str, str, Maker]] = []


def makes(producer: str, *variants: str) -> Callable[[Callable[[Path, str], object]], None]:
    """The function makes one file for each variant."""

    def register(maker: Callable[[Path, str], object]) -> None:
        for variant in variants:
            MAKERS.append((producer, variant, lambda path, variant=variant: maker(path, variant)))  # type: ignore[misc]

    return register


def another(producer: str, variant: str, path: Path) -> bytes:
    """What the maker of another file makes."""
    next(maker for *names, maker in MAKERS if names == [producer, variant])(path)
    return path.read_bytes()


def photo(mode: str = "RGB", size: tuple[int, int] = (320, 240)) -> "object":
    from PIL import Image

    across = Image.linear_gradient("L").resize(size)
    down = across.rotate(90).resize(size)
    picture = Image.merge("RGB", (across, down, Image.new("L", size, 90)))
    if mode in ("RGBA", "LA"):
        picture = picture.convert("RGBA")
        picture.putalpha(across)
    return picture.convert(mode)


def encoded(kind: str, mode: str = "RGB", **options: object) -> bytes:
    made = io.BytesIO()
    photo(mode).save(made, kind, **options)  # type: ignore[attr-defined]
    return made.getvalue()


@makes("reportlab", "plain", "uncompressed", "pdf-1.2", "pdf-1.7", "rotated", "outline", "transparency", "labels")
def reportlab_canvas(path: Path, variant: str) -> None:
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    version = {"pdf-1.2": (1, 2), "pdf-1.7": (1, 7)}.get(variant, (1, 4))
    canvas = Canvas(str(path), A4, pageCompression=variant != "uncompressed", pdfVersion=version)
    for number in range(3):
        canvas.setFont("Times-Roman", 14)
        canvas.drawString(72, 700, f"{sources.TITLE}, page {number + 1}")
        if variant == "rotated":
            canvas.setPageRotation(90 * number)
        if variant == "outline":
            canvas.bookmarkPage(f"p{number}")
            canvas.addOutlineEntry(f"Page {number}", f"p{number}", number, closed=number > 0)
            canvas.linkURL("https://mail.example/", (72, 690, 200, 715))
        if variant == "transparency":
            canvas.setFillColorRGB(0.8, 0.1, 0.1, alpha=0.4)
            canvas.circle(200, 400, 80, fill=1)
            canvas.drawInlineImage(photo(), 300, 300, 120, 90)
        if variant == "labels":
            canvas.addPageLabel(number, style="ROMAN_LOWER", start=number + 1)
        canvas.showPage()
    canvas.save()


@makes("reportlab", "form", "cid-fonts", "crop-box", "platypus", "long", "tiny-page", "huge-page", "encrypted")
def reportlab_more(path: Path, variant: str) -> None:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfgen.canvas import Canvas
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

    if variant in ("platypus", "long"):
        style = getSampleStyleSheet()["Normal"]
        story = [Paragraph(sources.PARAGRAPH * 4, style), Table([["a", "b"], ["1", "2"]]), PageBreak()]
        SimpleDocTemplate(str(path)).build(story * (150 if variant == "long" else 2) + [Paragraph("End", style)])
        return
    size = {"tiny-page": (60, 40), "huge-page": (5000, 7000)}.get(variant, (595, 842))
    canvas = Canvas(
        str(path), size, encrypt="secret" if variant == "encrypted" else None,
        cropBox=(50, 60, 400, 700) if variant == "crop-box" else None,
    )  # fmt: skip
    if variant == "cid-fonts":
        for row, (font, script) in enumerate(
            [("STSong-Light", "chinese"), ("HeiseiMin-W3", "japanese"), ("HYSMyeongJo-Medium", "korean")]
        ):
            pdfmetrics.registerFont(UnicodeCIDFont(font))
            canvas.setFont(font, 16)
            canvas.drawString(72, 700 - 40 * row, sources.SCRIPTS[script])
    canvas.setFont("Helvetica", 9)
    canvas.drawString(10, 10, "A page")
    if variant == "form":
        canvas.acroForm.textfield(name="name", value="Ana María", x=72, y=600, width=200)
        canvas.acroForm.checkbox(name="agreed", checked=True, x=72, y=560)
        canvas.acroForm.choice(name="way", value="post", options=["post", "mail"], x=72, y=520, width=90, height=20)
        for row, value in enumerate("ab"):
            canvas.acroForm.radio(name="r", value=value, selected=value == "a", x=72 + 40 * row, y=480)
    canvas.showPage()
    canvas.save()


@makes("fpdf2", "plain", "links", "mixed-sizes", "attachment", "transparency", "long", "labels")
def fpdf2(path: Path, variant: str) -> None:
    import fpdf

    pdf = fpdf.FPDF()
    for number in range(120 if variant == "long" else 3):
        landscape = variant == "mixed-sizes" and number % 2
        pdf.add_page("L" if landscape else "P", format=(90 + 60 * number, 200) if variant == "mixed-sizes" else "A4")
        if variant == "labels":
            pdf.set_page_label(label_style="r", label_start=number + 3)
        pdf.set_font("Helvetica", size=12)
        pdf.multi_cell(0, 6, sources.PARAGRAPH, new_x="LMARGIN", new_y="NEXT")
        if variant == "links":
            pdf.start_section(f"Part {number}")
            pdf.cell(text="A link", link="https://mail.example/")
            pdf.text_annotation(50, 100, "A note")
        if variant == "transparency":
            pdf.image(photo("RGBA"), 40, 120, 80)
            with pdf.local_context(fill_opacity=0.3):
                pdf.ellipse(60, 140, 70, 50, style="F")
    if variant == "attachment":
        pdf.embed_file(bytes=b"a;b\n", basename="rows.csv", desc="rows")
    pdf.output(str(path))


@makes(
    "weasyprint", "plain", "pdf/a-1b", "pdf/a-2b", "pdf/a-3u", "pdf/a-4e", "pdf/ua-1", "pdf-2.0", "form", "attachment",
    "scripts", "sizes", "long", "svg", "uncompressed", "transparency",
)  # fmt: skip
def weasyprint(path: Path, variant: str) -> None:
    import weasyprint as made

    style, body = "", ""
    options: dict[str, object] = {}
    if variant.startswith("pdf/"):
        options["pdf_variant"] = variant
    elif variant == "pdf-2.0":
        options["pdf_version"] = "2.0"
    elif variant == "form":
        body, options["pdf_forms"] = sources.FORM_HTML, True
    elif variant == "attachment":
        options["attachments"] = [made.Attachment(string="a;b\n", name="rows.csv")]
    elif variant == "sizes":
        style = "@page { size: A6 landscape } @page wide { size: 40cm 20cm; margin: 3cm } section { page: wide }"
        body = "<section>Wide</section>"
    elif variant == "uncompressed":
        options["uncompressed_pdf"] = True
    elif variant == "transparency":
        body = '<p style="opacity: 0.4; background: linear-gradient(red, blue); transform: rotate(9deg)">Half</p>'
    body += {"scripts": sources.scripts_html(), "long": sources.LONG_HTML, "svg": sources.SVG}.get(variant, "")
    made.HTML(string=sources.html(style, body)).write_pdf(str(path), **options)


@makes("cairo", "1.4", "1.5", "tagged", "groups", "recording", "sizes")
def cairo(path: Path, variant: str) -> None:
    import cairo as made

    surface = made.PDFSurface(str(path), 400, 500)
    if variant.startswith("1."):
        surface.restrict_to_version(getattr(made.PDFVersion, f"VERSION_{variant.replace('.', '_')}"))
    pen = made.Context(surface)
    for number in range(3):
        if variant == "sizes":
            surface.set_size(200 + 300 * number, 900 - 200 * number)
        if variant == "tagged":
            pen.tag_begin("H1", "")
        pen.move_to(30, 60)
        pen.set_font_size(20)
        pen.show_text(f"{sources.TITLE[:12]} {number}")
        if variant == "tagged":
            pen.tag_end("H1")
            pen.tag_begin(made.TAG_LINK, "uri='https://mail.example/'")
            pen.show_text("link")
            pen.tag_end(made.TAG_LINK)
            surface.add_outline(made.PDF_OUTLINE_ROOT, f"Page {number}", f"page={number + 1}", 0)
            surface.set_page_label(f"-{number}-")
        if variant in ("groups", "recording"):
            pen.push_group()
            pen.set_source_rgba(0.9, 0.2, 0.1, 0.5)
            pen.arc(200, 250, 90, 0, 6)
            pen.fill()
            pen.pop_group_to_source()
            pen.paint_with_alpha(0.5)
            pen.set_source_rgb(0, 0, 0)
        pen.show_page()
    surface.finish()


@makes("cairosvg", "plain", "scaled")
def cairosvg(path: Path, variant: str) -> None:
    import cairosvg as made

    made.svg2pdf(bytestring=sources.SVG.encode(), write_to=str(path), scale=3 if variant == "scaled" else 1)


@makes("svglib", "plain")
def svglib(path: Path, variant: str) -> None:
    from reportlab.graphics import renderPDF
    from svglib.svglib import svg2rlg

    renderPDF.drawToFile(svg2rlg(io.StringIO(sources.SVG)), str(path))


@makes("matplotlib", "type3", "type42", "pages", "transparency", "raster", "math")
def matplotlib(path: Path, variant: str) -> None:
    import matplotlib as made

    made.use("pdf")
    from matplotlib import pyplot
    from matplotlib.backends.backend_pdf import PdfPages

    with made.rc_context({"pdf.fonttype": 42 if variant == "type42" else 3}), PdfPages(str(path)) as pages:
        for number in range(4 if variant == "pages" else 1):
            figure, axes = pyplot.subplots(figsize=(4 + 2 * number, 4))
            axes.plot([1, 5, 2, 8], alpha=0.4 if variant == "transparency" else 1)
            if variant == "raster":
                axes.imshow([[1, 2], [3, 4]])
            axes.set_title(r"$\int_0^1 x^2 dx$" if variant == "math" else sources.TITLE)
            pages.savefig(figure)
            pyplot.close(figure)


@makes("pillow", "rgb", "grey", "cmyk", "palette", "bilevel", "several", "alpha")
def pillow(path: Path, variant: str) -> None:
    modes = {"grey": "L", "cmyk": "CMYK", "palette": "P", "bilevel": "1", "alpha": "LA"}
    more = {"save_all": True, "append_images": [photo("L"), photo()]} if variant == "several" else {}
    photo(modes.get(variant, "RGB")).save(path, "PDF", resolution=100, **more)  # type: ignore[attr-defined]


@makes("img2pdf", "jpeg", "png", "png-palette", "tiff-g4", "cmyk", "several", "pdf-a", "fixed-page", "jpeg2000")
def img2pdf(path: Path, variant: str) -> None:
    import img2pdf as made

    inputs = {
        "png": [encoded("PNG")], "png-palette": [encoded("PNG", "P")], "cmyk": [encoded("JPEG", "CMYK")],
        "tiff-g4": [encoded("TIFF", "1", compression="group4")], "jpeg2000": [encoded("JPEG2000")],
        "several": [encoded("JPEG"), encoded("PNG", "L"), encoded("PNG", "1")],
    }.get(variant, [encoded("JPEG")])  # fmt: skip
    more: dict[str, object] = {}
    if variant == "fixed-page":
        more["layout_fun"] = made.get_layout_fun((made.mm_to_pt(210), made.mm_to_pt(297)))
    if variant == "pdf-a":
        more["pdfa"] = "/usr/share/color/icc/ghostscript/srgb.icc"
    path.write_bytes(made.convert(inputs, engine=made.Engine.internal, **more))


@makes("pypdf", "blank", "form", "outline", "attachment", "annotations", "rotated", "labels", "viewer")
def pypdf(path: Path, variant: str) -> None:
    import pypdf as made
    from pypdf import annotations

    writer = made.PdfWriter()
    if variant == "form":
        writer = made.PdfWriter(clone_from=io.BytesIO(another("reportlab", "form", path)))
        writer.update_page_form_field_values(writer.pages[0], {"name": "Clara"}, auto_regenerate=True)
    else:
        for number in range(3):
            page = writer.add_blank_page(300 + 50 * number, 400)
            page.rotate(90 * number if variant == "rotated" else 0)
    if variant == "outline":
        writer.add_outline_item("Part", 1, parent=writer.add_outline_item("All", 0))
        writer.page_mode = "/UseOutlines"
    elif variant == "attachment":
        writer.add_attachment("rows.csv", b"a;b\n")
    elif variant == "annotations":
        rect = (50, 50, 200, 120)
        writer.add_annotation(0, annotations.FreeText(text="Free text", rect=rect))
        writer.add_annotation(1, annotations.Rectangle(rect, interior_color="ff0000"))
        writer.add_annotation(1, annotations.Highlight(rect=rect, quad_points=made.generic.ArrayObject(
            [made.generic.FloatObject(n) for n in (50, 120, 200, 120, 50, 50, 200, 50)])))  # fmt: skip
        writer.add_annotation(2, annotations.Link(rect=rect, target_page_index=0))
        writer.add_annotation(2, annotations.Text(text="A note", rect=rect, open=True))
    elif variant == "labels":
        writer.set_page_label(0, 1, style="/r")
    elif variant == "viewer":
        writer.page_layout = "/TwoColumnLeft"
        writer.create_viewer_preferences().hide_toolbar = True
    writer.write(str(path))


@makes("pymupdf", "plain", "scripts", "annotations", "widgets", "layers", "incremental", "subset", "linear", "draw")
def pymupdf(path: Path, variant: str) -> None:
    import pymupdf as made

    document = made.open()
    for number in range(2):
        page = document.new_page(width=500, height=600)
        page.insert_text((50, 80), f"{sources.TITLE} {number}", fontsize=16)
        if variant == "scripts":
            page.insert_htmlbox((50, 120, 450, 500), sources.scripts_html())
        if variant == "annotations":
            page.add_highlight_annot(made.Rect(50, 60, 200, 90))
            page.add_freetext_annot(made.Rect(50, 200, 250, 250), "Free text")
            page.add_stamp_annot(made.Rect(50, 300, 250, 380), stamp=0)
            page.add_ink_annot([[(50, 450), (120, 480), (200, 440)]])
            page.add_text_annot((300, 300), "A note")
        if variant == "widgets":
            for row, kind in enumerate((made.PDF_WIDGET_TYPE_TEXT, made.PDF_WIDGET_TYPE_CHECKBOX)):
                widget = made.Widget()
                widget.field_name, widget.field_type = f"w{number}{row}", kind
                widget.rect = made.Rect(50, 150 + 40 * row, 200, 175 + 40 * row)
                widget.field_value = "Ana" if row == 0 else True
                page.add_widget(widget)
        if variant == "layers":
            layer = document.add_ocg(f"Layer {number}", on=number == 0)
            page.insert_text((50, 300), "On a layer", oc=layer, fontsize=30)
        if variant == "draw":
            page.draw_circle((200, 300), 80, fill=(0.2, 0.5, 1), fill_opacity=0.4)
            page.set_rotation(90)
    document.save(str(path), linear=False, garbage=4 if variant == "subset" else 0)
    if variant == "incremental":
        again = made.open(str(path))
        again[0].insert_text((50, 400), "Added later")
        again.saveIncr()


@makes("borb", "plain")
def borb(path: Path, variant: str) -> None:
    from borb.pdf import PDF, Document, PageLayout, Paragraph, SingleColumnLayout
    from borb.pdf import Page as Sheet

    document, sheet = Document(), Sheet()
    document.append_page(sheet)
    layout: PageLayout = SingleColumnLayout(sheet)
    layout.append_layout_element(Paragraph(sources.PARAGRAPH))
    PDF.write(what=document, where_to=str(path))


@makes("xhtml2pdf", "plain", "scripts", "long")
def xhtml2pdf(path: Path, variant: str) -> None:
    from xhtml2pdf import pisa

    body = {"scripts": sources.scripts_html(), "long": sources.LONG_HTML}.get(variant, "")
    with path.open("wb") as target:
        pisa.CreatePDF(sources.html("", body), dest=target)


@makes("rst2pdf", "plain")
def rst2pdf(path: Path, variant: str) -> None:
    from rst2pdf.createpdf import RstToPdf

    text = f"{sources.TITLE}\n{'=' * len(sources.TITLE)}\n\n{sources.PARAGRAPH}\n\nPlace\n-----\n\n* one\n* two\n"
    RstToPdf(breaklevel=1).createPdf(text=text, output=str(path))


@makes("pdfrw", "copied")
def pdfrw(path: Path, variant: str) -> None:
    from pdfrw import PageMerge, PdfReader, PdfWriter

    source = another("reportlab", "outline", path)
    writer = PdfWriter(str(path))
    for page in PdfReader(fdata=source).pages:
        writer.addpage(page)
    sheet = PageMerge() + PdfReader(fdata=source).pages[:2]
    sheet[1].x = 300
    writer.addpage(sheet.render())
    writer.write()


def write(makers: Iterable[tuple[str, str, Maker]], folder: Path, suffix: str) -> None:
    """Makes what can be made here and names what cannot."""
    os.environ.setdefault("MPLCONFIGDIR", str(folder / ".matplotlib"))
    for producer, variant, maker in makers:
        path = folder / f"{producer}--{variant.replace('/', '')}{suffix}"
        try:
            maker(path)
        except Exception as error:  # whatever a library raises, the others are to go on
            path.unlink(missing_ok=True)
            print(f"{FAILED}{producer} {variant}: {type(error).__name__}: {error}".splitlines()[0], file=sys.stderr)


if __name__ == "__main__":
    write(MAKERS, Path(sys.argv[1]), ".pdf")
