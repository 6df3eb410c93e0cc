"""The jobs table. Whoever changes a running job names the worker and the attempt, so a lapsed lease changes nothing."""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Row, Tx, Value
from deedbox.kernel.errors import Unavailable
from deedbox.kernel.ids import new_id
from deedbox.kernel.jobs.job import (
    AUTOMATIC,
    FAIR,
    PRIORITIES,
    URGENT,
    Backlog,
    Job,
    JobProgress,
    LeaseLost,
    NewJob,
    Slots,
)

_PROGRESS = msgspec.json.Decoder(JobProgress)

_COLUMNS = (
    "id, kind, workspace_id, payload, state, run_at, attempts, max_attempts, progress, error, created_at, finished_at,"
    " priority"
)
# Of one priority, each query a look at the very place in the index: timers that are not due yet, of which there may be
# any number, are never passed over, and what is due is never sorted whole to take a few.
# Materialized: PostgreSQL may otherwise run an inner query once per row, and lock more rows than `most`.
_CLAIM = f"""
with ready as materialized (
    select id, run_at from jobs where {{ready}} and run_at <= :now {{only}}
    order by run_at limit :most {{lock}}
), lapsed as materialized (
    select id, run_at from jobs where state = 'running' and priority = :priority and lease_until < :now {{only}}
    order by run_at limit :most {{lock}}
), due as materialized (
    select id from (select * from ready union all select * from lapsed) as both_kinds order by run_at, id limit :most
)
update jobs set state = 'running', worker = :worker, lease_until = :lease_until, attempts = attempts + 1
where id in (select id from due) returning {_COLUMNS}
"""
_OLDEST = """
select run_at from jobs where state = 'ready' and priority = :priority and run_at <= :now {only}
order by run_at limit 1
"""
_READY = "state = 'ready' and priority = :priority"
_WORKSPACE = "coalesce(workspace_id, '')"
_READY_BY_WORKSPACE = "case when state = 'ready' then priority end = {priority}"
"""The condition of the indexes by workspace, in a form that no other index serves: a database that does not know how
many jobs wait would use `jobs_due`, and read all of them. The number is in the text: of a value, no database could tell
that the index holds it."""
# From workspace to workspace, each step a look at the index, however many jobs lie between: with the first of each.
_LINES = f"""
with recursive lines (workspace, number) as (
    select * from (
        select {_WORKSPACE}, 1 from jobs where {{ready}} and {{begin}} order by {_WORKSPACE}, run_at limit 1
    ) as first
    union all
    select (
        select {_WORKSPACE} from jobs where {{ready}} and {_WORKSPACE} > lines.workspace
        order by {_WORKSPACE}, run_at limit 1
    ), number + 1 from lines where workspace is not null and number < :most
)
select workspace, (
    select run_at from jobs where {{ready}} and {_WORKSPACE} = lines.workspace {{only}} order by run_at limit 1
) from lines where workspace is not null
"""
_INSERT = (
    "insert into jobs (id, kind, workspace_id, payload, priority, unique_key, state, run_at, attempts,"
    " max_attempts, created_at) values (:id, :kind, :workspace_id, :payload, :priority, :unique_key, 'ready',"
    " :run_at, 0, :max_attempts, :created_at) on conflict (unique_key) do nothing"
)
JOBS_DUE = "jobs due"
"""Told with the job's kind. Runners look for work by themselves; being told only makes it sooner."""
JOB_CHANGED = "job changed"
"""Told with the job's id when it has got further, failed or was ended early. Whoever is done tells it himself."""
_OURS = "where id = :id and worker = :worker and attempts = :attempts and (state = 'running') is true"
"""By the key: `is true` keeps PostgreSQL from looking through all running jobs in the index of states."""


def enqueue(tx: Tx, job: NewJob, *, now: datetime) -> str:
    """The id of the job; one that waits or runs with the same key is joined, and is then as urgent as either."""
    values, returning = _values(tx, job, now), f"{_INSERT} returning id"
    made = tx.one(returning, **values) or _joined(tx, job) or tx.one(returning, **values)
    if made is None:
        raise Unavailable("The same job is being planned by too many at once. Try again in a moment.")
    return str(made[0])


def put(tx: Tx, job: NewJob, *, now: datetime) -> None:
    """As `enqueue`, where nobody asks for the id: the jobs of one transaction are then written together."""
    tx.later(_INSERT, **_values(tx, job, now))


