"""A book chapter by chapter, in the order in which it is read; each file of the book is a page."""

from collections.abc import Iterator
from urllib.parse import unquote

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import html
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.package import OfficePackage, beside, open_package
from deedbox.search.extract.text import TextBuilder
from deedbox.search.extract.word_xml import parse
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import CHAPTERS

_NOUN = "book"
_TYPE = b"application/epub+zip"
_PAGES = ("application/xhtml+xml", "text/html")
LOCKED = "This book is protected against copying. Upload one without protection."


def read(data: bytes) -> Extraction:
    with open_package(data, _NOUN) as package:
        if not package.read("mimetype").startswith(_TYPE):
            raise wrong_kind("epub", "a ZIP archive that is not a book")
        return _read_chapters(package)


def _read_chapters(package: OfficePackage) -> Extraction:
    chapters = list(dict.fromkeys(_spine(package)))
    if len(chapters) > CHAPTERS:
        raise BadRequest(f"This book has more than {CHAPTERS:,} chapters. Split it into parts.")
    locked = _locked(package)
    draft, starts = TextBuilder(), []
    for name in chapters:
        if name in locked:
            raise BadRequest(LOCKED)
        starts.append(draft.length)
        if page := package.read(name):
            draft.include(html.read(page, titled=False))  # it is the book's, or a file's name
            draft.add("\n\n")
    return draft.finish(starts)


def _spine(package: OfficePackage) -> Iterator[str]:
    """The files of the book in the order of reading."""
    container = parse(package.read("META-INF/container.xml"), _NOUN)
    contents = next((str(root.get("full-path", "")) for root in container.iter("{*}rootfile")), "")
    book = parse(package.read(contents), _NOUN)
    items = {str(item.get("id")): item for item in book.iter("{*}item") if item.get("media-type") in _PAGES}
    for step in book.iter("{*}itemref"):
        item = items.get(str(step.get("idref")))
        if item is not None and "nav" not in str(item.get("properties", "")).split():
            yield beside(contents, unquote(str(item.get("href", ""))))


def _locked(package: OfficePackage) -> set[str]:
    """The files that only a reader with a licence opens."""
    xml = package.read("META-INF/encryption.xml")
    found = parse(xml, _NOUN).iter("{*}CipherReference") if xml else ()
    return {unquote(str(reference.get("URI", ""))) for reference in found}
