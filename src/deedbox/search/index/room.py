"""Columns that grow at their ends. What is added is written behind what searches see: a change costs what it adds, and
leaves no copies of the rest behind."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deedbox.search import limits

Column: TypeAlias = NDArray[Any]


class GrowingColumns:
    """Columns of one length, with room behind them."""

    def __init__(self, columns: Sequence[Column] = (), size: int = 0) -> None:
        self._used = len(columns[0]) if columns else 0
        self._wholes = [np.empty((size, *column.shape[1:]), column.dtype) for column in columns]
        for whole, column in zip(self._wholes, columns, strict=True):
            whole[: self._used] = column

    def extended(self, columns: Sequence[Column], added: Sequence[Column]) -> "tuple[list[Column], GrowingColumns]":
        """The columns with the added rows, and where they can grow further: here, if they are the last that this room
        gave and there is enough of it."""
        total = len(columns[0]) + len(added[0])
        room = self if self._ends(columns) and total <= len(self._wholes[0]) else GrowingColumns(columns, _roomy(total))
        return room._filled(added), room

    def _ends(self, columns: Sequence[Column]) -> bool:
        """Whether these columns are all that has been written here."""
        if len(columns) != len(self._wholes) or len(columns[0]) != self._used:
            return False
        return all(column.base is whole for column, whole in zip(columns, self._wholes, strict=True))

    def _filled(self, added: Sequence[Column]) -> list[Column]:
        begin, self._used = self._used, self._used + len(added[0])
        for whole, column in zip(self._wholes, added, strict=True):
            whole[begin : self._used] = column
        return [whole[: self._used] for whole in self._wholes]


def _roomy(rows: int) -> int:
    """For how many rows there shall be room. Memory that nothing was written to is not taken."""
    return rows + max(limits.INDEX_ROOM_ROWS, rows // limits.INDEX_ROOM_SHARE)
