"""Runs in a sandbox: a workspace's logo, written anew as a small PNG, which pages, mails and certificates can show."""

import io

from PIL import Image, ImageOps

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits

# A sandbox cannot load what an image is read or written with when it is first needed.
Image.init()

_COLOURS = 256
"""Of a photo, which would weigh too much with all of its own."""


def prepare() -> None:
    """Goes through the work once for each kind, while the sandbox may still load what it will need."""
    for kind in ("PNG", "JPEG", "WEBP"):
        sample = io.BytesIO()
        Image.new("RGB", (8, 8), "white").save(sample, kind)
        logo(sample.getvalue())


def logo(data: bytes) -> bytes:
    """The logo as PNG, no larger than a header needs it; BadRequest if it is no picture."""
    try:
        image: Image.Image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP"))
    except (OSError, SyntaxError, ValueError) as error:
        raise BadRequest("The logo is not a PNG, JPEG or WebP picture. Save it as one of these.") from error
    if image.width * image.height > limits.LOGO_PIXELS:
        raise BadRequest(f"The logo may have at most {limits.LOGO_PIXELS:,} pixels. Save it smaller.")
    try:
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):  # 16 bits for each grey
            image = image.convert("I").point(lambda grey: grey / 257).convert("L")
        image = image.convert("RGBA")
    except (OSError, SyntaxError, ValueError, EOFError, KeyError, TypeError) as error:
        raise BadRequest("The logo is damaged. Save it again from the program that created it.") from error
    image.thumbnail((limits.LOGO_SIDE, limits.LOGO_SIDE))
    found = _written(image)
    if len(found) > limits.LOGO_PNG_BYTES:
        found = _written(_reduced(image))
    if len(found) > limits.LOGO_PNG_BYTES:
        image.thumbnail((limits.LOGO_SIDE // 2, limits.LOGO_SIDE // 2))
        found = _written(_reduced(image))
    return found


def _reduced(image: Image.Image) -> Image.Image:
    return image.quantize(_COLOURS, Image.Quantize.FASTOCTREE)


def _written(image: Image.Image) -> bytes:
    made = io.BytesIO()
    image.save(made, "PNG", optimize=True)
    return made.getvalue()
