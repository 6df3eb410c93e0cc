"""Runs in a sandbox: the pages of a PDF as pictures."""

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager

import pypdfium2 as pdfium
from PIL import Image, JpegImagePlugin, WebPImagePlugin

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.pdf import limits

# A sandbox cannot load what an image is written with when it is first needed.
Image.preinit()

_EFFORT = 2
"""Of six: half the time of the usual four, for two bytes more in a hundred."""
_LOSSLESS_EFFORT, _LOSSLESS_QUALITY = 1, 75
"""More effort makes pages of text no smaller; more quality takes twice as long for a tenth less."""
_FULL, _FULL_EFFORT = 0.9, 0
"""A page whose ground is no larger part of it is full: no effort takes half the time there, for a fifth more bytes.
On emptier pages it saves nothing."""
_DENSE = 8
"""So many pixels a byte at least, or a page without loss may be larger than with."""


def render(data: bytes, number: int, width: int = shared_limits.PAGE_IMAGE_WIDTH) -> bytes:
    """The page as WebP, with its form fields filled in; NotFound if the document has no such page."""
    if not limits.PAGE_IMAGE_WIDTH_MIN <= width <= limits.PAGE_IMAGE_WIDTH_MAX:
        raise BadRequest(
            f"The width of a page image is from {limits.PAGE_IMAGE_WIDTH_MIN} to {limits.PAGE_IMAGE_WIDTH_MAX} pixels"
        )
    with open_document(data) as document:
        if not 1 <= number <= len(document):
            raise NotFound(f"The document has no page {number}: it has {len(document)}")
        image = _drawn(document, number, width)
    return _smallest(image)


def _smallest(image: Image.Image) -> bytes:
    """Without loss where the page has few colours, as text has, and that is smaller; else as photographs are."""
    colours = image.getcolors(limits.PAGE_IMAGE_COLOURS)
    if colours is None:
        return _written(image, quality=limits.PAGE_IMAGE_QUALITY, method=_EFFORT)
    pixels = image.width * image.height
    effort = _FULL_EFFORT if max(count for count, _ in colours) < _FULL * pixels else _LOSSLESS_EFFORT
    exact = _written(image, lossless=True, quality=_LOSSLESS_QUALITY, method=effort)
    if len(exact) * _DENSE <= pixels:
        return exact
    return min(exact, _written(image, quality=limits.PAGE_IMAGE_QUALITY, method=_EFFORT), key=len)


def _written(image: Image.Image, **how: int) -> bytes:
    made = io.BytesIO()
    image.save(made, WebPImagePlugin.WebPImageFile.format, **how)
    return made.getvalue()


def thumbnails(data: bytes) -> tuple[list[tuple[bytes, int, int]], int]:
    """The first pages as small JPEGs with their width and height, and how many pages there are."""
    made = []
    with open_document(data) as document:
        for number in range(1, min(len(document), limits.CERTIFICATE_THUMBNAILS) + 1):
            image = _drawn(document, number, limits.CERTIFICATE_THUMBNAIL_WIDTH)
            small = io.BytesIO()
            image.convert("RGB").save(small, JpegImagePlugin.JpegImageFile.format, quality=limits.PAGE_IMAGE_QUALITY)
            made.append((small.getvalue(), image.width, image.height))
        return made, len(document)


@contextmanager
def open_document(data: bytes) -> Iterator[pdfium.PdfDocument]:
    """The document with its form fields; BadRequest if it is none."""
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise BadRequest("The file cannot be read as a PDF") from error
    try:
        document.init_forms()
        yield document
    finally:
        document.close()


def _drawn(document: pdfium.PdfDocument, number: int, width: int) -> Image.Image:
    try:
        page = document[number - 1]
        w, h = page.get_size()
        image: Image.Image = page.render(scale=_scale(w, h, width)).to_pil()
        page.close()
    except pdfium.PdfiumError as error:
        raise BadRequest(f"Page {number} cannot be drawn; the file may be damaged") from error
    return image


def _scale(width: float, height: float, wanted: int) -> float:
    """Pixels for each point: the wanted width, unless that makes too large a picture."""
    width, height = max(width, 1), max(height, 1)
    return min(
        wanted / width,
        math.sqrt(limits.PAGE_IMAGE_PIXELS / (width * height)),
        limits.PAGE_IMAGE_SIDE / max(width, height),
    )
