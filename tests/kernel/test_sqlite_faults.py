"""SQLite when the disk is full, the file is locked, the caller goes away or the server stops."""

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.errors import ErrorCode, Unavailable

pytestmark = pytest.mark.anyio


class Stop(BaseException):
    """Something worse than an Exception."""


def add(tx: Tx, name: str, size: int = 0) -> str:
    tx.run("insert into workspaces (id, name, created_at) values (:id, :name, '')", id=name, name="x" * size)
    return name


async def names(db: SqliteDatabase) -> set[str]:
    return {row[0] for row in await db.read(lambda tx: tx.all("select id from workspaces"))}


@pytest.fixture
async def database(sqlite_path: Path) -> AsyncIterator[SqliteDatabase]:
    opened = SqliteDatabase(sqlite_path)
    yield opened
    await opened.close()


@contextlib.asynccontextmanager
async def held_writer(db: SqliteDatabase) -> AsyncIterator[None]:
    """The writer stands still inside: what is written meanwhile becomes one batch."""
    begun, go_on = threading.Event(), threading.Event()

    def hold(tx: Tx) -> None:
        begun.set()
        go_on.wait()

    first = asyncio.create_task(db.write(hold))
    await asyncio.to_thread(begun.wait)
    try:
        yield
        for _ in range(3):
            await asyncio.sleep(0)
    finally:
        go_on.set()
    await first


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("this machine does not let root mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
async def on_small_disk(small_disk: Path, empty_sqlite: bytes) -> AsyncIterator[SqliteDatabase]:
    path = small_disk / "deedbox.sqlite"
    path.write_bytes(empty_sqlite)
    opened = SqliteDatabase(path)
    yield opened
    await opened.close()


def fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


@pytest.mark.parametrize("failing", [{0}, {1}, {2}, {0, 1}, {0, 2}, {0, 1, 2}])
async def test_of_a_batch_whatever_fails_is_left_out_and_nothing_else(
    database: SqliteDatabase, failing: set[int]
) -> None:
    heard: list[str] = []

    def one(tx: Tx, number: int) -> None:
        add(tx, f"write {number}")
        tx.on_commit(lambda: heard.append(f"write {number}"))
        if number in failing:
            raise LookupError(number)

    async with held_writer(database):
        writes = [asyncio.create_task(database.write(lambda tx, n=n: one(tx, n))) for n in range(3)]  # type: ignore[misc]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert {number for number, outcome in enumerate(outcomes) if isinstance(outcome, LookupError)} == failing
    assert await names(database) == set(heard) == {f"write {number}" for number in {0, 1, 2} - failing}
    await database.write(lambda tx: add(tx, "afterwards"))


async def test_a_full_disk_refuses_the_batch_loses_nothing_and_recovers(
    on_small_disk: SqliteDatabase, small_disk: Path
) -> None:
    db = on_small_disk
    kept = {await db.write(lambda tx, n=n: add(tx, f"early {n}", 1000)) for n in range(20)}  # type: ignore[misc]
    filler = fill(small_disk)
    async with held_writer(db):
        writes = [asyncio.create_task(db.write(lambda tx, n=n: add(tx, f"late {n}", 20_000))) for n in range(20)]  # type: ignore[misc]
    refused = await asyncio.gather(*writes, return_exceptions=True)
    assert [error.code for error in refused if isinstance(error, Unavailable)] == [ErrorCode.STORAGE_FULL] * 20
    assert await names(db) == kept
    filler.unlink()
    kept.add(await db.write(lambda tx: add(tx, "afterwards", 20_000)))
    assert await names(db) == kept


async def test_a_write_too_large_for_the_disk_takes_its_batch_along_with_the_same_reason(
    on_small_disk: SqliteDatabase,
) -> None:
    db = on_small_disk
    heard: list[str] = []

    def small(tx: Tx, name: str) -> None:
        add(tx, name)
        tx.on_commit(lambda: heard.append(name))

    def huge(tx: Tx) -> None:
        for number in range(30):  # beyond SQLite's cache, so that it fails before the commit
            add(tx, f"huge {number}", 1_000_000)

    async with held_writer(db):
        writes = [
            asyncio.create_task(db.write(lambda tx: small(tx, "before"))),
            asyncio.create_task(db.write(huge)),
            asyncio.create_task(db.write(lambda tx: small(tx, "after"))),
        ]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    codes = [getattr(outcome, "code", outcome) for outcome in outcomes]
    assert codes[1] == ErrorCode.STORAGE_FULL
    done = {name for name, code in zip(("before", "after"), (codes[0], codes[2]), strict=True) if code is None}
    assert {code for code in codes if code is not None} == {ErrorCode.STORAGE_FULL}
    assert await names(db) == done == set(heard)
    await db.write(lambda tx: add(tx, "afterwards"))
    assert "afterwards" in await names(db)


async def test_a_foreign_lock_held_too_long_is_busy_and_passes(
    sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BUSY_SECONDS", 0.05)
    db = SqliteDatabase(sqlite_path)
    with contextlib.closing(sqlite3.connect(sqlite_path, isolation_level=None)) as foreign:
        foreign.execute("begin immediate")
        with pytest.raises(Unavailable) as refused:
            await db.write(lambda tx: add(tx, "a"))
        assert refused.value.code == ErrorCode.BUSY
        assert refused.value.retry_after == 1
        assert await names(db) == set()
        foreign.execute("rollback")
    assert await db.write(lambda tx: add(tx, "a")) == "a"
    await db.close()


async def test_a_write_whose_caller_has_gone_before_it_began_is_not_made(database: SqliteDatabase) -> None:
    async with held_writer(database):
        gone = asyncio.create_task(database.write(lambda tx: add(tx, "gone")))
        stays = asyncio.create_task(database.write(lambda tx: add(tx, "stays")))
        await asyncio.sleep(0)
        gone.cancel()
    assert await stays == "stays"
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await names(database) == {"stays"}


async def test_a_caller_who_goes_while_the_write_is_made_disturbs_nobody(database: SqliteDatabase) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        begun.set()
        go_on.wait()
        add(tx, "slow")

    gone = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(begun.wait)
    gone.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await database.write(lambda tx: add(tx, "next"))
    assert await names(database) == {"slow", "next"}


async def test_no_more_writes_wait_than_the_bound_allows(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WRITE_QUEUE", 5)
    async with held_writer(database):
        waiting = [asyncio.create_task(database.write(lambda tx, n=n: add(tx, str(n)))) for n in range(5)]  # type: ignore[misc]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable) as refused:
            await database.write(lambda tx: add(tx, "one too many"))
        assert refused.value.code == ErrorCode.BUSY
    assert await asyncio.gather(*waiting) == ["0", "1", "2", "3", "4"]
    assert await names(database) == {"0", "1", "2", "3", "4"}


async def test_closing_finishes_what_was_accepted_and_refuses_the_rest(sqlite_path: Path) -> None:
    db = SqliteDatabase(sqlite_path)
    count = limits.WRITE_BATCH * 2 + 1
    async with held_writer(db):
        accepted = [asyncio.create_task(db.write(lambda tx, n=n: add(tx, str(n)))) for n in range(count)]  # type: ignore[misc]
        await asyncio.sleep(0)
        closing = asyncio.create_task(db.close())
        await asyncio.sleep(0)
        with pytest.raises(Unavailable) as refused:
            await db.write(lambda tx: add(tx, "late"))
        assert refused.value.code == ErrorCode.DRAINING
    await closing
    assert len(await asyncio.gather(*accepted)) == count
    await db.close()
    again = SqliteDatabase(sqlite_path)
    assert len(await names(again)) == count
    await again.close()


async def test_a_callback_that_fails_keeps_nobody_waiting(database: SqliteDatabase) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(str(context["exception"])))

    def bad(tx: Tx) -> str:
        def callback() -> None:
            raise LookupError("deaf")

        tx.on_commit(callback)
        return add(tx, "bad")

    async with held_writer(database):
        writes = [
            asyncio.create_task(database.write(bad)),
            asyncio.create_task(database.write(lambda tx: add(tx, "b"))),
        ]
    async with asyncio.timeout(30):
        assert await asyncio.gather(*writes) == ["bad", "b"]
    assert complaints == ["deaf"]


@pytest.mark.parametrize(
    ("raised", "seen"), [(StopIteration, RuntimeError), (Stop, Stop), (GeneratorExit, GeneratorExit)]
)
async def test_whatever_a_write_raises_the_next_ones_are_made(
    database: SqliteDatabase, raised: type[BaseException], seen: type[BaseException]
) -> None:
    def bad(tx: Tx) -> None:
        add(tx, "bad")
        raise raised

    async with held_writer(database):
        first = asyncio.create_task(database.write(bad))
        second = asyncio.create_task(database.write(lambda tx: add(tx, "second")))
    async with asyncio.timeout(30):
        assert await second == "second"
        with pytest.raises(seen):
            await first
        assert await database.write(lambda tx: add(tx, "third")) == "third"
    assert await names(database) == {"second", "third"}
