"""The database into which a backup is restored: a file in the staging folder, or one of PostgreSQL's."""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from deedbox.kernel.backup import sqlite_tables
from deedbox.kernel.backup.archive import DATABASE
from deedbox.kernel.backup.tables import BackupTables, is_sqlite
from deedbox.kernel.db import migrate
from deedbox.kernel.errors import SetupError

if TYPE_CHECKING:
    from deedbox.kernel.backup.postgres_tables import PostgresTables


class BackupTarget(Protocol):
    ends_with_the_folder: bool
    """Whether all is done when the data folder is in its place."""
    on_this_disk: bool

    def under_way(self) -> bool:
        """Whether this very restore was begun here before."""

    def refuse_used(self, schema: str) -> None:
        """SetupError unless the database is empty, and without a schema or with this one."""

    def begin(self) -> None:
        """From now on no server uses it."""

    def prepare(self, schema: str) -> None:
        """Brings the database to the schema of the backup, unless it has one."""

    def tables(self) -> AbstractContextManager[BackupTables]: ...

    def upgrade(self) -> None:
        """Brings the database to the newest schema."""

    def take_back(self, tables: list[str]) -> None:
        """Removes every row that was put there."""

    def end(self) -> None:
        """From now on it is a database as any other."""


def chosen(database_url: str | None, staging: Path, restore_id: str) -> BackupTarget:
    if is_sqlite(database_url):
        return _File(staging / DATABASE)
    return _Postgres(str(database_url), restore_id)


class _File:
    """It is nobody's until the staging folder becomes the data folder."""

    ends_with_the_folder = True
    on_this_disk = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def under_way(self) -> bool:
        return True

    def refuse_used(self, schema: str) -> None: ...

    def begin(self) -> None: ...

    def prepare(self, schema: str) -> None:
        if self._schema() is None:
            migrate.upgrade_sqlite(self._path, schema)

    def tables(self) -> AbstractContextManager[BackupTables]:
        return sqlite_tables.fill_tables(self._path)

    def upgrade(self) -> None:
        if self._schema() != migrate.newest_schema():
            migrate.upgrade_sqlite(self._path, migrate.newest_schema())
        self._path.chmod(0o600)

    def take_back(self, tables: list[str]) -> None: ...

    def end(self) -> None: ...

    def _schema(self) -> str | None:
        with sqlite_tables.fill_tables(self._path) as tables:
            return tables.schema()


class _Postgres:
    """A table beside the others says that it is being restored: servers refuse it until that is gone."""

    ends_with_the_folder = False
    on_this_disk = False

    def __init__(self, url: str, restore_id: str) -> None:
        self._url, self._id = url, restore_id

    def under_way(self) -> bool:
        with self._filled() as tables:
            return _noted(tables) == self._id

    def refuse_used(self, schema: str) -> None:
        with self._filled() as tables:
            if _noted(tables) is not None:
                raise SetupError(
                    "Another restore into this database was stopped.",
                    "Run that one again, with the same backup and settings, or restore into a new, empty database.",
                )
            for name in tables.shapes():
                if tables.count(name):
                    raise SetupError(
                        f"The database is not empty: the table {name} has rows.",
                        "Nothing was restored. Create a new, empty database and restore into that.",
                    )
            if tables.schema() not in (None, schema):
                raise SetupError(
                    f"The database has schema {tables.schema()} already, the backup has {schema}.",
                    "Nothing was restored. Create a new, empty database and restore into that.",
                )

    def begin(self) -> None:
        with self._filled() as tables:
            if _noted(tables) is None:
                with tables.connection.transaction():
                    tables.connection.execute("create table restoring (restore_id text not null)")
                    tables.connection.execute("insert into restoring values (%s)", [self._id])

    def prepare(self, schema: str) -> None:
        with self._filled() as tables:
            present = tables.schema()
        if present is None:
            migrate.upgrade_postgres(self._url, schema)

    def tables(self) -> AbstractContextManager[BackupTables]:
        return self._filled()

    def upgrade(self) -> None:
        with self._filled() as tables:
            present = tables.schema()
        if present != migrate.newest_schema():
            migrate.upgrade_postgres(self._url, migrate.newest_schema())

    def take_back(self, tables: list[str]) -> None:
        with contextlib.suppress(SetupError), self._filled() as database:
            if _noted(database) != self._id:
                return
            database.empty(sorted(set(tables) & set(database.shapes())))
            database.connection.execute("drop table restoring")

    def end(self) -> None:
        with self._filled() as tables:
            tables.connection.execute("drop table restoring")

    @contextlib.contextmanager
    def _filled(self) -> Iterator["PostgresTables"]:
        # Imported here: with SQLite it is never needed.
        from deedbox.kernel.backup import postgres_tables

        with postgres_tables.fill_tables(self._url) as tables:
            yield tables


def _noted(tables: "PostgresTables") -> str | None:
    """Which restore is under way, if one is."""
    there = tables.connection.execute("select to_regclass(%s)", [migrate.RESTORING]).fetchone()
    if not there or there[0] is None:
        return None
    row = tables.connection.execute("select restore_id from restoring").fetchone()
    return str(row[0]) if row else ""
