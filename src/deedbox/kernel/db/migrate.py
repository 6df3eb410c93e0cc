"""Brings a database to the schema of this version, by itself, at start."""

import contextlib
import sqlite3
from datetime import datetime
from pathlib import Path

import psycopg

from deedbox.kernel import limits
from deedbox.kernel.db import sqlite
from deedbox.kernel.errors import SetupError

MIGRATIONS = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 0xDEED
_VERSION_SQL = "select version_num from alembic_version"


def newest_schema() -> str:
    """The revision that this version of Deedbox works with: the last file of migrations/versions."""
    return max(path.name[:4] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def migrate_sqlite(path: Path, now: datetime) -> None:
    """A database file at the newest schema; an older one is copied to `backups/` first."""
    with contextlib.closing(_open(path)) as connection:
        present = _sqlite_schema(connection)
        if not _due(present):
            return
        if present is not None:
            copy = path.parent / "backups" / f"schema-{present}-{now:%Y%m%dT%H%M%SZ}.sqlite"
            copy.parent.mkdir(mode=0o700, exist_ok=True)
            with contextlib.closing(sqlite3.connect(copy)) as target:
                connection.backup(target)
    _upgrade(f"sqlite:///{path}")


def migrate_postgres(url: str) -> None:
    """A database at the newest schema; several processes may start at once, one of them migrates."""
    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=limits.POSTGRES_CONNECT_SECONDS)
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SetupError(
            f"PostgreSQL cannot be reached: {reason}.", "Check DEEDBOX_DATABASE_URL and that the server runs."
        ) from error
    with connection:
        if not _due(_postgres_schema(connection)):
            return
        connection.execute("select pg_advisory_lock(%s)", [_ADVISORY_LOCK])
        if _due(_postgres_schema(connection)):
            _upgrade("postgresql+psycopg://" + url.split("://", 1)[1])


def _due(present: str | None) -> bool:
    newest = newest_schema()
    if present is not None and present > newest:
        raise SetupError(
            f"The database has schema {present}, newer than this version of Deedbox knows ({newest}).",
            "Run the newer version, or restore a backup made by this one.",
        )
    return present != newest


def _open(path: Path) -> sqlite3.Connection:
    try:
        return sqlite.connect(path, writable=True)
    except sqlite3.Error as error:
        raise SetupError(
            f"The database {path} cannot be opened: {error}.",
            "Check that the data folder is writable and the file is a Deedbox database.",
        ) from error


def _sqlite_schema(connection: sqlite3.Connection) -> str | None:
    exists = connection.execute("select 1 from sqlite_master where name = 'alembic_version'").fetchone()
    row = connection.execute(_VERSION_SQL).fetchone() if exists else None
    return row[0] if row else None


def _postgres_schema(connection: psycopg.Connection[tuple[object, ...]]) -> str | None:
    exists = connection.execute("select to_regclass('alembic_version')").fetchone()
    row = connection.execute(_VERSION_SQL).fetchone() if exists and exists[0] else None
    return str(row[0]) if row else None


def _upgrade(url: str) -> None:
    # Imported here: alembic and SQLAlchemy cost a second, and a migration is rarely due.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["url"] = url
    command.upgrade(config, "head")
