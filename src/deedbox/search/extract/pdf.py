"""A PDF page by page, as PDFium shows it: form values and the appearances of signatures and notes included."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import pdf_hidden
from deedbox.search.extract.pdf_headings import HeadingLine, by_size, lines_of, outline, plain
from deedbox.search.extract.pdf_order import in_reading_order, runs_right_to_left
from deedbox.search.extract.pdf_tables import PdfTables
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import PDF_PAGES

_HYPHEN = "\x02"
"""What PDFium writes for a hyphen at the end of a line, and no line end after it."""
_OTHER_HYPHEN = re.compile("\u2010\r?\n(?=[^\\W\\d_])")
"""What browsers write at the end of a line in its stead."""
_SMALL = re.compile(r"[^\W\d_A-Z]")
_LONGEST_PART = 60
_LAST, _FIRST = re.compile(r"\w*\Z"), re.compile(rf"\w{{0,{_LONGEST_PART}}}")
_WITH_HYPHEN = re.compile(r"\w+(?:-\w+)*")
_JOINED_LETTERS = re.compile("[\ufb00-\ufb06\ufb50-\ufd3d\ufd50-\ufdff\ufe70-\ufefc]")
_REFUSALS = {
    raw.FPDF_ERR_PASSWORD: "This PDF is encrypted. Remove its password and upload it again.",
    raw.FPDF_ERR_SECURITY: "This PDF is encrypted in an unknown way. Remove its protection and upload it again.",
}
DAMAGED = "This PDF is damaged and cannot be read. Save it again from the program that created it."
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
    draft, starts = TextBuilder(), list[int]()
    document.init_forms()  # before the first page is loaded, or the values of forms have no appearance
    titles, sized = outline(document), list[list[HeadingLine]]()
    tables = PdfTables()
    texts = [_page_text(document, number, tables, None if titles else sized, draft) for number in range(len(document))]
    titles = titles or by_size(sized)
    if all(text is None for text in texts):
        raise BadRequest(DAMAGED)
    for number, text in enumerate(_without_parted_words(texts)):
        starts.append(draft.length)
        if text:
            _find_headings(draft, text, titles.get(number, set()))
            draft.add(text + "\n")
    return draft.finish(starts)


def _page_text(
    document: pdfium.PdfDocument,
    number: int,
    tables: PdfTables,
    sized: list[list[HeadingLine]] | None,
    draft: TextBuilder,
) -> str | None:
    """The text of a page, and its lines with their sizes where they are wanted; None if the page is damaged.

    Hidden text is left out, and counted in the draft."""
    try:
        page = document[number]
        if raw.FPDFPage_GetAnnotCount(page) > 0:
            raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
            page.close()
            page = document[number]
        draft.hide(pdf_hidden.take_off(page))
        shown = page.get_textpage()
    except pdfium.PdfiumError:
        if sized is not None:
            sized.append([])
        return None
    if sized is not None:
        sized.append(lines_of(shown))
    text = tables.text(page, shown)
    if text is None:
        text = shown.get_text_bounded()
        if runs_right_to_left(text):
            text = in_reading_order(shown.raw)
    shown.close()
    page.close()
    text = _OTHER_HYPHEN.sub(_HYPHEN, text)
    parts = [_JOINED_LETTERS.sub(_apart, clean(part)) for part in text.split(_HYPHEN)]
    return "\n".join(line.rstrip() for line in _HYPHEN.join(parts).split("\n")).strip("\n")


def _apart(letters: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", letters[0])


def _without_parted_words(texts: Sequence[str | None]) -> list[str]:
    """The pages without hyphens that only a line's end asked for."""
    known: set[str] = set()
    if any(_HYPHEN in (text or "") for text in texts):
        known = {word for text in texts for word in _WITH_HYPHEN.findall((text or "").lower()) if "-" in word}
    return [_unparted(text or "", known) for text in texts]


def _unparted(text: str, known: set[str]) -> str:
    parts = text.split(_HYPHEN)
    pieces = [parts[0]]
    for before, after in pairwise(parts):
        pieces += [_hyphen(before[-_LONGEST_PART:], after, known), after]
    return "".join(pieces)


def _hyphen(before: str, after: str, known: set[str]) -> str:
    """Before a small letter it parts a word, unless the document has it with a hyphen; else it is a name's own."""
    if not _SMALL.match(after):
        return "-"
    ends, begins = _LAST.search(before), _FIRST.match(after)
    return "-" if ends and begins and f"{ends[0]}-{begins[0]}".lower() in known else ""


def _find_headings(draft: TextBuilder, text: str, titles: set[str]) -> None:
    """Marks the lines of the page that are titles; each title is one."""
    at = draft.length
    for line in text.split("\n") if titles else ():
        if (title := plain(line)) in titles:
            titles.discard(title)
            draft.head(line, at)
        at += len(line) + 1
