"""Jobs run once their time has come, have their effect once, and are never lost."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.errors import BadRequest, ErrorCode, Unavailable
from deedbox.kernel.jobs import BULK, NORMAL, PATIENT, URGENT, GiveUp, Job, LeaseLost, NewJob, Runner, Work, store
from deedbox.kernel.jobs.job import PRIORITIES, Slots
from deedbox.kernel.jobs.runner import retry_delay
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio


class Bench:
    """A database with jobs, and as many workers as a test wants."""

    def __init__(self, db: Database, clock: HandClock) -> None:
        self.db = db
        self.clock = clock

    async def add(self, kind: str = "note", payload: dict[str, Any] | None = None, **more: Any) -> str:
        now = self.clock.now()
        return await self.db.write(lambda tx: store.enqueue(tx, NewJob(kind, payload or {}, **more), now=now))

    def runner(self, work: Callable[[Work], Awaitable[None]], worker: str = "one", concurrency: int = 4) -> Runner:
        return Runner(self.db, self.clock, {"note": work}, concurrency=concurrency, worker=worker)

    async def claim(self, worker: str = "one", most: int = 100) -> list[Job]:
        now = self.clock.now()
        return await self.db.write(lambda tx: store.claim(tx, worker, Slots(most), now), isolation="read committed")

    async def job(self, job_id: str) -> Job:
        found = await self.db.read(lambda tx: store.find(tx, job_id))
        assert found is not None
        return found

    async def effects(self) -> list[str]:
        return [row[0] for row in await self.db.read(lambda tx: tx.all("select name from workspaces order by id"))]


@pytest.fixture
def bench(db: Database, clock: HandClock) -> Bench:
    return Bench(db, clock)


def effect(tx: Tx, name: str) -> None:
    """A change that fails when it is made twice."""
    tx.run("insert into workspaces (id, name, created_at) values (:id, :name, '')", id=f"wsp_{name}", name=name)


async def leave_effect(work: Work) -> None:
    await work.finish(lambda tx: effect(tx, work.job.id))


async def never(work: Work) -> None:
    await asyncio.Event().wait()


async def do_nothing(work: Work) -> None:
    return


async def fail(work: Work) -> None:
    raise OSError("the printer is on fire")


async def test_a_job_runs_once_and_is_done(bench: Bench) -> None:
    job_id = await bench.add(payload={"n": [1, "ü", None]})
    seen: list[Job] = []

    async def handler(work: Work) -> None:
        seen.append(work.job)

    runner = bench.runner(handler)
    assert await runner.run_due() == 1
    assert await runner.run_due() == 0
    assert (seen[0].payload, seen[0].attempts, seen[0].state) == ({"n": [1, "ü", None]}, 1, "running")
    done = await bench.job(job_id)
    assert (done.state, done.finished_at, done.error) == ("done", "2026-03-01T12:00:00Z", None)
    assert await bench.db.read(store.counts) == {}


async def test_a_job_is_enqueued_with_its_cause_or_not_at_all(bench: Bench) -> None:
    def doomed(tx: Tx) -> None:
        store.enqueue(tx, NewJob("note"), now=bench.clock.now())
        raise LookupError

    with pytest.raises(LookupError):
        await bench.db.write(doomed)
    assert await bench.claim() == []


async def test_a_waiting_or_running_job_of_the_same_key_is_joined(bench: Bench) -> None:
    first = await bench.add(unique_key="index:doc_1")
    assert await bench.add(unique_key="index:doc_1") == first
    assert await bench.add(unique_key="index:doc_2") != first
    await bench.claim(most=1)
    assert await bench.add(unique_key="index:doc_1") == first


async def test_many_who_enqueue_one_key_at_once_get_one_job(bench: Bench) -> None:
    ids = await asyncio.gather(*(bench.add(unique_key="k") for _ in range(40)))
    assert len(set(ids)) == 1
    assert len(await bench.claim()) == 1


async def test_jobs_without_a_key_are_never_joined(bench: Bench) -> None:
    assert await bench.add() != await bench.add()


@pytest.mark.parametrize("how", ["done", "parked"])
async def test_a_key_is_free_again_after_its_job_ended(bench: Bench, how: str) -> None:
    first = await bench.add(unique_key="k", max_attempts=1)
    await bench.runner(do_nothing if how == "done" else fail).run_due()
    assert (await bench.job(first)).state == how
    assert await bench.add(unique_key="k") != first


async def test_a_handler_can_plan_its_successor_under_the_same_key(bench: Bench) -> None:
    first = await bench.add(unique_key="k")

    async def handler(work: Work) -> None:
        await work.finish(lambda tx: store.enqueue(tx, NewJob("note", unique_key="k"), now=bench.clock.now()))

    await bench.runner(handler).run_due()
    assert [job.id for job in await bench.claim()] != [first]


async def test_a_timer_does_not_run_before_its_time(bench: Bench) -> None:
    await bench.add(run_at=bench.clock.now() + timedelta(seconds=60))
    runner = bench.runner(do_nothing)
    bench.clock.forward(59.9)
    assert await runner.run_due() == 0
    bench.clock.forward(0.1)
    assert await runner.run_due() == 1


async def test_a_cancelled_timer_never_runs_and_one_that_has_begun_cannot_be_cancelled(bench: Bench) -> None:
    await bench.add(unique_key="soon", run_at=bench.clock.now() + timedelta(seconds=60))
    assert await bench.db.write(lambda tx: store.cancel(tx, "soon"))
    assert not await bench.db.write(lambda tx: store.cancel(tx, "soon"))
    await bench.add(unique_key="now")
    bench.clock.forward(61)
    assert len(await bench.claim()) == 1
    assert not await bench.db.write(lambda tx: store.cancel(tx, "now"))


async def test_jobs_are_claimed_by_priority_and_then_by_time(bench: Bench) -> None:
    late = await bench.add(priority=NORMAL)
    bulk = await bench.add(priority=BULK, run_at=bench.clock.now() - timedelta(seconds=limits.JOB_LATE_SECONDS - 1))
    early = await bench.add(priority=NORMAL, run_at=bench.clock.now() - timedelta(seconds=5))
    patient = await bench.add(priority=PATIENT, run_at=bench.clock.now() - timedelta(seconds=10))
    urgent = await bench.add(priority=URGENT)
    assert [job.id for job in await bench.claim(most=3)] == [urgent, early, late]
    assert [job.id for job in await bench.claim()] == [patient, bulk]


@pytest.mark.parametrize("priority", [NORMAL, PATIENT])
async def test_bulk_work_that_is_late_waits_for_no_work_that_came_after_it(bench: Bench, priority: int) -> None:
    """Else a bulk send would wait for as long as documents come in to be indexed."""
    now = bench.clock.now()
    first = await bench.add(priority=priority, run_at=now - timedelta(seconds=limits.JOB_LATE_SECONDS + 5))
    late = [timedelta(seconds=limits.JOB_LATE_SECONDS + more) for more in (1, 0)]
    bulk = [await bench.add(priority=BULK, run_at=now - before) for before in late]
    after = await bench.add(priority=priority, run_at=now - timedelta(seconds=5))
    urgent = await bench.add(priority=URGENT)
    claimed = [(await bench.claim(most=1))[0].id for _ in range(5)]
    assert claimed == [urgent, first, *bulk, after]


async def test_a_lapsed_job_takes_its_turn_among_those_that_wait(bench: Bench) -> None:
    lapsed = await bench.add()
    assert len(await bench.claim("crashed")) == 1
    bench.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    waiting = [await bench.add() for _ in range(3)]
    urgent = await bench.add(priority=URGENT)
    assert [job.id for job in await bench.claim(most=2)] == [urgent, lapsed]
    assert {job.id for job in await bench.claim()} == set(waiting)


@pytest.mark.parametrize("stalled", [PATIENT, BULK])
async def test_work_that_stalls_leaves_room_for_what_is_more_urgent(bench: Bench, stalled: int) -> None:
    begun: list[int] = []

    async def handler(work: Work) -> None:
        begun.append(work.job.priority)
        await never(work)

    runner = bench.runner(handler, concurrency=4)
    await runner.start(alone=False)
    for priority, most in ((stalled, 2), (NORMAL, 3), (URGENT, 4)):
        for _ in range(4):
            await bench.add(priority=priority)
        runner.wake()
        async with asyncio.timeout(30):
            while len(begun) < most:
                await asyncio.sleep(0.01)
    await runner.stop(seconds=0)
    assert begun == [stalled, stalled, NORMAL, URGENT]


async def test_a_mail_waits_for_no_documents_to_be_indexed_however_many_and_long_they_wait(bench: Bench) -> None:
    begun: list[int] = []

    async def handler(work: Work) -> None:
        begun.append(work.job.priority)
        if work.job.priority == PATIENT:
            await never(work)

    runner = bench.runner(handler, concurrency=4)
    for _ in range(20):
        await bench.add(priority=PATIENT)
    bench.clock.forward(limits.JOB_LATE_SECONDS + 1)
    await runner.start(alone=False)
    async with asyncio.timeout(30):
        while begun.count(PATIENT) < 2:
            await asyncio.sleep(0.01)
    for _ in range(3):
        await bench.add()
    async with asyncio.timeout(30):
        while begun.count(NORMAL) < 3:
            await asyncio.sleep(0.01)
    await runner.stop(seconds=0)
    assert begun.count(PATIENT) == 2


async def test_a_bulk_job_that_stalls_leaves_one_of_two_slots_to_others(bench: Bench) -> None:
    begun: list[int] = []

    async def handler(work: Work) -> None:
        begun.append(work.job.priority)
        if work.job.priority == BULK:
            await never(work)

    runner = bench.runner(handler, concurrency=2)
    await bench.add(priority=BULK)
    await runner.start(alone=False)
    async with asyncio.timeout(30):
        while not begun:
            await asyncio.sleep(0.01)
    for _ in range(3):
        await bench.add(priority=BULK)
        await bench.add()
    runner.wake()
    async with asyncio.timeout(30):
        while begun.count(NORMAL) < 3:
            await asyncio.sleep(0.01)
    await runner.stop(seconds=0)
    assert begun.count(BULK) == 1


async def test_urgent_jobs_that_stall_leave_one_slot_to_others(bench: Bench) -> None:
    """Seals that wait for a store that is away must not hold up every mail."""
    begun: list[int] = []

    async def handler(work: Work) -> None:
        begun.append(work.job.priority)
        if work.job.priority == URGENT:
            await never(work)

    runner = bench.runner(handler, concurrency=4)
    for _ in range(8):
        await bench.add(priority=URGENT)
    for _ in range(3):
        await bench.add()
    await runner.start(alone=False)
    async with asyncio.timeout(30):
        while begun.count(NORMAL) < 3:
            await asyncio.sleep(0.01)
    await runner.stop(seconds=0)
    assert begun.count(URGENT) == 3


@pytest.mark.parametrize("concurrency", [1, 2, 3])
async def test_few_slots_are_enough_for_every_priority(bench: Bench, concurrency: int) -> None:
    ids = [await bench.add(priority=priority) for priority in PRIORITIES for _ in range(2)]
    runner = bench.runner(leave_effect, concurrency=concurrency)
    await runner.start(alone=False)
    async with asyncio.timeout(30):
        while len(await bench.effects()) < len(ids):
            await asyncio.sleep(0.01)
    await runner.stop()
    assert sorted(await bench.effects()) == sorted(ids)


async def test_a_claim_takes_no_more_than_asked_for(bench: Bench) -> None:
    for _ in range(30):
        await bench.add()
    await bench.db.write(lambda tx: tx.run("analyze") if tx.dialect == "postgres" else 0)
    assert [len(await bench.claim(most=7)) for _ in range(5)] == [7, 7, 7, 7, 2]


@pytest.mark.parametrize("priority", [NORMAL, PATIENT])
async def test_workers_that_claim_at_the_same_moment_pass_over_each_other_s_jobs(
    postgres_url: str, clock: HandClock, priority: int
) -> None:
    db = PostgresDatabase(postgres_url)
    bench = Bench(db, clock)
    ids = {await bench.add(priority=priority) for _ in range(6)}
    claimed, may_commit = threading.Event(), threading.Event()

    def slowly(tx: Tx) -> list[Job]:
        jobs = store.claim(tx, "slow", Slots(3), clock.now())
        claimed.set()
        may_commit.wait(60)
        return jobs

    slow = asyncio.create_task(db.write(slowly, isolation="read committed"))
    await asyncio.to_thread(claimed.wait, 60)
    try:
        async with asyncio.timeout(30):
            quick = {job.id for job in await bench.claim("quick")}
    finally:
        may_commit.set()
    held = {job.id for job in await slow}
    assert (len(quick), len(held), quick | held) == (3, 3, ids)
    await db.close()


async def test_three_workers_do_two_hundred_jobs_once_each(bench: Bench) -> None:
    ids = [await bench.add(payload={"n": n}) for n in range(200)]
    begun: Counter[str] = Counter()

    async def handler(work: Work) -> None:
        begun[work.job.id] += 1
        await asyncio.sleep(0)
        await leave_effect(work)

    async def drain(runner: Runner) -> None:
        while await runner.run_due():
            pass

    await asyncio.gather(*(drain(bench.runner(handler, worker)) for worker in ("one", "two", "three")))
    assert begun == Counter(ids)
    assert sorted(await bench.effects()) == sorted(ids)


async def test_the_loops_work_off_what_is_due_and_wake_for_more(bench: Bench) -> None:
    ids = [await bench.add() for _ in range(10)]
    runners = [bench.runner(leave_effect, worker, concurrency=2) for worker in ("one", "two")]
    for runner in runners:
        await runner.start(alone=False)
    later = await bench.add()
    for runner in runners:
        runner.wake()
    async with asyncio.timeout(30):
        while len(await bench.effects()) < 11:
            await asyncio.sleep(0.01)
    for runner in runners:
        await runner.stop()
    assert sorted(await bench.effects()) == sorted([*ids, later])


async def test_an_error_of_the_database_that_nobody_foresaw_does_not_end_the_loops(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    job = await bench.add()
    await bench.db.write(lambda tx: tx.run("alter table jobs rename to away"))
    runner = bench.runner(leave_effect)
    await runner.start(alone=False)
    async with asyncio.timeout(30):
        while "jobs cannot be claimed" not in caplog.text:
            await asyncio.sleep(0.01)
        await bench.db.write(lambda tx: tx.run("alter table away rename to jobs"))
        while await bench.effects() != [job]:
            await asyncio.sleep(0.01)
    await runner.stop()


async def test_a_wake_up_during_the_look_for_work_is_heard(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOB_POLL_SECONDS", 3600)
    looked = False
    claim = store.claim

    def claim_and_add(tx: Tx, worker: str, slots: Slots, now: datetime) -> list[Job]:
        nonlocal looked
        found = claim(tx, worker, slots, now)
        if not looked:
            looked = True
            store.enqueue(tx, NewJob("note"), now=now)
            tx.on_commit(runner.wake)
        return found

    monkeypatch.setattr(store, "claim", claim_and_add)
    runner = bench.runner(leave_effect)
    await runner.start(alone=False)
    async with asyncio.timeout(30):
        while not await bench.effects():
            await asyncio.sleep(0.01)
    await runner.stop()


async def test_a_lapsed_lease_is_claimed_by_another_and_the_first_can_save_nothing(bench: Bench) -> None:
    job_id = await bench.add()
    (first,) = await bench.claim("crashed")
    bench.clock.forward(limits.JOB_LEASE_SECONDS)
    assert await bench.claim("two") == []
    bench.clock.forward(1)
    (second,) = await bench.claim("two")
    assert (second.id, second.attempts) == (job_id, 2)
    late = Work(first, bench.db, bench.clock, "crashed")
    with pytest.raises(LeaseLost):
        await late.finish(lambda tx: effect(tx, "late"))
    with pytest.raises(LeaseLost):
        await late.progress(1, 2)
    assert await bench.effects() == []
    await Work(second, bench.db, bench.clock, "two").finish(lambda tx: effect(tx, "in time"))
    assert await bench.effects() == ["in time"]


async def test_a_worker_that_claims_its_own_lapsed_job_again_saves_it_once(bench: Bench) -> None:
    await bench.add()
    (first,) = await bench.claim("one")
    bench.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    (second,) = await bench.claim("one")
    with pytest.raises(LeaseLost):
        await Work(first, bench.db, bench.clock, "one").finish(lambda tx: effect(tx, "a"))
    await Work(second, bench.db, bench.clock, "one").finish(lambda tx: effect(tx, "b"))
    assert await bench.effects() == ["b"]


async def test_an_effect_that_fails_leaves_the_job_unfinished(bench: Bench) -> None:
    job_id = await bench.add()

    async def handler(work: Work) -> None:
        def both(tx: Tx) -> None:
            effect(tx, "half")
            raise BadRequest("The other half failed")

        await work.finish(both)

    await bench.runner(handler).run_due()
    assert await bench.effects() == []
    job = await bench.job(job_id)
    assert (job.state, job.error) == ("ready", "The other half failed")


async def test_a_failing_job_is_tried_again_later_each_time_and_parked_in_the_end(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=4)
    runner, waits = bench.runner(fail), []
    for _ in range(3):
        assert await runner.run_due() == 1
        job = await bench.job(job_id)
        assert job.state == "ready"
        waits.append(job.run_at - bench.clock.now().timestamp())
        assert await runner.run_due() == 0
        bench.clock.forward(waits[-1] + 0.001)
    assert waits == sorted(waits)
    assert await runner.run_due() == 1
    job = await bench.job(job_id)
    assert (job.state, job.attempts, job.error) == ("parked", 4, "OSError: the printer is on fire")
    assert job.finished_at is not None
    bench.clock.forward(10 * limits.JOB_RETRY_MAX_SECONDS)
    assert await runner.run_due() == 0
    assert [job.id for job in await bench.db.read(lambda tx: store.list_parked(tx, 10))] == [job_id]


async def test_no_job_is_given_up_because_the_storage_is_away(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=2)

    async def in_vain(_: Work) -> None:
        raise Unavailable("The store does not answer", code=ErrorCode.STORAGE_UNAVAILABLE)

    for _ in range(5):
        assert await bench.runner(in_vain).run_due() == 1
        job = await bench.job(job_id)
        assert (job.state, job.attempts, job.error) == ("ready", 0, "The store does not answer")
        assert job.run_at == bench.clock.now().timestamp() + limits.JOB_AWAY_SECONDS
        bench.clock.forward(limits.JOB_AWAY_SECONDS)


def test_the_delay_doubles_with_jitter_up_to_an_hour() -> None:
    for attempts in range(1, 60):
        middle = min(limits.JOB_RETRY_MAX_SECONDS, limits.JOB_RETRY_BASE_SECONDS * 2 ** (attempts - 1))
        delays = {retry_delay(attempts) for _ in range(20)}
        assert all(0.8 * middle <= delay <= 1.2 * middle for delay in delays)
        assert len(delays) > 1


async def test_a_job_that_kills_its_process_each_time_is_parked_without_running_again(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=3)
    for _ in range(3):
        assert len(await bench.claim("victim")) == 1
        bench.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    ran: list[str] = []

    async def handler(work: Work) -> None:
        ran.append(work.job.id)

    assert await bench.runner(handler).run_due() == 1
    job = await bench.job(job_id)
    assert (job.state, ran) == ("parked", [])
    assert job.error == "The process died each time it ran this job."


async def test_a_job_that_is_put_off_waits_as_if_it_had_never_begun(bench: Bench) -> None:
    job_id = await bench.add(unique_key="one", max_attempts=1)
    later = bench.clock.now() + timedelta(seconds=600)

    async def put_off(work: Work) -> None:
        await work.put_off(later)

    assert await bench.runner(put_off).run_due() == 1
    job = await bench.job(job_id)
    assert (job.state, job.run_at, job.attempts, job.error) == ("ready", later.timestamp(), 0, None)
    assert await bench.add(unique_key="one") == job_id
    assert await bench.runner(leave_effect).run_due() == 0
    bench.clock.forward(600)
    assert await bench.runner(leave_effect).run_due() == 1
    assert await bench.effects() == [job_id]


async def test_a_job_that_another_has_taken_over_cannot_be_put_off(bench: Bench) -> None:
    job_id = await bench.add()
    [job] = await bench.claim()
    bench.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    await bench.claim("two")
    with pytest.raises(LeaseLost):
        await Work(job, bench.db, bench.clock, "one").put_off(bench.clock.now())
    assert (await bench.job(job_id)).state == "running"


async def test_giving_up_parks_at_once_with_the_reason(bench: Bench) -> None:
    job_id = await bench.add()

    async def handler(work: Work) -> None:
        raise GiveUp("The recipient's address does not exist.")

    await bench.runner(handler).run_due()
    job = await bench.job(job_id)
    assert (job.state, job.attempts, job.error) == ("parked", 1, "The recipient's address does not exist.")


async def test_a_job_of_an_unknown_kind_is_parked_by_name(bench: Bench) -> None:
    job_id = await bench.add("from_the_future")
    await bench.runner(do_nothing).run_due()
    assert "from_the_future" in str((await bench.job(job_id)).error)


async def test_an_error_is_kept_without_secrets(bench: Bench) -> None:
    job_id = await bench.add()

    async def handler(work: Work) -> None:
        raise ValueError("whsec_AAAA/BBBB is not valid")

    await bench.runner(handler).run_due()
    assert (await bench.job(job_id)).error == "ValueError: whsec_… is not valid"


async def test_an_error_is_cut_to_what_the_database_can_hold(bench: Bench) -> None:
    await bench.add()
    (job,) = await bench.claim()
    await bench.db.write(lambda tx: store.park(tx, job, "one", bench.clock.now(), "a\0b caf\udce9 " + "x" * 10_000))
    error = str((await bench.job(job.id)).error)
    assert error.startswith("ab caf? xxx")
    assert len(error) == limits.JOB_ERROR_CHARS


async def test_a_parked_job_can_be_retried_with_its_attempts_counted_anew(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=1)
    await bench.runner(fail).run_due()
    assert await bench.db.write(lambda tx: store.retry(tx, job_id, bench.clock.now()))
    assert not await bench.db.write(lambda tx: store.retry(tx, job_id, bench.clock.now()))
    assert await bench.runner(leave_effect).run_due() == 1
    job = await bench.job(job_id)
    assert (job.state, job.attempts, job.error) == ("done", 1, None)
    assert await bench.effects() == [job_id]


async def test_progress_is_seen_while_the_job_runs(bench: Bench) -> None:
    job_id = await bench.add()

    async def handler(work: Work) -> None:
        await work.progress(3, 10, "third page")
        found = (await bench.job(job_id)).progress
        assert found is not None
        assert (found.done, found.total, found.note) == (3, 10, "third page")

    await bench.runner(handler).run_due()
    assert (await bench.job(job_id)).state == "done"


async def test_a_graceful_stop_hands_back_what_runs_without_counting_the_attempt(bench: Bench) -> None:
    job_id = await bench.add()
    begun = asyncio.Event()

    async def handler(work: Work) -> None:
        begun.set()
        await never(work)

    runner = bench.runner(handler)
    await runner.start(alone=False)
    await begun.wait()
    await runner.stop(seconds=0)
    job = await bench.job(job_id)
    assert (job.state, job.attempts) == ("ready", 0)
    assert await bench.runner(leave_effect, "two").run_due() == 1


async def test_a_claim_under_way_at_the_stop_leaves_no_job_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await bench.add()
    looking, may_look, looked = threading.Event(), threading.Event(), asyncio.Event()
    claim = store.claim

    def claim_late(tx: Tx, worker: str, slots: Slots, now: datetime) -> list[Job]:
        tx.on_commit(looked.set)
        looking.set()
        may_look.wait(30)
        return claim(tx, worker, slots, now)

    monkeypatch.setattr(store, "claim", claim_late)
    runner = bench.runner(leave_effect)
    await runner.start(alone=False)
    await asyncio.to_thread(looking.wait, 30)
    stopping = asyncio.create_task(runner.stop(seconds=0))
    await asyncio.sleep(0.05)
    may_look.set()
    await asyncio.gather(stopping, looked.wait())
    job = await bench.job(job_id)
    assert (job.state, job.attempts) == ("ready", 0)


async def test_a_graceful_stop_lets_a_job_end_that_is_about_to(bench: Bench) -> None:
    job_id = await bench.add()
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def handler(work: Work) -> None:
        begun.set()
        await may_end.wait()
        await leave_effect(work)

    runner = bench.runner(handler)
    await runner.start(alone=False)
    await begun.wait()
    asyncio.get_running_loop().call_soon(may_end.set)
    await runner.stop(seconds=30)
    assert (await bench.job(job_id)).state == "done"
    assert await bench.effects() == [job_id]


async def test_a_lone_process_takes_over_at_once_what_its_predecessor_was_doing(bench: Bench) -> None:
    job_id = await bench.add()
    await bench.claim("predecessor")
    runner = bench.runner(leave_effect, "successor")
    await runner.start(alone=True)
    async with asyncio.timeout(30):
        while not await bench.effects():
            bench.clock.forward(0.001)
            await asyncio.sleep(0.01)
    await runner.stop()
    assert await bench.effects() == [job_id]


async def test_a_running_job_keeps_its_lease_as_long_as_it_is_renewed(bench: Bench) -> None:
    await bench.add()
    begun = asyncio.Event()

    async def handler(work: Work) -> None:
        begun.set()
        await never(work)

    runner = bench.runner(handler)
    await runner.start(alone=False)
    await begun.wait()
    for _ in range(4):
        bench.clock.forward(limits.JOB_LEASE_SECONDS - 1)
        await runner.renew()
        assert await bench.claim("two") == []
    await runner.stop(seconds=0)


async def test_a_job_that_another_has_taken_over_is_stopped_here(bench: Bench) -> None:
    await bench.add()
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def handler(work: Work) -> None:
        begun.set()
        try:
            await never(work)
        finally:
            stopped.set()

    runner = bench.runner(handler)
    await runner.start(alone=False)
    await begun.wait()
    bench.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    (taken,) = await bench.claim("two")
    await runner.renew()
    async with asyncio.timeout(30):
        await stopped.wait()
    await runner.stop(seconds=0)
    job = await bench.job(taken.id)
    assert (job.state, job.attempts) == ("running", 2)


async def test_a_job_whose_end_could_not_be_saved_lapses_although_its_worker_lives(bench: Bench) -> None:
    busy, lost = await bench.add(priority=URGENT), await bench.add()
    begun, ended = asyncio.Event(), asyncio.Event()

    class Flaky:
        """The same database, which for a moment cannot be reached by the failing job."""

        dialect = bench.db.dialect
        listeners = bench.db.listeners
        away = False
        read = staticmethod(bench.db.read)
        read_aside = staticmethod(bench.db.read_aside)
        listen = staticmethod(bench.db.listen)
        close = staticmethod(bench.db.close)

        async def write(self, fn: Callable[[Tx], Any], **more: Any) -> Any:
            if self.away:
                self.away = False
                ended.set()
                raise Unavailable("gone", code=ErrorCode.DATABASE_UNAVAILABLE)
            return await bench.db.write(fn, **more)

    flaky = Flaky()

    async def handler(work: Work) -> None:
        if work.job.id == busy:
            begun.set()
            await never(work)
        await begun.wait()
        flaky.away = True
        raise OSError

    runner = Runner(flaky, bench.clock, {"note": handler}, concurrency=2, worker="one")
    await runner.start(alone=False)
    await ended.wait()
    for _ in range(10):  # until the failed attempt has come to its end
        await asyncio.sleep(0)
    started = bench.clock.now().timestamp()
    bench.clock.forward(limits.JOB_LEASE_SECONDS - 1)
    await runner.renew()
    rows = await bench.db.read(lambda tx: tx.all("select id, lease_until from jobs where state = 'running'"))
    first_lease = started + limits.JOB_LEASE_SECONDS
    assert dict(rows) == {busy: first_lease + limits.JOB_LEASE_SECONDS - 1, lost: first_lease}
    await runner.stop(seconds=0)


async def test_old_done_jobs_are_forgotten_and_parked_ones_stay(bench: Bench) -> None:
    await bench.add()
    await bench.runner(do_nothing).run_due()
    parked = await bench.add(max_attempts=1)
    await bench.runner(fail).run_due()
    bench.clock.forward(limits.JOB_KEEP_DAYS * 86_400 - 1)
    assert await bench.db.write(lambda tx: store.prune(tx, bench.clock.now())) == 0
    bench.clock.forward(2)
    waiting = await bench.add()
    assert await bench.db.write(lambda tx: store.prune(tx, bench.clock.now())) == 1
    rows = await bench.db.read(lambda tx: tx.all("select id from jobs order by id"))
    assert [row[0] for row in rows] == sorted([parked, waiting])


async def test_jobs_are_forgotten_a_part_at_a_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PRUNE_ROWS", 3)
    for _ in range(7):
        await bench.add()
    await bench.runner(do_nothing).run_due()
    bench.clock.forward((limits.JOB_KEEP_DAYS + 1) * 86_400)
    parts = [await bench.db.write(lambda tx: store.prune(tx, bench.clock.now())) for _ in range(4)]
    assert parts == [3, 3, 1, 0]


async def test_a_payload_has_a_bound_in_bytes(bench: Bench) -> None:
    room = limits.JOB_PAYLOAD_BYTES - len('{"t":""}')
    assert await bench.add(payload={"t": "x" * room})
    for text in ("x" * (room + 1), "€" * (room // 3 + 1)):
        with pytest.raises(ValueError, match="note"):
            await bench.add(payload={"t": text})


CHILD = """
import asyncio, sys
from pathlib import Path
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.jobs import Runner

