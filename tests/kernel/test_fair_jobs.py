"""Index jobs are claimed fairly by workspace, and automatic ones yield to those that somebody asked for."""

import sqlite3
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.jobs import AUTOMATIC, BULK, PATIENT, Job, NewJob, store
from deedbox.kernel.jobs.job import Claimed, Slots
from tests.conftest import HandClock

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

LATE = limits.JOB_LATE_SECONDS + 1


class Line:
    """Index jobs of several workspaces, and one worker that claims them."""

    def __init__(self, db: Database, clock: HandClock) -> None:
        self.db = db
        self.clock = clock
        self.claimed = Claimed()

    async def add(self, workspace: str, number: int = 1, **more: Any) -> None:
        """Jobs, each a little later than the one before."""
        wanted = {"kind": "index", "priority": PATIENT, **more}
        jobs = [NewJob(workspace_id=workspace, **wanted) for _ in range(number)]

        def put(tx: Tx) -> None:
            for job in jobs:
                store.put(tx, job, now=self.clock.now())
                self.clock.forward(0.001)

        await self.db.write(put)

    async def claim(self, most: int = 1, worker: str = "one") -> list[Job]:
        slots = Slots(most, claimed=self.claimed)
        jobs = await self.db.write(
            lambda tx: store.claim(tx, worker, slots, self.clock.now()), isolation="read committed"
        )
        self.claimed = slots.with_more(jobs).claimed
        return jobs

    async def order(self, claims: int) -> str:
        """The workspaces whose jobs are claimed one after the other, each done before the next."""
        found = ""
        for _ in range(claims):
            for job in await self.claim():
                found += job.workspace_id or "-"
                await self.end(job)
        return found

    async def end(self, job: Job) -> None:
        await self.db.write(lambda tx: store.finish(tx, job, "one", self.clock.now()))


@pytest.fixture
def line(db: Database, clock: HandClock) -> Line:
    return Line(db, clock)


def names(jobs: list[Job]) -> str:
    return "".join(job.workspace_id or "-" for job in jobs)


async def test_one_upload_waits_for_running_jobs_of_others_only(line: Line) -> None:
    await line.add("A", 500)
    assert names(await line.claim(2)) == "AA"
    await line.add("B")
    assert names(await line.claim(3)) == "BAA"


async def test_one_upload_waits_for_one_job_where_one_runs_at_a_time(line: Line) -> None:
    """No job runs at the moment of the claim, and all of the others are older."""
    await line.add("B", 500)
    assert await line.order(2) == "BB"
    await line.add("A")
    await line.add("C")
    assert await line.order(4) == "CABB"


async def test_workspaces_with_fewer_running_jobs_come_first_then_each_in_turn(line: Line) -> None:
    await line.add("A", 5)
    assert names(await line.claim(2)) == "AA"
    await line.add("C", 3)
    await line.add("B", 3)
    assert names(await line.claim(7)) == "BCBCBCA"


async def test_a_single_workspace_is_served_by_age(line: Line) -> None:
    await line.add("A", 6)
    first = [job.run_at for job in await line.claim(4)]
    assert first == sorted(first)
    assert first[-1] < (await line.claim(1))[0].run_at


async def test_jobs_that_are_not_due_hold_up_no_workspace(line: Line, clock: HandClock) -> None:
    await line.add("A", 3, run_at=clock.now().replace(year=2099))
    await line.add("B", 2)
    await line.add("A")
    assert names(await line.claim(5)) == "ABB"


