"""A PDF page by page, as PDFium shows it: form values and the appearances of signatures and notes included."""

import re
from itertools import islice

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.limits import HEADINGS, PDF_PAGES
from deedbox.search.extract.text import Draft, clean
from deedbox.search.upload import Extraction

# PDFium writes U+0002 for a hyphen at the end of a line, and no line end after it. Before a small letter it was put
# there to part a word; before anything else it is a hyphen that the words have anyway.
_PARTED = re.compile("\x02(?=[^\\W\\d_A-Z])")
_NUMBER = re.compile(r"[\d.]+\s+")
_REFUSALS = {
    raw.FPDF_ERR_PASSWORD: "This PDF is encrypted. Remove its password and upload it again.",
    raw.FPDF_ERR_SECURITY: "This PDF is encrypted in an unknown way. Remove its protection and upload it again.",
}
DAMAGED = "This PDF is damaged and cannot be read. Save it anew from the program that made it."
NO_PAGES = "This PDF has no pages"


def read(data: bytes) -> Extraction:
    document = _open(data)
    try:
        return _read_pages(document)
    finally:
        document.close()


def _open(data: bytes) -> pdfium.PdfDocument:
    """The document; PDFium reads from the bytes as long as it is open."""
    handle = raw.FPDF_LoadMemDocument64(data, len(data), None)
    if not handle:
        raise BadRequest(_REFUSALS.get(raw.FPDF_GetLastError(), DAMAGED))
    document = pdfium.PdfDocument(handle)
    pages = raw.FPDF_GetPageCount(handle)
    if not 0 < pages <= PDF_PAGES:
        document.close()
        raise BadRequest(f"This PDF has more than {PDF_PAGES:,} pages. Split it into parts." if pages > 0 else NO_PAGES)
    return document


def _read_pages(document: pdfium.PdfDocument) -> Extraction:
    draft, starts, unreadable = Draft(), [], 0
    document.init_forms()  # before the first page is loaded, or the values of forms have no appearance
    titles = _outline(document)
    for number in range(len(document)):
        starts.append(draft.length)
        text = _page_text(document, number)
        unreadable += text is None
        if text:
            _find_headings(draft, text, titles.get(number, set()))
            draft.add(text + "\n")
    if unreadable == len(starts):
        raise BadRequest(DAMAGED)
    return draft.finish(starts)


def _page_text(document: pdfium.PdfDocument, number: int) -> str | None:
    """The text of a page; None if the page is damaged."""
    try:
        page = document[number]
        if raw.FPDFPage_GetAnnotCount(page) > 0:
            raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
            page.close()
            page = document[number]
        shown = page.get_textpage()
    except pdfium.PdfiumError:
        return None
    text = clean(_PARTED.sub("", shown.get_text_bounded()).replace("\x02", "-"))
    shown.close()
    page.close()
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _outline(document: pdfium.PdfDocument) -> dict[int, set[str]]:
    """The titles of the bookmarks that lead to each page, as `_plain` makes them comparable."""
    titles: dict[int, set[str]] = {}
    for bookmark in islice(document.get_toc(), HEADINGS):
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        title = _plain(bookmark.get_title())
        if page is not None and title:
            titles.setdefault(page, set()).add(title)
    return titles


def _find_headings(draft: Draft, text: str, titles: set[str]) -> None:
    """Marks the lines of the page that a bookmark names; each bookmark names one."""
    at = draft.length
    for line in text.split("\n") if titles else ():
        if (plain := _plain(line)) in titles:
            titles.discard(plain)
            draft.head(line, at)
        at += len(line) + 1


def _plain(title: str) -> str:
    """The words of a title without its number, which a bookmark may lack or have."""
    words = " ".join(title.split()).casefold()
    return _NUMBER.sub("", words, count=1) if _NUMBER.match(words) else words