async def main(url, does):
    db = SqliteDatabase(Path(url[7:])) if url.startswith("sqlite:") else PostgresDatabase(url)

    async def handler(work):
        if does == "hang":
            print("running", work.job.attempts, flush=True)
            await asyncio.Event().wait()
        add = "insert into workspaces (id, name, created_at) values (:id, 'done', '')"
        await work.finish(lambda tx: tx.run(add, id=work.job.id))

    runner = Runner(db, SystemClock(), {"note": handler}, concurrency=1, worker=does)
    print("did", await runner.run_due(), flush=True)
    await db.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_job_whose_process_was_killed_is_done_by_another(bench: Bench, database_url: str) -> None:
    job_id = await bench.add()
    command = [sys.executable, "-c", CHILD, database_url]
    with subprocess.Popen([*command, "hang"], stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "running 1\n"
        victim.send_signal(signal.SIGKILL)
    assert (await bench.job(job_id)).state == "running"
    again = subprocess.run([*command, "work"], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert again.stdout == "did 0\n"
    await bench.db.write(lambda tx: tx.run("update jobs set lease_until = lease_until - 3600"))
    again = subprocess.run([*command, "work"], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert again.stdout == "did 1\n"
    job = await bench.job(job_id)
    assert (job.state, job.attempts) == ("done", 2)
    assert await bench.effects() == ["done"]


async def test_a_runner_stops_although_a_job_ends_at_that_very_moment(bench: Bench) -> None:
    async def note(_: Work) -> None:
        return None

    async with asyncio.timeout(60):
        for _ in range(5):
            await bench.add()
            runner = bench.runner(note)
            await runner.start(alone=True)
            while runner._running or runner._wake.is_set() or not await bench.db.read(_all_done):
                await asyncio.sleep(0.01)
            runner.wake()
            await asyncio.sleep(0)
            await runner.stop()


def _all_done(tx: Tx) -> bool:
    return tx.one("select 1 from jobs where state <> 'done' limit 1") is None


@pytest.mark.parametrize(
    ("payload", "workspace_id"), [({}, "wsp_1"), ({"document_id": 3}, "wsp_1"), ({"document_id": "doc_1"}, None)]
)
async def test_a_job_that_does_not_name_its_document_is_parked_at_once(
    bench: Bench, payload: dict[str, Any], workspace_id: str | None
) -> None:
    async def handle(work: Work) -> None:
        assert work.named("document_id") == ("wsp_1", "doc_1")

    await bench.db.write(lambda tx: tx.run("insert into workspaces (id, name, created_at) values ('wsp_1', '', '')"))
    good = await bench.add(payload={"document_id": "doc_1"}, workspace_id="wsp_1")
    bad = await bench.add(payload=payload, workspace_id=workspace_id)
    await bench.runner(handle).run_due()
    told = await bench.db.read(lambda tx: [store.find(tx, good), store.find(tx, bad)])
    done, parked = [job for job in told if job is not None]
    assert done.state == "done"
    assert (parked.state, parked.attempts) == ("parked", 1)
    assert parked.error == "The job does not say which document of which workspace it is about."


async def test_a_job_that_was_due_is_done_although_the_clock_was_set_back(bench: Bench) -> None:
    """Only one that was to run at once: a timer goes on waiting for its moment."""
    done: list[str] = []

    async def note(work: Work) -> None:
        done.append(work.job.id)

    runner = bench.runner(note)
    await runner._look_at_clock()
    due = await bench.add()
    timer = await bench.add(run_at=bench.clock.now() + timedelta(seconds=2))
    bench.clock.forward(-3600)
    assert await runner.run_due() == 0
    await runner._look_at_clock()
    assert (await runner.run_due(), done) == (1, [due])
    assert (await bench.job(timer)).run_at > bench.clock.now().timestamp() + 3600


async def test_a_job_that_was_written_down_while_the_clock_was_set_back_is_found_too(bench: Bench) -> None:
    async def note(work: Work) -> None: ...

    runner = bench.runner(note)
    await runner._look_at_clock()
    bench.clock.forward(-3600)
    await runner._look_at_clock()
    bench.clock.forward(3600)
    await bench.add()
    bench.clock.forward(-3600)
    await runner._look_at_clock()
    assert await runner.run_due() == 1


async def test_no_lease_outlasts_a_clock_that_was_set_back(bench: Bench) -> None:
    async def note(work: Work) -> None: ...

    runner = bench.runner(note, worker="two")
    await runner._look_at_clock()
    await bench.add()
    await bench.claim("one")  # which dies
    bench.clock.forward(-3600)
    await runner._look_at_clock()
    bench.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    assert await runner.run_due() == 1