def _values(tx: Tx, job: NewJob, now: datetime) -> dict[str, Value]:
    """The new job's row; runners are woken for it once it is durable."""
    if job.priority not in PRIORITIES:
        raise ValueError(f"there is no priority {job.priority}: such a job would never be claimed")
    text = msgspec.json.encode(job.payload)
    if len(text) > limits.JOB_PAYLOAD_BYTES:
        raise ValueError(f"the payload of a {job.kind} job has more than {limits.JOB_PAYLOAD_BYTES} bytes")
    if job.run_at is None or job.run_at <= now:
        tx.notify(JOBS_DUE, job.kind)
    return {
        "id": new_id("job", now),
        "kind": job.kind,
        "workspace_id": job.workspace_id,
        "payload": text.decode(),
        "priority": job.priority,
        "unique_key": job.unique_key,
        "run_at": (job.run_at or now).timestamp(),
        "max_attempts": job.max_attempts,
        "created_at": instant(now),
    }


def _joined(tx: Tx, job: NewJob) -> Row | None:
    # Under read committed, the job that was in the way may have ended since: then there is nothing to join.
    found = tx.one("select id, priority from jobs where unique_key = :unique_key", unique_key=job.unique_key)
    if found is not None and found[1] > job.priority:
        sql = "update jobs set priority = :priority where id = :id and state = 'ready' and priority > :priority"
        tx.run(sql, id=found[0], priority=job.priority)
    return found


def cancel(tx: Tx, unique_key: str) -> bool:
    """Whether a job that had not begun was taken back, a timer for example."""
    return tx.run("delete from jobs where unique_key = :key and state = 'ready'", key=unique_key) > 0


def claim(tx: Tx, worker: str, slots: Slots, now: datetime) -> list[Job]:
    """Jobs that are due, or whose lease has lapsed, now leased to this worker; the most urgent first, but for work that
    has waited for long."""
    claiming, jobs = _Claim(tx, worker, now.timestamp(), slots.kinds), list[Job]()
    for priority, at_most in _turns(claiming, slots):
        most = min(at_most, slots.with_more(jobs).free(priority))
        if most > 0 and priority in FAIR:
            jobs += claiming.fairly(priority, most, slots.claimed.workspaces.get(priority))
        elif most > 0:
            jobs += claiming.oldest(priority, most)
    return jobs


def _turns(claiming: "_Claim", slots: Slots) -> list[tuple[int, int]]:
    """The priorities, the most urgent first, each with the most jobs to take. Of the others, work that is late comes
    before what is due since a later moment: else it would wait for as long as there is any. Late automatic work has one
    such turn now and then: there may be hours of it, for which nobody who uploads a document is to wait."""
    others = [priority for priority in PRIORITIES if priority != URGENT]
    able = [priority for priority in others if slots.free(priority) > 0]
    if not slots.claimed.is_automatic_turn:
        able = [priority for priority in able if priority != AUTOMATIC]
    late: dict[int, float] = {}
    for priority in able if len(able) > 1 else []:
        if (since := claiming.late_since(priority)) is not None:
            late[priority] = since
    turns = [(late.get(priority, claiming.now), priority, slots.total) for priority in others if priority != AUTOMATIC]
    turns.append((claiming.now, AUTOMATIC, slots.total))
    if AUTOMATIC in late:
        turns.append((late[AUTOMATIC], AUTOMATIC, 1))
    return [(URGENT, slots.total), *((priority, most) for _, priority, most in sorted(turns))]


