"""Text of a PDF page that nobody sees: invisible, or in the colour of what lies behind it. It is taken off the page
before that is read.

Text that a scanner's software lays invisibly over the picture of a page is the text of that picture, and stays. So
does text on a picture, a shading or a pattern, whose colours are not known."""

from collections.abc import Callable, Iterator
from ctypes import byref, c_float, c_int, c_uint
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.search.extract.contrast import OPAQUE, WHITE, Colour, is_unseen
from deedbox.search.limits import PDF_RULE_WIDTH

_INVISIBLE = (raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP)
_STROKED_ONLY = (raw.FPDF_TEXTRENDERMODE_STROKE, raw.FPDF_TEXTRENDERMODE_STROKE_CLIP)
_STROKED_TOO = (raw.FPDF_TEXTRENDERMODE_FILL_STROKE, raw.FPDF_TEXTRENDERMODE_FILL_STROKE_CLIP)
_CORNERS = (4, 5)
"""Points of a rectangle, of which the last may be the first again."""
_FORMS_DEEP = 4
_Object: TypeAlias = Any
"""PDFium's pointer to an object of a page."""


class _Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float

    def holds_middle_of(self, other: "_Box") -> bool:
        across, up = (other.left + other.right) / 2, (other.bottom + other.top) / 2
        return self.left <= across <= self.right and self.bottom <= up <= self.top

    def holds(self, other: "_Box") -> bool:
        across = self.left <= other.left and other.right <= self.right
        return across and self.bottom <= other.bottom and other.top <= self.top


class _Ink(NamedTuple):
    """A colour with its opacity."""

    colour: Colour
    alpha: int


class _Painted(NamedTuple):
    """What lies under the objects that come later."""

    box: _Box
    ink: _Ink | None
    """None where it has several colours, or one that is not known."""
    covers: bool
    """Whether it is opaque and fills the whole box."""


class _Text(NamedTuple):
    text: _Object
    form: _Object | None
    """The form that it stands in; None for the page itself."""


