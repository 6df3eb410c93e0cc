"""The headings of a PDF: what its bookmarks name, or, where it has none, lines in larger letters than most."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.search.limits import HEADING_CHARS, HEADINGS

_NUMBER = re.compile(r"[\d.]+\s+")
_LARGER = 1.15
"""How many times as high as those of the text the letters of a heading are, at least."""
_MOST = 0.2
"""The part of a document that headings can be: more of it in large letters is text."""


class HeadingLine(NamedTuple):
    text: str
    height: float
    """Of its first letter."""


def outline(document: pdfium.PdfDocument) -> dict[int, set[str]]:
    """The titles of the bookmarks that lead to each page, as `_plain` makes them comparable."""
    titles: dict[int, set[str]] = {}
    for bookmark in islice(document.get_toc(), HEADINGS):
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        title = plain(bookmark.get_title())
        if page is not None and title:
            titles.setdefault(page, set()).add(title)
    return titles


def lines_of(page: pdfium.PdfTextPage) -> list[HeadingLine]:
    at, lines = 0, []
    for line in page.get_text_range().split("\r\n"):
        if text := line.strip():
            lines.append(HeadingLine(text, _height(page, at + line.index(text))))
        at += len(line) + 2
    return lines


def _height(page: pdfium.PdfTextPage, at: int) -> float:
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(page.raw, at, box)
    return round(abs(float(box.top) - float(box.bottom)), 1)


def by_size(pages: Sequence[Sequence[HeadingLine]]) -> dict[int, set[str]]:
    """The lines of each page in larger letters than most of the document has, as `plain` makes them comparable."""
    heights = Counter[float]()
    for line in (line for page in pages for line in page):
        heights[line.height] += len(line.text)
    if not heights:
        return {}
    usual = heights.most_common(1)[0][0]
    if sum(count for height, count in heights.items() if _is_larger(height, usual)) > _MOST * heights.total():
        return {}
    return {
        number: {plain(line.text) for line in page if _is_larger(line.height, usual) and _may_head(line.text)}
        for number, page in enumerate(pages)
    }


def _is_larger(height: float, usual: float) -> bool:
    return height >= _LARGER * usual


def _may_head(text: str) -> bool:
    return len(text) <= HEADING_CHARS and any(letter.isalpha() for letter in text)


def plain(title: str) -> str:
    """The words of a title without its number, which a bookmark may lack or have."""
    words = " ".join(title.split()).casefold()
    return _NUMBER.sub("", words, count=1) if _NUMBER.match(words) else words
