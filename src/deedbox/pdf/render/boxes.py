"""The page as viewers display it: its size, and the matrix from there to the space in which a PDF draws."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from deedbox.pdf.limits import PAGE_TREE_DEPTH

Box: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right, top, in user space."""
Matrix: TypeAlias = tuple[float, float, float, float, float, float]

LETTER: Box = (0.0, 0.0, 612.0, 792.0)


class PageView(NamedTuple):
    """Width and height as displayed, in points, and the matrix from points above the displayed page's lower left
    corner to user space."""

    width: float
    height: float
    matrix: Matrix

    def fractions(self, box: Box) -> Box:
        """A box of user space in fractions of the displayed page: left, top, right, bottom, from its top left."""
        corners = [self._displayed(x, y) for x in (box[0], box[2]) for y in (box[1], box[3])]
        across = [x / self.width for x, _ in corners]
        down = [1 - y / self.height for _, y in corners]
        return min(across), min(down), max(across), max(down)

    def _displayed(self, x: float, y: float) -> tuple[float, float]:
        a, b, c, d, e, f = self.matrix
        determinant = a * d - b * c
        x, y = x - e, y - f
        return (d * x - c * y) / determinant, (a * y - b * x) / determinant


def view(media: Box | None, crop: Box | None, rotate: int = 0, user_unit: float = 1.0) -> PageView:
    """How viewers show a page with these boxes, whatever is wrong with them."""
    left, bottom, right, top = visible(media, crop)
    across, up = (right - left) * user_unit, (top - bottom) * user_unit
    unit = 1 / user_unit
    if rotate == 90:
        return PageView(up, across, (0, unit, -unit, 0, right, bottom))
    if rotate == 180:
        return PageView(across, up, (-unit, 0, 0, -unit, right, top))
    if rotate == 270:
        return PageView(up, across, (0, -unit, unit, 0, left, top))
    return PageView(across, up, (unit, 0, 0, unit, left, bottom))


def visible(media: Box | None, crop: Box | None) -> Box:
    """The crop box within the media box; what is missing or empty does not count."""
    whole = media if media and _has_area(media) else LETTER
    if crop is None:
        return whole
    inner = (max(crop[0], whole[0]), max(crop[1], whole[1]), min(crop[2], whole[2]), min(crop[3], whole[3]))
    return inner if _has_area(inner) else whole


def of_page(page: Any) -> PageView:
    """The view of a page of pikepdf."""
    return view(
        _box(inherit(page, "/MediaBox")),
        _box(inherit(page, "/CropBox")),
        _rotation(inherit(page, "/Rotate")),
        _user_unit(page.get("/UserUnit")),
    )


def settle(page: Any) -> None:
    """Writes into a page what `of_page` makes of its boxes and rotation: on what is wrong, viewers disagree."""
    media, crop = inherit(page, "/MediaBox"), inherit(page, "/CropBox")
    rotate, unit = inherit(page, "/Rotate"), page.get("/UserUnit")
    whole, seen = visible(_box(media), None), visible(_box(media), _box(crop))
    if tuple(_numbers(media)) != whole:
        page["/MediaBox"] = [round(edge, 4) for edge in whole]
    if crop is not None and tuple(_numbers(crop)) != seen:
        page["/CropBox"] = [round(edge, 4) for edge in seen]
    if rotate is not None and rotate != _rotation(rotate):
        page["/Rotate"] = _rotation(rotate)
    if unit is not None and _user_unit(unit) == 1:
        del page["/UserUnit"]


def inherit(page: Any, key: str) -> Any:
    """The value that a page has itself or from the nearest node above it."""
    node = page
    for _ in range(PAGE_TREE_DEPTH):
        if node is None:
            return None
        if (value := node.get(key)) is not None:
            return value
        node = node.get("/Parent")
    return None


def _box(value: Any) -> Box | None:
    numbers = _numbers(value)
    if len(numbers) != 4:
        return None
    x0, y0, x1, y1 = numbers
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _numbers(value: Any) -> list[float]:
    try:
        numbers = [float(part) for part in value] if isinstance(value, Iterable) else []
    except (TypeError, ValueError):
        return []
    return numbers if all(math.isfinite(number) for number in numbers) else []


def _rotation(value: Any) -> int:
    """A quarter turn that viewers know; anything else counts as none."""
    try:
        degrees = int(value) % 360
    except (TypeError, ValueError, OverflowError):
        return 0
    return degrees if degrees % 90 == 0 else 0


def _user_unit(value: Any) -> float:
    try:
        unit = float(value)
    except (TypeError, ValueError):
        return 1.0
    return unit if math.isfinite(unit) and 0.001 <= unit <= 75_000 else 1.0


def _has_area(box: Box) -> bool:
    return box[2] > box[0] and box[3] > box[1]
