"""The rules that a page of a PDF draws: lines, thin rectangles and the edges of frames, straight across or down."""

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.search.limits import PDF_FORM_DEPTH, PDF_TABLE_STEPS

_THIN = 4.0
_SHORTEST = 4.0
TOGETHER = 3.0
"""How far apart, in points, the rules may lie that a reader takes for one: cells often have frames of their own."""
_PLAIN_FRAME = 5
"""Segments of a rectangle: filled and not drawn, it is the ground of something."""
_ONE_LINE = 2
"""Segments of a line: not thin, it runs aslant."""
_PATH_STEPS, _SEGMENT_STEPS = 8, 2
"""What they cost, measured by a letter."""
Point: TypeAlias = tuple[float, float]
Line: TypeAlias = Sequence[Point]
Matrix: TypeAlias = tuple[float, float, float, float, float, float]
_UPRIGHT: Matrix = (1, 0, 0, 1, 0, 0)
_TURNS: tuple[Matrix, ...] = (_UPRIGHT, (0, -1, 1, 0, 0, 0), (-1, 0, 0, -1, 0, 0), (0, 1, -1, 0, 0, 0))
"""By the quarters by which a page is turned before it is shown."""


class Rule(NamedTuple):
    at: float
    """Its height on the page, or its distance from the left edge if it runs down."""
    start: float
    end: float


class Rules(NamedTuple):
    across: list[Rule]
    down: list[Rule]


class Spent(Exception):
    """A document has no more steps for its tables."""


