"""A database comes to the newest schema by itself, or stays exactly as it was."""

import contextlib
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deedbox.kernel.db import grams, migrate
from deedbox.kernel.errors import SetupError
from tests.postgres import Cluster

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
OLD = migrate.newest_schema()
NEW = f"{int(OLD) + 1:04}"

REVISION = """
from alembic import op
from deedbox.kernel.db.migrations import ddl

revision = "{new}"
down_revision = "{old}"

def upgrade():
    ddl.apply(op.get_bind(), "{script}")
"""
GOOD = "alter table workspaces add column colour TEXT; create table extras (id TEXT primary key, size INT not null)"
BROKEN = "create table extras (id TEXT primary key); delete from workspaces; insert into nowhere values (1)"


class Store:
    """One database, looked at from outside."""

    def __init__(self, migrate: Callable[[], None], rows: Callable[[str], list[tuple[Any, ...]]]) -> None:
        self.migrate = migrate
        self.rows = rows

    @property
    def schema(self) -> list[tuple[Any, ...]]:
        return self.rows("select version_num from alembic_version")


def sqlite_store(path: Path) -> Store:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            return connection.execute(sql).fetchall()

    return Store(lambda: migrate.migrate_sqlite(path, NOW), rows)


def postgres_store(url: str) -> Store:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    return Store(lambda: migrate.migrate_postgres(url), rows)


@pytest.fixture
def store(database_url: str) -> Store:
    if database_url.startswith("sqlite:"):
        return sqlite_store(Path(database_url.removeprefix("sqlite:")))
    return postgres_store(database_url)


