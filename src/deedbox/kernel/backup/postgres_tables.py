"""The tables of a PostgreSQL database."""

import contextlib
import graphlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import psycopg
from psycopg import sql

from deedbox.kernel.backup.archive import Kind, Stopped, damage_error
from deedbox.kernel.backup.tables import CARRIED, MADE_AGAIN, TableShape, kind_of
from deedbox.kernel.db import Dialect, Row, postgres
from deedbox.kernel.db.migrate import RESTORING
from deedbox.kernel.errors import SetupError

Connection: TypeAlias = psycopg.Connection[Row]

_KINDS: dict[str, Kind] = {"text": "text", "int8": "int", "float8": "real", "bytea": "bytes"}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_COLUMNS = """
select relname, attname, typname from pg_class join pg_attribute on attrelid = pg_class.oid
join pg_type on pg_type.oid = atttypid
where relnamespace = current_schema()::regnamespace and relkind = 'r'
  and attnum > 0 and not attisdropped and attgenerated = ''
order by relname, attnum
"""
_KEYS = """
select relname, attname from pg_index join pg_class on pg_class.oid = indrelid
join pg_attribute on attrelid = indrelid and attnum = any(indkey)
where relnamespace = current_schema()::regnamespace and indisprimary
order by relname, array_position(indkey::int2[], attnum)
"""
_COUNTERS = """
select relname, attname from pg_class join pg_attribute on attrelid = pg_class.oid
where relnamespace = current_schema()::regnamespace and relkind = 'r' and attidentity <> ''
"""
_REFERENCES = """
select child.relname, parent.relname
from pg_constraint join pg_class child on child.oid = conrelid join pg_class parent on parent.oid = confrelid
where contype = 'f' and connamespace = current_schema()::regnamespace and conrelid <> confrelid
"""
_NOT_CARRIED = {"alembic_version", RESTORING, *MADE_AGAIN}


class PostgresTables:
    dialect: Dialect = "postgres"

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def schema(self) -> str | None:
        there = self.connection.execute("select to_regclass('alembic_version')").fetchone()
        if not there or there[0] is None:
            return None
        row = self.connection.execute("select version_num from alembic_version").fetchone()
        return str(row[0]) if row else None

    def shapes(self) -> dict[str, TableShape]:
        columns: dict[str, dict[str, Kind]] = {}
        for table, column, kind in self.connection.execute(_COLUMNS).fetchall():
            if table not in _NOT_CARRIED:
                columns.setdefault(table, {})[column] = kind_of(table, column, kind, _KINDS)
        keys: dict[str, list[str]] = {}
        for table, column in self.connection.execute(_KEYS).fetchall():
            keys.setdefault(table, []).append(column)
        parents: dict[str, set[str]] = {table: set() for table in columns}
        for child, parent in self.connection.execute(_REFERENCES).fetchall():
            if child in parents and parent in parents:
                parents[child].add(parent)
        order = graphlib.TopologicalSorter(parents).static_order()
        return {table: TableShape(columns[table], tuple(keys.get(table, columns[table]))) for table in order}

    def count(self, table: str) -> int:
        query = sql.SQL("select count(*) from {} where {}").format(sql.Identifier(table), _condition(table))
        return int((self.connection.execute(query).fetchone() or (0,))[0])

    @contextlib.contextmanager
    def rows(self, table: str, shape: TableShape) -> Iterator[Iterator[Row]]:
        query = sql.SQL("copy (select {} from {} where {} order by {}) to stdout (format binary)").format(
            _listed(shape.columns), sql.Identifier(table), _condition(table), _listed(shape.key)
        )
        with self.connection.cursor().copy(query) as copy:
            copy.set_types(_types(shape))
            yield copy.rows()

    def first(self, table: str, columns: Sequence[str], present: str) -> Row | None:
        query = sql.SQL("select {} from {} where {} is not null limit 1").format(
            _listed(columns), sql.Identifier(table), sql.Identifier(present)
        )
        return self.connection.execute(query).fetchone()

    def add(self, table: str, shape: TableShape, rows: list[Row]) -> None:
        query = sql.SQL("copy {} ({}) from stdin (format binary)").format(sql.Identifier(table), _listed(shape.columns))
        try:
            with self.connection.transaction(), self.connection.cursor().copy(query) as copy:
                copy.set_types(_types(shape))
                for row in rows:
                    copy.write_row(row)
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
            raise damage_error(f"PostgreSQL does not take a row of the table {table}: {_first_line(error)}") from error

    def settle(self) -> None:
        """Rows brought their numbers with them: the counters go on behind them. References held from the start."""
        for table, column in self.connection.execute(_COUNTERS).fetchall():
            highest = sql.SQL("select max({}) from {}").format(sql.Identifier(column), sql.Identifier(table))
            row = self.connection.execute(highest).fetchone()
            if row and row[0]:
                self.connection.execute("select setval(pg_get_serial_sequence(%s, %s), %s)", (table, column, row[0]))

    def empty(self, tables: Iterable[str]) -> None:
        """Takes back every row, and those of the indexes made of them."""
        names = sql.SQL(", ").join(map(sql.Identifier, tables))
        self.connection.execute(sql.SQL("truncate table {} cascade").format(names))


@contextlib.contextmanager
def snapshot(url: str) -> Iterator[PostgresTables]:
    with _answered(), postgres.connect(url, autocommit=False) as connection:
        connection.execute("set transaction isolation level repeatable read read only")
        yield PostgresTables(connection)


@contextlib.contextmanager
def fill_tables(url: str) -> Iterator[PostgresTables]:
    """A database into which rows are put: each call of `add` is a transaction."""
    with _answered(), postgres.connect(url) as connection:
        yield PostgresTables(connection)


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise Stopped(f"PostgreSQL has gone away: {_first_line(error)}.") from error
    except psycopg.Error as error:
        raise SetupError(
            f"PostgreSQL refused: {_first_line(error)}.",
            "Check DEEDBOX_DATABASE_URL, that the server runs and has free space.",
        ) from error


def _first_line(error: psycopg.Error) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _condition(table: str) -> sql.Composable:
    return sql.SQL(CARRIED.get(table, "true"))


def _listed(names: Iterable[str]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _types(shape: TableShape) -> list[str]:
    return [_NAMES[kind] for kind in shape.columns.values()]
