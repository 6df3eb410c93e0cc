"""A Word document: body, tables, text boxes, diagrams, comments, notes, headers and footers, with the numbers of its
lists and the headings that its styles name."""

from collections.abc import Iterable, Iterator

from lxml import etree

from deedbox.search.extract import drawing, word_styles
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.package import OfficePackage, bomb, encryption_error, open_package
from deedbox.search.extract.text import TextBuilder
from deedbox.search.extract.word_numbers import Numbers
from deedbox.search.extract.word_text import WordBlock, blocks
from deedbox.search.extract.word_xml import WORD, parse
from deedbox.search.library.upload import Extraction

ENCRYPTED = encryption_error(WORD)
BOMB = bomb(WORD)
_NO_WORD = "a ZIP archive that is not a Word document"
_AFTER_THE_BODY = ("comments", "footnotes", "endnotes", "header", "footer")


def read(data: bytes) -> Extraction:
    with open_package(data, WORD) as package:
        return _read_document(package)


def _read_document(package: OfficePackage) -> Extraction:
    main = next(iter(package.related("", "officeDocument")), "word/document.xml")
    body = package.read(main)
    if not body:
        raise wrong_kind("docx", _NO_WORD)
    styles = _first(package, main, "styles")
    levels = word_styles.headings(styles) if styles is not None else {}
    hidden = word_styles.HiddenText(styles)
    numbers = Numbers(_first(package, main, "numbering"), styles)
    draft = TextBuilder()
    write(draft, blocks(body, levels, numbers, hidden))
    for name in package.related(main, "diagramData"):
        write(draft, _diagram(package.read(name)))
    written: set[bytes] = set()
    for kind in _AFTER_THE_BODY:
        for name in package.related(main, kind):
            xml = package.read(name)
            if xml not in written:  # each section has headers of its own, mostly the same
                written.add(xml)
                write(draft, blocks(xml, levels, numbers, hidden) if xml else ())
    return draft.finish()


def _first(package: OfficePackage, main: str, kind: str) -> etree._Element | None:
    xml = next((package.read(name) for name in package.related(main, kind)), b"")
    return parse(xml) if xml else None


def _diagram(xml: bytes) -> Iterator[WordBlock]:
    for paragraph in parse(xml).iter("{*}p") if xml else ():
        yield WordBlock(drawing.line(paragraph), tight=True)


def write(draft: TextBuilder, found: Iterable[WordBlock]) -> None:
    """Paragraphs with an empty line between them; rows of a table and items of a list without."""
    before: WordBlock | None = None
    for block in found:
        draft.hide(block.hidden)
        if not block.text.strip():
            continue
        if draft.length:
            draft.add("\n" if before and before.tight and block.tight else "\n\n")
        if block.heading:
            draft.head(block.text)
        draft.add(block.text)
        before = block
