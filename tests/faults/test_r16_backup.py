"""R16: a backup is real. Taken under load and restored elsewhere, it keeps every promise, and nobody waits for it.

The load acknowledges its writes to the fault test. A copy must hold every write acknowledged before the copy began,
balances that add up, and a file with the right bytes for every blob row.
"""

import asyncio
import contextlib
import functools
import hashlib
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import Struct

from deedbox.kernel.backup import backup, restore
from deedbox.kernel.blobs import store
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from tests.faults import FULL
from tests.postgres import Cluster

pytestmark = pytest.mark.anyio

WITHOUT_WAL = "copy the database without its WAL"
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
ACCOUNTS = 20
EACH = 1000
_INSERT = "insert into workspaces (id, name, created_at) values (:id, :name, :created_at)"


class Score(Struct):
    """What one run of the fault test saw."""

    backups: int = 0
    promised: int = 0
    lost: int = 0
    unbalanced: int = 0
    missing_files: int = 0
    writes: int = 0
    longest_pause: float = 0.0

    def violations(self) -> int:
        return self.lost + self.unbalanced + self.missing_files

    def line(self, bug: str | None) -> str:
        return (
            f"R16 backup: {self.backups} backups during {self.writes} writes, {self.lost} of {self.promised} "
            f"acknowledged writes lost, {self.unbalanced} unbalanced, {self.missing_files} files missing, longest "
            f"pause of a writer {self.longest_pause * 1000:.0f} ms (seeded bug: {bug or 'none'})"
        )


def _copied_if_there(source: str, target: str) -> None:
    """The planted bug is the missing WAL, not a file that was swept during the copy."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy(source, target)


class Scenario:
    def __init__(self, data_dir: Path, url: str | None, db: Database, bug: str | None) -> None:
        self.score = Score()
        self._data_dir, self._url, self._db, self._bug = data_dir, url, db, bug
        self._blobs = LocalBlobs(data_dir / "blobs")
        self._acknowledged: set[str] = set()
        self._copying = False

    async def fill(self, rows: int) -> None:
        """Accounts, and some weight, so that a copy takes a while."""
        weight = [{"id": f"wsp_w{n}", "name": "w" * 1000, "created_at": "weight"} for n in range(rows)]
        accounts = [{"id": f"wsp_a{n}", "name": str(EACH), "created_at": "account"} for n in range(ACCOUNTS)]
        await self._db.write(lambda tx: tx.many(_INSERT, [*weight, *accounts]))

    async def run(self, places: list[tuple[Path, str | None]]) -> Score:
        load = [asyncio.create_task(work) for work in (self._write(), self._transfer(), self._come_and_go())]
        for place, url in places:
            await asyncio.sleep(0.2)
            promised = set(self._acknowledged)
            self._copying = True
            await asyncio.to_thread(self._copy, place, url)
            self._copying = False
            await self._judge(place, url, promised)
        for task in load:
            task.cancel()
        await asyncio.gather(*load, return_exceptions=True)
        return self.score

    def _copy(self, place: Path, url: str | None) -> None:
        if self._bug == WITHOUT_WAL:
            place.mkdir(parents=True)
            shutil.copy(self._data_dir / "deedbox.sqlite", place)
            shutil.copytree(self._data_dir / "blobs", place / "blobs", copy_function=_copied_if_there)
            return
        archive = place.with_name(f"{place.name}.tar")
        backup(self._data_dir, self._url, archive, now=NOW)
        self._copying = False  # to restore is nobody's pause
        restore(archive, place, url)

    async def _timed(self, write: "functools.partial[None]") -> None:
        copying, began = self._copying, stopwatch()
        await self._db.write(write)
        self.score.writes += 1
        if copying:
            self.score.longest_pause = max(self.score.longest_pause, stopwatch() - began)

    async def _write(self) -> None:
        number = 0
        while True:
            await self._timed(functools.partial(_add, number=number))
            self._acknowledged.add(f"wsp_n{number}")
            number += 1

    async def _transfer(self) -> None:
        number = 0
        while True:
            await self._timed(functools.partial(_move, number=number))
            number += 1

    async def _come_and_go(self) -> None:
        number = 0
        while True:
            async with self._blobs.receive(1_000_000) as incoming:
                await incoming.write(b"%d" % number * 5000)
                received = await incoming.finish()
                adopt = functools.partial(store.adopt, received=received, owner=f"doc_{number}", now=NOW)
                await self._db.write(adopt)
            if number % 2:
                await self._db.write(
                    functools.partial(store.release, sha256=received.blob.sha256, owner=f"doc_{number}", now=NOW)
                )
            await self._blobs.sweep(self._db, NOW)
            number += 1

    async def _judge(self, place: Path, url: str | None, promised: set[str]) -> None:
        self.score.backups += 1
        self.score.promised += len(promised)
        database: Database = PostgresDatabase(url) if url else SqliteDatabase(place / "deedbox.sqlite")
        try:
            ids, total, blobs = await database.read(_facts)
        finally:
            await database.close()
        self.score.lost += len(promised - ids)
        self.score.unbalanced += total != ACCOUNTS * EACH
        self.score.missing_files += sum(not _holds(place / "blobs" / name, sha256) for sha256, name in blobs)


def _add(tx: Tx, number: int) -> None:
    tx.run(_INSERT, id=f"wsp_n{number}", name="new", created_at="new")


def _move(tx: Tx, number: int) -> None:
    sql = "update workspaces set name = cast(cast(name as integer) + :change as text) where id = :id"
    tx.run(sql, change=-1, id=f"wsp_a{number % ACCOUNTS}")
    tx.run(sql, change=1, id=f"wsp_a{(number + 7) % ACCOUNTS}")


def _facts(tx: Tx) -> tuple[set[str], int, list[tuple[str, str]]]:
    ids = {row[0] for row in tx.all("select id from workspaces where created_at = 'new'")}
    balances = [int(row[0]) for row in tx.all("select name from workspaces where created_at = 'account'")]
    return ids, sum(balances), [(row[0], row[1]) for row in tx.all("select sha256, location from blobs")]


def _holds(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


async def test_a_backup_under_load_keeps_every_promise(
    database_url: str, db: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = None if database_url.startswith("sqlite:") else database_url
    scenario = Scenario(tmp_path, url, db, None)
    await scenario.fill(100_000 if FULL else 2_000)
    with contextlib.ExitStack() as stack:
        places: list[tuple[Path, str | None]] = []
        for number in range(20 if FULL else 2):
            if url is not None:
                cluster: Cluster = request.getfixturevalue("cluster")
                name = f"{url.split('/')[3].split('?')[0]}_r16_{number}"
                places.append((tmp_path / f"place{number}", stack.enter_context(cluster.database(name))))
            else:
                places.append((tmp_path / f"place{number}", None))
        score = await scenario.run(places)
    print(score.line(None))
    assert score.promised > 0
    assert score.violations() == 0


async def test_the_rig_catches_a_copy_of_the_database_without_its_wal(sqlite_path: Path) -> None:
    database = SqliteDatabase(sqlite_path)
    scenario = Scenario(sqlite_path.parent, None, database, WITHOUT_WAL)
    await scenario.fill(20)
    with contextlib.closing(sqlite3.connect(sqlite_path, isolation_level=None)) as reader:
        # While someone reads, SQLite keeps every later write in the WAL: the bug cannot pass by luck.
        reader.execute("begin")
        reader.execute("select count(*) from workspaces").fetchone()
        score = await scenario.run([(sqlite_path.parent / "place", None)])
    await database.close()
    print(score.line(WITHOUT_WAL))
    assert score.lost == score.promised > 0
