"""The tables of a database, the same on SQLite and on PostgreSQL, for backup and restore."""

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from deedbox.kernel.backup.archive import DATABASE, Kind
from deedbox.kernel.db import Dialect, Row, grams
from deedbox.kernel.errors import SetupError

MADE_AGAIN: frozenset[str] = frozenset(
    {
        "index_snapshots",
        "search_indexes",
        "search_index_uploads",
        "search_index_chunks",
        "search_index_terms",
        "search_index_postings",
        "search_index_words",
        *grams.TABLES,
    }
)
"""Tables that a server fills from the others, or that one kind of database has alone: no backup carries them."""
CARRIED = {
    "blobs": (
        "not exists (select 1 from blob_refs r where r.sha256 = blobs.sha256 and r.owner like 'snapshot:%')"
        " or exists (select 1 from blob_refs r where r.sha256 = blobs.sha256 and r.owner not like 'snapshot:%')"
    ),
    "blob_refs": "owner not like 'snapshot:%'",
}
"""Of these tables a backup carries such rows only: snapshots of indexes are made again, and so are their files."""


class TableShape(msgspec.Struct, frozen=True):
    """The columns of a table, and those by which its rows are ordered."""

    columns: dict[str, Kind]
    key: tuple[str, ...]


class BackupTables(Protocol):
    dialect: Dialect

    def schema(self) -> str | None:
        """The revision of the schema; None if there is none."""

    def shapes(self) -> dict[str, TableShape]:
        """Every table but the one that tells the schema, parents before children."""

    def count(self, table: str) -> int:
        """How many rows `rows` gives."""

    def rows(self, table: str, shape: TableShape) -> AbstractContextManager[Iterator[Row]]:
        """All rows in the order of their key, a few at a time."""

    def first(self, table: str, columns: Sequence[str], present: str) -> Row | None:
        """Return these columns of some row in which `present` is not null; None if there is no such row."""

    def add(self, table: str, shape: TableShape, rows: list[Row]) -> None:
        """The rows are in the table, durably, or none of them."""

    def settle(self) -> None:
        """All rows are there: references are checked, and counters go on behind the highest number."""


@contextlib.contextmanager
def snapshot(data_dir: Path, database_url: str | None) -> Iterator[BackupTables]:
    """The database at one moment, however much is written meanwhile."""
    if is_sqlite(database_url):
        from deedbox.kernel.backup.sqlite_tables import snapshot as of_sqlite

        opened: AbstractContextManager[BackupTables] = of_sqlite(data_dir / DATABASE)
    else:
        # Imported here: with SQLite it is never needed.
        from deedbox.kernel.backup.postgres_tables import snapshot as of_postgres

        opened = of_postgres(str(database_url))
    with opened as tables:
        yield tables


def is_sqlite(database_url: str | None) -> bool:
    return database_url is None or database_url.startswith("sqlite")


def kind_of(table: str, column: str, spelled: str, kinds: dict[str, Kind]) -> Kind:
    """The kind of a column, from the database's own word for it."""
    if spelled not in kinds:
        raise SetupError(
            f"The column {column} of the table {table} is of the kind {spelled!r}, which no backup carries.",
            "The table is not one of Deedbox: put it into another database.",
        )
    return kinds[spelled]