class _Claim:
    """One look of one worker for jobs."""

    def __init__(self, tx: Tx, worker: str, now: float, kinds: Sequence[str]) -> None:
        self.now = now
        self._tx = tx
        self._worker = worker
        # The kinds in the text, as in `of_kind`: they are names of handlers, never what somebody wrote.
        named = ", ".join(f"'{kind}'" for kind in kinds)
        self._of_kinds = f"and kind in ({named})" if named else ""

    def late_since(self, priority: int) -> float | None:
        """Since when the oldest job of this priority has been due, if that is long ago."""
        late = self.now - limits.JOB_LATE_SECONDS
        found = self._tx.one(_OLDEST.format(only=self._of_kinds), priority=priority, now=late)
        return found[0] if found else None

    def oldest(self, priority: int, most: int) -> list[Job]:
        return self._taken(_READY, self._of_kinds, priority=priority, most=most)

    def fairly(self, priority: int, most: int, after: str | None) -> list[Job]:
        """Jobs of workspaces with fewer running ones first, and in turn where these are as many. Looks at some
        workspaces, those behind this one first."""
        looked_at, running = self._looked_at(priority, after), Counter[str]()
        # The first of a workspace may be a timer: then nothing of it is due.
        due = (workspace for workspace, run_at in looked_at if run_at is not None and run_at <= self.now)
        turn = {workspace: number for number, workspace in enumerate(dict.fromkeys(due))}
        for _, workspace, lease_until in (row for row in self._begun if row[0] == priority):
            if lease_until < self.now:
                turn.setdefault(workspace, -1)
            else:
                running[workspace] += 1
        waiting = [(running[workspace], number, workspace) for workspace, number in turn.items()]
        heapq.heapify(waiting)
        ready, only = _READY_BY_WORKSPACE.format(priority=priority), f"and {_WORKSPACE} = :workspace {self._of_kinds}"
        jobs: list[Job] = []
        while waiting and len(jobs) < most:
            busy, number, workspace = heapq.heappop(waiting)
            wanted = 1 if waiting else most - len(jobs)
            found = self._taken(ready, only, priority=priority, most=wanted, workspace=workspace)
            jobs += found
            if len(found) == wanted:
                heapq.heappush(waiting, (busy + wanted, number, workspace))
        if len(jobs) < most and len(looked_at) >= limits.JOB_WORKSPACES_LOOKED_AT:
            jobs += self.oldest(priority, most - len(jobs))  # all of these wait for a time, others perhaps do not
        return jobs

    @cached_property
    def _begun(self) -> list[Row]:
        """Every running job of the fair priorities: no more than all workers have slots."""
        sql = f"select priority, {_WORKSPACE}, lease_until from jobs where state = 'running' and priority in"
        return self._tx.all(f"{sql} ({', '.join(map(str, FAIR))})")

    def _looked_at(self, priority: int, after: str | None) -> list[Row]:
        """Some workspaces in which jobs of this priority wait, in their order behind this one, each with the time of
        its first job."""
        found, ready = list[Row](), _READY_BY_WORKSPACE.format(priority=priority)
        for begin, value in ((f"{_WORKSPACE} > :after", after), (f"{_WORKSPACE} >= :after", "")):
            most = limits.JOB_WORKSPACES_LOOKED_AT - len(found)
            if value is not None and most > 0:
                sql = _LINES.format(ready=ready, begin=begin, only=self._of_kinds)
                found += self._tx.all(sql, after=value, most=most)
        return found

    def _taken(self, ready: str, only: str, **values: Value) -> list[Job]:
        lock = "for update skip locked" if self._tx.dialect == "postgres" else ""
        sql = _CLAIM.format(ready=ready, only=only, lock=lock)
        lease_until = self.now + limits.JOB_LEASE_SECONDS
        rows = self._tx.all(sql, worker=self._worker, now=self.now, lease_until=lease_until, **values)
        return sorted((_job(row) for row in rows), key=lambda job: (job.run_at, job.id))


def renew(tx: Tx, jobs: Iterable[Job], worker: str, now: datetime) -> set[tuple[str, int]]:
    """Id and attempt of those of the jobs that this worker still holds, each for another lease."""
    until = now.timestamp() + limits.JOB_LEASE_SECONDS
    extend = f"update jobs set lease_until = :until {_OURS}"
    return {(job.id, job.attempts) for job in jobs if tx.run(extend, until=until, **_lease(job, worker))}


def report(tx: Tx, job: Job, worker: str, progress: JobProgress) -> None:
    text = msgspec.json.encode(progress).decode()
    _demand(tx.run(f"update jobs set progress = :text {_OURS}", text=text, **_lease(job, worker)))
    tx.notify(JOB_CHANGED, job.id)


def finish(tx: Tx, job: Job, worker: str, now: datetime) -> None:
    """Marks the job done; LeaseLost, and with it the caller's whole transaction, when it is no longer ours."""
    done = "state = 'done', unique_key = null, error = null, lease_until = null, finished_at = :at"
    _demand(tx.run(f"update jobs set {done} {_OURS}", at=instant(now), **_lease(job, worker)))


