"""Runs in a sandbox: the text of a PDF as one reads it, line by line, with the place of each line on its page."""

import itertools
import re
import statistics
import unicodedata
from collections.abc import Iterator

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.kernel import limits as shared_limits
from deedbox.pdf import limits
from deedbox.pdf.render import boxes
from deedbox.pdf.render.boxes import PageView
from deedbox.pdf.render.draw_pages import open_document
from deedbox.pdf.render.lines import TextLine

_NO_LETTERS = ("Cc", "Cn", "Cs")
"""Among them U+0002, which PDFium writes for a hyphen at the end of a line, and no line end after it."""
_APART = 0.6
"""Of a line's height: a paragraph begins after so much room,"""
_SHORT = 0.7
"""after a line that is only so much of the widest of its column,"""
_OTHER = 0.2
"""and where letters are so much larger or smaller."""
_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*[.)]|\d{1,3}(?:\.\d{1,3})+)\s+(?=\D)")
_SIGN = re.compile(
    r"(?:\((?:\d{1,3}|[a-z]|[ivx]{1,6})\)|[a-z]\)|§+ ?\d+[a-z]?\.?|[•‣◦▪–—])\s+\S"
    r"|第\s?[\d一二三四五六七八九十百]+\s?[条條章]"
)
"""Clauses are often set without room between them: 4. and 4.2, (a) and b), § 7, a bullet, 第三条."""
_EDGES, _HEIGHTS = 50, 200
"""Lines whose edges and heights are nearer to each other than these parts of the page are of one column."""


def pages(data: bytes) -> list[list[TextLine]]:
    """The lines of each page, of so many pages as are read; none of a page that is a picture."""
    read, lines, letters = list[list[TextLine]](), limits.READ_LINES, limits.READ_LETTERS
    with open_document(data) as document:
        for number in range(min(len(document), shared_limits.READ_PAGES)):
            found = _lines(document, number, letters)
            if found is None or len(found) > lines:
                break
            read.append(found)
            lines -= len(found)
            letters -= sum(len(line.text) for line in found)
    return read


def _lines(document: pdfium.PdfDocument, number: int, most: int) -> list[TextLine] | None:
    """The lines of a page; None of one with more letters."""
    try:
        page = document[number]
        shown = page.get_textpage()
    except pdfium.PdfiumError:
        return []
    try:
        if shown.count_chars() > most:
            return None
        view = boxes.view(page.get_mediabox(), page.get_cropbox(), page.get_rotation())
        return _with_paragraphs(list(_placed(shown, view)))
    finally:
        shown.close()
        page.close()


def _placed(shown: pdfium.PdfTextPage, view: PageView) -> Iterator[TextLine]:
    at = 0  # in the units of UTF-16, in which PDFium counts
    for text in shown.get_text_range().split("\n"):
        said = " ".join(_clean(text).split())
        if said:
            ends = [at + _units(text[: -len(text.lstrip())]), at + _units(text.rstrip()) - 1]
            yield TextLine(said[: limits.READ_LINE_CHARS], *_place(shown, view, ends))
        at += _units(text) + 1


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _clean(text: str) -> str:
    """The letters alone; a hyphen that only parts a word goes."""
    return "".join(letter for letter in text if letter == "\t" or unicodedata.category(letter) not in _NO_LETTERS)


def _place(shown: pdfium.PdfTextPage, view: PageView, ends: list[int]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a line in fractions of the page as displayed, from its first and last letter."""
    letters = [raw.FPDFText_GetCharIndexFromTextIndex(shown, end) for end in ends]
    found = [view.fractions(shown.get_charbox(letter, loose=True)) for letter in letters if letter >= 0]
    if not found:
        return 0.0, 0.0, 0.0, 0.0
    lefts, tops, rights, bottoms = zip(*found, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _with_paragraphs(lines: list[TextLine]) -> list[TextLine]:
    """The same lines, each told whether a paragraph begins with it."""
    if not lines:
        return []
    widest: dict[tuple[str, int, int], float] = {}
    for line in lines:
        for edge in _edges(line):
            widest[edge] = max(widest.get(edge, 0.0), line.right - line.left)
    usual = statistics.median(line.bottom - line.top for line in lines) or 0.01
    begins = [True]
    for before, line in itertools.pairwise(lines):
        column = max(widest[edge] for edge in _edges(before))
        short = before.right - before.left < _SHORT * column
        begins.append(short or _is_apart(before, line, usual) or _is_clause(line.text))
    return [
        TextLine(line.text, line.left, line.top, line.right, line.bottom, begin)
        for line, begin in zip(lines, begins, strict=True)
    ]


def _is_clause(text: str) -> bool:
    """Whether the line begins with the number of a clause or the sign of a list, not with a figure."""
    number = _NUMBER.match(text)
    return _SIGN.match(text) is not None or (number is not None and not text[number.end()].islower())


def _edges(line: TextLine) -> list[tuple[str, int, int]]:
    """By which the lines of a column are found: where they begin, left or right, and how high they are."""
    high = round((line.bottom - line.top) * _HEIGHTS)
    return [("left", round(line.left * _EDGES), high), ("right", round(line.right * _EDGES), high)]


def _is_apart(before: TextLine, line: TextLine, usual: float) -> bool:
    height, other = line.bottom - line.top, before.bottom - before.top
    distant = line.top - before.bottom > _APART * usual or line.bottom < before.top  # which is another column
    return distant or abs(height - other) > _OTHER * max(height, other)
