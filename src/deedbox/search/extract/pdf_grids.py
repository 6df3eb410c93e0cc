"""The grids that rules make on a page: rows and columns, and which of their cells are one."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from deedbox.search.extract.pdf_rules import TOGETHER, Rule, Rules, Steps

_APART = 2 * TOGETHER


class GridCell(NamedTuple):
    row: int
    column: int


class Grid:
    """Rows from the top, columns from the left, and for each place the first of the places that are one cell."""

    def __init__(self, columns: list[float], rows: list[float], cells: dict[GridCell, GridCell]) -> None:
        self.columns = columns
        self._rows = rows
        """From the bottom, as heights are counted."""
        self.row_count = len(rows) - 1
        self.column_count = len(columns) - 1
        self._cells = cells
        self._sizes = Counter(cells.values())

    @property
    def area(self) -> float:
        return (self.columns[-1] - self.columns[0]) * (self._rows[-1] - self._rows[0])

    def cell(self, x: float, y: float) -> GridCell | None:
        """The cell at this place, None if it lies outside."""
        column, row = bisect_right(self.columns, x) - 1, bisect_right(self._rows, y) - 1
        if not (0 <= column < self.column_count and 0 <= row < self.row_count):
            return None
        return self._cells[GridCell(self.row_count - 1 - row, column)]

    def size(self, cell: GridCell) -> int:
        """The places that the cell takes."""
        return self._sizes[cell]

    def fills_row(self, cell: GridCell) -> bool:
        return all(self._cells[GridCell(cell.row, column)] == cell for column in range(self.column_count))


def grids_of(rules: Rules, steps: Steps) -> list[Grid]:
    """Each grid of two rows and two columns or more, the smallest first."""
    if len(rules.across) < 2 or not rules.down:
        return []
    made = (_grid(part, steps) for part in _parts(rules, steps))
    grids = (grid for grid in made if grid and grid.row_count > 1 and grid.column_count > 1)
    return sorted(grids, key=lambda grid: grid.area)


def _parts(rules: Rules, steps: Steps) -> Iterator[Rules]:
    """The rules that touch one another, directly or by others."""
    across, down = rules
    leads = list(range(len(across) + len(down)))

    def lead(one: int) -> int:
        while leads[one] != one:
            leads[one] = leads[leads[one]]
            one = leads[one]
        return one

    heights = [rule.at for rule in across]
    for number, rule in enumerate(down, len(across)):
        first, last = bisect_left(heights, rule.start - TOGETHER), bisect_right(heights, rule.end + TOGETHER)
        steps.take(last - first)
        for crossing in range(first, last):
            if across[crossing].start - TOGETHER <= rule.at <= across[crossing].end + TOGETHER:
                leads[lead(crossing)] = lead(number)
    parts: dict[int, Rules] = {}
    for number, rule in enumerate((*across, *down)):
        part = parts.setdefault(lead(number), Rules([], []))
        (part.across if number < len(across) else part.down).append(rule)
    return (part for part in parts.values() if len(part.across) > 1 and part.down)


def _grid(part: Rules, steps: Steps) -> Grid | None:
    columns, rows = _places(part.down, part.across), _places(part.across, part.down)
    steps.take(len(columns) * len(rows))
    # A line below words, or through them, ends in the middle of a column and parts nothing.
    rows = _parting(rows, part.across, columns)
    columns = _parting(columns, part.down, rows)
    if len(columns) < 3 or len(rows) < 3:
        return None
    return Grid(columns, rows, _cells(part, columns, rows))


def _places(along: list[Rule], others: list[Rule]) -> list[float]:
    """Where the rules lie; those of the other direction that go on beyond the last end at an edge that none draws."""
    places = sorted({rule.at for rule in along})
    begin, end = min(rule.start for rule in others), max(rule.end for rule in others)
    return [*([begin] if begin < places[0] - _APART else []), *places, *([end] if end > places[-1] + _APART else [])]


def _parting(places: list[float], along: list[Rule], across: list[float]) -> list[float]:
    """The places whose rules part something, and the two at the ends."""
    parting = {rule.at for rule in along if next(_covered(rule, across), None) is not None}
    return [places[0], *(place for place in places[1:-1] if place in parting), places[-1]]


def _covered(rule: Rule, places: list[float]) -> Iterator[int]:
    """The spaces between two places along which the rule runs from end to end."""
    first = bisect_left(places, rule.start - TOGETHER)
    for number in range(first, len(places) - 1):
        if places[number + 1] > rule.end + TOGETHER:
            return
        yield number


def _cells(part: Rules, columns: list[float], rows: list[float]) -> dict[GridCell, GridCell]:
    height = len(rows) - 1
    above = _parted(part.across, rows, columns)
    before = _parted(part.down, columns, rows)
    cells: dict[GridCell, GridCell] = {}
    for row in range(height):
        at = height - 1 - row
        for column in range(len(columns) - 1):
            place = GridCell(row, column)
            if row and (at + 1, column) not in above:
                cells[place] = cells[GridCell(row - 1, column)]
            elif column and (column, at) not in before:
                cells[place] = cells[GridCell(row, column - 1)]
            else:
                cells[place] = place
    return cells


def _parted(rules: Iterable[Rule], along: list[float], across: list[float]) -> set[tuple[int, int]]:
    numbers = {at: number for number, at in enumerate(along)}
    return {(numbers[rule.at], space) for rule in rules if rule.at in numbers for space in _covered(rule, across)}
