"""How annotations look that leave it to the viewer, and that PDFium does not draw: free text, lines, stamps."""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import pikepdf
from pikepdf import Array, Dictionary, Name

from deedbox.kernel import limits
from deedbox.pdf.boxes import Box

Point: TypeAlias = tuple[float, float]

_SIZE = re.compile(rb"([\d.]+)\s+Tf\b")
_COLOUR = re.compile(rb"((?:[\d.]+\s+){3}rg|(?:[\d.]+\s+){4}k|[\d.]+\s+g)\b")
_OPERATORS = {1: "g", 3: "rg", 4: "k"}
_MARGIN = 2.0
_SMALLEST = 6.0
_LEADING = 1.2
_ARROWS = {"/OpenArrow", "/ClosedArrow", "/ROpenArrow", "/RClosedArrow"}
_ARROW_POINTS = 9.0
_STAMPS = {
    "/Approved", "/AsIs", "/Confidential", "/Departmental", "/Draft", "/Experimental", "/Expired", "/Final",
    "/ForComment", "/ForPublicRelease", "/NotApproved", "/NotForPublicRelease", "/Sold", "/TopSecret",
}  # fmt: skip
_WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
)  # fmt: skip
"""Of Helvetica's letters from the space to the tilde, in thousandths; any other letter counts as a wide one."""
_WIDE = 1000


class Drawing(NamedTuple):
    content: bytes
    box: Box


def draw(pdf: pikepdf.Pdf, annotation: Any) -> bool:
    """Gives the annotation an appearance; False if no viewer would show anything of it.

    UnicodeEncodeError if its text has letters that this cannot set."""
    made = _drawn(annotation)
    if made is None:
        return False
    form = pdf.make_stream(made.content)
    form["/Type"], form["/Subtype"], form["/BBox"] = Name.XObject, Name.Form, Array(list(made.box))
    font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica, Encoding=Name.WinAnsiEncoding)
    form["/Resources"] = Dictionary(Font=Dictionary(Helv=font))
    # The form is drawn in the page's own space: then its box and the annotation's are one.
    annotation["/Rect"], annotation["/AP"] = Array(list(made.box)), Dictionary(N=form)
    return True


def plain(value: Any) -> str:
    """The text of an entry, in lines; empty if it is none."""
    if isinstance(value, pikepdf.Stream):
        value = pikepdf.String(value.read_bytes()[: limits.DRAWN_TEXT_CHARS])
    text = str(value) if isinstance(value, pikepdf.String) else ""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    return "".join(letter for letter in lines if letter == "\n" or letter.isprintable())


def _drawn(annotation: Any) -> Drawing | None:
    kind = str(annotation.get("/Subtype"))
    if kind == "/FreeText":
        return _free_text(annotation)
    if kind == "/Stamp":
        return _stamp(annotation)
    if kind == "/Line":
        return _line(annotation)
    if kind in ("/Polygon", "/PolyLine"):
        return _path(annotation, _points(annotation.get("/Vertices")), closed=kind == "/Polygon")
    return None


def _free_text(annotation: Any) -> Drawing | None:
    box = rectangle(annotation)
    text = plain(annotation.get("/Contents"))
    if box is None:
        return None
    look = _bytes(annotation.get("/DA"))
    size, colour = _SIZE.search(look), _COLOUR.search(look)
    ink = _colour(Array([_number(part) or 0.0 for part in colour[1].split()[:-1]])) if colour else "0 g"
    callout = _stroke(_points(annotation.get("/CL")), _stroking(ink), 1.0)
    wanted = _number(size[1] if size else "") or 12.0
    across = annotation.get("/Q")
    written, box = _set(text, box, (ink, min(wanted, 144.0)), int(across) if across in (1, 2) else 0)
    around = _frame(box, _colour(annotation.get("/C")), _stroking(ink), _line_width(annotation))
    return Drawing(around + callout.content + written, _union([box, callout.box] if callout.content else [box]))


