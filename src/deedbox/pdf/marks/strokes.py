"""A signature as it was drawn: strokes of the hand, kept as numbers and put on paper as paths, never as pixels."""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits

_INK = "#16306b"
_PAD = 600
"""How wide the pad is for which the widths below are meant."""
_FIRST, _THINNEST, _THICKEST, _BY_SPEED = 2.6, 1.1, 4.0, 1.9
"""Half of a line's width: at its beginning, at the highest speed and at none, and what a pixel a millisecond takes."""
_LIGHTEST, _BY_FORCE = 0.8, 5.0
"""The same for a pen that tells how hard it is pressed."""
_FOLLOWS = 0.35
"""How much of a change of width comes with each point."""
_LEAST = 0.25
"""Of the pad's sides: a dot is not blown up until it fills its field."""

Coordinate: TypeAlias = Annotated[float, Meta(ge=0, le=limits.PAD_SIDE)]
Force: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Milliseconds: TypeAlias = Annotated[float, Meta(ge=0, le=limits.DRAWING_MILLISECONDS)]
Point: TypeAlias = tuple[Coordinate, Coordinate, Force, Milliseconds]
Stroke: TypeAlias = Annotated[list[Point], Meta(min_length=1, max_length=limits.DRAWING_POINTS)]
Side: TypeAlias = Annotated[int, Meta(ge=1, le=limits.PAD_SIDE)]
Places: TypeAlias = list[tuple[float, float]]


class PadDrawing(Struct, frozen=True, forbid_unknown_fields=True):
    """What was drawn on a pad of this size. A force of 0 says that the device tells none."""

    strokes: Annotated[list[Stroke], Meta(min_length=1, max_length=shared_limits.DRAWING_STROKES)]
    width: Side = shared_limits.PAD_WIDTH
    height: Side = shared_limits.PAD_HEIGHT


_DRAWING = msgspec.json.Decoder(PadDrawing)


def encode_drawing(drawing: PadDrawing) -> bytes:
    """The file in which a drawing is kept; BadRequest if it has too many points, or some beside the pad."""
    if sum(map(len, drawing.strokes)) > limits.DRAWING_POINTS:
        raise BadRequest(f"A drawn signature may have at most {limits.DRAWING_POINTS:,} points. Draw it more simply.")
    if any(x > drawing.width or y > drawing.height for stroke in drawing.strokes for x, y, _, _ in stroke):
        raise BadRequest(f"A point of the signature lies outside of its pad of {drawing.width} by {drawing.height}")
    return msgspec.json.encode(drawing)


def svg(data: bytes) -> str:
    """A drawing that was kept, cut to its ink."""
    drawing = _DRAWING.decode(data)
    unit = drawing.width / _PAD
    outlines = [_outline(stroke, unit) for stroke in drawing.strokes]
    x, y, w, h = _frame([place for outline in outlines for place in outline], drawing)
    paths = "".join(f'<path d="{_path(outline)}"/>' for outline in outlines)
    box = " ".join(map(_number, (x, y, w, h)))
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" fill="{_INK}">{paths}</svg>'


def _frame(places: Places, drawing: PadDrawing) -> tuple[float, float, float, float]:
    """Left, top, width and height of the ink, or of the least that is shown, around its middle."""
    left, right = min(x for x, _ in places), max(x for x, _ in places)
    top, bottom = min(y for _, y in places), max(y for _, y in places)
    w, h = max(right - left, _LEAST * drawing.width), max(bottom - top, _LEAST * drawing.height)
    return (left + right - w) / 2, (top + bottom - h) / 2, w, h


def _outline(stroke: Sequence[Point], unit: float) -> Places:
    """Around the stroke, first along its left side and then back along its right, as wide as it was pressed.

    The page draws it in the same way: what is sealed is what was seen."""
    if _is_dot(stroke, unit):
        return _dot(stroke[0], unit)
    left, right = [], []
    for (x, y, _, _), (across, up), half in zip(stroke, _directions(stroke), _halves(stroke, unit), strict=True):
        left.append((x - up * half, y + across * half))
        right.append((x + up * half, y - across * half))
    return [*left, *reversed(right)]


def _is_dot(stroke: Sequence[Point], unit: float) -> bool:
    x, y, _, _ = stroke[0]
    return all(math.hypot(one[0] - x, one[1] - y) < unit for one in stroke)


def _dot(point: Point, unit: float) -> Places:
    x, y, force, _ = point
    radius = unit * (_half(force, 0) if force else _FIRST)
    turns = [math.tau * number / 16 for number in range(16)]
    return [(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns]


def _directions(stroke: Sequence[Point]) -> Iterator[tuple[float, float]]:
    """Where the stroke runs at each point: from the one before to the one after."""
    for number in range(len(stroke)):
        before, after = stroke[max(number - 1, 0)], stroke[min(number + 1, len(stroke) - 1)]
        dx, dy = after[0] - before[0], after[1] - before[1]
        far = math.hypot(dx, dy) or 1.0
        yield dx / far, dy / far


def _halves(stroke: Sequence[Point], unit: float) -> Iterator[float]:
    """Half the width at each point, by the force if the device tells it, else by the speed; the ends are pointed."""
    half, before = _FIRST, stroke[0]
    for number, point in enumerate(stroke):
        far = math.hypot(point[0] - before[0], point[1] - before[1]) / unit
        speed = far / max(point[3] - before[3], 1) if number else 0.6
        half += _FOLLOWS * (_half(point[2], speed) - half)
        yield half * unit * (1 if 0 < number < len(stroke) - 1 else 0.5)
        before = point


def _half(force: float, speed: float) -> float:
    return _LIGHTEST + _BY_FORCE * force if force else max(_THINNEST, _THICKEST - _BY_SPEED * speed)


def _path(outline: Places) -> str:
    """A closed curve that goes through the middles between the places, drawn towards each of them."""
    middles = [_middle(one, after) for one, after in zip(outline, [*outline[1:], outline[0]], strict=True)]
    start = middles[-1]
    curves = "".join(
        f"Q{_number(x)} {_number(y)} {_number(mx)} {_number(my)}"
        for (x, y), (mx, my) in zip(outline, middles, strict=True)
    )
    return f"M{_number(start[0])} {_number(start[1])}{curves}Z"


def _middle(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _number(value: float) -> str:
    return f"{value:.1f}"
