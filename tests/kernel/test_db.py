"""What `read` and `write` promise, on both databases."""

import asyncio
import threading
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from deedbox.kernel import fairness, limits
from deedbox.kernel.db import Database, Tx, migrate
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.errors import Unavailable

pytestmark = pytest.mark.anyio

ADD = "insert into workspaces (id, name, created_at) values (:id, :name, '2026-03-01T12:00:00Z')"
COUNT = "select count(*) from workspaces"


def add(tx: Tx, name: str) -> int:
    return tx.run(ADD, id=f"wsp_{name}", name=name)


def count(tx: Tx) -> int:
    row = tx.one(COUNT)
    assert row is not None
    return int(row[0])


async def test_what_was_written_can_be_read(db: Database) -> None:
    assert await db.write(lambda tx: add(tx, "a")) == 1
    assert await db.read(lambda tx: tx.all("select id, name from workspaces")) == [("wsp_a", "a")]


async def test_a_long_read_aside_holds_up_nobody(db: Database) -> None:
    await db.write(lambda tx: add(tx, "a"))
    meanwhile = threading.Event()

    def long(tx: Tx) -> int:
        first = count(tx)
        assert meanwhile.wait(timeout=60)
        return first + count(tx)

    reading = asyncio.create_task(db.read_aside(long))
    assert await db.read(count) == 1
    await db.write(lambda tx: add(tx, "b"))
    meanwhile.set()
    assert await reading in (2, 4), "one snapshot"
    assert await db.read_aside(count) == 2


async def test_a_failing_write_changes_nothing_and_raises_its_own_error(db: Database) -> None:
    def fail(tx: Tx) -> None:
        add(tx, "a")
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        await db.write(fail)
    assert await db.read(count) == 0


async def test_a_failing_write_does_not_touch_those_committed_beside_it(db: Database) -> None:
    def fail(tx: Tx) -> None:
        add(tx, "doomed")
        raise LookupError

    writes = [db.write(fail) if n % 3 == 0 else db.write(partial(add, name=str(n))) for n in range(60)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(outcome, LookupError) for outcome in outcomes) == 20
    assert await db.read(count) == 40


async def test_concurrent_increments_are_never_lost_and_never_given_up(db: Database) -> None:
    await db.write(lambda tx: add(tx, "0"))

    def increment(tx: Tx) -> None:
        row = tx.one("select name from workspaces where id = 'wsp_0'")
        assert row is not None
        time.sleep(0.03)  # so that others read the same
        tx.run("update workspaces set name = :name where id = 'wsp_0'", name=str(int(row[0]) + 1))

    await asyncio.gather(*(db.write(increment) for _ in range(60)))
    assert await db.read(lambda tx: tx.one("select name from workspaces")) == ("60",)


async def test_callbacks_run_after_a_commit_and_never_after_a_failure(db: Database) -> None:
    heard: list[str] = []

    def good(tx: Tx) -> None:
        tx.on_commit(lambda: heard.append("good"))

    def bad(tx: Tx) -> None:
        tx.on_commit(lambda: heard.append("bad"))
        raise LookupError

    await db.write(good)
    with pytest.raises(LookupError):
        await db.write(bad)
    assert heard == ["good"]


async def test_a_read_cannot_write(db: Database) -> None:
    with pytest.raises(Exception, match=r"(?i)read-?only"):
        await db.read(lambda tx: add(tx, "a"))
    assert await db.read(count) == 0


async def test_text_with_percent_signs_and_colons_is_only_text(db: Database) -> None:
    await db.write(lambda tx: add(tx, "100% :name %(name)s"))
    found = await db.read(lambda tx: tx.one("select name from workspaces where name like '100%'"))
    assert found == ("100% :name %(name)s",)


async def test_many_runs_a_statement_for_each_row(db: Database) -> None:
    await db.write(lambda tx: tx.many(ADD, [{"id": f"wsp_{n}", "name": "x"} for n in range(3)]))
    assert await db.read(count) == 3


@pytest.mark.all_in_folder("only SQLite reads on the event loop")
async def test_an_inline_read_of_many_rows_runs_in_a_thread(sqlite_path: Path) -> None:
    migrate.migrate_sqlite(sqlite_path, datetime.now(UTC))
    db = SqliteDatabase(sqlite_path)
    numbers = "with recursive n (i) as (select 1 union all select i + 1 from n where i < :most) select count(*) from n"
    threads: list[threading.Thread] = []

    def read(tx: Tx, most: int) -> int:
        threads.append(threading.current_thread())
        row = tx.one(numbers, most=most)
        return int(row[0]) if row else 0

    assert await db.read(lambda tx: read(tx, 100)) == 100
    assert await db.read(lambda tx: read(tx, 100_000)) == 100_000
    here = threading.current_thread()
    assert [one is here for one in threads] == [True, True, False]
    await db.close()


@pytest.mark.all_in_folder("PostgreSQL ends long statements itself")
async def test_a_read_for_a_request_ends_with_its_time(sqlite_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate.migrate_sqlite(sqlite_path, datetime.now(UTC))
    monkeypatch.setattr(limits, "READ_ASIDE_SECONDS", 0.05)
    endless = "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n"
    db = SqliteDatabase(sqlite_path)
    token = fairness.holder.set("someone")
    with pytest.raises(Unavailable, match="too long"):
        await db.read_aside(lambda tx: tx.one(endless))
    fairness.holder.reset(token)
    assert await db.read_aside(count) == 0
    await db.close()
