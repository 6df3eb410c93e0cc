"""Pictures of pages, as a scanner makes them."""

import io

import pikepdf
from PIL import Image, ImageDraw

from tests.search.extract.pdfs import lines, paged

WIDTH, HEIGHT = 1240, 1754
LEFT, TOP, STEP = 120, 200, 120


def picture(*texts: str) -> Image.Image:
    """A page with each of these lines in a paragraph of its own; a blank one without any."""
    page = Image.new("RGB", (WIDTH, HEIGHT), "white")
    for number, text in enumerate(texts):
        ImageDraw.Draw(page).text((LEFT, TOP + number * STEP), text, "black", font_size=32)
    return page


def file_of(page: Image.Image, kind: str = "PNG", *more: Image.Image) -> bytes:
    made = io.BytesIO()
    page.save(made, kind, **({"save_all": True, "append_images": more} if more else {}))
    return made.getvalue()


def scan(typed: str, *pages: Image.Image) -> bytes:
    """A PDF with a typed page, if there is text for it, and these pictures as the others."""
    pictures = pikepdf.open(io.BytesIO(file_of(pages[0], "PDF", *pages[1:])))
    if typed:
        first = pikepdf.open(io.BytesIO(paged(lines(typed))))
        pictures.pages.insert(0, first.pages[0])
    made = io.BytesIO()
    pictures.save(made)
    return made.getvalue()
