"""An OpenDocument text: headings, paragraphs, lists, tables, notes and comments, then headers and footers."""

from collections.abc import Iterator

from lxml import etree

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import odf_hidden
from deedbox.search.extract.docx import write
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.package import OfficePackage, encryption_error, open_package
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.extract.word_text import WordBlock
from deedbox.search.extract.word_xml import local, parse
from deedbox.search.library.upload import Extraction

_NOUN = "OpenDocument text"
_TYPE = b"application/vnd.oasis.opendocument.text"
_ON_EACH_PAGE = ("header", "footer", "header-left", "footer-left", "header-first", "footer-first")
_CHARACTERS = {"s": " ", "tab": "\t", "line-break": "\n"}
_SKIPPED = ("tracked-changes", "note-citation", "page-number", "page-count")
_ASIDE = ("note", "annotation", "text-box")
"""They stand in the middle of a paragraph, and read as paragraphs after it."""


def read(data: bytes) -> Extraction:
    with open_package(data, _NOUN) as package:
        if not package.read("mimetype").startswith(_TYPE):
            raise wrong_kind("odt", "a ZIP archive that is not an OpenDocument text")
        if b"encryption-data" in package.read("META-INF/manifest.xml"):
            raise BadRequest(encryption_error(_NOUN))
        return _read_document(package)


def _read_document(package: OfficePackage) -> Extraction:
    draft = TextBuilder()
    parts = [package.read(name) for name in ("content.xml", "styles.xml")]
    content, styles = roots = [parse(part, _NOUN) if part else None for part in parts]
    if any(map(odf_hidden.hides, parts)):
        hidden = odf_hidden.HiddenStyles(*roots)
        draft.hide(sum(odf_hidden.take_out_text(root, hidden) for root in roots if root is not None))
    if content is not None:
        write(draft, _blocks(content))
    if styles is not None:
        for part in styles.iter(*(f"{{*}}{name}" for name in _ON_EACH_PAGE)):
            write(draft, _blocks(part))
    return draft.finish()


def _blocks(parent: etree._Element, *, item: bool = False) -> Iterator[WordBlock]:
    """The paragraphs and rows in reading order. The parser lets no element lie too deep for this."""
    for element in parent:
        name = local(element.tag)
        if name in ("p", "h"):
            yield from _paragraph(element, heading=name == "h", item=item)
        elif name == "table-row":
            yield _row(element)
        elif name and name not in _SKIPPED:
            yield from _blocks(element, item=item or name == "list-item")


def _paragraph(element: etree._Element, *, heading: bool, item: bool) -> Iterator[WordBlock]:
    pieces: list[str] = []
    aside: list[etree._Element] = []
    _collect(element, pieces, aside)
    yield WordBlock(clean("".join(pieces)).strip(), heading, item and not heading)
    for part in aside:
        yield from _blocks(part)


def _collect(element: etree._Element, pieces: list[str], aside: list[etree._Element]) -> None:
    """A line end of the file is a space, as in a page of HTML; those that are meant have elements."""
    pieces.append(" ".join((element.text or "").splitlines()))
    for part in element:
        name = local(part.tag)
        if name in _ASIDE:
            aside.append(part)
        elif name in _CHARACTERS:
            pieces.append(_CHARACTERS[name])
        elif name and name not in _SKIPPED:
            _collect(part, pieces, aside)
        pieces.append(" ".join((part.tail or "").splitlines()))


def _row(row: etree._Element) -> WordBlock:
    cells = [" ".join(" ".join(block.text for block in _blocks(cell)).split()) for cell in row if _is_cell(cell)]
    while cells and not cells[-1]:
        cells.pop()
    return WordBlock(" | ".join(cells), tight=True)


def _is_cell(element: etree._Element) -> bool:
    return local(element.tag) == "table-cell"
