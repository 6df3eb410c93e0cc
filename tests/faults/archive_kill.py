"""Archiving under kills: a backlog of documents is pushed, and the server dies in the midst of it, again and again."""

import asyncio
import hashlib
import json
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from tests import server
from tests.api.conftest import opened
from tests.api.signing.conftest import Office
from tests.archive.sink import Moment, Sink
from tests.conftest import HandClock
from tests.faults.faulty_server import VARIABLE
from tests.s3 import Store, client

ROOT = Path(__file__).parents[2]
KEY = "killed-archive-test-key-5a69788796a5"
PACKAGES_BETWEEN = (1, 6)
PAUSE_MOST = 0.03
PATIENCE = 180
_MODULE = "tests.faults.archive_server"


class Report(msgspec.Struct):
    target: str
    packages: int = 0
    kills: int = 0
    kills_while_pushing: int = 0
    """Of them, those that came while a package was on its way or had just arrived."""
    lost: int = 0
    """Documents that are not in the archive, or not as their receipt says."""
    twice: int = 0
    """Names under which something was kept more than once."""
    strays: int = 0
    """Things in the archive that are no document's package."""
    integrity: str = "ok"

    @property
    def faults(self) -> int:
        return self.lost + self.twice + self.strays + (self.integrity != "ok")


class Place:
    """An archive as the fault test sees it: how to set it, what is in it, and when something happens there."""

    name = ""
    env: dict[str, str]

    def kept(self) -> dict[str, bytes]:
        raise NotImplementedError

    def doubled(self) -> int:
        return 0

    @contextmanager
    def watched(self, see: Callable[[], None]) -> Iterator[None]:
        """While this lasts, `see` is called whenever another package has come, or is just coming."""
        done = threading.Event()

        def look() -> None:
            seen = self.count()
            while not done.wait(0.002):
                seen, before = self.count(), seen
                for _ in range(seen - before):
                    see()

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def count(self) -> int:
        return len(self.kept())


class InFolder(Place):
    name = "folder"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"DEEDBOX_ARCHIVE_URL": folder.as_uri()}

    def kept(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.glob("*/*.zip")}

    def count(self) -> int:
        """Drafts are counted too: a kill may come while one is written."""
        return sum(1 for _ in self.folder.glob("*/*.zip")) + sum(1 for _ in self.folder.glob(".incoming/*"))


