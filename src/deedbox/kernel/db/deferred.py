"""Statements that a transaction puts off, so that those of one text go to the database together."""

from collections.abc import Mapping

from deedbox.kernel.db import Tx, Value


class DeferredWrites:
    """They are run, in the order in which their texts came first, before anything that might ask for their effect."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Mapping[str, Value]]] = {}

    def add(self, sql: str, values: Mapping[str, Value]) -> None:
        self._rows.setdefault(sql, []).append(values)

    def settle(self, tx: Tx) -> None:
        """Runs what was put off: each text once, whatever the number of its rows."""
        if not self._rows:
            return
        rows, self._rows = self._rows, {}
        for sql, values in rows.items():
            if len(values) == 1:
                tx.run(sql, **values[0])
            else:
                tx.many(sql, values)
