"""Markdown as it is, with its headings found: those with # and those underlined, but none in code or front matter."""

import re
from collections.abc import Iterator
from itertools import islice

from deedbox.search.extract.charset import decode
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import HEADING_CHARS, HEADINGS

_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]+(.*))?")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_NO_PARAGRAPH = re.compile(r" {0,3}(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]|<|\|)")
_FENCES, _UNDERLINES = {"`", "~"}, {"=", "-"}
_FRONT_MATTER_END = re.compile(r"\n(?:---|\.\.\.)[ \t]*(?:\n|$)")


def read(data: bytes) -> Extraction:
    draft = TextBuilder()
    text = clean(decode(data, "md"))
    for offset, title in islice(headings(text), HEADINGS):
        draft.head(title, offset)
    draft.add(text)
    return draft.finish()


def headings(text: str) -> Iterator[tuple[int, str]]:
    """Offset and title of each heading, in order."""
    fence = ""
    begun, paragraph = 0, ""
    for at, line in _lines(text, _front_matter(text)):
        first = line.lstrip(" ")[:1]
        fenced = _FENCE.fullmatch(line) if first in _FENCES else None
        if fence:
            if fenced and fenced[1].startswith(fence) and not fenced[2].strip():
                fence = ""
        elif fenced and not (fenced[1][0] == "`" and "`" in fenced[2]):
            fence, paragraph = fenced[1], ""
        elif first == "#" and (atx := _ATX.fullmatch(line)):
            paragraph = ""
            yield at, _unclosed(atx[1] or "")
        elif paragraph and first in _UNDERLINES and _UNDERLINE.fullmatch(line):
            yield begun, paragraph
            paragraph = ""
        elif not first.strip() or _NO_PARAGRAPH.match(line) or (not paragraph and line.startswith("    ")):
            paragraph = ""
        elif not paragraph:
            begun, paragraph = at, line.strip()
        elif len(paragraph) <= HEADING_CHARS:  # beyond that it is no heading, however it is underlined
            paragraph = f"{paragraph} {line.strip()}"


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    for line in text[start:].split("\n"):
        yield start, line
        start += len(line) + 1


def _front_matter(text: str) -> int:
    """Where the text begins after a block of metadata between lines of three hyphens."""
    if not text.startswith("---\n"):
        return 0
    end = _FRONT_MATTER_END.search(text, 3)
    return end.end() if end else 0


def _unclosed(title: str) -> str:
    """The title without the number signs that may close it."""
    title = title.strip()
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title
