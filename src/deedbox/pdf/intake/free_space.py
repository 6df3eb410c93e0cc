"""Free space around a text tag: how far its field may reach before it covers text, rules or pictures."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pypdfium2 as pdfium

from deedbox.pdf import limits
from deedbox.pdf.marks.field_text import CAPITALS
from deedbox.pdf.render.boxes import Box, PageView

_SCALE = 2.0
"""Pixels per point: every renderer draws the thinnest rule at least one pixel wide."""
_ALIKE = 12
"""Shades of grey by which the ground around a tag may differ from itself."""
_CLEAR = 1.0
"""Points that stay empty between a field and what is printed around it."""
_EDGE = 1
"""Pixels around a letter that its smoothed edge may shade."""
_WHITE = 255
_ON_LINE = 0.1
"""Of the size of the letters: what lies this close to the baseline is the rule on which people sign."""


class Wanted(NamedTuple):
    """The size that a field should have, and the smallest that it may be made, in points."""

    w: float
    h: float
    least_w: float
    least_h: float


class FreeSpace:
    """What is printed on a page as it is displayed; all lengths are points from its top left corner."""

    def __init__(self, shades: Any, view: PageView) -> None:
        self._shades = shades
        self._taken = np.zeros(shades.shape, dtype=bool)
        self._across, self._down = shades.shape[1] / view.width, shades.shape[0] / view.height
        self._height = view.height

    @classmethod
    def of(cls, page: pdfium.PdfPage, view: PageView) -> Self:
        scale = min(_SCALE, math.sqrt(limits.PAGE_IMAGE_PIXELS / (view.width * view.height)))
        return cls(page.render(scale=scale, grayscale=True).to_numpy(), view)

    def take(self, box: Box) -> None:
        """Mark the space of a field, so that no other field grows into it."""
        self._taken[self._part(box)] = True

    def width(self, left: float, baseline: float, size: float, own: Sequence[Box], wanted: float) -> float:
        """The width wanted, or less if something is printed to the right on the line of the tag.

        `own` are the letters of the tag itself, which leave the page."""
        line = (left, baseline - CAPITALS * size, left + wanted + _CLEAR, baseline - _ON_LINE * size)
        found = np.flatnonzero(self._ink(line, own).any(axis=0))
        if not len(found):
            return wanted
        free = (self._part(line)[1].start + int(found[0])) / self._across - _CLEAR - left
        return min(wanted, float(free))

    def grown(self, left: float, baseline: float, size: float, own: Sequence[Box], wanted: Wanted) -> Box:
        """The box of a field that stands on this baseline: above it as far as there is space, else also below."""
        w = max(self.width(left, baseline, size, own, wanted.w), wanted.least_w)
        on_line = _ON_LINE * size
        above = baseline - self._last((left, baseline - wanted.h - _CLEAR, left + w, baseline - on_line), own)
        if above >= wanted.h:
            return left, baseline - wanted.h, left + w, baseline
        below = self._first((left, baseline + on_line, left + w, baseline + wanted.h + _CLEAR), own) - baseline
        h = max(min(wanted.h, above + below), wanted.least_h)
        top = max(min(baseline - above, self._height - h), 0.0)
        return left, top, left + w, top + h

    def _last(self, box: Box, own: Sequence[Box]) -> float:
        """Where the free rows at the foot of the box begin."""
        rows, _ = self._part(box)
        found = np.flatnonzero(self._ink(box, own).any(axis=1))
        return (rows.start + int(found[-1]) + 1) / self._down + _CLEAR if len(found) else max(box[1], 0.0)

    def _first(self, box: Box, own: Sequence[Box]) -> float:
        """Where the free rows at the top of the box end."""
        rows, _ = self._part(box)
        found = np.flatnonzero(self._ink(box, own).any(axis=1))
        return (rows.start + int(found[0])) / self._down - _CLEAR if len(found) else min(box[3], self._height)

    def _ink(self, box: Box, own: Sequence[Box]) -> Any:
        """Where in the box something is printed that is neither the ground of the tag nor the tag itself."""
        beneath = self._shades[self._part(_around(own))].ravel()
        ground = int(np.bincount(beneath).argmax()) if beneath.size else _WHITE
        rows, columns = self._part(box)
        ink = np.abs(self._shades[rows, columns].astype(np.int16) - ground) > _ALIKE
        for part in [*own, *_joints(own)]:
            down, across = self._part(part, _EDGE)
            ink[_within(down, rows), _within(across, columns)] = False
        return ink | self._taken[rows, columns]

    def _part(self, box: Box, edge: int = 0) -> tuple[slice, slice]:
        """The pixels that the box touches, and so many around it."""
        left, top, right, bottom = box
        most_down, most_across = self._shades.shape
        rows = slice(max(int(top * self._down) - edge, 0), min(math.ceil(bottom * self._down) + edge, most_down))
        columns = slice(
            max(int(left * self._across) - edge, 0), min(math.ceil(right * self._across) + edge, most_across)
        )
        return rows, columns


def _within(part: slice, whole: slice) -> slice:
    """The part as counted from the start of the whole; empty if it lies outside."""
    return slice(max(part.start - whole.start, 0), max(part.stop - whole.start, 0))


def _joints(letters: Sequence[Box]) -> Iterator[Box]:
    """Each two neighbours of a line together: a letter may reach over the space behind it."""
    for one, other in itertools.pairwise(letters):
        high = max(one[3] - one[1], other[3] - other[1])
        if abs(one[1] - other[1]) < high and abs(other[0] - one[2]) < high:
            yield _around((one, other))


def _around(boxes: Iterable[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
