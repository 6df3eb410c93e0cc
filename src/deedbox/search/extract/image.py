"""An image, or the pages of a TIFF: it is looked at, and has no text until it is read by OCR."""

import io

from PIL import Image

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.search.library.upload import Extraction
from deedbox.search.ocr.picture import DAMAGED, FORMATS

_BROKEN = "This image is damaged. Save it again from the program that created it."
_LARGE = f"An image may have at most {limits.CONVERT_IMAGE_PIXELS:,} pixels"


def read(data: bytes) -> Extraction:
    try:
        image = Image.open(io.BytesIO(data), formats=tuple(FORMATS.values()))
        pages = int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1  # of a film only its first picture
    except DAMAGED as error:
        raise BadRequest(_BROKEN) from error
    if image.width * image.height > limits.CONVERT_IMAGE_PIXELS:
        raise BadRequest(_LARGE)
    if pages > limits.CONVERT_IMAGE_FRAMES:
        raise BadRequest(f"This image has more than {limits.CONVERT_IMAGE_FRAMES} pages. Split it into parts.")
    try:
        image.load()
    except DAMAGED as error:
        raise BadRequest(_BROKEN) from error
    return Extraction("", [0] * pages, [])


def load() -> None:
    """Reads an image of each kind, so that a sandbox has loaded what it will need while it still may."""
    for name in FORMATS.values():
        sample = io.BytesIO()
        Image.new("RGB", (8, 8), "white").save(sample, name)
        read(sample.getvalue())