def _stamp(annotation: Any) -> Drawing | None:
    name, box = str(annotation.get("/Name", "/Draft")), rectangle(annotation)
    if name not in _STAMPS or box is None:
        return None
    words = " ".join(re.findall("[A-Z][a-z]*", name)).upper()
    colour = _colour(annotation.get("/C")) or "0.8 0 0 rg"
    wanted = min((box[3] - box[1]) * 0.6, (box[2] - box[0] - 4 * _MARGIN) / max(_width(words, 1.0), 0.01))
    size = max(wanted, 1.0)
    x, y = (box[0] + box[2] - _width(words, size)) / 2, (box[1] + box[3] - size * 0.7) / 2
    written = f"{colour} BT /Helv {size:.2f} Tf 1 0 0 1 {x:.2f} {y:.2f} Tm ({words}) Tj ET\n".encode()
    return Drawing(_frame(box, "", _stroking(colour), 2.0) + written, box)


def _line(annotation: Any) -> Drawing | None:
    ends = _points(annotation.get("/L"))
    made = _path(annotation, ends, closed=False)
    if made is None or len(ends) != 2:
        return made
    styles = [str(one) for one in _items(annotation.get("/LE"))]
    colour, width = _stroking(_colour(annotation.get("/C")) or "0 g"), _line_width(annotation)
    drawings = [made]
    for tip, tail, style in zip(ends, reversed(ends), styles, strict=False):
        if style in _ARROWS:
            drawings.append(_stroke(_arrow(tip, tail), colour, width))
    if annotation.get("/Cap") is True and (text := plain(annotation.get("/Contents"))):
        middle = ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
        half = max(abs(ends[0][0] - ends[1][0]) / 2, 40.0)
        below = (middle[0] - half, middle[1] - 20, middle[0] + half, middle[1] - 2)
        drawings.append(Drawing(*_set(text, below, ("0 g", 9.0), 1)))
    return Drawing(b"".join(one.content for one in drawings), _union([one.box for one in drawings]))


def _path(annotation: Any, points: Sequence[Point], *, closed: bool) -> Drawing | None:
    if len(points) < 2:
        return None
    stroke, fill = _stroking(_colour(annotation.get("/C")) or "0 g"), _colour(annotation.get("/IC"))
    return _stroke(points, stroke, _line_width(annotation), fill if closed else "", closed=closed)


def _stroke(points: Sequence[Point], colour: str, width: float, fill: str = "", *, closed: bool = False) -> Drawing:
    if len(points) < 2:
        return Drawing(b"", (0, 0, 0, 0))
    steps = " ".join(f"{x:.2f} {y:.2f} {'l' if number else 'm'}" for number, (x, y) in enumerate(points))
    paint = ("b" if fill else "s") if closed else "S"
    across, up = [x for x, _ in points], [y for _, y in points]
    room = width + 1
    box = (min(across) - room, min(up) - room, max(across) + room, max(up) + room)
    return Drawing(f"q {fill} {colour} {width:.2f} w {steps} {paint} Q\n".encode(), box)


def _arrow(tip: Point, tail: Point) -> list[Point]:
    turn = math.atan2(tail[1] - tip[1], tail[0] - tip[0])
    sides = [
        (tip[0] + _ARROW_POINTS * math.cos(turn + by), tip[1] + _ARROW_POINTS * math.sin(turn + by))
        for by in (math.pi / 6, -math.pi / 6)
    ]
    return [sides[0], tip, sides[1]]


def _frame(box: Box, ground: str, border: str, width: float) -> bytes:
    x, y, w, h = box[0] + width / 2, box[1] + width / 2, box[2] - box[0] - width, box[3] - box[1] - width
    paint = ("B" if width else "f") if ground else ("S" if width else "n")
    return f"q {ground} {border} {width:.2f} w {x:.2f} {y:.2f} {w:.2f} {h:.2f} re {paint} Q\n".encode()


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


def _points(value: Any) -> list[Point]:
    numbers = _numbers(value)
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def _numbers(value: Any) -> list[float]:
    found = [_number(one) for one in _items(value)[: limits.DRAWN_POINTS]]
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


def _union(boxes: Sequence[Box]) -> Box:
    return (
        min(box[0] for box in boxes), min(box[1] for box in boxes), max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )  # fmt: skip


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Array) else []


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, pikepdf.String) else b""
