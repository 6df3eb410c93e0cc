"""A row as the mapping of its columns."""

from collections.abc import Mapping

from deedbox.kernel.db import Tx, Value


def insert(tx: Tx, table: str, row: Mapping[str, Value]) -> None:
    """Adds the row; names of table and columns are the code's own."""
    names = ", ".join(row)
    tx.run(f"insert into {table} ({names}) values ({', '.join(f':{name}' for name in row)})", **row)  # noqa: S608
