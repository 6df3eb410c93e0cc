"""A workbook of Excel sheet by sheet, each as a page under its name, and each row with the names of its columns.

Values read as they are displayed. Hidden sheets, rows and columns are left out and counted."""

import io
import re
from collections.abc import Iterator

import msgspec
from lxml import etree

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import number_format
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.package import OfficePackage, open_package
from deedbox.search.extract.table import write
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.extract.word_xml import damage_error, local, parse, refuse_document_type, value
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import SHEETS

_NOUN = "workbook"
_COLUMN = re.compile(r"[A-Z]{1,3}")
_COLUMNS = 16_384
_YES = ("1", "true")


class _Book(msgspec.Struct):
    strings: list[str]
    formats: list[str]
    """The format of each style of cells."""
    from_1904: bool


class _Sheet(msgspec.Struct):
    rows: list[dict[int, str]] = []
    hidden: int = 0
    """Characters of its hidden rows and columns."""


def read(data: bytes) -> Extraction:
    with open_package(data, _NOUN) as package:
        main = next(iter(package.related("", "officeDocument")), "xl/workbook.xml")
        xml = package.read(main)
        if not xml:
            raise wrong_kind("xlsx", f"a ZIP archive that is not a {_NOUN}")
        root = parse(xml, _NOUN)
        if "spreadsheetml" not in str(root.tag):
            raise wrong_kind("xlsx", f"a ZIP archive that is not a {_NOUN}")
        return _read_sheets(package, main, root)


def _read_sheets(package: OfficePackage, main: str, root: etree._Element) -> Extraction:
    related, sheets = package.relations(main), list(root.iter("{*}sheet"))
    if len(sheets) > SHEETS:
        raise BadRequest(f"This {_NOUN} has more than {SHEETS:,} sheets. Split it into parts.")
    from_1904 = any(value(each, "date1904") in _YES for each in root.iter("{*}workbookPr"))
    book = _Book(_strings(package, main), _formats(package, main), from_1904)
    draft, starts = TextBuilder(), []
    for each in sheets:
        relation = next((text for key, text in each.attrib.items() if local(key) == "id" and "}" in str(key)), "")
        kind, target = related.get(str(relation), ("", ""))
        if not kind.endswith("/worksheet"):
            continue
        part = package.read(target)
        if not part:
            raise BadRequest(damage_error(_NOUN))
        sheet, name = _sheet(part, book), clean(value(each, "name") or "")
        draft.hide(sheet.hidden)
        if value(each, "state") in ("hidden", "veryHidden"):
            draft.hide(len(name) + sum(len(text) for row in sheet.rows for text in row.values()))
            continue
        starts.append(draft.length)
        draft.head(name)
        draft.add(f"{name}\n")
        write(draft, _lined_up(sheet.rows))
        draft.add("\n")
    return draft.finish(starts)


def _strings(package: OfficePackage, main: str) -> list[str]:
    """The texts that cells name by number."""
    found = list[str]()
    for name in package.related(main, "sharedStrings"):
        for item in _elements(package.read(name), "si"):
            found.append(_text(item))
            item.clear()
    return found


def _text(item: etree._Element) -> str:
    """The text of a cell or string, without its pronunciation."""
    texts = (each for each in item.iter("{*}t") if local(getattr(each.getparent(), "tag", "")) != "rPh")
    return clean("".join(each.text or "" for each in texts))


def _formats(package: OfficePackage, main: str) -> list[str]:
    xml = next((package.read(name) for name in package.related(main, "styles")), b"")
    if not xml:
        return []
    root = parse(xml, _NOUN)
    own = {value(each, "numFmtId"): value(each, "formatCode") or "" for each in root.iter("{*}numFmt")}
    styles = [style for each in root.iter("{*}cellXfs") for style in each]
    numbers = [value(style, "numFmtId") or "" for style in styles]
    return [own.get(number) or number_format.BUILT_IN.get(_whole(number), "") for number in numbers]


def _sheet(xml: bytes, book: _Book) -> _Sheet:
    sheet, columns = _Sheet(), set[int]()
    for element in _elements(xml, "col", "row"):
        if local(element.tag) == "col":
            if value(element, "hidden") in _YES:
                first, last = _whole(value(element, "min")), _whole(value(element, "max"))
                columns.update(range(max(first, 1) - 1, min(last, _COLUMNS)))
            continue
        cells = dict(_cells(element, book))
        is_hidden = value(element, "hidden") in _YES
        left_out = cells if is_hidden else {at: text for at, text in cells.items() if at in columns}
        sheet.hidden += sum(map(len, left_out.values()))
        if shown := {at: text for at, text in cells.items() if at not in left_out}:
            sheet.rows.append(shown)
        element.clear()
    return sheet


def _cells(row: etree._Element, book: _Book) -> Iterator[tuple[int, str]]:
    """Column and text of each cell that is not empty."""
    at = -1
    for cell in row:
        if local(cell.tag) != "c":
            continue
        named = _COLUMN.match(value(cell, "r") or "")
        at = _number(named[0]) if named else at + 1
        if at < _COLUMNS and (text := _shown(cell, book)):
            yield at, text


def _shown(cell: etree._Element, book: _Book) -> str:
    kind = value(cell, "t") or "n"
    if kind == "inlineStr":
        return _text(cell)
    text = next((part.text or "" for part in cell if local(part.tag) == "v"), "")
    if kind == "s":
        number = _whole(text)
        return book.strings[number] if text and number < len(book.strings) else ""
    if kind == "b":
        return "true" if text in _YES else "false"
    if kind != "n" or not text:
        return clean(text)
    style = _whole(value(cell, "s"))
    code = book.formats[style] if style < len(book.formats) else ""
    try:
        return clean(number_format.shown(float(text), code, from_1904=book.from_1904))
    except (ValueError, ArithmeticError):
        return clean(text)


def _lined_up(rows: list[dict[int, str]]) -> Iterator[list[str]]:
    """The rows from the first column that is used."""
    first = min((min(row) for row in rows), default=0)
    for row in rows:
        yield [row.get(at, "") for at in range(first, max(row) + 1)]


def _elements(xml: bytes, *names: str) -> Iterator[etree._Element]:
    events = etree.iterparse(
        io.BytesIO(xml),
        tag=[f"{{*}}{name}" for name in names],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    for number, (_, element) in enumerate(events):
        if not number:
            refuse_document_type(element, _NOUN)
        yield element


def _number(letters: str) -> int:
    """The column that these letters name, from 0."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0
