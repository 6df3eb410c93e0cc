"""Notices reach whoever listens: in this process on both databases, in every other on PostgreSQL."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest

from deedbox.kernel import limits
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.db import NOTICES_MISSED, Database, Tx
from deedbox.kernel.db.notices import APPLICATION, Outgoing
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.jobs import NewJob, Runner, Work, store
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

LISTENERS = (
    f"select pid from pg_stat_activity where application_name = '{APPLICATION}' and datname = current_database()"
)
CUT = LISTENERS.replace("select pid", "select pg_terminate_backend(pid, 5000)")


class Ear:
    """Remembers the notices of one kind that a database hears, and how often some may have been missed."""

    def __init__(self, db: Database, notice: str = "bell") -> None:
        self.heard: list[str] = []
        self.missed = 0
        db.listeners.add(notice, self.heard.append)
        db.listeners.add(NOTICES_MISSED, self._miss)

    def _miss(self) -> None:
        self.missed += 1


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def by_hand(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(sql.encode()).fetchall()


def ring(about: str) -> Callable[[Tx], None]:
    return lambda tx: tx.notify("bell", about)


@pytest.fixture
async def others(postgres_url: str) -> AsyncIterator[list[PostgresDatabase]]:
    """Two processes' worth of one PostgreSQL database."""
    async with AsyncExitStack() as stack:
        both = [PostgresDatabase(postgres_url) for _ in range(2)]
        for one in both:
            stack.push_async_callback(one.close)
        yield both


async def test_a_notice_is_heard_once_its_transaction_is_durable(db: Database) -> None:
    ear = Ear(db)
    await db.write(ring("one"))
    await until(lambda: ear.heard == ["one"])


async def test_a_change_that_fails_is_told_to_nobody(others: list[PostgresDatabase]) -> None:
    here, there = others
    near, far = Ear(here), Ear(there)
    await there.listen()
    await until(lambda: far.missed == 1)

    def fail(tx: Tx) -> None:
        tx.notify("bell", "never")
        raise BadRequest("no")

    with pytest.raises(BadRequest):
        await here.write(fail)
    await here.write(ring("after"))
    await until(lambda: far.heard != [])
    assert (near.heard, far.heard) == (["after"], ["after"])


async def test_a_process_hears_others_and_itself_each_once(others: list[PostgresDatabase]) -> None:
    here, there = others
    near, far = Ear(here), Ear(there)
    for one in others:
        await one.listen()
    await until(lambda: near.missed == far.missed == 1)

    def ring_twice(tx: Tx) -> None:
        tx.notify("bell", "twice")
        tx.notify("bell", "twice")
        tx.notify("another bell", "nobody listens to it")

    await here.write(ring_twice)
    await there.write(ring("back"))
    await here.write(ring("end"))
    await until(lambda: all({"back", "end"} <= set(ear.heard) for ear in (near, far)))
    assert sorted(near.heard) == sorted(far.heard) == ["back", "end", "twice"]


async def test_what_is_no_notice_of_this_version_is_passed_over(
    others: list[PostgresDatabase], postgres_url: str
) -> None:
    here, there = others
    ear = Ear(there)
    await there.listen()
    await until(lambda: ear.missed == 1)
    for text in ("", "{}", "[1]", "nonsense"):
        by_hand(postgres_url, f"select pg_notify('deedbox', '{text}')::text")
    await here.write(ring("end"))
    await until(lambda: ear.heard == ["end"])


