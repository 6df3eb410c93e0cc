"""A database at the schema of the first search, to be brought to the newest."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deedbox.kernel.db import Database, migrate
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from tests.postgres import Cluster


class Old:
    """A database of before: at the schema in which texts lay in their table, and one log stood for every model."""

    def __init__(self, url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._url = url
        self._path = Path(url.removeprefix("sqlite:")) if url.startswith("sqlite:") else None
        before = folder / "migrations of before"
        later = [path.name for path in (migrate.MIGRATIONS / "versions").glob("*.py") if path.name >= "0003"]
        shutil.copytree(migrate.MIGRATIONS, before, ignore=shutil.ignore_patterns("__pycache__", *later))
        with monkeypatch.context() as past:
            past.setattr(migrate, "MIGRATIONS", before)
            self.upgrade()

    def upgrade(self) -> None:
        if self._path:
            migrate.migrate_sqlite(self._path, datetime.now(UTC))
        else:
            migrate.migrate_postgres(self._url)

    def opened(self) -> Database:
        return SqliteDatabase(self._path) if self._path else PostgresDatabase(self._url)


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Old]:
    if request.param == "sqlite":
        yield Old(f"sqlite:{tmp_path / 'old.sqlite'}", tmp_path, monkeypatch)
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    with cluster.database(f"old_{abs(hash(request.node.nodeid))}", template="template0") as url:
        yield Old(url, tmp_path, monkeypatch)
