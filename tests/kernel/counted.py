"""A transaction that remembers its statements."""

from collections.abc import Callable, Mapping

from deedbox.kernel.db import Row, Tx, Value


class Counted:
    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.dialect = tx.dialect
        self.listeners = tx.listeners
        self.statements: list[str] = []
        self.calls = 0
        """How often the database was asked: rows that go together are one call."""

    def one(self, sql: str, /, **values: Value) -> Row | None:
        self.statements.append(sql)
        self.calls += 1
        return self._tx.one(sql, **values)

    def all(self, sql: str, /, **values: Value) -> list[Row]:
        self.statements.append(sql)
        self.calls += 1
        return self._tx.all(sql, **values)

    def all_raw(self, sql: str, /, **values: Value) -> list[Row]:
        self.statements.append(sql)
        self.calls += 1
        return self._tx.all_raw(sql, **values)

    def run(self, sql: str, /, **values: Value) -> int:
        self.statements.append(sql)
        self.calls += 1
        return self._tx.run(sql, **values)

    def many(self, sql: str, rows: list[Mapping[str, Value]], /) -> None:
        self.statements += [sql] * len(rows)
        self.calls += 1
        self._tx.many(sql, rows)

    def later(self, sql: str, /, **values: Value) -> None:
        self.statements.append(sql)
        self._tx.later(sql, **values)

    def on_commit(self, callback: Callable[[], None]) -> None:
        self._tx.on_commit(callback)

    def notify(self, notice: str, about: str) -> None:
        self._tx.notify(notice, about)
