"""Tables that a page draws with rules, each row on a line with the names of its columns, amid the other text."""

import ctypes
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.search.extract.pdf_grids import Grid, GridCell, grids_of
from deedbox.search.extract.pdf_order import in_reading_order, runs_right_to_left
from deedbox.search.extract.pdf_rules import Spent, Steps, move_point, rules_of, turn
from deedbox.search.extract.table import column_names, is_number, line

_SPACES = "\n\r "
_WORD = re.compile(f"[^{_SPACES}]+[{_SPACES}]*")
_SAME = 2.0
"""Points by which words of one line may stand apart, up or down, and edges of one column aside."""
_UNRULED = 3
"""So many lines side by side in every cell of a row are rows that no rules part."""
_SQUARES = 0.9
"""If so large a part of the cells has one letter each, they are the squares of a form."""
_TOLD_BY_NUMBER = 3
"""From so many columns on, a first row like the others is taken for their names."""
_FONT_BYTES = 128
Look: TypeAlias = tuple[bytes, float, int, tuple[int, int, int]]
Row: TypeAlias = list[str]


class _Word(NamedTuple):
    at: int
    """Its first letter among those of the page."""
    text: str
    """With the spaces and the end of the line after it."""
    height: float
    """Above the lower edge of the page."""


class _Place(NamedTuple):
    table: int
    cell: GridCell


class _Before(NamedTuple):
    """The last table of the page before: one that goes on does not say its names again."""

    columns: list[float]
    names: list[str]


_NONE = _Before([], [])


class PdfTables:
    """Finds the tables of one document, page by page."""

    def __init__(self) -> None:
        self._steps = Steps()
        self._before = _NONE

    def text(self, page: pdfium.PdfPage, shown: pdfium.PdfTextPage) -> str | None:
        """The text of the page with its tables as rows; None if it has none, or the document has used up its steps."""
        before, self._before = self._before, _NONE
        try:
            grids = grids_of(rules_of(page, self._steps), self._steps)
            self._steps.take(raw.FPDFText_CountChars(shown) * len(grids))
        except Spent:
            return None
        return self._told(_Page(page, shown, grids), before) if grids else None

    def _told(self, page: "_Page", before: _Before) -> str | None:
        tables = page.tables()
        if not tables:
            return None
        told: set[int] = set()
        pieces: list[str] = []
        for number, words in page.runs(tables):
            if number is None:
                pieces.append(page.tell(words).strip(_SPACES))
            elif number not in told:
                told.add(number)
                rows, before = tables[number].lines(before)
                pieces += rows
        self._before = before
        return "\n".join(filter(None, pieces))


class _Page:
    """The words of a page, and the cells in which they stand."""

    def __init__(self, page: pdfium.PdfPage, shown: pdfium.PdfTextPage, grids: Sequence[Grid]) -> None:
        self.words: list[_Word] = []
        self._places: list[_Place | None] = []
        self._shown = shown
        self._handle = shown.raw
        self._turn = turn(page)
        self._grids = grids
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        text = self._text()
        self.from_right = runs_right_to_left(text)
        for word in _WORD.finditer(text):
            self._add(word.start(), word[0])

    def _text(self) -> str:
        """A letter for each that PDFium counts, so that their places are known."""
        count = raw.FPDFText_CountChars(self._handle)
        text = self._shown.get_text_range(0, count) if count else ""
        if len(text) == count:
            return text
        codes = (raw.FPDFText_GetUnicode(self._handle, at) for at in range(count))
        return "".join(chr(code) if 0 < code <= 0x10FFFF else "\x00" for code in codes)

    def _add(self, at: int, text: str) -> None:
        """A word, in pieces if it does not end where it begins: what stands in cells may have no space between."""
        last = len(text.rstrip(_SPACES)) - 1
        place, height = self._place(at)
        if last > 0 and self._place(at + last)[0] != place:
            for step, letter in enumerate(text[:last]):
                self._put(_Word(at + step, letter, height), place)
                place, height = self._place(at + step + 1)
            at, text = at + last, text[last:]
        self._put(_Word(at, text, height), place)

    def _put(self, word: _Word, place: _Place | None) -> None:
        self.words.append(word)
        self._places.append(place)

    def _place(self, at: int) -> tuple[_Place | None, float]:
        raw.FPDFText_GetCharOrigin(self._handle, at, self._x, self._y)
        left, height = move_point(self._x.value, self._y.value, self._turn)
        for number, grid in enumerate(self._grids):
            if (cell := grid.cell(left, height)) is not None:
                return _Place(number, cell), height
        return None, height

    def tables(self) -> "dict[int, _Table]":
        """Each by its number; a grid that holds none has no number."""
        cells: list[dict[GridCell, list[_Word]]] = [{} for _ in self._grids]
        for word, place in zip(self.words, self._places, strict=True):
            if place:
                cells[place.table].setdefault(place.cell, []).append(word)
        made = (_Table(self, grid, words) for grid, words in zip(self._grids, cells, strict=True))
        return {number: table for number, table in enumerate(made) if table.is_one}

    def runs(self, tables: Container[int]) -> Iterator[tuple[int | None, list[_Word]]]:
        """The words, as long as they stand in the same table, or in none."""
        numbers = [place.table if place and place.table in tables else None for place in self._places]
        for number, run in groupby(zip(numbers, self.words, strict=True), itemgetter(0)):
            yield number, [word for _, word in run]

    def tell(self, words: Sequence[_Word]) -> str:
        if self.from_right:
            return in_reading_order(
                self._handle, [at for word in words for at in range(word.at, word.at + len(word.text))]
            )
        return "".join(word.text for word in words)

    def look(self, at: int) -> Look:
        """The font, size, weight and colour of a letter."""
        name, flags = ctypes.create_string_buffer(_FONT_BYTES), ctypes.c_int()
        raw.FPDFText_GetFontInfo(self._handle, at, name, _FONT_BYTES, flags)
        red, green, blue, clear = (ctypes.c_uint() for _ in range(4))
        raw.FPDFText_GetFillColor(self._handle, at, red, green, blue, clear)
        size, weight = raw.FPDFText_GetFontSize(self._handle, at), raw.FPDFText_GetFontWeight(self._handle, at)
        return name.value, round(size, 1), weight, (red.value, green.value, blue.value)


