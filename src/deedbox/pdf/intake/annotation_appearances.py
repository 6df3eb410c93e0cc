"""Appearances for annotations that bring none, drawn as Acrobat, MuPDF and poppler draw them.

Where those viewers differ, the drawing covers no text that one of them shows. Cloudy borders become plain lines, and
`/RD` and `/ca` are ignored, as all viewers ignore them."""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import pikepdf
from pikepdf import Array, Dictionary, Name

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.render.boxes import Box

Point: TypeAlias = tuple[float, float]
Step: TypeAlias = tuple[float, ...]
"""A point to which a line leads, or the three points of a curve."""

_SIZE = re.compile(rb"([\d.]+)\s+Tf\b")
_COLOUR = re.compile(rb"((?:[\d.]+\s+){3}rg|(?:[\d.]+\s+){4}k|[\d.]+\s+g)\b")
_OPERATORS = {1: "g", 3: "rg", 4: "k"}
_MARGIN = 2.0
_SMALLEST = 6.0
_LEADING = 1.2
_CIRCLE = 0.5523
"""How far the control points of a quarter circle are from its ends, in radii."""
_NOTE_POINTS = 20.0
_YELLOW, _RED, _BLACK = "1 1 0 rg", "1 0 0 rg", "0 g"
_WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
)  # fmt: skip
"""Of Helvetica's letters from the space to the tilde, in thousandths; any other letter counts as a wide one."""
_WIDE = 1000


class VectorDrawing(NamedTuple):
    content: bytes
    box: Box
    multiplied: bool = False
    """It darkens what is below it, as a marker does, and hides nothing."""


def draw(pdf: pikepdf.Pdf, annotation: Any) -> bool:
    """Give the annotation an appearance; False if it describes nothing that can be drawn.

    UnicodeEncodeError if its text has letters that this cannot set."""
    drawing = _drawing(annotation)
    if drawing is None:
        return False
    form = _form(pdf, drawing.content, drawing.box)
    font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica, Encoding=Name.WinAnsiEncoding)
    form["/Resources"] = Dictionary(Font=Dictionary(Helv=font))
    opacity = _opacity(annotation)
    if opacity < 1 or drawing.multiplied:
        # As a group, so that neither a border and the area below it nor two strokes count twice.
        form["/Group"] = Dictionary(S=Name.Transparency)
        state = Dictionary(CA=opacity, ca=opacity, BM=Name.Multiply if drawing.multiplied else Name.Normal)
        inner, form = form, _form(pdf, b"/State gs /Drawing Do", drawing.box)
        form["/Resources"] = Dictionary(ExtGState=Dictionary(State=state), XObject=Dictionary(Drawing=inner))
    # The form is drawn in the page's own space: then its box and the annotation's are one.
    annotation["/Rect"], annotation["/AP"] = Array(list(drawing.box)), Dictionary(N=form)
    return True


def _form(pdf: pikepdf.Pdf, content: bytes, box: Box) -> Any:
    form = pdf.make_stream(content)
    form["/Type"], form["/Subtype"], form["/BBox"] = Name.XObject, Name.Form, Array(list(box))
    return form


def _opacity(annotation: Any) -> float:
    opacity = _number(annotation.get("/CA"))
    return 1.0 if opacity is None else min(max(opacity, 0.0), 1.0)


def plain(value: Any) -> str:
    """The text of an entry, in lines; empty if it is none."""
    if isinstance(value, pikepdf.Stream):
        value = pikepdf.String(value.read_bytes()[: limits.DRAWN_TEXT_CHARS])
    text = str(value) if isinstance(value, pikepdf.String) else ""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    return "".join(letter for letter in lines if letter == "\n" or letter.isprintable())


def _drawing(annotation: Any) -> VectorDrawing | None:
    draw_kind = _KINDS.get(str(annotation.get("/Subtype")))
    return draw_kind(annotation) if draw_kind else None


