"""The text of a page, made of its lines, with the place of every word in it and in the picture."""

import re
from collections.abc import Iterator, Sequence

from deedbox.search import limits
from deedbox.search.extract.text import clean
from deedbox.search.ocr import SCALE, RecognisedWord, ScannedPage
from deedbox.search.ocr.detect import LineBox
from deedbox.search.ocr.recognise import LineReading

_WORD = re.compile(r"\S+")
_SURE = 0.5
"""A line that is less sure is a stain or a stroke, and not text."""
_APART = 1.6
"""Lines whose middles are further apart than so many times their height are of two paragraphs."""


def page_text(number: int, rows: Sequence[Sequence[tuple[LineBox, LineReading]]], size: tuple[int, int]) -> ScannedPage:
    """The lines of the rows in their order, and where their words stand on a page of this size."""
    text, words = "", list[RecognisedWord]()
    above: LineBox | None = None
    for row in rows:
        parting = _parting(above, row[0][0])
        for line, reading in row:
            said = _cleaned(reading)
            if said.sure < _SURE or not said.text.strip():
                continue
            if len(text) + len(said.text) + len(parting) > limits.OCR_PAGE_CHARS:
                return ScannedPage(number, text, words[: limits.OCR_PAGE_WORDS])
            text += parting if text else ""
            words += _words(line, said, len(text), size)
            text += said.text
            above, parting = line, " "
    return ScannedPage(number, text, words[: limits.OCR_PAGE_WORDS])


def _cleaned(reading: LineReading) -> LineReading:
    """Without characters that no text is kept with; each other one keeps its place."""
    kept = [(letter, place) for letter, place in zip(reading.text, reading.places, strict=True) if clean(letter)]
    return LineReading("".join(letter for letter, _ in kept), reading.sure, [place for _, place in kept])


def _parting(above: LineBox | None, line: LineBox) -> str:
    """A line's end between two rows, or an empty line between two paragraphs."""
    if above is None:
        return ""
    return "\n\n" if line.y - above.y > _APART * min(line.height, above.height) else "\n"


def _words(line: LineBox, reading: LineReading, start: int, size: tuple[int, int]) -> Iterator[RecognisedWord]:
    places = reading.places
    for match in _WORD.finditer(reading.text):
        first, last = match.start(), match.end() - 1
        begin = (places[first - 1] + places[first]) / 2 if first else 0.0
        end = (places[last] + places[last + 1]) / 2 if last + 1 < len(places) else 1.0
        corners = line.corners(begin, max(begin, end))
        across = [_share(x, size[0]) for x, _ in corners]
        down = [_share(y, size[1]) for _, y in corners]
        yield RecognisedWord(start + first, start + last + 1, min(across), min(down), max(across), max(down))


def _share(place: float, whole: int) -> int:
    return max(0, min(SCALE, round(place / whole * SCALE)))