class Steps:
    """The work that looking for the tables of one document may take, whatever the machine."""

    def __init__(self, left: int = PDF_TABLE_STEPS) -> None:
        self._left = left

    def take(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise Spent


def turn(page: pdfium.PdfPage) -> Matrix:
    """What makes places on the page places on the page as it is shown."""
    return _TURNS[raw.FPDFPage_GetRotation(page) % 4]


def move_point(x: float, y: float, by: Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = by
    return a * x + c * y + e, b * x + d * y + f


def rules_of(page: pdfium.PdfPage, steps: Steps) -> Rules:
    """The rules of the page as it is shown; those that lie together, or go on after one another, are one."""
    found = Rules([], [])
    count = raw.FPDFPage_CountObjects(page)
    steps.take(count)
    shown_by, handle = turn(page), page.raw
    for at in range(count):
        _look(raw.FPDFPage_GetObject(handle, at), shown_by, steps, found, 0)
    return Rules(_joined(found.across), _joined(found.down))


def _look(drawn: raw.FPDF_PAGEOBJECT, by: Matrix, steps: Steps, found: Rules, depth: int) -> None:
    kind = raw.FPDFPageObj_GetType(drawn)
    if kind == raw.FPDF_PAGEOBJ_PATH:
        _look_at_path(drawn, by, steps, found)
    elif kind == raw.FPDF_PAGEOBJ_FORM and depth < PDF_FORM_DEPTH:
        count = raw.FPDFFormObj_CountObjects(drawn)
        steps.take(count)
        within = _after(_matrix(drawn), by)
        for at in range(count):
            _look(raw.FPDFFormObj_GetObject(drawn, at), within, steps, found, depth + 1)


def _look_at_path(path: raw.FPDF_PAGEOBJECT, by: Matrix, steps: Steps, found: Rules) -> None:
    steps.take(_PATH_STEPS)
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    fills, stroked = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPageObj_GetBounds(path, left, bottom, right, top)
    raw.FPDFPath_GetDrawMode(path, fills, stroked)
    if not fills.value and not stroked.value:
        return
    one, other = move_point(left.value, bottom.value, by), move_point(right.value, top.value, by)
    if _is_thin(one, other):
        _add(found, one, other)
        return
    count = raw.FPDFPath_CountSegments(path)
    if count <= (_ONE_LINE if stroked.value else _PLAIN_FRAME):
        return
    steps.take(_SEGMENT_STEPS * count)
    own = _after(_matrix(path), by)
    parts = list(_subpaths(path, count, own))
    drawn = stroked.value != 0 or _is_frame(parts)
    for part in parts:
        _add_subpath(found, part, drawn)


def _is_frame(parts: Sequence[Line]) -> bool:
    """Whether only what lies between two rectangles, one close within the other, is filled."""
    if len(parts) != 2:
        return False
    ends = zip(_ends(parts[0]), _ends(parts[1]), strict=True)
    return all(max(abs(one[0] - other[0]), abs(one[1] - other[1])) <= _THIN for one, other in ends)


def _ends(line: Line) -> tuple[Point, Point]:
    """The lower left and the upper right corner of what it takes."""
    return (min(x for x, _ in line), min(y for _, y in line)), (max(x for x, _ in line), max(y for _, y in line))


def _add_subpath(found: Rules, line: Line, drawn: bool) -> None:
    low, high = _ends(line)
    if _is_thin(low, high):
        _add(found, low, high)
    elif drawn:
        for one, other in pairwise(line):
            if min(abs(one[0] - other[0]), abs(one[1] - other[1])) < 1:
                _add(found, one, other)


def _subpaths(path: raw.FPDF_PAGEOBJECT, count: int, by: Matrix) -> Iterator[list[Point]]:
    """The corners of each part that has only straight lines."""
    x, y = ctypes.c_float(), ctypes.c_float()
    line: list[Point] = []
    straight = True
    for at in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, at)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            if straight and len(line) > 1:
                yield line
            line, straight = [], True
        straight = straight and kind != raw.FPDF_SEGMENT_BEZIERTO
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        line.append(move_point(x.value, y.value, by))
        if raw.FPDFPathSegment_GetClose(segment):
            line.append(line[0])
    if straight and len(line) > 1:
        yield line


def _matrix(drawn: raw.FPDF_PAGEOBJECT) -> Matrix:
    found = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(drawn, found):
        return _UPRIGHT
    return found.a, found.b, found.c, found.d, found.e, found.f


def _after(first: Matrix, then: Matrix) -> Matrix:
    a, b = move_point(first[0], first[1], (*then[:4], 0, 0))
    c, d = move_point(first[2], first[3], (*then[:4], 0, 0))
    return (a, b, c, d, *move_point(first[4], first[5], then))


def _is_thin(one: Point, other: Point) -> bool:
    width, height = abs(one[0] - other[0]), abs(one[1] - other[1])
    return min(width, height) <= _THIN and max(width, height) >= max(_SHORTEST, 2 * min(width, height))


def _add(found: Rules, one: Point, other: Point) -> None:
    (left, right), (bottom, top) = sorted((one[0], other[0])), sorted((one[1], other[1]))
    if max(right - left, top - bottom) < _SHORTEST:
        return
    if right - left > top - bottom:
        found.across.append(Rule((bottom + top) / 2, left, right))
    else:
        found.down.append(Rule((left + right) / 2, bottom, top))


def _joined(rules: Iterable[Rule]) -> list[Rule]:
    """The rules by where they lie, as few as there are to see."""
    joined: list[Rule] = []
    for bundle in _bundles(sorted(rules)):
        at = sum(rule.at for rule in bundle) / len(bundle)
        start, end = bundle[0].start, bundle[0].end
        for rule in sorted(bundle, key=lambda rule: rule.start):
            if rule.start > end + TOGETHER:
                joined.append(Rule(at, start, end))
                start, end = rule.start, rule.end
            start, end = min(start, rule.start), max(end, rule.end)
        joined.append(Rule(at, start, end))
    return joined


def _bundles(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    bundle: list[Rule] = []
    for rule in rules:
        if bundle and (rule.at - bundle[-1].at > TOGETHER or rule.at - bundle[0].at > 2 * TOGETHER):
            yield bundle
            bundle = []
        bundle.append(rule)
    if bundle:
        yield bundle
