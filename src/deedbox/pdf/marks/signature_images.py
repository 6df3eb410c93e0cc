"""Runs in a sandbox: the image of a signature, cut to its ink and written anew."""

import io
from bisect import bisect_left
from itertools import accumulate

from PIL import Image, ImageOps, PngImagePlugin

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits

# A sandbox cannot load what an image is read or written with when it is first needed.
Image.preinit()

_DARK_PAPER = 96
_FAINT = 10
"""Less difference from the paper than this is no ink."""
_COARSE = 160
"""Pixels of ink across: fewer look coarse on paper."""
_SPREAD, _SPECKS = 0.5, 0.04
"""Ink that spreads over less of both sides is small, whatever specks of this share of it lie beside it."""
NOT_AN_IMAGE = "The signature is not a PNG or JPEG image"


def signature(data: bytes) -> bytes:
    """The signature as PNG on a transparent ground, cut to its ink; BadRequest if there is none in it."""
    return shown(data)[0]


def shown(data: bytes) -> tuple[bytes, bool]:
    """The same, and whether its ink is small in it: photographed from far away, or beside a shadow or a speck."""
    if len(data) > shared_limits.SIGNATURE_IMAGE_BYTES:
        raise BadRequest(
            f"The image of a signature may have at most {shared_limits.SIGNATURE_IMAGE_BYTES // shared_limits.MB} MB"
        )
    image = _decoded(data)
    if image.getchannel("A").getextrema()[0] == 255:
        image = _without_paper(image)
    ink = image.getchannel("A").point(lambda alpha: 255 if alpha > _FAINT else 0).getbbox()
    if ink is None:
        raise BadRequest("The image of the signature is empty")
    image = image.crop(ink)
    is_small = image.width < _COARSE or max(_spread(image, axis) for axis in (0, 1)) < _SPREAD
    image.thumbnail((limits.SIGNATURE_IMAGE_WIDTH, limits.SIGNATURE_IMAGE_HEIGHT))
    made = io.BytesIO()
    image.save(made, PngImagePlugin.PngImageFile.format)
    return made.getvalue(), is_small


def _spread(image: Image.Image, axis: int) -> float:
    """The share of a side over which nearly all of the ink lies."""
    side = image.size[axis]
    line = image.getchannel("A").resize((side, 1) if axis == 0 else (1, side), Image.Resampling.BOX)
    sums = list(accumulate(line.tobytes()))
    first, last = (bisect_left(sums, sums[-1] * share) for share in (_SPECKS, 1 - _SPECKS))
    return (last - first) / side


def _decoded(data: bytes) -> Image.Image:
    try:
        image: Image.Image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG"))
    except (OSError, SyntaxError, ValueError) as error:
        raise BadRequest(NOT_AN_IMAGE) from error
    if image.width * image.height > shared_limits.SIGNATURE_IMAGE_PIXELS:
        raise BadRequest(f"The image of a signature may have at most {shared_limits.SIGNATURE_IMAGE_PIXELS:,} pixels")
    try:
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):  # 16 bits for each grey
            image = image.convert("I").point(lambda grey: grey / 257).convert("L")
        return image.convert("RGBA")
    except (OSError, SyntaxError, ValueError, EOFError, KeyError, TypeError) as error:
        raise BadRequest("The image of the signature is damaged") from error


def _without_paper(image: Image.Image) -> Image.Image:
    """What is as light as the edge of the picture becomes transparent, the darker the less."""
    grey = image.convert("L")
    paper = _paper(grey)
    if paper < _DARK_PAPER:
        return image
    darkest = min(int(grey.getextrema()[0]), paper - 1)  # type: ignore[arg-type]
    floor = paper - max((paper - darkest) // 8, _FAINT)

    def alpha(value: int) -> int:
        return 0 if value >= floor else min(255, round(255 * (floor - value) / max((floor - darkest) * 0.6, 1)))

    image.putalpha(grey.point([alpha(value) for value in range(256)]))
    return image


def _paper(grey: Image.Image) -> int:
    """The median of the greys along the four edges."""
    w, h = grey.size
    edges = [(0, 0, w, 1), (0, h - 1, w, h), (0, 0, 1, h), (w - 1, 0, w, h)]
    greys = sorted(value for edge in edges for value in grey.crop(edge).tobytes())
    return greys[len(greys) // 2]