class InSink(Place):
    name = "HTTPS"

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.env = {"DEEDBOX_ARCHIVE_URL": f"{sink.url}/a", "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}

    def kept(self) -> dict[str, bytes]:
        found = {name.removeprefix("/a/"): content for name, content in self.sink.kept.items()}
        return {name: content for name, content in found.items() if name.endswith(".zip")}

    def doubled(self) -> int:
        return sum(number > 1 for number in self.sink.puts.values())

    @contextmanager
    def watched(self, see: Callable[[], None]) -> Iterator[None]:
        """At each of the moments of a package: half of it read, all of it kept, the answer sent."""

        def told(_: Moment) -> None:
            see()

        self.sink.watch = told
        try:
            yield
        finally:
            self.sink.watch = lambda _: None


class InBucket(Place):
    name = "S3"

    def __init__(self, store: Store) -> None:
        self.bucket = store.bucket(locked=True)
        self.env = {**store.settings(self.bucket), "DEEDBOX_ARCHIVE_URL": str(self.bucket.place)}
        del self.env["DEEDBOX_BLOBS_URL"]

    def kept(self) -> dict[str, bytes]:
        found = {}
        for page in self.bucket.pages():
            for one in page:
                if one.name.endswith(".zip"):
                    reading = self.bucket.open(one.name)
                    found[one.name] = reading.read(10_000_000)
                    reading.close()
        return found

    def count(self) -> int:
        return sum(len(page) for page in self.bucket.pages())

    def doubled(self) -> int:
        found = client(self.bucket).list_object_versions(Bucket=self.bucket.place.bucket).get("Versions", [])
        names = [one["Key"] for one in found]
        return len(names) - len(set(names))


class Scenario:
    def __init__(
        self, data: Path, place: Place, *, database_url: str | None = None, bug: str | None = None, seed: int = 1
    ) -> None:
        self.data, self.place, self.database_url = data, place, database_url
        self.report = Report(place.name)
        self._chance = random.Random(seed)
        self._env = {"PYTHONPATH": str(ROOT), "SERVICE_ECOSYSTEM_KEY": KEY, **place.env}
        self._env |= {VARIABLE: bug} if bug else {}
        self._env |= {"DEEDBOX_DATABASE_URL": database_url} if database_url else {}

    def run(self, kills: int, packages: int) -> Report:
        """What is amiss after so many kills while so many packages were pushed."""
        asyncio.run(self._backlog(packages))
        self.report.packages = packages
        while self.report.kills < kills and self._waiting():
            self._burst()
        self._let_it_end()
        self._judge()
        return self.report

    async def _backlog(self, packages: int) -> None:
        """Completed documents, all but the first of them copies of it, that the archive does not have."""
        clock = HandClock()
        clock.time = datetime.now(UTC)
        self.data.mkdir(parents=True, exist_ok=True)
        async with opened(self.database_url or "sqlite:", self.data, clock) as api:
            await api.settle()
            await api.deedbox.start()
            document = await Office(api).sealed()
            await api.deedbox.stop()
        async with opened(self.database_url or "sqlite:", self.data, clock, service_ecosystem_key=Secret(KEY)) as api:
            deedbox = api.deedbox
            await deedbox.db.write(lambda tx: _copy(tx, document["id"], packages - 1))
            assert await deedbox.archive.backfill.plan() == packages

    def _burst(self) -> None:
        """One life of the server: it ends when a few more packages have come, or are just coming."""
        left = self._chance.randint(*PACKAGES_BETWEEN)
        pause = self._chance.choice((0.0, self._chance.uniform(0, PAUSE_MOST)))
        running = server.start(self.data, module=_MODULE, env=self._env)
        dead = threading.Event()

        def see() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                time.sleep(pause)
                running.process.kill()
                dead.set()

        try:
            with self.place.watched(see):
                end = time.monotonic() + PATIENCE
                while not dead.wait(0.05) and self._waiting() and time.monotonic() < end:
                    continue
        finally:
            running.kill()
            assert running.process.stdout is not None
            running.process.stdout.close()
        self.report.kills += 1
        self.report.kills_while_pushing += dead.is_set()

    def _let_it_end(self) -> None:
        running = server.start(self.data, module=_MODULE, env=self._env)
        try:
            end = time.monotonic() + PATIENCE
            while self._waiting() and time.monotonic() < end:
                time.sleep(0.1)
        finally:
            running.stop()
            assert running.process.stdout is not None
            running.process.stdout.close()

    def _waiting(self) -> int:
        return len(self._rows("select document_id from archives where status <> 'archived'"))

    def _judge(self) -> None:
        kept = self.place.kept()
        rows = self._rows("select workspace_id, document_id, receipt from archives")
        for workspace_id, document_id, receipt in rows:
            content = kept.pop(f"{workspace_id}/{document_id}.zip", None)
            told = json.loads(receipt or "{}").get("sha256")
            self.report.lost += content is None or hashlib.sha256(content).hexdigest() != told
        self.report.lost += self.report.packages - len(rows)
        self.report.strays = len(kept)
        self.report.twice = self.place.doubled()
        if self.database_url is None:
            self.report.integrity = str(self._rows("pragma integrity_check")[0][0])

    def _rows(self, sql: str) -> list[Any]:
        if self.database_url is not None:
            with psycopg.connect(self.database_url) as connection:
                return connection.execute(sql.encode()).fetchall()
        with closing(sqlite3.connect(self.data / "deedbox.sqlite", timeout=30)) as file:
            return file.execute(sql).fetchall()


def _copy(tx: Tx, document_id: str, times: int) -> None:
    """More documents like the one, with ids of their own and the same files."""
    for number in range(times):
        name = f"doc_{number:026}"
        _insert_like(tx, "documents", "id", document_id, {"id": name, "verification_code": None})
        _insert_like(tx, "sealed_files", "document_id", document_id, {"document_id": name})


def _insert_like(tx: Tx, table: str, key: str, value: str, changed: dict[str, str | None]) -> None:
    if tx.dialect == "sqlite":
        columns = [row[1] for row in tx.all(f"pragma table_info({table})")]
    else:
        look = "select column_name from information_schema.columns where table_name = :table"
        columns = [row[0] for row in tx.all(f"{look} and table_schema = current_schema()", table=table)]
    picked = ", ".join(f":new_{name}" if name in changed else name for name in columns)
    sql = f"insert into {table} ({', '.join(columns)}) select {picked} from {table} where {key} = :value"
    tx.run(sql, value=value, **{f"new_{name}": new for name, new in changed.items()})


def killed(place: Place, data: Path, kills: int, packages: int, **more: Any) -> Report:
    return Scenario(data, place, **more).run(kills, packages)


def summary(report: Report, database: str) -> str:
    fields = msgspec.structs.asdict(report).items()
    return f"R1 archive kill on {database}: " + ", ".join(f"{name} {value}" for name, value in fields)
