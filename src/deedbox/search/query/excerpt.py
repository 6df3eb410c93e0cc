"""A passage as a page shows it: shortened around the words that were asked for, which are marked."""

from collections.abc import Sequence
from typing import NamedTuple

from deedbox.search import limits

_GAP = "…"


class ExcerptPiece(NamedTuple):
    text: str
    marked: bool


def excerpt(text: str, highlights: Sequence[tuple[int, int]], most: int = limits.EXCERPT_CHARS) -> list[ExcerptPiece]:
    """So much of the text as may be shown, where most of the marked words stand."""
    start, end = _window(text, highlights, most)
    found = pieces(text[start:end], [(max(begin, start) - start, min(stop, end) - start) for begin, stop in highlights])
    before = [ExcerptPiece(_GAP, False)] if start > 0 else []
    return [*before, *found, *([ExcerptPiece(_GAP, False)] if end < len(text) else [])]


def pieces(text: str, highlights: Sequence[tuple[int, int]]) -> list[ExcerptPiece]:
    """The text in pieces, those within the highlights marked; what lies outside the text is left out."""
    found, at = list[ExcerptPiece](), 0
    for begin, stop in sorted(highlights):
        first, last = max(begin, at), min(stop, len(text))
        if first < last:
            found += [ExcerptPiece(text[at:first], False), ExcerptPiece(text[first:last], True)]
            at = last
    return [piece for piece in (*found, ExcerptPiece(text[at:], False)) if piece.text]


def _window(text: str, highlights: Sequence[tuple[int, int]], most: int) -> tuple[int, int]:
    if len(text) <= most:
        return 0, len(text)
    room = most // 4
    starts = [0, *(max(0, begin - room) for begin, _ in highlights)]
    best = max(starts, key=lambda start: (_within(highlights, start, start + most), -start))
    best = min(best, len(text) - most)
    # From a word's beginning to a word's end, where one is near.
    first = text.find(" ", best, best + room) + 1 if best else 0
    last = text.rfind(" ", best + most - room, best + most) if best + most < len(text) else len(text)
    return first or best, last if last > 0 else best + most


def _within(highlights: Sequence[tuple[int, int]], start: int, end: int) -> int:
    return sum(start <= begin and stop <= end for begin, stop in highlights)
