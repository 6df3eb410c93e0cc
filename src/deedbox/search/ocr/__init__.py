"""Reads text from pictures of pages. Pictures are looked at in sandboxes only: `PageReader` is the way in."""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from deedbox.search import limits

COMMAND = "deedbox model install ocr"
MISSING = f"Images are read by OCR, which is not installed on this server. Its operator can install it: {COMMAND}"
SCALE = 10_000
"""The width, and the height, of a page in the units of its word boxes."""
_Share: TypeAlias = Annotated[int, Meta(ge=0, le=SCALE)]
_Offset: TypeAlias = Annotated[int, Meta(ge=0, le=limits.OCR_PAGE_CHARS)]


class RecognisedWord(msgspec.Struct, frozen=True, array_like=True):
    """Where a word stands in the text of its page, and in the picture as it is displayed, from the top left corner."""

    start: _Offset
    end: _Offset
    left: _Share
    top: _Share
    right: _Share
    bottom: _Share


class ScannedPage(msgspec.Struct, frozen=True, array_like=True):
    """The text that was read from the picture of a page; it may be empty."""

    number: Annotated[int, Meta(ge=1, le=limits.PDF_PAGES)]
    text: Annotated[str, Meta(max_length=limits.OCR_PAGE_CHARS)]
    words: Annotated[list[RecognisedWord], Meta(max_length=limits.OCR_PAGE_WORDS)]


class Box(msgspec.Struct, frozen=True):
    """A word's place on its page as it is displayed, in fractions of the page from its top left corner."""

    page: int
    """The page, counted from 1."""
    left: float
    """Where the word begins, as a fraction of the page's width."""
    top: float
    """Where the word begins, as a fraction of the page's height."""
    right: float
    """Where the word ends, as a fraction of the page's width."""
    bottom: float
    """Where the word ends, as a fraction of the page's height."""