def postpone(tx: Tx, job: Job, worker: str, run_at: float, error: str, *, counted: bool = True) -> None:
    """Back to waiting after a failure; one that is not counted is no attempt."""
    back = "state = 'ready', run_at = :run_at, error = :error, lease_until = null, worker = null"
    back += "" if counted else ", attempts = attempts - 1"
    _demand(tx.run(f"update jobs set {back} {_OURS}", run_at=run_at, error=_cut(error), **_lease(job, worker)))
    tx.notify(JOB_CHANGED, job.id)


def put_off(tx: Tx, job: Job, worker: str, run_at: datetime, *, progress: bool = False) -> None:
    """Back to waiting, as if never begun; after some progress, as if never tried before."""
    attempts = "0" if progress else "attempts - 1"
    back = f"state = 'ready', run_at = :run_at, lease_until = null, worker = null, attempts = {attempts}"
    _demand(tx.run(f"update jobs set {back} {_OURS}", run_at=run_at.timestamp(), **_lease(job, worker)))


def park(tx: Tx, job: Job, worker: str, now: datetime, error: str) -> None:
    """Set aside with its error, for a person to see and retry."""
    aside = "state = 'parked', unique_key = null, error = :error, lease_until = null, finished_at = :at"
    _demand(tx.run(f"update jobs set {aside} {_OURS}", error=_cut(error), at=instant(now), **_lease(job, worker)))
    tx.notify(JOB_CHANGED, job.id)


def end(tx: Tx, job_id: str, reason: str, now: datetime) -> bool:
    """Whether a job that waited or ran was ended before its time; whoever runs it has lost its lease."""
    ended = "state = 'done', unique_key = null, error = :error, lease_until = null, worker = null, finished_at = :at"
    sql = f"update jobs set {ended} where id = :id and state in ('ready', 'running')"
    tx.notify(JOB_CHANGED, job_id)
    return tx.run(sql, id=job_id, error=_cut(reason), at=instant(now)) > 0


def hand_back(tx: Tx, worker: str) -> int:
    """Returns this worker's running jobs at once, as if never begun: the process is stopping."""
    back = "state = 'ready', lease_until = null, worker = null, attempts = attempts - 1"
    sql = f"update jobs set {back} where worker = :worker and state = 'running' returning kind"
    return _told(tx, tx.all(sql, worker=worker))


def _told(tx: Tx, kinds: list[Row]) -> int:
    """The number of jobs of these kinds, which are due now, as runners are told."""
    for (kind,) in kinds:
        tx.notify(JOBS_DUE, kind)
    return len(kinds)


def abandon_all(tx: Tx) -> int:
    """Lapses every lease: only for a database that has one process, which has just started."""
    return tx.run("update jobs set lease_until = 0 where state = 'running'")


def bring_forward(tx: Tx, now: datetime) -> int:
    """The number of jobs that were to run at once and would now wait: they were written down before the clock was set
    back. Those that wait for a moment go on waiting for it; no lease lasts longer than one that begins now."""
    lease = now.timestamp() + limits.JOB_LEASE_SECONDS
    tx.run("update jobs set lease_until = :lease where state = 'running' and lease_until > :lease", lease=lease)
    later = "state = 'ready' and run_at > :now and created_at > :at"
    rows = tx.all(f"select id, run_at, created_at from jobs where {later}", now=now.timestamp(), at=instant(now))
    at_once = [row[0] for row in rows if row[1] < moment(row[2]).timestamp() + 1]
    sql = "update jobs set run_at = :now where id = :id and state = 'ready' returning kind"
    return sum(_told(tx, tx.all(sql, id=job_id, now=now.timestamp())) for job_id in at_once)


def find(tx: Tx, job_id: str) -> Job | None:
    row = tx.one(f"select {_COLUMNS} from jobs where id = :id", id=job_id)
    return _job(row) if row else None


def of_kind(tx: Tx, kind: str, workspace_id: str, before: str | None, most: int) -> list[Job]:
    """Jobs of a kind before the one with this id, newest first: only of a kind that has an index for this."""
    # The kind in the text: of a value, the database could not tell that the index holds it.
    sql = (
        f"select {_COLUMNS} from jobs where kind = '{kind}' and workspace_id = :workspace_id and id < :before"
        " order by id desc limit :most"
    )
    return [_job(row) for row in tx.all(sql, workspace_id=workspace_id, before=before or "job_~", most=most)]