def take_off(page: pdfium.PdfPage) -> int:
    """Remove the hidden text from the page; return how many characters that were."""
    hidden = list(_Finder().hidden(page.raw))
    if not hidden:
        return 0
    shown = page.get_textpage()
    # Each letter takes two bytes, and the text ends with a zero.
    count: int = sum(max(0, raw.FPDFTextObj_GetText(one.text, shown.raw, None, 0) // 2 - 1) for one in hidden)
    shown.close()
    for one in hidden:
        if one.form is None:
            removed = raw.FPDFPage_RemoveObject(page.raw, one.text)
        else:
            removed = raw.FPDFFormObj_RemoveObject(one.form, one.text)
        if removed:
            raw.FPDFPageObj_Destroy(one.text)
    return count


class _Finder:
    """Looks at the objects of a page in the order in which they are painted."""

    def __init__(self) -> None:
        self._painted = list[_Painted]()
        self._covering = dict[Colour, list[_Box]]()
        """The boxes that are covered with a colour other than that of paper."""
        self._invisible = list[tuple[_Text, _Box]]()
        self._pictures = list[_Box]()
        self._colour = [c_uint() for _ in range(4)]
        self._into_colour = [byref(part) for part in self._colour]  # once: there may be a hundred thousand texts
        self._edges = [c_float() for _ in range(4)]

    def hidden(self, page: Any) -> Iterator[_Text]:
        for number in range(raw.FPDFPage_CountObjects(page)):
            yield from self._of(raw.FPDFPage_GetObject(page, number), None, None, 0)
        for text, box in self._invisible:
            if not any(picture.holds_middle_of(box) for picture in self._pictures):
                yield text

    def _of(self, one: _Object, form: _Object | None, around: _Box | None, depth: int) -> Iterator[_Text]:
        """`around` is the place of the outermost form: what is in a form has coordinates of its own."""
        kind = raw.FPDFPageObj_GetType(one)
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            mode = raw.FPDFTextObj_GetTextRenderMode(one)
            if mode in _INVISIBLE:
                self._invisible.append((_Text(one, form), around or self._box(one)))
            elif all(self._is_unseen(one, ink, around) for ink in self._inks(one, mode)):
                yield _Text(one, form)
        elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _FORMS_DEEP:
            place = around or self._box(one)
            for number in range(raw.FPDFFormObj_CountObjects(one)):
                yield from self._of(raw.FPDFFormObj_GetObject(one, number), one, place, depth + 1)
        elif kind == raw.FPDF_PAGEOBJ_IMAGE:
            box = around or self._box(one)
            self._pictures.append(box)
            self._painted.append(_Painted(box, None, covers=False))
        elif kind == raw.FPDF_PAGEOBJ_SHADING:
            self._painted.append(_Painted(around or self._box(one), None, covers=False))
        elif kind == raw.FPDF_PAGEOBJ_PATH and _is_filled(one):
            self._paint(one, around)

    def _paint(self, path: _Object, around: _Box | None) -> None:
        box, ink = around or self._box(path), self._ink(path, raw.FPDFPageObj_GetFillColor)
        if min(box.right - box.left, box.top - box.bottom) < PDF_RULE_WIDTH:
            return
        covers = ink is not None and ink.alpha == OPAQUE and around is None and _is_rectangle(path)
        if self._painted or not (ink and ink.colour == WHITE):  # on paper alone, white changes nothing
            self._painted.append(_Painted(box, ink, covers))
        if ink and covers and not is_unseen(ink.colour, WHITE):
            self._covering.setdefault(ink.colour, []).append(box)

    def _is_unseen(self, text: _Object, ink: _Ink | None, around: _Box | None) -> bool:
        """Whether nothing that may lie behind the text lets it be seen."""
        if ink is None:
            return False
        if not is_unseen(ink.colour, WHITE, ink.alpha):  # then only what covers the whole text can hide it
            alike = [boxes for colour, boxes in self._covering.items() if is_unseen(ink.colour, colour, ink.alpha)]
            if not alike:
                return False
            place = around or self._box(text)
            if not any(box.holds(place) for boxes in alike for box in boxes):
                return False
        place = around or self._box(text)
        for below in reversed(self._painted):
            if below.box.holds_middle_of(place):
                if below.ink is None or not is_unseen(ink.colour, below.ink.colour, ink.alpha):
                    return False
                if below.covers and below.box.holds(place):
                    return True
        return is_unseen(ink.colour, WHITE, ink.alpha)

    def _inks(self, text: _Object, mode: int) -> Iterator[_Ink | None]:
        """The colours that the text is painted in; None for one that is not known."""
        if mode not in _STROKED_ONLY:
            yield self._ink(text, raw.FPDFPageObj_GetFillColor)
        if mode in _STROKED_ONLY or mode in _STROKED_TOO:
            yield self._ink(text, raw.FPDFPageObj_GetStrokeColor)

    def _box(self, one: _Object) -> _Box:
        left, bottom, right, top = self._edges
        raw.FPDFPageObj_GetBounds(one, byref(left), byref(bottom), byref(right), byref(top))
        return _Box(left.value, bottom.value, right.value, top.value)

    def _ink(self, one: _Object, get: Callable[..., int]) -> _Ink | None:
        if not get(one, *self._into_colour):
            return None
        red, green, blue, alpha = self._colour
        return _Ink((red.value, green.value, blue.value), alpha.value)


def _is_filled(path: _Object) -> bool:
    mode, stroked = c_int(), c_int()
    raw.FPDFPath_GetDrawMode(path, byref(mode), byref(stroked))
    return bool(mode.value != raw.FPDF_FILLMODE_NONE)


def _is_rectangle(path: _Object) -> bool:
    """Whether it is a rectangle whose sides are those of the page."""
    count, matrix = raw.FPDFPath_CountSegments(path), raw.FS_MATRIX()
    if count not in _CORNERS or not raw.FPDFPageObj_GetMatrix(path, byref(matrix)):
        return False
    across, up, points = c_float(), c_float(), list[tuple[float, float]]()
    for number in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, number)
        if raw.FPDFPathSegment_GetType(segment) == raw.FPDF_SEGMENT_BEZIERTO:
            return False
        raw.FPDFPathSegment_GetPoint(segment, byref(across), byref(up))
        points.append((across.value, up.value))
    upright = (matrix.b == 0 and matrix.c == 0) or (matrix.a == 0 and matrix.d == 0)
    sides = [sum(here != there for here, there in zip(one, two, strict=True)) for one, two in pairwise(points)]
    corners, lengths = len(set(points)), (len({x for x, _ in points}), len({y for _, y in points}))
    return upright and corners == 4 and lengths == (2, 2) and max(sides) == 1
