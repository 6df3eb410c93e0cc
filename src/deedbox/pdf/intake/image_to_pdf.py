"""Runs in a sandbox: makes a PDF of an image, or of the pages of a TIFF."""

import io
from collections.abc import Generator

import pikepdf
from pikepdf import Array, Dictionary, Name
from PIL import Image, ImageOps

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake.flatten_image import flat
from deedbox.pdf.intake.take_in import pieces, written

# A sandbox cannot load what an image is read with when it is first needed.
Image.init()

_LONG_SIDE = 841.89
_POINTS_PER_INCH = 72
_DPI = (72, 2400)
_JPEG_QUALITY = 92


def prepare() -> None:
    """Goes through the work once for each kind, so that a sandbox has loaded what it will need while it still may."""
    for kind in ("PNG", "JPEG", "WEBP", "TIFF"):
        sample = io.BytesIO()
        Image.new("RGBA" if kind == "PNG" else "RGB", (8, 8), "white").save(sample, kind)
        for _ in as_pdf(sample.getvalue()):
            pass


def as_pdf(data: bytes) -> Generator[bytes, None, int]:
    """Yields the PDF in pieces; what comes back is how many pages it has."""
    try:
        image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "TIFF"))
        frames = int(getattr(image, "n_frames", 1))
    except (OSError, SyntaxError, ValueError, TypeError, KeyError) as error:
        raise BadRequest("This file is not a PNG, JPEG, WebP or TIFF image that can be read") from error
    if frames > shared_limits.CONVERT_IMAGE_FRAMES:
        raise BadRequest(f"This image has more than {shared_limits.CONVERT_IMAGE_FRAMES} pages")
    frames = frames if image.format == "TIFF" else 1  # of a film only its first picture
    with pikepdf.new() as pdf:
        for number in range(frames):
            _add_page(pdf, image, number, data)
        made = written(pdf)
    yield from pieces(made)
    return frames


def _add_page(pdf: pikepdf.Pdf, image: Image.Image, number: int, data: bytes) -> None:
    if image.width * image.height > shared_limits.CONVERT_IMAGE_PIXELS:
        raise BadRequest(f"An image may have at most {shared_limits.CONVERT_IMAGE_PIXELS:,} pixels")
    try:
        image.seek(number)
        if image.width * image.height > shared_limits.CONVERT_IMAGE_PIXELS:
            raise BadRequest(f"An image may have at most {shared_limits.CONVERT_IMAGE_PIXELS:,} pixels")
        resolution = _resolution(image)
        stream, (width, height) = _drawing(pdf, image, data)
    except (OSError, SyntaxError, ValueError, EOFError, TypeError, KeyError, ZeroDivisionError) as error:
        raise BadRequest("This image is damaged. Save it again from the program that created it.") from error
    scale = _POINTS_PER_INCH / resolution if resolution else _LONG_SIDE / max(width, height)
    scale = min(scale, 2 * _LONG_SIDE / max(width, height))
    w, h = max(width * scale, limits.PAGE_POINTS_MIN), max(height * scale, limits.PAGE_POINTS_MIN)
    page = Dictionary(
        Type=Name.Page,
        MediaBox=Array([0, 0, round(w, 3), round(h, 3)]),
        Resources=Dictionary(XObject=Dictionary(Image=stream)),
        Contents=pdf.make_stream(f"q {w:.3f} 0 0 {h:.3f} 0 0 cm /Image Do Q".encode()),
    )
    pdf.pages.append(pikepdf.Page(pdf.make_indirect(page)))


def _drawing(pdf: pikepdf.Pdf, image: Image.Image, data: bytes) -> tuple[pikepdf.Stream, tuple[int, int]]:
    """The image object, upright, and its size in pixels. A JPEG that needs no turning stays as it is."""
    upright = image.getexif().get(0x0112, 1) in (0, 1)
    if image.format == "JPEG" and upright and image.mode in ("L", "RGB"):
        return _stream(pdf, data, image.mode, image.size, Name.DCTDecode), image.size
    paper = flat(ImageOps.exif_transpose(image))
    if image.format in ("JPEG", "WEBP"):
        made = io.BytesIO()
        paper.convert("RGB").save(made, "JPEG", quality=_JPEG_QUALITY)
        return _stream(pdf, made.getvalue(), "RGB", paper.size, Name.DCTDecode), paper.size
    return _stream(pdf, paper.tobytes(), paper.mode, paper.size, None), paper.size


def _stream(
    pdf: pikepdf.Pdf, data: bytes, mode: str, size: tuple[int, int], encoding: pikepdf.Object | None
) -> pikepdf.Stream:
    stream = pdf.make_stream(data)
    stream["/Type"], stream["/Subtype"] = Name.XObject, Name.Image
    stream["/Width"], stream["/Height"] = size
    stream["/ColorSpace"] = Name.DeviceRGB if mode == "RGB" else Name.DeviceGray
    stream["/BitsPerComponent"] = 1 if mode == "1" else 8
    if encoding is not None:
        stream["/Filter"] = encoding
    return stream


def _resolution(image: Image.Image) -> float:
    """Dots per inch if the file tells a sensible number, else 0."""
    told = image.info.get("dpi")
    dots = float(told[0]) if isinstance(told, tuple) and told else 0.0
    return dots if _DPI[0] < dots <= _DPI[1] else 0.0
