"""Which text of an OpenDocument file is hidden: by its style, a hidden section or field, or a hidden row or column."""

from collections.abc import Iterator

from lxml import etree

from deedbox.search.extract.word_xml import local, value
from deedbox.search.limits import WORD_STYLE_CHAIN

_MARKS = (b'display="none"', b'visibility="', b'is-hidden="')
_FAMILIES = {"p": "paragraph", "h": "paragraph", "span": "text", "table-cell": "table-cell"}
_AWAY = ("collapse", "filter")
_COLUMNS = 16_384


class HiddenStyles:
    """The styles of a file that say whether text is displayed."""

    def __init__(self, *roots: etree._Element | None) -> None:
        self._own: dict[tuple[str, str], bool | None] = {}
        self._parents: dict[tuple[str, str], str] = {}
        for root in roots:
            for style in root.iter("{*}style", "{*}default-style") if root is not None else ():
                key = (value(style, "family") or "", value(style, "name") or "")
                self._own[key] = _display(style)
                self._parents[key] = value(style, "parent-style-name") or ""

    def hides(self, element: etree._Element, around: bool) -> bool:
        """Whether the text directly in the element is hidden; `around` says it of what the element is in."""
        name = local(element.tag)
        if value(element, "is-hidden") == "true" or (name == "section" and value(element, "display") == "none"):
            return True
        if name not in _FAMILIES:
            return around
        said = self._of(_FAMILIES[name], value(element, "style-name") or "")
        return around if said is None else said

    def _of(self, family: str, name: str) -> bool | None:
        for _ in range(WORD_STYLE_CHAIN):
            said = self._own.get((family, name))
            if said is not None or not name:
                return said
            name = self._parents.get((family, name), "")
        return None


def _display(style: etree._Element) -> bool | None:
    said = [value(part, "display") for part in style if local(part.tag) == "text-properties"]
    return next((each == "none" for each in said if each), None)


def hides(part: bytes) -> bool:
    """Whether the part may hide anything."""
    return any(mark in part for mark in _MARKS)


def take_out(content: etree._Element, styles: HiddenStyles) -> int:
    """Remove the hidden rows, columns and texts of a workbook; return how many characters they had."""
    count = 0
    for table in content.iter("{*}table"):
        columns = _hidden_columns(table)
        for row in list(_of_table(table, "table-row")):
            if value(row, "visibility") in _AWAY:
                count += _remove(row, _repeated(row, "number-rows-repeated"))
            elif columns:
                count += _take_cells(row, columns)
        for column in list(_of_table(table, "table-column")):
            if value(column, "visibility") in _AWAY:
                _remove(column)
    return count + take_out_text(content, styles)


def take_out_text(element: etree._Element, styles: HiddenStyles, around: bool = False) -> int:
    """Remove hidden text from the element; return how many characters that were. No element lies too deep for this."""
    hidden, count = styles.hides(element, around), 0
    if hidden:
        count, element.text = len(element.text or ""), None
    for part in element:
        count += take_out_text(part, styles, hidden)
        if hidden:
            count += len(part.tail or "")
            part.tail = None
    if count and local(element.tag) == "table-cell":
        for name in [key for key in element.attrib if local(key) == "string-value"]:
            del element.attrib[name]
    return count


def _of_table(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    """Rows or columns of the table itself, also in groups and headers, and none of a table in its cells."""
    for element in parent:
        if local(element.tag) == name:
            yield element
        elif local(element.tag).startswith((f"{name}-", f"{name}s", "table-header-")):
            yield from _of_table(element, name)


def _hidden_columns(table: etree._Element) -> set[int]:
    found, at = set[int](), 0
    for column in _of_table(table, "table-column"):
        end = at + _repeated(column, "number-columns-repeated")
        if value(column, "visibility") in _AWAY:
            found.update(range(at, min(end, _COLUMNS)))
        at = end
    return found


def _take_cells(row: etree._Element, columns: set[int]) -> int:
    count, at = 0, 0
    for cell in list(row):
        if local(cell.tag) not in ("table-cell", "covered-table-cell"):
            continue
        repeated = _repeated(cell, "number-columns-repeated")
        hidden = sum(column in columns for column in range(at, min(at + repeated, _COLUMNS)))
        at += repeated
        if hidden == repeated:
            count += _remove(cell, repeated)
        elif hidden:
            count += hidden * _length(cell)
            name = next(key for key in cell.attrib if local(key) == "number-columns-repeated")
            cell.set(name, str(repeated - hidden))
    return count


def _remove(element: etree._Element, times: int = 1) -> int:
    count, parent = _length(element) * times, element.getparent()
    if parent is not None:
        parent.remove(element)
    return count


def _length(element: etree._Element) -> int:
    """Characters of the cells in it, as often as they are repeated."""
    texts = sum(len("".join(str(text) for text in one.itertext())) for one in element.iter("{*}p"))
    if local(element.tag) != "table-row":
        return texts
    return sum(_length(cell) * _repeated(cell, "number-columns-repeated") for cell in element)


def _repeated(element: etree._Element, name: str) -> int:
    """How often the row or cell is repeated."""
    text = value(element, name) or ""
    return max(1, min(int(text), _COLUMNS)) if text.isascii() and text.isdigit() and len(text) < 8 else 1