async def test_a_due_job_is_found_behind_many_workspaces_of_which_nothing_is_due(
    line: Line, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a model was away: the jobs of all workspaces wait for their next attempt."""
    monkeypatch.setattr(limits, "JOB_WORKSPACES_LOOKED_AT", 2)
    for workspace in "ABCD":
        await line.add(workspace, run_at=clock.now().replace(year=2099))
    await line.add("E", 2)
    assert names(await line.claim(3)) == "EE"


async def test_a_lapsed_job_counts_as_waiting_in_its_workspace(line: Line, clock: HandClock) -> None:
    await line.add("A", 3)
    [lapsed] = await line.claim(worker="crashed")
    clock.forward(limits.JOB_LEASE_SECONDS + 1)
    await line.add("B")
    assert names(await line.claim()) == "B"
    assert [job.id for job in await line.claim()] == [lapsed.id]
    assert names(await line.claim(5)) == "AA"


async def test_every_workspace_is_served_although_a_claim_looks_at_few(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JOB_WORKSPACES_LOOKED_AT", 2)
    everyone = "ABCDEFGHI"
    for workspace in everyone:
        await line.add(workspace, 20)
    assert await line.order(2 * len(everyone)) == everyone * 2


@pytest.mark.parametrize(("few", "many"), [((1, 40), (1, 4000)), ((40, 2), (400, 20))])
async def test_a_claim_reads_as_many_rows_however_many_jobs_wait(
    line: Line, monkeypatch: pytest.MonkeyPatch, few: tuple[int, int], many: tuple[int, int]
) -> None:
    """Of one workspace with many jobs, and of many workspaces."""
    monkeypatch.setattr(limits, "JOB_WORKSPACES_LOOKED_AT", 4)
    work = []
    for size, (workspaces, each) in enumerate((few, many)):
        for number in range(workspaces):
            await line.add(f"{size}{number:06}", each)
        work.append(await read_by_claim(line))
        await line.db.write(lambda tx: tx.run("delete from jobs"))
        line.claimed = Claimed()
    # A hundred times as many jobs; PostgreSQL plans small tables a little differently.
    assert work[1] <= work[0] * 3


async def read_by_claim(line: Line) -> float:
    """The rows that PostgreSQL reads for a claim, or the steps of SQLite's machine."""
    read = "select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables where relname = 'jobs'"
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    def claim(tx: Tx) -> float:
        if tx.dialect == "postgres":
            assert store.claim(tx, "one", Slots(2), line.clock.now())
            found = tx.one(read)
            assert found is not None
            return float(found[0])
        connection: sqlite3.Connection = tx._connection  # type: ignore[attr-defined]
        connection.set_progress_handler(step, 1)
        assert store.claim(tx, "one", Slots(2), line.clock.now())
        connection.set_progress_handler(None, 0)
        return steps

    return await line.db.write(claim, isolation="read committed")


async def test_automatic_indexing_waits_for_an_upload_that_came_later(line: Line) -> None:
    await line.add("A", 3, priority=AUTOMATIC)
    await line.add("B", 2)
    assert await line.order(5) == "BBAAA"


async def test_automatic_indexing_is_fair_by_workspace_too(line: Line) -> None:
    await line.add("A", 50, priority=AUTOMATIC)
    assert names(await line.claim()) == "A"
    await line.add("B", priority=AUTOMATIC)
    assert names(await line.claim(2)) == "BA"


async def test_late_automatic_indexing_gets_one_turn_among_uploads(line: Line, clock: HandClock) -> None:
    """It neither waits for ever nor makes an upload wait until all of it is done."""
    await line.add("A", 9, priority=AUTOMATIC)
    clock.forward(LATE)
    await line.add("B", 9)
    assert await line.order(12) == "BBBA" * 3


async def test_late_automatic_indexing_gets_one_turn_among_bulk_jobs(line: Line, clock: HandClock) -> None:
    await line.add("A", 9, priority=AUTOMATIC)
    await line.add("B", 9, priority=BULK)
    clock.forward(LATE)
    assert await line.order(8) == "BBBA" * 2


async def test_automatic_indexing_takes_every_slot_that_nobody_else_wants(line: Line) -> None:
    await line.add("A", 9, priority=AUTOMATIC)
    assert names(await line.claim(8)) == "A" * 8


async def test_a_job_that_is_joined_becomes_as_urgent_as_the_one_that_joins(line: Line) -> None:
    async def ask(priority: int) -> str:
        job = NewJob("index", workspace_id="A", unique_key="index:A", priority=priority)
        return await line.db.write(lambda tx: store.enqueue(tx, job, now=line.clock.now()))

    first = await ask(AUTOMATIC)
    assert await ask(PATIENT) == first
    assert await ask(AUTOMATIC) == first
    [job] = await line.claim()
    assert (job.id, job.priority) == (first, PATIENT)


async def test_bulk_work_behind_older_index_jobs_is_not_stalled(
    line: Line, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim may pass over older index jobs of other workspaces, and whatever waits behind these."""
    monkeypatch.setattr(limits, "JOB_WORKSPACES_LOOKED_AT", 1)
    await line.add("A", 2)
    await line.add("C", kind="snapshot", priority=BULK)
    clock.forward(limits.JOB_STALLED_SECONDS)
    await line.add("B")
    line.claimed = Claimed({PATIENT: "A"})
    assert names(await line.claim()) == "B"
    found = await line.db.read(lambda tx: store.backlogs(tx, clock.now()))
    assert (found["index"].running, found["snapshot"].due) == (1, 1)
    assert found["snapshot"].oldest_due_seconds >= limits.JOB_STALLED_SECONDS
    assert not found["snapshot"].is_stalled
