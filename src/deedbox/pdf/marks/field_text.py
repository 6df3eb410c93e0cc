"""How much room a field has for text, at which size a text fits into it, and where its line stands."""

from typing import NamedTuple

from deedbox.pdf.marks import text_width as metrics
from deedbox.pdf.marks.fonts import Hand

USUAL = 11.0
SMALLEST = 6.0
"""Points; what would have to be smaller cannot be read on paper."""
ASCENT, DESCENT, CAPITALS = 1.0, 0.3, 0.714
"""Of a line, in parts of its size: above its baseline, below it, and the height of capital letters."""
LINE = ASCENT + DESCENT
BY_HAND = 0.9
"""Of the width of a field; the rest is for its margins and for what swings out beyond the last letter."""
_STEP = 0.95
_KERNED = 0.99
"""What letters may do to each other when they are set is left free."""
_SIDES, _SIDES_PART = 2.0, 0.04


class FieldSpace(NamedTuple):
    """A field in points, and the size at which its text is set if there is room."""

    w: float
    h: float
    size: float | None = None

    @property
    def width(self) -> float:
        """What is left of it between small margins."""
        return self.w - 2 * min(_SIDES, self.w * _SIDES_PART)

    @property
    def largest(self) -> float:
        return min(self.size or USUAL, self.h / (CAPITALS + DESCENT))

    @property
    def has_lines(self) -> bool:
        """Whether text goes on in a second line."""
        return self.h >= 2 * LINE * self.largest

    @property
    def baseline(self) -> float:
        """Points from the top to the first line, on which a text stands however small it had to be set."""
        if self.has_lines:
            return ASCENT * self.largest
        return min((self.h + CAPITALS * self.largest) / 2, self.h - DESCENT * self.largest)

    def fitting(self, text: str) -> float:
        """The largest size at which the text fits, which may be too small to be read."""
        if not self.has_lines:
            return min(self.largest, _KERNED * self.width / max(metrics.width(text), 0.01))
        size = self.largest
        while size > SMALLEST and not self._holds(text, size):
            size *= _STEP
        return size if size > SMALLEST else SMALLEST if self._holds(text, SMALLEST) else SMALLEST * _STEP

    def _holds(self, text: str, size: float) -> bool:
        return metrics.lines(text, self.width / size) * LINE * size <= self.h

    def letters(self, text: str) -> int:
        """About how many letters such as these would fit."""
        each = metrics.width(text) / max(len(text), 1) * SMALLEST
        rows = int(self.h // (LINE * SMALLEST)) if self.has_lines else 1
        return max(int(self.width / max(each, 0.01)), 0) * max(rows, 1)


def letters_that_fit(text: str, room: FieldSpace) -> int | None:
    """About how many letters would fit, if the text would have to be set too small to be read; None if it fits."""
    return room.letters(text) if text and room.fitting(text) < SMALLEST else None


def least_printed(text: str) -> tuple[float, float]:
    """Width and height in points of the smallest field in which a text can be read on one line."""
    line = SMALLEST * metrics.width(text) / _KERNED
    narrow = line / (1 - 2 * _SIDES_PART)
    return narrow if narrow * _SIDES_PART < _SIDES else line + 2 * _SIDES, SMALLEST * (CAPITALS + DESCENT)


_HAND_HEIGHT = {"signature": SMALLEST / 0.48, "initials": SMALLEST}
"""Points; of a low signature, the caption and the margins take 0.52 of its height."""


def least_height_by_hand(kind: str) -> float:
    """Points; in a lower field, no typed signature or initials can be read."""
    return _HAND_HEIGHT[kind]


def least_by_hand(kind: str, text: str) -> tuple[float, float]:
    """Width and height in points of the smallest field in which a typed signature or initials can be read."""
    return SMALLEST * metrics.width_by_hand(text, "dancing") / BY_HAND, _HAND_HEIGHT[kind]


def letters_by_hand(text: str, room: FieldSpace, hand: Hand = "dancing") -> int | None:
    """The same for a typed signature or initials."""
    width, there_is = metrics.width_by_hand(text, hand), room.w * BY_HAND
    return int(there_is / SMALLEST / width * len(text)) if there_is / max(width, 0.01) < SMALLEST else None
