"""The rows of a table as lines. Pages put signs of currency and closing brackets into cells of their own, and leave
columns empty, so that figures stand below each other; a reader sees none of that."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from deedbox.search.limits import HTML_COLUMNS


class HtmlCell(NamedTuple):
    text: str
    width: int
    """In columns."""


Row: TypeAlias = dict[int, HtmlCell]
"""The cells that have text, by the column where they begin."""
_BEFORE = {"$", "US$", "£", "(", "$("}
"""What belongs to the figure in the next cell."""
_AFTER = {")", "%", ")%"}
"""What belongs to the figure in the cell before."""
_BEGINS_FIGURE = tuple("0123456789.,(-–—")
_ENDS_FIGURE = tuple("0123456789.,)-–—")


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each row; a column that is empty in all of them is none."""
    joined = [_joined(row) for row in rows]
    narrow = sorted({column for row in joined for column, cell in row.items() if cell.width == 1})
    placed = [{_place(column, cell.width, narrow): cell.text for column, cell in row.items()} for row in joined]
    columns = sorted({column for row in placed for column in row})
    for row in placed:
        if len(columns) > HTML_COLUMNS:
            yield " | ".join(row.values())
        else:
            last = max(row)
            yield " | ".join(row.get(column, "") for column in columns if column <= last).strip()


def _place(column: int, width: int, narrow: Sequence[int]) -> int:
    """The column of a cell; of a wide one, the first below it that has a cell of its own."""
    at = bisect_left(narrow, column)
    return narrow[at] if at < len(narrow) and narrow[at] < column + width else column


def _joined(row: Row) -> Row:
    """The row with signs beside the figures that they belong to."""
    joined: Row = {}
    last = HtmlCell("", 1)
    at = -1
    for column, cell in row.items():
        if cell.text in _AFTER and last.text.endswith(_ENDS_FIGURE):
            last = joined[at] = HtmlCell(last.text + cell.text, 1)
            continue
        if last.text in _BEFORE and cell.text.startswith(_BEGINS_FIGURE):
            last = HtmlCell(joined.pop(at).text + cell.text, 1)
        else:
            last = cell
        joined[column] = last
        at = column
    return joined
