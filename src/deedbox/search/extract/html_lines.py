"""Lines of text from the elements of a page, as they begin and end."""

import msgspec
from selectolax.lexbor import LexborNode

from deedbox.search.extract.html_rows import HtmlCell, Row, lines_of
from deedbox.search.extract.numerals import numeral
from deedbox.search.extract.text import TextBuilder
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import HTML_COLSPAN, HTML_NUMBER_DIGITS

_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_LISTS = {"ul", "ol", "dl"}
_ROWS = {"tr", "table", "caption"}
_PARAGRAPHS = {
    "p", "blockquote", "pre", "section", "article", "aside", "main", "header", "footer", "form", "hr",
}  # fmt: skip
_ON_A_LINE = {
    "div", "li", "dt", "dd", "figcaption", "figure", "fieldset", "legend", "summary", "details", "option", "address",
    "body", "center", "br",
}  # fmt: skip
_CELLS = {"td", "th"}
_BLOCKS = _PARAGRAPHS | _LISTS
_BREAKING = _BLOCKS | _HEADINGS | _ON_A_LINE
_KNOWN = _BREAKING | _ROWS | _CELLS | {"img"}
_LAYOUT = "table, h1, h2, h3, h4, h5, h6, ul, ol, form, article, section"
"""Elements in a table that arranges a page rather than data."""
_FORMS = {"a": "lowerAlpha", "A": "upperAlpha", "i": "lowerRoman", "I": "upperRoman"}
"""How lists that say so write their numbers; all others write them in figures."""


class _Numbers(msgspec.Struct):
    """Those of a list: the next one, and how it is written."""

    following: int
    form: str


class Lines:
    """Collects the text between the blocks; `finish` gives it with its headings."""

    def __init__(self) -> None:
        self._draft = TextBuilder()
        self._line: list[str] = []
        self._prefix = ""
        self._gap = ""
        self._heading: str | None = None
        self._preformatted = 0
        self._lists: list[_Numbers | None] = []
        """For each list that is open: its numbers, if it has any."""
        self._tables: list[bool] = []
        """For each table that is open: whether it holds data, so that a row is one line."""
        self._rows: list[Row] = []
        """The rows of the table that is open and holds data; no other is in it."""
        self._row: Row = {}
        self._column: int | None = None
        """Where the cell begins that is open."""
        self._next_column = 0
        """Where the one after it begins."""

    def begin(self, tag: str, node: LexborNode) -> None:
        if tag not in _KNOWN:
            return
        self._break(tag)
        if tag in _HEADINGS:
            self._heading = None if self._in_row else tag
        elif tag in _LISTS:
            self._lists.append(_numbers(node) if tag == "ol" else None)
        elif tag == "li":
            self._prefix = self._mark(node)
        elif tag == "pre":
            self._preformatted += 1
        elif tag == "table":
            self.end_block()
            self._tables.append(not _arranges(node))
        elif tag in _CELLS and self._in_row:
            self._column = self._next_column
            self._next_column += _columns(node)
        elif tag == "img":
            self.say(f" {node.attributes.get('alt') or ''} ")

    def end(self, tag: str) -> None:
        if tag not in _KNOWN:
            return
        self._break(tag)
        if tag in _LISTS:
            self._lists.pop()
            self._break(tag)
        elif tag == "li":
            self._prefix = ""
        elif tag == "pre":
            self._preformatted -= 1
        elif tag == "table":
            self._write_rows()
            self._tables.pop()
            self.end_block()
        elif tag == self._heading:
            self._heading = None

    def say(self, text: str) -> None:
        if not self._preformatted or self._in_row:
            self._line.append(text)
            return
        first, *others = text.split("\n")
        self._line.append(first)
        for line in others:
            self.end_line()
            self._line.append(line)

    def end_block(self) -> None:
        """Leaves an empty line before the next block."""
        self.end_line()
        self._gap = "\n\n"

    def end_line(self) -> None:
        line = "".join(self._line)
        self._line.clear()
        line = line.rstrip() if self._preformatted else " ".join(line.split())
        if line.strip():
            self._put(self._prefix + line)
            self._prefix = ""

    def hide(self, characters: int) -> None:
        self._draft.hide(characters)

    def finish(self) -> Extraction:
        self.end_line()
        return self._draft.finish()

    def _put(self, line: str) -> None:
        if self._draft.length:
            self._draft.add(self._gap)
        if self._heading:
            self._draft.head(line)
        self._draft.add(line)
        self._gap = "\n"

    def _mark(self, item: LexborNode) -> str:
        """What stands before an item of a list: its number, or a dash."""
        numbers = self._lists[-1] if self._lists else None
        if numbers is None:
            return "- "
        number = _whole(item, "value", numbers.following)
        numbers.following = number + 1
        return f"{numeral(number, numbers.form)}. "

    @property
    def _in_row(self) -> bool:
        return bool(self._tables) and self._tables[-1]

    def _break(self, tag: str) -> None:
        """Ends the line or the block where an element begins or ends; inside a row or a heading it only parts words."""
        if self._in_row and (tag in _CELLS or tag in _ROWS):
            self._end_cell()
            if tag in _ROWS:
                self._end_row()
        elif tag in _ROWS or tag in _CELLS:
            self.end_line()
        elif (tag == "br" and self._heading) or self._in_row:
            self._line.append(" " if tag in _BREAKING else "")
        elif tag in _HEADINGS or (tag in _BLOCKS and not self._lists):
            self.end_block()
        elif tag in _BREAKING:
            self.end_line()

    def _end_cell(self) -> None:
        if self._column is None:  # text of the table that is in no cell
            self.end_line()
            return
        if text := " ".join("".join(self._line).split()):
            self._row[self._column] = HtmlCell(text, self._next_column - self._column)
        self._line.clear()
        self._column = None

    def _end_row(self) -> None:
        if self._row:
            self._rows.append(self._row)
        self._row, self._next_column = {}, 0

    def _write_rows(self) -> None:
        for line in lines_of(self._rows):
            self._put(line)
        self._rows = []


def _numbers(node: LexborNode) -> _Numbers:
    return _Numbers(_whole(node, "start", 1), _FORMS.get(node.attributes.get("type") or "", "decimal"))


def _whole(node: LexborNode, name: str, otherwise: int) -> int:
    """The number that an attribute says, if it is one that a page may have."""
    said = node.attributes.get(name) or ""
    return int(said) if said.isascii() and said.isdigit() and len(said) <= HTML_NUMBER_DIGITS else otherwise


def _columns(cell: LexborNode) -> int:
    """How many columns the cell is wide."""
    return min(_whole(cell, "colspan", 1), HTML_COLSPAN) or 1


def _arranges(table: LexborNode) -> bool:
    part = table.child
    while part is not None:
        if part.is_element_node and part.css_first(_LAYOUT) is not None:
            return True
        part = part.next
    return False
