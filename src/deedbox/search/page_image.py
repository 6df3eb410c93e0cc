"""Runs in a sandbox: one page of a PDF as a picture."""

import io
import math

import pypdfium2 as pdfium
from PIL import Image, WebPImagePlugin

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, NotFound

# A sandbox cannot load what an image is written with when it is first needed.
Image.preinit()


def render(data: bytes, number: int) -> bytes:
    """The page as WebP, with its form fields filled in; NotFound if the document has no such page."""
    try:
        document = pdfium.PdfDocument(data)
        document.init_forms()
    except pdfium.PdfiumError as error:
        raise BadRequest("The file cannot be read as a PDF") from error
    if not 1 <= number <= len(document):
        raise NotFound(f"The document has no page {number}: it has {len(document)}")
    try:
        page = document[number - 1]
        image = page.render(scale=_scale(*page.get_size())).to_pil()
    except pdfium.PdfiumError as error:
        raise BadRequest(f"Page {number} cannot be drawn; the file may be damaged") from error
    made = io.BytesIO()
    image.save(made, WebPImagePlugin.WebPImageFile.format, quality=limits.PAGE_IMAGE_QUALITY)
    return made.getvalue()


def _scale(width: float, height: float) -> float:
    """Pixels for each point: the usual width, unless that makes too large a picture."""
    width, height = max(width, 1), max(height, 1)
    return min(
        limits.PAGE_IMAGE_WIDTH / width,
        math.sqrt(limits.PAGE_IMAGE_PIXELS / (width * height)),
        limits.PAGE_IMAGE_SIDE / max(width, height),
    )
