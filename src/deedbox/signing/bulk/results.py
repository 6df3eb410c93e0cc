"""Rows as CSV: what became of each, and those that cannot be sent."""

import csv
import io
import re
from collections.abc import AsyncIterator, Iterator, Sequence

from deedbox.kernel import limits
from deedbox.kernel.db import Database
from deedbox.signing.bulk import store, uploads
from deedbox.signing.bulk.model import Flaw, Row, RowStatus

KIND = "text/csv; charset=utf-8"
_COLUMNS = Row.__struct_fields__
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-][\d\s().,/-]+")
"""What begins like a formula and is none: an amount, or the number of a telephone."""
ADDED = ("line", "problem")
"""The headings before those of the file, in a file of rows that cannot be sent."""


async def written(
    db: Database, bulk_send_id: str, status: RowStatus | None = None, after: int = -1
) -> AsyncIterator[bytes]:
    """All rows behind that of this number, some at a time; cells that a spreadsheet would compute begin with an
    apostrophe."""
    yield _lines([_COLUMNS])
    while True:
        last = after
        rows = await db.read(lambda tx, last=last: store.rows(tx, bulk_send_id, status, last, limits.LIST_BATCH))  # type: ignore[misc]
        if not rows:
            return
        yield _lines([[_harmless(getattr(row, name)) for name in _COLUMNS] for row in rows])
        after = rows[-1].index


def bad_rows(content: bytes, flaws: Sequence[Flaw]) -> Iterator[bytes]:
    """The file's lines that cannot be sent, as they are, behind their numbers and reasons: to be corrected there, and
    chosen again."""
    yield "\ufeff".encode()  # by which spreadsheets know UTF-8
    yield _lines([[*ADDED, *uploads.head_of(content).headings]])
    for row in uploads.bad_rows(content, flaws):
        yield _lines(
            [[row.line, row.reasons, *(one if _NUMBER.fullmatch(one) else _harmless(one) for one in row.cells)]]
        )


def _lines(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _harmless(cell: object) -> object:
    """The cell; one that a spreadsheet would compute is marked as text."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
