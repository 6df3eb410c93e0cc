"""The limiter of several server processes: a numbered list of hits for each subject, behind the lock of one row."""

import asyncio
import logging
from datetime import datetime

from deedbox.kernel import limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.ratelimit import WINDOWS, Allowance, RateLimitStatus, store
from deedbox.kernel.ratelimit.store import AdmissionRequest, WindowFinding
from deedbox.kernel.ratelimit.verdict import Window, admit, refuse

_log = logging.getLogger(__name__)


class PostgresLimiter:
    """Exact across processes and machines whose clocks are no minute apart: one that is behind the last admission
    counts as being there, and one that is further behind was set back."""

    def __init__(self, db: Database, clock: Clock, *, windows: tuple[int, int] = WINDOWS) -> None:
        self._db = db
        self._clock = clock
        self._windows = windows
        self._closing = asyncio.Event()
        self._pruner: asyncio.Task[None] | None = None

    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        question = AdmissionRequest(subject, allowance, self._windows, now.timestamp())

        def count(tx: Tx) -> WindowFinding:
            found = store.count_hit(tx, question, store.locked_head(tx, question))
            if found.admitted and found.number % limits.RATE_PRUNE_EVERY_HITS == 0:
                store.prune_hits(tx, subject, found.moment - question.keep)
            return found

        found = await self._db.write(count, isolation="read committed")
        if found.admitted:
            return admit(found.moment, *_described(question, found, counted=1))
        return refuse(question.now, found.moment, *_described(question, found, counted=0))

    async def peek(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        question = AdmissionRequest(subject, allowance, self._windows, now.timestamp())
        found = await self._db.read(lambda tx: store.look(tx, question, store.next_number(tx, subject)))
        return admit(found.moment, *_described(question, found, counted=0))

    async def start(self) -> None:
        self._pruner = asyncio.create_task(self._prune_until_closed())

    async def flush(self) -> None:
        """Forgets the subjects that are idle; every hit is saved already."""
        # Another machine's clock may be behind this one, and may still reach what seems gone from here.
        until = self._clock.now().timestamp() - limits.RATE_CLOCK_SKEW_SECONDS
        while (
            await self._db.write(lambda tx: store.prune_subjects(tx, until), isolation="read committed")
            == limits.RATE_PRUNE_SUBJECTS
        ):
            pass

    async def close(self) -> None:
        self._closing.set()
        if self._pruner is not None:
            await self._pruner

    async def _prune_until_closed(self) -> None:
        while not self._closing.is_set():
            try:
                await asyncio.wait_for(self._closing.wait(), limits.RATE_PRUNE_SECONDS)
            except TimeoutError:
                await self._try_to_prune()

    async def _try_to_prune(self) -> None:
        try:
            await self.flush()
        except ServiceError as error:
            _log.warning("idle rate limits could not be forgotten, will try again: %s", error)


def _described(question: AdmissionRequest, found: WindowFinding, *, counted: int) -> tuple[Window, Window | None]:
    """Both windows with what they were found to hold, and one more if the request was counted."""
    allowance, (minute, day) = question.allowance, question.windows
    used = counted + (0 if found.minute_first is None else found.number - found.minute_first)
    of_minute = Window(allowance.per_minute, minute, used, found.minute_oldest, found.minute_blocker)
    if allowance.per_day is None:
        return of_minute, None
    used = counted + (0 if found.day_first is None else found.number - found.day_first)
    return of_minute, Window(allowance.per_day, day, used, found.day_oldest, found.day_blocker)
