"""Brings a database to the schema of this version, by itself, at start."""

import contextlib
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deedbox.kernel import limits
from deedbox.kernel.db import Row, sqlite
from deedbox.kernel.errors import SetupError

if TYPE_CHECKING:
    import psycopg

MIGRATIONS = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 0xDEED
_VERSION_SQL = "select version_num from alembic_version"
RESTORING = "restoring"
"""The table that a PostgreSQL database has, beside ours, while a backup is restored into it."""


def newest_schema() -> str:
    """The revision that this version of Deedbox works with: the last file of migrations/versions."""
    return max(known_schemas())


def known_schemas() -> set[str]:
    """Every revision from which this version of Deedbox can bring a database to the newest."""
    return {path.name[:4] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")}


def upgrade_sqlite(path: Path, schema: str) -> None:
    """Brings a file that nobody uses yet, and that may not be there, to this schema."""
    with contextlib.closing(_open(path)):
        pass  # which sets what stays with the file
    _upgrade("sqlite", lambda: sqlite3.connect(path, timeout=limits.BUSY_SECONDS, isolation_level=None), schema)


def upgrade_postgres(url: str, schema: str) -> None:
    """Brings a database that nobody uses yet to this schema."""
    from deedbox.kernel.db import postgres

    _upgrade("postgresql+psycopg", lambda: postgres.connect(url, autocommit=False), schema)


def migrate_sqlite(path: Path, now: datetime) -> None:
    """A database file at the newest schema; an older one is copied to `backups/` first."""
    with contextlib.closing(_open(path)) as connection:
        try:
            present = _sqlite_schema(connection)
        except sqlite3.Error as error:
            raise _unusable(path, error) from error
        if not _due(present):
            return
        if present is not None:
            copy = path.parent / "backups" / f"schema-{present}-{now:%Y%m%dT%H%M%SZ}.sqlite"
            copy.parent.mkdir(mode=0o700, exist_ok=True)
            with contextlib.closing(sqlite3.connect(copy)) as target:
                connection.backup(target)
    _upgrade("sqlite", lambda: sqlite3.connect(path, timeout=limits.BUSY_SECONDS, isolation_level=None))


def migrate_postgres(url: str) -> None:
    """A database at the newest schema; several processes may start at once, one of them migrates."""
    # Imported here: with SQLite it is never needed.
    from deedbox.kernel.db import postgres

    with postgres.connect(url) as connection:
        _refuse_half_restored(connection)
        if not _due(_postgres_schema(connection)):
            return
        connection.execute("select pg_advisory_lock(%s)", [_ADVISORY_LOCK])
        if _due(_postgres_schema(connection)):
            _upgrade("postgresql+psycopg", lambda: postgres.connect(url, autocommit=False))


def _refuse_half_restored(connection: "psycopg.Connection[Row]") -> None:
    under_way = connection.execute("select to_regclass(%s)", [RESTORING]).fetchone()
    if under_way and under_way[0]:
        raise SetupError(
            "A backup is being restored into this database, or its restore was stopped: not all of it is there.",
            "Wait until it has ended, or run the same `deedbox restore` again: it goes on from where it was stopped.",
        )


def era(schema: str) -> str:
    """The schemas among which any version of Deedbox works with a later one: each only adds to the one before."""
    return schema[:2]


def _due(present: str | None) -> bool:
    newest = newest_schema()
    if present is not None and present > newest:
        if era(present) == era(newest):
            return False  # a newer version beside this one has added to it, and this one goes on
        raise SetupError(
            f"The database has schema {present}, newer than this version of Deedbox knows ({newest}).",
            "Run the newer version, or restore a backup created by this one.",
        )
    return present != newest


def _open(path: Path) -> sqlite3.Connection:
    try:
        return sqlite.connect(path, writable=True)
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: sqlite3.Error) -> SetupError:
    return SetupError(
        f"The database {path} cannot be opened: {error}.",
        "Check that the data folder is writable; if the file is damaged, restore a backup into another folder.",
    )


def _sqlite_schema(connection: sqlite3.Connection) -> str | None:
    exists = connection.execute("select 1 from sqlite_master where name = 'alembic_version'").fetchone()
    row = connection.execute(_VERSION_SQL).fetchone() if exists else None
    return row[0] if row else None


def _postgres_schema(connection: "psycopg.Connection[Row]") -> str | None:
    exists = connection.execute("select to_regclass('alembic_version')").fetchone()
    row = connection.execute(_VERSION_SQL).fetchone() if exists and exists[0] else None
    return str(row[0]) if row else None


def _upgrade(driver: str, connect: Callable[[], Any], schema: str | None = None) -> None:
    # Imported here: alembic and SQLAlchemy cost a second, and a migration is rarely due.
    from alembic import command
    from alembic.config import Config
    from sqlalchemy.exc import SQLAlchemyError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes.update(driver=driver, connect=connect)
    try:
        command.upgrade(config, schema or "head")
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().split("\n", 1)[0]
        raise SetupError(
            f"The database could not be brought to schema {schema or newest_schema()}: {reason}.",
            "It is as it was before. Remove the cause and start again.",
        ) from error
