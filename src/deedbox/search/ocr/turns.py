"""Pages that lie on a side or stand on their head: which way they are read, and where their words then stand."""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from PIL.Image import Transpose

from deedbox.search.ocr import SCALE, RecognisedWord, ScannedPage
from deedbox.search.ocr.detect import LineBox
from deedbox.search.ocr.recognise import LineReading

_TURNS = (Transpose.ROTATE_90, Transpose.ROTATE_270, Transpose.ROTATE_180)
"""Anticlockwise."""
_LEGIBLE = 0.9
"""A page that reads so well stands as it should; on its head, one of nothing but numbers reads at 0.83."""
_BETTER = 0.1
"""By so much a turned page must read better: one that cannot be read at all stays as it is."""
_LINES = 12
"""The longest, which tell how a page reads."""


def longest(lines: Iterable[LineBox]) -> list[LineBox]:
    """The lines that tell how the page reads."""
    return sorted(lines, key=_length, reverse=True)[:_LINES]


def legibility(read: Sequence[tuple[LineBox, LineReading]]) -> float:
    """From 0 to 1: how sure the lines are, the longer the more. One that stands upright in the picture counts 0."""
    whole = sum(_length(line) for line, _ in read)
    return sum(line.width * reading.sure for line, reading in read if line.width > line.height) / (whole or 1.0)


def best_turn(upright: float, legibility_of: Callable[[Transpose], float]) -> Transpose | None:
    """The turn that makes a page legible; None for one that reads as well as it stands."""
    if upright >= _LEGIBLE:
        return None
    told = dict[Transpose, float]()
    for turn in _TURNS:
        told[turn] = legibility_of(turn)
        if told[turn] >= _LEGIBLE:
            break
    best = max(told, key=told.__getitem__)
    return best if told[best] > upright + _BETTER else None


def turned_back(page: ScannedPage, turn: Transpose) -> ScannedPage:
    """What was read from the turned picture, with the places of its words on the page as it is displayed."""
    return msgspec.structs.replace(page, words=[_turned_back(word, turn) for word in page.words])


def _turned_back(word: RecognisedWord, turn: Transpose) -> RecognisedWord:
    left, top, right, bottom = word.left, word.top, word.right, word.bottom
    if turn is Transpose.ROTATE_90:
        left, top, right, bottom = SCALE - bottom, left, SCALE - top, right
    elif turn is Transpose.ROTATE_270:
        left, top, right, bottom = top, SCALE - right, bottom, SCALE - left
    else:
        left, top, right, bottom = SCALE - right, SCALE - bottom, SCALE - left, SCALE - top
    return RecognisedWord(word.start, word.end, left, top, right, bottom)


def _length(line: LineBox) -> float:
    return max(line.width, line.height)
