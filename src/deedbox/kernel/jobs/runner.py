"""Runs due jobs in this process, several at a time, and keeps their leases alive."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime
from typing import TypeAlias, TypeVar

from deedbox.kernel import limits, log, tasks
from deedbox.kernel.clock import Clock, SetBack
from deedbox.kernel.db import NOTICES_MISSED, Database, Isolation, Tx
from deedbox.kernel.errors import AWAY, ServiceError
from deedbox.kernel.jobs import store
from deedbox.kernel.jobs.job import PRIORITIES, Claimed, GiveUp, Job, JobProgress, LeaseLost, Slots

T = TypeVar("T")

_DEATH = "background jobs have stopped: restart the server"


class Work:
    """One attempt at one job, as its handler sees it."""

    def __init__(self, job: Job, db: Database, clock: Clock, worker: str) -> None:
        self.job = job
        self.finished = False
        self._db = db
        self._clock = clock
        self._worker = worker

    def named(self, what: str) -> tuple[str, str]:
        """The workspace of the job and the thing in it that its payload names; without them there is nothing to do."""
        workspace_id, named = self.job.workspace_id, self.job.payload.get(what)
        if workspace_id is None or not isinstance(named, str):
            raise GiveUp(f"The job does not say which {what.removesuffix('_id')} of which workspace it is about.")
        return workspace_id, named

    async def progress(self, done: int, total: int, note: str = "") -> None:
        await self._db.write(
            lambda tx: store.report(tx, self.job, self._worker, JobProgress(done, total, note)),
            isolation="read committed",
        )

    async def finish(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        """What fn returns: its changes and the end of the job are one transaction, so they happen once."""

        def both(tx: Tx) -> T:
            store.finish(tx, self.job, self._worker, self._clock.now())
            return fn(tx)

        result = await self._db.write(both, isolation=isolation)
        self.finished = True
        return result

    async def put_off(self, until: datetime, *, progress: bool = False) -> None:
        """Has the same job wait for that time: this process cannot do it now, which is no attempt and no error. Once
        there is progress, earlier attempts no longer count."""
        await self._db.write(
            lambda tx: store.put_off(tx, self.job, self._worker, until, progress=progress),
            isolation="read committed",
        )
        self.finished = True


Handler: TypeAlias = Callable[[Work], Awaitable[None]]


class Runner:
    def __init__(
        self, db: Database, clock: Clock, handlers: Mapping[str, Handler], *, concurrency: int, worker: str
    ) -> None:
        self._db = db
        self._clock = clock
        self._handlers = handlers
        self._concurrency = concurrency
        self._worker = worker
        self._kinds: tuple[str, ...] = ()
        self._running: dict[asyncio.Task[None], Job] = {}
        self._claimed = Claimed()
        self._wake = asyncio.Event()
        self._short_of_slots = False
        """Whether the last look may have left jobs that were due."""
        self._is_claiming = False
        self._set_back = SetBack()
        self._claiming: list[asyncio.Task[None]] = []
        self._renewing: list[asyncio.Task[None]] = []

    @property
    def kinds(self) -> list[str]:
        """The kinds of jobs that there are."""
        return sorted(self._handlers)

    async def start(self, *, alone: bool, kinds: Collection[str] = ()) -> None:
        """Begins to work, on these kinds of jobs; without any, on all. `alone`: no other process uses this database,
        so every lease on it is a dead one's."""
        if alone:
            await self._db.write(store.abandon_all)
        self._kinds = tuple(kind for kind in self.kinds if kind in kinds)
        self._is_claiming = True
        self._db.listeners.add(store.JOBS_DUE, self._hear)
        self._db.listeners.add(NOTICES_MISSED, self.wake)
        self._claiming = [tasks.begin(self._claim_until_stopped(), _DEATH)]
        self._renewing = [tasks.begin(self._renew_forever(), _DEATH)]

    def wake(self) -> None:
        """Look for work now instead of at the next poll; `enqueue` does so by itself."""
        self._wake.set()

    def _hear(self, kind: str) -> None:
        if not self._kinds or kind in self._kinds:
            self.wake()

    async def stop(self, seconds: float = limits.DRAIN_SECONDS) -> None:
        """Lets running jobs end, for so long; then hands them back."""
        # A claim under way is waited for: cancelled, its thread would still lease jobs, to nobody.
        self._is_claiming = False
        self._db.listeners.remove(store.JOBS_DUE, self._hear)
        self._db.listeners.remove(NOTICES_MISSED, self.wake)
        self._wake.set()
        await asyncio.gather(*self._claiming, return_exceptions=True)
        await tasks.drain(self._running, seconds)
        await tasks.end(*self._renewing)
        try:
            await self._db.write(lambda tx: store.hand_back(tx, self._worker))
        except ServiceError as error:  # their leases lapse instead
            log.warning("jobs cannot be handed back", reason=error.message)

    async def run_due(self) -> int:
        """Claims what is due and runs it to its end; the number of jobs. For tests and commands."""
        jobs = await self._claim(Slots(limits.JOB_CLAIM, claimed=self._claimed))
        await asyncio.gather(*(self._attempt(job) for job in jobs))
        return len(jobs)

    async def _claim_until_stopped(self) -> None:
        while self._is_claiming:
            # Before the look, not after it: a wake-up during the look must not be forgotten.
            self._wake.clear()
            with tasks.going_on("jobs cannot be brought forward"):
                await self._look_at_clock()
            slots, jobs = self._slots(), list[Job]()
            if any(slots.free(priority) > 0 for priority in PRIORITIES):
                with tasks.going_on("jobs cannot be claimed"):
                    jobs = await self._claim(slots)
                for job in jobs if self._is_claiming else []:
                    self._begin(job)
            self._short_of_slots = any(slots.with_more(jobs).free(priority) <= 0 for priority in PRIORITIES)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.JOB_POLL_SECONDS):
                    await self._wake.wait()

    async def _look_at_clock(self) -> None:
        now = self._clock.now()
        if not self._set_back.seen(now):
            return
        if sooner := await self._db.write(lambda tx: store.bring_forward(tx, now), isolation="read committed"):
            log.warning("the clock was set back: jobs that were due are done now", jobs=sooner)

    def _slots(self) -> Slots:
        running = tuple(job.priority for job in self._running.values())
        return Slots(self._concurrency, running, shared=True, kinds=self._kinds, claimed=self._claimed)

    async def _claim(self, slots: Slots) -> list[Job]:
        # Read committed: two processes that claim at once skip each other's rows instead of failing.
        now = self._clock.now()
        jobs = await self._db.write(
            lambda tx: store.claim(tx, self._worker, slots, now),
            isolation="read committed",
        )
        self._claimed = slots.with_more(jobs).claimed
        return jobs

    def _begin(self, job: Job) -> None:
        task = asyncio.create_task(self._attempt(job))
        self._running[task] = job

        def ended(_: asyncio.Task[None]) -> None:
            del self._running[task]
            if self._short_of_slots:
                self._wake.set()

        task.add_done_callback(ended)

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(limits.JOB_LEASE_SECONDS / 3)
            if self._running:
                await self.renew()

    async def renew(self) -> None:
        """Extends the leases of the running jobs, and stops those that another process has taken over."""
        # Only what runs now: a job whose end could not be saved must lapse, and one begun meanwhile is not lost.
        running = dict(self._running)
        with tasks.going_on("leases cannot be renewed"):
            held = await self._db.write(
                lambda tx: store.renew(tx, running.values(), self._worker, self._clock.now()),
                isolation="read committed",
            )
            for task, job in running.items():
                if (job.id, job.attempts) not in held:
                    task.cancel()

    async def _attempt(self, job: Job) -> None:
        work = Work(job, self._db, self._clock, self._worker)
        try:
            if job.attempts > job.max_attempts:
                raise GiveUp(job.error or "The process died each time it ran this job.")
            handler = self._handlers.get(job.kind)
            if handler is None:
                raise GiveUp(f"This version of Deedbox has no handler for {job.kind} jobs.")
            await handler(work)
            if not work.finished:
                await work.finish(
                    lambda _: None,
                    isolation="read committed",
                )
        except LeaseLost:
            log.warning("a job's lease was lost", job=job.id, kind=job.kind)
        except Exception as error:  # a job may fail in any way; it is retried or parked, and never stops the others
            await self._failed(job, error)

    async def _failed(self, job: Job, error: Exception) -> None:
        reason = error.message if isinstance(error, ServiceError) else (str(error) or type(error).__name__)
        told = isinstance(error, (GiveUp, ServiceError))
        # However long the storage is away, no job is given up for it.
        away = isinstance(error, ServiceError) and error.code in AWAY
        final = isinstance(error, GiveUp) or (job.attempts >= job.max_attempts and not away)
        log.error(
            "a job was parked" if final else "a job failed and will be tried again",
            exception=None if told else error,
            job=job.id,
            kind=job.kind,
            attempt=job.attempts,
            reason=reason,
        )
        now = self._clock.now()
        text = log.redact(reason if told else f"{type(error).__name__}: {reason}")
        try:
            if final:
                await self._db.write(
                    lambda tx: store.park(tx, job, self._worker, now, text),
                    isolation="read committed",
                )
            else:
                later = now.timestamp() + (limits.JOB_AWAY_SECONDS if away else retry_delay(job.attempts))
                await self._db.write(
                    lambda tx: store.postpone(tx, job, self._worker, later, text, counted=not away),
                    isolation="read committed",
                )
        except (LeaseLost, ServiceError):  # the lease lapses and the job is claimed again
            return


def retry_delay(attempts: int) -> float:
    """Seconds until the next attempt: doubling, with a fifth of jitter, at most an hour."""
    delay: int = min(limits.JOB_RETRY_MAX_SECONDS, limits.JOB_RETRY_BASE_SECONDS * 2 ** (attempts - 1))
    return delay * random.uniform(0.8, 1.2)  # noqa: S311 (jitter, no secret)
