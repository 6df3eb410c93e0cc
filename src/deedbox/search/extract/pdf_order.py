"""Lines that run from right to left. PDFium tells their letters partly as they stand and partly as they are read, and a
joined lam and alef always the wrong way round; where each letter stands on the page says how the line is read."""

import ctypes
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from pypdfium2 import raw

_FROM_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
_SOME = re.compile(f"[{_FROM_RIGHT}]")
_DIGITS = "0-9\u0660-\u0669\u06f0-\u06f9"
_SIGNS = "%$€£¥\u066a"
_STRONG = rf"(?:[{_DIGITS}]|[^\W_{_FROM_RIGHT}])"
_FROM_LEFT = re.compile(rf"[{_SIGNS}]?{_STRONG}(?:[^{_FROM_RIGHT}]*{_STRONG})?[{_SIGNS}]?")
"""A run of letters from the left, or of digits, with what stands between them and the signs of figures."""
_RUN = re.compile(f"[{_FROM_RIGHT}](?:[^\\w]*[{_FROM_RIGHT}])*")
"""A run of letters from the right, with what stands between them."""
_SAME_LINE = 0.5
_GAP = 0.15
"""Parts of a line's height: by how much letters of one line may stand apart, up or down, and without a space."""


class _Letter(NamedTuple):
    text: str
    left: float
    right: float
    begins: float
    ends: float
    """With the room about it."""
    baseline: float
    height: float
    made_up: bool
    """Not on the page: PDFium's own."""

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def runs_right_to_left(text: str) -> bool:
    return _SOME.search(text) is not None


def in_reading_order(page: raw.FPDF_TEXTPAGE, places: Iterable[int] | None = None) -> str:
    """The text of a page, or of some places in it, line by line in the order in which it was written."""
    return "\n".join(
        _read(line) for line in _lines(page, range(raw.FPDFText_CountChars(page)) if places is None else places)
    )


def _lines(page: raw.FPDF_TEXTPAGE, places: Iterable[int]) -> Iterator[list[_Letter]]:
    line: list[_Letter] = []
    for at in places:
        letter = _letter(page, at)
        if letter is None or (letter.made_up and letter.text != " "):
            continue
        if line and not letter.made_up and abs(letter.baseline - line[0].baseline) > _SAME_LINE * _height(line):
            yield line
            line = []
        line.append(letter)
    if line:
        yield line


def _letter(page: raw.FPDF_TEXTPAGE, at: int) -> _Letter | None:
    code = raw.FPDFText_GetUnicode(page, at)
    if not 0 < code <= 0x10FFFF or code in (10, 13) or 0xD800 <= code <= 0xDFFF:
        return None
    left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
    raw.FPDFText_GetCharBox(page, at, left, right, bottom, top)
    raw.FPDFText_GetCharOrigin(page, at, x, y)
    loose = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(page, at, loose)
    height = abs(loose.top - loose.bottom)
    place = (left.value, right.value, float(loose.left), float(loose.right), y.value, height)
    return _Letter(chr(code), *place, raw.FPDFText_IsGenerated(page, at) == 1)


def _read(line: Sequence[_Letter]) -> str:
    written = "".join(letter.text for letter in line)
    if not runs_right_to_left(written):
        return written
    # Where a space stands among shaped letters is not said: the room between them tells.
    seen = _seen([letter for letter in line if letter.text != " "])
    from_right = len(_SOME.findall(seen))
    if from_right * 2 < sum(letter.isalpha() for letter in seen):  # a line from the left with words from the right
        return _RUN.sub(_turned, seen)
    return _FROM_LEFT.sub(_turned, seen[::-1])


def _seen(letters: Sequence[_Letter]) -> str:
    """The letters from left to right, each after the marks that stand at it."""
    standing = sorted((one for one in letters if not unicodedata.combining(one.text)), key=lambda one: one.middle)
    marks: dict[_Letter, str] = {}
    for mark in (one for one in letters if unicodedata.combining(one.text)):
        if standing:
            nearest = min(standing, key=lambda one: abs(one.middle - mark.middle))
            marks[nearest] = mark.text + marks.get(nearest, "")
    pieces = [marks.get(one, "") + one.text for one in standing]
    room = _GAP * _height(letters)
    for at, (one, after) in enumerate(pairwise(standing)):
        if after.begins - one.ends > room:
            pieces[at] += " "
    return "".join(pieces)


def _height(letters: Sequence[_Letter]) -> float:
    return max(one.height for one in letters)


def _turned(run: re.Match[str]) -> str:
    return run[0][::-1]
