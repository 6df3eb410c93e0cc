"""Ink as it is drawn: pixels of a pad, of a mark on a page and of a sealed file, compared with each other."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pypdfium2
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from deedbox.kernel import limits

DARKEST = 78
"""Grey from which on a pixel is no ink; the caption below a signature is 84."""
_SIZE = 400
"""Pixels of the wider side at which two drawings are compared."""
_NOISE = 2
"""Pixels of the coarser picture that two rasterisers may differ."""
_SAME_SHAPE = 0.01
"""Share of the ink that may lie farther from the other's."""
_MOVED = 0.015
"""Share of its field's width by which a drawing may lie elsewhere."""
_AWAY = 16
"""Units of the pad: half of the thickest line and what a curve cuts off."""

Mask = NDArray[np.bool_]
Box = tuple[float, float, float, float]


def mask(picture: Image.Image) -> Mask:
    """Where there is ink, which is blue or black; the green of a mark's frame is none."""
    red, green, blue = (np.asarray(band).astype(int) for band in picture.convert("RGB").split())
    found: Mask = ((299 * red + 587 * green + 114 * blue) // 1000 < DARKEST) & (green <= blue + 4)
    return found


def of_png(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def of_page(pdf: bytes, page: int, scale: float = 6) -> Image.Image:
    """A page of the sealed file as PDFium shows it."""
    with pypdfium2.PdfDocument(pdf) as document:
        picture: Image.Image = document[page - 1].render(scale=scale).to_pil()
    return picture


def of_field(page: Image.Image, field: Any, page_height: float) -> Image.Image:
    """A field on the picture of its page; of a signature, without the caption at its foot."""
    width, height = page.size
    h = field["h"] * page_height
    foot = min(max(h * 0.22, 6.5), 9, h * 0.4) if field["type"] == "signature" else 0
    bottom = field["y"] + (h - foot) / page_height
    box = (field["x"] * width, field["y"] * height, (field["x"] + field["w"]) * width, bottom * height)
    left, top, right, low = map(round, box)
    return page.crop((left, top, right, low))


def bounds(ink: Mask) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the ink."""
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    assert rows.size, "there is no ink"
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def difference(one: Image.Image, other: Image.Image) -> str:
    """How two drawings differ in shape, whatever their size and place; empty if they do not."""
    first, second = _cut(one), _cut(other)
    flat, other_flat = (each.height / each.width for each in (first, second))
    coarsest = min(first.width, second.width)
    if abs(flat - other_flat) > max(0.02, 2 * _NOISE / coarsest):
        return f"one is {flat:.2f} as high as wide, the other {other_flat:.2f}"
    size = (_SIZE, max(1, round(_SIZE * max(flat, other_flat))))
    left, right = (mask(each.resize(size, Image.Resampling.LANCZOS)) for each in (first, second))
    noise = max(3, round(_NOISE * _SIZE / coarsest))
    stray = max(_stray(left, right, noise), _stray(right, left, noise))
    return f"{stray:.1%} of the ink lies elsewhere" if stray > _SAME_SHAPE else ""


def _cut(picture: Image.Image) -> Image.Image:
    """The drawing cut to its ink."""
    return picture.convert("RGB").crop(bounds(mask(picture)))


def _stray(one: Mask, other: Mask, noise: int) -> float:
    """The share of one's ink that is farther from the other's than noise."""
    return float((one & ~_grown(other, noise)).sum() / max(one.sum(), 1))


def _grown(ink: Mask, by: int) -> Mask:
    padded = np.pad(ink, by)
    height, width = ink.shape
    found = np.zeros_like(ink)
    for down in range(2 * by + 1):
        for right in range(2 * by + 1):
            found |= padded[down : down + height, right : right + width]
    return found


def unlike_strokes(pad: Image.Image, strokes: Sequence[Sequence[Sequence[float]]]) -> str:
    """How the picture of a pad differs from the strokes that were sent; empty if it shows them."""
    shown = mask(pad.convert("RGB").resize((limits.PAD_WIDTH, limits.PAD_HEIGHT), Image.Resampling.LANCZOS))
    sent, thin = (Image.new("1", (limits.PAD_WIDTH, limits.PAD_HEIGHT)) for _ in range(2))
    for stroke in strokes:
        points = [(x, y) for x, y, *_ in stroke]
        for x, y in points:
            ImageDraw.Draw(sent).ellipse((x - _AWAY, y - _AWAY, x + _AWAY, y + _AWAY), fill=1)
        ImageDraw.Draw(sent).line(points, fill=1, width=2 * _AWAY)
        ImageDraw.Draw(thin).line(points, fill=1, width=1)
    near, line = np.asarray(sent), np.asarray(thin)
    stray = float((shown & ~near).sum() / max(shown.sum(), 1))
    missing = float((line & ~_grown(shown, 5)).sum() / max(line.sum(), 1))
    if stray > 0.005 or missing > 0.02:
        return f"{stray:.1%} of the ink lies beside the strokes, {missing:.1%} of the strokes is not shown"
    return ""


def moved(one: Image.Image, other: Image.Image) -> str:
    """How far apart the ink of two pictures of a field lies, as a share of its width; empty if that is noise."""
    first, second = ([side / picture.width for side in bounds(mask(picture))] for picture in (one, other))
    far = max(abs(left - right) for left, right in zip(first, second, strict=True))
    return f"the ink lies {far:.1%} of the field's width elsewhere" if far > _MOVED else ""
