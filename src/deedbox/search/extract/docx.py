"""A Word document: body, tables, text boxes, diagrams, comments, notes, headers and footers, with the numbers of its
lists and the headings that its styles name."""

from collections.abc import Iterable, Iterator

from lxml import etree

from deedbox.search.extract import drawing, word_styles
from deedbox.search.extract.kinds import mislabelled
from deedbox.search.extract.package import Package, bomb, encrypted, opened
from deedbox.search.extract.text import Draft
from deedbox.search.extract.word_numbers import Numbers
from deedbox.search.extract.word_text import Block, blocks
from deedbox.search.extract.word_xml import WORD, parsed
from deedbox.search.upload import Extraction

ENCRYPTED = encrypted(WORD)
BOMB = bomb(WORD)
_NO_WORD = "a ZIP archive that is not a Word document"
_AFTER_THE_BODY = ("comments", "footnotes", "endnotes", "header", "footer")


def read(data: bytes) -> Extraction:
    with opened(data, WORD) as package:
        return _read_document(package)


def _read_document(package: Package) -> Extraction:
    main = next(iter(package.related("", "officeDocument")), "word/document.xml")
    body = package.read(main)
    if not body:
        raise mislabelled("docx", _NO_WORD)
    styles = _first(package, main, "styles")
    levels = word_styles.headings(styles) if styles is not None else {}
    hidden = word_styles.HiddenText(styles)
    numbers = Numbers(_first(package, main, "numbering"), styles)
    draft = Draft()
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


def _first(package: Package, main: str, kind: str) -> etree._Element | None:
    xml = next((package.read(name) for name in package.related(main, kind)), b"")
    return parsed(xml) if xml else None


def _diagram(xml: bytes) -> Iterator[Block]:
    for paragraph in parsed(xml).iter("{*}p") if xml else ():
        yield Block(drawing.line(paragraph), tight=True)


def write(draft: Draft, found: Iterable[Block]) -> None:
    """Paragraphs with an empty line between them; rows of a table and items of a list without."""
    before: Block | None = None
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