@pytest.fixture
def blank_postgres_url(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"blank_{abs(hash(request.node.nodeid))}"
    with cluster.database(name, template="template0") as url:
        yield url


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Turns this Deedbox into a later one, whose schema has one more revision."""

    def become(script: str) -> None:
        folder = tmp_path / "migrations of 100% later"
        shutil.copytree(migrate.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "versions" / f"{NEW}_later.py").write_text(REVISION.format(new=NEW, old=OLD, script=script))
        monkeypatch.setattr(migrate, "MIGRATIONS", folder)

    return become


def add_workspace(store: Store) -> None:
    store.rows("insert into workspaces (id, name, created_at) values ('wsp_1', 'kept', '')")


def test_an_empty_file_becomes_a_database_at_the_newest_schema(tmp_path: Path) -> None:
    store = sqlite_store(tmp_path / "new.sqlite")
    store.migrate()
    assert store.schema == [(OLD,)]
    assert store.rows("pragma journal_mode") == [("wal",)]
    assert not (tmp_path / "backups").exists()


def test_an_empty_postgres_database_comes_to_the_newest_schema(blank_postgres_url: str) -> None:
    store = postgres_store(blank_postgres_url)
    store.migrate()
    assert store.schema == [(OLD,)]


def test_migrating_again_changes_nothing(store: Store) -> None:
    add_workspace(store)
    store.migrate()
    assert store.schema == [(OLD,)]
    assert store.rows("select name from workspaces") == [("kept",)]


def test_a_newer_schema_is_refused_with_the_way_out(store: Store) -> None:
    store.rows("update alembic_version set version_num = '0999'")
    with pytest.raises(SetupError) as refused:
        store.migrate()
    assert refused.value.reason == f"The database has schema 0999, newer than this version of Deedbox knows ({OLD})."
    assert refused.value.next_step == "Run the newer version, or restore a backup created by this one."
    assert store.schema == [("0999",)]


def test_a_schema_that_a_newer_version_has_added_to_is_worked_with(
    store: Store, next_version: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    next_version(GOOD)
    store.migrate()
    monkeypatch.undo()
    store.migrate()
    assert store.schema == [(NEW,)]
    add_workspace(store)
    assert store.rows("select name, colour from workspaces") == [("kept", None)]


BREAKING = re.compile(
    r"\b(drop|rename|alter column|create unique index|add constraint)\b|add column (?![^;]*\bdefault\b)[^;]*\bnot null",
    re.IGNORECASE,
)
"""What an older version beside a newer one would trip over, on tables that it knows."""


def test_within_an_era_a_migration_only_adds() -> None:
    known = migrate.known_schemas()
    firsts = {min(one for one in known if migrate.era(one) == era) for era in map(migrate.era, known)}
    later = [path for path in (migrate.MIGRATIONS / "versions").glob("[0-9]*.py") if path.name[:4] not in firsts]
    assert [path.name for path in later if BREAKING.search(path.read_text())] == []
    assert not BREAKING.search(GOOD)
    assert not BREAKING.search("alter table workspaces add column size INT not null default 0")
    for script in ("drop column name", "rename to places", "add column size INT not null"):
        assert BREAKING.search(f"alter table workspaces {script}")


def test_an_older_schema_is_upgraded_with_what_is_in_it(store: Store, next_version: Callable[[str], None]) -> None:
    add_workspace(store)
    next_version(GOOD)
    store.migrate()
    assert store.schema == [(NEW,)]
    assert store.rows("select name, colour from workspaces") == [("kept", None)]
    assert store.rows("select count(*) from extras") == [(0,)]


def test_an_older_file_is_copied_before_it_is_upgraded(sqlite_path: Path, next_version: Callable[[str], None]) -> None:
    store = sqlite_store(sqlite_path)
    add_workspace(store)
    next_version(GOOD)
    store.migrate()
    folder = sqlite_path.parent / "backups"
    assert folder.stat().st_mode & 0o777 == 0o700
    (copy,) = folder.iterdir()
    assert copy.name == f"schema-{OLD}-20260301T120000Z.sqlite"
    before = sqlite_store(copy)
    assert before.schema == [(OLD,)]
    assert before.rows("select name from workspaces") == [("kept",)]


def test_a_migration_that_fails_halfway_leaves_the_old_schema_and_its_rows(
    store: Store, next_version: Callable[[str], None]
) -> None:
    add_workspace(store)
    next_version(BROKEN)
    with pytest.raises(SetupError, match=rf"could not be brought to schema {NEW}.*nowhere.*as it was before"):
        store.migrate()
    assert store.schema == [(OLD,)]
    assert store.rows("select name from workspaces") == [("kept",)]
    store.rows("create table extras (id text)")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_processes_that_start_at_once_migrate_once(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    target = tmp_path / "new.sqlite" if kind == "sqlite" else request.getfixturevalue("blank_postgres_url")
    call = (
        "migrate_sqlite(Path(sys.argv[1]), datetime.now(UTC))" if kind == "sqlite" else "migrate_postgres(sys.argv[1])"
    )
    code = (
        "import sys; from pathlib import Path; from datetime import UTC, datetime;"
        f"from deedbox.kernel.db.migrate import *; import alembic.command, sqlalchemy; sys.stdin.read(1); {call}"
    )
    starts = [
        subprocess.Popen([sys.executable, "-c", code, target], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in starts:
        assert process.stdin is not None
        process.stdin.write("g")
        process.stdin.flush()
    errors = [process.communicate()[1] for process in starts]
    assert ([process.returncode for process in starts], errors) == ([0] * 4, [""] * 4)
    store = sqlite_store(Path(target)) if kind == "sqlite" else postgres_store(str(target))
    assert store.schema == [(OLD,)]


@pytest.mark.parametrize("name", ["a?b.sqlite", "a#b.sqlite", "100%25.sqlite", "ü b.sqlite", "a?mode=memory"])
def test_a_path_with_any_character_in_it_is_just_a_path(tmp_path: Path, name: str) -> None:
    store = sqlite_store(tmp_path / name)
    store.migrate()
    assert store.schema == [(OLD,)]
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()} == {name}


def test_a_file_that_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "letter.sqlite"
    path.write_bytes(b"Dear reader, this is not a database. " * 100)
    with pytest.raises(SetupError, match=r"letter\.sqlite cannot be opened"):
        migrate.migrate_sqlite(path, NOW)
    with pytest.raises(SetupError, match="data folder is writable"):
        migrate.migrate_sqlite(tmp_path / "absent" / "x.sqlite", NOW)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@/x?host=/nonexistent",
        "postgresql://me:hun@ter2@/x?host=/nonexistent",
        "postgresql://me:pa/hunter2@localhost/x",
        "postgresql://me:pa%zzhunter2@localhost/x",
        "postgresql://me:pass@hunter2@localhost/x",
    ],
)
def test_an_unreachable_postgres_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SetupError, match="DEEDBOX_DATABASE_URL") as refused:
        migrate.migrate_postgres(url)
    assert "hunter2" not in str(refused.value)
    assert "ter2" not in str(refused.value)


def test_the_schema_is_the_same_on_both_databases(sqlite_path: Path, postgres_url: str) -> None:
    here, there = sqlite_store(sqlite_path), postgres_store(postgres_url)
    # The index of parts of names is of another kind on each.
    tables = {name for (name,) in here.rows("select name from pragma_table_list where type = 'table'")}
    tables = {name for name in tables if not name.startswith("sqlite_")}
    columns = {
        (table, name, kind, bool(required or key))
        for table in tables
        for _, name, kind, required, _, key in here.rows(f"pragma table_info({table})")
        if table != "alembic_version"
    }
    kinds = {"text": "TEXT", "bigint": "INTEGER", "double precision": "REAL", "bytea": "BLOB"}
    found = there.rows(
        "select table_name, column_name, data_type, is_nullable from information_schema.columns"
        " where table_schema = 'public' and table_name <> 'alembic_version'"
    )
    known = {(table, name, kind, empty == "NO") for table, name, kind, empty in found if table not in grams.TABLES}
    assert {(table, name, kinds[kind], needed) for table, name, kind, needed in known} == columns
    assert len({table for table, *_ in columns}) > 10


def test_the_indexes_are_the_same_on_both_databases(sqlite_path: Path, postgres_url: str) -> None:
    named = sqlite_store(sqlite_path).rows("select name from sqlite_master where type = 'index' and sql is not null")
    found = postgres_store(postgres_url).rows(
        "select indexname from pg_indexes where schemaname = 'public'"
        " and indexname not in (select conname from pg_constraint) and indexname not like '%\\_by\\_grams'"
    )
    assert set(found) == set(named)
    assert ("jobs_due",) in named


def test_text_sorts_by_bytes_on_postgres_as_it_does_on_sqlite(store: Store) -> None:
    for name in ("b", "B", "a", "_", "ä", "Z1", "10", "9"):
        store.rows(f"insert into workspaces (id, name, created_at) values ('{name}', '', '')")
    found = [name for (name,) in store.rows("select id from workspaces order by id")]
    assert found == sorted(found, key=str.encode)