def _free_text(annotation: Any) -> VectorDrawing | None:
    box = rectangle(annotation)
    text = plain(annotation.get("/Contents"))
    if box is None:
        return None
    look = _bytes(annotation.get("/DA"))
    size, colour = _SIZE.search(look), _COLOUR.search(look)
    ink = _colour(Array([_number(part) or 0.0 for part in colour[1].split()[:-1]])) if colour else _BLACK
    callout = _points(annotation.get("/CL"))
    drawings = [_stroke(callout, _Pen(_stroking(ink), 1.0, ""))] if len(callout) > 1 else []
    if drawings:
        drawings.append(_line_end(str(annotation.get("/LE")), (callout[0], callout[1]), _Pen(_stroking(ink), 1.0, "")))
    wanted = _number(size[1] if size else "") or 12.0
    across = annotation.get("/Q")
    written, box = _set(text, box, (ink, min(wanted, 144.0)), int(across) if across in (1, 2) else 0)
    pen = _Pen(_stroking(ink), _line_width(annotation), _dashes(annotation))
    around = _frame(box, _colour(annotation.get("/C")), pen)
    return _together([VectorDrawing(around, box), *drawings, VectorDrawing(written, box)])


def _stamp(annotation: Any) -> VectorDrawing | None:
    """The words of its name in a frame, whether or not the name is a standard one."""
    box = rectangle(annotation)
    letters = re.sub(r"[^A-Za-z0-9]+", " ", str(annotation.get("/Name", "/Draft")))
    words = " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", letters)).upper()
    if box is None or not words:
        return None
    colour = _colour(annotation.get("/C")) or "0.8 0 0 rg"
    wanted = min((box[3] - box[1]) * 0.6, (box[2] - box[0] - 4 * _MARGIN) / max(_width(words, 1.0), 0.01))
    size = max(wanted, 1.0)
    x, y = (box[0] + box[2] - _width(words, size)) / 2, (box[1] + box[3] - size * 0.7) / 2
    written = f"{colour} BT /Helv {size:.2f} Tf 1 0 0 1 {x:.2f} {y:.2f} Tm ({words}) Tj ET\n".encode()
    return VectorDrawing(_frame(box, "", _Pen(_stroking(colour), 2.0, "")) + written, box)


def _line(annotation: Any) -> VectorDrawing | None:
    ends = _points(annotation.get("/L"))
    if len(ends) != 2:
        return None
    (x0, y0), (x1, y1) = ends
    pen, length = _pen(annotation), math.hypot(x1 - x0, y1 - y0)
    leader = _number(annotation.get("/LL")) or 0.0
    # Leader lines stand at a right angle to the line, which they hold away from its points.
    away = ((y0 - y1) / length, (x1 - x0) / length) if length else (0.0, 0.0)
    drawings = []
    if leader:
        sign = math.copysign(1.0, leader)
        begin, over = sign * (_number(annotation.get("/LLO")) or 0), sign * (_number(annotation.get("/LLE")) or 0)
        drawings = [_stroke([_moved(end, away, begin), _moved(end, away, leader + over)], pen) for end in ends]
        ends = [_moved(end, away, leader) for end in ends]
    drawings.append(_stroke(ends, pen))
    drawings += _line_ends(annotation, ends, pen)
    if annotation.get("/Cap") is True and (text := plain(annotation.get("/Contents"))):
        middle = ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
        half = max(abs(ends[0][0] - ends[1][0]) / 2, 40.0)
        below = (middle[0] - half, middle[1] - 20, middle[0] + half, middle[1] - 2)
        drawings.append(VectorDrawing(*_set(text, below, (_BLACK, 9.0), 1)))
    return _together(drawings)


def _polygon(annotation: Any) -> VectorDrawing | None:
    steps = _outline(annotation)
    return _stroke(steps, _pen(annotation), _colour(annotation.get("/IC")), closed=True) if len(steps) > 1 else None


def _polyline(annotation: Any) -> VectorDrawing | None:
    steps, pen = _outline(annotation), _pen(annotation)
    if len(steps) < 2:
        return None
    return _together([_stroke(steps, pen), *_line_ends(annotation, [(step[-2], step[-1]) for step in steps], pen)])


def _outline(annotation: Any) -> Sequence[Step]:
    """The points of a polygon, or what newer files have instead: the operands of a path, each in an array."""
    return _points(annotation.get("/Vertices")) or _operands(annotation.get("/Path"))


def _operands(value: Any) -> list[Step]:
    steps = [tuple(_numbers(one)) for one in _items(value)[: limits.DRAWN_POINTS]]
    return steps if all(len(step) in (2, 6) for step in steps) and steps and len(steps[0]) == 2 else []