class _Table:
    def __init__(self, page: _Page, grid: Grid, words: Mapping[GridCell, list[_Word]]) -> None:
        self._page = page
        self._grid = grid
        self._words = words
        self._texts = {cell: text for cell, within in words.items() if (text := self._text(within))}

    def _text(self, words: Sequence[_Word]) -> str:
        return " ".join(self._page.tell(words).split())

    @property
    def is_one(self) -> bool:
        """Whether words stand in rows and columns: frames about parts of a page, and squares of a form, are none."""
        if len({cell.row for cell in self._texts}) < 2 or len(self._columns) < 2:
            return False
        plain = sum(self._grid.size(cell) == 1 for cell in self._texts)
        single = sum(len(text) == 1 for text in self._texts.values())
        return plain * 2 >= len(self._texts) and single < _SQUARES * len(self._texts)

    @cached_property
    def _columns(self) -> list[int]:
        """The columns that have words, in the order in which they are read."""
        return sorted({cell.column for cell in self._texts}, reverse=self._page.from_right)

    def lines(self, before: _Before) -> tuple[list[str], _Before]:
        """A line for each row, and the table for the next page, where it may go on."""
        rows = list(self._rows())
        full = [row for row in rows if len(row) > 1]
        edges = [self._grid.columns[column] for column in self._columns]
        goes_on = len(edges) == len(before.columns) and all(
            abs(one - other) < _SAME for one, other in zip(edges, before.columns, strict=True)
        )
        names = self._names(full, before.names if goes_on else [])
        head = full[0] if names == full[0] else None
        return [_line(row, [] if row is head or len(row) == 1 else names) for row in rows], _Before(edges, names)

    def _rows(self) -> Iterator[Row]:
        """The rows that have words; one that a single cell fills is that cell."""
        for row in range(self._grid.row_count):
            cells = [GridCell(row, column) for column in self._columns]
            if not any(cell in self._texts for cell in cells):
                continue
            if GridCell(row, 0) in self._texts and self._grid.fills_row(GridCell(row, 0)):
                yield [self._texts[GridCell(row, 0)]]
            elif side_by_side := self._unruled(cells):
                yield from (list(map(self._text, lines)) for lines in side_by_side)
            else:
                yield [self._texts.get(cell, "") for cell in cells]

    def _unruled(self, cells: Sequence[GridCell]) -> list[tuple[list[_Word], ...]]:
        """The lines side by side in the cells of a row, if they are rows that no rules part."""
        if any(len(self._words.get(cell, [])) < _UNRULED for cell in cells):
            return []
        lines = [list(_lines(self._words[cell])) for cell in cells]
        if len(lines[0]) < _UNRULED or any(len(others) != len(lines[0]) for others in lines):
            return []
        rows = list(zip(*lines, strict=True))
        level = all(abs(line[0].height - row[0][0].height) < _SAME for row in rows for line in row)
        return rows if level else []

    def _names(self, rows: Sequence[Row], before: list[str]) -> list[str]:
        """The names of the columns: the first row if it looks unlike the second, or what the page before has."""
        own = column_names(list(rows[:2]))
        first, second = self._looks()
        both = [column for column in first if column in second]
        if own and both and all(first[column] != second[column] for column in both):
            return own
        if before:
            return before
        if not own or (first == second and len(set(first.values())) > 1):
            return []  # the first column is the one that has the names
        figures = any(
            all(is_number(row[at]) for row in rows[1:] if row[at]) and any(row[at] for row in rows[1:])
            for at in range(len(own))
        )
        return own if figures or len(own) >= _TOLD_BY_NUMBER else []

    def _looks(self) -> list[dict[int, Look]]:
        """Of the first letters in the first two rows that one cell does not fill."""
        rows = sorted({cell.row for cell in self._texts if not self._grid.fills_row(cell)})[:2]
        looks: list[dict[int, Look]] = [
            {cell.column: self._look(cell) for cell in sorted(self._texts) if cell.row == row} for row in rows
        ]
        return [*looks, {}, {}][:2]

    def _look(self, cell: GridCell) -> Look:
        return self._page.look(self._words[cell][0].at)


def _lines(words: Sequence[_Word]) -> Iterator[list[_Word]]:
    """The words of a cell line by line."""
    line: list[_Word] = []
    for word in words:
        if line and abs(word.height - line[-1].height) > _SAME:
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _line(row: Row, names: list[str]) -> str:
    last = max(at for at, value in enumerate(row) if value)
    return line(row[: last + 1], names)
