"""The tables of a SQLite file."""

import contextlib
import graphlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from deedbox.kernel.backup.archive import Kind, damage_error
from deedbox.kernel.backup.tables import CARRIED, MADE_AGAIN, TableShape, kind_of
from deedbox.kernel.db import Dialect, Row, sqlite
from deedbox.kernel.errors import SetupError

_KINDS: dict[str, Kind] = {"TEXT": "text", "INTEGER": "int", "REAL": "real", "BLOB": "bytes"}
_TABLES = """
select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\'
  and name <> 'alembic_version' order by name
"""


class SqliteTables:
    dialect: Dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def schema(self) -> str | None:
        there = self._connection.execute("select 1 from sqlite_master where name = 'alembic_version'").fetchone()
        row = self._connection.execute("select version_num from alembic_version").fetchone() if there else None
        return str(row[0]) if row else None

    def shapes(self) -> dict[str, TableShape]:
        names = [name for (name,) in self._connection.execute(_TABLES) if name not in MADE_AGAIN]
        parents = {name: self._parents(name) & set(names) - {name} for name in names}
        return {name: self._shape(name) for name in graphlib.TopologicalSorter(parents).static_order()}

    def count(self, table: str) -> int:
        query = f'select count(*) from "{table}" where {_condition(table)}'  # noqa: S608 (ours)
        return int(self._connection.execute(query).fetchone()[0])

    @contextlib.contextmanager
    def rows(self, table: str, shape: TableShape) -> Iterator[Iterator[Row]]:
        columns, order = _listed(shape.columns), _listed(shape.key)
        query = f'select {columns} from "{table}" where {_condition(table)} order by {order}'  # noqa: S608 (ours)
        with contextlib.closing(self._connection.execute(query)) as found:
            yield found

    def first(self, table: str, columns: Sequence[str], present: str) -> Row | None:
        query = f'select {_listed(columns)} from "{table}" where "{present}" is not null limit 1'  # noqa: S608 (ours)
        row: Row | None = self._connection.execute(query).fetchone()
        return row

    def add(self, table: str, shape: TableShape, rows: list[Row]) -> None:
        columns, places = _listed(shape.columns), ", ".join("?" * len(shape.columns))
        try:
            with self._connection:
                self._connection.execute("begin")
                self._connection.executemany(f'insert into "{table}" ({columns}) values ({places})', rows)  # noqa: S608 (ours)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError) as error:
            raise damage_error(f"a row of the table {table} does not fit: {error}") from error

    def settle(self) -> None:
        if broken := self._connection.execute("pragma foreign_key_check").fetchone():
            raise damage_error(f"a row of the table {broken[0]} refers to none of {broken[2]}")

    def _shape(self, table: str) -> TableShape:
        found = self._connection.execute(f'pragma table_info("{table}")').fetchall()
        columns = {name: kind_of(table, name, kind, _KINDS) for _, name, kind, *_ in found}
        key = [name for place, name in sorted((row[5], row[1]) for row in found) if place]
        return TableShape(columns, tuple(key or columns))

    def _parents(self, table: str) -> set[str]:
        return {row[2] for row in self._connection.execute(f'pragma foreign_key_list("{table}")')}


@contextlib.contextmanager
def snapshot(database: Path) -> Iterator[SqliteTables]:
    """One read transaction: writers go on, a reader of a WAL never blocks them."""
    if not database.exists():
        raise SetupError(f"There is no database at {database}.", "Check the data folder.")
    try:
        with contextlib.closing(sqlite.connect(database, writable=False)) as connection:
            connection.execute("begin")
            connection.execute("select 1 from sqlite_master").fetchone()
            yield SqliteTables(connection)
    except sqlite3.Error as error:
        raise SetupError(
            f"The database {database} cannot be read: {error}.", "Run `deedbox doctor` to find the cause."
        ) from error


@contextlib.contextmanager
def fill_tables(database: Path) -> Iterator[SqliteTables]:
    """A file that nobody else uses yet, to be filled in any order."""
    try:
        with contextlib.closing(sqlite.connect(database, writable=True)) as connection:
            connection.execute("pragma foreign_keys = off")
            # Behind a power cut the last rows may be missing, never the middle of a row: a restore goes on from there.
            connection.execute("pragma synchronous = normal")
            yield SqliteTables(connection)
            connection.execute("pragma wal_checkpoint(truncate)")
    except sqlite3.DatabaseError as error:
        raise SetupError(
            f"The database could not be filled: {error}.", "Nothing was restored. Check the free space."
        ) from error


def _condition(table: str) -> str:
    return CARRIED.get(table, "true")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
