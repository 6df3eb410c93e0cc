"""A row as the mapping of its columns."""

from collections.abc import Mapping, Sequence

from deedbox.kernel.db import Tx, Value


def insert(tx: Tx, table: str, row: Mapping[str, Value]) -> None:
    """Adds the row; names of table and columns are the code's own."""
    tx.run(_statement(table, row), **row)


def insert_all(tx: Tx, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
    """Adds the rows, which have the same columns, by one statement."""
    if len(rows) == 1:
        insert(tx, table, rows[0])
    elif rows:
        tx.many(_statement(table, rows[0]), list(rows))


def _statement(table: str, row: Mapping[str, Value]) -> str:
    names = ", ".join(row)
    return f"insert into {table} ({names}) values ({', '.join(f':{name}' for name in row)})"  # noqa: S608
