"""The options of a radio field on the page: a circle and a label for each, within the rectangle of the field."""

import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from deedbox.pdf.marks import text_width as metrics
from deedbox.pdf.marks.field_text import LINE, SMALLEST, FieldSpace

Way: TypeAlias = Literal["stacked", "beside"]
_BETWEEN = 0.4
"""Between a circle and its label, in parts of the size of the text."""
_APART = 0.8
"""Between options that stand beside each other, in parts of the size."""
_STEP = 0.97
_SPARE = 1.02
_SIDES = 4.0
"""Points that a text field of any width keeps free at its left and right, together."""


class Part(NamedTuple):
    """A rectangle in points from the top left corner of the field."""

    x: float
    y: float
    w: float
    h: float


class Option(NamedTuple):
    text: str
    circle: Part
    label: Part


class Layout(NamedTuple):
    size: float
    """Points at which the labels are set."""
    options: tuple[Option, ...]


def laid_out(options: Sequence[str], room: FieldSpace) -> Layout | None:
    """The options stacked or beside each other, whichever allows larger text; None if neither can be read."""
    stacked, beside = (_largest(options, room, way) for way in ("stacked", "beside"))
    way: Way = "stacked" if stacked >= beside else "beside"
    size = max(stacked, beside)
    return Layout(size, tuple(_options(options, room, size, way))) if size >= SMALLEST else None


def required_size(options: Sequence[str], size: float, way: Way) -> tuple[float, float]:
    """The width and height in points of the smallest field with the options at this size."""
    widths = [_width(option, size) for option in options]
    if way == "stacked":
        return max(widths), LINE * size * len(options)
    return sum(widths) + _APART * size * (len(options) - 1), LINE * size


def _width(option: str, size: float) -> float:
    """The width of a circle with its label."""
    return (1 + _BETWEEN + metrics.width(option) * _SPARE) * size + _SIDES


def _largest(options: Sequence[str], room: FieldSpace, way: Way) -> float:
    """The largest size at which the options fit, down to the smallest that can be read; 0 if none does."""
    size = room.largest
    while size >= SMALLEST:
        w, h = required_size(options, size, way)
        if w <= room.w and h <= room.h:
            return size
        size = size * _STEP if size * _STEP >= SMALLEST or size == SMALLEST else SMALLEST
    return 0.0


def _options(options: Sequence[str], room: FieldSpace, size: float, way: Way) -> list[Option]:
    found = []
    high = room.h / len(options) if way == "stacked" else room.h
    spare = 0.0 if way == "stacked" else (room.w - required_size(options, size, way)[0]) / len(options)
    mirrored, x, y = any(map(_is_rtl, options)), 0.0, 0.0
    for option in options:
        wide = room.w if way == "stacked" else _width(option, size) + spare
        circle = Part(x, y + (high - size) / 2, size, size)
        start = (1 + _BETWEEN) * size
        label = Part(x + start, y + (high - LINE * size) / 2, _width(option, size) - start, LINE * size)
        found.append(Option(option, *(_mirrored(part, room.w) if mirrored else part for part in (circle, label))))
        x, y = (x, y + high) if way == "stacked" else (x + wide + _APART * size, y)
    return found


def _mirrored(part: Part, width: float) -> Part:
    return part._replace(x=width - part.x - part.w)


def _is_rtl(text: str) -> bool:
    return any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)