def held(tx: Tx, kind: str, now: datetime) -> list[Job]:
    """The jobs of a kind that some process is at: those whose lease has not lapsed."""
    sql = f"select {_COLUMNS} from jobs where state = 'running' and kind = :kind and lease_until >= :now"
    return [_job(row) for row in tx.all(sql, kind=kind, now=now.timestamp())]


def list_parked(tx: Tx, most: int) -> list[Job]:
    """The newest jobs that were given up, with their errors."""
    return [
        _job(row)
        for row in tx.all(f"select {_COLUMNS} from jobs where state = 'parked' order by id desc limit :most", most=most)
    ]


def retry(tx: Tx, job_id: str, now: datetime) -> bool:
    """Whether a parked job was put back to run at once, with its attempts counted anew."""
    back = "state = 'ready', attempts = 0, run_at = :now, finished_at = null"
    sql = f"update jobs set {back} where id = :id and state = 'parked' returning kind"
    return _told(tx, tx.all(sql, id=job_id, now=now.timestamp())) > 0


def counts(tx: Tx) -> dict[str, int]:
    """How many jobs wait, run and are parked. Not those done: of them there may be any number."""
    sql = "select state, count(*) from jobs where state in ('ready', 'running', 'parked') group by state"
    return {row[0]: row[1] for row in tx.all(sql)}


def backlogs(tx: Tx, now: datetime) -> dict[str, Backlog]:
    """The open work of each kind. Timers and jobs that are done are not read: there may be any number of them."""
    at, priorities = now.timestamp(), ", ".join(map(str, PRIORITIES))
    due = tx.all(
        "select kind, min(priority), count(*), min(run_at) from jobs"
        f" where state = 'ready' and priority in ({priorities}) and run_at <= :now group by kind",
        now=at,
    )
    claimed = tx.all("select kind, priority, run_at, lease_until from jobs where state = 'running'")
    running = [row for row in claimed if row[3] >= at]
    # A job whose lease has lapsed is due again since then: whoever ran it is gone.
    lapsed = [(kind, priority, 1, lease_until) for kind, priority, _, lease_until in claimed if lease_until < at]
    # A fair claim passes over the oldest: whatever runs of its priority stands in line for it.
    oldest = {kind: since for kind, priority, _, since in due if priority in FAIR}
    running = [(kind, priority, min(run_at, oldest.get(kind, run_at))) for kind, priority, run_at, _ in running]
    found: dict[str, Backlog] = {}
    for kind, priority, number, since in (*due, *lapsed):
        before = found.get(kind, Backlog())
        found[kind] = Backlog(
            due=before.due + number,
            oldest_due_seconds=max(before.oldest_due_seconds, at - since),
            in_line=any(one[1] <= priority and one[2] <= since for one in running),
        )
    for kind, *_ in running:
        before = found.get(kind, Backlog())
        found[kind] = msgspec.structs.replace(before, running=before.running + 1)
    for kind, number in tx.all("select kind, count(*) from jobs where state = 'parked' group by kind"):
        found[kind] = msgspec.structs.replace(found.get(kind, Backlog()), failed=number)
    return found


def prune(tx: Tx, now: datetime) -> int:
    """Forgets some of the jobs done long ago. Parked ones stay until a person decides."""
    old = instant(now - timedelta(days=limits.JOB_KEEP_DAYS))
    sql = "select id from jobs where state = 'done' and finished_at < :old order by finished_at limit :most"
    return tx.run(f"delete from jobs where id in ({sql})", old=old, most=limits.PRUNE_ROWS)


def _demand(changed: int) -> None:
    if not changed:
        raise LeaseLost


def _lease(job: Job, worker: str) -> dict[str, Any]:
    return {"id": job.id, "worker": worker, "attempts": job.attempts}


def _cut(error: str) -> str:
    # What a database cannot hold as text: NUL, and half a surrogate pair from a file's name.
    return error.replace("\0", "").encode("utf-8", "replace").decode()[: limits.JOB_ERROR_CHARS]


def _job(row: Row) -> Job:
    progress = _PROGRESS.decode(row[8]) if row[8] else None
    values: tuple[Any, ...] = (*row[:3], msgspec.json.decode(row[3]), *row[4:8], progress, *row[9:])
    return Job(*values)
