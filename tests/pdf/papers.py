"""PDF files for tests, made with the smallest means, and what can be seen on them."""

import io
from collections.abc import Generator
from typing import Any, TypeVar

import pikepdf
import pypdfium2 as pdfium
from pikepdf import Array, Dictionary, Name
from PIL import Image, ImageDraw

T = TypeVar("T")
A4 = (0.0, 0.0, 595.0, 842.0)


def drained(pieces: Generator[bytes, None, T]) -> tuple[bytes, T]:
    """All that a generator yields, and what it returns."""
    made = bytearray()
    while True:
        try:
            made += next(pieces)
        except StopIteration as end:
            return bytes(made), end.value


def saved(pdf: pikepdf.Pdf, **options: Any) -> bytes:
    made = io.BytesIO()
    pdf.save(made, **options)
    return made.getvalue()


def font() -> Dictionary:
    return Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica, Encoding=Name.WinAnsiEncoding)


def add_page(pdf: pikepdf.Pdf, content: bytes, media: tuple[float, ...] = A4, **entries: Any) -> Any:
    page = Dictionary(
        Type=Name.Page, MediaBox=Array(list(media)), Resources=Dictionary(Font=Dictionary(F=font())),
        Contents=pdf.make_stream(content), **entries,
    )  # fmt: skip
    pdf.pages.append(pikepdf.Page(pdf.make_indirect(page)))
    return pdf.pages[-1].obj


def lines(*texts: str, x: float = 60, y: float = 760, size: float = 11) -> bytes:
    """The content of a page with these lines of text."""
    rows = [f"1 0 0 1 {x} {y - number * 16} Tm ({text}) Tj" for number, text in enumerate(texts)]
    return f"BT /F {size} Tf {' '.join(rows)} ET".encode("latin-1")


def paper(*contents: bytes, media: tuple[float, ...] = A4, **entries: Any) -> bytes:
    """A file with a page for each content."""
    with pikepdf.new() as pdf:
        for content in contents or (lines("An agreement"),):
            add_page(pdf, content, media, **entries)
        return saved(pdf)


def shown(data: bytes, number: int = 1, scale: float = 1.0) -> Image.Image:
    """The page as a viewer shows it."""
    document = pdfium.PdfDocument(data)
    try:
        document.init_forms()
        image: Image.Image = document[number - 1].render(scale=scale).to_pil().convert("RGB")
        return image
    finally:
        document.close()


def text_of(data: bytes, number: int = 1) -> str:
    document = pdfium.PdfDocument(data)
    try:
        text: str = document[number - 1].get_textpage().get_text_range()
        return text
    finally:
        document.close()


def scribble(size: tuple[int, int] = (300, 100), mode: str = "RGBA", kind: str = "PNG", **options: Any) -> bytes:
    """A signature somebody drew: a dark line on clear ground, or on white paper."""
    image = Image.new("RGBA", size, (0, 0, 0, 0) if mode == "RGBA" else "white")
    w, h = size
    draw = ImageDraw.Draw(image)
    draw.line(
        [(w * 0.2, h * 0.7), (w * 0.4, h * 0.3), (w * 0.8, h * 0.6)], fill=(10, 20, 90, 255), width=max(h // 20, 2)
    )
    made = io.BytesIO()
    image.convert(mode).save(made, kind, **options)
    return made.getvalue()
