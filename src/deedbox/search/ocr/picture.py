"""Runs in a sandbox: the pages of a file as pictures, in the size in which they are read."""

import io
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import pypdfium2 as pdfium
from PIL import Image, ImageOps

from deedbox.kernel import limits as shared_limits
from deedbox.pdf.intake.flatten_image import flat
from deedbox.search import limits

# A sandbox cannot load what an image is read with when it is first needed.
Image.init()

FORMATS = {"png": "PNG", "jpeg": "JPEG", "tiff": "TIFF", "webp": "WEBP"}
"""As Pillow names them, by kind of file."""
DAMAGED = (OSError, SyntaxError, ValueError, EOFError, TypeError, KeyError, ZeroDivisionError, pdfium.PdfiumError)
"""What the libraries raise for a page that cannot be shown."""
_POINTS_PER_INCH = 72
_FAINT = 24
"""Of 255: a page with less difference between its lightest and darkest is blank."""

Pages: TypeAlias = Callable[[int], Image.Image]


@contextmanager
def open_pages(data: bytes, kind: str) -> Iterator[Pages]:
    """What gives the picture of a page, counted from 1; it raises one of DAMAGED where there is none."""
    if kind != "pdf":
        image = Image.open(io.BytesIO(data), formats=(FORMATS[kind],))
        yield lambda number: _frame(image, number)
        return
    document = pdfium.PdfDocument(data)
    try:
        document.init_forms()
        yield lambda number: _drawn(document, number)
    finally:
        document.close()


def is_blank(picture: Image.Image) -> bool:
    darkest, lightest = picture.convert("L").getextrema()
    return lightest - darkest < _FAINT  # type: ignore[operator]


def _drawn(document: pdfium.PdfDocument, number: int) -> Image.Image:
    page = document[number - 1]
    width, height = (max(side, 1) for side in page.get_size())
    scale = min(limits.OCR_DPI / _POINTS_PER_INCH, math.sqrt(limits.OCR_PAGE_PIXELS / (width * height)))
    picture: Image.Image = page.render(scale=scale).to_pil()
    page.close()
    return picture.convert("RGB")


def _frame(image: Image.Image, number: int) -> Image.Image:
    image.seek(number - 1)
    if image.width * image.height > shared_limits.CONVERT_IMAGE_PIXELS:
        raise ValueError("the image is too large")
    picture = flat(ImageOps.exif_transpose(image)).convert("RGB")
    scale = math.sqrt(limits.OCR_PAGE_PIXELS / (picture.width * picture.height))
    if scale < 1:
        size = (max(1, int(picture.width * scale)), max(1, int(picture.height * scale)))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    return picture
