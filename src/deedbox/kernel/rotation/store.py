"""Encrypted values of any table. Names of tables and columns come from code, never from a caller."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Tx, Value


class EncryptedColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of encrypted values, and the place that each is encrypted for, written with the row's key columns."""

    table: str
    key_columns: tuple[str, ...]
    column: str
    place: str


class EncryptedRow(NamedTuple):
    keys: dict[str, Value]
    value: bytes


class EncryptedChange(NamedTuple):
    row: EncryptedRow
    value: bytes


def count_key_use(tx: Tx, column: EncryptedColumn) -> dict[bytes, int]:
    """How many values each key of the ring has encrypted."""
    rows = tx.all(
        f"select substr({column.column}, 2, 4), count(*) from {column.table}"
        f" where {column.column} is not null group by substr({column.column}, 2, 4)"
    )
    return {bytes(row[0]): int(row[1]) for row in rows}


def sample(tx: Tx, column: EncryptedColumn) -> EncryptedRow | None:
    """Any one encrypted value; None if there is none."""
    names = ", ".join(column.key_columns)
    row = tx.one(f"select {names}, {column.column} from {column.table} where {column.column} is not null limit 1")
    return EncryptedRow(dict(zip(column.key_columns, row[:-1], strict=True)), bytes(row[-1])) if row else None


def list_outdated(tx: Tx, column: EncryptedColumn, newest: bytes, after: EncryptedRow | None) -> list[EncryptedRow]:
    """The next rows whose value is not under the newest key, in the order of their keys."""
    names = ", ".join(column.key_columns)
    further = f"and ({names}) > ({', '.join(':' + name for name in column.key_columns)})" if after else ""
    rows = tx.all(
        f"select {names}, {column.column} from {column.table}"
        f" where {column.column} is not null and substr({column.column}, 2, 4) <> :newest_key {further}"
        f" order by {names} limit :most_rows",
        newest_key=newest,
        most_rows=limits.ROTATION_BATCH,
        **(after.keys if after else {}),
    )
    return [EncryptedRow(dict(zip(column.key_columns, row[:-1], strict=True)), bytes(row[-1])) for row in rows]


def replace(tx: Tx, column: EncryptedColumn, changes: Sequence[EncryptedChange]) -> int:
    """The number of values replaced: one that someone else has changed since stays as it is."""
    same_row = " and ".join(f"{name} = :{name}" for name in column.key_columns)
    sql = f"update {column.table} set {column.column} = :new_value where {same_row} and {column.column} = :old_value"
    return sum(tx.run(sql, new_value=change.value, old_value=change.row.value, **change.row.keys) for change in changes)