async def test_a_listener_whose_connection_was_cut_comes_back_and_looks_for_what_it_missed(
    others: list[PostgresDatabase], postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = others
    ear = Ear(there)
    await there.listen()
    await until(lambda: ear.missed == 1)
    for round_ in range(1, 4):
        assert by_hand(postgres_url, CUT) == [(True,)]
        await here.write(ring("perhaps to nobody"))
        await until(lambda: ear.missed == 1 + round_)  # noqa: B023
        await here.write(ring(f"again {round_}"))
        await until(lambda: f"again {round_}" in ear.heard)  # noqa: B023
    assert "changes of other processes are seen later" in caplog.text
    assert len(by_hand(postgres_url, LISTENERS)) == 1
    await there.close()
    await until(lambda: by_hand(postgres_url, LISTENERS) == [])


async def test_what_comes_while_notices_are_sent_goes_together_and_each_once(
    others: list[PostgresDatabase], postgres_url: str
) -> None:
    _, there = others
    ear, outgoing = Ear(there), Outgoing("another process")
    await there.listen()
    await until(lambda: ear.missed == 1)
    assert outgoing.add([("bell", "one")])
    assert not outgoing.add([("bell", "two"), ("bell", "one")])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        outgoing.send(connection)
    assert outgoing.add([("bell", "lost")])
    with pytest.raises(psycopg.Error):
        outgoing.send(connection)
    outgoing.give_up()
    assert outgoing.add([("bell", "end")])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        outgoing.send(connection)
    await until(lambda: "end" in ear.heard)
    assert ear.heard == ["one", "two", "end"]


async def test_changes_of_many_at_once_are_all_told(others: list[PostgresDatabase]) -> None:
    here, there = others
    ear, names = Ear(there), {f"change {number}" for number in range(100)}
    await there.listen()
    await until(lambda: ear.missed == 1)
    await asyncio.gather(*(here.write(ring(name)) for name in names))
    await until(lambda: set(ear.heard) == names)
    assert len(ear.heard) == len(names)


async def test_what_a_process_changes_while_it_closes_is_told(others: list[PostgresDatabase]) -> None:
    here, there = others
    ear, begun, stopping = Ear(there), threading.Event(), threading.Event()
    await there.listen()
    await until(lambda: ear.missed == 1)

    def ring_late(tx: Tx) -> None:
        begun.set()
        stopping.wait(60)
        tx.notify("bell", "the last")

    change = asyncio.create_task(here.write(ring_late))
    await until(begun.is_set)
    end = asyncio.create_task(here.close())
    await until(lambda: here._threads._shutdown)
    stopping.set()
    await asyncio.gather(change, end)
    await until(lambda: ear.heard == ["the last"])


async def done(work: Work) -> None:
    del work


async def test_a_job_of_one_process_wakes_the_runner_of_another(
    others: list[PostgresDatabase], postgres_url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JOB_POLL_SECONDS", 3600)
    here, there = others
    runner = Runner(there, clock, {"note": done, "other": done}, concurrency=2, worker="there")
    ear = Ear(there, store.JOBS_DUE)
    await there.listen()
    await runner.start(alone=False, kinds=["note"])
    await until(lambda: ear.missed == 1)

    async def states() -> list[tuple[str, str]]:
        return [tuple(row) for row in await here.read(lambda tx: tx.all("select kind, state from jobs order by id"))]

    async def is_done(count: int) -> None:
        async with asyncio.timeout(60):
            while (await states()).count(("note", "done")) < count:
                await asyncio.sleep(0.01)

    async def add(kind: str) -> None:
        await here.write(lambda tx: store.put(tx, NewJob(kind), now=clock.now()))

    await add("note")
    await is_done(1)
    by_hand(postgres_url, CUT)
    await add("note")
    await is_done(2)
    await add("other")
    await add("note")
    await is_done(3)
    assert ("other", "ready") in await states()
    await runner.stop()


async def test_what_a_stopping_process_hands_back_another_takes_at_once(
    others: list[PostgresDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JOB_POLL_SECONDS", 3600)
    here, there = others
    began, clock = asyncio.Event(), SystemClock()

    async def stall(_: Work) -> None:
        began.set()
        await asyncio.Event().wait()

    first = Runner(here, clock, {"note": stall}, concurrency=1, worker="here")
    second = Runner(there, clock, {"note": done}, concurrency=1, worker="there")
    ear = Ear(there)
    await first.start(alone=False)
    job_id = await here.write(lambda tx: store.enqueue(tx, NewJob("note"), now=clock.now()))
    await began.wait()
    await there.listen()
    await second.start(alone=False)
    await until(lambda: ear.missed == 1)
    await first.stop(seconds=0)
    async with asyncio.timeout(60):
        while (job := await here.read(lambda tx: store.find(tx, job_id))) is None or job.state != "done":
            await asyncio.sleep(0.01)
    await second.stop()
