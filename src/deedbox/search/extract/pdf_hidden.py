"""Text of a PDF page that nobody sees: invisible, or white on white. It is taken off the page before that is read.

Text that a scanner's software lays invisibly over the picture of a page is the text of that picture, and stays. So
does white text on anything that was painted before it."""

from collections.abc import Iterator
from ctypes import byref, c_float, c_int, c_uint
from typing import Any, NamedTuple, TypeAlias

import pypdfium2 as pdfium
from pypdfium2 import raw

_INVISIBLE = (raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP)
_WHITE = 250
"""Of 255: a lighter colour cannot be told from paper."""
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
        self._painted = list[_Box]()
        """What lies under the objects that come later, white paper apart."""
        self._invisible = list[tuple[_Text, _Box]]()
        self._pictures = list[_Box]()
        self._colour = [c_uint() for _ in range(4)]
        self._into_colour = [byref(part) for part in self._colour]  # once: there may be a hundred thousand texts
        self._edges = [c_float() for _ in range(4)]

    def hidden(self, page: Any) -> Iterator[_Text]:
        for number in range(raw.FPDFPage_CountObjects(page)):
            one = raw.FPDFPage_GetObject(page, number)
            if (
                raw.FPDFPageObj_GetType(one) != raw.FPDF_PAGEOBJ_TEXT
                or raw.FPDFTextObj_GetTextRenderMode(one) != raw.FPDF_TEXTRENDERMODE_FILL
                or self._is_white(one)
            ):
                yield from self._of(one, None, None, 0)
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
            elif mode == raw.FPDF_TEXTRENDERMODE_FILL and self._is_white(one):
                box = around or self._box(one)
                if not any(below.holds_middle_of(box) for below in self._painted):
                    yield _Text(one, form)
        elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _FORMS_DEEP:
            place = around or self._box(one)
            for number in range(raw.FPDFFormObj_CountObjects(one)):
                yield from self._of(raw.FPDFFormObj_GetObject(one, number), one, place, depth + 1)
        elif kind == raw.FPDF_PAGEOBJ_IMAGE:
            box = around or self._box(one)
            self._pictures.append(box)
            self._painted.append(box)
        elif kind == raw.FPDF_PAGEOBJ_SHADING or (kind == raw.FPDF_PAGEOBJ_PATH and self._fills(one)):
            self._painted.append(around or self._box(one))

    def _box(self, one: _Object) -> _Box:
        left, bottom, right, top = self._edges
        raw.FPDFPageObj_GetBounds(one, byref(left), byref(bottom), byref(right), byref(top))
        return _Box(left.value, bottom.value, right.value, top.value)

    def _is_white(self, one: _Object) -> bool:
        if not raw.FPDFPageObj_GetFillColor(one, *self._into_colour):
            return False
        red, green, blue, alpha = self._colour
        return alpha.value == 0 or (red.value >= _WHITE and green.value >= _WHITE and blue.value >= _WHITE)

    def _fills(self, path: _Object) -> bool:
        mode, stroked = c_int(), c_int()
        raw.FPDFPath_GetDrawMode(path, byref(mode), byref(stroked))
        return bool(mode.value != raw.FPDF_FILLMODE_NONE) and not self._is_white(path)