def _ink(annotation: Any) -> VectorDrawing | None:
    strokes: list[Sequence[Step]] = [_points(one) for one in _items(annotation.get("/InkList"))]
    strokes = [one for one in strokes if one] or [_operands(annotation.get("/Path"))]
    if sum(map(len, strokes)) > limits.DRAWN_POINTS:
        raise BadRequest(_TOO_MANY_POINTS)
    return _together([_stroke(one, _pen(annotation)) for one in strokes if one])


def _square(annotation: Any) -> VectorDrawing | None:
    box, pen, fill = rectangle(annotation), _pen(annotation), _colour(annotation.get("/IC"))
    return VectorDrawing(_frame(box, fill, pen), box) if box and (fill or pen.width) else None


def _circle(annotation: Any) -> VectorDrawing | None:
    box, pen, fill = rectangle(annotation), _pen(annotation), _colour(annotation.get("/IC"))
    if box is None or not (fill or pen.width):
        return None
    inner = _inside(box, pen.width / 2)
    middle = ((inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2)
    steps = _ellipse(middle, (inner[2] - inner[0]) / 2, (inner[3] - inner[1]) / 2)
    return VectorDrawing(_path(steps, pen if pen.width else pen._replace(colour=""), fill, closed=True), box)


class _Mark(NamedTuple):
    """A marked piece of a line of text, as the text runs: two corners below it, and the way up to its upper edge."""

    left: Point
    right: Point
    up: Point

    @property
    def height(self) -> float:
        return math.hypot(*self.up)

    def at(self, height: float) -> tuple[Point, Point]:
        """The ends of a line along the text, so far up as this share of its height."""
        return _moved(self.left, self.up, height), _moved(self.right, self.up, height)


def _marks(annotation: Any) -> list[_Mark]:
    """What `/QuadPoints` marks, whichever of the two orders of points the file uses."""
    points = _points(annotation.get("/QuadPoints"))
    found = []
    for number in range(0, len(points) - len(points) % 4, 4):
        a, b, c, d = points[number : number + 4]
        if (b[0] - a[0]) * (d[0] - c[0]) + (b[1] - a[1]) * (d[1] - c[1]) < 0:
            c, d = d, c  # around the text, as the standard has it; else line by line, as programs write it
        along, up = (b[0] - a[0], b[1] - a[1]), (c[0] - a[0], c[1] - a[1])
        upside = along[0] * up[1] - along[1] * up[0] > 0
        left, right = (a, b) if upside else (c, d)
        found.append(_Mark(left, right, up if upside else (-up[0], -up[1])))
    return found


def _highlight(annotation: Any) -> VectorDrawing | None:
    colour = _colour(annotation.get("/C")) or _YELLOW
    pen = _Pen("", 0.0, "")
    drawings = []
    for one in _marks(annotation):
        bottom, top = one.at(0), one.at(1)
        drawings.append(_stroke([*bottom, top[1], top[0]], pen, colour, closed=True))
    made = _together(drawings)
    return made._replace(multiplied=True) if made else None


def _underline(annotation: Any) -> VectorDrawing | None:
    return _along(annotation, 1 / 12)


def _strike_out(annotation: Any) -> VectorDrawing | None:
    return _along(annotation, 1 / 2)


def _along(annotation: Any, height: float) -> VectorDrawing | None:
    """A line along each marked piece of text."""
    colour = _stroking(_colour(annotation.get("/C")) or _BLACK)
    return _together(
        [_stroke(one.at(height), _Pen(colour, max(one.height / 16, 0.5), "")) for one in _marks(annotation)]
    )


def _squiggly(annotation: Any) -> VectorDrawing | None:
    colour, drawings = _stroking(_colour(annotation.get("/C")) or _BLACK), []
    for one in _marks(annotation):
        length, (start, end) = math.hypot(one.right[0] - one.left[0], one.right[1] - one.left[1]), one.at(0)
        wave = max(one.height / 8, 1.0)
        count = min(max(int(length / wave), 1), limits.DRAWN_POINTS)
        between = [
            _moved((start[0] + (end[0] - start[0]) * n / count, start[1] + (end[1] - start[1]) * n / count),
                   one.up, 1 / 8 if n % 2 else 0)
            for n in range(count + 1)
        ]  # fmt: skip
        drawings.append(_stroke(between, _Pen(colour, max(one.height / 24, 0.5), "")))
    return _together(drawings)


def _caret(annotation: Any) -> VectorDrawing | None:
    box = rectangle(annotation)
    if box is None:
        return None
    x, fill = (box[0] + box[2]) / 2, _colour(annotation.get("/C")) or _BLACK
    steps = [(box[0], box[1]), (x, box[1], x, box[3], x, box[3]), (x, box[3], x, box[1], box[2], box[1])]
    return VectorDrawing(_path(steps, _Pen("", 0.0, ""), fill, closed=True), box)


def _note(annotation: Any) -> VectorDrawing | None:
    """A sheet with lines, at the upper left corner of the annotation, where viewers show a sign of their own."""
    place = rectangle(annotation)
    if place is None:
        return None
    box = (place[0], place[3] - _NOTE_POINTS, place[0] + _NOTE_POINTS, place[3])
    pen = _Pen(_stroking(_BLACK), 1.0, "")
    rows = [[(box[0] + 4, y), (box[2] - 4, y)] for y in (box[1] + 6, box[1] + 10, box[1] + 14)]
    around = VectorDrawing(_frame(_inside(box, 1.0), _colour(annotation.get("/C")) or _YELLOW, pen), box)
    return _together([around, *(_stroke(row, pen) for row in rows)])


def _redaction(annotation: Any) -> VectorDrawing | None:
    """A frame around what is meant to be removed, and is still there."""
    box, colour = rectangle(annotation), _colour(annotation.get("/OC")) or _RED
    pen, drawings = _Pen(_stroking(colour), 1.0, ""), []
    for one in _marks(annotation):
        bottom, top = one.at(0), one.at(1)
        drawings.append(_stroke([*bottom, top[1], top[0]], pen, closed=True))
    return _together(drawings) or (VectorDrawing(_frame(box, "", pen), box) if box else None)


_KINDS = {
    "/Caret": _caret, "/Circle": _circle, "/FreeText": _free_text, "/Highlight": _highlight, "/Ink": _ink,
    "/Line": _line, "/PolyLine": _polyline, "/Polygon": _polygon, "/Redact": _redaction, "/Square": _square,
    "/Squiggly": _squiggly, "/Stamp": _stamp, "/StrikeOut": _strike_out, "/Text": _note, "/Underline": _underline,
}  # fmt: skip
KINDS = frozenset(_KINDS)
"""The kinds of annotations that are drawn here where the file leaves it to the viewer."""


class _Pen(NamedTuple):
    colour: str
    width: float
    dashes: str
    """As the operator `d` has them; empty for an unbroken line."""


def _pen(annotation: Any) -> _Pen:
    return _Pen(_stroking(_colour(annotation.get("/C")) or _BLACK), _line_width(annotation), _dashes(annotation))


def _stroke(steps: Sequence[Step], pen: _Pen, fill: str = "", *, closed: bool = False) -> VectorDrawing:
    """The path; a single point is a dot, and a line of width 0 is as thin as can be."""
    across = [x for step in steps for x in step[::2]]
    up = [y for step in steps for y in step[1::2]]
    room = pen.width + 1
    box = (min(across) - room, min(up) - room, max(across) + room, max(up) + room)
    return VectorDrawing(_path(steps, pen, fill, closed=closed), box)


def _path(steps: Sequence[Step], pen: _Pen, fill: str, *, closed: bool) -> bytes:
    (x, y), dot = steps[0][:2], len(steps) == 1
    parts = [f"{x:.2f} {y:.2f} m", *(f"{x:.2f} {y:.2f} l" for _ in range(dot))]
    parts += [" ".join(f"{part:.2f}" for part in step) + (" l" if len(step) == 2 else " c") for step in steps[1:]]
    strokes = bool(pen.colour)
    paint = (("b" if strokes else "f") if fill else "s") if closed else "S"
    ends = "1 J" if dot else ""
    return f"q {fill} {pen.colour} {pen.width:.2f} w {pen.dashes} {ends} {' '.join(parts)} {paint} Q\n".encode()


def _line_ends(annotation: Any, points: Sequence[Point], pen: _Pen) -> list[VectorDrawing]:
    styles, fill = [str(one) for one in _items(annotation.get("/LE"))], _colour(annotation.get("/IC"))
    ends = ((points[0], points[1]), (points[-1], points[-2]))
    return [_line_end(style, end, pen, fill) for style, end in zip(styles, ends, strict=False)]


def _line_end(style: str, end: tuple[Point, Point], pen: _Pen, fill: str = "") -> VectorDrawing:
    """What stands at the tip of a line, which comes from the second point."""
    tip, tail = end
    turn = math.atan2(tail[1] - tip[1], tail[0] - tip[0])
    plain_pen, unit = pen._replace(dashes=""), max(pen.width, 1.0)

    def at(along: float, aside: float) -> Point:
        return (
            tip[0] + unit * (along * math.cos(turn) - aside * math.sin(turn)),
            tip[1] + unit * (along * math.sin(turn) + aside * math.cos(turn)),
        )

    if style == "/Circle":
        return _stroke(_ellipse(tip, 2.5 * unit, 2.5 * unit), plain_pen, fill, closed=True)
    if style not in _LINE_ENDS:
        return VectorDrawing(b"", (*tip, *tip))
    corners, closed = _LINE_ENDS[style]
    return _stroke([at(*corner) for corner in corners], plain_pen, fill if closed else "", closed=closed)


_LINE_ENDS: dict[str, tuple[tuple[Point, ...], bool]] = {
    "/Square": (((-2.5, -2.5), (2.5, -2.5), (2.5, 2.5), (-2.5, 2.5)), True),
    "/Diamond": (((-2.5, 0), (0, -2.5), (2.5, 0), (0, 2.5)), True),
    "/OpenArrow": (((8.8, 4.5), (0, 0), (8.8, -4.5)), False),
    "/ClosedArrow": (((8.8, 4.5), (0, 0), (8.8, -4.5)), True),
    "/ROpenArrow": (((-8.8, 4.5), (0, 0), (-8.8, -4.5)), False),
    "/RClosedArrow": (((-8.8, 4.5), (0, 0), (-8.8, -4.5)), True),
    "/Butt": (((0, 3), (0, -3)), False),
    "/Slash": (((-2.5, -4.3), (2.5, 4.3)), False),
}
"""Along the line and aside, in widths of the line; and whether the corners are joined and filled."""


def _ellipse(middle: Point, across: float, up: float) -> list[Step]:
    x, y, bent, risen = *middle, across * _CIRCLE, up * _CIRCLE
    return [
        (x + across, y),
        (x + across, y + risen, x + bent, y + up, x, y + up),
        (x - bent, y + up, x - across, y + risen, x - across, y),
        (x - across, y - risen, x - bent, y - up, x, y - up),
        (x + bent, y - up, x + across, y - risen, x + across, y),
    ]


def _frame(box: Box, ground: str, pen: _Pen) -> bytes:
    inner = _inside(box, pen.width / 2)
    x, y, w, h = inner[0], inner[1], inner[2] - inner[0], inner[3] - inner[1]
    paint = ("B" if pen.width else "f") if ground else ("S" if pen.width else "n")
    place = f"{x:.2f} {y:.2f} {w:.2f} {h:.2f} re"
    return f"q {ground} {pen.colour} {pen.width:.2f} w {pen.dashes} {place} {paint} Q\n".encode()


def _inside(box: Box, by: float) -> Box:
    return (box[0] + by, box[1] + by, max(box[2] - by, box[0] + by), max(box[3] - by, box[1] + by))


def _moved(point: Point, direction: Point, by: float) -> Point:
    return (point[0] + direction[0] * by, point[1] + direction[1] * by)


def _together(drawings: Sequence[VectorDrawing]) -> VectorDrawing | None:
    return (
        VectorDrawing(b"".join(one.content for one in drawings), _union([one.box for one in drawings]))
        if drawings
        else None
    )


def _set(text: str, box: Box, ink: tuple[str, float], across: int) -> tuple[bytes, Box]:
    """The text in the box, smaller if it must be; where it needs more room than that, the box grows downwards."""
    colour, size = ink
    room = max(box[2] - box[0] - 2 * _MARGIN, 1.0)
    while size > _SMALLEST and len(_wrapped(text, room, size)) * size * _LEADING > box[3] - box[1] - 2 * _MARGIN:
        size = max(size * 0.9, _SMALLEST)
    rows, shown = _wrapped(text, room, size), []
    for number, row in enumerate(rows):
        x = box[0] + _MARGIN + (room - _width(row, size)) * across / 2
        y = box[3] - _MARGIN - size * (0.93 + number * _LEADING)
        shown.append(b"1 0 0 1 %.2f %.2f Tm (%b) Tj" % (x, y, _escaped(row)))
    bottom = min(box[1], box[3] - 2 * _MARGIN - len(rows) * size * _LEADING)
    written = b"q %b BT /Helv %.2f Tf\n%b\nET Q\n" % (colour.encode(), size, b"\n".join(shown))
    return written if text.strip() else b"", (box[0], bottom, box[2], box[3])


def _wrapped(text: str, room: float, size: float) -> list[str]:
    rows = []
    for line in text.split("\n"):
        row = ""
        for word in line.split(" "):
            whole = f"{row} {word}" if row else word
            if _width(whole, size) <= room or not row:
                row = whole
            else:
                rows.append(row)
                row = word
            while _width(row, size) > room and len(row) > 1:
                cut = next((n for n in range(1, len(row)) if _width(row[: n + 1], size) > room), len(row))
                rows.append(row[:cut])
                row = row[cut:]
        rows.append(row)
    return rows


def _width(text: str, size: float) -> float:
    return sum(_WIDTHS[ord(one) - 32] if " " <= one <= "~" else _WIDE for one in text) * size / 1000


def _escaped(text: str) -> bytes:
    return re.sub(rb"([\\()])", rb"\\\1", text.encode("cp1252"))


def rectangle(annotation: Any) -> Box | None:
    """Where the annotation stands; None if that is nowhere, or not on any page there could be."""
    numbers = _numbers(annotation.get("/Rect"))
    if len(numbers) != 4:
        return None
    x0, y0, x1, y1 = numbers
    box = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    return box if box[2] > box[0] and box[3] > box[1] else None


_TOO_MANY_POINTS = f"This PDF has a drawing of more than {limits.DRAWN_POINTS:,} points. Print it into a new PDF."


def _points(value: Any) -> list[Point]:
    numbers = _numbers(value)
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def _numbers(value: Any) -> list[float]:
    items = _items(value)
    if len(items) > 2 * limits.DRAWN_POINTS:
        raise BadRequest(_TOO_MANY_POINTS)
    found = [_number(one) for one in items]
    return [one for one in found if one is not None] if None not in found else []


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and abs(number) <= limits.PAGE_POINTS_MAX else None


def _colour(value: Any) -> str:
    """What fills in this colour; empty for none."""
    parts = _numbers(value)
    if len(parts) not in _OPERATORS:
        return ""
    return f"{' '.join(f'{part:.3f}' for part in parts)} {_OPERATORS[len(parts)]}"


def _stroking(fill: str) -> str:
    return fill[: fill.rindex(" ")] + fill[fill.rindex(" ") :].upper()


def _line_width(annotation: Any) -> float:
    style, border = annotation.get("/BS"), _items(annotation.get("/Border"))
    wanted = style.get("/W") if isinstance(style, Dictionary) else border[2] if len(border) > 2 else None
    return min(_number(wanted) or 0.0, 72.0) if wanted is not None else 1.0


def _dashes(annotation: Any) -> str:
    style, border = annotation.get("/BS"), _items(annotation.get("/Border"))
    if isinstance(style, Dictionary):
        lengths = _numbers(style.get("/D")) or [3.0] if style.get("/S") == "/D" else []
    else:
        lengths = _numbers(border[3]) if len(border) > 3 else []
    if not lengths or min(lengths) < 0 or sum(lengths) <= 0:
        return ""
    return f"[{' '.join(f'{length:.2f}' for length in lengths[:10])}] 0 d"


def _union(boxes: Sequence[Box]) -> Box:
    return (
        min(box[0] for box in boxes), min(box[1] for box in boxes), max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )  # fmt: skip


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Array) else []


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, pikepdf.String) else b""
