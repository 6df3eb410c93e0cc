"""The tables of a PostgreSQL database as files, and back: every one of them from a single moment."""

import contextlib
import graphlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

import psycopg
from psycopg import sql

from deedbox.kernel import limits
from deedbox.kernel.backup.archive import Manifest, damaged
from deedbox.kernel.db import Row, migrate
from deedbox.kernel.errors import SetupError

Connection: TypeAlias = psycopg.Connection[Row]

_TABLES = """
select relname, array_agg(attname::text order by attnum)
from pg_class join pg_attribute on attrelid = pg_class.oid
where relnamespace = current_schema()::regnamespace and relkind = 'r'
  and attnum > 0 and not attisdropped and attgenerated = '' and relname <> 'alembic_version'
group by relname order by relname
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


@contextlib.contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection in one transaction: kept if all goes well, rolled back if not."""
    try:
        with psycopg.connect(url, connect_timeout=limits.POSTGRES_CONNECT_SECONDS) as connection:
            yield connection
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SetupError(
            f"PostgreSQL refused: {reason}.", "Check DEEDBOX_DATABASE_URL, that the server runs and has free space."
        ) from error


def tables(connection: Connection) -> dict[str, list[str]]:
    """The columns of every table, but for the one that tells the schema."""
    return {str(name): columns for name, columns in connection.execute(_TABLES).fetchall()}


def schema(connection: Connection) -> str:
    row = connection.execute("select version_num from alembic_version").fetchone()
    if row is None:
        raise SetupError("The database has no schema.", "Start `deedbox serve` once, then back up.")
    return str(row[0])


def unload(connection: Connection, query: sql.Composable, out: BinaryIO) -> tuple[str, int]:
    """Copies rows as text into out; their hash and size."""
    digest, size = hashlib.sha256(), 0
    with connection.cursor().copy(sql.SQL("copy {} to stdout").format(query)) as rows:
        for chunk in rows:
            digest.update(chunk)
            size += out.write(chunk)
    out.seek(0)
    return digest.hexdigest(), size


def named(table: str, columns: list[str]) -> sql.Composable:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("{} ({})").format(sql.Identifier(table), names)


def refuse_used(url: str) -> None:
    """Raises unless the database is empty, or has our tables and no rows."""
    with connected(url) as connection:
        _refuse_rows(connection, list(tables(connection)))


def load(connection: Connection, manifest: Manifest, folder: Path) -> None:
    """Fills the empty tables of a database at the newest schema, parents before children."""
    present = tables(connection)
    unknown = [name for name, columns in manifest.tables.items() if not set(columns) <= set(present.get(name, []))]
    if unknown:
        raise damaged(f"it has a table that this version does not know: {unknown[0]!r}")
    everything = sql.SQL(", ").join(map(sql.Identifier, present))
    connection.execute(sql.SQL("lock table {} in share row exclusive mode").format(everything))
    _refuse_rows(connection, list(present))
    for table in _parents_first(connection, present):
        if table in manifest.tables:
            _load_table(connection, named(table, manifest.tables[table]), folder / f"{table}.copy")
    _go_on_counting(connection)


def _go_on_counting(connection: Connection) -> None:
    """Copied rows brought their numbers with them: the counters go on behind them."""
    for table, column in connection.execute(_COUNTERS).fetchall():
        highest = sql.SQL("select max({}) from {}").format(sql.Identifier(column), sql.Identifier(table))
        row = connection.execute(highest).fetchone()
        if row and row[0]:
            connection.execute("select setval(pg_get_serial_sequence(%s, %s), %s)", (table, column, row[0]))


def prepare(url: str, wanted: str) -> None:
    """Brings an empty database to the schema of the backup, which must be the newest."""
    if wanted != migrate.newest_schema():
        raise SetupError(
            f"The backup has schema {wanted}, this version of Deedbox has {migrate.newest_schema()}.",
            "On PostgreSQL, restore with the version that made the backup, then upgrade.",
        )
    migrate.migrate_postgres(url)


def _load_table(connection: Connection, table: sql.Composable, path: Path) -> None:
    with open(path, "rb") as rows, connection.cursor().copy(sql.SQL("copy {} from stdin").format(table)) as copy:
        while chunk := rows.read(limits.BLOB_CHUNK_BYTES):
            copy.write(chunk)


def _refuse_rows(connection: Connection, names: list[str]) -> None:
    for name in names:
        query = sql.SQL("select 1 from {} limit 1").format(sql.Identifier(name))
        if connection.execute(query).fetchone():
            raise SetupError(
                f"The database is not empty: the table {name} has rows.",
                "Nothing was restored. Create a new, empty database and restore into that.",
            )


def _parents_first(connection: Connection, names: dict[str, list[str]]) -> list[str]:
    graph: dict[str, set[str]] = {name: set() for name in names}
    for child, parent in connection.execute(_REFERENCES).fetchall():
        graph[child].add(parent)
    return list(graphlib.TopologicalSorter(graph).static_order())
